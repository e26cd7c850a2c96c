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
use godwit_common::{Error, MemoryTag, Result, without_secrets};
use godwit_io::Files;
use godwit_memory::BufferManager;
use godwit_pipeline::{
    CacheUse, Operator, OperatorMetrics, QueryContext, ResultCollector, Sink, SinkVerdict, SinkWorker,
};
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
}

/// One worker's access to a file.
trait Encoder: Send {
    /// Takes rows.
    fn write(&mut self, chunk: &Chunk) -> Result<()>;

    /// Hands over the last piece.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The last sink of a `COPY`: writes the file, then delivers the row count as the only row of the result.
pub struct CopySink {
    writer: Arc<dyn FileWriter>,
    rows: AtomicU64,
    count: Arc<ResultCollector>,
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
}

impl CopySink {
    /// Creates the file for rows of `schema`, or the folder of files if they are `split`. The row count goes to
    /// `count`, a result of one BIGINT column.
    pub fn create(
        files: &Arc<dyn Files>,
        path: &str,
        (format, split): (&FileFormat, Option<SplitOptions>),
        schema: &SchemaRef,
        query: &QueryContext,
        count: Arc<ResultCollector>,
    ) -> Result<Arc<Self>> {
        check_names(schema, path)?;
        let metrics = OperatorMetrics::new(format!("Copy to {}", without_secrets(path)));
        let memory = query.memory.scoped(metrics.memory().clone());
        let pool_bytes = usize::try_from(query.memory.memory_limit()).unwrap_or(usize::MAX);
        let piece_bytes_max = pool_bytes / (query.settings.workers * LIMIT_SHARE);
        let make = maker(format.clone(), piece_bytes_max, memory.clone());
        let writer: Arc<dyn FileWriter> = match split {
            Some(split) => SplitWriter::new(files.clone(), path, &format.ending(), split, schema, make, &memory)?,
            None => make(OutputFile::create(&**files, path)?, schema)?,
        };
        Ok(Arc::new(Self { writer, rows: AtomicU64::new(0), count, memory, metrics }))
    }
}

/// Returns a function that creates writers for files of a format.
fn maker(format: FileFormat, piece_bytes_max: usize, memory: BufferManager) -> MakeWriter {
    Box::new(move |file, schema| {
        let writer: Arc<dyn FileWriter> = match &format {
            FileFormat::Parquet(options) => {
                parquet::ParquetWriter::new(file, options, schema, piece_bytes_max, &memory)?
            }
            FileFormat::Arrow(options) => arrow::ArrowWriter::new(file, options, schema, piece_bytes_max, &memory)?,
            FileFormat::Text(format) => text::TextWriter::new(file, format, schema)?,
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
        result.sink(Chunk::new(vec![Vector::from_values(vec![rows], None)], 1))?;
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
