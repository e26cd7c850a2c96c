//! The state of the database as tables: `SELECT * FROM godwit_memory()`. `functions` says what the rows of each are.
//!
//! Memory is listed by query, operator and tag, and by object, such as a segment; all rows add up to what the pool has
//! handed out. Of `bytes`, `evictable_bytes` could be freed by dropping or writing pages that aren't in use right now.
//! Each slot of a temporary file holds a spilled page of up to `slot_bytes`; NULL: one larger page.
//!
//! Functions about files are in [`files`].
//!
//! Rows show the state at the start of the scan.

mod files;
mod forms;
mod functions;
mod memory;
mod tables;
mod trace;

use std::sync::{Arc, Weak};

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use godwit_catalog::{Argument, TableDefinition, TableFunction, TableFunctions};
use godwit_common::{Error, Result};
use godwit_exec::{ComputedTable, Repeat, Series};
use godwit_files::FileResolver;
use parking_lot::Mutex;

use crate::database::Shared;
use crate::session::{OwnSettings, Session};
use crate::settings;
use crate::transactions::NamedStore;
use trace::{Part, TraceTable};

/// Returns the table functions of a database.
pub(crate) fn functions(shared: &Weak<Shared>, resolver: &Arc<FileResolver>) -> TableFunctions {
    let system = |rows: Rows| Arc::new(SystemTable { shared: shared.clone(), rows });
    let trace = |part| Arc::new(TraceTable { shared: shared.clone(), part });
    files::functions(resolver)
        .with("repeat", "A value, as many times as the number says", Arc::new(Repeat::Value))
        .with("repeat_row", "A row of values, as many times as the number says", Arc::new(Repeat::Row))
        .with(
            "range",
            "The numbers or times from a start, or 0, to before an end, one step apart",
            Arc::new(Series::RANGE),
        )
        .with(
            "generate_series",
            "The numbers or times from a start, or 0, to an end, one step apart",
            Arc::new(Series::GENERATE_SERIES),
        )
        .with("godwit_databases", "The databases: their files, whether they are only read", system(database_rows))
        .with(
            "godwit_settings",
            "The settings, with their defaults and the reasons for their values",
            system(settings_rows),
        )
        .with("godwit_memory", "The uses of memory, by query, operator and object", system(memory::rows))
        .with(
            "godwit_heat",
            "The segments, dictionaries, deltas and columns of files: how often they were read, their form in memory",
            system(forms::heat_rows),
        )
        .with(
            "godwit_adaptation",
            "The changes of segments' forms: when, why, their cost and their savings",
            system(forms::adaptation_rows),
        )
        .with(
            "godwit_functions",
            "The ways to call functions, each with a description and an example",
            system(functions::rows),
        )
        .with("godwit_temp_files", "The temporary files: their sizes and their slots", system(temp_file_rows))
        .with("godwit_queries", "The queries that run or wait for admission", system(query_rows))
        .with("godwit_tables", "The tables of the database itself", system(tables::rows))
        .with(
            "godwit_segments",
            "The columns of the row groups of the database's own tables",
            system(tables::segment_rows),
        )
        .with(
            "godwit_dictionaries",
            "The dictionaries of text columns of the database's own tables",
            system(tables::dictionary_rows),
        )
        .with(
            "godwit_trace_header",
            "The trace in a file: its source and the number of its samples",
            trace(Part::Header),
        )
        .with(
            "godwit_trace_registry",
            "The objects that had addresses while the trace in a file was made",
            trace(Part::Objects),
        )
}

type Rows = fn(&Shared) -> Result<RecordBatch>;

/// A function without arguments.
struct SystemTable {
    /// Weak, since the database owns the planner, which owns the functions.
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
    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        if !arguments.is_empty() {
            return Err(Error::user(format!("{name}() takes no arguments")));
        }
        let schema: SchemaRef = Self::rows(&self.shared, self.rows)?.schema();
        let (shared, rows) = (self.shared.clone(), self.rows);
        ComputedTable::definition(name, &schema, move || Self::rows(&shared, rows))
    }
}

/// Builds a batch of columns of the same length, with their names.
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

fn database_rows(shared: &Shared) -> Result<RecordBatch> {
    let stores = shared.stores();
    let path = |store: &NamedStore| store.store.paths().first().map(|path| path.display().to_string());
    batch(vec![
        ("name", texts(stores.iter().map(|store| &store.name))),
        ("path", Arc::new(stores.iter().map(path).collect::<StringArray>())),
        ("read_only", Arc::new(stores.iter().map(|store| Some(store.store.is_read_only())).collect::<BooleanArray>())),
    ])
}

fn settings_rows(shared: &Shared) -> Result<RecordBatch> {
    // Settings of connections are shown with their initial values.
    let own = Mutex::new(OwnSettings::of(shared));
    let rows = settings::show(&Session { shared, own: &own }, None)?;
    let column = |(at, name)| (name, texts(rows.iter().map(|row| &row[at])));
    batch(settings::COLUMNS.into_iter().enumerate().map(column).collect())
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
