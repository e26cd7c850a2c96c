//! Whole packed blocks, and a factor.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::Multiples;
use crate::header::corrupt;
use crate::packing;
use crate::scheme::Shape;

pub(super) fn check(multiples: &Multiples, shape: Shape) -> Result<()> {
    let is_integer = shape.physical.is_integer() || shape.physical == PhysicalType::Bool;
    let bytes = packing::bytes_for(shape.rows, multiples.packing.width);
    match is_integer && multiples.factor >= 2 && shape.bytes == bytes {
        true => Ok(()),
        false => Err(corrupt("packed multiples contradict their header")),
    }
}
