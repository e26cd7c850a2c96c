//! Scalar functions.
//!
//! ```text
//! name, types of arguments ─┬─ a form of ours                         own.rs
//!                           │    ||                              text: the operator; lists: array_concat, array_append, …
//!                           │    & | # xor << >> ~               operators on one integer type
//!                           │    greatest, least, list_value     arguments of one type, by SQL's rules
//!                           │    round(x, n), ceil(decimal), …   row by row, in numbers.rs, as what lists.rs, times.rs and
//!                           │                                    templates.rs have
//!                           │    year(d), hour(t), …             date_part('year', d)
//!                           │    length(list)                    array_length(list), BIGINT
//!                           │    struct_pack('a', x, …)          named_struct; its fields have the arguments' types
//!                           │    struct_extract(s, 'A' or 1)     a field
//!                           │    list_extract(text, i)           substr(text, i, 1)
//!                           │    map_extract_value(m, k)         the first element of map_extract(m, k)
//!                           │    timezone('UTC', t)              a cast
//!                           │    now(), current_date, …          the moment of the statement
//!                           └─ one of DataFusion's, by its signature   library.rs
//! ```

mod library;
mod lists;
mod numbers;
mod own;
mod properties;
mod templates;
mod times;
mod zones;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{ReturnFieldArgs, ScalarUDF, TypeSignature};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch};
use godwit_types::SqlType;

use crate::arguments::{Unknown, argument_type, constant_of, fields_of, readable, settled};
use crate::errors::error_of;
use crate::implementation::ScalarImplementation;
use crate::types::{arrow_type, sql_type};

pub(crate) use properties::is_growing;

/// Most forms of a function that a message lists.
const SIGNATURES_MAX: usize = 8;

type Found = Result<ScalarMatch, NoFunction>;

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    own::names().chain(library::names())
}

pub(crate) fn is_known(name: &str) -> bool {
    own::is_known(name) || library::find(name).is_some()
}

pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Found {
    if let Some(found) = own::resolve(name, arguments) {
        return found;
    }
    let function = library::find(name).ok_or(NoFunction::UnknownName)?;
    of_library(name, function, Vec::new(), arguments)
}

/// A function of DataFusion that takes some types, with constants behind the arguments.
fn made(name: &str, of: &str, after: Vec<ScalarValue>, argument_types: Vec<SqlType>, ty: SqlType) -> ScalarMatch {
    let function = library::known(of);
    let implementation = ScalarImplementation::Arrow { function: Arc::clone(function), before: Vec::new(), after };
    let function = described(name, function, implementation);
    ScalarMatch { function, argument_types, ty, nullable: true }
}

fn described(name: &str, of: &ScalarUDF, implementation: ScalarImplementation) -> ScalarFunction {
    ScalarFunction {
        name: name.into(),
        volatility: properties::volatility(of.signature().volatility),
        strict: properties::is_strict(of.name()),
        may_fail: properties::may_fail(of.name()),
        implementation: Arc::new(implementation),
    }
}

/// A function of DataFusion, by its signature; `before` are constants in front of the arguments.
fn of_library(
    name: &str,
    function: &Arc<ScalarUDF>,
    before: Vec<ScalarValue>,
    arguments: &[ArgumentType<'_>],
) -> Found {
    let fixed = before.iter().map(|value| Arc::new(Field::new("constant", value.data_type(), value.is_null())));
    let fixed: Vec<FieldRef> = fixed.collect();
    let coerced = [Unknown::Text, Unknown::Nothing].into_iter().find_map(|unknown| {
        let fields: Vec<FieldRef> = fixed.iter().cloned().chain(fields_of(arguments, unknown).ok()?).collect();
        fields_with_udf(&fields, function.as_ref()).ok()
    });
    let coerced = coerced
        .ok_or_else(|| NoFunction::NoMatch { signatures: signatures(name, &function.signature().type_signature) })?;
    let given = &coerced[fixed.len()..];
    let types = arguments.iter().zip(given).map(|(argument, field)| argument_type(argument, field.data_type()));
    let types = types.collect::<Result<Vec<SqlType>, NoFunction>>()?;
    let constants = arguments.iter().zip(&types).map(|(argument, ty)| constant_of(argument, ty));
    let constants: Vec<Option<ScalarValue>> = before.iter().cloned().map(Some).chain(constants).collect();
    let result = return_field(function, &settled_fields(&coerced, &types, fixed.len()), &constants)?;
    let ty = result_type(settled(readable(result.data_type())?), arguments);
    let strict = properties::is_strict(function.name());
    let nullable = result.is_nullable() && (!strict || arguments.iter().any(|argument| argument.nullable));
    let implementation = ScalarImplementation::Arrow { function: Arc::clone(function), before, after: Vec::new() };
    Ok(ScalarMatch { function: described(name, function, implementation), argument_types: types, ty, nullable })
}

/// The fields with types for what is NULL only.
fn settled_fields(coerced: &[FieldRef], types: &[SqlType], fixed: usize) -> Vec<FieldRef> {
    let settle = |(at, field): (usize, &FieldRef)| match (field.data_type(), at.checked_sub(fixed)) {
        (DataType::Null, Some(argument)) => {
            let ty = arrow_type(&types[argument]).unwrap_or(DataType::Null);
            Arc::new(field.as_ref().clone().with_data_type(ty))
        }
        _ => Arc::clone(field),
    };
    coerced.iter().enumerate().map(settle).collect()
}

fn return_field(
    function: &ScalarUDF,
    fields: &[FieldRef],
    constants: &[Option<ScalarValue>],
) -> Result<FieldRef, NoFunction> {
    let constants: Vec<Option<&ScalarValue>> = constants.iter().map(Option::as_ref).collect();
    let arguments = ReturnFieldArgs { arg_fields: fields, scalar_arguments: &constants };
    let field = function.return_field_from_args(arguments);
    field.map_err(|error| NoFunction::BadArgument { argument: None, message: error_of(&error).message().to_owned() })
}

/// DataFusion counts in UBIGINT, and knows HUGEINT as a decimal.
fn result_type(ty: SqlType, arguments: &[ArgumentType<'_>]) -> SqlType {
    let takes = |test: fn(&SqlType) -> bool| arguments.iter().any(|argument| test(argument.ty));
    match ty {
        SqlType::UBigInt if !takes(SqlType::is_unsigned_integer) => SqlType::BigInt,
        SqlType::Decimal { precision: SqlType::DECIMAL_PRECISION_MAX, scale: 0 }
            if takes(|ty| *ty == SqlType::HugeInt) =>
        {
            SqlType::HugeInt
        }
        other => other,
    }
}

/// The forms of a function, in SQL's types.
fn signatures(name: &str, signature: &TypeSignature) -> Vec<String> {
    let list = |types: Vec<DataType>| {
        let types: Option<Vec<String>> = types.iter().map(|ty| Some(sql_type(ty).ok()?.to_string())).collect();
        types.map(|types| format!("{name}({})", types.join(", ")))
    };
    let mut forms: Vec<String> = Vec::new();
    for form in signature.get_example_types().into_iter().filter_map(list) {
        if forms.len() < SIGNATURES_MAX && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}
