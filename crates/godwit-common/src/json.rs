//! JSON, as far as plans and traces need it.

use std::fmt::{self, Write};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// A finite number.
    Number(f64),
    /// A string.
    Text(String),
    /// Values in order.
    Array(Vec<Json>),
    /// Members in order: names and values.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Creates an object of these members.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Writes the value on one line, without spaces.
    fn write_compact(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    item.write_compact(f)?;
                }
                f.write_char(']')
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    write_text(f, name)?;
                    f.write_char(':')?;
                    value.write_compact(f)?;
                }
                f.write_char('}')
            }
            Json::Null | Json::Number(_) | Json::Text(_) => self.write(f, 0),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Number(number) => write!(f, "{number}"),
            Json::Text(text) => write_text(f, text),
            Json::Array(items) if items.is_empty() => f.write_str("[]"),
            Json::Object(members) if members.is_empty() => f.write_str("{}"),
            Json::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    new_line(f, index, depth)?;
                    item.write(f, depth + 1)?;
                }
                write!(f, "\n{:1$}]", "", 2 * depth)
            }
            Json::Object(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    new_line(f, index, depth)?;
                    write_text(f, name)?;
                    f.write_str(": ")?;
                    value.write(f, depth + 1)?;
                }
                write!(f, "\n{:1$}}}", "", 2 * depth)
            }
        }
    }
}

/// Starts the line of item `index`, one level below `depth`.
fn new_line(f: &mut fmt::Formatter<'_>, index: usize, depth: usize) -> fmt::Result {
    write!(f, "{}\n{:2$}", if index == 0 { "" } else { "," }, "", 2 * (depth + 1))
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\n' => f.write_str("\\n")?,
            control if control < ' ' => write!(f, "\\u{:04x}", control as u32)?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

/// Writes one line; with `{:#}`, several, indented by two spaces.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { self.write(f, 0) } else { self.write_compact(f) }
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        // Exact up to 8 PiB, more than any count here.
        Json::Number(number as f64)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::Text(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_indented_and_texts_escaped() {
        let inner = Json::object([("a \"b\" \\ \n \u{1} ü", Json::Number(0.5)), ("none", Json::Array(Vec::new()))]);
        let json = Json::object([("rows", 1_000_000_007u64.into()), ("list", Json::Array(vec![inner, "x".into()]))]);
        let expected = r#"{
  "rows": 1000000007,
  "list": [
    {
      "a \"b\" \\ \n \u0001 ü": 0.5,
      "none": []
    },
    "x"
  ]
}"#;
        assert_eq!(format!("{json:#}"), expected);
        let compact = r#"{"rows":1000000007,"list":[{"a \"b\" \\ \n \u0001 ü":0.5,"none":[]},"x"]}"#;
        assert_eq!(json.to_string(), compact);
    }
}
