//! Lists of texts as results.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ListArray;
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Flat, Vector, to_arrow};

use super::{Arguments, Pace, Writer, Written, for_each_row, valid_rows, with_nulls};
use crate::function::Form;
use crate::kernel::{Kernel, Work, too_long};
use crate::room::Room;

/// Creates a form whose result is a list of texts.
pub(crate) fn texts<A: Arguments, O: Written + 'static>(
    write: impl for<'a, 'w> Fn(A::Items<'a>, &'w mut ListWriter<'_>) -> O + Send + Sync + 'static,
) -> Form {
    let kernel = TextsKernel { write, types: PhantomData::<fn(A) -> O> };
    let result = SqlType::list_of(SqlType::Varchar);
    Form::strict(A::types(), result, O::MAY_FAIL, O::MAY_BE_NULL, Arc::new(kernel))
}

/// Writes lists of texts, one for each row.
pub(crate) struct ListWriter<'w> {
    elements: Writer<'w>,
    element_count: usize,
    null_elements: Vec<usize>,
    /// The end of each row's list.
    ends: Vec<i32>,
    /// Memory of the elements besides their bytes.
    room: Room<'w>,
    work: &'w dyn Work,
}

/// Elements between two checks for cancellation, for which memory is reserved together.
pub(crate) const CHECK_ELEMENTS: usize = 4096;

/// Memory per element besides its bytes: its end, two views of it, whether it is NULL.
pub(crate) const ELEMENT_BYTES: usize = 48;

impl<'w> ListWriter<'w> {
    pub(crate) fn new(rows: usize, work: &'w dyn Work) -> Self {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        let elements = Writer::new(rows, work);
        Self { elements, element_count: 0, null_elements: Vec::new(), ends, room: Room::new(rows, work), work }
    }

    /// Counts the steps of loops that don't write.
    pub(crate) fn pace(&self) -> Pace<'w> {
        Pace::new(self.work)
    }

    /// Appends an element to the list of this row.
    pub(crate) fn push(&mut self, element: &str) -> Result<()> {
        self.write(|out| out.push_str(element))
    }

    /// Appends an element with a text's bytes, or NULL.
    pub(crate) fn push_part(&mut self, element: Option<&[u8]>) -> Result<()> {
        self.write(|out| element.map(|element| out.push_bytes(element)))
    }

    pub(crate) fn push_null(&mut self) -> Result<()> {
        self.write(|_| None::<()>)
    }

    /// Appends the element that `write` writes.
    pub(crate) fn write<O: Written>(&mut self, write: impl FnOnce(&mut Writer<'w>) -> O) -> Result<()> {
        if !write(&mut self.elements).written()? {
            self.elements.clear_row();
            self.null_elements.push(self.element_count);
        }
        self.elements.end_row()?;
        self.element_count += 1;
        if self.element_count.is_multiple_of(CHECK_ELEMENTS) {
            self.work.check()?;
            self.room.count(self.element_count * ELEMENT_BYTES)?;
        }
        Ok(())
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.ends.push(i32::try_from(self.element_count).map_err(|_| too_long())?);
        Ok(())
    }

    /// Returns the lists, none of them NULL.
    pub(crate) fn finish(self) -> Result<Flat> {
        let elements = with_nulls(Flat::Str(self.elements.finish()), None, &self.null_elements);
        let elements = to_arrow(&elements, &DataType::Utf8View)?;
        let DataType::List(field) = arrow_type(&SqlType::list_of(SqlType::Varchar))? else {
            unreachable!("lists are lists in Arrow")
        };
        Ok(Flat::Nested(Arc::new(ListArray::new(field, OffsetBuffer::new(self.ends.into()), elements, None))))
    }
}

struct TextsKernel<F, T> {
    write: F,
    types: PhantomData<T>,
}

impl<A, O, F> Kernel for TextsKernel<F, fn(A) -> O>
where
    A: Arguments,
    O: Written,
    F: for<'a, 'w> Fn(A::Items<'a>, &'w mut ListWriter<'_>) -> O + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let columns = A::columns(arguments);
        let valid: Option<Arc<Bitmap>> = valid_rows(arguments);
        let mut writer = ListWriter::new(rows, work);
        let mut nulls = Vec::new();
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid && !(self.write)(A::items(&columns, row), &mut writer).written()? {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(writer.finish()?, valid, &nulls))
    }
}
