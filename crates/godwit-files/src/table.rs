//! A table in one or several Parquet files of one schema: their footers, and the statistics over all of them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};
use godwit_catalog::{ColumnStatistics, CopyOption, FILE_ROW_NUMBER, TableDefinition, TableStatistics};
use godwit_common::{Error, ErrorKind, Result};
use godwit_expression::TextDomain;
use godwit_io::{DiskSystem, Files};
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, SampledTable, Scan, ScanRequest, ScanTask, Source, Table, TableHandle};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::{field_of, vector_of_values};
use godwit_vector::{ColumnType, Flat, PhysicalType, RowType, ValueRange, Vector};

use crate::distinct;
use crate::footer::ParquetFile;
use crate::hive::{FileColumn, FileColumnOptions, file_columns, wanted_files};
use crate::same_columns::{same_columns, united_columns};
use crate::sample;
use crate::statistics::{PartBounds, column_statistics, row_group_bounds};
use crate::text_domain::{self, KnownDomain};

/// Parquet files read as one table. Immutable: footers are read when it is opened, pages on demand.
pub struct ParquetTable {
    files: Vec<TableFile>,
    schema: SchemaRef,
    row_type: RowType,
    /// The columns with one value per file, and the position of the first.
    file_columns: Vec<FileColumn>,
    first_file_column: usize,
    statistics: Arc<TableStatistics>,
    /// Per column: all values of a text column, once requested; `None` inside if there are too many.
    domains: Vec<OnceLock<Option<KnownDomain>>>,
    /// Per column: estimated number of distinct values, once requested; `None` inside if there is no estimate.
    distinct: Vec<OnceLock<Option<u64>>>,
    /// Per column: whether the reads of planning were announced.
    announced: Vec<AtomicBool>,
    memory: BufferManager,
}

/// A file of a table.
pub(crate) struct TableFile {
    /// The file.
    pub file: ParquetFile,
    /// By column of the table.
    columns: Vec<ColumnPlace>,
    /// Bounds per row group, by column of the table.
    bounds: Vec<Option<PartBounds>>,
}

/// Source of a table column's values in a file.
#[derive(Clone)]
enum ColumnPlace {
    /// This column of the file.
    Stored(usize),
    /// The same value in all rows; `None` is NULL.
    Value(Option<Flat>),
    /// The position of each row in the file, from 0; with the first one of each row group.
    RowNumber(Vec<i64>),
}

/// Name of the column with the positions of rows in their file, if it is asked for.
const ROW_NUMBER: &str = "file_row_number";

/// The user's options for the columns of several files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ParquetOptions {
    /// True if the columns are those of all files, NULL in files without them; otherwise all files must have the same.
    pub union_by_name: bool,
    pub file_columns: FileColumnOptions,
    /// True for a column with the position of each row in its file.
    pub row_number: bool,
}

impl ParquetOptions {
    /// Returns the options for just the columns of the files.
    pub(crate) fn without_folders() -> Self {
        let file_columns = FileColumnOptions { has_none: true, ..FileColumnOptions::default() };
        Self { union_by_name: false, file_columns, row_number: false }
    }

    /// Returns true if they ask for columns that a single file doesn't have.
    pub(crate) fn add_columns(&self) -> bool {
        let FileColumnOptions { filename, hive_partitioning, .. } = &self.file_columns;
        self.union_by_name || self.row_number || filename.is_some() || *hive_partitioning == Some(true)
    }

    pub(crate) fn of(options: &[CopyOption]) -> Result<Self> {
        let mut read = Self::default();
        for option in options {
            match option.name.as_str() {
                "union_by_name" => read.union_by_name = option.flag()?,
                "file_row_number" => read.row_number = option.flag()?,
                "filename" => read.file_columns.set_filename(option)?,
                "hive_partitioning" => read.file_columns.hive_partitioning = Some(option.flag()?),
                other => {
                    return Err(Error::user(format!("there is no option {other} for reading Parquet files"))
                        .with_hint("options are union_by_name, filename, file_row_number and hive_partitioning"));
                }
            }
        }
        Ok(read)
    }
}

impl ParquetTable {
    /// Opens files as one table, rows in the order of the files. The first file determines the columns; the others must
    /// have them with the same types, in any order. `memory` accounts for the footers and the domains of texts.
    pub fn open(paths: Vec<PathBuf>, memory: &BufferManager) -> Result<Arc<ParquetTable>> {
        Self::open_on(&DiskSystem, paths, &ParquetOptions::without_folders(), memory)
    }

    /// Like [`open`](Self::open), for files anywhere, and with columns that aren't in them.
    pub(crate) fn open_on(
        place: &dyn Files,
        paths: Vec<PathBuf>,
        options: &ParquetOptions,
        memory: &BufferManager,
    ) -> Result<Arc<ParquetTable>> {
        assert!(!paths.is_empty(), "a table has at least one file");
        let mut opened: Vec<ParquetFile> = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            place.will_open(&paths[index..]);
            opened.push(ParquetFile::open(place, path, memory)?);
        }
        let TableFiles { files, fields, file_columns, first_file_column } = table_files(&paths, opened, options)?;
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
            file_columns,
            first_file_column,
            statistics: Arc::new(statistics),
            memory: memory.clone(),
        }))
    }

    /// Accounts for what the table keeps beyond queries.
    pub(crate) fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// Returns true if one of its files is remote.
    pub(crate) fn is_remote(&self) -> bool {
        self.files.iter().any(|file| file.file.bytes.is_remote())
    }

    /// The columns, with strings and binaries as views.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Statistics over all files.
    pub fn statistics(&self) -> &Arc<TableStatistics> {
        &self.statistics
    }

    /// Returns the table's definition for the catalog. `memory` accounts for its sample.
    pub fn definition(self: &Arc<Self>, name: impl Into<String>, memory: &BufferManager) -> Arc<TableDefinition> {
        let handle = Arc::new(TableHandle(self.clone()));
        let definition = TableDefinition::new(name, self.schema.clone(), self.statistics.clone(), handle);
        let sample = SampledTable::new(self.clone(), self.statistics.rows, memory);
        Arc::new(definition.with_sample(Arc::new(sample)))
    }

    /// Approximates the memory that a worker needs to read a column: a page, and the dictionary if there is one.
    pub(crate) fn column_bytes(&self, column: usize) -> u64 {
        let of_file = |file: &TableFile| {
            let column = file.column(column)?;
            (0..file.file.row_group_rows.len()).map(|group| file.file.reader_bytes(group, column)).max()
        };
        self.files.iter().filter_map(of_file).max().unwrap_or(0)
    }

    pub(crate) fn files(&self) -> &[TableFile] {
        &self.files
    }

    /// Returns for each file whether a scan may find rows in it, by the columns with one value per file.
    pub(crate) fn wanted_files(&self, task: &ScanTask) -> Result<Vec<bool>> {
        wanted_files(task, &self.file_columns, self.first_file_column, self.files.len())
    }

    /// Returns the proven range of a column.
    pub(crate) fn range(&self, column: usize) -> Option<ValueRange> {
        self.row_type[column].range
    }
}

impl TableFile {
    /// Returns the file's column for a column of the table; `None` if its values don't depend on those of the file.
    pub(crate) fn column(&self, table_column: usize) -> Option<usize> {
        match self.columns[table_column] {
            ColumnPlace::Stored(column) => Some(column),
            ColumnPlace::Value(_) | ColumnPlace::RowNumber(_) => None,
        }
    }

    /// Returns the values of a column for rows of a row group, or for the `selected` ones of these; `None` if the file has
    /// a column for it.
    pub(crate) fn made(
        &self,
        (table_column, ty): (usize, &ColumnType),
        row_group: usize,
        rows: &Range<usize>,
        selected: Option<&[u32]>,
    ) -> Option<Vector> {
        let count = selected.map_or(rows.len(), <[u32]>::len);
        Some(match &self.columns[table_column] {
            ColumnPlace::Stored(_) => return None,
            ColumnPlace::Value(Some(value)) => Vector::constant(value.clone(), count),
            ColumnPlace::Value(None) => Vector::null_of(ty, count),
            ColumnPlace::RowNumber(first_rows) => {
                let first = first_rows[row_group] + rows.start as i64;
                let numbers: Vec<i64> = match selected {
                    Some(selected) => selected.iter().map(|&row| first + i64::from(row)).collect(),
                    None => (first..first + count as i64).collect(),
                };
                Vector::from_values(numbers, None)
            }
        })
    }

    /// Returns the bounds per row group of a column of the table.
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

    /// Determined on first request.
    fn text_domain(&self, column: usize, memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
        let domain = &self.domains[column];
        let known = match domain.get() {
            Some(known) => known,
            None => match text_domain::find(self, column, memory) {
                // Queries run without it. The next one may have the memory.
                Err(error) if error.kind() == ErrorKind::Resource => return Ok(None),
                found => {
                    let found = found?;
                    domain.get_or_init(|| found)
                }
            },
        };
        Ok(known.as_ref().map(|known| known.domain.clone()))
    }

    /// Determined on first request.
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

/// Files with the source of each column of the table, and these columns.
struct TableFiles {
    files: Vec<TableFile>,
    fields: Vec<Field>,
    file_columns: Vec<FileColumn>,
    first_file_column: usize,
}

/// Returns files as those of a table.
fn table_files(paths: &[PathBuf], opened: Vec<ParquetFile>, options: &ParquetOptions) -> Result<TableFiles> {
    let of_files: Vec<Vec<Field>> =
        opened.iter().map(|file| file.columns.iter().map(|column| column.field.clone()).collect()).collect();
    let named: Vec<(&Path, &[Field])> =
        paths.iter().map(PathBuf::as_path).zip(of_files.iter().map(Vec::as_slice)).collect();
    let (mut fields, places) = if options.union_by_name { united_columns(&named)? } else { same_columns(&named)? };
    let of_paths = file_columns(paths, &options.file_columns, &fields)?;
    let first_file_column = fields.len();
    for column in &of_paths {
        fields.push(field_of(&column.name, &column.ty, column.values.iter().any(Value::is_null))?);
    }
    if options.row_number && fields.iter().any(|field| field.name().eq_ignore_ascii_case(ROW_NUMBER)) {
        return Err(Error::user(format!("the files have a column {ROW_NUMBER} of their own")));
    }
    let has_row_number = options.row_number || !options.file_columns.has_none;
    if has_row_number {
        let name = if options.row_number { ROW_NUMBER } else { FILE_ROW_NUMBER };
        fields.push(field_of(name, &SqlType::BigInt, false)?);
    }
    let mut files = Vec::with_capacity(opened.len());
    for (number, (file, places)) in opened.into_iter().zip(places).enumerate() {
        let (mut columns, mut bounds) = (Vec::new(), Vec::new());
        for place in places {
            columns.push(place.map_or(ColumnPlace::Value(None), ColumnPlace::Stored));
            bounds.push(match place {
                Some(column) => row_group_bounds(&file, column),
                None => Some(PartBounds::of_value(&Value::Null, &file.row_group_rows)),
            });
        }
        for FileColumn { ty, values, .. } in &of_paths {
            let value = &values[number];
            let flat = vector_of_values(std::slice::from_ref(value), ty)?.to_flat();
            columns.push(ColumnPlace::Value((!value.is_null()).then_some(flat)));
            bounds.push(Some(PartBounds::of_value(value, &file.row_group_rows)));
        }
        if has_row_number {
            let (first_rows, of_groups) = PartBounds::of_row_numbers(&file.row_group_rows);
            columns.push(ColumnPlace::RowNumber(first_rows));
            bounds.push(Some(of_groups));
        }
        files.push(TableFile { file, columns, bounds });
    }
    Ok(TableFiles { files, fields, file_columns: of_paths, first_file_column })
}

/// Returns the average bytes of a value, if files have that information: only for strings.
fn average_bytes(files: &[TableFile], column: usize, physical: PhysicalType) -> Option<f64> {
    if !matches!(physical, PhysicalType::Str | PhysicalType::Nested) {
        return Some(physical.width_bytes() as f64);
    }
    let (mut bytes, mut values) = (0i64, 0i64);
    for file in files {
        let Some(column) = file.column(column) else { continue };
        let leaf = file.file.columns[column].leaf;
        for group in file.file.metadata().row_groups() {
            let chunk = group.column(leaf);
            bytes += chunk.unencoded_byte_array_data_bytes().unwrap_or_else(|| chunk.uncompressed_size());
            values += chunk.num_values();
        }
    }
    (values > 0).then(|| bytes.max(0) as f64 / values as f64)
}

/// Returns the statistics of a column over all files.
fn add_up(files: &[TableFile], column: usize, physical: PhysicalType) -> ColumnStatistics {
    let known = column_statistics(files.iter().map(|file| file.bounds(column)), physical);
    // Only values decoded by this crate are verified, so others can't promise a range.
    let all_verified = files.iter().all(|file| {
        let decoded =
            |column| (0..file.file.row_group_rows.len()).all(|group| file.file.decoding(group, column).is_some());
        file.column(column).is_none_or(decoded)
    });
    ColumnStatistics { range: known.range.filter(|_| all_verified), ..known }
}
