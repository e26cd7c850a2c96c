//! Kernels that run on Arrow arrays: DataFusion's scalar functions and Arrow's casts and arithmetic.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::{ArrowError, DataType, FieldRef};
use datafusion_common::arrow::compute::kernels::numeric;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, Volatility};
use godwit_common::{Error, Result};
use godwit_vector::kernels::cast::convert;
use godwit_vector::{PhysicalType, Vector, from_arrow, to_arrow};

use crate::expression::Kernel;
use crate::literal::constant_of;

/// What the planner's crates say, as an error of the user and without their labels.
pub(crate) fn user_error(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(ours) => ours.clone(),
            None => Error::user(inner.to_string()),
        },
        DataFusionError::Context(_, inner) => user_error(inner),
        DataFusionError::ArrowError(arrow, _) => arrow_error(arrow),
        DataFusionError::Execution(message)
        | DataFusionError::Plan(message)
        | DataFusionError::NotImplemented(message) => {
            Error::user(message.split("\n\nbacktrace:").next().unwrap_or_default())
        }
        other => Error::user(other.strip_backtrace()),
    }
}

fn arrow_error(error: &ArrowError) -> Error {
    if let ArrowError::ExternalError(inner) = error
        && let Some(inner) = inner.downcast_ref::<DataFusionError>()
    {
        return user_error(inner);
    }
    if let ArrowError::DivideByZero = error {
        return Error::user("division by zero").with_hint("divide by NULLIF(divisor, 0) to get NULL instead");
    }
    let text = error.to_string();
    // "Cast error: Cannot cast string 'x' to value of Int32 type": the prefix says nothing.
    let message = text.split_once("error: ").map_or(text.as_str(), |(_, message)| message);
    Error::user(message)
}

/// An Arrow array as a vector of a physical type that holds its values.
fn vector_of(array: &ArrayRef, physical: PhysicalType) -> Result<Vector> {
    let vector = from_arrow(array)?;
    Ok(if vector.physical() == physical || !physical.is_integer() { vector } else { convert(&vector, physical) })
}

/// CAST and TRY_CAST.
pub(crate) struct ArrowCast {
    pub(crate) from: DataType,
    pub(crate) to: DataType,
    /// NULL instead of an error.
    pub(crate) lenient: bool,
}

impl Kernel for ArrowCast {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let array = to_arrow(&arguments[0], &self.from)?;
        let options = CastOptions { safe: self.lenient, format_options: FormatOptions::default() };
        let cast = arrow_cast::cast_with_options(&array, &self.to, &options).map_err(|error| {
            arrow_error(&error).with_hint("use TRY_CAST to get NULL for values that can't be converted")
        })?;
        vector_of(&cast, PhysicalType::natural(&self.to)?)
    }

    fn can_fail(&self) -> bool {
        !self.lenient
    }
}

/// Arithmetic of types without kernels of our own: times and intervals.
pub(crate) struct ArrowBinary {
    pub(crate) op: Operator,
    pub(crate) left: DataType,
    pub(crate) right: DataType,
    pub(crate) output: DataType,
}

impl Kernel for ArrowBinary {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let left = to_arrow(&arguments[0], &self.left)?;
        let right = to_arrow(&arguments[1], &self.right)?;
        let computed = match self.op {
            Operator::Plus => numeric::add(&left, &right),
            Operator::Minus => numeric::sub(&left, &right),
            Operator::Multiply => numeric::mul(&left, &right),
            Operator::Divide => numeric::div(&left, &right),
            Operator::Modulo => numeric::rem(&left, &right),
            op => return Err(Error::unsupported(format!("{op} on {} and {}", self.left, self.right))),
        };
        let mut array = computed.map_err(|error| arrow_error(&error))?;
        if *array.data_type() != self.output {
            array = arrow_cast::cast(&array, &self.output).map_err(|error| arrow_error(&error))?;
        }
        vector_of(&array, PhysicalType::natural(&self.output)?)
    }

    fn can_fail(&self) -> bool {
        true
    }
}

/// A scalar function of DataFusion.
pub(crate) struct ArrowFunction {
    pub(crate) function: Arc<ScalarUDF>,
    pub(crate) arguments: Vec<FieldRef>,
    pub(crate) output: FieldRef,
    pub(crate) config: Arc<ConfigOptions>,
}

impl Kernel for ArrowFunction {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let args = arguments
            .iter()
            .zip(&self.arguments)
            .map(|(vector, field)| columnar(vector, field.data_type()))
            .collect::<Result<Vec<_>>>()?;
        let call = ScalarFunctionArgs {
            args,
            arg_fields: self.arguments.clone(),
            number_rows: rows,
            return_field: self.output.clone(),
            config_options: self.config.clone(),
        };
        let physical = PhysicalType::natural(self.output.data_type())?;
        match self.function.invoke_with_args(call).map_err(|error| user_error(&error))? {
            ColumnarValue::Array(array) => vector_of(&array, physical),
            ColumnarValue::Scalar(scalar) => {
                let array = scalar.to_array_of_size(rows).map_err(|error| user_error(&error))?;
                vector_of(&array, physical)
            }
        }
    }

    fn can_fail(&self) -> bool {
        true
    }

    fn is_volatile(&self) -> bool {
        self.function.signature().volatility == Volatility::Volatile
    }
}

/// Constants are passed as scalars: many functions insist on that for some arguments.
fn columnar(vector: &Vector, logical: &DataType) -> Result<ColumnarValue> {
    if constant_of(vector).is_none() {
        return Ok(ColumnarValue::Array(to_arrow(vector, logical)?));
    }
    let array = to_arrow(&vector.slice(0, 1), logical)?;
    let scalar = ScalarValue::try_from_array(&array, 0).map_err(|error| user_error(&error))?;
    Ok(ColumnarValue::Scalar(scalar))
}
