//! The values of a column, given the positions of its fields. Usual spellings are read in one pass; fields in other
//! spellings are collected and read as SQL's casts do.

use arrow_schema::{DataType, TimeUnit};
use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::{Bitmap, Flat, Native, PhysicalType, StrColumn, Vector};

use super::columns::{ColumnForm, Nulls, TextColumn, Values};
use super::parse;
use super::times::{self, DayForm};

/// The fields of a column, one for each record.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub bytes: &'a [u8],
    /// The positions of all records, the same number for each.
    pub places: &'a [u32],
    pub places_per_record: usize,
    /// Which of a record's positions is the start of the field; the next one is a byte after its end. A field that ends
    /// before it begins is missing: NULL.
    pub place: usize,
    /// The quote character of quoted fields.
    pub quote: Option<u8>,
    /// Fields that stand for NULL.
    pub nulls: Nulls<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn len(&self) -> usize {
        self.places.len() / self.places_per_record
    }

    /// Returns the field of a record as written, without quotes; `None`: NULL.
    #[inline]
    pub(super) fn get(&self, record: usize) -> Option<&'a [u8]> {
        let at = record * self.places_per_record + self.place;
        let (start, end) = (self.places[at] as usize, (self.places[at + 1] - 1) as usize);
        let field = match self.bytes.get(start..end)? {
            [first, inner @ .., last] if Some(*first) == self.quote && first == last => {
                if self.nulls.never_quoted {
                    return Some(inner);
                }
                inner
            }
            field => field,
        };
        if self.nulls.has(field) { None } else { Some(field) }
    }

    /// Returns the values of a column that isn't text, and the records whose fields aren't values of its type.
    pub(super) fn values(&self, data_type: &DataType, physical: PhysicalType, form: &ColumnForm) -> Result<Values> {
        use DataType as D;
        if form.ty.as_ref().is_some_and(|ty| *ty != SqlType::HugeInt) {
            return self.cast(data_type, form);
        }
        if form.marks_numbers() && data_type.is_numeric() {
            return self.cast(data_type, form);
        }
        let iso = form.day.is_none_or(|day| day == DayForm::ALL[0]);
        macro_rules! integers {
            ($T:ty) => {
                self.read(|text| <$T>::try_from(parse::integer(text)?).ok(), data_type, form)
            };
        }
        match (data_type, physical) {
            (D::Int8, _) => integers!(i8),
            (D::Int16, _) => integers!(i16),
            (D::Int32, _) => integers!(i32),
            (D::Int64, _) => integers!(i64),
            (D::UInt8, _) => integers!(u8),
            (D::UInt16, _) => integers!(u16),
            (D::UInt32, _) => integers!(u32),
            (D::UInt64, _) => integers!(u64),
            (D::Float32, _) => self.read(parse::real, data_type, form),
            (D::Float64, _) => self.read(parse::float, data_type, form),
            (D::Date32, _) if form.date_format.is_some() => self.cast(data_type, form),
            (D::Date32, _) if iso => self.read(parse::date, data_type, form),
            (D::Date32, _) => self.read(|text| times::day(text, form.day?), data_type, form),
            (D::Timestamp(TimeUnit::Microsecond, _), _) if form.timestamp_format.is_some() => {
                self.cast(data_type, form)
            }
            (D::Timestamp(TimeUnit::Microsecond, None), _) if iso => self.read(parse::timestamp, data_type, form),
            (D::Timestamp(TimeUnit::Microsecond, _), _) if form.day.is_some() => {
                self.read(|text| times::moment(text, form.day?).map(|moment| moment.micros), data_type, form)
            }
            (D::Time64(TimeUnit::Microsecond), _) => self.read(times::time, data_type, form),
            (&D::Decimal128(precision, scale), PhysicalType::I32) => {
                self.read(|text| Some(parse::decimal(text, precision, scale)? as i32), data_type, form)
            }
            (&D::Decimal128(precision, scale), PhysicalType::I64) => {
                self.read(|text| parse::decimal(text, precision, scale), data_type, form)
            }
            (&D::Decimal128(precision, scale), _) => {
                self.read(|text| Some(i128::from(parse::decimal(text, precision, scale)?)), data_type, form)
            }
            (D::Boolean, _) => {
                let read = self.read(parse::boolean, data_type, form)?;
                let (flat, validity) = (read.vector.to_flat(), read.vector.validity().cloned());
                let vector = Vector::from_bools(flat.values::<u8>().to_vec(), None).with_validity(validity);
                Ok(Values { vector, ..read })
            }
            _ => self.cast(data_type, form),
        }
    }

    /// Reads fields with `parse`, and those that it rejects as casts do.
    fn read<T: Native + Default>(
        &self,
        parse: impl Fn(&[u8]) -> Option<T>,
        data_type: &DataType,
        form: &ColumnForm,
    ) -> Result<Values> {
        let records = self.len();
        let mut values: Vec<T> = Vec::with_capacity(records);
        let (mut nulls, mut odd): (Vec<u32>, Vec<u32>) = Default::default();
        for record in 0..records {
            let field = self.get(record);
            let value = field.and_then(&parse);
            if value.is_none() {
                let unread = if field.is_some() { &mut odd } else { &mut nulls };
                unread.push(record as u32);
            }
            values.push(value.unwrap_or_default());
        }
        let mut wrong = Vec::new();
        if !odd.is_empty() {
            let read = self.texts(&odd).values(data_type, form)?;
            let flat = match read.vector.to_flat() {
                Flat::Bool(values) => Flat::U8(values),
                flat => flat,
            };
            for (at, &record) in odd.iter().enumerate() {
                values[record as usize] = flat.values::<T>()[at];
                if !read.vector.is_valid(at) {
                    nulls.push(record);
                }
            }
            wrong.extend(read.wrong.iter().map(|&at| odd[at as usize]));
        }
        let validity = (!nulls.is_empty()).then(|| {
            let mut validity = Bitmap::filled(records, true);
            nulls.iter().for_each(|&record| validity.set(record as usize, false));
            validity
        });
        Ok(Values { vector: Vector::from_values(values, validity), wrong })
    }

    /// Reads all fields as casts do.
    fn cast(&self, data_type: &DataType, form: &ColumnForm) -> Result<Values> {
        let all: Vec<u32> = (0..self.len() as u32).collect();
        self.texts(&all).values(data_type, form)
    }

    fn texts(&self, records: &[u32]) -> TextColumn {
        let mut texts = TextColumn::default();
        for &record in records {
            match self.get(record as usize) {
                // What is left isn't NULL, though its text may be one that is elsewhere.
                Some(field) => texts.push(field, Nulls::default(), false),
                None => texts.push_null(),
            }
        }
        texts
    }

    /// Returns the texts of some records, or of all.
    pub(super) fn strings(&self, selected: Option<&[u32]>) -> Vector {
        match selected {
            Some(selected) => self.strings_of(selected.iter().map(|&record| record as usize)),
            None => self.strings_of(0..self.len()),
        }
    }

    fn strings_of(&self, records: impl ExactSizeIterator<Item = usize> + Clone) -> Vector {
        let mut has_nulls = false;
        let strings = StrColumn::copied(records.clone().map(|record| {
            let field = self.get(record);
            has_nulls |= field.is_none();
            field.unwrap_or_default()
        }));
        let len = records.len();
        let mut records = records;
        let validity = has_nulls
            .then(|| Bitmap::from_fn(len, |_| records.next().is_some_and(|record| self.get(record).is_some())));
        Vector::flat(Flat::Str(strings), validity)
    }
}
