//! Picking values.

use godwit_common::Result;
use godwit_vector::{Flat, match_physical};

use crate::flat::make;
use crate::header::corrupt;
use crate::scheme::Body;

pub(super) fn take(body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    Ok(match_physical!(body.physical, T => {
        let values = body.bytes.as_chunks::<{ size_of::<T>() }>().0;
        // Rows are ascending: if the last one is in bounds, all are.
        let values = values.get(start..).unwrap_or_default();
        if rows.last().is_some_and(|&last| last as usize >= values.len()) {
            return Err(corrupt("too few values"));
        }
        make(body.physical, rows.iter().map(|&row| T::from_le_bytes(values[row as usize])).collect::<Vec<T>>())
    }))
}
