//! Options of text files: `(FORMAT csv, DELIMITER ';', HEADER)`, `read_csv('x', delim = ';')`.

use std::path::Path;

use godwit_catalog::CopyOption;
use godwit_common::{Error, Result};

use crate::local::name_of;

/// What the records of a file look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Json,
}

/// What the user specifies about a file; `None`: determined from the file's beginning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextOptions {
    pub format: Format,
    pub is_gzip: bool,
    pub delimiter: Option<u8>,
    pub quote: u8,
    pub escape: Option<u8>,
    pub has_header: Option<bool>,
    /// Fields that are NULL.
    pub null: String,
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    /// All columns are text.
    pub all_varchar: bool,
    /// Rows with errors are left out.
    pub ignore_errors: bool,
}

const ENDINGS: [(&str, Format); 6] = [
    ("csv", Format::Csv),
    ("tsv", Format::Csv),
    ("json", Format::Json),
    ("jsonl", Format::Json),
    ("ndjson", Format::Json),
    ("txt", Format::Csv),
];

/// The format given by the extension of a path, and whether it is compressed.
fn of_ending(path: &Path) -> (Option<Format>, bool) {
    let path = name_of(path);
    let is_gzip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    let inner = if is_gzip { Path::new(path.file_stem().unwrap_or_default()) } else { path };
    let ending = inner.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = ENDINGS.iter().find(|(name, _)| ending.eq_ignore_ascii_case(name)).map(|(_, format)| *format);
    (format, is_gzip)
}

/// True if a path has the extension of a text file with rows.
pub(crate) fn is_text_file(path: &Path) -> bool {
    of_ending(path).0.is_some()
}

impl TextOptions {
    pub(super) fn of(path: &Path, options: &[CopyOption]) -> Result<Self> {
        let (format, is_gzip) = of_ending(path);
        let is_tsv = name_of(path).to_string_lossy().to_lowercase().trim_end_matches(".gz").ends_with(".tsv");
        let mut read = Self {
            format: format.unwrap_or(Format::Csv),
            is_gzip,
            delimiter: is_tsv.then_some(b'\t'),
            quote: b'"',
            escape: None,
            has_header: None,
            null: String::new(),
            date_format: None,
            timestamp_format: None,
            all_varchar: false,
            ignore_errors: false,
        };
        for option in options {
            read.set(option)?;
        }
        if read.delimiter == Some(read.quote) {
            return Err(Error::user("the delimiter and the quote are the same character"));
        }
        Ok(read)
    }

    fn set(&mut self, option: &CopyOption) -> Result<()> {
        match option.name.as_str() {
            "format" => {
                let name = option.text()?.to_lowercase();
                let known = ENDINGS.iter().find(|(ending, _)| *ending == name);
                let unknown = || Error::user(format!("there is no text format '{name}'"));
                self.format = known.ok_or_else(|| unknown().with_hint("formats are parquet, csv and json"))?.1;
            }
            "header" => self.has_header = Some(flag(option)?),
            "delimiter" | "delim" | "sep" => self.delimiter = Some(character(option)?),
            "quote" => self.quote = character(option)?,
            "escape" => self.escape = Some(character(option)?),
            "null" | "nullstr" => self.null = option.value.clone().unwrap_or_default(),
            "dateformat" | "date_format" => self.date_format = Some(option.text()?.to_owned()),
            "timestampformat" | "timestamp_format" => self.timestamp_format = Some(option.text()?.to_owned()),
            "all_varchar" => self.all_varchar = flag(option)?,
            "ignore_errors" => self.ignore_errors = flag(option)?,
            // Unspecified options are detected anyway.
            "auto_detect" => {
                flag(option)?;
            }
            "compression" => match option.text()?.to_lowercase().as_str() {
                "gzip" | "gz" => self.is_gzip = true,
                "none" | "uncompressed" => self.is_gzip = false,
                "auto" | "auto_detect" => {}
                other => return Err(Error::unsupported(format!("reading text compressed by '{other}'"))),
            },
            other => {
                return Err(Error::user(format!("there is no option {other} for reading text files")).with_hint(
                    "options are FORMAT, HEADER, DELIMITER, QUOTE, ESCAPE, NULL, DATEFORMAT, TIMESTAMPFORMAT, \
                     ALL_VARCHAR, IGNORE_ERRORS, COMPRESSION",
                ));
            }
        }
        Ok(())
    }
}

fn flag(option: &CopyOption) -> Result<bool> {
    match option.value.as_deref().map(str::to_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(other) => Err(Error::user(format!("{}: '{other}' is neither true nor false", option.name))),
    }
}

fn character(option: &CopyOption) -> Result<u8> {
    match option.text()? {
        "\\t" => Ok(b'\t'),
        text if text.len() == 1 && !matches!(text.as_bytes()[0], b'\n' | b'\r') => Ok(text.as_bytes()[0]),
        text => Err(Error::user(format!("{}: '{text}' is not a single character", option.name))
            .with_hint("a delimiter, quote or escape is one ASCII character")),
    }
}
