//! Bytes that strings may point into.

use std::ops::{Deref, Range};
use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use bytes::Bytes;

use crate::kernels::byte_array::short_view;
use crate::str_view::INLINE_MAX;
use crate::{Heaps, Native, StrColumn, StrView};

/// Bytes that stay in place as long as they are shared: a pinned page, or a copy of one.
#[derive(Clone)]
pub struct SharedBytes {
    bytes: Buffer,
    /// Shared by all strings, to concatenate those of several chunks without a copy.
    heaps: Heaps,
}

impl SharedBytes {
    /// Shares the bytes of `owner`, which lives as long as this and all strings that point into them.
    pub fn new(owner: impl AsRef<[u8]> + Send + 'static) -> Self {
        let bytes = Buffer::from(Bytes::from_owner(owner));
        Self { heaps: Heaps::one(Arc::new(bytes.clone())), bytes }
    }

    /// Returns a range of the bytes, which keeps all of them alive.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let bytes = self.bytes.slice_with_length(range.start, range.len());
        Self { heaps: Heaps::one(Arc::new(bytes.clone())), bytes }
    }

    /// Returns the fixed-width values at `offset`, in this machine's byte order, without a copy; `None` if the bytes
    /// end too early or aren't aligned.
    pub fn values<T: Native>(&self, offset: usize, count: usize) -> Option<ScalarBuffer<T>> {
        let bytes = count.checked_mul(size_of::<T>())?;
        let end = offset.checked_add(bytes)?;
        let is_aligned = self.bytes.as_ptr().addr().wrapping_add(offset).is_multiple_of(align_of::<T>());
        (end <= self.bytes.len() && is_aligned).then(|| ScalarBuffer::from(self.bytes.slice_with_length(offset, bytes)))
    }

    /// Returns the consecutive strings at `offset` with these `lengths`; `None` if the bytes end too early. Long ones
    /// share the bytes.
    pub fn strings(&self, offset: usize, lengths: &[u32]) -> Option<StrColumn> {
        let mut rest = self.bytes.as_slice().get(offset..)?;
        let mut views = Vec::with_capacity(lengths.len());
        let mut longest = 0;
        for &length in lengths {
            let length = length as usize;
            let view = match rest.first_chunk::<INLINE_MAX>() {
                Some(bytes) if length <= INLINE_MAX => short_view(bytes, length),
                _ => StrView::new(rest.get(..length)?),
            };
            longest = longest.max(length);
            views.push(view);
            rest = &rest[length..];
        }
        let heaps = if longest > INLINE_MAX { self.heaps.clone() } else { Heaps::none() };
        // SAFETY: every view that is not inline points into the bytes, which don't move or change while the heap lives.
        Some(unsafe { StrColumn::new(views, heaps) })
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_outlive_their_bytes(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..50)) {
            let lengths: Vec<u32> = strings.iter().map(|string| string.len() as u32).collect();
            let content: Vec<u8> = [vec![1, 2, 3], strings.concat()].concat();
            let (end, bytes) = (content.len(), SharedBytes::new(content));
            let column = bytes.strings(3, &lengths).unwrap();
            prop_assert!(bytes.strings(3, &[&lengths[..], &[1]].concat()).is_none());
            prop_assert!(bytes.strings(end + 1, &[]).is_none());
            drop(bytes);
            for (index, string) in strings.iter().enumerate() {
                prop_assert_eq!(column.get(index), &string[..]);
                if string.len() <= INLINE_MAX {
                    prop_assert_eq!(column.views()[index].bits(), StrView::new(string).bits());
                }
            }
        }
    }
}
