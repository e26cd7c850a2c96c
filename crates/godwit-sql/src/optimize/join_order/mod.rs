//! Join order: takes trees of inner joins apart and puts them together again in the cheapest order.
//!
//! ```text
//!   plan ── graph::collect ──► JoinGraph ── enumerate ──► JoinTree ── rebuild ──► plan
//!                              relations                  leaf | probe ⨝ build
//!                              key classes (a = b = c)
//!                              other predicates
//! ```
//!
//! A relation is whatever isn't an inner join: a scan, an aggregation, an outer join with its own joins inside (ordered
//! before, on their own). Semi and anti joins above a join tree move down to the one relation they ask about if they
//! leave few of its rows.
//!
//! Up to [`EXACT_RELATIONS_MAX`] relations the best bushy tree is found by dynamic programming over connected
//! subgraphs (DPccp); larger graphs are searched along some lines (enumerate.rs). In every join the right input is the build side.

mod cost;
mod enumerate;
mod graph;
mod rebuild;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};

use crate::Estimates;
use enumerate::JoinTree;
use graph::JoinGraph;

/// Largest graph whose order is found by dynamic programming; the number of its steps grows with 3^relations.
const EXACT_RELATIONS_MAX: usize = 12;

/// Largest graph that is reordered at all: sets of relations are bits of a `u64`.
const RELATIONS_MAX: usize = 64;

pub use godwit_optimize::JoinOrder;

/// The plan with all its join trees, those in subqueries too, in this order.
pub(super) fn order_joins(plan: LogicalPlan, estimates: &Estimates, by: JoinOrder) -> Result<LogicalPlan> {
    let order = |plan: LogicalPlan| order_joins(plan, estimates, by).map(Transformed::yes);
    let plan = plan.map_subqueries(order)?.data;
    if !is_join_tree(&plan) {
        let children_ordered = plan.map_children(order)?.data;
        return Ok(children_ordered);
    }
    let schema = Arc::clone(plan.schema());
    let Some(mut graph) = JoinGraph::collect(&plan, estimates)? else {
        return Ok(plan.map_children(order)?.data);
    };
    graph.map_relations(|relation| order_joins(relation, estimates, by), estimates)?;
    let tree = match by {
        JoinOrder::Cost => enumerate::best_tree(&graph),
        JoinOrder::Written => JoinTree::left_deep(graph.relations.len()),
    };
    let plan = rebuild::rebuild(&graph, &tree)?;
    if plan.schema().columns() == schema.columns() {
        return Ok(plan);
    }
    // The columns come in another order now; who is above may count on the old one.
    LogicalPlanBuilder::from(plan).project(schema.columns().into_iter().map(Expr::Column))?.build()
}

/// True for inner joins, and for filters, semi joins and choices of columns right above them.
fn is_join_tree(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner => true,
            JoinType::LeftSemi | JoinType::LeftAnti => is_join_tree(&join.left),
            _ => false,
        },
        LogicalPlan::Filter(filter) => is_join_tree(&filter.input),
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) && is_join_tree(&projection.input)
        }
        _ => false,
    }
}
