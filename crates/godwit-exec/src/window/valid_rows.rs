//! Which rows have a value, for functions that ignore NULLs: the n-th such row of some rows.

use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};

use super::config::{BLOCK_ROWS, GROWTH_BYTES};
use super::marks::Marks;
use super::ordered::Ordered;

/// A bit per row that was looked at; rows are looked at once, in order.
pub(super) struct ValidRows {
    column: usize,
    valid: Marks,
    reservation: Reservation,
}

impl ValidRows {
    pub(super) fn new(column: usize, memory: &BufferManager) -> Result<Self> {
        Ok(Self { column, valid: Marks::default(), reservation: memory.reserve(0, MemoryTag::Other)? })
    }

    /// Looks at all rows before `end`.
    pub(super) fn reach(&mut self, rows: &Ordered, end: usize) -> Result<()> {
        while self.valid.len() < end {
            let begin = self.valid.len();
            let block = begin..rows.len().min(begin + BLOCK_ROWS);
            let needed = Marks::bytes_for(block.end);
            if needed > self.reservation.bytes() {
                self.reservation.resize(needed.next_multiple_of(GROWTH_BYTES))?;
            }
            let column = rows.gather(&rows.pin(block)?, self.column);
            (0..column.len()).for_each(|i| self.valid.push(column.is_valid(i)));
        }
        Ok(())
    }

    /// How many of these rows have a value; they were reached.
    pub(super) fn count(&self, rows: &Range<usize>) -> usize {
        self.valid.rank(rows.end) - self.valid.rank(rows.start)
    }

    /// The row with a value, of these, that has `before` others before it among them.
    pub(super) fn nth(&self, rows: &Range<usize>, before: usize) -> usize {
        self.valid.select(self.valid.rank(rows.start) + before)
    }
}
