//! Predicate pushdown: conditions are evaluated as far down as possible.
//!
//! ```text
//! Filter a.x = 1 AND b.y > 2             Join a.k = b.k
//! └─ Join a.k = b.k              ──▶     ├─ Scan a where x = 1
//!    ├─ Scan a                           └─ Scan b where y > 2
//!    └─ Scan b
//! ```
//!
//! Each conjunct moves down until it can go no further: above the node that makes its columns, above a limit, and above
//! volatile expressions that it depends on. Volatile conditions don't move. A subquery is evaluated in one place only,
//! so conditions with one aren't copied. Aggregates without keys have a row even for empty input, so nothing goes below
//! them.
//!
//! `rejected` is passed down as well: columns in which rows with NULL are dropped further up anyway. An outer join that
//! would add such rows becomes an inner one. `join.rs` handles conditions at joins, `derive.rs` implied conditions.
//!
//! Bound: each node is visited once, where each conjunct that reached it is examined a constant number of times.

mod derive;
mod join;

use std::collections::{HashMap, HashSet};

use godwit_common::Result;
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Node, NodeId, Plan, Project, Scan};
use godwit_types::Value;

use super::simplify::simplify_conjuncts;
use super::{Context, filter, for_each_root, map_subqueries, no_rows, used_columns, with_inputs};
use crate::properties::effects::{is_volatile, weight};
use crate::properties::{Ranges, rejects_nulls};

/// Pushes conditions down.
pub(crate) fn push_filters(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let mut pusher = Pusher { context };
    for_each_root(plan, &mut |plan, root| pusher.push(plan, root, Conditions::default()))
}

/// Conditions from above.
#[derive(Default)]
struct Conditions {
    /// Conjuncts that the rows have to pass.
    all: Vec<Expr>,
    /// Columns in which rows with NULL may be dropped.
    rejected: ColumnSet,
}

/// Maximum number of parts of a condition after substituting a projection's expressions: otherwise a condition that
/// passes hundreds of projections would grow as long as all of them together, and each projection may bring in one.
const PARTS_MAX: usize = 40;

struct Pusher<'c, 'a> {
    context: &'c mut Context<'a>,
}

impl Pusher<'_, '_> {
    /// Returns the rows of a node that pass the conditions.
    fn push(&mut self, plan: &mut Plan, id: NodeId, conditions: Conditions) -> Result<NodeId> {
        (self.context.check)()?;
        let Conditions { all, rejected } = conditions;
        let all = simplify_conjuncts(all, &Ranges::default());
        if all.iter().any(is_never_true) {
            let columns = plan.outputs(id);
            return Ok(no_rows(plan, columns));
        }
        let id = map_subqueries(plan, id, &mut |plan, subquery| self.push(plan, subquery.plan, Conditions::default()))?;
        match plan.node(id) {
            Node::Filter { input, conditions } => {
                let (input, conditions) = (*input, conditions.clone());
                self.push_into_filter(plan, input, conditions, all, rejected)
            }
            Node::Project(project) if !all.is_empty() || !rejected.is_empty() => {
                let project = project.clone();
                self.push_through_project(plan, project, all, &rejected)
            }
            Node::Join(join) => {
                let join = join.clone();
                self.push_into_join(plan, join, Conditions { all, rejected })
            }
            Node::Scan(_) if all.is_empty() => Ok(id),
            Node::Scan(scan) => {
                let scan = scan.clone();
                Ok(self.push_into_scan(plan, id, scan, all))
            }
            Node::Sort { .. } => {
                let mut carried = Some(Conditions { all, rejected });
                with_inputs(plan, id, &mut |plan, input| self.push(plan, input, carried.take().unwrap_or_default()))
            }
            _ => self.push_by_columns(plan, id, all),
        }
    }

    fn push_into_filter(
        &mut self,
        plan: &mut Plan,
        input: NodeId,
        own: Vec<Expr>,
        mut above: Vec<Expr>,
        mut rejected: ColumnSet,
    ) -> Result<NodeId> {
        let (volatile, mut below): (Vec<Expr>, Vec<Expr>) = own.into_iter().partition(|expr| is_volatile(plan, expr));
        if volatile.is_empty() {
            below.append(&mut above);
        } else {
            rejected = ColumnSet::new();
        }
        let input = self.push(plan, input, Conditions { all: below, rejected })?;
        Ok(filter(plan, input, volatile.into_iter().chain(above).collect()))
    }

    fn push_through_project(
        &mut self,
        plan: &mut Plan,
        project: Project,
        conditions: Vec<Expr>,
        rejected: &ColumnSet,
    ) -> Result<NodeId> {
        let values: HashMap<ColumnId, &Expr> = project.columns.iter().map(|(column, expr)| (*column, expr)).collect();
        let pinned: ColumnSet = values
            .iter()
            .filter(|(_, expr)| expr.has_subquery() || expr.is_volatile())
            .map(|(&column, _)| column)
            .collect();
        let sizes: HashMap<ColumnId, usize> = values.iter().map(|(&column, expr)| (column, 1 + weight(expr))).collect();
        let (below, above): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
            let is_free = !is_volatile(plan, condition) && used_columns(plan, [condition]).is_disjoint(&pinned);
            is_free && size_with(condition, &sizes) <= PARTS_MAX
        });
        let below = below
            .into_iter()
            .map(|condition| condition.substitute(&|used| values.get(&used).map(|&expr| expr.clone())));
        let all = below.flat_map(Expr::into_conjuncts).collect();
        let passed = rejected.iter().filter_map(|column| values.get(&column)?.as_column());
        let rejected = passed.collect();
        let input = self.push(plan, project.input, Conditions { all, rejected })?;
        let id = plan.add(Node::Project(Project { input, ..project }));
        Ok(filter(plan, id, above))
    }

    fn push_into_scan(&mut self, plan: &mut Plan, id: NodeId, scan: Scan, conditions: Vec<Expr>) -> NodeId {
        let can_evaluate = scan.relation.evaluates_filters() && scan.rows_enough.is_none();
        let own = self.context.properties.outputs(plan, id);
        let (mut into, above): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
            can_evaluate && !condition.has_subquery() && !condition.is_volatile() && condition.columns().is_subset(&own)
        });
        if into.is_empty() {
            return filter(plan, id, above);
        }
        let known: HashSet<&Expr> = scan.filters.iter().collect();
        into.retain(|condition| !known.contains(condition));
        let filters = simplify_conjuncts(scan.filters.iter().cloned().chain(into).collect(), &Ranges::default());
        if filters.iter().any(is_never_true) {
            let columns = scan.columns.iter().map(|&(column, _)| column).collect();
            return no_rows(plan, columns);
        }
        let id = plan.add(Node::Scan(Scan { filters, ..scan }));
        filter(plan, id, above)
    }

    /// Pushes conditions that use only columns passed through the node into each input; the rest stays above.
    fn push_by_columns(&mut self, plan: &mut Plan, id: NodeId, conditions: Vec<Expr>) -> Result<NodeId> {
        if conditions.is_empty() {
            return with_inputs(plan, id, &mut |plan, input| self.push(plan, input, Conditions::default()));
        }
        let passage = self.passage(plan, id);
        let (below, above): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
            let used = used_columns(plan, [condition]);
            let allowed = !is_volatile(plan, condition) && (passage.constants || !used.is_empty());
            allowed && used.is_subset(&passage.columns) && !(passage.inputs > 1 && condition.has_subquery())
        });
        let mut at = 0;
        let id = with_inputs(plan, id, &mut |plan, input| {
            let own = passage.values.get(at).cloned().unwrap_or_default();
            at += 1;
            let all = match at <= passage.inputs {
                true => below
                    .iter()
                    .map(|condition| condition.clone().substitute(&|used| own.get(&used).cloned()))
                    .collect(),
                false => Vec::new(),
            };
            self.push(plan, input, Conditions { all, rejected: ColumnSet::new() })
        })?;
        Ok(filter(plan, id, above))
    }

    fn passage(&mut self, plan: &Plan, id: NodeId) -> Passage {
        match plan.node(id) {
            Node::Aggregate(aggregate) if !aggregate.keys.is_empty() => {
                let in_all = |at: &usize| aggregate.sets.iter().flatten().all(|set| set.contains(at));
                let is_free = |key: &Expr| !key.is_volatile() && !key.has_subquery();
                let keys = aggregate.keys.iter().enumerate().filter(|(at, (_, key))| in_all(at) && is_free(key));
                let values: HashMap<ColumnId, Expr> = keys.map(|(_, (column, key))| (*column, key.clone())).collect();
                Passage {
                    columns: values.keys().copied().collect(),
                    constants: aggregate.sets.is_none(),
                    inputs: 1,
                    values: vec![values],
                }
            }
            Node::Window(window) => {
                let of_call = |(_, call): &(ColumnId, godwit_plan::WindowCall)| -> ColumnSet {
                    call.partition_by.iter().filter_map(Expr::as_column).collect()
                };
                let mut columns = (*self.context.properties.outputs(plan, window.input)).clone();
                window.calls.iter().for_each(|call| columns.intersect_with(&of_call(call)));
                Passage { columns, constants: true, inputs: 1, values: Vec::new() }
            }
            Node::SetOperation(operation) => {
                let of_input = |(input, columns): &(NodeId, Vec<ColumnId>)| {
                    let nullable = self.context.properties.nullable(plan, *input);
                    let value = |&column| super::column(plan, column, nullable.contains(column));
                    operation.columns.iter().copied().zip(columns.iter().map(value)).collect()
                };
                let values: Vec<HashMap<ColumnId, Expr>> = operation.inputs.iter().map(of_input).collect();
                let columns = operation.columns.iter().copied().collect();
                Passage { columns, constants: true, inputs: values.len(), values }
            }
            Node::Unnest(unnest) => {
                let columns = (*self.context.properties.outputs(plan, unnest.input)).clone();
                Passage { columns, constants: true, inputs: 1, values: Vec::new() }
            }
            _ => Passage::default(),
        }
    }
}

/// How conditions pass through a node.
#[derive(Default)]
struct Passage {
    /// Columns of the node that conditions may use.
    columns: ColumnSet,
    /// Whether conditions without columns pass as well.
    constants: bool,
    /// Number of inputs that the conditions go to.
    inputs: usize,
    /// Values of the columns in each of these inputs; a missing column stands for itself.
    values: Vec<HashMap<ColumnId, Expr>>,
}

/// Returns the number of parts of a condition once columns are replaced by expressions of these sizes; 0 if all of them
/// stay columns.
fn size_with(condition: &Expr, sizes: &HashMap<ColumnId, usize>) -> usize {
    let mut size = 0;
    let mut grows = false;
    condition.for_each(&mut |part| {
        let of_column = part.as_column().and_then(|column| sizes.get(&column).copied()).unwrap_or(1);
        grows |= of_column > 1;
        size += of_column;
    });
    if grows { size } else { 0 }
}

/// Returns true for FALSE and NULL.
fn is_never_true(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Literal(Value::Boolean(false) | Value::Null))
}

/// Returns the columns for which conditions reject NULLs.
fn rejected_columns<'e>(conditions: impl IntoIterator<Item = &'e Expr>) -> ColumnSet {
    let mut rejected = ColumnSet::new();
    for condition in conditions {
        let columns = condition.columns();
        rejected.extend(columns.iter().filter(|&column| rejects_nulls(condition, &std::iter::once(column).collect())));
    }
    rejected
}
