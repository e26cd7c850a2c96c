//! The contents of maps: keys, values, entries.

use std::sync::Arc;

use arrow_array::ArrayRef;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, common_type};
use godwit_vector::in_layout;
use godwit_vector::sql::arrow_type;

use super::structure_function;
use crate::function::Function;
use crate::list::call::{Call, strict};
use crate::list::lists::Lists;
use crate::list::search::Search;
use crate::list::types::{Chosen, settled};

pub(super) fn functions() -> Vec<Function> {
    vec![
        structure_function(&["map_keys"], "The keys of the map")
            .example("map_keys(MAP {'a': 1})", "[a]")
            .chosen("map_keys(map)", |map| parts(map, Part::Keys)),
        structure_function(&["map_values"], "The values of the map")
            .example("map_values(MAP {'a': 1})", "[1]")
            .chosen("map_values(map)", |map| parts(map, Part::Values)),
        structure_function(&["map_entries"], "The entries of the map as structs")
            .example("map_entries(MAP {'a': 1})", "[{'key': a, 'value': 1}]")
            .chosen("map_entries(map)", |map| parts(map, Part::Entries)),
        structure_function(&["map_extract", "element_at"], "The list of the value of a key, empty if there is none")
            .example("map_extract(MAP {'a': 1}, 'a')", "[1]")
            .chosen("map_extract(map, key)", extract),
        structure_function(&["map_extract_value"], "The value of a key; NULL if there is none")
            .example("map_extract_value(MAP {'a': 1}, 'a')", "1")
            .chosen("map_extract_value(map, key)", extract_value),
        structure_function(&["map_contains", "map_contains_key"], "Whether the map has a key")
            .example("map_contains(MAP {'a': 1}, 'a')", "true")
            .chosen("map_contains(map, key)", contains_key),
        structure_function(&["map_contains_value"], "Whether a key of the map has a value")
            .example("map_contains_value(MAP {'a': 1}, 1)", "true")
            .chosen("map_contains_value(map, value)", contains_value),
        structure_function(&["map_contains_entry"], "Whether a key has a certain value in the map")
            .example("map_contains_entry(MAP {'a': 1}, 'a', 1)", "true")
            .chosen("map_contains_entry(map, key, value)", contains_entry),
    ]
}

/// Returns the types of the keys and values of a map.
fn entry_of(map: &ArgumentType<'_>) -> Option<(SqlType, SqlType)> {
    match map.ty {
        SqlType::Map(entry) => Some((settled(entry.0.clone()), settled(entry.1.clone()))),
        _ => None,
    }
}

fn map_of(key: &SqlType, value: &SqlType) -> SqlType {
    SqlType::Map(Arc::new((key.clone(), value.clone())))
}

/// Returns the types of a map and of the key to look up.
fn types_of_key(map: &ArgumentType<'_>, key: &ArgumentType<'_>) -> Option<(Vec<SqlType>, SqlType)> {
    let (own, value) = entry_of(map)?;
    let common = common_type(&own, key.ty)?;
    Some((vec![map_of(&common, &value), common], value))
}

#[derive(Clone, Copy)]
enum Part {
    Keys,
    Values,
    Entries,
}

impl Part {
    fn of(self, maps: &Lists) -> &ArrayRef {
        match self {
            Self::Keys => maps.keys_and_values().0,
            Self::Values => maps.keys_and_values().1,
            Self::Entries => &maps.elements,
        }
    }
}

fn parts(arguments: &[ArgumentType<'_>], part: Part) -> Chosen {
    let [map] = arguments else { return None };
    let (key, value) = entry_of(map)?;
    let types = vec![map_of(&key, &value)];
    let element = match part {
        Part::Keys => key,
        Part::Values => value,
        Part::Entries => SqlType::struct_of([("key", key), ("value", value)]),
    };
    let compute = move |call: &Call<'_>| {
        let maps = call.lists(0)?;
        // The entries of a map are structs without NULLs, those of a list may contain some: their types differ in that.
        let element = arrow_type(call.result.element().expect("the result is a list"))?;
        let elements = in_layout(part.of(&maps), &element)?;
        call.picked(&[&elements], |row, out| out.extend(maps.range(row)))
    };
    Some(Ok(strict(types, SqlType::list_of(element), compute).total().never_null()))
}

/// The number of entries in a map.
pub(crate) fn size(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map] = arguments else { return None };
    let (key, value) = entry_of(map)?;
    let compute = |call: &Call<'_>| {
        let maps = call.lists(0)?;
        call.fixed::<u64, _>(|row| maps.length(row) as u64)
    };
    Some(Ok(strict(vec![map_of(&key, &value)], SqlType::UBigInt, compute).total().never_null()))
}

/// Returns maps, and the search for their keys.
fn keyed(call: &Call<'_>) -> Result<(Lists, Search)> {
    let maps = call.lists(0)?;
    let search = Search::new(call, maps.keys_and_values().0, 1)?;
    Ok((maps, search))
}

fn extract(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map, key] = arguments else { return None };
    let (types, value) = types_of_key(map, key)?;
    let compute = |call: &Call<'_>| {
        let (maps, search) = keyed(call)?;
        let values = maps.keys_and_values().1;
        call.picked(&[values], |row, out| search.find(maps.range(row), row).into_iter().for_each(|at| out.push(at)))
    };
    Some(Ok(strict(types, SqlType::list_of(value), compute).total().never_null()))
}

fn extract_value(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map, key] = arguments else { return None };
    let (types, value) = types_of_key(map, key)?;
    let compute = |call: &Call<'_>| {
        let (maps, search) = keyed(call)?;
        call.element(maps.keys_and_values().1, |row| search.find(maps.range(row), row))
    };
    Some(Ok(strict(types, value, compute).total()))
}

/// Whether the map has a key.
pub(crate) fn contains_key(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map, key] = arguments else { return None };
    let (types, _) = types_of_key(map, key)?;
    let compute = |call: &Call<'_>| {
        let (maps, search) = keyed(call)?;
        call.fixed::<bool, _>(|row| search.find(maps.range(row), row).is_some())
    };
    Some(Ok(strict(types, SqlType::Boolean, compute).total().never_null()))
}

fn contains_value(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map, value] = arguments else { return None };
    let (key, own) = entry_of(map)?;
    let common = common_type(&own, value.ty)?;
    let compute = |call: &Call<'_>| {
        let maps = call.lists(0)?;
        let search = Search::new(call, maps.keys_and_values().1, 1)?;
        call.fixed::<bool, _>(|row| search.find(maps.range(row), row).is_some())
    };
    Some(Ok(strict(vec![map_of(&key, &common), common], SqlType::Boolean, compute).total().never_null()))
}

fn contains_entry(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [map, key, value] = arguments else { return None };
    let (own_key, own_value) = entry_of(map)?;
    let (key, value) = (common_type(&own_key, key.ty)?, common_type(&own_value, value.ty)?);
    let compute = |call: &Call<'_>| {
        let (maps, keys) = keyed(call)?;
        let values = Search::new(call, maps.keys_and_values().1, 2)?;
        call.fixed::<bool, _>(|row| {
            let at = keys.find(maps.range(row), row);
            at.is_some_and(|at| values.find(at..at + 1, row).is_some())
        })
    };
    let types = vec![map_of(&key, &value), key, value];
    Some(Ok(strict(types, SqlType::Boolean, compute).total().never_null()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, shown};

    const MAP: &str = "MAP(VARCHAR, INTEGER) '{a=1, ä=NULL}'";

    #[test]
    fn maps_have_parts() {
        assert_eq!(shown("map_keys", &[MAP]), "[a, ä]");
        assert_eq!(shown("map_values", &[MAP]), "[1, NULL]");
        assert_eq!(shown("map_entries", &[MAP]), "[{'key': a, 'value': 1}, {'key': ä, 'value': NULL}]");
        assert_eq!(shown("cardinality", &[MAP]), "2");
        assert_eq!(call("cardinality", &[MAP]).unwrap().1.to_string(), "UBIGINT");
        assert_eq!(shown("map_keys", &["MAP(INTEGER, INTEGER) '{}'"]), "[]");
    }

    #[test]
    fn values_have_keys() {
        assert_eq!(shown("map_extract", &[MAP, "'a'"]), "[1]");
        assert_eq!(shown("element_at", &[MAP, "'b'"]), "[]");
        assert_eq!(shown("map_extract", &[MAP, "'ä'"]), "[NULL]");
        assert_eq!(shown("map_extract_value", &[MAP, "'a'"]), "1");
        assert_eq!(shown("map_extract_value", &[MAP, "'b'"]), "NULL");
        assert_eq!(shown("map_extract_value", &["MAP(INTEGER, VARCHAR) '{1=x}'", "5000000000"]), "NULL");
        let of_lists = "MAP(INTEGER[], INTEGER) '{[0]=10, [2, 0]=8}'";
        assert_eq!(shown("map_extract_value", &[of_lists, "INTEGER[] '[2, 0]'"]), "8");
        assert_eq!(shown("map_extract_value", &[of_lists, "INTEGER[] '[]'"]), "NULL");
    }

    #[test]
    fn maps_contain() {
        assert_eq!(shown("map_contains", &[MAP, "'ä'"]), "true");
        assert_eq!(shown("map_contains", &[MAP, "NULL"]), "NULL");
        assert_eq!(shown("map_contains_value", &[MAP, "1"]), "true");
        assert_eq!(shown("map_contains_value", &[MAP, "2"]), "false");
        assert_eq!(shown("map_contains_entry", &[MAP, "'a'", "1"]), "true");
        assert_eq!(shown("map_contains_entry", &[MAP, "'ä'", "1"]), "false");
    }

    #[test]
    fn null_without_a_type_is_a_map() {
        for name in ["map_keys", "map_values", "map_entries"] {
            assert_eq!(shown(name, &["NULL"]), "NULL");
        }
        assert_eq!(shown("map_contains", &["NULL", "'a'"]), "NULL");
        assert_eq!(shown("map_extract_value", &["NULL", "DATE '2024-01-01'"]), "NULL");
        assert_eq!(shown("map_contains_entry", &["NULL", "2", "NULL"]), "NULL");
        assert_eq!(shown("list_replace_n", &["DATE[] '[]'", "NULL", "DATE '2024-01-01'", "3"]), "[]");
        assert_eq!(shown("contains", &["NULL", "2"]), "NULL");
        assert_eq!(shown("struct_keys", &["NULL"]), "NULL");
        let null = ArgumentType {
            ty: &SqlType::Unknown,
            value: Some(&godwit_types::Value::Null),
            nullable: true,
            lambda_parameters: None,
        };
        assert!(crate::choose("struct_concat", &[null]).is_err());
    }
}
