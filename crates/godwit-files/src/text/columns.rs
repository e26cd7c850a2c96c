//! Columns of fields that Arrow's casts make typed vectors of.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Date32Array, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use chrono::{NaiveDate, NaiveDateTime};
use godwit_common::{Error, Result};
use godwit_vector::{Bitmap, Flat, StrBuilder, Vector, from_arrow};

/// How dates and timestamps are written; `None`: as in ISO 8601.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Formats {
    pub date: Option<String>,
    pub timestamp: Option<String>,
}

/// The fields of a column, in sequence.
#[derive(Default)]
pub(super) struct TextColumn {
    texts: StrBuilder,
    valid: Vec<bool>,
}

/// The values of a column, and the rows whose field isn't a value of its type.
pub(super) struct Values {
    pub vector: Vector,
    pub wrong: Vec<u32>,
    /// Arrow has cast some of them.
    pub is_cast: bool,
}

impl TextColumn {
    /// Appends a field; blanks around values that aren't text are ignored.
    pub(super) fn push(&mut self, field: &[u8], null: Option<&[u8]>, is_text: bool) {
        let field = if is_text { field } else { field.trim_ascii() };
        let is_null = Some(field) == null;
        self.texts.push(if is_null { &[] } else { field });
        self.valid.push(!is_null);
    }

    /// Appends a missing field.
    pub(super) fn push_null(&mut self) {
        self.texts.push(&[]);
        self.valid.push(false);
    }

    fn len(&self) -> usize {
        self.texts.len()
    }

    fn field(&self, row: usize) -> &[u8] {
        self.texts.get(row)
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter(|&row| self.valid[row]).map(|row| self.field(row))
    }

    /// The values, of UTF-8 text.
    pub(super) fn values(&self, data_type: &DataType, formats: &Formats) -> Result<Values> {
        if matches!(data_type, DataType::Utf8View | DataType::Utf8) {
            let validity = self.valid.contains(&false).then(|| Bitmap::from_fn(self.len(), |row| self.valid[row]));
            let strings = Flat::Str(self.texts.clone().finish());
            return Ok(Values { vector: Vector::flat(strings, validity), wrong: Vec::new(), is_cast: false });
        }
        let array = self.typed(data_type, formats)?;
        let wrong = (0..self.len()).filter(|&row| self.valid[row] && array.is_null(row)).map(|row| row as u32);
        Ok(Values { wrong: wrong.collect(), vector: from_arrow(&array)?, is_cast: true })
    }

    /// An array in which fields that aren't values are NULL.
    fn typed(&self, data_type: &DataType, formats: &Formats) -> Result<ArrayRef> {
        match (data_type, &formats.date, &formats.timestamp) {
            (DataType::Date32, Some(format), _) => {
                let day = |text: &str| Some(days(NaiveDate::parse_from_str(text, format).ok()?));
                return Ok(Arc::new(self.parsed(day).collect::<Date32Array>()));
            }
            (DataType::Timestamp(TimeUnit::Microsecond, None), _, Some(format)) => {
                let moment =
                    |text: &str| Some(NaiveDateTime::parse_from_str(text, format).ok()?.and_utc().timestamp_micros());
                return Ok(Arc::new(self.parsed(moment).collect::<TimestampMicrosecondArray>()));
            }
            _ => {}
        }
        let starts = std::iter::once(0).chain(self.texts.ends().iter().map(|&end| end as i32)).collect::<Vec<i32>>();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(starts));
        let nulls = NullBuffer::from(self.valid.clone());
        let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
        let strings =
            StringArray::try_new(offsets, Buffer::from_slice_ref(self.texts.bytes()), Some(nulls)).map_err(internal)?;
        let options = CastOptions { safe: true, ..CastOptions::default() };
        cast_with_options(&strings, data_type, &options)
            .map_err(|_| Error::unsupported(format!("reading {data_type} from text")))
    }

    fn parsed<'a, T>(&'a self, parse: impl Fn(&str) -> Option<T> + 'a) -> impl Iterator<Item = Option<T>> + 'a {
        (0..self.len()).map(move |row| {
            let text = std::str::from_utf8(self.field(row)).ok()?;
            if self.valid[row] { parse(text) } else { None }
        })
    }
}

/// Days since 1970.
fn days(date: NaiveDate) -> i32 {
    date.signed_duration_since(NaiveDate::default()).num_days() as i32
}
