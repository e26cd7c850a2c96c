//! Expressions: resolves names, determines types, and chooses functions.
//!
//! ```text
//! literals.rs    constants, intervals, parameters        calls.rs          which kind of function a name is
//! names.rs       paths of names                          special_forms.rs  forms written as calls
//! operators.rs   operators                               aggregates.rs     calls that a node of their own computes
//! predicates.rs  BETWEEN, IN, LIKE, IS, CASE             windows.rs        the same with OVER
//! rows.rs        comparisons of row values               macros.rs         calls that stand for an expression
//! subqueries.rs  queries as values, ANY and ALL          nested.rs         structs, lists, maps and their parts
//! coercion.rs    implicit casts and default types        lambdas.rs        functions as arguments
//! data_types.rs  types as they are written               constants.rs      what must be known before the query runs
//! sharing.rs     values that are used more than once     unnest.rs         lists as rows, structs as columns
//! near.rs        names that were probably meant           collation.rs      COLLATE: how texts are compared
//! fill.rs        the window function of that name          macro_clauses.rs  FILTER, OVER and others of a macro's call
//! constant_conditions.rs  conditions over constants
//! ```
//!
//! Quoted text, NULL and parameters have the type [`SqlType::Unknown`](godwit_types::SqlType::Unknown) until their
//! context determines it; all other expressions have types when [`Binder::expr`] returns them. The parser bounds the
//! depth of a tree, so recursive walks are safe; macros and subqueries are counted by [`Binder::nested`].

mod aggregates;
mod calls;
mod coercion;
mod collation;
mod constant_conditions;
mod constants;
mod data_types;
mod fill;
mod identifiers;
mod lambdas;
mod literals;
mod macro_clauses;
mod macros;
mod names;
mod near;
mod nested;
mod open_types;
mod operators;
mod predicates;
mod rows;
mod sharing;
mod special_forms;
mod subqueries;
#[cfg(test)]
mod tests;
mod time_zone;
mod unnest;
mod windows;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Expr, SortKey};
use godwit_syntax::ast::{self, ExprKind};

pub(crate) use collation::Collation;
pub use collation::collation_text;
pub(crate) use constant_conditions::like;
pub(crate) use godwit_types::Context as CastContext;
pub(crate) use macro_clauses::MacroClauses;
pub(crate) use macros::in_macro;
pub(crate) use near::nearest;
pub use special_forms::{SPECIAL_FORMS, SpecialForm};

use crate::Binder;
use crate::binder::{Clause, ExprContext};
use crate::scope::Scope;

impl ExprContext<'_> {
    /// Returns the same context with another scope.
    pub(crate) fn with_scope<'s>(&'s mut self, scope: &'s Scope<'s>) -> ExprContext<'s> {
        ExprContext { scope, clause: self.clause, collected: self.collected, windows: self.windows }
    }
}

impl Binder {
    /// Binds an expression. Its type may be unknown: see the module.
    pub(crate) fn expr(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let bound = match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::TypedLiteral { data_type, text } => self.typed_literal(data_type, text, expr.span),
            ExprKind::Interval { value, unit } => self.interval(value, *unit, cx),
            ExprKind::Parameter(parameter) => Ok(self.parameter(parameter)),
            ExprKind::Column(path) => self.path(path, cx.scope),
            ExprKind::Position(position) => self.positional(*position, cx.scope),
            ExprKind::Unary { op, operand } => self.unary(*op, operand, cx),
            ExprKind::Binary { op, op_span, left, right } => self.binary(*op, *op_span, left, right, cx),
            ExprKind::And(operands) => self.and(operands, cx),
            ExprKind::Or(operands) => self.or(operands, cx),
            ExprKind::Call(call) => self.call(call, expr.span, cx),
            ExprKind::Cast { operand, data_type, is_try } => self.cast(operand, data_type, *is_try, cx),
            ExprKind::Subquery(query) => self.scalar_subquery(query, cx),
            ExprKind::Exists(query) => self.exists(query, cx),
            ExprKind::ArraySubquery(query) => self.array_subquery(query, expr.span, cx),
            ExprKind::InSubquery { .. } | ExprKind::InExpr { .. } | ExprKind::Quantified { .. } => {
                self.quantified_expr(expr, cx)
            }
            ExprKind::Columns(_) if cx.scope.selected.is_some() => {
                let column = cx.scope.selected.expect("it is there");
                Ok(self.column(column, cx.scope))
            }
            ExprKind::Wildcard(_) | ExprKind::AllFields(_) | ExprKind::Columns(_) => Err(misplaced(
                "* stands for several columns: it can't be a value",
                "it may be an item of the SELECT list, or the argument of count",
            )),
            ExprKind::Lambda { .. } => Err(misplaced(
                "a lambda can only be an argument of a function that takes one",
                "such as list_transform",
            )),
            // A column may have this name, though it is a keyword.
            ExprKind::Default => self.path(&[ast::Ident::new("default", expr.span)], cx.scope).map_err(|_| {
                misplaced("DEFAULT can't stand here", "it may be a value of INSERT, and what UPDATE sets a column to")
            }),
            _ => self.expr_of_parts(expr, cx),
        };
        bound.map(|bound| bound.at(expr.span)).map_err(|error| error.at_span(expr.span))
    }

    /// Binds predicates, and expressions that construct or access nested values.
    fn expr_of_parts(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        match &expr.kind {
            ExprKind::Is { operand, test, negated } => self.is_test(operand, *test, *negated, cx),
            ExprKind::IsDistinctFrom { left, right, negated } => self.is_distinct_from(left, right, *negated, cx),
            ExprKind::Between { .. } => self.between(expr, cx),
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated, cx),
            ExprKind::Like { .. } => self.like(expr, cx),
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref(), cx)
            }
            ExprKind::Collate { .. } => self.collate(expr, cx),
            ExprKind::Row { items, .. } => self.row(items, expr.span, cx),
            ExprKind::List(items) => self.list(items, expr.span, cx),
            ExprKind::Struct(fields) => self.struct_of(fields, expr.span, cx),
            ExprKind::Map(entries) => self.map(entries, expr.span, cx),
            ExprKind::ListComprehension(comprehension) => self.list_comprehension(comprehension, expr.span, cx),
            ExprKind::Subscript { operand, index } => self.subscript(operand, index, expr.span, cx),
            ExprKind::Slice { operand, low, high, step } => {
                let bounds = [low.as_deref(), high.as_deref(), step.as_deref()];
                self.slice(operand, bounds, expr.span, cx)
            }
            ExprKind::Field { operand, name } => {
                let operand = self.expr(operand, cx)?;
                self.field(operand, name)
            }
            other => unreachable!("{other:?} is bound by expr"),
        }
    }

    /// Binds the condition of a clause: a BOOLEAN.
    pub(crate) fn condition(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        if cx.scope.selected.is_none()
            && let Some(condition) = self.condition_of_each(expr, cx)?
        {
            return Ok(condition);
        }
        match cx.clause {
            Clause::On => self.truth(expr, cx, "a join's condition"),
            clause => self.truth(expr, cx, &format!("the condition of {}", clause.name())),
        }
    }

    /// Binds a key of ORDER BY.
    pub(crate) fn sort_key(&mut self, by: &ast::OrderByExpr, cx: &mut ExprContext<'_>) -> Result<SortKey> {
        let (expr, collation) = Collation::split(&by.expr)?;
        let value = self.settled(expr, cx)?;
        let value = self.key_of(value, collation)?;
        Ok(self.ordered(value, by.direction, by.nulls))
    }

    fn sort_keys(&mut self, keys: &[ast::OrderByExpr], cx: &mut ExprContext<'_>) -> Result<Vec<SortKey>> {
        keys.iter().map(|key| self.sort_key(key, cx)).collect()
    }
}

/// Returns the error for syntax that has no meaning as a value where it stands.
fn misplaced(message: &str, hint: &str) -> Error {
    Error::user(message).with_code(SqlState::SYNTAX_ERROR).with_hint(hint)
}
