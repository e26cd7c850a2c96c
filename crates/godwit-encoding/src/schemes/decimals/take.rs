//! Single rows, and their exceptions.

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use super::exceptions::Stored;
use super::{Decimals, Float, unscale};
use crate::scheme::Body;

pub(super) fn take(decimals: &Decimals, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    match body.physical {
        PhysicalType::F32 => take_floats::<f32>(decimals, body, start, rows),
        _ => take_floats::<f64>(decimals, body, start, rows),
    }
}

fn take_floats<T: Float>(decimals: &Decimals, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    let Decimals { exponent, packing, .. } = *decimals;
    let base = packing.base as i64;
    let float = |distance: u64| unscale::<T>(base.wrapping_add(distance as i64), exponent);
    let mut values = packing.map_rows(body.bytes, start, rows, float)?;
    if let (Some(first), Some(last), true) = (rows.first(), rows.last(), decimals.exceptions > 0) {
        // Both are ascending; a row may be requested several times.
        let mut at = 0;
        for (row, word) in Stored::of(decimals, body)?.within(start + *first as usize..start + *last as usize + 1) {
            at += rows[at..].partition_point(|&wanted| start + (wanted as usize) < row);
            let same = rows[at..].partition_point(|&wanted| start + (wanted as usize) == row);
            values[at..at + same].fill(T::of_word(word));
        }
    }
    Ok(T::into_flat(values.into()))
}
