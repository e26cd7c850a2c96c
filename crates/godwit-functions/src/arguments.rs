//! Arguments as seen when a function is chosen.

use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{Context, SqlType, Value, cast_kind};

/// The type of NULL where nothing else determines it.
pub(crate) fn settled(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) if *element == SqlType::Unknown => SqlType::list_of(SqlType::Integer),
        other => other,
    }
}

/// Returns the type of an argument that may have any.
pub(crate) fn any_type(argument: &ArgumentType<'_>) -> SqlType {
    match argument.ty {
        SqlType::Unknown if argument.value.is_some_and(|value: &Value| !value.is_null()) => SqlType::Varchar,
        ty => settled(ty.clone()),
    }
}

/// Returns true if an argument is implicitly cast to this type.
pub(crate) fn fits(argument: &ArgumentType<'_>, ty: &SqlType) -> bool {
    argument.ty == ty || cast_kind(argument.ty, ty).is_some_and(|cast| cast.context == Context::Implicit)
}

/// The error if no form of a function takes the arguments: lists the existing forms.
pub(crate) fn no_match<S: AsRef<str>>(forms: &[S]) -> NoFunction {
    NoFunction::NoMatch { signatures: forms.iter().map(|form| form.as_ref().to_owned()).collect() }
}
