//! Selections: positions of the rows for which a boolean is TRUE, or a bit for each row.
//!
//! ```text
//! 64 boolean bytes ─→ 64-bit mask ─∧ validity word ─→ positions of the set bits
//! ```
//!
//! Nothing branches on single rows. With AVX-512, one instruction compresses sixteen positions; otherwise a position
//! is written for every row, and the end advances by the row's bit.

use crate::Bitmap;

/// Number of positions that a compressing store may write beyond the last selected one.
const SLACK_ROWS: usize = 64;

/// Selects the rows whose byte is not 0 and whose validity bit is set; replaces the content of `rows`.
pub fn select_true(values: &[u8], validity: Option<&Bitmap>, rows: &mut Vec<u32>) {
    select_words(values.len(), |word| mask_word(values, word) & validity_word(validity, word), rows);
}

/// Selects the rows whose byte is 0 or whose validity bit is clear: the complement of [`select_true`].
pub fn select_not_true(values: &[u8], validity: Option<&Bitmap>, rows: &mut Vec<u32>) {
    select_words(values.len(), |word| !(mask_word(values, word) & validity_word(validity, word)), rows);
}

/// Selects the rows whose bit is `value`; replaces the content of `rows`.
pub fn select_bits(bitmap: &Bitmap, value: bool, rows: &mut Vec<u32>) {
    let flip = if value { 0 } else { u64::MAX };
    select_words(bitmap.len(), |word| bitmap.words()[word] ^ flip, rows);
}

/// Selects the rows whose bit is set: bit `i % 64` of `mask[i / 64]` for row `i`; replaces the content of `rows`.
pub fn select_mask(mask: &[u64], rows: &mut Vec<u32>) {
    select_words(mask.len() * 64, |word| mask[word], rows);
}

/// Clears the bits of `mask` for rows whose byte is 0. There is one byte per row, and one bit.
pub fn retain_true(values: &[u8], mask: &mut [u64]) {
    assert_eq!(values.len().div_ceil(64), mask.len());
    mask.iter_mut().enumerate().for_each(|(index, word)| *word &= mask_word(values, index));
}

/// Number of rows that [`select_true`] would select.
pub fn count_true(values: &[u8], validity: Option<&Bitmap>) -> usize {
    match validity {
        None => values.iter().map(|&value| (value != 0) as usize).sum(),
        Some(_) => (0..values.len().div_ceil(64))
            .map(|word| (mask_word(values, word) & validity_word(validity, word)).count_ones() as usize)
            .sum(),
    }
}

/// Converts boolean bytes to bits.
pub fn bytes_to_bitmap(values: &[u8]) -> Bitmap {
    Bitmap::from_words((0..values.len().div_ceil(64)).map(|word| mask_word(values, word)).collect(), values.len())
}

#[inline(always)]
fn validity_word(validity: Option<&Bitmap>, word: usize) -> u64 {
    validity.map_or(u64::MAX, |bitmap| bitmap.words()[word])
}

/// Returns bits for the boolean bytes from `64 * word`; bits past the end are clear.
#[inline(always)]
fn mask_word(values: &[u8], word: usize) -> u64 {
    let bytes = &values[word * 64..];
    match bytes.first_chunk::<64>() {
        Some(full) => mask_of_64(full),
        None => bytes.iter().enumerate().fold(0, |mask, (i, &byte)| mask | ((byte != 0) as u64) << i),
    }
}

#[cfg(target_feature = "avx2")]
#[inline(always)]
fn mask_of_64(bytes: &[u8; 64]) -> u64 {
    use std::arch::x86_64::*;
    // SAFETY: both loads lie inside the 64 bytes, and AVX2 is enabled at compile time.
    unsafe {
        let zero = _mm256_setzero_si256();
        let low = _mm256_cmpeq_epi8(_mm256_loadu_si256(bytes.as_ptr().cast()), zero);
        let high = _mm256_cmpeq_epi8(_mm256_loadu_si256(bytes.as_ptr().add(32).cast()), zero);
        !(_mm256_movemask_epi8(low) as u32 as u64 | (_mm256_movemask_epi8(high) as u32 as u64) << 32)
    }
}

#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
fn mask_of_64(bytes: &[u8; 64]) -> u64 {
    bytes.iter().enumerate().fold(0, |mask, (i, &byte)| mask | ((byte != 0) as u64) << i)
}

/// Selects the set bits among the first `len`; `word(i)` gives the bits from `64 * i`, those past `len` are ignored.
#[inline(always)]
fn select_words(len: usize, word: impl Fn(usize) -> u64, rows: &mut Vec<u32>) {
    rows.clear();
    rows.reserve(len + SLACK_ROWS);
    let compress = expander();
    let mut selected = 0;
    for index in 0..len.div_ceil(64) {
        let start = index * 64;
        let mut mask = word(index);
        if len - start < 64 {
            mask &= (1u64 << (len - start)) - 1;
        }
        if mask != 0 {
            // SAFETY: at most `start` rows are selected so far and the expander writes at most 64 more, for which
            // `len + SLACK_ROWS` were reserved.
            selected += unsafe { compress(mask, start as u32, rows.as_mut_ptr().add(selected)) };
        }
    }
    debug_assert!(selected <= len);
    // SAFETY: the expander initialized the first `selected` positions, and they lie inside the capacity.
    unsafe { rows.set_len(selected) }
}

/// Writes `start + i` for each set bit `i`, may overwrite up to 64 positions, and returns the number of set bits.
type Expander = unsafe fn(mask: u64, start: u32, target: *mut u32) -> usize;

#[inline]
fn expander() -> Expander {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        return expand_avx512;
    }
    expand_scalar
}

unsafe fn expand_scalar(mask: u64, start: u32, target: *mut u32) -> usize {
    let mut selected = 0;
    for i in 0..64 {
        // SAFETY: the caller provides room for 64 positions.
        unsafe { *target.add(selected) = start + i };
        selected += (mask >> i & 1) as usize;
    }
    selected
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn expand_avx512(mask: u64, start: u32, target: *mut u32) -> usize {
    use std::arch::x86_64::*;
    let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let mut selected = 0;
    for quarter in 0..4 {
        let bits = (mask >> (quarter * 16)) as u16;
        let positions = _mm512_add_epi32(lanes, _mm512_set1_epi32((start + quarter * 16) as i32));
        // SAFETY: at most 48 positions were written before the last of the four stores of 16.
        unsafe {
            _mm512_storeu_si512(target.add(selected).cast(), _mm512_maskz_compress_epi32(bits, positions));
        }
        selected += bits.count_ones() as usize;
    }
    selected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn selections_agree_with_a_loop(values in prop::collection::vec((0u8..2, any::<bool>()), 0..300), dense: bool) {
            let bytes: Vec<u8> = values.iter().map(|v| v.0).collect();
            let bitmap = Bitmap::from_fn(bytes.len(), |i| values[i].1);
            let validity = (!dense).then_some(&bitmap);
            let is_true = |i: usize| bytes[i] != 0 && (dense || values[i].1);
            let mut rows = vec![7];
            select_true(&bytes, validity, &mut rows);
            let expected: Vec<u32> = (0..bytes.len()).filter(|&i| is_true(i)).map(|i| i as u32).collect();
            prop_assert_eq!(&rows, &expected);
            prop_assert_eq!(count_true(&bytes, validity), expected.len());
            select_not_true(&bytes, validity, &mut rows);
            let expected: Vec<u32> = (0..bytes.len()).filter(|&i| !is_true(i)).map(|i| i as u32).collect();
            prop_assert_eq!(&rows, &expected);
            select_bits(&bitmap, false, &mut rows);
            let expected: Vec<u32> = (0..bytes.len()).filter(|&i| !values[i].1).map(|i| i as u32).collect();
            prop_assert_eq!(&rows, &expected);
            prop_assert_eq!(bytes_to_bitmap(&bytes).to_bytes(), bytes);
        }

        #[test]
        fn expanders_agree(mask: u64) {
            let mut scalar = [0u32; 64];
            let mut chosen = [0u32; 64];
            // SAFETY: both targets have room for 64 positions.
            let (n, m) = unsafe { (expand_scalar(mask, 128, scalar.as_mut_ptr()), expander()(mask, 128, chosen.as_mut_ptr())) };
            prop_assert_eq!(n, m);
            prop_assert_eq!(&scalar[..n], &chosen[..n]);
        }
    }
}
