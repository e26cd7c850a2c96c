//! The digits of decimals: integers as wide as the type's precision requires.

use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::kernels::select::select_bits;
use godwit_vector::{Flat, Native, Vector, match_flat};

use super::out_of_range;

/// Maximum number of digits of a decimal in 64 bits.
const NARROW_DIGITS_MAX: u8 = 18;

/// Integers for decimal arithmetic: `i64` if all of a computation has at most 18 digits, else `i128`.
pub(super) trait Digits: Native + Ord {
    /// 1, 10, 100, 1000 and 10000.
    const POWERS_OF_TEN: [Self; 5];

    /// 10^exponent, if it fits.
    fn power_of_ten(exponent: u32) -> Option<Self>;

    /// Quotient, rounded down.
    fn floor(self, divisor: Self) -> Self;

    /// Quotient, rounded up.
    fn ceil(self, divisor: Self) -> Self;

    /// Quotient, rounded to nearest, halves away from zero.
    fn nearest(self, divisor: Self) -> Self;

    /// Quotient, rounded toward zero.
    fn toward_zero(self, divisor: Self) -> Self;

    /// True unless it lies between the negative limit and the limit, both excluded.
    fn is_beyond(self, limit: Self) -> bool;

    fn wide(self) -> i128;

    /// Returns the integers of a vector in this width.
    fn all_of(flat: &Flat) -> Vec<Self>;
}

macro_rules! digits {
    ($($ty:ty),*) => {$(
        impl Digits for $ty {
            const POWERS_OF_TEN: [Self; 5] = [1, 10, 100, 1_000, 10_000];

            fn power_of_ten(exponent: u32) -> Option<Self> {
                (10 as $ty).checked_pow(exponent)
            }

            #[inline]
            fn floor(self, divisor: Self) -> Self {
                self.div_euclid(divisor)
            }

            #[inline]
            fn ceil(self, divisor: Self) -> Self {
                self.div_euclid(divisor) + Self::from(self.rem_euclid(divisor) != 0)
            }

            #[inline]
            fn nearest(self, divisor: Self) -> Self {
                let (quotient, rest) = (self / divisor, self % divisor);
                let carry = Self::from(rest.abs() >= divisor - rest.abs());
                // Half of all numbers have one: the sign is a mask, since no branch would be predicted.
                let negative = self >> (Self::BITS - 1);
                quotient + ((carry ^ negative) - negative)
            }

            #[inline]
            fn toward_zero(self, divisor: Self) -> Self {
                self / divisor
            }

            #[inline]
            fn is_beyond(self, limit: Self) -> bool {
                self >= limit || self <= -limit
            }

            #[inline]
            fn wide(self) -> i128 {
                #[allow(clippy::useless_conversion, reason = "one of the types is i128 already")]
                self.into()
            }

            #[allow(clippy::unnecessary_cast, reason = "one of the types is this one")]
            fn all_of(flat: &Flat) -> Vec<Self> {
                match_flat!(
                    flat,
                    values => values.iter().map(|&value| value as $ty).collect(),
                    _texts => unreachable!("texts are no digits"),
                    _lists => unreachable!("nor are lists")
                )
            }
        }
    )*};
}

digits!(i64, i128);

/// True if 64 bits suffice for the digits of these decimals.
pub(super) fn are_narrow<'t>(types: impl IntoIterator<Item = &'t SqlType>) -> bool {
    let precision = |ty: &SqlType| ty.decimal_digits().map_or(u8::MAX, |(precision, _)| precision);
    types.into_iter().all(|ty| precision(ty) <= NARROW_DIGITS_MAX)
}

/// Returns the digits of integers or decimals, whose type guarantees that they fit: one per row, 0 for NULL.
pub(super) fn digits_of<T: Digits>(vector: &Vector) -> Vec<T> {
    let flat = vector.to_flat();
    let mut digits = T::all_of(&flat);
    if let Some(validity) = vector.validity() {
        // NULL rows may hold anything.
        let mut nulls = Vec::new();
        select_bits(validity, false, &mut nulls);
        nulls.into_iter().for_each(|row| digits[row as usize] = T::default());
    }
    digits
}

/// Converts digits to a vector of a decimal type; fails if there are more digits than it has.
pub(super) fn vector_of_digits<T: Digits>(digits: Vec<T>, ty: &SqlType) -> Result<Vector> {
    let SqlType::Decimal { precision, .. } = *ty else { unreachable!("{ty} has no digits") };
    if let Some(limit) = T::power_of_ten(precision.into())
        && digits.iter().any(|digits| digits.is_beyond(limit))
    {
        return Err(out_of_range(format!("the result is out of range for {ty}")));
    }
    Ok(match precision {
        0..=9 => Vector::from_values(digits.into_iter().map(|digits| digits.wide() as i32).collect(), None),
        10..=NARROW_DIGITS_MAX => {
            Vector::from_values(digits.into_iter().map(|digits| digits.wide() as i64).collect(), None)
        }
        _ => Vector::from_values(digits.into_iter().map(Digits::wide).collect::<Vec<i128>>(), None),
    })
}

#[cfg(test)]
mod tests {
    use super::Digits;

    #[test]
    fn quotients() {
        for (digits, floor, ceil, nearest, toward_zero) in
            [(25, 2, 3, 3, 2), (-25, -3, -2, -3, -2), (24, 2, 3, 2, 2), (-26, -3, -2, -3, -2), (20, 2, 2, 2, 2)]
        {
            let found: [i64; 4] =
                [digits.floor(10), digits.ceil(10), Digits::nearest(digits, 10), digits.toward_zero(10)];
            assert_eq!(found, [floor, ceil, nearest, toward_zero], "{digits}");
        }
        assert_eq!(Digits::nearest(i128::MAX, i128::MAX - 1), 1);
    }
}
