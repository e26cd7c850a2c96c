//! The results of a sequence of sorted rows, chunk by chunk.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::QueryContext;
use godwit_vector::{Chunk, Vector};

use super::call::{WindowCall, WindowFunction};
use super::frame_groups::FrameGroups;
use super::framed::Framed;
use super::functions::Positional;
use super::listed::Listed;
use super::ordered::Ordered;
use super::plan::{Output, Plan};
use super::step::Step;

/// A call that isn't computed together with others.
enum Single {
    Positional(Box<Positional>),
    Listed(Box<Listed>),
    Grouped(Box<FrameGroups>),
}

impl Single {
    fn new(
        plan: &Plan,
        call: &(WindowCall, Vec<usize>),
        memory: &BufferManager,
        query: &Arc<QueryContext>,
    ) -> Result<Self> {
        Ok(match &call.0.function {
            WindowFunction::Listed(kind) => {
                Single::Listed(Box::new(Listed::new(plan, &call.0, kind, call.1[0], memory, &query.cancel)?))
            }
            WindowFunction::Grouped { aggregate, has_filter } => {
                Single::Grouped(Box::new(FrameGroups::new(plan, call, (aggregate, *has_filter), memory, query)?))
            }
            _ => Single::Positional(Box::new(Positional::new(plan, call, memory)?)),
        })
    }
}

pub(super) struct Evaluation {
    rows: Ordered,
    step: Step,
    calls: Vec<Single>,
    sets: Vec<Framed>,
}

impl Evaluation {
    pub(super) fn new(plan: &Plan, rows: Ordered, memory: &BufferManager, query: &Arc<QueryContext>) -> Result<Self> {
        let calls = plan.calls.iter().map(|call| Single::new(plan, call, memory, query));
        let sets = plan.sets.iter().map(|set| Framed::new(plan, set, memory, &query.cancel));
        Ok(Self {
            rows,
            step: Step::default(),
            calls: calls.collect::<Result<_>>()?,
            sets: sets.collect::<Result<_>>()?,
        })
    }

    /// The next rows with their results; `None` at the end.
    pub(super) fn next(&mut self, plan: &Plan, rows_max: usize) -> Result<Option<Chunk>> {
        let rows = rows_max.min(self.rows.len() - self.step.end);
        if rows == 0 {
            return Ok(None);
        }
        self.step.advance(&self.rows, rows);
        let (ordered, step) = (&self.rows, &self.step);
        let calls = self.calls.iter_mut().map(|call| match call {
            Single::Positional(call) => call.compute(ordered, step),
            Single::Listed(call) => call.compute(ordered, step),
            Single::Grouped(call) => call.compute(ordered, step),
        });
        let calls = calls.collect::<Result<Vec<Vector>>>()?;
        let sets = self.sets.iter_mut().map(|set| set.compute(ordered, step));
        let sets = sets.collect::<Result<Vec<Vec<Vector>>>>()?;
        let pinned = ordered.pin(step.rows())?;
        let passed = plan.passed.iter().map(|&column| ordered.gather(&pinned, column));
        let results = plan.outputs.iter().map(|output| match *output {
            Output::Call(call) => calls[call].clone(),
            Output::Framed { set, index } => sets[set][index].clone(),
        });
        Ok(Some(Chunk::new(passed.chain(results).collect(), rows)))
    }
}
