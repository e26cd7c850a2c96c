//! Implicit casts, and default types for literals, NULL and parameters.
//!
//! Quoted text takes the type that its context requires: it is converted at once, so that an error points at the text.
//! NULL takes any type; a parameter gets the first type required of it. An empty list, or a list of only NULLs, is
//! INTEGER[] unless its context requires a list of another type; the same holds for an empty map.

use std::borrow::Cow;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Expr, ExprKind};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value, cast_kind, cast_value, common_type};

use super::CastContext;
use super::identifiers::identifier_type;
use super::open_types::{closed, is_open, open_type};
use crate::Binder;
use crate::binder::ExprContext;

impl Binder {
    /// Binds an expression and settles its type: see [`Self::settle`].
    pub(crate) fn settled(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let expr = self.expr(expr, cx)?;
        Ok(self.settle(expr))
    }

    /// Gives an expression of unknown type its default: VARCHAR to quoted text and parameters, INTEGER to NULL, as
    /// DuckDB does.
    pub(crate) fn settle(&mut self, expr: Expr) -> Expr {
        if expr.ty != SqlType::Unknown {
            return expr;
        }
        let is_null = expr.as_literal().is_some_and(Value::is_null);
        let ty = if is_null { SqlType::Integer } else { SqlType::Varchar };
        let ty = match expr.kind {
            ExprKind::Parameter(_) => self.with_parameter_type(expr.clone(), &ty).ty,
            _ => ty,
        };
        Expr { ty, ..expr }
    }

    /// Converts the expression to a type, if the context allows it; quoted text that isn't valid for the type is an
    /// error at once.
    pub(crate) fn coerce(&mut self, expr: Expr, ty: &SqlType, context: CastContext) -> Result<Expr> {
        let expr = self.with_parameter_type(expr, ty);
        if expr.ty == *ty {
            return Ok(expr);
        }
        if context == CastContext::Explicit {
            if is_read_from_json(&expr.ty, ty) {
                let text = self.text_of_json(expr)?;
                return self.coerce(text, ty, context);
            }
            if let Some(converted) = self.json_cast(&expr, ty, false) {
                return converted;
            }
        }
        let span = expr.span;
        if expr.ty == SqlType::Unknown
            && let ExprKind::Literal(value) = &expr.kind
        {
            let value = match value {
                Value::Text(text) => self.value_of_text(text, ty).map_err(|error| error.at_span(span))?,
                other => other.clone(),
            };
            return Ok(Expr::literal(value, ty.clone()).at(span));
        }
        match cast_kind(&open_type(&expr), ty) {
            Some(cast) if cast.context <= context => {
                let expr = self.with_parts_of(expr, ty)?;
                if expr.ty == *ty { Ok(expr) } else { self.cast_to(expr, ty, false) }
            }
            Some(_) => {
                let error = Error::user(format!("{} doesn't become {ty} by itself", expr.ty));
                let error = error.with_code(SqlState::DATATYPE_MISMATCH).at_span(span);
                Err(error.with_hint(format!("write CAST(... AS {ty})")))
            }
            None => Err(no_cast(&expr.ty, ty).at_span(span)),
        }
    }

    /// Binds an explicit cast.
    pub(super) fn cast(
        &mut self,
        operand: &ast::Expr,
        data_type: &ast::DataType,
        lenient: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        if let Some(identifiers) = identifier_type(data_type) {
            return self.cast_to_identifier(operand, identifiers, lenient, data_type.span, cx);
        }
        let ty = self.data_type(data_type)?;
        let value = self.expr(operand, cx)?;
        if !lenient {
            if value.ty == ty && *open_type(&value) != ty {
                return self.cast_to(value, &ty, false);
            }
            return self.coerce(value, &ty, CastContext::Explicit);
        }
        let value = self.with_parameter_type(value, &ty);
        let value = if is_read_from_json(&value.ty, &ty) { self.text_of_json(value)? } else { value };
        let value = if value.ty == SqlType::Unknown { self.settle(value) } else { value };
        if let Some(converted) = self.json_cast(&value, &ty, true) {
            return converted;
        }
        let from = open_type(&value);
        match value.ty == ty || cast_kind(&from, &ty).is_some() {
            true => {
                let value = self.with_parts_of(value, &ty)?;
                self.cast_to(value, &ty, true)
            }
            false => Err(no_cast(&value.ty, &ty)),
        }
    }

    /// Casts an expression, where the caller knows the cast to be possible.
    fn cast_to(&mut self, expr: Expr, ty: &SqlType, lenient: bool) -> Result<Expr> {
        match self.zone_of_cast(&expr.ty, ty) {
            Some(zone) => self.cast_in_zone(&zone, expr, ty, lenient),
            None => Ok(plain_cast(expr, ty, lenient)),
        }
    }

    /// Returns the text of a JSON value, from which it is converted to a number, a date and so on: a string without its
    /// quotes and escapes; NULL for null.
    fn text_of_json(&mut self, expr: Expr) -> Result<Expr> {
        let span = expr.span;
        let whole = Expr::literal(Value::text("$"), SqlType::Varchar).at(span);
        self.call_scalar("json_extract_string", vec![expr, whole], span)
    }

    /// Casts JSON to a nested type, or a value to JSON, by the functions that do so; `None` for other casts.
    fn json_cast(&mut self, expr: &Expr, ty: &SqlType, lenient: bool) -> Option<Result<Expr>> {
        let span = expr.span;
        match (&expr.ty, ty) {
            (SqlType::Json, nested) if nested.is_nested() => {
                let name = if lenient { "json_transform" } else { "json_transform_strict" };
                Some(self.call_scalar(name, vec![expr.clone(), Expr::null(nested.clone()).at(span)], span))
            }
            (SqlType::Json | SqlType::Varchar | SqlType::Unknown, SqlType::Json) => None,
            (_, SqlType::Json) => Some(self.call_scalar("to_json", vec![expr.clone()], span)),
            _ => None,
        }
    }

    /// Casts values to their common type. If there is none, the error mentions `what` they belong to.
    pub(crate) fn unify(&mut self, mut exprs: Vec<Expr>, what: &str) -> Result<(Vec<Expr>, SqlType)> {
        adapt_to_unsigned(&mut exprs);
        let mut common = SqlType::Unknown;
        for expr in &exprs {
            let ty = self.type_so_far(expr);
            common = common_type(&common, &ty).ok_or_else(|| mixed(what, &common, expr))?;
        }
        let ty = match common {
            SqlType::Unknown => {
                let has_text = exprs.iter().any(|expr| !expr.as_literal().is_some_and(Value::is_null));
                if has_text { SqlType::Varchar } else { SqlType::Integer }
            }
            common => closed(&common),
        };
        let exprs = exprs.into_iter().map(|expr| self.coerce(expr, &ty, CastContext::Explicit));
        Ok((exprs.collect::<Result<_>>()?, ty))
    }

    /// Returns the type of an expression for the choice of an operator: a parameter has the type of its first use.
    pub(super) fn type_so_far<'e>(&self, expr: &'e Expr) -> Cow<'e, SqlType> {
        match expr.kind {
            ExprKind::Parameter(parameter) if expr.ty == SqlType::Unknown => {
                Cow::Owned(self.plan.parameter_info(parameter).ty.clone())
            }
            _ => open_type(expr),
        }
    }

    /// Gives the type to a parameter that has none; leaves everything else unchanged.
    pub(super) fn with_parameter_type(&mut self, expr: Expr, ty: &SqlType) -> Expr {
        let ExprKind::Parameter(parameter) = expr.kind else { return expr };
        if expr.ty != SqlType::Unknown {
            return expr;
        }
        let info = self.plan.parameter_info_mut(parameter);
        if info.ty == SqlType::Unknown {
            info.ty = closed(ty);
        }
        Expr { ty: info.ty.clone(), ..expr }
    }

    /// Binds an expression that must be BOOLEAN; `what` is its name in messages.
    pub(super) fn truth(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>, what: &str) -> Result<Expr> {
        let expr = self.expr(expr, cx)?;
        self.as_truth(expr, what)
    }

    /// Does the same for a bound expression.
    pub(crate) fn as_truth(&mut self, expr: Expr, what: &str) -> Result<Expr> {
        let expr = self.with_parameter_type(expr, &SqlType::Boolean);
        if *open_type(&expr) == SqlType::Unknown {
            return self.coerce(expr, &SqlType::Boolean, CastContext::Implicit);
        }
        if expr.ty == SqlType::Boolean {
            return Ok(expr);
        }
        let error = Error::user(format!("{what} must be BOOLEAN, this is {}", expr.ty));
        let error = error.with_code(SqlState::DATATYPE_MISMATCH).at_span(expr.span);
        Err(if expr.ty.is_numeric() { error.with_hint("compare it with a number: ... <> 0") } else { error })
    }
}

/// Casts the value to another type, taking times with a zone as UTC. A constant cast that doesn't depend on a zone is
/// computed at once, unless it fails: the value may never be needed.
fn plain_cast(expr: Expr, ty: &SqlType, lenient: bool) -> Expr {
    let span = expr.span;
    let from = open_type(&expr).into_owned();
    if let ExprKind::Literal(value) = &expr.kind
        && !mentions_zone(&from)
        && !mentions_zone(ty)
    {
        match cast_value(value, &from, ty) {
            // As a literal, an empty list or map would be open again: a cast keeps its type.
            Ok(value) if is_open(&value, ty) => {
                let input = Box::new(Expr::literal(value, ty.clone()).at(span));
                let nullable = input.nullable;
                return Expr::new(ExprKind::Cast { input, lenient }, ty.clone(), nullable).at(span);
            }
            Ok(value) => return Expr::literal(value, ty.clone()).at(span),
            Err(_) if lenient => return Expr::null(ty.clone()).at(span),
            Err(_) => {}
        }
    }
    if expr.ty == *ty {
        return expr;
    }
    let nullable = expr.nullable || lenient;
    Expr::new(ExprKind::Cast { input: Box::new(expr), lenient }, ty.clone(), nullable).at(span)
}

/// Whether casts of the type's values depend on a time zone.
fn mentions_zone(ty: &SqlType) -> bool {
    ty.has_part(&|part| matches!(part, SqlType::TimestampTz | SqlType::TimeTz))
}

/// Whether a JSON value becomes a value of the type by way of its text.
fn is_read_from_json(from: &SqlType, to: &SqlType) -> bool {
    *from == SqlType::Json && *to != SqlType::Json && *to != SqlType::Varchar && !to.is_nested()
}

/// Gives constants that aren't negative the type UHUGEINT beside a value of it: its common type with other integers is
/// DOUBLE.
pub(super) fn adapt_to_unsigned(exprs: &mut [Expr]) {
    if exprs.iter().all(|expr| expr.ty != SqlType::UHugeInt) {
        return;
    }
    for expr in exprs.iter_mut().filter(|expr| expr.ty.integer_range().is_some()) {
        if let Some(Value::Integer(value)) = expr.as_literal()
            && let Ok(value) = u128::try_from(*value)
        {
            *expr = Expr::literal(Value::UHuge(value), SqlType::UHugeInt).at(expr.span);
        }
    }
}

fn no_cast(from: &SqlType, to: &SqlType) -> Error {
    Error::user(format!("there is no cast from {from} to {to}")).with_code(SqlState::CANNOT_COERCE)
}

fn mixed(what: &str, common: &SqlType, other: &Expr) -> Error {
    let error = Error::user(format!("{what}: {common} and {} have no common type", other.ty));
    let error = error.with_code(SqlState::DATATYPE_MISMATCH).at_span(other.span);
    error.with_hint(format!("cast one of them: CAST(... AS {common})"))
}

/// Returns the error for an operator that doesn't exist for the types of its operands.
pub(super) fn no_operator(shown: &str, span: Span) -> Error {
    Error::user(format!("there is no {shown}")).with_code(SqlState::UNDEFINED_FUNCTION).at_span(span)
}
