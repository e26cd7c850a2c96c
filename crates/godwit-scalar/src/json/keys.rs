//! Keys given as texts or as lists of texts: which of them a value has, and what is at the path of them.

use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::{StrColumn, Vector};

use super::extracting::{Write, write_json, write_text};
use super::node::{Kind, Node, STEPS_OF_VALUE};
use super::path::part_of;
use super::{Source, of_documents};
use crate::function::{Category, Form, Function, function};
use crate::list::call::{Call, strict};
use crate::list::lists::Lists;
use crate::rows::{Pace, Text, scalar_checked};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let [has_json, has_text] = of_documents(1, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(text, key), work| {
            let mut pace = Pace::new(work);
            has_key(source.node(text, &mut pace)?, key, &mut pace)
        })
    });
    let [any_json, any_text] = with_keys(Wanted::Any);
    let [all_json, all_text] = with_keys(Wanted::All);
    let [part_json, part_text] = at_path(&SqlType::Json, write_json);
    let [string_json, string_text] = at_path(&SqlType::Varchar, write_text);
    vec![
        json(&["jsonb_exists"], "Whether the text is a key of the object, or a string in the array: the operator ?")
            .example("jsonb_exists('{\"a\": 1}', 'a')", "true")
            .example("'[\"a\", 1]'::JSON ? 'b'", "false")
            .form(has_json)
            .form(has_text),
        json(&["jsonb_exists_any"], "Whether one of the texts is a key or a string in the value: the operator ?|")
            .example("jsonb_exists_any('{\"a\": 1}', ['a', 'b'])", "true")
            .form(any_json)
            .form(any_text),
        json(&["jsonb_exists_all"], "Whether all texts are keys or strings in the value: the operator ?&")
            .example("jsonb_exists_all('{\"a\": 1}', ['a', 'b'])", "false")
            .form(all_json)
            .form(all_text),
        json(&["#>"], "What is at the path of keys and places, as JSON")
            .example("'{\"a\": [1, 2]}' #> ['a', '1']", "2")
            .example("'{\"a\": [1, 2]}' #> '{a,-2}'", "1")
            .form(part_json)
            .form(part_text),
        json(&["#>>"], "What is at the path of keys and places, as text; NULL for null")
            .example("'{\"a\": [\"x\"]}' #>> ['a', '0']", "x")
            .form(string_json)
            .form(string_text),
    ]
}

/// The type of a list of keys.
pub(super) fn keys_type() -> SqlType {
    SqlType::list_of(SqlType::Varchar)
}

/// Lists of keys, one for each row or one for all.
pub(super) struct KeyLists {
    lists: Lists,
    elements: Vector,
    keys: StrColumn,
}

impl KeyLists {
    pub(super) fn of(call: &Call<'_>, argument: usize) -> Result<Self> {
        let lists = call.lists(argument)?;
        let elements = lists.vector()?;
        let keys = elements.to_flat().strings().clone();
        Ok(Self { lists, elements, keys })
    }

    /// Returns the keys of a row; `None` for those that are NULL.
    pub(super) fn of_row(&self, row: usize) -> impl Iterator<Item = Option<&str>> {
        self.lists.range(row).map(|at| {
            let key = || std::str::from_utf8(self.keys.get(at)).expect("texts are UTF-8");
            self.elements.is_valid(at).then(key)
        })
    }
}

fn has_key(node: Node<'_>, key: &str, pace: &mut Pace<'_>) -> Result<bool> {
    match node.kind() {
        Kind::Object => Ok(node.member(key, pace)?.is_some()),
        Kind::Array => {
            for element in node.elements() {
                pace.go(STEPS_OF_VALUE + element.text().len())?;
                if element.kind() == Kind::String && element.is_string(key)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Kind::String => node.is_string(key),
        Kind::Null | Kind::Boolean | Kind::Number => Ok(false),
    }
}

/// How many of several keys have to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    All,
}

/// Forms that look for the keys of a list that aren't NULL.
fn with_keys(wanted: Wanted) -> [Form; 2] {
    of_documents(1, |source| {
        let compute = move |call: &Call<'_>| {
            let (texts, keys) = (call.strings(0), KeyLists::of(call, 1)?);
            call.fixed::<bool, _>(|row| {
                let mut pace = Pace::new(call.work);
                let node = source.node(texts.text(row), &mut pace)?;
                for key in keys.of_row(row).flatten() {
                    let is_there = has_key(node, key, &mut pace)?;
                    if is_there != (wanted == Wanted::All) {
                        return Ok(is_there);
                    }
                }
                Ok(wanted == Wanted::All)
            })
        };
        strict(vec![SqlType::Varchar, keys_type()], SqlType::Boolean, compute).never_null()
    })
}

/// Forms that write what is at the path of a list of keys.
fn at_path(result: &SqlType, write: Write) -> [Form; 2] {
    of_documents(1, |source| {
        let compute = move |call: &Call<'_>| {
            let (texts, keys) = (call.strings(0), KeyLists::of(call, 1)?);
            call.texts(|row, out| match followed(source, texts.text(row), keys.of_row(row), &mut out.pace())? {
                Some(node) => write(node, out),
                None => Ok(None),
            })
        };
        strict(vec![SqlType::Varchar, keys_type()], result.clone(), compute)
    })
}

/// Follows keys and places from part to part; a NULL leads nowhere.
fn followed<'t, 'k>(
    source: Source,
    text: &'t str,
    keys: impl Iterator<Item = Option<&'k str>>,
    pace: &mut Pace<'_>,
) -> Result<Option<Node<'t>>> {
    let mut node = source.node(text, pace)?;
    for key in keys {
        match key.map(|key| part_of(node, key, pace)).transpose()?.flatten() {
            Some(part) => node = part,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn keys_are_found() {
        let has = |text: &str, key: &str| {
            let (text, key) = (format!("'{text}'"), format!("'{key}'"));
            let json = shown("jsonb_exists", &[&format!("JSON {text}"), &key]);
            assert_eq!(shown("jsonb_exists", &[&text, &key]), json);
            json == "true"
        };
        assert!(has(r#"{"a": 1, "b": {"c": 2}}"#, "a") && has(r#"{"\u0061": null}"#, "a"));
        assert!(has(r#"["a", "b"]"#, "b") && has(r#""a""#, "a"));
        assert!(!has(r#"{"a": {"c": 2}}"#, "c") && !has(r#"{"a": "b"}"#, "b"));
        assert!(!has("[1, [\"a\"]]", "1") && !has("[1, [\"a\"]]", "a") && !has("7", "7") && !has("null", "null"));
        assert_eq!(shown("jsonb_exists", &["JSON '{}'", "NULL"]), "NULL");
        assert!(error_of("jsonb_exists", &["'{a'", "'a'"]).contains("is not JSON"));
    }

    #[test]
    fn any_or_all_keys_are_found() {
        let found = |text: &str, keys: &str| {
            let (text, keys) = (format!("JSON '{text}'"), format!("VARCHAR[] '{keys}'"));
            (shown("jsonb_exists_any", &[&text, &keys]) == "true", shown("jsonb_exists_all", &[&text, &keys]) == "true")
        };
        assert_eq!(found(r#"{"a": 1, "b": 2}"#, "[a, b]"), (true, true));
        assert_eq!(found(r#"{"a": 1, "b": 2}"#, "[c, b]"), (true, false));
        assert_eq!(found(r#"{"a": 1, "b": 2}"#, "[c, d]"), (false, false));
        assert_eq!(found(r#"["a", "b"]"#, "[NULL, b]"), (true, true));
        assert_eq!(found("[]", "[]"), (false, true));
        assert_eq!(shown("jsonb_exists_all", &["JSON '[]'", "NULL"]), "NULL");
    }

    #[test]
    fn paths_of_keys() {
        let text = r#"JSON '{"a": {"b": ["x", null, {"0": 7}]}}'"#;
        let at = |path: &str| {
            let path = format!("VARCHAR[] '{path}'");
            (shown("#>", &[text, &path]), shown("#>>", &[text, &path]))
        };
        let pair = |json: &str, text: &str| (json.to_owned(), text.to_owned());
        assert_eq!(at("[a, b, 0]"), pair("\"x\"", "x"));
        assert_eq!(at("[a, b, -1, 0]"), pair("7", "7"));
        assert_eq!(at("[a, b, 1]"), pair("null", "NULL"));
        assert_eq!(at("[a, b, x]"), pair("NULL", "NULL"));
        assert_eq!(at("[a, c]"), pair("NULL", "NULL"));
        assert_eq!(at("[a, NULL]"), pair("NULL", "NULL"));
        assert_eq!(at("[a, b, 0, c]"), pair("NULL", "NULL"));
        assert_eq!(at("[]").0, r#"{"a": {"b": ["x", null, {"0": 7}]}}"#);
    }
}
