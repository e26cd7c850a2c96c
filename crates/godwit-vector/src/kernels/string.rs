//! Strings: parts of strings that share their bytes, and new strings in a heap of their own.

use std::sync::Arc;

use crate::{Heaps, StrColumn, StrView};

/// A part of each string, for functions such as `trim`: what `part` returns lies in its argument (the types say so),
/// so that bytes are shared.
pub fn map_parts(strings: &StrColumn, part: impl for<'a> Fn(usize, &'a [u8]) -> &'a [u8]) -> StrColumn {
    let views: Vec<StrView> = strings.iter().enumerate().map(|(row, string)| StrView::new(part(row, string))).collect();
    // SAFETY: `part` works for every lifetime, so it returns bytes of its argument or static ones. Bytes of a short
    // string lie in its view, and are copied into the new view; those of a long one lie in the same heaps.
    unsafe { StrColumn::new(views, strings.heaps().clone()) }
}

/// `rows` strings; `write(row, bytes)` appends the bytes of one.
pub fn build(rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) -> StrColumn {
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends: Vec<usize> = Vec::with_capacity(rows);
    for row in 0..rows {
        write(row, &mut bytes);
        ends.push(bytes.len());
    }
    let mut start = 0;
    let views = ends.iter().map(|&end| StrView::new(&bytes[std::mem::replace(&mut start, end)..end])).collect();
    // SAFETY: the views point into `bytes`, whose allocation moves into the heap as it is.
    unsafe { StrColumn::new(views, Heaps::one(Arc::new(bytes))) }
}

/// Characters `start ..` (from 1; what lies before the string counts) of UTF-8 text, at most `length` of them.
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

/// Number of characters of UTF-8 text.
pub fn char_count(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| !is_continuation(byte)).count()
}

/// Where character `index` (from 0) starts, or the end.
fn byte_of_char(text: &[u8], index: usize) -> usize {
    let mut starts = text.iter().enumerate().filter(|(_, byte)| !is_continuation(**byte));
    starts.nth(index).map_or(text.len(), |(at, _)| at)
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
