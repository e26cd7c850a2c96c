//! Operators as functions, and other functions that divide.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{Arithmetic, ArithmeticTypes, SqlType, arithmetic_type};
use godwit_vector::Vector;

use super::digits::{digits_of, vector_of_digits};
use super::{bounded, division_by_zero, number_function, out_of_range};
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Argument, scalar, valid_rows};

pub(super) fn functions() -> Vec<Function> {
    let operator = |names, description, example: (&'static str, &'static str)| {
        number_function(names, description).example(example.0, example.1)
    };
    vec![
        operator(&["add"], "The sum of two numbers", ("add(1, 2)", "3"))
            .chosen("add(number, number)", |arguments| form_of(Arithmetic::Add, arguments).map(Ok)),
        operator(&["subtract"], "The difference of two numbers", ("subtract(5, 3)", "2"))
            .chosen("subtract(number, number)", |arguments| form_of(Arithmetic::Subtract, arguments).map(Ok)),
        operator(&["multiply"], "The product of two numbers", ("multiply(3, 4)", "12"))
            .chosen("multiply(number, number)", |arguments| form_of(Arithmetic::Multiply, arguments).map(Ok)),
        operator(&["divide"], "The quotient of two numbers; of integers without a fraction", ("divide(7, 2)", "3"))
            .chosen("divide(number, number)", |arguments| form_of(Arithmetic::Divide, arguments).map(Ok)),
        operator(&["mod"], "What a division leaves over, with the sign of the dividend", ("mod(-7, 3)", "-1"))
            .chosen("mod(number, number)", |arguments| form_of(Arithmetic::Modulo, arguments).map(Ok)),
        operator(&["div"], "The whole quotient of two numbers", ("div(7.5, 2)", "3.0"))
            .form(scalar::<(f64, f64), f64, _>(|(a, b)| Ok(float(Arithmetic::Divide, a, b)?.trunc())))
            .chosen("div(integer, integer)", |arguments| match arguments {
                [a, b] if a.ty.is_integer() && b.ty.is_integer() => form_of(Arithmetic::Divide, arguments).map(Ok),
                _ => None,
            }),
        operator(&["fdiv"], "The greatest whole number that isn't greater than the quotient", ("fdiv(-5, 2)", "-3.0"))
            .form(scalar::<(f64, f64), f64, _>(|(a, b)| Ok(float(Arithmetic::Divide, a, b)?.floor()))),
        operator(&["fmod"], "What a division leaves over, with the sign of the divisor", ("fmod(-5, 3)", "1.0")).form(
            scalar::<(f64, f64), f64, _>(|(a, b)| {
                let rest = float(Arithmetic::Modulo, a, b)?;
                Ok(if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest })
            }),
        ),
        operator(&["gcd", "greatest_common_divisor"], "The greatest common divisor", ("gcd(42, 57)", "3"))
            .form(scalar::<(i64, i64), i64, _>(|(a, b)| {
                let divisor = common_divisor(a.unsigned_abs().into(), b.unsigned_abs().into());
                i64::try_from(divisor).map_err(|_| overflow(&SqlType::BigInt))
            }))
            .form(scalar::<(i128, i128), i128, _>(|(a, b)| {
                i128::try_from(common_divisor(a.unsigned_abs(), b.unsigned_abs()))
                    .map_err(|_| overflow(&SqlType::HugeInt))
            })),
        operator(&["lcm", "least_common_multiple"], "The least common multiple", ("lcm(4, 6)", "12"))
            .form(scalar::<(i64, i64), i64, _>(|(a, b)| {
                let multiple = common_multiple(a.unsigned_abs().into(), b.unsigned_abs().into());
                multiple.and_then(|multiple| i64::try_from(multiple).ok()).ok_or_else(|| overflow(&SqlType::BigInt))
            }))
            .form(scalar::<(i128, i128), i128, _>(|(a, b)| {
                let multiple = common_multiple(a.unsigned_abs(), b.unsigned_abs());
                multiple.and_then(|multiple| i128::try_from(multiple).ok()).ok_or_else(|| overflow(&SqlType::HugeInt))
            })),
        operator(
            &["width_bucket"],
            "The number of the bucket that a number is in, of some equally wide ones between two bounds",
            ("width_bucket(5.3, 0, 10, 5)", "3"),
        )
        .form(scalar::<(f64, f64, f64, i32), i32, _>(|(number, low, high, count)| bucket(number, low, high, count))),
        operator(&["scale"], "How many places behind the point a decimal has", ("scale(8.4100)", "4"))
            .chosen("scale(DECIMAL)", |arguments| scale(arguments, |scale, _| scale)),
        operator(&["min_scale"], "How many places a decimal needs", ("min_scale(8.4100)", "2")).chosen(
            "min_scale(DECIMAL)",
            |arguments| {
                scale(arguments, |scale, mut digits| {
                    let mut needed = scale;
                    while needed > 0 && digits % 10 == 0 {
                        (needed, digits) = (needed - 1, digits / 10);
                    }
                    needed
                })
            },
        ),
    ]
}

fn overflow(ty: &SqlType) -> Error {
    out_of_range(format!("the result is out of range for {ty}"))
}

fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Division of 64-bit integers is several times as fast.
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return narrow_divisor(a, b).into();
        }
        (a, b) = (b, a % b);
    }
    a
}

fn narrow_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn common_multiple(a: u128, b: u128) -> Option<u128> {
    if a == 0 || b == 0 { Some(0) } else { (a / common_divisor(a, b)).checked_mul(b) }
}

/// Returns the bucket, from 1; 0 for numbers before the first, `count` + 1 for those after the last.
fn bucket(number: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    let wrong = |message: &str| Err(Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE));
    if count <= 0 {
        return wrong("the number of buckets must be greater than 0");
    }
    if number.is_nan() || !low.is_finite() || !high.is_finite() {
        return wrong("the bounds of buckets must be finite, and no number may be NaN");
    }
    if low == high {
        return wrong("the bounds of buckets must not be equal");
    }
    let is_rising = low < high;
    let (is_before, is_behind) = match is_rising {
        true => (number < low, number >= high),
        false => (number > low, number <= high),
    };
    if is_before {
        return Ok(0);
    }
    if is_behind {
        return count.checked_add(1).ok_or_else(|| overflow(&SqlType::Integer));
    }
    // Halved to keep differences from overflowing.
    let (number, low, high) = (number / 2.0, low / 2.0, high / 2.0);
    let (from_start, width) = if is_rising { (number - low, high - low) } else { (low - number, low - high) };
    Ok(((from_start / width * f64::from(count)) as i32).min(count - 1) + 1)
}

/// A form over a decimal's places: those of its type, and its digits.
fn scale(
    arguments: &[ArgumentType<'_>],
    compute: fn(i32, i128) -> i32,
) -> Option<std::result::Result<Form, godwit_plan::NoFunction>> {
    let [ArgumentType { ty, .. }] = arguments else { return None };
    let (_, scale) = ty.decimal_digits()?;
    let kernel = Scale { scale: scale.into(), compute };
    Some(Ok(Form::strict(vec![(*ty).clone()], SqlType::Integer, false, false, Arc::new(kernel))))
}

struct Scale {
    scale: i32,
    compute: fn(i32, i128) -> i32,
}

impl Kernel for Scale {
    fn evaluate(&self, arguments: &[Vector], _rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let scales = digits_of::<i128>(&arguments[0]).into_iter().map(|digits| (self.compute)(self.scale, digits));
        Ok(Vector::from_values(scales.collect(), None).with_validity(valid_rows(arguments)))
    }
}

/// Returns the form of an operator for numbers of two types.
fn form_of(op: Arithmetic, arguments: &[ArgumentType<'_>]) -> Option<Form> {
    let [a, b] = arguments else { return None };
    let both_unknown = *a.ty == SqlType::Unknown && *b.ty == SqlType::Unknown;
    let integer = SqlType::Integer;
    let (a, b) = if both_unknown { (&integer, &integer) } else { (a.ty, b.ty) };
    let types = arithmetic_type(op, a, b).filter(|types| types.result.is_numeric())?;
    Some(match types.result {
        SqlType::TinyInt => integers::<i8>(op),
        SqlType::SmallInt => integers::<i16>(op),
        SqlType::Integer => integers::<i32>(op),
        SqlType::BigInt => integers::<i64>(op),
        SqlType::HugeInt => integers::<i128>(op),
        SqlType::UTinyInt => integers::<u8>(op),
        SqlType::USmallInt => integers::<u16>(op),
        SqlType::UInteger => integers::<u32>(op),
        SqlType::UBigInt => integers::<u64>(op),
        SqlType::Real => scalar::<(f32, f32), f32, _>(move |(a, b)| {
            let result = float(op, a.into(), b.into())? as f32;
            bounded(result.into(), &[a.into(), b.into()]).map(|_| result)
        }),
        SqlType::Double => scalar::<(f64, f64), f64, _>(move |(a, b)| bounded(float(op, a, b)?, &[a, b])),
        SqlType::Decimal { .. } => {
            let arguments = vec![types.left.clone(), types.right.clone()];
            let result = types.result.clone();
            Form::strict(arguments, result, true, false, Arc::new(OfDecimals { op, types }))
        }
        _ => return None,
    })
}

#[inline]
fn float(op: Arithmetic, a: f64, b: f64) -> Result<f64> {
    Ok(match op {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0.0 => return Err(division_by_zero()),
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
    })
}

trait Integer: Sized {
    fn checked(self, op: Arithmetic, other: Self) -> Result<Self>;
}

macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Integer for $ty {
            #[inline]
            fn checked(self, op: Arithmetic, other: Self) -> Result<Self> {
                if other == 0 && matches!(op, Arithmetic::Divide | Arithmetic::Modulo) {
                    return Err(division_by_zero());
                }
                let result = match op {
                    Arithmetic::Add => self.checked_add(other),
                    Arithmetic::Subtract => self.checked_sub(other),
                    Arithmetic::Multiply => self.checked_mul(other),
                    Arithmetic::Divide => self.checked_div(other),
                    Arithmetic::Modulo => Some(self.wrapping_rem(other)),
                };
                result.ok_or_else(|| overflow(&<$ty as Argument>::TYPE))
            }
        }
    )*};
}

integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

fn integers<T>(op: Arithmetic) -> Form
where
    T: Integer + crate::rows::Fixed<Native = T> + for<'a> Argument<Item<'a> = T>,
{
    scalar::<(T, T), T, _>(move |(a, b): (T, T)| a.checked(op, b))
}

/// Sums, differences, products and remainders; quotients of decimals are DOUBLE.
struct OfDecimals {
    op: Arithmetic,
    types: ArithmeticTypes,
}

impl Kernel for OfDecimals {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let valid = valid_rows(arguments);
        let (left, right) = (digits_of::<i128>(&arguments[0]), digits_of::<i128>(&arguments[1]));
        let mut digits = vec![0; rows];
        for row in 0..rows {
            if valid.as_ref().is_none_or(|valid| valid.get(row)) {
                let result = left[row].checked(self.op, right[row]);
                digits[row] = result.map_err(|error| match error.code() == SqlState::DIVISION_BY_ZERO {
                    true => error,
                    false => overflow(&self.types.result),
                })?;
            }
        }
        Ok(vector_of_digits(digits, &self.types.result)?.with_validity(valid))
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
    fn operators() {
        check("add", &["1", "2"], "3", "INTEGER");
        check("add", &["1", "BIGINT '2'"], "3", "BIGINT");
        check("add", &["1.5", "2"], "3.5", "DECIMAL(12,1)");
        check("subtract", &["5.25", "3.5"], "1.75", "DECIMAL(4,2)");
        check("multiply", &["1.5", "2.50"], "3.750", "DECIMAL(5,3)");
        check("multiply", &["1.5", "DOUBLE '2'"], "3.0", "DOUBLE");
        check("divide", &["7", "2"], "3", "INTEGER");
        check("divide", &["-7", "2"], "-3", "INTEGER");
        check("divide", &["7.0", "2"], "3.5", "DOUBLE");
        check("mod", &["-7", "3"], "-1", "INTEGER");
        check("mod", &["7.5", "2"], "1.5", "DECIMAL(11,1)");
        check("mod", &["INTEGER '-2147483648'", "-1"], "0", "INTEGER");
        check("add", &["NULL", "1"], "NULL", "INTEGER");
        check("add", &["NULL", "NULL"], "NULL", "INTEGER");
        check("div", &["-7", "2"], "-3", "INTEGER");
        check("div", &["-7.5", "2"], "-3.0", "DOUBLE");
        check("fdiv", &["-5", "2"], "-3.0", "DOUBLE");
        check("fmod", &["-5", "3"], "1.0", "DOUBLE");
        check("fmod", &["5.5", "2"], "1.5", "DOUBLE");
        check("fmod", &["5", "-3"], "-1.0", "DOUBLE");
        for (name, arguments) in [
            ("divide", ["1", "0"]),
            ("mod", ["1.5", "0"]),
            ("divide", ["1e0", "0"]),
            ("fdiv", ["1", "0"]),
            ("fmod", ["1", "0"]),
            ("div", ["1", "0"]),
        ] {
            assert_eq!(error_of(name, &arguments), "division by zero", "{name}");
        }
        assert!(error_of("add", &["2147483647", "1"]).contains("out of range for INTEGER"));
        assert!(error_of("divide", &["INTEGER '-2147483648'", "-1"]).contains("out of range for INTEGER"));
        assert!(error_of("multiply", &["1e300", "1e300"]).contains("out of range for DOUBLE"));
        let long = "DECIMAL(38,0) '99999999999999999999999999999999999999'";
        assert!(error_of("add", &[long, long]).contains("out of range for DECIMAL(38,0)"));
        assert!(error_of("multiply", &[long, long]).contains("out of range for DECIMAL(38,0)"));
    }

    #[test]
    fn divisors_and_multiples() {
        check("gcd", &["42", "57"], "3", "BIGINT");
        check("gcd", &["-4", "6"], "2", "BIGINT");
        check("gcd", &["0", "0"], "0", "BIGINT");
        check("gcd", &["HUGEINT '4'", "6"], "2", "HUGEINT");
        check("gcd", &["BIGINT '-9223372036854775808'", "6"], "2", "BIGINT");
        check("lcm", &["4", "-6"], "12", "BIGINT");
        check("lcm", &["0", "6"], "0", "BIGINT");
        assert!(error_of("gcd", &["BIGINT '-9223372036854775808'", "0"]).contains("out of range for BIGINT"));
        assert!(error_of("lcm", &["9223372036854775807", "2"]).contains("out of range for BIGINT"));
    }

    #[test]
    fn buckets() {
        for (arguments, expected) in [
            (["5.3", "0", "10", "5"], "3"),
            (["0", "0", "10", "5"], "1"),
            (["10", "0", "10", "5"], "6"),
            (["-1", "0", "10", "5"], "0"),
            (["2", "10", "0", "5"], "5"),
            (["DOUBLE 'inf'", "0", "10", "5"], "6"),
            (["0", "-1e308", "1e308", "2"], "2"),
            (["0", "5e-324", "1", "5"], "0"),
        ] {
            assert_eq!(shown("width_bucket", &arguments), expected, "{arguments:?}");
        }
        assert!(error_of("width_bucket", &["1", "0", "10", "0"]).contains("greater than 0"));
        assert!(error_of("width_bucket", &["1", "10", "10", "1"]).contains("equal"));
        assert!(error_of("width_bucket", &["DOUBLE 'nan'", "1", "10", "1"]).contains("NaN"));
        assert!(error_of("width_bucket", &["11", "0", "10", "2147483647"]).contains("out of range"));
    }

    #[test]
    fn scales() {
        assert_eq!(shown("scale", &["8.4100"]), "4");
        assert_eq!(shown("min_scale", &["8.4100"]), "2");
        assert_eq!(shown("min_scale", &["0.00"]), "0");
        assert_eq!(shown("scale", &["8"]), "0");
    }
}
