//! Lists filled with one value.

use arrow_buffer::OffsetBuffer;
use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};
use godwit_vector::{Flat, Vector};

use super::call::{Call, lenient};
use super::list_function;
use super::picks::{Picks, list_vector};
use super::types::{Chosen, any_type, bad_argument};
use crate::choose::fits;
use crate::function::Function;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(&["array_fill"], "A list with one value everywhere; of lists, if there are several lengths")
            .example("array_fill(7, [2])", "[7, 7]")
            .example("array_fill(7, [2, 1])", "[[7], [7]]")
            .chosen("array_fill(value, INTEGER[])", fill),
    ]
}

/// Maximum number of dimensions of a filled list: that of PostgreSQL's arrays.
const DIMENSIONS_MAX: usize = 6;

fn fill(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [value, lengths] = arguments else { return None };
    let of_lengths = SqlType::list_of(SqlType::Integer);
    if !fits(lengths, &of_lengths) {
        return None;
    }
    // The type gives the depth of the list, so several lengths have to be a constant.
    let dimensions = match lengths.value {
        Some(Value::List(lengths)) => lengths.len().max(1),
        _ => 1,
    };
    if dimensions > DIMENSIONS_MAX {
        return Some(Err(bad_argument(1, format!("lists are filled in up to {DIMENSIONS_MAX} dimensions"))));
    }
    let element = any_type(value);
    let result = (0..dimensions).fold(element.clone(), |ty, _| SqlType::list_of(ty));
    Some(Ok(lenient(vec![element, of_lengths], result, move |call| filled(call, dimensions))))
}

fn filled(call: &Call<'_>, dimensions: usize) -> Result<Vector> {
    let wrong = |message: &str| Error::user(message.to_owned()).with_code(SqlState::INVALID_PARAMETER_VALUE);
    let (items, lists) = (call.items(0)?, call.lists(1)?);
    let vector = lists.vector()?;
    let flat = vector.to_flat();
    let lengths = |row: usize| -> Result<Vec<usize>> {
        let range = lists.is_valid(row).then(|| lists.range(row));
        let range = range.ok_or_else(|| wrong("the lengths of a list are NULL"))?;
        if range.len() > dimensions {
            return Err(wrong("several lengths of a list have to be constants"));
        }
        let length = |at: usize| {
            let length = vector.is_valid(at).then(|| flat.values::<i32>()[at]);
            usize::try_from(length.unwrap_or(-1)).map_err(|_| wrong("the length of a list is negative or NULL"))
        };
        let lengths = range.map(length).collect::<Result<Vec<usize>>>()?;
        // A list of empty lists is empty itself, as in PostgreSQL.
        let is_whole = lengths.len() == dimensions && !lengths.contains(&0);
        Ok(if is_whole { lengths } else { vec![0; dimensions] })
    };
    let all = (0..call.rows).map(lengths).collect::<Result<Vec<Vec<usize>>>>()?;
    // Number of lists at a depth; the depth after the last is that of the values.
    let count = |lengths: &[usize], depth: usize| {
        lengths[..depth].iter().fold(1_usize, |all, &length| all.saturating_mul(length))
    };
    let mut picks = Picks::new(&[&items.array], call.rows, call.work)?;
    for (row, lengths) in all.iter().enumerate() {
        picks.fill(items.place(row), count(lengths, dimensions))?;
        picks.end_row()?;
    }
    let (_, mut elements) = picks.into_parts()?;
    for depth in (0..dimensions).rev() {
        let mut offsets = vec![0_i32];
        for lengths in &all {
            for _ in 0..count(lengths, depth) {
                offsets.push(offsets[offsets.len() - 1] + lengths[depth] as i32);
            }
        }
        let ty = (0..depth).fold(call.result, |ty, _| ty.element().expect("the result is a list of lists"));
        let Flat::Nested(array) = list_vector(OffsetBuffer::new(offsets.into()), elements, ty, None)?.to_flat() else {
            unreachable!("lists are nested")
        };
        elements = array;
    }
    Ok(Vector::flat(Flat::Nested(elements), None))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn lists_are_filled() {
        assert_eq!(shown("array_fill", &["7", "INTEGER[] '[2]'"]), "[7, 7]");
        assert_eq!(shown("array_fill", &["NULL", "INTEGER[] '[2]'"]), "[NULL, NULL]");
        assert_eq!(shown("array_fill", &["'ä'", "INTEGER[] '[2, 1, 2]'"]), "[[[ä, ä]], [[ä, ä]]]");
        assert_eq!(shown("array_fill", &["1", "INTEGER[] '[]'"]), "[]");
        assert_eq!(shown("array_fill", &["1", "INTEGER[] '[2000000000, 0]'"]), "[]");
        assert_eq!(shown("array_fill", &["INTEGER[] '[1]'", "INTEGER[] '[2]'"]), "[[1], [1]]");
        assert!(error_of("array_fill", &["1", "INTEGER[] '[-1]'"]).contains("negative"));
        assert!(error_of("array_fill", &["1", "INTEGER[] '[NULL]'"]).contains("NULL"));
        assert!(error_of("array_fill", &["1", "NULL"]).contains("NULL"));
        assert!(
            error_of("array_fill", &["1", "INTEGER[] '[2147483647, 2147483647, 2147483647]'"]).contains("more than")
        );
    }
}
