//! Single strings by walking through the codes of their groups.

use godwit_common::Result;
use godwit_vector::StrColumn;

use super::Strings;
use super::groups::GROUP_ROWS;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::lengths::add_ends;

/// Finds the compressed bytes of each string in its group, and decompresses all of them at once.
pub(super) fn take(strings: &Strings<'_>, start: usize, rows: &[u32]) -> Result<StrColumn> {
    let of_groups = rows_of_groups(strings, start, rows);
    let lengths = strings.lengths.at(&of_groups)?;
    let mut compressed: Vec<u8> = Vec::with_capacity(8 * rows.len());
    let mut taken: Vec<u32> = Vec::with_capacity(rows.len());
    // Position of the walk in `of_groups`.
    let mut at = 0;
    let mut walk = Walk::default();
    for &row in rows {
        let row = start + row as usize;
        if row / GROUP_ROWS != walk.group {
            while of_groups[at] as usize / GROUP_ROWS != row / GROUP_ROWS {
                at += 1;
            }
            walk = Walk { group: row / GROUP_ROWS, rest: strings.group_on(row)?, last: &[] };
        }
        // If a row is requested again, the walk has stopped right after it.
        while of_groups.get(at).is_some_and(|&next| next as usize <= row) {
            walk.step(strings, lengths[at])?;
            at += 1;
        }
        compressed.extend_from_slice(walk.last);
        taken.push(lengths[at - 1]);
    }
    let mut bytes = Vec::with_capacity(strings.bytes_of(&taken));
    strings.table.decompress(&compressed, &mut bytes)?;
    let mut ends = Vec::with_capacity(rows.len());
    add_ends(&taken, 0, bytes.len(), &mut ends)?;
    Ok(StrColumn::from_parts(bytes, &ends))
}

/// All rows of the groups that have one of `rows`.
fn rows_of_groups(strings: &Strings<'_>, start: usize, rows: &[u32]) -> Vec<u32> {
    let mut of_groups: Vec<u32> = Vec::with_capacity(GROUP_ROWS * rows.len());
    let mut end = 0;
    for &row in rows {
        let row = start + row as usize;
        if row >= end {
            let begin = row / GROUP_ROWS * GROUP_ROWS;
            end = begin + GROUP_ROWS;
            of_groups.extend((begin..end.min(strings.rows)).map(|row| row as u32));
        }
    }
    of_groups
}

/// Walks through the compressed strings of a group.
struct Walk<'a> {
    group: usize,
    /// The remaining bytes, up to the end of the block.
    rest: &'a [u8],
    /// The previous string.
    last: &'a [u8],
}

impl Default for Walk<'_> {
    fn default() -> Self {
        Self { group: usize::MAX, rest: &[], last: &[] }
    }
}

impl<'a> Walk<'a> {
    /// Moves to the next string, which decompresses to `length` bytes.
    fn step(&mut self, strings: &Strings<'_>, length: u32) -> Result<()> {
        let compressed = strings.table.compressed_bytes(self.rest, length as usize);
        let compressed = compressed.ok_or_else(|| corrupt("a string is longer than its block"))?;
        (self.last, self.rest) = self.rest.split_at(compressed);
        Ok(())
    }
}

impl<'a> Strings<'a> {
    /// The compressed bytes from the start of a row's group to the end of its block.
    fn group_on(&self, row: usize) -> Result<&'a [u8]> {
        let bytes = self.block(row / BLOCK_ROWS)?;
        let start = self.groups.start(row / GROUP_ROWS)?;
        bytes.get(start as usize..).ok_or_else(|| corrupt("a group lies outside of its block"))
    }
}
