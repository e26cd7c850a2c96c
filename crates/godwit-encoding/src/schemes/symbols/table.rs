//! The symbol table: what codes stand for.

use fsst::{Compressor, Decompressor, ESCAPE_CODE, Symbol};
use godwit_common::Result;

use super::Places;
use crate::header::corrupt;
use crate::parameters::split;

/// Maximum number of symbols of a table; one code is the escape.
const SYMBOLS_MAX: usize = 255;

pub(super) struct SymbolTable {
    symbols: [Symbol; SYMBOLS_MAX],
    lengths: [u8; SYMBOLS_MAX],
}

/// Appends the table of a compressor.
pub(super) fn write(compressor: &Compressor, out: &mut Vec<u8>) {
    let lengths = compressor.symbol_lengths();
    out.push(lengths.len() as u8);
    out.extend_from_slice(lengths);
    for (symbol, &length) in compressor.symbol_table().iter().zip(lengths) {
        out.extend_from_slice(&symbol.to_u64().to_le_bytes()[..length as usize]);
    }
}

/// Bytes of the table of a compressor.
pub(super) fn bytes(compressor: &Compressor) -> usize {
    let lengths = compressor.symbol_lengths();
    1 + lengths.len() + lengths.iter().map(|&length| usize::from(length)).sum::<usize>()
}

impl SymbolTable {
    /// Takes a table off the front of a body.
    pub(super) fn read(body: &mut &[u8], places: Places) -> Result<Box<Self>> {
        let count = split(body, 1)?[0] as usize;
        let lengths = split(body, count)?;
        // Codes that occur in none of our strings decode to a single byte.
        let mut table = Box::new(Self { symbols: [Symbol::from_u8(0); SYMBOLS_MAX], lengths: [1; SYMBOLS_MAX] });
        for (index, &length) in lengths.iter().enumerate() {
            if !(1..=8).contains(&length) {
                return Err(corrupt("bad symbol"));
            }
            let stored = split(body, if places == Places::Lengths { 8 } else { length as usize })?;
            let mut word = [0; 8];
            word[..stored.len()].copy_from_slice(stored);
            table.symbols[index] = Symbol::from_slice(&word);
            table.lengths[index] = length;
        }
        Ok(table)
    }

    /// How many of the compressed bytes decompress to `length` bytes; `None` if there are too few.
    pub(super) fn compressed_bytes(&self, bytes: &[u8], length: usize) -> Option<usize> {
        let (mut at, mut found) = (0, 0);
        while found < length {
            match *bytes.get(at)? {
                ESCAPE_CODE => {
                    found += 1;
                    at += 2;
                }
                code => {
                    found += usize::from(self.lengths[usize::from(code)]);
                    at += 1;
                }
            }
        }
        (at <= bytes.len()).then_some(at)
    }

    /// Fails if the last byte is an escape with nothing after it; any other bytes are valid.
    pub(super) fn decompressed(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        if bytes.last() == Some(&ESCAPE_CODE) {
            // Escaped bytes may look like escapes themselves.
            let announcing = bytes.iter().fold(false, |is_announced, &byte| !is_announced && byte == ESCAPE_CODE);
            if announcing {
                return Err(corrupt("a string ends within a symbol"));
            }
        }
        Ok(Decompressor::new(&self.symbols, &self.lengths).decompress(bytes))
    }
}
