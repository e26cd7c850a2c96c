//! Strings: parts that share the bytes of their strings, new strings in a heap of their own, and substring search.

use crate::{StrBuilder, StrColumn, StrView};

/// Returns a part of each string, for functions such as `trim`: what `part` returns is within its argument (guaranteed
/// by the types), so bytes are shared.
pub fn map_parts(strings: &StrColumn, part: impl for<'a> Fn(usize, &'a [u8]) -> &'a [u8]) -> StrColumn {
    let views: Vec<StrView> = strings.iter().enumerate().map(|(row, string)| StrView::new(part(row, string))).collect();
    // SAFETY: `part` works for every lifetime, so it returns bytes of its argument or static ones. Bytes of a short
    // string lie in its view and are copied into the new view; those of a long one lie in the same heaps.
    unsafe { StrColumn::new(views, strings.heaps().clone()) }
}

/// Builds `rows` strings; `write(row, bytes)` appends the bytes of one.
pub fn build(rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) -> StrColumn {
    let mut builder = StrBuilder::with_capacity(rows);
    (0..rows).for_each(|row| builder.write(|bytes| write(row, bytes)));
    builder.finish()
}

/// Returns at most `length` characters of UTF-8 text from character `start` (from 1). Positions before the text count
/// toward the length.
pub fn substring(text: &[u8], start: i64, length: Option<i64>) -> &[u8] {
    let first = start.saturating_sub(1).max(0) as usize;
    let end = match length {
        Some(length) => start.saturating_sub(1).saturating_add(length).max(0) as usize,
        None => usize::MAX,
    };
    if end <= first || first >= text.len() {
        return &[];
    }
    // As long as the bytes up to the end are ASCII, characters are bytes.
    let looked_at = end.min(text.len());
    if text[..looked_at].is_ascii() {
        return &text[first..looked_at];
    }
    let from = byte_of_char(text, first);
    &text[from..byte_of_char(text, end)]
}

/// Number of characters in UTF-8 text.
pub fn char_count(text: &[u8]) -> usize {
    // Counted in bytes, which hold many counters of a SIMD register.
    let in_piece = |piece: &[u8]| piece.iter().map(|&byte| u8::from(!is_continuation(byte))).sum::<u8>();
    text.chunks(usize::from(u8::MAX)).map(|piece| usize::from(in_piece(piece))).sum()
}

/// Returns where character `index` (from 0) starts, or the end.
pub fn byte_of_char(text: &[u8], index: usize) -> usize {
    // Characters of whole pieces are counted without a branch for each.
    const PIECE_BYTES: usize = 256;
    let (mut start, mut left) = (0, index);
    while text.len() - start > PIECE_BYTES {
        let count = char_count(&text[start..start + PIECE_BYTES]);
        if count > left {
            break;
        }
        left -= count;
        start += PIECE_BYTES;
    }
    let mut starts = text[start..].iter().enumerate().filter(|(_, byte)| !is_continuation(**byte));
    starts.nth(left).map_or(text.len(), |(at, _)| start + at)
}

/// Finds the first occurrence of `needle` in `haystack`. Most haystacks are short: one comparison of a SIMD register
/// finds where the needle's first and last bytes fit. `search` is called for longer ones, and on other CPUs.
#[inline]
pub fn find(haystack: &[u8], needle: &[u8], search: impl FnOnce() -> Option<usize>) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if !needle.is_empty()
        && haystack.len() < needle.len() + REGISTER_BYTES
        && std::arch::is_x86_feature_detected!("avx512bw")
    {
        if haystack.len() < needle.len() {
            return None;
        }
        // SAFETY: the CPU has the feature, and the lengths were checked.
        return unsafe { find_avx512(haystack, needle) };
    }
    search()
}

/// Bytes in an AVX-512 register: the number of positions of a needle that are tried at once.
#[cfg(target_arch = "x86_64")]
const REGISTER_BYTES: usize = 64;

/// # Safety
/// The needle isn't empty, isn't longer than the haystack, and fits at up to 64 positions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw")]
unsafe fn find_avx512(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    use std::arch::x86_64::*;
    let last = needle.len() - 1;
    let places = u64::MAX >> (REGISTER_BYTES - (haystack.len() - last));
    // SAFETY: only bytes at the positions, and `last` bytes after them, are loaded; all lie in the haystack.
    let (firsts, lasts) = unsafe {
        let start = haystack.as_ptr().cast::<i8>();
        (_mm512_maskz_loadu_epi8(places, start), _mm512_maskz_loadu_epi8(places, start.add(last)))
    };
    let first_fits = _mm512_mask_cmpeq_epi8_mask(places, firsts, _mm512_set1_epi8(needle[0] as i8));
    let mut fits = _mm512_mask_cmpeq_epi8_mask(first_fits, lasts, _mm512_set1_epi8(needle[last] as i8));
    while fits != 0 {
        let at = fits.trailing_zeros() as usize;
        if haystack[at..at + needle.len()] == *needle {
            return Some(at);
        }
        fits &= fits - 1;
    }
    None
}

#[inline]
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn substrings_count_characters(text in "[aé€😀z]{0,12}", start in -4i64..15, length in prop::option::of(0i64..15)) {
            let end = length.map_or(i64::MAX, |length| start + length);
            let expected: String =
                text.chars().zip(1i64..).filter(|&(_, at)| at >= start && at < end).map(|(c, _)| c).collect();
            prop_assert_eq!(substring(text.as_bytes(), start, length), expected.as_bytes());
            prop_assert_eq!(char_count(text.as_bytes()), text.chars().count());
            let long = text.repeat(100);
            let at = start.unsigned_abs() as usize * 50;
            let expected = long.char_indices().nth(at).map_or(long.len(), |(byte, _)| byte);
            prop_assert_eq!(byte_of_char(long.as_bytes(), at), expected);
        }
    }

    proptest! {
        #[test]
        fn needles_are_found_where_they_are(haystack in "[ab]{0,80}", needle in "[ab]{1,9}") {
            let found = find(haystack.as_bytes(), needle.as_bytes(), || haystack.find(&needle));
            prop_assert_eq!(found, haystack.find(&needle));
        }
    }

    #[test]
    fn extreme_positions_are_harmless() {
        assert_eq!(substring(b"abc", i64::MIN, Some(i64::MAX)), b"");
        assert_eq!(substring(b"abc", i64::MAX, Some(i64::MAX)), b"");
        assert_eq!(substring(b"abc", 2, Some(i64::MAX)), b"bc");
        assert_eq!(substring(b"abc", i64::MIN, None), b"abc");
    }

    #[test]
    fn parts_share_their_heap() {
        let strings = StrColumn::from_strings(["a string of more than twelve bytes", "short"]);
        let parts = map_parts(&strings, |row, string| &string[row..string.len() - 1]);
        drop(strings);
        assert_eq!(parts.get(0), b"a string of more than twelve byte");
        assert_eq!(parts.get(1), b"hor");
        assert_eq!(build(2, |row, bytes| bytes.extend_from_slice(parts.get(row))).get(1), b"hor");
    }
}
