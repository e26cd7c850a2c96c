//! Rows as CSV. Columns of common types are written directly, all others as casts to VARCHAR write them.

use std::fmt::Write as _;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use chrono::{DateTime, Utc};
use godwit_common::{Error, Result};
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY};
use godwit_types::calendar::{is_finite_date, is_finite_timestamp, ticks_per_second};
use godwit_types::{SqlType, Value, write_offset_minutes};
use godwit_vector::kernels::date::{Civil, civil_from_days};
use godwit_vector::sql::Reader;
use godwit_vector::{Chunk, Flat, StrColumn, Vector, match_integer_type};

use crate::text::Delimiter;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The characters that occur in numbers, dates and timestamps.
const CHARACTERS_OF_NUMBERS: &[u8] = b"0123456789-.: ";

/// Options of a CSV file.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// True if the first line names the columns.
    pub(super) header: bool,
    pub(super) delimiter: Delimiter,
    pub(super) quote: u8,
    /// The escape character for quotes within quotes.
    pub(super) escape: u8,
    /// The text for NULL, without quotes.
    pub(super) null: String,
    /// `None`: ISO 8601.
    pub(super) date_format: Option<String>,
    pub(super) timestamp_format: Option<String>,
    pub(super) force_quote: ForceQuote,
}

/// Columns whose values are always quoted. NULL never is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ForceQuote {
    None,
    /// Column names in lower case.
    Columns(Vec<String>),
    All,
}

impl ForceQuote {
    fn has(&self, column: &str) -> bool {
        match self {
            ForceQuote::None => false,
            ForceQuote::Columns(names) => names.contains(&column.to_lowercase()),
            ForceQuote::All => true,
        }
    }
}

impl CsvOptions {
    /// Appends the line that names the columns.
    pub(super) fn write_header(&self, schema: &Schema, out: &mut Vec<u8>) {
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(self.delimiter.bytes());
            }
            self.write_field(field.name().as_bytes(), false, out);
        }
        out.push(b'\n');
    }

    /// Appends a line for each row; `types` are those of the columns.
    pub(super) fn write_rows(
        &self,
        chunk: &Chunk,
        schema: &Schema,
        types: &[SqlType],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let columns = schema.fields().iter().zip(types).enumerate();
        let columns = columns.map(|(index, (field, ty))| Column::of(chunk.dense(index), field, ty, self));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut text = String::new();
        for row in 0..chunk.len() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(self.delimiter.bytes());
                }
                if !column.vector.is_valid(row) {
                    out.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                match &column.cells {
                    Cells::Integers(values) => write_integer(values[row], out),
                    Cells::Decimals(values, scale) => write_decimal(values[row], *scale, out),
                    Cells::Dates(values) => write_date(values[row], out),
                    Cells::Moments(values) => write_moment(values[row], out),
                    Cells::Texts(texts) => self.write_field(texts.get(row), column.is_forced, out),
                    Cells::Other(values) => {
                        text.clear();
                        values.write(row, &mut text)?;
                        self.write_field(text.as_bytes(), column.is_forced, out);
                    }
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }

    /// Appends a value, quoted if it could be mistaken for something else.
    fn write_field(&self, value: &[u8], is_forced: bool, out: &mut Vec<u8>) {
        // A value that has the first byte of a longer delimiter may end with it.
        let first = self.delimiter.bytes()[0];
        let is_special = |byte: u8| byte == first || byte == self.quote || byte == b'\n' || byte == b'\r';
        // Without an early exit, the loop compares many bytes at a time.
        let has_special = value.iter().fold(false, |any, &byte| any | is_special(byte));
        if value != self.null.as_bytes() && !has_special && !is_forced {
            out.extend_from_slice(value);
            return;
        }
        out.push(self.quote);
        for &byte in value {
            if byte == self.quote || byte == self.escape {
                out.push(self.escape);
            }
            out.push(byte);
        }
        out.push(self.quote);
    }

    /// Returns the user's format for values of a type.
    fn format(&self, ty: &SqlType) -> Option<&str> {
        match ty {
            SqlType::Date => self.date_format.as_deref(),
            _ if ty.is_timestamp() => self.timestamp_format.as_deref(),
            _ => None,
        }
    }

    /// Returns true if no number, date or timestamp can be mistaken for something else.
    fn numbers_are_plain(&self) -> bool {
        let is_of_number = |byte: &u8| CHARACTERS_OF_NUMBERS.contains(byte);
        let is_null = !self.null.is_empty() && self.null.as_bytes().iter().all(is_of_number);
        !is_null && !is_of_number(&self.delimiter.bytes()[0]) && !is_of_number(&self.quote)
    }
}

/// A column of a chunk.
struct Column<'a> {
    vector: Vector,
    cells: Cells<'a>,
    /// True if all values are quoted.
    is_forced: bool,
}

/// Values in the form in which they are written.
enum Cells<'a> {
    Integers(Vec<i64>),
    /// With this many digits after the point.
    Decimals(Vec<i64>, usize),
    /// Days since 1970.
    Dates(Vec<i64>),
    /// Microseconds since 1970.
    Moments(Vec<i64>),
    Texts(StrColumn),
    Other(OtherCells<'a>),
}

impl<'a> Column<'a> {
    fn of(vector: Vector, field: &Field, ty: &'a SqlType, options: &'a CsvOptions) -> Result<Self> {
        let (data_type, is_forced) = (field.data_type(), options.force_quote.has(field.name()));
        let is_text = matches!(data_type, DataType::Utf8View | DataType::Utf8);
        let cells = match cells_of(&vector, data_type, options).filter(|_| is_text || !is_forced) {
            Some(cells) => cells,
            None => Cells::Other(OtherCells { values: Reader::new(&vector, ty)?, ty, format: options.format(ty) }),
        };
        Ok(Self { vector, cells, is_forced })
    }
}

/// Values that are formatted one by one.
struct OtherCells<'a> {
    values: Reader<'a>,
    ty: &'a SqlType,
    /// The user's format.
    format: Option<&'a str>,
}

impl OtherCells<'_> {
    fn write(&self, row: usize, out: &mut String) -> Result<()> {
        let Some(format) = self.format else {
            let start = out.len();
            self.values.write_text(row, out)?;
            if *self.ty == SqlType::TimestampTz {
                write_offset_minutes(out, start);
            }
            return Ok(());
        };
        let value = self.values.value(row)?;
        let is_infinite = match value {
            Value::Date(days) => !is_finite_date(days),
            Value::Timestamp(ticks) => !is_finite_timestamp(ticks),
            _ => false,
        };
        if is_infinite {
            return self.values.write_text(row, out).map(|_| ());
        }
        let moment = moment_of(&value, self.ty).ok_or_else(|| {
            Error::unsupported(format!("a year that formats don't know, in a column of type {}", self.ty))
        })?;
        let written = match self.ty {
            SqlType::Date => write!(out, "{}", moment.date_naive().format(format)),
            SqlType::TimestampTz => write!(out, "{}", moment.format(format)),
            _ => write!(out, "{}", moment.naive_utc().format(format)),
        };
        written.map_err(|_| {
            Error::user(format!("'{format}' is not a format for values of type {}", self.ty))
                .with_hint("formats consist of fields such as %Y, %m, %d, %H, %M and %S, and of text")
        })
    }
}

/// Returns the moment of a date or a timestamp; `None` if its year is out of range.
fn moment_of(value: &Value, ty: &SqlType) -> Option<DateTime<Utc>> {
    match value {
        Value::Date(days) => DateTime::from_timestamp(i64::from(*days) * SECONDS_PER_DAY, 0),
        Value::Timestamp(ticks) => {
            let per_second = ticks_per_second(ty);
            let nanos = ticks.rem_euclid(per_second) * (NANOS_PER_SECOND / per_second);
            DateTime::from_timestamp(ticks.div_euclid(per_second), u32::try_from(nanos).ok()?)
        }
        _ => None,
    }
}

/// Returns values of types that are written here; `None` if some are out of range.
fn cells_of(vector: &Vector, data_type: &DataType, options: &CsvOptions) -> Option<Cells<'static>> {
    use DataType as D;
    let flat = vector.to_flat();
    if let (D::Utf8View | D::Utf8, Flat::Str(texts)) = (data_type, &flat) {
        return Some(Cells::Texts(texts.clone()));
    }
    if !options.numbers_are_plain() {
        return None;
    }
    match data_type {
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => {
            Some(Cells::Integers(integers(&flat)?))
        }
        D::Decimal128(_, scale) => Some(Cells::Decimals(integers(&flat)?, usize::try_from(*scale).ok()?)),
        D::Date32 if options.date_format.is_none() => {
            let days = integers(&flat)?;
            days.iter().all(|&days| has_four_digits(civil_from_days(days))).then_some(Cells::Dates(days))
        }
        D::Timestamp(TimeUnit::Microsecond, None) if options.timestamp_format.is_none() => {
            let micros = integers(&flat)?;
            let day = |micros: i64| civil_from_days(micros.div_euclid(MICROS_PER_DAY));
            micros.iter().all(|&micros| has_four_digits(day(micros))).then_some(Cells::Moments(micros))
        }
        _ => None,
    }
}

/// Other years are written with more digits, or with the era.
fn has_four_digits(day: Civil) -> bool {
    (1..=9999).contains(&day.year)
}

/// Returns integers of any width; `None` if some need more than 64 bits.
#[expect(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "the same code is for all types, two of which are wider"
)]
fn integers(flat: &Flat) -> Option<Vec<i64>> {
    if matches!(flat, Flat::Bool(_)) {
        return None;
    }
    match_integer_type!(flat.physical(), T => flat.values::<T>().iter().map(|&value| i64::try_from(value).ok()).collect(),
        _other => None)
}

/// Decimal digits of the numbers below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Length of the longest 64-bit integer without its sign.
const DIGITS_MAX: usize = 20;

/// Writes a number with at least `least` digits to the end of `buffer` and returns the digits.
#[inline]
fn digits(mut number: u64, least: usize, buffer: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut at = DIGITS_MAX;
    while number >= 10 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 {
        at -= 1;
        buffer[at] = b'0' + number as u8;
    }
    let start = at.min(DIGITS_MAX - least);
    buffer[start..at].fill(b'0');
    &buffer[start..]
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits(value.unsigned_abs(), 1, &mut [0; DIGITS_MAX]));
}

fn write_decimal(value: i64, scale: usize, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = [0; DIGITS_MAX];
    match scale {
        0 => out.extend_from_slice(digits(value.unsigned_abs(), 1, &mut buffer)),
        _ if scale < DIGITS_MAX => {
            let digits = digits(value.unsigned_abs(), scale + 1, &mut buffer);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        _ => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - DIGITS_MAX, b'0');
            out.extend_from_slice(digits(value.unsigned_abs(), DIGITS_MAX, &mut buffer));
        }
    }
}

fn write_date(days: i64, out: &mut Vec<u8>) {
    let Civil { year, month, day } = civil_from_days(days);
    let ([a, b], [c, d]) = (PAIRS[year as usize / 100], PAIRS[year as usize % 100]);
    let ([e, f], [g, h]) = (PAIRS[month as usize], PAIRS[day as usize]);
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Appends as many digits of the second as needed, in groups of three.
fn write_moment(micros: i64, out: &mut Vec<u8>) {
    write_date(micros.div_euclid(MICROS_PER_DAY), out);
    let micros_of_day = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, micros) = ((micros_of_day / MICROS_PER_SECOND) as usize, (micros_of_day % MICROS_PER_SECOND) as u64);
    let [[a, b], [c, d], [e, f]] = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(|number| PAIRS[number]);
    out.extend_from_slice(&[b' ', a, b, b':', c, d, b':', e, f]);
    if micros > 0 {
        out.push(b'.');
        let (fraction, places) = if micros % 1000 == 0 { (micros / 1000, 3) } else { (micros, 6) };
        out.extend_from_slice(digits(fraction, places, &mut [0; DIGITS_MAX]));
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Decimal128Type, DecimalType};
    use chrono::Datelike;
    use godwit_types::{format_value, parse_value};
    use godwit_vector::sql::{arrow_type, type_of_field, vector_of_values};
    use proptest::prelude::*;

    use super::*;

    fn options() -> CsvOptions {
        CsvOptions {
            header: true,
            delimiter: Delimiter::one(b','),
            quote: b'"',
            escape: b'"',
            null: String::new(),
            date_format: None,
            timestamp_format: None,
            force_quote: ForceQuote::None,
        }
    }

    fn write(vector: Vector, data_type: DataType, options: &CsvOptions) -> Result<String> {
        let field = Field::new("a", data_type, true);
        let types = [type_of_field(&field)?];
        let chunk = Chunk::new(vec![vector], 1);
        let mut out = Vec::new();
        options.write_rows(&chunk, &Schema::new(vec![field]), &types, &mut out)?;
        Ok(String::from_utf8(out).unwrap().trim_end_matches('\n').to_owned())
    }

    fn written(vector: Vector, data_type: DataType, options: &CsvOptions) -> String {
        write(vector, data_type, options).unwrap()
    }

    fn of_text(text: &str, ty: &SqlType, options: &CsvOptions) -> Result<String> {
        let value = parse_value(text, ty).unwrap();
        write(vector_of_values(&[value], ty)?, arrow_type(ty)?, options)
    }

    #[test]
    fn other_values_are_written_as_casts_do() {
        for (ty, text, expected) in [
            (SqlType::Boolean, "true", "true"),
            (SqlType::Real, "0.1", "0.1"),
            (SqlType::Double, "-1e300", "-1e300"),
            (SqlType::Double, "nan", "NaN"),
            (SqlType::Time, "04:05:06.5", "04:05:06.5"),
            (SqlType::TimestampNs, "2020-01-31 04:05:06.789", "2020-01-31 04:05:06.789"),
            (SqlType::TimestampTz, "2020-01-31 04:05:06+01", "2020-01-31 03:05:06+00:00"),
            (SqlType::Date, "0044-03-15 BC", "0044-03-15 BC"),
            (SqlType::Interval, "1 month 2 days", "1 month 2 days"),
            (SqlType::Blob, "\\x00ff", "\\x00ff"),
            (SqlType::list_of(SqlType::Integer), "[1, NULL]", "\"[1, NULL]\""),
        ] {
            assert_eq!(of_text(text, &ty, &options()).unwrap(), expected, "{ty}");
        }
        let forced = CsvOptions { force_quote: ForceQuote::All, ..options() };
        assert_eq!(of_text("12", &SqlType::Integer, &forced).unwrap(), "\"12\"");
    }

    #[test]
    fn days_and_moments_are_written_in_a_format() {
        let of_format = |format: &str| CsvOptions {
            date_format: Some(format.to_owned()),
            timestamp_format: Some(format.to_owned()),
            ..options()
        };
        let german = of_format("%d.%m.%Y");
        for (ty, text) in [
            (SqlType::Date, "2024-02-29"),
            (SqlType::TimestampS, "2024-02-29 23:59:59"),
            (SqlType::TimestampTz, "2024-02-29 23:59:59+00"),
        ] {
            assert_eq!(of_text(text, &ty, &german).unwrap(), "29.02.2024", "{ty}");
            assert_eq!(of_text("-infinity", &ty, &german).unwrap(), "-infinity", "{ty}");
        }
        let clock = of_format("%H:%M:%S%.6f %z");
        let moment = of_text("1969-12-31 23:59:59.5+00", &SqlType::TimestampTz, &clock);
        assert_eq!(moment.unwrap(), "23:59:59.500000 +0000");
        // A date has no time of day, a timestamp no zone.
        for (ty, format) in [(SqlType::Date, "%H"), (SqlType::Timestamp, "%z"), (SqlType::Date, "%Q")] {
            let error = of_text("2024-02-29", &ty, &of_format(format)).unwrap_err();
            assert_eq!(error.message(), format!("'{format}' is not a format for values of type {ty}"));
        }
    }

    proptest! {
        #[test]
        fn numbers_and_days_are_written_as_others_do(value in any::<i64>(), shift in 0u32..64, scale in 0i8..25) {
            let value = value >> shift;
            let one = || Vector::from_values(vec![value], None);
            prop_assert_eq!(written(one(), DataType::Int64, &options()), value.to_string());
            // What isn't plain is written value by value.
            let other = CsvOptions { delimiter: Delimiter::one(b'.'), ..options() };
            let text = written(one(), DataType::Decimal128(25, scale), &options());
            let formatted = Decimal128Type::format_decimal(i128::from(value), 38, scale);
            prop_assert_eq!(&text, &formatted);
            let by_value = written(one(), DataType::Decimal128(25, scale), &other);
            prop_assert_eq!(by_value.trim_matches('"'), formatted);

            let micros = value % 100_000_000_000_000_000;
            let moment = DateTime::from_timestamp_micros(micros).unwrap().naive_utc();
            let expected = match moment.year() {
                1..=9999 => moment.format("%Y-%m-%d %H:%M:%S%.f").to_string(),
                _ => format_value(&Value::Timestamp(micros), &SqlType::Timestamp),
            };
            let data_type = DataType::Timestamp(TimeUnit::Microsecond, None);
            prop_assert_eq!(written(Vector::from_values(vec![micros], None), data_type, &options()), expected);
            let days = (value % 2_000_000) as i32;
            let day = DateTime::from_timestamp(i64::from(days) * SECONDS_PER_DAY, 0).unwrap().date_naive();
            let expected = match day.year() {
                1..=9999 => day.to_string(),
                _ => format_value(&Value::Date(days), &SqlType::Date),
            };
            prop_assert_eq!(written(Vector::from_values(vec![days], None), DataType::Date32, &options()), expected);
        }
    }
}
