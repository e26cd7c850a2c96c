//! Constant folding of calls.

use godwit_common::{ErrorKind, Result};
use godwit_plan::{Expr, ExprKind, Volatility};
use godwit_types::Value;

use crate::implementation::ScalarImplementation;
use crate::kernel;

/// Calls with larger values aren't folded.
const BYTES_MAX: usize = 64 << 10;

/// Returns the value of a call; `None` if it is left to the executor.
pub(crate) fn evaluate(call: &Expr) -> Option<Result<Value>> {
    let ExprKind::Call(function, arguments) = &call.kind else { return None };
    if function.volatility != Volatility::Immutable {
        return None;
    }
    let constants: Vec<&Value> = arguments.iter().map(Expr::as_literal).collect::<Option<_>>()?;
    let implementation = function.implementation.downcast_ref()?;
    let has_null = function.strict && constants.iter().any(|value| value.is_null());
    let computed = match implementation {
        ScalarImplementation::Kernel(..) | ScalarImplementation::Values(_) if has_null => Ok(Value::Null),
        ScalarImplementation::Kernel(_, kernel) => kernel::evaluate(&**kernel, call, arguments, BYTES_MAX),
        ScalarImplementation::Values(compute) => compute(&constants.into_iter().cloned().collect::<Vec<_>>()),
        ScalarImplementation::Field(_)
        | ScalarImplementation::Lambda(_)
        | ScalarImplementation::Operator(_)
        | ScalarImplementation::Clock
        | ScalarImplementation::OrderKey => return None,
    };
    match computed {
        Ok(value) => (size_of(&value) <= BYTES_MAX).then_some(Ok(value)),
        // Too long for a constant, but not for a row.
        Err(error) if error.kind() == ErrorKind::Resource => None,
        Err(error) => Some(Err(error.at_span(call.span))),
    }
}

/// Bytes held by a value.
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
