//! Joins whose rows only say that there is a match become semi joins where nobody counts how often.
//!
//! ```text
//! Aggregate min(t.title)                       Aggregate min(t.title)
//! └─ Join mk.keyword_id = k.id                 └─ SemiJoin mk.keyword_id = k.id      each row of mk once
//!    ├─ Join t.id = mk.movie_id         ──▶       ├─ Join t.id = mk.movie_id
//!    └─ k                                         └─ k
//! ```
//!
//! Minima and maxima, DISTINCT, and aggregates of distinct values are the same however often a row comes. Below them, and
//! down through filters, choices of columns and joins, a join that serves none of the columns of one side to anybody above
//! keeps the rows of the other side that have a match. What was multiplied by every join of a chain isn't then.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::{Aggregate, Distinct, Expr, Filter, Join, JoinType, LogicalPlan, Projection};

/// Aggregates that are the same for a set of values as for a bag of them.
const OF_SETS: [&str; 6] = ["min", "max", "bool_and", "bool_or", "bit_and", "bit_or"];

/// The plan with semi joins in place of inner joins where that makes no difference, in subqueries too.
pub(super) fn use_semi_joins(plan: LogicalPlan) -> Result<LogicalPlan> {
    let reduced = plan.transform_up_with_subqueries(|node| {
        Ok(match node {
            LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().all(is_of_set) => {
                let used = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
                let input = reduce(Arc::clone(&aggregate.input), &columns_of(used))?;
                let Aggregate { group_expr, aggr_expr, .. } = aggregate;
                Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let wanted = input.schema().columns().into_iter().collect();
                Transformed::yes(LogicalPlan::Distinct(Distinct::All(reduce(input, &wanted)?)))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(reduced.data)
}

/// True for an aggregate that doesn't care how often a value comes.
fn is_of_set(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_of_set(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            !expr.is_volatile() && (params.distinct || OF_SETS.contains(&func.name())) && params.order_by.is_empty()
        }
        _ => false,
    }
}

fn columns_of<'e>(exprs: impl Iterator<Item = &'e Expr>) -> HashSet<Column> {
    exprs.flat_map(|expr| expr.column_refs()).cloned().collect()
}

/// The same set of rows, as far as the wanted columns go. Columns that aren't wanted may be missing.
fn reduce(plan: Arc<LogicalPlan>, wanted: &HashSet<Column>) -> Result<Arc<LogicalPlan>> {
    let is_volatile = plan.expressions().iter().any(Expr::is_volatile);
    let reduced = match plan.as_ref() {
        _ if is_volatile || wanted.is_empty() => return Ok(plan),
        LogicalPlan::Projection(projection) => {
            let columns = projection.schema.columns();
            let named = projection.expr.iter().zip(columns).filter(|(_, column)| wanted.contains(column));
            let exprs: Vec<Expr> = named.map(|(expr, _)| expr.clone()).collect();
            let input = reduce(Arc::clone(&projection.input), &columns_of(exprs.iter()))?;
            LogicalPlan::Projection(Projection::try_new(exprs, input)?)
        }
        LogicalPlan::Filter(filter) => {
            let mut used = columns_of(std::iter::once(&filter.predicate));
            used.extend(wanted.iter().cloned());
            let input = reduce(Arc::clone(&filter.input), &used)?;
            LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), input)?)
        }
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner | JoinType::LeftSemi | JoinType::LeftAnti => LogicalPlan::Join(reduce_join(join, wanted)?),
            _ => return Ok(plan),
        },
        _ => return Ok(plan),
    };
    Ok(Arc::new(reduced))
}

fn reduce_join(join: &Join, wanted: &HashSet<Column>) -> Result<Join> {
    let serves = |side: &LogicalPlan| wanted.iter().any(|column| side.schema().has_column(column));
    let is_inner = join.join_type == JoinType::Inner && !join.on.is_empty();
    let (join_type, is_swapped) = match () {
        () if is_inner && !serves(&join.right) => (JoinType::LeftSemi, false),
        () if is_inner && !serves(&join.left) => (JoinType::LeftSemi, true),
        () => (join.join_type, false),
    };
    let (left_keys, right_keys): (Vec<_>, Vec<_>) = join.on.iter().cloned().unzip();
    let mut used = columns_of(left_keys.iter().chain(&right_keys).chain(&join.filter));
    used.extend(wanted.iter().cloned());
    let side = |plan: &Arc<LogicalPlan>| {
        let own = used.iter().filter(|column| plan.schema().has_column(column)).cloned().collect();
        reduce(Arc::clone(plan), &own)
    };
    let (left, right) = (side(&join.left)?, side(&join.right)?);
    let on = left_keys.into_iter().zip(right_keys);
    let (left, right, on) = match is_swapped {
        true => (right, left, on.map(|(left, right)| (right, left)).collect()),
        false => (left, right, on.collect()),
    };
    Join::try_new(
        left,
        right,
        on,
        join.filter.clone(),
        join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )
}
