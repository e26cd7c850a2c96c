//! The values of a column that are stored without its NULLs, spread over its rows.
//!
//! ```text
//! values    a b c d
//! validity  1 0 1 1 0 1   bit i: row i has a value
//! rows      a a b c c d   NULL rows get some other row's value
//! ```

use crate::{Bitmap, Native};

/// Appends a value for each bit of `validity`: the next of `values` where it is set, an arbitrary one of them where it
/// isn't.
///
/// # Panics
/// If there isn't one value for each bit that is set, and at least one.
pub fn spread<T: Native>(values: &[T], validity: &Bitmap, out: &mut Vec<T>) {
    assert!(!values.is_empty() && values.len() == validity.count_ones(), "one value for each bit");
    out.reserve(validity.words().len() * 64);
    let spread_word = spreader::<T>();
    let mut before = 0;
    for (index, &word) in validity.words().iter().enumerate() {
        // SAFETY: `before` and the word's bits are at most as many as the values, whole words are reserved, and the
        // processor has what the function needs.
        unsafe {
            let target = out.as_mut_ptr().add(out.len() + index * 64);
            spread_word(values.as_ptr(), before, word, target);
        }
        before += word.count_ones() as usize;
    }
    // SAFETY: rows of all words were written.
    unsafe { out.set_len(out.len() + validity.len()) }
}

/// Writes 64 rows for the bits of a word, before which `before` bits are set.
///
/// # Safety
/// `values` has at least one value, and one for each bit set in this word and before; `target` has room for 64.
type Spreader<T> = unsafe fn(values: *const T, before: usize, word: u64, target: *mut T);

#[inline]
fn spreader<T: Native>() -> Spreader<T> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        match size_of::<T>() {
            4 => return spread_4_bytes::<T>,
            8 => return spread_8_bytes::<T>,
            _ => {}
        }
    }
    spread_any::<T>
}

unsafe fn spread_any<T: Native>(values: *const T, mut before: usize, word: u64, target: *mut T) {
    for bit in 0..64 {
        before += (word >> bit & 1) as usize;
        // SAFETY: the value of the last bit that is set, or the first one; room for 64.
        unsafe { *target.add(bit) = *values.add(before.saturating_sub(1)) };
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn spread_4_bytes<T: Native>(values: *const T, before: usize, word: u64, target: *mut T) {
    use std::arch::x86_64::*;
    // SAFETY: the values loaded are those of bits that are set, as the mask has one for each; the value of NULL rows is
    // the first of all. Four stores of 16 lanes are 64.
    unsafe {
        let null = _mm512_set1_epi32(values.cast::<i32>().read_unaligned());
        let mut next = values.cast::<i32>().add(before);
        for quarter in 0..4 {
            let bits = (word >> (quarter * 16)) as u16;
            let count = bits.count_ones();
            let loaded = _mm512_maskz_loadu_epi32(((1u32 << count) - 1) as u16, next);
            let rows = _mm512_mask_expand_epi32(null, bits, loaded);
            _mm512_storeu_si512(target.add(quarter * 16).cast(), rows);
            next = next.add(count as usize);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn spread_8_bytes<T: Native>(values: *const T, before: usize, word: u64, target: *mut T) {
    use std::arch::x86_64::*;
    // SAFETY: as for four bytes, with eight stores of eight lanes.
    unsafe {
        let null = _mm512_set1_epi64(values.cast::<i64>().read_unaligned());
        let mut next = values.cast::<i64>().add(before);
        for eighth in 0..8 {
            let bits = (word >> (eighth * 8)) as u8;
            let count = bits.count_ones();
            let loaded = _mm512_maskz_loadu_epi64(((1u32 << count) - 1) as u8, next);
            let rows = _mm512_mask_expand_epi64(null, bits, loaded);
            _mm512_storeu_si512(target.add(eighth * 8).cast(), rows);
            next = next.add(count as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Native>(validity: &Bitmap, value: impl Fn(usize) -> T) {
        let values: Vec<T> = (0..validity.count_ones()).map(value).collect();
        if values.is_empty() {
            return;
        }
        let mut out = vec![values[0]];
        spread(&values, validity, &mut out);
        assert_eq!(out.len(), 1 + validity.len());
        let mut next = values.iter();
        for (row, found) in out[1..].iter().enumerate() {
            let is_right = if validity.get(row) { next.next() == Some(found) } else { values.contains(found) };
            assert!(is_right, "row {row} of {validity:?}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn rows_have_their_values(bits in prop::collection::vec(prop::bool::weighted(0.9), 1..300), all_null: bool) {
            let validity = Bitmap::from_fn(bits.len(), |i| bits[i] && (i < 100 || !all_null));
            check(&validity, |i| i as u8);
            check(&validity, |i| i as u16);
            check(&validity, |i| i as u32);
            check(&validity, |i| i as f64);
            check(&validity, |i| i as i128);
        }
    }
}
