//! Domains: the distinct values that the right side of a dependent join takes from the left.
//!
//! ```text
//! t ⋈ Aggregate max(x)                  Use rows ⋈ Aggregate by d, max(x)   on t.k IS NOT DISTINCT FROM d
//!       Filter x < t.k            ─►                 Filter x < d
//!         s                                            Use domain(d) × s
//!
//!                                       rows:    t
//!                                       domain:  Aggregate by k of Use rows
//! ```
//!
//! The outer rows are read twice, so they become a shared plan, and so does the domain, which the right side may use in
//! several places. Inside the step of a recursion, shared plans can't see the rows of the current iteration, so outer
//! rows are copied there.

use godwit_common::{Error, Result};
use godwit_plan::{Aggregate, ColumnId, ColumnSet, Node, NodeId, SharedId, SharedPlan, Use, Window};
use godwit_types::SqlType;

use super::Unnester;
use super::pile::Pile;

/// The distinct values of outer columns.
#[derive(Clone)]
pub(super) struct Domain {
    pub(super) columns: Vec<DomainColumn>,
    source: Source,
    /// Columns and recursions on which a dependent subtree depends: the outer columns, and the recursions that carry
    /// the domain.
    pub(super) outer: ColumnSet,
    /// The recursions among these.
    pub(super) recursions: ColumnSet,
}

/// A column of a domain.
#[derive(Clone)]
pub(super) struct DomainColumn {
    /// The column of the outer rows.
    pub(super) outer: ColumnId,
    /// The column of the domain's plan.
    pub(super) inner: ColumnId,
    /// Whether it takes part in comparisons; a row number makes comparing all others unnecessary.
    is_key: bool,
}

#[derive(Clone)]
enum Source {
    Shared(SharedId),
    Copied(NodeId),
}

impl Domain {
    pub(super) fn outer_columns(&self) -> Vec<ColumnId> {
        self.columns.iter().map(|column| column.outer).collect()
    }

    /// Returns the compared columns, given the columns that stand for those of the domain.
    pub(super) fn keys(&self, columns: &[ColumnId]) -> Vec<ColumnId> {
        let keys = columns.iter().zip(&self.columns).filter(|(_, column)| column.is_key);
        keys.map(|(&column, _)| column).collect()
    }
}

impl Unnester<'_> {
    /// Creates the domain of some columns of a pile's base.
    ///
    /// Volatile functions have to run for each outer row, so then the row's number is part of the domain. It is for
    /// nested values, too, which are expensive to compare.
    pub(super) fn domain(&mut self, pile: &mut Pile, is_volatile: bool, free: &ColumnSet) -> Result<Domain> {
        let is_nested = |column| {
            use SqlType::{Array, List, Map, Struct};
            matches!(self.plan.column(column).ty, List(_) | Array(..) | Map(_) | Struct(_))
        };
        let is_nested = free.iter().any(is_nested);
        let can_share = pile.shared.is_some() || (self.free(pile.base).is_empty() && !self.is_filled_up(pile.base));
        if !can_share && (is_volatile || self.is_volatile(pile.base)) {
            return Err(volatile_twice());
        }
        let mut outer: Vec<ColumnId> = free.iter().collect();
        let is_numbered = can_share && (is_volatile || is_nested);
        if is_numbered {
            outer.insert(0, self.row_number_of(pile)?);
        }
        let (rows, found) = self.outer_rows(pile, &outer, can_share);
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        for (index, (outer, row)) in outer.into_iter().zip(found).enumerate() {
            let info = self.plan.column(outer).clone();
            let inner = self.plan.add_column(info.name, info.ty, self.may_be_null(pile.base, outer));
            keys.push((inner, self.column(row)));
            columns.push(DomainColumn { outer, inner, is_key: !is_numbered || index == 0 });
        }
        let root = if is_numbered {
            self.project(rows, keys)
        } else {
            let aggregates = Vec::new();
            self.plan.add(Node::Aggregate(Aggregate { input: rows, keys, sets: None, grouping_id: None, aggregates }))
        };
        let source = match self.free(root).is_empty() {
            true => {
                Source::Shared(self.plan.add_shared(SharedPlan { name: "domain".into(), root, materialized: None }))
            }
            false => Source::Copied(root),
        };
        let outer = columns.iter().map(|column| column.outer).collect();
        Ok(Domain { columns, source, outer, recursions: ColumnSet::new() })
    }

    /// Numbers the rows of the base.
    fn row_number_of(&mut self, pile: &mut Pile) -> Result<ColumnId> {
        if let Some(column) = pile.row_number {
            return Ok(column);
        }
        let (column, call) = self.numbering("row_number", Vec::new(), Vec::new())?;
        pile.base = self.plan.add(Node::Window(Window { input: pile.base, calls: vec![(column, call)] }));
        pile.base_columns.insert(column);
        pile.row_number = Some(column);
        pile.shared = None;
        Ok(column)
    }

    /// Reads the rows of the base a second time, with these columns; also returns the ids that the columns get.
    fn outer_rows(&mut self, pile: &mut Pile, columns: &[ColumnId], can_share: bool) -> (NodeId, Vec<ColumnId>) {
        if !can_share {
            let (copy, renamed) = self.plan.copy_subtree(pile.base);
            return (copy, columns.iter().map(|column| renamed[column]).collect());
        }
        let (shared, known) = match pile.shared.take() {
            Some(shared) => shared,
            None => {
                let (node, shared) = self.share(pile.base);
                pile.base = node;
                shared
            }
        };
        let inner = |&column: &ColumnId| known.iter().find(|(own, _)| *own == column).map(|&(_, inner)| inner);
        let inner: Vec<ColumnId> = columns.iter().filter_map(inner).collect();
        pile.shared = Some((shared, known));
        let fresh: Vec<ColumnId> = inner.iter().map(|&column| self.plan.copy_column(column)).collect();
        let columns = fresh.iter().copied().zip(inner).collect();
        (self.plan.add(Node::Use(Use { shared, columns })), fresh)
    }

    /// Turns a node without free columns into a shared plan: returns a use of it with the node's columns, and the
    /// mapping to the shared plan's own.
    pub(super) fn share(&mut self, node: NodeId) -> (NodeId, (SharedId, Vec<(ColumnId, ColumnId)>)) {
        let outputs = self.plan.outputs(node);
        let (root, renamed) = self.plan.copy_subtree(node);
        let shared = self.plan.add_shared(SharedPlan { name: "outer rows".into(), root, materialized: None });
        let columns: Vec<_> = outputs.into_iter().map(|column| (column, renamed[&column])).collect();
        (self.plan.add(Node::Use(Use { shared, columns: columns.clone() })), (shared, columns))
    }

    /// Reads the rows of a domain under fresh ids.
    pub(super) fn use_domain(&mut self, domain: &Domain) -> (NodeId, Vec<ColumnId>) {
        let inner: Vec<ColumnId> = domain.columns.iter().map(|column| column.inner).collect();
        match domain.source {
            Source::Shared(shared) => {
                let fresh: Vec<ColumnId> = inner.iter().map(|&column| self.plan.copy_column(column)).collect();
                let columns = fresh.iter().copied().zip(inner).collect();
                (self.plan.add(Node::Use(Use { shared, columns })), fresh)
            }
            Source::Copied(root) => {
                let (copy, renamed) = self.plan.copy_subtree(root);
                (copy, inner.iter().map(|column| renamed[column]).collect())
            }
        }
    }
}

fn volatile_twice() -> Error {
    Error::unsupported("a correlated subquery with volatile functions can't read these outer rows twice")
        .with_hint("compute the outer rows in a common table expression")
}
