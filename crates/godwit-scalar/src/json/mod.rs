//! JSON, stored as text in vectors.
//!
//! ```text
//! node.rs       a value within a JSON text: its kind, members, elements, text without escapes; nothing is built
//! path.rs       `$.a.b[0]`, `/a/b`, a key or an index ──► the nodes that it leads to
//! extracting.rs values at paths
//! querying.rs   all values at a path
//! keys.rs       keys in lists: which of them a value has, what is at the path of them
//! changing.rs   other texts of the same value, and values merged from several
//! editing.rs    values with parts set, inserted or deleted, by PostgreSQL's rules
//! entries.rs    the parts of a value, with their paths
//! comparing.rs  containment, and the types of values
//! making.rs     SQL values as JSON
//! transforming.rs  JSON as SQL values of any type
//! ```
//!
//! Extracted parts keep the form that they have in the text, as in PostgreSQL. Of equal keys, the first counts, as in
//! DuckDB. Arguments may also be VARCHAR: these are checked row by row.

mod changing;
mod comparing;
mod editing;
mod entries;
mod extracting;
mod keys;
mod making;
mod node;
mod path;
mod querying;
mod transforming;

use godwit_common::{Error, Result, SqlState};
use godwit_types::{SqlType, is_json_while};

use self::node::Node;
use crate::function::{Form, Function};
use crate::rows::Pace;

pub(crate) fn functions() -> Vec<Function> {
    [
        extracting::functions(),
        querying::functions(),
        keys::functions(),
        entries::functions(),
        changing::functions(),
        editing::functions(),
        comparing::functions(),
        making::functions(),
        transforming::functions(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether a text is known to be JSON, by the type of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Json,
    Text,
}

impl Source {
    fn node<'t>(self, text: &'t str, pace: &mut Pace<'_>) -> Result<Node<'t>> {
        match self {
            Self::Text if !is_json_while(text, || pace.check())? => Err(not_json(text)),
            Self::Json | Self::Text => Ok(Node::new(text)),
        }
    }
}

/// Returns the JSON and VARCHAR forms of a function whose first arguments (`documents` of them) are JSON values.
fn of_documents(documents: usize, form: impl Fn(Source) -> Form) -> [Form; 2] {
    let of_json = form(Source::Json);
    let mut types = of_json.arguments.clone();
    types[..documents].fill(SqlType::Json);
    let result = of_json.result.clone();
    [of_json.with_types(types, result), form(Source::Text)]
}

/// Longest part of a text that a message quotes, in characters.
const SHOWN_MAX: usize = 60;

/// Returns a text in quotes for a message, cut if it is long.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

fn not_json(text: &str) -> Error {
    Error::user(format!("{} is not JSON", shown(text))).with_code(SqlState::INVALID_TEXT_REPRESENTATION)
}
