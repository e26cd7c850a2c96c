//! Search for an element in lists: whether and where it occurs, and lists with it removed or replaced.
//!
//! NULL is found like any other element, except by `list_contains`, which gives NULL for it.

use std::ops::Range;

use arrow_array::ArrayRef;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::call::{Call, lenient, strict};
use super::keys::{Keys, Typed, match_keys};
use super::types::{Chosen, element_with, is_bigint, list_as};
use super::{list_function, within_lists};
use crate::function::Function;
use crate::rows::{Pace, Values, parts_of};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_contains", "array_contains", "list_has", "array_has"],
            "Whether an element is in the list",
        )
        .example("list_contains([1, 2], 2)", "true")
        .chosen("list_contains(list, element)", contains),
        list_function(
            &["list_position", "array_position", "list_indexof", "array_indexof"],
            "The position, from 1, of the first such element of the list; NULL if there is none",
        )
        .example("list_position([3, 4, 3], 3)", "1")
        .example("list_position([3, 4, 3], 3, 2)", "3")
        .chosen("list_position(list, element)", position)
        .chosen("list_position(list, element, start)", position),
        list_function(
            &["list_positions", "array_positions"],
            "The positions, from 1, of all such elements of the list",
        )
        .example("list_positions([3, 4, 3], 3)", "[1, 3]")
        .chosen("list_positions(list, element)", positions),
        list_function(
            &["list_remove", "array_remove", "list_remove_all", "array_remove_all"],
            "The list without all such elements",
        )
        .example("list_remove([3, 4, 3], 3)", "[4]")
        .chosen("list_remove(list, element)", remove_all),
        list_function(
            &["list_remove_n", "array_remove_n"],
            "The list without a number of such elements, the first ones",
        )
        .example("list_remove_n([3, 4, 3], 3, 1)", "[4, 3]")
        .chosen("list_remove_n(list, element, count)", remove_n),
        list_function(
            &["list_replace", "array_replace", "list_replace_all", "array_replace_all"],
            "The list with another element in place of all such ones",
        )
        .example("list_replace([3, 4, 3], 3, 5)", "[5, 4, 5]")
        .chosen("list_replace(list, from, to)", replace_all),
        list_function(
            &["list_replace_n", "array_replace_n"],
            "The list with another element in place of a number of such ones, the first",
        )
        .example("list_replace_n([3, 4, 3], 3, 5, 1)", "[5, 4, 3]")
        .chosen("list_replace_n(list, from, to, count)", replace_n),
    ]
}

/// Values that are looked up among others.
pub(crate) struct Search {
    elements: Keys,
    values: Keys,
}

impl Search {
    /// Prepares to search the values of an argument among elements of the same type.
    pub(crate) fn new(call: &Call<'_>, elements: &ArrayRef, value: usize) -> Result<Self> {
        Ok(Self { elements: Keys::of_array(elements, &call.types[value])?, values: call.keys(value)? })
    }

    /// Returns the first of some elements that equals a row's value.
    #[inline]
    pub(crate) fn find(&self, within: Range<usize>, row: usize) -> Option<usize> {
        match_keys!(self.elements, self.values, elements, values => self.find_typed(elements, values, within, row))
    }

    /// The same, among any number of elements.
    fn find_paced(&self, within: Range<usize>, row: usize, pace: &mut Pace<'_>) -> Result<Option<usize>> {
        for part in parts_of(within) {
            let found = self.find(part.clone(), row);
            pace.go(found.unwrap_or(part.end) - part.start)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    #[inline]
    fn find_typed<K: Typed>(&self, elements: &K, values: &K, mut within: Range<usize>, row: usize) -> Option<usize> {
        let Some(value) = self.values.place(row) else { return within.find(|&at| !self.elements.is_valid(at)) };
        let value = values.key(value);
        within.find(|&at| elements.key(at) == value && self.elements.is_valid(at))
    }
}

fn searching(
    list: &ArgumentType<'_>,
    value: &ArgumentType<'_>,
    result: fn(SqlType) -> SqlType,
) -> Option<(Vec<SqlType>, SqlType)> {
    let element = element_with(list, value)?;
    Some((vec![list_as(list, &element), element.clone()], result(element)))
}

pub(crate) fn contains(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value] = arguments else { return None };
    let (types, result) = searching(list, value, |_| SqlType::Boolean)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let search = Search::new(call, &lists.elements, 1)?;
        let mut pace = Pace::new(call.work);
        call.fixed::<bool, _>(|row| Ok(search.find_paced(lists.range(row), row, &mut pace)?.is_some()))
    };
    Some(Ok(strict(types, result, compute).total().never_null()))
}

fn position(arguments: &[ArgumentType<'_>]) -> Chosen {
    let ([list, value] | [list, value, _]) = arguments else { return None };
    let (mut types, result) = searching(list, value, |_| SqlType::Integer)?;
    if let Some(start) = arguments.get(2) {
        is_bigint(start).then(|| types.push(SqlType::BigInt))?;
    }
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let search = Search::new(call, &lists.elements, 1)?;
        let starts = (call.arguments.len() == 3).then(|| call.integers(2));
        let mut pace = Pace::new(call.work);
        call.fixed::<i32, Result<Option<i32>>>(|row| {
            if !lists.is_valid(row) || starts.is_some() && call.is_null(2, row) {
                return Ok(None);
            }
            let range = lists.range(row);
            let start = starts.as_ref().map_or(0, |starts| skipped(starts.get(row), range.len()));
            let at = search.find_paced(range.start + start..range.end, row, &mut pace)?;
            Ok(at.and_then(|at| i32::try_from(at - range.start + 1).ok()))
        })
    };
    Some(Ok(lenient(types, result, compute).total()))
}

/// Returns the number of elements before a position, which counts from 1.
fn skipped(start: i64, length: usize) -> usize {
    usize::try_from(start.saturating_sub(1)).unwrap_or(0).min(length)
}

fn positions(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value] = arguments else { return None };
    let (types, result) = searching(list, value, |_| SqlType::list_of(SqlType::Integer))?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let search = Search::new(call, &lists.elements, 1)?;
        let mut pace = Pace::new(call.work);
        call.made::<i32, Result<Option<()>>>(|row, out| {
            if !lists.is_valid(row) {
                return Ok(None);
            }
            let range = lists.range(row);
            let mut rest = range.clone();
            while let Some(at) = search.find_paced(rest.clone(), row, &mut pace)? {
                out.push((at - range.start + 1) as i32);
                rest.start = at + 1;
            }
            Ok(Some(()))
        })
    };
    Some(Ok(lenient(types, result, compute).total()))
}

/// Replaces or removes the first `count` elements that are found in each list.
fn changed(
    call: &Call<'_>,
    replacement: Option<usize>,
    count: impl Fn(&Call<'_>, usize) -> Option<usize>,
) -> Result<Vector> {
    let lists = call.lists(0)?;
    let search = Search::new(call, &lists.elements, 1)?;
    let replacement = replacement.map(|at| call.items(at)).transpose()?;
    let sources = within_lists(&lists, replacement.as_ref());
    let mut pace = Pace::new(call.work);
    call.picked(&sources, |row, out| {
        let count = count(call, row).filter(|_| lists.is_valid(row));
        let Some(count) = count else { return Ok(None) };
        let mut rest = lists.range(row);
        for _ in 0..count {
            let Some(at) = search.find_paced(rest.clone(), row, &mut pace)? else { break };
            out.extend(rest.start..at);
            if let Some(items) = &replacement {
                out.push_or_null(items.place(row).map(|place| lists.elements.len() + place));
            }
            rest.start = at + 1;
        }
        out.extend(rest);
        Ok(Some(()))
    })
}

fn all(_call: &Call<'_>, _row: usize) -> Option<usize> {
    Some(usize::MAX)
}

fn remove_all(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value] = arguments else { return None };
    let (types, result) = searching(list, value, SqlType::list_of)?;
    Some(Ok(lenient(types, result, |call| changed(call, None, all)).total()))
}

fn remove_n(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value, count] = arguments else { return None };
    let (mut types, result) = searching(list, value, SqlType::list_of)?;
    is_bigint(count).then(|| types.push(SqlType::BigInt))?;
    Some(Ok(lenient(types, result, |call| changed(call, None, counts(call, 2))).total()))
}

/// Reads a number of elements from an argument; `None` for NULL.
fn counts(call: &Call<'_>, at: usize) -> impl Fn(&Call<'_>, usize) -> Option<usize> + use<> {
    let counts: Values<i64> = call.integers(at);
    move |call, row| (!call.is_null(at, row)).then(|| usize::try_from(counts.get(row)).unwrap_or(0))
}

fn replacing(arguments: &[ArgumentType<'_>]) -> Option<(Vec<SqlType>, SqlType)> {
    let [list, from, to, ..] = arguments else { return None };
    let element = element_with(list, from)?;
    let element = godwit_types::common_type(&element, to.ty)?;
    Some((vec![list_as(list, &element), element.clone(), element.clone()], SqlType::list_of(element)))
}

fn replace_all(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (types, result) = if arguments.len() == 3 { replacing(arguments)? } else { return None };
    Some(Ok(lenient(types, result, |call| changed(call, Some(2), all)).total()))
}

fn replace_n(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [_, _, _, count] = arguments else { return None };
    let (mut types, result) = replacing(arguments)?;
    is_bigint(count).then(|| types.push(SqlType::BigInt))?;
    Some(Ok(lenient(types, result, |call| changed(call, Some(2), counts(call, 3))).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    #[test]
    fn elements_are_found() {
        assert_eq!(shown("list_contains", &["INTEGER[] '[1, 2]'", "2"]), "true");
        assert_eq!(shown("list_contains", &["INTEGER[] '[1, NULL]'", "3"]), "false");
        assert_eq!(shown("list_contains", &["INTEGER[] '[1, NULL]'", "NULL"]), "NULL");
        assert_eq!(shown("array_has", &["INTEGER[] '[]'", "1"]), "false");
        assert_eq!(shown("list_contains", &["NULL", "1"]), "NULL");
        assert_eq!(shown("list_contains", &["DOUBLE[] '[nan, -0]'", "0.0"]), "true");
        assert_eq!(
            shown("list_has", &["VARCHAR[] '[ä, a longer text than inline]'", "'a longer text than inline'"]),
            "true"
        );
        assert_eq!(shown("list_contains", &["INTEGER[3] '[1, 2, 3]'", "3"]), "true");
        assert_eq!(shown("list_contains", &["INTERVAL[] '[1 month]'", "INTERVAL '30 days'"]), "true");
        assert_eq!(shown("list_contains", &["INTEGER[][] '[[1], NULL, [NULL]]'", "INTEGER[] '[NULL]'"]), "true");
        assert_eq!(shown("list_contains", &["INTEGER[] '[1]'", "9223372036854775807"]), "false");
        assert_eq!(shown("list_contains", &["DECIMAL(30,2)[] '[1.50]'", "1.5"]), "true");
    }

    #[test]
    fn positions_count_from_1() {
        assert_eq!(shown("list_position", &["INTEGER[] '[3, 4, 3]'", "3"]), "1");
        assert_eq!(shown("array_position", &["INTEGER[] '[3, 4, 3]'", "3", "2"]), "3");
        assert_eq!(shown("array_position", &["INTEGER[] '[3, 4, 3]'", "3", "-9223372036854775808"]), "1");
        assert_eq!(shown("array_position", &["INTEGER[] '[3, 4, 3]'", "3", "9223372036854775807"]), "NULL");
        assert_eq!(shown("array_position", &["INTEGER[] '[3, 4, 3]'", "3", "NULL"]), "NULL");
        assert_eq!(shown("list_indexof", &["INTEGER[] '[3, NULL]'", "NULL"]), "2");
        assert_eq!(shown("list_position", &["INTEGER[] '[]'", "1"]), "NULL");
        assert_eq!(shown("list_positions", &["VARCHAR[] '[a, b, a]'", "'a'"]), "[1, 3]");
        assert_eq!(shown("list_positions", &["VARCHAR[] '[a, NULL, a]'", "NULL"]), "[2]");
        assert_eq!(shown("list_positions", &["VARCHAR[] '[a]'", "'b'"]), "[]");
        assert_eq!(shown("list_positions", &["NULL", "'b'"]), "NULL");
    }

    #[test]
    fn elements_are_removed_and_replaced() {
        assert_eq!(shown("array_remove", &["INTEGER[] '[3, NULL, 4, 3]'", "3"]), "[NULL, 4]");
        assert_eq!(shown("array_remove", &["INTEGER[] '[3, NULL, 4, 3]'", "NULL"]), "[3, 4, 3]");
        assert_eq!(shown("list_remove_n", &["INTEGER[] '[3, 4, 3]'", "3", "1"]), "[4, 3]");
        assert_eq!(shown("list_remove_n", &["INTEGER[] '[3, 4, 3]'", "3", "-1"]), "[3, 4, 3]");
        assert_eq!(shown("list_remove_n", &["INTEGER[] '[3, 4, 3]'", "3", "NULL"]), "NULL");
        assert_eq!(shown("array_replace", &["INTEGER[] '[3, 4, 3]'", "3", "5"]), "[5, 4, 5]");
        assert_eq!(shown("array_replace", &["INTEGER[] '[3, 4, NULL]'", "NULL", "5"]), "[3, 4, 5]");
        assert_eq!(shown("array_replace", &["INTEGER[] '[3, 4]'", "3", "NULL"]), "[NULL, 4]");
        assert_eq!(shown("list_replace_n", &["VARCHAR[] '[a, b, a]'", "'a'", "'ö'", "1"]), "[ö, b, a]");
        assert_eq!(shown("list_replace", &["INTEGER[] '[]'", "1", "2"]), "[]");
        let (_, ty) = call("array_replace", &["INTEGER[] '[3]'", "3", "5000000000"]).unwrap();
        assert_eq!(ty.to_string(), "BIGINT[]");
    }
}
