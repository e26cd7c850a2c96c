//! Picking values.

use godwit_common::Result;
use godwit_vector::{Flat, match_physical};

use crate::flat::make;
use crate::header::corrupt;
use crate::scheme::Body;

pub(super) fn take(body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    Ok(match_physical!(body.physical, T => {
        let values = body.bytes.as_chunks::<{ size_of::<T>() }>().0;
        let value = |&row: &u32| {
            let value = values.get(start + row as usize).ok_or_else(|| corrupt("too few values"))?;
            Ok(T::from_le_bytes(*value))
        };
        make(body.physical, rows.iter().map(value).collect::<Result<Vec<T>>>()?)
    }))
}
