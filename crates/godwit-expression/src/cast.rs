//! Casts.
//!
//! Casts between integers and decimals of one scale cost nothing where the proven range fits the new type: only the SQL
//! type changes, the values lie as they did. Others check their values against the limits of the new type, or scale
//! them. What isn't a number goes through Arrow's cast. Decimals are rounded half away from zero, and so are floats that
//! become decimals; floats that become integers are rounded half to even. Arrow, which folds constants for the planner,
//! would cut off: `godwit-sql` puts the function `whole` around such operands, which is left out here.

use arrow_schema::{DataType, TimeUnit};
use godwit_common::{Error, Result};
use godwit_vector::kernels::arithmetic::unary;
use godwit_vector::kernels::cast::{all_in, convert, divide_rounded, to_bool};
use godwit_vector::{ColumnType, PhysicalType, ValueRange, Vector};

use crate::arithmetic::{integer_literal, scaled_up, shortened};
use crate::arrow_call::ArrowCast;
use crate::expression::{Kernel, Operation};
use crate::literal::Literal;
use crate::{Expression, range};

/// The values inside that an integer or decimal type allows.
pub(crate) fn limit_of(logical: &DataType) -> Option<ValueRange> {
    match logical {
        DataType::Decimal32(p, _) | DataType::Decimal64(p, _) | DataType::Decimal128(p, _) => {
            let largest = 10i128.pow((*p).min(38) as u32) - 1;
            Some(range::new(-largest, largest))
        }
        _ => ValueRange::of_type(PhysicalType::natural(logical).ok()?),
    }
}

/// True for integers, decimals and booleans.
fn is_exact(logical: &DataType) -> bool {
    logical.is_integer() || is_decimal(logical) || *logical == DataType::Boolean
}

fn is_decimal(logical: &DataType) -> bool {
    matches!(logical, DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..))
}

/// True for text of all layouts.
pub(crate) fn is_text(logical: &DataType) -> bool {
    match logical {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_binary(logical: &DataType) -> bool {
    matches!(logical, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// NULL of a type.
pub(crate) fn null_literal(logical: &DataType) -> Result<Expression> {
    let output = ColumnType::new(logical.clone(), true)?;
    let vector = crate::expression::nulls(output.physical, logical, 1);
    Ok(Expression::new(Operation::Literal(Literal::of_vector(&vector)), Vec::new(), output))
}

/// Compiles CAST, or TRY_CAST (NULL instead of an error) if `lenient`.
pub(crate) fn compile(argument: Expression, to: &DataType, lenient: bool, text: &str) -> Result<Expression> {
    let from = argument.output().logical.clone();
    if from == *to {
        return Ok(argument);
    }
    if from == DataType::Null || matches!(argument.as_literal(), Some((_, true))) {
        return null_literal(to);
    }
    let same_bytes = is_text(&from) && (is_text(to) || is_binary(to)) || is_binary(&from) && is_binary(to);
    let wrapped = match (&from, to) {
        (DataType::Dictionary(_, a), DataType::Dictionary(_, b)) => a == b,
        (DataType::Dictionary(_, a), b) | (b, DataType::Dictionary(_, a)) => **a == *b,
        _ => false,
    };
    if same_bytes || wrapped {
        return Ok(relabelled(&argument, to));
    }
    let native = native(argument.clone(), to, text)?;
    Ok(match native {
        Some(cast) if !lenient || cast.can_fail() == argument.can_fail() => cast,
        _ => arrow_cast(argument, to, lenient)?,
    })
}

/// The cast as kernels of our own, if it is one between numbers.
fn native(argument: Expression, to: &DataType, text: &str) -> Result<Option<Expression>> {
    let from = argument.output().logical.clone();
    Ok(match (&from, to) {
        (a, b) if is_exact(a) && (b.is_integer() || is_decimal(b)) => Some(exact_to_exact(argument, to, text)?),
        (a, DataType::Boolean) if a.is_integer() || a.is_floating() && *a != DataType::Float16 => {
            let output = ColumnType { range: None, ..typed(&argument, to, PhysicalType::Bool) };
            Some(Expression::strict(ToBool, vec![argument], output))
        }
        (a, DataType::Float32 | DataType::Float64) if is_exact(a) || a.is_floating() && *a != DataType::Float16 => {
            Some(to_float(argument, to))
        }
        (DataType::Float32 | DataType::Float64, b) if b.is_integer() || is_decimal(b) => {
            Some(from_float(argument, to, text))
        }
        (DataType::Date32, DataType::Timestamp(unit, None)) => Some(date_to_timestamp(argument, *unit, text)),
        _ => None,
    })
}

/// The same nullability under another type, without a range.
fn typed(argument: &Expression, logical: &DataType, physical: PhysicalType) -> ColumnType {
    ColumnType { logical: logical.clone(), physical, nullable: argument.output().nullable, range: None }
}

/// The same values under another SQL type.
fn relabelled(argument: &Expression, to: &DataType) -> Expression {
    argument.retyped(ColumnType { logical: to.clone(), ..argument.output().clone() })
}

fn exact_to_exact(argument: Expression, to: &DataType, text: &str) -> Result<Expression> {
    let output = argument.output().clone();
    let to_scale = ColumnType { logical: to.clone(), ..output.clone() }.scale();
    let bool_as_byte = output.physical == PhysicalType::Bool;
    let argument = if bool_as_byte { to_physical(&argument, PhysicalType::U8) } else { argument };
    let bound = argument.output().bound().expect("an integer type");
    let digits = to_scale as i32 - output.scale() as i32;
    let scaled = match digits {
        0.. => scaled_up(argument, digits, text)?,
        _ => {
            let digits = digits.unsigned_abs();
            let physical = if bound.fits(PhysicalType::I64) { PhysicalType::I64 } else { PhysicalType::I128 };
            let output = ColumnType { range: Some(range::scale_down(bound, digits)), ..typed(&argument, to, physical) };
            let kernel = ScaleDown { divisor: 10i128.checked_pow(digits).unwrap_or(i128::MAX) };
            Expression::strict(kernel, vec![to_physical(&argument, physical)], output)
        }
    };
    Ok(limited(&scaled, to, text))
}

/// The same values under the SQL type `to`, checked against its limits unless they are proven to lie inside.
fn limited(argument: &Expression, to: &DataType, text: &str) -> Expression {
    let bound = argument.output().bound().expect("an integer type");
    let limit = limit_of(to).expect("an integer type");
    if range::contains(limit, bound) {
        return relabelled(argument, to);
    }
    let proven = range::intersect(limit, bound).unwrap_or(limit);
    let wide = argument.output().physical;
    let physical = if wide == PhysicalType::I128 && proven.fits(PhysicalType::I64) { PhysicalType::I64 } else { wide };
    let output = ColumnType { range: Some(proven), ..typed(argument, to, physical) };
    let kernel = Limit { limit, physical, to: to.clone(), text: shortened(text) };
    Expression::strict(kernel, vec![argument.clone()], output)
}

fn to_float(argument: Expression, to: &DataType) -> Expression {
    let scale = argument.output().scale();
    let physical = if *to == DataType::Float32 { PhysicalType::F32 } else { PhysicalType::F64 };
    if scale == 0 {
        let converted = to_physical(&argument, physical);
        return relabelled(&converted, to);
    }
    let output = typed(&argument, to, physical);
    Expression::strict(DecimalToFloat { divisor: 10f64.powi(scale as i32), physical }, vec![argument], output)
}

fn from_float(argument: Expression, to: &DataType, text: &str) -> Expression {
    let limit = limit_of(to).expect("an integer type");
    let physical = if limit.fits(PhysicalType::I64) { PhysicalType::I64 } else { PhysicalType::I128 };
    let output = ColumnType { range: Some(limit), ..typed(&argument, to, physical) };
    let factor = 10f64.powi(output.scale() as i32);
    let kernel =
        FromFloat { factor, to_integer: to.is_integer(), limit, physical, to: to.clone(), text: shortened(text) };
    Expression::strict(kernel, vec![to_physical(&argument, PhysicalType::F64)], output)
}

fn date_to_timestamp(argument: Expression, unit: TimeUnit, text: &str) -> Expression {
    const SECONDS_PER_DAY: i128 = 86_400;
    let ticks = integer_literal(SECONDS_PER_DAY * ColumnType::ticks_per_second(unit) as i128, &DataType::Int64);
    let days = relabelled(&argument, &DataType::Int64);
    use godwit_vector::kernels::arithmetic::Arithmetic::Multiply;
    let product = crate::arithmetic::compile(Multiply, days, ticks, &DataType::Int64, text);
    relabelled(&product.expect("integers have no scale"), &DataType::Timestamp(unit, None))
}

fn arrow_cast(argument: Expression, to: &DataType, lenient: bool) -> Result<Expression> {
    let mut output = ColumnType::new(to.clone(), argument.output().nullable || lenient)?;
    output.range = None;
    let kernel = ArrowCast { from: argument.output().logical.clone(), to: to.clone(), lenient };
    Ok(Expression::strict(kernel, vec![argument], output))
}

/// The same values in another numeric layout; checked if a value might not fit.
pub(crate) fn to_physical(argument: &Expression, physical: PhysicalType) -> Expression {
    let output = argument.output();
    if output.physical == physical {
        return argument.clone();
    }
    let mut changed = ColumnType { physical, ..output.clone() };
    let limit = match (output.bound(), ValueRange::of_type(physical)) {
        (Some(bound), Some(limit)) => {
            changed.range = range::intersect(bound, limit);
            (!bound.fits(physical)).then_some(limit)
        }
        _ => {
            changed.range = None;
            None
        }
    };
    let kernel = Convert { physical, limit };
    Expression::strict(kernel, vec![argument.clone()], changed)
}

struct Convert {
    physical: PhysicalType,
    /// What must hold before the conversion; `None` if it always does.
    limit: Option<ValueRange>,
}

impl Kernel for Convert {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        if self.limit.is_some_and(|limit| !all_in(&arguments[0], limit)) {
            return Err(Error::user("a value doesn't fit into the narrower type that is needed here")
                .with_hint("cast the other side to the wider type"));
        }
        Ok(convert(&arguments[0], self.physical))
    }

    fn can_fail(&self) -> bool {
        self.limit.is_some()
    }
}

struct ScaleDown {
    divisor: i128,
}

impl Kernel for ScaleDown {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(divide_rounded(&arguments[0], self.divisor))
    }
}

fn does_not_fit(text: &str, to: &DataType) -> Error {
    Error::user(format!("{text}: a value doesn't fit into {to}"))
        .with_hint("use a wider type, or TRY_CAST to get NULL instead")
}

struct Limit {
    limit: ValueRange,
    physical: PhysicalType,
    to: DataType,
    text: String,
}

impl Kernel for Limit {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        if !all_in(&arguments[0], self.limit) {
            return Err(does_not_fit(&self.text, &self.to));
        }
        Ok(convert(&arguments[0], self.physical))
    }

    fn can_fail(&self) -> bool {
        true
    }
}

struct ToBool;

impl Kernel for ToBool {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(to_bool(&arguments[0]))
    }
}

struct DecimalToFloat {
    divisor: f64,
    physical: PhysicalType,
}

impl Kernel for DecimalToFloat {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let divisor = self.divisor;
        let values = convert(&arguments[0], PhysicalType::F64);
        Ok(convert(&unary(&values, |value: f64| value / divisor), self.physical))
    }
}

struct FromFloat {
    factor: f64,
    to_integer: bool,
    limit: ValueRange,
    physical: PhysicalType,
    to: DataType,
    text: String,
}

impl Kernel for FromFloat {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let scaled = match self.to_integer {
            true => unary(&arguments[0], f64::round_ties_even),
            false => unary(&arguments[0], |value: f64| (value * self.factor).round()),
        };
        let flat = scaled.to_flat();
        // The limits as floats may be rounded up; the comparison of integers below is exact.
        let (min, max) = (self.limit.min as f64, self.limit.max as f64);
        let finite = |row: usize, value: f64| !scaled.is_valid(row) || (min <= value && value <= max);
        let fits = flat.values::<f64>().iter().enumerate().all(|(row, &value)| finite(row, value));
        let wide = convert(&scaled, PhysicalType::I128);
        if !fits || !all_in(&wide, self.limit) {
            return Err(does_not_fit(&self.text, &self.to));
        }
        Ok(convert(&wide, self.physical))
    }

    fn can_fail(&self) -> bool {
        true
    }
}
