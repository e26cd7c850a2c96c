//! Functions of lists, where DataFusion's have another meaning or other limits: sums, slices, the order of elements.

use std::cmp::Ordering;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, ScalarMatch};
use godwit_types::{SqlType, Value, compare_values};

use super::Found;
use super::own::computed;
use crate::arguments::{any_type, fits, no_match};

/// The exact sum of a list of integers; NULL if it has none. DataFusion's is of DOUBLEs.
pub(super) fn sum_of_integers(name: &str, list: &ArgumentType<'_>) -> ScalarMatch {
    let sum = |arguments: &[Value]| {
        let [Value::List(values)] = arguments else { return Err(Error::internal("list_sum takes a list")) };
        let mut integers = values.iter().filter(|value| !value.is_null()).peekable();
        if integers.peek().is_none() {
            return Ok(Value::Null);
        }
        let sum = integers.try_fold(0_i128, |sum, value| match value {
            Value::Integer(integer) => sum.checked_add(*integer),
            _ => None,
        });
        let sum = sum.filter(|&sum| i64::try_from(sum).is_ok()).map(Value::Integer);
        sum.ok_or_else(|| Error::user("the sum of the list is out of range for BIGINT"))
    };
    computed(name, true, vec![list.ty.clone()], SqlType::BigInt, sum)
}

/// `list_slice(whole, first, last, step)`: elements of a list or characters of a text, by their places from 1, or from -1
/// backwards.
pub(super) fn slice(name: &str, whole: &ArgumentType<'_>, places: &[ArgumentType<'_>]) -> Found {
    if !matches!(places.len(), 2 | 3) || !places.iter().all(|place| fits(place, &SqlType::BigInt)) {
        return Err(no_match(&[
            format!("{name}(list, BIGINT, BIGINT)"),
            format!("{name}(list, BIGINT, BIGINT, BIGINT)"),
        ]));
    }
    let ty = whole.ty.element().map_or(SqlType::Varchar, |element| SqlType::list_of(element.clone()));
    let mut types = vec![SqlType::BigInt; places.len() + 1];
    types[0] = ty.clone();
    let may_fail = places.len() == 3;
    Ok(computed(name, may_fail, types, ty, part))
}

fn part(arguments: &[Value]) -> Result<Value> {
    let (whole, first, last, step) = match arguments {
        [whole, Value::Integer(first), Value::Integer(last)] => (whole, *first, *last, 1),
        [whole, Value::Integer(first), Value::Integer(last), Value::Integer(step)] => (whole, *first, *last, *step),
        _ => return Err(Error::internal("places in a list are integers")),
    };
    Ok(match whole {
        Value::List(elements) => {
            let places = places(elements.len(), first, last, step)?;
            Value::List(places.map(|at| elements[at].clone()).collect())
        }
        Value::Text(text) => {
            let characters: Vec<char> = text.chars().collect();
            let places = places(characters.len(), first, last, step)?;
            Value::text(places.map(|at| characters[at]).collect::<String>())
        }
        _ => return Err(Error::internal("a slice is of a list or a text")),
    })
}

/// The places, from 0, that a slice takes of so many.
fn places(length: usize, first: i128, last: i128, step: i128) -> Result<impl Iterator<Item = usize>> {
    if step == 0 {
        return Err(Error::user("the step of a slice is 0").with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    let length = length as i128;
    let from_start = |place: i128| if place < 0 { place + length + 1 } else { place };
    let (first, last) = (from_start(first), from_start(last));
    let (first, last) = if step > 0 { (first.max(1), last.min(length)) } else { (first.min(length), last.max(1)) };
    let is_inside = move |place: &i128| if step > 0 { *place <= last } else { *place >= last };
    let places = std::iter::successors(Some(first), move |place| Some(place + step)).take_while(is_inside);
    Ok(places.map(|place| usize::try_from(place - 1).expect("the places are clamped to the list")))
}

/// `list_sort(list, direction, nulls)`: NULLs are greater than all else, unless it is said where they go.
pub(super) fn sort(name: &str, list: &ArgumentType<'_>, how: &[ArgumentType<'_>]) -> Found {
    if how.len() > 2 || !how.iter().all(|word| fits(word, &SqlType::Varchar)) {
        return Err(no_match(&[
            format!("{name}(list)"),
            format!("{name}(list, 'ASC' or 'DESC', 'NULLS FIRST' or 'NULLS LAST')"),
        ]));
    }
    let element = list.ty.element().expect("the caller has looked").clone();
    let ty = match list.ty {
        SqlType::Array(..) => SqlType::list_of(element.clone()),
        _ => any_type(list),
    };
    let mut types = vec![SqlType::Varchar; how.len() + 1];
    types[0] = ty.clone();
    let may_fail = !how.is_empty();
    Ok(computed(name, may_fail, types, ty, move |arguments| sorted(arguments, &element)))
}

fn sorted(arguments: &[Value], element: &SqlType) -> Result<Value> {
    let [Value::List(elements), how @ ..] = arguments else { return Err(Error::internal("only lists are sorted")) };
    let is_descending = match how.first() {
        Some(word) => one_of(word, "ASC", "DESC")?,
        None => false,
    };
    let nulls_last = match how.get(1) {
        Some(word) => one_of(word, "NULLS FIRST", "NULLS LAST")?,
        None => !is_descending,
    };
    let compare = |a: &Value, b: &Value| match (a.is_null(), b.is_null()) {
        (false, false) if is_descending => compare_values(b, a, element),
        (false, false) => compare_values(a, b, element),
        (true, true) => Ordering::Equal,
        (is_null, _) if is_null == nulls_last => Ordering::Greater,
        _ => Ordering::Less,
    };
    let mut elements = elements.to_vec();
    elements.sort_by(compare);
    Ok(Value::List(elements.into()))
}

/// Is it the second of two words, in any case?
fn one_of(word: &Value, first: &str, second: &str) -> Result<bool> {
    let Value::Text(word) = word else { return Err(Error::internal("a direction is a text")) };
    if word.eq_ignore_ascii_case(first) || word.eq_ignore_ascii_case(second) {
        return Ok(word.eq_ignore_ascii_case(second));
    }
    let error = Error::user(format!("'{word}' is neither {first} nor {second}"));
    Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE))
}
