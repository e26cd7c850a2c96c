//! One value for all rows: a number in the header, or a string, which is the body.

mod decode;
mod encode;
mod retain;
mod validate;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType, ValueRange, Vector};

use crate::column::Column;
use crate::parameters::take;
use crate::part::CodeFilter;
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// This integer, or the bits of this float.
    Number(i128),
    /// The string in the body.
    Text,
}

impl Scheme for Constant {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(form: usize, bytes: &mut &[u8]) -> Result<Self> {
        Ok(if form == 0 { Self::Number(i128::from_le_bytes(take(bytes)?)) } else { Self::Text })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(value) => out.extend(value.to_le_bytes()),
            Self::Text => {}
        }
    }

    fn form(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Text => 1,
        }
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(self, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        Ok(decode::repeated(self, body, rows.len()))
    }

    fn take(&self, body: Body<'_>, _start: usize, rows: &[u32]) -> Result<Flat> {
        Ok(decode::repeated(self, body, rows.len()))
    }

    fn uniform(&self, body: Body<'_>, rows: usize) -> Result<Option<Vector>> {
        Ok(Some(Vector::constant(decode::repeated(self, body, 1), rows)))
    }

    fn retain_range(&self, _: Body<'_>, _: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        retain::retain_range(self, wanted, mask);
        Ok(())
    }

    fn retain_codes(&self, _: Body<'_>, _: Range<usize>, wanted: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        retain::retain_codes(self, wanted, mask);
        Ok(())
    }

    fn bytes_before(&self, _physical: PhysicalType, _row: usize) -> Option<usize> {
        match self {
            Self::Number(_) => Some(0),
            // Rows before and after need the same bytes, so the body can't be split.
            Self::Text => None,
        }
    }
}
