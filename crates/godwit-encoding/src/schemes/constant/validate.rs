//! A number without a body, or a string with one.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::Constant;
use crate::header::corrupt;
use crate::scheme::Shape;

pub(super) fn check(constant: &Constant, shape: Shape) -> Result<()> {
    let is_text = shape.physical == PhysicalType::Str;
    let fits = match constant {
        Constant::Number(_) => !is_text && shape.bytes == 0,
        Constant::Text => is_text,
    };
    if fits { Ok(()) } else { Err(corrupt("a constant of another type")) }
}
