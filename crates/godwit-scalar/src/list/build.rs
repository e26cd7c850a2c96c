//! Lists built from values and from other lists.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, UInt32Array};
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Flat, Vector};

use super::call::{Call, lenient, strict};
use super::list_function;
use super::lists::{Items, Lists, taken};
use super::picks::internal;
use super::types::{
    Chosen, any_type, element_of, element_of_all, element_with, is_bigint, list_as, open_element, settled, type_of_all,
};
use crate::function::{Form, Function};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(&["list_value", "list_pack", "make_array", "make_list"], "The list of some values")
            .example("list_value(1, NULL, 2.5)", "[1.0, NULL, 2.5]")
            .chosen("list_value(value, …)", list_value),
        list_function(&["unpivot_list"], "The list of some values, as UNPIVOT makes it")
            .example("unpivot_list(1, 2)", "[1, 2]")
            .chosen("unpivot_list(value, …)", list_value),
        list_function(&["array_value"], "The array of some values, with their number as its length")
            .example("array_value(1, 2)", "[1, 2]")
            .chosen("array_value(value, …)", array_value),
        list_function(
            &["list_append", "array_append", "list_push_back", "array_push_back"],
            "The list with another element behind its last; NULL is a list without elements",
        )
        .example("list_append([1, 2], 3)", "[1, 2, 3]")
        .chosen("list_append(list, element)", list_and_element),
        list_function(&["list_prepend", "array_prepend"], "The list with another element before its first")
            .example("list_prepend(1, [2, 3])", "[1, 2, 3]")
            .chosen("list_prepend(element, list)", element_and_list),
        list_function(&["list_push_front", "array_push_front"], "The list with another element before its first")
            .example("list_push_front([2, 3], 1)", "[1, 2, 3]")
            .chosen("list_push_front(list, element)", push_front),
        list_function(
            &["list_concat", "array_concat", "list_cat", "array_cat"],
            "The elements of all lists, one list behind the other; NULL only if all are NULL",
        )
        .example("list_concat([1], [2, 3], [4])", "[1, 2, 3, 4]")
        .chosen("list_concat(list, …)", lists_together),
        list_function(&["list_repeat", "array_repeat"], "The list of a value, several times")
            .example("list_repeat('a', 2)", "[a, a]")
            .chosen("list_repeat(value, BIGINT)", repeat),
        list_function(&["flatten"], "The elements of the lists in the list")
            .example("flatten([[1], [2, 3]])", "[1, 2, 3]")
            .chosen("flatten(list)", flatten),
    ]
}

/// Concatenates the arguments; returns the start of each, to take one value of each per row.
fn interleaved(call: &Call<'_>) -> Result<(ArrayRef, Vec<usize>, Vec<Items>)> {
    let items = (0..call.arguments.len()).map(|at| call.items(at)).collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = items.iter().map(|items| items.array.as_ref()).collect();
    let starts = arrays.iter().scan(0, |next, array| Some(std::mem::replace(next, *next + array.len()))).collect();
    let all = match arrays[..] {
        [] => arrow_array::new_empty_array(&arrow_type(call.result.element().expect("the result is a list"))?),
        _ => arrow_select::concat::concat(&arrays).map_err(internal)?,
    };
    Ok((all, starts, items))
}

pub(crate) fn list_value(arguments: &[ArgumentType<'_>]) -> Chosen {
    let element = type_of_all(arguments)?;
    let compute = |call: &Call<'_>| {
        let (all, starts, items) = interleaved(call)?;
        call.picked(&[&all], |row, out| {
            let places = items.iter().zip(&starts).map(|(items, start)| items.place(row).map(|place| start + place));
            places.for_each(|place| out.push_or_null(place));
        })
    };
    let types = vec![element.clone(); arguments.len()];
    Some(Ok(lenient(types, SqlType::list_of(element), compute).total().never_null()))
}

fn array_value(arguments: &[ArgumentType<'_>]) -> Chosen {
    let length = u32::try_from(arguments.len()).ok().filter(|&length| length > 0)?;
    let element = type_of_all(arguments)?;
    let compute = |call: &Call<'_>| {
        let (all, starts, items) = interleaved(call)?;
        let place = |row, at: usize| items[at].place(row).map(|place| (starts[at] + place) as u32);
        let places = (0..call.rows).flat_map(|row| (0..items.len()).map(move |at| (row, at)));
        let places: UInt32Array = places.map(|(row, at)| place(row, at)).collect();
        let DataType::FixedSizeList(field, length) = arrow_type(call.result)? else {
            unreachable!("arrays are lists of a fixed size")
        };
        let array = FixedSizeListArray::try_new(field, length, taken(&all, &places)?, None).map_err(internal)?;
        Ok(Vector::flat(Flat::Nested(Arc::new(array)), None))
    };
    let types = vec![element.clone(); arguments.len()];
    Some(Ok(lenient(types, SqlType::Array(element.into(), length), compute).total().never_null()))
}

/// `list || element`
pub(crate) fn list_and_element(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value] = arguments else { return None };
    let element = element_with(list, value)?;
    Some(Ok(with_element(vec![list_as(list, &element), element.clone()], element, 0, false)))
}

/// `element || list`
pub(crate) fn element_and_list(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [value, list] = arguments else { return None };
    let element = element_with(list, value)?;
    Some(Ok(with_element(vec![element.clone(), list_as(list, &element)], element, 1, true)))
}

fn push_front(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, value] = arguments else { return None };
    let element = element_with(list, value)?;
    Some(Ok(with_element(vec![list_as(list, &element), element.clone()], element, 0, true)))
}

/// Adds an element to the front or the end of a list, which is argument `list` of the two.
fn with_element(types: Vec<SqlType>, element: SqlType, list: usize, is_front: bool) -> Form {
    let compute = move |call: &Call<'_>| {
        let (lists, items) = (call.lists(list)?, call.items(1 - list)?);
        call.picked(&[&lists.elements, &items.array], |row, out| {
            let place = items.place(row).map(|place| lists.elements.len() + place);
            if is_front {
                out.push_or_null(place);
            }
            out.extend(lists.range_or_none(row));
            if !is_front {
                out.push_or_null(place);
            }
        })
    };
    lenient(types, SqlType::list_of(element), compute).total().never_null()
}

/// `list || list`, for any number of lists.
pub(crate) fn lists_together(arguments: &[ArgumentType<'_>]) -> Chosen {
    let element = element_of_all(arguments).filter(|_| !arguments.is_empty())?;
    let types = arguments.iter().map(|list| list_as(list, &element)).collect();
    let compute = |call: &Call<'_>| {
        let lists = (0..call.arguments.len()).map(|at| call.lists(at)).collect::<Result<Vec<Lists>>>()?;
        let sources: Vec<&ArrayRef> = lists.iter().map(|lists| &lists.elements).collect();
        call.picked(&sources, |row, out| {
            let mut start = 0;
            for lists in &lists {
                let range = lists.range_or_none(row);
                out.extend(start + range.start..start + range.end);
                start += lists.elements.len();
            }
            lists.iter().any(|lists| lists.is_valid(row)).then_some(())
        })
    };
    Some(Ok(lenient(types, SqlType::list_of(element), compute).total()))
}

fn repeat(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [value, count] = arguments else { return None };
    if !is_bigint(count) || value.lambda_parameters.is_some() {
        return None;
    }
    let element = any_type(value);
    let compute = |call: &Call<'_>| {
        let (items, counts) = (call.items(0)?, call.integers(1));
        call.picked(&[&items.array], |row, out| {
            if call.is_null(1, row) {
                return Ok(None);
            }
            out.fill(items.place(row), usize::try_from(counts.get(row)).unwrap_or(0)).map(Some)
        })
    };
    Some(Ok(lenient(vec![element.clone(), SqlType::BigInt], SqlType::list_of(element), compute)))
}

/// `repeat(list, times)`: the elements of a list, several times.
pub(crate) fn repeat_list(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, count] = arguments else { return None };
    list.ty.element()?;
    let element = element_of(list).filter(|_| is_bigint(count))?;
    let compute = |call: &Call<'_>| {
        let (lists, counts) = (call.lists(0)?, call.integers(1));
        call.picked(&[&lists.elements], |row, out| {
            out.repeat(lists.range(row), usize::try_from(counts.get(row)).unwrap_or(0))
        })
    };
    let types = vec![list_as(list, &element), SqlType::BigInt];
    Some(Ok(strict(types, SqlType::list_of(element), compute).never_null()))
}

fn flatten(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let inner = match open_element(list)? {
        SqlType::Unknown => SqlType::list_of(SqlType::Unknown),
        inner => inner,
    };
    let element = settled(inner.element()?.clone());
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let inner = lists.nested();
        call.picked(&[&inner.elements], |row, out| lists.range(row).for_each(|at| out.extend(inner.range_or_none(at))))
    };
    let types = vec![SqlType::list_of(SqlType::list_of(element.clone()))];
    Some(Ok(strict(types, SqlType::list_of(element), compute).total().never_null()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn lists_of_values() {
        assert_eq!(shown("list_value", &["1", "NULL", "2.5"]), "[1.0, NULL, 2.5]");
        assert_eq!(shown("list_value", &[]), "[]");
        assert_eq!(shown("list_value", &["INTEGER[] '[1, NULL]'", "NULL", "INTEGER[] '[]'"]), "[[1, NULL], NULL, []]");
        assert_eq!(call("list_value", &["NULL"]).unwrap().1.to_string(), "INTEGER[]");
        assert_eq!(shown("make_array", &["'a'", "'ä'"]), "[a, ä]");
        assert_eq!(shown("array_value", &["1", "NULL"]), "[1, NULL]");
        assert_eq!(call("array_value", &["1", "2"]).unwrap().1.to_string(), "INTEGER[2]");
        assert_eq!(shown("unpivot_list", &["1", "2"]), "[1, 2]");
    }

    #[test]
    fn elements_are_added() {
        assert_eq!(shown("list_append", &["INTEGER[] '[1]'", "NULL"]), "[1, NULL]");
        assert_eq!(shown("list_append", &["NULL", "1"]), "[1]");
        assert_eq!(shown("array_append", &["INTEGER[2] '[1, 2]'", "3"]), "[1, 2, 3]");
        assert_eq!(shown("list_append", &["INTEGER[] '[]'", "5000000000"]), "[5000000000]");
        assert_eq!(shown("list_append", &["INTEGER[][] '[[1]]'", "INTEGER[] '[2, NULL]'"]), "[[1], [2, NULL]]");
        assert_eq!(shown("array_prepend", &["1", "INTEGER[] '[2]'"]), "[1, 2]");
        assert_eq!(shown("array_push_front", &["INTEGER[] '[2]'", "1"]), "[1, 2]");
        assert_eq!(
            shown("array_push_back", &["VARCHAR[] '[a longer text than inline]'", "'ä'"]),
            "[a longer text than inline, ä]"
        );
        assert_eq!(call("list_append", &["NULL", "'a'"]).unwrap().1.to_string(), "VARCHAR[]");
    }

    #[test]
    fn lists_are_concatenated() {
        assert_eq!(shown("list_concat", &["INTEGER[] '[1]'", "NULL", "BIGINT[] '[2]'", "INTEGER[] '[]'"]), "[1, 2]");
        assert_eq!(shown("array_cat", &["NULL", "NULL"]), "NULL");
        assert_eq!(shown("array_cat", &["INTEGER[] '[NULL]'"]), "[NULL]");
        assert_eq!(shown("flatten", &["INTEGER[][] '[[1], NULL, [2, NULL], []]'"]), "[1, 2, NULL]");
        assert_eq!(shown("flatten", &["INTEGER[2][] '[[1, 2], NULL]'"]), "[1, 2]");
        assert_eq!(shown("flatten", &["NULL"]), "NULL");
        assert_eq!(shown("flatten", &["INTEGER[][] '[]'"]), "[]");
    }

    #[test]
    fn values_are_repeated() {
        assert_eq!(shown("list_repeat", &["'a'", "2"]), "[a, a]");
        assert_eq!(shown("array_repeat", &["NULL", "2"]), "[NULL, NULL]");
        assert_eq!(shown("array_repeat", &["1", "-5"]), "[]");
        assert_eq!(shown("array_repeat", &["1", "NULL"]), "NULL");
        assert_eq!(shown("array_repeat", &["INTEGER[] '[1]'", "2"]), "[[1], [1]]");
        assert!(error_of("array_repeat", &["1", "9223372036854775807"]).contains("more than 2147483647"));
        assert!(error_of("array_repeat", &["1", "1000000000"]).contains("bytes"));
    }
}
