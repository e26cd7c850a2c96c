//! Multiples times the factor plus the base, modulo the type's size: exact for undamaged bodies.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, match_integer_type};

use super::Multiples;
use crate::flat::make;
use crate::packing::FromDistance;
use crate::scheme::Body;

pub(super) fn decode(multiples: &Multiples, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    let Multiples { factor, packing } = *multiples;
    Ok(match_integer_type!(body.physical, T => {
        let base = T::base(packing.base);
        // SIMD units multiply 32 by 32 bits to 64, but not 64 by 64.
        let values = match packing.width <= 32 && factor <= u32::MAX.into() {
            true => packing.map(body.bytes, rows, |multiple| T::at(base, (multiple as u32 as u64) * (factor as u32 as u64)))?,
            false => packing.map(body.bytes, rows, |multiple| T::at(base, multiple.wrapping_mul(factor)))?,
        };
        make(body.physical, values)
    }))
}

pub(super) fn take(multiples: &Multiples, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    let Multiples { factor, packing } = *multiples;
    Ok(match_integer_type!(body.physical, T => {
        let base = T::base(packing.base);
        let value = |multiple: u64| T::at(base, multiple.wrapping_mul(factor));
        make(body.physical, packing.map_rows(body.bytes, start, rows, value)?)
    }))
}
