//! The right number of values of the type's width.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use crate::header::corrupt;
use crate::scheme::Shape;

pub(super) fn check(shape: Shape) -> Result<()> {
    match shape.physical != PhysicalType::Str && shape.bytes == shape.rows * shape.physical.width_bytes() {
        true => Ok(()),
        false => Err(corrupt("values contradict their header")),
    }
}
