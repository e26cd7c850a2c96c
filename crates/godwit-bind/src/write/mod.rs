//! Data-modifying statements, as plans whose rows describe the changes.
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
//! On top come, as needed (`finish.rs`): the values of stored generated columns, a BOOLEAN for each CHECK, and
//! RETURNING. The columns of the result are described at [`WriteKind`].
//!
//! A value is converted to its column's type by *assignment*, which allows more than an expression and less than CAST.
//! Quoted text and NULL take the type of the column. Expressions that the catalog keeps as text (defaults, checks,
//! generated columns) have been parsed by the caller.

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

/// The target table of a statement.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    /// Its full name, outermost part first.
    pub name: Vec<String>,
    /// Its name in messages.
    pub label: String,
    /// Its rows. After the columns comes a hidden one: the row id, a BIGINT.
    pub relation: Arc<dyn Relation>,
    /// Its columns, in order, without virtual ones.
    pub columns: Vec<TargetColumn>,
    /// The keys that ON CONFLICT can refer to.
    pub keys: Vec<TargetKey>,
    /// Name and condition of each CHECK.
    pub checks: Vec<(String, ast::Expr)>,
}

/// A column of the target table.
#[derive(Debug, Clone)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Its value if none is given; NULL if missing. For an identity column, the next number.
    pub default: Option<ast::Expr>,
    /// Set for columns whose values are always computed.
    pub generated: Option<Generation>,
}

/// The source of a generated column's values.
#[derive(Debug, Clone)]
pub enum Generation {
    /// An expression over the other columns.
    Stored(ast::Expr),
    /// Its default.
    Identity,
}

/// Columns whose combined values are unique unless one is NULL.
#[derive(Debug, Clone)]
pub struct TargetKey {
    /// Name of the constraint.
    pub name: String,
    /// Positions of the columns.
    pub columns: Vec<usize>,
}

/// A bound data-modifying statement; the binder's plan returns its rows.
#[derive(Debug, Clone)]
pub struct BoundWrite {
    /// The kind of change.
    pub kind: WriteKind,
    /// Names of the checks that have a column.
    pub checks: Vec<String>,
    /// Names of the columns of RETURNING, if it was written.
    pub returning: Option<Vec<String>>,
}

/// The new rows of a statement, before generated columns, checks and RETURNING.
struct NewRows {
    node: NodeId,
    /// The columns before those of the table: see [`WriteKind`].
    lead: Vec<ColumnId>,
    /// One for each column of the table.
    columns: Vec<ColumnId>,
    /// Tables other than the target that are visible to RETURNING.
    others: Others,
}

/// Tables other than the target that are visible to a clause.
#[derive(Default, Clone)]
struct Others {
    relations: Vec<ScopeRelation>,
    visible: Vec<VisibleColumn>,
    filled: ColumnSet,
    /// True if `*` shows them before the target.
    come_first: bool,
    /// The old rows of the target; NULL where there were none.
    old: Option<ScopeRelation>,
}

impl Binder {
    /// Puts a value into a projection; a column keeps its id.
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
