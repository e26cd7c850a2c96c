//! A table: one or several Parquet files of one schema, their footers, and the statistics over all of them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};
use godwit_catalog::{ColumnStatistics, TableDefinition, TableStatistics};
use godwit_common::Result;
use godwit_expression::TextDomain;
use godwit_io::{DiskSystem, Files};
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, SampledTable, Scan, ScanRequest, Source, Table, TableHandle};
use godwit_vector::{ColumnType, PhysicalType, RowType, ValueRange, Vector};

use crate::distinct;
use crate::footer::ParquetFile;
use crate::same_columns::matching_columns;
use crate::sample;
use crate::statistics::{PartBounds, column_statistics, row_group_bounds};
use crate::text_domain;

/// Parquet files that are read as one table. Immutable: footers are read when it is opened, pages when they are asked for.
pub struct ParquetTable {
    files: Vec<TableFile>,
    schema: SchemaRef,
    row_type: RowType,
    statistics: Arc<TableStatistics>,
    /// Per column: all values of a text column, once requested; `None` inside if there are too many.
    domains: Vec<OnceLock<Option<Arc<TextDomain>>>>,
    /// Per column: about how many values, once requested; `None` inside if there is no estimate.
    distinct: Vec<OnceLock<Option<u64>>>,
    /// Per column: whether what planning may read of it was announced.
    announced: Vec<AtomicBool>,
}

/// A file of a table.
pub(crate) struct TableFile {
    /// The file.
    pub file: ParquetFile,
    /// Column of the file for each column of the table.
    columns: Vec<usize>,
    /// Bounds per row group, by column of the table.
    bounds: Vec<Option<PartBounds>>,
}

impl ParquetTable {
    /// Opens files as one table, rows in the order of the files. Columns go by the first file; the others must have
    /// them with the same types, in any order. `memory` accounts for the footers.
    pub fn open(paths: Vec<PathBuf>, memory: &BufferManager) -> Result<Arc<ParquetTable>> {
        Self::open_on(&DiskSystem, paths, memory)
    }

    /// As [`open`](Self::open), wherever the files are.
    pub(crate) fn open_on(place: &dyn Files, paths: Vec<PathBuf>, memory: &BufferManager) -> Result<Arc<ParquetTable>> {
        assert!(!paths.is_empty(), "a table has at least one file");
        let mut files: Vec<TableFile> = Vec::with_capacity(paths.len());
        let fields = |file: &ParquetFile| file.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>();
        for (index, path) in paths.iter().enumerate() {
            place.will_open(&paths[index..]);
            let file = ParquetFile::open(place, path, memory)?;
            let columns = match files.first() {
                None => (0..file.columns.len()).collect(),
                Some(first) => matching_columns((&paths[0], &fields(&first.file)), (path, &fields(&file)))?,
            };
            let bounds = columns.iter().map(|&column| row_group_bounds(&file, column)).collect();
            files.push(TableFile { file, columns, bounds });
        }
        let fields = (0..files[0].columns.len()).map(|column| table_field(&files, column)).collect::<Vec<_>>();
        let columns = (0..fields.len()).map(|column| {
            // A type without kernels is an error when a query reads it, not when the file is opened.
            let ty = ColumnType::new(fields[column].data_type().clone(), fields[column].is_nullable());
            ty.unwrap_or_else(|_| ColumnType {
                logical: fields[column].data_type().clone(),
                physical: PhysicalType::Nested,
                nullable: fields[column].is_nullable(),
                range: None,
            })
        });
        let mut row_type: RowType = columns.collect();
        let mut statistics = TableStatistics { rows: 0, rows_exact: true, columns: Vec::new() };
        statistics.rows = files.iter().map(|file| file.file.rows()).sum();
        for (column, ty) in row_type.iter_mut().enumerate() {
            let known = add_up(&files, column, ty.physical);
            ty.range = known.range;
            statistics.columns.push(known);
        }
        for (column, ty) in row_type.iter().enumerate() {
            statistics.columns[column].average_bytes = average_bytes(&files, column, ty.physical);
        }
        Ok(Arc::new(Self {
            domains: row_type.iter().map(|_| OnceLock::new()).collect(),
            distinct: row_type.iter().map(|_| OnceLock::new()).collect(),
            announced: row_type.iter().map(|_| AtomicBool::new(false)).collect(),
            files,
            schema: Arc::new(Schema::new(fields)),
            row_type,
            statistics: Arc::new(statistics),
        }))
    }

    /// True if one of its files is remote.
    pub(crate) fn is_remote(&self) -> bool {
        self.files.iter().any(|file| file.file.bytes.is_remote())
    }

    /// Columns; strings and binaries as views.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Statistics over all files.
    pub fn statistics(&self) -> &Arc<TableStatistics> {
        &self.statistics
    }

    /// This table for the catalog. `memory` accounts for its sample.
    pub fn definition(self: &Arc<Self>, name: impl Into<String>, memory: &BufferManager) -> Arc<TableDefinition> {
        let handle = Arc::new(TableHandle(self.clone()));
        let definition = TableDefinition::new(name, self.schema.clone(), self.statistics.clone(), handle);
        let sample = SampledTable::new(self.clone(), self.statistics.rows, memory);
        Arc::new(definition.with_sample(Arc::new(sample)))
    }

    /// Approximate memory that a worker needs to read a column: a page, and the dictionary if it has one.
    pub(crate) fn column_bytes(&self, column: usize) -> u64 {
        let of_file = |file: &TableFile| {
            (0..file.file.row_group_rows.len()).map(|group| file.file.reader_bytes(group, file.column(column))).max()
        };
        self.files.iter().filter_map(of_file).max().unwrap_or(0)
    }

    pub(crate) fn files(&self) -> &[TableFile] {
        &self.files
    }

    /// The proven range of a column.
    pub(crate) fn range(&self, column: usize) -> Option<ValueRange> {
        self.row_type[column].range
    }
}

impl TableFile {
    /// Column of the file for a column of the table.
    pub(crate) fn column(&self, table_column: usize) -> usize {
        self.columns[table_column]
    }

    /// Bounds per row group of a column of the table.
    pub(crate) fn bounds(&self, table_column: usize) -> Option<&PartBounds> {
        self.bounds[table_column].as_ref()
    }
}

impl Table for ParquetTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        Ok(Scan::new(self, request, query)?)
    }

    /// Found when it is first asked for.
    fn text_domain(&self, column: usize, memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
        if let Some(known) = self.domains[column].get() {
            return Ok(known.clone());
        }
        let found = text_domain::find(self, column, memory)?;
        Ok(self.domains[column].get_or_init(|| found).clone())
    }

    /// Found when it is first asked for.
    fn distinct(&self, column: usize, memory: &BufferManager) -> Result<Option<u64>> {
        if let Some(known) = self.distinct[column].get() {
            return Ok(*known);
        }
        let found = distinct::estimate(self, column, &self.statistics.columns[column], memory)?;
        Ok(*self.distinct[column].get_or_init(|| found))
    }

    fn sample(&self, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
        sample::read(self, column, memory)
    }

    fn announce_sample(&self, columns: &[usize]) {
        if !self.is_remote() {
            return;
        }
        let is_new = |&column: &usize| !self.announced[column].swap(true, Ordering::Relaxed);
        let mut ranges: Vec<Vec<Range<u64>>> = self.files.iter().map(|_| Vec::new()).collect();
        for column in columns.iter().copied().filter(is_new) {
            for (file, range) in sample::places(self, column).into_iter().chain(distinct::places(self, column)) {
                ranges[file].push(range);
            }
        }
        for (file, ranges) in self.files.iter().zip(&ranges) {
            file.file.bytes.announce(ranges);
        }
    }
}

/// A column of the table: nullable if it is in any file.
fn table_field(files: &[TableFile], column: usize) -> Field {
    let nullable = files.iter().any(|file| file.file.columns[file.columns[column]].field.is_nullable());
    files[0].file.columns[column].field.clone().with_nullable(nullable)
}

/// Average bytes of a value, where files have that information: strings.
fn average_bytes(files: &[TableFile], column: usize, physical: PhysicalType) -> Option<f64> {
    if !matches!(physical, PhysicalType::Str | PhysicalType::Nested) {
        return Some(physical.width_bytes() as f64);
    }
    let (mut bytes, mut values) = (0i64, 0i64);
    for file in files {
        let leaf = file.file.columns[file.columns[column]].leaf;
        for group in file.file.metadata().row_groups() {
            let chunk = group.column(leaf);
            bytes += chunk.unencoded_byte_array_data_bytes().unwrap_or_else(|| chunk.uncompressed_size());
            values += chunk.num_values();
        }
    }
    (values > 0).then(|| bytes.max(0) as f64 / values as f64)
}

/// The statistics of a column over all files.
fn add_up(files: &[TableFile], column: usize, physical: PhysicalType) -> ColumnStatistics {
    let known = column_statistics(files.iter().map(|file| file.bounds(column)), physical);
    // Only values that this crate decodes itself are verified; others may not promise a range.
    let all_verified = files.iter().all(|file| {
        let column = file.columns[column];
        (0..file.file.row_group_rows.len()).all(|group| file.file.decoding(group, column).is_some())
    });
    ColumnStatistics { range: known.range.filter(|_| all_verified), ..known }
}
