//! Single elements of a list.

use std::ops::Range;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::call::{Call, strict};
use super::keys::{Keys, Typed, match_keys};
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, any_type, element_of, is_bigint, list_as};
use crate::function::Function;
use crate::rows::{Argument, Text};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_extract", "array_extract", "list_element", "array_element"],
            "The element of a list, or the character of a text, at a position from 1, or from -1 at the end; the field of a \
             struct",
        )
        .example("list_extract([10, 20], 2)", "20")
        .example("list_extract([10, 20], -2)", "10")
        .example("list_extract('godwit', 1)", "g")
        .chosen("list_extract(list, BIGINT)", extract)
        .chosen("list_extract(VARCHAR, BIGINT)", character)
        .chosen("list_extract(struct, 'name')", crate::structure::field),
        list_function(&["list_first", "array_first"], "The first element of the list")
            .example("list_first([1, 2])", "1")
            .chosen("list_first(list)", first),
        list_function(&["list_last", "array_last"], "The last element of the list")
            .example("list_last([1, 2])", "2")
            .chosen("list_last(list)", last),
        list_function(&["list_any_value", "array_any_value"], "The first element of the list that isn't NULL")
            .example("list_any_value([NULL, 2])", "2")
            .chosen("list_any_value(list)", any_value),
        list_function(&["list_min", "array_min"], "The least element of the list")
            .example("list_min([3, 1, NULL])", "1")
            .chosen("list_min(list)", least),
        list_function(&["list_max", "array_max"], "The greatest element of the list")
            .example("list_max([3, 1, NULL])", "3")
            .chosen("list_max(list)", greatest),
        list_function(&["list_mode", "array_mode"], "The most frequent element of the list, of several the first")
            .example("list_mode([1, 2, 2])", "2")
            .chosen("list_mode(list)", mode),
    ]
}

/// Converts a position, from 1 or from -1 at the end, to an index within a list's elements.
#[inline]
pub(super) fn place(position: i64, range: &Range<usize>) -> Option<usize> {
    let distance =
        usize::try_from(position.unsigned_abs()).ok().filter(|&distance| 0 < distance && distance <= range.len())?;
    Some(if position > 0 { range.start + distance - 1 } else { range.end - distance })
}

fn extract(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, position] = arguments else { return None };
    let element = element_of(list).filter(|_| is_bigint(position))?;
    let compute = |call: &Call<'_>| {
        let (lists, positions) = (call.lists(0)?, call.integers(1));
        call.element(&lists.elements, |row| place(positions.get(row), &lists.range(row)))
    };
    Some(Ok(strict(vec![list_as(list, &element), SqlType::BigInt], element, compute).total()))
}

/// The character of a text at a position; outside of it, the empty text.
fn character(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [text, position] = arguments else { return None };
    if any_type(text) != SqlType::Varchar || !is_bigint(position) {
        return None;
    }
    let compute = |call: &Call<'_>| {
        let (texts, positions) = (call.strings(0), call.integers(1));
        call.texts(|row, out| {
            let (text, position) = (texts.text(row), positions.get(row));
            let distance = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
            let Some(skipped) = distance.checked_sub(1) else { return };
            let character = match (text.is_ascii(), position > 0) {
                (true, _) => place(position, &(0..text.len())).map(|at| char::from(text.as_bytes()[at])),
                (false, true) => text.chars().nth(skipped),
                (false, false) => text.chars().nth_back(skipped),
            };
            character.into_iter().for_each(|character| out.push(character));
        })
    };
    Some(Ok(strict(vec![Text::TYPE, SqlType::BigInt], Text::TYPE, compute).total().never_null()))
}

/// An element of a list, chosen by the keys of all.
fn chosen(
    arguments: &[ArgumentType<'_>],
    choose: impl Fn(&Call<'_>, &Lists) -> Result<Vector> + Send + Sync + 'static,
) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = move |call: &Call<'_>| choose(call, &call.lists(0)?);
    Some(Ok(strict(vec![list_as(list, &element)], element, compute).total()))
}

pub(super) fn first(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| call.element(&lists.elements, |row| lists.range(row).next()))
}

pub(super) fn last(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| call.element(&lists.elements, |row| lists.range(row).next_back()))
}

pub(super) fn any_value(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| {
        let elements = lists.vector()?;
        call.element(&lists.elements, |row| lists.range(row).find(|&at| elements.is_valid(at)))
    })
}

pub(super) fn least(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| {
        let keys = call.element_keys(0, lists)?;
        match_keys!(keys, typed => call.element(&lists.elements, |row| {
            best(typed, &keys, lists.range(row), |a, b| a < b)
        }))
    })
}

pub(super) fn greatest(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| {
        let keys = call.element_keys(0, lists)?;
        match_keys!(keys, typed => call.element(&lists.elements, |row| {
            best(typed, &keys, lists.range(row), |a, b| a > b)
        }))
    })
}

/// Returns the index of the best value; the first one among equals.
#[inline]
fn best<'k, K: Typed>(
    typed: &'k K,
    keys: &Keys,
    range: Range<usize>,
    is_better: impl Fn(&K::Key<'k>, &K::Key<'k>) -> bool,
) -> Option<usize> {
    let mut best: Option<(usize, K::Key<'k>)> = None;
    for at in range.filter(|&at| keys.is_valid(at)) {
        let key = typed.key(at);
        if best.as_ref().is_none_or(|(_, best)| is_better(&key, best)) {
            best = Some((at, key));
        }
    }
    best.map(|(at, _)| at)
}

pub(super) fn mode(arguments: &[ArgumentType<'_>]) -> Chosen {
    chosen(arguments, |call, lists| {
        let keys = call.element_keys(0, lists)?;
        let mut groups = super::sets::Groups::default();
        let mut places = Vec::with_capacity(call.rows);
        for row in 0..call.rows {
            let range = if call.is_computed(row) { lists.range(row) } else { 0..0 };
            let firsts = groups.of_list(&keys, range.clone(), call.work)?;
            let mut counts = vec![0_u32; firsts.len()];
            let valid = firsts.iter().enumerate().filter(|(at, _)| keys.is_valid(range.start + at));
            valid.for_each(|(_, &first)| counts[first as usize] += 1);
            let most = counts.iter().copied().max().filter(|&most| most > 0);
            let at = most.and_then(|most| counts.iter().position(|&count| count == most));
            places.push(at.map(|at| range.start + at));
        }
        call.element(&lists.elements, |row| places[row])
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    #[test]
    fn elements_have_positions() {
        let list = "INTEGER[] '[10, NULL, 30]'";
        assert_eq!(shown("list_extract", &[list, "1"]), "10");
        assert_eq!(shown("list_extract", &[list, "2"]), "NULL");
        assert_eq!(shown("list_extract", &[list, "-1"]), "30");
        for outside in ["0", "4", "-4", "-9223372036854775808", "9223372036854775807", "NULL"] {
            assert_eq!(shown("array_element", &[list, outside]), "NULL", "{outside}");
        }
        assert_eq!(shown("list_extract", &["INTEGER[][] '[[1, NULL], []]'", "1"]), "[1, NULL]");
        assert_eq!(shown("list_extract", &["INTEGER[2] '[7, 8]'", "2"]), "8");
        assert_eq!(shown("list_extract", &["NULL", "2"]), "NULL");
        assert_eq!(shown("list_extract", &["'äbc'", "1"]), "ä");
        assert_eq!(shown("list_extract", &["'äbc'", "-3"]), "ä");
        assert_eq!(shown("list_extract", &["'abc'", "-9223372036854775808"]), "");
        assert_eq!(shown("list_extract", &["'abc'", "0"]), "");
    }

    #[test]
    fn one_element_of_all() {
        let list = "VARCHAR[] '[NULL, b, a, b, NULL, NULL]'";
        let expected =
            [("first", "NULL"), ("last", "NULL"), ("any_value", "b"), ("min", "a"), ("max", "b"), ("mode", "b")];
        for (name, expected) in expected {
            assert_eq!(shown(&format!("list_{name}"), &[list]), expected, "{name}");
            assert_eq!(shown(&format!("list_{name}"), &["INTEGER[] '[]'"]), "NULL", "{name}");
            assert_eq!(shown(&format!("list_{name}"), &["INTEGER[] '[NULL]'"]), "NULL", "{name}");
        }
        assert_eq!(shown("list_max", &["DOUBLE[] '[1, nan, inf]'"]), "NaN");
        assert_eq!(shown("list_min", &["INTEGER[][] '[[2], [1, NULL]]'"]), "[1, NULL]");
        assert_eq!(shown("list_max", &["DECIMAL(4,2)[] '[1.5, -2]'"]), "1.50");
        assert_eq!(call("list_max", &["DATE[] '[2024-02-29]'"]).unwrap().1.to_string(), "DATE");
        assert_eq!(
            shown("list_max", &["UUID[] '[ffffffff-0000-0000-0000-000000000000]'"]),
            "ffffffff-0000-0000-0000-000000000000"
        );
    }
}
