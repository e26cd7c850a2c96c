//! Cardinality estimates for any node of a logical plan.
//!
//! An estimate steers plans and nothing else: all memory decisions are made at run time. `column` knows expressions,
//! `selectivity` predicates, `sampled` what they leave of samples, `join` pairs of keys; this file walks the nodes.

mod column;
mod config;
mod join;
mod sampled;
mod selectivity;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Field;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DFSchema, JoinType, ScalarValue};
use datafusion_expr::{Aggregate, Distinct, Expr, Join, LogicalPlan, TableScan, Union};
use parking_lot::Mutex;

use crate::{ColumnStatistics, TableSample, table_of};
pub use column::ColumnEstimate;
use column::of_expr;
pub(crate) use join::{key_domain, pair_domain};
pub(crate) use sampled::SampledKeys;
pub(crate) use selectivity::selectivity;

/// Estimates rows and columns of plan nodes, and remembers them.
#[derive(Default)]
pub struct Estimates {
    known: Mutex<HashMap<usize, Remembered>>,
    /// Filters are tried on samples of their tables.
    uses_samples: bool,
}

/// An estimate by its node's address; the node is kept alive so that its address stays its own.
type Remembered = (Arc<LogicalPlan>, Arc<NodeEstimate>);

/// What is expected of a node's output.
#[derive(Debug, Clone, Default)]
pub struct NodeEstimate {
    /// Rows.
    pub rows: f64,
    /// One per column of the node's schema.
    pub columns: Vec<ColumnEstimate>,
}

impl NodeEstimate {
    /// Average size of a row, in bytes.
    pub fn row_bytes(&self) -> f64 {
        self.columns.iter().map(|column| column.average_bytes).sum()
    }

    /// Expectation of a scalar expression over the node's rows.
    pub(crate) fn of_expr(&self, expr: &Expr, schema: &DFSchema) -> ColumnEstimate {
        of_expr(expr, self, schema)
    }
}

impl Estimates {
    /// An estimator that has seen nothing, and goes by statistics alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// An estimator for a query: it tries filters on samples of their tables if there are joins to be ordered, which is
    /// what errors hurt most.
    pub fn for_query(plan: &LogicalPlan) -> Self {
        let mut scans = 0;
        let counted = plan.apply_with_subqueries(|node| {
            scans += usize::from(matches!(node, LogicalPlan::TableScan(_)));
            Ok(TreeNodeRecursion::Continue)
        });
        Self { uses_samples: counted.is_ok() && scans >= config::SAMPLED_SCANS_MIN, ..Self::default() }
    }

    /// The sample of a scan's table, if it is asked.
    pub(crate) fn sample_of(&self, scan: &TableScan) -> Option<Arc<dyn TableSample>> {
        if self.uses_samples { table_of(&scan.source).ok()?.sample.clone() } else { None }
    }

    /// The estimate of a shared node, remembered.
    pub fn of_shared(&self, plan: &Arc<LogicalPlan>) -> Arc<NodeEstimate> {
        let address = Arc::as_ptr(plan) as usize;
        if let Some((_, estimate)) = self.known.lock().get(&address) {
            return Arc::clone(estimate);
        }
        let estimate = self.of(plan);
        self.known.lock().insert(address, (Arc::clone(plan), Arc::clone(&estimate)));
        estimate
    }

    /// The estimate of a node; its inputs are remembered.
    pub fn of(&self, plan: &LogicalPlan) -> Arc<NodeEstimate> {
        let estimate = self.compute(plan);
        debug_assert_eq!(estimate.columns.len(), plan.schema().fields().len(), "a column estimate for each column");
        Arc::new(estimate)
    }

    fn compute(&self, plan: &LogicalPlan) -> NodeEstimate {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Filter(filter) => {
                let input = self.of_shared(&filter.input);
                let above_aggregate = matches!(filter.input.as_ref(), LogicalPlan::Aggregate(_));
                let range = if above_aggregate { config::HAVING_RANGE } else { config::RANGE };
                selectivity::filter(&input, filter.input.schema(), [&filter.predicate], range)
            }
            LogicalPlan::Projection(projection) => {
                let input = self.of_shared(&projection.input);
                let schema = projection.input.schema();
                let columns = projection.expr.iter().map(|expr| of_expr(expr, &input, schema)).collect();
                NodeEstimate { rows: input.rows, columns }
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(distinct) => {
                let input = self.of_shared(match distinct {
                    Distinct::All(input) => input,
                    Distinct::On(on) => &on.input,
                });
                let rows = selectivity::combinations(input.columns.iter(), input.rows);
                let known = NodeEstimate { rows, columns: input.columns.clone() };
                resized(known, plan.schema())
            }
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::SubqueryAlias(alias) => self.of_shared(&alias.input).as_ref().clone(),
            LogicalPlan::Subquery(subquery) => self.of_shared(&subquery.subquery).as_ref().clone(),
            LogicalPlan::Sort(sort) => limited(&self.of_shared(&sort.input), sort.fetch.map(|rows| rows as f64)),
            LogicalPlan::Limit(limit) => {
                let fetch = match limit.fetch.as_deref() {
                    Some(Expr::Literal(ScalarValue::Int64(Some(rows)), _)) => Some(*rows as f64),
                    _ => None,
                };
                limited(&self.of_shared(&limit.input), fetch)
            }
            LogicalPlan::Values(values) => unknown_columns(plan.schema(), values.values.len() as f64),
            LogicalPlan::EmptyRelation(empty) => unknown_columns(plan.schema(), f64::from(empty.produce_one_row)),
            LogicalPlan::Unnest(unnest) => {
                unknown_columns(plan.schema(), self.of_shared(&unnest.input).rows * config::UNNEST_ROWS)
            }
            LogicalPlan::Window(window) => resized(self.of_shared(&window.input).as_ref().clone(), plan.schema()),
            other => {
                let rows = other.inputs().iter().map(|input| self.of(input).rows).fold(1.0, f64::max);
                unknown_columns(plan.schema(), rows)
            }
        }
    }

    fn scan(&self, scan: &TableScan) -> NodeEstimate {
        let Ok(table) = table_of(&scan.source) else {
            return unknown_columns(&scan.projected_schema, 1.0);
        };
        let rows = table.statistics.rows as f64;
        let of_column = |(statistics, field): (&ColumnStatistics, &Arc<Field>)| {
            ColumnEstimate::of_table(statistics, field.data_type(), rows)
        };
        let columns = table.statistics.columns.iter().zip(table.schema.fields()).map(of_column).collect();
        if scan.filters.is_empty() {
            return projected(rows, columns, scan);
        }
        // Filters may use columns that aren't projected.
        let all = NodeEstimate { rows, columns };
        let Ok(schema) = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &table.schema) else {
            return unknown_columns(&scan.projected_schema, rows);
        };
        let mut filtered = selectivity::filter(&all, &schema, &scan.filters, config::RANGE);
        if let Some(count) = self.sample_of(scan).and_then(|sample| sample.passing(&scan.filters)) {
            filtered.rows = sampled::rows(count, rows, filtered.rows);
        }
        projected(filtered.rows, filtered.columns, scan)
    }

    /// How many groups the rows of `input` have by these keys.
    pub fn groups<'e>(&self, input: &Arc<LogicalPlan>, keys: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let estimate = self.of_shared(input);
        let keys: Vec<ColumnEstimate> = keys.into_iter().map(|expr| of_expr(expr, &estimate, input.schema())).collect();
        groups_of(&keys, &estimate)
    }

    fn aggregate(&self, aggregate: &Aggregate) -> NodeEstimate {
        let input = self.of_shared(&aggregate.input);
        let keys: Vec<ColumnEstimate> =
            aggregate.group_expr.iter().map(|expr| of_expr(expr, &input, aggregate.input.schema())).collect();
        let rows = groups_of(&keys, &input);
        // The groups are a new base: their keys together are unique.
        let columns =
            keys.into_iter().map(|key| ColumnEstimate { base_rows: rows, domain: key.domain.min(rows), ..key });
        let known = NodeEstimate { rows, columns: columns.collect() };
        let columns = aggregate.schema.fields().iter().enumerate().map(|(at, field)| match known.columns.get(at) {
            Some(key) if aggregate.group_expr.len() == known.columns.len() => key.clone(),
            _ => ColumnEstimate::unknown(field.data_type(), rows),
        });
        NodeEstimate { rows, columns: columns.collect() }
    }

    fn union(&self, union: &Union) -> NodeEstimate {
        let inputs: Vec<Arc<NodeEstimate>> = union.inputs.iter().map(|input| self.of_shared(input)).collect();
        let rows = inputs.iter().map(|input| input.rows).sum();
        let columns = (0..union.schema.fields().len()).map(|at| {
            let mut parts = inputs.iter().map(|input| &input.columns[at]);
            let first = parts.next().expect("a union has inputs").clone();
            parts.fold(first, |all, part| ColumnEstimate {
                domain: all.domain.max(part.domain),
                domain_known: false,
                base_rows: all.base_rows + part.base_rows,
                null_fraction: all.null_fraction.max(part.null_fraction),
                bounds: all.bounds.zip(part.bounds).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
                average_bytes: all.average_bytes.max(part.average_bytes),
            })
        });
        NodeEstimate { rows, columns: columns.collect() }
    }

    fn join(&self, join: &Join) -> NodeEstimate {
        let (left, right) = (self.of_shared(&join.left), self.of_shared(&join.right));
        let keys: Vec<(ColumnEstimate, ColumnEstimate)> = join
            .on
            .iter()
            .map(|(l, r)| (of_expr(l, &left, join.left.schema()), of_expr(r, &right, join.right.schema())))
            .collect();
        let pairs: Vec<(&ColumnEstimate, &ColumnEstimate)> = keys.iter().map(|(l, r)| (l, r)).collect();
        let domain = key_domain(&pairs);
        let both = NodeEstimate {
            rows: (left.rows * right.rows / domain).max(1.0),
            columns: left.columns.iter().chain(&right.columns).cloned().collect(),
        };
        let matched = |side: &NodeEstimate, other_keys: f64| {
            let residual = if join.filter.is_some() { config::RESIDUAL } else { 1.0 };
            side.rows * (other_keys / domain).min(1.0) * residual
        };
        let left_matched = || matched(&left, join::keys_among(pairs.iter().map(|(_, key)| *key), right.rows));
        let right_matched = || matched(&right, join::keys_among(pairs.iter().map(|(key, _)| *key), left.rows));
        let unmatched = |side: &NodeEstimate, matched: f64| (side.rows - matched).max(side.rows * config::ANTI_MIN);
        let inner_rows = || match &join.filter {
            Some(filter) => both.rows * inner_selectivity(filter, &both, join),
            None => both.rows,
        };
        let rows = match join.join_type {
            JoinType::Inner => inner_rows(),
            JoinType::Left => inner_rows().max(left.rows),
            JoinType::Right => inner_rows().max(right.rows),
            JoinType::Full => inner_rows().max(left.rows).max(right.rows),
            JoinType::LeftSemi => left_matched(),
            JoinType::RightSemi => right_matched(),
            JoinType::LeftAnti => unmatched(&left, left_matched()),
            JoinType::RightAnti => unmatched(&right, right_matched()),
            JoinType::LeftMark => left.rows,
            JoinType::RightMark => right.rows,
        };
        let columns = match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => both.columns,
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left.columns.clone(),
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right.columns.clone(),
        };
        resized(NodeEstimate { rows: rows.max(1.0), columns }, &join.schema)
    }
}

/// The share of matching pairs that passes a join's residual predicate.
fn inner_selectivity(filter: &Expr, both: &NodeEstimate, join: &Join) -> f64 {
    match join.left.schema().join(join.right.schema()) {
        Ok(schema) => selectivity(filter, both, &schema),
        Err(_) => config::UNKNOWN,
    }
}

/// How many combinations of keys the rows of `input` have.
fn groups_of(keys: &[ColumnEstimate], input: &NodeEstimate) -> f64 {
    match keys {
        [] => 1.0,
        keys => selectivity::combinations(keys.iter(), input.rows).min(input.rows),
    }
}

fn projected(rows: f64, columns: Vec<ColumnEstimate>, scan: &TableScan) -> NodeEstimate {
    let rows = scan.fetch.map_or(rows, |fetch| rows.min(fetch as f64));
    let columns = match &scan.projection {
        Some(projection) => projection.iter().map(|&at| columns[at].clone()).collect(),
        None => columns,
    };
    NodeEstimate { rows, columns }
}

fn limited(input: &NodeEstimate, rows_max: Option<f64>) -> NodeEstimate {
    NodeEstimate { rows: rows_max.map_or(input.rows, |max| input.rows.min(max)), columns: input.columns.clone() }
}

/// The estimate with as many columns as the plan has: those known, then unknown ones.
fn resized(mut known: NodeEstimate, schema: &DFSchema) -> NodeEstimate {
    let fields = schema.fields();
    known.columns.truncate(fields.len());
    for field in &fields[known.columns.len()..] {
        known.columns.push(ColumnEstimate::unknown(field.data_type(), known.rows));
    }
    known
}

fn unknown_columns(schema: &DFSchema, rows: f64) -> NodeEstimate {
    resized(NodeEstimate { rows, columns: Vec::new() }, schema)
}
