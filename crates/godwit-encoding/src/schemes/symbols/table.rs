//! The symbol table: what codes stand for.

use fsst::{Compressor, Decompressor, ESCAPE_CODE, Symbol};
use godwit_common::Result;

use super::{Places, SYMBOL_BYTES_MAX};
use crate::header::corrupt;
use crate::parameters::split;

/// Maximum number of symbols of a table; one code is the escape.
const SYMBOLS_MAX: usize = 255;

/// Bytes that are decompressed at a time: a block of 1,024 short strings, so that the result stays in the cache until it
/// is copied.
const PIECE_BYTES: usize = 32 << 10;

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
            if !(1..=SYMBOL_BYTES_MAX).contains(&usize::from(length)) {
                return Err(corrupt("bad symbol"));
            }
            let stored = split(body, if places == Places::Lengths { SYMBOL_BYTES_MAX } else { length as usize })?;
            let mut word = [0; SYMBOL_BYTES_MAX];
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

    /// Appends what the bytes stand for, piece by piece: the decompressor allocates eight times what it gets, which a
    /// block of long strings must not. Fails if the last byte is an escape with nothing after it; any other bytes are
    /// valid.
    pub(super) fn decompress(&self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if ends_within_symbol(bytes) {
            return Err(corrupt("a string ends within a symbol"));
        }
        let decompressor = Decompressor::new(&self.symbols, &self.lengths);
        while !bytes.is_empty() {
            let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
            let (piece, rest) = bytes.split_at(piece.len() - usize::from(ends_within_symbol(piece)));
            out.extend(decompressor.decompress(piece));
            bytes = rest;
        }
        Ok(())
    }
}

/// True if the last byte is an escape with nothing after it. Escaped bytes may look like escapes themselves, so the
/// escapes at the end are pairs, or one of them is alone.
fn ends_within_symbol(bytes: &[u8]) -> bool {
    bytes.iter().rev().take_while(|&&byte| byte == ESCAPE_CODE).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces are cut between symbols, and between an escape and its byte never.
    #[test]
    fn long_strings_are_decompressed_in_pieces() {
        let compressor = Compressor::train(&vec![&b"abcabcabd"[..]]);
        for filler in 0..3 {
            // Escapes of the byte that looks like one, at every distance from the end of a piece.
            let mut plain = b"abc".repeat(filler);
            plain.resize(2 * PIECE_BYTES, 0xff);
            plain.extend(b"abcabcabdxyz".repeat(PIECE_BYTES / 4));
            let compressed = compressor.compress(&plain);
            assert!(compressed.len() > 2 * PIECE_BYTES);
            let mut body = Vec::new();
            write(&compressor, &mut body);
            let table = SymbolTable::read(&mut &body[..], Places::Groups).unwrap();
            let mut found = b"before".to_vec();
            table.decompress(&compressed, &mut found).unwrap();
            assert!(found.strip_prefix(b"before") == Some(&plain[..]), "{filler}");
            let cut = &compressed[..compressed.iter().rposition(|&byte| byte == ESCAPE_CODE).unwrap() + 1];
            assert!(table.decompress(cut, &mut found).is_err());
        }
    }
}
