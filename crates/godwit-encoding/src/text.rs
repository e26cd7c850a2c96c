//! Strings, as they are or compressed with a symbol table (FSST), which keeps each of them decodable alone.
//!
//! ```text
//! [symbol table]      Symbols only: count, lengths, 8 bytes per symbol
//! block starts        u32 per block and one more: where its bytes begin
//! lengths             of the strings, packed (packed.rs)
//! [stored lengths]    Symbols only: of the compressed strings, packed
//! bytes               strings one after the other, NULL rows empty
//! ```
//!
//! Lengths are packed apart from the bytes because most are small and alike: under one byte instead of the four of an
//! array of offsets. A string is found by the start of its block and the lengths before it.

use std::ops::Range;

use fsst::{Compressor, Decompressor, ESCAPE_CODE, Symbol};
use godwit_common::Result;
use godwit_vector::{SharedBytes, StrBuilder, StrColumn, ValueRange};

use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::packed::{self, Packing};

/// Symbols of a table at most; one code is the escape.
const SYMBOLS_MAX: usize = 255;

/// Appends strings as they are; `get` gives the bytes of a row, empty for NULL.
pub(crate) fn write_plain<'a>(rows: usize, get: impl Fn(usize) -> &'a [u8], out: &mut Vec<u8>) {
    write_starts(rows, |row| get(row).len(), out);
    write_lengths(rows, |row| get(row).len(), out);
    (0..rows).for_each(|row| out.extend_from_slice(get(row)));
}

/// Appends strings compressed by `compressor`.
pub(crate) fn write_symbols<'a>(
    rows: usize,
    get: impl Fn(usize) -> &'a [u8],
    compressor: &Compressor,
    out: &mut Vec<u8>,
) {
    let stored: Vec<Vec<u8>> = (0..rows).map(|row| compressor.compress(get(row))).collect();
    out.push(compressor.symbol_table().len() as u8);
    out.extend_from_slice(compressor.symbol_lengths());
    compressor.symbol_table().iter().for_each(|symbol| out.extend(symbol.to_u64().to_le_bytes()));
    write_starts(rows, |row| stored[row].len(), out);
    write_lengths(rows, |row| get(row).len(), out);
    write_lengths(rows, |row| stored[row].len(), out);
    stored.iter().for_each(|bytes| out.extend_from_slice(bytes));
}

fn write_starts(rows: usize, length: impl Fn(usize) -> usize, out: &mut Vec<u8>) {
    let mut start = 0u32;
    for row in 0..rows {
        if row.is_multiple_of(BLOCK_ROWS) {
            out.extend(start.to_le_bytes());
        }
        start += length(row) as u32;
    }
    out.extend(start.to_le_bytes());
}

/// Appends the width of the lengths, then the lengths.
fn write_lengths(rows: usize, length: impl Fn(usize) -> usize, out: &mut Vec<u8>) {
    let longest = (0..rows).map(&length).max().unwrap_or(0) as i128;
    let packing = Packing::of_range(ValueRange { min: 0, max: longest }).expect("lengths have few bits");
    out.push(packing.width);
    packing.write(rows, |row| length(row) as u64, out);
}

/// The strings of a body, ready to be read.
pub(crate) struct Strings<'a> {
    rows: usize,
    starts: &'a [u8],
    lengths: Lengths<'a>,
    /// Of the bytes as stored; the strings' own if nothing is compressed.
    stored: Lengths<'a>,
    bytes: &'a [u8],
    symbols: Option<Box<SymbolTable>>,
}

struct SymbolTable {
    symbols: [Symbol; SYMBOLS_MAX],
    lengths: [u8; SYMBOLS_MAX],
}

#[derive(Clone, Copy)]
struct Lengths<'a> {
    packing: Packing,
    body: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Reads the frame of a body, without its validity bitmap.
    pub(crate) fn read(mut body: &'a [u8], rows: usize, compressed: bool) -> Result<Self> {
        let symbols = if compressed { Some(read_symbols(&mut body)?) } else { None };
        let starts = split(&mut body, (rows.div_ceil(BLOCK_ROWS) + 1) * 4)?;
        let lengths = Lengths::read(&mut body, rows)?;
        let stored = if compressed { Lengths::read(&mut body, rows)? } else { lengths };
        Ok(Self { rows, starts, lengths, stored, bytes: body, symbols })
    }

    /// Where the bytes of a block begin.
    fn start(&self, block: usize) -> usize {
        u32::from_le_bytes(self.starts[block * 4..][..4].try_into().expect("four bytes")) as usize
    }

    fn block_bytes(&self, block: usize) -> Result<&'a [u8]> {
        self.bytes.get(self.start(block)..self.start(block + 1)).ok_or_else(|| corrupt("strings lie outside of it"))
    }

    /// The strings of `rows`, which start at a multiple of [`BLOCK_ROWS`].
    pub(crate) fn decode(&self, rows: Range<usize>) -> Result<StrColumn> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut ends: Vec<usize> = Vec::with_capacity(rows.len());
        for begin in rows.clone().step_by(BLOCK_ROWS) {
            let block = self.block_bytes(begin / BLOCK_ROWS)?;
            let mut end = bytes.len();
            match &self.symbols {
                None => bytes.extend_from_slice(block),
                // Compressed strings have no state in common: all of a block are decompressed as one.
                Some(table) => bytes.extend(table.decompressed(block)?),
            }
            let lengths = self.lengths.of(begin..rows.end.min(begin + BLOCK_ROWS))?;
            ends.extend(lengths.into_iter().map(|length| {
                end += length as usize;
                end
            }));
            if end > bytes.len() {
                return Err(corrupt("strings are longer than its bytes"));
            }
        }
        Ok(StrColumn::from_parts(bytes, &ends))
    }

    /// As [`decode`](Self::decode), of strings that aren't compressed and lie at the end of `body`: they share its bytes.
    pub(crate) fn share(&self, body: &SharedBytes, rows: Range<usize>) -> Result<StrColumn> {
        let first = self.start(rows.start / BLOCK_ROWS);
        let lengths = self.lengths.of(rows)?;
        let strings = body.strings(body.len() - self.bytes.len() + first, &lengths);
        strings.ok_or_else(|| corrupt("strings are longer than its bytes"))
    }

    /// The strings of single rows, which ascend and are relative to `start`.
    pub(crate) fn take(&self, start: usize, rows: &[u32]) -> Result<StrColumn> {
        let mut block = usize::MAX;
        let mut block_bytes: &[u8] = &[];
        // Where each string of the block ends, as stored.
        let mut stored_ends: Vec<u32> = Vec::new();
        let mut strings = StrBuilder::with_capacity(rows.len());
        for &row in rows {
            let row = start + row as usize;
            if row / BLOCK_ROWS != block {
                block = row / BLOCK_ROWS;
                block_bytes = self.block_bytes(block)?;
                let begin = block * BLOCK_ROWS;
                stored_ends = self.stored.of(begin..self.rows.min(begin + BLOCK_ROWS))?;
                stored_ends.iter_mut().fold(0u32, |sum, length| {
                    *length = sum.saturating_add(*length);
                    *length
                });
            }
            let row = row % BLOCK_ROWS;
            let stored_start = if row == 0 { 0 } else { stored_ends[row - 1] };
            let stored = block_bytes.get(stored_start as usize..stored_ends[row] as usize);
            let stored = stored.ok_or_else(|| corrupt("a string lies outside of it"))?;
            match &self.symbols {
                None => strings.push(stored),
                Some(table) => strings.push(&table.decompressed(stored)?),
            }
        }
        Ok(strings.finish())
    }
}

impl<'a> Lengths<'a> {
    fn read(body: &mut &'a [u8], rows: usize) -> Result<Self> {
        let width = split(body, 1)?[0];
        if width > u32::BITS as u8 {
            return Err(corrupt("too long strings"));
        }
        Ok(Self { packing: Packing { base: 0, width }, body: split(body, packed::bytes_for(rows, width))? })
    }

    fn of(&self, rows: Range<usize>) -> Result<Vec<u32>> {
        self.packing.read(self.body, rows)
    }
}

impl SymbolTable {
    /// Fails if the last byte announces one that isn't there; any other bytes mean something.
    fn decompressed(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        if bytes.last() == Some(&ESCAPE_CODE) {
            // Announced bytes may look like announcements themselves.
            let announcing = bytes.iter().fold(false, |is_announced, &byte| !is_announced && byte == ESCAPE_CODE);
            if announcing {
                return Err(corrupt("a string ends within a symbol"));
            }
        }
        Ok(Decompressor::new(&self.symbols, &self.lengths).decompress(bytes))
    }
}

fn read_symbols(body: &mut &[u8]) -> Result<Box<SymbolTable>> {
    let count = split(body, 1)?[0] as usize;
    let lengths = split(body, count)?;
    let words = split(body, count * 8)?;
    // Codes that no string of ours has decode to a byte.
    let mut table = Box::new(SymbolTable { symbols: [Symbol::from_u8(0); SYMBOLS_MAX], lengths: [1; SYMBOLS_MAX] });
    for (index, (&length, word)) in lengths.iter().zip(words.chunks_exact(8)).enumerate() {
        if !(1..=8).contains(&length) {
            return Err(corrupt("bad symbol"));
        }
        table.symbols[index] = Symbol::from_slice(word.try_into().expect("eight bytes"));
        table.lengths[index] = length;
    }
    Ok(table)
}

/// Takes `length` bytes off the front.
fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(length).ok_or_else(|| corrupt("too short"))?;
    *bytes = tail;
    Ok(head)
}
