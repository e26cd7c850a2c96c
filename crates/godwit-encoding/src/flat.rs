//! Arrays of fixed-width values.

use arrow_buffer::ScalarBuffer;
use godwit_vector::{Flat, Native, PhysicalType, match_integer_type};

/// A flat column; booleans are passed as bytes.
pub(crate) fn make<T: Native>(physical: PhysicalType, values: Vec<T>) -> Flat {
    of_buffer(physical, values.into())
}

/// [`make`] for values that may be shared.
pub(crate) fn of_buffer<T: Native>(physical: PhysicalType, values: ScalarBuffer<T>) -> Flat {
    match (physical, T::into_flat(values)) {
        (PhysicalType::Bool, Flat::U8(values)) => Flat::Bool(values),
        (_, flat) => flat,
    }
}

/// An integer, or the bits of a float.
#[allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]
pub(crate) fn bits_at(flat: &Flat, row: usize) -> i128 {
    match flat {
        Flat::F32(values) => values[row].to_bits() as i128,
        Flat::F64(values) => values[row].to_bits() as i128,
        flat => godwit_vector::match_flat!(
            flat,
            values => values[row] as i128,
            _s => unreachable!("strings are no numbers"),
            _a => unreachable!("nested values have no segments")
        ),
    }
}

/// A value repeated `rows` times: an integer, or the bits of a float.
pub(crate) fn repeated(physical: PhysicalType, value: i128, rows: usize) -> Flat {
    match physical {
        PhysicalType::F32 => make(physical, vec![f32::from_bits(value as u32); rows]),
        PhysicalType::F64 => make(physical, vec![f64::from_bits(value as u64); rows]),
        _ => match_integer_type!(physical, T => make(physical, vec![value as T; rows])),
    }
}
