//! Aggregate functions.
//!
//! ```text
//! count(*)                                count(1)
//! approx_count_distinct(x)                count(DISTINCT x), which is near enough
//! min(x, n), arg_min(x, y, n)             min_n(x, n), arg_min_n(x, y, n)
//! quantile_cont(f) WITHIN GROUP (ORDER BY x)   quantile_cont(x, f)
//! ```

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_expr::AggregateUDF;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use godwit_plan::{AggregateFunction, AggregateMatch, ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};

use super::{Unknown, argument_type, fields_of, message_of, readable, settled, signatures, window};
use crate::bridge::types::arrow_type;
use crate::functions::FUNCTIONS;

/// What computes an aggregate function.
#[derive(Debug, Clone)]
pub(in crate::bridge) struct AggregateImplementation {
    /// The function of the planner crates.
    pub function: Arc<AggregateUDF>,
    /// The key of WITHIN GROUP is its first argument.
    pub takes_key: bool,
    /// It counts each value once, whatever the call says.
    pub distinct: bool,
}

/// Functions that count values once.
const COUNTS_DISTINCT: [&str; 2] = ["approx_count_distinct", "approx_distinct"];

/// Functions whose value is one of their first arguments.
const PICKS: &[&str] = &[
    "min",
    "max",
    "first_value",
    "last_value",
    "nth_value",
    "any_value",
    "mode",
    "arg_min",
    "arg_max",
    "quantile_disc",
    "approx_quantile",
    "bit_and",
    "bit_or",
    "bit_xor",
];

/// Functions to which it doesn't matter how often a row comes.
const IGNORE_DUPLICATES: &[&str] = &["min", "max", "bool_and", "bool_or", "bit_and", "bit_or"];

/// Functions to which it matters in which order rows come.
const DEPEND_ON_ORDER: &[&str] = &[
    "array_agg",
    "string_agg",
    "first_value",
    "last_value",
    "nth_value",
    "any_value",
    "arg_min",
    "arg_max",
    "arg_min_n",
    "arg_max_n",
    "mode",
];

/// How many arguments ordered-set functions take if the value is one of them.
const ORDERED_SETS: &[(&str, usize)] =
    &[("quantile_cont", 2), ("quantile_disc", 2), ("approx_quantile", 2), ("mode", 1)];

pub(super) fn is_known(name: &str) -> bool {
    // What also is a window function is an aggregate with a window of its own: `first_value(x ORDER BY y)`.
    FUNCTIONS.aggregate.contains_key(name) || COUNTS_DISTINCT.contains(&name)
}

pub(super) fn own_names() -> impl Iterator<Item = &'static str> {
    COUNTS_DISTINCT.into_iter()
}

pub(super) fn resolve(
    name: &str,
    arguments: &[ArgumentType<'_>],
    order_by: &[ArgumentType<'_>],
) -> Result<AggregateMatch, NoFunction> {
    let distinct = COUNTS_DISTINCT.contains(&name);
    let function = match (distinct, form_by_number(name, arguments.len())) {
        (true, _) => &FUNCTIONS.aggregate["count"],
        (false, form) => FUNCTIONS.aggregate.get(form).ok_or(NoFunction::UnknownName)?,
    };
    let own_name = function.name();
    let ordered_set = ORDERED_SETS.iter().find(|(known, _)| *known == own_name);
    let takes_key = ordered_set.is_some_and(|(_, number)| arguments.len() + 1 == *number && order_by.len() == 1);
    let all: Vec<ArgumentType<'_>> = order_by.iter().filter(|_| takes_key).chain(arguments).copied().collect();
    let (argument_types, ty) = match own_name {
        "count" => (all.iter().map(|argument| countable(argument)).collect(), SqlType::BigInt),
        _ => types_of(function, &all)?,
    };
    let argument_types = argument_types[usize::from(takes_key)..].to_vec();
    let of_empty = match own_name {
        "count" | "regr_count" => Value::Integer(0),
        "entropy" => Value::Float(0.0),
        _ => Value::Null,
    };
    let nullable = of_empty.is_null();
    let implementation = AggregateImplementation { function: Arc::clone(function), takes_key, distinct };
    let function = AggregateFunction {
        name: if distinct { name.into() } else { own_name.into() },
        ignores_duplicates: distinct || IGNORE_DUPLICATES.contains(&own_name),
        depends_on_order: DEPEND_ON_ORDER.contains(&own_name),
        of_empty,
        implementation: Arc::new(implementation),
    };
    Ok(AggregateMatch { function, argument_types, ty, nullable })
}

/// The function that a name stands for with so many arguments.
fn form_by_number(name: &str, arguments: usize) -> &str {
    match (name, arguments) {
        ("min", 2) => "min_n",
        ("max", 2) => "max_n",
        ("arg_min" | "argmin" | "min_by", 3) => "arg_min_n",
        ("arg_max" | "argmax" | "max_by", 3) => "arg_max_n",
        _ => name,
    }
}

/// What `count` takes: anything.
fn countable(argument: &ArgumentType<'_>) -> SqlType {
    match argument.ty {
        SqlType::Unknown if argument.value.is_some_and(|value| !value.is_null()) => SqlType::Varchar,
        ty => settled(ty.clone()),
    }
}

fn types_of(function: &AggregateUDF, arguments: &[ArgumentType<'_>]) -> Result<(Vec<SqlType>, SqlType), NoFunction> {
    let no_match =
        || NoFunction::NoMatch { signatures: signatures(function.name(), &function.signature().type_signature) };
    let coerced = [Unknown::Text, Unknown::Nothing].into_iter().find_map(|unknown| {
        let fields = fields_of(arguments, unknown).ok()?;
        fields_with_udf(&fields, function).ok()
    });
    let coerced = coerced.ok_or_else(no_match)?;
    let types = arguments.iter().zip(&coerced).map(|(argument, field)| argument_type(argument, field.data_type()));
    let types = types.collect::<Result<Vec<SqlType>, NoFunction>>()?;
    let fields: Vec<_> = types
        .iter()
        .zip(&coerced)
        .map(|(ty, field)| match field.data_type() {
            DataType::Null => arrow_type(ty).map(|ty| Arc::new(field.as_ref().clone().with_data_type(ty))),
            _ => Ok(Arc::clone(field)),
        })
        .collect::<Result<_, _>>()
        .map_err(|_| no_match())?;
    let result = function
        .return_field(&fields)
        .map_err(|error| NoFunction::BadArgument { argument: None, message: message_of(error) })?;
    let is_first = |first: &SqlType| arrow_type(first).is_ok_and(|first| first == *result.data_type());
    let ty = match (function.name(), types.first()) {
        (name, Some(first)) if (PICKS.contains(&name) || window::is_pick(name)) && is_first(first) => first.clone(),
        ("sum", Some(SqlType::HugeInt)) => SqlType::HugeInt,
        ("array_agg" | "min_n" | "max_n" | "arg_min_n" | "arg_max_n", Some(first)) => SqlType::list_of(first.clone()),
        _ => settled(readable(result.data_type())?),
    };
    Ok((types, ty))
}
