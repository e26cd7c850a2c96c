//! Numbers rounded to integers, or to some places.
//!
//! | | DOUBLE, REAL | DECIMAL(p,s) | integers |
//! |---|---|---|---|
//! | `ceil`, `floor` | the same | DECIMAL(p-s+1,0) | DOUBLE |
//! | `round`, `trunc` | the same | DECIMAL(p-s+1,0) | the same |
//! | to n places, a constant | the same | with n places, if these are fewer | the same |
//! | to n places | the same | with the same places | the same |
//!
//! Halves are rounded away from zero. Negative places are zeros before the point.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};
use godwit_vector::Vector;

use super::digits::{Digits, are_narrow, digits_of, vector_of_digits};
use super::{number_function, out_of_range};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Argument, Values, mapped, scalar, valid_rows};

pub(super) fn functions() -> Vec<Function> {
    let ceil = number_function(&["ceil", "ceiling"], "The least whole number that isn't less")
        .example("ceil(2.1)", "3")
        .form(mapped::<f64, f64>(f64::ceil))
        .form(mapped::<f32, f32>(f32::ceil))
        .chosen("ceil(DECIMAL)", |arguments| of_decimal(arguments, Cut::Ceil).map(Ok));
    let floor = number_function(&["floor"], "The greatest whole number that isn't greater")
        .example("floor(-2.1)", "-3")
        .form(mapped::<f64, f64>(f64::floor))
        .form(mapped::<f32, f32>(f32::floor))
        .chosen("floor(DECIMAL)", |arguments| of_decimal(arguments, Cut::Floor).map(Ok));
    let round = number_function(&["round"], "The nearest whole number, or the nearest with some places")
        .example("round(2.567, 2)", "2.57")
        .example("round(1250, -2)", "1300")
        .form(mapped::<f64, f64>(f64::round))
        .form(mapped::<f32, f32>(f32::round))
        .form(scalar::<(f64, i64), f64, _>(|(number, places)| at_places(number, places, f64::round)))
        .form(scalar::<(f32, i64), f32, _>(|(number, places)| at_places(number.into(), places, f64::round) as f32))
        .chosen("round(DECIMAL)", |arguments| of_decimal(arguments, Cut::Nearest).map(Ok));
    let trunc = number_function(&["trunc"], "The number without what is behind the point, or behind some places")
        .example("trunc(-2.567)", "-2")
        .example("trunc(2.567, 2)", "2.56")
        .form(mapped::<f64, f64>(f64::trunc))
        .form(mapped::<f32, f32>(f32::trunc))
        .form(scalar::<(f64, i64), f64, _>(|(number, places)| at_places(number, places, f64::trunc)))
        .form(scalar::<(f32, i64), f32, _>(|(number, places)| at_places(number.into(), places, f64::trunc) as f32))
        .chosen("trunc(DECIMAL)", |arguments| of_decimal(arguments, Cut::TowardZero).map(Ok));
    vec![ceil, floor, of_integers(round, Cut::Nearest), of_integers(trunc, Cut::TowardZero)]
}

/// Powers of ten that are exact in a DOUBLE.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// From here on, all numbers are integers.
const WHOLE_MIN: f64 = (1u64 << 53) as f64;

/// Cuts a number at places: unchanged if it has no digits beyond them, 0 if it has no others.
#[inline]
fn at_places(number: f64, places: i64, cut: impl Fn(f64) -> f64) -> f64 {
    let Some(&factor) = usize::try_from(places.unsigned_abs()).ok().and_then(|places| EXACT_POWERS.get(places)) else {
        return at_far_places(number, places, cut);
    };
    if places < 0 {
        return cut(number / factor) * factor;
    }
    let scaled = number * factor;
    // Also for infinity and NaN: they aren't less.
    if scaled.abs() < WHOLE_MIN { cut(scaled) / factor } else { number }
}

#[cold]
fn at_far_places(number: f64, places: i64, cut: impl Fn(f64) -> f64) -> f64 {
    let Ok(places) = i32::try_from(places.clamp(-1_000, 1_000)) else { unreachable!("they are clamped") };
    if places < -f64::MAX_10_EXP {
        return if number.is_finite() { 0.0 } else { number };
    }
    // Unlike a product of tens, this is rounded only once.
    let factor = 10_f64.powf(places.abs().into());
    let result = if places < 0 { cut(number / factor) * factor } else { cut(number * factor) / factor };
    if result.is_finite() { result } else { number }
}

/// What happens to digits that are cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Ceil,
    Floor,
    Nearest,
    TowardZero,
}

impl Cut {
    #[inline]
    fn quotient<T: Digits>(self, digits: T, divisor: T) -> T {
        match self {
            Self::Ceil => digits.ceil(divisor),
            Self::Floor => digits.floor(divisor),
            Self::Nearest => digits.nearest(divisor),
            Self::TowardZero => digits.toward_zero(divisor),
        }
    }

    /// Replaces some of the last digits of a number by zeros; `None` beyond 128 bits.
    fn zeroed(self, number: i128, digits: u64) -> Option<i128> {
        let Some(divisor) = u32::try_from(digits).ok().and_then(i128::power_of_ten) else { return Some(0) };
        self.quotient(number, divisor).checked_mul(divisor)
    }
}

macro_rules! integers {
    ($function:expr, $cut:expr, $($ty:ty),*) => {
        $function$(
            .form(scalar::<($ty,), $ty, _>(|(number,)| number))
            .form(scalar::<($ty, i64), $ty, _>(move |(number, places)| {
                if places >= 0 {
                    return Ok(number);
                }
                let rounded = $cut.zeroed(number.into(), places.unsigned_abs());
                let rounded = rounded.and_then(|rounded| <$ty>::try_from(rounded).ok());
                rounded.ok_or_else(|| out_of_range(format!("the result is out of range for {}", <$ty>::TYPE)))
            }))
        )*
    };
}

#[allow(clippy::useless_conversion, reason = "one of the types is i128 already")]
fn of_integers(function: Function, cut: Cut) -> Function {
    integers!(function, cut, i8, i16, i32, i64, i128, u8, u16, u32, u64)
}

/// Returns the form for a decimal, and optionally places.
fn of_decimal(arguments: &[ArgumentType<'_>], cut: Cut) -> Option<Form> {
    let SqlType::Decimal { precision, scale } = *arguments.first()?.ty else { return None };
    let is_exact = matches!(cut, Cut::Floor | Cut::Ceil);
    let (places, types) = match arguments {
        [number] => (Places::Constant(0), vec![number.ty.clone()]),
        [number, places] if !is_exact && fits(places, &SqlType::BigInt) => {
            let constant = match places.value {
                Some(Value::Integer(places)) => Places::Constant(i64::try_from(*places).ok()?),
                _ => Places::Column,
            };
            (constant, vec![number.ty.clone(), SqlType::BigInt])
        }
        _ => return None,
    };
    let kept = match places {
        Places::Constant(places) => scale.min(u8::try_from(places.max(0)).unwrap_or(scale)),
        Places::Column => scale,
    };
    // 99.9 becomes 100: there may be one more digit.
    let carry = u8::from(kept < scale || places != Places::Constant(scale.into()) && cut == Cut::Nearest);
    let whole = precision - scale + if cut == Cut::TowardZero { 0 } else { carry };
    let precision = (whole + kept).clamp(1, SqlType::DECIMAL_PRECISION_MAX);
    let result = SqlType::decimal(precision, kept);
    let may_fail = whole + kept > SqlType::DECIMAL_PRECISION_MAX || cut == Cut::Nearest && kept == scale;
    let kernel = CutDecimals { from: types[0].clone(), to: result.clone(), places, cut };
    Some(Form::strict(types, result, may_fail, false, Arc::new(kernel)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    Constant(i64),
    /// The second argument.
    Column,
}

struct CutDecimals {
    from: SqlType,
    to: SqlType,
    places: Places,
    cut: Cut,
}

impl CutDecimals {
    /// Rounds to places that are not negative, in a type that has these.
    fn cut_all<T: Digits>(&self, numbers: &Vector, scales: (u8, u8)) -> Result<Vector> {
        let divisor = T::power_of_ten((scales.0 - scales.1).into()).expect("scales are small");
        let digits = digits_of::<T>(numbers);
        macro_rules! each {
            ($divisor:expr, $($cut:ident),*) => {
                // One loop for each kind of rounding.
                match self.cut {
                    $(Cut::$cut => digits.into_iter().map(|digits| Cut::$cut.quotient(digits, $divisor)).collect(),)*
                }
            };
        }
        // Constant divisors need no division instruction.
        let cut = match scales.0 - scales.1 {
            1 => each!(T::POWERS_OF_TEN[1], Ceil, Floor, Nearest, TowardZero),
            2 => each!(T::POWERS_OF_TEN[2], Ceil, Floor, Nearest, TowardZero),
            3 => each!(T::POWERS_OF_TEN[3], Ceil, Floor, Nearest, TowardZero),
            4 => each!(T::POWERS_OF_TEN[4], Ceil, Floor, Nearest, TowardZero),
            _ => each!(divisor, Ceil, Floor, Nearest, TowardZero),
        };
        vector_of_digits::<T>(cut, &self.to)
    }

    fn cut_rows(&self, numbers: &Vector, scales: (u8, u8), places: impl Fn(usize) -> i64) -> Result<Vector> {
        let (from, to) = scales;
        let unit = i128::power_of_ten((from - to).into()).expect("scales are small");
        let row = |(row, digits): (usize, i128)| {
            let places = places(row);
            if places >= i64::from(from) || !numbers.is_valid(row) {
                return Some(digits / unit);
            }
            self.cut.zeroed(digits, (i128::from(from) - i128::from(places)) as u64).map(|digits| digits / unit)
        };
        let digits: Option<Vec<i128>> = digits_of::<i128>(numbers).into_iter().enumerate().map(row).collect();
        let digits = digits.ok_or_else(|| out_of_range(format!("the result is out of range for {}", self.to)))?;
        vector_of_digits(digits, &self.to)
    }
}

impl Kernel for CutDecimals {
    fn evaluate(&self, arguments: &[Vector], _rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let scale = |ty: &SqlType| ty.decimal_digits().map_or(0, |(_, scale)| scale);
        let scales = (scale(&self.from), scale(&self.to));
        let numbers = &arguments[0];
        let cut = match self.places {
            Places::Constant(0..) if are_narrow([&self.from, &self.to]) => self.cut_all::<i64>(numbers, scales),
            Places::Constant(0..) => self.cut_all::<i128>(numbers, scales),
            Places::Constant(places) => self.cut_rows(numbers, scales, |_| places),
            Places::Column => {
                let places = Values::<i64>::of(&arguments[1]);
                self.cut_rows(numbers, scales, |row| if arguments[1].is_valid(row) { places.get(row) } else { 0 })
            }
        };
        Ok(cut?.with_validity(valid_rows(arguments)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    fn check(name: &str, arguments: &[&str], expected: &str, ty: &str) {
        assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        assert_eq!(call(name, arguments).unwrap().1.to_string(), ty, "{name}{arguments:?}");
    }

    #[test]
    fn floats() {
        for (name, arguments, expected) in [
            ("round", &["DOUBLE '2.5'"][..], "3.0"),
            ("round", &["DOUBLE '-2.5'"], "-3.0"),
            ("round", &["DOUBLE '42.12345'", "2"], "42.12"),
            ("round", &["DOUBLE '42.12345'", "1000"], "42.12345"),
            ("round", &["1e300", "10"], "1e300"),
            ("round", &["DOUBLE '1250'", "-2"], "1300.0"),
            ("round", &["DOUBLE '42'", "-1000"], "0.0"),
            ("round", &["1e308", "-400"], "0.0"),
            ("round", &["1e308", "-308"], "1e308"),
            ("round", &["DOUBLE 'nan'", "-400"], "NaN"),
            ("round", &["DOUBLE 'inf'", "3"], "inf"),
            ("round", &["DOUBLE '1.5'", "BIGINT '-9223372036854775808'"], "0.0"),
            ("round", &["REAL '1.25'", "1"], "1.3"),
            ("round", &["1e15", "2"], "1000000000000000.0"),
            ("trunc", &["DOUBLE '-2.567'"], "-2.0"),
            ("trunc", &["DOUBLE '2.567'", "2"], "2.56"),
            ("trunc", &["DOUBLE '1999'", "-3"], "1000.0"),
            ("ceil", &["DOUBLE '2.1'"], "3.0"),
            ("ceiling", &["REAL '-2.1'"], "-2.0"),
            ("floor", &["DOUBLE '-2.1'"], "-3.0"),
            ("round", &["DOUBLE '2.5'", "NULL"], "NULL"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
    }

    #[test]
    fn decimals() {
        check("round", &["2.567", "2"], "2.57", "DECIMAL(4,2)");
        check("round", &["2.567"], "3", "DECIMAL(2,0)");
        check("round", &["-2.5"], "-3", "DECIMAL(2,0)");
        check("round", &["2.567", "-1"], "0", "DECIMAL(2,0)");
        check("round", &["99.9", "-2"], "100", "DECIMAL(3,0)");
        check("round", &["9.99", "5"], "9.99", "DECIMAL(4,2)");
        check("round", &["999.9"], "1000", "DECIMAL(4,0)");
        check("ceil", &["999.9"], "1000", "DECIMAL(4,0)");
        check("ceil", &["-999.9"], "-999", "DECIMAL(4,0)");
        check("floor", &["-999.9"], "-1000", "DECIMAL(4,0)");
        check("floor", &["2.0"], "2", "DECIMAL(2,0)");
        check("trunc", &["-2.567", "1"], "-2.5", "DECIMAL(2,1)");
        check("trunc", &["0.567"], "0", "DECIMAL(1,0)");
        check("trunc", &["1999.9", "-3"], "1000", "DECIMAL(4,0)");
        check("round", &["12.5", "BIGINT '-9223372036854775808'"], "0", "DECIMAL(3,0)");
        let long = "DECIMAL(38,2) '999999999999999999999999999999999999.99'";
        check("floor", &[long], "999999999999999999999999999999999999", "DECIMAL(37,0)");
        check("ceil", &[long], "1000000000000000000000000000000000000", "DECIMAL(37,0)");
        let whole = "DECIMAL(38,0) '99999999999999999999999999999999999999'";
        assert!(error_of("round", &[whole, "-1"]).contains("out of range for DECIMAL(38,0)"));
        check("trunc", &[whole, "-1"], "99999999999999999999999999999999999990", "DECIMAL(38,0)");
        assert_eq!(shown("round", &["NULL"]), "NULL");
    }

    #[test]
    fn integers_stay_integers() {
        check("round", &["125"], "125", "INTEGER");
        check("round", &["125", "-1"], "130", "INTEGER");
        check("round", &["125", "3"], "125", "INTEGER");
        check("trunc", &["-129", "-1"], "-120", "INTEGER");
        check("round", &["BIGINT '-9223372036854775808'", "-18"], "-9000000000000000000", "BIGINT");
        check("round", &["5", "BIGINT '-9223372036854775808'"], "0", "INTEGER");
        check("ceil", &["5"], "5.0", "DOUBLE");
        assert!(error_of("round", &["TINYINT '125'", "-1"]).contains("out of range for TINYINT"));
        assert!(error_of("round", &["UBIGINT '18446744073709551615'", "-1"]).contains("out of range for UBIGINT"));
    }
}
