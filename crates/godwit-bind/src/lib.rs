//! Translates syntax trees to plans: resolves names, determines types, and chooses functions.
//!
//! ```text
//! ast::Query ──query/──▶ FROM ─▶ WHERE ─▶ GROUP BY ─▶ HAVING ─▶ windows ─▶ QUALIFY ─▶ SELECT ─▶ DISTINCT ─▶ ORDER BY ─▶ LIMIT
//!                         │                     (each clause: names by a Scope, values by expr/)
//! ast::Expr  ──expr/───▶ Expr with a type; calls of aggregates and window functions are collected for their nodes
//! ```
//!
//! A [`Scope`](scope::Scope) resolves names: the columns of FROM, those of the enclosing queries, aliases of SELECT,
//! parameters of lambdas. Everything outside of the statement (tables, views, functions, types) comes from the
//! [`Environment`]. After binding, names are never looked up again.
#![forbid(unsafe_code)]

mod binder;
mod dialect;
mod environment;
mod expr;
mod query;
mod scope;
#[cfg(test)]
mod tests;
mod usage;
mod write;

pub use binder::{Binder, BoundQuery};
pub use dialect::{Dialect, NullOrder};
pub use environment::{ColumnRules, Environment, Macro, Named, Rows, TableArgument, TextRows, View, Written};
pub use expr::{SPECIAL_FORMS, SpecialForm, collation_text};
pub use usage::UsedTable;
pub use write::{BoundWrite, ColumnOf, Generation, RebuiltColumn, TargetColumn, TargetKey, WriteKind, WriteTarget};
