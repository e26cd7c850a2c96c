//! Strings as they are.
//!
//! ```text
//! starts      u32 per block of 1,024 strings and one more: where its bytes begin
//! lengths     of the strings: their bits (1), then packed
//! bytes       strings one after the other, NULL rows empty; shared with vectors where the body is
//! ```
//!
//! Lengths are packed separately from the bytes because most are small and similar: under one byte each instead of four
//! in an array of offsets. A string is located by the start of its block and the lengths before it.

mod decode;
mod encode;
mod take;
mod validate;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::Flat;

use crate::column::Column;
use crate::lengths::{Lengths, Starts};
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Text;

impl Scheme for Text {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(_form: usize, _bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self)
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        decode::decode(body, rows).map(Flat::Str)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        take::take(body, start, rows).map(Flat::Str)
    }
}

/// The strings of a body, ready to be read.
struct Strings<'a> {
    starts: Starts<'a>,
    lengths: Lengths<'a>,
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    fn of(body: Body<'a>) -> Result<Self> {
        let mut bytes = body.bytes;
        let starts = Starts::read(&mut bytes, body.rows)?;
        let lengths = Lengths::read(&mut bytes, body.rows)?;
        Ok(Self { starts, lengths, bytes })
    }
}
