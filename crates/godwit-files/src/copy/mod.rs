//! `COPY … TO`: the rows of a query as a file.
//!
//! ```text
//! worker 0 ─▶ encoder: a row group / a batch / a block of text ─┐  whole pieces, one at a time, in the order of arrival
//! worker 1 ─▶ encoder: a row group / a batch / a block of text ─┼─▶ OutputFile (no name yet) ── finalize ──▶ named
//! ```
//!
//! Each worker encodes its rows alone and hands complete pieces to the file, so encoding is parallel and memory holds
//! one piece per worker, reserved with the buffer manager and bounded by a share of the memory limit. Rows keep their
//! order if one worker feeds the sink, as with the rows of a sort. The file gets its name when everything is written;
//! an error or a cancelled query leaves nothing behind.

mod arrow;
mod csv;
mod distinct;
mod format;
mod name_pattern;
mod output_file;
mod parquet;
mod replacement;
mod split;
mod split_options;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::SchemaRef;
use godwit_catalog::CopyOption;
use godwit_common::{Error, MemoryTag, Result, without_secrets};
use godwit_io::Files;
use godwit_memory::BufferManager;
use godwit_pipeline::{
    CacheUse, Operator, OperatorMetrics, QueryContext, ResultCollector, Sink, SinkVerdict, SinkWorker,
};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::vector_of_values;
use godwit_vector::{Chunk, Vector};

pub use format::FileFormat;
pub use output_file::OutputFile;
pub(crate) use parquet::write_error as parquet_write_error;
use split::{MakeWriter, SplitWriter};
pub use split_options::SplitOptions;

/// A file in one of the formats, before it gets its name.
trait FileWriter: Send + Sync {
    /// Creates an encoder for one worker, which reserves what it holds with `memory`.
    fn encoder(self: Arc<Self>, memory: &BufferManager) -> Result<Box<dyn Encoder>>;

    /// Returns the minimum memory of an encoder.
    fn worker_bytes_min(&self) -> u64;

    /// Writes what follows the last row and gives the file its name. Called when there are no more encoders.
    fn finish(&self) -> Result<()>;

    /// Returns the names of the files in a folder, if it is one and they are wanted.
    fn file_names(&self) -> Option<Vec<String>> {
        None
    }
}

/// One worker's access to a file.
trait Encoder: Send {
    /// Takes rows.
    fn write(&mut self, chunk: &Chunk) -> Result<()>;

    /// Hands over the last piece.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Name of the option for a result with the names of the files.
const RETURN_FILES: &str = "return_files";

/// What `COPY` writes, and what it returns.
pub struct CopyTarget<'a> {
    /// The file, or the folder.
    pub path: &'a str,
    /// The format of the files.
    pub format: &'a FileFormat,
    /// How rows are spread over a folder of files; `None`: it is one file.
    pub split: Option<SplitOptions>,
    /// True if the result has the names of the files.
    pub returns_files: bool,
}

impl CopyTarget<'_> {
    /// Returns true if the options of the statement ask for the names of the files.
    pub fn returns_files(options: &[CopyOption]) -> Result<bool> {
        options.iter().find(|option| option.name == RETURN_FILES).map_or(Ok(false), CopyOption::flag)
    }
}

/// The last sink of a `COPY`: writes the file, then delivers the row count as the only row of the result, maybe with the
/// names of the files.
pub struct CopySink {
    writer: Arc<dyn FileWriter>,
    /// The file or folder, if the names of files are wanted.
    returned: Option<String>,
    rows: AtomicU64,
    count: Arc<ResultCollector>,
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
}

impl CopySink {
    /// Creates the file for rows of `schema`, or the folder of files if they are split. The row count goes to `count`, a
    /// result of one BIGINT column, or of that and a list of texts.
    pub fn create(
        files: &Arc<dyn Files>,
        target: CopyTarget<'_>,
        schema: &SchemaRef,
        query: &QueryContext,
        count: Arc<ResultCollector>,
    ) -> Result<Arc<Self>> {
        let CopyTarget { path, format, split, returns_files } = target;
        check_names(schema, path)?;
        let metrics = OperatorMetrics::new(format!("Copy to {}", without_secrets(path)));
        let memory = query.memory.scoped(metrics.memory().clone());
        let pool_bytes = usize::try_from(query.memory.memory_limit()).unwrap_or(usize::MAX);
        let piece_bytes_max = pool_bytes / (query.settings.workers * LIMIT_SHARE);
        let file_bytes = split.as_ref().and_then(|split| split.file_bytes);
        let make = maker(format.clone(), piece_bytes_max, file_bytes, memory.clone());
        let writer: Arc<dyn FileWriter> = match split {
            Some(split) => {
                let options = (split, returns_files);
                SplitWriter::new(files.clone(), path, &format.ending(), options, schema, make, &memory)?
            }
            None => make(OutputFile::create(&**files, path)?, schema)?,
        };
        let returned = returns_files.then(|| path.to_owned());
        Ok(Arc::new(Self { writer, returned, rows: AtomicU64::new(0), count, memory, metrics }))
    }
}

/// Returns a function that creates writers for files of a format, which shall have about `file_bytes` if that is given.
fn maker(format: FileFormat, piece_bytes_max: usize, file_bytes: Option<u64>, memory: BufferManager) -> MakeWriter {
    Box::new(move |file, schema| {
        let writer: Arc<dyn FileWriter> = match &format {
            FileFormat::Parquet(options) => {
                parquet::ParquetWriter::new(file, options, schema, piece_bytes_max, &memory)?
            }
            FileFormat::Arrow(options) => arrow::ArrowWriter::new(file, options, schema, piece_bytes_max, &memory)?,
            FileFormat::Text(format) => text::TextWriter::new(file, format, schema, file_bytes)?,
        };
        Ok(writer)
    })
}

/// Checks column names, since columns are found by name when the file is read.
fn check_names(schema: &SchemaRef, path: &str) -> Result<()> {
    let mut names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(Error::user(format!("two columns named {} can't be written to {path}", pair[0]))
            .with_hint("give them different names with AS")),
    }
}

impl Operator for CopySink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("writes each row once")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.writer.worker_bytes_min() * workers as u64
    }
}

impl Sink for CopySink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let encoder = self.writer.clone().encoder(&self.memory)?;
        Ok(Box::new(CopyWorker { encoder, sink: self }))
    }

    fn finalize(&self, query: &Arc<QueryContext>) -> Result<()> {
        self.writer.finish()?;
        let rows = self.rows.load(Ordering::Relaxed) as i64;
        let mut result = self.count.clone().worker(query)?;
        let mut row = vec![Vector::from_values(vec![rows], None)];
        if let Some(path) = &self.returned {
            let names = self.writer.file_names().unwrap_or_else(|| vec![path.clone()]);
            let names = Value::List(names.into_iter().map(Value::text).collect());
            row.push(vector_of_values(&[names], &SqlType::list_of(SqlType::Varchar))?);
        }
        result.sink(Chunk::new(row, 1))?;
        result.combine()?;
        self.count.finalize(query)
    }
}

struct CopyWorker {
    encoder: Box<dyn Encoder>,
    sink: Arc<CopySink>,
}

impl SinkWorker for CopyWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        chunk.pieces(PIECE_TEXT_BYTES).try_for_each(|piece| self.encoder.write(&piece))?;
        self.sink.rows.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.encoder.finish()
    }
}

/// All unfinished row groups or batches together take at most one n-th of the memory limit.
const LIMIT_SHARE: usize = 4;

/// Bytes of strings that encoders take at once, unless those of a single row are more: what they copy on the way into
/// a row group or a batch isn't reserved.
const PIECE_TEXT_BYTES: usize = 1 << 20;

/// The tag of all memory of writers.
const TAG: MemoryTag = MemoryTag::Writer;
