//! CSV and JSON files as tables: `FROM 'x.csv'`, `read_csv(…)`, `COPY t FROM 'x.json'`.
//!
//! ```text
//!   file ──▶ Cutter, under a lock: pieces of a mebibyte that end with a record          (cutter)
//!               ├─▶ worker 0: places of fields, 64 bytes at a time  (separators)
//!               │             or a parser, for irregular quotes     (csv)               ─▶ vectors    (values, parse)
//!               └─▶ worker 1: places of flat objects' values        (objects)           ─▶ vectors    (values, parse)
//!                             or Arrow's JSON decoder               (json)              ─▶ vectors
//! ```
//!
//! Values in their usual spelling are read where they stand; what is spelled otherwise is cast by Arrow (columns).
//!
//! A file is opened again by each scan. A stream is opened once, and read by one (stream).
//!
//! Delimiter, header and types come from options, from the table that is filled, or from the first mebibyte (sniff). Memory
//! holds a piece and some rows per worker, whatever the size of the file. Rows come in the order in which workers finish.
//! An error names file, line and column; with `ignore_errors`, rows with errors are left out and counted instead.

mod columns;
mod csv;
mod cutter;
mod json;
mod json_scanner;
mod objects;
mod options;
mod parse;
mod records;
mod scan;
mod separators;
mod sniff;
mod stream;
mod values;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_catalog::{CopyOption, TableDefinition, TableStatistics};
use godwit_common::{Error, Result, without_secrets};
use godwit_io::{FileKind, Files, Input, InputFile, InputReader};
use godwit_pipeline::{QueryContext, Scan, ScanRequest, Source, Table, TableHandle};
use godwit_vector::{ColumnType, RowType};

use columns::Formats;
use csv::Dialect;
use cutter::{Cutter, RecordEnds, Sample, open_error};
use json_scanner::JsonScanner;
pub(crate) use options::is_text_file;
use options::{Format, TextOptions};
use stream::SharedStream;
pub(crate) use stream::Streams;

/// CSV or JSON files with all that is known of them before they are read.
pub(crate) struct TextTable {
    files: Arc<dyn Files>,
    sources: Vec<TextSource>,
    kind: Kind,
    /// The types of the columns as they are read.
    schema: SchemaRef,
    row_type: RowType,
    ignore_errors: bool,
}

/// How records are found and read.
enum Kind {
    Csv { dialect: Dialect, header: Option<Vec<Vec<u8>>>, null: Vec<u8>, formats: Formats },
    Json,
}

/// Where text comes from.
struct TextSource {
    path: PathBuf,
    /// For what is no file.
    stream: Option<SharedStream>,
    is_gzip: bool,
    /// Length as it is stored.
    bytes: u64,
}

impl TextSource {
    fn open(files: &dyn Files, streams: &Streams, path: &Path, options: &[CopyOption], is_alone: bool) -> Result<Self> {
        let found = files.metadata(path).map_err(|error| open_error(path, &error))?;
        let stream = match found.kind {
            FileKind::Stream if !is_alone => {
                return Err(Error::user(format!("{} is a pipe or a device", path.display()))
                    .with_hint("a list of files has none of them; read it alone"));
            }
            FileKind::Stream => Some(streams.open(files, path, found.identity)?),
            FileKind::File | FileKind::Folder => None,
        };
        let is_gzip = TextOptions::of(path, options)?.is_gzip;
        Ok(Self { path: path.to_owned(), stream, is_gzip, bytes: found.bytes })
    }

    /// What it begins with.
    fn sample(&self, files: &dyn Files) -> Result<Sample> {
        let sample = match &self.stream {
            Some(stream) => stream.look(|stream| Sample::of_stream(stream, &self.path, self.is_gzip)),
            None => Some(opened(files, &self.path).and_then(|file| Sample::of_file(file, &self.path, self.is_gzip))),
        };
        sample.expect("no scan knows a stream that is being planned")
    }
}

impl TextTable {
    /// The table in one file or more. `expected` are the columns to read it as: for CSV by position, for JSON by name; without
    /// them, the beginning of the first file tells, and the others are read as it is.
    pub(crate) fn definition(
        files: &Arc<dyn Files>,
        streams: &Streams,
        paths: &[PathBuf],
        options: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        let open = |path: &PathBuf| TextSource::open(&**files, streams, path, options, paths.len() == 1);
        let sources = paths.iter().map(open).collect::<Result<Vec<_>>>()?;
        let first = sources.first().expect("a table has at least one file");
        let options = TextOptions::of(&first.path, options)?;
        let sample = first.sample(&**files)?;
        let name = without_secrets(&first.path.display().to_string());
        let (kind, fields, records) = match options.format {
            Format::Csv => {
                let sniffed = sniff::csv(&sample, &options, expected)?;
                let formats =
                    Formats { date: options.date_format.clone(), timestamp: options.timestamp_format.clone() };
                let (dialect, header) = (sniffed.dialect, sniffed.header);
                let null = options.null.clone().into_bytes();
                (Kind::Csv { dialect, header, null, formats }, sniffed.fields, sniffed.records)
            }
            Format::Json => {
                let (fields, records) = json::sniff(&sample, &name, expected)?;
                (Kind::Json, fields, records)
            }
        };
        let types = fields.iter().map(|field| ColumnType::new(field.data_type().clone(), true));
        let row_type: RowType = types.collect::<Result<_>>()?;
        let all_bytes: u64 = sources.iter().map(|source| source.bytes).sum();
        let rows = sample.estimated_rows(records).saturating_mul(all_bytes.max(1)) / first.bytes.max(1);
        let table = Self {
            files: files.clone(),
            sources,
            kind,
            schema: Arc::new(Schema::new(fields)),
            row_type,
            ignore_errors: options.ignore_errors,
        };
        let (schema, columns) = (table.schema.clone(), table.row_type.len());
        let statistics = Arc::new(TableStatistics::of_rows(rows, false, columns));
        let handle = Arc::new(TableHandle(Arc::new(table)));
        Ok(Arc::new(TableDefinition::new(name, schema, statistics, handle)))
    }

    /// Reads the records of a source from the first on.
    fn cutter(&self, source: usize) -> Result<Cutter> {
        let TextSource { path, stream, is_gzip, .. } = &self.sources[source];
        let ends = match &self.kind {
            Kind::Csv { dialect, .. } => RecordEnds::Csv(*dialect),
            Kind::Json => RecordEnds::Json(JsonScanner::default()),
        };
        let stored = match stream {
            Some(stream) => stream.take(path)?.reader(),
            None => Box::new(InputReader::new(opened(&*self.files, path)?, 0)),
        };
        Ok(Cutter::new(stored, path, *is_gzip, ends))
    }
}

/// Opens a file that can be read more than once.
fn opened(files: &dyn Files, path: &Path) -> Result<Arc<dyn InputFile>> {
    match files.open(path).map_err(|error| open_error(path, &error))? {
        Input::File(file) => Ok(file),
        Input::Stream(_) => Err(Error::user(format!("{} became a pipe or a device", path.display()))),
    }
}

impl Table for TextTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        Ok(Scan::new(self, request, query)?)
    }
}

/// A column that may be NULL; text as views, which is what plans carry.
fn field(name: &str, data_type: &DataType) -> Field {
    Field::new(name, godwit_catalog::as_view_type(data_type), true)
}
