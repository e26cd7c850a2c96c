//! Functions of numbers, where DataFusion's leave the range of the type or have another order.

use std::cmp::Ordering;

use godwit_common::{Error, Result};
use godwit_plan::{ArgumentType, ScalarFunction, ScalarMatch};
use godwit_types::{SqlType, Value, compare_values};

use super::own::computed;

/// Powers of ten are finite up to this one.
const EXPONENT_MAX: i32 = f64::MAX_10_EXP;

/// `round(number, places)` of a float.
pub(super) fn round(name: &str, number: &ArgumentType<'_>) -> ScalarMatch {
    let round = |arguments: &[Value]| match arguments {
        [Value::Float(number), Value::Integer(places)] => Ok(Value::Float(rounded(*number, *places))),
        _ => Err(Error::internal("round takes a float and an integer")),
    };
    computed(name, false, vec![number.ty.clone(), SqlType::BigInt], number.ty.clone(), round)
}

/// A number that has no digits at the places that are cut off, or so many that no power of ten reaches them, is itself.
fn rounded(number: f64, places: i128) -> f64 {
    let Ok(places) = i32::try_from(places.clamp(-1_000, 1_000)) else { return number };
    if places < -EXPONENT_MAX && number.is_finite() {
        return 0.0;
    }
    let factor = 10_f64.powi(places.abs());
    let rounded = if places < 0 { (number / factor).round() * factor } else { (number * factor).round() / factor };
    if rounded.is_finite() { rounded } else { number }
}

/// `ceil` and `floor` of a decimal: one without places, which has a digit more before the point.
pub(super) fn whole_decimal(name: &str, number: &ArgumentType<'_>) -> ScalarMatch {
    let SqlType::Decimal { precision, scale } = *number.ty else { unreachable!("the caller has looked") };
    let unit = 10_i128.pow(scale.into());
    let is_floor = name == "floor";
    let whole = move |arguments: &[Value]| {
        let [Value::Integer(digits)] = arguments else { return Err(Error::internal("a decimal is no integer inside")) };
        let floor = digits.div_euclid(unit);
        let is_above = !is_floor && digits.rem_euclid(unit) != 0;
        Ok(Value::Integer(floor + i128::from(is_above)))
    };
    let ty = SqlType::decimal(precision - scale + 1, 0);
    computed(name, false, vec![number.ty.clone()], ty, whole)
}

/// `greatest` and `least` in the order of `<`: of all values but NULL.
pub(super) fn extreme(name: &str, ty: SqlType, arguments: usize) -> ScalarMatch {
    let wanted = if name == "greatest" { Ordering::Greater } else { Ordering::Less };
    let of = ty.clone();
    let extreme = move |values: &[Value]| -> Result<Value> {
        let values = values.iter().filter(|value| !value.is_null());
        let better = |best, value| if compare_values(value, best, &of) == wanted { value } else { best };
        Ok(values.reduce(better).cloned().unwrap_or(Value::Null))
    };
    let found = computed(name, false, vec![ty.clone(); arguments], ty, extreme);
    ScalarMatch { function: ScalarFunction { strict: false, ..found.function }, ..found }
}
