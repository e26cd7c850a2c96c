//! Reads the rows of vectors as values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray};
use godwit_common::{Error, Result};
use godwit_types::{SqlType, TimeTz, Value, parse_value};

use super::{arrow_type, sql_interval};
use crate::{Bitmap, Data, Flat, Vector, from_arrow, in_layout, match_flat};

/// The rows of a vector as values.
pub struct Reader<'t> {
    pub(super) ty: &'t SqlType,
    validity: Option<Arc<Bitmap>>,
    /// One value for all rows.
    is_constant: bool,
    pub(super) values: Values<'t>,
}

pub(super) enum Values<'t> {
    Flat(Flat),
    Intervals(IntervalMonthDayNanoArray),
    /// The bounds of each row's elements.
    Lists(Vec<usize>, Box<Reader<'t>>),
    Structs(Vec<Reader<'t>>),
    /// The bounds of each row's entries; keys and values.
    Maps(Vec<usize>, Box<(Reader<'t>, Reader<'t>)>),
}

impl<'t> Reader<'t> {
    /// Creates a reader of a vector with values of type `ty`.
    pub fn new(vector: &Vector, ty: &'t SqlType) -> Result<Self> {
        let (flat, is_constant) = match vector.data() {
            Data::Constant(flat) => (flat.clone(), true),
            _ => (vector.to_flat(), false),
        };
        let values = match flat {
            Flat::Nested(array) => Self::nested(&array, ty)?,
            flat => Values::Flat(flat),
        };
        Ok(Self { ty, validity: vector.validity().cloned(), is_constant, values })
    }

    fn nested(array: &ArrayRef, ty: &'t SqlType) -> Result<Values<'t>> {
        let array = in_layout(array, &arrow_type(ty)?)?;
        let child = |array: &ArrayRef, ty| Reader::new(&from_arrow(array)?, ty);
        let offsets = |offsets: &[i32]| offsets.iter().map(|&offset| offset as usize).collect();
        Ok(match ty {
            SqlType::List(element) => {
                let lists = array.as_list::<i32>();
                Values::Lists(offsets(lists.value_offsets()), Box::new(child(lists.values(), element)?))
            }
            SqlType::Array(element, length) => {
                let lists = array.as_fixed_size_list();
                let offsets = (0..=array.len()).map(|row| row * *length as usize).collect();
                Values::Lists(offsets, Box::new(child(lists.values(), element)?))
            }
            SqlType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields.iter());
                Values::Structs(columns.map(|(column, field)| child(column, &field.ty)).collect::<Result<_>>()?)
            }
            SqlType::Map(entry) => {
                let maps = array.as_map();
                let parts = (child(maps.keys(), &entry.0)?, child(maps.values(), &entry.1)?);
                Values::Maps(offsets(maps.value_offsets()), Box::new(parts))
            }
            _ => Values::Intervals(array.as_primitive().clone()),
        })
    }

    /// Returns the value of a row.
    pub fn value(&self, row: usize) -> Result<Value> {
        self.place(row).map_or(Ok(Value::Null), |row| self.value_in(row))
    }

    /// Returns where the value of a row is; `None` if it is NULL.
    pub(super) fn place(&self, row: usize) -> Option<usize> {
        let is_valid = self.validity.as_ref().is_none_or(|validity| validity.get(row));
        is_valid.then_some(if self.is_constant { 0 } else { row })
    }

    /// Returns the value in a place.
    pub(super) fn value_in(&self, row: usize) -> Result<Value> {
        Ok(match &self.values {
            Values::Flat(flat) => return flat_value(flat, row, self.ty),
            Values::Intervals(intervals) => Value::Interval(sql_interval(intervals.value(row))),
            Values::Lists(offsets, elements) => {
                Value::List((offsets[row]..offsets[row + 1]).map(|at| elements.value(at)).collect::<Result<_>>()?)
            }
            Values::Structs(fields) => {
                Value::Struct(fields.iter().map(|field| field.value(row)).collect::<Result<_>>()?)
            }
            Values::Maps(offsets, parts) => {
                let entry = |at| Ok((parts.0.value(at)?, parts.1.value(at)?));
                Value::Map((offsets[row]..offsets[row + 1]).map(entry).collect::<Result<_>>()?)
            }
        })
    }
}

pub(super) fn flat_value(flat: &Flat, row: usize, ty: &SqlType) -> Result<Value> {
    let time = || i64::try_from(integer_at(flat, row)).expect("times are 64 bits wide");
    Ok(match ty {
        SqlType::Unknown => Value::Null,
        SqlType::Boolean => Value::Boolean(flat.bools()[row] != 0),
        SqlType::Real => Value::Float(flat.values::<f32>()[row].into()),
        SqlType::Double => Value::Float(flat.values::<f64>()[row]),
        SqlType::Blob => Value::Blob(flat.strings().get(row).into()),
        SqlType::UHugeInt => match flat.strings().get(row).try_into() {
            Ok(bytes) => Value::UHuge(u128::from_be_bytes(bytes)),
            Err(_) => return Err(Error::corrupt("a UHUGEINT doesn't have 16 bytes")),
        },
        SqlType::Varchar | SqlType::Json | SqlType::Bit => Value::text(text_at(flat, row)?),
        SqlType::Uuid => parse_value(text_at(flat, row)?, ty)?,
        SqlType::Enum(labels) => Value::Integer(labels.checked_place(integer_at(flat, row))?),
        SqlType::Date => Value::Date(i32::try_from(integer_at(flat, row)).expect("dates are 32 bits wide")),
        SqlType::Time => Value::Time(time()),
        SqlType::TimeTz => TimeTz::from_bits(time()).map(Value::TimeTz).ok_or_else(|| not_a_time(time()))?,
        _ if ty.is_timestamp() => Value::Timestamp(time()),
        _ => Value::Integer(integer_at(flat, row)),
    })
}

fn not_a_time(bits: i64) -> Error {
    Error::corrupt(format!("{bits:#x} stands for no TIME WITH TIME ZONE"))
}

/// Returns the text of a row.
pub(super) fn text_at(flat: &Flat, row: usize) -> Result<&str> {
    std::str::from_utf8(flat.strings().get(row)).map_err(|_| Error::corrupt("a text value is not valid UTF-8"))
}

#[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
fn integer_at(flat: &Flat, row: usize) -> i128 {
    match_flat!(flat,
        values => values[row] as i128,
        _strings => unreachable!("text isn't an integer inside"),
        _array => unreachable!("nested values aren't integers inside"))
}
