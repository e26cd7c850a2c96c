//! Calls with constants, computed while planning.

use std::sync::Arc;

use arrow_schema::Field;
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};
use godwit_common::Result;
use godwit_plan::{Expr, ExprKind, Volatility};
use godwit_types::Value;

use super::{CONFIG, ScalarImplementation, constant, properties};
use crate::bridge::planning_error;
use crate::bridge::types::value;

/// Larger values stay calls.
const BYTES_MAX: usize = 64 << 10;

/// Functions that are expressions over others to the planner crates, and compute nothing themselves.
const EXPANDED: [&str; 7] =
    ["coalesce", "nvl", "nvl2", "arrow_cast", "arrow_try_cast", "cast_to_type", "try_cast_to_type"];

pub(super) fn evaluate(call: &Expr) -> Option<Result<Value>> {
    let ExprKind::Call(function, arguments) = &call.kind else { return None };
    if function.volatility != Volatility::Immutable {
        return None;
    }
    let constants = arguments.iter().map(|argument| constant(argument.as_literal()?, &argument.ty).ok());
    let constants: Vec<ScalarValue> = constants.collect::<Option<_>>()?;
    let ScalarImplementation::Function { function, before, after } = function.implementation.downcast_ref()? else {
        return None;
    };
    if properties::is_growing(function.name()) || EXPANDED.contains(&function.name()) {
        return None;
    }
    let constants = before.iter().cloned().chain(constants).chain(after.iter().cloned()).collect();
    let computed = match invoke(function, constants) {
        Ok(computed) => value(&computed, &call.ty)?,
        Err(DataFusionError::Internal(_)) => return None,
        Err(error) => return Some(Err(planning_error(error).at_span(call.span))),
    };
    (size_of(&computed) <= BYTES_MAX).then_some(Ok(computed))
}

fn invoke(function: &ScalarUDF, constants: Vec<ScalarValue>) -> datafusion_common::Result<ScalarValue> {
    let field = |constant: &ScalarValue| Arc::new(Field::new("constant", constant.data_type(), constant.is_null()));
    let fields: Vec<_> = constants.iter().map(field).collect();
    let fields = datafusion_expr::type_coercion::functions::fields_with_udf(&fields, function)?;
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
