//! The aggregates of window functions: the same states and results, over frames of rows instead of groups.
//!
//! A window operator owns the states of its frames and decides which rows' values, or which other states, go into them.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_rows::aggregate_state::StateLayout;
use godwit_rows::{RowList, RowOwner, Rows};
use godwit_vector::kernels::select::select_true;
use godwit_vector::{ColumnType, RowType, Vector};

use super::finish::StateReader;
use super::plan::{Feed, Output, Plan};
use super::sink::arguments_of;
use super::{AggregateCall, HashAggregateSpec};

/// True if the aggregate has a fixed-size state, so that a frame's state can be combined from its rows and from the
/// states of other frames.
pub(crate) fn has_state(call: &AggregateCall) -> Result<bool> {
    Ok(is_of_states(&plan_of(call)?))
}

fn is_of_states(plan: &Plan) -> bool {
    let has_none = |output: &Output| matches!(output, Output::Payload(_) | Output::Ordered(_) | Output::Collected(_));
    plan.distinct.is_empty() && !plan.outputs.iter().any(|(output, _)| has_none(output))
}

/// The type of the results of an aggregate.
pub(crate) fn output_type_of(call: &AggregateCall) -> Result<ColumnType> {
    Ok(plan_of(call)?.outputs.swap_remove(0).1)
}

fn plan_of(call: &AggregateCall) -> Result<Plan> {
    Plan::new(&HashAggregateSpec { aggregates: vec![call.clone()], ..HashAggregateSpec::default() })
}

/// Aggregates over the same frames.
pub(crate) struct FramedAggregates {
    plan: Plan,
}

impl FramedAggregates {
    /// Each of them [has a state](has_state).
    pub(crate) fn new(calls: Vec<AggregateCall>) -> Result<Self> {
        let plan = Plan::new(&HashAggregateSpec { aggregates: calls, ..HashAggregateSpec::default() })?;
        assert!(is_of_states(&plan), "aggregates without a state are computed by frame");
        Ok(Self { plan })
    }

    /// The expressions that [`update`](Self::update) needs for each row.
    pub(crate) fn inputs(&self) -> &[Expression] {
        self.plan.inputs.expressions()
    }

    /// The states of a frame.
    pub(crate) fn layout(&self) -> &Arc<StateLayout> {
        &self.plan.layout
    }

    /// Types of the results.
    pub(crate) fn output_type(&self) -> RowType {
        self.plan.output_type()
    }

    /// Adds row i of the inputs to the states of row i of `states`.
    pub(crate) fn update(&self, owner: &mut RowOwner, states: Rows<'_>, inputs: &[Vector]) -> Result<()> {
        for (index, state) in self.plan.states.iter().enumerate() {
            let arguments = arguments_of(state, inputs, None, states.len());
            let Feed::Input { filter: Some(filter) } = state.feed else {
                self.plan.layout.update(owner, index, states, &arguments)?;
                continue;
            };
            let filter = &inputs[filter];
            let mut rows = Vec::new();
            select_true(filter.to_flat().bools(), filter.validity().map(|v| &**v), &mut rows);
            let mut passed = RowList::new(states.layout());
            passed.append_picked(states, &rows);
            let arguments: Vec<Vector> = arguments.iter().map(|argument| argument.take(&rows)).collect();
            self.plan.layout.update(owner, index, passed.all(), &arguments)?;
        }
        Ok(())
    }

    /// One vector per aggregate: its results for these states, which can be read.
    pub(crate) fn results(&self, states: Rows<'_>) -> Result<Vec<Vector>> {
        let reader = StateReader { layout: &self.plan.layout, rows: states };
        self.plan.outputs.iter().map(|(output, ty)| reader.vector(output, ty)).collect()
    }
}
