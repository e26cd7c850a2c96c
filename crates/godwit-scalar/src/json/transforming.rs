//! JSON values as SQL values of any type.

use std::collections::HashSet;

use godwit_common::{Error, ErrorKind, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, StructField, Value, parse_value};
use godwit_vector::Vector;
use godwit_vector::sql::vector_of_values;

use super::node::{Kind, Node};
use super::{Source, shown};
use crate::function::{Category, Function, function};
use crate::kernel::Bounded;
use crate::list::call::{Call, lenient};
use crate::list::types::{Chosen, bad_argument, settled_as_text};
use crate::room::Room;
use crate::rows::Pace;

/// Memory for a value besides its text, in bytes: in the tree, in a vector's buffers, and its offset there.
const VALUE_BYTES: usize = 2 * size_of::<Value>() + 8;

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    vec![
        json(
            &["json_transform", "from_json"],
            "The value with the types of a structure, as of `json_structure`; NULL for parts that are of another type",
        )
        .example("json_transform('{\"a\": \"7\", \"b\": []}', '{\"a\": \"INT\", \"b\": \"DATE\"}')", "{'a': 7, 'b': NULL}")
        .chosen("json_transform(json, structure)", |arguments| transformed(arguments, false)),
        json(
            &["json_transform_strict", "from_json_strict"],
            "The value with the types of a structure; an error if a part is of another type or a key is missing or unknown",
        )
        .example("json_transform_strict('[1, 2]', '[\"DOUBLE\"]')", "[1.0, 2.0]")
        .chosen("json_transform_strict(json, structure)", |arguments| transformed(arguments, true)),
    ]
}

/// The structure may also be a NULL of a nested type: casts are bound so.
fn transformed(arguments: &[ArgumentType<'_>], is_strict: bool) -> Chosen {
    let [document, structure] = arguments else { return None };
    let source = match document.ty {
        SqlType::Json => Source::Json,
        SqlType::Varchar | SqlType::Unknown => Source::Text,
        _ => return None,
    };
    let ty = match (structure.ty, structure.value) {
        (ty, Some(Value::Null)) if ty.is_nested() => Ok(ty.clone()),
        (SqlType::Varchar | SqlType::Json | SqlType::Unknown, Some(Value::Text(text))) => {
            let node = Source::Text.node(text, &mut Pace::new(&Bounded::new(0)));
            node.and_then(|node| type_of(node, 0))
        }
        (SqlType::Varchar | SqlType::Json | SqlType::Unknown, _) => {
            return Some(Err(bad_argument(1, "the structure has to be a constant")));
        }
        _ => return None,
    };
    let ty = match ty {
        Ok(ty) => ty,
        Err(error) => return Some(Err(bad_argument(1, error.message()))),
    };
    let types = vec![settled_as_text(document.ty), settled_as_text(structure.ty)];
    Some(Ok(lenient(types, ty, move |call| transform(call, source, is_strict))))
}

/// Most levels of nesting of a structure: that of types in files.
const TYPE_DEPTH_MAX: usize = 64;

/// Returns the type that a structure stands for: names of types in strings, in arrays of one element and in objects.
fn type_of(node: Node<'_>, depth: usize) -> Result<SqlType> {
    let wrong = |what: &str| {
        let error = Error::user(format!("{} is no structure: {what}", shown(node.text())));
        error.with_code(SqlState::INVALID_PARAMETER_VALUE)
    };
    if depth > TYPE_DEPTH_MAX {
        return Err(wrong("it is nested too deeply"));
    }
    match node.kind() {
        Kind::String => {
            let name = node.string()?;
            match name.eq_ignore_ascii_case("null") {
                true => Ok(SqlType::Json),
                false => named_type(&name),
            }
        }
        Kind::Array => {
            let mut elements = node.elements();
            match (elements.next(), elements.next()) {
                (Some(element), None) => Ok(SqlType::list_of(type_of(element, depth + 1)?)),
                _ => Err(wrong("an array has one element, whose type is that of all")),
            }
        }
        Kind::Object => {
            let field = |(key, ty): (Node<'_>, Node<'_>)| Ok((key.string()?.into_owned(), type_of(ty, depth + 1)?));
            let fields = node.members().map(field).collect::<Result<Vec<(String, SqlType)>>>()?;
            for (at, (name, _)) in fields.iter().enumerate() {
                if fields[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                    return Err(wrong("two keys are equal but for their case"));
                }
            }
            match fields.is_empty() {
                true => Err(wrong("an object has keys")),
                false => Ok(SqlType::struct_of(fields.iter().map(|(name, ty)| (name.as_str(), ty.clone())))),
            }
        }
        Kind::Null | Kind::Boolean | Kind::Number => Err(wrong("types are given as strings")),
    }
}

/// Returns the type of a name with its arguments, as `DECIMAL(10, 2)`, or of a definition, as `MAP(VARCHAR, INTEGER)[]`.
fn named_type(text: &str) -> Result<SqlType> {
    let with_numbers =
        text.trim().strip_suffix(')').and_then(|text| text.split_once('(')).and_then(|(name, numbers)| {
            let numbers = numbers.split(',').map(|number| number.trim().parse().ok());
            Some((name, numbers.collect::<Option<Vec<u64>>>()?))
        });
    if let Some((name, numbers)) = with_numbers {
        return SqlType::from_name(name, &numbers);
    }
    let has_names = text.contains(['"', '\'']);
    let defined = || match has_names {
        true => SqlType::from_definition(text),
        false => SqlType::from_definition(&text.to_ascii_uppercase()),
    };
    SqlType::from_name(text, &[]).or_else(|error| defined().ok_or(error))
}

fn transform(call: &Call<'_>, source: Source, is_strict: bool) -> Result<Vector> {
    let texts = call.strings(0);
    let mut reading = Reading { is_strict, bytes: 0, room: Room::new(call.rows, call.work), call };
    let mut values = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        values.push(match call.is_null(0, row) {
            true => reading.null(call.result)?,
            false => reading.value(source.node(texts.text(row), &mut Pace::new(call.work))?, call.result)?,
        });
    }
    vector_of_values(&values, call.result)
}

struct Reading<'c> {
    /// False: what isn't of its type is NULL.
    is_strict: bool,
    /// Memory of the values so far.
    bytes: usize,
    room: Room<'c>,
    call: &'c Call<'c>,
}

impl Reading<'_> {
    /// Recursion is as deep as the type.
    fn value(&mut self, node: Node<'_>, ty: &SqlType) -> Result<Value> {
        match self.strict_value(node, ty) {
            Err(error) if !self.is_strict && error.kind() == ErrorKind::User => self.null(ty),
            value => value,
        }
    }

    /// Returns NULL, for which vectors have room for the elements and fields of its type.
    fn null(&mut self, ty: &SqlType) -> Result<Value> {
        self.count(null_bytes(ty))?;
        Ok(Value::Null)
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.room.count(self.bytes)
    }

    fn strict_value(&mut self, node: Node<'_>, ty: &SqlType) -> Result<Value> {
        self.call.work.check()?;
        self.count(VALUE_BYTES + if ty.is_nested() { 0 } else { 2 * node.text().len() })?;
        match (node.kind(), ty) {
            (Kind::Null, _) => self.null(ty),
            (_, SqlType::Json) => Ok(Value::text(node.text())),
            (Kind::Array, SqlType::List(element)) => self.elements(node, element),
            (Kind::Array, SqlType::Array(element, length)) => match self.elements(node, element)? {
                Value::List(values) if values.len() != *length as usize => {
                    Err(not_a(node, ty).with_hint(format!("it has {} elements", values.len())))
                }
                values => Ok(values),
            },
            (Kind::Object, SqlType::Struct(fields)) => self.fields(node, fields),
            (Kind::Object, SqlType::Map(parts)) => self.entries(node, &parts.0, &parts.1),
            (_, nested) if nested.is_nested() => Err(not_a(node, ty)),
            (Kind::String, _) => parse_value(&node.string()?, ty),
            (_, SqlType::Varchar) => Ok(Value::text(node.text())),
            (Kind::Array | Kind::Object, _) => Err(not_a(node, ty)),
            (Kind::Boolean | Kind::Number, _) => parse_value(node.text(), ty),
        }
    }

    fn elements(&mut self, node: Node<'_>, ty: &SqlType) -> Result<Value> {
        Ok(Value::List(node.elements().map(|element| self.value(element, ty)).collect::<Result<_>>()?))
    }

    /// Fields go by their names; a key in another case counts where there is none in the same.
    fn fields(&mut self, node: Node<'_>, fields: &[StructField]) -> Result<Value> {
        self.count(fields.len() * VALUE_BYTES)?;
        let mut found: Vec<Option<(Node<'_>, bool)>> = vec![None; fields.len()];
        for (key, value) in node.members() {
            let key = key.string()?;
            let place = fields.iter().position(|field| field.name.eq_ignore_ascii_case(&key));
            let Some((place, is_exact)) = place.map(|place| (place, *fields[place].name == *key)) else {
                if self.is_strict {
                    return Err(wrong_key(node, &key, "is no field of the type"));
                }
                continue;
            };
            match found[place] {
                Some((_, was_exact)) if is_exact == was_exact && self.is_strict => {
                    return Err(wrong_key(node, &key, "is there twice"));
                }
                Some((_, was_exact)) if was_exact || !is_exact => {}
                _ => found[place] = Some((value, is_exact)),
            }
        }
        let values = fields.iter().zip(found).map(|(field, found)| match found {
            Some((node, _)) => self.value(node, &field.ty),
            None if self.is_strict => Err(wrong_key(node, &field.name, "is missing")),
            None => self.null(&field.ty),
        });
        Ok(Value::Struct(values.collect::<Result<_>>()?))
    }

    fn entries(&mut self, node: Node<'_>, key_type: &SqlType, value_type: &SqlType) -> Result<Value> {
        let mut keys = HashSet::new();
        let mut entries = Vec::new();
        for (written, value) in node.members() {
            let key = written.string()?;
            self.count(VALUE_BYTES + 2 * key.len())?;
            let key = match key_type {
                SqlType::Varchar => Value::text(&*key),
                _ => parse_value(&key, key_type)?,
            };
            if keys.insert(key.clone()) {
                entries.push((key, self.value(value, value_type)?));
            } else if self.is_strict {
                return Err(wrong_key(node, &written.string()?, "is there twice"));
            }
        }
        Ok(Value::Map(entries.into()))
    }
}

/// Memory that vectors take for the NULL of a type: arrays and structs have all of their parts.
fn null_bytes(ty: &SqlType) -> usize {
    match ty {
        SqlType::Array(element, length) => null_bytes(element).saturating_mul(*length as usize),
        SqlType::Struct(fields) => {
            fields.iter().map(|field| null_bytes(&field.ty)).fold(VALUE_BYTES, usize::saturating_add)
        }
        _ => VALUE_BYTES,
    }
}

fn not_a(node: Node<'_>, ty: &SqlType) -> Error {
    let error = Error::user(format!("the JSON value {} is not a value of type {ty}", shown(node.text())));
    error.with_code(SqlState::INVALID_TEXT_REPRESENTATION)
}

fn wrong_key(node: Node<'_>, key: &str, what: &str) -> Error {
    Error::user(format!("the key \"{key}\" {what} in the JSON value {}", shown(node.text())))
        .with_code(SqlState::INVALID_TEXT_REPRESENTATION)
        .with_hint("TRY_CAST and json_transform take what is there, and NULL for the rest")
}

#[cfg(test)]
mod tests {
    use godwit_plan::{ArgumentType, NoFunction};
    use godwit_types::{SqlType, Value};

    use crate::testing::{error_of, shown};

    fn lenient(json: &str, structure: &str) -> String {
        shown("json_transform", &[&format!("'{json}'"), &format!("'{structure}'")])
    }

    fn strict(json: &str, structure: &str) -> String {
        shown("json_transform_strict", &[&format!("'{json}'"), &format!("'{structure}'")])
    }

    fn refused(json: &str, structure: &str) -> String {
        error_of("json_transform_strict", &[&format!("'{json}'"), &format!("'{structure}'")])
    }

    #[test]
    fn values_have_the_types_of_the_structure() {
        for (json, structure, value) in [
            ("5", r#""integer""#, "5"),
            (r#""5""#, r#""BIGINT""#, "5"),
            ("[1.5, 2, null]", r#"["DECIMAL(4, 1)"]"#, "[1.5, 2.0, NULL]"),
            (r#"{"a": {"b": [{"c": "x\u00e9"}]}}"#, r#"{"a": {"b": [{"c": "VARCHAR"}]}}"#, "{'a': {'b': [{'c': xé}]}}"),
            (r#"{"a": [1, {}]}"#, r#"{"a": "JSON"}"#, r#"{'a': '[1, {}]'}"#),
            (r#"["a", 1, true, {"b": 2}]"#, r#"["VARCHAR"]"#, r#"[a, 1, true, '{"b": 2}']"#),
            (r#"{"1": "x", "2": null}"#, r#""map(integer, varchar)""#, "{1=x, 2=NULL}"),
            (r#"["2024-02-29"]"#, r#"["DATE"]"#, "[2024-02-29]"),
            ("[true, false]", r#"["BOOLEAN"]"#, "[true, false]"),
            ("null", r#"["DATE"]"#, "NULL"),
            (r#"{"d": 1}"#, r#"{"d": "NULL"}"#, "{'d': 1}"),
        ] {
            assert_eq!(lenient(json, structure), value, "{json}");
            assert_eq!(strict(json, structure), value, "{json}");
        }
        assert_eq!(shown("json_transform", &["NULL", "'\"DATE\"'"]), "NULL");
    }

    #[test]
    fn what_is_of_another_type_is_null_or_an_error() {
        for (json, structure, value, error) in [
            (r#"{"a": "x"}"#, r#"{"a": "INTEGER"}"#, "{'a': NULL}", "'x' is not an INTEGER"),
            ("[1, [2]]", r#"["INTEGER"]"#, "[1, NULL]", "'[2]' is not a value of type INTEGER"),
            ("[1]", r#"{"a": "INTEGER"}"#, "NULL", "'[1]' is not a value of type STRUCT"),
            (r#"{"a": 1}"#, r#"["INTEGER"]"#, "NULL", "is not a value of type INTEGER[]"),
            (r#""x""#, r#"["VARCHAR"]"#, "NULL", "is not a value of type VARCHAR[]"),
            ("[1, 2]", r#""INTEGER[3]""#, "NULL", "is not a value of type INTEGER[3]"),
            (r#"{"a": 1}"#, r#"{"a": "INTEGER", "b": "DATE"}"#, "{'a': 1, 'b': NULL}", r#"the key "b" is missing"#),
            (r#"{"a": 1, "z": 2}"#, r#"{"a": "INTEGER"}"#, "{'a': 1}", r#"the key "z" is no field"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": "INTEGER"}"#, "{'a': 1}", r#"the key "a" is there twice"#),
            (r#"{"k": 1, "k": 2}"#, r#""MAP(VARCHAR, INTEGER)""#, "{k=1}", r#"the key "k" is there twice"#),
        ] {
            assert_eq!(lenient(json, structure), value, "{json}");
            let message = refused(json, structure);
            assert!(message.contains(error), "{json}: {message}");
        }
        assert_eq!(strict(r#"{"A": 1}"#, r#"{"a": "INTEGER"}"#), "{'a': 1}");
        assert_eq!(lenient(r#"{"A": 1, "a": 2}"#, r#"{"a": "INTEGER"}"#), "{'a': 2}");
        assert_eq!(strict(r#"{"a": 2, "A": 1}"#, r#"{"a": "INTEGER"}"#), "{'a': 2}");
        assert!(error_of("json_transform", &["'[1'", "'[\"DATE\"]'"]).contains("is not JSON"));
    }

    #[test]
    fn structures_are_checked() {
        for (structure, message) in [
            ("'[1]'", "types are given as strings"),
            ("'[]'", "an array has one element"),
            ("'{}'", "an object has keys"),
            ("'{\"a\": \"DATE\", \"A\": \"DATE\"}'", "two keys are equal"),
            ("'[\"DAT\"]'", "dat"),
            ("'x'", "is not JSON"),
        ] {
            let error = refused_structure(structure);
            assert!(error.contains(message), "{structure}: {error}");
        }
        let deep = format!("'{}\"DATE\"{}'", "[".repeat(100), "]".repeat(100));
        assert!(refused_structure(&deep).contains("nested too deeply"));
    }

    fn refused_structure(structure: &str) -> String {
        let value = Value::text(structure.trim_matches('\''));
        let types = [(SqlType::Json, None), (SqlType::Varchar, Some(&value))];
        let argument = |(ty, value)| ArgumentType { ty, value, nullable: true, lambda_parameters: None };
        let arguments = types.each_ref().map(|(ty, value)| argument((ty, *value)));
        match crate::choose("json_transform", &arguments) {
            Err(NoFunction::BadArgument { argument: Some(1), message, .. }) => message,
            other => panic!("{:?}", other.err()),
        }
    }

    #[test]
    fn memory_is_counted() {
        let list = format!("'[{}1]'", "1,".repeat(400_000));
        let message = error_of("json_transform", &[&list, "'[\"INTEGER\"]'"]);
        assert!(message.contains("bytes"), "{message}");
        let (list, object) = ("'[\"INTEGER[1000000000]\"]'", "'{\"a\": \"INTEGER[1000000000]\"}'");
        for (json, structure) in [("'[null]'", list), ("'[7]'", list), ("'{}'", object)] {
            let message = error_of("json_transform", &[json, structure]);
            assert!(message.contains("bytes"), "{message}");
        }
    }
}
