//! Structs, made from values, and their fields.
//!
//! Where a call names fields, as in `struct_pack(a := 1)`, each name comes before its value, as a constant text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray, StructArray};
use arrow_schema::DataType;
use godwit_common::{Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, StructField, Value, common_type};
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Flat, PhysicalType, Vector, from_arrow};

use super::structure_function;
use crate::function::Function;
use crate::list::call::{Call, lenient, strict};
use crate::list::picks::{internal, nulls_of};
use crate::list::search::Search;
use crate::list::types::{Chosen, any_type, bad_argument, constant_text, settled};

pub(super) fn functions() -> Vec<Function> {
    vec![
        structure_function(&["struct_pack", "named_struct"], "The struct of some fields")
            .example("struct_pack(a := 1, b := 'x')", "{'a': 1, 'b': x}")
            .chosen("struct_pack(name := value, …)", pack),
        structure_function(&["row", "struct"], "The struct of some values, whose fields are numbered")
            .example("row(1, 'x')", "{'v1': 1, 'v2': x}")
            .chosen("row(value, …)", row),
        structure_function(
            &["struct_extract", "get_field", "struct_extract_at"],
            "The field of a struct, by its name in any case or by its position from 1",
        )
        .example("struct_extract({'a': 1}, 'a')", "1")
        .example("struct_extract({'a': 1, 'b': 2}, 2)", "2")
        .chosen("struct_extract(struct, 'name')", field)
        .chosen("struct_extract(struct, position)", field),
        structure_function(&["struct_insert"], "The struct with further fields")
            .example("struct_insert({'a': 1}, b := 2)", "{'a': 1, 'b': 2}")
            .chosen("struct_insert(struct, name := value, …)", |fields| changed(fields, false)),
        structure_function(&["struct_update"], "The struct with other values in some fields, or further fields")
            .example("struct_update({'a': 1}, a := 'x')", "{'a': x}")
            .chosen("struct_update(struct, name := value, …)", |fields| changed(fields, true)),
        structure_function(&["struct_concat"], "The struct of the fields of several")
            .example("struct_concat({'a': 1}, {'b': 2})", "{'a': 1, 'b': 2}")
            .chosen("struct_concat(struct, …)", concat),
        structure_function(&["struct_keys"], "The names of the struct's fields")
            .example("struct_keys({'a': 1, 'b': 2})", "[a, b]")
            .chosen("struct_keys(struct)", keys),
        structure_function(&["struct_values"], "The values of the struct, in fields that are numbered")
            .example("struct_values({'a': 1})", "{'v1': 1}")
            .chosen("struct_values(struct)", values),
        structure_function(&["struct_contains", "struct_has"], "Whether a field of the struct has the value")
            .example("struct_contains(row(1, 2), 2)", "true")
            .chosen("struct_contains(struct, value)", contains),
        structure_function(
            &["struct_position", "struct_indexof"],
            "The position, from 1, of the first field of the struct that has the value; NULL if none has",
        )
        .example("struct_position(row(5, 6), 6)", "2")
        .chosen("struct_position(struct, value)", position),
    ]
}

/// Builds structs from columns, NULL where they aren't valid.
fn structs(columns: Vec<ArrayRef>, call: &Call<'_>, valid: Option<Bitmap>) -> Result<Vector> {
    let DataType::Struct(fields) = arrow_type(call.result)? else { unreachable!("the result is a struct") };
    let nulls = valid.as_ref().map(nulls_of);
    let array = StructArray::try_new_with_length(fields, columns, nulls, call.rows).map_err(internal)?;
    Ok(Vector::flat(Flat::Nested(Arc::new(array)), valid))
}

/// Returns a struct type; its field names must differ even if case is ignored.
fn struct_of(fields: Vec<(String, SqlType)>) -> std::result::Result<SqlType, NoFunction> {
    for (at, (name, _)) in fields.iter().enumerate() {
        if fields[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            let message = format!("the struct would have two fields named {name}");
            return Err(NoFunction::BadArgument { argument: None, message, code: SqlState::INVALID_PARAMETER_VALUE });
        }
    }
    Ok(SqlType::struct_of(fields.iter().map(|(name, ty)| (name.as_str(), ty.clone()))))
}

/// Reads names and values in turn.
fn named<'v>(arguments: &[ArgumentType<'v>]) -> Option<Vec<(&'v str, SqlType)>> {
    let pair = |pair: &[ArgumentType<'v>]| match pair {
        [name, value] if value.lambda_parameters.is_none() => Some((constant_text(name)?, any_type(value))),
        _ => None,
    };
    arguments.chunks(2).map(pair).collect::<Option<Vec<_>>>().filter(|named| !named.is_empty())
}

fn pack(arguments: &[ArgumentType<'_>]) -> Chosen {
    let named = named(arguments)?;
    let types = named.iter().flat_map(|(_, ty)| [SqlType::Varchar, ty.clone()]).collect();
    let result = match struct_of(named.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect()) {
        Ok(result) => result,
        Err(error) => return Some(Err(error)),
    };
    let compute = |call: &Call<'_>| {
        let values = (1..call.arguments.len()).step_by(2);
        let columns = values.map(|at| call.items(at)?.in_rows(call.rows)).collect::<Result<_>>()?;
        structs(columns, call, None)
    };
    Some(Ok(lenient(types, result, compute).total().never_null()))
}

fn row(arguments: &[ArgumentType<'_>]) -> Chosen {
    if arguments.is_empty() || arguments.iter().any(|argument| argument.lambda_parameters.is_some()) {
        return None;
    }
    let types: Vec<SqlType> = arguments.iter().map(any_type).collect();
    let result = SqlType::Struct(StructField::of_row(types.iter().cloned()));
    let compute = |call: &Call<'_>| {
        let columns = (0..call.arguments.len()).map(|at| call.items(at)?.in_rows(call.rows));
        structs(columns.collect::<Result<_>>()?, call, None)
    };
    Some(Ok(lenient(types, result, compute).total().never_null()))
}

/// A field of a struct, by its name, ignoring case, or by its position from 1.
pub(crate) fn field(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [record, field] = arguments else { return None };
    let fields = record.ty.fields()?;
    let at = match field.value {
        Some(Value::Text(name)) => {
            let exact = fields.iter().position(|known| known.name == *name);
            exact.or_else(|| fields.iter().position(|known| known.name.eq_ignore_ascii_case(name)))
        }
        Some(Value::Integer(number)) => {
            usize::try_from(*number).ok().and_then(|number| number.checked_sub(1)).filter(|&at| at < fields.len())
        }
        _ => return Some(Err(bad_argument(1, "the name of a field must be a constant"))),
    };
    let Some(at) = at else {
        let names: Vec<&str> = fields.iter().map(|known| known.name.as_ref()).collect();
        return Some(Err(bad_argument(1, format!("the struct has no such field, but {}", names.join(", ")))));
    };
    let key = if matches!(field.value, Some(Value::Text(_))) { SqlType::Varchar } else { field.ty.clone() };
    let types = vec![record.ty.clone(), key];
    Some(Ok(lenient(types, fields[at].ty.clone(), move |call| fields_at(call, at)).total()))
}

fn fields_at(call: &Call<'_>, at: usize) -> Result<Vector> {
    let items = call.items(0)?;
    let column = items.array.as_struct().column(at);
    let vector = from_arrow(column)?;
    if vector.len() != call.rows || vector.physical() == PhysicalType::Nested {
        return call.element(column, |row| items.place(row));
    }
    let validity = match (call.arguments[0].validity(), vector.validity()) {
        (Some(record), Some(field)) => Some(Arc::new(record.and(field))),
        (record, field) => record.or(field).cloned(),
    };
    Ok(vector.with_validity(validity))
}

fn changed(arguments: &[ArgumentType<'_>], may_replace: bool) -> Chosen {
    let (record, rest) = arguments.split_first()?;
    let fields = record.ty.fields()?;
    let named = named(rest)?;
    // The origin of each field: an argument, or the struct.
    let mut all: Vec<(String, SqlType)> =
        fields.iter().map(|field| (field.name.to_string(), field.ty.clone())).collect();
    let mut sources: Vec<Option<usize>> = vec![None; fields.len()];
    for (at, (name, ty)) in named.iter().enumerate() {
        let known = all.iter().position(|(known, _)| known.eq_ignore_ascii_case(name)).filter(|_| may_replace);
        let argument = Some(2 * at + 2);
        match known {
            Some(known) => (all[known].1, sources[known]) = (ty.clone(), argument),
            None => {
                all.push(((*name).to_owned(), ty.clone()));
                sources.push(argument);
            }
        }
    }
    let result = match struct_of(all) {
        Ok(result) => result,
        Err(error) => return Some(Err(error)),
    };
    let values = named.iter().flat_map(|(_, ty)| [SqlType::Varchar, ty.clone()]);
    let types = std::iter::once(record.ty.clone()).chain(values).collect();
    let compute = move |call: &Call<'_>| {
        let record = call.items(0)?.in_rows(call.rows)?;
        let column = |(at, source): (usize, &Option<usize>)| match source {
            None => Ok(Arc::clone(record.as_struct().column(at))),
            Some(argument) => call.items(*argument)?.in_rows(call.rows),
        };
        let columns = sources.iter().enumerate().map(column).collect::<Result<_>>()?;
        structs(columns, call, call.arguments[0].validity().map(|validity| validity.as_ref().clone()))
    };
    Some(Ok(lenient(types, result, compute).total()))
}

fn concat(arguments: &[ArgumentType<'_>]) -> Chosen {
    let records = arguments.iter().map(|record| record.ty.fields()).collect::<Option<Vec<_>>>()?;
    let fields = records.iter().flat_map(|fields| fields.iter());
    // Rows have numbers instead of names, which are counted continuously.
    let fields: Arc<[StructField]> = match records.iter().all(|fields| StructField::are_of_row(fields)) {
        true => StructField::of_row(fields.map(|field| field.ty.clone())),
        false => fields.cloned().collect(),
    };
    if fields.is_empty() {
        return None;
    }
    let result = match struct_of(fields.iter().map(|field| (field.name.to_string(), field.ty.clone())).collect()) {
        Ok(result) => result,
        Err(error) => return Some(Err(error)),
    };
    let types = arguments.iter().map(|record| record.ty.clone()).collect();
    let compute = |call: &Call<'_>| {
        let records = (0..call.arguments.len()).map(|at| call.items(at)?.in_rows(call.rows));
        let records = records.collect::<Result<Vec<ArrayRef>>>()?;
        let columns = records.iter().flat_map(|record| record.as_struct().columns().iter().cloned());
        structs(columns.collect(), call, None)
    };
    Some(Ok(lenient(types, result, compute).total().never_null()))
}

fn keys(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [record] = arguments else { return None };
    let names: Vec<Arc<str>> = record.ty.fields()?.iter().map(|field| Arc::clone(&field.name)).collect();
    let compute = move |call: &Call<'_>| {
        let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(names.iter()));
        call.picked(&[&names], |_, out| out.extend(0..names.len()))
    };
    let result = SqlType::list_of(SqlType::Varchar);
    Some(Ok(strict(vec![record.ty.clone()], result, compute).total().never_null()))
}

fn values(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [record] = arguments else { return None };
    let fields = StructField::of_row(record.ty.fields()?.iter().map(|field| field.ty.clone()));
    let compute = |call: &Call<'_>| {
        let record = call.items(0)?.in_rows(call.rows)?;
        let validity = call.arguments[0].validity().map(|validity| validity.as_ref().clone());
        structs(record.as_struct().columns().to_vec(), call, validity)
    };
    Some(Ok(strict(vec![record.ty.clone()], SqlType::Struct(fields), compute).total().never_null()))
}

/// Returns the types for a search: a struct whose fields have one type, and that type for the value.
fn types_of_search(arguments: &[ArgumentType<'_>]) -> Option<Vec<SqlType>> {
    let [record, value] = arguments else { return None };
    let fields = record.ty.fields()?;
    let common = fields.iter().try_fold(value.ty.clone(), |all, field| common_type(&all, &field.ty)).map(settled)?;
    let field = |field: &StructField| StructField { name: Arc::clone(&field.name), ty: common.clone() };
    Some(vec![SqlType::Struct(fields.iter().map(field).collect()), common])
}

/// Returns the index of the first field with the row's value.
fn searched(call: &Call<'_>) -> Result<impl Fn(usize) -> Option<usize>> {
    let items = call.items(0)?;
    let columns = items.array.as_struct().columns().iter();
    let searches = columns.map(|column| Search::new(call, column, 1)).collect::<Result<Vec<Search>>>()?;
    Ok(move |row: usize| {
        let place = items.place(row)?;
        searches.iter().position(|search| search.find(place..place + 1, row).is_some())
    })
}

pub(crate) fn contains(arguments: &[ArgumentType<'_>]) -> Chosen {
    let types = types_of_search(arguments)?;
    let compute = |call: &Call<'_>| {
        let search = searched(call)?;
        call.fixed::<bool, _>(|row| search(row).is_some())
    };
    Some(Ok(strict(types, SqlType::Boolean, compute).total().never_null()))
}

fn position(arguments: &[ArgumentType<'_>]) -> Chosen {
    let types = types_of_search(arguments)?;
    let compute = |call: &Call<'_>| {
        let search = searched(call)?;
        call.fixed::<i32, _>(|row| search(row).and_then(|at| i32::try_from(at + 1).ok()))
    };
    Some(Ok(strict(types, SqlType::Integer, compute).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    const RECORD: &str = r#"STRUCT("a" INTEGER, "B" VARCHAR) '{"a": 1, "B": "ä"}'"#;
    const EMPTY: &str = r#"STRUCT("a" INTEGER, "B" VARCHAR) '{"a": NULL, "B": NULL}'"#;

    #[test]
    fn structs_are_made() {
        assert_eq!(shown("struct_pack", &["'a'", "1", "'b'", "NULL"]), "{'a': 1, 'b': NULL}");
        assert_eq!(shown("named_struct", &["'a'", "INTEGER[] '[1, NULL]'"]), "{'a': [1, NULL]}");
        assert_eq!(shown("row", &["1", "'x'", RECORD]), "{'v1': 1, 'v2': x, 'v3': {'a': 1, 'B': ä}}");
        let (_, ty) = call("row", &["NULL", "'x'"]).unwrap();
        assert_eq!(ty.to_string(), r#"STRUCT("v1" INTEGER, "v2" VARCHAR)"#);
    }

    #[test]
    fn fields_are_found() {
        assert_eq!(shown("struct_extract", &[RECORD, "'b'"]), "ä");
        assert_eq!(shown("get_field", &[RECORD, "1"]), "1");
        assert_eq!(shown("struct_extract_at", &[RECORD, "2"]), "ä");
        assert_eq!(shown("struct_extract", &[EMPTY, "'a'"]), "NULL");
        assert_eq!(shown("list_extract", &[RECORD, "'a'"]), "1");
        let nested = r#"STRUCT("l" INTEGER[]) '{"l": [1, NULL]}'"#;
        assert_eq!(shown("struct_extract", &[nested, "'l'"]), "[1, NULL]");
    }

    #[test]
    fn structs_are_changed() {
        assert_eq!(shown("struct_insert", &[RECORD, "'c'", "NULL"]), "{'a': 1, 'B': ä, 'c': NULL}");
        assert_eq!(shown("struct_update", &[RECORD, "'b'", "2", "'c'", "'x'"]), "{'a': 1, 'B': 2, 'c': x}");
        assert_eq!(shown("struct_concat", &[RECORD, r#"STRUCT("c" INTEGER) '{"c": 3}'"#]), "{'a': 1, 'B': ä, 'c': 3}");
        assert_eq!(shown("struct_keys", &[RECORD]), "[a, B]");
        assert_eq!(shown("struct_values", &[RECORD]), "{'v1': 1, 'v2': ä}");
    }

    #[test]
    fn values_are_found_in_fields() {
        let numbers = r#"STRUCT("a" INTEGER, "b" BIGINT, "c" INTEGER) '{"a": 1, "b": 7, "c": NULL}'"#;
        assert_eq!(shown("struct_contains", &[numbers, "7"]), "true");
        assert_eq!(shown("struct_has", &[numbers, "8"]), "false");
        assert_eq!(shown("struct_position", &[numbers, "7"]), "2");
        assert_eq!(shown("struct_indexof", &[numbers, "8"]), "NULL");
        assert_eq!(shown("struct_contains", &[numbers, "NULL"]), "NULL");
    }

    /// Returns the arguments and the message of a call that can't be bound.
    fn refused(name: &str, arguments: &[(&str, Option<&str>)]) -> String {
        use godwit_plan::ArgumentType;
        use godwit_types::{SqlType, Value};
        let given: Vec<(SqlType, Option<Value>)> =
            arguments.iter().map(|(ty, text)| (SqlType::from_definition(ty).unwrap(), text.map(Value::text))).collect();
        let types: Vec<ArgumentType<'_>> = given
            .iter()
            .map(|(ty, value)| ArgumentType { ty, value: value.as_ref(), nullable: true, lambda_parameters: None })
            .collect();
        format!("{:?}", crate::choose(name, &types).err().expect("it is refused"))
    }

    #[test]
    fn wrong_fields_are_refused() {
        let record = (r#"STRUCT("a" INTEGER)"#, None);
        let name = |name| ("VARCHAR", Some(name));
        assert!(refused("struct_extract", &[record, name("x")]).contains("no such field, but a"));
        assert!(refused("struct_extract", &[record, ("VARCHAR", None)]).contains("must be a constant"));
        assert!(refused("struct_insert", &[record, name("A"), ("INTEGER", None)]).contains("two fields named A"));
        assert!(refused("struct_concat", &[record, record]).contains("two fields named a"));
        assert!(refused("struct_pack", &[name("a"), name("1"), name("a"), name("2")]).contains("two fields"));
        assert!(refused("struct_pack", &[name("a")]).contains("NoMatch"));
    }
}
