//! Functions that are forms of ours: operators, fields of dates and structs, lists, the clock.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_common::{Error, Result};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::{SqlType, Value, common_type};

use super::{Found, described, library, lists, made, numbers, of_library, templates, times, zones};
use crate::arguments::{any_type, bad_argument, fits, no_match, settled};
use crate::implementation::{Operator, ScalarImplementation};
use crate::values::text;

/// Fields of dates and times that are functions, and what `date_part` calls them.
const DATE_PARTS: [(&str, &str); 19] = [
    ("millennium", "millennium"),
    ("century", "century"),
    ("decade", "decade"),
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
    ("&", Operator::BitAnd),
    ("|", Operator::BitOr),
    ("#", Operator::BitXor),
    ("xor", Operator::BitXor),
    ("<<", Operator::ShiftLeft),
    (">>", Operator::ShiftRight),
];

/// Functions whose arguments have one type: (name, DataFusion's name, the result is a list of that type).
const UNIFYING: [(&str, &str, bool); 5] = [
    ("greatest", "greatest", false),
    ("least", "least", false),
    ("list_value", "make_array", true),
    ("make_array", "make_array", true),
    ("list_pack", "make_array", true),
];

/// Names of the current moment, and how much of it they are.
const CLOCKS: [(&str, SqlType); 9] = [
    ("now", SqlType::TimestampTz),
    ("current_timestamp", SqlType::TimestampTz),
    ("get_current_timestamp", SqlType::TimestampTz),
    ("transaction_timestamp", SqlType::TimestampTz),
    ("statement_timestamp", SqlType::TimestampTz),
    ("localtimestamp", SqlType::Timestamp),
    ("current_date", SqlType::Date),
    ("today", SqlType::Date),
    ("current_time", SqlType::Time),
];

/// All other names that aren't those of functions of DataFusion.
const OTHERS: &[&str] = &[
    "||",
    "~",
    "struct_pack",
    "row",
    "struct_extract",
    "list_extract",
    "array_extract",
    "map_extract_value",
    "timezone",
    "timezone_text",
    "timezone_moment",
    "try_timezone_moment",
    "timezone_add",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let parts = DATE_PARTS.iter().map(|(name, _)| *name);
    let bits = BIT_OPERATORS.iter().map(|(name, _)| *name);
    let unifying = UNIFYING.iter().map(|(name, ..)| *name);
    let clocks = CLOCKS.iter().map(|(name, _)| *name);
    parts.chain(bits).chain(unifying).chain(clocks).chain(OTHERS.iter().copied())
}

pub(super) fn is_known(name: &str) -> bool {
    names().any(|own| own == name)
}

/// What a name of ours stands for; `None` if it is left to DataFusion.
pub(super) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Option<Found> {
    if let Some(&(_, op)) = BIT_OPERATORS.iter().find(|(known, _)| *known == name) {
        return Some(on_bits(name, op, arguments));
    }
    if let Some((_, of, is_list)) = UNIFYING.iter().find(|(known, ..)| *known == name) {
        return (!arguments.is_empty()).then(|| unified(name, of, *is_list, arguments));
    }
    if let Some((_, ty)) = CLOCKS.iter().find(|(known, _)| *known == name) {
        return Some(clock(name, ty, arguments));
    }
    let is_list = |at: usize| arguments.get(at).is_some_and(|argument| argument.ty.element().is_some());
    let is_text = |at: usize| arguments.get(at).is_some_and(|argument| *argument.ty == SqlType::Varchar);
    Some(match (name, arguments) {
        ("||", [left, right]) => concatenation(left, right),
        ("~", [argument]) => complement(argument),
        ("struct_pack", _) => struct_of_names(arguments),
        ("row", [_, ..]) => row(arguments),
        ("struct_extract", [record, field]) if record.ty.fields().is_some() => field_of(record, field),
        ("list_extract" | "array_extract", [_, _]) if is_text(0) => {
            let one = vec![ScalarValue::Int64(Some(1))];
            let types = vec![SqlType::Varchar, SqlType::BigInt];
            Ok(made(name, "substr", one, types, SqlType::Varchar))
        }
        ("list_extract" | "array_extract", [list, index]) if is_list(0) && fits(index, &SqlType::BigInt) => {
            let element = settled(list.ty.element().expect("a list").clone());
            let types = vec![SqlType::list_of(element.clone()), SqlType::BigInt];
            Ok(made(name, "array_element", Vec::new(), types, element))
        }
        ("map", [keys, values]) if is_list(0) && is_list(1) => Ok(map(keys, values)),
        ("map_extract_value", [map, key]) => map_value(map, key),
        ("length" | "len", [list]) if is_list(0) => {
            Ok(made(name, "array_length", Vec::new(), vec![list.ty.clone()], SqlType::BigInt))
        }
        ("list_sum" | "array_sum", [list]) if list.ty.element().is_some_and(SqlType::is_integer) => {
            Ok(lists::sum_of_integers(name, list))
        }
        ("list_sort" | "array_sort", [list, ..]) if is_list(0) => lists::sort(name, list, &arguments[1..]),
        ("list_slice" | "array_slice", [whole, ..]) if is_list(0) || is_text(0) => {
            lists::slice(name, whole, &arguments[1..])
        }
        ("round", [number, places]) if number.ty.is_float() && fits(places, &SqlType::BigInt) => {
            Ok(numbers::round(name, number))
        }
        ("ceil" | "ceiling" | "floor", [number]) if matches!(number.ty, SqlType::Decimal { scale: 1.., .. }) => {
            Ok(numbers::whole_decimal(name, number))
        }
        ("octet_length" | "strlen" | "length" | "len", [bytes]) if *bytes.ty == SqlType::Blob => {
            Ok(computed(name, false, vec![SqlType::Blob], SqlType::BigInt, bytes_of))
        }
        ("to_timestamp", [seconds]) if seconds.ty.is_numeric() => Ok(times::of_seconds(name, seconds)),
        ("to_char", [moment, pattern]) => return templates::to_char(name, moment, pattern),
        ("date_part" | "datepart", [field, _]) => return times::part(name, constant_text(field)?, arguments),
        ("timezone", [zone, moment]) => zones::at_zone(zone, moment),
        ("timezone_text", [zone, _]) => zones::text_of_moment(zone),
        ("timezone_moment", [zone, _]) => zones::moment_of_text(name, false, zone),
        ("try_timezone_moment", [zone, _]) => zones::moment_of_text(name, true, zone),
        ("timezone_add", [zone, _, _]) => zones::add(zone),
        (_, [_]) if part_of(name).is_some() => {
            let part = part_of(name)?;
            let of_library = || of_library(name, library::known("date_part"), vec![text(part)], arguments);
            times::part(name, part, arguments).unwrap_or_else(of_library)
        }
        _ => return forms_of(name).map(|forms| Err(no_match(forms))),
    })
}

/// What `date_part` calls the field that a function gives.
fn part_of(name: &str) -> Option<&'static str> {
    DATE_PARTS.iter().find(|(known, _)| *known == name).map(|&(_, part)| part)
}

/// What the names take that no function of DataFusion has.
fn forms_of(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "||" => &["VARCHAR || VARCHAR", "list || list", "list || element"],
        "~" => &["~ BIGINT"],
        "row" => &["row(value, …)"],
        "map_extract_value" => &["map_extract_value(MAP, key)"],
        "timezone" => &["timezone(VARCHAR, TIMESTAMP)", "timezone(VARCHAR, TIMESTAMP WITH TIME ZONE)"],
        "timezone_text" => &["timezone_text(VARCHAR, TIMESTAMP WITH TIME ZONE)"],
        "timezone_moment" | "try_timezone_moment" => &["timezone_moment(VARCHAR, VARCHAR)"],
        "timezone_add" => &["timezone_add(VARCHAR, TIMESTAMP WITH TIME ZONE, INTERVAL)"],
        _ => return None,
    })
}

/// The error of a name of [`forms_of`].
pub(super) fn mismatch(name: &str) -> NoFunction {
    no_match(forms_of(name).unwrap_or_default())
}

/// A function that is computed from what its arguments are, without DataFusion.
pub(super) fn plain(name: &str, may_fail: bool, implementation: ScalarImplementation) -> ScalarFunction {
    let (volatility, implementation) = (Volatility::Immutable, Arc::new(implementation));
    ScalarFunction { name: name.into(), volatility, strict: true, may_fail, implementation }
}

/// A strict function of the values of a row.
pub(super) fn computed(
    name: &str,
    may_fail: bool,
    argument_types: Vec<SqlType>,
    ty: SqlType,
    compute: impl Fn(&[Value]) -> Result<Value> + Send + Sync + 'static,
) -> ScalarMatch {
    let function = plain(name, may_fail, ScalarImplementation::Values(Arc::new(compute)));
    ScalarMatch { function, argument_types, ty, nullable: true }
}

pub(super) fn constant_text<'v>(argument: &ArgumentType<'v>) -> Option<&'v str> {
    match argument.value {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn bytes_of(arguments: &[Value]) -> Result<Value> {
    let [Value::Blob(bytes)] = arguments else { return Err(Error::internal("a BLOB is no bytes")) };
    Ok(Value::Integer(bytes.len() as i128))
}

/// An operator on arguments of one type, which is the result's as well.
fn operator(name: &str, op: Operator, ty: &SqlType, arguments: &[ArgumentType<'_>]) -> ScalarMatch {
    let may_fail = matches!(op, Operator::ShiftLeft | Operator::ShiftRight);
    let function = plain(name, may_fail, ScalarImplementation::Operator(op));
    let nullable = arguments.iter().any(|argument| argument.nullable);
    ScalarMatch { function, argument_types: vec![ty.clone(); arguments.len()], ty: ty.clone(), nullable }
}

fn on_bits(name: &str, op: Operator, arguments: &[ArgumentType<'_>]) -> Found {
    let forms = || no_match(&[format!("BIGINT {name} BIGINT")]);
    let [left, right] = arguments else { return Err(forms()) };
    let is_narrow = |ty: &SqlType| ty.integer_bits().is_some_and(|bits| bits <= 64);
    let ty = common_type(left.ty, right.ty).map(settled).filter(is_narrow).ok_or_else(forms)?;
    Ok(operator(name, op, &ty, arguments))
}

/// All bits turned.
fn complement(argument: &ArgumentType<'_>) -> Found {
    let ty = match argument.ty {
        SqlType::Unknown => SqlType::BigInt,
        ty if ty.is_unsigned_integer() => SqlType::BigInt,
        ty if ty.integer_bits().is_some_and(|bits| bits <= 64) => ty.clone(),
        _ => return Err(mismatch("~")),
    };
    Ok(operator("~", Operator::BitNot, &ty, &[*argument]))
}

/// `left || right`: of text, or of lists and elements.
fn concatenation(left: &ArgumentType<'_>, right: &ArgumentType<'_>) -> Found {
    let list = |element: &SqlType| SqlType::list_of(element.clone());
    let (of, types, ty) = match (left.ty.element(), right.ty.element()) {
        (Some(_), Some(_)) => {
            let both = common_type(left.ty, right.ty).map(settled).ok_or_else(|| mismatch("||"))?;
            let both = both.element().map(list).ok_or_else(|| mismatch("||"))?;
            ("array_concat", vec![both.clone(), both.clone()], both)
        }
        (Some(element), None) => {
            let element = common_type(element, right.ty).map(settled).ok_or_else(|| mismatch("||"))?;
            ("array_append", vec![list(&element), element.clone()], list(&element))
        }
        (None, Some(element)) => {
            let element = common_type(left.ty, element).map(settled).ok_or_else(|| mismatch("||"))?;
            ("array_prepend", vec![element.clone(), list(&element)], list(&element))
        }
        (None, None) => {
            return Ok(operator("||", Operator::Concat, &SqlType::Varchar, &[*left, *right]));
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
    if !is_list && (common.is_float() || is_nested(&common)) {
        return Ok(numbers::extreme(name, common, arguments.len()));
    }
    let ty = if is_list { SqlType::list_of(common.clone()) } else { common.clone() };
    let found = made(name, of, Vec::new(), vec![common; arguments.len()], ty);
    Ok(ScalarMatch { nullable: !is_list, ..found })
}

fn is_nested(ty: &SqlType) -> bool {
    matches!(ty, SqlType::List(_) | SqlType::Array(..) | SqlType::Struct(_) | SqlType::Map(_))
}

/// The moment of the statement.
fn clock(name: &str, ty: &SqlType, arguments: &[ArgumentType<'_>]) -> Found {
    if !arguments.is_empty() {
        return Err(no_match(&[format!("{name}()")]));
    }
    let function = plain(name, false, ScalarImplementation::Clock);
    let function = ScalarFunction { volatility: Volatility::Stable, ..function };
    Ok(ScalarMatch { function, argument_types: Vec::new(), ty: ty.clone(), nullable: false })
}

/// `struct_pack('a', x, 'b', y)`: names and values in turn.
fn struct_of_names(arguments: &[ArgumentType<'_>]) -> Found {
    let wrong = || NoFunction::NoMatch { signatures: vec!["struct_pack(name := value, …)".to_owned()] };
    let mut fields = Vec::new();
    let mut types = Vec::new();
    for pair in arguments.chunks(2) {
        let [ArgumentType { value: Some(Value::Text(name)), .. }, value] = pair else { return Err(wrong()) };
        let ty = any_type(value);
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
    let types: Vec<SqlType> = arguments.iter().map(any_type).collect();
    let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let ty = SqlType::struct_of(names.iter().map(String::as_str).zip(types.iter().cloned()));
    let found = made("row", "struct", Vec::new(), types, ty);
    Ok(ScalarMatch { nullable: false, ..found })
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
    let Some(at) = at else {
        let names: Vec<&str> = fields.iter().map(|known| known.name.as_ref()).collect();
        return Err(bad_argument(1, format!("the struct has no such field, but {}", names.join(", "))));
    };
    let function = plain("struct_extract", false, ScalarImplementation::Field(at));
    let key = if matches!(field.value, Some(Value::Text(_))) { SqlType::Varchar } else { field.ty.clone() };
    Ok(ScalarMatch {
        function,
        argument_types: vec![record.ty.clone(), key],
        ty: fields[at].ty.clone(),
        nullable: true,
    })
}

/// The value of a key of a map; NULL if there is none.
fn map_value(map: &ArgumentType<'_>, key: &ArgumentType<'_>) -> Found {
    let SqlType::Map(entry) = map.ty else { return Err(mismatch("map_extract_value")) };
    if *key.ty != SqlType::Unknown && common_type(&entry.0, key.ty).is_none() {
        return Err(mismatch("map_extract_value"));
    }
    let extract = library::known("map_extract");
    let implementation = ScalarImplementation::Element(Arc::clone(extract), 1);
    let function = described("map_extract_value", extract, implementation);
    let argument_types = vec![map.ty.clone(), entry.0.clone()];
    Ok(ScalarMatch { function, argument_types, ty: entry.1.clone(), nullable: true })
}

/// A map of lists of keys and values, of the types that these have.
fn map(keys: &ArgumentType<'_>, values: &ArgumentType<'_>) -> ScalarMatch {
    let [keys, values] = [keys, values].map(|list| settled(list.ty.element().expect("a list").clone()));
    let lists = [&keys, &values].map(|element| SqlType::list_of(element.clone()));
    made("map", "map", Vec::new(), lists.to_vec(), SqlType::Map(Arc::new((keys, values))))
}
