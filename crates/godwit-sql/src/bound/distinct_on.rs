//! DISTINCT ON: groups by the ON expressions and takes the first value of each column in the order that is asked for.

use std::sync::Arc;

use datafusion_common::{Column, Result};
use datafusion_expr::expr_rewriter::{normalize_cols, normalize_sorts};
use datafusion_expr::logical_plan::DistinctOn;
use datafusion_expr::{Distinct, Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder};

use crate::functions::FUNCTIONS;

/// Rewrites the node if it is DISTINCT ON.
pub(super) fn group(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Distinct(Distinct::On(distinct)) => grouped(distinct),
        other => Ok(other),
    }
}

fn grouped(distinct: DistinctOn) -> Result<LogicalPlan> {
    let DistinctOn { on_expr, select_expr, sort_expr, input, schema } = distinct;
    let order = normalize_sorts(sort_expr.unwrap_or_default(), &input)?;
    let keys = normalize_cols(on_expr, &input)?;
    let key_count = keys.len();
    let named = |prefix: &'static str| move |(at, expr): (usize, Expr)| expr.alias(format!("{prefix} {at}"));
    let first = |value: Expr| {
        let first = FUNCTIONS.aggregate["first_value"].call(vec![value]);
        if order.is_empty() { Ok(first) } else { first.order_by(order.clone()).build() }
    };
    let values: Vec<Expr> =
        normalize_cols(select_expr, &input)?.into_iter().map(|value| first(value.unalias())).collect::<Result<_>>()?;
    // The ON expressions come first in ORDER BY, which sorts the result too.
    let sorted: Vec<_> = order
        .iter()
        .take(key_count)
        .filter_map(|sort| {
            let key = keys.iter().position(|key| *key == sort.expr)?;
            let by = Expr::Column(Column::new_unqualified(format!("key {key}")));
            Some(by.sort(sort.asc, sort.nulls_first))
        })
        .collect();
    let groups = keys.into_iter().enumerate().map(named("key"));
    let values = values.into_iter().enumerate().map(named("value"));
    let grouped = LogicalPlanBuilder::new_from_arc(Arc::clone(&input))
        .aggregate(groups.collect::<Vec<_>>(), values.collect::<Vec<_>>())?;
    let grouped = if sorted.is_empty() { grouped } else { grouped.sort(sorted)? };
    let selected = schema.iter().enumerate().map(|(at, (table, field))| {
        let value = Expr::Column(Column::new_unqualified(format!("value {at}")));
        value.alias_qualified(table.cloned(), field.name())
    });
    grouped.project(selected.collect::<Vec<Expr>>())?.build()
}
