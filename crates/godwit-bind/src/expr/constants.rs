//! Values that must be known before the query runs: arguments of table functions, options, sample sizes.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Arithmetic, Expr, ExprKind};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value, cast_value};

use super::constant_conditions::truth;
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::Scope;

impl Binder {
    /// Returns the value and type of an expression without columns, outside of a query.
    pub fn constant_value(&mut self, expr: &ast::Expr) -> Result<(Value, SqlType)> {
        self.constant(expr, Clause::Alone)
    }

    /// Returns the value and type of an expression without columns.
    pub(crate) fn constant(&mut self, expr: &ast::Expr, clause: Clause) -> Result<(Value, SqlType)> {
        self.constant_in(&Scope::default(), expr, clause)
    }

    /// Does the same where names may stand for constants: parameters of a macro.
    pub(crate) fn constant_in(
        &mut self,
        scope: &Scope<'_>,
        expr: &ast::Expr,
        clause: Clause,
    ) -> Result<(Value, SqlType)> {
        let folded = self.folded_in(scope, expr, clause)?;
        match folded.kind {
            ExprKind::Literal(value) => Ok((value, folded.ty)),
            _ if folded.any(|part| matches!(part.kind, ExprKind::Parameter(_))) => {
                let error = Error::user(format!("{} needs the value of a parameter here", clause.name()));
                let error = error.with_code(SqlState::UNDEFINED_PARAMETER).at_span(expr.span);
                Err(error.with_hint("PREPARE the statement: it is planned when EXECUTE gives the value"))
            }
            _ => {
                let error = Error::user(format!("{} needs a constant here", clause.name()));
                let error = error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(expr.span);
                Err(error.with_hint("a value that is known before the query runs: no column or subquery"))
            }
        }
    }

    /// Binds an expression over the names of a scope, and computes its constant parts.
    pub(crate) fn folded_in(&mut self, scope: &Scope<'_>, expr: &ast::Expr, clause: Clause) -> Result<Expr> {
        let mut collected = Collected::default();
        let mut cx = ExprContext { scope, clause, collected: &mut collected, windows: &[] };
        let bound = self.settled(expr, &mut cx)?;
        self.folded(bound).map_err(|error| error.at_span(expr.span))
    }

    /// Computes the constant parts of an expression, from the leaves up. Parts that the registry leaves to the executor
    /// are unchanged.
    fn folded(&self, expr: Expr) -> Result<Expr> {
        let mut failed = None;
        let expr = expr.map_children(&mut |part| {
            self.folded(part).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Expr::boolean(false)
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if !expr.children().iter().all(|part| matches!(part.kind, ExprKind::Literal(_) | ExprKind::Lambda(..))) {
            return Ok(expr);
        }
        let value = match &expr.kind {
            ExprKind::Cast { input, lenient } => {
                let value = input.as_literal().map(|value| cast_value(value, &input.ty, &expr.ty));
                match value {
                    Some(Err(_)) if *lenient => Some(Ok(Value::Null)),
                    other => other,
                }
            }
            ExprKind::Arithmetic(op, left, right) if expr.ty.is_integer() && *op != Arithmetic::Divide => {
                whole(*op, left, right, &expr.ty).or_else(|| self.environment.functions().evaluate(&expr))
            }
            ExprKind::Coalesce(values) => {
                let values = values.iter().filter_map(Expr::as_literal);
                Some(Ok(values.into_iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null)))
            }
            ExprKind::Try(input) => input.as_literal().map(|value| Ok(value.clone())),
            ExprKind::Negate(input) if expr.ty.is_integer() => {
                whole(Arithmetic::Subtract, &Expr::bigint(0), input, &expr.ty)
            }
            ExprKind::Column(_)
            | ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Subquery(_)
            | ExprKind::Lambda(..) => None,
            _ if expr.is_constant() => {
                let truth = || truth(&expr).map(|truth| Ok(truth.map_or(Value::Null, Value::Boolean)));
                self.environment.functions().evaluate(&expr).or_else(truth)
            }
            _ => None,
        };
        match value.transpose()? {
            Some(value) => Ok(Expr::literal(value, expr.ty).at(expr.span)),
            None => Ok(expr),
        }
    }
}

/// Computes a sum, difference or product of integers; `None` if it is something else, or out of range.
fn whole(op: Arithmetic, left: &Expr, right: &Expr, ty: &SqlType) -> Option<Result<Value>> {
    let (Value::Integer(left), Value::Integer(right)) = (left.as_literal()?, right.as_literal()?) else { return None };
    let value = match op {
        Arithmetic::Add => left.checked_add(*right),
        Arithmetic::Subtract => left.checked_sub(*right),
        Arithmetic::Multiply => left.checked_mul(*right),
        Arithmetic::Divide | Arithmetic::Modulo => None,
    }?;
    let (min, max) = ty.integer_range()?;
    (min..=max).contains(&value).then_some(Ok(Value::Integer(value)))
}
