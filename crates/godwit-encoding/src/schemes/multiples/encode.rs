//! Finds the greatest common factor of the distances from the least value, and the quotient of each.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use super::Multiples;
use crate::column::Column;
use crate::cost;
use crate::packing::{self, Packing};
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let numbers = column.numbers()?;
    let range = column.range?;
    let span = u64::try_from(range.max.checked_sub(range.min)?).ok()?;
    // Starts with the span, so that a factor that doesn't narrow it ends the search, just as 1 does.
    let factor = godwit_vector::match_flat!(
        numbers,
        values => common_factor(span, values.iter().map(|&value| (value as i128).wrapping_sub(range.min) as u64)),
        _s => unreachable!("strings have no range"),
        _a => unreachable!("nested values have no range")
    )?;
    let packing = Packing { base: range.min, width: (u64::BITS - (span / factor).leading_zeros()) as u8 };
    let write = Box::new(move |body: &mut Vec<u8>| {
        godwit_vector::match_flat!(
            numbers,
            values => {
                let distance = |row: usize| (values[row] as i128).wrapping_sub(range.min) as u64;
                // Divisions of 32 bits take half as long.
                match u32::try_from(span) {
                    Ok(_) => {
                        let multiple = |row| (distance(row) as u32 / factor as u32).into();
                        packing.write(values.len(), multiple, body);
                    }
                    Err(_) => packing.write(values.len(), |row| distance(row) / factor, body),
                }
            },
            _s => unreachable!("strings have no range"),
            _a => unreachable!("nested values have no range")
        );
        Encoding::Multiples(Multiples { factor, packing })
    });
    let size = Size::Exact(packing::bytes_for(column.rows(), packing.width));
    Some(Proposal { size, cost: cost::MULTIPLES, write })
}

/// The largest number above 1 that divides `first` and all distances; `None` if there is none, or if `first` is 0.
fn common_factor(first: u64, distances: impl Iterator<Item = u64>) -> Option<u64> {
    let mut factor = first;
    for distance in distances {
        // Equal values are frequent, and divisions are slow.
        if distance != 0 && distance != factor && !distance.is_multiple_of(factor) {
            factor = greatest_common_divisor(distance, factor);
        }
        if factor <= 1 {
            return None;
        }
    }
    Some(factor).filter(|&factor| factor > 1)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
