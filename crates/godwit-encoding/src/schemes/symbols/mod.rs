//! Strings compressed with a symbol table of up to 255 byte sequences, so that each of them can be decoded on its own.
//!
//! ```text
//! symbols     number of symbols (1), the length of each (1), the bytes of each
//! starts      u32 per block of 1,024 strings and one more: where its compressed bytes begin
//! lengths     of the strings: their bits (1), then packed
//! groups      width (1; 2 or 4), then per group of 8 strings where its compressed bytes begin in the block, so wide
//! bytes       compressed strings one after the other, NULL rows empty
//! ```
//!
//! The end of a string in the compressed bytes isn't stored, only its uncompressed length: to find a string, the codes
//! of its group are walked through until they have produced all bytes before the string. That takes no longer than
//! adding up the compressed lengths of a block, which would take 5 to 7 bits per string; groups take 2.
//!
//! Form 0, in files up to format 5: symbols have 8 bytes each, padded with zeros, and for groups there are
//!
//! ```text
//! stored      lengths of the compressed strings: their bits (1), then packed
//! ```
//!
//! Source: Boncz, Neumann, Leis, "FSST: Fast Random Access String Compression", 2020, by the crate `fsst-rs`.

mod decode;
mod encode;
mod groups;
mod table;
mod take;
mod train;
mod validate;

#[cfg(test)]
mod tests;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::Flat;

use crate::column::Column;
use crate::header::corrupt;
use crate::lengths::{Lengths, Starts};
use crate::scheme::{Body, Proposal, Scheme, Shape};
use groups::Groups;
use table::SymbolTable;

/// Maximum length of a symbol.
const SYMBOL_BYTES_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Symbols {
    /// How the positions of compressed strings are stored.
    places: Places,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Places {
    /// The compressed length of each string.
    Lengths,
    /// The start of each group of strings.
    Groups,
}

impl Scheme for Symbols {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(form: usize, _bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { places: if form == 0 { Places::Lengths } else { Places::Groups } })
    }

    fn form(&self) -> usize {
        match self.places {
            Places::Lengths => 0,
            Places::Groups => 1,
        }
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        decode::decode(&self.open(body)?, rows).map(Flat::Str)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        take::take(&self.open(body)?, start, rows).map(Flat::Str)
    }
}

/// The strings of a body, ready to be read.
struct Strings<'a> {
    rows: usize,
    table: Box<SymbolTable>,
    starts: Starts<'a>,
    lengths: Lengths<'a>,
    groups: Groups<'a>,
    bytes: &'a [u8],
}

impl Symbols {
    fn open<'a>(&self, body: Body<'a>) -> Result<Strings<'a>> {
        let (rows, mut bytes) = (body.rows, body.bytes);
        let table = SymbolTable::read(&mut bytes, self.places)?;
        let starts = Starts::read(&mut bytes, rows)?;
        let lengths = Lengths::read(&mut bytes, rows)?;
        let groups = Groups::read(&mut bytes, rows, self.places)?;
        Ok(Strings { rows, table, starts, lengths, groups, bytes })
    }
}

impl<'a> Strings<'a> {
    /// The compressed bytes of a block.
    fn block(&self, block: usize) -> Result<&'a [u8]> {
        self.bytes.get(self.starts.block(block)?).ok_or_else(|| corrupt("strings lie outside of it"))
    }

    /// Bytes to allocate for strings with these lengths, which a damaged body can't make more than its bytes can stand
    /// for.
    fn bytes_of(&self, lengths: &[u32]) -> usize {
        let stated = lengths.iter().map(|&length| length as usize).sum::<usize>();
        stated.min(SYMBOL_BYTES_MAX * self.bytes.len())
    }
}
