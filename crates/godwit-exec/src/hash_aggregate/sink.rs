//! Adds chunks to groups and states: those of the operator's input, and the rows of distinct sets.
//!
//! ```text
//! chunk ──inputs──▶ keys, arguments ──▶ direct array, else table ──▶ row of each row's group ──▶ update states
//!                          ├─(distinct set)──▶ groups of (keys, arguments), fed back in phase two
//!                          └─(collected set)─▶ rows (keys, values), finished with their partition
//! ```

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::{SinkVerdict, SinkWorker};
use godwit_rows::PartitionedRows;
use godwit_rows::aggregate_state::StateKind;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::kernels::select::select_true;
use godwit_vector::{Bitmap, Chunk, Flat, Vector};

use super::HashAggregate;
use super::direct::DirectGroups;
use super::groups::LocalGroups;
use super::plan::{Feed, Payload, PlannedState};

/// Adds rows to the groups of one worker.
pub(super) struct Feeder {
    operator: Arc<HashAggregate>,
    direct: Option<DirectGroups>,
    local: LocalGroups,
    /// Groups of (keys, arguments), per distinct set.
    distinct: Vec<LocalGroups>,
    /// Rows of (keys, values), per collected set.
    collected: Vec<PartitionedRows>,
    hashes: Vec<u64>,
}

/// The rows of a chunk where a filter is TRUE, computed once per filter and chunk.
struct Filters {
    rows: Vec<(usize, Vec<u32>)>,
}

impl Filters {
    fn compute(operator: &HashAggregate, inputs: &[Vector]) -> Self {
        let plan = operator.plan();
        let of_states = plan.states.iter().map(|state| state.feed);
        let of_collected = plan.collected.iter().map(|set| set.feed);
        let of_payload = plan.payload.iter().map(|payload| Feed::Input { filter: payload.filter });
        let of_distinct = plan.distinct.iter().map(|set| Feed::Input { filter: set.filter });
        let mut rows: Vec<(usize, Vec<u32>)> = Vec::new();
        for feed in of_states.chain(of_collected).chain(of_payload).chain(of_distinct) {
            if let Feed::Input { filter: Some(filter) } = feed
                && rows.iter().all(|(known, _)| *known != filter)
            {
                let mut selected = Vec::new();
                let vector = &inputs[filter];
                select_true(vector.to_flat().bools(), vector.validity().map(|v| &**v), &mut selected);
                rows.push((filter, selected));
            }
        }
        Self { rows }
    }

    fn get(&self, filter: Option<usize>) -> Option<&[u32]> {
        let filter = filter?;
        let (_, rows) = self.rows.iter().find(|(known, _)| *known == filter).expect("all filters are computed");
        Some(rows)
    }
}

impl Feeder {
    pub(super) fn new(operator: &Arc<HashAggregate>) -> Result<Self> {
        let plan = operator.plan();
        let memory = operator.memory();
        Ok(Self {
            direct: DirectGroups::new(plan, &operator.groups().grouping)?,
            local: LocalGroups::new(&operator.groups().grouping)?,
            distinct: operator.distinct().iter().map(|set| LocalGroups::new(&set.grouping)).collect::<Result<_>>()?,
            collected: operator.collected().iter().map(|set| set.new_rows(memory)).collect(),
            hashes: Vec::new(),
            operator: operator.clone(),
        })
    }

    /// A lower bound on the number of distinct groups.
    fn groups(&self) -> u64 {
        let direct = self.direct.as_ref().map_or(0, |direct| direct.groups() as u64);
        // A group may be in both: the sum could be too high.
        direct.max(self.local.distinct_groups())
    }

    /// Adds rows of the input.
    fn feed_input(&mut self, chunk: &Chunk) -> Result<()> {
        let operator = self.operator.clone();
        operator.plan().inputs.evaluate_each(chunk, &mut |inputs| self.feed_computed(&operator, &inputs))
    }

    fn feed_computed(&mut self, operator: &HashAggregate, chunk: &Chunk) -> Result<()> {
        let plan = operator.plan();
        let inputs = chunk.dense_columns();
        let filters = Filters::compute(operator, &inputs);
        let keys: Vec<Vector> = plan.keys.iter().map(|&key| inputs[key].clone()).collect();
        match &plan.grouping_sets {
            None => self.feed_keys(&keys, &inputs, &filters, chunk.len()),
            Some(sets) => {
                for set in sets.sets_of_input() {
                    let keys = operator.keys_of_set(set, &keys, chunk.len());
                    self.feed_keys(&keys, &inputs, &filters, chunk.len())?;
                }
                Ok(())
            }
        }
    }

    /// Adds rows of the input under the given keys.
    fn feed_keys(&mut self, keys: &[Vector], inputs: &[Vector], filters: &Filters, rows: usize) -> Result<()> {
        self.update_states(None, keys, inputs, filters, rows)?;
        let operator = self.operator.clone();
        for (set, local) in operator.plan().distinct.iter().zip(&mut self.distinct) {
            let mut columns: Vec<Vector> =
                keys.iter().cloned().chain(set.arguments.iter().map(|&argument| inputs[argument].clone())).collect();
            let mut rows = rows;
            if let Some(selected) = filters.get(set.filter) {
                columns.iter_mut().for_each(|column| *column = column.take(selected));
                rows = selected.len();
            }
            hash_vectors(&columns, rows, &mut self.hashes);
            local.assign(&columns, &[], &self.hashes)?;
        }
        Ok(())
    }

    /// Adds the rows of distinct set `set`: unique keys and arguments.
    pub(super) fn feed_distinct(
        &mut self,
        set: usize,
        keys: &[Vector],
        arguments: &[Vector],
        rows: usize,
    ) -> Result<()> {
        self.update_states(Some(set), keys, arguments, &Filters { rows: Vec::new() }, rows)
    }

    /// Updates the states that are fed by the input or by a distinct set; `columns` are its columns.
    fn update_states(
        &mut self,
        distinct: Option<usize>,
        keys: &[Vector],
        columns: &[Vector],
        filters: &Filters,
        rows: usize,
    ) -> Result<()> {
        let operator = self.operator.clone();
        let plan = operator.plan();
        // The filter of a state if it is fed by these rows.
        let filter_of = |feed: Feed| match (feed, distinct) {
            (Feed::Input { filter }, None) => Some(filters.get(filter)),
            (Feed::Distinct(set), Some(fed)) if set == fed => Some(None),
            _ => None,
        };
        let payload = match distinct {
            None => plan.payload.iter().map(|payload| payload_of(payload, columns, filters)).collect(),
            Some(_) => plan.no_payload(rows),
        };
        let is_direct = match &mut self.direct {
            Some(direct) if payload.is_empty() || self.local.try_room(rows)? => direct.assign(plan, keys, rows)?,
            _ => false,
        };
        if !is_direct {
            self.give_up_direct()?;
        }
        if !is_direct || !self.collected.is_empty() {
            hash_vectors(keys, rows, &mut self.hashes);
        }
        match &mut self.direct {
            Some(direct) if !payload.is_empty() => direct.update_payload(&mut self.local, keys, &payload)?,
            Some(_) => {}
            None => _ = self.local.assign(keys, &payload, &self.hashes)?,
        }
        for (index, state) in plan.states.iter().enumerate().filter(|(index, _)| Some(*index) != plan.ordinal) {
            let Some(selected) = filter_of(state.feed) else { continue };
            let arguments = arguments_of(state, columns, selected, rows);
            match &mut self.direct {
                Some(direct) => direct.update(plan, index, selected, &arguments)?,
                None => self.local.update(index, selected, &arguments)?,
            }
        }
        for ((set, shared), rows) in plan.collected.iter().zip(operator.collected()).zip(&mut self.collected) {
            if let Some(selected) = filter_of(set.feed) {
                shared.append(
                    rows,
                    keys,
                    set.columns.iter().map(|&column| &columns[column]),
                    &self.hashes,
                    selected,
                )?;
            }
        }
        Ok(())
    }

    /// Moves the groups of the direct array, if there is one, to the table; from then on, all go there.
    fn give_up_direct(&mut self) -> Result<()> {
        if let Some(mut direct) = self.direct.take() {
            direct.flush(self.operator.plan(), &mut self.local)?;
        }
        Ok(())
    }

    /// Hands everything over to the shared groups.
    pub(super) fn combine(mut self) -> Result<()> {
        self.give_up_direct()?;
        let operator = &self.operator;
        operator.groups().combine(self.local);
        operator.distinct().iter().zip(self.distinct).for_each(|(shared, local)| shared.combine(local));
        operator.collected().iter().zip(self.collected).for_each(|(shared, rows)| shared.combine(rows));
        Ok(())
    }
}

/// A payload column of a chunk's rows: NULL where its filter isn't TRUE.
fn payload_of(payload: &Payload, columns: &[Vector], filters: &Filters) -> Vector {
    let values = columns[payload.column].clone();
    let Some(selected) = filters.get(payload.filter) else { return values };
    let mut passes = Bitmap::filled(values.len(), false);
    selected.iter().for_each(|&row| passes.set(row as usize, true));
    let validity = values.validity().map_or_else(|| passes.clone(), |validity| validity.and(&passes));
    values.with_validity(Some(Arc::new(validity)))
}

/// The arguments of a state for the selected rows. Several arguments of a count become one that is NULL where any is.
pub(super) fn arguments_of(
    state: &PlannedState,
    columns: &[Vector],
    selected: Option<&[u32]>,
    rows: usize,
) -> Vec<Vector> {
    let arguments = match &state.arguments[..] {
        several if several.len() > 1 && state.kind == StateKind::Count => {
            let validities = several.iter().filter_map(|&argument| columns[argument].validity());
            let all = validities.cloned().reduce(|a, b| Arc::new(a.and(&b)));
            vec![Vector::constant(Flat::Bool(vec![1].into()), rows).with_validity(all)]
        }
        arguments => arguments.iter().map(|&argument| columns[argument].clone()).collect(),
    };
    match selected {
        Some(selected) => arguments.iter().map(|argument| argument.take(selected)).collect(),
        None => arguments,
    }
}

/// The sink's worker.
pub(super) struct AggregateSinkWorker(pub(super) Feeder);

impl SinkWorker for AggregateSinkWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        self.0.feed_input(&chunk)?;
        let is_enough = self.0.groups() >= self.0.operator.groups_enough;
        Ok(if is_enough { SinkVerdict::Done } else { SinkVerdict::NeedInput })
    }

    fn combine(self: Box<Self>) -> Result<()> {
        let Feeder { operator, direct, local, .. } = &self.0;
        operator.note_table(direct.as_ref().map(DirectGroups::groups), local);
        self.0.combine()
    }
}
