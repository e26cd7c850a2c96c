//! Names of the files in a folder that `COPY` writes: `FILENAME_PATTERN 'orders_{i}'`, or with `{uuid}`.

use godwit_common::{Error, Result};
use godwit_types::{SqlType, UuidGenerator, Value, format_value};

/// A pattern of file names, without the extension.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamePattern {
    parts: Vec<NamePart>,
}

#[derive(Debug, Clone, PartialEq)]
enum NamePart {
    Text(String),
    /// `{i}`: the number of the file in its folder, from 0.
    Number,
    /// `{uuid}` or `{uuidv4}`: random.
    Random,
    /// `{uuidv7}`: the time, then random.
    Timed,
}

impl NamePattern {
    /// Names by number: `data_0`, `data_1`.
    pub fn numbered() -> Self {
        Self { parts: vec![NamePart::Text("data_".to_owned()), NamePart::Number] }
    }

    /// Names that differ from those of all other statements.
    pub fn unique() -> Self {
        Self { parts: vec![NamePart::Random] }
    }

    /// Parses a pattern. One without a label ends in the number, so that the names of a folder differ.
    pub fn parse(pattern: &str) -> Result<Self> {
        let invalid = |what: String| {
            Error::user(format!("FILENAME_PATTERN: {what}")).with_hint(
                "a pattern is the name of a file without its extension, in which {i} is a number and {uuid} is random",
            )
        };
        if pattern.contains(['/', '\\', '\0']) {
            return Err(invalid(format!("'{pattern}' names a folder")));
        }
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((text, label)) = rest.split_once('{') {
            parts.push(NamePart::Text(text.to_owned()));
            let (label, after) = label.split_once('}').ok_or_else(|| invalid(format!("'{pattern}' lacks a }}")))?;
            parts.push(match label {
                "i" => NamePart::Number,
                "uuid" | "uuidv4" => NamePart::Random,
                "uuidv7" => NamePart::Timed,
                _ => return Err(invalid(format!("there is no label {{{label}}}"))),
            });
            rest = after;
        }
        parts.push(NamePart::Text(rest.to_owned()));
        let mut parsed = Self { parts };
        if !parsed.is_unique() && !parsed.parts.contains(&NamePart::Number) {
            parsed.parts.push(NamePart::Number);
        }
        Ok(parsed)
    }

    /// Returns true if names differ from those of other statements.
    pub fn is_unique(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, NamePart::Random | NamePart::Timed))
    }

    /// Returns the name of a folder's n-th file.
    pub fn name(&self, number: u64) -> String {
        let generator = UuidGenerator::default();
        let uuid = |bits: u128| format_value(&Value::Uuid(bits), &SqlType::Uuid);
        let part = |part: &NamePart| match part {
            NamePart::Text(text) => text.clone(),
            NamePart::Number => number.to_string(),
            NamePart::Random => uuid(generator.random()),
            NamePart::Timed => uuid(generator.timed()),
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_pattern() {
        let name = |pattern: &str| NamePattern::parse(pattern).unwrap().name(7);
        assert_eq!(name("a{i}b"), "a7b");
        assert_eq!(name("a"), "a7");
        assert_eq!(NamePattern::numbered().name(0), "data_0");
        let unique = name("x_{uuid}");
        assert_eq!(unique.len(), 2 + 36, "{unique}");
        assert_eq!(&unique[16..17], "4", "{unique}");
        assert_ne!(unique, name("x_{uuid}"));
        assert_eq!(&name("{uuidv7}")[14..15], "7");
    }

    #[test]
    fn bad_patterns_are_errors() {
        for pattern in ["a/b", "{x}", "{i", "..\\a"] {
            assert!(NamePattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
