//! Views of strings in a decoded page: length-prefixed (Parquet's PLAIN byte arrays) or of one width.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::str_view::INLINE_MAX;
use crate::{Heaps, StrColumn, StrView};

/// Size of the length in front of a value.
const LENGTH_BYTES: usize = 4;

/// Reads the `count` values that start at `offset` of `page`, each preceded by its length as a little-endian `u32`;
/// `None` if the page ends too early. Long strings are shared with the page, which the column keeps alive.
pub fn length_prefixed_strings(page: &Buffer, offset: usize, count: usize) -> Option<StrColumn> {
    let mut rest = page.as_slice().get(offset..)?;
    // Checked before the allocation: a bogus count must not cost memory.
    if count > rest.len() / LENGTH_BYTES {
        return None;
    }
    let mut views = Vec::with_capacity(count);
    let mut any_long = false;
    for _ in 0..count {
        let (length, tail) = rest.split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let view = match tail.first_chunk::<INLINE_MAX>() {
            Some(bytes) if length <= INLINE_MAX => short_view(bytes, length),
            _ => StrView::new(tail.get(..length)?),
        };
        any_long |= length > INLINE_MAX;
        views.push(view);
        rest = &tail[length..];
    }
    // SAFETY: every view that is not inline points into `page`, which does not move and is held as a heap.
    Some(unsafe { StrColumn::new(views, heaps(page, any_long)) })
}

/// Reads the `count` values of `width` bytes each that start at `offset` of `page`; `None` if the page ends too early.
pub fn fixed_width_strings(page: &Buffer, offset: usize, width: usize, count: usize) -> Option<StrColumn> {
    let end = offset.checked_add(width.checked_mul(count)?)?;
    let bytes = page.as_slice().get(offset..end)?;
    let views: Vec<StrView> = if width == 0 {
        vec![StrView::default(); count]
    } else {
        bytes.chunks_exact(width).map(StrView::new).collect()
    };
    let any_long = views.first().is_some_and(|view| !view.is_inline());
    // SAFETY: every view that is not inline points into `page`, which does not move and is held as a heap.
    Some(unsafe { StrColumn::new(views, heaps(page, any_long)) })
}

/// Concatenates the strings of several columns; bytes are shared.
pub fn concat_strings(parts: &[StrColumn]) -> StrColumn {
    let views = parts.iter().flat_map(|part| part.views().iter().copied()).collect();
    let heaps = parts.iter().fold(Heaps::none(), |heaps, part| heaps.union(part.heaps()));
    // SAFETY: every view points into a heap of the column that it comes from, and all of these are held.
    unsafe { StrColumn::new(views, heaps) }
}

fn heaps(page: &Buffer, needed: bool) -> Heaps {
    if needed { Heaps::one(Arc::new(page.clone())) } else { Heaps::none() }
}

/// Returns a view of the first `length` ≤ 12 of `bytes`, without a loop over them.
#[inline(always)]
pub(crate) fn short_view(bytes: &[u8; INLINE_MAX], length: usize) -> StrView {
    let mut padded = [0u8; 16];
    padded[..INLINE_MAX].copy_from_slice(bytes);
    let kept = u128::from_le_bytes(padded) & ((1u128 << (length * 8)) - 1);
    StrView::from_bits(kept << 32 | length as u128)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_come_back(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..50)) {
            let mut bytes = vec![1, 2, 3];
            for string in &strings {
                bytes.extend_from_slice(&(string.len() as u32).to_le_bytes());
                bytes.extend_from_slice(string);
            }
            let page = Buffer::from_vec(bytes.clone());
            let column = length_prefixed_strings(&page, 3, strings.len()).unwrap();
            for (i, string) in strings.iter().enumerate() {
                prop_assert_eq!(column.get(i), &string[..]);
                prop_assert_eq!(column.views()[i].len(), string.len());
                if string.len() <= 12 {
                    prop_assert_eq!(column.views()[i].bits(), StrView::new(string).bits());
                }
            }
            prop_assert!(length_prefixed_strings(&page, 3, strings.len() + 1).is_none());
            if !strings.is_empty() {
                let cut = Buffer::from_vec(bytes[..bytes.len() - 1].to_vec());
                prop_assert!(length_prefixed_strings(&cut, 3, strings.len()).is_none());
            }
        }

        #[test]
        fn fixed_widths_come_back(width in 0usize..20, count in 0usize..20, bytes in prop::collection::vec(any::<u8>(), 400)) {
            let page = Buffer::from_vec(bytes.clone());
            let column = fixed_width_strings(&page, 5, width, count).unwrap();
            prop_assert_eq!(column.len(), count);
            for i in 0..count {
                prop_assert_eq!(column.get(i), &bytes[5 + i * width..5 + (i + 1) * width]);
            }
            prop_assert!(fixed_width_strings(&page, 5, width.max(1), 400).is_none());
        }
    }
}
