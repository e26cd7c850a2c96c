//! Whole files as values: `read_text` and `read_blob`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use arrow_schema::Schema;
use godwit_catalog::{TableDefinition, TableStatistics};
use godwit_common::{Error, MemoryTag, Result};
use godwit_io::Files;
use godwit_memory::Reservation;
use godwit_pipeline::{
    Operator, OperatorMetrics, QueryContext, ScanRequest, Source, SourceVerdict, SourceWorker, Table, TableHandle,
};
use godwit_types::SqlType;
use godwit_vector::sql::field_of;
use godwit_vector::{Bitmap, Chunk, ColumnType, Flat, RowType, StrColumn, Vector};

/// Bytes read between two checks of whether the query was cancelled.
const STEP_BYTES: usize = 1 << 20;

/// Maximum length of a content, the same as for text made by functions.
const CONTENT_BYTES_MAX: usize = 1 << 30;

/// The column of the content.
const CONTENT: usize = 1;

/// Files as rows.
pub(crate) struct ContentsTable {
    files: Arc<dyn Files>,
    paths: Vec<PathBuf>,
    /// True if the content must be UTF-8.
    is_text: bool,
    row_type: RowType,
}

impl ContentsTable {
    /// Returns the table of these files.
    pub(crate) fn definition(
        name: &str,
        files: Arc<dyn Files>,
        paths: Vec<PathBuf>,
        is_text: bool,
    ) -> Result<Arc<TableDefinition>> {
        let content = if is_text { SqlType::Varchar } else { SqlType::Blob };
        let columns = [
            ("filename", SqlType::Varchar, false),
            ("content", content, false),
            ("size", SqlType::BigInt, false),
            ("last_modified", SqlType::TimestampTz, true),
        ];
        let fields = columns.iter().map(|(name, ty, nullable)| field_of(*name, ty, *nullable));
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        let types = schema.fields().iter().map(|field| ColumnType::new(field.data_type().clone(), field.is_nullable()));
        let statistics = TableStatistics::of_rows(paths.len() as u64, true, columns.len());
        let table = Self { files, paths, is_text, row_type: types.collect::<Result<_>>()? };
        let handle = Arc::new(TableHandle(Arc::new(table)));
        Ok(Arc::new(TableDefinition::new(name, schema, Arc::new(statistics), handle).without_filters()))
    }

    /// Returns the row of a file, without its content unless that is wanted.
    fn row(&self, path: &Path, with_content: bool, query: &QueryContext) -> Result<Chunk> {
        let metadata = self.files.metadata(path).map_err(|error| failed("opening", path, &error))?;
        let shown = path.display().to_string();
        let (content, bytes) = match with_content {
            true => {
                let (content, memory) = self.content(path, metadata.bytes, query)?;
                let length = content.len();
                (StrColumn::from_leased_parts(content, &[length], memory), length as u64)
            }
            false => (StrColumn::from_strings([""]), metadata.bytes),
        };
        let modified = metadata.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| i64::try_from(since.as_micros()).ok());
        let vectors = vec![
            Vector::flat(Flat::Str(StrColumn::from_strings([shown])), None),
            Vector::flat(Flat::Str(content), None),
            Vector::from_values(vec![i64::try_from(bytes).unwrap_or(i64::MAX)], None),
            Vector::from_values(
                vec![modified.unwrap_or_default()],
                modified.is_none().then(|| Bitmap::filled(1, false)),
            ),
        ];
        Ok(Chunk::new(vectors, 1))
    }

    /// Reads all bytes of a file; `expected` is their number according to its metadata.
    fn content(&self, path: &Path, expected: u64, query: &QueryContext) -> Result<(Vec<u8>, Reservation)> {
        let mut reader = self.files.open(path).map_err(|error| failed("opening", path, &error))?.reader();
        let mut memory = query.memory.reserve(0, MemoryTag::Reader)?;
        let mut content = Vec::new();
        let mut wanted = usize::try_from(expected).unwrap_or(usize::MAX);
        loop {
            query.cancel.check()?;
            if wanted > CONTENT_BYTES_MAX {
                let error = format!("{} is longer than {CONTENT_BYTES_MAX} bytes", path.display());
                return Err(Error::resource(error).with_hint("a value has at most a GiB"));
            }
            if content.capacity() < wanted.max(content.len() + 1) {
                memory.resize(wanted.max(content.len() + STEP_BYTES))?;
                content.reserve_exact(memory.bytes() - content.len());
            }
            let step = STEP_BYTES.min(content.capacity() - content.len()) as u64;
            let read = reader.by_ref().take(step).read_to_end(&mut content);
            if read.map_err(|error| failed("reading", path, &error))? == 0 {
                break;
            }
            wanted = wanted.max(content.len());
        }
        if self.is_text
            && let Err(error) = std::str::from_utf8(&content)
        {
            let error = format!("{} is not UTF-8 from byte {} on", path.display(), error.valid_up_to());
            return Err(Error::user(error).with_hint("read it as bytes with read_blob"));
        }
        Ok((content, memory))
    }
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("{what} {}", path.display()), error)
}

impl Table for ContentsTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, _query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "the table evaluates no filters");
        let metrics = OperatorMetrics::new(request.name);
        Ok(Arc::new(ContentsSource { table: self, columns: request.columns, next: AtomicUsize::new(0), metrics }))
    }
}

struct ContentsSource {
    table: Arc<ContentsTable>,
    columns: Vec<usize>,
    /// The first file that no worker has taken.
    next: AtomicUsize,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for ContentsSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for ContentsSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        query.rows_known.fetch_add(self.table.paths.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// One, so files come in the order of their names and only one is in memory.
    fn parallelism(&self) -> usize {
        1
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(ContentsWorker { source: self, query: query.clone() }))
    }
}

struct ContentsWorker {
    source: Arc<ContentsSource>,
    query: Arc<QueryContext>,
}

impl SourceWorker for ContentsWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let ContentsSource { table, columns, next, .. } = &*self.source;
        let Some(path) = table.paths.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(SourceVerdict::Done) };
        let chunk = table.row(path, columns.contains(&CONTENT), &self.query)?;
        self.query.rows_done.fetch_add(1, Ordering::Relaxed);
        Ok(SourceVerdict::Chunk(chunk.project(columns)))
    }
}
