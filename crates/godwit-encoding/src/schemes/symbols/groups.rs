//! The positions of groups of compressed strings within their block.

use godwit_common::Result;

use super::Places;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::lengths::Lengths;
use crate::parameters::split;

/// Number of strings in a group. Larger groups would take less than 2 bits per string, but reading a single string
/// would have to walk through more of them.
pub(super) const GROUP_ROWS: usize = 8;

/// How a body stores the positions of groups.
pub(super) enum Groups<'a> {
    /// Compressed lengths of strings.
    Lengths(Lengths<'a>),
    /// Starts in 2 bytes each.
    Narrow(&'a [[u8; 2]]),
    /// Starts in 4 bytes each.
    Wide(&'a [[u8; 4]]),
}

/// Appends the starts of groups; `ends` are those of all compressed strings.
pub(super) fn write(ends: &[u64], out: &mut Vec<u8>) {
    let width = width(ends);
    out.push(width as u8);
    for start in starts(ends) {
        out.extend_from_slice(&start.to_le_bytes()[..width]);
    }
}

/// Bytes of the starts of groups.
pub(super) fn bytes(ends: &[u64]) -> usize {
    1 + ends.len().div_ceil(GROUP_ROWS) * width(ends)
}

fn width(ends: &[u64]) -> usize {
    if starts(ends).all(|start| start <= u16::MAX.into()) { 2 } else { 4 }
}

fn starts(ends: &[u64]) -> impl Iterator<Item = u32> {
    let before = |row: usize| if row == 0 { 0 } else { ends[row - 1] };
    (0..ends.len()).step_by(GROUP_ROWS).map(move |row| (before(row) - before(row / BLOCK_ROWS * BLOCK_ROWS)) as u32)
}

impl<'a> Groups<'a> {
    /// Takes the positions of `rows` strings off the front of a body.
    pub(super) fn read(body: &mut &'a [u8], rows: usize, places: Places) -> Result<Self> {
        if places == Places::Lengths {
            return Ok(Self::Lengths(Lengths::read(body, rows)?));
        }
        let width = split(body, 1)?[0];
        let starts = |body, width| split(body, rows.div_ceil(GROUP_ROWS) * width);
        match width {
            2 => Ok(Self::Narrow(starts(body, 2)?.as_chunks().0)),
            4 => Ok(Self::Wide(starts(body, 4)?.as_chunks().0)),
            _ => Err(corrupt("bad width of groups")),
        }
    }

    /// Where a group begins in its block.
    pub(super) fn start(&self, group: usize) -> Result<u32> {
        let missing = || corrupt("a group is missing");
        match self {
            Self::Narrow(starts) => Ok(u16::from_le_bytes(*starts.get(group).ok_or_else(missing)?).into()),
            Self::Wide(starts) => Ok(u32::from_le_bytes(*starts.get(group).ok_or_else(missing)?)),
            Self::Lengths(lengths) => {
                let row = group * GROUP_ROWS;
                let before = lengths.of(row / BLOCK_ROWS * BLOCK_ROWS..row)?;
                Ok(before.iter().fold(0, |sum: u32, &length| sum.saturating_add(length)))
            }
        }
    }
}
