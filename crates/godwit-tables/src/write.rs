//! The end of a query whose rows change a table.
//!
//! ```text
//! worker ─ row ids ─▶ marks of all workers, each row once
//!        └ rows ─ buffers ─▶ few in all: the delta
//!                       └──▶ many: a load, in parallel ─▶ row groups in blocks
//! last:    marks and rows ─▶ transaction
//! ```
//!
//! [`WriteKind`] defines the meaning of the query's columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Field;
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, ResultCollector, Sink, SinkVerdict, SinkWorker};
use godwit_plan::WriteKind;
use godwit_storage::table::{Load, LoadWorker};
use godwit_vector::kernels::cast::convert;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{Chunk, PhysicalType, Vector, nested_to_bytes};
use parking_lot::Mutex;

use crate::deleted::{Marks, RowId};
use crate::transaction::{NewRows, Transaction};
use crate::version::TableVersion;

/// Maximum number of rows of a statement that go to the delta. More than that are worth a row group and its blocks.
const DELTA_ROWS_MAX: usize = 16_384;

/// Maximum bytes of strings that a worker keeps for the delta: what it keeps isn't reserved.
const DELTA_TEXT_BYTES_MAX: usize = 8 << 20;

/// The changes of a statement to a table.
pub struct WriteTask {
    /// The transaction in which it happens.
    pub transaction: Arc<Transaction>,
    /// The table that the query was planned with.
    pub table: Arc<TableVersion>,
    /// The meaning of the query's columns.
    pub kind: WriteKind,
    /// Names of the checks.
    pub checks: Vec<String>,
    /// The result consists of the last columns of the query; otherwise it is the number of rows.
    pub returns_rows: bool,
    /// Many rows are expected.
    pub is_bulk: bool,
}

/// The last sink of `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `COPY … FROM` and `CREATE TABLE … AS`.
pub struct WriteSink {
    task: WriteTask,
    columns: Columns,
    types: Vec<PhysicalType>,
    fields: Vec<Field>,
    workers: usize,
    state: Mutex<State>,
    rows: AtomicU64,
    result: Arc<ResultCollector>,
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
}

/// Positions at which each kind of the query's columns begins.
struct Columns {
    is_deleted: usize,
    table: usize,
    checks: usize,
    returning: usize,
}

struct State {
    marks: Marks,
    load: Option<Arc<Load>>,
    /// Rows of workers that have only a few.
    few: Vec<Chunk>,
    /// Memory of marks and rows.
    reservation: Reservation,
}

impl WriteSink {
    /// A sink for the query of a task. `result` gets the statement's result.
    pub fn new(task: WriteTask, query: &QueryContext, result: Arc<ResultCollector>) -> Result<Arc<Self>> {
        let verb = match task.kind {
            WriteKind::Insert => "Insert into",
            WriteKind::Update => "Update",
            WriteKind::Delete => "Delete from",
            WriteKind::Upsert | WriteKind::Merge => "Merge into",
        };
        let metrics = OperatorMetrics::new(format!("{verb} {}", task.table.name()));
        let fields: Vec<Field> = task.table.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        let types = fields.iter().map(|field| PhysicalType::natural(field.data_type())).collect::<Result<_>>()?;
        let is_deleted = usize::from(task.kind.has_row_ids());
        let table = is_deleted + usize::from(task.kind.has_deletions());
        let checks = table + if task.kind.has_columns() { fields.len() } else { 0 };
        let columns = Columns { is_deleted, table, checks, returning: checks + task.checks.len() };
        let memory = query.memory.scoped(metrics.memory().clone());
        let reservation = memory.reserve(0, MemoryTag::Writer)?;
        Ok(Arc::new(Self {
            task,
            columns,
            types,
            fields,
            workers: query.settings.workers,
            state: Mutex::new(State { marks: Marks::default(), load: None, few: Vec::new(), reservation }),
            rows: AtomicU64::new(0),
            result,
            memory,
            metrics,
        }))
    }

    /// The load of all workers, begun by the first that needs it.
    fn load_worker(&self) -> Result<LoadWorker> {
        let mut state = self.state.lock();
        let load = match &state.load {
            Some(load) => load.clone(),
            None => {
                let load = self.task.transaction.load(&self.task.table, &self.memory, self.workers)?;
                state.load.insert(load).clone()
            }
        };
        drop(state);
        load.worker(&self.memory)
    }

    /// Marks the rows of a chunk as deleted, and removes from it those that were already marked.
    fn mark(&self, chunk: &mut Chunk) -> Result<()> {
        let ids = convert(&chunk.dense(0), PhysicalType::I64);
        let flat = ids.to_flat();
        let numbers = flat.values::<i64>();
        let mut state = self.state.lock();
        let State { marks, reservation, .. } = &mut *state;
        let mut kept = Vec::with_capacity(numbers.len());
        for (row, &id) in numbers.iter().enumerate() {
            if !ids.is_valid(row) || marks.insert(RowId::from_i64(id)) {
                kept.push(row as u32);
            } else if matches!(self.task.kind, WriteKind::Upsert | WriteKind::Merge) {
                let message = format!("a row of {} is changed twice by one statement", self.task.table.name());
                return Err(
                    Error::user(message).with_hint("make rows of the source differ in what they are matched by")
                );
            }
        }
        reservation.resize(marks.bytes())?;
        drop(state);
        if kept.len() < chunk.len() {
            chunk.select(&kept);
        }
        Ok(())
    }

    /// The columns of a chunk as the table stores them.
    fn table_columns(&self, chunk: &Chunk) -> Result<Vec<Vector>> {
        for (at, name) in self.task.checks.iter().enumerate() {
            let passes = chunk.dense(self.columns.checks + at).to_flat();
            if passes.bools().contains(&0) {
                return Err(Error::user(format!("a row violates {name}, a check of {}", self.task.table.name())));
            }
        }
        let columns: Vec<Vector> = (self.columns.table..self.columns.checks).map(|at| chunk.dense(at)).collect();
        check_nulls(&self.task.table, &columns)?;
        let stored = columns.into_iter().zip(&self.types).map(|(column, &ty)| match ty {
            PhysicalType::Str => Ok(column),
            PhysicalType::Nested => nested_to_bytes(&column),
            ty => Ok(convert(&column, ty)),
        });
        stored.collect()
    }
}

impl Transaction {
    /// Adds a few rows to a table that the statement was planned with: all columns, dense and with their stored types.
    pub fn insert(&self, table: &TableVersion, columns: &[Vector], rows: usize) -> Result<()> {
        check_nulls(table, columns)?;
        self.write(table, &Marks::default(), NewRows::Few(columns.to_vec(), rows))
    }
}

/// Fails if a column that must not be NULL is.
fn check_nulls(table: &TableVersion, columns: &[Vector]) -> Result<()> {
    for (column, field) in columns.iter().zip(table.schema().fields()) {
        if !field.is_nullable() && column.has_nulls() {
            let message = format!("column {} of {} must not be NULL", field.name(), table.name());
            return Err(Error::user(message));
        }
    }
    Ok(())
}

/// The rows of one worker.
struct WriteWorker {
    sink: Arc<WriteSink>,
    result: Box<dyn SinkWorker>,
    few: Vec<Chunk>,
    few_rows: usize,
    few_text_bytes: usize,
    rows: usize,
    load: Option<LoadWorker>,
}

impl Operator for WriteSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.result.pinned_bytes(workers)
    }
}

impl Sink for WriteSink {
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let result = self.result.clone().worker(query)?;
        let few = Vec::new();
        Ok(Box::new(WriteWorker { sink: self, result, few, few_rows: 0, few_text_bytes: 0, rows: 0, load: None }))
    }

    fn finalize(&self, query: &Arc<QueryContext>) -> Result<()> {
        let (marks, few, load) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.marks), std::mem::take(&mut state.few), state.load.clone())
        };
        let few_rows: usize = few.iter().map(Chunk::len).sum();
        let added = if load.is_none() && few_rows == 0 {
            NewRows::None
        } else if load.is_none() && few_rows <= DELTA_ROWS_MAX {
            let columns = (0..self.fields.len())
                .map(|column| concatenated(&few.iter().map(|chunk| chunk.dense(column)).collect::<Vec<_>>()));
            NewRows::Few(columns.collect(), few_rows)
        } else {
            let mut worker = self.load_worker()?;
            few.iter().try_for_each(|chunk| worker.append(chunk))?;
            worker.finish()?;
            NewRows::Load(self.state.lock().load.take().expect("a worker of it was just made"))
        };
        self.task.transaction.write(&self.task.table, &marks, added)?;
        if !self.task.returns_rows {
            let mut result = self.result.clone().worker(query)?;
            let rows = self.rows.load(Ordering::Relaxed) as i64;
            result.sink(Chunk::new(vec![Vector::from_values(vec![rows], None)], 1))?;
            result.combine()?;
        }
        self.result.finalize(query)
    }
}

impl WriteWorker {
    fn add(&mut self, rows: Chunk) -> Result<()> {
        if let Some(load) = &mut self.load {
            return load.append(&rows);
        }
        self.few_rows += rows.len();
        self.few_text_bytes += rows.text_bytes();
        self.few.push(rows);
        let are_many = self.few_rows > DELTA_ROWS_MAX || self.few_text_bytes > DELTA_TEXT_BYTES_MAX;
        if self.sink.task.is_bulk || are_many {
            let mut load = self.sink.load_worker()?;
            self.few.drain(..).try_for_each(|rows| load.append(&rows))?;
            self.load = Some(load);
        }
        Ok(())
    }
}

impl SinkWorker for WriteWorker {
    fn sink(&mut self, mut chunk: Chunk) -> Result<SinkVerdict> {
        let sink = self.sink.clone();
        let (kind, at) = (sink.task.kind, &sink.columns);
        if kind.has_row_ids() {
            sink.mark(&mut chunk)?;
        }
        self.rows += chunk.len();
        let mut verdict = SinkVerdict::NeedInput;
        if sink.task.returns_rows && !chunk.is_empty() {
            let returned: Vec<usize> = (at.returning..chunk.width()).collect();
            verdict = self.result.sink(chunk.project(&returned))?;
        }
        if kind.has_deletions() {
            let is_deleted = chunk.dense(at.is_deleted).to_flat();
            let kept = is_deleted.bools().iter().enumerate().filter(|(_, is_deleted)| **is_deleted == 0);
            let kept: Vec<u32> = kept.map(|(row, _)| row as u32).collect();
            chunk.select(&kept);
        }
        if kind.has_columns() && !chunk.is_empty() {
            self.add(Chunk::new(sink.table_columns(&chunk)?, chunk.len()))?;
        }
        // The result is no longer read: the statement continues, unless it is stopped from above.
        Ok(if matches!(verdict, SinkVerdict::Done) { SinkVerdict::NeedInput } else { verdict })
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.sink.rows.fetch_add(self.rows as u64, Ordering::Relaxed);
        self.result.combine()?;
        match self.load {
            Some(load) => load.finish(),
            None => {
                self.sink.state.lock().few.extend(self.few);
                Ok(())
            }
        }
    }
}
