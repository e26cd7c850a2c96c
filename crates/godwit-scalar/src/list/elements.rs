//! Lists of newly made elements.

use arrow_buffer::OffsetBuffer;
use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Native, Vector, to_arrow};

use super::call::Call;
use super::picks::{list_vector, too_many};
use crate::room::Room;
use crate::rows::{Written, for_each_row};

/// The elements of lists, row by row.
pub(crate) struct Elements<'w, T> {
    values: Vec<T>,
    /// Indices of NULL elements.
    nulls: Vec<usize>,
    offsets: Vec<i32>,
    room: Room<'w>,
}

impl<T: Native> Elements<'_, T> {
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        self.values.push(value);
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.values.len());
        self.values.push(T::default());
    }

    /// Makes room for more elements, or fails.
    pub(crate) fn reserve(&mut self, elements: usize) -> Result<()> {
        if i32::try_from(self.values.len().saturating_add(elements)).is_err() {
            return Err(too_many());
        }
        self.room.grow(&mut self.values, elements)
    }

    fn end_row(&mut self) -> Result<()> {
        self.room.count(self.values.capacity() * size_of::<T>())?;
        self.offsets.push(i32::try_from(self.values.len()).map_err(|_| too_many())?);
        Ok(())
    }

    fn finish(self, result: &SqlType, valid: Option<Bitmap>) -> Result<Vector> {
        let element = arrow_type(result.element().expect("the result is a list"))?;
        let mut validity = Bitmap::filled(self.values.len(), true);
        self.nulls.iter().for_each(|&at| validity.set(at, false));
        let values = Vector::flat(T::into_flat(self.room.leased(self.values)), Some(validity));
        let elements = to_arrow(&values, &element)?;
        list_vector(OffsetBuffer::new(self.offsets.into()), elements, result, valid)
    }
}

impl Call<'_> {
    /// Builds lists of elements made by `make`.
    pub(crate) fn made<T: Native, O: Written>(
        &self,
        mut make: impl FnMut(usize, &mut Elements<'_, T>) -> O,
    ) -> Result<Vector> {
        let mut offsets = Vec::with_capacity(self.rows + 1);
        offsets.push(0);
        let room = Room::new(self.rows, self.work);
        let mut elements = Elements { values: Vec::new(), nulls: Vec::new(), offsets, room };
        let mut nulls = Vec::new();
        for_each_row(self.rows, None, self.work, |row, _| {
            if self.is_computed(row) && !make(row, &mut elements).written()? {
                nulls.push(row);
            }
            elements.end_row()
        })?;
        elements.finish(self.result, self.validity_without(&nulls))
    }
}
