//! Uncorrelated scalar subqueries: they run first, and their value becomes a parameter of the expressions that use it.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_expression::{Parameter, PlanSubquery};
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_types::Value;
use godwit_vector::sql::value_at;
use godwit_vector::{Chunk, ColumnType, to_arrow};
use parking_lot::Mutex;

use super::stream::Stream;
use super::{Needs, PhysicalPlanner};

impl PhysicalPlanner<'_> {
    /// Plans the subqueries encountered since the last call, unless they are already planned, and makes the stream wait
    /// for them.
    pub(super) fn run_subqueries_before(&mut self, stream: &mut Stream) -> Result<()> {
        let subqueries = self.context.take_subqueries();
        self.run_before(subqueries, stream)
    }

    /// Plans subqueries, unless they are already planned, and makes the stream wait for them.
    pub(super) fn run_before(&mut self, subqueries: Vec<PlanSubquery>, stream: &mut Stream) -> Result<()> {
        for subquery in subqueries {
            if let Some(pipelines) = self.subqueries.get(&subquery.number) {
                stream.wait_for(pipelines.clone());
                continue;
            }
            let mut rows = self.plan_node(subquery.plan, Needs::columns([subquery.column].into_iter().collect()))?;
            let value = rows.column(rows.position(subquery.column)?);
            rows.project(vec![subquery.column], vec![value]);
            let sink = ScalarSink::new(subquery.result, rows.row_type[0].clone());
            let (pipelines, mut explain) = self.close(rows, sink);
            explain.role = Some("subquery");
            stream.explain.children.push(explain);
            self.subqueries.insert(subquery.number, pipelines.clone());
            stream.wait_for(pipelines);
        }
        Ok(())
    }
}

/// Takes the single value of a scalar subquery.
pub(super) struct ScalarSink {
    parameter: Parameter,
    column: ColumnType,
    value: Mutex<Option<Value>>,
    metrics: Arc<OperatorMetrics>,
}

impl ScalarSink {
    /// A sink for rows with one column.
    pub(super) fn new(parameter: Parameter, column: ColumnType) -> Arc<Self> {
        let metrics = OperatorMetrics::new("Scalar subquery");
        Arc::new(Self { parameter, column, value: Mutex::default(), metrics })
    }
}

impl Operator for ScalarSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("keeps a row at most")
    }
}

impl Sink for ScalarSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(ScalarWorker(self)))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        // No row means NULL.
        self.parameter.set(&self.value.lock().take().unwrap_or(Value::Null))
    }
}

struct ScalarWorker(Arc<ScalarSink>);

impl SinkWorker for ScalarWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let mut value = self.0.value.lock();
        if value.is_some() || chunk.len() > 1 {
            return Err(Error::user("a subquery that is used as a value returned more than one row")
                .with_code(SqlState::CARDINALITY_VIOLATION)
                .with_hint("add an aggregate such as max(...), or LIMIT 1"));
        }
        let array = to_arrow(&chunk.dense(0), &self.0.column.logical)?;
        *value = Some(value_at(&array, 0, self.0.parameter.ty())?);
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
