//! Types as text that defines them completely, for the catalog and the database file.
//!
//! The notation is SQL's, except that an enumeration has its name before its labels, as a quoted name that may be
//! empty: `STRUCT("a" ENUM "mood"('sad', 'ok')[])`. The text doesn't depend on user-defined types, which may change or
//! be dropped.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::{EnumType, SqlType, StructField};

/// Most levels of nesting that are read.
const DEPTH_MAX: usize = 64;

impl SqlType {
    /// Returns the type as text that [`from_definition`](Self::from_definition) reads.
    pub fn definition(&self) -> String {
        let mut out = String::new();
        write_type(&mut out, self).expect("strings take everything");
        out
    }

    /// Returns the type of a definition; `None` if the text isn't one.
    pub fn from_definition(text: &str) -> Option<SqlType> {
        let mut rest = Rest(text);
        let ty = rest.whole_type(0)?;
        rest.0.is_empty().then_some(ty)
    }
}

fn write_type(out: &mut String, ty: &SqlType) -> fmt::Result {
    match ty {
        SqlType::Enum(definition) => {
            out.push_str("ENUM ");
            write_quoted(out, '"', &definition.name);
            for (at, label) in definition.labels.iter().enumerate() {
                out.push_str(if at == 0 { "(" } else { ", " });
                write_quoted(out, '\'', label);
            }
            out.push(')');
        }
        SqlType::List(element) => {
            write_type(out, element)?;
            out.push_str("[]");
        }
        SqlType::Array(element, length) => {
            write_type(out, element)?;
            write!(out, "[{length}]")?;
        }
        SqlType::Struct(fields) => {
            out.push_str("STRUCT");
            for (at, field) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "(" } else { ", " });
                write_quoted(out, '"', &field.name);
                out.push(' ');
                write_type(out, &field.ty)?;
            }
            out.push(')');
        }
        SqlType::Map(entry) => {
            out.push_str("MAP(");
            write_type(out, &entry.0)?;
            out.push_str(", ");
            write_type(out, &entry.1)?;
            out.push(')');
        }
        plain => write!(out, "{plain}")?,
    }
    Ok(())
}

fn write_quoted(out: &mut String, quote: char, text: &str) {
    out.push(quote);
    for letter in text.chars() {
        if letter == quote {
            out.push(quote);
        }
        out.push(letter);
    }
    out.push(quote);
}

/// The text still to be read.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn whole_type(&mut self, depth: usize) -> Option<SqlType> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut ty = self.without_brackets(depth)?;
        let mut levels = depth;
        while self.skips("[") {
            levels += 1;
            let length = self.taken(|letter| letter.is_ascii_digit());
            if levels > DEPTH_MAX || !self.skips("]") {
                return None;
            }
            ty = match length.as_str() {
                "" => SqlType::List(Arc::new(ty)),
                length => SqlType::Array(Arc::new(ty), length.parse().ok()?),
            };
        }
        Some(ty)
    }

    fn without_brackets(&mut self, depth: usize) -> Option<SqlType> {
        if self.skips("ENUM ") {
            let name = self.quoted('"')?.into();
            let labels: Vec<Arc<str>> = self.list(|rest| Some(rest.quoted('\'')?.into()))?;
            return Some(SqlType::Enum(Arc::new(EnumType { name, labels })));
        }
        if self.skips("STRUCT") {
            let field = |rest: &mut Self| {
                let name = rest.quoted('"')?.into();
                let ty = if rest.skips(" ") { rest.whole_type(depth + 1)? } else { return None };
                Some(StructField { name, ty })
            };
            return Some(SqlType::Struct(self.list(field)?.into()));
        }
        if self.skips("MAP") {
            let parts: [SqlType; 2] = self.list(|rest| rest.whole_type(depth + 1))?.try_into().ok()?;
            return Some(SqlType::Map(Arc::new(parts.into())));
        }
        let name = self.taken(|letter| letter.is_ascii_alphabetic() || matches!(letter, '_' | ' '));
        if name == "DECIMAL" && self.skips("(") {
            let precision = self.taken(|letter| letter.is_ascii_digit()).parse().ok()?;
            let scale = if self.skips(",") { self.taken(|letter| letter.is_ascii_digit()) } else { return None };
            return if self.skips(")") {
                SqlType::from_name(&name, &[precision, scale.parse().ok()?]).ok()
            } else {
                None
            };
        }
        SqlType::from_name(&name, &[]).ok()
    }

    /// `(item, item)`.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        if !self.skips("(") {
            return None;
        }
        let mut items = Vec::new();
        loop {
            items.push(item(self)?);
            if self.skips(")") {
                return Some(items);
            }
            if !self.skips(", ") {
                return None;
            }
        }
    }

    /// A quoted text, in which quotes are doubled.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.0.strip_prefix(quote)?.chars();
        loop {
            let letter = letters.next()?;
            if letter == quote && !letters.as_str().starts_with(quote) {
                self.0 = letters.as_str();
                return Some(text);
            }
            if letter == quote {
                letters.next();
            }
            text.push(letter);
        }
    }

    fn skips(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn taken(&mut self, belongs: fn(char) -> bool) -> String {
        let end = self.0.find(|letter| !belongs(letter)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        let taken = taken.to_owned();
        self.0 = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> SqlType {
        let labels = ["sad", "it's ok", "(\", \")"].map(Arc::from).to_vec();
        SqlType::Enum(Arc::new(EnumType { name: "my \"mood\"".into(), labels }))
    }

    #[test]
    fn definitions_are_read_as_they_are_written() {
        use SqlType as T;
        let types = [
            T::Integer,
            T::decimal(38, 10),
            T::TimestampTz,
            T::TimestampNs,
            T::Uuid,
            mood(),
            T::Array(Arc::new(T::list_of(mood())), 3),
            T::struct_of([("a b", T::list_of(T::Json)), ("c\"", T::struct_of([("d", T::TimestampTz)]))]),
            T::Map(Arc::new((mood(), T::Map(Arc::new((T::decimal(5, 2), T::list_of(T::Bit))))))),
        ];
        for ty in types {
            assert_eq!(SqlType::from_definition(&ty.definition()), Some(ty.clone()), "{}", ty.definition());
        }
        let unnamed = SqlType::from_definition("ENUM \"\"('a', 'b')");
        assert!(matches!(unnamed, Some(T::Enum(definition)) if definition.name.is_empty()));
    }

    #[test]
    fn other_texts_are_no_definitions() {
        let deep = "INTEGER".to_owned() + &"[]".repeat(DEPTH_MAX + 1);
        let deeper = "MAP(".repeat(100_000);
        let texts =
            ["", "INT EGER", "ENUM \"a\"", "ENUM \"a\"('b", "STRUCT()", "MAP(INTEGER)", "INTEGER[", "DECIMAL(5"];
        for text in texts.into_iter().chain([deep.as_str(), deeper.as_str(), "DECIMAL(50,2)", "INTEGER)"]) {
            assert_eq!(SqlType::from_definition(text), None, "{text}");
        }
    }
}
