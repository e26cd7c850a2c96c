//! Integers as distances from the least one, in as many bits as the largest distance needs.
//!
//! ```text
//! blocks      1,024 distances each, the last one padded with zeros                    (packing.rs)
//! ```

mod encode;
mod retain;
mod validate;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType, ValueRange, match_integer_type};

use crate::column::Column;
use crate::flat::make;
use crate::packing::{self, Packing};
use crate::part::CodeFilter;
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packed {
    pub(crate) packing: Packing,
}

impl Scheme for Packed {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(_form: usize, bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { packing: Packing::from_bytes(bytes)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.packing.to_bytes(out);
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(&self.packing, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        Ok(match_integer_type!(body.physical, T => {
            make(body.physical, self.packing.read::<T>(body.bytes, rows)?)
        }))
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        Ok(match_integer_type!(body.physical, T => {
            make(body.physical, self.packing.take::<T>(body.bytes, start, rows)?)
        }))
    }

    fn retain_range(&self, body: Body<'_>, rows: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        self.packing.retain_range(body.bytes, rows, wanted, mask)
    }

    fn retain_codes(&self, body: Body<'_>, rows: Range<usize>, wanted: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        retain::retain_codes(&self.packing, body, rows, wanted, mask)
    }

    fn bytes_before(&self, _physical: PhysicalType, row: usize) -> Option<usize> {
        Some(packing::bytes_for(row, self.packing.width))
    }
}
