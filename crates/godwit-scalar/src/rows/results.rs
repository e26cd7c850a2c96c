//! Results of functions of one row.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, IntervalMonthDayNanoArray};
use arrow_buffer::{IntervalMonthDayNano, ScalarBuffer};
use godwit_common::{Error, Result};
use godwit_vector::{Flat, Native, StrColumn};

use super::arguments::{Argument, Blob, Date, Intervals, Json, Text, Time, TimeTz, Timestamp, TimestampTz};
use super::pace::{Pace, text_pieces};
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
/// Memory is reserved as they grow. If there is none, the rest of the row is dropped, and its end is the error, so that
/// functions needn't look at each piece. Those that know how long a row gets can ask first ([`reserve`](Self::reserve)).
pub(crate) struct Writer<'w> {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    room: Room<'w>,
    /// Why a part of this row is missing.
    failure: Option<Error>,
    pace: Pace<'w>,
    work: &'w dyn Work,
}

/// Bytes up to which texts grow without a reservation.
const SMALL_BYTES: usize = 32 << 10;

impl<'w> Writer<'w> {
    pub(crate) fn new(rows: usize, work: &'w dyn Work) -> Self {
        let (bytes, ends, room) = (Vec::new(), Vec::with_capacity(rows), Room::new(rows, work));
        Self { bytes, ends, room, failure: None, pace: Pace::new(work), work }
    }

    /// Makes room for this many more bytes of this row, or fails.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > TEXT_BYTES_MAX {
            return Err(too_long());
        }
        self.room.grow(&mut self.bytes, bytes)
    }

    /// Makes room for what may be long: growing by and by would move it several times.
    pub(crate) fn expect(&mut self, bytes: usize) -> Result<()> {
        if bytes > SMALL_BYTES { self.reserve(bytes) } else { Ok(()) }
    }

    /// Counts the steps of a long loop within a row; fails if the statement should stop, or if there was no memory for
    /// what was written.
    #[inline]
    pub(crate) fn go(&mut self, steps: usize) -> Result<()> {
        if self.failure.is_some() {
            return self.check_written();
        }
        self.pace.go(steps)
    }

    /// Counts the steps of loops that don't write.
    pub(crate) fn pace(&self) -> Pace<'w> {
        Pace::new(self.work)
    }

    /// Writes any number of characters.
    pub(crate) fn push_all(&mut self, characters: impl Iterator<Item = char>) -> Result<()> {
        for character in characters {
            self.push(character);
            self.go(1)?;
        }
        Ok(())
    }

    /// Calls `write` with the pieces of a text, which are cut between characters.
    #[inline]
    pub(crate) fn by_pieces(&mut self, text: &str, mut write: impl FnMut(&str, &mut Self)) -> Result<()> {
        self.expect(text.len())?;
        for piece in text_pieces(text) {
            write(piece, self);
            self.go(piece.len())?;
        }
        Ok(())
    }

    /// Fails if the statement should stop: for long loops within a row.
    pub(crate) fn check(&self) -> Result<()> {
        self.work.check()
    }

    /// The same, and if there was no memory for what was written of this row.
    pub(crate) fn check_written(&mut self) -> Result<()> {
        self.failure.take().map_or_else(|| self.work.check(), Err)
    }

    pub(crate) fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        let has_room = bytes.len() <= self.bytes.capacity() - self.bytes.len();
        if has_room || self.grows(bytes.len()) {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Makes room for more bytes of this row; returns false if there is none.
    #[cold]
    fn grows(&mut self, more: usize) -> bool {
        if self.bytes.len() + more <= SMALL_BYTES {
            self.bytes.reserve(more);
            return true;
        }
        if self.failure.is_none() {
            // An eighth more at least: near the limit, each byte would move all others.
            let ample = more.max(self.bytes.len() / 8);
            self.failure = match self.bytes.len() - self.row_start() + more > TEXT_BYTES_MAX {
                true => Some(too_long()),
                false => self.room.grow(&mut self.bytes, ample).err(),
            };
        }
        self.failure.is_none()
    }

    fn row_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The bytes of this row: fewer than were written if it will be an error.
    pub(crate) fn row_mut(&mut self) -> &mut [u8] {
        let start = self.row_start();
        &mut self.bytes[start..]
    }

    /// Discards what was written of this row.
    pub(crate) fn clear_row(&mut self) {
        self.bytes.truncate(self.row_start());
        self.failure = None;
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.bytes.len() - self.row_start() > TEXT_BYTES_MAX {
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

#[cfg(test)]
mod tests {
    use godwit_common::ErrorKind;

    use super::Writer;
    use crate::Bounded;

    #[test]
    fn a_row_without_memory_is_cut_off_and_an_error() {
        let work = Bounded::new(1 << 20);
        let mut writer = Writer::new(1, &work);
        (0..64).for_each(|_| writer.push_bytes(&[b'x'; 64 << 10]));
        assert!(writer.bytes.capacity() <= 1 << 20);
        assert_eq!(writer.end_row().unwrap_err().kind(), ErrorKind::Resource);
        writer.clear_row();
        writer.push_str("short");
        writer.end_row().unwrap();
        assert_eq!(writer.ends, [5]);
    }
}
