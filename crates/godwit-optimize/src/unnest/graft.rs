//! LATERAL over rows: if the right side works row by row, the outer rows are placed below it.
//!
//! ```text
//! t ⋈ Project x + 1              Project t.*, x + 1
//!       Unnest x := t.list   ─►    Unnest x := t.list
//!         (one row)                  t
//! ```
//!
//! No domain is needed, nothing is computed twice, and volatile functions run once per row, as they should.

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr, ExprKind, Join, JoinKind, Node, NodeId, Project, Unnest, Values};
use godwit_types::{SqlType, Value};

use super::Unnester;

/// Maximum number of constant rows for which a CASE over their positions pays off.
const ROWS_MAX: usize = 16;

impl Unnester<'_> {
    /// Joins rows with a right side that depends on them, as an inner join; `None` if the right side doesn't work row
    /// by row.
    pub(super) fn graft(&mut self, left: NodeId, right: NodeId) -> Result<Option<NodeId>> {
        if !self.depends_on(right, left) {
            let join = Join { kind: JoinKind::Inner, left, right, conditions: Vec::new() };
            return Ok(Some(if self.is_one_row(right) { left } else { self.plan.add(Node::Join(join)) }));
        }
        match self.plan.node(right).clone() {
            Node::Values(values) => Ok(self.graft_values(left, values)),
            Node::Project(Project { input, columns }) => {
                let Some(input) = self.graft(left, input)? else { return Ok(None) };
                let outer = self.plan.outputs(left);
                let mut all = self.passed(&outer);
                all.extend(columns.into_iter().filter(|(column, _)| !outer.contains(column)));
                Ok(Some(self.project(input, all)))
            }
            Node::Filter { input, conditions } => {
                let input = self.graft(left, input)?;
                Ok(input.map(|input| self.filter(input, conditions)))
            }
            Node::Unnest(unnest) => {
                let input = self.graft(left, unnest.input)?;
                Ok(input.map(|input| self.plan.add(Node::Unnest(Unnest { input, ..unnest }))))
            }
            Node::Join(join) if keeps_left(&join.kind) => {
                let left = self.graft(left, join.left)?;
                Ok(left.map(|left| self.plan.add(Node::Join(Join { left, ..join }))))
            }
            _ => Ok(None),
        }
    }

    /// Turns several rows into a cross join with their positions.
    fn graft_values(&mut self, left: NodeId, values: Values) -> Option<NodeId> {
        let count = values.rows.len();
        if count == 1 {
            let columns = values.columns.into_iter().zip(values.rows.into_iter().flatten()).collect();
            return Some(self.extend(left, columns));
        }
        if count > ROWS_MAX {
            return None;
        }
        let position = self.plan.add_column("position", SqlType::Integer, false);
        let number = |at: usize| Expr::literal(Value::Integer(at as i128), SqlType::Integer);
        let rows = (0..count).map(|at| vec![number(at)]).collect();
        let positions = self.plan.add(Node::Values(Values { columns: vec![position], rows }));
        let join = Join { kind: JoinKind::Inner, left, right: positions, conditions: Vec::new() };
        let joined = self.plan.add(Node::Join(join));
        let is_at = |at: usize| Expr::compare(godwit_plan::Comparison::Equal, self.column(position), number(at));
        let value = |(index, column): (usize, ColumnId)| {
            let mut values: Vec<Expr> = values.rows.iter().map(|row| row[index].clone()).collect();
            let nullable = values.iter().any(|value| value.nullable);
            let last = values.pop().map(Box::new);
            let branches = values.into_iter().enumerate().map(|(at, value)| (is_at(at), value)).collect();
            let ty = self.plan.column(column).ty.clone();
            (column, Expr::new(ExprKind::Case { branches, otherwise: last }, ty, nullable))
        };
        let columns = values.columns.iter().copied().enumerate().map(value).collect();
        Some(self.extend(joined, columns))
    }

    /// Returns the node if it is just `unnest(list)`: a `LEFT JOIN LATERAL` with it keeps rows with empty lists, with
    /// NULLs. Its position must be nullable.
    pub(super) fn unnested_list(&self, id: NodeId) -> Option<Unnest> {
        let Node::Unnest(unnest) = self.plan.node(id) else { return None };
        let says_null = unnest.ordinality.is_none_or(|column| self.plan.column(column).nullable);
        (says_null && self.is_one_row(unnest.input)).then(|| unnest.clone())
    }
}

/// Returns true if `(outer, left) kind right` is the same as `outer, (left kind right)`.
fn keeps_left(kind: &JoinKind) -> bool {
    use JoinKind::{Anti, AsOf, Inner, Left, Mark, Semi, Single};
    matches!(kind, Inner | Left | Semi | Anti | Mark { .. } | Single | AsOf { .. })
}
