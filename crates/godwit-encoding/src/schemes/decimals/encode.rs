//! Finds the exponent that takes the fewest bits, and encodes the integers with it.

use godwit_vector::{Flat, ValueRange};

use super::exceptions::{self, Exceptions};
use super::{Decimals, EXPONENT_MAX, Float, POWERS, unscale};
use crate::column::Column;
use crate::cost;
use crate::packing::Packing;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

/// Integers up to here are exact as doubles.
const INTEGER_MAX: f64 = (1u64 << 53) as f64;

/// The exponent is chosen by this many pieces of [`PIECE_VALUES`] values. Pieces, because values at regular distances
/// may have fewer decimal places than those between them.
const SAMPLE_PIECES: usize = 8;
const PIECE_VALUES: usize = 32;

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    match column.numbers()? {
        Flat::F32(values) => propose_floats(values),
        Flat::F64(values) => propose_floats(values),
        _ => None,
    }
}

fn propose_floats<T: Float>(values: &[T]) -> Option<Proposal<'static>> {
    let scaled = Scaled::of(values, best_exponent(values)?)?;
    let size = Size::Exact(scaled.decimals.bytes(values.len()));
    let write = Box::new(move |body: &mut Vec<u8>| {
        let Scaled { decimals, integers, exceptions } = scaled;
        let base = decimals.packing.base as i64;
        decimals.packing.write(integers.len(), |row| integers[row].wrapping_sub(base) as u64, body);
        exceptions.write(body);
        Encoding::Decimals(decimals)
    });
    Some(Proposal { size, cost: cost::DECIMALS, write })
}

/// The exponent with which a sample takes the fewest bits, including exceptions; `None` if no exponent helps.
fn best_exponent<T: Float>(values: &[T]) -> Option<u8> {
    let pieces = values.chunks(PIECE_VALUES.max(values.len() / SAMPLE_PIECES));
    let sample: Vec<T> = pieces.flat_map(|piece| &piece[..PIECE_VALUES.min(piece.len())]).copied().collect();
    let bits = |exponent: u8| {
        let scaled = Scaled::of(&sample, exponent)?;
        let integers = sample.len() * usize::from(scaled.decimals.packing.width);
        Some(integers + 8 * exceptions::BYTES * scaled.decimals.exceptions as usize)
    };
    let best = (0..=EXPONENT_MAX).filter_map(|exponent| Some((bits(exponent)?, exponent))).min()?;
    (best.0 < 8 * size_of_val(&sample[..])).then_some(best.1)
}

/// Floats as integers.
struct Scaled {
    decimals: Decimals,
    /// Exceptions repeat the preceding integer, or have the first one.
    integers: Vec<i64>,
    exceptions: Exceptions,
}

impl Scaled {
    /// `None` if all are exceptions.
    fn of<T: Float>(values: &[T], exponent: u8) -> Option<Self> {
        let mut last = values.iter().find_map(|&value| scale(value, exponent))?;
        let mut exceptions = Exceptions::default();
        let mut range = ValueRange { min: last.into(), max: last.into() };
        let mut integers = Vec::with_capacity(values.len());
        for (row, &value) in values.iter().enumerate() {
            match scale(value, exponent) {
                Some(integer) => {
                    last = integer;
                    range = ValueRange { min: range.min.min(integer.into()), max: range.max.max(integer.into()) };
                }
                None => exceptions.push(row, value.to_word()),
            }
            integers.push(last);
        }
        let packing = Packing::of_range(range)?;
        Some(Self { decimals: Decimals { exponent, packing, exceptions: exceptions.len() }, integers, exceptions })
    }
}

/// The integer of a value, if decoding it gives the same bits.
#[inline]
fn scale<T: Float>(value: T, exponent: u8) -> Option<i64> {
    let scaled = (value.to_double() * POWERS[exponent as usize]).round_ties_even();
    let is_exact = scaled.abs() <= INTEGER_MAX && unscale::<T>(scaled as i64, exponent).to_word() == value.to_word();
    is_exact.then_some(scaled as i64)
}
