//! Values of SQL as vectors and literals, and the way back.
//!
//! What has no kernel is computed row by row on [`Value`]s: a [`Reader`] gives those of a vector, [`vector_of`] makes a
//! vector of the results.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray};
use arrow_schema::ArrowError;
use godwit_common::{Error, Result};
use godwit_functions::{array_of_values, arrow_type, sql_interval};
use godwit_types::{Interval, SqlType, Value, format_value, parse_value};
use godwit_vector::{
    Bitmap, Data, Flat, Native, PhysicalType, StrColumn, Vector, from_arrow, match_flat, match_integer_type,
};

use super::types::column_type;
use crate::Expression;
use crate::expression::Operation;
use crate::literal::Literal;

/// A value as an expression.
pub(super) fn literal(value: &Value, ty: &SqlType) -> Result<Expression> {
    // Quoted text that nothing gave a type is text.
    let ty = if matches!((value, ty), (Value::Text(_), SqlType::Unknown)) { &SqlType::Varchar } else { ty };
    let vector = vector_of(std::slice::from_ref(value), ty)?;
    let null = Expression::new(Operation::Literal(Literal::of_vector(&vector)), Vec::new(), column_type(ty, true)?);
    Ok(null.replaced_by(Literal::of_vector(&vector)))
}

/// The value of an expression that is a constant of a type.
pub(super) fn literal_value(expression: &Expression, ty: &SqlType) -> Option<Value> {
    let (flat, is_null) = expression.as_literal()?;
    if is_null {
        return Some(Value::Null);
    }
    Reader::new(&Vector::flat(flat.clone(), None), ty).ok()?.value(0).ok()
}

/// The rows of a vector as values.
pub(super) struct Reader<'t> {
    ty: &'t SqlType,
    validity: Option<Arc<Bitmap>>,
    /// One value for all rows.
    is_constant: bool,
    values: Values<'t>,
}

enum Values<'t> {
    Flat(Flat),
    Intervals(IntervalMonthDayNanoArray),
    /// Where the elements of each row begin and end.
    Lists(Vec<usize>, Box<Reader<'t>>),
    Structs(Vec<Reader<'t>>),
    /// Where the entries of each row begin and end; keys and values.
    Maps(Vec<usize>, Box<(Reader<'t>, Reader<'t>)>),
}

impl<'t> Reader<'t> {
    pub(super) fn new(vector: &Vector, ty: &'t SqlType) -> Result<Self> {
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
        let expected = arrow_type(ty)?;
        let array = match *array.data_type() == expected {
            true => array.clone(),
            false => arrow_cast::cast(array, &expected).map_err(|error| internal(&error))?,
        };
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

    /// The value in a row.
    pub(super) fn value(&self, row: usize) -> Result<Value> {
        if self.validity.as_ref().is_some_and(|validity| !validity.get(row)) {
            return Ok(Value::Null);
        }
        let row = if self.is_constant { 0 } else { row };
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

fn flat_value(flat: &Flat, row: usize, ty: &SqlType) -> Result<Value> {
    let time = || i64::try_from(integer_at(flat, row)).expect("times are 64 bits wide");
    Ok(match ty {
        SqlType::Unknown => Value::Null,
        SqlType::Boolean => Value::Boolean(flat.bools()[row] != 0),
        SqlType::Real => Value::Float(flat.values::<f32>()[row].into()),
        SqlType::Double => Value::Float(flat.values::<f64>()[row]),
        SqlType::Blob => Value::Blob(flat.strings().get(row).into()),
        SqlType::Varchar | SqlType::Json | SqlType::Bit => Value::text(text_at(flat, row)?),
        SqlType::Uuid => parse_value(text_at(flat, row)?, ty)?,
        SqlType::Enum(labels) => Value::Integer(labels.checked_place(integer_at(flat, row))?),
        SqlType::Date => Value::Date(i32::try_from(integer_at(flat, row)).expect("dates are 32 bits wide")),
        SqlType::Time => Value::Time(time()),
        _ if ty.is_timestamp() => Value::Timestamp(time()),
        _ => Value::Integer(integer_at(flat, row)),
    })
}

/// The text in a row.
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

/// Values of a type as a vector of its natural physical type.
pub(super) fn vector_of(values: &[Value], ty: &SqlType) -> Result<Vector> {
    let validity = Bitmap::from_fn(values.len(), |row| !values[row].is_null());
    Ok(Vector::flat(flat_of(values, ty)?, Some(validity)))
}

fn flat_of(values: &[Value], ty: &SqlType) -> Result<Flat> {
    let physical = column_type(ty, true)?.physical;
    let float = |value: &Value| if let Value::Float(value) = value { *value } else { 0.0 };
    Ok(match physical {
        PhysicalType::Bool => {
            Flat::Bool(values.iter().map(|value| u8::from(*value == Value::Boolean(true))).collect::<Vec<_>>().into())
        }
        PhysicalType::F32 => Flat::F32(values.iter().map(|value| float(value) as f32).collect::<Vec<_>>().into()),
        PhysicalType::F64 => Flat::F64(values.iter().map(float).collect::<Vec<_>>().into()),
        PhysicalType::Str => Flat::Str(StrColumn::from_strings(values.iter().map(|value| bytes_of(value, ty)))),
        PhysicalType::Nested => Flat::Nested(array_of_values(values, ty)?),
        integer => match_integer_type!(integer, T => {
            T::into_flat(values.iter().map(|value| integer_of(value) as T).collect::<Vec<T>>().into())
        }),
    })
}

fn bytes_of<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match value {
        Value::Null => Cow::Borrowed(&[]),
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::Blob(bytes) => Cow::Borrowed(bytes),
        other => Cow::Owned(format_value(other, ty).into_bytes()),
    }
}

fn integer_of(value: &Value) -> i128 {
    match value {
        Value::Integer(value) => *value,
        Value::Date(days) => i128::from(*days),
        Value::Time(ticks) | Value::Timestamp(ticks) => i128::from(*ticks),
        Value::Null => 0,
        other => unreachable!("{other:?} is no integer inside"),
    }
}

/// The intervals of a vector; NULL rows hold any.
pub(super) fn intervals(vector: &Vector) -> Vec<Interval> {
    let Flat::Nested(array) = vector.to_flat() else { unreachable!("intervals are nested") };
    array.as_primitive::<IntervalMonthDayNanoType>().values().iter().copied().map(sql_interval).collect()
}

fn internal(error: &ArrowError) -> Error {
    Error::internal(error.to_string())
}
