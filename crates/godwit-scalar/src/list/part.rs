//! Parts of lists, and lists with another length or order.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::kernels::string::substring;

use super::call::{Call, lenient, strict};
use super::picks::Picks;
use super::types::{Chosen, any_type, element_of, element_with, is_bigint, list_as};
use super::{list_function, within_lists};
use crate::choose::fits;
use crate::function::Function;
use crate::rows::{Argument, Text, Writer};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_slice", "array_slice"],
            "The elements of a list, or the characters of a text, from a position to another, in steps; from the end where \
             they are negative",
        )
        .example("list_slice([1, 2, 3, 4], 2, 3)", "[2, 3]")
        .example("list_slice([1, 2, 3, 4], -1, 1, -2)", "[4, 2]")
        .example("list_slice('godwit', 1, 3)", "god")
        .chosen("list_slice(list, BIGINT, BIGINT)", slice)
        .chosen("list_slice(list, BIGINT, BIGINT, BIGINT)", slice),
        list_function(&["list_pop_back", "array_pop_back"], "The list without its last element")
            .example("list_pop_back([1, 2, 3])", "[1, 2]")
            .chosen("list_pop_back(list)", |list| ranges(list, |range| range.start..range.end.max(range.start + 1) - 1)),
        list_function(&["list_pop_front", "array_pop_front"], "The list without its first element")
            .example("list_pop_front([1, 2, 3])", "[2, 3]")
            .chosen("list_pop_front(list)", |list| ranges(list, |range| range.end.min(range.start + 1)..range.end)),
        list_function(&["trim_array"], "The list without a number of elements at its end")
            .example("trim_array([1, 2, 3], 2)", "[1]")
            .chosen("trim_array(list, INTEGER)", trim),
        list_function(&["list_reverse", "array_reverse"], "The list from its end to its beginning")
            .example("list_reverse([1, 2, 3])", "[3, 2, 1]")
            .chosen("list_reverse(list)", reverse),
        list_function(&["list_compact", "array_compact"], "The elements of the list that aren't NULL")
            .example("list_compact([1, NULL, 3])", "[1, 3]")
            .chosen("list_compact(list)", compact),
        list_function(&["list_where", "array_where"], "The elements of the list where the other list is TRUE")
            .example("list_where([1, 2, 3], [true, false, true])", "[1, 3]")
            .chosen("list_where(list, BOOLEAN[])", filter),
        list_function(&["list_select", "array_select"], "The elements of the list at some positions, from 1")
            .example("list_select([10, 20, 30], [3, 1, 9])", "[30, 10, NULL]")
            .chosen("list_select(list, BIGINT[])", select),
        list_function(
            &["list_resize", "array_resize"],
            "The list with a certain number of elements: cut off, or filled up with NULL or a value",
        )
        .example("list_resize([1, 2], 3)", "[1, 2, NULL]")
        .example("list_resize([1, 2], 3, 0)", "[1, 2, 0]")
        .chosen("list_resize(list, BIGINT)", resize)
        .chosen("list_resize(list, BIGINT, value)", resize),
    ]
}

fn slice(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (whole, places) = arguments.split_first()?;
    if !matches!(places.len(), 2 | 3) || !places.iter().all(is_bigint) {
        return None;
    }
    let mut types = vec![SqlType::BigInt; arguments.len()];
    let has_step = places.len() == 3;
    let form = match whole.ty {
        SqlType::Varchar | SqlType::Unknown if any_type(whole) == SqlType::Varchar => {
            types[0] = Text::TYPE;
            strict(types, Text::TYPE, |call| {
                let (texts, bounds) = (call.strings(0), bounds(call));
                call.texts(|row, out| part_of_text(texts.text(row), bounds(row), out))
            })
        }
        _ => {
            let element = element_of(whole)?;
            types[0] = list_as(whole, &element);
            strict(types, SqlType::list_of(element), |call| {
                let (lists, bounds) = (call.lists(0)?, bounds(call));
                call.picked(&[&lists.elements], |row, out| {
                    let range = lists.range(row);
                    places_of(range.len(), bounds(row))?.for_each(|at| out.push(range.start + at));
                    Ok(())
                })
            })
        }
    };
    let form = form.never_null();
    Some(Ok(if has_step { form } else { form.total() }))
}

/// The elements that a slice takes: positions from 1, or from -1 at the end.
struct Bounds {
    first: i64,
    last: i64,
    step: i64,
}

/// Reads the bounds from the arguments after the first.
fn bounds(call: &Call<'_>) -> impl Fn(usize) -> Bounds + use<> {
    let (first, last) = (call.integers(1), call.integers(2));
    let step = (call.arguments.len() == 4).then(|| call.integers(3));
    move |row| {
        let step = step.as_ref().map_or(1, |step| step.get(row));
        Bounds { first: first.get(row), last: last.get(row), step }
    }
}

/// Returns the indices, from 0, that a slice takes from a list of this length.
fn places_of(length: usize, bounds: Bounds) -> Result<impl Iterator<Item = usize>> {
    if bounds.step == 0 {
        return Err(Error::user("the step of a slice is 0").with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    let (length, step) = (length as i128, i128::from(bounds.step));
    let from_start = |place: i64| if place < 0 { i128::from(place) + length + 1 } else { place.into() };
    let (first, last) = (from_start(bounds.first), from_start(bounds.last));
    let (first, last) = if step > 0 { (first.max(1), last.min(length)) } else { (first.min(length), last.max(1)) };
    let is_inside = move |place: &i128| if step > 0 { *place <= last } else { *place >= last };
    let places = std::iter::successors(Some(first), move |place| Some(place + step)).take_while(is_inside);
    Ok(places.map(|place| usize::try_from(place - 1).expect("the places are clamped to the list")))
}

fn part_of_text(text: &str, bounds: Bounds, out: &mut Writer<'_>) -> Result<()> {
    if bounds.step == 1 && bounds.first > 0 && bounds.last >= 0 {
        let length = (bounds.last - bounds.first).saturating_add(1).max(0);
        out.push_bytes(substring(text.as_bytes(), bounds.first, Some(length)));
        return Ok(());
    }
    if text.is_ascii() {
        places_of(text.len(), bounds)?.for_each(|at| out.push_bytes(&text.as_bytes()[at..=at]));
        return Ok(());
    }
    let characters: Vec<char> = text.chars().collect();
    places_of(characters.len(), bounds)?.for_each(|at| out.push(characters[at]));
    Ok(())
}

/// A part of each list.
fn ranges(arguments: &[ArgumentType<'_>], part: fn(std::ops::Range<usize>) -> std::ops::Range<usize>) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        call.picked(&[&lists.elements], |row, out| out.extend(part(lists.range(row))))
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::list_of(element), compute).total().never_null()))
}

fn trim(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, count] = arguments else { return None };
    let element = element_of(list).filter(|_| is_bigint(count))?;
    let compute = |call: &Call<'_>| {
        let (lists, counts) = (call.lists(0)?, call.integers(1));
        call.picked(&[&lists.elements], |row, out| {
            let (range, count) = (lists.range(row), counts.get(row));
            let fits = usize::try_from(count).ok().filter(|&count| count <= range.len());
            let Some(count) = fits else {
                let error = Error::user(format!("{count} elements can't be trimmed of {}", range.len()));
                return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
            };
            out.extend(range.start..range.end - count);
            Ok(())
        })
    };
    let types = vec![list_as(list, &element), SqlType::BigInt];
    Some(Ok(strict(types, SqlType::list_of(element), compute).never_null()))
}

fn reverse(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        call.picked(&[&lists.elements], |row, out| {
            out.extend(lists.range(row));
            out.row().reverse();
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::list_of(element), compute).total().never_null()))
}

fn compact(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let elements = lists.vector()?;
        call.picked(&[&lists.elements], |row, out| {
            lists.range(row).filter(|&at| elements.is_valid(at)).for_each(|at| out.push(at));
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::list_of(element), compute).total().never_null()))
}

fn null_in_second() -> Error {
    Error::user("the second list has an element that is NULL").with_code(SqlState::INVALID_PARAMETER_VALUE)
}

fn filter(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, mask] = arguments else { return None };
    let masks = SqlType::list_of(SqlType::Boolean);
    let element = element_of(list).filter(|_| fits(mask, &masks))?;
    let compute = |call: &Call<'_>| {
        let (lists, masks) = (call.lists(0)?, call.lists(1)?);
        let vector = masks.vector()?;
        let flat = vector.to_flat();
        call.picked(&[&lists.elements], |row, out: &mut Picks<'_>| {
            let range = lists.range(row);
            for (at, mask) in masks.range(row).enumerate() {
                if !vector.is_valid(mask) {
                    return Err(null_in_second());
                }
                if flat.bools()[mask] != 0 {
                    out.push_or_null((at < range.len()).then_some(range.start + at));
                }
            }
            Ok(())
        })
    };
    Some(Ok(strict(vec![list_as(list, &element), masks], SqlType::list_of(element), compute).never_null()))
}

fn select(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, positions] = arguments else { return None };
    let places = SqlType::list_of(SqlType::BigInt);
    let element = element_of(list).filter(|_| fits(positions, &places))?;
    let compute = |call: &Call<'_>| {
        let (lists, places) = (call.lists(0)?, call.lists(1)?);
        let vector = places.vector()?;
        let flat = vector.to_flat();
        let positions = flat.values::<i64>();
        call.picked(&[&lists.elements], |row, out: &mut Picks<'_>| {
            let range = lists.range(row);
            for at in places.range(row) {
                if !vector.is_valid(at) {
                    return Err(null_in_second());
                }
                out.push_or_null(super::element::place(positions[at], &range));
            }
            Ok(())
        })
    };
    Some(Ok(strict(vec![list_as(list, &element), places], SqlType::list_of(element), compute).never_null()))
}

fn resize(arguments: &[ArgumentType<'_>]) -> Chosen {
    let ([list, size] | [list, size, _]) = arguments else { return None };
    let element = match arguments.get(2) {
        Some(value) => element_with(list, value)?,
        None => element_of(list)?,
    };
    if !is_bigint(size) {
        return None;
    }
    let mut types = vec![list_as(list, &element), SqlType::BigInt];
    types.extend((arguments.len() == 3).then(|| element.clone()));
    let compute = |call: &Call<'_>| {
        let (lists, sizes) = (call.lists(0)?, call.integers(1));
        let items = (call.arguments.len() == 3).then(|| call.items(2)).transpose()?;
        call.picked(&within_lists(&lists, items.as_ref()), |row, out| {
            if !lists.is_valid(row) {
                return Ok(None);
            }
            let size = if call.is_null(1, row) { 0 } else { sizes.get(row) };
            let size = usize::try_from(size).map_err(|_| {
                Error::user("the size of a list is negative").with_code(SqlState::INVALID_PARAMETER_VALUE)
            })?;
            let range = lists.range(row);
            let kept = range.len().min(size);
            out.extend(range.start..range.start + kept);
            let value = items.as_ref().and_then(|items| items.place(row)).map(|place| lists.elements.len() + place);
            out.fill(value, size - kept)?;
            Ok(Some(()))
        })
    };
    Some(Ok(lenient(types, SqlType::list_of(element), compute)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    const LIST: &str = "INTEGER[] '[1, 2, 3, 4, 5]'";

    #[test]
    fn slices_have_bounds_and_steps() {
        let slice = |arguments: &[&str]| shown("list_slice", &[&[LIST], arguments].concat());
        assert_eq!(slice(&["2", "3"]), "[2, 3]");
        assert_eq!(slice(&["0", "2"]), "[1, 2]");
        assert_eq!(slice(&["-2", "-1"]), "[4, 5]");
        assert_eq!(slice(&["5", "1", "-2"]), "[5, 3, 1]");
        assert_eq!(slice(&["1", "5", "-1"]), "[]");
        assert_eq!(slice(&["1", "9223372036854775807", "9223372036854775807"]), "[1]");
        assert_eq!(slice(&["-9223372036854775808", "9223372036854775807"]), "[1, 2, 3, 4, 5]");
        assert_eq!(slice(&["5", "-9223372036854775808", "-9223372036854775808"]), "[5]");
        assert_eq!(slice(&["NULL", "2"]), "NULL");
        assert_eq!(shown("list_slice", &["INTEGER[] '[]'", "1", "2"]), "[]");
        assert_eq!(error_of("list_slice", &[LIST, "1", "2", "0"]), "the step of a slice is 0");
        assert_eq!(shown("array_slice", &["'ägodwit'", "1", "2"]), "äg");
        assert_eq!(shown("array_slice", &["'ägodwit'", "-1", "1", "-3"]), "tdä");
        assert_eq!(shown("array_slice", &["'godwit'", "-3", "-1"]), "wit");
        assert_eq!(shown("array_slice", &["'godwit'", "9223372036854775807", "9223372036854775807"]), "");
        assert_eq!(shown("array_slice", &["''", "-9223372036854775808", "9223372036854775807"]), "");
    }

    #[test]
    fn ends_are_cut_off() {
        assert_eq!(shown("array_pop_back", &[LIST]), "[1, 2, 3, 4]");
        assert_eq!(shown("array_pop_front", &[LIST]), "[2, 3, 4, 5]");
        assert_eq!(shown("array_pop_back", &["INTEGER[] '[]'"]), "[]");
        assert_eq!(shown("array_pop_front", &["INTEGER[] '[]'"]), "[]");
        assert_eq!(shown("trim_array", &[LIST, "2"]), "[1, 2, 3]");
        assert!(error_of("trim_array", &[LIST, "6"]).contains("can't be trimmed"));
        assert!(error_of("trim_array", &[LIST, "-1"]).contains("can't be trimmed"));
    }

    #[test]
    fn elements_are_chosen() {
        assert_eq!(shown("list_reverse", &["VARCHAR[] '[a, NULL, ä]'"]), "[ä, NULL, a]");
        assert_eq!(shown("list_reverse", &["INTEGER[2] '[1, 2]'"]), "[2, 1]");
        assert_eq!(shown("list_compact", &["VARCHAR[] '[a, NULL]'"]), "[a]");
        assert_eq!(shown("list_where", &["INTEGER[] '[1]'", "BOOLEAN[] '[true, true]'"]), "[1, NULL]");
        assert!(error_of("list_where", &["INTEGER[] '[1]'", "BOOLEAN[] '[NULL]'"]).contains("NULL"));
        assert_eq!(shown("list_select", &[LIST, "BIGINT[] '[1, 6, 0, -1]'"]), "[1, NULL, NULL, 5]");
    }

    #[test]
    fn lists_get_a_size() {
        assert_eq!(shown("list_resize", &["INTEGER[] '[1, 2]'", "4"]), "[1, 2, NULL, NULL]");
        assert_eq!(shown("list_resize", &["INTEGER[] '[1, 2]'", "1"]), "[1]");
        assert_eq!(shown("list_resize", &["INTEGER[] '[1, 2]'", "4", "9"]), "[1, 2, 9, 9]");
        assert_eq!(shown("list_resize", &["INTEGER[] '[1, 2]'", "NULL"]), "[]");
        assert!(error_of("list_resize", &["INTEGER[] '[1]'", "-1"]).contains("negative"));
        assert!(error_of("list_resize", &["INTEGER[] '[1]'", "9223372036854775807"]).contains("more than 2147483647"));
        assert!(error_of("list_resize", &["INTEGER[] '[1]'", "2000000000"]).contains("bytes"));
    }
}
