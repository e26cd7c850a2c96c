//! Arithmetic whose width follows from proven ranges.
//!
//! ```text
//! R = range of the exact result, from the ranges of the operands        L = what the result's SQL type allows
//!
//! R fits i64                    i64, unchecked (32-bit factors where the operands allow: one instruction per product)
//! else L fits i64               i64, checked
//! else a product of two i64     i128, can't overflow
//! else R fits i128              i128, unchecked
//! else                          i128, checked
//! ```
//!
//! Results that may leave L are checked against it afterwards. The result's range is R ∩ L. Decimals are integers: sums
//! need a common scale, products add the scales, and quotients scale the dividend up first, as the result's type says.

use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_types::{SqlType, Value};
use godwit_vector::kernels::arithmetic::{self as kernels, Arithmetic, ArithmeticError};
use godwit_vector::kernels::cast::{all_in, convert};
use godwit_vector::{ColumnType, PhysicalType, ValueRange, Vector};

use crate::cast::{limit_of, to_physical};
use crate::expression::Kernel;
use crate::{Expression, range};

/// The type of a result of integer arithmetic.
pub(crate) struct Target<'t> {
    pub(crate) logical: &'t DataType,
    /// The values that the SQL type allows.
    pub(crate) limit: ValueRange,
    /// What overflows, for messages.
    pub(crate) what: &'static str,
}

impl<'t> Target<'t> {
    /// Creates the target for an integer or decimal type.
    pub(crate) fn of(logical: &'t DataType) -> Self {
        let what = if matches!(logical, DataType::Decimal128(..)) { "decimal" } else { "integer" };
        Self { logical, limit: limit_of(logical).expect("an integer type"), what }
    }
}

/// Compiles `left op right` for numbers of matching kinds to a result of type `logical`; `text` is for messages.
pub(crate) fn compile(
    op: Arithmetic,
    left: Expression,
    right: Expression,
    logical: &DataType,
    text: &str,
) -> Result<Expression> {
    if logical.is_floating() {
        return Ok(float(op, left, right, logical));
    }
    compile_exact(op, left, right, &Target::of(logical), text)
}

/// Compiles `left op right` for integers and decimals.
pub(crate) fn compile_exact(
    op: Arithmetic,
    left: Expression,
    right: Expression,
    target: &Target<'_>,
    text: &str,
) -> Result<Expression> {
    let scale = |logical: &DataType| match logical {
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => *s as i32,
        _ => 0,
    };
    let (left_scale, right_scale, result_scale) =
        (scale(&left.output().logical), scale(&right.output().logical), scale(target.logical));
    let (left, right) = match op {
        Arithmetic::Multiply if left_scale + right_scale == result_scale => (left, right),
        Arithmetic::Multiply => return Err(Error::unsupported(format!("a product of scale {result_scale} in {text}"))),
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Remainder => {
            (scaled_up(left, result_scale - left_scale, text)?, scaled_up(right, result_scale - right_scale, text)?)
        }
        Arithmetic::Divide => match result_scale - left_scale + right_scale {
            digits @ 0.. => (scaled_up(left, digits, text)?, right),
            digits => (left, scaled_up(right, -digits, text)?),
        },
    };
    Ok(integer(op, left, right, target, text))
}

/// Compiles `-argument`.
pub(crate) fn compile_negation(argument: Expression, text: &str) -> Expression {
    let output = argument.output().clone();
    if output.logical.is_floating() {
        return Expression::strict(FloatNegation, vec![argument], output);
    }
    compile_exact_negation(argument, &Target::of(&output.logical), text)
}

/// Compiles `-argument` for an integer or decimal.
pub(crate) fn compile_exact_negation(argument: Expression, target: &Target<'_>, text: &str) -> Expression {
    let zero = integer_literal(0, target.logical);
    integer(Arithmetic::Subtract, zero, argument, target, text)
}

/// Multiplies by 10^digits; the result is an intermediate that may exceed the argument's SQL type.
pub(crate) fn scaled_up(argument: Expression, digits: i32, text: &str) -> Result<Expression> {
    if digits == 0 {
        return Ok(argument);
    }
    let factor = u32::try_from(digits)
        .ok()
        .and_then(|digits| 10i128.checked_pow(digits))
        .ok_or_else(|| Error::user(format!("the scales of the decimals in {text} are too far apart")))?;
    let intermediate = DataType::Decimal128(38, 0);
    let factor = integer_literal(factor, &intermediate);
    Ok(integer(Arithmetic::Multiply, argument, factor, &Target::of(&intermediate), text))
}

/// Returns a literal whose unscaled value is `value`, as `i64` if that suffices.
pub(crate) fn integer_literal(value: i128, logical: &DataType) -> Expression {
    let wide = Expression::literal(&Value::Integer(value), &SqlType::HugeInt).expect("integers are literals");
    let narrow = if i64::try_from(value).is_ok() { to_physical(&wide, PhysicalType::I64) } else { wide };
    let output = ColumnType { logical: logical.clone(), ..narrow.output().clone() };
    narrow.retyped(output)
}

fn float(op: Arithmetic, left: Expression, right: Expression, logical: &DataType) -> Expression {
    let physical = if *logical == DataType::Float32 { PhysicalType::F32 } else { PhysicalType::F64 };
    let nullable = left.output().nullable || right.output().nullable;
    let arguments = vec![to_physical(&left, physical), to_physical(&right, physical)];
    let output = ColumnType { logical: logical.clone(), physical, nullable, range: None };
    Expression::strict(FloatArithmetic { op, single: physical == PhysicalType::F32 }, arguments, output)
}

/// Compiles the integer operation on unscaled values of one scale.
fn integer(op: Arithmetic, left: Expression, right: Expression, target: &Target<'_>, text: &str) -> Expression {
    let Target { logical, limit, what } = *target;
    let bound = |argument: &Expression| argument.output().bound().expect("an integer type");
    let (a, b) = (bound(&left), bound(&right));
    let exact = match op {
        Arithmetic::Add => range::add(a, b),
        Arithmetic::Subtract => range::subtract(a, b),
        Arithmetic::Multiply => range::multiply(a, b),
        Arithmetic::Divide => range::divide(a, b),
        Arithmetic::Remainder => range::remainder(a, b),
    };
    let narrow = a.fits(PhysicalType::I64) && b.fits(PhysicalType::I64);
    let divides = matches!(op, Arithmetic::Divide | Arithmetic::Remainder);
    let by_zero = divides && b.min <= 0 && 0 <= b.max;
    let exact_fits = |physical| exact.is_some_and(|exact| exact.fits(physical));
    let loop_kind = if narrow && exact_fits(PhysicalType::I64) && !divides {
        let factors = op == Arithmetic::Multiply && a.fits(PhysicalType::I32) && b.fits(PhysicalType::I32);
        if factors { Loop::NarrowFactors } else { Loop::Unchecked64 }
    } else if narrow && (limit.fits(PhysicalType::I64) || exact_fits(PhysicalType::I64)) {
        Loop::Checked64
    } else if narrow && op == Arithmetic::Multiply {
        Loop::WideProduct
    } else if exact.is_some() && !divides {
        Loop::Unchecked128
    } else {
        Loop::Checked128
    };
    let proven = exact.map_or(limit, |exact| range::intersect(exact, limit).unwrap_or(limit));
    let operand = loop_kind.operand();
    let physical = if proven.fits(PhysicalType::I64) { PhysicalType::I64 } else { loop_kind.result() };
    let leaves_limit = exact.is_none_or(|exact| !range::contains(limit, exact));
    // The loop itself detects values that leave its type.
    let limit_is_type = ValueRange::of_type(loop_kind.result()) == Some(limit);
    let kernel = IntegerArithmetic {
        op,
        loop_kind,
        limit: (leaves_limit && !limit_is_type).then_some(limit),
        can_fail: by_zero || leaves_limit,
        physical,
        what,
        text: shortened(text),
    };
    let nullable = left.output().nullable || right.output().nullable;
    let arguments = vec![to_physical(&left, operand), to_physical(&right, operand)];
    let output = ColumnType { logical: logical.clone(), physical, nullable, range: Some(proven) };
    Expression::strict(kernel, arguments, output)
}

/// Expressions quoted in messages are cut at this length.
pub(crate) const TEXT_CHARS_MAX: usize = 80;

pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    NarrowFactors,
    Unchecked64,
    Checked64,
    WideProduct,
    Unchecked128,
    Checked128,
}

impl Loop {
    fn operand(self) -> PhysicalType {
        match self {
            Loop::Unchecked128 | Loop::Checked128 => PhysicalType::I128,
            _ => PhysicalType::I64,
        }
    }

    fn result(self) -> PhysicalType {
        if self == Loop::WideProduct { PhysicalType::I128 } else { self.operand() }
    }
}

struct IntegerArithmetic {
    op: Arithmetic,
    loop_kind: Loop,
    /// Bounds of valid results; `None` if all results are valid.
    limit: Option<ValueRange>,
    can_fail: bool,
    /// Type of the result.
    physical: PhysicalType,
    what: &'static str,
    text: String,
}

impl IntegerArithmetic {
    fn overflow(&self) -> Error {
        let error = Error::user(format!("{} overflow in {}", self.what, self.text));
        match self.what {
            "integer" | "decimal" => error
                .with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
                .with_hint("cast an operand to a wider type, such as BIGINT, DECIMAL(38, 0) or DOUBLE"),
            _ => error.with_code(SqlState::DATETIME_FIELD_OVERFLOW),
        }
    }
}

impl Kernel for IntegerArithmetic {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let (a, b) = (&arguments[0], &arguments[1]);
        let computed = match self.loop_kind {
            Loop::NarrowFactors => Ok(kernels::multiply_narrow(a, b)),
            Loop::Unchecked64 => Ok(kernels::integer_unchecked::<i64>(self.op, a, b)),
            Loop::Checked64 => kernels::integer_checked::<i64>(self.op, a, b),
            Loop::WideProduct => Ok(kernels::multiply_wide(a, b)),
            Loop::Unchecked128 => Ok(kernels::integer_unchecked::<i128>(self.op, a, b)),
            Loop::Checked128 => kernels::integer_checked::<i128>(self.op, a, b),
        };
        let result = computed.map_err(|error| match error {
            ArithmeticError::Overflow => self.overflow(),
            ArithmeticError::DivisionByZero => division_by_zero(&self.text),
        })?;
        if self.limit.is_some_and(|limit| !all_in(&result, limit)) {
            return Err(self.overflow());
        }
        Ok(convert(&result, self.physical))
    }

    fn can_fail(&self) -> bool {
        self.can_fail
    }
}

pub(crate) fn division_by_zero(text: &str) -> Error {
    Error::user(format!("division by zero in {text}"))
        .with_code(SqlState::DIVISION_BY_ZERO)
        .with_hint("divide by NULLIF(divisor, 0) to get NULL instead")
}

struct FloatArithmetic {
    op: Arithmetic,
    single: bool,
}

impl Kernel for FloatArithmetic {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let (a, b) = (&arguments[0], &arguments[1]);
        Ok(if self.single { kernels::float::<f32>(self.op, a, b) } else { kernels::float::<f64>(self.op, a, b) })
    }
}

struct FloatNegation;

impl Kernel for FloatNegation {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(match arguments[0].physical() {
            PhysicalType::F32 => kernels::unary(&arguments[0], |value: f32| -value),
            _ => kernels::unary(&arguments[0], |value: f64| -value),
        })
    }
}
