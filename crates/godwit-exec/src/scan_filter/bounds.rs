//! Bounds of a column's values, in a row group or a page, and what filters can conclude from them.
//!
//! A filter is *refuted* by bounds if it can't be TRUE for any row they describe. NULL comparisons aren't TRUE, so that
//! NULLs never keep a row group alive except for IS NULL. What isn't understood refutes nothing.

use std::cmp::Ordering;

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{Between, BinaryExpr, InList, Like};
use datafusion_expr::{Expr, Operator};
use godwit_expression::scalar_to_integer;
use godwit_vector::ValueRange;

/// What is known of some rows of a column.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// No value is smaller.
    pub min: Option<ScalarValue>,
    /// No value is larger.
    pub max: Option<ScalarValue>,
    /// How many are NULL.
    pub nulls: Option<u64>,
    /// How many rows there are.
    pub rows: u64,
}

impl Bounds {
    fn all_null(&self) -> bool {
        self.nulls == Some(self.rows)
    }

    /// True if no value equals one in `range`.
    pub fn excludes(&self, range: ValueRange) -> bool {
        let min = self.min.as_ref().and_then(scalar_to_integer);
        let max = self.max.as_ref().and_then(scalar_to_integer);
        self.all_null() || min.is_some_and(|min| min > range.max) || max.is_some_and(|max| max < range.min)
    }

    /// True if `value OP literal` is TRUE for no value.
    fn refutes(&self, operator: Operator, literal: &ScalarValue) -> bool {
        if self.all_null() || literal.is_null() {
            return true;
        }
        let min = || self.min.as_ref().and_then(|min| compare(min, literal));
        let max = || self.max.as_ref().and_then(|max| compare(max, literal));
        match operator {
            Operator::Eq => min() == Some(Ordering::Greater) || max() == Some(Ordering::Less),
            Operator::NotEq => min() == Some(Ordering::Equal) && max() == Some(Ordering::Equal),
            Operator::Lt => matches!(min(), Some(Ordering::Greater | Ordering::Equal)),
            Operator::LtEq => min() == Some(Ordering::Greater),
            Operator::Gt => matches!(max(), Some(Ordering::Less | Ordering::Equal)),
            Operator::GtEq => max() == Some(Ordering::Less),
            _ => false,
        }
    }

    /// True if no value begins with `prefix`.
    fn refutes_prefix(&self, prefix: &[u8]) -> bool {
        let head =
            |text: &ScalarValue| text_of(text).map(|text| text.as_bytes()[..text.len().min(prefix.len())].cmp(prefix));
        self.all_null()
            || self.min.as_ref().and_then(head) == Some(Ordering::Greater)
            || self.max.as_ref().and_then(head) == Some(Ordering::Less)
    }
}

/// True if the filter is TRUE for no row, given the bounds of columns by name.
pub fn refuted(filter: &Expr, bounds: &dyn Fn(&str) -> Option<Bounds>) -> bool {
    let of = |expr: &Expr| match expr {
        Expr::Column(column) => bounds(&column.name),
        _ => None,
    };
    match filter {
        Expr::Literal(value, _) => value.is_null() || *value == ScalarValue::Boolean(Some(false)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            refuted(left, bounds) || refuted(right, bounds)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            refuted(left, bounds) && refuted(right, bounds)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (column, Expr::Literal(value, _)) => of(column).is_some_and(|bounds| bounds.refutes(*op, value)),
            (Expr::Literal(value, _), column) => {
                let mirrored = op.swap();
                mirrored.is_some_and(|op| of(column).is_some_and(|bounds| bounds.refutes(op, value)))
            }
            _ => false,
        },
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let literal = |expr: &Expr| match expr {
                Expr::Literal(value, _) => Some(value.clone()),
                _ => None,
            };
            of(expr).is_some_and(|bounds| {
                literal(low).is_some_and(|low| bounds.refutes(Operator::GtEq, &low))
                    || literal(high).is_some_and(|high| bounds.refutes(Operator::LtEq, &high))
            })
        }
        Expr::InList(InList { expr, list, negated: false }) => of(expr).is_some_and(|bounds| {
            list.iter().all(|item| match item {
                Expr::Literal(value, _) => bounds.refutes(Operator::Eq, value),
                _ => false,
            })
        }),
        Expr::Like(Like { negated: false, expr, pattern, escape_char: None, case_insensitive: false }) => {
            let Expr::Literal(pattern, _) = &**pattern else { return false };
            let prefix = text_of(pattern).and_then(|text| text.split(['%', '_', '\\']).next());
            prefix.is_some_and(|prefix| {
                !prefix.is_empty() && of(expr).is_some_and(|bounds| bounds.refutes_prefix(prefix.as_bytes()))
            })
        }
        Expr::IsNull(expr) => of(expr).is_some_and(|bounds| bounds.nulls == Some(0)),
        Expr::IsNotNull(expr) => of(expr).is_some_and(|bounds| bounds.all_null()),
        _ => false,
    }
}

/// The order of two values; `None` if their types don't compare.
pub fn compare(a: &ScalarValue, b: &ScalarValue) -> Option<Ordering> {
    match (text_of(a), text_of(b)) {
        (Some(a), Some(b)) => Some(a.cmp(b)),
        _ => a.partial_cmp(b),
    }
}

fn text_of(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => text.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion_expr::{col, lit};
    use proptest::prelude::*;

    use super::*;

    fn integers(values: &[Option<i64>]) -> Bounds {
        let present = || values.iter().flatten();
        Bounds {
            min: present().min().map(|&v| ScalarValue::Int64(Some(v))),
            max: present().max().map(|&v| ScalarValue::Int64(Some(v))),
            nulls: Some(values.iter().filter(|v| v.is_none()).count() as u64),
            rows: values.len() as u64,
        }
    }

    proptest! {
        #[test]
        fn what_is_refuted_has_no_row(values in prop::collection::vec(prop::option::of(-9i64..9), 1..6), a in -12i64..12, b in -12i64..12) {
            let bounds = integers(&values);
            let known = |_: &str| Some(bounds.clone());
            let x = || col("x");
            let present = |test: &dyn Fn(i64) -> bool| values.iter().flatten().any(|&v| test(v));
            let cases: Vec<(Expr, bool)> = vec![
                (x().eq(lit(a)), present(&|v| v == a)),
                (x().not_eq(lit(a)), present(&|v| v != a)),
                (x().lt(lit(a)), present(&|v| v < a)),
                (x().lt_eq(lit(a)), present(&|v| v <= a)),
                (lit(a).lt(x()), present(&|v| a < v)),
                (lit(a).lt_eq(x()), present(&|v| a <= v)),
                (x().between(lit(a), lit(b)), present(&|v| a <= v && v <= b)),
                (x().in_list(vec![lit(a), lit(b)], false), present(&|v| v == a || v == b)),
                (x().gt(lit(a)).and(x().lt(lit(b))), present(&|v| v > a && v < b)),
                (x().lt(lit(a)).or(x().gt(lit(b))), present(&|v| v < a || v > b)),
                (x().is_null(), values.contains(&None)),
                (x().is_not_null(), present(&|_| true)),
            ];
            for (filter, has_row) in cases {
                prop_assert!(!(refuted(&filter, &known) && has_row), "{filter} on {values:?}");
            }
            let range = ValueRange { min: a.min(b).into(), max: a.max(b).into() };
            let has_key = present(&|v| a.min(b) <= v && v <= a.max(b));
            prop_assert!(!(bounds.excludes(range) && has_key));
        }
    }

    #[test]
    fn bounds_decide_what_they_can() {
        let bounds = Bounds {
            min: Some(ScalarValue::Utf8View(Some("banana".into()))),
            max: Some(ScalarValue::Utf8View(Some("cherry".into()))),
            nulls: Some(0),
            rows: 9,
        };
        let known = |name: &str| (name == "x").then(|| bounds.clone());
        for (filter, expected) in [
            (col("x").eq(lit("apple")), true),
            (col("x").eq(lit("blackberry")), false),
            (col("x").like(lit("d%")), true),
            (col("x").like(lit("ba%")), false),
            (col("x").like(lit("b%")), false),
            (col("x").like(lit("%a")), false),
            (col("x").is_null(), true),
            (col("y").eq(lit("apple")), false),
            (col("x").eq(lit("apple")).or(col("y").eq(lit(1))), false),
        ] {
            assert_eq!(refuted(&filter, &known), expected, "{filter}");
        }
    }
}
