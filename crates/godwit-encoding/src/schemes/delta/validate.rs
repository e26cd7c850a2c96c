//! Checks that there is room for the directory; the rest is checked when it is read.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::Block;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::scheme::Shape;

pub(super) fn check(shape: Shape) -> Result<()> {
    let is_integer = shape.physical.is_integer() || shape.physical == PhysicalType::Bool;
    match is_integer && shape.bytes >= shape.rows.div_ceil(BLOCK_ROWS) * Block::BYTES {
        true => Ok(()),
        false => Err(corrupt("differences contradict their header")),
    }
}
