//! Rows as CSV. Columns of common types are written directly, all others by Arrow's formatters.

use arrow_array::ArrayRef;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use godwit_common::{Error, Result};
use godwit_vector::kernels::date::{Civil, civil_from_days};
use godwit_vector::{Chunk, Flat, StrColumn, Vector, match_integer_type, to_arrow};

pub(super) const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";
pub(super) const TIMESTAMP_TZ_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f%:z";

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// The characters that occur in numbers, dates and timestamps.
const CHARACTERS_OF_NUMBERS: &[u8] = b"0123456789-.: ";

/// Options of a CSV file.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// True if the first line names the columns.
    pub(super) header: bool,
    pub(super) delimiter: u8,
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
                out.push(self.delimiter);
            }
            self.write_field(field.name().as_bytes(), false, out);
        }
        out.push(b'\n');
    }

    /// Appends a line for each row.
    pub(super) fn write_rows(&self, chunk: &Chunk, schema: &Schema, out: &mut Vec<u8>) -> Result<()> {
        let columns = schema.fields().iter().enumerate();
        let columns = columns.map(|(index, field)| Column::of(chunk.dense(index), field, self));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let formats = FormatOptions::new()
            .with_date_format(self.date_format.as_deref())
            .with_timestamp_format(Some(self.timestamp_format.as_deref().unwrap_or(TIMESTAMP_FORMAT)))
            .with_timestamp_tz_format(Some(self.timestamp_format.as_deref().unwrap_or(TIMESTAMP_TZ_FORMAT)));
        let formatters = columns.iter().map(|column| column.formatter(&formats)).collect::<Result<Vec<_>>>()?;
        let mut text = String::new();
        for row in 0..chunk.len() {
            for (index, (column, formatter)) in columns.iter().zip(&formatters).enumerate() {
                if index > 0 {
                    out.push(self.delimiter);
                }
                if !column.vector.is_valid(row) {
                    out.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                match (&column.cells, formatter) {
                    (Cells::Integers(values), _) => write_integer(values[row], out),
                    (Cells::Decimals(values, scale), _) => write_decimal(values[row], *scale, out),
                    (Cells::Dates(values), _) => write_date(values[row], out),
                    (Cells::Moments(values), _) => write_moment(values[row], out),
                    (Cells::Texts(texts), _) => self.write_field(texts.get(row), column.is_forced, out),
                    (Cells::Other(_), formatter) => {
                        let formatter = formatter.as_ref().expect("what isn't written here has a formatter");
                        text.clear();
                        formatter.value(row).write(&mut text).map_err(unwritable)?;
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
        let is_special = |byte: u8| byte == self.delimiter || byte == self.quote || byte == b'\n' || byte == b'\r';
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

    /// Returns true if no number, date or timestamp can be mistaken for something else.
    fn numbers_are_plain(&self) -> bool {
        let is_of_number = |byte: &u8| CHARACTERS_OF_NUMBERS.contains(byte);
        let is_null = !self.null.is_empty() && self.null.as_bytes().iter().all(is_of_number);
        !is_null && !is_of_number(&self.delimiter) && !is_of_number(&self.quote)
    }
}

/// A column of a chunk.
struct Column {
    vector: Vector,
    cells: Cells,
    /// True if all values are quoted.
    is_forced: bool,
}

/// Values in the form in which they are written.
enum Cells {
    Integers(Vec<i64>),
    /// With this many digits after the point.
    Decimals(Vec<i64>, usize),
    /// Days since 1970.
    Dates(Vec<i64>),
    /// Microseconds since 1970.
    Moments(Vec<i64>),
    Texts(StrColumn),
    Other(ArrayRef),
}

impl Column {
    fn of(vector: Vector, field: &Field, options: &CsvOptions) -> Result<Self> {
        let (data_type, is_forced) = (field.data_type(), options.force_quote.has(field.name()));
        let is_text = matches!(data_type, DataType::Utf8View | DataType::Utf8);
        let cells = match cells_of(&vector, data_type, options).filter(|_| is_text || !is_forced) {
            Some(cells) => cells,
            None => Cells::Other(to_arrow(&vector, data_type)?),
        };
        Ok(Self { vector, cells, is_forced })
    }

    fn formatter<'a>(&'a self, formats: &FormatOptions<'a>) -> Result<Option<ArrayFormatter<'a>>> {
        match &self.cells {
            Cells::Other(array) => ArrayFormatter::try_new(array, formats).map(Some).map_err(unwritable),
            _ => Ok(None),
        }
    }
}

/// Returns values of types that are written here; `None` if some are out of range.
fn cells_of(vector: &Vector, data_type: &DataType, options: &CsvOptions) -> Option<Cells> {
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

fn has_four_digits(day: Civil) -> bool {
    (0..=9999).contains(&day.year)
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

pub(super) fn unwritable(error: ArrowError) -> Error {
    Error::unsupported(format!("writing values as text: {error}")).with_hint("check the date and timestamp formats")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, DecimalType};
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn options() -> CsvOptions {
        CsvOptions {
            header: true,
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            null: String::new(),
            date_format: None,
            timestamp_format: None,
            force_quote: ForceQuote::None,
        }
    }

    fn written(vector: Vector, data_type: DataType, options: &CsvOptions) -> String {
        let chunk = Chunk::new(vec![vector], 1);
        let mut out = Vec::new();
        options.write_rows(&chunk, &Schema::new(vec![Arc::new(Field::new("a", data_type, true))]), &mut out).unwrap();
        String::from_utf8(out).unwrap().trim_end_matches('\n').to_owned()
    }

    proptest! {
        #[test]
        fn numbers_and_days_are_written_as_arrow_and_chrono_do(value in any::<i64>(), shift in 0u32..64, scale in 0i8..25) {
            let value = value >> shift;
            let one = || Vector::from_values(vec![value], None);
            prop_assert_eq!(written(one(), DataType::Int64, &options()), value.to_string());
            // Compares the output of Arrow's formatter with ours.
            let other = CsvOptions { delimiter: b'.', ..options() };
            let text = written(one(), DataType::Decimal128(25, scale), &options());
            let formatted = Decimal128Type::format_decimal(i128::from(value), 38, scale);
            prop_assert_eq!(&text, &formatted);
            let by_arrow = written(one(), DataType::Decimal128(25, scale), &other);
            prop_assert_eq!(by_arrow.trim_matches('"'), formatted);
            let micros = value % 100_000_000_000_000_000;
            let moment = written(Vector::from_values(vec![micros], None), DataType::Timestamp(TimeUnit::Microsecond, None), &options());
            let expected = DateTime::from_timestamp_micros(micros).unwrap().naive_utc().format(TIMESTAMP_FORMAT).to_string();
            prop_assert_eq!(moment, expected);
            let days = (value % 2_000_000) as i32;
            let expected = DateTime::from_timestamp(i64::from(days) * 86_400, 0).unwrap().date_naive().to_string();
            prop_assert_eq!(written(Vector::from_values(vec![days], None), DataType::Date32, &options()), expected);
        }
    }
}
