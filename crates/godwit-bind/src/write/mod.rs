//! Statements that change rows, as plans whose rows say what to do.
//!
//! ```text
//! DELETE FROM t USING u WHERE p        t ⋈ u ─▶ Filter p                       row ids
//! UPDATE t SET a = e FROM u WHERE p    t ⋈ u ─▶ Filter p ─▶ Project a := e     row ids, all columns
//! INSERT INTO t (a) query              query ─▶ Project with defaults          all columns
//! … ON CONFLICT DO UPDATE              new rows ⟕ t ─▶ Project                 row id, or NULL where there was none
//! … ON CONFLICT DO NOTHING             new rows ▷ t, the first of each key     all columns
//! MERGE                                source ⟕ t ─▶ which WHEN? ─▶ Project    row id or NULL, is deleted, all columns
//! ```
//!
//! Above that comes, as far as it is needed (`finish.rs`): the values of generated columns that are stored, a BOOLEAN
//! for each CHECK, and RETURNING. The columns of the result are described at [`WriteKind`].
//!
//! A value becomes its column's type as an *assignment*: more than in an expression, less than with CAST. Quoted text and NULL take the
//! type of the column. What the catalog keeps as text (defaults, checks, generated columns) was parsed by the caller.

mod conflict;
mod define;
mod finish;
mod insert;
mod merge;
mod target;
#[cfg(test)]
mod tests;
mod update;

use std::sync::Arc;

use godwit_plan::{ColumnId, ColumnSet, Expr, NodeId, Relation};
use godwit_syntax::ast;
use godwit_types::SqlType;

use crate::Binder;
use crate::scope::{ScopeRelation, VisibleColumn};

pub use define::{ColumnOf, RebuiltColumn};
pub use godwit_plan::WriteKind;
pub(crate) use merge::MERGE_ACTION;

/// The table that a statement changes.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    /// Its full name, outermost part first.
    pub name: Vec<String>,
    /// Its name in messages.
    pub label: String,
    /// Its rows. After the columns comes a hidden one: the row's id, a BIGINT.
    pub relation: Arc<dyn Relation>,
    /// Its columns, in order, without those that are computed when they are read.
    pub columns: Vec<TargetColumn>,
    /// What ON CONFLICT can be about.
    pub keys: Vec<TargetKey>,
    /// Name and condition of each CHECK.
    pub checks: Vec<(String, ast::Expr)>,
}

/// A column of the table that a statement changes.
#[derive(Debug, Clone)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Its value if none is given; NULL if missing. For an identity the next number.
    pub default: Option<ast::Expr>,
    /// For columns whose values are always computed.
    pub generated: Option<Generation>,
}

/// How a generated column comes by its values.
#[derive(Debug, Clone)]
pub enum Generation {
    /// By an expression over the other columns.
    Stored(ast::Expr),
    /// By its default.
    Identity,
}

/// Columns whose values, if none is NULL, differ from row to row.
#[derive(Debug, Clone)]
pub struct TargetKey {
    /// Name of the constraint.
    pub name: String,
    /// Positions of the columns.
    pub columns: Vec<usize>,
}

/// A statement that changes rows, bound: the rows are those of the binder's plan.
#[derive(Debug, Clone)]
pub struct BoundWrite {
    /// The kind of change.
    pub kind: WriteKind,
    /// Names of the checks that there is a column for.
    pub checks: Vec<String>,
    /// Names of the columns of RETURNING, if it was written.
    pub returning: Option<Vec<String>>,
}

/// The rows that a statement puts in place of others, before generated columns, checks and RETURNING.
struct NewRows {
    node: NodeId,
    /// The columns before those of the table: see [`WriteKind`].
    lead: Vec<ColumnId>,
    /// One for each column of the table.
    columns: Vec<ColumnId>,
    /// Tables besides the target that RETURNING sees.
    others: Others,
}

/// Tables besides the target that a clause sees.
#[derive(Default, Clone)]
struct Others {
    relations: Vec<ScopeRelation>,
    visible: Vec<VisibleColumn>,
    filled: ColumnSet,
    /// `*` shows them before the target.
    come_first: bool,
    /// The target's rows as they were; NULL where there were none.
    old: Option<ScopeRelation>,
}

impl Binder {
    /// Puts a value into a projection: a column keeps its id.
    fn put(&mut self, name: &str, value: Expr, made: &mut Vec<(ColumnId, Expr)>) -> ColumnId {
        if let Some(column) = value.as_column() {
            if !made.iter().any(|(known, _)| *known == column) {
                made.push((column, value));
            }
            return column;
        }
        let column = self.plan.add_column(name, value.ty.clone(), value.nullable);
        made.push((column, value));
        column
    }
}
