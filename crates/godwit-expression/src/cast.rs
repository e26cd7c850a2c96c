//! Casts between numbers, and between layouts of the same values.
//!
//! Casts between integers and decimals of one scale are free where the proven range fits the new type: only the type
//! changes, the values stay as they are. Others check their values against the limits of the new type, or scale them.
//! Decimals are rounded half away from zero. SQL's CAST is compiled in `compile/casts.rs`.

use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_vector::kernels::arithmetic::unary;
use godwit_vector::kernels::cast::{all_in, convert, divide_rounded, to_bool};
use godwit_vector::{ColumnType, PhysicalType, ValueRange, Vector, from_arrow, in_layout, to_arrow};

use crate::arithmetic::{scaled_up, shortened};
use crate::expression::{Kernel, Operation};
use crate::literal::Literal;
use crate::{Expression, range};

/// The unscaled values that an integer or decimal type allows.
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
pub(crate) fn is_exact(logical: &DataType) -> bool {
    logical.is_integer() || is_decimal(logical) || *logical == DataType::Boolean
}

fn is_decimal(logical: &DataType) -> bool {
    matches!(logical, DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..))
}

/// True for text in any layout.
pub(crate) fn is_text(logical: &DataType) -> bool {
    matches!(logical, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(logical: &DataType) -> bool {
    matches!(logical, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// Returns the NULL of a type.
pub(crate) fn null_literal(logical: &DataType) -> Result<Expression> {
    let output = ColumnType::new(logical.clone(), true)?;
    let vector = Vector::null_of(&output, 1);
    Ok(Expression::new(Operation::Literal(Literal::of_vector(&vector)), Vec::new(), output))
}

/// Compiles a change of the Arrow type, provided that both types hold the same SQL values.
pub(crate) fn compile(argument: Expression, to: &DataType, text: &str) -> Result<Expression> {
    let from = argument.output().logical.clone();
    if from == *to {
        return Ok(argument);
    }
    if from == DataType::Null || matches!(argument.as_literal(), Some((_, true))) {
        return null_literal(to);
    }
    let same_bytes = is_text(&from) && (is_text(to) || is_binary(to)) || is_binary(&from) && is_binary(to);
    if same_bytes {
        return Ok(relabelled(&argument, to));
    }
    match to {
        _ if is_exact(&from) && (to.is_integer() || is_decimal(to)) => {
            exact_to_exact(argument, &ExactType::of(to), text)
        }
        DataType::Float32 | DataType::Float64 if is_exact(&from) || from.is_floating() && from != DataType::Float16 => {
            Ok(to_float(argument, to))
        }
        _ => {
            let output = ColumnType::new(to.clone(), argument.output().nullable)?;
            Ok(Expression::strict(Relayout { from, to: to.clone() }, vec![argument], output))
        }
    }
}

/// Returns an expression of the same type that can't fail, to tell whether an operation on it can fail by itself.
pub(crate) fn unfailing(argument: &Expression) -> Expression {
    Expression::column(0, argument.output().clone())
}

/// Returns another type with the argument's nullability, without a range.
pub(crate) fn typed(argument: &Expression, logical: &DataType, physical: PhysicalType) -> ColumnType {
    ColumnType { logical: logical.clone(), physical, nullable: argument.output().nullable, range: None }
}

/// Returns the same values under another SQL type.
pub(crate) fn relabelled(argument: &Expression, to: &DataType) -> Expression {
    argument.retyped(ColumnType { logical: to.clone(), ..argument.output().clone() })
}

/// An integer or decimal type as the target of a cast.
pub(crate) struct ExactType<'t> {
    pub(crate) logical: &'t DataType,
    /// The unscaled values that the SQL type allows.
    pub(crate) limit: ValueRange,
    /// The SQL type, for messages.
    pub(crate) name: String,
}

impl<'t> ExactType<'t> {
    fn of(logical: &'t DataType) -> Self {
        Self { logical, limit: limit_of(logical).expect("an integer type"), name: logical.to_string() }
    }
}

/// Casts numbers to booleans: all but 0 are TRUE.
pub(crate) fn to_boolean(argument: Expression) -> Expression {
    let output = typed(&argument, &DataType::Boolean, PhysicalType::Bool);
    Expression::strict(ToBool, vec![argument], output)
}

/// Casts an integer, decimal or boolean to an integer or decimal.
pub(crate) fn exact_to_exact(argument: Expression, to: &ExactType<'_>, text: &str) -> Result<Expression> {
    let output = argument.output().clone();
    let to_scale = ColumnType { logical: to.logical.clone(), ..output.clone() }.scale();
    let bool_as_byte = output.physical == PhysicalType::Bool;
    let argument = if bool_as_byte { to_physical(&argument, PhysicalType::U8) } else { argument };
    let bound = argument.output().bound().expect("an integer type");
    let digits = to_scale as i32 - output.scale() as i32;
    let scaled = match digits {
        0.. => scaled_up(argument, digits, text)?,
        _ => {
            let digits = digits.unsigned_abs();
            let physical = if bound.fits(PhysicalType::I64) { PhysicalType::I64 } else { PhysicalType::I128 };
            let proven = Some(range::scale_down(bound, digits));
            let output = ColumnType { range: proven, ..typed(&argument, to.logical, physical) };
            let kernel = ScaleDown { divisor: 10i128.checked_pow(digits).unwrap_or(i128::MAX) };
            Expression::strict(kernel, vec![to_physical(&argument, physical)], output)
        }
    };
    Ok(limited(&scaled, to, text))
}

/// Returns the same values under the SQL type `to`, checked against its limits unless they are proven to lie inside.
fn limited(argument: &Expression, to: &ExactType<'_>, text: &str) -> Expression {
    let bound = argument.output().bound().expect("an integer type");
    let limit = to.limit;
    if range::contains(limit, bound) {
        return relabelled(argument, to.logical);
    }
    let proven = range::intersect(limit, bound).unwrap_or(limit);
    let wide = argument.output().physical;
    let physical = if wide == PhysicalType::I128 && proven.fits(PhysicalType::I64) { PhysicalType::I64 } else { wide };
    let output = ColumnType { range: Some(proven), ..typed(argument, to.logical, physical) };
    let kernel = Limit { limit, physical, to: to.name.clone(), text: shortened(text) };
    Expression::strict(kernel, vec![argument.clone()], output)
}

/// Casts an integer, decimal, boolean or float to a float.
pub(crate) fn to_float(argument: Expression, to: &DataType) -> Expression {
    let scale = argument.output().scale();
    let physical = if *to == DataType::Float32 { PhysicalType::F32 } else { PhysicalType::F64 };
    if scale == 0 {
        let converted = to_physical(&argument, physical);
        return relabelled(&converted, to);
    }
    let output = typed(&argument, to, physical);
    let limit = limit_of(&argument.output().logical).expect("a decimal");
    let bound = argument.output().bound().and_then(|bound| range::intersect(bound, limit)).unwrap_or(limit);
    let digits = if physical == PhysicalType::F32 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
    let is_exact = range::contains(range::new(-(1 << digits), 1 << digits), bound);
    Expression::strict(DecimalToFloat { scale: scale as u32, is_exact, physical }, vec![argument], output)
}

/// Returns the same values in another numeric layout; checked if a value might not fit.
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
    /// Bounds to check before the conversion; `None` if all values fit.
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

pub(crate) fn does_not_fit(text: &str, to: &str) -> Error {
    Error::user(format!("{text}: a value doesn't fit into {to}"))
        .with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
        .with_hint("use a wider type, or TRY_CAST to get NULL instead")
}

struct Limit {
    limit: ValueRange,
    physical: PhysicalType,
    to: String,
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

/// Powers of ten are exact floats up to this exponent.
const EXACT_POWER_MAX_F64: u32 = 22;
const EXACT_POWER_MAX_F32: u32 = 10;
/// Integers are exact floats up to this one.
const MANTISSA_MAX_F64: u128 = 1 << f64::MANTISSA_DIGITS;

struct DecimalToFloat {
    scale: u32,
    /// True if the float type represents the unscaled values exactly.
    is_exact: bool,
    physical: PhysicalType,
}

impl Kernel for DecimalToFloat {
    /// Returns the nearest float: a quotient of exact floats is rounded once, others are converted through text.
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let scale = self.scale;
        let written = |value: i128| format!("{value}e-{scale}");
        let wide = || convert(&arguments[0], PhysicalType::I128);
        Ok(match self.physical {
            PhysicalType::F32 if self.is_exact && scale <= EXACT_POWER_MAX_F32 => {
                let divisor = 10f32.powi(scale as i32);
                unary(&convert(&arguments[0], PhysicalType::F32), |value: f32| value / divisor)
            }
            PhysicalType::F32 => unary(&wide(), |value| written(value).parse::<f32>().expect("a number")),
            _ if self.is_exact && scale <= EXACT_POWER_MAX_F64 => {
                let divisor = 10f64.powi(scale as i32);
                unary(&convert(&arguments[0], PhysicalType::F64), |value: f64| value / divisor)
            }
            _ => unary(&wide(), |value: i128| match value.unsigned_abs() {
                0..=MANTISSA_MAX_F64 if scale <= EXACT_POWER_MAX_F64 => value as f64 / 10f64.powi(scale as i32),
                _ => written(value).parse::<f64>().expect("a number"),
            }),
        })
    }
}

/// A change between Arrow types of the same SQL values: files have others than expressions.
struct Relayout {
    from: DataType,
    to: DataType,
}

impl Kernel for Relayout {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let vector = from_arrow(&in_layout(&to_arrow(&arguments[0], &self.from)?, &self.to)?)?;
        let physical = PhysicalType::natural(&self.to)?;
        Ok(if vector.physical() == physical || !physical.is_integer() { vector } else { convert(&vector, physical) })
    }

    fn can_fail(&self) -> bool {
        true
    }
}
