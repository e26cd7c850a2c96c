//! Results of functions of one row.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, IntervalMonthDayNanoArray};
use arrow_buffer::{IntervalMonthDayNano, ScalarBuffer};
use godwit_common::Result;
use godwit_vector::{Flat, Native, StrColumn};

use super::arguments::{Argument, Blob, Date, Intervals, Json, Text, Time, TimeTz, Timestamp, TimestampTz};
use crate::kernel::{TEXT_BYTES_MAX, Work, too_long};
use crate::room::Room;

/// The type of a fixed-width result.
pub(crate) trait Fixed: Argument {
    /// A value.
    type Native: Clone + Default;

    fn flat(values: Vec<Self::Native>) -> Flat;
}

macro_rules! fixed_results {
    ($($result:ty => $native:ty),*) => {$(
        impl Fixed for $result {
            type Native = $native;

            fn flat(values: Vec<$native>) -> Flat {
                <$native>::into_flat(values.into())
            }
        }
    )*};
}

fixed_results!(
    i8 => i8, i16 => i16, i32 => i32, i64 => i64, i128 => i128, u8 => u8, u16 => u16, u32 => u32, u64 => u64,
    f32 => f32, f64 => f64, Date => i32, Time => i64, TimeTz => i64, Timestamp => i64,
    TimestampTz => i64
);

impl Fixed for bool {
    type Native = bool;

    fn flat(values: Vec<bool>) -> Flat {
        Flat::Bool(values.into_iter().map(u8::from).collect::<ScalarBuffer<u8>>())
    }
}

/// Intervals are returned as Arrow's, with hours in nanoseconds: see [`godwit_vector::sql::arrow_interval`].
impl Fixed for Intervals {
    type Native = IntervalMonthDayNano;

    fn flat(values: Vec<IntervalMonthDayNano>) -> Flat {
        Flat::Nested(Arc::new(IntervalMonthDayNanoArray::from(values)) as ArrayRef)
    }
}

/// The result for a row: a value, possibly NULL, possibly an error.
pub(crate) trait Answer<T> {
    /// Some row may be an error.
    const MAY_FAIL: bool;
    /// Some row may be NULL although no argument is.
    const MAY_BE_NULL: bool;

    fn answer(self) -> Result<Option<T>>;
}

impl<T> Answer<T> for T {
    const MAY_FAIL: bool = false;
    const MAY_BE_NULL: bool = false;

    #[inline]
    fn answer(self) -> Result<Option<T>> {
        Ok(Some(self))
    }
}

impl<T> Answer<T> for Option<T> {
    const MAY_FAIL: bool = false;
    const MAY_BE_NULL: bool = true;

    #[inline]
    fn answer(self) -> Result<Option<T>> {
        Ok(self)
    }
}

impl<T> Answer<T> for Result<T> {
    const MAY_FAIL: bool = true;
    const MAY_BE_NULL: bool = false;

    #[inline]
    fn answer(self) -> Result<Option<T>> {
        self.map(Some)
    }
}

impl<T> Answer<T> for Result<Option<T>> {
    const MAY_FAIL: bool = true;
    const MAY_BE_NULL: bool = true;

    #[inline]
    fn answer(self) -> Result<Option<T>> {
        self
    }
}

/// The type of a result that is text, or is represented like text in vectors.
pub(crate) trait TextResult: Argument {}

impl TextResult for Text {}
impl TextResult for Json {}
impl TextResult for Blob {}

/// Whether a row was written: always, `Some(())` or NULL, possibly an error.
pub(crate) trait Written {
    /// Some row may be an error.
    const MAY_FAIL: bool;
    /// Some row may be NULL although no argument is.
    const MAY_BE_NULL: bool;

    fn written(self) -> Result<bool>;
}

impl<O: Answer<()>> Written for O {
    const MAY_FAIL: bool = O::MAY_FAIL;
    const MAY_BE_NULL: bool = O::MAY_BE_NULL;

    #[inline]
    fn written(self) -> Result<bool> {
        self.answer().map(|row| row.is_some())
    }
}

/// Writes texts, one for each row.
///
/// Rows that may be much longer than the arguments reserve memory first ([`reserve`](Self::reserve)); others are
/// counted when they end.
pub(crate) struct Writer<'w> {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    room: Room<'w>,
    work: &'w dyn Work,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(rows: usize, work: &'w dyn Work) -> Self {
        Self { bytes: Vec::new(), ends: Vec::with_capacity(rows), room: Room::new(rows, work), work }
    }

    /// Makes room for this many more bytes of this row, or fails.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > TEXT_BYTES_MAX {
            return Err(too_long());
        }
        self.room.grow(&mut self.bytes, bytes)
    }

    /// Fails if the statement should stop: for long loops within a row.
    pub(crate) fn check(&self) -> Result<()> {
        self.work.check()
    }

    pub(crate) fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes of this row.
    pub(crate) fn row_mut(&mut self) -> &mut [u8] {
        let start = self.ends.last().copied().unwrap_or(0);
        &mut self.bytes[start..]
    }

    /// Discards what was written of this row.
    pub(crate) fn clear_row(&mut self) {
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        let start = self.ends.last().copied().unwrap_or(0);
        if self.bytes.len() - start > TEXT_BYTES_MAX {
            return Err(too_long());
        }
        self.room.count(self.bytes.capacity())?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    pub(crate) fn finish(self) -> StrColumn {
        StrColumn::from_leased_parts(self.bytes, &self.ends, self.room.into_lease())
    }
}

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}
