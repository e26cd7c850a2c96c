//! Sorts of any length, which ask now and then whether to go on.

use std::cmp::Ordering;

use godwit_common::Result;

use crate::kernel::Work;
use crate::rows::{Pace, parts_of};

/// Elements that are sorted at once, in a few milliseconds.
const SORTED_AT_ONCE: usize = 1 << 16;

/// Sorts, where equal elements may come in any order.
///
/// Long slices are divided by a pivot until the parts are short: all that is sorted at once is short, without more memory.
pub(super) fn sort<T: Copy>(values: &mut [T], work: &dyn Work, compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    let (mut pace, compare) = (Pace::new(work), &compare);
    if values.len() > SORTED_AT_ONCE && is_sorted(values, &mut pace, compare)? {
        return Ok(());
    }
    let mut open = vec![values];
    while let Some(part) = open.pop() {
        if part.len() <= SORTED_AT_ONCE {
            pace.go(part.len())?;
            part.sort_unstable_by(compare);
            continue;
        }
        let pivot = pivot_of(part, compare);
        let less = partition(part, &mut pace, |value| compare(value, &pivot).is_lt())?;
        let (less, others) = part.split_at_mut(less);
        // Many equal elements would make the same part again.
        let equal = match less.len() * EQUAL_RATIO < others.len() {
            true => partition(others, &mut pace, |value| compare(value, &pivot).is_eq())?,
            false => 0,
        };
        open.extend([less, &mut others[equal..]]);
    }
    Ok(())
}

/// Elements like the pivot are put aside if fewer than this share of the others are less.
const EQUAL_RATIO: usize = 4;

fn is_sorted<T: Copy>(values: &[T], pace: &mut Pace<'_>, compare: &impl Fn(&T, &T) -> Ordering) -> Result<bool> {
    for part in parts_of(1..values.len()) {
        if !values[part.start - 1..part.end].is_sorted_by(|a, b| compare(a, b).is_le()) {
            return Ok(false);
        }
        pace.go(part.len())?;
    }
    Ok(true)
}

/// Elements from which a pivot is chosen.
const SAMPLE: usize = 65;

/// Returns the median of a random sample.
fn pivot_of<T: Copy>(values: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> T {
    // A fixed sequence of random numbers: Knuth's linear congruential generator.
    let mut state = values.len() as u64;
    let mut sample = [(); SAMPLE].map(|()| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values[((u128::from(state) * values.len() as u128) >> 64) as usize]
    });
    // The same code as for short parts.
    sample.sort_unstable_by(compare);
    sample[SAMPLE / 2]
}

/// Moves the elements that belong to the left there; returns their number.
fn partition<T: Copy>(values: &mut [T], pace: &mut Pace<'_>, is_left: impl Fn(&T) -> bool) -> Result<usize> {
    let mut left = 0;
    for part in parts_of(0..values.len()) {
        pace.go(part.len())?;
        for at in part {
            let goes = is_left(&values[at]);
            values.swap(left, at);
            left += usize::from(goes);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;

    #[test]
    fn long_slices_are_sorted() {
        let work = Bounded::new(0);
        let count = 5 * SORTED_AT_ONCE as u64 + 17;
        let orders: [fn(u64) -> u64; 6] = [
            |at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20,
            |at| at % 3,
            |at| at,
            |at| u64::MAX - at,
            |_| 7,
            |at| if at % 100 == 0 { at } else { 5 },
        ];
        for order in orders {
            let mut values: Vec<u64> = (0..count).map(order).collect();
            let mut expected = values.clone();
            expected.sort_unstable();
            sort(&mut values, &work, u64::cmp).unwrap();
            assert!(values == expected);
            sort(&mut values, &work, |a, b| b.cmp(a)).unwrap();
            expected.reverse();
            assert!(values == expected);
        }
    }
}
