//! Compressed strings after their table and places.

use fsst::Compressor;

use super::train::train;
use super::{Places, Symbols, groups, table};
use crate::column::Column;
use crate::cost;
use crate::lengths;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

/// Number of strings that the symbol table is trained on and evaluated with. With 512, comments of TPC-H take 2 to 3 %
/// more, with 4,096 2 % less, in twice the time.
const SAMPLE_STRINGS: usize = 1_024;

/// What is taken of each of them, at most. A whole sample of texts of a megabyte would take as much time and memory as
/// compressing them.
const SAMPLE_STRING_BYTES_MAX: usize = 4096;

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    // Numbers of lists are packed instead.
    if !column.is_text() || column.learned.list_items.is_some() {
        return None;
    }
    let rows = column.rows();
    let sampled = (0..rows).step_by(rows.div_ceil(SAMPLE_STRINGS)).map(|row| column.string(row));
    let sample: Vec<&[u8]> = sampled.map(|string| &string[..string.len().min(SAMPLE_STRING_BYTES_MAX)]).collect();
    let compressor = column.learned.symbols(|known| train(&sample, known));
    let compressed = Compressed::of(&compressor, &sample);
    let share = compressed.bytes.len() as f64 / sample.iter().map(|string| string.len()).sum::<usize>().max(1) as f64;
    let (mut bytes, mut longest) = (0, 0);
    for length in (0..rows).map(|row| column.string(row).len()) {
        bytes += length;
        longest = longest.max(length);
    }
    let frame = table::bytes(&compressor) + lengths::starts_bytes(rows) + lengths::lengths_bytes(rows, longest);
    let size = match rows == sample.len() && longest <= SAMPLE_STRING_BYTES_MAX {
        true => Size::Exact(frame + groups::bytes(&compressed.ends) + compressed.bytes.len()),
        false => Size::Sampled(frame + 1 + rows.div_ceil(groups::GROUP_ROWS) * 2 + (bytes as f64 * share) as usize),
    };
    let write = Box::new(move |body: &mut Vec<u8>| {
        let strings: Vec<&[u8]> = (0..rows).map(|row| column.string(row)).collect();
        let Compressed { bytes, ends } = Compressed::of(&compressor, &strings);
        table::write(&compressor, body);
        lengths::write_starts(rows, |row| (ends[row] - if row == 0 { 0 } else { ends[row - 1] }) as usize, body);
        lengths::write_lengths(rows, |row| strings[row].len(), body);
        groups::write(&ends, body);
        body.reserve_exact(bytes.len());
        body.extend_from_slice(&bytes);
        Encoding::Symbols(Symbols { places: Places::Groups })
    });
    Some(Proposal { size, cost: cost::SYMBOLS, write })
}

pub(super) struct Compressed {
    pub bytes: Vec<u8>,
    /// Where each string ends.
    pub ends: Vec<u64>,
}

impl Compressed {
    pub(super) fn of(compressor: &Compressor, strings: &[&[u8]]) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(strings, &mut bytes, &mut ends);
        Self { bytes, ends }
    }
}
