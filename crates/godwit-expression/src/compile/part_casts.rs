//! Casts between nested types by the kernels for their elements, fields, keys and values.
//!
//! ```text
//! INTEGER[]  [1, 2]  NULL  [3]       offsets and NULLs ─────────────────► those of the result
//!                                    elements 1 2 3 ─► kernel, in chunks ─► 1.0 2.0 3.0
//! ```
//!
//! Parts behind NULL lists, maps and structs aren't cast: they may be anything. Where a part fails, all rows are cast
//! again, one by one: that decides which error it is, or which rows of a TRY_CAST are NULL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, MapArray, StructArray, UInt32Array, new_empty_array,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::nullif::nullif;
use arrow_select::take::take;
use godwit_common::{Error, ErrorKind, Result};
use godwit_scalar::{Room, Work};
use godwit_types::{SqlType, cast_kind, field_sources};
use godwit_vector::sql::{arrow_type, column_type};
use godwit_vector::{CHUNK_ROWS, Chunk, Data, Flat, Vector, from_arrow, in_layout, to_arrow};

use super::casts;
use super::lambdas::internal;
use crate::Expression;
use crate::expression::Kernel;

/// The cast of an array of a type to one of another type.
pub(super) struct PartCast {
    /// The type of the result.
    to: DataType,
    form: Form,
}

enum Form {
    Same,
    /// All values are NULL.
    Null,
    /// By a kernel, over column 0.
    Values(Expression),
    /// Lists and arrays, by the cast of their elements.
    Lists(Box<PartCast>),
    /// Maps, by the casts of their keys and values.
    Maps(Box<[PartCast; 2]>),
    /// For each field, the one that it is cast from, and how.
    Structs(Vec<Option<(usize, PartCast)>>),
}

impl PartCast {
    /// Returns the cast between two types that have one; `None` if its rows have to be cast one by one.
    pub(super) fn new(from: &SqlType, to: &SqlType, work: &Arc<dyn Work>) -> Result<Option<Self>> {
        let part = |from: &SqlType, to: &SqlType| Self::new(from, to, work);
        let form = match (from, to) {
            _ if from == to => Some(Form::Same),
            (SqlType::Unknown, _) => Some(Form::Null),
            (SqlType::List(from) | SqlType::Array(from, _), SqlType::List(to) | SqlType::Array(to, _)) => {
                part(from, to)?.map(|element| Form::Lists(element.into()))
            }
            (SqlType::Map(from), SqlType::Map(to)) => {
                // Two keys of a map must not become one.
                let keeps_keys = cast_kind(&from.0, &to.0).is_some_and(|cast| cast.lossless);
                let parts = (part(&from.0, &to.0)?.filter(|_| keeps_keys), part(&from.1, &to.1)?);
                parts.0.zip(parts.1).map(|(key, value)| Form::Maps([key, value].into()))
            }
            (SqlType::Struct(from), SqlType::Struct(to)) => {
                let sources = field_sources(from, to)
                    .ok_or_else(|| Error::internal("a cast between structs without a common field".to_owned()))?;
                let mut fields = Vec::with_capacity(to.len());
                for (field, source) in to.iter().zip(sources) {
                    let Some(source) = source else {
                        fields.push(None);
                        continue;
                    };
                    let Some(cast) = part(&from[source].ty, &field.ty)? else { return Ok(None) };
                    fields.push(Some((source, cast)));
                }
                Some(Form::Structs(fields))
            }
            _ if to.is_nested() => None,
            _ => {
                let argument = Expression::column(0, column_type(from, true)?);
                Some(Form::Values(casts::compile(argument, from, to, false, "a part of a nested value", work)?))
            }
        };
        let to = arrow_type(to)?;
        Ok(form.map(|form| Self { to, form }))
    }

    /// Casts an array, whose rows are the valid ones of `valid`.
    fn cast(&self, array: &ArrayRef, valid: Option<NullBuffer>, memory: &mut Memory<'_>) -> Result<ArrayRef> {
        let made: std::result::Result<ArrayRef, ArrowError> = match (&self.form, &self.to) {
            (Form::Same, to) => return in_layout(array, to),
            (Form::Null, to) => return Ok(new_null_array(to, array.len())),
            (Form::Values(cast), to) => return memory.cast_values(cast, array, to),
            (Form::Structs(fields), DataType::Struct(types)) => {
                let columns = array.as_struct().columns();
                let column = |(field, ty): (&Option<(usize, Self)>, &Arc<arrow_schema::Field>)| match field {
                    Some((source, cast)) => cast.cast_inside(&columns[*source], valid.as_ref(), memory),
                    None => Ok(new_null_array(ty.data_type(), array.len())),
                };
                let columns = fields.iter().zip(types).map(column).collect::<Result<_>>()?;
                StructArray::try_new_with_length(types.clone(), columns, valid, array.len())
                    .map(|made| Arc::new(made) as _)
            }
            (Form::Lists(element), DataType::List(field)) => {
                let (lengths, elements) = lists_of(array, valid.as_ref(), memory)?;
                let elements = element.cast_all(&elements, memory)?;
                let offsets = OffsetBuffer::from_lengths(lengths);
                ListArray::try_new(Arc::clone(field), offsets, elements, valid).map(|made| Arc::new(made) as _)
            }
            (Form::Lists(element), DataType::FixedSizeList(field, length)) => {
                let (lengths, elements) = lists_of(array, valid.as_ref(), memory)?;
                let is_valid = |row: usize| valid.as_ref().is_none_or(|valid| valid.is_valid(row));
                if lengths.iter().enumerate().any(|(row, &found)| is_valid(row) && found != *length as usize) {
                    return Err(Error::user("a list has another length than the array type"));
                }
                let elements = element.cast_all(&elements, memory)?;
                let elements = in_place(elements, &lengths, *length as usize, memory)?;
                FixedSizeListArray::try_new_with_length(Arc::clone(field), *length, elements, valid, array.len())
                    .map(|made| Arc::new(made) as _)
            }
            (Form::Maps(parts), DataType::Map(field, is_sorted)) => {
                let (lengths, entries) = lists_of(array, valid.as_ref(), memory)?;
                let DataType::Struct(types) = field.data_type() else {
                    unreachable!("the entries of a map are structs")
                };
                let columns = entries.as_struct().columns().iter().zip(parts.iter());
                let columns = columns.map(|(column, cast)| cast.cast_all(column, memory)).collect::<Result<_>>()?;
                let entries = StructArray::try_new(types.clone(), columns, None).map_err(|error| internal(&error))?;
                let offsets = OffsetBuffer::from_lengths(lengths);
                MapArray::try_new(Arc::clone(field), offsets, entries, valid, *is_sorted)
                    .map(|made| Arc::new(made) as _)
            }
            (_, to) => return Err(Error::internal(format!("nested values can't become {to}"))),
        };
        made.map_err(|error| internal(&error))
    }

    /// Casts an array whose own NULLs are all that it has.
    fn cast_all(&self, array: &ArrayRef, memory: &mut Memory<'_>) -> Result<ArrayRef> {
        self.cast(array, array.logical_nulls(), memory)
    }

    /// Casts the column of a struct, of which the rows in `valid` aren't NULL.
    fn cast_inside(&self, column: &ArrayRef, valid: Option<&NullBuffer>, memory: &mut Memory<'_>) -> Result<ArrayRef> {
        match valid.filter(|valid| valid.null_count() > 0) {
            None => self.cast_all(column, memory),
            Some(valid) => {
                let hidden =
                    nullif(column, &BooleanArray::new(!valid.inner(), None)).map_err(|error| internal(&error))?;
                self.cast_all(&hidden, memory)
            }
        }
    }
}

/// Returns the length of each list, array or map, 0 for NULL, and the elements or entries of all, one after the other.
fn lists_of(array: &ArrayRef, valid: Option<&NullBuffer>, memory: &mut Memory<'_>) -> Result<(Vec<usize>, ArrayRef)> {
    let of_offsets = |offsets: &[i32]| -> Vec<usize> { offsets.iter().map(|&offset| offset as usize).collect() };
    let (offsets, elements): (Vec<usize>, ArrayRef) = match array.data_type() {
        DataType::FixedSizeList(_, length) => {
            let offsets = (0..=array.len()).map(|row| row * *length as usize).collect();
            (offsets, Arc::clone(array.as_fixed_size_list().values()))
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            (of_offsets(maps.value_offsets()), Arc::new(maps.entries().clone()))
        }
        _ => {
            let lists = array.as_list::<i32>();
            (of_offsets(lists.value_offsets()), Arc::clone(lists.values()))
        }
    };
    let is_valid = |row: usize| valid.is_none_or(|valid| valid.is_valid(row));
    let (first, end) = (offsets[0], offsets[array.len()]);
    let lengths: Vec<usize> = offsets
        .windows(2)
        .enumerate()
        .map(|(row, bounds)| if is_valid(row) { bounds[1] - bounds[0] } else { 0 })
        .collect();
    if lengths.iter().sum::<usize>() == end - first {
        return Ok((lengths, elements.slice(first, end - first)));
    }
    let rows = (0..array.len()).filter(|&row| is_valid(row));
    let places: Vec<u32> = rows.flat_map(|row| offsets[row] as u32..offsets[row + 1] as u32).collect();
    let kept = memory.taken(&elements, &places.into())?;
    Ok((lengths, kept))
}

/// Puts elements of arrays in their places, with NULLs in those of NULL arrays, which have none.
fn in_place(elements: ArrayRef, lengths: &[usize], length: usize, memory: &mut Memory<'_>) -> Result<ArrayRef> {
    if elements.len() == lengths.len() * length {
        return Ok(elements);
    }
    let mut next = 0..elements.len() as u32;
    let places: UInt32Array = lengths
        .iter()
        .flat_map(|&own| std::iter::repeat_n(own > 0, length))
        .map(|is_there| if is_there { next.next() } else { None })
        .collect();
    memory.taken(&elements, &places)
}

/// The memory of what is made.
struct Memory<'w> {
    bytes: usize,
    room: Room<'w>,
    work: &'w dyn Work,
}

impl Memory<'_> {
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.room.count(self.bytes)
    }

    fn taken(&mut self, array: &ArrayRef, places: &UInt32Array) -> Result<ArrayRef> {
        let bytes = array.get_array_memory_size() / array.len().max(1) * places.len();
        self.count(bytes + places.len() * size_of::<u32>())?;
        take(array, places, None).map_err(|error| internal(&error))
    }

    /// Casts values in chunks, by an expression over one column.
    fn cast_values(&mut self, cast: &Expression, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        let values = from_arrow(array)?;
        let mut parts = Vec::with_capacity(array.len().div_ceil(CHUNK_ROWS));
        for start in (0..array.len()).step_by(CHUNK_ROWS) {
            self.work.check()?;
            let chunk = values.slice(start, CHUNK_ROWS.min(array.len() - start));
            let rows = chunk.len();
            let part = to_arrow(&cast.evaluate(&Chunk::new(vec![chunk], rows))?, to)?;
            // Twice: the parts become one array.
            self.count(2 * part.get_array_memory_size())?;
            parts.push(part);
        }
        match &parts[..] {
            [] => Ok(new_empty_array(to)),
            [part] => Ok(Arc::clone(part)),
            parts => {
                let arrays: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
                concat(&arrays).map_err(|error| internal(&error))
            }
        }
    }
}

/// A cast between nested types.
pub(super) struct NestedCast<K> {
    from: DataType,
    parts: PartCast,
    /// The same, row by row.
    by_rows: K,
    work: Arc<dyn Work>,
}

impl<K: Kernel> NestedCast<K> {
    pub(super) fn new(from: &SqlType, parts: PartCast, by_rows: K, work: &Arc<dyn Work>) -> Result<Self> {
        Ok(Self { from: arrow_type(from)?, parts, by_rows, work: Arc::clone(work) })
    }

    fn by_parts(&self, argument: &Vector, rows: usize) -> Result<Vector> {
        let is_constant = matches!(argument.data(), Data::Constant(_));
        let own = if is_constant { argument.slice(0, 1) } else { argument.clone() };
        let Flat::Nested(array) = own.to_flat() else { unreachable!("lists, structs and maps are nested") };
        let valid =
            own.validity().map(|valid| NullBuffer::new(BooleanBuffer::collect_bool(own.len(), |row| valid.get(row))));
        let array = in_layout(&array, &self.from)?;
        let mut memory = Memory { bytes: 0, room: Room::new(rows, &*self.work), work: &*self.work };
        let result = from_arrow(&self.parts.cast(&array, valid, &mut memory)?)?;
        Ok(match is_constant {
            true => Vector::constant(result.to_flat(), rows).with_validity(argument.validity().cloned()),
            false => result,
        })
    }
}

impl<K: Kernel> Kernel for NestedCast<K> {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        match self.by_parts(&arguments[0], rows) {
            Err(error) if error.kind() == ErrorKind::User => self.by_rows.evaluate(arguments, rows),
            cast => cast,
        }
    }

    fn can_fail(&self) -> bool {
        self.by_rows.can_fail()
    }

    fn is_volatile(&self) -> bool {
        self.by_rows.is_volatile()
    }
}
