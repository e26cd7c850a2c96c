//! A join tree back to a plan: each predicate at the lowest join that has all its relations.

use std::sync::Arc;

use datafusion_common::{NullEquality, Result};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{BinaryExpr, Expr, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Operator};

use super::enumerate::JoinTree;
use super::graph::{JoinGraph, RelationSet};

/// The plan of a join tree.
pub(super) fn rebuild(graph: &JoinGraph, tree: &JoinTree) -> Result<LogicalPlan> {
    let (plan, _) = rebuild_set(graph, tree)?;
    match conjunction(graph.constants.iter().cloned()) {
        Some(predicate) => Ok(LogicalPlan::Filter(Filter::try_new(predicate, plan)?)),
        None => Ok(Arc::unwrap_or_clone(plan)),
    }
}

fn rebuild_set(graph: &JoinGraph, tree: &JoinTree) -> Result<(Arc<LogicalPlan>, RelationSet)> {
    let (probe, build) = match tree {
        JoinTree::Leaf(relation) => return Ok((Arc::clone(&graph.relations[*relation].plan), 1 << relation)),
        JoinTree::Join(probe, build) => (rebuild_set(graph, probe)?, rebuild_set(graph, build)?),
    };
    let ((left, left_set), (right, right_set)) = (probe, build);
    let mut on = Vec::new();
    for class in &graph.classes {
        let of = |set: RelationSet| class.members.iter().find(|member| set & (1 << member.relation) != 0);
        if let (Some(left), Some(right)) = (of(left_set), of(right_set)) {
            on.push((left.expr.clone(), right.expr.clone()));
        }
    }
    let set = left_set | right_set;
    let mut filters = Vec::new();
    for predicate in &graph.predicates {
        let is_new = predicate.relations & !left_set != 0 && predicate.relations & !right_set != 0;
        if is_new && predicate.relations & !set == 0 {
            match as_key(&predicate.expr, &left, &right) {
                Some(key) => on.push(key),
                None => filters.push(predicate.expr.clone()),
            }
        }
    }
    let join = Join::try_new(
        left,
        right,
        on,
        conjunction(filters),
        JoinType::Inner,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok((Arc::new(LogicalPlan::Join(join)), set))
}

/// An equality of one expression over each side, such as `a.x + b.x = c.x`, as (left, right).
fn as_key(expr: &Expr, left: &LogicalPlan, right: &LogicalPlan) -> Option<(Expr, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left: a, op: Operator::Eq, right: b }) = expr else {
        return None;
    };
    let is_of = |expr: &Expr, side: &LogicalPlan| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| side.schema().has_column(column))
    };
    if is_of(a, left) && is_of(b, right) {
        Some((a.as_ref().clone(), b.as_ref().clone()))
    } else if is_of(a, right) && is_of(b, left) {
        Some((b.as_ref().clone(), a.as_ref().clone()))
    } else {
        None
    }
}
