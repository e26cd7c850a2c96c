//! Functions of numbers, and a few of any type.

use godwit_common::{Error, Result};
use godwit_types::{SqlType, Value, compare_values, sql_equals};

use super::{Call, Nulls, Scalar, ScalarKernel, float_of, text_of, whole};
use crate::arithmetic::{division_by_zero, in_range, out_of_range};

pub(super) const FUNCTIONS: &[Scalar] = &[
    Scalar::failing("abs(N) -> N", abs),
    Scalar::strict("ceil(DOUBLE) -> DOUBLE", |call| float(call, f64::ceil)),
    Scalar::strict("floor(DOUBLE) -> DOUBLE", |call| float(call, f64::floor)),
    Scalar::strict("round(DOUBLE) -> DOUBLE", |call| float(call, f64::round)),
    Scalar::strict("round(DOUBLE, BIGINT) -> DOUBLE", round_to),
    Scalar::failing("sqrt(DOUBLE) -> DOUBLE", sqrt),
    Scalar::strict("power(DOUBLE, DOUBLE) -> DOUBLE", power),
    Scalar::strict("pow(DOUBLE, DOUBLE) -> DOUBLE", power),
    Scalar::failing("mod(BIGINT, BIGINT) -> BIGINT", modulo),
    Scalar::strict("sign(DOUBLE) -> DOUBLE", |call| {
        float(call, |value| if value == 0.0 { 0.0 } else { value.signum() })
    }),
    Scalar::strict("isnan(DOUBLE) -> BOOLEAN", |call| Ok(Value::Boolean(float_of(&call.args[0]).is_nan()))),
    Scalar::with_nulls(Nulls::Own, "greatest(T, T...) -> T", |call| extreme(call, std::cmp::Ordering::is_gt)),
    Scalar::with_nulls(Nulls::Own, "least(T, T...) -> T", |call| extreme(call, std::cmp::Ordering::is_lt)),
    Scalar::with_nulls(Nulls::Own, "nullif(T, T) -> T", nullif),
    Scalar::strict("&(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| Some(a & b))),
    Scalar::strict("|(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| Some(a | b))),
    Scalar::strict("#(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| Some(a ^ b))),
    Scalar::strict("xor(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| Some(a ^ b))),
    Scalar::strict("~(BIGINT) -> BIGINT", |call| Ok(Value::Integer(i128::from(!whole(&call.args[0]))))),
    Scalar::failing("<<(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| shift(a, b, |a, b| a << b))),
    Scalar::failing(">>(BIGINT, BIGINT) -> BIGINT", |call| bits(call, |a, b| shift(a, b, |a, b| a >> b))),
    Scalar::with_nulls(Nulls::Never, "typeof(ANY) -> VARCHAR", |call| Ok(Value::text(call.types[0].to_string()))),
    Scalar::failing("error(VARCHAR) -> VARCHAR", |call| Err(Error::user(text_of(&call.args[0])))),
    Scalar { signature: "random() -> DOUBLE", nulls: Nulls::Never, may_fail: false, kernel: ScalarKernel::Random },
];

fn abs(call: &Call<'_>) -> Result<Value> {
    match &call.args[0] {
        Value::Float(value) => Ok(Value::Float(value.abs())),
        Value::Integer(value) => in_range(value.checked_abs(), call.ty).ok_or_else(|| out_of_range(call.ty)),
        other => Ok(other.clone()),
    }
}

fn float(call: &Call<'_>, compute: fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Float(compute(float_of(&call.args[0]))))
}

fn round_to(call: &Call<'_>) -> Result<Value> {
    let digits = whole(&call.args[1]).clamp(-300, 300) as i32;
    let factor = 10f64.powi(digits);
    let value = float_of(&call.args[0]);
    let rounded = (value * factor).round() / factor;
    Ok(Value::Float(if rounded.is_finite() { rounded } else { value }))
}

fn sqrt(call: &Call<'_>) -> Result<Value> {
    match float_of(&call.args[0]) {
        value if value < 0.0 => Err(Error::user("the square root of a negative number is not defined")),
        value => Ok(Value::Float(value.sqrt())),
    }
}

fn power(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Float(float_of(&call.args[0]).powf(float_of(&call.args[1]))))
}

fn modulo(call: &Call<'_>) -> Result<Value> {
    match (whole(&call.args[0]), whole(&call.args[1])) {
        (_, 0) => Err(division_by_zero()),
        (a, b) => Ok(Value::Integer(i128::from(a.wrapping_rem(b)))),
    }
}

/// NULLs are skipped.
fn extreme(call: &Call<'_>, is_better: fn(std::cmp::Ordering) -> bool) -> Result<Value> {
    let best = call
        .args
        .iter()
        .filter(|value| !value.is_null())
        .reduce(|best, value| if is_better(compare_values(value, best, call.ty)) { value } else { best });
    Ok(best.cloned().unwrap_or(Value::Null))
}

fn nullif(call: &Call<'_>) -> Result<Value> {
    let equal = sql_equals(&call.args[0], &call.args[1], call.ty) == Some(true);
    Ok(if equal { Value::Null } else { call.args[0].clone() })
}

fn bits(call: &Call<'_>, compute: fn(i64, i64) -> Option<i64>) -> Result<Value> {
    let value = compute(whole(&call.args[0]), whole(&call.args[1]));
    value.map(|value| Value::Integer(i128::from(value))).ok_or_else(|| out_of_range(&SqlType::BigInt))
}

fn shift(value: i64, by: i64, compute: fn(i64, i64) -> i64) -> Option<i64> {
    (0..64).contains(&by).then(|| compute(value, by))
}
