//! Numbers, and comparisons of values of any type.

mod arithmetic;
mod bits;
mod classes;
mod digits;
mod extreme;
mod interpolate;
mod logarithms;
mod random;
mod rounding;
mod signs;
mod special;
mod template;
mod trigonometry;

use godwit_common::{Error, Result, SqlState};

pub(crate) use self::template::to_char_of_number;
use crate::function::{Category, Form, Function, function};
use crate::rows::mapped_where;

pub(crate) fn functions() -> Vec<Function> {
    [
        arithmetic::functions(),
        bits::functions(),
        classes::functions(),
        extreme::functions(),
        interpolate::functions(),
        logarithms::functions(),
        random::functions(),
        rounding::functions(),
        signs::functions(),
        special::functions(),
        trigonometry::functions(),
        vec![template::to_number()],
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn number_function(names: &'static [&'static str], description: &'static str) -> Function {
    function(Category::Number, names, description)
}

/// The error for arguments for which a function isn't defined, or for a result beyond its type.
fn out_of_range(message: impl Into<String>) -> Error {
    Error::user(message.into()).with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
}

fn division_by_zero() -> Error {
    Error::user("division by zero").with_code(SqlState::DIVISION_BY_ZERO)
}

/// Checks that a result is infinite only if an operand is; otherwise it was too large.
#[inline]
fn bounded(result: f64, operands: &[f64]) -> Result<f64> {
    match result.is_infinite() && operands.iter().all(|operand| operand.is_finite()) {
        true => Err(too_large()),
        false => Ok(result),
    }
}

#[cold]
fn too_large() -> Error {
    out_of_range("the result is out of range for DOUBLE")
}

/// Creates a form whose result is infinite only if its argument is; otherwise it was too large.
fn mapped_bounded(compute: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Form {
    let compute = move |number: f64| {
        let result = compute(number);
        (result, !result.is_infinite() | number.is_infinite())
    };
    mapped_where::<f64, f64>(compute, |_| too_large())
}
