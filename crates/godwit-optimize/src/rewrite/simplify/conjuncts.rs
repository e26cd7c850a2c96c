//! Simplification of a condition's conjuncts taken together.
//!
//! For each value that is compared with constants, the remaining range is tracked: `a > 1 AND a > 3` is `a > 3`, `a = 5
//! AND a > 3` is `a = 5`, `a < 1 AND a > 3` is never TRUE. Only conditions are handled here: NULL fails them just as
//! FALSE does.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use godwit_plan::{Comparison, Expr, ExprKind, ValueRange};
use godwit_types::{SqlType, Value, compare_values};

use crate::properties::Ranges;

/// Removes conjuncts that others imply; returns FALSE alone if they contradict each other.
pub(crate) fn simplify_conjuncts(conjuncts: Vec<Expr>, ranges: &Ranges) -> Vec<Expr> {
    let conjuncts: Vec<Expr> = conjuncts.into_iter().flat_map(Expr::into_conjuncts).collect();
    let Some(verdicts) = verdicts(&conjuncts, ranges) else { return vec![Expr::boolean(false)] };
    let kept = conjuncts.into_iter().zip(verdicts).filter_map(|(conjunct, verdict)| match verdict {
        Verdict::Keep => Some(conjunct),
        Verdict::Drop => None,
        Verdict::Replace(other) => Some(other),
    });
    let kept: Vec<Expr> = kept.collect();
    match kept.iter().any(|conjunct| matches!(conjunct.kind, ExprKind::Literal(_))) {
        true => vec![Expr::boolean(false)],
        false => kept,
    }
}

/// What happens to a conjunct.
enum Verdict {
    Keep,
    Drop,
    Replace(Expr),
}

/// Returns a verdict for each conjunct; `None` if no row passes all of them.
fn verdicts(conjuncts: &[Expr], ranges: &Ranges) -> Option<Vec<Verdict>> {
    let mut verdicts = Vec::with_capacity(conjuncts.len());
    let mut seen = HashSet::new();
    let mut bounds: HashMap<&Expr, Bounds<'_>> = HashMap::new();
    for (position, conjunct) in conjuncts.iter().enumerate() {
        if conjuncts.len() > 1 && !conjunct.is_volatile() && !seen.insert(conjunct) {
            verdicts.push(Verdict::Drop);
            continue;
        }
        verdicts.push(Verdict::Keep);
        if let Some((value, test)) = test_of(conjunct) {
            bounds.entry(value).or_default().tests.push((position, test));
        }
    }
    let passes = bounds.iter().all(|(value, bounds)| {
        let proven = value.as_column().and_then(|column| ranges.get(column));
        bounds.apply(value, proven, &mut verdicts)
    });
    passes.then_some(verdicts)
}

/// A test that a conjunct applies to a value.
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

/// Tests of a value, by the positions of their conjuncts.
#[derive(Default)]
struct Bounds<'e> {
    tests: Vec<(usize, Test<'e>)>,
}

impl Bounds<'_> {
    /// Removes implied tests; returns false if no value passes all of them.
    fn apply(&self, value: &Expr, proven: Option<ValueRange>, verdicts: &mut [Verdict]) -> bool {
        match self.candidates(&value.ty) {
            Some((position, candidates)) => self.apply_candidates(value, position, candidates, verdicts),
            None => self.apply_range(value, proven, verdicts),
        }
    }

    /// Returns the fewest values that remain possible, and the position of the test that lists them.
    fn candidates(&self, ty: &SqlType) -> Option<(usize, Vec<&Value>)> {
        let lists = self.tests.iter().filter_map(|(position, test)| match test {
            Test::Compare(Comparison::Equal, value) => Some((*position, vec![*value])),
            Test::In(list) => Some((*position, list.clone())),
            Test::Compare(..) => None,
        });
        let (at, list) = lists.min_by_key(|(_, list)| list.len())?;
        let low = self.tightest([Comparison::Greater, Comparison::GreaterOrEqual], Ordering::Greater, ty);
        let high = self.tightest([Comparison::Less, Comparison::LessOrEqual], Ordering::Less, ty);
        let is_inside = |value: &Value| {
            let bounds = low.iter().chain(&high);
            bounds.into_iter().all(|(_, comparison, bound)| comparison.holds(compare_values(value, bound, ty)))
        };
        let others: Vec<Sorted<'_>> =
            self.tests.iter().filter(|(position, _)| *position != at).filter_map(|(_, test)| test.sorted(ty)).collect();
        let excluded = self.tests.iter().filter_map(|(_, test)| match test {
            Test::Compare(Comparison::NotEqual, value) => Some(*value),
            _ => None,
        });
        let excluded = Sorted::new(excluded.collect(), ty);
        let passes = |value: &&Value| {
            is_inside(value) && !excluded.contains(value) && others.iter().all(|list| list.contains(value))
        };
        Some((at, list.into_iter().filter(passes).collect()))
    }

    fn apply_candidates(&self, value: &Expr, at: usize, candidates: Vec<&Value>, verdicts: &mut [Verdict]) -> bool {
        if candidates.is_empty() {
            return false;
        }
        let literal = |constant: &&Value| Expr::literal((*constant).clone(), value.ty.clone());
        let mut before = 0;
        for (position, test) in &self.tests {
            match test {
                _ if *position != at => verdicts[*position] = Verdict::Drop,
                Test::In(list) => before = list.len(),
                Test::Compare(..) => before = 1,
            }
        }
        if candidates.len() < before {
            verdicts[at] = Verdict::Replace(match candidates.as_slice() {
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
    fn apply_range(&self, value: &Expr, proven: Option<ValueRange>, verdicts: &mut [Verdict]) -> bool {
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
                verdicts[*position] = Verdict::Drop;
                continue;
            }
            match proven.and_then(|range| decide(*comparison, constant, range)) {
                Some(false) => return false,
                Some(true) => {
                    verdicts[*position] = match value.nullable {
                        true => Verdict::Replace(value.clone().is_null().negated()),
                        false => Verdict::Drop,
                    };
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

impl<'e> Test<'e> {
    /// Returns the only values that pass, if they are listed.
    fn sorted<'t>(&self, ty: &'t SqlType) -> Option<Sorted<'t>>
    where
        'e: 't,
    {
        match self {
            Test::Compare(Comparison::Equal, value) => Some(Sorted::new(vec![*value], ty)),
            Test::In(list) => Some(Sorted::new(list.clone(), ty)),
            Test::Compare(..) => None,
        }
    }
}

/// Sorted values of a type, for searching.
struct Sorted<'t> {
    values: Vec<&'t Value>,
    ty: &'t SqlType,
}

impl<'t> Sorted<'t> {
    fn new(mut values: Vec<&'t Value>, ty: &'t SqlType) -> Self {
        values.sort_by(|a, b| compare_values(a, b, ty));
        Self { values, ty }
    }

    fn contains(&self, value: &Value) -> bool {
        self.values.binary_search_by(|known| compare_values(known, value, self.ty)).is_ok()
    }
}

/// Returns the result of a comparison with a constant if it is the same for all values of a range.
fn decide(comparison: Comparison, constant: &Value, range: ValueRange) -> Option<bool> {
    let constant = match *constant {
        Value::Integer(value) => value,
        Value::Date(days) => i128::from(days),
        Value::Time(ticks) | Value::Timestamp(ticks) => i128::from(ticks),
        _ => return None,
    };
    let (least, greatest) = (comparison.holds(range.min.cmp(&constant)), comparison.holds(range.max.cmp(&constant)));
    let is_monotone = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    let is_outside = constant < range.min || constant > range.max;
    (least == greatest && (is_monotone || is_outside)).then_some(least)
}
