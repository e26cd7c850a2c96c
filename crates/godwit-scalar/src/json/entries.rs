//! The parts of a value as JSON objects, from which the rows of `json_each` and `json_tree` are made.
//!
//! A value's number is the count of values and keys before it, from 0, in the order of the text.

use std::fmt::Write;

use godwit_common::Result;
use godwit_types::write_json_string;

use super::node::{Kind, Node, check_depth};
use super::{Source, extracting, of_documents};
use crate::function::{Category, Function, function};
use crate::rows::{ListWriter, Pace, Text, texts};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let forms = |is_deep: bool| {
        of_documents(1, move |source: Source| {
            texts::<(Text,), _>(move |(text,), out| write_entries(source.node(text, &mut out.pace())?, is_deep, out))
        })
    };
    let [each_of_json, each_of_text] = forms(false);
    let [all_of_json, all_of_text] = forms(true);
    vec![
        json(
            &["json_entries"],
            "The members or elements of a value as JSON objects of key, value, type, id, fullkey and path; json_each makes rows of them",
        )
        .example(
            "json_entries('[true]')[1]",
            "{\"value\":true,\"type\":\"BOOLEAN\",\"id\":1,\"fullkey\":\"$[0]\",\"path\":\"$\",\"key\":\"0\"}",
        )
        .form(each_of_json)
        .form(each_of_text),
        json(
            &["json_tree_entries"],
            "A value and all values in it, as json_entries has them, with the id of their parent; json_tree makes rows of them",
        )
        .example("len(json_tree_entries('{\"a\": [1, 2]}'))", "4")
        .form(all_of_json)
        .form(all_of_text),
    ]
}

fn write_entries(node: Node<'_>, is_deep: bool, out: &mut ListWriter<'_>) -> Result<()> {
    let mut entries = Entries { is_deep, next_id: 0, path: "$".to_owned(), depth: 0, out };
    let is_nested = matches!(node.kind(), Kind::Array | Kind::Object);
    if is_deep || !is_nested {
        entries.write(node, None, None, 1)?;
    }
    entries.next_id += 1;
    if is_nested { entries.parts_of(node, 0) } else { Ok(()) }
}

struct Entries<'o, 'w> {
    /// True if parts of parts are included.
    is_deep: bool,
    next_id: u64,
    /// The path of the current value.
    path: String,
    depth: usize,
    out: &'o mut ListWriter<'w>,
}

impl Entries<'_, '_> {
    /// Writes the parts of a value.
    fn parts_of(&mut self, node: Node<'_>, id: u64) -> Result<()> {
        check_depth(self.depth)?;
        self.depth += 1;
        let outer = self.path.len();
        for (position, element) in node.elements().enumerate() {
            write!(self.path, "[{position}]").expect("a text can be written to");
            self.part(element, &position.to_string(), id, outer)?;
        }
        for (written, value) in node.members() {
            let key = written.string()?;
            // The key counts, too.
            self.next_id += 1;
            let is_plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
            let quote = if is_plain { "" } else { "\"" };
            write!(self.path, ".{quote}{key}{quote}").expect("a text can be written to");
            self.part(value, &key, id, outer)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Writes a part, and its parts if requested. Cuts off the path's last step, the part's, which starts at `outer`.
    fn part(&mut self, node: Node<'_>, key: &str, parent: u64, outer: usize) -> Result<()> {
        let id = self.next_id;
        self.write(node, Some(key), self.is_deep.then_some(parent), outer)?;
        self.next_id += 1;
        match self.is_deep {
            true => self.parts_of(node, id)?,
            false => self.next_id += values_in(node, self.depth, &mut self.out.pace())?,
        }
        self.path.truncate(outer);
        Ok(())
    }

    fn write(&mut self, node: Node<'_>, key: Option<&str>, parent: Option<u64>, outer: usize) -> Result<()> {
        let mut entry =
            format!("{{\"value\":{},\"type\":\"{}\",\"id\":{}", node.text(), extracting::type_name(node), self.next_id);
        if let Some(parent) = parent {
            write!(entry, ",\"parent\":{parent}").expect("a text can be written to");
        }
        for (name, text) in [("fullkey", Some(&*self.path)), ("path", Some(&self.path[..outer])), ("key", key)] {
            if let Some(text) = text {
                write!(entry, ",\"{name}\":").expect("a text can be written to");
                write_json_string(&mut entry, text);
            }
        }
        entry.push('}');
        self.out.push(&entry)
    }
}

/// Returns the number of values and keys inside a value.
fn values_in(node: Node<'_>, depth: usize, pace: &mut Pace<'_>) -> Result<u64> {
    check_depth(depth)?;
    pace.go(node.text().len())?;
    let mut count = 0;
    for element in node.elements() {
        count += 1 + values_in(element, depth + 1, pace)?;
    }
    for (_, value) in node.members() {
        count += 2 + values_in(value, depth + 1, pace)?;
    }
    Ok(count)
}
