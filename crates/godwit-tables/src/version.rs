//! One version of a table: what a query sees of it.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use godwit_common::{MemoryTag, Result};
use godwit_exec::pipeline::Source;
use godwit_exec::{QueryContext, ScanRequest, Table, TableHandle};
use godwit_expression::{DOMAIN_VALUES_MAX, TextDomain, scalar_from_integer};
use godwit_memory::{BufferManager, Reservation};
use godwit_sql::{ColumnStatistics, TableDefinition, TableStatistics};
use godwit_storage::table::{ColumnSummary, Main};
use godwit_vector::kernels::cast::min_max;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, PhysicalType, RowType, Vector};
use parking_lot::Mutex;

use crate::scan::TableScan;

/// Bytes of the shortest and longest string that the planner is told.
const STATISTICS_BYTES_MAX: usize = 64;

/// A table at one moment: the main part and the rows that came since.
pub struct TableVersion {
    name: String,
    schema: SchemaRef,
    row_type: RowType,
    main: Arc<Main>,
    /// Dense columns of the natural types, at most [`CHUNK_ROWS`] rows each.
    delta: Vec<Chunk>,
    /// Over both parts, by column.
    summaries: Vec<ColumnSummary>,
    rows: u64,
    memory: BufferManager,
    /// For the delta; shared with the versions that it grew from, and only growing.
    reservation: Arc<Mutex<Reservation>>,
}

impl TableVersion {
    /// A table without a delta. `memory` holds dictionaries and blocks, and is nobody's in particular.
    pub(crate) fn new(name: &str, main: Main, memory: &BufferManager) -> Result<Arc<Self>> {
        let fields: Vec<Field> = main.columns.iter().map(|column| column.field.clone()).collect();
        let summaries = main.columns.iter().map(|column| column.summary.clone()).collect();
        Self::assemble(Self {
            name: name.to_owned(),
            schema: Arc::new(Schema::new(fields)),
            row_type: Vec::new(),
            rows: main.rows(),
            main: Arc::new(main),
            delta: Vec::new(),
            summaries,
            memory: memory.clone(),
            reservation: Arc::new(Mutex::new(memory.reserve(0, MemoryTag::Table)?)),
        })
    }

    /// Derives the types of the columns from what is known of their values.
    fn assemble(mut self) -> Result<Arc<Self>> {
        let columns = self.schema.fields().iter().zip(&self.summaries).map(|(field, summary)| {
            let ty = ColumnType::new(field.data_type().clone(), summary.nulls > 0)?;
            let range = summary.range.filter(|range| ty.physical.is_integer() && range.fits(ty.physical));
            Ok(ColumnType { range, ..ty })
        });
        self.row_type = columns.collect::<Result<_>>()?;
        Ok(Arc::new(self))
    }

    /// The table with another main part and the same delta.
    pub(crate) fn with_main(&self, main: Main) -> Result<Arc<Self>> {
        let base = Self::new(&self.name, main, &self.memory)?;
        self.delta.iter().try_fold(base, |version, chunk| version.with_rows(&chunk.dense_columns(), chunk.len()))
    }

    /// The table with more rows in the delta.
    pub(crate) fn with_rows(&self, columns: &[Vector], rows: usize) -> Result<Arc<Self>> {
        let mut delta = self.delta.clone();
        let mut summaries = self.summaries.clone();
        let mut bytes = 0;
        for (summary, column) in summaries.iter_mut().zip(columns) {
            bytes += add_to_summary(summary, column);
        }
        {
            let mut reservation = self.reservation.lock();
            let held = reservation.bytes();
            reservation.resize(held + bytes)?;
        }
        for start in (0..rows).step_by(CHUNK_ROWS) {
            let count = CHUNK_ROWS.min(rows - start);
            delta.push(Chunk::new(columns.iter().map(|column| column.slice(start, count)).collect(), count));
        }
        merge_small(&mut delta);
        Self::assemble(Self {
            name: self.name.clone(),
            schema: self.schema.clone(),
            row_type: Vec::new(),
            main: self.main.clone(),
            delta,
            summaries,
            rows: self.rows + rows as u64,
            memory: self.memory.clone(),
            reservation: self.reservation.clone(),
        })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn row_type(&self) -> &RowType {
        &self.row_type
    }

    /// The rows in blocks.
    pub fn main(&self) -> &Main {
        &self.main
    }

    /// The rows in memory.
    pub fn delta(&self) -> &[Chunk] {
        &self.delta
    }

    pub(crate) fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// This version for the catalog.
    pub(crate) fn definition(self: &Arc<Self>) -> Arc<TableDefinition> {
        let handle = Arc::new(TableHandle(Arc::new(Scannable(self.clone()))));
        let statistics = Arc::new(self.statistics());
        Arc::new(TableDefinition::new(&self.name, self.schema.clone(), statistics, handle))
    }

    fn statistics(&self) -> TableStatistics {
        let columns = self.row_type.iter().zip(&self.summaries).map(|(ty, summary)| {
            let text = |bytes: &[u8]| {
                let text = String::from_utf8(bytes.get(..STATISTICS_BYTES_MAX).unwrap_or(bytes).to_vec()).ok()?;
                Some(ScalarValue::Utf8View(Some(text)))
            };
            let is_whole = |bytes: &&[u8]| bytes.len() <= STATISTICS_BYTES_MAX;
            let (min, max) = match (&summary.strings, summary.range) {
                // A bound that is cut is still a lower one, but no upper one.
                (Some((min, max)), _) => (text(min), Some(&max[..]).filter(is_whole).and_then(text)),
                (None, Some(range)) => {
                    (scalar_from_integer(range.min, &ty.logical), scalar_from_integer(range.max, &ty.logical))
                }
                (None, None) => (None, None),
            };
            let values = self.rows - summary.nulls.min(self.rows);
            let average_bytes = match ty.physical {
                PhysicalType::Str => (values > 0).then(|| summary.string_bytes as f64 / values as f64),
                physical => Some(physical.width_bytes() as f64),
            };
            ColumnStatistics {
                range: ty.range,
                min,
                max,
                null_count: Some(summary.nulls),
                distinct: Some(summary.distinct.min(values)),
                average_bytes,
            }
        });
        TableStatistics { rows: self.rows, rows_exact: true, columns: columns.collect() }
    }

    fn text_domain(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        let Some(dictionary) = &self.main.columns[column].dictionary else { return Ok(None) };
        let is_known = self.delta.is_empty() && self.main.has_only_codes(column);
        if !is_known || dictionary.len() as usize > DOMAIN_VALUES_MAX {
            return Ok(None);
        }
        let strings = dictionary.load(&self.memory)?;
        Ok(TextDomain::of_dictionary(strings.shared().clone()).map(Arc::new))
    }
}

/// Adds the values of a vector; returns the memory that it takes, about.
fn add_to_summary(summary: &mut ColumnSummary, vector: &Vector) -> usize {
    let nulls = (0..vector.len()).filter(|&row| !vector.is_valid(row)).count();
    summary.nulls += nulls as u64;
    summary.distinct += (vector.len() - nulls) as u64;
    let physical = vector.physical();
    if physical == PhysicalType::Str {
        let flat = vector.to_flat();
        let strings = flat.strings();
        let mut bytes = 0;
        for row in (0..vector.len()).filter(|&row| vector.is_valid(row)) {
            let string = strings.get(row);
            bytes += string.len();
            match &mut summary.strings {
                Some((min, max)) => {
                    if string < &min[..] {
                        *min = string.to_vec();
                    }
                    if string > &max[..] {
                        *max = string.to_vec();
                    }
                }
                None => summary.strings = Some((string.to_vec(), string.to_vec())),
            }
        }
        summary.string_bytes += bytes as u64;
        return bytes + vector.len() * physical.width_bytes();
    }
    if physical.is_integer()
        && let Some(found) = min_max(vector)
    {
        summary.range = Some(match summary.range {
            Some(known) => godwit_vector::ValueRange { min: known.min.min(found.min), max: known.max.max(found.max) },
            None => found,
        });
    }
    vector.len() * physical.width_bytes()
}

/// Joins chunks at the end that are of one size, about, so that many small commits make few chunks, and each row is copied
/// a few times only.
fn merge_small(delta: &mut Vec<Chunk>) {
    while let [.., before, last] = &delta[..]
        && before.len() <= 2 * last.len()
        && before.len() + last.len() <= CHUNK_ROWS
    {
        let rows = before.len() + last.len();
        let joined = (0..last.width()).map(|column| concatenated(&[before.dense(column), last.dense(column)]));
        let joined = Chunk::new(joined.collect(), rows);
        delta.truncate(delta.len() - 2);
        delta.push(joined);
    }
}

/// What the executor sees of a version.
struct Scannable(Arc<TableVersion>);

impl Table for Scannable {
    fn row_type(&self) -> &RowType {
        self.0.row_type()
    }

    fn scan(&self, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        TableScan::source(self.0.clone(), request, query)
    }

    fn text_domain(&self, column: usize, _memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
        self.0.text_domain(column)
    }
}
