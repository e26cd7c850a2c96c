//! Scalar functions.
//!
//! ```text
//! ||                              text: the operator; lists: array_concat, array_append, array_prepend
//! & | # xor << >> ~               operators on one integer type
//! greatest, least, nvl, list_value, …   arguments of one type, by SQL's rules
//! year(d), hour(t), …             date_part('year', d)
//! length(list)                    array_length(list), BIGINT
//! struct_pack('a', x, …)          named_struct; its fields have the arguments' types
//! struct_extract(s, 'A' or 1)     get_field(s, 'a')
//! list_extract(text, i)           substr(text, i, 1)
//! map_extract_value(m, k)         array_element(map_extract(m, k), 1)
//! timezone('UTC', t)              a cast
//! error(message)                  ours: own.rs
//! date_diff(unit, a, b)           ours: own.rs
//! ```

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{Operator, ReturnFieldArgs, ScalarUDF};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::{Arithmetic, SqlType, Value, arithmetic_type, common_type};

use super::{
    Registry, ScalarImplementation, Unknown, argument_type, constant, constant_of, fields_of, lambda, message_of, own,
    properties, readable, settled, signatures,
};
use crate::bridge::types::{arrow_type, text};
use crate::functions::FUNCTIONS;

/// Fields of dates and times that are functions, and what `date_part` calls them.
const DATE_PARTS: [(&str, &str); 16] = [
    ("year", "year"),
    ("quarter", "quarter"),
    ("month", "month"),
    ("week", "week"),
    ("weekofyear", "week"),
    ("day", "day"),
    ("dayofmonth", "day"),
    ("dayofweek", "dow"),
    ("isodow", "isodow"),
    ("isoyear", "isoyear"),
    ("weekday", "dow"),
    ("dayofyear", "doy"),
    ("hour", "hour"),
    ("minute", "minute"),
    ("second", "second"),
    ("epoch", "epoch"),
];

/// Operators on integers.
const BIT_OPERATORS: [(&str, Operator); 6] = [
    ("&", Operator::BitwiseAnd),
    ("|", Operator::BitwiseOr),
    ("#", Operator::BitwiseXor),
    ("xor", Operator::BitwiseXor),
    ("<<", Operator::BitwiseShiftLeft),
    (">>", Operator::BitwiseShiftRight),
];

/// Functions whose arguments have one type: (name, the planner crates' name, the result is a list of that type).
const UNIFYING: [(&str, &str, bool); 8] = [
    ("greatest", "greatest", false),
    ("least", "least", false),
    ("nullif", "nullif", false),
    ("nvl", "nvl", false),
    ("ifnull", "nvl", false),
    ("list_value", "make_array", true),
    ("make_array", "make_array", true),
    ("list_pack", "make_array", true),
];

/// Names of the current moment, and what the planner crates call it.
const CLOCKS: [(&str, &str, SqlType); 9] = [
    ("now", "now", SqlType::TimestampTz),
    ("current_timestamp", "now", SqlType::TimestampTz),
    ("get_current_timestamp", "now", SqlType::TimestampTz),
    ("transaction_timestamp", "now", SqlType::TimestampTz),
    ("statement_timestamp", "now", SqlType::TimestampTz),
    ("localtimestamp", "now", SqlType::Timestamp),
    ("current_date", "current_date", SqlType::Date),
    ("today", "current_date", SqlType::Date),
    ("current_time", "current_time", SqlType::Time),
];

/// All other names that aren't those of functions of the planner crates.
const OTHERS: &[&str] = &[
    "||",
    "~",
    "mod",
    "fmod",
    "struct_pack",
    "row",
    "struct_extract",
    "list_extract",
    "array_extract",
    "map_extract_value",
    "timezone",
    "error",
    "date_diff",
    "datediff",
];

pub(super) fn own_names() -> impl Iterator<Item = &'static str> {
    let parts = DATE_PARTS.iter().map(|(name, _)| *name);
    let bits = BIT_OPERATORS.iter().map(|(name, _)| *name);
    let unifying = UNIFYING.iter().map(|(name, ..)| *name);
    let clocks = CLOCKS.iter().map(|(name, ..)| *name);
    parts.chain(bits).chain(unifying).chain(clocks).chain(OTHERS.iter().copied())
}

pub(super) fn is_own(name: &str) -> bool {
    own_names().any(|own| own == name)
}

type Found = Result<ScalarMatch, NoFunction>;

pub(super) fn resolve(registry: &Registry, name: &str, arguments: &[ArgumentType<'_>]) -> Found {
    if let Some(found) = own_form(name, arguments) {
        return found;
    }
    if let Some(function) = lambda::function(name) {
        return lambda::resolve(name, &function, arguments);
    }
    let function = registry.function(name).ok_or(NoFunction::UnknownName)?;
    of_planner_crates(name, &function, Vec::new(), arguments)
}

/// What a name of ours stands for; `None` if it is left to the planner crates.
fn own_form(name: &str, arguments: &[ArgumentType<'_>]) -> Option<Found> {
    if let Some(&(_, op)) = BIT_OPERATORS.iter().find(|(known, _)| *known == name) {
        return Some(on_bits(name, op, arguments));
    }
    if let Some((_, of, is_list)) = UNIFYING.iter().find(|(known, ..)| *known == name) {
        return (!arguments.is_empty()).then(|| unified(name, of, *is_list, arguments));
    }
    if let Some((_, of, ty)) = CLOCKS.iter().find(|(known, ..)| *known == name) {
        return arguments.is_empty().then(|| Ok(clock(name, of, ty)));
    }
    let is_list = |at: usize| arguments.get(at).is_some_and(|argument| argument.ty.element().is_some());
    let is_text = |at: usize| arguments.get(at).is_some_and(|argument| *argument.ty == SqlType::Varchar);
    Some(match (name, arguments) {
        ("||", [left, right]) => concatenation(left, right),
        ("~", [argument]) => complement(argument),
        ("mod" | "fmod", [left, right]) => remainder(name, left, right),
        ("struct_pack", _) => struct_of_names(arguments),
        ("row", [_, ..]) => row(arguments),
        ("struct_extract", [record, field]) if record.ty.fields().is_some() => field_of(record, field),
        ("list_extract" | "array_extract", [_, _]) if is_text(0) => {
            let one = vec![ScalarValue::Int64(Some(1))];
            let types = vec![SqlType::Varchar, SqlType::BigInt];
            Ok(made(name, "substr", one, types, SqlType::Varchar))
        }
        ("map_extract_value", [map, key]) => map_value(map, key),
        ("length" | "len", [list]) if is_list(0) => {
            Ok(made(name, "array_length", Vec::new(), vec![list.ty.clone()], SqlType::BigInt))
        }
        ("list_sum" | "array_sum", [list]) if list.ty.element().is_some_and(SqlType::is_integer) => {
            Ok(made(name, "list_sum", Vec::new(), vec![list.ty.clone()], SqlType::BigInt))
        }
        ("timezone", [zone, moment]) => at_zone(zone, moment),
        ("error", _) => of_planner_crates(name, &own::error(), Vec::new(), arguments),
        ("date_diff" | "datediff", _) => {
            let of_timestamps = arguments.iter().map(|argument| match argument.ty {
                SqlType::Date => ArgumentType { ty: &SqlType::Timestamp, value: None, ..*argument },
                _ => *argument,
            });
            let of_timestamps: Vec<ArgumentType<'_>> = of_timestamps.collect();
            of_planner_crates(name, &own::date_difference(), Vec::new(), &of_timestamps)
        }
        (_, [_]) => {
            let (_, part) = DATE_PARTS.iter().find(|(known, _)| *known == name)?;
            of_planner_crates(name, &FUNCTIONS.scalar["date_part"], vec![text(part)], arguments)
        }
        ("||" | "~" | "mod" | "fmod" | "row" | "map_extract_value" | "timezone", _) => Err(no_match(name)),
        _ => return None,
    })
}

/// The forms of the names above.
fn no_match(name: &str) -> NoFunction {
    let forms: &[&str] = match name {
        "||" => &["VARCHAR || VARCHAR", "list || list", "list || element"],
        "~" => &["~ BIGINT"],
        "mod" | "fmod" => &["mod(number, number)"],
        "row" => &["row(value, …)"],
        "map_extract_value" => &["map_extract_value(MAP, key)"],
        "timezone" => &["timezone(VARCHAR, TIMESTAMP)", "timezone(VARCHAR, TIMESTAMP WITH TIME ZONE)"],
        _ => &[],
    };
    NoFunction::NoMatch { signatures: forms.iter().map(|&form| form.to_owned()).collect() }
}

fn bad_argument(argument: usize, message: impl Into<String>) -> NoFunction {
    NoFunction::BadArgument { argument: Some(argument), message: message.into() }
}

/// A function of the planner crates whose types are known, with constants behind its arguments.
fn made(name: &str, of: &str, after: Vec<ScalarValue>, argument_types: Vec<SqlType>, ty: SqlType) -> ScalarMatch {
    let function = &FUNCTIONS.scalar[of];
    let implementation = ScalarImplementation::Function { function: Arc::clone(function), before: Vec::new(), after };
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

/// An operator of the planner crates on arguments of one type, which is the result's as well.
fn operator(
    name: &str,
    op: Operator,
    before: Option<ScalarValue>,
    ty: &SqlType,
    arguments: &[ArgumentType<'_>],
) -> ScalarMatch {
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Immutable,
        strict: true,
        may_fail: !matches!(op, Operator::StringConcat),
        implementation: Arc::new(ScalarImplementation::Operator(op, before)),
    };
    let nullable = arguments.iter().any(|argument| argument.nullable);
    ScalarMatch { function, argument_types: vec![ty.clone(); arguments.len()], ty: ty.clone(), nullable }
}

fn on_bits(name: &str, op: Operator, arguments: &[ArgumentType<'_>]) -> Found {
    let forms = || NoFunction::NoMatch { signatures: vec![format!("BIGINT {name} BIGINT")] };
    let [left, right] = arguments else { return Err(forms()) };
    let ty = common_type(left.ty, right.ty).map(settled).filter(SqlType::is_integer).ok_or_else(forms)?;
    Ok(operator(name, op, None, &ty, arguments))
}

/// All bits turned: `-1 # x`.
fn complement(argument: &ArgumentType<'_>) -> Found {
    let ty = match argument.ty {
        ty if ty.is_signed_integer() => ty.clone(),
        ty if ty.is_unsigned_integer() || *ty == SqlType::Unknown => SqlType::BigInt,
        _ => return Err(no_match("~")),
    };
    let ones = constant(&Value::Integer(-1), &ty).map_err(|_| no_match("~"))?;
    Ok(operator("~", Operator::BitwiseXor, Some(ones), &ty, &[*argument]))
}

fn remainder(name: &str, left: &ArgumentType<'_>, right: &ArgumentType<'_>) -> Found {
    let types = arithmetic_type(Arithmetic::Modulo, left.ty, right.ty).ok_or_else(|| no_match(name))?;
    Ok(operator(name, Operator::Modulo, None, &types.result, &[*left, *right]))
}

/// `left || right`: of text, or of lists and elements.
fn concatenation(left: &ArgumentType<'_>, right: &ArgumentType<'_>) -> Found {
    let list = |element: &SqlType| SqlType::list_of(element.clone());
    let (of, types, ty) = match (left.ty.element(), right.ty.element()) {
        (Some(_), Some(_)) => {
            let both = common_type(left.ty, right.ty).map(settled).ok_or_else(|| no_match("||"))?;
            let both = both.element().map(list).ok_or_else(|| no_match("||"))?;
            ("array_concat", vec![both.clone(), both.clone()], both)
        }
        (Some(element), None) => {
            let element = common_type(element, right.ty).map(settled).ok_or_else(|| no_match("||"))?;
            ("array_append", vec![list(&element), element.clone()], list(&element))
        }
        (None, Some(element)) => {
            let element = common_type(left.ty, element).map(settled).ok_or_else(|| no_match("||"))?;
            ("array_prepend", vec![element.clone(), list(&element)], list(&element))
        }
        (None, None) => {
            return Ok(operator("||", Operator::StringConcat, None, &SqlType::Varchar, &[*left, *right]));
        }
    };
    Ok(made("||", of, Vec::new(), types, ty))
}

/// A function of arguments that have one type.
fn unified(name: &str, of: &str, is_list: bool, arguments: &[ArgumentType<'_>]) -> Found {
    let mut common = arguments[0].ty.clone();
    for argument in &arguments[1..] {
        common = common_type(&common, argument.ty).ok_or_else(|| NoFunction::NoMatch {
            signatures: vec![format!("{name}(value, …), with values of one type")],
        })?;
    }
    let has_text = arguments.iter().any(|argument| argument.value.is_some_and(|value| !value.is_null()));
    let common = if common == SqlType::Unknown && has_text { SqlType::Varchar } else { settled(common) };
    let ty = if is_list { SqlType::list_of(common.clone()) } else { common.clone() };
    let found = made(name, of, Vec::new(), vec![common; arguments.len()], ty);
    Ok(ScalarMatch { nullable: !is_list, ..found })
}

fn clock(name: &str, of: &str, ty: &SqlType) -> ScalarMatch {
    let found = made(name, of, Vec::new(), Vec::new(), ty.clone());
    let function = ScalarFunction { volatility: Volatility::Stable, may_fail: false, ..found.function };
    ScalarMatch { function, nullable: false, ..found }
}

/// `struct_pack('a', x, 'b', y)`: names and values in turn.
fn struct_of_names(arguments: &[ArgumentType<'_>]) -> Found {
    let wrong = || NoFunction::NoMatch { signatures: vec!["struct_pack(name := value, …)".to_owned()] };
    let mut fields = Vec::new();
    let mut types = Vec::new();
    for pair in arguments.chunks(2) {
        let [ArgumentType { value: Some(Value::Text(name)), .. }, value] = pair else { return Err(wrong()) };
        let ty = countable(value);
        types.extend([SqlType::Varchar, ty.clone()]);
        fields.push((name.as_ref(), ty));
    }
    if fields.is_empty() {
        return Err(wrong());
    }
    let ty = SqlType::struct_of(fields);
    let found = made("struct_pack", "named_struct", Vec::new(), types, ty);
    Ok(ScalarMatch { nullable: false, ..found })
}

/// `row(x, y)`: a struct whose fields are numbered.
fn row(arguments: &[ArgumentType<'_>]) -> Found {
    let types: Vec<SqlType> = arguments.iter().map(countable).collect();
    let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let ty = SqlType::struct_of(names.iter().map(String::as_str).zip(types.iter().cloned()));
    let found = made("row", "struct", Vec::new(), types, ty);
    Ok(ScalarMatch { nullable: false, ..found })
}

/// An argument of any type.
fn countable(argument: &ArgumentType<'_>) -> SqlType {
    match argument.ty {
        SqlType::Unknown if argument.value.is_some_and(|value| !value.is_null()) => SqlType::Varchar,
        ty => settled(ty.clone()),
    }
}

/// A field of a struct, by its name in any case or by its position from 1.
fn field_of(record: &ArgumentType<'_>, field: &ArgumentType<'_>) -> Found {
    let fields = record.ty.fields().unwrap_or_default();
    let at = match field.value {
        Some(Value::Text(name)) => {
            let exact = fields.iter().position(|known| known.name == *name);
            exact.or_else(|| fields.iter().position(|known| known.name.eq_ignore_ascii_case(name)))
        }
        Some(Value::Integer(number)) => {
            usize::try_from(*number).ok().and_then(|number| number.checked_sub(1)).filter(|&at| at < fields.len())
        }
        _ => return Err(bad_argument(1, "the name of a field must be a constant")),
    };
    let Some(found) = at.map(|at| &fields[at]) else {
        let names: Vec<&str> = fields.iter().map(|known| known.name.as_ref()).collect();
        return Err(bad_argument(1, format!("the struct has no such field, but {}", names.join(", "))));
    };
    let function = ScalarFunction {
        name: "struct_extract".into(),
        volatility: Volatility::Immutable,
        strict: true,
        may_fail: false,
        implementation: Arc::new(ScalarImplementation::Field(Arc::clone(&found.name))),
    };
    let key = if matches!(field.value, Some(Value::Text(_))) { SqlType::Varchar } else { field.ty.clone() };
    Ok(ScalarMatch { function, argument_types: vec![record.ty.clone(), key], ty: found.ty.clone(), nullable: true })
}

/// The value of a key of a map; NULL if there is none.
fn map_value(map: &ArgumentType<'_>, key: &ArgumentType<'_>) -> Found {
    let SqlType::Map(entry) = map.ty else { return Err(no_match("map_extract_value")) };
    if *key.ty != SqlType::Unknown && common_type(&entry.0, key.ty).is_none() {
        return Err(no_match("map_extract_value"));
    }
    let extract = &FUNCTIONS.scalar["map_extract"];
    let implementation = ScalarImplementation::Element(Arc::clone(extract), 1);
    let function = described("map_extract_value", extract, implementation);
    let argument_types = vec![map.ty.clone(), entry.0.clone()];
    Ok(ScalarMatch { function, argument_types, ty: entry.1.clone(), nullable: true })
}

/// `moment AT TIME ZONE zone`. All moments are shown in UTC, which is the only zone.
fn at_zone(zone: &ArgumentType<'_>, moment: &ArgumentType<'_>) -> Found {
    let is_utc = match zone.value {
        Some(Value::Text(name)) => {
            ["utc", "gmt", "etc/utc", "z", "+00:00", "zulu"].contains(&name.to_lowercase().as_str())
        }
        _ => false,
    };
    if !is_utc {
        return Err(bad_argument(0, "there is no time zone but UTC"));
    }
    let (from, to) = match moment.ty {
        SqlType::TimestampTz => (SqlType::TimestampTz, SqlType::Timestamp),
        SqlType::Date | SqlType::Unknown => (SqlType::Timestamp, SqlType::TimestampTz),
        ty if ty.is_timestamp() => (SqlType::Timestamp, SqlType::TimestampTz),
        _ => return Err(no_match("timezone")),
    };
    let function = ScalarFunction {
        name: "timezone".into(),
        volatility: Volatility::Immutable,
        strict: true,
        may_fail: false,
        implementation: Arc::new(ScalarImplementation::Cast),
    };
    let nullable = moment.nullable;
    Ok(ScalarMatch { function, argument_types: vec![SqlType::Varchar, from], ty: to, nullable })
}

/// A function of the planner crates, by their signatures; `before` are constants in front of the arguments.
fn of_planner_crates(
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
    let implementation = match before.is_empty() {
        true => ScalarImplementation::of(function),
        false => ScalarImplementation::Function { function: Arc::clone(function), before, after: Vec::new() },
    };
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
    field.map_err(|error| NoFunction::BadArgument { argument: None, message: message_of(error) })
}

/// The planner crates count in UBIGINT, and know HUGEINT as a decimal.
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
