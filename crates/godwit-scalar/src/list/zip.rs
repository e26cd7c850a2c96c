//! Lists side by side.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Vector};

use super::call::{Call, lenient};
use super::list_function;
use super::lists::{Lists, taken};
use super::picks::{internal, list_vector, too_many};
use super::types::{Chosen, element_of, list_as};
use crate::function::Function;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_zip", "array_zip", "arrays_zip"],
            "Structs of the first elements, the second and so on; as many as the longest list has, or the shortest, if the \
             last argument is TRUE",
        )
        .example("list_zip([1, 2], ['a'])", "[{'v1': 1, 'v2': a}, {'v1': 2, 'v2': NULL}]")
        .chosen("list_zip(list, …)", zip)
        .chosen("list_zip(list, …, BOOLEAN)", zip),
    ]
}

fn zip(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (lists, is_cut) = match arguments {
        [lists @ .., last] if *last.ty == SqlType::Boolean => (lists, true),
        lists => (lists, false),
    };
    let elements = lists.iter().map(element_of).collect::<Option<Vec<SqlType>>>().filter(|all| !all.is_empty())?;
    let names: Vec<String> = (1..=elements.len()).map(|at| format!("v{at}")).collect();
    let result = SqlType::list_of(SqlType::struct_of(names.iter().map(String::as_str).zip(elements.iter().cloned())));
    let mut types: Vec<SqlType> = lists.iter().zip(&elements).map(|(list, element)| list_as(list, element)).collect();
    types.extend(is_cut.then_some(SqlType::Boolean));
    Some(Ok(lenient(types, result, move |call| zipped(call, is_cut)).total()))
}

fn zipped(call: &Call<'_>, is_cut: bool) -> Result<Vector> {
    let count = call.arguments.len() - usize::from(is_cut);
    let lists = (0..count).map(|at| call.lists(at)).collect::<Result<Vec<Lists>>>()?;
    let flags = is_cut.then(|| call.arguments[count].to_flat());
    let mut offsets = vec![0_i32];
    let mut places: Vec<Vec<Option<u32>>> = vec![Vec::new(); count];
    for row in 0..call.rows {
        let ranges = || lists.iter().map(|lists| lists.range_or_none(row));
        let lengths = ranges().map(|range| range.len());
        let to_shortest = flags.as_ref().is_some_and(|flags| !call.is_null(count, row) && flags.bools()[row] != 0);
        let length = if to_shortest { lengths.min() } else { lengths.max() }.unwrap_or(0);
        for (places, range) in places.iter_mut().zip(ranges()) {
            places.extend((0..length).map(|at| (at < range.len()).then_some((range.start + at) as u32)));
        }
        let end = i32::try_from(places[0].len()).map_err(|_| too_many())?;
        offsets.push(end);
        call.work.check()?;
    }
    let valid = Bitmap::from_fn(call.rows, |row| lists.iter().any(|lists| lists.is_valid(row)));
    let columns = lists.iter().zip(places).map(|(lists, places)| taken(&lists.elements, &UInt32Array::from(places)));
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let DataType::Struct(fields) = arrow_type(call.result.element().expect("the result is a list"))? else {
        unreachable!("the elements are structs")
    };
    let structs = StructArray::try_new(fields, columns, None).map_err(internal)?;
    list_vector(OffsetBuffer::new(offsets.into()), Arc::new(structs), call.result, Some(valid))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    #[test]
    fn lists_are_zipped() {
        let lists = ["INTEGER[] '[1, 2]'", "VARCHAR[] '[ä]'"];
        assert_eq!(shown("list_zip", &lists), "[{'v1': 1, 'v2': ä}, {'v1': 2, 'v2': NULL}]");
        assert_eq!(shown("arrays_zip", &[lists[0], lists[1], "TRUE"]), "[{'v1': 1, 'v2': ä}]");
        assert_eq!(shown("list_zip", &[lists[0], "NULL"]), "[{'v1': 1, 'v2': NULL}, {'v1': 2, 'v2': NULL}]");
        assert_eq!(shown("list_zip", &["NULL", "NULL"]), "NULL");
        assert_eq!(shown("list_zip", &["INTEGER[] '[]'"]), "[]");
        let (_, ty) = call("list_zip", &lists).unwrap();
        assert_eq!(ty.to_string(), r#"STRUCT("v1" INTEGER, "v2" VARCHAR)[]"#);
    }
}
