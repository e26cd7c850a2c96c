//! Scalar functions over vectors: those of `godwit-scalar`.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::{ArgumentType, Expr, NoFunction, ScalarFunction, ScalarMatch};
use godwit_scalar::{Bounded, Kernel};
use godwit_types::Value;
use godwit_vector::Vector;
use godwit_vector::sql::{Reader, vector_of_values};

use crate::implementation::ScalarImplementation;

/// Resolves a call of a function with these arguments.
pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> std::result::Result<ScalarMatch, NoFunction> {
    let (function, form) = godwit_scalar::choose(name, arguments)?;
    let nullable = form.may_be_null || !form.strict || arguments.iter().any(|argument| argument.nullable);
    let implementation = Arc::new(ScalarImplementation::Kernel(function.name(), form.kernel));
    let function = ScalarFunction {
        name: name.into(),
        volatility: function.volatility,
        strict: form.strict,
        may_fail: form.may_fail,
        implementation,
    };
    Ok(ScalarMatch { function, argument_types: form.arguments, ty: form.result, nullable })
}

/// Returns the value of a call with constants, unless it is longer than `bytes_max`.
pub(crate) fn evaluate(kernel: &dyn Kernel, call: &Expr, arguments: &[Expr], bytes_max: usize) -> Result<Value> {
    let vector = |argument: &Expr| {
        let value = argument.as_literal().ok_or_else(|| Error::internal("an argument isn't constant"))?;
        let single = vector_of_values(std::slice::from_ref(value), &argument.ty)?;
        let validity = single.validity().cloned();
        Ok(Vector::constant(single.to_flat(), 1).with_validity(validity))
    };
    let vectors = arguments.iter().map(vector).collect::<Result<Vec<Vector>>>()?;
    let value = kernel.evaluate(&vectors, 1, &Bounded::new(bytes_max))?;
    Reader::new(&value, &call.ty)?.value(0)
}
