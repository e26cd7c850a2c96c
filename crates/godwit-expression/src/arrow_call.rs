//! Kernels that run on Arrow arrays: DataFusion's scalar functions and Arrow's casts.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::{DataType, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, Volatility};
use godwit_common::Result;
use godwit_functions::{error_of, error_of_arrow};
use godwit_vector::kernels::cast::convert;
use godwit_vector::{PhysicalType, Vector, from_arrow, to_arrow};

use crate::expression::Kernel;
use crate::literal::constant_of;

/// An Arrow array as a vector of a physical type that holds its values.
fn vector_of(array: &ArrayRef, physical: PhysicalType) -> Result<Vector> {
    let vector = from_arrow(array)?;
    Ok(if vector.physical() == physical || !physical.is_integer() { vector } else { convert(&vector, physical) })
}

/// A cast between types of Arrow.
pub(crate) struct ArrowCast {
    pub(crate) from: DataType,
    pub(crate) to: DataType,
}

impl Kernel for ArrowCast {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let array = to_arrow(&arguments[0], &self.from)?;
        let options = CastOptions { safe: false, format_options: FormatOptions::default() };
        let cast = arrow_cast::cast_with_options(&array, &self.to, &options).map_err(|error| {
            error_of_arrow(&error).with_hint("use TRY_CAST to get NULL for values that can't be converted")
        })?;
        vector_of(&cast, PhysicalType::natural(&self.to)?)
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
        match self.function.invoke_with_args(call).map_err(|error| error_of(&error))? {
            ColumnarValue::Array(array) => vector_of(&array, physical),
            ColumnarValue::Scalar(scalar) => {
                let array = scalar.to_array_of_size(rows).map_err(|error| error_of(&error))?;
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
    let scalar = ScalarValue::try_from_array(&array, 0).map_err(|error| error_of(&error))?;
    Ok(ColumnarValue::Scalar(scalar))
}
