//! Prints trees as canonical SQL: one spelling for each construct, parentheses where precedence requires them.
//!
//! Parsing the output yields the same tree except for spans. Names keep their spelling and their quotes.

mod define;
mod expression;
mod from;
mod query;
mod statement;
mod types;
mod write;

use std::fmt::{Display, Formatter, Result};

use crate::ast::{Ident, ObjectName};

/// A list separated by commas.
struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (at, item) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{item}")?;
        }
        Ok(())
    }
}

/// A string in single quotes.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}

/// Returns the words if `is_there`, else nothing.
fn when(is_there: bool, words: &'static str) -> &'static str {
    if is_there { words } else { "" }
}

/// Prints words and what follows them, if present.
fn optional(f: &mut Formatter<'_>, words: &str, item: Option<&impl Display>) -> Result {
    item.map_or(Ok(()), |item| write!(f, "{words}{item}"))
}

/// Prints words and a list, unless it is empty.
fn list<T: Display>(f: &mut Formatter<'_>, words: &str, items: &[T]) -> Result {
    if items.is_empty() { Ok(()) } else { write!(f, "{words}{}", Commas(items)) }
}

/// Prints words and a list in parentheses, unless it is empty.
fn list_in_parens<T: Display>(f: &mut Formatter<'_>, words: &str, items: &[T]) -> Result {
    if items.is_empty() { Ok(()) } else { write!(f, "{words}({})", Commas(items)) }
}

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.quoted { write!(f, "\"{}\"", self.text.replace('"', "\"\"")) } else { f.write_str(&self.text) }
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        path(f, &self.parts)
    }
}

/// Prints names separated by dots.
fn path(f: &mut Formatter<'_>, parts: &[Ident]) -> Result {
    for (at, part) in parts.iter().enumerate() {
        let dot = if at > 0 { "." } else { "" };
        write!(f, "{dot}{part}")?;
    }
    Ok(())
}
