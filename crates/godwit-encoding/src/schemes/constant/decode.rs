//! The value, repeated.

use godwit_vector::{Flat, StrColumn};

use super::Constant;
use crate::flat;
use crate::scheme::Body;

/// The value, repeated `rows` times.
pub(super) fn repeated(constant: &Constant, body: Body<'_>, rows: usize) -> Flat {
    match constant {
        Constant::Number(value) => flat::repeated(body.physical, *value, rows),
        Constant::Text => Flat::Str(StrColumn::from_strings(std::iter::repeat_n(body.bytes, rows))),
    }
}
