//! Whole packed blocks.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use crate::header::corrupt;
use crate::packing::{self, Packing};
use crate::scheme::Shape;

pub(super) fn check(packing: &Packing, shape: Shape) -> Result<()> {
    let is_integer = shape.physical.is_integer() || shape.physical == PhysicalType::Bool;
    match is_integer && shape.bytes == packing::bytes_for(shape.rows, packing.width) {
        true => Ok(()),
        false => Err(corrupt("packed values contradict their header")),
    }
}
