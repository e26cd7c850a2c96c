//! A common representation of integers and decimals, for conversions between their types.
//!
//! A sign and a magnitude hold every value of all integer types and DECIMALs, which no single integer type of Rust
//! does: HUGEINT has negative values, and UHUGEINT exceeds the signed range.

use crate::{SqlType, Value};

/// ±`magnitude` / 10^`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) magnitude: u128,
    pub(crate) scale: u8,
}

impl Exact {
    /// Returns the number held by a value of an integer type or DECIMAL.
    pub(crate) fn of_value(value: &Value, ty: &SqlType) -> Option<Self> {
        let scale = match ty {
            SqlType::Decimal { scale, .. } => *scale,
            _ => 0,
        };
        Some(match value {
            Value::Integer(value) => Self { negative: *value < 0, magnitude: value.unsigned_abs(), scale },
            Value::UHuge(value) => Self { negative: false, magnitude: *value, scale },
            _ => return None,
        })
    }

    /// Rounds half away from zero to `scale` digits after the point; `None` beyond 128 bits.
    pub(crate) fn rescaled(self, scale: u8) -> Option<Self> {
        let magnitude = if scale >= self.scale {
            match pow10(scale - self.scale) {
                _ if self.magnitude == 0 => 0,
                power => self.magnitude.checked_mul(power?)?,
            }
        } else {
            divide_rounded(self.magnitude, self.scale - scale)
        };
        Some(Self { magnitude, scale, ..self })
    }

    /// Returns it as a value of an integer type or DECIMAL; `None` if it is out of the type's range.
    pub(crate) fn to_value(self, ty: &SqlType) -> Option<Value> {
        if let SqlType::Decimal { precision, scale } = ty {
            let scaled = self.rescaled(*scale)?;
            return if scaled.magnitude < pow10(*precision)? { scaled.signed().map(Value::Integer) } else { None };
        }
        let whole = self.rescaled(0)?;
        if *ty == SqlType::UHugeInt {
            return (!whole.negative || whole.magnitude == 0).then_some(Value::UHuge(whole.magnitude));
        }
        let (least, greatest) = ty.integer_range()?;
        whole.signed().filter(|value| (least..=greatest).contains(value)).map(Value::Integer)
    }

    fn signed(self) -> Option<i128> {
        if self.negative { 0i128.checked_sub_unsigned(self.magnitude) } else { i128::try_from(self.magnitude).ok() }
    }
}

/// 10^`exponent`, up to 10^38.
pub(crate) fn pow10(exponent: u8) -> Option<u128> {
    10u128.checked_pow(u32::from(exponent))
}

/// `magnitude` / 10^`digits`, rounded half away from zero.
fn divide_rounded(magnitude: u128, digits: u8) -> u128 {
    let Some(divisor) = pow10(digits) else { return 0 };
    let (quotient, rest) = (magnitude / divisor, magnitude % divisor);
    if rest >= divisor - rest { quotient + 1 } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_half_away_from_zero() {
        for (value, from, to, expected) in [
            (25, 1, 0, 3),
            (-25, 1, 0, -3),
            (24, 1, 0, 2),
            (149, 2, 0, 1),
            (5, 1, 3, 500),
            (0, 0, 38, 0),
            (-4, 1, 0, 0),
        ] {
            let exact = Exact::of_value(&Value::Integer(value), &SqlType::decimal(38, from)).unwrap();
            assert_eq!(
                exact.to_value(&SqlType::decimal(38, to)),
                Some(Value::Integer(expected)),
                "{value} {from} {to}"
            );
        }
    }

    #[test]
    fn ranges_end_exactly() {
        let integer = |value| Exact::of_value(&Value::Integer(value), &SqlType::HugeInt).unwrap();
        for (ty, least, greatest) in [
            (SqlType::TinyInt, -128, 127),
            (SqlType::UTinyInt, 0, 255),
            (SqlType::Integer, -2_147_483_648, 2_147_483_647),
            (SqlType::UBigInt, 0, 18_446_744_073_709_551_615),
            (SqlType::decimal(3, 1), -99, 99),
        ] {
            assert!(integer(least).to_value(&ty).is_some() && integer(greatest).to_value(&ty).is_some(), "{ty}");
            assert!(
                integer(least - 1).to_value(&ty).is_none() && integer(greatest + 1).to_value(&ty).is_none(),
                "{ty}"
            );
        }
        assert_eq!(integer(i128::MIN).to_value(&SqlType::HugeInt), Some(Value::Integer(i128::MIN)));
        assert_eq!(integer(i128::MIN).to_value(&SqlType::UHugeInt), None);
        let beyond = Exact { negative: false, magnitude: u128::MAX, scale: 0 };
        assert_eq!(beyond.to_value(&SqlType::HugeInt), None);
        assert_eq!(beyond.to_value(&SqlType::UHugeInt), Some(Value::UHuge(u128::MAX)));
    }
}
