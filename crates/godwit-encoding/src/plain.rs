//! Fixed-width values as they are, little-endian.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use crate::header::corrupt;

/// Runs `$body` with the native type of a fixed-width physical type.
macro_rules! with_native {
    ($physical:expr, $T:ident => $body:expr) => {{
        use godwit_vector::PhysicalType as P;
        match $physical {
            P::Bool | P::U8 => {
                type $T = u8;
                $body
            }
            P::I8 => {
                type $T = i8;
                $body
            }
            P::I16 => {
                type $T = i16;
                $body
            }
            P::I32 => {
                type $T = i32;
                $body
            }
            P::I64 => {
                type $T = i64;
                $body
            }
            P::I128 => {
                type $T = i128;
                $body
            }
            P::U16 => {
                type $T = u16;
                $body
            }
            P::U32 => {
                type $T = u32;
                $body
            }
            P::U64 => {
                type $T = u64;
                $body
            }
            P::F32 => {
                type $T = f32;
                $body
            }
            P::F64 => {
                type $T = f64;
                $body
            }
            other => unreachable!("{other:?} has no fixed width"),
        }
    }};
}
/// As [`with_native`], for integers and booleans.
macro_rules! with_integer {
    ($physical:expr, $T:ident => $body:expr) => {{
        use godwit_vector::PhysicalType as P;
        match $physical {
            P::Bool | P::U8 => {
                type $T = u8;
                $body
            }
            P::I8 => {
                type $T = i8;
                $body
            }
            P::I16 => {
                type $T = i16;
                $body
            }
            P::I32 => {
                type $T = i32;
                $body
            }
            P::I64 => {
                type $T = i64;
                $body
            }
            P::I128 => {
                type $T = i128;
                $body
            }
            P::U16 => {
                type $T = u16;
                $body
            }
            P::U32 => {
                type $T = u32;
                $body
            }
            P::U64 => {
                type $T = u64;
                $body
            }
            other => unreachable!("{other:?} is not an integer type"),
        }
    }};
}
pub(crate) use {with_integer, with_native};

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
    Ok(with_native!(physical, T => {
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
