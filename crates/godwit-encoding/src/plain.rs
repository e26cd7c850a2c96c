//! Fixed-width values as they are, little-endian.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType, match_physical};

use crate::header::corrupt;

/// Appends fixed-width values.
pub(crate) fn write(values: &Flat, out: &mut Vec<u8>) {
    godwit_vector::match_flat!(
        values,
        values => values.iter().for_each(|value| out.extend(value.to_le_bytes())),
        _s => unreachable!("strings are text"),
        _a => unreachable!("nested values have no segments")
    )
}

/// Values `rows` of an array of fixed-width values.
pub(crate) fn read(physical: PhysicalType, bytes: &[u8], rows: Range<usize>) -> Result<Flat> {
    let width = physical.width_bytes();
    let bytes = bytes.get(rows.start * width..rows.end * width).ok_or_else(|| corrupt("too few values"))?;
    Ok(match_physical!(physical, T => {
        let values: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(|value| T::from_le_bytes(value.try_into().expect("as wide"))).collect();
        make(physical, values)
    }))
}

/// A flat column; booleans come as bytes.
pub(crate) fn make<T: godwit_vector::Native>(physical: PhysicalType, values: Vec<T>) -> Flat {
    match (physical, T::into_flat(values.into())) {
        (PhysicalType::Bool, Flat::U8(values)) => Flat::Bool(values),
        (_, flat) => flat,
    }
}
