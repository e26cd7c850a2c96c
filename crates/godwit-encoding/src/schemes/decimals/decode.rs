//! Converts integers to floats, then patches in the exceptions.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use super::exceptions::Stored;
use super::{Decimals, Float, unscale};
use crate::scheme::Body;

pub(super) fn decode(decimals: &Decimals, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    match body.physical {
        PhysicalType::F32 => decode_floats::<f32>(decimals, body, rows),
        _ => decode_floats::<f64>(decimals, body, rows),
    }
}

fn decode_floats<T: Float>(decimals: &Decimals, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    let Decimals { exponent, packing, .. } = *decimals;
    let base = packing.base as i64;
    let float = |distance: u64| unscale::<T>(base.wrapping_add(distance as i64), exponent);
    let mut values = packing.map(body.bytes, rows.clone(), float)?;
    if decimals.exceptions > 0 {
        for (row, word) in Stored::of(decimals, body)?.within(rows.clone()) {
            values[row - rows.start] = T::of_word(word);
        }
    }
    Ok(T::into_flat(values.into()))
}
