//! Nothing but NULL. No parameters, no body.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, ValueRange, Vector};

use crate::column::Column;
use crate::cost;
use crate::header::corrupt;
use crate::part::CodeFilter;
use crate::registry::Encoding;
use crate::scheme::{Body, Proposal, Scheme, Shape, Size};

#[derive(Debug, Clone, PartialEq)]
pub struct Null;

impl Scheme for Null {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        let write = Box::new(|_: &mut Vec<u8>| Encoding::Null(Null));
        column.is_null().then_some(Proposal { size: Size::Exact(0), cost: cost::CONSTANT, write })
    }

    fn read(_form: usize, _bytes: &mut &[u8]) -> Result<Self> {
        Ok(Null)
    }

    fn check(&self, shape: Shape) -> Result<()> {
        if shape.bytes == 0 { Ok(()) } else { Err(corrupt("NULLs with values")) }
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        Ok(Flat::zeros(body.physical, rows.len()))
    }

    fn take(&self, body: Body<'_>, _start: usize, rows: &[u32]) -> Result<Flat> {
        Ok(Flat::zeros(body.physical, rows.len()))
    }

    fn uniform(&self, body: Body<'_>, rows: usize) -> Result<Option<Vector>> {
        Ok(Some(Vector::null(body.physical, rows)))
    }

    fn retain_range(&self, _: Body<'_>, _: Range<usize>, _: ValueRange, mask: &mut [u64]) -> Result<()> {
        mask.fill(0);
        Ok(())
    }

    fn retain_codes(&self, _: Body<'_>, _: Range<usize>, _: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        mask.fill(0);
        Ok(())
    }

    fn bytes_before(&self, _physical: godwit_vector::PhysicalType, _row: usize) -> Option<usize> {
        Some(0)
    }
}
