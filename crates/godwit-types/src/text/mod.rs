//! The text forms of values, read by casts from VARCHAR and written by casts to it.
//!
//! Each family has a file, with reading and writing side by side. Scalars are PostgreSQL's; intervals spell out
//! `months`, lists, structs and maps are DuckDB's. Text that was written reads back as the same value.
//!
//! | type | written | also read |
//! |---|---|---|
//! | numbers | `42`, `1.50`, `1.5`, `1e20`, `NaN`, `inf` | blanks around, `1_000`, `0x2A`, `1.7` and `1e3` as integers |
//! | DATE, TIME | `2000-01-31`, `0044-03-15 BC`, `04:05:06.5` | `2000/1/31`, `20000131`, `4:05 PM` |
//! | with time zone | `04:05:06.5+02`, `04:05:06+05:30` | UTC if there is none; after a date also `Europe/Berlin` |
//! | TIMESTAMP | `2000-01-31 04:05:06.5` | `T` between, a time zone, which doesn't count |
//! | with time zone | `2000-01-31 04:05:06.5+00` | `Z`, `+05:30`; UTC if there is none |
//! | INTERVAL | `1 year 2 months 3 days 04:05:06` | units in any form, `ago`, `P1Y2M`, `1-2`, fractions |
//! | BLOB | `\x00ff` | text with `\xFF` within |
//! | nested | `[1, NULL]`, `{'a': 1}`, `{k=v}` | quotes around any part |

mod arrays;
mod bytes;
mod digits;
pub(crate) mod intervals;
mod json;
mod nested;
pub(crate) mod numbers;
mod scan;
pub(crate) mod times;

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};

pub use bytes::write_hex;
pub use digits::write_integer;
pub use json::{special_in_string, write_json_escaped, write_json_string};
pub(crate) use nested::wrong_length;
pub use nested::{needs_quotes, write_escaped, write_part, write_quoted};

use crate::names::nearest;
use crate::{EnumType, IntervalUnit, SqlType, TimeZone, Value};

/// Parses a value: the cast from VARCHAR.
pub fn parse_value(text: &str, ty: &SqlType) -> Result<Value> {
    let not = || not_a(text, ty);
    match ty {
        SqlType::Unknown | SqlType::Varchar => Ok(Value::text(text)),
        SqlType::Boolean => parse_boolean(text).map(Value::Boolean).ok_or_else(not),
        SqlType::Real | SqlType::Double => numbers::parse_float(text, ty),
        SqlType::Date => times::parse_date(text),
        SqlType::Time => times::parse_time(text),
        SqlType::TimeTz => times::parse_time_tz(text, &TimeZone::UTC),
        _ if ty.is_timestamp() => times::parse_timestamp(text, ty),
        SqlType::Interval => intervals::parse(text, IntervalUnit::Second).map(Value::Interval),
        SqlType::Uuid => bytes::parse_uuid(text).map(Value::Uuid).ok_or_else(not),
        SqlType::Blob => bytes::parse_blob(text).map(|bytes| Value::Blob(bytes.into())).ok_or_else(not),
        SqlType::Bit => bytes::parse_bits(text).map(Value::text).ok_or_else(not),
        SqlType::Json => json::check(text, &mut || true).map(|()| Value::text(text)).ok_or_else(not),
        SqlType::Enum(labels) => parse_label(text, labels, ty),
        _ if ty.is_nested() => nested::parse(text, ty),
        _ => numbers::parse_exact(text, ty),
    }
}

/// Returns true if a text is JSON.
pub fn is_json(text: &str) -> bool {
    json::check(text, &mut || true).is_some()
}

/// Returns true if a text is JSON; asks `proceed` now and then, in long texts, whether to go on.
pub fn is_json_while(text: &str, mut proceed: impl FnMut() -> Result<()>) -> Result<bool> {
    let mut asked = Ok(());
    let is_json = json::check(text, &mut || {
        asked = proceed();
        asked.is_ok()
    });
    asked.map(|()| is_json.is_some())
}

/// Returns the value as text: the cast to VARCHAR; `NULL` for NULL.
///
/// # Panics
/// If the value isn't of the type, which is a bug in the caller.
pub fn format_value(value: &Value, ty: &SqlType) -> String {
    let mut out = String::new();
    write_value(&mut out, value, ty);
    out
}

/// Appends the text of [`format_value`].
pub fn write_value(out: &mut String, value: &Value, ty: &SqlType) {
    match (value, ty) {
        (Value::Null, _) => out.push_str("NULL"),
        (Value::Boolean(value), _) => out.push_str(if *value { "true" } else { "false" }),
        (Value::Integer(position), SqlType::Enum(labels)) => out.push_str(label(*position, labels)),
        (Value::Integer(unscaled), SqlType::Decimal { scale, .. }) => numbers::write_decimal(out, *unscaled, *scale),
        (Value::Integer(value), _) => digits::write_integer(out, *value),
        (Value::UHuge(value), _) => write!(out, "{value}").expect("strings take everything"),
        (Value::Float(value), _) => numbers::write_float(out, *value, *ty == SqlType::Real),
        (Value::Text(text), _) => out.push_str(text),
        (Value::Blob(bytes), _) => bytes::write_blob(out, bytes),
        (Value::Date(days), _) => times::write_date(out, i64::from(*days)),
        (Value::Time(micros), _) => times::write_time(out, *micros),
        (Value::TimeTz(time), _) => times::write_time_tz(out, *time),
        (Value::Timestamp(ticks), _) => times::write_timestamp(out, *ticks, ty),
        (Value::Interval(interval), _) => intervals::write(out, *interval),
        (Value::Uuid(value), _) => bytes::write_uuid(out, *value),
        (Value::List(_) | Value::Struct(_) | Value::Map(_), _) => nested::write(out, value, ty),
    }
}

/// PostgreSQL's words for TRUE and FALSE, and their unambiguous prefixes.
fn parse_boolean(text: &str) -> Option<bool> {
    const WORDS: [(&str, usize, bool); 8] = [
        ("true", 1, true),
        ("yes", 1, true),
        ("on", 2, true),
        ("1", 1, true),
        ("false", 1, false),
        ("no", 1, false),
        ("off", 2, false),
        ("0", 1, false),
    ];
    let text = text.trim().to_ascii_lowercase();
    let meant = |(word, least, _): &&(&str, usize, bool)| text.len() >= *least && word.starts_with(&text);
    WORDS.iter().find(meant).map(|(_, _, value)| *value)
}

fn parse_label(text: &str, labels: &EnumType, ty: &SqlType) -> Result<Value> {
    if let Some(position) = labels.labels.iter().position(|label| **label == *text) {
        let position = i128::try_from(position).expect("positions are small");
        return Ok(Value::Integer(position));
    }
    let error = Error::user(format!("{} is not a label of {}", quoted(text), type_name(ty)))
        .with_code(SqlState::INVALID_TEXT_REPRESENTATION);
    Err(error.with_hint(match nearest(text, labels.labels.iter().map(|label| &**label)) {
        Some(near) => format!("did you mean '{near}'?"),
        None => listed(labels),
    }))
}

/// Lists the labels of an enumeration, or the first of them if there are many.
fn listed(labels: &EnumType) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> = labels.labels.iter().take(MOST).map(|label| quoted(label)).collect();
    let more = if labels.labels.len() > MOST { ", …" } else { "" };
    format!("its labels are {}{more}", shown.join(", "))
}

fn label(position: i128, labels: &EnumType) -> &Arc<str> {
    let position = usize::try_from(position).ok();
    position.and_then(|position| labels.labels.get(position)).expect("a value of an enumeration is one of its labels")
}

/// Returns the error for a text that isn't of the type.
pub(crate) fn not_a(text: &str, ty: &SqlType) -> Error {
    let name = type_name(ty);
    // UINTEGER and UUID begin with the sound of "you".
    let article = if name.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
    Error::user(format!("{} is not {article} {name}", quoted(text))).with_code(SqlState::INVALID_TEXT_REPRESENTATION)
}

/// Returns the error for a value out of the range of a type; `shown` is its text for the user.
pub(crate) fn out_of_range(shown: &str, ty: &SqlType) -> Error {
    let code = if ty.is_numeric() { SqlState::NUMERIC_VALUE_OUT_OF_RANGE } else { SqlState::DATETIME_FIELD_OVERFLOW };
    Error::user(format!("{} is out of range for {}", shortened(shown), type_name(ty))).with_code(code)
}

/// The name of a type, for messages; an enumeration that was written inline has none.
fn type_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Enum(definition) if definition.name.is_empty() => "the ENUM".into(),
        _ => ty.to_string(),
    }
}

pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", shortened(text))
}

/// The text, shortened if it would make a message unreadable.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
