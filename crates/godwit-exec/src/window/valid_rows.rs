//! Tracks which rows have a value, for functions that ignore NULLs and need the n-th non-NULL row.

use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};

use super::config::{BLOCK_ROWS, GROWTH_BYTES};
use super::marks::Marks;
use super::ordered::Ordered;

/// A bit per row that has been read; rows are read once, in order.
pub(super) struct ValidRows {
    column: usize,
    valid: Marks,
    reservation: Reservation,
}

impl ValidRows {
    pub(super) fn new(column: usize, memory: &BufferManager) -> Result<Self> {
        Ok(Self { column, valid: Marks::default(), reservation: memory.reserve(0, MemoryTag::Other)? })
    }

    /// Reads all rows before `end`.
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

    /// The number of these rows that have a value; they have been reached.
    pub(super) fn count(&self, rows: &Range<usize>) -> usize {
        self.valid.rank(rows.end) - self.valid.rank(rows.start)
    }

    /// Of these rows, the one with a value that has exactly `before` others with a value before it.
    pub(super) fn nth(&self, rows: &Range<usize>, before: usize) -> usize {
        self.valid.select(self.valid.rank(rows.start) + before)
    }
}
