//! Parts of file paths.

use std::str::FromStr;

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;

use crate::function::{Category, Form, Function, function};
use crate::rows::{ListWriter, Text, checked_part, lists, part};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    let path_function = |names, description, of: fn(&str, Separator) -> &str| {
        text_function(names, description)
            .form(part::<()>(move |path, ()| of(path, Separator::Both)))
            .form(separated(of))
    };
    vec![
        path_function(&["parse_dirname"], "The first directory of a path", first_directory)
            .example("parse_dirname('path/to/file.csv')", "path"),
        path_function(&["parse_dirpath"], "The path without its last part", directories)
            .example("parse_dirpath('path/to/file.csv')", "path/to"),
        path_function(&["parse_filename"], "The last part of a path; with TRUE, without its extension", file)
            .example("parse_filename('path/to/file.csv')", "file.csv")
            .example("parse_filename('path/to/file.csv', true)", "file")
            .form(part::<(bool,)>(|path, (is_short,)| file_name(path, is_short, Separator::Both)))
            .form(checked_part::<(bool, Text)>(
                |(_, separator)| separator.parse::<Separator>().map(|_| ()),
                |path, (is_short, separator)| file_name(path, is_short, separator.parse().unwrap_or(Separator::Both)),
            )),
        text_function(&["parse_path"], "The parts of a path; the root is '/'")
            .example("parse_path('path/to/file.csv')", "[path, to, file.csv]")
            .form(lists(vec![SqlType::Varchar], |texts, out| {
                texts[0].map(|path| write_parts(path, Separator::Both, out)).transpose()
            }))
            .form(lists(vec![SqlType::Varchar; 2], |texts, out| {
                let (Some(path), Some(separator)) = (texts[0], texts[1]) else { return Ok(None) };
                write_parts(path, String::from_utf8_lossy(separator).parse()?, out).map(Some)
            })),
    ]
}

/// Creates a form with a separator after the path.
fn separated(of: fn(&str, Separator) -> &str) -> Form {
    checked_part::<(Text,)>(
        |(separator,)| separator.parse::<Separator>().map(|_| ()),
        move |path, (separator,)| of(path, separator.parse().unwrap_or(Separator::Both)),
    )
}

/// Separators of the parts of paths.
#[derive(Clone, Copy)]
enum Separator {
    Both,
    Slash,
    Backslash,
}

impl Separator {
    fn is(self, byte: u8) -> bool {
        match self {
            Self::Both => byte == b'/' || byte == b'\\',
            Self::Slash => byte == b'/',
            Self::Backslash => byte == b'\\',
        }
    }
}

impl FromStr for Separator {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "both_slash" => Ok(Self::Both),
            "forward_slash" | "system" => Ok(Self::Slash),
            "backslash" => Ok(Self::Backslash),
            _ => Err(Error::user(format!("'{name}' is no separator of paths"))
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
                .with_hint("separators are 'both_slash', 'forward_slash', 'backslash' and 'system'")),
        }
    }
}

/// Returns the first directory. Separators are ASCII, so paths are cut between characters.
fn first_directory(path: &str, separator: Separator) -> &str {
    match path.bytes().position(|byte| separator.is(byte)) {
        None => "",
        Some(0) => &path[..1],
        Some(at) => &path[..at],
    }
}

fn directories(path: &str, separator: Separator) -> &str {
    match path.bytes().rposition(|byte| separator.is(byte)) {
        None => "",
        Some(0) if path.len() == 1 => path,
        Some(at) => &path[..at],
    }
}

fn file(path: &str, separator: Separator) -> &str {
    path.bytes().rposition(|byte| separator.is(byte)).map_or(path, |at| &path[at + 1..])
}

fn file_name(path: &str, is_short: bool, separator: Separator) -> &str {
    let file = file(path, separator);
    match file.rfind('.') {
        Some(dot) if is_short => &file[..dot],
        _ => file,
    }
}

fn write_parts(path: &[u8], separator: Separator, out: &mut ListWriter<'_>) -> Result<()> {
    if path.first().is_some_and(|&byte| separator.is(byte)) {
        out.push_part(Some(&path[..1]))?;
    }
    let mut parts = path.split(|&byte| separator.is(byte)).filter(|part| !part.is_empty());
    parts.try_for_each(|part| out.push_part(Some(part)))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn directories_and_files() {
        for (path, dirname, dirpath, filename) in [
            ("'path/to/file.csv'", "path", "path/to", "file.csv"),
            ("'/file.csv'", "/", "", "file.csv"),
            ("'file.csv'", "", "", "file.csv"),
            ("'a/b/'", "a", "a/b", ""),
            ("'//a//b'", "/", "//a/", "b"),
            ("'é\\ü/ö'", "é", "é\\ü", "ö"),
            ("''", "", "", ""),
            ("'/'", "/", "/", ""),
            ("NULL", "NULL", "NULL", "NULL"),
        ] {
            assert_eq!(shown("parse_dirname", &[path]), dirname, "{path}");
            assert_eq!(shown("parse_dirpath", &[path]), dirpath, "{path}");
            assert_eq!(shown("parse_filename", &[path]), filename, "{path}");
        }
        assert_eq!(shown("parse_dirname", &["'path\\to/file.csv'", "'forward_slash'"]), "path\\to");
        assert_eq!(shown("parse_filename", &["'path/to/file.csv'", "'backslash'"]), "path/to/file.csv");
        assert_eq!(shown("parse_filename", &["'a/x.tar.gz'", "TRUE"]), "x.tar");
        assert_eq!(shown("parse_filename", &["'a/x'", "TRUE"]), "x");
        assert_eq!(shown("parse_filename", &["'a/.bashrc'", "TRUE", "'system'"]), "");
        assert!(error_of("parse_dirpath", &["'a'", "'comma'"]).contains("comma"));
    }

    #[test]
    fn parts() {
        assert_eq!(shown("parse_path", &["'/path/to/file.csv'"]), "[/, path, to, file.csv]");
        assert_eq!(shown("parse_path", &["'path\\to/file.csv'", "'backslash'"]), "[path, to/file.csv]");
        assert_eq!(shown("parse_path", &["'//a//b'"]), "[/, a, b]");
        assert_eq!(shown("parse_path", &["''"]), "[]");
        assert_eq!(shown("parse_path", &["'/'"]), "[/]");
        assert_eq!(shown("parse_path", &["'a/'", "NULL"]), "NULL");
        assert_eq!(shown("parse_path", &["NULL"]), "NULL");
        assert!(error_of("parse_path", &["'a'", "''"]).contains("separator"));
    }
}
