//! Arguments as the choice of a function sees them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{Context, SqlType, Value, cast_kind};

use crate::types::{arrow_type, is_same_but_layout, sql_type};
use crate::values::scalar_of_value;

/// What is tried for an argument whose type isn't known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Quoted text is VARCHAR.
    Text,
    /// It becomes what the function asks for.
    Nothing,
}

/// The Arrow types of arguments.
pub(crate) fn fields_of(arguments: &[ArgumentType<'_>], unknown: Unknown) -> Result<Vec<FieldRef>, NoFunction> {
    let field = |(at, argument): (usize, &ArgumentType<'_>)| {
        let is_text = matches!(argument.value, Some(Value::Text(_)));
        let ty = match argument.ty {
            SqlType::Unknown if is_text && unknown == Unknown::Text => DataType::Utf8View,
            ty => arrow_type(&for_arrow(ty))
                .map_err(|error| NoFunction::BadArgument { argument: Some(at), message: error.message().to_owned() })?,
        };
        Ok(Arc::new(Field::new(format!("a{at}"), ty, argument.nullable)))
    };
    arguments.iter().enumerate().map(field).collect()
}

/// The type in which functions on Arrow's arrays see values: they know labels as texts, not as places.
fn for_arrow(ty: &SqlType) -> Cow<'_, SqlType> {
    ty.with_text_for_labels().map_or(Cow::Borrowed(ty), Cow::Owned)
}

/// The type that an argument is cast to for a function that takes `coerced`.
pub(crate) fn argument_type(argument: &ArgumentType<'_>, coerced: &DataType) -> Result<SqlType, NoFunction> {
    let ty = for_arrow(argument.ty);
    match arrow_type(&ty) {
        Ok(own) if *ty != SqlType::Unknown && is_same_but_layout(&own, coerced) => Ok(ty.into_owned()),
        _ => readable(coerced).map(settled),
    }
}

/// SQL's type for one of Arrow's.
pub(crate) fn readable(ty: &DataType) -> Result<SqlType, NoFunction> {
    sql_type(ty).map_err(|error| NoFunction::BadArgument { argument: None, message: error.message().to_owned() })
}

/// What NULL is where nothing else is known.
pub(crate) fn settled(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) if *element == SqlType::Unknown => SqlType::list_of(SqlType::Integer),
        other => other,
    }
}

/// The type of an argument that may have any.
pub(crate) fn any_type(argument: &ArgumentType<'_>) -> SqlType {
    match argument.ty {
        SqlType::Unknown if argument.value.is_some_and(|value| !value.is_null()) => SqlType::Varchar,
        ty => settled(ty.clone()),
    }
}

/// Does an argument become this type by itself?
pub(crate) fn fits(argument: &ArgumentType<'_>, ty: &SqlType) -> bool {
    argument.ty == ty || cast_kind(argument.ty, ty).is_some_and(|cast| cast.context == Context::Implicit)
}

/// An argument's constant as a scalar of the type that it is cast to, if it is a constant.
pub(crate) fn constant_of(argument: &ArgumentType<'_>, ty: &SqlType) -> Option<ScalarValue> {
    let value = argument.value?;
    let cast = godwit_types::cast_value(value, argument.ty, ty).ok()?;
    scalar_of_value(&cast, ty).ok()
}

/// No form of a function takes the arguments: these are the forms that there are.
pub(crate) fn no_match<S: AsRef<str>>(forms: &[S]) -> NoFunction {
    NoFunction::NoMatch { signatures: forms.iter().map(|form| form.as_ref().to_owned()).collect() }
}

/// An argument has a value that the function doesn't take.
pub(crate) fn bad_argument(argument: usize, message: impl Into<String>) -> NoFunction {
    NoFunction::BadArgument { argument: Some(argument), message: message.into() }
}
