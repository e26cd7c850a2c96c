//! Functions of text. Positions count characters, from 1.

use godwit_common::{Error, Result, SqlState};
use godwit_types::{SqlType, Value, format_value};

use super::{Call, Nulls, Scalar, text_of, whole};

/// Maximum length of a text made by `repeat`, in bytes.
const TEXT_MAX: usize = 1 << 20;

pub(super) const FUNCTIONS: &[Scalar] = &[
    Scalar::strict("||(VARCHAR, VARCHAR) -> VARCHAR", joined),
    Scalar::strict("||(ANY, VARCHAR) -> VARCHAR", joined),
    Scalar::strict("||(VARCHAR, ANY) -> VARCHAR", joined),
    Scalar::with_nulls(Nulls::Never, "concat(ANY...) -> VARCHAR", joined),
    Scalar::strict("upper(VARCHAR) -> VARCHAR", |call| text(text_of(&call.args[0]).to_uppercase())),
    Scalar::strict("lower(VARCHAR) -> VARCHAR", |call| text(text_of(&call.args[0]).to_lowercase())),
    Scalar::strict("length(VARCHAR) -> BIGINT", |call| number(text_of(&call.args[0]).chars().count())),
    Scalar::failing("substring(VARCHAR, BIGINT) -> VARCHAR", substring),
    Scalar::failing("substring(VARCHAR, BIGINT, BIGINT) -> VARCHAR", substring),
    Scalar::failing("substr(VARCHAR, BIGINT) -> VARCHAR", substring),
    Scalar::failing("substr(VARCHAR, BIGINT, BIGINT) -> VARCHAR", substring),
    Scalar::strict("trim(VARCHAR) -> VARCHAR", |call| trim(call, true, true)),
    Scalar::strict("trim(VARCHAR, VARCHAR) -> VARCHAR", |call| trim(call, true, true)),
    Scalar::strict("ltrim(VARCHAR) -> VARCHAR", |call| trim(call, true, false)),
    Scalar::strict("ltrim(VARCHAR, VARCHAR) -> VARCHAR", |call| trim(call, true, false)),
    Scalar::strict("rtrim(VARCHAR) -> VARCHAR", |call| trim(call, false, true)),
    Scalar::strict("rtrim(VARCHAR, VARCHAR) -> VARCHAR", |call| trim(call, false, true)),
    Scalar::strict("replace(VARCHAR, VARCHAR, VARCHAR) -> VARCHAR", replace),
    Scalar::strict("left(VARCHAR, BIGINT) -> VARCHAR", left),
    Scalar::strict("right(VARCHAR, BIGINT) -> VARCHAR", right),
    Scalar::strict("strpos(VARCHAR, VARCHAR) -> BIGINT", strpos),
    Scalar::failing("repeat(VARCHAR, BIGINT) -> VARCHAR", repeat),
    Scalar::strict("reverse(VARCHAR) -> VARCHAR", |call| {
        text(text_of(&call.args[0]).chars().rev().collect::<String>())
    }),
    Scalar::strict("starts_with(VARCHAR, VARCHAR) -> BOOLEAN", |call| {
        Ok(Value::Boolean(text_of(&call.args[0]).starts_with(text_of(&call.args[1]))))
    }),
];

fn text(text: String) -> Result<Value> {
    Ok(Value::text(text))
}

fn number(count: usize) -> Result<Value> {
    Ok(Value::Integer(count as i128))
}

/// NULLs are skipped; `
/// ` is strict and never gets any.
fn joined(call: &Call<'_>) -> Result<Value> {
    let parts = call.args.iter().zip(call.types).filter(|(value, _)| !value.is_null());
    text(parts.map(|(value, ty): (&Value, &SqlType)| format_value(value, ty)).collect())
}

/// Also counts positions before the first character, as the standard requires.
fn substring(call: &Call<'_>) -> Result<Value> {
    let start = whole(&call.args[1]);
    let end = match call.args.get(2).map(whole) {
        None => i64::MAX,
        Some(length) if length < 0 => {
            let error = Error::user("the length of a substring must not be negative");
            return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
        }
        Some(length) => start.saturating_add(length),
    };
    let at = |position: i64| usize::try_from(position.saturating_sub(1)).unwrap_or(0);
    let characters = text_of(&call.args[0]).chars();
    text(characters.skip(at(start)).take(at(end).saturating_sub(at(start))).collect())
}

fn trim(call: &Call<'_>, at_start: bool, at_end: bool) -> Result<Value> {
    let members = call.args.get(1).map_or(" ", text_of);
    let is_member = |character: char| members.contains(character);
    let mut rest = text_of(&call.args[0]);
    if at_start {
        rest = rest.trim_start_matches(is_member);
    }
    if at_end {
        rest = rest.trim_end_matches(is_member);
    }
    text(rest.to_owned())
}

fn replace(call: &Call<'_>) -> Result<Value> {
    match text_of(&call.args[1]) {
        "" => Ok(call.args[0].clone()),
        from => text(text_of(&call.args[0]).replace(from, text_of(&call.args[2]))),
    }
}

/// Returns how many characters of `length` are kept: a negative count is the number of characters left out.
fn kept(length: usize, count: i64) -> usize {
    let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 { length.saturating_sub(magnitude) } else { magnitude.min(length) }
}

fn left(call: &Call<'_>) -> Result<Value> {
    let characters: Vec<char> = text_of(&call.args[0]).chars().collect();
    text(characters[..kept(characters.len(), whole(&call.args[1]))].iter().collect())
}

fn right(call: &Call<'_>) -> Result<Value> {
    let characters: Vec<char> = text_of(&call.args[0]).chars().collect();
    text(characters[characters.len() - kept(characters.len(), whole(&call.args[1]))..].iter().collect())
}

fn strpos(call: &Call<'_>) -> Result<Value> {
    let within = text_of(&call.args[0]);
    let found = within.find(text_of(&call.args[1]));
    number(found.map_or(0, |at| within[..at].chars().count() + 1))
}

fn repeat(call: &Call<'_>) -> Result<Value> {
    let part = text_of(&call.args[0]);
    let times = usize::try_from(whole(&call.args[1])).unwrap_or(0);
    match part.len().checked_mul(times) {
        Some(bytes) if bytes <= TEXT_MAX => text(part.repeat(times)),
        _ => Err(Error::resource("the text that repeat makes is too long")),
    }
}
