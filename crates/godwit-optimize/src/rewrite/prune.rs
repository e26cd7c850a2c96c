//! Pruning of columns, joins and projections.
//!
//! The needed columns are passed down: those of the result, and at each node those that its expressions use. Scans read
//! no others, projections, aggregates and windows compute no others, and unions carry no others. On the way,
//!
//! - projections that do nothing are removed, and stacked ones become one, unless that would compute something
//!   twice;
//! - outer joins are removed if they add no needed column, and no row because the right side has at most one match for
//!   each left row;
//! - aggregates of which only the one row is needed are replaced by that row.
//!
//! Nodes may have more columns than are needed, such as a filter with those of its condition: nothing relies on a node
//! having no others.
//!
//! Bound: one visit to each node; projections are merged while their expressions don't grow.

use std::borrow::Cow;
use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, Project, SetOperation,
    SetOperator, SharedId, SubqueryKind, Values,
};

use super::{Context, map_subqueries, used_columns, used_shared_plans, with_inputs};
use crate::properties::effects::{is_volatile, weight};

/// Removes everything that isn't needed.
pub(crate) fn prune(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let Some(root) = plan.root else { return Ok(()) };
    let needed = plan.output.iter().map(|output| output.column).collect();
    let mut pruner = Pruner { context, of_shared: HashMap::new() };
    plan.root = Some(pruner.prune(plan, root, &needed)?);
    let used = used_shared_plans(plan);
    plan.empty_unused_shared_plans();
    // Users come before the plans that they use, so that all needs are known.
    for shared in used.into_iter().rev() {
        let needed = pruner.of_shared.remove(&shared).unwrap_or_default();
        let root = pruner.prune(plan, plan.shared(shared).root, &needed)?;
        plan.shared_mut(shared).root = root;
    }
    Ok(())
}

struct Pruner<'c, 'a> {
    context: &'c mut Context<'a>,
    of_shared: HashMap<SharedId, ColumnSet>,
}

impl Pruner<'_, '_> {
    /// Returns the node with the needed columns, and maybe others.
    fn prune(&mut self, plan: &mut Plan, id: NodeId, needed: &ColumnSet) -> Result<NodeId> {
        (self.context.check)()?;
        let id = self.narrow(plan, id, needed)?;
        let id = map_subqueries(plan, id, &mut |plan, subquery| {
            let needed = match subquery.kind {
                SubqueryKind::Exists => ColumnSet::new(),
                _ => subquery.columns.iter().copied().collect(),
            };
            self.prune(plan, subquery.plan, &needed)
        })?;
        let mut exprs = Vec::new();
        plan.node(id).for_each_expr(&mut |expr| exprs.push(expr));
        let used = used_columns(plan, exprs);
        match plan.node(id) {
            Node::Use(used) => {
                self.of_shared.entry(used.shared).or_default().extend(used.columns.iter().map(|&(_, inner)| inner));
                Ok(id)
            }
            &Node::Project(Project { input, .. }) => {
                let pruned = self.prune(plan, input, &used)?;
                Ok(merge(plan, id, pruned))
            }
            Node::SetOperation(operation) => {
                let needed = operation.inputs.iter().map(|(_, columns)| columns.iter().copied().collect());
                self.prune_inputs(plan, id, needed.collect())
            }
            Node::Recursive(recursive) => {
                let needed = [&recursive.base, &recursive.step].map(|(_, columns)| columns.iter().copied().collect());
                self.prune_inputs(plan, id, needed.into())
            }
            Node::Join(join) => {
                if let Some(kept) = self.without_join(plan, join, needed) {
                    return self.prune(plan, kept, needed);
                }
                let needed = needed.union(&used);
                with_inputs(plan, id, &mut |plan, input| {
                    let own = self.context.properties.outputs(plan, input).intersection(&needed);
                    self.prune(plan, input, &own)
                })
            }
            Node::Aggregate(_) => with_inputs(plan, id, &mut |plan, input| self.prune(plan, input, &used)),
            _ => {
                let needed = needed.union(&used);
                with_inputs(plan, id, &mut |plan, input| {
                    let own = self.context.properties.outputs(plan, input).intersection(&needed);
                    self.prune(plan, input, &own)
                })
            }
        }
    }

    /// Returns the node over inputs pruned to these columns, one set per input.
    fn prune_inputs(&mut self, plan: &mut Plan, id: NodeId, needed: Vec<ColumnSet>) -> Result<NodeId> {
        let mut needed = needed.into_iter();
        with_inputs(plan, id, &mut |plan, input| self.prune(plan, input, &needed.next().unwrap_or_default()))
    }

    /// Returns the node without the unneeded columns that it makes.
    fn narrow(&mut self, plan: &mut Plan, id: NodeId, needed: &ColumnSet) -> Result<NodeId> {
        let is_needed = |column: ColumnId| needed.contains(column);
        let is_whole = match plan.node(id) {
            Node::Project(project) => project.columns.iter().all(|&(column, _)| is_needed(column)),
            Node::Aggregate(Aggregate { aggregates, .. }) if aggregates.is_empty() => false,
            Node::Window(window) if window.calls.is_empty() => false,
            node => node.made_columns().into_iter().all(is_needed),
        };
        if is_whole {
            return Ok(id);
        }
        let node = match plan.node(id).clone() {
            Node::Scan(mut scan) => {
                let used = used_columns(plan, &scan.filters);
                scan.columns.retain(|&(column, _)| is_needed(column) || used.contains(column));
                Node::Scan(scan)
            }
            Node::Values(values) => Node::Values(narrow_values(values, &is_needed)),
            Node::Project(mut project) => {
                project.columns.retain(|&(column, _)| is_needed(column));
                Node::Project(project)
            }
            Node::Aggregate(mut aggregate) => {
                aggregate.aggregates.retain(|&(column, _)| is_needed(column));
                aggregate.grouping_id = aggregate.grouping_id.filter(|&column| is_needed(column));
                let Aggregate { keys, sets, aggregates, .. } = &aggregate;
                if keys.is_empty() && sets.is_none() && aggregates.is_empty() {
                    Node::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] })
                } else {
                    Node::Aggregate(aggregate)
                }
            }
            Node::Window(mut window) => {
                window.calls.retain(|&(column, _)| is_needed(column));
                if window.calls.is_empty() {
                    return self.narrow(plan, window.input, needed);
                }
                Node::Window(window)
            }
            Node::SetOperation(operation) if operation.all && operation.operator == SetOperator::Union => {
                Node::SetOperation(narrow_union(operation, &is_needed))
            }
            Node::Use(mut used) => {
                used.columns.retain(|&(column, _)| is_needed(column));
                Node::Use(used)
            }
            _ => return Ok(id),
        };
        Ok(plan.add(node))
    }

    /// Returns the side that a join leaves unchanged, if the other one contributes nothing that is needed above.
    fn without_join(&mut self, plan: &Plan, join: &Join, needed: &ColumnSet) -> Option<NodeId> {
        if join.conditions.iter().any(|condition| is_volatile(plan, condition)) {
            return None;
        }
        let properties = &mut self.context.properties;
        match &join.kind {
            JoinKind::Left => {
                let gives = properties.outputs(plan, join.right);
                (needed.is_disjoint(&gives) && properties.right_is_unique(plan, join)).then_some(join.left)
            }
            JoinKind::Right => {
                let gives = properties.outputs(plan, join.left);
                let swapped = Join { left: join.right, right: join.left, ..join.clone() };
                (needed.is_disjoint(&gives) && properties.right_is_unique(plan, &swapped)).then_some(join.right)
            }
            JoinKind::AsOf { outer: true, .. } => {
                needed.is_disjoint(&properties.outputs(plan, join.right)).then_some(join.left)
            }
            JoinKind::Mark { mark, .. } => (!needed.contains(*mark)).then_some(join.left),
            _ => None,
        }
    }
}

fn narrow_values(values: Values, is_needed: &impl Fn(ColumnId) -> bool) -> Values {
    let kept: Vec<bool> = values.columns.iter().map(|&column| is_needed(column)).collect();
    let of_kept =
        |row: Vec<Expr>| row.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(expr, _)| expr).collect();
    let columns = values.columns.iter().copied().filter(|&column| is_needed(column)).collect();
    Values { columns, rows: values.rows.into_iter().map(of_kept).collect() }
}

fn narrow_union(operation: SetOperation, is_needed: &impl Fn(ColumnId) -> bool) -> SetOperation {
    let kept: Vec<bool> = operation.columns.iter().map(|&column| is_needed(column)).collect();
    let of_kept = |columns: Vec<ColumnId>| -> Vec<ColumnId> {
        columns.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(column, _)| column).collect()
    };
    let inputs = operation.inputs.into_iter().map(|(input, columns)| (input, of_kept(columns))).collect();
    SetOperation { columns: of_kept(operation.columns), inputs, ..operation }
}

/// Puts a projection over another input, merged with the projection below if there is one; returns the input itself if
/// it does nothing.
fn merge(plan: &mut Plan, id: NodeId, mut input: NodeId) -> NodeId {
    let Node::Project(own) = plan.node(id) else { unreachable!("it is called for projections") };
    let mut above = Cow::Borrowed(own);
    while let Node::Project(below) = plan.node(input) {
        match merged(&above, below) {
            Some(both) => {
                input = both.input;
                above = Cow::Owned(both);
            }
            None => break,
        }
    }
    if above.columns.iter().all(|(column, expr)| expr.as_column() == Some(*column)) {
        return input;
    }
    if matches!(above, Cow::Borrowed(_)) && own.input == input {
        return id;
    }
    let project = Project { input, ..above.into_owned() };
    plan.add(Node::Project(project))
}

/// Maximum number of operations per column of a merged projection: expressions don't grow deeper than that.
const OPERATIONS_MAX: usize = 100;

/// Merges two projections, unless something would be computed twice or at another time.
fn merged(above: &Project, below: &Project) -> Option<Project> {
    let values: HashMap<ColumnId, &Expr> = below.columns.iter().map(|(column, expr)| (*column, expr)).collect();
    let mut uses: HashMap<ColumnId, usize> = HashMap::new();
    let mut has_hidden_uses = false;
    for (_, expr) in &above.columns {
        expr.for_each(&mut |part| match &part.kind {
            ExprKind::Column(column) => *uses.entry(*column).or_default() += 1,
            ExprKind::Subquery(_) | ExprKind::Lambda(..) => has_hidden_uses = true,
            _ => {}
        });
    }
    let may_move = |(column, expr): (&ColumnId, &&Expr)| match uses.get(column) {
        None => !expr.is_volatile(),
        Some(1) => !expr.is_volatile() && !has_hidden_uses,
        Some(_) => weight(expr) == 0,
    };
    let weight_of_all = |project: &Project| project.columns.iter().map(|(_, expr)| weight(expr)).sum::<usize>();
    let (own, inner) = (weight_of_all(above), weight_of_all(below));
    if own > 0 && inner > 0 && own + inner > OPERATIONS_MAX * above.columns.len() {
        return None;
    }
    if has_hidden_uses && !values.values().all(|expr| weight(expr) == 0) || !values.iter().all(may_move) {
        return None;
    }
    let substituted = |expr: &Expr| expr.clone().substitute(&|used| values.get(&used).map(|&value| value.clone()));
    let columns = above.columns.iter().map(|(column, expr)| (*column, substituted(expr))).collect();
    Some(Project { input: below.input, columns })
}
