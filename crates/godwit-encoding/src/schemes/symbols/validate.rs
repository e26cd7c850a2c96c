//! Strings; reading tells the rest.

use godwit_common::Result;

use crate::header::corrupt;
use crate::scheme::Shape;
use godwit_vector::PhysicalType;

/// Of the body, only reading it tells.
pub(super) fn check(shape: Shape) -> Result<()> {
    if shape.physical == PhysicalType::Str { Ok(()) } else { Err(corrupt("numbers stored as strings")) }
}
