//! Results of statements, whose rows are computed as they are read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use godwit_common::{Error, Result};
use godwit_exec::WorkerPool;
use godwit_memory::OwnerCounters;
use godwit_pipeline::{CacheDecision, QueryContext, ResultStream};
use godwit_plan::Plan;
use godwit_types::SqlType;
use godwit_vector::sql::type_of_field;
use parking_lot::{Condvar, Mutex};

use crate::transactions::StatementEnd;

/// An iterator over the record batches of a result that blocks until the next one is available;
/// [`poll_next`](Self::poll_next) doesn't block. When it ends, with rows or with an error, the query has released all
/// its memory and temporary space; dropping it early cancels the query and waits for that.
pub struct QueryResult {
    schema: SchemaRef,
    rows: Rows,
    /// Work to do when the query has ended.
    end: Option<StatementEnd>,
    /// Rows held back until the statement succeeded.
    held: VecDeque<RecordBatch>,
    /// SQL types of the columns, if Arrow's types don't determine them.
    types: Option<Vec<SqlType>>,
    change: Option<Change>,
    /// The text that spans of errors refer to, if the user has written it.
    script: Option<Arc<str>>,
}

/// Kind of a statement whose result is a number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// `INSERT`, `COPY … FROM`, `CREATE TABLE … AS`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`, `TRUNCATE`.
    Delete,
    /// `INSERT … ON CONFLICT DO UPDATE`.
    Upsert,
    /// `MERGE`.
    Merge,
    /// `COPY … TO`: the rows went to a file.
    Copy,
}

enum Rows {
    Running {
        query: RunningQuery,
        /// How the stream of its rows ended, until the query itself has ended.
        end: Option<Option<Error>>,
    },
    /// At most one batch that is available already.
    Batch(Option<RecordBatch>),
}

/// Owners of a running query. Fields are dropped in this order: dropping the stream cancels a query that is still
/// running, then its end is awaited, then the threads that worked on it may exit.
pub(crate) struct RunningQuery {
    pub stream: ResultStream,
    pub completion: AwaitedCompletion,
    pub query: Arc<QueryContext>,
    pub owner: Arc<OwnerCounters>,
    pub _pool: Arc<WorkerPool>,
}

/// Memory and temporary space used by a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueryMemory {
    /// Maximum bytes held at once, including pages and reservations.
    pub peak_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// Bytes read back from them.
    pub reread_bytes: u64,
}

/// Monitors a query from another thread while its result is read.
#[derive(Clone)]
pub struct QueryProgress(Option<Arc<QueryContext>>);

impl QueryProgress {
    /// Returns the fraction of the scans' input that has been consumed, 0 to 1; 1 for statements that aren't queries.
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
        Self::of_rows(schema, Rows::Running { query, end: None })
    }

    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        Self::of_rows(batch.schema(), Rows::Batch(Some(batch)))
    }

    pub(crate) fn empty() -> Self {
        Self::of_rows(Arc::new(Schema::empty()), Rows::Batch(None))
    }

    fn of_rows(schema: SchemaRef, rows: Rows) -> Self {
        Self { schema, rows, end: None, held: VecDeque::new(), types: None, change: None, script: None }
    }

    /// Returns the same result, with the types of a plan's last columns.
    pub(crate) fn with_types_of(self, plan: &Plan) -> Self {
        let first = plan.output.len().saturating_sub(self.schema.fields().len());
        let types = plan.output[first..].iter().map(|output| plan.column(output.column).ty.clone()).collect();
        Self { types: Some(types), ..self }
    }

    /// Returns the same result, marked as a number of rows.
    pub(crate) fn counting(self, change: Change) -> Self {
        Self { change: Some(change), ..self }
    }

    /// Returns the same result, whose errors say where in this text they come from.
    pub(crate) fn located_in(self, script: &Arc<str>) -> Self {
        Self { script: Some(script.clone()), ..self }
    }

    /// Returns the same result, with work to do when its query has ended.
    pub(crate) fn ending_with(self, end: StatementEnd) -> Self {
        Self { end: Some(end), ..self }
    }

    /// Returns the next batch, if it is available; `Ready(None)` is the end. Otherwise the task of `context` is woken
    /// when polling again is worthwhile. Constraint checks and the commit, which follow the last row of a statement
    /// that changes tables, are done by the call that reaches them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::task::{Context, Poll, Wake, Waker};
    /// # use std::thread::Thread;
    /// struct Unpark(Thread);
    ///
    /// impl Wake for Unpark {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// # fn main() -> godwit::Result<()> {
    /// # let connection = godwit::Database::open(":memory:")?.connect();
    /// let mut result = connection.query("SELECT sum(i) FROM range(1000000) AS t(i)")?;
    /// let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    /// let mut context = Context::from_waker(&waker);
    /// let mut rows = 0;
    /// loop {
    ///     match result.poll_next(&mut context) {
    ///         Poll::Ready(Some(batch)) => rows += batch?.num_rows(),
    ///         Poll::Ready(None) => break,
    ///         Poll::Pending => std::thread::park(), // or whatever else there is to do
    ///     }
    /// }
    /// assert_eq!(rows, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        self.advance(|rows| rows.poll_next(context))
    }

    /// Returns the next batch from the rows that `next_rows` gets.
    fn advance(
        &mut self,
        next_rows: impl FnMut(&mut Rows) -> Poll<Option<Result<RecordBatch>>>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        let next = ready!(self.advance_unlocated(next_rows));
        Poll::Ready(next.map(|next| {
            next.map_err(|error| match &self.script {
                Some(script) => error.locate(script),
                None => error,
            })
        }))
    }

    fn advance_unlocated(
        &mut self,
        mut next_rows: impl FnMut(&mut Rows) -> Poll<Option<Result<RecordBatch>>>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        // Rows that count only if the statement succeeds are held back until the end.
        while self.end.as_ref().is_some_and(StatementEnd::holds_rows) {
            let error = match ready!(next_rows(&mut self.rows)) {
                Some(Ok(batch)) => {
                    self.held.push_back(batch);
                    continue;
                }
                Some(Err(error)) => Some(error),
                None => self.end.take().and_then(|end| end.reach().err()),
            };
            self.end = None;
            if let Some(error) = error {
                self.held.clear();
                return Poll::Ready(Some(Err(error)));
            }
        }
        if let Some(batch) = self.held.pop_front() {
            return Poll::Ready(Some(Ok(batch)));
        }
        let next = ready!(next_rows(&mut self.rows));
        match &next {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.end = None,
            None => {
                if let Some(Err(error)) = self.end.take().map(StatementEnd::reach) {
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Ready(next)
    }

    /// Returns names and types of the columns; no columns for statements that aren't queries.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the SQL types of the columns, of which Arrow's schema has only the representation. Fails if a column has
    /// none.
    pub fn types(&self) -> Result<Vec<SqlType>> {
        match &self.types {
            Some(types) => Ok(types.clone()),
            None => self.schema.fields().iter().map(|field| type_of_field(field)).collect(),
        }
    }

    /// Returns what the statement does, if its result is the number of affected rows, in one row and column.
    pub fn change(&self) -> Option<Change> {
        self.change
    }

    /// Returns memory and temporary space used by the query so far.
    pub fn memory(&self) -> QueryMemory {
        match &self.rows {
            Rows::Running { query: running, .. } => QueryMemory {
                peak_bytes: running.owner.peak_bytes(),
                spilled_bytes: running.owner.spilled_bytes(),
                reread_bytes: running.owner.reread_bytes(),
            },
            Rows::Batch(_) => QueryMemory::default(),
        }
    }

    /// Returns the last-level cache classes assigned to pipelines of a profiled query so far.
    pub(crate) fn cache_decisions(&self) -> Vec<CacheDecision> {
        match &self.rows {
            Rows::Running { query: running, .. } => running.query.cache_decisions(),
            Rows::Batch(_) => Vec::new(),
        }
    }

    /// Returns a handle to monitor or stop the query.
    pub fn progress(&self) -> QueryProgress {
        match &self.rows {
            Rows::Running { query: running, .. } => QueryProgress(Some(running.query.clone())),
            Rows::Batch(_) => QueryProgress(None),
        }
    }
}

impl Iterator for QueryResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance(|rows| Poll::Ready(rows.next())) {
            Poll::Ready(next) => next,
            Poll::Pending => unreachable!("rows were waited for"),
        }
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Rows::Batch(batch) => batch.take().map(Ok),
            Rows::Running { query: running, .. } => {
                let next = running.stream.next();
                if !matches!(next, Some(Ok(_))) {
                    running.completion.0.wait();
                }
                next
            }
        }
    }
}

impl Rows {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let (running, end) = match self {
            Rows::Batch(batch) => return Poll::Ready(batch.take().map(Ok)),
            Rows::Running { query, end } => (query, end),
        };
        if end.is_none() {
            match ready!(running.stream.poll_next(context)) {
                Some(Ok(batch)) => return Poll::Ready(Some(Ok(batch))),
                Some(Err(error)) => *end = Some(Some(error)),
                None => *end = Some(None),
            }
        }
        ready!(running.completion.0.poll(context));
        Poll::Ready(end.take().flatten().map(Err))
    }
}

/// Signals that the last task of a query has ended.
#[derive(Clone, Default)]
pub(crate) struct Completion(Arc<(Mutex<Completing>, Condvar)>);

#[derive(Default)]
struct Completing {
    is_complete: bool,
    reader: Option<Waker>,
}

impl Completion {
    pub(crate) fn complete(&self) {
        let reader = {
            let mut state = self.0.0.lock();
            state.is_complete = true;
            state.reader.take()
        };
        self.0.1.notify_all();
        reader.into_iter().for_each(Waker::wake);
    }

    fn wait(&self) {
        let mut state = self.0.0.lock();
        while !state.is_complete {
            self.0.1.wait(&mut state);
        }
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock();
        if state.is_complete {
            return Poll::Ready(());
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A completion that is awaited when dropped.
pub(crate) struct AwaitedCompletion(pub Completion);

impl Drop for AwaitedCompletion {
    fn drop(&mut self) {
        self.0.wait();
    }
}
