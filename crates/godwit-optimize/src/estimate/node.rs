//! Estimates of each operator from those of its inputs.

use std::rc::Rc;

use godwit_plan::{
    Aggregate, ColumnId, Expr, Limit, Node, NodeId, Plan, Recursive, SampleSize, Scan, SetOperation, SetOperator,
};
use godwit_types::Value;

use super::column::{Instance, is_discrete};
use super::join::{Matches, join, unmatched_share};
use super::sampled::KnownKeys;
use super::selectivity::{Evidence, combinations, filter};
use super::{ColumnEstimate, Domain, Estimates, NodeEstimate, config, sampled};

impl Estimates {
    /// Estimates a node, given the estimates of its inputs.
    pub(super) fn compute(&self, plan: &Plan, id: NodeId) -> NodeEstimate {
        let input = |id: NodeId| self.remembered(id).expect("inputs come first");
        match plan.node(id) {
            Node::Values(values) => unknown(plan, &values.columns, values.rows.len() as f64),
            Node::Scan(scan) => self.scan(plan, scan),
            Node::Project(project) => {
                let below = input(project.input);
                let columns = project.columns.iter().map(|(column, expr)| (*column, below.of_expr(expr)));
                NodeEstimate::new(below.rows, columns)
            }
            Node::Filter { input: below, conditions } => {
                let range = if is_aggregation(plan, *below) { config::HAVING_RANGE } else { config::RANGE };
                filter(&input(*below), conditions, range, Evidence::Files)
            }
            Node::Join(node) => {
                let mut estimate = join(node, &input(node.left), &input(node.right));
                if let godwit_plan::JoinKind::Mark { mark, .. } = node.kind {
                    estimate.insert(mark, unknown_column(plan, mark, estimate.rows));
                }
                estimate
            }
            Node::Aggregate(aggregate) => group(plan, aggregate, &input(aggregate.input)),
            Node::Window(window) => {
                extended(plan, &input(window.input), window.calls.iter().map(|&(column, _)| column), 1.0)
            }
            Node::Sort { input: below, .. } => input(*below).as_ref().clone(),
            Node::Limit(limit) => limited(limit, &input(limit.input)),
            Node::SetOperation(operation) => set_operation(operation, input),
            Node::Unnest(unnest) => {
                let made = unnest.lists.iter().map(|list| list.column).chain(unnest.ordinality);
                extended(plan, &input(unnest.input), made, config::UNNEST_ROWS)
            }
            Node::Recursive(recursive) => recursion(recursive, &input(recursive.base.0), &input(recursive.step.0)),
            Node::WorkingRows { of, columns } => match self.recursions.get(of).map(|&base| input(base)) {
                // As many as the initial rows, with fresh values.
                Some(base) => unknown(plan, columns, base.rows),
                None => unknown(plan, columns, 1.0),
            },
            Node::Use(used) => {
                let mut rows = renamed(&input(plan.shared(used.shared).root), used.columns.iter().copied());
                // Other instances of the tables below than those of other uses.
                for (_, column) in rows.columns.iter_mut().filter(|(_, column)| column.domain.instance().is_some()) {
                    let column = Rc::make_mut(column);
                    column.domain = column.domain.part(1.0, f64::INFINITY);
                }
                rows
            }
            Node::Sample(sample) => {
                let below = input(sample.input);
                let rows = match sample.size {
                    SampleSize::Rows(rows) => below.rows.min(rows as f64),
                    SampleSize::Percent(percent) => below.rows * percent / 100.0,
                };
                NodeEstimate { rows, columns: below.columns.clone() }
            }
        }
    }

    fn scan(&self, plan: &Plan, scan: &Scan) -> NodeEstimate {
        let rows = scan.relation.statistics().rows as f64;
        let columns = scan.columns.iter().map(|&(column, position)| {
            let instance = Instance { relation: scan.relation.clone(), scan: scan.columns[0].0 };
            let mut estimate = ColumnEstimate::of_table(&instance, position, &plan.column(column).ty);
            if !self.used.contains(column) {
                estimate.average_bytes = 0.0;
            }
            (column, Rc::new(estimate))
        });
        let mut estimate = NodeEstimate::new(rows, columns);
        if !scan.filters.is_empty() {
            let count = self.sample_of(scan).and_then(|sample| sample.passing(&scan.filters, &scan.columns));
            let evidence = match count {
                Some(count) if !sampled::is_unseen(count, rows) => Evidence::Statistics,
                _ => Evidence::Files,
            };
            estimate = filter(&estimate, &scan.filters, config::RANGE, evidence);
            estimate.rows = count.map_or(estimate.rows, |count| sampled::rows(count, rows, estimate.rows));
            if let Some(keys_of) = count.and_then(|count| KnownKeys::of(scan, count)) {
                for &(column, position) in &scan.columns {
                    if let Some(key) = estimate.column_mut(column).filter(|_| is_discrete(&plan.column(column).ty)) {
                        key.keys = Some(keys_of(position));
                    }
                }
            }
        }
        estimate.rows = scan.rows_enough.map_or(estimate.rows, |enough| estimate.rows.min(enough as f64));
        estimate
    }
}

/// Returns true for an aggregation, and for a projection directly above one.
fn is_aggregation(plan: &Plan, node: NodeId) -> bool {
    match plan.node(node) {
        Node::Aggregate(_) => true,
        Node::Project(project) => matches!(plan.node(project.input), Node::Aggregate(_)),
        _ => false,
    }
}

fn unknown_column(plan: &Plan, column: ColumnId, rows: f64) -> Rc<ColumnEstimate> {
    Rc::new(ColumnEstimate::unknown(&plan.column(column).ty, rows))
}

fn unknown(plan: &Plan, columns: &[ColumnId], rows: f64) -> NodeEstimate {
    NodeEstimate::new(rows, columns.iter().map(|&column| (column, unknown_column(plan, column, rows))))
}

/// Returns `factor` times the rows, with additional columns.
fn extended(plan: &Plan, input: &NodeEstimate, made: impl Iterator<Item = ColumnId>, factor: f64) -> NodeEstimate {
    let rows = input.rows * factor;
    let made = made.map(|column| (column, unknown_column(plan, column, rows)));
    NodeEstimate::new(rows, input.columns.iter().cloned().chain(made))
}

/// Returns the rows under other ids, (new, old).
fn renamed(input: &NodeEstimate, columns: impl Iterator<Item = (ColumnId, ColumnId)>) -> NodeEstimate {
    let of = |(new, old)| Some((new, Rc::clone(input.shared_column(old)?)));
    NodeEstimate::new(input.rows, columns.filter_map(of))
}

/// Returns the number of key combinations among the rows of `input`.
pub(super) fn groups_of(keys: &[Rc<ColumnEstimate>], input: &NodeEstimate) -> f64 {
    match keys {
        [] => 1.0,
        keys => combinations(keys.iter().map(Rc::as_ref), input.rows).min(input.rows),
    }
}

fn group(plan: &Plan, aggregate: &Aggregate, input: &NodeEstimate) -> NodeEstimate {
    let keys: Vec<Rc<ColumnEstimate>> = aggregate.keys.iter().map(|(_, key)| input.of_expr(key)).collect();
    let rows = match &aggregate.sets {
        None => groups_of(&keys, input),
        Some(sets) => {
            let of_set = |set: &Vec<usize>| {
                let keys: Vec<Rc<ColumnEstimate>> = set.iter().map(|&at| Rc::clone(&keys[at])).collect();
                groups_of(&keys, input)
            };
            sets.iter().map(of_set).sum()
        }
    };
    // The groups are a new base: their keys, taken together, are unique.
    let ids = aggregate.keys.iter().map(|&(column, _)| column);
    let keys = ids.zip(keys).map(|(column, key)| (column, Rc::new(key.of_groups(rows))));
    let made = aggregate.grouping_id.into_iter().chain(aggregate.aggregates.iter().map(|&(column, _)| column));
    let made = made.map(|column| (column, unknown_column(plan, column, rows)));
    NodeEstimate::new(rows, keys.chain(made))
}

fn limited(limit: &Limit, input: &NodeEstimate) -> NodeEstimate {
    let number = |expr: &Option<Expr>| match expr.as_ref().and_then(Expr::as_literal) {
        Some(Value::Integer(number)) => Some(*number as f64),
        Some(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let rows = (input.rows - number(&limit.offset).unwrap_or(0.0)).max(0.0);
    let rows = match number(&limit.count) {
        Some(percent) if limit.percent => rows.min(input.rows * percent / 100.0),
        Some(count) => rows.min(count),
        None => rows,
    };
    NodeEstimate { rows, columns: input.columns.clone() }
}

/// Returns the wider of two columns, for values that come from either of two inputs.
fn widest(a: &ColumnEstimate, b: &ColumnEstimate) -> ColumnEstimate {
    ColumnEstimate {
        domain: Domain::AtMost(a.domain().max(b.domain())),
        base_rows: a.base_rows + b.base_rows,
        null_fraction: a.null_fraction.max(b.null_fraction),
        bounds: a.bounds.zip(b.bounds).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
        average_bytes: a.average_bytes.max(b.average_bytes),
        keys: None,
    }
}

/// Concatenates the rows of several inputs.
fn concatenated(columns: &[ColumnId], inputs: &[NodeEstimate]) -> NodeEstimate {
    let column = |&column: &ColumnId| {
        let mut parts = inputs.iter().filter_map(|input| input.shared_column(column));
        let first = Rc::clone(parts.next()?);
        Some((column, parts.fold(first, |all, part| Rc::new(widest(&all, part)))))
    };
    NodeEstimate::new(inputs.iter().map(|input| input.rows).sum(), columns.iter().filter_map(column))
}

fn set_operation(operation: &SetOperation, input: impl Fn(NodeId) -> Rc<NodeEstimate>) -> NodeEstimate {
    let of = |(id, columns): &(NodeId, Vec<ColumnId>)| {
        renamed(&input(*id), operation.columns.iter().copied().zip(columns.iter().copied()))
    };
    let inputs: Vec<NodeEstimate> = operation.inputs.iter().map(of).collect();
    let mut estimate = match (operation.operator, inputs.as_slice()) {
        (SetOperator::Intersect | SetOperator::Except, [left, right]) => {
            let share = Matches::of_same_columns(left, right).left_share(right.rows);
            let is_except = operation.operator == SetOperator::Except;
            let share = if is_except { unmatched_share(share) } else { share };
            NodeEstimate { rows: (left.rows * share).max(1.0_f64.min(left.rows)), columns: left.columns.clone() }
        }
        _ => concatenated(&operation.columns, &inputs),
    };
    if !operation.all {
        estimate.rows = combinations(estimate.columns.iter().map(|(_, column)| column.as_ref()), estimate.rows);
    }
    estimate
}

fn recursion(recursive: &Recursive, base: &NodeEstimate, step: &NodeEstimate) -> NodeEstimate {
    let of = |input: &NodeEstimate, columns: &[ColumnId]| {
        renamed(input, recursive.columns.iter().copied().zip(columns.iter().copied()))
    };
    let mut all = concatenated(&recursive.columns, &[of(base, &recursive.base.1), of(step, &recursive.step.1)]);
    all.rows = base.rows + step.rows * config::RECURSION_ROUNDS;
    all
}
