//! Lengths of strings, and where blocks of strings begin: used by text and symbols to find their strings.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::ValueRange;

use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::packing::{self, Packing};
use crate::parameters::{split, u32_at};

/// Appends where each block of strings begins, and where the last one ends; `length` gives the bytes of a row.
pub(crate) fn write_starts(rows: usize, length: impl Fn(usize) -> usize, out: &mut Vec<u8>) {
    let mut start = 0u32;
    for row in 0..rows {
        if row.is_multiple_of(BLOCK_ROWS) {
            out.extend(start.to_le_bytes());
        }
        start += length(row) as u32;
    }
    out.extend(start.to_le_bytes());
}

pub(crate) fn starts_bytes(rows: usize) -> usize {
    (rows.div_ceil(BLOCK_ROWS) + 1) * 4
}

/// Appends the width of the lengths, then the lengths.
pub(crate) fn write_lengths(rows: usize, length: impl Fn(usize) -> usize, out: &mut Vec<u8>) {
    let packing = packing_for((0..rows).map(&length).max().unwrap_or(0));
    out.push(packing.width);
    packing.write(rows, |row| length(row) as u64, out);
}

pub(crate) fn lengths_bytes(rows: usize, longest: usize) -> usize {
    1 + packing::bytes_for(rows, packing_for(longest).width)
}

fn packing_for(longest: usize) -> Packing {
    Packing::of_range(ValueRange { min: 0, max: longest as i128 }).expect("lengths have few bits")
}

/// Where blocks of strings begin.
#[derive(Clone, Copy)]
pub(crate) struct Starts<'a>(&'a [u8]);

impl<'a> Starts<'a> {
    /// Takes the starts of `rows` strings off the front of a body.
    pub(crate) fn read(body: &mut &'a [u8], rows: usize) -> Result<Self> {
        split(body, starts_bytes(rows)).map(Self)
    }

    /// Where the bytes of a block are.
    pub(crate) fn block(&self, block: usize) -> Result<Range<usize>> {
        Ok(u32_at(self.0, block)? as usize..u32_at(self.0, block + 1)? as usize)
    }
}

/// Lengths of strings.
#[derive(Clone, Copy)]
pub(crate) struct Lengths<'a> {
    packing: Packing,
    body: &'a [u8],
}

impl<'a> Lengths<'a> {
    /// Takes the lengths of `rows` strings off the front of a body.
    pub(crate) fn read(body: &mut &'a [u8], rows: usize) -> Result<Self> {
        let width = split(body, 1)?[0];
        if width > u32::BITS as u8 {
            return Err(corrupt("too long strings"));
        }
        Ok(Self { packing: Packing { base: 0, width }, body: split(body, packing::bytes_for(rows, width))? })
    }

    /// The lengths of `rows`, which start at a multiple of [`BLOCK_ROWS`].
    pub(crate) fn of(&self, rows: Range<usize>) -> Result<Vec<u32>> {
        self.packing.read(self.body, rows)
    }

    /// The lengths of single rows, which ascend.
    pub(crate) fn at(&self, rows: &[u32]) -> Result<Vec<u32>> {
        self.packing.take(self.body, 0, rows)
    }
}

/// Finds strings, or the items of lists, given rows in ascending order.
pub(crate) struct Places<'a> {
    starts: Starts<'a>,
    lengths: Lengths<'a>,
    rows: usize,
    /// The block of the last row.
    block: usize,
    /// The start of the block's first string, and the end of each.
    start: usize,
    ends: Vec<usize>,
}

impl<'a> Places<'a> {
    /// Of `rows` rows.
    pub(crate) fn new(starts: Starts<'a>, lengths: Lengths<'a>, rows: usize) -> Self {
        Self { starts, lengths, rows, block: usize::MAX, start: 0, ends: Vec::new() }
    }

    /// The place of a row, within the place of its block.
    #[inline]
    pub(crate) fn of(&mut self, row: usize) -> Result<Range<usize>> {
        if row / BLOCK_ROWS != self.block {
            self.open(row / BLOCK_ROWS)?;
        }
        let row = row % BLOCK_ROWS;
        Ok(if row == 0 { self.start } else { self.ends[row - 1] }..self.ends[row])
    }

    fn open(&mut self, block: usize) -> Result<()> {
        let place = self.starts.block(block)?;
        let first = block * BLOCK_ROWS;
        let lengths = self.lengths.of(first..self.rows.min(first + BLOCK_ROWS))?;
        self.ends.clear();
        add_ends(&lengths, place.start, place.end, &mut self.ends)?;
        (self.block, self.start) = (block, place.start);
        Ok(())
    }
}

/// Appends the ends of strings with these lengths, the first of which begins at `start`. Fails if one is beyond `end`.
pub(crate) fn add_ends(lengths: &[u32], start: usize, end: usize, ends: &mut Vec<usize>) -> Result<()> {
    let mut at = start;
    ends.extend(lengths.iter().map(|&length| {
        at += length as usize;
        at
    }));
    if at > end { Err(corrupt("strings are longer than its bytes")) } else { Ok(()) }
}
