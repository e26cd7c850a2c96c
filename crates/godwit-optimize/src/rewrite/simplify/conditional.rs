//! CASE.

use godwit_plan::{Expr, ExprKind};
use godwit_types::{SqlType, Value};

use super::boolean::as_condition;

/// (condition, value), in order.
type Branches = [(Expr, Expr)];

fn branches_of(expr: &Expr) -> Option<(&Branches, Option<&Expr>)> {
    match &expr.kind {
        ExprKind::Case { branches, otherwise } => Some((branches, otherwise.as_deref())),
        _ => None,
    }
}

/// Removes branches that are never taken, and everything after one that is always taken.
pub(super) fn shorten_case(expr: &Expr) -> Option<Expr> {
    let (branches, otherwise) = branches_of(expr)?;
    let mut kept = Vec::with_capacity(branches.len());
    let mut last = otherwise.cloned();
    for (condition, value) in branches {
        let condition = as_condition(condition.clone());
        match condition.as_literal() {
            Some(Value::Boolean(true)) => {
                last = Some(value.clone());
                break;
            }
            Some(_) => {}
            None => kept.push((condition, value.clone())),
        }
    }
    let last = last.filter(|value| !value.as_literal().is_some_and(Value::is_null));
    if kept.as_slice() == branches && last.as_ref() == otherwise {
        return None;
    }
    if kept.is_empty() {
        return Some(last.unwrap_or_else(|| Expr::null(expr.ty.clone())));
    }
    let nullable = last.as_ref().is_none_or(|value| value.nullable) || kept.iter().any(|(_, value)| value.nullable);
    Some(Expr::new(ExprKind::Case { branches: kept, otherwise: last.map(Box::new) }, expr.ty.clone(), nullable))
}

/// `CASE WHEN a THEN x ELSE x END` is `x`.
pub(super) fn case_of_one_value(expr: &Expr) -> Option<Expr> {
    let (branches, otherwise) = branches_of(expr)?;
    let value = otherwise?;
    let same = branches.iter().all(|(condition, own)| own == value && !condition.is_volatile());
    (same && !value.is_volatile()).then(|| value.clone())
}

/// `CASE WHEN a THEN TRUE ELSE FALSE END` is `a` if that can't be NULL; with the values swapped it is `NOT a`.
pub(super) fn case_as_condition(expr: &Expr) -> Option<Expr> {
    let (branches, otherwise) = branches_of(expr)?;
    let [(condition, value)] = branches else { return None };
    if expr.ty != SqlType::Boolean || condition.nullable {
        return None;
    }
    match (value.as_literal()?, otherwise?.as_literal()?) {
        (Value::Boolean(true), Value::Boolean(false)) => Some(condition.clone()),
        (Value::Boolean(false), Value::Boolean(true)) => Some(condition.clone().negated()),
        _ => None,
    }
}
