//! The types of arguments that accept any type.

use godwit_common::SqlState;
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, Value, common_type};

use crate::choose::fits;
use crate::function::Form;

pub(crate) type Chosen = Option<Result<Form, NoFunction>>;

/// Settles the type of quoted text and NULL where values of all types are taken: VARCHAR.
pub(crate) fn settled_as_text(ty: &SqlType) -> SqlType {
    if *ty == SqlType::Unknown { SqlType::Varchar } else { ty.clone() }
}

/// Settles the type of NULL and `[]` where nothing else is known: INTEGER.
pub(crate) fn settled(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) => SqlType::list_of(settled(element.as_ref().clone())),
        SqlType::Array(element, length) => SqlType::Array(settled(element.as_ref().clone()).into(), length),
        SqlType::Map(entry) => SqlType::Map((settled(entry.0.clone()), settled(entry.1.clone())).into()),
        other => other,
    }
}

/// True for quoted text whose type isn't known yet.
fn is_quoted(argument: &ArgumentType<'_>) -> bool {
    *argument.ty == SqlType::Unknown && argument.value.is_some_and(|value| !value.is_null())
}

/// Returns the type of an argument that accepts any type.
pub(crate) fn any_type(argument: &ArgumentType<'_>) -> SqlType {
    if is_quoted(argument) { SqlType::Varchar } else { settled(argument.ty.clone()) }
}

/// Returns the common type of several arguments.
pub(crate) fn type_of_all(arguments: &[ArgumentType<'_>]) -> Option<SqlType> {
    let mut all = SqlType::Unknown;
    for argument in arguments {
        if argument.lambda_parameters.is_some() {
            return None;
        }
        all = common_type(&all, argument.ty)?;
    }
    let is_text = all == SqlType::Unknown && arguments.iter().any(is_quoted);
    Some(if is_text { SqlType::Varchar } else { settled(all) })
}

/// Returns the type of the elements of a list or array, unsettled; NULL is a list of unknown type.
pub(crate) fn open_element(argument: &ArgumentType<'_>) -> Option<SqlType> {
    match argument.ty {
        _ if argument.lambda_parameters.is_some() => None,
        SqlType::Unknown if !is_quoted(argument) => Some(SqlType::Unknown),
        ty => ty.element().cloned(),
    }
}

/// Returns the type of the elements of a list or array.
pub(crate) fn element_of(argument: &ArgumentType<'_>) -> Option<SqlType> {
    open_element(argument).map(settled)
}

/// Returns the common type of a list's elements and a value.
pub(crate) fn element_with(list: &ArgumentType<'_>, value: &ArgumentType<'_>) -> Option<SqlType> {
    let element = open_element(list)?;
    if element == SqlType::Unknown {
        return Some(any_type(value));
    }
    common_type(&element, value.ty).map(settled)
}

/// Returns the common type of the elements of several lists.
pub(crate) fn element_of_all(lists: &[ArgumentType<'_>]) -> Option<SqlType> {
    let mut all = SqlType::Unknown;
    for list in lists {
        all = common_type(&all, &open_element(list)?)?;
    }
    Some(settled(all))
}

/// True if it can be a position or a count. Integers of all types can; the cast to BIGINT rejects those out of range.
pub(crate) fn is_bigint(argument: &ArgumentType<'_>) -> bool {
    argument.lambda_parameters.is_none() && (argument.ty.is_integer() || fits(argument, &SqlType::BigInt))
}

pub(crate) fn is_text(argument: &ArgumentType<'_>) -> bool {
    argument.lambda_parameters.is_none() && fits(argument, &SqlType::Varchar)
}

pub(crate) fn constant_text<'v>(argument: &ArgumentType<'v>) -> Option<&'v str> {
    match argument.value {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// The error for an argument value that the function doesn't accept.
pub(crate) fn bad_argument(argument: usize, message: impl Into<String>) -> NoFunction {
    let code = SqlState::INVALID_PARAMETER_VALUE;
    NoFunction::BadArgument { argument: Some(argument), message: message.into(), code }
}

/// Returns the type of a list argument whose elements get a type: an array stays one if they have it already.
pub(crate) fn list_as(list: &ArgumentType<'_>, element: &SqlType) -> SqlType {
    match list.ty {
        SqlType::Array(own, _) if own.as_ref() == element => list.ty.clone(),
        _ => SqlType::list_of(element.clone()),
    }
}
