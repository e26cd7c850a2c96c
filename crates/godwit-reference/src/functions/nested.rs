//! Functions of lists and structs.

use godwit_common::{Error, Result};
use godwit_types::{SqlType, Value, compare_values};

use super::{Call, Nulls, Scalar, list_of, text_of, whole};

/// Maximum length of a list made by `range`.
const LIST_MAX: i128 = 100_000;

pub(super) const FUNCTIONS: &[Scalar] = &[
    Scalar::with_nulls(Nulls::Never, "list_value(T...) -> T[]", |call| list(call.args.to_vec())),
    Scalar::with_nulls(Nulls::Never, "struct_pack(ANY...) -> {struct}", struct_pack),
    Scalar::with_nulls(Nulls::StrictOrNull, "struct_extract(ANY, VARCHAR) -> {field}", struct_extract),
    Scalar::strict("list_contains(T[], T) -> BOOLEAN", list_contains),
    Scalar::strict("array_length(T[]) -> BIGINT", length),
    Scalar::strict("len(T[]) -> BIGINT", length),
    Scalar::strict("len(VARCHAR) -> BIGINT", length),
    Scalar::with_nulls(Nulls::StrictOrNull, "list_extract(T[], BIGINT) -> T", list_extract),
    Scalar::strict("||(T[], T[]) -> T[]", |call| list([list_of(&call.args[0]), list_of(&call.args[1])].concat())),
    Scalar::failing("range(BIGINT) -> BIGINT[]", |call| numbers(call, false)),
    Scalar::failing("range(BIGINT, BIGINT) -> BIGINT[]", |call| numbers(call, false)),
    Scalar::failing("range(BIGINT, BIGINT, BIGINT) -> BIGINT[]", |call| numbers(call, false)),
    Scalar::failing("generate_series(BIGINT) -> BIGINT[]", |call| numbers(call, true)),
    Scalar::failing("generate_series(BIGINT, BIGINT) -> BIGINT[]", |call| numbers(call, true)),
    Scalar::failing("generate_series(BIGINT, BIGINT, BIGINT) -> BIGINT[]", |call| numbers(call, true)),
    Scalar::lambda("list_transform(T[], T -> U) -> U[]", |call, apply| {
        let values = list_of(&call.args[0]).iter().map(|value| apply(std::slice::from_ref(value)));
        list(values.collect::<Result<_>>()?)
    }),
    Scalar::lambda("list_filter(T[], T -> BOOLEAN) -> T[]", |call, apply| {
        let mut kept = Vec::new();
        for value in list_of(&call.args[0]) {
            if apply(std::slice::from_ref(value))? == Value::Boolean(true) {
                kept.push(value.clone());
            }
        }
        list(kept)
    }),
];

fn list(values: Vec<Value>) -> Result<Value> {
    Ok(Value::List(values.into()))
}

/// Names and values alternate.
fn struct_pack(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Struct(call.args.iter().skip(1).step_by(2).cloned().collect()))
}

fn struct_extract(call: &Call<'_>) -> Result<Value> {
    let name = text_of(&call.args[1]);
    let fields = call.types[0].fields().unwrap_or_default();
    let position = fields.iter().position(|field| field.name.eq_ignore_ascii_case(name));
    let value = position.and_then(|position| list_of(&call.args[0]).get(position).cloned());
    value.ok_or_else(|| Error::user(format!("no field named {name}")))
}

fn list_contains(call: &Call<'_>) -> Result<Value> {
    let is_sought = |value: &Value| !value.is_null() && compare_values(value, &call.args[1], &call.types[1]).is_eq();
    Ok(Value::Boolean(list_of(&call.args[0]).iter().any(is_sought)))
}

fn length(call: &Call<'_>) -> Result<Value> {
    let length = match &call.args[0] {
        Value::Text(text) => text.chars().count(),
        other => list_of(other).len(),
    };
    Ok(Value::Integer(length as i128))
}

/// Positions count from 1, negative ones from the end.
fn list_extract(call: &Call<'_>) -> Result<Value> {
    let (values, position) = (list_of(&call.args[0]), whole(&call.args[1]));
    let index = match position {
        1.. => usize::try_from(position - 1).ok(),
        0 => None,
        _ => usize::try_from(position.unsigned_abs()).ok().and_then(|back| values.len().checked_sub(back)),
    };
    Ok(index.and_then(|index| values.get(index)).cloned().unwrap_or(Value::Null))
}

fn numbers(call: &Call<'_>, with_end: bool) -> Result<Value> {
    let args: Vec<i128> = call.args.iter().map(|value| i128::from(whole(value))).collect();
    let (start, end, step) = match args.as_slice() {
        [end] => (0, *end, 1),
        [start, end] => (*start, *end, 1),
        [start, end, step, ..] => (*start, *end, *step),
        [] => return Err(Error::internal("a range has no end")),
    };
    if step == 0 {
        return Err(Error::user("the step of a range must not be zero"));
    }
    let end = if with_end { end + step.signum() } else { end };
    let distance = (end - start) * step.signum();
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    if count > LIST_MAX {
        return Err(Error::resource(format!("a range has at most {LIST_MAX} values here")));
    }
    let value = |index: i128| crate::arithmetic::in_range(Some(start + index * step), &SqlType::BigInt);
    list((0..count).filter_map(value).collect())
}
