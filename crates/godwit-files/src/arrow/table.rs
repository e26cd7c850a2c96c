//! A table in one or several Arrow files with the same columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use godwit_catalog::{TableDefinition, TableStatistics};
use godwit_common::Result;
use godwit_io::{FileKind, Files, Input};
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, SampledTable, Scan, ScanRequest, Source, Table, TableHandle};
use godwit_vector::{ColumnType, RowType, Vector};

use super::file::{ArrowFile, MAGIC};
use super::scan;
use crate::resolver::has_extension;
use crate::same_columns::matching_columns;

/// File name extensions.
pub(crate) const EXTENSIONS: [&str; 3] = ["arrow", "arrows", "feather"];

/// Arrow files read as one table.
pub(crate) struct ArrowTable {
    pub(super) files: Vec<TableFile>,
    schema: SchemaRef,
    row_type: RowType,
    rows: u64,
}

/// A file of a table.
pub(super) struct TableFile {
    pub file: ArrowFile,
    /// For each column of the table, the column of the file.
    pub columns: Vec<usize>,
}

impl ArrowTable {
    /// Opens files as one table. The first file determines the columns; the others must have them with the same types,
    /// in any order. `memory` accounts for their metadata.
    pub(crate) fn open_on(place: &dyn Files, paths: &[PathBuf], memory: &BufferManager) -> Result<Arc<Self>> {
        assert!(!paths.is_empty(), "a table has at least one file");
        let mut files: Vec<TableFile> = Vec::with_capacity(paths.len());
        let fields = |file: &ArrowFile| file.columns.iter().map(|column| column.field.clone()).collect::<Vec<Field>>();
        for (index, path) in paths.iter().enumerate() {
            place.will_open(&paths[index..]);
            let file = ArrowFile::open(place, path, memory)?;
            let columns = match files.first() {
                None => (0..file.columns.len()).collect(),
                Some(first) => matching_columns((&paths[0], &fields(&first.file)), (path, &fields(&file)))?,
            };
            files.push(TableFile { file, columns });
        }
        let field = |(column, field): (usize, Field)| {
            let is_nullable = |file: &TableFile| file.file.columns[file.columns[column]].field.is_nullable();
            field.with_nullable(files.iter().any(is_nullable))
        };
        let fields: Vec<Field> = fields(&files[0].file).into_iter().enumerate().map(field).collect();
        let types = fields.iter().map(|field| ColumnType::new(field.data_type().clone(), field.is_nullable()));
        let row_type = types.collect::<Result<_>>()?;
        let rows = files.iter().map(|file| file.file.rows()).sum();
        Ok(Arc::new(Self { files, schema: Arc::new(Schema::new(fields)), row_type, rows }))
    }

    /// Returns the table's definition for the catalog. `memory` accounts for its sample.
    pub(crate) fn definition(
        self: &Arc<Self>,
        name: impl Into<String>,
        memory: &BufferManager,
    ) -> Arc<TableDefinition> {
        let statistics = Arc::new(TableStatistics::of_rows(self.rows, true, self.row_type.len()));
        let handle = Arc::new(TableHandle(self.clone()));
        let definition = TableDefinition::new(name, self.schema.clone(), statistics, handle);
        let sample = SampledTable::new(self.clone(), self.rows, memory);
        Arc::new(definition.with_sample(Arc::new(sample)))
    }

    /// The columns, with strings and binaries as views.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows in all files.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }
}

impl Table for ArrowTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        Ok(Scan::new(self, request, query)?)
    }

    fn sample(&self, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
        scan::sample(self, column, memory)
    }
}

/// Returns true for files with an extension of Arrow files, or, if the extension is unknown, that begin like one.
pub(crate) fn is_arrow_file(files: &dyn Files, path: &Path) -> bool {
    if has_extension(path, &EXTENSIONS) {
        return true;
    }
    let is_file = files.metadata(path).is_ok_and(|found| found.kind == FileKind::File);
    let mut head = [0; MAGIC.len()];
    let file = if is_file { files.open(path).ok() } else { None };
    matches!(file, Some(Input::File(file)) if file.read_exact_at(&mut head, 0).is_ok() && &head == MAGIC)
}
