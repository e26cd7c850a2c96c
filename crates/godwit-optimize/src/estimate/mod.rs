//! Cardinality estimates for any node of a plan.
//!
//! An estimate steers plans and nothing else: all memory decisions are made at run time. `column` estimates
//! expressions, `selectivity` predicates, `sampled` their effect on samples, `join` pairs of keys, `node` the
//! operators; this file caches the results.

mod column;
mod config;
mod join;
mod node;
mod sampled;
mod selectivity;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Node, NodeId, Plan, ReadSamples, Scan, TableSample};

pub use column::ColumnEstimate;
pub(crate) use column::Domain;
pub(crate) use join::{Matches, key_domain, pair_domain, unmatched_share};
pub(crate) use sampled::{KeyColumn, KeyCounts, SampledKeys};
pub(crate) use selectivity::selectivity;

/// Estimates rows and columns of a plan's nodes, and caches the results. Nodes added later can be estimated as well.
pub struct Estimates {
    /// By the node's index.
    known: RefCell<Vec<Option<Rc<NodeEstimate>>>>,
    /// Whether filters are tried on samples of their tables.
    uses_samples: bool,
    /// Reads several columns of samples at once; without it, each is read when it is asked for.
    read_samples: Option<ReadSamples>,
    /// Columns used by more than the filters of their scan: a column read only for filters goes no further.
    used: ColumnSet,
    /// The initial rows of each recursion, by the column that names it.
    recursions: HashMap<ColumnId, NodeId>,
}

/// Estimate of a node's output.
#[derive(Debug, Clone, Default)]
pub struct NodeEstimate {
    /// Number of rows.
    pub rows: f64,
    /// Ascending by id. Nodes share the estimates of columns that they don't narrow.
    columns: Vec<(ColumnId, Rc<ColumnEstimate>)>,
}

impl NodeEstimate {
    fn new(rows: f64, columns: impl IntoIterator<Item = (ColumnId, Rc<ColumnEstimate>)>) -> Self {
        let mut columns: Vec<_> = columns.into_iter().collect();
        columns.sort_by_key(|(column, _)| *column);
        Self { rows, columns }
    }

    /// Estimates all pairs of two nodes' rows.
    pub(crate) fn of_pairs(left: &Self, right: &Self) -> Self {
        Self::new(left.rows * right.rows, left.columns.iter().chain(&right.columns).cloned())
    }

    /// Returns the same rows with this fraction of them NULL in all columns, as after an outer join.
    pub(crate) fn with_nulls(&self, share: f64) -> Self {
        let filled = |(id, column): &(ColumnId, Rc<ColumnEstimate>)| {
            let null_fraction = 1.0 - (1.0 - column.null_fraction) * (1.0 - share);
            (*id, Rc::new(ColumnEstimate { null_fraction, ..column.as_ref().clone() }))
        };
        Self { rows: self.rows, columns: self.columns.iter().map(filled).collect() }
    }

    /// Returns the estimate of a column; `None` if the node doesn't have it.
    pub fn column(&self, column: ColumnId) -> Option<&ColumnEstimate> {
        self.shared_column(column).map(Rc::as_ref)
    }

    /// Returns the node's columns, ascending.
    pub fn columns(&self) -> impl Iterator<Item = (ColumnId, &ColumnEstimate)> {
        self.columns.iter().map(|(column, estimate)| (*column, estimate.as_ref()))
    }

    /// Returns the average size of a row, in bytes.
    pub fn row_bytes(&self) -> f64 {
        self.columns.iter().map(|(_, column)| column.average_bytes).sum()
    }

    /// Estimates a scalar expression over the node's rows.
    pub(crate) fn of_expr(&self, expr: &Expr) -> Rc<ColumnEstimate> {
        column::of_expr(expr, self)
    }

    fn shared_column(&self, column: ColumnId) -> Option<&Rc<ColumnEstimate>> {
        let at = self.columns.binary_search_by_key(&column, |(id, _)| *id).ok()?;
        Some(&self.columns[at].1)
    }

    fn column_mut(&mut self, column: ColumnId) -> Option<&mut ColumnEstimate> {
        let at = self.columns.binary_search_by_key(&column, |(id, _)| *id).ok()?;
        Some(Rc::make_mut(&mut self.columns[at].1))
    }

    fn insert(&mut self, column: ColumnId, estimate: Rc<ColumnEstimate>) {
        match self.columns.binary_search_by_key(&column, |(id, _)| *id) {
            Ok(at) => self.columns[at].1 = estimate,
            Err(at) => self.columns.insert(at, (column, estimate)),
        }
    }

    fn remove(&mut self, column: ColumnId) {
        if let Ok(at) = self.columns.binary_search_by_key(&column, |(id, _)| *id) {
            self.columns.remove(at);
        }
    }
}

impl Estimates {
    /// Creates an estimator for a plan. It tries filters on samples of their tables if there are joins to order, where
    /// errors hurt most; `read_samples` reads several at once.
    pub fn new(plan: &Plan, read_samples: Option<ReadSamples>) -> Self {
        let mut new = Self {
            known: RefCell::default(),
            uses_samples: false,
            read_samples,
            used: plan.output.iter().map(|output| output.column).collect(),
            recursions: HashMap::new(),
        };
        if let Some(root) = plan.root.filter(|_| plan.output.is_empty()) {
            new.used.extend(plan.outputs(root));
        }
        let mut scans = Vec::new();
        let mut compared = ColumnSet::default();
        let mut open: Vec<NodeId> = plan.shared_plans().map(|(_, shared)| shared.root).chain(plan.root).collect();
        while let Some(id) = open.pop() {
            let node = plan.node(id);
            open.extend(node.inputs());
            match node {
                Node::Scan(scan) => {
                    scan.filters.iter().for_each(|filter| compared.extend(filter.columns().iter()));
                    scans.push(scan);
                    continue;
                }
                Node::Join(_) | Node::Filter { .. } => {
                    node.for_each_expr(&mut |expr| compared.extend(expr.columns().iter()));
                }
                Node::SetOperation(operation) => {
                    operation.inputs.iter().for_each(|(_, columns)| new.used.extend(columns.iter().copied()));
                }
                Node::Recursive(recursive) => {
                    new.recursions.insert(recursive.working, recursive.base.0);
                    new.used.extend(recursive.base.1.iter().chain(&recursive.step.1).copied());
                }
                Node::Use(used) => new.used.extend(used.columns.iter().map(|&(_, column)| column)),
                _ => {}
            }
            node.for_each_expr(&mut |expr| new.note_use(expr, &mut open));
        }
        new.uses_samples = scans.len() >= config::SAMPLED_SCANS_MIN;
        // Once for a plan: estimators without a reader come after the one that orders joins.
        for scan in scans.iter().filter(|_| new.uses_samples && new.read_samples.is_some()) {
            let asked = scan.columns.iter().filter(|(column, _)| compared.contains(*column));
            let asked: Vec<usize> = asked.map(|&(_, position)| position).collect();
            scan.relation.sample().into_iter().for_each(|sample| sample.will_be_asked(&asked));
        }
        new.read_samples_of_filters(&scans);
        new
    }

    fn note_use(&mut self, expr: &Expr, open: &mut Vec<NodeId>) {
        expr.for_each(&mut |part| match &part.kind {
            ExprKind::Column(column) => {
                self.used.insert(*column);
            }
            ExprKind::Subquery(subquery) => {
                open.push(subquery.plan);
                self.used.extend(subquery.columns.iter().copied());
            }
            _ => {}
        });
    }

    /// Returns the sample of a scan's table, if samples are used.
    pub(crate) fn sample_of<'s>(&self, scan: &'s Scan) -> Option<&'s dyn TableSample> {
        if self.uses_samples { scan.relation.sample() } else { None }
    }

    /// Estimates the number of rows of a node.
    pub fn rows(&self, plan: &Plan, node: NodeId) -> f64 {
        self.of(plan, node).rows
    }

    /// Estimates the number of groups that these keys make of a node's rows.
    pub fn groups<'e>(&self, plan: &Plan, input: NodeId, keys: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let (estimate, keys) = self.of_keys(plan, input, keys);
        node::groups_of(&keys, &estimate)
    }

    /// Returns the number of combinations of these keys' values, as far as tables and files tell it; `None` if one of them
    /// is a guess.
    pub fn groups_at_most<'e>(
        &self,
        plan: &Plan,
        input: NodeId,
        keys: impl IntoIterator<Item = &'e Expr>,
    ) -> Option<f64> {
        let (_, keys) = self.of_keys(plan, input, keys);
        // NULL is one more.
        keys.iter().map(|key| (!key.is_guess()).then(|| key.domain() + 1.0)).product()
    }

    /// Estimates the number of groups that these keys make of a node's rows if they are independent of each other: more
    /// than [`Self::groups`] expects, which takes keys to be related.
    pub(crate) fn groups_of_independent<'e>(
        &self,
        plan: &Plan,
        input: NodeId,
        keys: impl IntoIterator<Item = &'e Expr>,
    ) -> f64 {
        let (estimate, keys) = self.of_keys(plan, input, keys);
        selectivity::independent_combinations(keys.iter().map(Rc::as_ref), estimate.rows)
    }

    /// Estimates a node, and keys of its rows.
    fn of_keys<'e>(
        &self,
        plan: &Plan,
        input: NodeId,
        keys: impl IntoIterator<Item = &'e Expr>,
    ) -> (Rc<NodeEstimate>, Vec<Rc<ColumnEstimate>>) {
        let estimate = self.of(plan, input);
        let keys = keys.into_iter().map(|key| estimate.of_expr(key)).collect();
        (estimate, keys)
    }

    /// Estimates a node, or returns its cached estimate.
    pub fn of(&self, plan: &Plan, node: NodeId) -> Rc<NodeEstimate> {
        let mut open = vec![node];
        // Iterative, since a plan may be as deep as a statement has joins.
        while let Some(&id) = open.last() {
            if self.remembered(id).is_some() {
                open.pop();
                continue;
            }
            let before = open.len();
            let asked = self.asked_by(plan, id).into_iter().filter(|&input| self.remembered(input).is_none());
            open.extend(asked);
            if open.len() == before {
                let estimate = Rc::new(self.compute(plan, id));
                self.remember(id, estimate);
                open.pop();
            }
        }
        self.remembered(node).expect("it was just computed")
    }

    /// Returns the nodes on whose estimates a node's estimate depends.
    fn asked_by(&self, plan: &Plan, node: NodeId) -> Vec<NodeId> {
        match plan.node(node) {
            Node::Use(used) => vec![plan.shared(used.shared).root],
            Node::WorkingRows { of, .. } => self.recursions.get(of).copied().into_iter().collect(),
            other => other.inputs(),
        }
    }

    fn remembered(&self, node: NodeId) -> Option<Rc<NodeEstimate>> {
        self.known.borrow().get(node.index()).cloned().flatten()
    }

    fn remember(&self, node: NodeId, estimate: Rc<NodeEstimate>) {
        let mut known = self.known.borrow_mut();
        if known.len() <= node.index() {
            known.resize(node.index() + 1, None);
        }
        known[node.index()] = Some(estimate);
    }
}
