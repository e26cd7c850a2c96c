//! Columns of fields in unusual notations, read value by value as SQL's casts do.

use arrow_schema::DataType;
use chrono::{NaiveDate, NaiveDateTime};
use godwit_common::{Error, Result};
use godwit_types::{SqlType, Value, parse_value};
use godwit_vector::sql::{arrow_type, sql_type, vector_of_values};
use godwit_vector::{Bitmap, Flat, StrBuilder, Vector};

use super::options::TextOptions;
use super::times::{self, DayForm};

/// The notation of a column's values; SQL's by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ColumnForm {
    /// The form of dates, also in timestamps.
    pub day: Option<DayForm>,
    /// Formats given by the user, in strptime's notation.
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    /// Separators in numbers.
    pub thousands: Option<u8>,
    pub decimal_separator: Option<u8>,
    /// The type of the values, if that of vectors doesn't tell: HUGEINT and DECIMAL(38, 0) are stored the same way.
    pub ty: Option<SqlType>,
}

/// The texts that stand for NULL.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nulls<'a> {
    pub first: Option<&'a [u8]>,
    pub others: &'a [Vec<u8>],
    /// True if they stand for themselves in quotes.
    pub never_quoted: bool,
}

impl<'a> Nulls<'a> {
    pub(super) fn of(texts: &'a [Vec<u8>]) -> Self {
        match texts.split_first() {
            Some((first, others)) => Self { first: Some(first), others, never_quoted: false },
            None => Self::default(),
        }
    }

    #[inline]
    pub(super) fn has(&self, field: &[u8]) -> bool {
        Some(field) == self.first || (!self.others.is_empty() && self.others.iter().any(|null| null == field))
    }
}

impl ColumnForm {
    /// Returns the notation that the user gives all columns.
    pub(super) fn of_user(options: &TextOptions) -> Self {
        Self {
            date_format: options.date_format.clone(),
            timestamp_format: options.timestamp_format.clone(),
            thousands: options.thousands,
            decimal_separator: options.decimal_separator,
            ..Self::default()
        }
    }

    /// Returns the type if that of its vectors is another one's as well.
    pub(super) fn own_type(ty: &SqlType) -> Option<SqlType> {
        let is_told = arrow_type(ty).and_then(|stored| sql_type(&stored)).is_ok_and(|stored| stored == *ty);
        (!is_told).then(|| ty.clone())
    }

    /// Returns true if numbers have other separators than a decimal point.
    pub(super) fn marks_numbers(&self) -> bool {
        self.thousands.is_some() || self.decimal_separator.is_some_and(|mark| mark != b'.')
    }

    /// Returns the value of a field without blanks around; `None` if it isn't one.
    pub(super) fn value(&self, field: &[u8], ty: &SqlType) -> Option<Value> {
        let text = std::str::from_utf8(field).ok()?;
        let is_time = matches!(ty, SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz);
        if is_time && text.strip_prefix('-').unwrap_or(text).starts_with(['i', 'I']) {
            return parse_value(text, ty).ok();
        }
        match (ty, self.day, &self.date_format, &self.timestamp_format) {
            (SqlType::Date, _, Some(format), _) => {
                let date = NaiveDate::parse_from_str(text, format).ok()?;
                Some(Value::Date(date.signed_duration_since(NaiveDate::default()).num_days() as i32))
            }
            (SqlType::Date, Some(form), ..) => times::day(field, form).map(Value::Date),
            (SqlType::Timestamp, _, _, Some(format)) => moment_of(text, format),
            // Formats seldom have a zone, so the usual spelling is one as well.
            (SqlType::TimestampTz, _, _, Some(format)) => {
                moment_of(text, format).or_else(|| parse_value(text, ty).ok())
            }
            (SqlType::Timestamp | SqlType::TimestampTz, Some(form), ..) => {
                let moment = times::moment(field, form).map(|moment| Value::Timestamp(moment.micros));
                moment.or_else(|| if form.is_of_casts() { parse_value(text, ty).ok() } else { None })
            }
            (ty, ..) if ty.is_numeric() => self.number(text, ty),
            _ => parse_value(text, ty).ok(),
        }
    }

    fn number(&self, text: &str, ty: &SqlType) -> Option<Value> {
        let plain = if self.marks_numbers() { Some(self.plain_number(text)?) } else { None };
        let text = plain.as_deref().unwrap_or(text);
        let of_radix = |digits: &str, radix| {
            let value = i128::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['-', '+']))?;
            parse_value(&value.to_string(), ty).ok()
        };
        match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => of_radix(&text[2..], 16),
            [b'0', b'b' | b'B', ..] => of_radix(&text[2..], 2),
            // A cast would round.
            number if ty.is_integer() && !number.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+')) => None,
            _ => parse_value(text, ty).ok(),
        }
    }

    /// Returns the number with a point and without other separators. Groups after separators have three digits.
    fn plain_number(&self, text: &str) -> Option<String> {
        let point = char::from(self.decimal_separator.unwrap_or(b'.'));
        let (whole, fraction) =
            text.split_once(point).map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
        let mut plain = String::with_capacity(text.len());
        for (at, group) in whole.split(|c| Some(c) == self.thousands.map(char::from)).enumerate() {
            if at > 0 && group.len() != 3 {
                return None;
            }
            plain.push_str(group);
        }
        if let Some(fraction) = fraction {
            plain.push('.');
            plain.push_str(fraction);
        }
        let has_other_point = point != '.' && text.contains('.') && self.thousands != Some(b'.');
        (!has_other_point).then_some(plain)
    }
}

/// Returns the timestamp that a text denotes in a format. Without a time of day, it is midnight.
fn moment_of(text: &str, format: &str) -> Option<Value> {
    let midnight = || Some(NaiveDate::parse_from_str(text, format).ok()?.and_time(Default::default()));
    let moment = NaiveDateTime::parse_from_str(text, format).ok().or_else(midnight)?;
    Some(Value::Timestamp(moment.and_utc().timestamp_micros()))
}

/// The fields of a column, in sequence.
#[derive(Default)]
pub(super) struct TextColumn {
    texts: StrBuilder,
    valid: Vec<bool>,
}

/// The values of a column, and the rows whose fields aren't values of its type.
pub(super) struct Values {
    pub vector: Vector,
    pub wrong: Vec<u32>,
}

impl TextColumn {
    /// Appends a field; blanks around values other than text are ignored.
    pub(super) fn push(&mut self, field: &[u8], nulls: Nulls<'_>, is_text: bool) {
        let field = if is_text { field } else { field.trim_ascii() };
        let is_null = nulls.has(field);
        self.texts.push(if is_null { &[] } else { field });
        self.valid.push(!is_null);
    }

    /// Appends a missing field.
    pub(super) fn push_null(&mut self) {
        self.texts.push(&[]);
        self.valid.push(false);
    }

    /// Returns the values, given text in UTF-8.
    pub(super) fn values(&self, data_type: &DataType, form: &ColumnForm) -> Result<Values> {
        let rows = self.texts.len();
        if matches!(data_type, DataType::Utf8View | DataType::Utf8) && form.ty.is_none() {
            let validity = self.valid.contains(&false).then(|| Bitmap::from_fn(rows, |row| self.valid[row]));
            let strings = Flat::Str(self.texts.clone().finish());
            return Ok(Values { vector: Vector::flat(strings, validity), wrong: Vec::new() });
        }
        let ty = match &form.ty {
            Some(ty) => ty.clone(),
            None => sql_type(data_type).map_err(|_| Error::unsupported(format!("reading {data_type} from text")))?,
        };
        let mut wrong = Vec::new();
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let value = if self.valid[row] { form.value(self.texts.get(row), &ty) } else { None };
            if value.is_none() && self.valid[row] {
                wrong.push(row as u32);
            }
            values.push(value.unwrap_or(Value::Null));
        }
        Ok(Values { wrong, vector: vector_of_values(&values, &ty)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_marks() {
        let form = ColumnForm { thousands: Some(b'.'), decimal_separator: Some(b','), ..ColumnForm::default() };
        let read = |text: &str| form.value(text.as_bytes(), &SqlType::Double);
        assert_eq!(read("1.234.567,5"), Some(Value::Float(1_234_567.5)));
        assert_eq!(read("-1,25"), Some(Value::Float(-1.25)));
        assert_eq!((read("1.23,5"), read("1,2,3"), read("x")), (None, None, None));
        let form = ColumnForm { decimal_separator: Some(b','), ..ColumnForm::default() };
        assert_eq!(form.value(b"1.5", &SqlType::Double), None);
        assert_eq!(ColumnForm::default().value(b"0x1F", &SqlType::BigInt), Some(Value::Integer(31)));
        assert_eq!(ColumnForm::default().value(b"0x-1", &SqlType::BigInt), None);
        assert_eq!(ColumnForm::default().value(b"1.5", &SqlType::BigInt), None);
        assert_eq!(ColumnForm::default().value(b"1.5", &SqlType::Double), Some(Value::Float(1.5)));
    }
}
