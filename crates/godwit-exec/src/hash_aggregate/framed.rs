//! The same states and results over frames of rows instead of groups: the aggregates of window functions.
//!
//! A window operator owns the states of its frames and says which rows' values, or which other states, go into them.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_expression::Expression;
use godwit_rows::aggregate_state::StateLayout;
use godwit_rows::{RowList, Rows};
use godwit_vector::kernels::select::select_true;
use godwit_vector::{RowType, Vector};

use super::finish::StateReader;
use super::plan::{Feed, Output, Plan};
use super::sink::arguments_of;
use super::{AggregateCall, HashAggregateSpec};

/// Aggregates over the same frames.
pub(crate) struct FramedAggregates {
    plan: Plan,
}

impl FramedAggregates {
    /// Fails if one of them has no state of a fixed size.
    pub(crate) fn new(calls: Vec<AggregateCall>) -> Result<Self> {
        let name_of = |call: &AggregateCall| {
            let told = format!("{:?}", call.kind).to_lowercase();
            told.split(|letter: char| !letter.is_alphanumeric()).next().map(str::to_owned).unwrap_or_default()
        };
        let names: Vec<String> = calls.iter().map(name_of).collect();
        let spec = HashAggregateSpec { aggregates: calls, ..HashAggregateSpec::default() };
        let plan = Plan::new(&spec)?;
        if !plan.distinct.is_empty() {
            return Err(Error::unsupported("DISTINCT in a window function")
                .with_hint("number the first row of each value with row_number() in a subquery, and aggregate those"));
        }
        let has_no_state =
            |output: &Output| matches!(output, Output::Payload(_) | Output::Ordered(_) | Output::Collected(_));
        if let Some(call) = plan.outputs.iter().position(|(output, _)| has_no_state(output)) {
            return Err(Error::unsupported(format!("{} of such values as a window function", names[call])));
        }
        Ok(Self { plan })
    }

    /// What [`update`](Self::update) needs of each row.
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
    pub(crate) fn update(&self, states: Rows<'_>, inputs: &[Vector]) -> Result<()> {
        for (index, state) in self.plan.states.iter().enumerate() {
            let arguments = arguments_of(state, inputs, None, states.len());
            let Feed::Input { filter: Some(filter) } = state.feed else {
                self.plan.layout.update(index, states, &arguments)?;
                continue;
            };
            let filter = &inputs[filter];
            let mut rows = Vec::new();
            select_true(filter.to_flat().bools(), filter.validity().map(|v| &**v), &mut rows);
            let mut passed = RowList::new(states.layout());
            passed.append_picked(states, &rows);
            let arguments: Vec<Vector> = arguments.iter().map(|argument| argument.take(&rows)).collect();
            self.plan.layout.update(index, passed.all(), &arguments)?;
        }
        Ok(())
    }

    /// One vector per aggregate: its results for these states.
    pub(crate) fn results(&self, states: Rows<'_>) -> Result<Vec<Vector>> {
        let reader = StateReader { layout: &self.plan.layout, rows: states };
        self.plan.outputs.iter().map(|(output, ty)| reader.vector(output, ty)).collect()
    }
}
