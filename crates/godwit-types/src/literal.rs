//! Numbers as written in a statement.
//!
//! | text | type |
//! |---|---|
//! | `42` | the first of INTEGER, BIGINT, HUGEINT, UHUGEINT that holds it; DOUBLE beyond |
//! | `0x2A`, `0o52`, `0b101010` | the same; an error beyond |
//! | `1.50`, `.5`, `5.` | DECIMAL of the digits that are there; DOUBLE beyond 38 of them |
//! | `1e3` | DOUBLE |
//!
//! Signs are operators, not part of the number, which is why `-2147483648` is a BIGINT, as in PostgreSQL. Single
//! underscores may separate digits.

use godwit_common::{Error, Result, SqlState};

use crate::exact::Exact;
use crate::text::numbers::{Written, parse_prefixed, read_float};
use crate::text::{out_of_range, quoted};
use crate::{SqlType, Value};

/// Returns the value and the type of a number in a statement.
pub fn number_literal(text: &str) -> Result<(Value, SqlType)> {
    let malformed = || Error::user(format!("{} is not a number", quoted(text))).with_code(SqlState::SYNTAX_ERROR);
    if text.starts_with(['+', '-']) {
        return Err(malformed());
    }
    if let Some((_, magnitude)) = parse_prefixed(text) {
        let integer = magnitude.and_then(|magnitude| smallest_integer(Exact { negative: false, magnitude, scale: 0 }));
        return integer.ok_or_else(|| out_of_range(text, &SqlType::UHugeInt));
    }
    let written = Written::parse(text).ok_or_else(malformed)?;
    let exact = if written.has_exponent { None } else { exact_number(text, &written) };
    match exact {
        Some(number) => Ok(number),
        None => {
            let value = read_float(&text.replace('_', ""), &SqlType::Double).ok_or_else(malformed)?;
            if value.is_finite() {
                Ok((Value::Float(value), SqlType::Double))
            } else {
                Err(out_of_range(text, &SqlType::Double))
            }
        }
    }
}

fn exact_number(text: &str, written: &Written) -> Option<(Value, SqlType)> {
    if !text.contains('.') {
        return smallest_integer(written.rounded(0)?);
    }
    let (precision, scale) = written.decimal_digits();
    let max = i64::from(SqlType::DECIMAL_PRECISION_MAX);
    let (precision, scale) = (precision.max(scale) <= max).then_some((precision.max(scale), scale))?;
    let ty = SqlType::decimal(u8::try_from(precision).ok()?, u8::try_from(scale).ok()?);
    let value = written.rounded(u8::try_from(scale).ok()?)?.to_value(&ty)?;
    Some((value, ty))
}

fn smallest_integer(exact: Exact) -> Option<(Value, SqlType)> {
    [SqlType::Integer, SqlType::BigInt, SqlType::HugeInt, SqlType::UHugeInt]
        .into_iter()
        .find_map(|ty| Some((exact.to_value(&ty)?, ty)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlType as T;
    use crate::format_value;

    #[test]
    fn types_of_literals() {
        let cases = [
            ("0", T::Integer, "0"),
            ("2147483647", T::Integer, "2147483647"),
            ("2147483648", T::BigInt, "2147483648"),
            ("9223372036854775808", T::HugeInt, "9223372036854775808"),
            ("170141183460469231731687303715884105728", T::UHugeInt, "170141183460469231731687303715884105728"),
            ("340282366920938463463374607431768211456", T::Double, "3.402823669209385e38"),
            ("1_000_000", T::Integer, "1000000"),
            ("0x2A", T::Integer, "42"),
            ("0b11", T::Integer, "3"),
            ("0o17", T::Integer, "15"),
            ("0xFFFFFFFF", T::BigInt, "4294967295"),
            ("1.5", T::decimal(2, 1), "1.5"),
            ("1.50", T::decimal(3, 2), "1.50"),
            ("0.05", T::decimal(2, 2), "0.05"),
            (".5", T::decimal(1, 1), "0.5"),
            ("5.", T::decimal(1, 0), "5"),
            ("0.0", T::decimal(1, 1), "0.0"),
            ("00012.5", T::decimal(3, 1), "12.5"),
            ("1_2.1_2E1_0", T::Double, "121200000000.0"),
            ("1e300", T::Double, "1e300"),
            ("1.2345678901234567890123456789012345678901", T::Double, "1.2345678901234567"),
            (
                "0.00000000000000000000000000000000000000",
                T::decimal(38, 38),
                "0.00000000000000000000000000000000000000",
            ),
        ];
        for (text, ty, shown) in cases {
            let (value, found) = number_literal(text).unwrap();
            assert_eq!(found, ty, "{text}");
            assert_eq!(format_value(&value, &found), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", ".", "1__0", "_1", "1_", "1e", "1e+", "0x", "0xG", "0b2", "1.2.3", "-1", "e5", "1_.5", "ä"] {
            assert_eq!(number_literal(text).unwrap_err().code(), SqlState::SYNTAX_ERROR, "{text}");
        }
        for text in ["1e400", "0x1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "9e99999999999999999999"] {
            assert_eq!(number_literal(text).unwrap_err().code(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "{text}");
        }
    }
}
