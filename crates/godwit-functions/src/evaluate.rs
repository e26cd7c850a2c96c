//! Calls with constants, computed while planning.

use std::sync::{Arc, LazyLock};

use arrow_schema::Field;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};
use godwit_common::Result;
use godwit_plan::{Expr, ExprKind, Volatility};
use godwit_types::Value;

use crate::errors::error_of;
use crate::implementation::ScalarImplementation;
use crate::scalar::is_growing;
use crate::values::{scalar_of_value, value_of_scalar};

/// Larger values stay calls.
const BYTES_MAX: usize = 64 << 10;

/// Settings of functions that ask for some.
static CONFIG: LazyLock<Arc<ConfigOptions>> = LazyLock::new(Arc::default);

/// The value of a call; `None` if it is left to the executor.
pub(crate) fn evaluate(call: &Expr) -> Option<Result<Value>> {
    let ExprKind::Call(function, arguments) = &call.kind else { return None };
    if function.volatility != Volatility::Immutable {
        return None;
    }
    let constants: Vec<&Value> = arguments.iter().map(Expr::as_literal).collect::<Option<_>>()?;
    let computed = match function.implementation.downcast_ref()? {
        ScalarImplementation::Values(_) if function.strict && constants.iter().any(|value| value.is_null()) => {
            Ok(Value::Null)
        }
        ScalarImplementation::Values(compute) => compute(&constants.into_iter().cloned().collect::<Vec<_>>()),
        ScalarImplementation::Arrow { function, before, after } if !is_growing(function.name()) => {
            let scalars = constants.iter().zip(arguments).map(|(value, argument)| scalar_of_value(value, &argument.ty));
            let scalars = scalars.collect::<Result<Vec<_>>>().ok()?;
            let scalars = before.iter().cloned().chain(scalars).chain(after.iter().cloned()).collect();
            match invoke(function, scalars) {
                Ok(computed) => Ok(value_of_scalar(&computed, &call.ty).ok()?),
                Err(DataFusionError::Internal(_)) => return None,
                Err(error) => Err(error_of(&error)),
            }
        }
        _ => return None,
    };
    match computed {
        Ok(value) => (size_of(&value) <= BYTES_MAX).then_some(Ok(value)),
        Err(error) => Some(Err(error.at_span(call.span))),
    }
}

fn invoke(function: &ScalarUDF, constants: Vec<ScalarValue>) -> datafusion_common::Result<ScalarValue> {
    let field = |constant: &ScalarValue| Arc::new(Field::new("constant", constant.data_type(), constant.is_null()));
    let fields: Vec<_> = constants.iter().map(field).collect();
    let fields = fields_with_udf(&fields, function)?;
    let cast = constants.iter().zip(&fields).map(|(constant, field)| constant.cast_to(field.data_type()));
    let constants: Vec<ScalarValue> = cast.collect::<datafusion_common::Result<_>>()?;
    let known: Vec<Option<&ScalarValue>> = constants.iter().map(Some).collect();
    let arguments = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &known };
    let return_field = function.return_field_from_args(arguments)?;
    let call = ScalarFunctionArgs {
        args: constants.iter().cloned().map(ColumnarValue::Scalar).collect(),
        arg_fields: fields,
        number_rows: 1,
        return_field,
        config_options: Arc::clone(&CONFIG),
    };
    match function.invoke_with_args(call)? {
        ColumnarValue::Scalar(scalar) => Ok(scalar),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    }
}

/// Bytes of what a value holds.
fn size_of(value: &Value) -> usize {
    let own = size_of_val(value);
    own + match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::List(values) | Value::Struct(values) => values.iter().map(size_of).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| size_of(key) + size_of(value)).sum(),
        _ => 0,
    }
}
