//! Maps made from lists, from entries, and from other maps. Keys are distinct and not NULL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray, new_empty_array};
use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, common_type};
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Vector};

use super::structure_function;
use crate::function::Function;
use crate::list::call::{Call, lenient, strict};
use crate::list::keys::Keys;
use crate::list::lists::Lists;
use crate::list::picks::{Picks, internal, list_vector};
use crate::list::sets::Groups;
use crate::list::types::{Chosen, element_of, list_as, settled};

pub(super) fn functions() -> Vec<Function> {
    vec![
        structure_function(&["map", "map_from_arrays"], "The map of some keys to some values")
            .example("map(['a', 'b'], [1, 2])", "{a=1, b=2}")
            .chosen("map(keys, values)", map)
            .chosen("map()", empty),
        structure_function(&["map_from_entries"], "The map of some structs of a key and a value")
            .example("map_from_entries([row('a', 1), row('b', 2)])", "{a=1, b=2}")
            .chosen("map_from_entries(list)", from_entries),
        structure_function(
            &["map_concat"],
            "The entries of several maps; of those with one key, the last has its value. NULL is a map without entries",
        )
        .example("map_concat(MAP {'a': 1}, MAP {'a': 2, 'b': 3})", "{a=2, b=3}")
        .chosen("map_concat(map, …)", concat),
    ]
}

/// The entries of maps, row by row.
struct Entries<'w> {
    keys: Picks<'w>,
    values: Picks<'w>,
}

impl<'w> Entries<'w> {
    fn new(keys: &[&ArrayRef], values: &[&ArrayRef], call: &Call<'w>) -> Result<Self> {
        let picks = |sources| Picks::new(sources, call.rows, call.work);
        Ok(Self { keys: picks(keys)?, values: picks(values)? })
    }

    fn end_row(&mut self) -> Result<()> {
        self.keys.end_row()?;
        self.values.end_row()
    }

    fn finish(self, result: &SqlType, valid: Option<Bitmap>) -> Result<Vector> {
        let DataType::Map(field, _) = arrow_type(result)? else { unreachable!("the result is a map") };
        let DataType::Struct(fields) = field.data_type() else { unreachable!("the entries of a map are structs") };
        let ((offsets, keys), (_, values)) = (self.keys.into_parts()?, self.values.into_parts()?);
        let entries = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(internal)?;
        list_vector(offsets, Arc::new(entries), result, valid)
    }
}

fn wrong(message: &str) -> Error {
    Error::user(message.to_owned()).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Checks that keys are valid in a map.
fn check_keys(keys: &Keys, range: std::ops::Range<usize>, groups: &mut Groups, call: &Call<'_>) -> Result<()> {
    if !range.clone().all(|at| keys.is_valid(at)) {
        return Err(wrong("a key of a map is NULL"));
    }
    let firsts = groups.of_list(keys, range, call.work)?;
    match firsts.iter().enumerate().all(|(at, &first)| at == first as usize) {
        true => Ok(()),
        false => Err(wrong("two keys of a map are equal")),
    }
}

fn empty(arguments: &[ArgumentType<'_>]) -> Chosen {
    if !arguments.is_empty() {
        return None;
    }
    let compute = |call: &Call<'_>| {
        let elements = new_empty_array(&DataType::Int32);
        let mut entries = Entries::new(&[&elements], &[&elements], call)?;
        (0..call.rows).try_for_each(|_| entries.end_row())?;
        entries.finish(call.result, None)
    };
    let result = SqlType::Map((SqlType::Integer, SqlType::Integer).into());
    Some(Ok(lenient(Vec::new(), result, compute).total().never_null()))
}

fn map(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [keys, values] = arguments else { return None };
    let (key, value) = (element_of(keys)?, element_of(values)?);
    let types = vec![list_as(keys, &key), list_as(values, &value)];
    let compute = |call: &Call<'_>| {
        let (keys, values) = (call.lists(0)?, call.lists(1)?);
        let of_keys = call.element_keys(0, &keys)?;
        let mut entries = Entries::new(&[&keys.elements], &[&values.elements], call)?;
        let mut groups = Groups::default();
        for row in 0..call.rows {
            if call.is_computed(row) {
                let (keys, values) = (keys.range(row), values.range(row));
                if keys.len() != values.len() {
                    let message = format!("a map has {} keys, but {} values", keys.len(), values.len());
                    return Err(wrong(&message));
                }
                check_keys(&of_keys, keys.clone(), &mut groups, call)?;
                entries.keys.extend(keys);
                entries.values.extend(values);
            }
            entries.end_row()?;
        }
        entries.finish(call.result, call.validity_without(&[]))
    };
    Some(Ok(strict(types, SqlType::Map((key, value).into()), compute).never_null()))
}

fn from_entries(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let [key, value] = element.fields()? else { return None };
    let (key, value) = (settled(key.ty.clone()), settled(value.ty.clone()));
    let of_entries = element.fields()?.iter().map(|field| (field.name.as_ref(), settled(field.ty.clone())));
    let entry = SqlType::struct_of(of_entries);
    let key_type = key.clone();
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let structs = lists.vector()?;
        let (keys, values) = lists.keys_and_values();
        let of_keys = Keys::of_array(keys, &key_type)?;
        let mut entries = Entries::new(&[keys], &[values], call)?;
        let mut groups = Groups::default();
        for row in 0..call.rows {
            if call.is_computed(row) {
                let range = lists.range(row);
                if !range.clone().all(|at| structs.is_valid(at)) {
                    return Err(wrong("an entry of a map is NULL"));
                }
                check_keys(&of_keys, range.clone(), &mut groups, call)?;
                entries.keys.extend(range.clone());
                entries.values.extend(range);
            }
            entries.end_row()?;
        }
        entries.finish(call.result, call.validity_without(&[]))
    };
    Some(Ok(strict(vec![list_as(list, &entry)], SqlType::Map((key, value).into()), compute).never_null()))
}

fn concat(arguments: &[ArgumentType<'_>]) -> Chosen {
    let mut all = SqlType::Unknown;
    for map in arguments {
        all = common_type(&all, map.ty)?;
    }
    let result = settled(all);
    let SqlType::Map(entry) = &result else { return None };
    let key_type = entry.0.clone();
    let types = vec![result.clone(); arguments.len()];
    Some(Ok(lenient(types, result, move |call| together(call, &key_type)).total()))
}

/// Concatenates the entries of all maps of a row, and keeps the last one of each key.
fn together(call: &Call<'_>, key_type: &SqlType) -> Result<Vector> {
    let maps = (0..call.arguments.len()).map(|at| call.lists(at)).collect::<Result<Vec<Lists>>>()?;
    let sources: Vec<&ArrayRef> = maps.iter().map(|maps| &maps.elements).collect();
    let mut picks = Picks::new(&sources, call.rows, call.work)?;
    for row in 0..call.rows {
        let mut start = 0;
        for maps in &maps {
            let range = maps.range_or_none(row);
            picks.extend(start + range.start..start + range.end);
            start += maps.elements.len();
        }
        picks.end_row()?;
    }
    let (offsets, all) = picks.into_parts()?;
    let (keys, values) = (all.as_struct().column(0), all.as_struct().column(1));
    let of_keys = Keys::of_array(keys, key_type)?;
    let mut entries = Entries::new(&[keys], &[values], call)?;
    let mut groups = Groups::default();
    for row in 0..call.rows {
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let firsts = groups.of_list(&of_keys, range.clone(), call.work)?;
        let mut lasts: Vec<usize> = (0..firsts.len()).collect();
        firsts.iter().enumerate().for_each(|(at, &first)| lasts[first as usize] = at);
        for (at, _) in firsts.iter().enumerate().filter(|(at, first)| *at == **first as usize) {
            entries.keys.push(range.start + at);
            entries.values.push(range.start + lasts[at]);
        }
        entries.end_row()?;
    }
    let valid = Bitmap::from_fn(call.rows, |row| maps.iter().any(|maps| maps.is_valid(row)));
    entries.finish(call.result, Some(valid))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn maps_of_lists() {
        assert_eq!(shown("map", &["VARCHAR[] '[a, ä]'", "INTEGER[] '[1, NULL]'"]), "{a=1, ä=NULL}");
        assert_eq!(shown("map", &["INTEGER[][] '[[0], [NULL]]'", "INTEGER[] '[1, 2]'"]), "{[0]=1, [NULL]=2}");
        assert_eq!(shown("map", &["INTEGER[] '[]'", "INTEGER[] '[]'"]), "{}");
        assert_eq!(shown("map", &["NULL", "INTEGER[] '[]'"]), "NULL");
        assert_eq!(shown("map", &[]), "{}");
        assert_eq!(error_of("map", &["INTEGER[] '[1, 1]'", "INTEGER[] '[1, 2]'"]), "two keys of a map are equal");
        assert_eq!(error_of("map", &["INTEGER[] '[NULL]'", "INTEGER[] '[1]'"]), "a key of a map is NULL");
        assert_eq!(error_of("map", &["INTEGER[] '[1]'", "INTEGER[] '[]'"]), "a map has 1 keys, but 0 values");
    }

    #[test]
    fn maps_of_entries() {
        let list = |entries: &str| format!(r#"STRUCT("k" VARCHAR, "v" INTEGER)[] '{entries}'"#);
        let entries = list(r#"[{"k": a, "v": 1}, {"k": b, "v": NULL}]"#);
        assert_eq!(shown("map_from_entries", &[&entries]), "{a=1, b=NULL}");
        assert_eq!(shown("map_from_entries", &[&list("[]")]), "{}");
        assert_eq!(error_of("map_from_entries", &[&list("[NULL]")]), "an entry of a map is NULL");
    }

    #[test]
    fn maps_are_concatenated() {
        let (first, second) = ("MAP(INTEGER, INTEGER) '{1=2, 3=4}'", "MAP(INTEGER, INTEGER) '{3=5, 6=NULL}'");
        assert_eq!(shown("map_concat", &[first, second]), "{1=2, 3=5, 6=NULL}");
        assert_eq!(shown("map_concat", &[first, "NULL"]), "{1=2, 3=4}");
        assert_eq!(shown("map_concat", &["MAP(INTEGER, INTEGER) '{}'", second]), "{3=5, 6=NULL}");
    }
}
