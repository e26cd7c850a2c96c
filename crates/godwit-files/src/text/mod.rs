//! CSV and JSON files as tables: `FROM 'x.csv'`, `read_csv(…)`, `COPY t FROM 'x.json'`.
//!
//! ```text
//!   file ──▶ Cutter, under a lock: pieces of a mebibyte that end with a record          (cutter)
//!               ├─▶ worker 0: places of fields, 64 bytes at a time  (separators)
//!               │             or a parser, for irregular quotes     (csv)               ─▶ vectors    (values, parse)
//!               └─▶ worker 1: places of objects' values             (json)              ─▶ vectors    (values, parse)
//! ```
//!
//! Values in their usual spelling are parsed in place; others are read as SQL's casts do (columns).
//!
//! Each scan opens a file again. A stream is opened once, and read by one scan (stream).
//!
//! Dialect, header and types come from options, from the table to be filled, or from the first mebibyte (sniff). Memory
//! holds a piece and some rows per worker, whatever the size of the file. Rows come in the order in which workers
//! finish. An error names file, line and column; with `ignore_errors`, rows with errors are skipped and counted
//! instead, and with `store_rejects` they are kept for inspection (rejects).

mod columns;
mod compression;
mod counts;
mod csv;
mod cutter;
mod dialect;
mod json;
mod options;
mod parse;
mod record_errors;
mod records;
mod rejects;
mod sample;
mod scan;
mod separators;
mod sniff;
mod sniffed;
mod source;
mod stream;
mod times;
mod union;
mod values;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_schema::{Field, Schema, SchemaRef};
use godwit_catalog::{CopyOption, TableDefinition, TableStatistics};
use godwit_common::{Error, Result, without_secrets};
use godwit_io::Files;
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::{QueryContext, Scan, ScanRequest, Source, Table, TableHandle};
use godwit_types::SqlType;
use godwit_vector::sql::{arrow_type, field_of, type_of_field};
use godwit_vector::{ColumnType, RowType};

use crate::hive::{FileColumn, file_columns};
use columns::Nulls;
use cutter::{Cutter, CutterOptions, RECORD_BYTES_MAX, RecordEnds};
pub(crate) use dialect::Delimiter;
use dialect::Dialect;
pub(crate) use json::row_of_object;
use json::{JsonScanner, Layout};
pub(crate) use options::is_text_file;
use options::{Format, TextOptions};
use rejects::RejectTables;
pub(crate) use rejects::{Rejects, error_columns, scan_columns};
pub(crate) use sniffed::{sniffed_columns, sniffed_row};
use source::{CsvShape, TextSource};
pub(crate) use stream::Streams;

/// Number of files whose beginnings determine the types of JSON.
const SAMPLED_FILES_MAX: usize = 32;

/// CSV or JSON files, with everything that has to be known before they are read.
pub(crate) struct TextTable {
    files: Arc<dyn Files>,
    /// Where rejected rows are kept, if they are.
    rejects: Option<(Arc<Rejects>, RejectTables)>,
    sources: Vec<TextSource>,
    options: TextOptions,
    /// The options as the user gave them.
    arguments: Option<String>,
    /// The layout of JSON rows.
    layout: Layout,
    /// Texts that stand for NULL.
    nulls: Vec<Vec<u8>>,
    /// The types of the columns as they are read: first those of the records, then those with one value per file.
    schema: SchemaRef,
    row_type: RowType,
    file_columns: Vec<FileColumn>,
}

/// The means to read text files.
pub(crate) struct TextFiles<'a> {
    pub files: &'a Arc<dyn Files>,
    pub streams: &'a Streams,
    pub rejects: &'a Arc<Rejects>,
    pub memory: &'a BufferManager,
}

/// The properties of the records, file by file.
struct Shapes {
    /// For CSV.
    csv: Vec<Arc<CsvShape>>,
    /// For JSON.
    layout: Layout,
    fields: Vec<Field>,
    /// Number of records in all samples, and the size of the sampled files.
    records: u64,
}

impl TextTable {
    /// Returns the texts that stand for NULL in a column.
    fn nulls_of(&self, column: usize) -> Nulls<'_> {
        let name = self.schema.field(column).name();
        let is_forced = self.options.force_not_null.iter().any(|forced| *forced == name.to_lowercase());
        match is_forced {
            true => Nulls::default(),
            false => Nulls { never_quoted: !self.options.allow_quoted_nulls, ..Nulls::of(&self.nulls) },
        }
    }

    /// Returns the table in one or more files. `expected` are the columns of the table to be filled: for CSV by
    /// position, for JSON by name. Without them, they are determined from the beginning of the first file, and the
    /// others are read accordingly.
    pub(crate) fn definition(
        with: TextFiles<'_>,
        paths: &[PathBuf],
        given: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        let TextFiles { files, streams, rejects, memory } = with;
        let options = TextOptions::of(paths.first().expect("a table has at least one file"), given)?;
        let rejects = RejectTables::of(&options)?.map(|tables| (rejects.clone(), tables));
        let open = |path: &PathBuf| TextSource::open(&**files, streams, path, paths.len() == 1);
        let mut sources = paths.iter().map(open).collect::<Result<Vec<_>>>()?;
        let name = without_secrets(&paths[0].display().to_string());
        let first = sources[0].sample(&**files, &options, memory)?;
        let is_union = options.union_by_name && expected.is_none();
        let shapes = match options.format {
            Format::Csv if is_union => union::csv(&**files, &sources, first, &options, memory)?,
            Format::Csv => {
                let all = |dialect: &Dialect, skip| {
                    sources[0].cutter(&**files, &options, (RecordEnds::Csv(*dialect), skip), memory)
                };
                let sniffed = sniff::csv(&first, &options, expected, all)?;
                let (fields, records) = (sniffed.fields.clone(), first.estimated_rows(sniffed.records));
                let shape = Arc::new(CsvShape::of(sniffed));
                Shapes { csv: vec![shape; sources.len()], layout: Layout::default(), fields, records }
            }
            Format::Json => {
                let rows_of = |sample: &sample::Sample, records| sample.estimated_rows(records);
                let mut samples = vec![first];
                for source in sources[1..].iter().take(SAMPLED_FILES_MAX - 1).filter(|_| expected.is_none()) {
                    samples.push(source.sample(&**files, &options, memory)?);
                }
                let all = |source: usize, layout| {
                    let ends = RecordEnds::Json(JsonScanner::new(layout));
                    sources[source].cutter(&**files, &options, (ends, 0), memory)
                };
                let json::Sniffed { fields, records, layout } = json::sniff(&samples, &name, &options, expected, all)?;
                Shapes { csv: Vec::new(), layout, fields, records: rows_of(&samples[0], records) }
            }
        };
        sources.iter_mut().zip(shapes.csv).for_each(|(source, shape)| source.shape = Some(shape));
        let all_bytes: u64 = sources.iter().map(|source| source.bytes).sum();
        let rows = shapes.records.saturating_mul(all_bytes.max(1)) / sources[0].bytes.max(1);
        let file_columns =
            if expected.is_some() { Vec::new() } else { file_columns(paths, &options.file_columns, &shapes.fields)? };
        let mut fields = shapes.fields;
        for column in &file_columns {
            fields.push(field_of(&column.name, &column.ty, true)?);
        }
        let is_there = |name: &String| fields.iter().any(|field| field.name().to_lowercase() == **name);
        if let Some(name) = options.force_not_null.iter().find(|name| !is_there(name)) {
            return Err(Error::user(format!("force_not_null names {name}, which is no column of the file")));
        }
        let types = fields.iter().map(|field| ColumnType::new(field.data_type().clone(), true));
        let table = Self {
            files: files.clone(),
            rejects,
            arguments: arguments_shown(given),
            sources,
            layout: shapes.layout,
            nulls: options.nulls.iter().map(|null| null.clone().into_bytes()).collect(),
            options,
            row_type: types.collect::<Result<_>>()?,
            schema: Arc::new(Schema::new(fields)),
            file_columns,
        };
        let (schema, columns) = (table.schema.clone(), table.row_type.len());
        let statistics = Arc::new(TableStatistics::of_rows(rows, false, columns));
        let handle = Arc::new(TableHandle(Arc::new(table)));
        Ok(Arc::new(TableDefinition::new(name, schema, statistics, handle)))
    }

    /// Creates a cutter that starts with the first record of a source. Bytes read are added to `stored`.
    fn cutter(&self, number: usize, memory: Reservation, stored: &Arc<AtomicU64>) -> Result<Cutter> {
        let source = &self.sources[number];
        let ends = match &source.shape {
            Some(shape) => RecordEnds::Csv(shape.dialect),
            None => RecordEnds::Json(JsonScanner::new(self.layout)),
        };
        let skip = self.options.skip.unwrap_or(0) + source.shape.as_ref().map_or(0, |shape| shape.skip);
        let usual = if source.shape.is_some() { RECORD_BYTES_MAX } else { usize::MAX };
        let record_bytes_max = self.options.record_bytes_max.unwrap_or(usual);
        let text = source.text(&*self.files, &self.options, stored)?;
        Ok(Cutter::new(text, &source.path, ends, CutterOptions { source: number, skip, record_bytes_max, memory }))
    }

    /// Returns the number of columns that come from records.
    fn record_columns(&self) -> usize {
        self.row_type.len() - self.file_columns.len()
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

/// Returns true for times with a zone, and for types that contain them.
fn has_zone(ty: &SqlType) -> bool {
    match ty {
        SqlType::TimeTz | SqlType::TimestampTz => true,
        SqlType::List(element) | SqlType::Array(element, _) => has_zone(element),
        SqlType::Struct(fields) => fields.iter().any(|field| has_zone(&field.ty)),
        SqlType::Map(entry) => has_zone(&entry.0) || has_zone(&entry.1),
        _ => false,
    }
}

/// Returns the options that say something about a scan: those of which neither the format nor the columns tell.
fn arguments_shown(given: &[CopyOption]) -> Option<String> {
    let shown = given.iter().filter(|option| !["format", "columns"].contains(&option.name.as_str()));
    let mut shown: Vec<String> = shown.map(sniffed::argument).collect();
    shown.sort_unstable();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Returns the column as which the values for a column of a table are read: as text, which is then cast, if only casts
/// read its type. Those know the session's time zone.
fn read_as(column: &Field, format: Format) -> Result<Field> {
    let ty = type_of_field(column)?;
    let ty = match format {
        Format::Csv if ty == SqlType::TimeTz || ty.is_nested() && has_zone(&ty) => SqlType::Varchar,
        Format::Csv => return field_of(column.name(), &ty, true),
        Format::Json => ty.for_exchange().unwrap_or(ty),
    };
    match ty {
        // It has values that a column of its Arrow type hasn't.
        SqlType::HugeInt => field_of(column.name(), &ty, true),
        ty => Ok(Field::new(column.name(), arrow_type(&ty)?, true)),
    }
}
