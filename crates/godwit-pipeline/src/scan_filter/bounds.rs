//! Bounds of a column's values, in a row group or a page, and what filters can conclude from them.
//!
//! A filter is *refuted* by bounds if it can't be TRUE for any row they describe. Comparisons with NULL aren't TRUE, so
//! NULLs never keep a row group from being pruned, except for IS NULL. Conditions that aren't understood refute
//! nothing.

use std::cmp::Ordering;

use godwit_plan::Comparison;
use godwit_types::{Value, compare_floats};
use godwit_vector::ValueRange;

use super::{Condition, Conjunct};

/// What is known about some rows of a column.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// A lower bound: no value is smaller.
    pub min: Option<Value>,
    /// An upper bound: no value is larger.
    pub max: Option<Value>,
    /// Number of NULLs.
    pub nulls: Option<u64>,
    /// Number of rows.
    pub rows: u64,
}

impl Bounds {
    fn all_null(&self) -> bool {
        self.nulls == Some(self.rows)
    }

    /// True if no value equals one in `range`.
    pub fn excludes(&self, range: ValueRange) -> bool {
        let min = self.min.as_ref().and_then(Value::as_integer);
        let max = self.max.as_ref().and_then(Value::as_integer);
        self.all_null() || min.is_some_and(|min| min > range.max) || max.is_some_and(|max| max < range.min)
    }

    /// True if `value comparison literal` is TRUE for no value.
    fn refutes(&self, comparison: Comparison, literal: &Value) -> bool {
        if self.all_null() || literal.is_null() {
            return true;
        }
        let min = || self.min.as_ref().and_then(|min| compare(min, literal));
        let max = || self.max.as_ref().and_then(|max| compare(max, literal));
        match comparison {
            Comparison::Equal => min() == Some(Ordering::Greater) || max() == Some(Ordering::Less),
            Comparison::NotEqual => min() == Some(Ordering::Equal) && max() == Some(Ordering::Equal),
            Comparison::Less => matches!(min(), Some(Ordering::Greater | Ordering::Equal)),
            Comparison::LessOrEqual => min() == Some(Ordering::Greater),
            Comparison::Greater => matches!(max(), Some(Ordering::Less | Ordering::Equal)),
            Comparison::GreaterOrEqual => max() == Some(Ordering::Less),
            _ => false,
        }
    }

    /// True if no value begins with `prefix`.
    fn refutes_prefix(&self, prefix: &[u8]) -> bool {
        let head = |text: &Value| text_of(text).map(|text| text.as_bytes()[..text.len().min(prefix.len())].cmp(prefix));
        self.all_null()
            || self.min.as_ref().and_then(head) == Some(Ordering::Greater)
            || self.max.as_ref().and_then(head) == Some(Ordering::Less)
    }
}

/// True if the condition is TRUE for no row, given the bounds of columns.
pub fn refuted(condition: &Condition, bounds: &dyn Fn(usize) -> Option<Bounds>) -> bool {
    match condition {
        Condition::Compare(column, comparison, value) => {
            bounds(*column).is_some_and(|bounds| bounds.refutes(*comparison, value))
        }
        Condition::OneOf(column, values) => {
            bounds(*column).is_some_and(|bounds| values.iter().all(|value| bounds.refutes(Comparison::Equal, value)))
        }
        Condition::StartsWith(column, prefix) => {
            bounds(*column).is_some_and(|bounds| bounds.refutes_prefix(prefix.as_bytes()))
        }
        Condition::IsNull(column) => bounds(*column).is_some_and(|bounds| bounds.nulls == Some(0)),
        Condition::IsNotNull(column) => bounds(*column).is_some_and(|bounds| bounds.all_null()),
        Condition::All(parts) => parts.iter().any(|part| refuted(part, bounds)),
        Condition::Any(parts) => parts.iter().all(|part| refuted(part, bounds)),
        Condition::Never => true,
        Condition::Other => false,
    }
}

/// The criteria that bounds are tested against.
pub struct Pruning<'a> {
    /// Conjuncts over columns of the table.
    pub filters: &'a [Conjunct],
    /// Columns of the table and the ranges of the keys that joins look for in them.
    pub key_ranges: Vec<(usize, ValueRange)>,
    /// Columns of the table and the hashes of the keys that joins look for in them, where these are few.
    pub key_hashes: Vec<(usize, Vec<u64>)>,
}

impl Pruning<'_> {
    /// True if none of the rows described by these bounds of columns passes.
    pub fn refutes(&self, bounds: &dyn Fn(usize) -> Option<Bounds>) -> bool {
        let excludes = |column, range| bounds(column).is_some_and(|bounds| bounds.excludes(range));
        self.filters.iter().any(|filter| refuted(&filter.condition, bounds))
            || self.key_ranges.iter().any(|&(column, range)| excludes(column, range))
    }
}

/// The order of two values of the same type; `None` if their types differ, or if bounds don't follow an order of the
/// type.
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Blob(a), Value::Blob(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => Some(compare_floats(*a, *b)),
        _ if std::mem::discriminant(a) == std::mem::discriminant(b) => Some(a.as_integer()?.cmp(&b.as_integer()?)),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use Comparison::*;
    use proptest::prelude::*;

    use super::*;

    fn integers(values: &[Option<i64>]) -> Bounds {
        let present = || values.iter().flatten();
        Bounds {
            min: present().min().map(|&v| Value::Integer(v.into())),
            max: present().max().map(|&v| Value::Integer(v.into())),
            nulls: Some(values.iter().filter(|v| v.is_none()).count() as u64),
            rows: values.len() as u64,
        }
    }

    proptest! {
        #[test]
        fn what_is_refuted_has_no_row(values in prop::collection::vec(prop::option::of(-9i64..9), 1..6), a in -12i64..12, b in -12i64..12) {
            let bounds = integers(&values);
            let known = |_: usize| Some(bounds.clone());
            let is = |comparison, value: i64| Condition::Compare(0, comparison, Value::Integer(value.into()));
            let present = |test: &dyn Fn(i64) -> bool| values.iter().flatten().any(|&v| test(v));
            let either = vec![Value::Integer(a.into()), Value::Integer(b.into())];
            let cases: Vec<(Condition, bool)> = vec![
                (is(Equal, a), present(&|v| v == a)),
                (is(NotEqual, a), present(&|v| v != a)),
                (is(Less, a), present(&|v| v < a)),
                (is(LessOrEqual, a), present(&|v| v <= a)),
                (is(Greater, a), present(&|v| a < v)),
                (is(GreaterOrEqual, a), present(&|v| a <= v)),
                (Condition::OneOf(0, either), present(&|v| v == a || v == b)),
                (Condition::All(vec![is(Greater, a), is(Less, b)]), present(&|v| v > a && v < b)),
                (Condition::Any(vec![is(Less, a), is(Greater, b)]), present(&|v| v < a || v > b)),
                (Condition::IsNull(0), values.contains(&None)),
                (Condition::IsNotNull(0), present(&|_| true)),
                (Condition::Other, true),
            ];
            for (condition, has_row) in cases {
                prop_assert!(!(refuted(&condition, &known) && has_row), "{condition:?} on {values:?}");
            }
            let range = ValueRange { min: a.min(b).into(), max: a.max(b).into() };
            let has_key = present(&|v| a.min(b) <= v && v <= a.max(b));
            prop_assert!(!(bounds.excludes(range) && has_key));
        }
    }

    #[test]
    fn bounds_decide_what_they_can() {
        let bounds =
            Bounds { min: Some(Value::text("banana")), max: Some(Value::text("cherry")), nulls: Some(0), rows: 9 };
        let known = |column: usize| (column == 0).then(|| bounds.clone());
        let is = |column, text: &str| Condition::Compare(column, Equal, Value::text(text));
        let starts = |text: &str| Condition::StartsWith(0, text.to_owned());
        for (condition, expected) in [
            (is(0, "apple"), true),
            (is(0, "blackberry"), false),
            (starts("d"), true),
            (starts("ba"), false),
            (starts("b"), false),
            (Condition::IsNull(0), true),
            (Condition::Never, true),
            (is(1, "apple"), false),
            (Condition::Any(vec![is(0, "apple"), is(1, "x")]), false),
            (Condition::Any(vec![is(0, "apple"), starts("d")]), true),
        ] {
            assert_eq!(refuted(&condition, &known), expected, "{condition:?}");
        }
    }
}
