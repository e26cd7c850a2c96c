//! Fixed-width values as they are, little-endian.

mod decode;
mod encode;
mod take;
mod validate;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use crate::column::Column;
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plain;

impl Scheme for Plain {
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
        decode::decode(body, rows)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        take::take(body, start, rows)
    }

    fn bytes_before(&self, physical: PhysicalType, row: usize) -> Option<usize> {
        Some(row * physical.width_bytes())
    }
}
