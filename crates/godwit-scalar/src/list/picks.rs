//! Lists built from existing elements.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Flat, Vector};

use super::lists::taken;
use crate::kernel::Work;
use crate::room::Room;

/// Stands for NULL among indices.
const NULL: u32 = u32::MAX;
/// Elements between two checks for cancellation.
const CHECK_ELEMENTS: usize = 64 << 10;
/// Bytes per element for its index, and for what it needs besides its own bytes.
const PLACE_BYTES: usize = 8;

/// The elements of lists, row by row, as indices into an array.
pub(crate) struct Picks<'w> {
    source: ArrayRef,
    places: Vec<u32>,
    has_nulls: bool,
    offsets: Vec<i32>,
    checked: usize,
    /// Average size of an element of the source, in bytes.
    element_bytes: usize,
    room: Room<'w>,
    work: &'w dyn Work,
}

impl<'w> Picks<'w> {
    /// Picks elements of several arrays, which are numbered consecutively.
    pub(crate) fn new(sources: &[&ArrayRef], rows: usize, work: &'w dyn Work) -> Result<Self> {
        let source = match sources {
            [source] => Arc::clone(source),
            sources => {
                let length: usize = sources.iter().map(|source| source.len()).sum();
                if length >= NULL as usize {
                    return Err(too_many());
                }
                let arrays: Vec<&dyn Array> = sources.iter().map(|source| source.as_ref()).collect();
                arrow_select::concat::concat(&arrays).map_err(|error| Error::internal(error.to_string()))?
            }
        };
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let element_bytes = source.to_data().get_slice_memory_size().unwrap_or(0) / source.len().max(1);
        let (places, room) = (Vec::new(), Room::new(rows, work));
        Ok(Self { source, places, has_nulls: false, offsets, checked: 0, element_bytes, room, work })
    }

    #[inline]
    pub(crate) fn push(&mut self, place: usize) {
        self.places.push(place as u32);
    }

    pub(crate) fn push_null(&mut self) {
        self.has_nulls = true;
        self.places.push(NULL);
    }

    /// Appends an element, or NULL.
    #[inline]
    pub(crate) fn push_or_null(&mut self, place: Option<usize>) {
        match place {
            Some(place) => self.push(place),
            None => self.push_null(),
        }
    }

    #[inline]
    pub(crate) fn extend(&mut self, places: Range<usize>) {
        self.places.extend(places.start as u32..places.end as u32);
    }

    /// Appends the same elements several times; reserves memory for them.
    pub(crate) fn repeat(&mut self, places: Range<usize>, times: usize) -> Result<()> {
        self.reserve(places.len().saturating_mul(times))?;
        if places.is_empty() {
            return Ok(());
        }
        for _ in 0..times {
            self.extend(places.clone());
            self.check()?;
        }
        Ok(())
    }

    /// Appends the same element, or NULL, several times; reserves memory for it.
    pub(crate) fn fill(&mut self, place: Option<usize>, times: usize) -> Result<()> {
        self.reserve(times)?;
        for start in (0..times).step_by(CHECK_ELEMENTS) {
            self.work.check()?;
            let count = CHECK_ELEMENTS.min(times - start);
            self.places.extend(std::iter::repeat_n(place.map_or(NULL, |place| place as u32), count));
        }
        self.has_nulls |= place.is_none() && times > 0;
        Ok(())
    }

    /// The elements of this row so far.
    pub(crate) fn row(&mut self) -> &mut [u32] {
        let start = self.offsets.last().map_or(0, |&offset| offset as usize);
        &mut self.places[start..]
    }

    /// Makes room for more elements, or fails.
    pub(crate) fn reserve(&mut self, elements: usize) -> Result<()> {
        let all = self.places.len().saturating_add(elements);
        if i32::try_from(all).is_err() {
            return Err(too_many());
        }
        self.room.count(all.saturating_mul(PLACE_BYTES + self.element_bytes))?;
        self.places.reserve(elements);
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        if self.places.len() - self.checked >= CHECK_ELEMENTS {
            self.checked = self.places.len();
            self.work.check()?;
        }
        Ok(())
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.check()?;
        self.reserve(0)?;
        self.offsets.push(i32::try_from(self.places.len()).map_err(|_| too_many())?);
        Ok(())
    }

    /// Returns the offsets of the rows, and the elements of all rows.
    pub(crate) fn into_parts(self) -> Result<(OffsetBuffer<i32>, ArrayRef)> {
        let elements = taken(&self.source, &places(self.places, self.has_nulls))?;
        Ok((OffsetBuffer::new(self.offsets.into()), elements))
    }

    /// Returns the lists, with NULL where they aren't valid.
    pub(crate) fn finish(self, result: &SqlType, valid: Option<Bitmap>) -> Result<Vector> {
        let (offsets, elements) = self.into_parts()?;
        list_vector(offsets, elements, result, valid)
    }
}

/// Converts indices, where [`NULL`] stands for NULL.
fn places(places: Vec<u32>, has_nulls: bool) -> UInt32Array {
    let nulls = has_nulls.then(|| places.iter().map(|&place| place != NULL).collect::<NullBuffer>());
    UInt32Array::new(places.into(), nulls)
}

/// Builds lists or maps from consecutive elements.
pub(crate) fn list_vector(
    offsets: OffsetBuffer<i32>,
    elements: ArrayRef,
    result: &SqlType,
    valid: Option<Bitmap>,
) -> Result<Vector> {
    let nulls = valid.as_ref().map(nulls_of);
    let array: ArrayRef = match arrow_type(result)? {
        DataType::List(field) => Arc::new(ListArray::try_new(field, offsets, elements, nulls).map_err(internal)?),
        DataType::Map(field, is_sorted) => {
            use arrow_array::cast::AsArray;
            let entries = elements.as_struct().clone();
            Arc::new(MapArray::try_new(field, offsets, entries, nulls, is_sorted).map_err(internal)?)
        }
        other => return Err(Error::internal(format!("{other} is no list"))),
    };
    Ok(Vector::flat(Flat::Nested(array), valid))
}

/// Converts a vector's validity to the null mask of an array.
pub(crate) fn nulls_of(valid: &Bitmap) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::collect_bool(valid.len(), |row| valid.get(row)))
}

pub(crate) fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}

pub(crate) fn too_many() -> Error {
    Error::user(format!(
        "the lists have more than {} elements together, which is the most that they may have",
        i32::MAX
    ))
    .with_code(SqlState::PROGRAM_LIMIT_EXCEEDED)
}
