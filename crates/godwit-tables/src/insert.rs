//! The end of a query whose rows go into a table.
//!
//! ```text
//! worker ─ buffers ─▶ few rows in all: the delta, one record of the log
//!                └──▶ many: a load, in parallel ─▶ row groups in blocks, one record that says where
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Field;
use godwit_common::{Error, Result};
use godwit_exec::metrics::OperatorMetrics;
use godwit_exec::pipeline::{Sink, SinkVerdict, SinkWorker};
use godwit_exec::{QueryContext, ResultCollector};
use godwit_memory::BufferManager;
use godwit_storage::table::{Load, LoadWorker};
use godwit_vector::kernels::cast::convert;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{Chunk, PhysicalType, Vector};
use parking_lot::Mutex;

use crate::store::{Store, TableTarget};

/// Most rows of a statement that go to the delta. More than that is worth a row group and its blocks.
const DELTA_ROWS_MAX: usize = 16_384;

/// The last sink of `INSERT`, `COPY … FROM` and `CREATE TABLE … AS`: commits the rows, then delivers their number as the only
/// row of the result.
pub struct InsertSink {
    store: Arc<Store>,
    target: TableTarget,
    types: Vec<PhysicalType>,
    fields: Vec<Field>,
    workers: usize,
    state: Mutex<State>,
    rows: AtomicU64,
    count: Arc<ResultCollector>,
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
}

#[derive(Default)]
struct State {
    load: Option<Arc<Load>>,
    /// Rows of workers that had few.
    few: Vec<Vec<Vector>>,
}

impl InsertSink {
    /// A sink for rows with the columns of the target; their number goes to `count`, a result of one BIGINT column.
    pub fn new(
        store: Arc<Store>,
        target: TableTarget,
        query: &QueryContext,
        count: Arc<ResultCollector>,
    ) -> Result<Arc<Self>> {
        let metrics = OperatorMetrics::new(format!("Insert into {}", target.name()));
        let fields = target.fields();
        let types = fields.iter().map(|field| PhysicalType::natural(field.data_type()));
        Ok(Arc::new(Self {
            store,
            types: types.collect::<Result<_>>()?,
            fields,
            target,
            workers: query.settings.workers,
            state: Mutex::default(),
            rows: AtomicU64::new(0),
            count,
            memory: query.memory.scoped(metrics.memory().clone()),
            metrics,
        }))
    }

    /// The load of all workers, begun by the first that needs it.
    fn load_worker(&self) -> Result<LoadWorker> {
        let mut state = self.state.lock();
        let load = match &state.load {
            Some(load) => load.clone(),
            None => {
                let load = self.store.load(&self.target, &self.memory, self.workers)?;
                state.load.insert(load).clone()
            }
        };
        drop(state);
        load.worker(&self.memory)
    }

    /// The columns of a chunk as the table has them.
    fn columns(&self, chunk: &Chunk) -> Result<Vec<Vector>> {
        let columns = chunk.dense_columns();
        for (column, field) in columns.iter().zip(&self.fields) {
            if !field.is_nullable() && column.has_nulls() {
                let message = format!("column {} of {} must not be NULL", field.name(), self.target.name());
                return Err(Error::user(message));
            }
        }
        let numbers = columns.into_iter().zip(&self.types).map(|(column, &ty)| match ty {
            PhysicalType::Str => column,
            ty => convert(&column, ty),
        });
        Ok(numbers.collect())
    }
}

/// Rows of a statement that may stay few.
struct InsertWorker {
    sink: Arc<InsertSink>,
    few: Vec<Vec<Vector>>,
    rows: usize,
    load: Option<LoadWorker>,
}

/// The sink as the scheduler sees it: workers need it shared.
struct SharedSink(Arc<InsertSink>);

impl InsertSink {
    /// What the scheduler drives.
    pub fn into_sink(self: Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(SharedSink(self))
    }
}

impl Sink for SharedSink {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(InsertWorker { sink: self.0.clone(), few: Vec::new(), rows: 0, load: None }))
    }

    fn finalize(&self, query: &Arc<QueryContext>) -> Result<()> {
        let sink = &self.0;
        let mut state = sink.state.lock();
        let rows = sink.rows.load(Ordering::Relaxed);
        let few = std::mem::take(&mut state.few);
        drop(state);
        let is_small = matches!(sink.target, TableTarget::Existing(_)) && rows <= DELTA_ROWS_MAX as u64;
        if is_small && !few.is_empty() {
            let columns = (0..sink.fields.len())
                .map(|column| concatenated(&few.iter().map(|columns| columns[column].clone()).collect::<Vec<_>>()));
            sink.store.commit_rows(&sink.target, columns.collect(), rows as usize)?;
        } else if rows > 0 || matches!(sink.target, TableTarget::New(_)) {
            let mut worker = sink.load_worker()?;
            few.iter().try_for_each(|columns| worker.append(columns, columns.first().map_or(0, Vector::len)))?;
            worker.finish()?;
            let load = sink.state.lock().load.take().expect("a worker of it was just made");
            sink.store.commit_load(&sink.target, &load)?;
        }
        let mut result = sink.count.worker(query)?;
        result.sink(Chunk::new(vec![Vector::from_values(vec![rows as i64], None)], 1))?;
        result.combine()?;
        sink.count.finalize(query)
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}

impl SinkWorker for InsertWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let columns = self.sink.columns(&chunk)?;
        self.rows += chunk.len();
        if let Some(load) = &mut self.load {
            load.append(&columns, chunk.len())?;
            return Ok(SinkVerdict::NeedInput);
        }
        self.few.push(columns);
        let is_new = matches!(self.sink.target, TableTarget::New(_));
        if is_new || self.rows > DELTA_ROWS_MAX {
            let mut load = self.sink.load_worker()?;
            for columns in self.few.drain(..) {
                load.append(&columns, columns.first().map_or(0, Vector::len))?;
            }
            self.load = Some(load);
        }
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.sink.rows.fetch_add(self.rows as u64, Ordering::Relaxed);
        match self.load {
            Some(load) => load.finish(),
            None => {
                self.sink.state.lock().few.extend(self.few);
                Ok(())
            }
        }
    }
}
