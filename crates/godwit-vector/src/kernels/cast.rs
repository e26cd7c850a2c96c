//! Conversions between physical types, and changes of a decimal's scale.

use crate::kernels::arithmetic::{expand, unary};
use crate::kernels::compare::{Comparison, compare};
use crate::kernels::operand::Operand;
use crate::{Flat, PhysicalType, ValueRange, Vector, match_flat};

/// Returns the smallest and largest non-NULL values of an integer vector; `None` if there are none.
pub fn min_max(vector: &Vector) -> Option<ValueRange> {
    let operand = Operand::of(vector);
    macro_rules! fold {
        ($values:expr, $t:ty) => {{
            let (mut min, mut max) = (<$t>::MAX, <$t>::MIN);
            match vector.validity() {
                _ if operand.constant => {
                    if (0..vector.len()).any(|row| vector.is_valid(row)) {
                        (min, max) = ($values[0], $values[0]);
                    }
                }
                None => {
                    for &value in $values.iter() {
                        min = min.min(value);
                        max = max.max(value);
                    }
                }
                Some(validity) => {
                    for (row, &value) in $values.iter().enumerate() {
                        let valid = validity.get(row);
                        min = if valid { min.min(value) } else { min };
                        max = if valid { max.max(value) } else { max };
                    }
                }
            }
            (min <= max).then(|| ValueRange { min: min as i128, max: max as i128 })
        }};
    }
    match &operand.flat {
        Flat::Bool(v) | Flat::U8(v) => fold!(v, u8),
        Flat::I8(v) => fold!(v, i8),
        Flat::I16(v) => fold!(v, i16),
        Flat::I32(v) => fold!(v, i32),
        Flat::I64(v) => fold!(v, i64),
        Flat::I128(v) => fold!(v, i128),
        Flat::U16(v) => fold!(v, u16),
        Flat::U32(v) => fold!(v, u32),
        Flat::U64(v) => fold!(v, u64),
        other => panic!("{:?} is not an integer type", other.physical()),
    }
}

/// True if every non-NULL value is in the range.
pub fn all_in(vector: &Vector, range: ValueRange) -> bool {
    min_max(vector).is_none_or(|found| range.min <= found.min && found.max <= range.max)
}

/// Converts values to another numeric type, like Rust's `as`: integers wrap, floats are truncated and saturate.
/// Booleans count as 0 and 1.
pub fn convert(vector: &Vector, to: PhysicalType) -> Vector {
    use PhysicalType as P;
    if vector.physical() == to {
        return vector.clone();
    }
    let flat = Operand::of(vector).flat;
    macro_rules! numbers {
        ($t:ty) => {
            match_flat!(&flat,
                values => expand(values.iter().map(|&value| value as $t).collect::<Vec<$t>>(), vector),
                _strings => panic!("strings are parsed, not converted"),
                _array => panic!("nested values aren't numbers"))
        };
    }
    match to {
        P::I8 => numbers!(i8),
        P::I16 => numbers!(i16),
        P::I32 => numbers!(i32),
        P::I64 => numbers!(i64),
        P::I128 => numbers!(i128),
        P::U8 => numbers!(u8),
        P::U16 => numbers!(u16),
        P::U32 => numbers!(u32),
        P::U64 => numbers!(u64),
        P::F32 => numbers!(f32),
        P::F64 => numbers!(f64),
        P::Bool | P::Str | P::Nested => panic!("{to:?} is not numeric"),
    }
}

/// Runs `$body` with `$values` bound to the typed buffer of an integer vector.
macro_rules! match_integers {
    ($flat:expr, $values:ident => $body:expr) => {
        match $flat {
            Flat::I8($values) => $body,
            Flat::I16($values) => $body,
            Flat::I32($values) => $body,
            Flat::I64($values) => $body,
            Flat::I128($values) => $body,
            Flat::U8($values) => $body,
            Flat::U16($values) => $body,
            Flat::U32($values) => $body,
            Flat::U64($values) => $body,
            other => panic!("{:?} is not an integer type", other.physical()),
        }
    };
}

/// Returns integers as their difference from `min`, in the unsigned type `to`; wraps if the difference doesn't fit. The
/// inverse of [`add_wrapping`].
pub fn subtract_narrowing(vector: &Vector, min: i128, to: PhysicalType) -> Vector {
    let flat = Operand::of(vector).flat;
    // Exact modulo 2^64, which is all that an unsigned type of up to 64 bits keeps.
    let min = min as u64;
    macro_rules! differences {
        ($t:ty) => {
            match_integers!(&flat, values => {
                let differences = values.iter().map(|&value| (value as u64).wrapping_sub(min) as $t);
                expand(differences.collect::<Vec<$t>>(), vector)
            })
        };
    }
    match to {
        PhysicalType::U8 => differences!(u8),
        PhysicalType::U16 => differences!(u16),
        PhysicalType::U32 => differences!(u32),
        PhysicalType::U64 => differences!(u64),
        other => panic!("{other:?} is not an unsigned type"),
    }
}

/// Adds `min` to unsigned integers, with results in the integer type `to`; wraps if the sum doesn't fit.
pub fn add_wrapping(vector: &Vector, min: i128, to: PhysicalType) -> Vector {
    let flat = Operand::of(vector).flat;
    macro_rules! sums {
        ($t:ty) => {{
            let min = min as $t;
            match_integers!(&flat, values => {
                let sums = values.iter().map(|&value| (value as $t).wrapping_add(min));
                expand(sums.collect::<Vec<$t>>(), vector)
            })
        }};
    }
    match to {
        PhysicalType::I8 => sums!(i8),
        PhysicalType::I16 => sums!(i16),
        PhysicalType::I32 => sums!(i32),
        PhysicalType::I64 => sums!(i64),
        PhysicalType::I128 => sums!(i128),
        PhysicalType::U8 => sums!(u8),
        PhysicalType::U16 => sums!(u16),
        PhysicalType::U32 => sums!(u32),
        PhysicalType::U64 => sums!(u64),
        other => panic!("{other:?} is not an integer type"),
    }
}

/// Converts numbers to booleans: all but 0 are TRUE.
pub fn to_bool(vector: &Vector) -> Vector {
    let zero = Vector::constant(Flat::zeros(vector.physical(), 1), vector.len());
    compare(Comparison::NotEqual, vector, &zero)
}

/// Divides an `i64` or `i128` vector by `divisor` > 0, rounding half away from zero: a decimal of a smaller scale.
pub fn divide_rounded(vector: &Vector, divisor: i128) -> Vector {
    match i64::try_from(divisor) {
        Ok(divisor) if vector.physical() == PhysicalType::I64 => unary(vector, move |value: i64| {
            let (quotient, remainder) = (value / divisor, (value % divisor).abs());
            quotient + if remainder >= divisor - remainder { value.signum() } else { 0 }
        }),
        // The divisor is more than twice any value.
        Err(_) if vector.physical() == PhysicalType::I64 && divisor > 2 * (1 << 63) => unary(vector, |_: i64| 0i64),
        _ => {
            let wide = convert(vector, PhysicalType::I128);
            let result = unary(&wide, move |value: i128| {
                let (quotient, remainder) = (value / divisor, (value % divisor).abs());
                quotient + if remainder >= divisor - remainder { value.signum() } else { 0 }
            });
            convert(&result, vector.physical())
        }
    }
}
