//! Sorted lists. NULLs are greater than all other elements, unless their place is given.

use std::cmp::Ordering;
use std::ops::Range;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;

use super::call::{Call, strict};
use super::keys::{Keys, Typed, match_keys};
use super::numbers::Fractions;
use super::types::{Chosen, element_of, is_bigint, is_text, list_as};
use super::{list_function, order};
use crate::function::Function;
use crate::kernel::{Lease, Work};
use crate::room::scratch;
use crate::rows::{Strings, parts_of};

pub(super) fn functions() -> Vec<Function> {
    const HOW: &str = "list_sort(list, 'ASC' or 'DESC', 'NULLS FIRST' or 'NULLS LAST')";
    vec![
        list_function(&["list_sort", "array_sort"], "The list in order")
            .example("list_sort([3, NULL, 1])", "[1, 3, NULL]")
            .example("list_sort([3, NULL, 1], 'DESC', 'NULLS LAST')", "[3, 1, NULL]")
            .chosen("list_sort(list)", sort)
            .chosen(HOW, sort),
        list_function(&["list_reverse_sort", "array_reverse_sort"], "The list in descending order")
            .example("list_reverse_sort([3, NULL, 1])", "[NULL, 3, 1]")
            .chosen("list_reverse_sort(list)", reverse_sort)
            .chosen("list_reverse_sort(list, 'NULLS FIRST' or 'NULLS LAST')", reverse_sort),
        list_function(&["list_grade_up", "array_grade_up"], "The positions, from 1, of the list's elements in order")
            .example("list_grade_up([30, 10, 20])", "[2, 3, 1]")
            .chosen("list_grade_up(list)", grade_up)
            .chosen(HOW, grade_up),
    ]
}

/// The direction in which elements are sorted.
#[derive(Clone, Copy)]
struct Direction {
    is_descending: bool,
    nulls_first: bool,
}

const ASCENDING: Direction = Direction { is_descending: false, nulls_first: false };

/// The sort direction of each row.
struct Directions {
    is_descending: bool,
    words: Vec<Strings>,
}

impl Directions {
    /// Reads the directions from the arguments after the list. The first is ASC or DESC unless that is given.
    fn of(call: &Call<'_>, given: Option<bool>) -> Self {
        let words = (1..call.arguments.len()).map(|at| call.strings(at)).collect();
        Self { is_descending: given.unwrap_or(false), words }
    }

    fn in_row(&self, row: usize, has_direction: bool) -> Result<Direction> {
        let mut words = self.words.iter();
        let is_descending = match has_direction.then(|| words.next()).flatten() {
            Some(word) => one_of(word.text(row), "ASC", "DESC")?,
            None => self.is_descending,
        };
        let nulls_first = match words.next() {
            Some(word) => !one_of(word.text(row), "NULLS FIRST", "NULLS LAST")?,
            None => is_descending,
        };
        Ok(Direction { is_descending, nulls_first })
    }
}

/// True if it is the second of two words, in any case; fails if it is neither.
fn one_of(word: &str, first: &str, second: &str) -> Result<bool> {
    if word.eq_ignore_ascii_case(first) || word.eq_ignore_ascii_case(second) {
        return Ok(word.eq_ignore_ascii_case(second));
    }
    let error = Error::user(format!("'{word}' is neither {first} nor {second}"));
    Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE))
}

/// The indices of some elements in order.
struct Ordered {
    places: Vec<u32>,
    /// Their memory, if it is much.
    _lease: Option<Lease>,
}

/// Sorts some elements; equal elements keep their order.
fn in_order(keys: &Keys, range: Range<usize>, direction: Direction, work: &dyn Work) -> Result<Ordered> {
    match_keys!(keys, typed => ordered(typed, keys, range, direction, work))
}

fn ordered<K: Typed>(
    typed: &K,
    keys: &Keys,
    range: Range<usize>,
    direction: Direction,
    work: &dyn Work,
) -> Result<Ordered> {
    let lease = scratch(range.len() * (size_of::<(K::Key<'_>, u32)>() + size_of::<u32>()), work)?;
    let (mut nulls, mut valid) = (Vec::new(), Vec::with_capacity(range.len()));
    for part in parts_of(range) {
        work.check()?;
        for place in part {
            match keys.is_valid(place) {
                true => valid.push((typed.key(place), place as u32)),
                false => nulls.push(place as u32),
            }
        }
    }
    sort_pairs::<K>(&mut valid, direction.is_descending, work)?;
    let valid = valid.into_iter().map(|(_, place)| place);
    let places = match direction.nulls_first {
        true => nulls.into_iter().chain(valid).collect(),
        false => valid.chain(nulls).collect(),
    };
    Ok(Ordered { places, _lease: lease })
}

/// Returns the indices of elements, none of which is NULL, in order.
pub(super) fn ascending(keys: &Keys, range: Range<usize>, work: &dyn Work) -> Result<Vec<u32>> {
    Ok(in_order(keys, range, ASCENDING, work)?.places)
}

/// Sorts keys and their places, by place where keys are equal.
#[inline(never)]
fn sort_pairs<K: Typed>(pairs: &mut [(K::Key<'_>, u32)], is_descending: bool, work: &dyn Work) -> Result<()> {
    order::sort(pairs, work, |(a, at), (b, other)| {
        let order = a.cmp(b);
        let order = if is_descending { order.reverse() } else { order };
        if order == Ordering::Equal { at.cmp(other) } else { order }
    })
}

/// Returns the index of the median, the lower one of two.
pub(super) fn middle(keys: &Keys, range: Range<usize>, work: &dyn Work) -> Result<Option<usize>> {
    at_fraction(keys, range, 0.5, work)
}

/// Returns the index of the least element that is not below the given fraction of all, without NULLs.
fn at_fraction(keys: &Keys, range: Range<usize>, fraction: f64, work: &dyn Work) -> Result<Option<usize>> {
    let valid = range.clone().filter(|&at| keys.is_valid(at)).count();
    let place = ((fraction * valid as f64).ceil() as usize).max(1) - 1;
    if valid == 0 {
        return Ok(None);
    }
    let places = in_order(keys, range, ASCENDING, work)?.places;
    Ok(places.get(place).map(|&at| at as usize))
}

/// The element at a fraction of the way through the sorted list; at several fractions, a list.
pub(super) fn quantile(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, fractions] = arguments else { return None };
    let element = element_of(list)?;
    let fractions = Fractions::ty(fractions)?;
    let types = vec![list_as(list, &element), fractions.clone()];
    if fractions == SqlType::Double {
        let compute = |call: &Call<'_>| {
            let (lists, fractions) = (call.lists(0)?, Fractions::of(call, 1)?);
            let keys = call.element_keys(0, &lists)?;
            call.element(&lists.elements, |row| {
                at_fraction(&keys, lists.range(row), fractions.in_row(row)?[0], call.work)
            })
        };
        return Some(Ok(strict(types, element, compute)));
    }
    let compute = |call: &Call<'_>| {
        let (lists, fractions) = (call.lists(0)?, Fractions::of(call, 1)?);
        let keys = call.element_keys(0, &lists)?;
        call.picked(&[&lists.elements], |row, out| {
            let range = lists.range(row);
            for fraction in fractions.in_row(row)? {
                at_fraction(&keys, range.clone(), *fraction, call.work)?.into_iter().for_each(|at| out.push(at));
            }
            Ok(range.into_iter().any(|at| keys.is_valid(at)).then_some(()))
        })
    };
    Some(Ok(strict(types, SqlType::list_of(element), compute)))
}

/// Fails unless a list can have this number of the best elements.
pub(super) fn checked_number(number: i64) -> Result<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| {
        let error = Error::user(format!("the number of elements to find has to be at least 1, not {number}"));
        error.with_code(SqlState::INVALID_PARAMETER_VALUE)
    })
}

/// The list of the least or the greatest elements, as many as the second argument says.
pub(super) fn best(arguments: &[ArgumentType<'_>], is_descending: bool) -> Chosen {
    let [list, number] = arguments else { return None };
    let element = element_of(list).filter(|_| is_bigint(number))?;
    let compute = move |call: &Call<'_>| {
        let (lists, numbers) = (call.lists(0)?, call.integers(1));
        let keys = call.element_keys(0, &lists)?;
        let direction = Direction { is_descending, nulls_first: false };
        call.picked(&[&lists.elements], |row, out| {
            let (range, number) = (lists.range(row), checked_number(numbers.get(row))?);
            let valid = range.clone().filter(|&at| keys.is_valid(at)).count();
            let best = in_order(&keys, range, direction, call.work)?;
            best.places[..number.min(valid)].iter().for_each(|&at| out.push(at as usize));
            Ok((valid > 0).then_some(()))
        })
    };
    Some(Ok(strict(vec![list_as(list, &element), SqlType::BigInt], SqlType::list_of(element), compute)))
}

/// Sorts pairs of index and payload by the indices' keys.
pub(super) fn of_places<T: Copy>(keys: &Keys, places: &[(usize, T)], work: &dyn Work) -> Result<Vec<(usize, T)>> {
    fn order_of<K: Typed>(typed: &K, places: impl Iterator<Item = usize>, work: &dyn Work) -> Result<Vec<u32>> {
        let mut pairs: Vec<(K::Key<'_>, u32)> = places.zip(0..).map(|(at, place)| (typed.key(at), place)).collect();
        sort_pairs::<K>(&mut pairs, false, work)?;
        Ok(pairs.into_iter().map(|(_, place)| place).collect())
    }
    let order = match_keys!(keys, typed => order_of(typed, places.iter().map(|(at, _)| *at), work))?;
    Ok(order.into_iter().map(|place| places[place as usize]).collect())
}

/// Returns the types of a list and of the words after it.
fn types(arguments: &[ArgumentType<'_>], words: usize) -> Option<(Vec<SqlType>, SqlType)> {
    let (list, rest) = arguments.split_first()?;
    let element = element_of(list)?;
    if rest.len() > words || !rest.iter().all(is_text) {
        return None;
    }
    let mut types = vec![SqlType::Varchar; arguments.len()];
    types[0] = list_as(list, &element);
    Some((types, element))
}

fn sorted(arguments: &[ArgumentType<'_>], given: Option<bool>) -> Chosen {
    let (types, element) = types(arguments, if given.is_some() { 1 } else { 2 })?;
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let directions = Directions::of(call, given);
        call.picked(&[&lists.elements], |row, out| {
            let direction = directions.in_row(row, given.is_none())?;
            let range = lists.range(row);
            let ordered = in_order(&keys, range.clone(), direction, call.work)?;
            out.reserve(range.len())?;
            ordered.places.iter().for_each(|&at| out.push(at as usize));
            Ok(())
        })
    };
    let form = strict(types, SqlType::list_of(element), compute).never_null();
    Some(Ok(if arguments.len() == 1 { form.total() } else { form }))
}

fn sort(arguments: &[ArgumentType<'_>]) -> Chosen {
    sorted(arguments, None)
}

fn reverse_sort(arguments: &[ArgumentType<'_>]) -> Chosen {
    sorted(arguments, Some(true))
}

fn grade_up(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (types, _) = types(arguments, 2)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let directions = Directions::of(call, None);
        call.made::<i64, _>(|row, out| {
            let (range, direction) = (lists.range(row), directions.in_row(row, true)?);
            let position = |place: u32| (place as usize - range.start + 1) as i64;
            let ordered = in_order(&keys, range.clone(), direction, call.work)?;
            ordered.places.iter().for_each(|&at| out.push(position(at)));
            Ok(())
        })
    };
    Some(Ok(strict(types, SqlType::list_of(SqlType::BigInt), compute).never_null()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn lists_are_sorted() {
        let list = "INTEGER[] '[3, NULL, 1, 2]'";
        assert_eq!(shown("list_sort", &[list]), "[1, 2, 3, NULL]");
        assert_eq!(shown("list_sort", &[list, "'desc'"]), "[NULL, 3, 2, 1]");
        assert_eq!(shown("list_sort", &[list, "'DESC'", "'nulls last'"]), "[3, 2, 1, NULL]");
        assert_eq!(shown("list_sort", &[list, "'ASC'", "'NULLS FIRST'"]), "[NULL, 1, 2, 3]");
        assert_eq!(shown("array_reverse_sort", &[list]), "[NULL, 3, 2, 1]");
        assert_eq!(shown("list_reverse_sort", &[list, "'NULLS LAST'"]), "[3, 2, 1, NULL]");
        assert_eq!(
            shown("list_sort", &["VARCHAR[] '[b, '''', ä, a]'".replace("''''", "\"\"").as_str()]),
            "['', a, b, ä]"
        );
        assert_eq!(shown("list_sort", &["DOUBLE[] '[nan, -inf, 0, inf]'"]), "[-inf, 0.0, inf, NaN]");
        assert_eq!(shown("list_sort", &["INTEGER[][] '[[2], [1, NULL], [1], NULL]'"]), "[[1], [1, NULL], [2], NULL]");
        assert_eq!(shown("list_sort", &["INTEGER[] '[]'"]), "[]");
        assert_eq!(shown("list_sort", &["NULL"]), "NULL");
        assert_eq!(shown("list_sort", &[list, "NULL"]), "NULL");
        assert_eq!(error_of("list_sort", &[list, "'up'"]), "'up' is neither ASC nor DESC");
    }

    #[test]
    fn equal_elements_keep_their_order() {
        assert_eq!(shown("list_grade_up", &["INTEGER[] '[3, 1, NULL, 3]'"]), "[2, 1, 4, 3]");
        assert_eq!(shown("list_grade_up", &["INTEGER[] '[3, 1, NULL, 3]'", "'DESC'", "'NULLS LAST'"]), "[1, 4, 2, 3]");
    }
}
