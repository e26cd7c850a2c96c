//! Elements as keys that compare as SQL values do.
//!
//! ```text
//! booleans, integers, dates, times, floats      i64, of the same order; −0 is 0, all NaN are one
//! HUGEINT, long decimals, intervals             i128; an interval is its length
//! texts, BLOBs, nested values                   bytes
//! ```
//!
//! Code that compares elements is compiled three times, however many types there are.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_buffer::ScalarBuffer;
use godwit_common::Result;
use godwit_types::{SqlType, Value, order_key, order_key_type};
use godwit_vector::kernels::hash::{hash_bytes, hash_integer};
use godwit_vector::sql::{Reader, sql_interval, vector_of_values};
use godwit_vector::{Bitmap, Flat, StrColumn, Vector, from_arrow, nested_to_bytes};

use crate::rows::strided;

pub(crate) enum Content {
    Words(ScalarBuffer<i64>),
    Wide(ScalarBuffer<i128>),
    Bytes(StrColumn),
}

/// The keys of values, one for each row or one for all.
pub(crate) struct Keys {
    pub(crate) content: Content,
    validity: Option<Arc<Bitmap>>,
    stride: usize,
}

/// Keys of one kind.
pub(crate) trait Typed {
    type Key<'a>: Ord + Copy
    where
        Self: 'a;

    fn key(&self, at: usize) -> Self::Key<'_>;

    fn hash(key: Self::Key<'_>) -> u64;
}

impl Typed for ScalarBuffer<i64> {
    type Key<'a> = i64;

    #[inline]
    fn key(&self, at: usize) -> i64 {
        self[at]
    }

    #[inline]
    fn hash(key: i64) -> u64 {
        hash_integer(key)
    }
}

impl Typed for ScalarBuffer<i128> {
    type Key<'a> = i128;

    #[inline]
    fn key(&self, at: usize) -> i128 {
        self[at]
    }

    #[inline]
    fn hash(key: i128) -> u64 {
        hash_integer(key as i64 ^ (key >> 64) as i64)
    }
}

impl Typed for StrColumn {
    type Key<'a> = &'a [u8];

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        self.get(at)
    }

    #[inline]
    fn hash(key: &[u8]) -> u64 {
        hash_bytes(key)
    }
}

/// Runs `$body` with the typed keys of one content, or of two of the same type.
macro_rules! match_keys {
    ($keys:expr, $typed:ident => $body:expr) => {
        match &$keys.content {
            $crate::list::keys::Content::Words($typed) => $body,
            $crate::list::keys::Content::Wide($typed) => $body,
            $crate::list::keys::Content::Bytes($typed) => $body,
        }
    };
    ($left:expr, $right:expr, $a:ident, $b:ident => $body:expr) => {{
        use $crate::list::keys::Content;
        match (&$left.content, &$right.content) {
            (Content::Words($a), Content::Words($b)) => $body,
            (Content::Wide($a), Content::Wide($b)) => $body,
            (Content::Bytes($a), Content::Bytes($b)) => $body,
            _ => unreachable!("values of one type have keys of one kind"),
        }
    }};
}
pub(crate) use match_keys;

impl Keys {
    pub(crate) fn of(vector: &Vector, ty: &SqlType) -> Result<Self> {
        let (flat, stride) = strided(vector);
        let validity = vector.validity().cloned();
        Ok(Self { content: content(flat, ty)?, validity, stride })
    }

    /// Returns the keys of an array's elements.
    pub(crate) fn of_array(array: &ArrayRef, ty: &SqlType) -> Result<Self> {
        Self::of(&from_arrow(array)?, ty)
    }

    /// Returns the index of a row's key; `None` for NULL.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        self.is_valid(row).then_some(row * self.stride)
    }

    #[inline]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.get(row))
    }
}

fn content(flat: Flat, ty: &SqlType) -> Result<Content> {
    fn words<T: Copy>(values: &[T], word: impl Fn(T) -> i64) -> Content {
        Content::Words(values.iter().map(|&value| word(value)).collect())
    }
    Ok(match flat {
        Flat::I64(values) => Content::Words(values),
        Flat::I128(values) => Content::Wide(values),
        Flat::Str(strings) => Content::Bytes(strings),
        Flat::Bool(values) | Flat::U8(values) => words(&values, i64::from),
        Flat::I8(values) => words(&values, i64::from),
        Flat::I16(values) => words(&values, i64::from),
        Flat::I32(values) => words(&values, i64::from),
        Flat::U16(values) => words(&values, i64::from),
        Flat::U32(values) => words(&values, i64::from),
        Flat::U64(values) => words(&values, |value| (value ^ (1 << 63)) as i64),
        Flat::F32(values) => words(&values, |value| float_word(value.into())),
        Flat::F64(values) => words(&values, float_word),
        Flat::Nested(array) if *ty == SqlType::Interval => {
            let intervals = array.as_primitive::<IntervalMonthDayNanoType>().values();
            Content::Wide(intervals.iter().map(|&interval| sql_interval(interval).estimate()).collect())
        }
        Flat::Nested(array) => {
            let vector = from_arrow(&array)?;
            let bytes = match order_key_type(ty) {
                None => nested_to_bytes(&vector)?,
                Some(key_type) => {
                    let reader = Reader::new(&vector, ty)?;
                    let keys = (0..vector.len()).map(|row| reader.value(row).map(|value| order_key(&value)));
                    nested_to_bytes(&vector_of_values(&keys.collect::<Result<Vec<Value>>>()?, &key_type)?)?
                }
            };
            Content::Bytes(bytes.to_flat().strings().clone())
        }
    })
}

/// Returns an integer with the same order as a float.
#[inline]
fn float_word(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[cfg(test)]
mod tests {
    use godwit_types::{compare_values, parse_value};

    use super::*;

    #[test]
    fn keys_are_in_the_order_of_values() {
        let cases: [(SqlType, &[&str]); 7] = [
            (SqlType::Double, &["-inf", "-1.5", "-0", "0", "5e-324", "2", "inf", "nan"]),
            (SqlType::Real, &["-inf", "-1.5", "-0", "0", "2", "nan"]),
            (SqlType::UBigInt, &["0", "1", "18446744073709551615"]),
            (SqlType::HugeInt, &["-99999999999999999999", "0", "99999999999999999999"]),
            (SqlType::Interval, &["-1 month", "1 day", "24 hours", "29 days", "30 days", "1 month"]),
            (SqlType::list_of(SqlType::Interval), &["[]", "[1 day]", "[24 hours]", "[1 day, NULL]", "[NULL]"]),
            (SqlType::list_of(SqlType::Varchar), &["[]", "['']", "[a, b]", "[ä]", "[NULL]"]),
        ];
        for (ty, texts) in cases {
            let values: Vec<Value> = texts.iter().map(|text| parse_value(text, &ty).unwrap()).collect();
            let keys = Keys::of(&vector_of_values(&values, &ty).unwrap(), &ty).unwrap();
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate() {
                    let order = match_keys!(keys, typed => Ord::cmp(&typed.key(i), &typed.key(j)));
                    assert_eq!(order, compare_values(a, b, &ty), "{a:?} {b:?}");
                }
            }
        }
    }
}
