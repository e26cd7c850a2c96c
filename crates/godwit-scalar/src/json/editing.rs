//! Values with parts set, inserted or deleted, and two values put together, by PostgreSQL's rules.
//!
//! Objects keep the order of their keys; new ones come last. Results are written without blanks.

use std::collections::{HashMap, HashSet};

use godwit_common::{Error, Result, SqlState};
use godwit_types::{SqlType, write_json_string};

use super::changing::write_compact;
use super::keys::{KeyLists, keys_type};
use super::node::{Kind, Node, STEPS_OF_VALUE, check_depth};
use super::{Source, of_documents, shown};
use crate::function::{Category, Form, Function, function};
use crate::list::call::{Call, strict};
use crate::rows::{Argument, Json, Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    [adding(), deleting()].into_iter().flatten().collect()
}

fn json(names: &'static [&'static str], description: &'static str) -> Function {
    function(Category::Json, names, description)
}

fn adding() -> Vec<Function> {
    let of_value =
        |edit: MakeEdit, has_choice| [Source::Json, Source::Text].map(|source| with_value(source, has_choice, edit));
    let ([set_json, set_text], [chosen_json, chosen_text]) = (of_value(set, false), of_value(set, true));
    let ([before_json, before_text], [after_json, after_text]) = (of_value(insert, false), of_value(insert, true));
    let [both_json, both_text] = of_documents(2, |source| {
        text::<(Text, Text), Json, _>(move |(left, right), out| {
            let mut pace = out.pace();
            write_concat(source.node(left, &mut pace)?, source.node(right, &mut pace)?, out)
        })
    });
    vec![
        json(
            &["jsonb_set"],
            "The value with another one at the path; the last argument, TRUE without it, says whether that is added where it is missing",
        )
        .example("jsonb_set('{\"a\": [1, 2]}', ['a', '0'], '\"x\"')", "{\"a\":[\"x\",2]}")
        .example("jsonb_set('{\"a\": 1}', '{b}', '2', false)", "{\"a\":1}")
        .form(set_json)
        .form(set_text)
        .form(chosen_json)
        .form(chosen_text),
        json(
            &["jsonb_insert"],
            "The value with another one before the element at the path, or after it if the last argument says so, or as a new member",
        )
        .example("jsonb_insert('{\"a\": [1, 2]}', ['a', '1'], '7')", "{\"a\":[1,7,2]}")
        .example("jsonb_insert('[1, 2]', '{-1}', '7', true)", "[1,2,7]")
        .form(before_json)
        .form(before_text)
        .form(after_json)
        .form(after_text),
        json(
            &["jsonb_concat"],
            "The members of both objects, the second's where both have a key; of other values, an array of all elements",
        )
        .example("jsonb_concat('{\"a\": 1, \"b\": 2}', '{\"b\": 3}')", "{\"a\":1,\"b\":3}")
        .example("'[1]'::JSON || '{\"a\": 2}'::JSON", "[1,{\"a\":2}]")
        .form(both_json)
        .form(both_text),
    ]
}

fn deleting() -> Vec<Function> {
    let [key_json, key_text] = of_documents(1, |source| {
        text::<(Text, Text), Json, _>(move |(text, key), out| {
            let node = container(source.node(text, &mut out.pace())?, "delete from")?;
            write_without(node, |known| known == key, out)
        })
    });
    let [place_json, place_text] = of_documents(1, |source| {
        text::<(Text, i64), Json, _>(move |(text, place), out| {
            let node = container(source.node(text, &mut out.pace())?, "delete from")?;
            if node.kind() == Kind::Object {
                return Err(refused("a place is deleted from an array, this is an object".to_owned())
                    .with_hint("members are deleted by their keys"));
            }
            write_edited(node, &[&place.to_string()], 0, &Edit::Delete, out)
        })
    });
    let [keys_json, keys_text] = of_documents(1, without_keys);
    let [path_json, path_text] = of_documents(1, without_path);
    vec![
        json(
            &["jsonb_delete"],
            "The object without the key, or the array without the string; without several, or without the element at a place: the operator -",
        )
        .example("jsonb_delete('{\"a\": 1, \"b\": 2}', 'a')", "{\"b\":2}")
        .example("'[1, 2, 3]'::JSON - -1", "[1,2]")
        .form(key_json)
        .form(key_text)
        .form(place_json)
        .form(place_text)
        .form(keys_json)
        .form(keys_text),
        json(&["jsonb_delete_path"], "The value without what is at the path of keys and places: the operator #-")
            .example("jsonb_delete_path('{\"a\": [1, 2]}', ['a', '0'])", "{\"a\":[2]}")
            .form(path_json)
            .form(path_text),
    ]
}

/// What happens at the end of a path.
enum Edit<'t> {
    Set { value: Node<'t>, adds: bool },
    Insert { value: Node<'t>, is_after: bool },
    Delete,
}

impl<'t> Edit<'t> {
    /// Returns the value to write where nothing is.
    fn added(&self) -> Option<Node<'t>> {
        match self {
            Self::Set { value, adds: true } | Self::Insert { value, .. } => Some(*value),
            Self::Set { adds: false, .. } | Self::Delete => None,
        }
    }
}

/// Makes an edit of a value and a choice, which may be left out.
type MakeEdit = fn(Node<'_>, Option<bool>) -> Edit<'_>;

fn set(value: Node<'_>, choice: Option<bool>) -> Edit<'_> {
    Edit::Set { value, adds: choice.unwrap_or(true) }
}

fn insert(value: Node<'_>, choice: Option<bool>) -> Edit<'_> {
    Edit::Insert { value, is_after: choice.unwrap_or(false) }
}

/// Returns the form for a document, a path, a value, and a choice.
fn with_value(source: Source, has_choice: bool, edit: MakeEdit) -> Form {
    let document = match source {
        Source::Json => SqlType::Json,
        Source::Text => SqlType::Varchar,
    };
    let mut types = vec![document.clone(), keys_type(), document];
    types.extend(has_choice.then_some(SqlType::Boolean));
    let compute = move |call: &Call<'_>| {
        let (texts, paths, values) = (call.strings(0), KeyLists::of(call, 1)?, call.strings(2));
        let choices = has_choice.then(|| bool::column(&call.arguments[3]));
        call.texts(|row, out| {
            let mut pace = out.pace();
            let node = container(source.node(texts.text(row), &mut pace)?, "set a part of")?;
            let value = source.node(values.text(row), &mut pace)?;
            let choice = choices.as_ref().map(|choices| bool::item(choices, row));
            write_at(node, &path_of(&paths, row)?, &edit(value, choice), out)
        })
    };
    strict(types, SqlType::Json, compute).never_null()
}

fn without_path(source: Source) -> Form {
    let compute = move |call: &Call<'_>| {
        let (texts, paths) = (call.strings(0), KeyLists::of(call, 1)?);
        call.texts(|row, out| {
            let node = container(source.node(texts.text(row), &mut out.pace())?, "delete from")?;
            write_at(node, &path_of(&paths, row)?, &Edit::Delete, out)
        })
    };
    strict(vec![SqlType::Varchar, keys_type()], SqlType::Json, compute).never_null()
}

fn without_keys(source: Source) -> Form {
    let compute = move |call: &Call<'_>| {
        let (texts, keys) = (call.strings(0), KeyLists::of(call, 1)?);
        call.texts(|row, out| {
            let node = container(source.node(texts.text(row), &mut out.pace())?, "delete from")?;
            let gone: HashSet<&str> = keys.of_row(row).flatten().collect();
            write_without(node, |known| gone.contains(known), out)
        })
    };
    strict(vec![SqlType::Varchar, keys_type()], SqlType::Json, compute).never_null()
}

fn path_of(paths: &KeyLists, row: usize) -> Result<Vec<&str>> {
    let keys = paths.of_row(row).enumerate();
    keys.map(|(at, key)| key.ok_or_else(|| refused(format!("key {} of the path is NULL", at + 1)))).collect()
}

/// Refuses values without parts.
fn container<'t>(node: Node<'t>, what: &str) -> Result<Node<'t>> {
    match node.kind() {
        Kind::Array | Kind::Object => Ok(node),
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => {
            Err(refused(format!("cannot {what} the JSON value {}, which has no parts", shown(node.text()))))
        }
    }
}

fn refused(message: String) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Writes commas between parts.
#[derive(Default)]
struct Parts {
    has_any: bool,
}

impl Parts {
    fn element(&mut self, node: Node<'_>, out: &mut Writer<'_>) -> Result<()> {
        self.next(out);
        write_compact(node.text(), out)
    }

    fn member(&mut self, key: Node<'_>, value: Node<'_>, out: &mut Writer<'_>) -> Result<()> {
        self.key(key, out);
        write_compact(value.text(), out)
    }

    fn key(&mut self, key: Node<'_>, out: &mut Writer<'_>) {
        self.next(out);
        out.push_str(key.text());
        out.push(':');
    }

    fn next(&mut self, out: &mut Writer<'_>) {
        out.push_str(if self.has_any { "," } else { "" });
        self.has_any = true;
    }
}

/// Writes a value with an edit at the end of a path; an empty one leads nowhere.
fn write_at(node: Node<'_>, path: &[&str], edit: &Edit<'_>, out: &mut Writer<'_>) -> Result<()> {
    if path.is_empty() { write_compact(node.text(), out) } else { write_edited(node, path, 0, edit, out) }
}

/// Follows the path's key at a depth.
fn write_edited(node: Node<'_>, path: &[&str], depth: usize, edit: &Edit<'_>, out: &mut Writer<'_>) -> Result<()> {
    check_depth(depth)?;
    match node.kind() {
        Kind::Object => write_edited_object(node, path, depth, edit, out),
        Kind::Array => write_edited_array(node, path, depth, edit, out),
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => write_compact(node.text(), out),
    }
}

fn write_edited_object(
    node: Node<'_>,
    path: &[&str],
    depth: usize,
    edit: &Edit<'_>,
    out: &mut Writer<'_>,
) -> Result<()> {
    let (key, is_last) = (path[depth], depth + 1 == path.len());
    let (mut parts, mut is_found) = (Parts::default(), false);
    out.push('{');
    for (written, value) in node.members() {
        out.go(STEPS_OF_VALUE)?;
        if !written.is_string(key)? {
            parts.member(written, value, out)?;
            continue;
        }
        // Of equal keys, the first counts: without the others, it is still so if that one is deleted.
        if std::mem::replace(&mut is_found, true) {
            continue;
        }
        match edit {
            _ if !is_last => {
                parts.key(written, out);
                write_edited(value, path, depth + 1, edit, out)?;
            }
            Edit::Set { value, .. } => parts.member(written, *value, out)?,
            Edit::Delete => {}
            Edit::Insert { .. } => {
                return Err(refused(format!("there is a key {} already", shown(key)))
                    .with_hint("jsonb_set replaces the value of a key"));
            }
        }
    }
    if let Some(added) = edit.added().filter(|_| is_last && !is_found) {
        let mut written = String::new();
        write_json_string(&mut written, key);
        parts.member(Node::new(&written), added, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_edited_array(
    node: Node<'_>,
    path: &[&str],
    depth: usize,
    edit: &Edit<'_>,
    out: &mut Writer<'_>,
) -> Result<()> {
    let is_last = depth + 1 == path.len();
    let added = edit.added().filter(|_| is_last);
    let wanted = place_in(node, path, depth, out)?;
    let (mut parts, mut is_done) = (Parts::default(), false);
    out.push('[');
    if let (None, Some(added)) = (wanted, added) {
        parts.element(added, out)?;
        is_done = true;
    }
    for (place, element) in node.elements().enumerate() {
        out.go(STEPS_OF_VALUE)?;
        if wanted != Some(place) {
            parts.element(element, out)?;
            continue;
        }
        is_done = true;
        match edit {
            _ if !is_last => {
                parts.next(out);
                write_edited(element, path, depth + 1, edit, out)?;
            }
            Edit::Set { value, .. } => parts.element(*value, out)?,
            Edit::Insert { value, is_after } => {
                let [first, second] = if *is_after { [element, *value] } else { [*value, element] };
                parts.element(first, out)?;
                parts.element(second, out)?;
            }
            Edit::Delete => {}
        }
    }
    if let Some(added) = added.filter(|_| !is_done) {
        parts.element(added, out)?;
    }
    out.push(']');
    Ok(())
}

/// Returns the place in an array that the path's key at a depth says; `None` for one before the first element.
fn place_in(node: Node<'_>, path: &[&str], depth: usize, out: &Writer<'_>) -> Result<Option<usize>> {
    let place: i64 = path[depth].parse().map_err(|_| {
        refused(format!("key {} of the path, {}, is no place in an array", depth + 1, shown(path[depth])))
            .with_hint("places are integers, from 0 or from -1 at the end")
    })?;
    match usize::try_from(place) {
        Ok(place) => Ok(Some(place)),
        Err(_) => {
            let from_end = usize::try_from(place.unsigned_abs()).unwrap_or(usize::MAX);
            Ok(node.element_count(&mut out.pace())?.checked_sub(from_end))
        }
    }
}

/// Writes an object without some keys, or an array without some strings.
fn write_without(node: Node<'_>, is_gone: impl Fn(&str) -> bool, out: &mut Writer<'_>) -> Result<()> {
    let mut parts = Parts::default();
    let [open, close] = if node.kind() == Kind::Object { ['{', '}'] } else { ['[', ']'] };
    out.push(open);
    for (key, value) in node.members() {
        out.go(STEPS_OF_VALUE)?;
        if !is_gone(&key.string()?) {
            parts.member(key, value, out)?;
        }
    }
    for element in node.elements() {
        out.go(STEPS_OF_VALUE)?;
        if element.kind() != Kind::String || !is_gone(&element.string()?) {
            parts.element(element, out)?;
        }
    }
    out.push(close);
    Ok(())
}

/// Writes the members of two objects, or the elements of two other values, of which those without elements are one.
fn write_concat(left: Node<'_>, right: Node<'_>, out: &mut Writer<'_>) -> Result<()> {
    let mut parts = Parts::default();
    if left.kind() != Kind::Object || right.kind() != Kind::Object {
        out.push('[');
        for side in [left, right] {
            let itself = (side.kind() != Kind::Array).then_some(side);
            side.elements().chain(itself).try_for_each(|element| parts.element(element, out))?;
        }
        out.push(']');
        return Ok(());
    }
    let mut others = HashMap::new();
    for (key, value) in right.members() {
        out.go(STEPS_OF_VALUE)?;
        others.entry(key.string()?).or_insert(value);
    }
    let mut known = HashSet::new();
    out.push('{');
    for (key, value) in left.members().chain(right.members()) {
        let name = key.string()?;
        let value = others.get(&name).copied().unwrap_or(value);
        if known.insert(name) {
            parts.member(key, value, out)?;
        }
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    fn edited(name: &str, text: &str, path: &str, rest: &[&str]) -> String {
        let (json, text) = (format!("JSON '{text}'"), format!("'{text}'"));
        let path = format!("VARCHAR[] '{path}'");
        let of = |document: &str| shown(name, &[&[document, &path], rest].concat());
        assert_eq!(of(&text), of(&json));
        of(&json)
    }

    fn refused(name: &str, text: &str, path: &str, rest: &[&str]) -> String {
        let (text, path) = (format!("'{text}'"), format!("VARCHAR[] '{path}'"));
        error_of(name, &[&[&*text, &*path], rest].concat())
    }

    const TEXT: &str = r#"[{"f1": 1, "f2": null}, 2, [3]]"#;

    #[test]
    fn parts_are_set() {
        let set = |path: &str, rest: &[&str]| edited("jsonb_set", TEXT, path, &[&["'[7, 8]'"], rest].concat());
        assert_eq!(set("[0, f1]", &["FALSE"]), r#"[{"f1":[7,8],"f2":null},2,[3]]"#);
        assert_eq!(set("[0, f3]", &[]), r#"[{"f1":1,"f2":null,"f3":[7,8]},2,[3]]"#);
        assert_eq!(set("[0, f3]", &["FALSE"]), r#"[{"f1":1,"f2":null},2,[3]]"#);
        assert_eq!(set("[-1, 0]", &["TRUE"]), r#"[{"f1":1,"f2":null},2,[[7,8]]]"#);
        assert_eq!(set("[9]", &[]), r#"[{"f1":1,"f2":null},2,[3],[7,8]]"#);
        assert_eq!(set("[9]", &["FALSE"]), r#"[{"f1":1,"f2":null},2,[3]]"#);
        assert_eq!(set("[-9]", &[]), r#"[[7,8],{"f1":1,"f2":null},2,[3]]"#);
        // What leads into nothing or into a value without parts changes nothing.
        for path in ["[0, f3, x]", "[1, x]", "[9, x]", "[-9, x]", "[]"] {
            assert_eq!(set(path, &[]), r#"[{"f1":1,"f2":null},2,[3]]"#, "{path}");
        }
        assert_eq!(edited("jsonb_set", "{}", "[\"a\\\"b\"]", &["'1'"]), r#"{"a\"b":1}"#);
        assert_eq!(edited("jsonb_set", "[]", "[5]", &["'1'"]), "[1]");
        assert_eq!(edited("jsonb_set", r#"{"a": 1, "b": 2, "\u0061": 3}"#, "[a]", &["'0'"]), r#"{"a":0,"b":2}"#);
        assert_eq!(shown("jsonb_set", &["JSON '{}'", "VARCHAR[] '[a]'", "NULL"]), "NULL");
        assert!(refused("jsonb_set", "7", "[a]", &["'1'"]).contains("which has no parts"));
        assert!(refused("jsonb_set", "[1]", "[a]", &["'1'"]).contains("key 1 of the path, 'a', is no place"));
        assert!(refused("jsonb_set", r#"{"a": []}"#, "[a, NULL]", &["'1'"]).contains("key 2 of the path is NULL"));
        assert!(refused("jsonb_set", "{}", "[a]", &["'x'"]).contains("'x' is not JSON"));
    }

    #[test]
    fn parts_are_inserted() {
        let insert =
            |path: &str, rest: &[&str]| edited("jsonb_insert", r#"{"a": [0, 1, 2]}"#, path, &[&["'7'"], rest].concat());
        assert_eq!(insert("[a, 1]", &[]), r#"{"a":[0,7,1,2]}"#);
        assert_eq!(insert("[a, 1]", &["TRUE"]), r#"{"a":[0,1,7,2]}"#);
        assert_eq!(insert("[a, -1]", &["FALSE"]), r#"{"a":[0,1,7,2]}"#);
        assert_eq!(insert("[a, 9]", &[]), r#"{"a":[0,1,2,7]}"#);
        assert_eq!(insert("[a, -9]", &["TRUE"]), r#"{"a":[7,0,1,2]}"#);
        assert_eq!(insert("[b]", &[]), r#"{"a":[0,1,2],"b":7}"#);
        assert!(refused("jsonb_insert", r#"{"a": 1}"#, "[a]", &["'7'"]).contains("a key 'a' already"));
    }

    #[test]
    fn parts_are_deleted() {
        let without = |text: &str, what: &str| {
            let (json, text) = (format!("JSON '{text}'"), format!("'{text}'"));
            assert_eq!(shown("jsonb_delete", &[&text, what]), shown("jsonb_delete", &[&json, what]));
            shown("jsonb_delete", &[&json, what])
        };
        assert_eq!(without(r#"{"a": "b", "c": [1, 2], "\u0061": 1}"#, "'a'"), r#"{"c":[1,2]}"#);
        assert_eq!(without(r#"["a", "b", "c", "b", ["b"]]"#, "'b'"), r#"["a","c",["b"]]"#);
        assert_eq!(without(r#"["a", "b", 3]"#, "VARCHAR[] '[b, NULL, 3]'"), r#"["a",3]"#);
        assert_eq!(without(r#"{"a": 1, "b": 2}"#, "VARCHAR[] '[a, b]'"), "{}");
        assert_eq!(without("[1, 2, 3]", "1"), "[1,3]");
        assert_eq!(without("[1, 2, 3]", "-1"), "[1,2]");
        assert_eq!(without("[1, 2, 3]", "3"), "[1,2,3]");
        assert_eq!(without("[1, 2, 3]", "-4"), "[1,2,3]");
        assert!(error_of("jsonb_delete", &["'{}'", "0"]).contains("this is an object"));
        assert!(error_of("jsonb_delete", &["'7'", "'a'"]).contains("cannot delete from"));
        assert_eq!(edited("jsonb_delete_path", r#"["a", {"b": 1, "c": 2}]"#, "[1, b]", &[]), r#"["a",{"c":2}]"#);
        assert_eq!(edited("jsonb_delete_path", r#"{"a": 1, "b": 2, "a": 3}"#, "[a]", &[]), r#"{"b":2}"#);
        for path in ["[x]", "[a, 5]", "[a, -5]", "[a, 0, x]", "[]"] {
            assert_eq!(edited("jsonb_delete_path", r#"{"a": [1]}"#, path, &[]), r#"{"a":[1]}"#, "{path}");
        }
        assert!(refused("jsonb_delete_path", "[1]", "[x]", &[]).contains("is no place in an array"));
    }

    #[test]
    fn values_are_put_together() {
        let concat = |left: &str, right: &str| {
            let (left, right) = (format!("'{left}'"), format!("'{right}'"));
            let json = shown("jsonb_concat", &[&format!("JSON {left}"), &format!("JSON {right}")]);
            assert_eq!(shown("jsonb_concat", &[&left, &right]), json);
            json
        };
        assert_eq!(concat(r#"["a", "b"]"#, r#"["a", "d"]"#), r#"["a","b","a","d"]"#);
        assert_eq!(concat(r#"{"a": "b", "c": 0}"#, r#"{"c": "d", "e": 1}"#), r#"{"a":"b","c":"d","e":1}"#);
        assert_eq!(concat("[1, 2]", "3"), "[1,2,3]");
        assert_eq!(concat("1", "null"), "[1,null]");
        assert_eq!(concat(r#"{"a": 1}"#, "42"), r#"[{"a":1},42]"#);
        assert_eq!(concat(r#"{"a": 1}"#, "[]"), r#"[{"a":1}]"#);
        assert_eq!(concat(r#"{"a": 1, "a": 2}"#, r#"{"b": 3, "b": 4}"#), r#"{"a":1,"b":3}"#);
        assert_eq!(shown("jsonb_concat", &["JSON '1'", "NULL"]), "NULL");
    }

    #[test]
    fn long_paths_are_refused() {
        let deep = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
        let path = format!("[{}]", ["0"; 2000].join(", "));
        assert!(refused("jsonb_set", &deep, &path, &["'1'"]).contains("1000 levels"));
    }
}
