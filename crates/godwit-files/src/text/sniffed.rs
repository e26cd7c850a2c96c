//! `sniff_csv`: the detected properties of a CSV file, and how to read the file without detecting them again.

use std::fmt::Write;
use std::path::Path;

use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::Result;
use godwit_io::Files;
use godwit_memory::BufferManager;
use godwit_types::{SqlType, Value};
use godwit_vector::sql::type_of_field;

use super::cutter::RecordEnds;
use super::dialect::{Dialect, text_of};
use super::options::{Format, TextOptions};
use super::sniff::{self, Sniffed};
use super::source::TextSource;
use super::stream::Streams;
use super::times::DayForm;

/// Represents a character that doesn't exist.
const NONE: &str = "(empty)";

/// Returns the columns, named as in DuckDB.
pub(crate) fn sniffed_columns() -> Vec<(&'static str, SqlType)> {
    let of_column = SqlType::struct_of([("name", SqlType::Varchar), ("type", SqlType::Varchar)]);
    vec![
        ("Delimiter", SqlType::Varchar),
        ("Quote", SqlType::Varchar),
        ("Escape", SqlType::Varchar),
        ("NewLineDelimiter", SqlType::Varchar),
        ("Comment", SqlType::Varchar),
        ("SkipRows", SqlType::UBigInt),
        ("HasHeader", SqlType::Boolean),
        ("Columns", SqlType::list_of(of_column)),
        ("DateFormat", SqlType::Varchar),
        ("TimestampFormat", SqlType::Varchar),
        ("UserArguments", SqlType::Varchar),
        ("Prompt", SqlType::Varchar),
    ]
}

/// Returns the row for a file that is read with these options.
pub(crate) fn sniffed_row(
    files: &dyn Files,
    streams: &Streams,
    path: &Path,
    given: &[CopyOption],
    memory: &BufferManager,
) -> Result<Vec<Value>> {
    let options = TextOptions { format: Format::Csv, ..TextOptions::of(path, &csv_options(given))? };
    let source = TextSource::open(files, streams, path, true)?;
    let sample = source.sample(files, &options, memory)?;
    let all = |dialect: &Dialect, skip| source.cutter(files, &options, (RecordEnds::Csv(*dialect), skip), memory);
    let sniffed = sniff::csv(&sample, &options, None, all)?;
    let found = Found::of(&sniffed, &options)?;
    let columns =
        found.columns.iter().map(|(name, ty)| Value::Struct([Value::text(&**name), Value::text(&**ty)].into()));
    let or_null = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
    let arguments: Vec<String> = given.iter().map(argument).collect();
    Ok(vec![
        Value::text(&*found.delimiter),
        shown(&found.quote),
        shown(&found.escape),
        Value::text(found.newline),
        shown(&found.comment),
        Value::Integer(found.skip.into()),
        Value::Boolean(sniffed.header.is_some()),
        Value::List(columns.collect()),
        or_null(&found.date_format),
        or_null(&found.timestamp_format),
        if arguments.is_empty() { Value::Null } else { Value::text(arguments.join(", ")) },
        Value::text(found.prompt(path, sniffed.header.is_some(), given)),
    ])
}

/// Returns a character as text; there may be none.
pub(super) fn shown(character: &str) -> Value {
    Value::text(if character.is_empty() { NONE } else { character })
}

/// Returns an option as SQL.
pub(super) fn argument(option: &CopyOption) -> String {
    format!("{}={}", option.name, written(option))
}

/// Returns the options, preceded by one that says that the file is CSV, whatever its name.
fn csv_options(given: &[CopyOption]) -> Vec<CopyOption> {
    std::iter::once(CopyOption::new("format", "csv")).chain(given.iter().cloned()).collect()
}

/// The detected properties, as options are written.
struct Found {
    delimiter: String,
    quote: String,
    escape: String,
    newline: &'static str,
    comment: String,
    /// Number of lines before the header or the first row.
    skip: u64,
    columns: Vec<(String, String)>,
    date_format: Option<String>,
    timestamp_format: Option<String>,
    /// True if dates are written as in ISO 8601.
    is_usual: bool,
}

impl Found {
    fn of(sniffed: &Sniffed, options: &TextOptions) -> Result<Self> {
        let [delimiter, quote, escape] = sniffed.dialect.texts();
        let mut columns = Vec::new();
        let (mut date_format, mut timestamp_format) = (None, None);
        let mut is_usual = true;
        for (field, form) in sniffed.fields.iter().zip(&sniffed.forms) {
            let ty = type_of_field(field)?;
            let template = form.day.map(|day| day.template());
            match &ty {
                SqlType::Date => {
                    is_usual &= form.date_format.is_none();
                    date_format = date_format.or(form.date_format.clone()).or(template);
                }
                ty if ty.is_timestamp() => {
                    is_usual &= form.timestamp_format.is_none();
                    let of_day = template.map(|day| format!("{day} %H:%M:%S"));
                    timestamp_format = timestamp_format.or(form.timestamp_format.clone()).or(of_day);
                }
                _ => {}
            }
            is_usual &= form.day.is_none_or(|day| day == DayForm::ALL[0]);
            columns.push((field.name().clone(), ty.to_string()));
        }
        Ok(Self {
            delimiter,
            quote,
            escape,
            newline: sniffed.newline,
            comment: text_of(sniffed.dialect.comment),
            skip: options.skip.unwrap_or(0) + sniffed.skip,
            columns,
            date_format,
            timestamp_format,
            is_usual,
        })
    }

    /// Returns a query that reads the file with the detected properties.
    fn prompt(&self, path: &Path, has_header: bool, given: &[CopyOption]) -> String {
        let mut prompt = format!("FROM read_csv({}, auto_detect=false", quoted(&path.display().to_string()));
        let mut say = |name: &str, value: &str| {
            write!(prompt, ", {name}={value}").expect("a text can be written to");
        };
        say("delim", &quoted(&self.delimiter));
        say("quote", &quoted(&self.quote));
        say("escape", &quoted(&self.escape));
        say("new_line", &quoted(self.newline));
        say("skip", &self.skip.to_string());
        say("comment", &quoted(&self.comment));
        say("header", if has_header { "true" } else { "false" });
        let columns = self.columns.iter().map(|(name, ty)| format!("{}: {}", quoted(name), quoted(ty)));
        say("columns", &format!("{{{}}}", columns.collect::<Vec<_>>().join(", ")));
        let formats = [("dateformat", &self.date_format), ("timestampformat", &self.timestamp_format)];
        formats.iter().filter(|_| !self.is_usual).for_each(|(name, format)| {
            if let Some(format) = format {
                say(name, &quoted(format));
            }
        });
        // Options that aren't detected but given by the user.
        const SAID: [&str; 8] = [
            "nullstr",
            "null",
            "thousands",
            "decimal_separator",
            "null_padding",
            "ignore_errors",
            "encoding",
            "compression",
        ];
        given.iter().filter(|option| SAID.contains(&option.name.as_str())).for_each(|option| {
            say(&option.name, &written(option));
        });
        prompt + ");"
    }
}

/// Returns the value of an option as SQL.
fn written(option: &CopyOption) -> String {
    match &option.value {
        OptionValue::Absent => "true".to_owned(),
        OptionValue::Text(text) if matches!(&**text, "true" | "false") || text.parse::<f64>().is_ok() => text.clone(),
        OptionValue::Text(text) => quoted(text),
        OptionValue::List(texts) => {
            format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
        }
        OptionValue::Fields(fields) => {
            let fields = fields.iter().map(|(name, text)| format!("{}: {}", quoted(name), quoted(text)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
