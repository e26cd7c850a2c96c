//! Rewrites of a bound plan, before its types are settled: what SQL means and the planner crates plan otherwise.
//!
//! ```text
//! set_operations   INTERSECT ALL, EXCEPT ALL     counts of equal rows on both sides, and copies
//! using_columns    outer joins with USING        one value of each joined column
//! float_columns    VALUES, UNION               DOUBLE where floats and decimals meet
//! subquery_values  IN and EXISTS as values      mark joins
//! distinct_on      DISTINCT ON                   the first value of each column per group
//! ```

mod distinct_on;
mod float_columns;
mod set_operations;
mod subquery_values;
mod using_columns;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::LogicalPlan;

pub(crate) use set_operations::counted;
use subquery_values::SubqueryValues;
pub(crate) use using_columns::{OwnSide, mark_own_sides};

/// The plan with the meaning that SQL gives it; `has_joined_wildcard` if the text has `*` over a join with USING.
pub(crate) fn complete(plan: LogicalPlan, has_joined_wildcard: bool) -> Result<LogicalPlan> {
    let plan = if has_joined_wildcard { using_columns::order_wildcards(plan)? } else { plan };
    rewrite(plan, &SubqueryValues::default())
}

/// A node with all below it, its subqueries too.
fn rewrite(plan: LogicalPlan, values: &SubqueryValues) -> Result<LogicalPlan> {
    let below = |plan: LogicalPlan| rewrite(plan, values).map(Transformed::yes);
    let plan = plan.map_subqueries(below)?.data;
    let plan = plan.map_children(below)?;
    // What the rewrites below change of a child's types and names of hidden columns shows in its parents.
    let plan = if plan.transformed { plan.data.recompute_schema()? } else { plan.data };
    let plan = float_columns::unify(plan)?;
    let plan = using_columns::merge(plan)?;
    let plan = set_operations::count_rows(plan)?;
    let plan = distinct_on::group(plan)?;
    values.rewrite(plan)
}
