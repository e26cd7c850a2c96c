//! Names of tables, views and sequences, and suggestions for misspelled ones.
//!
//! ```text
//! WrittenName   [[database.]schema.]name     as a statement spells it, in lower case unless quoted
//! ObjectName    database + full name         what it was found to mean (namespace.rs)
//! full name     t        in the schema main      how a database calls its own: key of its catalog, and in its file
//!               s.t      in any other schema     (parts with a dot or a quote in them are in quotes)
//! key           s.  t.().  t.::.   of a schema, macro, type: no full name ends with a dot
//! ```

use std::fmt;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_syntax::ast::{self, Ident};

/// The schema that every database has, which full names leave out.
pub const SCHEMA: &str = "main";

/// Suffixes of the full names of macros and types in their keys.
const MACRO_MARK: &str = ".().";
const TYPE_MARK: &str = ".::.";

/// Names less similar to the wanted one than this are no help (Jaro-Winkler, from 0 to 1).
const SIMILARITY_MIN: f64 = 0.8;

/// A name of one to three parts, of which the last is the object's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenName(Vec<String>);

impl WrittenName {
    /// Returns the name in a syntax tree.
    pub fn of(name: &ast::ObjectName) -> Result<Self> {
        Self::of_parts(name.parts.iter().map(plain).collect()).map_err(|error| error.at_span(name.span))
    }

    /// Returns a name of these parts; fails if there are too many.
    pub fn of_parts(parts: Vec<String>) -> Result<Self> {
        match parts.len() {
            1..=3 => Ok(Self(parts)),
            _ => Err(Error::user(format!("{} has too many dots", parts.join(".")))
                .with_hint("names are database.schema.name at most")),
        }
    }

    /// Splits a text such as `s.t` into parts, for functions that take names as text.
    pub fn of_text(text: &str) -> Result<Self> {
        Self::of_parts(parts_of(&text.to_lowercase()))
    }

    /// The parts.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The object's own name.
    pub fn last(&self) -> &str {
        self.0.last().expect("names have a part")
    }
}

impl fmt::Display for WrittenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// An object's database and its full name there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// Name of the database.
    pub database: Arc<str>,
    /// The full name within it.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns the full name of an object within its database.
pub fn full_name(schema: &str, name: &str) -> String {
    match schema {
        SCHEMA => part(name),
        schema => format!("{}.{}", part(schema), part(name)),
    }
}

/// Returns the schema, and the object's own name.
pub fn split_name(full: &str) -> (String, String) {
    let mut parts = parts_of(full);
    let name = parts.pop().unwrap_or_default();
    (parts.pop().unwrap_or_else(|| SCHEMA.to_owned()), name)
}

/// Returns the key of a schema in a catalog, which no object has as its name.
pub fn schema_key(schema: &str) -> String {
    format!("{}.", part(schema))
}

/// Returns the schema of such a key.
pub fn schema_of_key(key: &str) -> Option<String> {
    let mut parts = parts_of(key.strip_suffix('.')?);
    if parts.len() == 1 { parts.pop() } else { None }
}

/// Returns the key of a macro of this full name in a catalog. A table may have the same name.
pub fn macro_key(full: &str) -> String {
    format!("{full}{MACRO_MARK}")
}

/// Returns the key of a type of this full name in a catalog.
pub fn type_key(full: &str) -> String {
    format!("{full}{TYPE_MARK}")
}

/// Returns the full name in the key of an object that isn't a schema.
pub fn full_name_of_key(key: &str) -> &str {
    key.strip_suffix(MACRO_MARK).or_else(|| key.strip_suffix(TYPE_MARK)).unwrap_or(key)
}

/// Returns a full name as SQL that doesn't depend on the search path.
pub fn sql_of_name(full: &str) -> String {
    let (schema, name) = split_name(full);
    format!("{}.{}", quoted_text(&schema), quoted_text(&name))
}

/// Returns a name in quotes.
pub fn quoted_text(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a text as a literal.
pub fn literal_text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn part(name: &str) -> String {
    match name.is_empty() || name.contains(['.', '"']) {
        true => quoted_text(name),
        false => name.to_owned(),
    }
}

/// Splits at dots outside of quotes.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let last = parts.last_mut().expect("there is a part");
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => last.extend(characters.next()),
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(String::new()),
            character => last.push(character),
        }
    }
    parts
}

/// Returns a name as catalogs keep it.
pub fn plain(name: &Ident) -> String {
    if name.quoted { name.text.to_string() } else { name.text.to_lowercase() }
}

/// Returns the candidate most similar to `wanted`, if any is similar enough to be what the user meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let tables = ["lineitem", "orders", "customer"];
        assert_eq!(nearest("linitem", tables), Some("lineitem"));
        assert_eq!(nearest("ORDER", tables), Some("orders"));
        assert_eq!(nearest("zzz", tables), None);
    }

    #[test]
    fn full_names_are_split_into_what_they_were_made_of() {
        let names = ["t", "a.b", "\"", "", "Größe", "x\"y.", "."];
        for schema in names.iter().chain([&SCHEMA]) {
            for name in names {
                let full = full_name(schema, name);
                assert_eq!(split_name(&full), ((*schema).to_owned(), name.to_owned()), "{full}");
                assert_eq!(schema_of_key(&full), None, "{full} is no schema");
            }
            assert_eq!(schema_of_key(&schema_key(schema)).as_deref(), Some(*schema));
        }
        assert_eq!(full_name("s", "t"), "s.t");
        assert_eq!(full_name(SCHEMA, "a.b"), "\"a.b\"");
        assert_eq!(sql_of_name("s.t"), "\"s\".\"t\"");
    }
}
