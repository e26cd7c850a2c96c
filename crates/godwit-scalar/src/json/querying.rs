//! All values at a path: whether there are any, an array of them, the first, the only one.

use godwit_common::Result;
use godwit_plan::ArgumentType;

use super::Source;
use super::extracting::{at, write_json};
use super::node::Node;
use super::path::Path;
use crate::function::{Category, Function, function};
use crate::list::types::Chosen;
use crate::rows::{Json, Pace, Text, Writer, scalar_checked, text};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    vec![
        json(&["json_exists", "jsonb_path_exists"], "Whether there is something at a path")
            .example("json_exists('{\"a\": null}', '$.a')", "true")
            .chosen("json_exists(json, path)", |arguments| {
                at(
                    arguments,
                    |source, path| {
                        scalar_checked::<(Text,), bool, _>(move |(text,), work| {
                            leads_somewhere(&path, source, text, &mut Pace::new(work))
                        })
                    },
                    |source| {
                        scalar_checked::<(Text, Text), bool, _>(move |(text, path), work| {
                            leads_somewhere(&Path::parse(path)?, source, text, &mut Pace::new(work))
                        })
                    },
                )
            }),
        json(&["json_query"], "The only value at a path as JSON; NULL if there is none or several")
            .example("json_query('{\"a\": [1, 2]}', '$.a')", "[1, 2]")
            .chosen("json_query(json, path)", |arguments| written_at(arguments, write_only)),
        json(&["jsonb_path_query_array"], "An array of all values at a path")
            .example("jsonb_path_query_array('[{\"a\": 1}, {\"a\": 2}]', '$[*].a')", "[1,2]")
            .chosen("jsonb_path_query_array(json, path)", |arguments| written_at(arguments, write_array)),
        json(&["jsonb_path_query_first"], "The first value at a path as JSON")
            .example("jsonb_path_query_first('[{\"a\": 1}, {\"a\": 2}]', '$[*].a')", "1")
            .chosen("jsonb_path_query_first(json, path)", |arguments| written_at(arguments, write_first)),
    ]
}

/// Writes the result for a value and a path; `None` for NULL.
type WriteAt = fn(&Path, Node<'_>, &mut Writer<'_>) -> Result<Option<()>>;

fn written_at(arguments: &[ArgumentType<'_>], write: WriteAt) -> Chosen {
    at(
        arguments,
        |source, path| {
            text::<(Text,), Json, _>(move |(text,), out| write(&path, source.node(text, &mut out.pace())?, out))
        },
        |source| {
            text::<(Text, Text), Json, _>(move |(text, path), out| {
                write(&Path::parse(path)?, source.node(text, &mut out.pace())?, out)
            })
        },
    )
}

fn leads_somewhere(path: &Path, source: Source, text: &str, pace: &mut Pace<'_>) -> Result<bool> {
    let mut found = false;
    path.find_all(source.node(text, pace)?, pace, &mut |_| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

fn write_array(path: &Path, node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    let mut separator = "";
    out.push('[');
    path.find_all(node, &mut out.pace(), &mut |found| {
        out.push_str(std::mem::replace(&mut separator, ","));
        out.push_str(found.text());
        out.go(found.text().len())
    })?;
    out.push(']');
    Ok(Some(()))
}

fn write_first(path: &Path, node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    match path.find(node, &mut out.pace())? {
        Some(found) => write_json(found, out),
        None => Ok(None),
    }
}

fn write_only(path: &Path, node: Node<'_>, out: &mut Writer<'_>) -> Result<Option<()>> {
    let (mut first, mut count) = (None, 0);
    path.find_all(node, &mut out.pace(), &mut |found| {
        first.get_or_insert(found);
        count += 1;
        Ok(())
    })?;
    match first.filter(|_| count == 1) {
        Some(found) => write_json(found, out),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn values_at_a_path() {
        let text = r#"'{"a": [{"b": 1}, {"b": [2,  3]}, {}], "c": null}'"#;
        let at = |path: &str| {
            let json = format!("JSON {text}");
            let of = |name: &str| {
                let found = shown(name, &[&json, path]);
                assert_eq!(shown(name, &[text, path]), found);
                found
            };
            [of("jsonb_path_query_array"), of("jsonb_path_query_first"), of("json_query"), of("jsonb_path_exists")]
        };
        assert_eq!(at("'$.a[*].b'"), ["[1,[2,  3]]", "1", "NULL", "true"]);
        assert_eq!(at("'$.a[1].b'"), ["[[2,  3]]", "[2,  3]", "[2,  3]", "true"]);
        assert_eq!(at("'$.c'"), ["[null]", "null", "null", "true"]);
        assert_eq!(at("'$.x.*'"), ["[]", "NULL", "NULL", "false"]);
        assert_eq!(at("NULL"), ["NULL", "NULL", "NULL", "NULL"]);
        assert!(error_of("jsonb_path_query_array", &["'[1'", "'$'"]).contains("is not JSON"));
    }
}
