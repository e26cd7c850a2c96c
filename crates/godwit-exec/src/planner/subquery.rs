//! Uncorrelated scalar subqueries: run first, their value becomes a parameter of the expressions that use it.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_common::{Error, Result};
use godwit_expression::Parameter;
use godwit_vector::{Chunk, ColumnType, to_arrow};
use parking_lot::Mutex;

use super::stream::Stream;
use super::{Needs, PhysicalPlanner};
use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{Sink, SinkVerdict, SinkWorker};

impl PhysicalPlanner<'_> {
    /// Plans the subqueries that were met since the last call, unless they are planned, and makes the stream wait for them.
    pub(super) fn run_subqueries_before(&mut self, stream: &mut Stream) -> Result<()> {
        for subquery in self.context.take_subqueries() {
            if let Some(pipelines) = self.subqueries.get(&subquery.number) {
                stream.wait_for(pipelines.clone());
                continue;
            }
            let rows = self.plan(&subquery.plan, Needs::everything(&subquery.plan))?;
            let sink = Arc::new(ScalarSink {
                parameter: subquery.result,
                column: rows.row_type[0].clone(),
                value: Arc::default(),
                metrics: OperatorMetrics::new("Scalar subquery"),
            });
            let (pipelines, mut explain) = self.close(rows, sink.clone());
            explain.role = Some("subquery");
            stream.explain.children.push(explain);
            self.subqueries.insert(subquery.number, pipelines.clone());
            stream.wait_for(pipelines);
        }
        Ok(())
    }
}

/// Takes the one value of a scalar subquery.
struct ScalarSink {
    parameter: Parameter,
    column: ColumnType,
    value: Arc<Mutex<Option<ScalarValue>>>,
    metrics: Arc<OperatorMetrics>,
}

impl Sink for ScalarSink {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(ScalarWorker { value: self.value.clone(), column: self.column.clone() }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        // No row is NULL.
        let value = match self.value.lock().take() {
            Some(value) => value,
            None => ScalarValue::try_from(&self.column.logical).map_err(super::planning_error)?,
        };
        self.parameter.set(&value)
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct ScalarWorker {
    value: Arc<Mutex<Option<ScalarValue>>>,
    column: ColumnType,
}

impl SinkWorker for ScalarWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let mut value = self.value.lock();
        if value.is_some() || chunk.len() > 1 {
            return Err(Error::user("a subquery that is used as a value returned more than one row")
                .with_hint("add an aggregate such as max(...), or LIMIT 1"));
        }
        let array = to_arrow(&chunk.dense(0), &self.column.logical)?;
        *value = Some(ScalarValue::try_from_array(&array, 0).map_err(super::planning_error)?);
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
