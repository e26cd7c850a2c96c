//! Lengths and depths of lists.

use std::fmt::Write;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;

use super::call::{Call, strict};
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, element_of, is_bigint, list_as};
use crate::function::Function;
use crate::rows::{Argument, Text};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["array_length", "list_length"],
            "The number of the list's elements; of a dimension, NULL if it has none",
        )
        .example("array_length([1, 2, NULL])", "3")
        .example("array_length([[1, 2], [3, 4]], 2)", "2")
        .chosen("array_length(list)", length)
        .chosen("array_length(list, dimension)", length_of_dimension),
        list_function(&["cardinality"], "The number of values in a list and the lists in it, or of a map's entries")
            .example("cardinality([[1, 2], [3]])", "3")
            .example("cardinality(MAP {'a': 1})", "1")
            .chosen("cardinality(list)", cardinality)
            .chosen("cardinality(map)", crate::structure::map_size),
        list_function(&["array_empty", "list_empty", "empty"], "Whether the list has no element")
            .example("array_empty([])", "true")
            .chosen("array_empty(list)", is_empty),
        list_function(&["array_ndims", "list_ndims"], "The number of the list's dimensions; NULL if it is empty")
            .example("array_ndims([[1, 2]])", "2")
            .chosen("array_ndims(list)", dimensions),
        list_function(&["array_dims", "list_dims"], "The bounds of the list's dimensions as text; NULL if it is empty")
            .example("array_dims([[1, 2]])", "[1:1][1:2]")
            .chosen("array_dims(list)", bounds),
        list_function(&["array_lower"], "The first position in a dimension, which is 1; NULL if there is none")
            .example("array_lower([5, 6], 1)", "1")
            .chosen("array_lower(list, dimension)", lower),
        list_function(&["array_upper"], "The last position in a dimension; NULL if there is none")
            .example("array_upper([5, 6], 1)", "2")
            .chosen("array_upper(list, dimension)", length_of_dimension),
    ]
}

/// The number of a list's elements.
pub(crate) fn length(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        call.fixed::<i64, _>(|row| lists.length(row) as i64)
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::BigInt, compute).total().never_null()))
}

fn is_empty(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        call.fixed::<bool, _>(|row| lists.length(row) == 0)
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::Boolean, compute).total().never_null()))
}

/// Lists, and the lists in them, down to the innermost.
struct Levels(Vec<Lists>);

impl Levels {
    fn of(call: &Call<'_>) -> Result<Self> {
        let mut levels = vec![call.lists(0)?];
        for depth in 1..depth_of(&call.types[0]) {
            levels.push(levels[depth - 1].nested());
        }
        Ok(Self(levels))
    }

    /// Returns the lengths of the dimensions, each that of its first list. Empty if there is no value.
    fn lengths(&self, row: usize) -> Vec<usize> {
        let mut lengths = Vec::with_capacity(self.0.len());
        let mut at = Some(row);
        for lists in &self.0 {
            let range = at.map_or(0..0, |at| lists.range_or_none(at));
            if range.is_empty() {
                return Vec::new();
            }
            lengths.push(range.len());
            at = Some(range.start);
        }
        lengths
    }

    fn values(&self, row: usize) -> usize {
        self.0[1..]
            .iter()
            .fold(vec![self.0[0].range_or_none(row)], |ranges, lists| {
                ranges.into_iter().flatten().map(|at| lists.range_or_none(at)).collect()
            })
            .into_iter()
            .map(|range| range.len())
            .sum()
    }
}

fn depth_of(ty: &SqlType) -> usize {
    ty.element().map_or(0, |element| 1 + depth_of(element))
}

fn cardinality(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let levels = Levels::of(call)?;
        call.fixed::<i32, _>(|row| i32::try_from(levels.values(row)).unwrap_or(i32::MAX))
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::Integer, compute).total().never_null()))
}

fn dimensions(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let (lists, depth) = (call.lists(0)?, depth_of(&call.types[0]));
        call.fixed::<i32, _>(|row| (lists.length(row) > 0).then_some(depth as i32))
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::Integer, compute).total()))
}

fn bounds(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let levels = Levels::of(call)?;
        call.texts(|row, out| {
            let lengths = levels.lengths(row);
            lengths.iter().for_each(|length| write!(out, "[1:{length}]").expect("texts take all"));
            (!lengths.is_empty()).then_some(())
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], Text::TYPE, compute).total()))
}

/// The length of a dimension, which is also its last position.
fn length_of_dimension(arguments: &[ArgumentType<'_>]) -> Chosen {
    of_dimension(arguments, |length| i32::try_from(length).unwrap_or(i32::MAX))
}

fn lower(arguments: &[ArgumentType<'_>]) -> Chosen {
    of_dimension(arguments, |_| 1)
}

fn of_dimension(arguments: &[ArgumentType<'_>], of_length: fn(usize) -> i32) -> Chosen {
    let [list, dimension] = arguments else { return None };
    let element = element_of(list).filter(|_| is_bigint(dimension))?;
    let compute = move |call: &Call<'_>| {
        let (levels, dimensions) = (Levels::of(call)?, call.integers(1));
        call.fixed::<i32, _>(|row| {
            let dimension = usize::try_from(dimensions.get(row)).ok()?.checked_sub(1)?;
            levels.lengths(row).get(dimension).copied().map(of_length)
        })
    };
    Some(Ok(strict(vec![list_as(list, &element), SqlType::BigInt], SqlType::Integer, compute).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    #[test]
    fn lists_have_lengths() {
        assert_eq!(shown("array_length", &["INTEGER[] '[1, NULL]'"]), "2");
        assert_eq!(shown("array_length", &["INTEGER[] '[]'"]), "0");
        assert_eq!(shown("array_length", &["INTEGER[2] '[1, 2]'"]), "2");
        assert_eq!(shown("array_length", &["NULL"]), "NULL");
        assert_eq!(call("array_length", &["NULL"]).unwrap().1.to_string(), "BIGINT");
        assert_eq!(shown("array_length", &["INTEGER[] '[]'", "1"]), "NULL");
        let nested = "INTEGER[][] '[[1, 2, 3], [4, 5, 6]]'";
        let lengths = [("-9223372036854775808", "NULL"), ("0", "NULL"), ("1", "2"), ("2", "3"), ("3", "NULL")];
        for (dimension, length) in lengths {
            assert_eq!(shown("array_length", &[nested, dimension]), length);
            assert_eq!(shown("array_upper", &[nested, dimension]), length);
        }
        assert_eq!(shown("array_lower", &[nested, "2"]), "1");
        assert_eq!(shown("array_lower", &[nested, "3"]), "NULL");
    }

    #[test]
    fn lists_have_dimensions() {
        assert_eq!(shown("cardinality", &["INTEGER[][] '[[1, 2], NULL, [3]]'"]), "3");
        assert_eq!(shown("cardinality", &["INTEGER[] '[]'"]), "0");
        assert_eq!(shown("array_ndims", &["INTEGER[][] '[[1]]'"]), "2");
        assert_eq!(shown("array_ndims", &["INTEGER[][] '[]'"]), "NULL");
        assert_eq!(shown("array_dims", &["INTEGER[][] '[[1, 2, 3]]'"]), "[1:1][1:3]");
        assert_eq!(shown("array_dims", &["INTEGER[][] '[NULL]'"]), "NULL");
        assert_eq!(shown("empty", &["INTEGER[] '[NULL]'"]), "false");
        assert_eq!(shown("array_empty", &["INTEGER[] '[]'"]), "true");
    }
}
