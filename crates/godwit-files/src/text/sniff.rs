//! What the beginning of a CSV file tells about the rest: delimiter, header, names, types.

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use godwit_common::{Error, Result};

use super::columns::{Formats, TextColumn};
use super::csv::{Dialect, Records};
use super::cutter::Sample;
use super::field;
use super::options::TextOptions;

/// Delimiters that are tried, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Records that are looked at.
const SAMPLED_RECORDS: usize = 20_000;

/// Types that are tried, the narrowest first; if none fits, the column is text.
const TYPES: [DataType; 5] = [
    DataType::Int64,
    DataType::Float64,
    DataType::Boolean,
    DataType::Date32,
    DataType::Timestamp(TimeUnit::Microsecond, None),
];

/// Longest text of a date: longer ones are moments, even if they begin with a date.
const DATE_BYTES_MAX: usize = 10;

/// What is known about a file.
pub(super) struct Sniffed {
    pub dialect: Dialect,
    /// The first record, if that names the columns.
    pub header: Option<Vec<Vec<u8>>>,
    pub fields: Vec<Field>,
    /// Records in the sample.
    pub records: u64,
}

/// Examines a sample. `expected` are the columns to read it as.
pub(super) fn csv(sample: &Sample, options: &TextOptions, expected: Option<&Schema>) -> Result<Sniffed> {
    if let Err(error) = std::str::from_utf8(&sample.bytes)
        && (error.error_len().is_some() || sample.is_all)
    {
        let line = 1 + memchr::memchr_iter(b'\n', &sample.bytes[..error.valid_up_to()]).count();
        return Err(Error::user(format!("{}, line {line}: the text is not UTF-8", sample.name))
            .with_hint("convert the file to UTF-8 first"));
    }
    let dialect_of = |delimiter| Dialect { delimiter, quote: options.quote, escape: options.escape };
    let wanted = expected.map(|schema| schema.fields().len());
    let dialect = match options.delimiter {
        Some(delimiter) => dialect_of(delimiter),
        None => DELIMITERS
            .map(dialect_of)
            .into_iter()
            .rev()
            .max_by_key(|dialect| fit(sample, dialect, wanted))
            .expect("some"),
    };
    let records = records_of(sample, &dialect);
    let width = wanted.unwrap_or_else(|| records.first().map_or(0, Vec::len));
    if width == 0 {
        return Err(Error::user(format!("{} is empty: it has no columns", sample.name)));
    }
    let formats = Formats { date: options.date_format.clone(), timestamp: options.timestamp_format.clone() };
    let types = |records: &[Vec<Vec<u8>>]| -> Vec<DataType> {
        (0..width).map(|column| type_of(records, column, options, &formats)).collect()
    };
    let has_header = options.has_header.unwrap_or_else(|| {
        let first = types(&records[..records.len().min(1)]);
        let is_text = |ty: &DataType| *ty == DataType::Utf8View;
        match expected {
            // The first record is a header if it can't be a row.
            Some(schema) => records.first().is_some_and(|first| !fits(first, schema, options, &formats)),
            None => {
                let rest = types(records.get(1..).unwrap_or_default());
                let differ = first.iter().zip(&rest).any(|(first, rest)| is_text(first) && !is_text(rest));
                differ || (first.iter().all(is_text) && rest.iter().all(is_text) && !records.is_empty())
            }
        }
    });
    let body = if has_header { records.get(1..).unwrap_or_default() } else { &records[..] };
    let fields = match expected {
        Some(schema) => schema.fields().iter().map(|given| field(given.name(), given.data_type())).collect(),
        None => {
            let names = names(records.first().filter(|_| has_header), width);
            names.iter().zip(types(body)).map(|(name, ty)| field(name, &ty)).collect()
        }
    };
    let count = body.len() as u64;
    let header = if has_header { Some(records.into_iter().next().unwrap_or_default()) } else { None };
    Ok(Sniffed { dialect, header, fields, records: count })
}

/// How well a delimiter explains a sample: expected width, more than one column, all records alike, many columns.
fn fit(sample: &Sample, dialect: &Dialect, wanted: Option<usize>) -> (bool, bool, usize, usize) {
    let widths: Vec<usize> = records_of(sample, dialect).iter().map(Vec::len).collect();
    let width = widths.first().copied().unwrap_or(0);
    let alike = widths.iter().filter(|&&other| other == width).count() * 100 / widths.len().max(1);
    (wanted == Some(width), width > 1, alike, width)
}

fn records_of(sample: &Sample, dialect: &Dialect) -> Vec<Vec<Vec<u8>>> {
    let bytes = sample.whole(dialect);
    let mut records = Records::new(dialect, 1);
    let mut found = Vec::new();
    while found.len() < SAMPLED_RECORDS
        && let Some(fields) = records.next(bytes)
    {
        found.push(fields.iter().map(<[u8]>::to_vec).collect());
    }
    found
}

fn column_of(records: &[Vec<Vec<u8>>], column: usize, options: &TextOptions, is_text: bool) -> TextColumn {
    let mut values = TextColumn::default();
    for field in records.iter().filter_map(|record| record.get(column)) {
        values.push(field, Some(options.null.as_bytes()), is_text);
    }
    values
}

/// The narrowest type of a column of records.
fn type_of(records: &[Vec<Vec<u8>>], column: usize, options: &TextOptions, formats: &Formats) -> DataType {
    let text = DataType::Utf8View;
    let values = column_of(records, column, options, false);
    if options.all_varchar || values.fields().next().is_none() {
        return text;
    }
    let is_right = |ty: &&DataType| {
        let may_be = values.fields().all(|field| match ty {
            DataType::Boolean => field.eq_ignore_ascii_case(b"true") || field.eq_ignore_ascii_case(b"false"),
            DataType::Date32 => field.len() <= DATE_BYTES_MAX || formats.date.is_some(),
            _ => true,
        });
        may_be && values.values(ty, formats).is_ok_and(|values| values.wrong.is_empty())
    };
    TYPES.iter().find(is_right).cloned().unwrap_or(text)
}

/// True if a record is a row of these types.
fn fits(record: &[Vec<u8>], schema: &Schema, options: &TextOptions, formats: &Formats) -> bool {
    let record = [record.to_vec()];
    schema.fields().iter().enumerate().all(|(column, field)| {
        let values = column_of(&record, column, options, false).values(field.data_type(), formats);
        values.is_ok_and(|values| values.wrong.is_empty())
    }) && !record[0]
        .iter()
        .zip(schema.fields())
        .all(|(field, column)| column.name().as_bytes().eq_ignore_ascii_case(field))
}

/// Names of the columns, each once.
fn names(header: Option<&Vec<Vec<u8>>>, width: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(width);
    for column in 0..width {
        let given = header.and_then(|header| header.get(column)).map(|name| String::from_utf8_lossy(name));
        let base = match given.as_deref().map(str::trim) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("column{column}"),
        };
        let is_taken = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let mut name = base.clone();
        let mut number = 1;
        while is_taken(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}
