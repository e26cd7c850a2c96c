//! CSV and JSON files as tables: `FROM 'x.csv'`, `read_csv(…)`, `COPY t FROM 'x.json'`.
//!
//! ```text
//!   file ──▶ Cutter, under a lock: pieces of a mebibyte that end with a record          (cutter)
//!               ├─▶ worker 0: fields of records ─▶ columns of text ─▶ typed vectors     (csv, columns)
//!               └─▶ worker 1: objects ─▶ Arrow's JSON decoder ─▶ vectors                (json)
//! ```
//!
//! Delimiter, header and types come from options, from the table that is filled, or from the first mebibyte (sniff). Memory
//! holds a piece and some rows per worker, whatever the size of the file. Rows come in the order in which workers finish.
//! An error names file, line and column; with `ignore_errors`, rows with errors are left out and counted instead.

mod columns;
mod csv;
mod cutter;
mod json;
mod options;
mod scan;
mod sniff;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_catalog::{CopyOption, TableDefinition, TableStatistics};
use godwit_common::{Error, Result};
use godwit_exec::pipeline::Source;
use godwit_exec::{QueryContext, ScanRequest, Table, TableHandle};
use godwit_vector::{ColumnType, RowType};

use columns::Formats;
use csv::Dialect;
pub(crate) use options::is_text_file;
use options::{Format, TextOptions};

/// A CSV or JSON file with all that is known of it before it is read.
pub(crate) struct TextTable {
    path: PathBuf,
    kind: Kind,
    is_gzip: bool,
    /// The types of the columns as they are read.
    schema: SchemaRef,
    row_type: RowType,
    ignore_errors: bool,
}

/// How records are found and read.
enum Kind {
    Csv { dialect: Dialect, has_header: bool, null: Vec<u8>, formats: Formats },
    Json,
}

impl TextTable {
    /// The table in a file. `expected` are the columns to read it as: for CSV by position, for JSON by name; without them,
    /// the file's beginning tells.
    pub(crate) fn definition(
        path: &Path,
        options: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        let options = TextOptions::of(path, options)?;
        let sample = cutter::sample(path, options.is_gzip)?;
        let name = path.display().to_string();
        let (kind, fields, records) = match options.format {
            Format::Csv => {
                let sniffed = sniff::csv(&sample, &options, expected)?;
                let formats =
                    Formats { date: options.date_format.clone(), timestamp: options.timestamp_format.clone() };
                let (dialect, has_header) = (sniffed.dialect, sniffed.has_header);
                let null = options.null.clone().into_bytes();
                (Kind::Csv { dialect, has_header, null, formats }, sniffed.fields, sniffed.records)
            }
            Format::Json => {
                let (fields, records) = json::sniff(&sample, &name, expected)?;
                (Kind::Json, fields, records)
            }
        };
        let types = fields.iter().map(|field| ColumnType::new(field.data_type().clone(), true));
        let row_type: RowType = types.collect::<Result<_>>()?;
        let table = Self {
            path: path.to_owned(),
            kind,
            is_gzip: options.is_gzip,
            schema: Arc::new(Schema::new(fields)),
            row_type,
            ignore_errors: options.ignore_errors,
        };
        let rows = sample.estimated_rows(records);
        let (schema, columns) = (table.schema.clone(), table.row_type.len());
        let statistics = Arc::new(TableStatistics::of_rows(rows, false, columns));
        let handle = Arc::new(TableHandle(Arc::new(Scannable(Arc::new(table)))));
        Ok(Arc::new(TableDefinition::new(name, schema, statistics, handle).without_filters()))
    }

    /// An error at a line of the file.
    fn error_at(&self, line: u64, what: &str) -> Error {
        Error::user(format!("{}, line {line}: {what}", self.path.display()))
    }
}

/// What the executor sees of the table.
struct Scannable(Arc<TextTable>);

impl Table for Scannable {
    fn row_type(&self) -> &RowType {
        &self.0.row_type
    }

    fn scan(&self, request: ScanRequest, _query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "text files evaluate no filters");
        scan::TextScan::source(self.0.clone(), request)
    }
}

/// A column that may be NULL; text as views, which is what plans carry.
fn field(name: &str, data_type: &DataType) -> Field {
    Field::new(name, godwit_catalog::as_view_type(data_type), true)
}
