//! AND, OR and NOT. With NULL between FALSE and TRUE, AND is the minimum and OR the maximum of its operands, and NOT
//! reverses the order: the lattice laws hold (absorption, distribution, De Morgan), those of complements only without
//! NULL.

use std::collections::HashSet;

use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::{SqlType, Value};

/// Returns the operands of AND or OR, and which of the two it is.
fn operands(expr: &Expr) -> Option<(&[Expr], bool)> {
    match &expr.kind {
        ExprKind::And(all) => Some((all, true)),
        ExprKind::Or(all) => Some((all, false)),
        _ => None,
    }
}

fn combine(all: impl IntoIterator<Item = Expr>, is_and: bool) -> Expr {
    if is_and { Expr::and(all) } else { Expr::or(all) }
}

fn is_boolean(expr: &Expr, value: bool) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Boolean(own)) if own == value)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Null))
}

/// `NOT (a = b)` is `a <> b`, `NOT (a AND b)` is `NOT a OR NOT b`, `NOT NOT a` is a.
pub(super) fn push_not(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::Not(input) => negated(input),
        _ => None,
    }
}

/// Returns the negation, unless it is best written as NOT.
fn negated(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::Not(input) => Some((**input).clone()),
        ExprKind::Compare(comparison, a, b) => {
            let kind = ExprKind::Compare(comparison.negated(), a.clone(), b.clone());
            Some(Expr { kind, ..expr.clone() })
        }
        ExprKind::And(all) | ExprKind::Or(all) => {
            let parts = all.iter().map(|part| negated(part).unwrap_or_else(|| part.clone().negated()));
            Some(combine(parts, matches!(expr.kind, ExprKind::Or(_))))
        }
        ExprKind::Literal(Value::Boolean(value)) => Some(Expr::boolean(!value)),
        ExprKind::Literal(Value::Null) => Some(expr.clone()),
        _ => None,
    }
}

/// `a AND (b AND c)` is `a AND b AND c`; the same for OR.
pub(super) fn flatten(expr: &Expr) -> Option<Expr> {
    let (all, is_and) = operands(expr)?;
    let nested = all.iter().any(|part| operands(part).is_some_and(|(_, inner)| inner == is_and));
    nested.then(|| combine(all.iter().cloned(), is_and))
}

/// `a AND TRUE` is a, `a AND FALSE` is FALSE; OR the other way round.
pub(super) fn drop_constants(expr: &Expr) -> Option<Expr> {
    let (all, is_and) = operands(expr)?;
    if all.iter().any(|part| is_boolean(part, !is_and)) {
        return Some(Expr::boolean(!is_and));
    }
    let neutral = all.iter().any(|part| is_boolean(part, is_and));
    neutral.then(|| combine(all.iter().filter(|part| !is_boolean(part, is_and)).cloned(), is_and))
}

/// `a AND a` is a; the same for OR.
pub(super) fn drop_duplicates(expr: &Expr) -> Option<Expr> {
    let (all, is_and) = operands(expr)?;
    let mut seen = HashSet::new();
    let kept: Vec<&Expr> = all.iter().filter(|part| part.is_volatile() || seen.insert(*part)).collect();
    (kept.len() < all.len()).then(|| combine(kept.into_iter().cloned(), is_and))
}

/// `a AND NOT a` is FALSE, `a OR NOT a` is TRUE, unless a may be NULL.
pub(super) fn contradict(expr: &Expr) -> Option<Expr> {
    let (all, is_and) = operands(expr)?;
    let seen: HashSet<&Expr> = all.iter().filter(|part| !part.nullable && !part.is_volatile()).collect();
    let opposite = |part: &&&Expr| match &part.kind {
        ExprKind::Not(input) => seen.contains(&**input),
        ExprKind::Compare(..) => negated(part).is_some_and(|negated| seen.contains(&negated)),
        _ => false,
    };
    seen.iter().any(|part| opposite(&part)).then(|| Expr::boolean(!is_and))
}

/// `a AND (a OR b)` is a, `a OR (a AND b)` is a.
pub(super) fn absorb(expr: &Expr) -> Option<Expr> {
    let (all, is_and) = operands(expr)?;
    let seen: HashSet<&Expr> = all.iter().filter(|part| !part.is_volatile()).collect();
    let absorbed = |part: &Expr| match operands(part) {
        Some((inner, of_and)) => of_and != is_and && inner.iter().any(|part| seen.contains(part)),
        None => false,
    };
    let kept: Vec<&Expr> = all.iter().filter(|part| !absorbed(part)).collect();
    (kept.len() < all.len() && !kept.is_empty()).then(|| combine(kept.into_iter().cloned(), is_and))
}

/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
pub(super) fn factor_out(expr: &Expr) -> Option<Expr> {
    let ExprKind::Or(all) = &expr.kind else { return None };
    let factors = |part| match part {
        &Expr { kind: ExprKind::And(ref factors), .. } => factors.as_slice(),
        other => std::slice::from_ref(other),
    };
    let (first, rest) = all.split_first().expect("there are two operands at least");
    let mut common: HashSet<&Expr> = factors(first).iter().filter(|factor| !factor.is_volatile()).collect();
    for part in rest {
        let own: HashSet<&Expr> = factors(part).iter().collect();
        common.retain(|factor| own.contains(factor));
    }
    if common.is_empty() {
        return None;
    }
    let without = |part| Expr::and(factors(part).iter().filter(|factor| !common.contains(factor)).cloned());
    let remains: Vec<Expr> = all.iter().map(without).collect();
    let kept = factors(first).iter().filter(|factor| common.contains(factor)).cloned();
    // If nothing remains of an operand, the common factors imply the whole.
    let whole = remains.iter().any(|part| is_boolean(part, true));
    Some(Expr::and(kept.chain((!whole).then(|| Expr::or(remains)))))
}

/// `a = 1 OR a IN (2, 3)` is `a IN (1, 2, 3)`.
pub(super) fn collect_in_list(expr: &Expr) -> Option<Expr> {
    let ExprKind::Or(all) = &expr.kind else { return None };
    let mut lists: Vec<(&Expr, Vec<Expr>)> = Vec::new();
    let mut others: Vec<Expr> = Vec::new();
    for part in all {
        let Some((value, items)) = equal_to_one_of(part) else {
            others.push(part.clone());
            continue;
        };
        match lists.iter().position(|(known, _)| *known == value) {
            Some(at) => lists[at].1.extend_from_slice(items),
            None if lists.len() < LISTS_MAX => lists.push((value, items.to_vec())),
            None => others.push(part.clone()),
        }
    }
    if lists.len() + others.len() == all.len() {
        return None;
    }
    let joined = lists.into_iter().map(|(value, list)| match <[Expr; 1]>::try_from(list) {
        Ok([one]) => Expr::compare(Comparison::Equal, value.clone(), one),
        Err(list) => {
            let nullable = value.nullable || list.iter().any(|item| item.nullable);
            Expr::new(ExprKind::InList(Box::new(value.clone()), list), SqlType::Boolean, nullable)
        }
    });
    Some(Expr::or(joined.chain(others)))
}

/// Maximum number of different values for which lists are collected in one OR.
const LISTS_MAX: usize = 8;

fn equal_to_one_of(expr: &Expr) -> Option<(&Expr, &[Expr])> {
    let (value, items) = match &expr.kind {
        ExprKind::Compare(Comparison::Equal, value, item) => (&**value, std::slice::from_ref(&**item)),
        ExprKind::InList(value, items) => (&**value, items.as_slice()),
        _ => return None,
    };
    let constant = items.iter().all(|item| item.as_literal().is_some());
    (constant && value.as_literal().is_none() && !value.is_volatile()).then_some((value, items))
}

/// Simplifies an expression of which only TRUE counts: NULL is equivalent to FALSE.
pub(crate) fn as_condition(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Literal(Value::Null) => Expr::boolean(false),
        ExprKind::And(all) => {
            let all: Vec<Expr> = all.into_iter().map(as_condition).collect();
            if all.iter().any(|part| is_boolean(part, false)) { Expr::boolean(false) } else { Expr::and(all) }
        }
        ExprKind::Or(all) => {
            let all: Vec<Expr> = all.into_iter().map(as_condition).filter(|part| !is_boolean(part, false)).collect();
            if all.iter().any(|part| is_boolean(part, true)) { Expr::boolean(true) } else { Expr::or(all) }
        }
        // Two NULLs would give TRUE; otherwise NULL and FALSE differ only as values.
        ExprKind::Compare(Comparison::NotDistinct, ref a, ref b) if !a.nullable || !b.nullable => {
            if is_null(a) || is_null(b) {
                return Expr::boolean(false);
            }
            Expr::compare(Comparison::Equal, (**a).clone(), (**b).clone()).at(expr.span)
        }
        _ => expr,
    }
}
