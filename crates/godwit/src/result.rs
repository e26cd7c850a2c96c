//! The rows of a statement, as they are computed.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use godwit_common::Result;
use godwit_exec::{QueryContext, ResultStream, WorkerPool};
use godwit_memory::OwnerCounters;
use parking_lot::{Condvar, Mutex};

use crate::transactions::StatementEnd;

/// An iterator over the record batches of a result. When it ends, with rows or with an error, the query has given back
/// all its memory and temporary space; dropping it early cancels the query and waits for that.
pub struct QueryResult {
    schema: SchemaRef,
    rows: Rows,
    /// What comes when the query has ended.
    end: Option<StatementEnd>,
    /// Rows that were held back until the end was good.
    held: VecDeque<RecordBatch>,
}

enum Rows {
    Running(RunningQuery),
    /// At most one batch that is there already.
    Batch(Option<RecordBatch>),
}

/// What a started query is held by. Fields are dropped in this order: dropping the stream cancels a query that still
/// runs, then its end is waited for, then the threads that worked on it may go.
pub(crate) struct RunningQuery {
    pub stream: ResultStream,
    pub completion: AwaitedCompletion,
    pub query: Arc<QueryContext>,
    pub owner: Arc<OwnerCounters>,
    pub _pool: Arc<WorkerPool>,
}

/// How much memory and temporary space a query took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueryMemory {
    /// Most bytes held at once, pages and reservations.
    pub peak_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// Bytes read back from them.
    pub reread_bytes: u64,
}

/// Watches a query from another thread while its result is read.
#[derive(Clone)]
pub struct QueryProgress(Option<Arc<QueryContext>>);

impl QueryProgress {
    /// Share of the scans' input that is consumed, 0 to 1; 1 for statements that aren't queries.
    pub fn fraction(&self) -> f64 {
        self.0.as_ref().map_or(1.0, |query| query.progress())
    }

    /// Stops the query; reading its result ends with an error.
    pub fn cancel(&self) {
        if let Some(query) = &self.0 {
            query.cancel.cancel();
        }
    }
}

impl QueryResult {
    pub(crate) fn running(schema: SchemaRef, query: RunningQuery) -> Self {
        Self::of_rows(schema, Rows::Running(query))
    }

    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        Self::of_rows(batch.schema(), Rows::Batch(Some(batch)))
    }

    pub(crate) fn empty() -> Self {
        Self::of_rows(Arc::new(Schema::empty()), Rows::Batch(None))
    }

    fn of_rows(schema: SchemaRef, rows: Rows) -> Self {
        Self { schema, rows, end: None, held: VecDeque::new() }
    }

    /// The same result, with something to be done when its query has ended.
    pub(crate) fn ending_with(self, end: StatementEnd) -> Self {
        Self { end: Some(end), ..self }
    }

    /// Runs the query to its end and keeps its rows, which count only if the end is good.
    fn hold_rows(&mut self) -> Result<()> {
        let mut held = VecDeque::new();
        for batch in self.rows.by_ref() {
            held.push_back(batch?);
        }
        self.end.take().map_or(Ok(()), StatementEnd::reach)?;
        self.held = held;
        Ok(())
    }

    /// Names and types of the columns; no columns for statements that aren't queries.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the query took so far.
    pub fn memory(&self) -> QueryMemory {
        match &self.rows {
            Rows::Running(running) => QueryMemory {
                peak_bytes: running.owner.peak_bytes(),
                spilled_bytes: running.owner.spilled_bytes(),
                reread_bytes: running.owner.reread_bytes(),
            },
            Rows::Batch(_) => QueryMemory::default(),
        }
    }

    /// A handle to watch or stop the query with.
    pub fn progress(&self) -> QueryProgress {
        match &self.rows {
            Rows::Running(running) => QueryProgress(Some(running.query.clone())),
            Rows::Batch(_) => QueryProgress(None),
        }
    }
}

impl Iterator for QueryResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.end.as_ref().is_some_and(StatementEnd::holds_rows)
            && let Err(error) = self.hold_rows()
        {
            self.end = None;
            return Some(Err(error));
        }
        if let Some(batch) = self.held.pop_front() {
            return Some(Ok(batch));
        }
        let next = self.rows.next();
        match &next {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.end = None,
            None => {
                if let Some(Err(error)) = self.end.take().map(StatementEnd::reach) {
                    return Some(Err(error));
                }
            }
        }
        next
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Rows::Batch(batch) => batch.take().map(Ok),
            Rows::Running(running) => {
                let next = running.stream.next();
                if !matches!(next, Some(Ok(_))) {
                    running.completion.0.wait();
                }
                next
            }
        }
    }
}

/// Tells when the last task of a query has ended.
#[derive(Clone, Default)]
pub(crate) struct Completion(Arc<(Mutex<bool>, Condvar)>);

impl Completion {
    pub(crate) fn complete(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let mut complete = self.0.0.lock();
        while !*complete {
            self.0.1.wait(&mut complete);
        }
    }
}

/// A completion that is waited for when it is dropped.
pub(crate) struct AwaitedCompletion(pub Completion);

impl Drop for AwaitedCompletion {
    fn drop(&mut self) {
        self.0.wait();
    }
}
