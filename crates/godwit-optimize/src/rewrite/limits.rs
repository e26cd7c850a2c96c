//! Pushes limits down, and drops orders that don't matter.
//!
//! - A limit goes below projections, so that nothing is computed for rows that it drops; also below a sort that doesn't
//!   depend on the projected values, since the executor makes one operator of a limit on a sort.
//! - If only some rows of a union, or of a join that keeps all left rows, are needed, the same number suffices from
//!   each input, or from the left side. A scan is told how many rows are enough.
//! - A sort below an operator that ignores the order of its input is dropped.
//!
//! Bound: one visit to each node.

use std::collections::HashSet;

use godwit_common::Result;
use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Expr, JoinKind, Limit, Node, NodeId, Plan, Project, Scan, SetOperator, SortKey,
    Window,
};
use godwit_types::Value;

use super::{Context, map_subqueries, no_rows, used_columns, used_shared_plans, with_inputs};

/// Pushes limits down and drops sorts.
pub(crate) fn push_limits(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let mut pusher = Pusher { context };
    let seen = Wanted { rows: None, order: true };
    for shared in used_shared_plans(plan) {
        let root = pusher.push(plan, plan.shared(shared).root, seen)?;
        plan.shared_mut(shared).root = root;
    }
    if let Some(root) = plan.root {
        plan.root = Some(pusher.push(plan, root, seen)?);
    }
    Ok(())
}

/// Requirements on a node's rows.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Number of rows that suffice, whichever they are.
    rows: Option<u64>,
    /// Whether their order matters.
    order: bool,
}

/// All rows, in any order.
const ALL: Wanted = Wanted { rows: None, order: false };

struct Pusher<'c, 'a> {
    context: &'c mut Context<'a>,
}

impl Pusher<'_, '_> {
    fn push(&mut self, plan: &mut Plan, id: NodeId, wanted: Wanted) -> Result<NodeId> {
        (self.context.check)()?;
        let id = map_subqueries(plan, id, &mut |plan, subquery| self.push(plan, subquery.plan, ALL))?;
        match plan.node(id) {
            Node::Limit(limit) => {
                let limit = limit.clone();
                self.push_limit(plan, id, limit, wanted)
            }
            Node::Sort { input, keys } => {
                let (input, keys) = (*input, keys.clone());
                self.push_sort(plan, input, keys, wanted)
            }
            Node::Scan(scan) => {
                let rows = [wanted.rows, scan.rows_enough].into_iter().flatten().min();
                if rows == scan.rows_enough {
                    return Ok(id);
                }
                let scan = Scan { rows_enough: rows, ..scan.clone() };
                Ok(plan.add(Node::Scan(scan)))
            }
            Node::SetOperation(operation) => {
                let is_union = operation.operator == SetOperator::Union && operation.all;
                let rows = wanted.rows.filter(|_| is_union);
                let wanted = Wanted { rows, order: false };
                with_inputs(plan, id, &mut |plan, input| self.push_limited(plan, input, wanted))
            }
            Node::Join(join) => match join.kind {
                JoinKind::Left => {
                    let (left, right) = (join.left, join.right);
                    let left = self.push_limited(plan, left, Wanted { order: false, ..wanted })?;
                    let right = self.push(plan, right, ALL)?;
                    let mut sides = [left, right].into_iter();
                    with_inputs(plan, id, &mut |_, old| Ok(sides.next().unwrap_or(old)))
                }
                JoinKind::Positional => self.push_all(plan, id, Wanted { order: true, ..wanted }),
                JoinKind::Mark { .. } => {
                    let mut next = [Wanted { order: false, ..wanted }, ALL].into_iter();
                    with_inputs(plan, id, &mut |plan, input| self.push(plan, input, next.next().unwrap_or(ALL)))
                }
                _ => self.push_all(plan, id, ALL),
            },
            Node::Project(_) => self.push_all(plan, id, wanted),
            Node::Filter { .. } | Node::Unnest(_) => self.push_all(plan, id, Wanted { rows: None, ..wanted }),
            Node::Window(window) => {
                let order = wanted.order || has_unordered_call(window);
                self.push_all(plan, id, Wanted { rows: None, order })
            }
            Node::Aggregate(aggregate) => {
                let order = sees_order(aggregate);
                self.push_all(plan, id, Wanted { rows: None, order })
            }
            Node::Sample(_) => self.push_all(plan, id, Wanted { rows: None, order: true }),
            Node::Recursive(_) | Node::Values(_) | Node::WorkingRows { .. } | Node::Use(_) => {
                self.push_all(plan, id, ALL)
            }
        }
    }

    fn push_all(&mut self, plan: &mut Plan, id: NodeId, wanted: Wanted) -> Result<NodeId> {
        with_inputs(plan, id, &mut |plan, input| self.push(plan, input, wanted))
    }

    fn push_limit(&mut self, plan: &mut Plan, id: NodeId, limit: Limit, wanted: Wanted) -> Result<NodeId> {
        if let Some(lowered) = self.lower(plan, &limit) {
            return self.push(plan, lowered, wanted);
        }
        let rows = rows_of(&limit);
        if rows == Some((0, 0)) || matches!(rows, Some((_, 0))) {
            let columns = plan.outputs(id);
            return Ok(no_rows(plan, columns));
        }
        let enough = rows.and_then(|(offset, count)| {
            let count = wanted.rows.map_or(count, |wanted| wanted.min(count));
            offset.checked_add(count)
        });
        self.push_all(plan, id, Wanted { rows: enough, order: true })
    }

    /// Swaps a limit with the projection below it.
    fn lower(&mut self, plan: &mut Plan, limit: &Limit) -> Option<NodeId> {
        let project = match plan.node(limit.input).clone() {
            Node::Project(project) if !limit.with_ties => project,
            Node::Sort { input, keys } => {
                let Node::Project(project) = plan.node(input).clone() else { return None };
                let passed: ColumnSet = passed_columns(&project);
                let used = used_columns(plan, keys.iter().map(|key| &key.expr));
                if !used.is_subset(&passed) {
                    return None;
                }
                let input = plan.add(Node::Sort { input: project.input, keys });
                Project { input, ..project }
            }
            _ => return None,
        };
        let is_volatile = project.columns.iter().any(|(_, expr)| expr.is_volatile());
        if is_volatile {
            return None;
        }
        let input = plan.add(Node::Limit(Limit { input: project.input, ..limit.clone() }));
        Some(plan.add(Node::Project(Project { input, ..project })))
    }

    fn push_sort(&mut self, plan: &mut Plan, input: NodeId, keys: Vec<SortKey>, wanted: Wanted) -> Result<NodeId> {
        if !wanted.order {
            return self.push(plan, input, wanted);
        }
        let mut seen = HashSet::new();
        let mut kept: Vec<SortKey> = Vec::with_capacity(keys.len());
        for key in &keys {
            if key.expr.as_literal().is_none() && (key.expr.is_volatile() || seen.insert(&key.expr)) {
                kept.push(key.clone());
            }
        }
        if kept.is_empty() {
            // All rows are equal: a limit WITH TIES needs a sort for that.
            kept.extend(keys.into_iter().take(1));
        }
        let input = self.push(plan, input, ALL)?;
        Ok(plan.add(Node::Sort { input, keys: kept }))
    }

    /// Pushes requirements into an input, and limits the input itself if some rows suffice.
    fn push_limited(&mut self, plan: &mut Plan, input: NodeId, wanted: Wanted) -> Result<NodeId> {
        let Some(rows) = wanted.rows.and_then(|rows| i64::try_from(rows).ok()) else {
            return self.push(plan, input, wanted);
        };
        let input = self.push(plan, input, wanted)?;
        if matches!(plan.node(input), Node::Limit(_) | Node::Values(_)) {
            return Ok(input);
        }
        let count = Some(Expr::bigint(rows));
        Ok(plan.add(Node::Limit(Limit { input, offset: None, count, with_ties: false, percent: false })))
    }
}

/// Returns (offset, count), if both are known.
fn rows_of(limit: &Limit) -> Option<(u64, u64)> {
    if limit.with_ties || limit.percent {
        return None;
    }
    let number = |expr: &Expr| match expr.as_literal()? {
        Value::Integer(value) => u64::try_from(*value).ok(),
        _ => None,
    };
    let offset = match &limit.offset {
        None => 0,
        Some(offset) => number(offset)?,
    };
    Some((offset, number(limit.count.as_ref()?)?))
}

fn passed_columns(project: &Project) -> ColumnSet {
    let passed = project.columns.iter().filter(|(column, expr)| expr.as_column() == Some(*column));
    passed.map(|&(column, _): &(ColumnId, Expr)| column).collect()
}

/// Returns true if a call depends on an order of rows that its own ORDER BY doesn't determine.
fn has_unordered_call(window: &Window) -> bool {
    window.calls.iter().any(|(_, call)| call.order_by.is_empty())
}

fn sees_order(aggregate: &Aggregate) -> bool {
    aggregate.aggregates.iter().any(|(_, call)| call.function.depends_on_order && call.order_by.is_empty())
}
