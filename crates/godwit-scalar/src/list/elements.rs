//! Lists of elements that are made anew.

use arrow_buffer::OffsetBuffer;
use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Native, Vector, to_arrow};

use super::call::Call;
use super::picks::{list_vector, too_many};
use crate::kernel::{Lease, Work};
use crate::rows::{Written, for_each_row};

/// Elements that aren't asked for: those of a chunk of short lists.
const FREE_ELEMENTS: usize = 8 << 10;

/// The elements of lists, row by row.
pub(crate) struct Elements<'w, T> {
    values: Vec<T>,
    /// Elements that are NULL.
    nulls: Vec<usize>,
    offsets: Vec<i32>,
    granted: usize,
    leases: Vec<Lease>,
    work: &'w dyn Work,
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
        let all = self.values.len().saturating_add(elements);
        if i32::try_from(all).is_err() {
            return Err(too_many());
        }
        if all > self.granted {
            self.leases.push(self.work.reserve((all - self.granted) * size_of::<T>())?);
            self.granted = all;
        }
        self.values.reserve(elements);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        if self.values.len() > self.granted {
            // Half as many again, so that requests are few.
            self.reserve(self.values.len() / 2)?;
        }
        self.offsets.push(i32::try_from(self.values.len()).map_err(|_| too_many())?);
        Ok(())
    }

    fn finish(self, result: &SqlType, valid: Option<Bitmap>) -> Result<Vector> {
        let element = arrow_type(result.element().expect("the result is a list"))?;
        let mut validity = Bitmap::filled(self.values.len(), true);
        self.nulls.iter().for_each(|&at| validity.set(at, false));
        let elements = to_arrow(&Vector::from_values(self.values, Some(validity)), &element)?;
        list_vector(OffsetBuffer::new(self.offsets.into()), elements, result, valid)
    }
}

impl Call<'_> {
    /// Lists of elements that `make` makes.
    pub(crate) fn made<T: Native, O: Written>(
        &self,
        mut make: impl FnMut(usize, &mut Elements<'_, T>) -> O,
    ) -> Result<Vector> {
        let mut offsets = Vec::with_capacity(self.rows + 1);
        offsets.push(0);
        let (values, leases) = (Vec::new(), Vec::new());
        let mut elements =
            Elements { values, nulls: Vec::new(), offsets, granted: FREE_ELEMENTS, leases, work: self.work };
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
