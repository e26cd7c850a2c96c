//! Copying runs of values.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, match_physical};

use crate::flat::{make, of_buffer};
use crate::header::corrupt;
use crate::scheme::Body;

pub(super) fn decode(body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    if let Some(shared) = shared(body, &rows) {
        return Ok(shared);
    }
    let width = body.physical.width_bytes();
    let bytes = body.bytes.get(rows.start * width..rows.end * width).ok_or_else(|| corrupt("too few values"))?;
    Ok(match_physical!(body.physical, T => {
        let values = bytes.as_chunks::<{ size_of::<T>() }>().0;
        make(body.physical, values.iter().map(|value| T::from_le_bytes(*value)).collect::<Vec<T>>())
    }))
}

/// The values in place, if they may be shared and this machine can read them as they are.
fn shared(body: Body<'_>, rows: &Range<usize>) -> Option<Flat> {
    let shared = body.shared.filter(|_| cfg!(target_endian = "little"))?;
    let start = shared.len() - body.bytes.len();
    match_physical!(body.physical, T => {
        let values = shared.values::<T>(start + rows.start * size_of::<T>(), rows.len())?;
        Some(of_buffer(body.physical, values))
    })
}
