//! Conjuncts of a condition, looked at together.
//!
//! For each value that is compared with constants, what is left of its range is kept: `a > 1 AND a > 3` is `a > 3`, `a
//! = 5 AND a > 3` is `a = 5`, `a < 1 AND a > 3` is never TRUE. Only conditions come here: a NULL fails them as FALSE
//! does.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use godwit_plan::{Comparison, Expr, ExprKind, ValueRange};
use godwit_types::{SqlType, Value, compare_values};

use super::super::fold::holds;
use crate::properties::Ranges;

/// The same conjuncts without those that others imply; FALSE alone if they contradict each other.
pub(crate) fn simplify_conjuncts(conjuncts: Vec<Expr>, ranges: &Ranges) -> Vec<Expr> {
    let mut seen = HashSet::new();
    let is_new = |conjunct: &Expr| conjunct.is_volatile() || seen.insert(conjunct.clone());
    let conjuncts: Vec<Expr> = conjuncts.into_iter().flat_map(Expr::into_conjuncts).filter(is_new).collect();
    let mut bounds: HashMap<&Expr, Bounds<'_>> = HashMap::new();
    for (position, conjunct) in conjuncts.iter().enumerate() {
        if let Some((value, test)) = test_of(conjunct) {
            bounds.entry(value).or_default().tests.push((position, test));
        }
    }
    let mut kept: Vec<Option<Expr>> = conjuncts.iter().cloned().map(Some).collect();
    for (value, bounds) in &bounds {
        let proven = value.as_column().and_then(|column| ranges.get(column));
        if !bounds.apply(value, proven, &mut kept) {
            return vec![Expr::boolean(false)];
        }
    }
    let kept: Vec<Expr> = kept.into_iter().flatten().collect();
    match kept.iter().any(|conjunct| matches!(conjunct.kind, ExprKind::Literal(_))) {
        true => vec![Expr::boolean(false)],
        false => kept,
    }
}

/// What a conjunct asks of a value.
enum Test<'e> {
    Compare(Comparison, &'e Value),
    In(Vec<&'e Value>),
}

fn test_of(conjunct: &Expr) -> Option<(&Expr, Test<'_>)> {
    let (value, test) = match &conjunct.kind {
        ExprKind::Compare(comparison, value, constant) if !comparison.is_null_safe() => {
            (&**value, Test::Compare(*comparison, constant.as_literal()?))
        }
        ExprKind::InList(value, list) => {
            let list = list.iter().map(Expr::as_literal).collect::<Option<Vec<_>>>()?;
            (&**value, Test::In(list.into_iter().filter(|value| !value.is_null()).collect()))
        }
        _ => return None,
    };
    let is_null = matches!(test, Test::Compare(_, Value::Null));
    (!is_null && value.as_literal().is_none() && !value.is_volatile() && !value.has_subquery()).then_some((value, test))
}

/// The tests of a value, by the positions of their conjuncts.
#[derive(Default)]
struct Bounds<'e> {
    tests: Vec<(usize, Test<'e>)>,
}

impl Bounds<'_> {
    /// Takes out what is implied; false if no value passes all tests.
    fn apply(&self, value: &Expr, proven: Option<ValueRange>, kept: &mut [Option<Expr>]) -> bool {
        let ty = &value.ty;
        match self.candidates(ty) {
            Some((position, candidates)) => self.apply_candidates(value, position, candidates, kept),
            None => self.apply_range(value, proven, kept),
        }
    }

    /// The fewest values that a test leaves, and its position.
    fn candidates(&self, ty: &SqlType) -> Option<(usize, Vec<&Value>)> {
        let lists = self.tests.iter().filter_map(|(position, test)| match test {
            Test::Compare(Comparison::Equal, value) => Some((*position, vec![*value])),
            Test::In(list) => Some((*position, list.clone())),
            Test::Compare(..) => None,
        });
        let (position, list) = lists.min_by_key(|(_, list)| list.len())?;
        let passes = |value: &&Value| self.tests.iter().all(|(_, test)| test.passes(value, ty));
        Some((position, list.into_iter().filter(passes).collect()))
    }

    fn apply_candidates(&self, value: &Expr, at: usize, candidates: Vec<&Value>, kept: &mut [Option<Expr>]) -> bool {
        if candidates.is_empty() {
            return false;
        }
        let literal = |constant: &&Value| Expr::literal((*constant).clone(), value.ty.clone());
        let unchanged = match kept[at].as_ref().map(|conjunct| &conjunct.kind) {
            Some(ExprKind::InList(_, list)) => list.len() == candidates.len(),
            _ => true,
        };
        for (position, _) in &self.tests {
            if *position != at {
                kept[*position] = None;
            }
        }
        if !unchanged {
            kept[at] = Some(match candidates.as_slice() {
                [one] => Expr::compare(Comparison::Equal, value.clone(), literal(one)),
                _ => {
                    let list = candidates.iter().map(literal).collect();
                    Expr::new(ExprKind::InList(Box::new(value.clone()), list), SqlType::Boolean, value.nullable)
                }
            });
        }
        true
    }

    /// Keeps the tightest bound of each side.
    fn apply_range(&self, value: &Expr, proven: Option<ValueRange>, kept: &mut [Option<Expr>]) -> bool {
        let ty = &value.ty;
        let low = self.tightest([Comparison::Greater, Comparison::GreaterOrEqual], Ordering::Greater, ty);
        let high = self.tightest([Comparison::Less, Comparison::LessOrEqual], Ordering::Less, ty);
        if let (Some((_, low_op, low)), Some((_, high_op, high))) = (&low, &high) {
            let order = compare_values(low, high, ty);
            let both_closed = *low_op == Comparison::GreaterOrEqual && *high_op == Comparison::LessOrEqual;
            if order.is_gt() || (order.is_eq() && !both_closed) {
                return false;
            }
        }
        for (position, test) in &self.tests {
            let Test::Compare(comparison, constant) = test else { continue };
            let best = match comparison {
                Comparison::Greater | Comparison::GreaterOrEqual => &low,
                Comparison::Less | Comparison::LessOrEqual => &high,
                _ => &None,
            };
            if best.as_ref().is_some_and(|(best, _, _)| best != position) {
                kept[*position] = None;
                continue;
            }
            match proven.and_then(|range| decide(*comparison, constant, range)) {
                Some(false) => return false,
                Some(true) => {
                    kept[*position] = value.nullable.then(|| value.clone().is_null().negated());
                }
                None => {}
            }
        }
        true
    }

    fn tightest(
        &self,
        comparisons: [Comparison; 2],
        tighter: Ordering,
        ty: &SqlType,
    ) -> Option<(usize, Comparison, &Value)> {
        let mut best: Option<(usize, Comparison, &Value)> = None;
        for (position, test) in &self.tests {
            let Test::Compare(comparison, value) = test else { continue };
            if !comparisons.contains(comparison) {
                continue;
            }
            let replaces = best.is_none_or(|(_, known, old)| {
                let order = compare_values(value, old, ty);
                let is_open = |comparison| matches!(comparison, Comparison::Greater | Comparison::Less);
                order == tighter || (order.is_eq() && is_open(*comparison) && !is_open(known))
            });
            if replaces {
                best = Some((*position, *comparison, value));
            }
        }
        best
    }
}

impl Test<'_> {
    fn passes(&self, value: &Value, ty: &SqlType) -> bool {
        match self {
            Test::Compare(comparison, constant) => holds(*comparison, compare_values(value, constant, ty)),
            Test::In(list) => list.iter().any(|item| compare_values(value, item, ty).is_eq()),
        }
    }
}

/// Is a comparison with a constant the same for all values of a range?
fn decide(comparison: Comparison, constant: &Value, range: ValueRange) -> Option<bool> {
    let constant = match *constant {
        Value::Integer(value) => value,
        Value::Date(days) => i128::from(days),
        Value::Time(ticks) | Value::Timestamp(ticks) => i128::from(ticks),
        _ => return None,
    };
    let (least, greatest) = (holds(comparison, range.min.cmp(&constant)), holds(comparison, range.max.cmp(&constant)));
    let is_monotone = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    let is_outside = constant < range.min || constant > range.max;
    (least == greatest && (is_monotone || is_outside)).then_some(least)
}
