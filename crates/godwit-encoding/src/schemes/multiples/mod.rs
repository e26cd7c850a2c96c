//! Integers that are a base plus multiples of a factor, such as whole units among decimals: the multiples, packed.
//!
//! ```text
//! blocks      1,024 multiples each, the last one padded with zeros                    (packing.rs)
//! ```

mod decode;
mod encode;
mod retain;
mod validate;

#[cfg(test)]
mod tests;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType, ValueRange};

use crate::column::Column;
use crate::packing::{self, Packing};
use crate::parameters::take;
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiples {
    /// At least 2.
    factor: u64,
    /// How the multiples are packed; its base is the value that the multiple 0 stands for.
    packing: Packing,
}

impl Scheme for Multiples {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(_form: usize, bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { factor: u64::from_le_bytes(take(bytes)?), packing: Packing::from_bytes(bytes)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.factor.to_le_bytes());
        self.packing.to_bytes(out);
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(self, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        decode::decode(self, body, rows)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        decode::take(self, body, start, rows)
    }

    fn retain_range(&self, body: Body<'_>, rows: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        retain::retain_range(self, body, rows, wanted, mask)
    }

    fn bytes_before(&self, _physical: PhysicalType, row: usize) -> Option<usize> {
        Some(packing::bytes_for(row, self.packing.width))
    }
}
