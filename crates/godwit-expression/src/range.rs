//! Interval arithmetic: the values that an expression can have, given those that its operands can have.
//!
//! All functions are exact or err on the wide side; `None` means that a result could leave the range of `i128`.

use godwit_vector::{Flat, ValueRange};

/// The integers from `min` to `max`.
pub fn new(min: i128, max: i128) -> ValueRange {
    debug_assert!(min <= max);
    ValueRange { min, max }
}

/// The range of a + b.
pub fn add(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    Some(new(a.min.checked_add(b.min)?, a.max.checked_add(b.max)?))
}

/// The range of a - b.
pub fn subtract(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    Some(new(a.min.checked_sub(b.max)?, a.max.checked_sub(b.min)?))
}

/// The range of a * b.
pub fn multiply(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    let corners =
        [a.min.checked_mul(b.min)?, a.min.checked_mul(b.max)?, a.max.checked_mul(b.min)?, a.max.checked_mul(b.max)?];
    Some(hull(corners))
}

/// The range of a / b, truncated toward zero, for all b except 0. `None` also if b is always 0.
pub fn divide(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    // Quotients of the largest magnitude have the divisors nearest to zero, those of the smallest the ends of b.
    let divisors = [b.min, b.max, -1, 1].into_iter().filter(|&d| d != 0 && b.min <= d && d <= b.max);
    let mut quotients = Vec::with_capacity(8);
    for divisor in divisors {
        quotients.push(a.min.checked_div(divisor)?);
        quotients.push(a.max.checked_div(divisor)?);
    }
    (!quotients.is_empty()).then(|| hull(quotients))
}

/// The range of a % b, with the sign of a, for all b except 0.
pub fn remainder(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    let largest = b.min.checked_abs()?.max(b.max.checked_abs()?).checked_sub(1)?.max(0);
    let min = if a.min < 0 { a.min.max(-largest) } else { 0 };
    let max = if a.max > 0 { a.max.min(largest) } else { 0 };
    Some(new(min, max))
}

/// The range of -a.
pub fn negate(a: ValueRange) -> Option<ValueRange> {
    Some(new(a.max.checked_neg()?, a.min.checked_neg()?))
}

/// The range of |a|.
pub fn absolute(a: ValueRange) -> Option<ValueRange> {
    let (x, y) = (a.min.checked_abs()?, a.max.checked_abs()?);
    let min = if a.min <= 0 && 0 <= a.max { 0 } else { x.min(y) };
    Some(new(min, x.max(y)))
}

/// The range of a divided by 10^`digits`, rounded half away from zero.
pub fn scale_down(a: ValueRange, digits: u32) -> ValueRange {
    match 10i128.checked_pow(digits) {
        Some(factor) => new(divide_rounded(a.min, factor), divide_rounded(a.max, factor)),
        None => new(0, 0),
    }
}

/// The range of a * 10^`digits`.
pub fn scale_up(a: ValueRange, digits: u32) -> Option<ValueRange> {
    let factor = 10i128.checked_pow(digits)?;
    multiply(a, new(factor, factor))
}

/// The smallest range that holds both.
pub fn union(a: ValueRange, b: ValueRange) -> ValueRange {
    new(a.min.min(b.min), a.max.max(b.max))
}

/// The integers in both; `None` if there are none.
pub fn intersect(a: ValueRange, b: ValueRange) -> Option<ValueRange> {
    let (min, max) = (a.min.max(b.min), a.max.min(b.max));
    (min <= max).then(|| new(min, max))
}

/// True if `outer` holds all of `inner`.
pub fn contains(outer: ValueRange, inner: ValueRange) -> bool {
    outer.min <= inner.min && inner.max <= outer.max
}

/// The range under a function that never decreases.
pub fn monotonic(a: ValueRange, function: impl Fn(i128) -> i128) -> ValueRange {
    new(function(a.min), function(a.max))
}

/// Returns the quotient rounded half away from zero; `divisor` is positive.
pub fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let (quotient, remainder) = (value / divisor, value % divisor);
    // |remainder| * 2 >= divisor without overflow.
    if remainder.abs() >= divisor - remainder.abs() { quotient + value.signum() } else { quotient }
}

/// The range of the single value of an integer vector of length 1.
pub(crate) fn of_flat(value: &Flat) -> Option<ValueRange> {
    let value = match value {
        Flat::I8(v) => v[0] as i128,
        Flat::I16(v) => v[0] as i128,
        Flat::I32(v) => v[0] as i128,
        Flat::I64(v) => v[0] as i128,
        Flat::I128(v) => v[0],
        Flat::U8(v) => v[0] as i128,
        Flat::U16(v) => v[0] as i128,
        Flat::U32(v) => v[0] as i128,
        Flat::U64(v) => v[0] as i128,
        _ => return None,
    };
    Some(new(value, value))
}

fn hull(values: impl IntoIterator<Item = i128>) -> ValueRange {
    let mut values = values.into_iter();
    let first = values.next().expect("at least one value");
    values.fold(new(first, first), |range, value| new(range.min.min(value), range.max.max(value)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges() -> impl Strategy<Value = ValueRange> {
        (-20i128..20, 0i128..12).prop_map(|(min, width)| new(min, min + width))
    }

    /// The exact range over all pairs for which the operation is defined.
    fn brute(a: ValueRange, b: ValueRange, f: impl Fn(i128, i128) -> Option<i128>) -> Option<ValueRange> {
        let values: Vec<i128> =
            (a.min..=a.max).flat_map(|x| (b.min..=b.max).map(move |y| (x, y))).filter_map(|(x, y)| f(x, y)).collect();
        (!values.is_empty()).then(|| hull(values))
    }

    proptest! {
        #[test]
        fn ranges_agree_with_brute_force(a in ranges(), b in ranges()) {
            prop_assert_eq!(add(a, b), brute(a, b, |x, y| Some(x + y)));
            prop_assert_eq!(subtract(a, b), brute(a, b, |x, y| Some(x - y)));
            prop_assert_eq!(multiply(a, b), brute(a, b, |x, y| Some(x * y)));
            prop_assert_eq!(divide(a, b), brute(a, b, |x, y| x.checked_div(y)));
            prop_assert_eq!(negate(a), brute(a, a, |x, _| Some(-x)));
            prop_assert_eq!(absolute(a), brute(a, a, |x, _| Some(x.abs())));
            prop_assert_eq!(Some(scale_down(a, 1)), brute(a, a, |x, _| Some((x as f64 / 10.0).round() as i128)));
            prop_assert_eq!(scale_up(a, 2), Some(new(a.min * 100, a.max * 100)));
            if let Some(exact) = brute(a, b, |x, y| x.checked_rem(y)) {
                prop_assert!(contains(remainder(a, b).unwrap(), exact));
            }
            prop_assert_eq!(intersect(a, b), brute(a, b, |x, y| (x == y).then_some(x)));
            prop_assert_eq!(union(a, b), hull([a.min, a.max, b.min, b.max]));
        }
    }

    #[test]
    fn results_beyond_128_bits_have_no_range() {
        let all = new(i128::MIN, i128::MAX);
        let one = new(1, 1);
        assert_eq!(add(all, one), None);
        assert_eq!(subtract(all, one), None);
        assert_eq!(multiply(all, new(2, 2)), None);
        assert_eq!(divide(all, new(-1, -1)), None);
        assert_eq!(divide(all, new(0, 0)), None);
        assert_eq!(negate(all), None);
        assert_eq!(absolute(all), None);
        assert_eq!(scale_up(one, 39), None);
        assert_eq!(scale_down(all, 39), new(0, 0));
    }
}
