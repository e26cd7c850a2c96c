//! Values at paths.

use std::ops::RangeBounds;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};

use super::comparing::number_type;
use super::node::{Kind, Node};
use super::path::Path;
use super::{Source, of_documents};
use crate::choose::fits;
use crate::function::{Category, Form, Function, function};
use crate::list::types::bad_argument;
use crate::rows::{ListWriter, Pace, Text, Writer, scalar_checked, text, texts};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let [length_of_json, length_of_text] = of_documents(1, |source| {
        scalar_checked::<(Text,), i32, _>(move |(text,), work| {
            let mut pace = Pace::new(work);
            length(source.node(text, &mut pace)?, &mut pace)
        })
    });
    let [keys_of_json, keys_of_text] = of_documents(1, |source| {
        texts::<(Text,), _>(move |(text,), out| write_keys(source.node(text, &mut out.pace())?, out))
    });
    vec![
        json(
            &["json_extract", "json_extract_path", "jsonb_extract_path", "->"],
            "What is at a path, a key or a place, as JSON; a list for several paths",
        )
        .example("json_extract('{\"a\": [1, 2]}', '$.a[1]')", "2")
        .example("json_extract('{\"a\": [1, 2]}', 'a')", "[1, 2]")
        .chosen("json_extract(json, path)", |arguments| texts_at(arguments, 2.., &SqlType::Json, write_json)),
        json(
            &["json_extract_string", "json_extract_path_text", "jsonb_extract_path_text", "->>"],
            "What is at a path as text; NULL for null",
        )
        .example("json_extract_string('{\"a\": \"x\"}', '$.a')", "x")
        .chosen("json_extract_string(json, path)", |arguments| texts_at(arguments, 2.., &SqlType::Varchar, write_text)),
        json(&["json_value"], "The text, number or truth value at a path, as text; NULL for others")
            .example("json_value('{\"a\": \"x\", \"b\": []}', '$.a')", "x")
            .chosen("json_value(json, path)", |arguments| texts_at(arguments, 2..3, &SqlType::Varchar, write_scalar)),
        json(
            &["json_type"],
            "The type of a value, or of that at a path: OBJECT, ARRAY, VARCHAR, UBIGINT, BIGINT, DOUBLE, BOOLEAN, NULL",
        )
        .example("json_type('{\"a\": 1.5}', '$.a')", "DOUBLE")
        .chosen("json_type(json[, path])", |arguments| texts_at(arguments, 1..3, &SqlType::Varchar, write_type)),
        json(&["json_typeof", "jsonb_typeof"], "The kind of a value: object, array, string, number, boolean, null")
            .example("json_typeof('[1]')", "array")
            .chosen("json_typeof(json)", |arguments| texts_at(arguments, 1..2, &SqlType::Varchar, write_kind)),
        json(
            &["json_array_length", "jsonb_array_length"],
            "The number of elements of an array, or of that at a path; 0 for other values",
        )
        .example("json_array_length('[1, 2]')", "2")
        .form(length_of_json)
        .form(length_of_text)
        .chosen("json_array_length(json, path)", |arguments| {
            at(
                arguments,
                |source, path| {
                    scalar_checked::<(Text,), i32, _>(move |(text,), work| {
                        length_at(&path, source, text, &mut Pace::new(work))
                    })
                },
                |source| {
                    scalar_checked::<(Text, Text), i32, _>(move |(text, path), work| {
                        length_at(&Path::parse(path)?, source, text, &mut Pace::new(work))
                    })
                },
            )
        }),
        json(&["json_keys"], "The keys of an object, or of that at a path; none for other values")
            .example("json_keys('{\"a\": 1, \"b\": 2}')", "[a, b]")
            .form(keys_of_json)
            .form(keys_of_text)
            .chosen("json_keys(json, path)", |arguments| {
                at(
                    arguments,
                    |source, path| {
                        texts::<(Text,), _>(move |(text,), out| {
                            let found = node_at(singular(&path)?, source, text, &mut out.pace())?;
                            found.map(|node| write_keys(node, out)).transpose()
                        })
                    },
                    |source| {
                        texts::<(Text, Text), _>(move |(text, path), out| {
                            let found = node_at(singular(&Path::parse(path)?)?, source, text, &mut out.pace())?;
                            found.map(|node| write_keys(node, out)).transpose()
                        })
                    },
                )
            }),
    ]
}

/// Writes a function's result for a value; `None` for NULL.
pub(super) type Write = fn(Node<'_>, &mut Writer<'_>) -> Result<Option<()>>;

pub(super) fn write_json(node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    out.push_str(node.text());
    Ok(Some(()))
}

pub(super) fn write_text(node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    match node.kind() {
        Kind::Null => return Ok(None),
        Kind::String => out.push_str(&node.string()?),
        Kind::Boolean | Kind::Number | Kind::Array | Kind::Object => out.push_str(node.text()),
    }
    Ok(Some(()))
}

fn write_scalar(node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    match node.kind() {
        Kind::Array | Kind::Object => Ok(None),
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => write_text(node, out),
    }
}

/// Returns the name of a value's type.
pub(super) fn type_name(node: Node<'_>) -> &'static str {
    match node.kind() {
        Kind::Null => "NULL",
        Kind::Boolean => "BOOLEAN",
        Kind::Number => number_type(node.text()),
        Kind::String => "VARCHAR",
        Kind::Array => "ARRAY",
        Kind::Object => "OBJECT",
    }
}

fn write_type(node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    out.push_str(type_name(node));
    Ok(Some(()))
}

fn write_kind(node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    out.push_str(match node.kind() {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    });
    Ok(Some(()))
}

fn write_keys(node: Node<'_>, out: &mut ListWriter<'_>) -> Result<()> {
    node.members().try_for_each(|(key, _)| out.push(&key.string()?))
}

fn length(node: Node<'_>, pace: &mut Pace<'_>) -> Result<i32> {
    Ok(i32::try_from(node.element_count(pace)?).expect("a text has at most a billion elements"))
}

fn length_at(path: &Path, source: Source, text: &str, pace: &mut Pace<'_>) -> Result<Option<i32>> {
    let found = node_at(singular(path)?, source, text, pace)?;
    found.map(|node| length(node, pace)).transpose()
}

fn node_at<'t>(path: &Path, source: Source, text: &'t str, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
    path.find(source.node(text, pace)?, pace)
}

/// Requires a path to a single value.
fn singular(path: &Path) -> Result<&Path> {
    if path.is_plural() {
        let error = Error::user("a path with * or .. leads to several values, but only one is possible here");
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    Ok(path)
}

/// The values of a document that a call selects.
enum Selection {
    Constant(Path),
    /// One for each constant path.
    List(Vec<Path>),
    VaryingPath,
    VaryingPlace,
}

/// Returns the kind of document that the first argument is; `None` if it is none.
fn source(arguments: &[ArgumentType<'_>]) -> Option<Source> {
    let first = arguments.first()?;
    match first.ty {
        SqlType::Json => Some(Source::Json),
        _ => fits(first, &SqlType::Varchar).then_some(Source::Text),
    }
}

fn constant(path: &str, argument: usize) -> std::result::Result<Path, NoFunction> {
    Path::parse(path).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        bad_argument(argument, format!("{}{hint}", error.message()))
    })
}

/// Returns what the arguments after the document select, and their types; `None` if they aren't paths.
#[allow(clippy::type_complexity, reason = "the choice of a function")]
fn selection(behind: &[ArgumentType<'_>]) -> Option<std::result::Result<(Selection, Vec<SqlType>), NoFunction>> {
    let [second] = behind else { return of_keys(behind).map(Ok) };
    let chosen = match (second.ty, second.value) {
        (SqlType::List(_), Some(Value::List(paths))) => {
            let parse = |path: &Value| match path {
                Value::Text(path) => constant(path, 1),
                _ => Err(bad_argument(1, "a path has to be a text")),
            };
            let paths: std::result::Result<Vec<Path>, NoFunction> = paths.iter().map(parse).collect();
            paths.map(|paths| (Selection::List(paths), SqlType::list_of(SqlType::Varchar)))
        }
        (SqlType::List(_), _) => Err(bad_argument(1, "a list of paths has to be a constant")),
        (ty, Some(Value::Integer(at))) if ty.is_integer() && fits(second, &SqlType::BigInt) => {
            let path = i64::try_from(*at).map(Path::element).expect("the constant is a BIGINT");
            Ok((Selection::Constant(path), SqlType::BigInt))
        }
        (ty, _) if ty.is_integer() && fits(second, &SqlType::BigInt) => Ok((Selection::VaryingPlace, SqlType::BigInt)),
        (_, Some(Value::Text(path))) => constant(path, 1).map(|path| (Selection::Constant(path), SqlType::Varchar)),
        _ if fits(second, &SqlType::Varchar) => Ok((Selection::VaryingPath, SqlType::Varchar)),
        _ => return None,
    };
    Some(chosen.map(|(selection, ty)| (selection, vec![ty])))
}

/// Selects by constant keys, each within the value of the previous one; by none, the document itself.
fn of_keys(keys: &[ArgumentType<'_>]) -> Option<(Selection, Vec<SqlType>)> {
    let key = |argument: &ArgumentType<'_>| match argument.value {
        Some(Value::Text(key)) => Some(key.to_string()),
        _ => None,
    };
    let keys: Vec<String> = keys.iter().map(key).collect::<Option<_>>()?;
    let path = Path::of_keys(keys.iter().map(String::as_str));
    Some((Selection::Constant(path), vec![SqlType::Varchar; keys.len()]))
}

/// Returns the form that writes the values at paths as text, if the number of arguments is among `counts`.
fn texts_at(
    arguments: &[ArgumentType<'_>],
    counts: impl RangeBounds<usize>,
    result: &SqlType,
    write: Write,
) -> Option<std::result::Result<Form, NoFunction>> {
    if !counts.contains(&arguments.len()) {
        return None;
    }
    let source = source(arguments)?;
    let selected = selection(&arguments[1..])?;
    Some(selected.map(|(selection, types)| {
        let (form, result) = match selection {
            Selection::Constant(path) if path.is_plural() => {
                let form = texts::<(Text,), _>(move |(text,), out| {
                    let mut pace = out.pace();
                    let node = source.node(text, &mut pace)?;
                    path.find_all(node, &mut pace, &mut |node| out.write(|out| write(node, out)))
                });
                (form, SqlType::list_of(result.clone()))
            }
            Selection::Constant(path) => {
                let form = text::<(Text,), Text, _>(move |(text,), out| found_at(&path, source, text, write, out));
                (form, result.clone())
            }
            Selection::List(paths) => {
                let form = texts::<(Text,), _>(move |(text,), out| {
                    let mut pace = out.pace();
                    let node = source.node(text, &mut pace)?;
                    paths.iter().try_for_each(|path| match path.find(node, &mut pace)? {
                        Some(found) => out.write(|out| write(found, out)),
                        None => out.push_null(),
                    })
                });
                (form, SqlType::list_of(result.clone()))
            }
            Selection::VaryingPath => {
                let form = text::<(Text, Text), Text, _>(move |(text, path), out| {
                    found_at(singular(&Path::parse(path)?)?, source, text, write, out)
                });
                (form, result.clone())
            }
            Selection::VaryingPlace => {
                let form = text::<(Text, i64), Text, _>(move |(text, at), out| {
                    found_at(&Path::element(at), source, text, write, out)
                });
                (form, result.clone())
            }
        };
        with_document(form, source, types, result)
    }))
}

fn found_at(path: &Path, source: Source, text: &str, write: Write, out: &mut Writer<'_>) -> Result<Option<()>> {
    match node_at(path, source, text, &mut out.pace())? {
        Some(node) => write(node, out),
        None => Ok(None),
    }
}

/// Adapts a form to the types of a document and other arguments.
fn with_document(form: Form, source: Source, others: Vec<SqlType>, result: SqlType) -> Form {
    let document = match source {
        Source::Json => SqlType::Json,
        Source::Text => SqlType::Varchar,
    };
    let types: Vec<SqlType> = std::iter::once(document).chain(others).collect();
    form.with_types(types, result)
}

/// Returns the form for a document and a path.
pub(super) fn at(
    arguments: &[ArgumentType<'_>],
    for_constant: impl FnOnce(Source, Path) -> Form,
    for_varying: impl FnOnce(Source) -> Form,
) -> Option<std::result::Result<Form, NoFunction>> {
    let source = source(arguments)?;
    let [_, path] = arguments else { return None };
    let form = match path.value {
        Some(Value::Text(path)) => constant(path, 1).map(|path| for_constant(source, path)),
        _ if fits(path, &SqlType::Varchar) => Ok(for_varying(source)),
        _ => return None,
    };
    Some(form.map(|form| {
        let result = form.result.clone();
        with_document(form, source, vec![SqlType::Varchar], result)
    }))
}

#[cfg(test)]
mod tests {
    use godwit_types::SqlType;

    use crate::testing::{call, error_of, shown};

    const TEXT: &str = r#"'{"a": [1,  {"b": "x\"\u00e9"}], "c": null}'"#;

    #[test]
    fn values_at_paths() {
        let at = |path: &str| {
            let json = format!("JSON {TEXT}");
            let value = shown("json_extract", &[&json, path]);
            assert_eq!(shown("json_extract", &[TEXT, path]), value);
            (value, shown("->>", &[&json, path]))
        };
        let pair = |json: &str, text: &str| (json.to_owned(), text.to_owned());
        assert_eq!(at("'$.a[0]'"), pair("1", "1"));
        assert_eq!(at("'$.a[1]'"), pair(r#"{"b": "x\"\u00e9"}"#, r#"{"b": "x\"\u00e9"}"#));
        assert_eq!(at("'/a/1/b'"), pair(r#""x\"\u00e9""#, "x\"é"));
        assert_eq!(at("'c'"), pair("null", "NULL"));
        assert_eq!(at("'x'"), pair("NULL", "NULL"));
        assert_eq!(at("NULL"), pair("NULL", "NULL"));
        assert_eq!(shown("->", &["JSON '[1, 2]'", "-1"]), "2");
        assert_eq!(shown("->", &["JSON '[1, 2]'", "2"]), "NULL");
        assert_eq!(shown("json_extract", &["JSON '[[1, 2], [3]]'", "'$[*][0]'"]), "[1, 3]");
        assert_eq!(shown("json_extract", &["JSON '{\"a\": 1}'", "VARCHAR[] '[$.a, b]'"]), "[1, NULL]");
        assert_eq!(shown("json_extract_string", &["'[\"x\", null]'", "'$[*]'"]), "[x, NULL]");
        assert_eq!(shown("json_extract_path_text", &[TEXT, "'a'", "'1'", "'b'"]), "x\"é");
        assert_eq!(call("json_extract", &[TEXT, "'a'"]).unwrap().1, SqlType::Json);
        assert_eq!(call("json_extract", &[TEXT, "'$.*'"]).unwrap().1, SqlType::list_of(SqlType::Json));
        assert!(error_of("json_extract", &["'{bad'", "'a'"]).contains("'{bad' is not JSON"));
    }

    #[test]
    fn scalars_types_and_lengths() {
        assert_eq!(shown("json_value", &[TEXT, "'$.a'"]), "NULL");
        assert_eq!(shown("json_value", &[TEXT, "'$.a[1].b'"]), "x\"é");
        let types = [
            ("1", "UBIGINT", "number"),
            ("-1", "BIGINT", "number"),
            ("1.5", "DOUBLE", "number"),
            ("18446744073709551616", "DOUBLE", "number"),
            ("\"a\"", "VARCHAR", "string"),
            ("null", "NULL", "null"),
            ("[]", "ARRAY", "array"),
            (" {}", "OBJECT", "object"),
            ("true", "BOOLEAN", "boolean"),
        ];
        for (text, ty, kind) in types {
            let text = format!("'{text}'");
            assert_eq!(
                (shown("json_type", &[&text]), shown("json_typeof", &[&text])),
                (ty.to_owned(), kind.to_owned())
            );
        }
        assert_eq!(shown("json_type", &[TEXT, "'$.a'"]), "ARRAY");
        assert_eq!(shown("json_array_length", &["JSON '[1, [2, 3]]'"]), "2");
        assert_eq!(shown("json_array_length", &[TEXT, "'$.a'"]), "2");
        assert_eq!(shown("json_array_length", &[TEXT]), "0");
        assert_eq!(shown("json_array_length", &[TEXT, "'$.x'"]), "NULL");
        assert!(error_of("json_array_length", &[TEXT, "'$.*'"]).contains("several values"));
        assert_eq!(shown("json_keys", &[TEXT]), "[a, c]");
        assert_eq!(shown("json_keys", &[TEXT, "'$.a[1]'"]), "[b]");
        assert_eq!(shown("json_keys", &["'[1]'"]), "[]");
        assert_eq!(shown("json_keys", &["NULL"]), "NULL");
    }
}
