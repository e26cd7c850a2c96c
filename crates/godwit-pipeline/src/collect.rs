//! The result of a query: a sink that turns chunks into Arrow batches, and the stream from which the caller takes them.
//!
//! ```text
//! SinkWorker::sink ──▶ [ queue of batches, at most QUEUE_BYTES_MAX + one per worker ] ──▶ ResultStream::next (blocks)
//!       ▲ Blocked(signal) while the queue is full                          │           or poll_next (is woken)
//!       └──────────────────── fired when it is half empty ◀────────────────┘
//! ```
//!
//! A chunk with large strings is queued as it is, and converted to small batches as they are taken: its strings mostly
//! lie in pages that are already accounted for, while a batch has copies of them.
//!
//! A query whose result isn't read stalls on a full queue, and reports that: others needn't wait in line for it
//! ([`BufferManager::admit_past_stalled`]). Rows keep their order if one worker feeds the sink. The stream ends when
//! the sink is finalized, or with the error given to [`ResultCollector::fail`]; dropping it cancels the query.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, SchemaRef};
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, PAGE_BYTES, Reservation};
use godwit_vector::{Chunk, to_arrow};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::metrics::OperatorMetrics;
use crate::pipeline::{Operator, Sink, SinkVerdict, SinkWorker};
use crate::signal::Signal;
use crate::{CacheUse, CancelToken, QueryContext};

/// Size of the queue, in bytes of batches, at which workers wait. Enough for some 50 chunks of ten columns, so that
/// reader and workers don't run in lockstep.
const QUEUE_BYTES_MAX: usize = 4 << 20;

/// Bytes of strings that go into one batch, unless those of a single row are more.
const BATCH_TEXT_BYTES: usize = 1 << 20;

/// Bytes of strings per row from which rows are few and large. The reader converts those one by one: batches that workers
/// allocate and the reader frees stay with the allocator until the worker calls it again, and a worker that waits for
/// room in the queue doesn't.
const LARGE_ROW_BYTES: usize = 64 << 10;

/// How often a reader that waits for a batch checks whether the query is in line behind others whose results aren't
/// read.
const STALL_CHECK: Duration = Duration::from_millis(100);

/// The last sink of a query.
pub struct ResultCollector {
    shared: Arc<Shared>,
    metrics: Arc<OperatorMetrics>,
}

/// The rows of a result, batch by batch, in the order in which they were computed. `next` waits for them,
/// [`poll_next`](Self::poll_next) doesn't.
pub struct ResultStream {
    shared: Arc<Shared>,
    cancel: CancelToken,
    /// Reservation of the last batch handed out: it counts until the caller asks for the next one.
    current: Option<Reservation>,
}

struct Shared {
    schema: SchemaRef,
    memory: BufferManager,
    queue: Mutex<Queue>,
    /// Notified whenever the queue gets a batch or ends.
    changed: Condvar,
}

/// Queued rows.
enum Waiting {
    Batch(RecordBatch, Reservation),
    /// A chunk with large strings, of which `taken` rows have been taken.
    Heavy {
        chunk: Chunk,
        taken: usize,
        bytes_per_row: usize,
    },
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Fired when the queue is half empty, or no longer read.
    writers: Option<Signal>,
    /// The result that the stream ends with, once there are no more batches.
    end: Option<Result<()>>,
    /// The task that polled last, and found nothing.
    reader: Option<Waker>,
    /// A thread is checking whether the query is in line behind others whose results aren't read.
    is_watched: bool,
    /// Nobody wants more rows.
    abandoned: bool,
}

impl Queue {
    fn give_up(&mut self) {
        self.abandoned = true;
        self.waiting.clear();
        self.bytes = 0;
    }
}

impl ResultCollector {
    /// A sink for chunks with the columns of `schema`, and the stream of its input.
    pub fn new(schema: SchemaRef, query: &QueryContext, name: impl Into<String>) -> (Arc<Self>, ResultStream) {
        let metrics = OperatorMetrics::new(name);
        let memory = query.memory.scoped(metrics.memory().clone());
        let shared = Arc::new(Shared { schema, memory, queue: Mutex::default(), changed: Condvar::new() });
        let stream = ResultStream { shared: shared.clone(), cancel: query.cancel.clone(), current: None };
        (Arc::new(Self { shared, metrics }), stream)
    }

    /// Ends the stream with an error, after the queued batches. Called by the runner of the query if it fails.
    pub fn fail(&self, error: Error) {
        self.shared.end(Err(error));
    }
}

impl Shared {
    /// Ends the stream; only the first call counts.
    fn end(&self, end: Result<()>) {
        let mut queue = self.queue.lock();
        queue.end.get_or_insert(end);
        let reader = queue.reader.take();
        drop(queue);
        self.changed.notify_all();
        reader.into_iter().for_each(Waker::wake);
    }

    /// The next batch, or the end; `None` if neither is there yet.
    fn take(&self, queue: &mut Queue) -> Option<Taken> {
        let Some(waiting) = queue.waiting.pop_front() else {
            let end = queue.end.as_mut()?;
            let batch = std::mem::replace(end, Ok(())).err().map(Err);
            return Some(Taken { batch, reservation: None, writers: None });
        };
        let (batch, bytes) = match waiting {
            Waiting::Batch(batch, reservation) => {
                let bytes = reservation.bytes();
                (Ok((batch, reservation)), bytes)
            }
            Waiting::Heavy { chunk, taken, bytes_per_row } => {
                let rows = (BATCH_TEXT_BYTES / bytes_per_row).clamp(1, chunk.len() - taken);
                let batch = self.reserved_batch(&chunk.slice(taken, rows));
                if taken + rows < chunk.len() {
                    queue.waiting.push_front(Waiting::Heavy { chunk, taken: taken + rows, bytes_per_row });
                }
                (batch, rows * bytes_per_row)
            }
        };
        queue.bytes -= bytes;
        if batch.is_err() {
            // The remaining rows are useless.
            queue.give_up();
        }
        let is_half_empty = queue.bytes <= QUEUE_BYTES_MAX / 2;
        let writers = queue.writers.take_if(|_| is_half_empty);
        if writers.is_some() {
            self.memory.set_stalled(false);
        }
        let (batch, reservation) = match batch {
            Ok((batch, reservation)) => (Ok(batch), Some(reservation)),
            Err(error) => (Err(error), None),
        };
        Some(Taken { batch: Some(batch), reservation, writers })
    }

    fn reserved_batch(&self, chunk: &Chunk) -> Result<(RecordBatch, Reservation)> {
        let batch = to_batch(chunk, &self.schema)?;
        let reservation = self.memory.reserve(bytes_of(&batch), MemoryTag::Result)?;
        Ok((batch, reservation))
    }
}

/// The next item of a stream.
struct Taken {
    batch: Option<Result<RecordBatch>>,
    reservation: Option<Reservation>,
    /// Writers to wake once the queue is unlocked.
    writers: Option<Signal>,
}

/// The rows of a chunk with the columns of `schema`.
pub fn to_batch(chunk: &Chunk, schema: &SchemaRef) -> Result<RecordBatch> {
    let fields = schema.fields();
    assert_eq!(chunk.width(), fields.len(), "the chunk has the columns of the result");
    let columns = fields
        .iter()
        .enumerate()
        .map(|(index, field)| to_arrow(&chunk.dense(index), field.data_type()))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(chunk.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::internal(format!("a chunk doesn't fit the result: {error}")))
}

impl Operator for ResultCollector {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("copies rows for the client")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        (QUEUE_BYTES_MAX + workers * PAGE_BYTES) as u64
    }
}

impl Sink for ResultCollector {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(CollectWorker(self.shared.clone())))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        self.shared.end(Ok(()));
        Ok(())
    }
}

/// Memory of a batch. Buffers that are shared with other batches count in proportion to the rows that this one uses.
fn bytes_of(batch: &RecordBatch) -> usize {
    let column_bytes = |column: &ArrayRef| {
        let data = column.to_data();
        let views = matches!(data.data_type(), DataType::Utf8View | DataType::BinaryView);
        let pointed_to: usize = if views { data.buffers()[1..].iter().map(Buffer::len).sum() } else { 0 };
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size()) + pointed_to
    };
    batch.columns().iter().map(column_bytes).sum()
}

struct CollectWorker(Arc<Shared>);

impl SinkWorker for CollectWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let shared = &*self.0;
        let bytes_per_row = chunk.text_bytes().div_ceil(chunk.len());
        let text_bytes = bytes_per_row * chunk.len();
        let (waiting, bytes) = match text_bytes > QUEUE_BYTES_MAX || bytes_per_row > LARGE_ROW_BYTES {
            true => (Waiting::Heavy { taken: 0, bytes_per_row, chunk: chunk.clone() }, text_bytes),
            false => {
                let (batch, reservation) = shared.reserved_batch(&chunk)?;
                let bytes = reservation.bytes();
                (Waiting::Batch(batch, reservation), bytes)
            }
        };
        let mut queue = shared.queue.lock();
        if queue.abandoned {
            return Ok(SinkVerdict::Done);
        }
        queue.waiting.push_back(waiting);
        queue.bytes += bytes;
        let full = queue.bytes >= QUEUE_BYTES_MAX;
        if full {
            shared.memory.set_stalled(true);
        }
        let verdict = match full {
            true => SinkVerdict::Blocked(queue.writers.get_or_insert_with(Signal::new).clone()),
            false => SinkVerdict::NeedInput,
        };
        let reader = queue.reader.take();
        drop(queue);
        shared.changed.notify_one();
        reader.into_iter().for_each(Waker::wake);
        Ok(verdict)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl ResultStream {
    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.shared.schema
    }

    /// The next batch, if there already is one. Otherwise the task of `context` is woken when there is one, or at the
    /// end; if several tasks poll, only the last one.
    ///
    /// # Errors
    /// Besides the query's own errors: if no thread can be started while it is in line.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        self.current = None;
        let mut queue = self.shared.queue.lock();
        match self.shared.take(&mut queue) {
            Some(taken) => {
                drop(queue);
                Poll::Ready(self.hand_out(taken))
            }
            None => {
                queue.reader = Some(context.waker().clone());
                let is_in_line = !queue.is_watched && self.shared.memory.has_line();
                queue.is_watched |= is_in_line;
                drop(queue);
                match is_in_line.then(|| watch_line(Arc::downgrade(&self.shared))) {
                    Some(Err(error)) => Poll::Ready(Some(Err(error))),
                    Some(Ok(())) | None => Poll::Pending,
                }
            }
        }
    }

    fn hand_out(&mut self, taken: Taken) -> Option<Result<RecordBatch>> {
        taken.writers.iter().for_each(Signal::fire);
        self.current = taken.reservation;
        taken.batch
    }
}

/// A polling task doesn't check again by itself, so a thread does, until the query has an answer.
fn watch_line(shared: Weak<Shared>) -> Result<()> {
    let watch = move || {
        while let Some(shared) = shared.upgrade() {
            let mut queue = shared.queue.lock();
            queue.is_watched = queue.reader.is_some();
            if !queue.is_watched {
                return;
            }
            drop(queue);
            shared.memory.admit_past_stalled();
            drop(shared);
            std::thread::sleep(STALL_CHECK);
        }
    };
    let started = std::thread::Builder::new().name("godwit-line".to_owned()).spawn(watch);
    started.map(drop).map_err(|error| Error::io("starting a thread", &error))
}

impl Iterator for ResultStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.current = None;
        let mut queue = self.shared.queue.lock();
        loop {
            if let Some(taken) = self.shared.take(&mut queue) {
                drop(queue);
                return self.hand_out(taken);
            }
            if self.shared.changed.wait_for(&mut queue, STALL_CHECK).timed_out() {
                MutexGuard::unlocked(&mut queue, || self.shared.memory.admit_past_stalled());
            }
        }
    }
}

impl Drop for ResultStream {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.give_up();
        queue.reader = None;
        self.shared.memory.set_stalled(false);
        let is_unfinished = queue.end.is_none();
        let writers = queue.writers.take();
        drop(queue);
        if is_unfinished {
            self.cancel.cancel();
        }
        writers.iter().for_each(Signal::fire);
    }
}

#[cfg(test)]
mod tests;
