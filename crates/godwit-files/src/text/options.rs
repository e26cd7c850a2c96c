//! Options of text files: `(FORMAT csv, DELIMITER ';', HEADER)`, `read_csv('x', delim = ';')`. All are in [`OPTIONS`].

use std::path::Path;

use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::{Error, Result, parse_bytes};
use godwit_types::SqlType;

use super::compression::Compression;
use super::dialect::Delimiter;
use crate::hive::FileColumnOptions;
use crate::local::name_of;

/// The format of a file's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Json,
}

/// Layouts of JSON, all of which are read the same way.
const JSON_LAYOUTS: [&str; 5] = ["auto", "array", "newline_delimited", "nd", "unstructured"];

/// The user's options for a file; `None`: determined from the file's beginning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextOptions {
    pub format: Format,
    pub compression: Compression,
    /// True if the user names it; otherwise it follows from each file's extension.
    pub is_compression_given: bool,
    pub encoding: String,
    pub delimiter: Option<Delimiter>,
    /// `Some(None)`: nothing is quoted.
    pub quote: Option<Option<u8>>,
    pub escape: Option<Option<u8>>,
    pub comment: Option<Option<u8>>,
    pub newline: Option<u8>,
    pub has_header: Option<bool>,
    /// Number of lines before the header or the first row.
    pub skip: Option<u64>,
    /// Fields that stand for NULL.
    pub nulls: Vec<String>,
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    pub thousands: Option<u8>,
    pub decimal_separator: Option<u8>,
    /// Names and types of all columns.
    pub columns: Option<Vec<(String, SqlType)>>,
    /// Types of some columns, by name or position.
    pub types: Types,
    /// The types that other columns may have, besides VARCHAR; `None`: any.
    pub type_candidates: Option<Vec<SqlType>>,
    pub names: Vec<String>,
    /// True if all columns are text.
    pub all_varchar: bool,
    /// True if missing fields at the end of a record are NULL.
    pub null_padding: bool,
    /// False: the texts that stand for NULL stand for themselves in quotes.
    pub allow_quoted_nulls: bool,
    /// Columns, by their names in lower case, in which no text stands for NULL.
    pub force_not_null: Vec<String>,
    /// Names in a header become words of lower-case letters, digits and underscores.
    pub normalize_names: bool,
    /// Whether rows with errors are skipped, if the user says so; see [`skips_errors`](Self::skips_errors).
    pub ignore_errors: Option<bool>,
    /// Whether such rows are kept for inspection; see [`stores_rejects`](Self::stores_rejects).
    pub store_rejects: Option<bool>,
    /// The tables of these rows' errors, and of the scans that have them.
    pub rejects_table: Option<String>,
    pub rejects_scan: Option<String>,
    /// Maximum number of errors kept per file; 0: all.
    pub rejects_max: Option<u64>,
    /// Number of records from which types are determined; `None`: the first part of the file.
    pub sample_size: Option<u64>,
    /// Longest record in bytes.
    pub record_bytes_max: Option<usize>,
    pub file_columns: FileColumnOptions,
    pub union_by_name: bool,
    /// False: each JSON value is a row of one column.
    pub records: Option<bool>,
}

/// Types that the user specifies for some columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Types {
    #[default]
    None,
    /// Types of the first columns.
    ByPlace(Vec<SqlType>),
    ByName(Vec<(String, SqlType)>),
}

/// An option.
pub(super) struct OptionEntry {
    /// Names; the first is the one shown.
    pub names: &'static [&'static str],
    /// The formats that have it.
    pub formats: &'static [Format],
    /// The values that it takes.
    pub takes: &'static str,
    pub help: &'static str,
    set: fn(&mut TextOptions, &CopyOption) -> Result<()>,
}

const CSV: &[Format] = &[Format::Csv];
const JSON: &[Format] = &[Format::Json];
const BOTH: &[Format] = &[Format::Csv, Format::Json];

macro_rules! option {
    ($names:expr, $formats:expr, $takes:literal, $help:literal, $set:expr) => {
        OptionEntry { names: &$names, formats: $formats, takes: $takes, help: $help, set: $set }
    };
}

/// All options, in the order in which they are shown.
pub(super) const OPTIONS: &[OptionEntry] = &[
    option!(
        ["format"],
        BOTH,
        "a word",
        "csv or json; in read_json auto, array, newline_delimited or unstructured",
        set_format
    ),
    option!(["header"], CSV, "a flag", "the first record names the columns", |o, v| put(&mut o.has_header, v.flag())),
    option!(["delim", "delimiter", "sep"], CSV, "up to four bytes", "what separates fields", |o, v| {
        o.delimiter = Some(Delimiter::of(v)?);
        Ok(())
    }),
    option!(["quote"], CSV, "a character", "encloses fields; '' for none", |o, v| put(&mut o.quote, character(v))),
    option!(["escape"], CSV, "a character", "stands before a quote within quotes", |o, v| put(
        &mut o.escape,
        character(v)
    )),
    option!(["comment"], CSV, "a character", "begins a comment, which ends with the line", |o, v| {
        put(&mut o.comment, character(v))
    }),
    option!(["new_line", "newline"], CSV, "a line break", "'\\n', '\\r\\n' or '\\r'", set_newline),
    option!(["skip"], CSV, "a number", "lines before the header", |o, v| put(&mut o.skip, number(v))),
    option!(["nullstr", "null"], CSV, "a text or a list", "fields that are NULL", |o, v| {
        o.nulls = v.texts()?.to_vec();
        Ok(())
    }),
    option!(["columns"], BOTH, "{name: type}", "names and types of all columns", set_columns),
    option!(["types", "dtypes", "column_types"], CSV, "{name: type} or [type]", "types of some columns", set_types),
    option!(["names", "column_names"], CSV, "a list", "names of the first columns", |o, v| {
        o.names = v.texts()?.to_vec();
        Ok(())
    }),
    option!(["all_varchar"], CSV, "a flag", "all columns are text", |o, v| set(&mut o.all_varchar, v.flag())),
    option!(["dateformat", "date_format"], BOTH, "a format", "how dates are written, such as '%d.%m.%Y'", |o, v| {
        set(&mut o.date_format, time_format(v))
    }),
    option!(["timestampformat", "timestamp_format"], BOTH, "a format", "how timestamps are written", |o, v| {
        set(&mut o.timestamp_format, time_format(v))
    }),
    option!(["decimal_separator"], CSV, "'.' or ','", "what is before a number's fraction", |o, v| {
        match character(v)? {
            Some(mark @ (b'.' | b',')) => set(&mut o.decimal_separator, Ok(Some(mark))),
            _ => Err(Error::user("decimal_separator is '.' or ','")),
        }
    }),
    option!(["thousands"], CSV, "a character", "what groups the digits of a number", |o, v| {
        set(&mut o.thousands, character(v))
    }),
    option!(["null_padding"], CSV, "a flag", "missing fields at the end of a record are NULL", |o, v| {
        set(&mut o.null_padding, v.flag())
    }),
    option!(["allow_quoted_nulls"], CSV, "a flag", "false: what stands for NULL doesn't in quotes", |o, v| {
        set(&mut o.allow_quoted_nulls, v.flag())
    }),
    option!(["force_not_null"], CSV, "a list", "columns in which nothing stands for NULL", |o, v| {
        o.force_not_null = v.texts()?.iter().map(|name| name.to_lowercase()).collect();
        Ok(())
    }),
    option!(
        ["normalize_names"],
        CSV,
        "a flag",
        "names of columns are made of lower-case letters, digits and underscores",
        |o, v| set(&mut o.normalize_names, v.flag())
    ),
    option!(["ignore_errors"], BOTH, "a flag", "leaves rows with errors out", |o, v| put(
        &mut o.ignore_errors,
        v.flag()
    )),
    option!(
        ["store_rejects"],
        CSV,
        "a flag",
        "leaves rows with errors out, and shows them in reject_errors",
        |o, v| put(&mut o.store_rejects, v.flag())
    ),
    option!(["rejects_table"], CSV, "a name", "stores errors in this table instead of reject_errors", |o, v| {
        put(&mut o.rejects_table, v.text().map(str::to_owned))
    }),
    option!(
        ["rejects_scan"],
        CSV,
        "a name",
        "stores scans with errors in this table instead of reject_scans",
        |o, v| { put(&mut o.rejects_scan, v.text().map(str::to_owned)) }
    ),
    option!(["rejects_limit"], CSV, "a number", "errors of a file in reject_errors, at most; 0: all", |o, v| {
        put(&mut o.rejects_max, number(v))
    }),
    option!(["sample_size"], BOTH, "a number", "records that types are determined from; -1: all", set_sample_size),
    option!(["max_line_size", "maximum_line_size", "maximum_object_size"], BOTH, "bytes", "longest record", |o, v| {
        let bytes = parse_bytes(v.text()?)?;
        o.record_bytes_max = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }),
    option!(["filename"], BOTH, "a flag or a name", "adds a column with the path of the file", |o, v| {
        o.file_columns.set_filename(v)
    }),
    option!(["hive_partitioning"], BOTH, "a flag", "adds columns for folders named key=value", |o, v| {
        put(&mut o.file_columns.hive_partitioning, v.flag())
    }),
    option!(["union_by_name"], BOTH, "a flag", "the columns of all files, by their names", |o, v| {
        set(&mut o.union_by_name, v.flag())
    }),
    option!(
        ["compression"],
        BOTH,
        "a word",
        "auto, none, gzip or zstd",
        |o, v| match v.text()?.to_lowercase().as_str() {
            "auto" | "auto_detect" => Ok(()),
            name => {
                o.is_compression_given = true;
                set(&mut o.compression, Compression::of_name(name))
            }
        }
    ),
    option!(["encoding"], BOTH, "a name", "such as utf-8, utf-16, latin-1 or shift_jis", |o, v| {
        set(&mut o.encoding, v.text().map(str::to_owned))
    }),
    option!(["records"], JSON, "a flag or auto", "false: each value is a row of one column", |o, v| {
        match v.word().is_some_and(|word| word.eq_ignore_ascii_case("auto")) {
            true => Ok(()),
            false => put(&mut o.records, v.flag()),
        }
    }),
    option!(["auto_detect"], BOTH, "a flag", "false: no header; what else isn't given is detected anyway", |o, v| {
        if !v.flag()? {
            o.has_header.get_or_insert(false);
        }
        Ok(())
    }),
    option!(["strict_mode"], CSV, "a flag", "records with faulty quotes are errors anyway", |_, v| {
        v.flag().map(drop)
    }),
    option!(["auto_type_candidates"], CSV, "a list", "types that columns without a given one may have", |o, v| {
        o.type_candidates = Some(v.texts()?.iter().map(|text| type_of(text)).collect::<Result<_>>()?);
        Ok(())
    }),
    option!(["parallel"], CSV, "a flag", "files are read by all threads anyway", |_, v| { v.flag().map(drop) }),
    option!(["buffer_size"], CSV, "bytes", "pieces have the size that the memory allows anyway", |_, v| {
        parse_bytes(v.text()?).map(drop)
    }),
];

fn set<T>(place: &mut T, value: Result<T>) -> Result<()> {
    *place = value?;
    Ok(())
}

fn put<T>(place: &mut Option<T>, value: Result<T>) -> Result<()> {
    *place = Some(value?);
    Ok(())
}

fn set_format(options: &mut TextOptions, option: &CopyOption) -> Result<()> {
    let name = option.text()?.to_lowercase();
    if JSON_LAYOUTS.contains(&name.as_str()) {
        return Ok(());
    }
    let known = ENDINGS.iter().find(|(ending, _)| *ending == name);
    let unknown = || Error::user(format!("there is no text format '{name}'"));
    options.format = known.ok_or_else(|| unknown().with_hint("formats are parquet, arrow, csv and json"))?.1;
    Ok(())
}

fn set_newline(options: &mut TextOptions, option: &CopyOption) -> Result<()> {
    options.newline = match option.text()? {
        "\\n" | "\n" | "\\r\\n" | "\r\n" => Some(b'\n'),
        "\\r" | "\r" => Some(b'\r'),
        "auto" => None,
        other => return Err(Error::user(format!("{}: '{other}' is not a line break", option.name))),
    };
    Ok(())
}

/// A format of dates or timestamps; `auto` for none.
fn time_format(option: &CopyOption) -> Result<Option<String>> {
    let format = option.text()?;
    Ok(Some(format.to_owned()).filter(|format| !format.eq_ignore_ascii_case("auto")))
}

fn set_columns(options: &mut TextOptions, option: &CopyOption) -> Result<()> {
    match &option.value {
        OptionValue::Fields(fields) if !fields.is_empty() => put(&mut options.columns, typed(fields)),
        OptionValue::Text(text) if text == "auto" => Ok(()),
        _ => Err(Error::user("columns takes names with types").with_hint("for example: columns = {'id': 'BIGINT'}")),
    }
}

fn set_types(options: &mut TextOptions, option: &CopyOption) -> Result<()> {
    options.types = match &option.value {
        OptionValue::Fields(fields) => Types::ByName(typed(fields)?),
        _ => Types::ByPlace(option.texts()?.iter().map(|text| type_of(text)).collect::<Result<_>>()?),
    };
    Ok(())
}

fn set_sample_size(options: &mut TextOptions, option: &CopyOption) -> Result<()> {
    options.sample_size = match option.text()? {
        "-1" => Some(u64::MAX),
        _ => Some(number(option)?.max(1)),
    };
    Ok(())
}

fn typed(fields: &[(String, String)]) -> Result<Vec<(String, SqlType)>> {
    fields.iter().map(|(name, text)| Ok((name.clone(), type_of(text)?))).collect()
}

/// Parses a type, given as a definition or by name.
fn type_of(text: &str) -> Result<SqlType> {
    SqlType::from_definition(text).map_or_else(|| SqlType::from_name(text, &[]), Ok)
}

/// One ASCII character, or none.
fn character(option: &CopyOption) -> Result<Option<u8>> {
    match option.text()? {
        "" => Ok(None),
        "\\t" => Ok(Some(b'\t')),
        text if text.len() == 1 && !matches!(text.as_bytes()[0], b'\n' | b'\r') => Ok(Some(text.as_bytes()[0])),
        text => Err(Error::user(format!("{}: '{text}' is not a single character", option.name))
            .with_hint("a quote, an escape or the beginning of a comment is one ASCII character")),
    }
}

fn number(option: &CopyOption) -> Result<u64> {
    let text = option.text()?;
    text.parse().map_err(|_| Error::user(format!("{}: '{text}' is not a number from 0 on", option.name)))
}

const ENDINGS: [(&str, Format); 6] = [
    ("csv", Format::Csv),
    ("tsv", Format::Csv),
    ("json", Format::Json),
    ("jsonl", Format::Json),
    ("ndjson", Format::Json),
    ("txt", Format::Csv),
];

/// Returns the format and compression given by the extension of a path.
fn of_ending(path: &Path) -> (Option<Format>, Compression) {
    let path = name_of(path);
    let compression = Compression::of_ending(path);
    let inner = match compression {
        Compression::None => path,
        _ => Path::new(path.file_stem().unwrap_or_default()),
    };
    let ending = inner.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = ENDINGS.iter().find(|(name, _)| ending.eq_ignore_ascii_case(name)).map(|(_, format)| *format);
    (format, compression)
}

/// Returns true if a path has the extension of a text file with rows.
pub(crate) fn is_text_file(path: &Path) -> bool {
    of_ending(path).0.is_some()
}

impl TextOptions {
    pub(super) fn of(path: &Path, options: &[CopyOption]) -> Result<Self> {
        let (format, compression) = of_ending(path);
        let stem = name_of(path).to_string_lossy().to_lowercase();
        let is_tsv = stem.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".tsv");
        let mut read = Self {
            format: format.unwrap_or(Format::Csv),
            compression,
            is_compression_given: false,
            encoding: "utf-8".to_owned(),
            delimiter: is_tsv.then(|| Delimiter::one(b'\t')),
            quote: None,
            escape: None,
            comment: None,
            newline: None,
            has_header: None,
            skip: None,
            nulls: vec![String::new()],
            date_format: None,
            timestamp_format: None,
            thousands: None,
            decimal_separator: None,
            columns: None,
            types: Types::None,
            type_candidates: None,
            names: Vec::new(),
            all_varchar: false,
            null_padding: false,
            allow_quoted_nulls: true,
            force_not_null: Vec::new(),
            normalize_names: false,
            ignore_errors: None,
            store_rejects: None,
            rejects_table: None,
            rejects_scan: None,
            rejects_max: None,
            sample_size: None,
            record_bytes_max: None,
            file_columns: FileColumnOptions::default(),
            union_by_name: false,
            records: None,
        };
        // The format first, since it determines the possible options.
        let (formats, others): (Vec<_>, Vec<_>) = options.iter().partition(|option| option.name == "format");
        for option in formats.into_iter().chain(others) {
            let known = OPTIONS.iter().find(|entry| entry.names.contains(&option.name.as_str()));
            let known = known.filter(|entry| entry.formats.contains(&read.format));
            let entry = known.ok_or_else(|| unknown(&option.name, read.format))?;
            (entry.set)(&mut read, option).map_err(|error| match error.hint() {
                Some(_) => error,
                None => error.with_hint(format!("{} takes {}: {}", option.name, entry.takes, entry.help)),
            })?;
        }
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<()> {
        let (delimiter, quote) = (self.delimiter.as_ref(), self.quote.flatten());
        if delimiter.is_some() && quote.is_some_and(|quote| delimiter == Some(&Delimiter::one(quote))) {
            return Err(Error::user("the delimiter and the quote are the same character"));
        }
        if self.thousands.is_some() && self.thousands == Some(self.decimal_separator.unwrap_or(b'.')) {
            return Err(Error::user("thousands and decimal_separator are the same character"));
        }
        if self.rejects_max.is_some() && !self.stores_rejects() {
            return Err(Error::user("rejects_limit needs store_rejects"));
        }
        if self.store_rejects == Some(false) && self.names_rejects() {
            return Err(Error::user("rejects_table and rejects_scan store rejects: store_rejects can't be false"));
        }
        if self.stores_rejects() && self.ignore_errors == Some(false) {
            return Err(Error::user("store_rejects leaves rows with errors out: ignore_errors can't be false"));
        }
        Ok(())
    }

    /// Returns true if rows with errors are skipped.
    pub(super) fn skips_errors(&self) -> bool {
        self.ignore_errors == Some(true) || self.stores_rejects()
    }

    /// Returns true if rows with errors are kept for inspection.
    pub(super) fn stores_rejects(&self) -> bool {
        self.store_rejects.unwrap_or_else(|| self.names_rejects())
    }

    fn names_rejects(&self) -> bool {
        self.rejects_table.is_some() || self.rejects_scan.is_some()
    }
}

/// Minimum similarity of an option to be suggested, from 0 to 1.
const SIMILARITY_MIN: f64 = 0.8;

fn unknown(name: &str, format: Format) -> Error {
    let shown = if format == Format::Csv { "CSV" } else { "JSON" };
    let names = || OPTIONS.iter().filter(|entry| entry.formats.contains(&format)).map(|entry| entry.names);
    let error = Error::user(format!("there is no option {name} for reading {shown} files"));
    let near = names().flatten().map(|known| (strsim::jaro_winkler(known, name), known));
    match near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(similarity, _)| *similarity >= SIMILARITY_MIN) {
        Some((_, near)) => error.with_hint(format!("did you mean {near}?")),
        None => {
            error.with_hint(format!("options are {}", names().map(|names| names[0]).collect::<Vec<_>>().join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation has a line for each option, with these words.
    #[test]
    fn options_are_documented() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shell.md")).unwrap();
        for OptionEntry { names, takes, help, .. } in OPTIONS {
            let line = format!("| `{}` | {takes} | {help} |", names.join("`, `"));
            assert!(page.contains(&line), "docs/shell.md lacks the line\n{line}");
        }
    }

    #[test]
    fn options_are_found_by_any_name() {
        let of = |name: &str, value: &str| TextOptions::of(Path::new("x.csv"), &[CopyOption::new(name, value)]);
        assert_eq!(of("sep", "||").unwrap(), of("delimiter", "||").unwrap());
        assert_eq!(of("null", "nil").unwrap().nulls, ["nil"]);
        assert!(of("delmiter", ";").unwrap_err().to_string().contains("did you mean delimiter?"));
        assert!(of("records", "true").unwrap_err().to_string().contains("no option records for reading CSV"));
        assert!(of("quote", "ab").unwrap_err().to_string().contains("not a single character"));
        assert!(of("delim", "abcde").unwrap_err().to_string().contains("at most four bytes"));
    }
}
