//! Rows are aggregated before joins that repeat or extend them, by what is still needed of them.
//!
//! ```text
//! Aggregate by i.brand: avg(s.price)                    2,000,000 rows
//! └─ Join s.item = i.item
//!    ├─ s
//!    └─ i                                                  18,000 rows
//!            ──▶   Project avg := sum / count
//!                  └─ Aggregate by i.brand: sum := sum(sum₁), count := sum(count₁)
//!                     └─ Join s.item = i.item              18,000 rows
//!                        ├─ Aggregate by s.item: sum₁ := sum(s.price), count₁ := count(s.price)
//!                        │  └─ s
//!                        └─ i
//! ```
//!
//! Rows of one side that agree in all columns that the joins, filters and keys above them use have the same matches
//! and belong to the same groups, so they may go through the joins as one (Yan & Larson, "Eager Aggregation and Lazy
//! Aggregation", 1995). Values that a condition of the other side chooses are aggregated before it does: [`split`].
//!
//! Whether it pays is estimated in [`cost`]. Only what can't fail is computed for rows that may have no match.
//!
//! Bound: one walk, and for each aggregation one down its joins, at each of which its calls are split.

mod cost;
mod split;

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{Aggregate, ColumnSet, Expr, Join, JoinKind, Node, NodeId, Plan, Project};
use godwit_types::SqlType;

pub(crate) use self::cost::Worth;
use self::cost::{Candidate, passes_filters};
use self::split::{Split, value_columns};
use super::{Context, bottom_up, column, passes_on, replace_below, used_columns};
use crate::estimate::Estimates;
use crate::properties::effects::is_volatile_node;

/// How many times smaller the probe side of a join must have become to be the build side.
const SMALLER_MIN: f64 = 4.0;

/// A build side that keeps less than one in this many rows of the probe side spares it rows.
const SPARED_MIN: f64 = 2.0;

/// Aggregates rows before joins.
pub(crate) fn aggregate_early(plan: &mut Plan, context: &mut Context<'_>, worth: Worth) -> Result<()> {
    let check = context.check;
    let mut estimates = None;
    bottom_up(plan, check, &mut |plan, id| {
        let Node::Aggregate(aggregate) = plan.node(id) else { return Ok(id) };
        let is_above_join = matches!(plan.node(aggregate.input), Node::Join(_) | Node::Filter { .. });
        // Without aggregates, a limit above may stop the executor at the first groups.
        if !is_above_join || aggregate.keys.is_empty() || aggregate.aggregates.is_empty() || !is_plain(plan.node(id)) {
            return Ok(id);
        }
        let aggregate = aggregate.clone();
        let Some(values) = value_columns(&aggregate) else { return Ok(id) };
        let estimates = estimates.get_or_insert_with(|| Estimates::new(plan, None));
        let path = Path { estimates, worth, aggregate: &aggregate };
        Ok(match path.best(plan, context, &values) {
            Some(early) => path.rebuild(plan, early),
            None => id,
        })
    })
}

/// Returns true for types whose equal values are indistinguishable: not floats (`0.0`, `-0.0`), nor intervals (a month,
/// 30 days).
fn is_exact(ty: &SqlType) -> bool {
    match ty {
        SqlType::Varchar | SqlType::Blob | SqlType::Boolean | SqlType::Uuid | SqlType::Enum(_) => true,
        _ => ty.is_integer() || ty.is_decimal() || ty.is_datetime(),
    }
}

/// Returns true if the node's expressions may be evaluated for groups of rows instead of for each row.
fn is_plain(node: &Node) -> bool {
    let mut has_subquery = false;
    node.for_each_expr(&mut |expr| has_subquery |= expr.has_subquery());
    !has_subquery && !is_volatile_node(node)
}

/// The way from an aggregation down its joins.
struct Path<'a> {
    estimates: &'a Estimates,
    worth: Worth,
    aggregate: &'a Aggregate,
}

/// What to aggregate where.
struct Early {
    /// What that saves, as estimated.
    gain: f64,
    /// The nodes between the aggregation and the side, from above.
    above: Vec<NodeId>,
    /// The side of the lowest of these whose rows are aggregated.
    side: NodeId,
    /// The expected number of groups.
    groups: f64,
    /// The side's columns that are still needed.
    keys: Vec<Expr>,
    /// The aggregates.
    split: Split,
}

impl Path<'_> {
    /// Returns the place that saves the most.
    fn best(&self, plan: &mut Plan, context: &mut Context<'_>, values: &ColumnSet) -> Option<Early> {
        let mut used = used_columns(plan, self.aggregate.keys.iter().map(|(_, key)| key));
        let mut above = Vec::new();
        let mut best: Option<Early> = None;
        let rows_above = self.estimates.rows(plan, self.aggregate.input);
        let mut candidate = Candidate { rows_above, rows: rows_above, rows_joined: 0.0, joins: 0.0 };
        let mut id = self.aggregate.input;
        while is_plain(plan.node(id)) {
            let (below, is_filtered) = match plan.node(id) {
                Node::Filter { input, .. } => (*input, false),
                Node::Join(join) => match self.side_with(plan, context, join, values) {
                    Some(side) => (side, passes_filters(join, side, &context.properties.outputs(plan, side))),
                    None => break,
                },
                _ => break,
            };
            plan.node(id).for_each_expr(&mut |expr| used.union_with(&expr.columns()));
            above.push(id);
            let rows = self.estimates.rows(plan, below);
            candidate.rows = if is_filtered { rows.min(candidate.rows) } else { rows };
            // The node right below a filter may make use of its conditions.
            if matches!(plan.node(id), Node::Join(_)) {
                candidate.rows_joined += candidate.rows;
                candidate.joins += 1.0;
                if let Some(early) = self.early(plan, context, &above, below, &used, candidate)
                    && best.as_ref().is_none_or(|best| early.gain > best.gain)
                {
                    best = Some(early);
                }
            }
            id = below;
        }
        best
    }

    /// Returns the side of a join that has these columns and whose rows the join passes on, drops or repeats; the larger
    /// one if either will do.
    fn side_with(&self, plan: &Plan, context: &mut Context<'_>, join: &Join, columns: &ColumnSet) -> Option<NodeId> {
        let (left, right) = passes_on(&join.kind);
        let sides = [(left, join.left), (right, join.right)].into_iter();
        let sides = sides.filter_map(|(passes, side)| passes.then_some(side));
        let having = sides.filter(|&side| columns.is_subset(&context.properties.outputs(plan, side)));
        having.max_by(|&a, &b| self.estimates.rows(plan, a).total_cmp(&self.estimates.rows(plan, b)))
    }

    /// Returns the aggregation of a side, if it is worth it. `used` are the columns that the nodes above use.
    fn early(
        &self,
        plan: &mut Plan,
        context: &mut Context<'_>,
        above: &[NodeId],
        side: NodeId,
        used: &ColumnSet,
        candidate: Candidate,
    ) -> Option<Early> {
        if candidate.rows < self.worth.rows_min {
            return None;
        }
        let outputs = context.properties.outputs(plan, side);
        let split = Split::of(plan, context.functions, self.aggregate, &outputs)?;
        let used = used.union(&split.used_above()).intersection(&outputs);
        if context.properties.is_unique(plan, side, &used) {
            return None;
        }
        let nullable = context.properties.nullable(plan, side);
        let keys: Vec<Expr> = used.iter().map(|id| column(plan, id, nullable.contains(id))).collect();
        if keys.is_empty() || !keys.iter().all(|key| is_exact(&key.ty)) {
            return None;
        }
        let share = candidate.rows / self.estimates.rows(plan, side).max(1.0);
        let groups = self.estimates.groups_of_independent(plan, side, &keys) * share;
        let gain = candidate.gain(self.worth, groups, self.aggregate, &keys, &split)?;
        Some(Early { gain, above: above.to_vec(), side, groups, keys, split })
    }

    /// Builds the aggregation over the joins of groups.
    fn rebuild(&self, plan: &mut Plan, early: Early) -> NodeId {
        let Early { above, side, groups, keys, split, .. } = early;
        let keys = keys.into_iter().map(|key| (key.as_column().expect("keys are columns"), key)).collect();
        let partial = Aggregate { input: side, keys, sets: None, grouping_id: None, aggregates: split.partial };
        let partial = plan.add(Node::Aggregate(partial));
        // Estimates of nodes take keys to be related.
        let factor = (groups / self.estimates.rows(plan, partial).max(1.0)).max(1.0);
        let mut below = (side, partial);
        for id in above.into_iter().rev() {
            let same = replace_below(plan, id, &HashMap::from([below]));
            below = (id, self.with_small_build_side(plan, same, factor));
        }
        let of_groups = Aggregate { input: below.1, aggregates: split.of_groups, ..self.aggregate.clone() };
        let of_groups = plan.add(Node::Aggregate(of_groups));
        let has_sets = self.aggregate.sets.is_some();
        let keys = self.aggregate.keys.iter().map(|(id, key)| (*id, column(plan, *id, key.nullable || has_sets)));
        let number = self.aggregate.grouping_id.map(|id| (id, column(plan, id, false)));
        let columns = keys.chain(number).chain(split.values).collect();
        plan.add(Node::Project(Project { input: of_groups, columns }))
    }

    /// Swaps the sides of an inner join whose probe side has become far smaller, unless the build side spares it rows.
    /// There may be `factor` times as many rows on the probe side as its estimate says.
    fn with_small_build_side(&self, plan: &mut Plan, id: NodeId, factor: f64) -> NodeId {
        match plan.node(id) {
            Node::Join(join) if join.kind == JoinKind::Inner => {
                let rows = |node| self.estimates.rows(plan, node);
                let (left, right) = (rows(join.left), rows(join.right));
                if left * factor * SMALLER_MIN > right || rows(id) * SPARED_MIN < left {
                    return id;
                }
                let swapped = Join { left: join.right, right: join.left, ..join.clone() };
                plan.add(Node::Join(swapped))
            }
            _ => id,
        }
    }
}
