//! The types of `+`, `-`, `*`, `/` and `%`.
//!
//! | operands | result |
//! |---|---|
//! | integers | the smallest that holds both types; `/` truncates, overflow is an error |
//! | decimals, decimals and integers | exact: one more digit for `+` and `-`, the digits of both for `*`; `/` is DOUBLE |
//! | a float and a number | the float |
//! | DATE ± integer, integer + DATE | DATE |
//! | DATE − DATE | BIGINT, days |
//! | DATE ± INTERVAL, DATE + TIME | TIMESTAMP |
//! | timestamp ± INTERVAL | TIMESTAMP, with time zone if it has one |
//! | timestamp − timestamp, TIME − TIME | INTERVAL |
//! | DATE + TIME WITH TIME ZONE | TIMESTAMP WITH TIME ZONE |
//! | TIME ± INTERVAL | TIME, around the clock; with time zone if it has one |
//! | INTERVAL ± INTERVAL, INTERVAL × number, INTERVAL / number | INTERVAL |
//!
//! If one operand is quoted text or NULL, its type is inferred from the other.

use crate::SqlType;
use crate::unify::common_number;

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: truncates if the operands are integers.
    Divide,
    /// `%`: the result has the sign of the dividend.
    Modulo,
}

impl Arithmetic {
    /// The operator as written in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }

    /// Computes it on values of UHUGEINT; `None` if the result isn't one, or it divides by zero.
    pub fn on_unsigned(self, a: u128, b: u128) -> Option<u128> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::Modulo => a.checked_rem(b),
        }
    }
}

/// Operand and result types of an arithmetic operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArithmeticTypes {
    /// Type that the left operand is cast to.
    pub left: SqlType,
    /// Type that the right operand is cast to.
    pub right: SqlType,
    /// Type of the result.
    pub result: SqlType,
}

/// Returns the types of `a op b`; `None` if there is no such operation, or if both operands are of unknown type.
///
/// The operands of `+`, `-` and `%` on decimals get one scale; those of `*` keep theirs.
pub fn arithmetic_type(op: Arithmetic, a: &SqlType, b: &SqlType) -> Option<ArithmeticTypes> {
    use SqlType::Unknown;
    match (a, b) {
        (Unknown, Unknown) => None,
        (Unknown, _) => arithmetic_type(op, &partner(op, b, true), b),
        (_, Unknown) => arithmetic_type(op, a, &partner(op, a, false)),
        _ if a.is_numeric() && b.is_numeric() => Some(on_numbers(op, a, b)),
        _ => on_times(op, a, b),
    }
}

/// Returns the type assumed for an operand of unknown type whose partner's type is known.
fn partner(op: Arithmetic, known: &SqlType, known_is_right: bool) -> SqlType {
    match (op, known) {
        (Arithmetic::Multiply, SqlType::Interval) => SqlType::Double,
        (Arithmetic::Divide, SqlType::Interval) if !known_is_right => SqlType::Double,
        (Arithmetic::Add, _) if known.is_datetime() => SqlType::Interval,
        _ => known.clone(),
    }
}

fn on_numbers(op: Arithmetic, a: &SqlType, b: &SqlType) -> ArithmeticTypes {
    let common = common_number(a, b);
    match (a.decimal_digits(), b.decimal_digits()) {
        (Some(left), Some(right)) if common.is_decimal() => on_decimals(op, left, right),
        _ => all(common),
    }
}

fn all(ty: SqlType) -> ArithmeticTypes {
    ArithmeticTypes { left: ty.clone(), right: ty.clone(), result: ty }
}

/// Types are (precision, scale). At 38 digits, those before the point give way, and values that don't fit are errors at
/// run time; a product with more than 38 digits after the point can't be exact and is a DOUBLE.
fn on_decimals(op: Arithmetic, a: (u8, u8), b: (u8, u8)) -> ArithmeticTypes {
    const MAX: u8 = SqlType::DECIMAL_PRECISION_MAX;
    let decimal = |whole: u8, scale: u8| SqlType::decimal((whole + scale).min(MAX), scale);
    let (a_whole, b_whole, scale) = (a.0 - a.1, b.0 - b.1, a.1.max(b.1));
    match op {
        Arithmetic::Add | Arithmetic::Subtract => ArithmeticTypes {
            left: decimal(a_whole, scale),
            right: decimal(b_whole, scale),
            result: decimal(a_whole.max(b_whole) + 1, scale),
        },
        Arithmetic::Modulo => all(decimal(a_whole.max(b_whole), scale)),
        Arithmetic::Multiply if a.1 + b.1 <= MAX => ArithmeticTypes {
            left: SqlType::decimal(a.0, a.1),
            right: SqlType::decimal(b.0, b.1),
            result: SqlType::decimal((a.0 + b.0).min(MAX), a.1 + b.1),
        },
        Arithmetic::Multiply | Arithmetic::Divide => all(SqlType::Double),
    }
}

fn on_times(op: Arithmetic, a: &SqlType, b: &SqlType) -> Option<ArithmeticTypes> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use SqlType::{Date, Double, Interval, Time, TimeTz, Timestamp, TimestampTz};
    let types = |left: &SqlType, right: &SqlType, result: &SqlType| {
        Some(ArithmeticTypes { left: left.clone(), right: right.clone(), result: result.clone() })
    };
    let is_moment = |ty: &SqlType| *ty == Date || ty.is_timestamp();
    match (op, a, b) {
        (Add | Subtract, Date, _) if b.is_integer() => types(&Date, &SqlType::Integer, &Date),
        (Add, _, Date) if a.is_integer() => types(&SqlType::Integer, &Date, &Date),
        (Subtract, Date, Date) => types(&Date, &Date, &SqlType::BigInt),
        (Add, Date, Time) | (Add, Time, Date) => types(a, b, &Timestamp),
        (Add, Date, TimeTz) | (Add, TimeTz, Date) => types(a, b, &TimestampTz),
        (Add | Subtract, Interval, Interval) => types(&Interval, &Interval, &Interval),
        (Add | Subtract, Time, Interval) | (Add, Interval, Time) => types(a, b, &Time),
        (Add | Subtract, TimeTz, Interval) | (Add, Interval, TimeTz) => types(a, b, &TimeTz),
        (Subtract, Time, Time) => types(&Time, &Time, &Interval),
        (Multiply | Divide, Interval, _) if b.is_numeric() => types(&Interval, &Double, &Interval),
        (Multiply, _, Interval) if a.is_numeric() => types(&Double, &Interval, &Interval),
        (Add | Subtract, _, Interval) if is_moment(a) => types(&moment(a), &Interval, &moment(a)),
        (Add, Interval, _) if is_moment(b) => types(&Interval, &moment(b), &moment(b)),
        (Subtract, _, _) if is_moment(a) && is_moment(b) => {
            let zoned = [a, b].contains(&&TimestampTz);
            let ty = if zoned { TimestampTz } else { Timestamp };
            types(&ty, &ty, &Interval)
        }
        _ => None,
    }
}

/// Intervals are counted in microseconds, and so are the timestamps to which they are added.
fn moment(ty: &SqlType) -> SqlType {
    if *ty == SqlType::TimestampTz { SqlType::TimestampTz } else { SqlType::Timestamp }
}

#[cfg(test)]
mod tests {
    use super::Arithmetic::*;
    use super::*;
    use crate::SqlType as T;

    fn result(op: Arithmetic, a: T, b: T) -> Option<T> {
        arithmetic_type(op, &a, &b).map(|types| types.result)
    }

    #[test]
    fn results() {
        let d = T::decimal;
        let cases = [
            (Add, T::SmallInt, T::SmallInt, Some(T::SmallInt)),
            (Add, T::Integer, T::UInteger, Some(T::BigInt)),
            (Divide, T::Integer, T::BigInt, Some(T::BigInt)),
            (Add, d(9, 2), T::Integer, Some(d(13, 2))),
            (Subtract, d(15, 2), d(15, 2), Some(d(16, 2))),
            (Multiply, d(15, 2), d(4, 3), Some(d(19, 5))),
            (Multiply, d(38, 10), T::Integer, Some(d(38, 10))),
            (Multiply, d(38, 20), d(38, 20), Some(T::Double)),
            (Divide, d(15, 2), d(15, 2), Some(T::Double)),
            (Divide, d(15, 2), T::Integer, Some(T::Double)),
            (Modulo, d(5, 2), T::TinyInt, Some(d(5, 2))),
            (Add, d(5, 2), T::Real, Some(T::Real)),
            (Add, T::HugeInt, d(2, 1), Some(d(38, 1))),
            (Add, T::Date, T::Integer, Some(T::Date)),
            (Subtract, T::Date, T::Date, Some(T::BigInt)),
            (Add, T::Date, T::Interval, Some(T::Timestamp)),
            (Add, T::Interval, T::TimestampTz, Some(T::TimestampTz)),
            (Add, T::TimestampNs, T::Interval, Some(T::Timestamp)),
            (Subtract, T::Timestamp, T::Date, Some(T::Interval)),
            (Add, T::Date, T::Time, Some(T::Timestamp)),
            (Subtract, T::Time, T::Interval, Some(T::Time)),
            (Multiply, d(3, 1), T::Interval, Some(T::Interval)),
            (Divide, T::Interval, T::Integer, Some(T::Interval)),
            (Divide, T::Integer, T::Interval, None),
            (Add, T::Date, T::Date, None),
            (Add, T::Varchar, T::Integer, None),
            (Add, T::Boolean, T::Integer, None),
            (Add, T::Unknown, T::Unknown, None),
            (Add, T::Unknown, T::Integer, Some(T::Integer)),
            (Add, T::Date, T::Unknown, Some(T::Timestamp)),
            (Subtract, T::Date, T::Unknown, Some(T::BigInt)),
            (Subtract, T::Unknown, T::Interval, Some(T::Interval)),
            (Multiply, T::Interval, T::Unknown, Some(T::Interval)),
            (Divide, T::Unknown, T::Interval, None),
        ];
        for (op, a, b, expected) in cases {
            assert_eq!(result(op, a.clone(), b.clone()), expected, "{op:?} {a} {b}");
        }
    }

    #[test]
    fn operands_can_become_what_is_taken() {
        let all = crate::tests::sample_types();
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            for op in [Add, Subtract, Multiply, Divide, Modulo] {
                let Some(types) = arithmetic_type(op, a, b) else { continue };
                assert!(crate::cast_kind(a, &types.left).is_some(), "{op:?} {a} {b}");
                assert!(crate::cast_kind(b, &types.right).is_some(), "{op:?} {a} {b}");
                if let T::Decimal { precision, scale } = types.result {
                    assert!(precision <= 38 && scale <= precision, "{op:?} {a} {b}");
                }
            }
        }
    }
}
