//! Puts the values that were found in a text together as vectors. Values that aren't of their type give `None`: trees
//! say what is wrong with them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use godwit_types::is_json;
use godwit_vector::{Bitmap, Flat, StrBuilder, Vector, from_arrow, to_arrow};

use super::super::columns::{ColumnForm, Nulls};
use super::super::values::Fields;
use super::objects::{Form, Found, Lists, Scalars, Structs};
use super::tree::unescaped;

impl Found {
    /// Returns the values, which were found in `bytes`.
    pub(super) fn vector(&self, bytes: &[u8]) -> Option<Vector> {
        match self {
            Found::Scalars(scalars) => scalars.vector(bytes),
            nested => from_arrow(&nested.array(bytes)?).ok(),
        }
    }

    fn array(&self, bytes: &[u8]) -> Option<ArrayRef> {
        match self {
            Found::Scalars(scalars) => scalars.array(bytes),
            Found::Lists(lists) => lists.array(bytes),
            Found::Structs(structs) => structs.array(bytes),
        }
    }
}

impl Scalars {
    fn vector(&self, bytes: &[u8]) -> Option<Vector> {
        let fields = self.fields(bytes);
        let is_valid: fn(&[u8]) -> bool = match self.form {
            Form::Text if self.are_escaped => return unescaped_strings(&fields),
            Form::Text => return Some(fields.strings(None)),
            Form::Json => |text| std::str::from_utf8(text).is_ok_and(is_json),
            Form::Uuid => is_usual_uuid,
            Form::Denoted | Form::Number | Form::Boolean => {
                let values = fields.values(&self.ty.logical, self.ty.physical, &ColumnForm::default()).ok()?;
                return values.wrong.is_empty().then_some(values.vector);
            }
        };
        (0..fields.len()).filter_map(|row| fields.get(row)).all(is_valid).then(|| fields.strings(None))
    }

    fn array(&self, bytes: &[u8]) -> Option<ArrayRef> {
        to_arrow(&self.vector(bytes)?, &self.ty.logical).ok()
    }

    fn fields<'a>(&'a self, bytes: &'a [u8]) -> Fields<'a> {
        let places = self.places.as_flattened();
        Fields { bytes, places, places_per_record: 2, place: 0, quote: None, nulls: Nulls::default() }
    }
}

/// Returns texts of which some have escapes.
fn unescaped_strings(fields: &Fields<'_>) -> Option<Vector> {
    let mut strings = StrBuilder::with_capacity(fields.len());
    for row in 0..fields.len() {
        let text = fields.get(row).unwrap_or_default();
        let text = match memchr::memchr(b'\\', text) {
            Some(_) => Cow::Owned(unescaped(std::str::from_utf8(text).ok()?)?.into_bytes()),
            None => Cow::Borrowed(text),
        };
        strings.push(&text);
    }
    let validity = Bitmap::from_fn(fields.len(), |row| fields.get(row).is_some());
    Some(Vector::flat(Flat::Str(strings.finish()), Some(validity)))
}

/// Returns true if a text is a UUID as SQL writes it.
fn is_usual_uuid(text: &[u8]) -> bool {
    let is_right = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.iter().enumerate().all(is_right)
}

impl Lists {
    fn array(&self, bytes: &[u8]) -> Option<ArrayRef> {
        let (elements, nulls) = (self.elements.array(bytes)?, nulls(&self.valid));
        Some(match &self.data_type {
            DataType::FixedSizeList(field, size) => {
                let rows = self.valid.len();
                Arc::new(FixedSizeListArray::try_new_with_length(field.clone(), *size, elements, nulls, rows).ok()?)
            }
            DataType::Map(field, is_sorted) => {
                let DataType::Struct(fields) = field.data_type() else { return None };
                let columns = vec![self.keys.as_ref()?.array(bytes)?, elements];
                let entries = StructArray::try_new(fields.clone(), columns, None).ok()?;
                Arc::new(MapArray::try_new(field.clone(), self.offsets()?, entries, nulls, *is_sorted).ok()?)
            }
            DataType::List(field) => {
                Arc::new(ListArray::try_new(field.clone(), self.offsets()?, elements, nulls).ok()?)
            }
            _ => return None,
        })
    }

    fn offsets(&self) -> Option<OffsetBuffer<i32>> {
        let ends = self.ends.iter().map(|&end| i32::try_from(end).ok()).collect::<Option<Vec<_>>>()?;
        Some(OffsetBuffer::new(ends.into()))
    }
}

impl Structs {
    fn array(&self, bytes: &[u8]) -> Option<ArrayRef> {
        let DataType::Struct(fields) = &self.data_type else { return None };
        let columns = self.fields.iter().map(|field| field.array(bytes)).collect::<Option<Vec<_>>>()?;
        let array = StructArray::try_new_with_length(fields.clone(), columns, nulls(&self.valid), self.valid.len());
        Some(Arc::new(array.ok()?))
    }
}

fn nulls(valid: &[bool]) -> Option<NullBuffer> {
    valid.contains(&false).then(|| NullBuffer::from(valid))
}
