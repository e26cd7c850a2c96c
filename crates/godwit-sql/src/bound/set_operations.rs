//! INTERSECT ALL and EXCEPT ALL: how often a row comes matters.
//!
//! The planner crates plan both as a semi or anti join with NULL = NULL, which only asks whether a row comes at all. Here
//! both sides are counted in one aggregation, which spills as every other, and rows are copied as often as is left:
//!
//! ```text
//! left:  columns, 1, NULL ─┐
//!                          ├─ union ─▶ GROUP BY columns: l, r ─▶ copies ─▶ repeat each row
//! right: columns, NULL, 1 ─┘                               least(l, r) or l - r
//! ```

use std::sync::Arc;

use datafusion_common::{NullEquality, Result, ScalarValue};
use datafusion_expr::{Distinct, Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, ident, lit, when};

use crate::Repeat;
use crate::functions::FUNCTIONS;

/// Rewrites the node if it is INTERSECT ALL or EXCEPT ALL.
pub(super) fn count_rows(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Join(join) = plan else { return Ok(plan) };
    let keeps_common = match join.join_type {
        JoinType::LeftSemi => true,
        JoinType::LeftAnti => false,
        _ => return Ok(LogicalPlan::Join(join)),
    };
    // Nothing else joins with NULL = NULL before the plan is optimized. Without ALL the left side is DISTINCT, and if it
    // is so by itself, ALL makes no difference.
    let is_all = join.null_equality == NullEquality::NullEqualsNull
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)));
    if is_all { counted(&join, keeps_common) } else { Ok(LogicalPlan::Join(join)) }
}

pub(crate) fn counted(join: &Join, keeps_common: bool) -> Result<LogicalPlan> {
    let one = || lit(1_i64);
    let none = || lit(ScalarValue::Int64(None));
    let both = LogicalPlanBuilder::from(side(&join.left, one(), none())?).union(side(&join.right, none(), one())?)?;
    let width = join.left.schema().fields().len();
    let count = |side: &str| FUNCTIONS.aggregate["count"].call(vec![ident(side)]).alias(format!("count {side}"));
    let groups = both.aggregate((0..width).map(|at| ident(name(at))), [count("left"), count("right")])?;
    let (left, right) = (ident("count left"), ident("count right"));
    let copies = match keeps_common {
        true => when(left.clone().lt(right.clone()), left).otherwise(right)?,
        false => left - right,
    };
    let columns = (0..width).map(|at| ident(name(at)));
    let groups = groups.project(columns.chain([copies.alias("copies")]))?.build()?;
    let repeated = LogicalPlan::from(Repeat::new(Arc::new(groups), ident("copies")));
    let as_before = join.left.schema().iter().enumerate();
    let renamed = as_before.map(|(at, (table, field))| ident(name(at)).alias_qualified(table.cloned(), field.name()));
    LogicalPlanBuilder::from(repeated).project(renamed.collect::<Vec<Expr>>())?.build()
}

/// A side's columns under names by position, and what its rows count as.
fn side(plan: &Arc<LogicalPlan>, left: Expr, right: Expr) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter().enumerate();
    let columns = columns.map(|(at, column)| Expr::Column(column).alias(name(at)));
    let marks = [left.alias("left"), right.alias("right")];
    LogicalPlanBuilder::new_from_arc(Arc::clone(plan)).project(columns.chain(marks).collect::<Vec<Expr>>())?.build()
}

fn name(at: usize) -> String {
    format!("column {at}")
}
