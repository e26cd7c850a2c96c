//! Checks for floats, whole blocks, and the number of exceptions.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::{Decimals, EXPONENT_MAX};
use crate::header::corrupt;
use crate::scheme::Shape;

pub(super) fn check(decimals: &Decimals, shape: Shape) -> Result<()> {
    let is_float = matches!(shape.physical, PhysicalType::F32 | PhysicalType::F64);
    let has_bytes = decimals.exceptions as usize <= shape.rows && shape.bytes == decimals.bytes(shape.rows);
    match is_float && has_bytes && decimals.exponent <= EXPONENT_MAX {
        true => Ok(()),
        false => Err(corrupt("decimals contradict their header")),
    }
}
