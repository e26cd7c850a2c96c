//! The state of the database as tables: `SELECT * FROM godwit_memory()`.
//!
//! | function | a row for each |
//! |---|---|
//! | `godwit_settings()` | setting, with its default and why it is what it is |
//! | `godwit_memory()` | use of memory: by query, operator and tag; all rows add up to what the pool has handed out. Of `bytes`, `evictable_bytes` could be had by dropping or writing pages that nobody uses right now |
//! | `godwit_temp_files()` | temporary file: its size and its slots, each of which holds a spilled page of up to `slot_bytes`; NULL: one larger page |
//! | `godwit_queries()` | query that runs or waits to be let in |
//! | `godwit_tables()` | table of the database's own |
//! | `godwit_segments()` | column of a row group of such a table |
//! | `godwit_dictionaries()` | dictionary of a text column of such a table |
//!
//! Rows are what was true when the scan started.

use std::sync::{Arc, Weak};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use datafusion_common::ScalarValue;
use godwit_catalog::{TableDefinition, TableFunction, TableFunctions};
use godwit_common::{Error, MemoryTag, Result};
use godwit_exec::{ComputedTable, Series};
use godwit_tables::TableVersion;
use parking_lot::Mutex;

use crate::database::Shared;
use crate::session::{OwnSettings, Session};
use crate::settings;

/// The table functions of a database.
pub(crate) fn functions(shared: &Weak<Shared>) -> TableFunctions {
    let system = |rows: Rows| Arc::new(SystemTable { shared: shared.clone(), rows });
    TableFunctions::default()
        .with("range", Arc::new(Series::RANGE))
        .with("generate_series", Arc::new(Series::GENERATE_SERIES))
        .with("godwit_settings", system(settings_rows))
        .with("godwit_memory", system(memory_rows))
        .with("godwit_temp_files", system(temp_file_rows))
        .with("godwit_queries", system(query_rows))
        .with("godwit_tables", system(table_rows))
        .with("godwit_segments", system(segment_rows))
        .with("godwit_dictionaries", system(dictionary_rows))
}

type Rows = fn(&Shared) -> Result<RecordBatch>;

/// A function without arguments.
struct SystemTable {
    /// The database owns the planner, which owns the functions.
    shared: Weak<Shared>,
    rows: Rows,
}

impl SystemTable {
    fn rows(shared: &Weak<Shared>, rows: Rows) -> Result<RecordBatch> {
        let shared = shared.upgrade().ok_or_else(|| Error::internal("a statement outlives its database"))?;
        rows(&shared)
    }
}

impl TableFunction for SystemTable {
    fn table(&self, name: &str, arguments: &[ScalarValue]) -> Result<Arc<TableDefinition>> {
        if !arguments.is_empty() {
            return Err(Error::user(format!("{name}() takes no arguments")));
        }
        let schema: SchemaRef = Self::rows(&self.shared, self.rows)?.schema();
        let (shared, rows) = (self.shared.clone(), self.rows);
        ComputedTable::definition(name, &schema, move || Self::rows(&shared, rows))
    }
}

/// Columns of one length with their names.
fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| Error::internal(error.to_string()))
}

fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn settings_rows(shared: &Shared) -> Result<RecordBatch> {
    // What is a connection's own is shown as connections begin.
    let own = Mutex::new(OwnSettings::of(shared));
    let rows = settings::show(&Session { shared, own: &own }, None)?;
    let column = |(at, name)| (name, texts(rows.iter().map(|row| &row[at])));
    batch(settings::COLUMNS.into_iter().enumerate().map(column).collect())
}

/// A use of memory.
struct Use {
    query: Option<u64>,
    operator: Option<String>,
    tag: MemoryTag,
    bytes: u64,
    /// The part of it in pages that nobody pins.
    evictable_bytes: u64,
    /// Written to temporary files by the whole operator; the first of its rows tells.
    spilled_bytes: u64,
}

fn memory_rows(shared: &Shared) -> Result<RecordBatch> {
    let total = shared.memory.statistics();
    let evictable = shared.memory.evictable();
    let mut uses: Vec<Use> = Vec::new();
    // What an operator holds its query holds too, and what a query holds the pool has handed out: rows show what no
    // row above them shows already. The counters move on meanwhile, hence the saturation.
    let mut unclaimed = Totals {
        tag_bytes: total.tag_bytes,
        evictable_bytes: evictable.total(),
        spilled_bytes: total.spilled_bytes_total,
    };
    let mut of_query = None;
    let finish = |query: Option<(u64, Totals)>, uses: &mut Vec<Use>| {
        if let Some((query, left)) = query {
            push(uses, Some(query), None, left);
        }
    };
    for holder in shared.queries.holders() {
        let held = Totals {
            tag_bytes: holder.memory.tag_bytes(),
            evictable_bytes: evictable.of(&holder.memory),
            spilled_bytes: holder.memory.spilled_bytes(),
        };
        match (&holder.operator, &mut of_query) {
            (Some(_), Some((_, left))) => {
                subtract(left, &held);
                push(&mut uses, Some(holder.query), holder.operator, held);
            }
            _ => {
                finish(of_query.take(), &mut uses);
                subtract(&mut unclaimed, &held);
                of_query = Some((holder.query, held));
            }
        }
    }
    finish(of_query, &mut uses);
    push(&mut uses, None, None, unclaimed);
    batch(vec![
        ("query_id", Arc::new(uses.iter().map(|used| used.query).collect::<UInt64Array>())),
        ("operator", Arc::new(uses.iter().map(|used| used.operator.as_deref()).collect::<StringArray>())),
        ("tag", texts(uses.iter().map(|used| used.tag.to_string()))),
        ("bytes", numbers(uses.iter().map(|used| used.bytes))),
        ("evictable_bytes", numbers(uses.iter().map(|used| used.evictable_bytes))),
        ("spilled_bytes", numbers(uses.iter().map(|used| used.spilled_bytes))),
    ])
}

/// What is held.
struct Totals {
    tag_bytes: [u64; MemoryTag::COUNT],
    evictable_bytes: [u64; MemoryTag::COUNT],
    spilled_bytes: u64,
}

fn subtract(from: &mut Totals, held: &Totals) {
    let subtract_each = |from: &mut [u64], held: &[u64]| {
        from.iter_mut().zip(held).for_each(|(left, held)| *left = left.saturating_sub(*held));
    };
    subtract_each(&mut from.tag_bytes, &held.tag_bytes);
    subtract_each(&mut from.evictable_bytes, &held.evictable_bytes);
    from.spilled_bytes = from.spilled_bytes.saturating_sub(held.spilled_bytes);
}

/// Adds a row for each tag that something is held for.
fn push(uses: &mut Vec<Use>, query: Option<u64>, operator: Option<String>, held: Totals) {
    let mut spilled_bytes = held.spilled_bytes;
    for tag in MemoryTag::ALL {
        let bytes = held.tag_bytes[tag as usize];
        // Looked up at another moment.
        let evictable_bytes = held.evictable_bytes[tag as usize].min(bytes);
        // Spilled bytes are known without their tag; only pages of rows and columns spill in bulk.
        if bytes > 0 || (spilled_bytes > 0 && tag == MemoryTag::RowPage) {
            let spilled_bytes = std::mem::take(&mut spilled_bytes);
            uses.push(Use { query, operator: operator.clone(), tag, bytes, evictable_bytes, spilled_bytes });
        }
    }
}

fn temp_file_rows(shared: &Shared) -> Result<RecordBatch> {
    let files = shared.memory.temp_files();
    batch(vec![
        ("directory", texts(files.iter().map(|file| file.directory.display().to_string()))),
        ("bytes", numbers(files.iter().map(|file| file.bytes))),
        ("slot_bytes", Arc::new(files.iter().map(|file| file.slot_bytes).collect::<UInt64Array>())),
        ("slots", numbers(files.iter().map(|file| file.slots))),
        ("used_slots", numbers(files.iter().map(|file| file.used_slots))),
    ])
}

fn query_rows(shared: &Shared) -> Result<RecordBatch> {
    let queries = shared.queries.snapshot();
    batch(vec![
        ("id", numbers(queries.iter().map(|query| query.id))),
        ("connection", numbers(queries.iter().map(|query| query.connection))),
        ("sql", texts(queries.iter().map(|query| &query.sql))),
        ("state", texts(queries.iter().map(|query| query.state.name()))),
        ("memory_bytes", numbers(queries.iter().map(|query| query.memory_bytes))),
        ("peak_bytes", numbers(queries.iter().map(|query| query.peak_bytes))),
        ("spilled_bytes", numbers(queries.iter().map(|query| query.spilled_bytes))),
        ("progress", Arc::new(Float64Array::from_iter_values(queries.iter().map(|query| query.progress)))),
        (
            "elapsed_seconds",
            Arc::new(Float64Array::from_iter_values(queries.iter().map(|query| query.elapsed.as_secs_f64()))),
        ),
    ])
}

fn table_rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let bytes = |table: &Arc<TableVersion>| {
        let segments: u64 = table.segments().iter().map(|segment| segment.bytes).sum();
        segments + table.dictionaries().iter().map(|dictionary| dictionary.bytes).sum::<u64>()
    };
    batch(vec![
        ("name", texts(tables.iter().map(|table| table.name()))),
        ("rows", numbers(tables.iter().map(|table| table.rows()))),
        ("delta_rows", numbers(tables.iter().map(|table| table.delta_rows() as u64))),
        ("deleted_rows", numbers(tables.iter().map(|table| table.deleted_rows()))),
        ("row_groups", numbers(tables.iter().map(|table| table.main().groups.len() as u64))),
        ("bytes", numbers(tables.iter().map(bytes))),
    ])
}

fn segment_rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let segments: Vec<_> = tables
        .iter()
        .flat_map(|table| table.segments().into_iter().map(|segment| (table.name().to_owned(), segment)))
        .collect();
    batch(vec![
        ("table", texts(segments.iter().map(|(table, _)| table))),
        ("column", texts(segments.iter().map(|(_, segment)| &segment.column))),
        ("row_group", numbers(segments.iter().map(|(_, segment)| segment.row_group))),
        ("rows", numbers(segments.iter().map(|(_, segment)| segment.rows))),
        ("nulls", numbers(segments.iter().map(|(_, segment)| segment.nulls))),
        ("encoding", texts(segments.iter().map(|(_, segment)| &segment.encoding))),
        ("bytes", numbers(segments.iter().map(|(_, segment)| segment.bytes))),
    ])
}

fn dictionary_rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let dictionaries: Vec<_> = tables
        .iter()
        .flat_map(|table| table.dictionaries().into_iter().map(|dictionary| (table.name().to_owned(), dictionary)))
        .collect();
    batch(vec![
        ("table", texts(dictionaries.iter().map(|(table, _)| table))),
        ("column", texts(dictionaries.iter().map(|(_, dictionary)| &dictionary.column))),
        ("strings", numbers(dictionaries.iter().map(|(_, dictionary)| dictionary.strings))),
        ("bytes", numbers(dictionaries.iter().map(|(_, dictionary)| dictionary.bytes))),
    ])
}
