//! Floats that aren't decimals, and the rows that they belong to.

use std::ops::Range;

use godwit_common::Result;

use super::Decimals;
use crate::header::corrupt;
use crate::packing;
use crate::scheme::Body;

/// Bytes of an exception: its row, and its float.
pub(super) const BYTES: usize = 4 + 8;

/// Exceptions of a part that is being written.
#[derive(Default)]
pub(super) struct Exceptions {
    rows: Vec<u32>,
    words: Vec<u64>,
}

impl Exceptions {
    pub(super) fn push(&mut self, row: usize, word: u64) {
        self.rows.push(row as u32);
        self.words.push(word);
    }

    pub(super) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    pub(super) fn write(&self, body: &mut Vec<u8>) {
        self.rows.iter().for_each(|row| body.extend(row.to_le_bytes()));
        self.words.iter().for_each(|word| body.extend(word.to_le_bytes()));
    }
}

/// Exceptions that are read in place.
pub(super) struct Stored<'a> {
    /// Ascending, unless the body is damaged.
    rows: &'a [[u8; 4]],
    words: &'a [[u8; 8]],
}

impl<'a> Stored<'a> {
    pub(super) fn of(decimals: &Decimals, body: Body<'a>) -> Result<Self> {
        let packed = packing::bytes_for(body.rows, decimals.packing.width);
        let stored = body.bytes.get(packed..).ok_or_else(|| corrupt("too few packed values"))?;
        let rows = stored.split_at_checked(4 * decimals.exceptions as usize);
        let (rows, words) = rows.ok_or_else(|| corrupt("too few exceptions"))?;
        Ok(Self { rows: rows.as_chunks().0, words: words.as_chunks().0 })
    }

    /// Rows and floats of the exceptions of `rows`.
    pub(super) fn within(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        let row = |row: &[u8; 4]| u32::from_le_bytes(*row) as usize;
        let first = self.rows.partition_point(|at| row(at) < rows.start);
        let found = self.rows[first..].iter().zip(&self.words[first.min(self.words.len())..]);
        found.map(move |(at, word)| (row(at), u64::from_le_bytes(*word))).take_while(move |(at, _)| rows.contains(at))
    }
}
