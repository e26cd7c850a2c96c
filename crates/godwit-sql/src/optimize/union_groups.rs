//! UNION ALL of groups of the same rows by fewer and fewer keys: written-out ROLLUPs become grouping sets.
//!
//! ```text
//! Union                                             Projection  CASE grouping id WHEN 0 THEN … END
//! ├─ Projection ─ Aggregate by a, b ─ rows          └─ Aggregate by GROUPING SETS ((a, b), (a), ())
//! ├─ Projection ─ Aggregate by a    ─ rows    ──▶      └─ rows
//! └─ Projection ─ Aggregate         ─ rows
//! ```
//!
//! The rows, often a common table expression, are computed once instead of once per branch, and the coarser groups are
//! made of the finer ones. Only where one branch has the keys of all, as other sets would be filled with the rows anyway,
//! and without aggregates of distinct or ordered values, for which that holds, too.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, Result, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, GroupingSet};
use datafusion_expr::utils::grouping_set_to_exprlist;
use datafusion_expr::{Aggregate, Case, Expr, LogicalPlan, Projection, Union, lit};

use crate::same_plan::gives_same_rows;

/// Most keys of the finest branch: a bit each in the number of a set.
const KEYS_MAX: usize = 32;

/// The plan with grouping sets in place of such unions, in subqueries too.
pub(super) fn group_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    let grouped = plan.transform_up_with_subqueries(|node| {
        Ok(match node {
            LogicalPlan::Union(union) => match grouping_sets(&union)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(LogicalPlan::Union(union)),
            },
            other => Transformed::no(other),
        })
    })?;
    Ok(grouped.data)
}

/// A branch of a union: columns over an aggregation.
struct Branch<'p> {
    columns: Vec<Expr>,
    aggregate: &'p Aggregate,
}

impl<'p> Branch<'p> {
    /// The branch if its groups could be those of a grouping set.
    fn of(plan: &'p LogicalPlan) -> Option<Self> {
        let (columns, input) = match plan {
            LogicalPlan::Projection(projection) => (projection.expr.clone(), projection.input.as_ref()),
            plan => (plan.schema().columns().into_iter().map(Expr::Column).collect(), plan),
        };
        let LogicalPlan::Aggregate(aggregate) = input else { return None };
        let is_plain = |expr: &Expr| !expr.is_volatile() && !has_subquery(expr);
        let is_group = |expr: &Expr| is_plain(expr) && !matches!(expr, Expr::GroupingSet(_));
        let fits = aggregate.group_expr.iter().all(is_group)
            && aggregate.aggr_expr.iter().all(|expr| is_plain(expr) && can_be_added_up(expr))
            && columns.iter().all(is_plain);
        fits.then_some(Self { columns, aggregate })
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |expr: &Expr| {
        matches!(expr, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_))
            || matches!(expr, Expr::OuterReferenceColumn(..))
    };
    expr.exists(|expr| Ok(is_subquery(expr))).unwrap_or(true)
}

fn can_be_added_up(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => can_be_added_up(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => !params.distinct && params.order_by.is_empty(),
        _ => false,
    }
}

/// The branches of a union as one aggregation.
fn grouping_sets(union: &Union) -> Result<Option<LogicalPlan>> {
    let Some(branches) = union.inputs.iter().map(|input| Branch::of(input)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let Some(finest) = branches.iter().max_by_key(|branch| branch.aggregate.group_expr.len()) else { return Ok(None) };
    let keys = &finest.aggregate.group_expr;
    let is_coarser = |branch: &Branch| branch.aggregate.group_expr.iter().all(|key| keys.contains(key));
    let is_same = |branch: &Branch| gives_same_rows(&branch.aggregate.input, &finest.aggregate.input);
    if keys.is_empty()
        || keys.len() > KEYS_MAX
        || branches.len() < 2
        || !branches.iter().all(|branch| is_coarser(branch) && is_same(branch))
    {
        return Ok(None);
    }
    let mut aggregates: Vec<Expr> = Vec::new();
    for aggregate in branches.iter().flat_map(|branch| &branch.aggregate.aggr_expr) {
        if !aggregates.contains(aggregate) {
            aggregates.push(aggregate.clone());
        }
    }
    let sets = branches.iter().map(|branch| branch.aggregate.group_expr.clone()).collect();
    let groups = vec![Expr::GroupingSet(GroupingSet::GroupingSets(sets))];
    let ids = grouping_ids(&branches, &grouping_set_to_exprlist(&groups)?);
    let aggregate = Aggregate::try_new(Arc::clone(&finest.aggregate.input), groups, aggregates)?;
    let columns = (0..union.schema.fields().len()).map(|at| {
        let (table, field) = union.schema.qualified_field(at);
        let values = branches.iter().map(|branch| branch.columns[at].clone().unalias_nested().data);
        let column = by_grouping_id(&ids, values.collect(), &aggregate)?;
        Ok(column.alias_qualified(table.cloned(), field.name()))
    });
    let columns = columns.collect::<Result<Vec<Expr>>>()?;
    let projection = Projection::try_new(columns, Arc::new(LogicalPlan::Aggregate(aggregate)))?;
    // Other names or types would be those of other columns to who is above.
    let is_as_before = projection
        .schema
        .fields()
        .iter()
        .zip(union.schema.fields())
        .all(|(now, before)| now.data_type() == before.data_type() && now.name() == before.name());
    Ok(is_as_before.then_some(LogicalPlan::Projection(projection)))
}

/// The number of each branch's set: a bit for each key that it lacks, the last key lowest, and above them which occurrence
/// of the set it is.
fn grouping_ids(branches: &[Branch], keys: &[&Expr]) -> Vec<u64> {
    let mut ids: Vec<u64> = Vec::new();
    let mask_of_keys = (1u64 << keys.len()) - 1;
    for branch in branches {
        let lacks = |key: &Expr| !branch.aggregate.group_expr.contains(key);
        let mask = keys.iter().fold(0, |mask, key| mask << 1 | u64::from(lacks(key)));
        let ordinal = ids.iter().filter(|&&id| id & mask_of_keys == mask).count() as u64;
        ids.push(mask | ordinal << keys.len());
    }
    ids
}

/// In the groups of each set the value of its branch.
fn by_grouping_id(ids: &[u64], mut values: Vec<Expr>, aggregate: &Aggregate) -> Result<Expr> {
    let last = values.pop().expect("a branch");
    if values.iter().all(|value| *value == last) {
        return Ok(last);
    }
    let column = Column::from_name(Aggregate::INTERNAL_GROUPING_ID);
    let id_type = aggregate.schema.field_with_unqualified_name(&column.name)?.data_type().clone();
    let number = |id: u64| -> Result<Expr> { Ok(lit(ScalarValue::UInt64(Some(id)).cast_to(&id_type)?)) };
    let cases = ids.iter().zip(values);
    let cases = cases.map(|(&id, value)| Ok((Box::new(number(id)?), Box::new(value)))).collect::<Result<Vec<_>>>()?;
    Ok(Expr::Case(Case::new(Some(Box::new(Expr::Column(column))), cases, Some(Box::new(last)))))
}
