//! Build sides of joins that join order leaves alone: outer, semi and anti joins.
//!
//! In a finished plan the right input of every join is the build side. A join whose left input is clearly the smaller
//! one is mirrored: LEFT becomes RIGHT, LeftSemi becomes RightSemi. Joins that need a fixed side stay: `NOT IN` with
//! its NULLs, and mark joins, whose mark belongs to the probe side.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::{Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder};

use crate::Estimates;

/// The left side must be smaller by this factor to be the build side of a semi, anti or outer join: these must mark
/// which of their build rows matched and emit them in a second pass.
const MIRROR_FACTOR: f64 = 2.0;

/// Mirrors the joins of a plan where the left input should build.
pub(super) fn choose_build_sides(plan: LogicalPlan, estimates: &Estimates) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Join(join) if should_mirror(&join, estimates) => mirror(join).map(Transformed::yes),
        other => Ok(Transformed::no(other)),
    })
    .map(|transformed| transformed.data)
}

fn should_mirror(join: &Join, estimates: &Estimates) -> bool {
    let can_mirror = match join.join_type {
        JoinType::Left | JoinType::Right | JoinType::Full => true,
        JoinType::LeftSemi | JoinType::RightSemi | JoinType::LeftAnti | JoinType::RightAnti => !join.null_aware,
        JoinType::Inner | JoinType::LeftMark | JoinType::RightMark => false,
    };
    if !can_mirror {
        return false;
    }
    let (left, right) = (estimates.of_shared(&join.left), estimates.of_shared(&join.right));
    left.rows * left.row_bytes().max(1.0) * MIRROR_FACTOR < right.rows * right.row_bytes().max(1.0)
}

fn mirror(join: Join) -> Result<LogicalPlan> {
    let columns = join.schema.columns();
    let mirrored = Join::try_new(
        join.right,
        join.left,
        join.on.into_iter().map(|(left, right)| (right, left)).collect(),
        join.filter,
        join.join_type.swap(),
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    let is_same = mirrored.schema.columns() == columns;
    let plan = LogicalPlan::Join(mirrored);
    if is_same {
        return Ok(plan);
    }
    LogicalPlanBuilder::new_from_arc(Arc::new(plan)).project(columns.into_iter().map(Expr::Column))?.build()
}
