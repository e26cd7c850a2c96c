//! Doubles that are decimals: prices, rates, measured values with a few places.
//!
//! If every double of a part is `integer / 10^exponent`, rounded, for one exponent, the integers are packed. Division by a
//! power of ten up to 10^22 rounds once, so decoding gives the same bits. Parts with a single exception (NaN, -0.0, a
//! value with more places) stay plain; lists of exceptions, as ALP has them, are not worth their branches here.
//!
//! Source: Afroozeh, Kuffo, Boncz, "ALP: Adaptive Lossless floating-Point Compression", without its exceptions.

use godwit_vector::ValueRange;

/// Most decimal places tried. More would leave integers too few digits of the 53 bits that a double has.
pub(crate) const EXPONENT_MAX: u8 = 14;

const POWERS: [f64; EXPONENT_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Integers up to here are exact as doubles.
const INTEGER_MAX: f64 = (1u64 << 53) as f64;

/// The integers of doubles.
pub(crate) struct Scaled {
    pub(crate) exponent: u8,
    pub(crate) integers: Vec<i64>,
    pub(crate) range: ValueRange,
}

/// The integer of a value, if decoding it gives the same bits.
fn scale(value: f64, exponent: u8) -> Option<i64> {
    let scaled = (value * POWERS[exponent as usize]).round();
    let is_exact = scaled.abs() <= INTEGER_MAX && unscale(scaled as i64, exponent).to_bits() == value.to_bits();
    is_exact.then_some(scaled as i64)
}

/// The double of an integer.
#[inline]
pub(crate) fn unscale(integer: i64, exponent: u8) -> f64 {
    integer as f64 / POWERS[exponent as usize]
}

/// Finds the smallest exponent for all values, of which `None` stands for NULL and becomes the smallest integer.
pub(crate) fn find(values: impl Iterator<Item = Option<f64>> + Clone) -> Option<Scaled> {
    let mut exponent = 0;
    // A value that needs more places than those before it raises the exponent for all.
    for value in values.clone().flatten() {
        exponent = (exponent..=EXPONENT_MAX).find(|&exponent| scale(value, exponent).is_some())?;
    }
    let mut range: Option<ValueRange> = None;
    let mut integers = Vec::new();
    for value in values.clone() {
        let integer = match value {
            None => i64::MIN,
            Some(value) => scale(value, exponent)?,
        };
        integers.push(integer);
        if value.is_some() {
            let integer = integer as i128;
            let known = range.get_or_insert(ValueRange { min: integer, max: integer });
            *known = ValueRange { min: known.min.min(integer), max: known.max.max(integer) };
        }
    }
    let range = range?;
    integers.iter_mut().for_each(|integer| *integer = (*integer).max(range.min as i64));
    Some(Scaled { exponent, integers, range })
}
