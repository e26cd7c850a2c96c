//! Three-valued logic.

use std::sync::Arc;

use crate::kernels::select::bytes_to_bitmap;
use crate::{Bitmap, Data, Vector};

/// Returns the rows that are not NULL in either vector.
pub fn both_valid(a: &Vector, b: &Vector) -> Option<Arc<Bitmap>> {
    match (a.validity(), b.validity()) {
        (None, None) => None,
        (Some(validity), None) | (None, Some(validity)) => Some(validity.clone()),
        (Some(x), Some(y)) if Arc::ptr_eq(x, y) => Some(x.clone()),
        (Some(x), Some(y)) => Some(Arc::new(x.and(y))),
    }
}

/// AND: FALSE if either side is FALSE, else NULL if either is NULL.
pub fn and(a: &Vector, b: &Vector) -> Vector {
    connect(a, b, 0, |x, y| x & y)
}

/// OR: TRUE if either side is TRUE, else NULL if either is NULL.
pub fn or(a: &Vector, b: &Vector) -> Vector {
    connect(a, b, u64::MAX, |x, y| x | y)
}

/// Combines the bytes; a result is NULL if an operand is NULL and the other isn't the deciding value, whose bits are
/// `deciding`. Bytes of NULLs are arbitrary but 0 or 1, and a deciding byte overrides them.
fn connect(a: &Vector, b: &Vector, deciding: u64, combine: impl Fn(u8, u8) -> u8) -> Vector {
    let (left, right) = (a.to_flat(), b.to_flat());
    let (left, right) = (left.bools(), right.bools());
    let values: Vec<u8> = left.iter().zip(right).map(|(&x, &y)| combine(x, y)).collect();
    if !a.has_nulls() && !b.has_nulls() {
        return Vector::from_bools(values, None);
    }
    let (left_bits, right_bits) = (bytes_to_bitmap(left), bytes_to_bitmap(right));
    let valid = |vector: &Vector, word: usize| vector.validity().map_or(u64::MAX, |bitmap| bitmap.words()[word]);
    let words = (0..values.len().div_ceil(64))
        .map(|word| {
            let (left_valid, right_valid) = (valid(a, word), valid(b, word));
            let decided_left = left_valid & !(left_bits.words()[word] ^ deciding);
            let decided_right = right_valid & !(right_bits.words()[word] ^ deciding);
            left_valid & right_valid | decided_left | decided_right
        })
        .collect();
    let validity = Bitmap::from_words(words, values.len());
    Vector::from_bools(values, Some(validity))
}

/// NOT: NULL stays NULL.
pub fn not(a: &Vector) -> Vector {
    let inverted = |values: &[u8]| values.iter().map(|&value| (value == 0) as u8).collect::<Vec<u8>>();
    let result = match a.data() {
        Data::Constant(value) => Vector::constant(crate::Flat::Bool(inverted(value.bools()).into()), a.len()),
        Data::Flat(values) => Vector::from_bools(inverted(values.bools()), None),
        Data::Dictionary(..) => Vector::from_bools(inverted(a.to_flat().bools()), None),
    };
    result.with_validity(a.validity().cloned())
}

/// IS NULL, or IS NOT NULL if `negated`.
pub fn is_null(a: &Vector, negated: bool) -> Vector {
    match a.validity() {
        None => Vector::constant(crate::Flat::Bool(vec![negated as u8].into()), a.len()),
        Some(validity) => {
            let mut valid = validity.to_bytes();
            if !negated {
                valid.iter_mut().for_each(|byte| *byte ^= 1);
            }
            Vector::from_bools(valid, None)
        }
    }
}

/// IS TRUE or IS FALSE as booleans that are never NULL; `negated` for IS NOT.
pub fn is_value(a: &Vector, value: bool, negated: bool) -> Vector {
    let flat = a.to_flat();
    let mut bytes: Vec<u8> = flat.bools().iter().map(|&byte| ((byte != 0) == value) as u8).collect();
    if let Some(validity) = a.validity() {
        bytes.iter_mut().enumerate().for_each(|(row, byte)| *byte &= validity.get(row) as u8);
    }
    if negated {
        bytes.iter_mut().for_each(|byte| *byte ^= 1);
    }
    Vector::from_bools(bytes, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn booleans() -> impl Strategy<Value = Vec<(Option<bool>, Option<bool>)>> {
        prop::collection::vec((any::<Option<bool>>(), any::<Option<bool>>()), 1..200)
    }

    /// NULL rows hold a value that depends on the row, to detect kernels that use it.
    fn vector(values: &[Option<bool>]) -> Vector {
        let bytes = values.iter().enumerate().map(|(i, v)| v.unwrap_or(i % 2 == 0) as u8).collect();
        Vector::from_bools(bytes, Some(Bitmap::from_fn(values.len(), |i| values[i].is_some())))
    }

    fn values(vector: &Vector) -> Vec<Option<bool>> {
        let flat = vector.to_flat();
        (0..vector.len()).map(|i| vector.is_valid(i).then(|| flat.bools()[i] != 0)).collect()
    }

    fn map(
        rows: &[(Option<bool>, Option<bool>)],
        f: impl Fn(Option<bool>, Option<bool>) -> Option<bool>,
    ) -> Vec<Option<bool>> {
        rows.iter().map(|&(a, b)| f(a, b)).collect()
    }

    proptest! {
        #[test]
        fn logic_has_three_values(rows in booleans()) {
            let left: Vec<_> = rows.iter().map(|r| r.0).collect();
            let right: Vec<_> = rows.iter().map(|r| r.1).collect();
            let (a, b) = (vector(&left), vector(&right));
            prop_assert_eq!(values(&and(&a, &b)), map(&rows, |a, b| match (a, b) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }));
            prop_assert_eq!(values(&or(&a, &b)), map(&rows, |a, b| match (a, b) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }));
            prop_assert_eq!(values(&not(&a)), map(&rows, |a, _| a.map(|a| !a)));
            for negated in [false, true] {
                prop_assert_eq!(values(&is_null(&a, negated)), map(&rows, |a, _| Some(a.is_none() != negated)));
                for value in [false, true] {
                    prop_assert_eq!(values(&is_value(&a, value, negated)), map(&rows, |a, _| Some((a == Some(value)) != negated)));
                }
            }
        }
    }
}
