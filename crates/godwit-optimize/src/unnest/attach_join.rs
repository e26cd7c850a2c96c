//! Joins for all values of a domain at once.
//!
//! | kind | which sides get the domain |
//! |---|---|
//! | inner | those that need it |
//! | left, semi, anti, mark, single, as of | the left one; the right one if it needs it |
//! | right, right semi, right anti | mirrored |
//! | full, positional | both |
//!
//! The side that keeps its rows must have the domain; otherwise rows without a match would be missing for some of its
//! values.

use godwit_common::Result;
use godwit_plan::{ColumnId, Comparison, Expr, Join, JoinKind, Node, NodeId, Window};

use super::Unnester;
use super::attach::Attached;
use super::build::coalesce;
use super::domain::Domain;

impl Unnester<'_> {
    pub(super) fn attach_join(&mut self, join: Join, domain: &Domain) -> Result<Attached> {
        if self.depends_on(join.right, join.left) {
            return self.attach_dependent(join, domain);
        }
        if join.kind == JoinKind::Positional {
            return self.attach_positional(&join, domain);
        }
        let needs_left = !self.free(join.left).is_disjoint(&domain.outer);
        let needs_right = !self.free(join.right).is_disjoint(&domain.outer);
        let (at_left, at_right) = match join.kind {
            JoinKind::Inner => (needs_left || !needs_right, needs_right),
            JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => (needs_left, true),
            JoinKind::Full | JoinKind::Positional => (true, true),
            JoinKind::Left
            | JoinKind::Semi
            | JoinKind::Anti
            | JoinKind::Single
            | JoinKind::Mark { .. }
            | JoinKind::AsOf { .. } => (true, needs_right),
        };
        let left = if at_left { Some(self.attach(join.left, domain)?) } else { None };
        let right = if at_right { Some(self.attach(join.right, domain)?) } else { None };
        let keeps_right = matches!(join.kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti);
        let is_full = join.kind == JoinKind::Full;
        let node = self.join_attached(join, (left.as_ref(), right.as_ref()), domain);
        match (left, right) {
            (Some(left), Some(right)) if is_full => Ok(self.merged(node, &left.columns, &right.columns)),
            (Some(left), None) => Ok(Attached { node, ..left }),
            (Some(left), Some(_)) if !keeps_right => Ok(Attached { node, ..left }),
            (_, right) => {
                let right = right.expect("one side has the domain");
                Ok(Attached { node, ..right })
            }
        }
    }

    fn join_attached(
        &mut self,
        join: Join,
        (left, right): (Option<&Attached>, Option<&Attached>),
        domain: &Domain,
    ) -> NodeId {
        let names = left.or(right).expect("one side has the domain").names(domain);
        let sides = [left.map_or(join.left, |side| side.node), right.map_or(join.right, |side| side.node)];
        let mut sides = sides.into_iter();
        let node = Node::Join(join).map_exprs(&mut |expr| self.rename(expr, &names));
        let mut node = node.map_inputs(&mut |_| sides.next().expect("a join has two sides"));
        if let (Some(left), Some(right), Node::Join(join)) = (left, right, &mut node) {
            let same = self.same_values(&domain.keys(&left.columns), &domain.keys(&right.columns));
            join.conditions.extend(same);
        }
        self.plan.add(node)
    }

    /// Passes the domain to the left side, from which the right side takes what it took from outside. If the right side
    /// reads the rows of a recursion that carries the domain, it has the domain, too.
    fn attach_dependent(&mut self, join: Join, domain: &Domain) -> Result<Attached> {
        let left = self.attach(join.left, domain)?;
        if !self.free(join.right).is_disjoint(&domain.recursions) {
            let right = self.attach(join.right, domain)?;
            let node = self.join_attached(join, (Some(&left), Some(&right)), domain);
            return Ok(Attached { node, ..left });
        }
        let right = self.rename_free(join.right, &left.names(domain));
        let node = self.join_attached(Join { right, ..join }, (Some(&left), None), domain);
        Ok(Attached { node, ..left })
    }

    /// Merges columns of a domain of which either side may be filled with NULLs.
    fn merged(&mut self, node: NodeId, left: &[ColumnId], right: &[ColumnId]) -> Attached {
        let mut computed = Vec::new();
        for (&left, &right) in left.iter().zip(right) {
            let either = coalesce(self.column(left), self.column(right));
            computed.push((self.column_for("domain", &either), either));
        }
        let columns = computed.iter().map(|&(column, _)| column).collect();
        Attached { node: self.extend(node, computed), columns }
    }

    /// Pairs the first rows of both sides for each value, the second rows, and so on: a full join on row numbers.
    fn attach_positional(&mut self, join: &Join, domain: &Domain) -> Result<Attached> {
        let (left, left_number) = self.numbered_side(join.left, domain)?;
        let (right, right_number) = self.numbered_side(join.right, domain)?;
        let mut conditions = self.same_values(&domain.keys(&left.columns), &domain.keys(&right.columns));
        conditions.push(Expr::compare(Comparison::Equal, self.column(left_number), self.column(right_number)));
        let full = Join { kind: JoinKind::Full, left: left.node, right: right.node, conditions };
        let node = self.plan.add(Node::Join(full));
        Ok(self.merged(node, &left.columns, &right.columns))
    }

    fn numbered_side(&mut self, id: NodeId, domain: &Domain) -> Result<(Attached, ColumnId)> {
        let (input, keys) = self.rows_and_order(id);
        let input = self.attach(input, domain)?;
        let names = input.names(domain);
        let renamed = |key: godwit_plan::SortKey| godwit_plan::SortKey { expr: self.rename(key.expr, &names), ..key };
        let keys = keys.into_iter().map(renamed).collect();
        let partition_by = self.columns(&domain.keys(&input.columns));
        let (number, call) = self.numbering("row_number", partition_by, keys)?;
        let node = self.plan.add(Node::Window(Window { input: input.node, calls: vec![(number, call)] }));
        Ok((Attached { node, ..input }, number))
    }
}
