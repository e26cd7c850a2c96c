//! Strings; the rest is checked when it is read.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use crate::header::corrupt;
use crate::scheme::Shape;

/// The body is checked only when it is read.
pub(super) fn check(shape: Shape) -> Result<()> {
    if shape.physical == PhysicalType::Str { Ok(()) } else { Err(corrupt("numbers stored as strings")) }
}
