//! Strings and binary values as 16-byte views.
//!
//! ```text
//! ≤ 12 bytes:  | length u32 | 12 bytes inline, zero-padded          |
//! longer:      | length u32 | first 4 bytes | pointer to all bytes  |
//! ```
//!
//! Most comparisons are decided by the first eight bytes. Equal short strings are equal as 128-bit integers, because
//! the padding is always zero. A view doesn't own what it points to; [`StrColumn`] pairs views with their [`Heaps`].

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_buffer::ScalarBuffer;

use crate::StrBuilder;
use crate::kernels::byte_array::short_view;

/// Length of the longest string that is stored in its view.
pub(crate) const INLINE_MAX: usize = 12;

/// A string of up to 4 GiB: inline or by pointer.
///
/// Little-endian layout of the integer: bits 0..32 the length, 32..64 the prefix, 64..128 the rest or the pointer.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct StrView(u128);

impl StrView {
    /// Creates a view of `bytes`. If longer than 12 bytes, the view points to them, and they must be kept alive as long
    /// as it is read (see [`StrView::as_bytes`]).
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let len = u32::try_from(bytes.len()).expect("strings are shorter than 4 GiB") as u128;
        if bytes.len() <= INLINE_MAX {
            let mut padded = [0u8; 16];
            padded[4..4 + bytes.len()].copy_from_slice(bytes);
            StrView(u128::from_le_bytes(padded) | len)
        } else {
            let prefix = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as u128;
            StrView(len | prefix << 32 | (bytes.as_ptr() as u64 as u128) << 64)
        }
    }

    /// Returns a view of the same string at another address.
    #[inline]
    pub fn with_pointer(self, pointer: *const u8) -> Self {
        debug_assert!(!self.is_inline());
        StrView(self.0 & u64::MAX as u128 | (pointer as u64 as u128) << 64)
    }

    /// Length in bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.0 as u32 as usize
    }

    /// True for the empty string.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// True if the bytes are in the view itself.
    #[inline]
    pub fn is_inline(self) -> bool {
        self.len() <= INLINE_MAX
    }

    /// True if all bytes of an inline string are ASCII.
    #[inline]
    pub(crate) fn is_inline_ascii(self) -> bool {
        debug_assert!(self.is_inline());
        const HIGH_BITS: u128 = u128::from_le_bytes([0x80; 16]) << 32;
        self.0 & HIGH_BITS == 0
    }

    /// Length and first four bytes, for a first comparison.
    #[inline]
    pub fn head(self) -> u64 {
        self.0 as u64
    }

    /// The first four bytes, padded with zeros, as an integer that orders strings: where it is equal, the remaining
    /// bytes decide.
    #[inline]
    pub fn prefix(self) -> u32 {
        ((self.0 >> 32) as u32).swap_bytes()
    }

    /// All 16 bytes as an integer.
    #[inline]
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Rebuilds a view from [`StrView::bits`].
    #[inline]
    pub fn from_bits(bits: u128) -> Self {
        StrView(bits)
    }

    /// The address of a long string's bytes.
    #[inline]
    pub fn pointer(self) -> *const u8 {
        debug_assert!(!self.is_inline());
        (self.0 >> 64) as u64 as *const u8
    }

    /// The bytes.
    ///
    /// # Safety
    /// If the view is not inline, the bytes that it points to must stay alive and unchanged as long as the result is
    /// used.
    #[inline]
    pub unsafe fn as_bytes(&self) -> &[u8] {
        let len = self.len();
        if self.is_inline() {
            // SAFETY: the view is 16 bytes long and `len` ≤ 12 bytes follow the 4 bytes of the length.
            unsafe { std::slice::from_raw_parts((self as *const Self).cast::<u8>().add(4), len) }
        } else {
            // SAFETY: the caller keeps the bytes alive.
            unsafe { std::slice::from_raw_parts(self.pointer(), len) }
        }
    }

    /// Compares the strings for equality.
    ///
    /// # Safety
    /// As for [`StrView::as_bytes`], for both.
    #[inline]
    pub unsafe fn equals(&self, other: &StrView) -> bool {
        if self.head() != other.head() {
            return false;
        }
        if self.is_inline() {
            return self.0 == other.0;
        }
        // SAFETY: passed on from the caller.
        unsafe { self.0 == other.0 || self.as_bytes() == other.as_bytes() }
    }

    /// Compares the strings by bytes.
    ///
    /// # Safety
    /// As for [`StrView::as_bytes`], for both.
    #[inline]
    pub unsafe fn compare(&self, other: &StrView) -> Ordering {
        // Joins and sorts often compare a value with itself.
        if self.0 == other.0 {
            return Ordering::Equal;
        }
        match self.prefix().cmp(&other.prefix()) {
            Ordering::Equal if self.is_inline() && other.is_inline() => self.inline_order().cmp(&other.inline_order()),
            // SAFETY: passed on from the caller.
            Ordering::Equal => unsafe { self.as_bytes().cmp(other.as_bytes()) },
            decided => decided,
        }
    }

    /// An integer that orders strings of at most 12 bytes: their bytes, padded with zeros, then the length.
    #[inline]
    fn inline_order(self) -> u128 {
        debug_assert!(self.is_inline());
        self.0.rotate_right(32).swap_bytes()
    }
}

impl std::fmt::Debug for StrView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StrView(len {}, {:#x})", self.len(), self.0)
    }
}

/// An owner that keeps string bytes alive: a decoded page, an Arrow buffer, a pinned page of the pool.
pub type Heap = Arc<dyn Any + Send + Sync>;

/// The heaps that the views of a column point into. Cheap to clone.
#[derive(Clone, Default)]
pub struct Heaps(Option<Arc<[Heap]>>);

impl Heaps {
    /// No heaps, for columns whose strings are all inline.
    pub fn none() -> Self {
        Heaps(None)
    }

    /// One heap.
    pub fn one(heap: Heap) -> Self {
        Heaps(Some(Arc::from([heap])))
    }

    /// Several heaps.
    pub fn many(heaps: Vec<Heap>) -> Self {
        if heaps.is_empty() { Heaps(None) } else { Heaps(Some(heaps.into())) }
    }

    /// The heaps.
    pub fn as_slice(&self) -> &[Heap] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// True if `other` keeps alive everything that `self` does.
    pub(crate) fn are_within(&self, other: &Heaps) -> bool {
        match (&self.0, &other.0) {
            (None, _) => true,
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => true,
            _ => self.as_slice().iter().all(|mine| other.as_slice().iter().any(|theirs| Arc::ptr_eq(mine, theirs))),
        }
    }

    /// Returns all heaps of both, each once.
    pub fn union(&self, other: &Heaps) -> Heaps {
        let (mine, theirs) = (self.as_slice(), other.as_slice());
        let missing: Vec<Heap> = theirs.iter().filter(|t| !mine.iter().any(|m| Arc::ptr_eq(m, t))).cloned().collect();
        if missing.is_empty() {
            return self.clone();
        }
        Heaps::many(mine.iter().cloned().chain(missing).collect())
    }
}

/// Views together with the heaps that keep their bytes alive.
#[derive(Clone)]
pub struct StrColumn {
    views: ScalarBuffer<u128>,
    heaps: Heaps,
}

impl StrColumn {
    /// Pairs views with their heaps.
    ///
    /// # Safety
    /// Every view that is not inline must point into one of `heaps`, whose bytes must not move or change.
    pub unsafe fn new(views: Vec<StrView>, heaps: Heaps) -> Self {
        let mut views = std::mem::ManuallyDrop::new(views);
        // SAFETY: `StrView` is a transparent wrapper of `u128`, so the allocation has the layout of a `Vec<u128>`.
        let raw = unsafe { Vec::from_raw_parts(views.as_mut_ptr().cast::<u128>(), views.len(), views.capacity()) };
        Self { views: ScalarBuffer::from(raw), heaps }
    }

    /// Copies strings into a new heap.
    pub fn from_strings<T: AsRef<[u8]>>(strings: impl IntoIterator<Item = T>) -> Self {
        let mut builder = StrBuilder::default();
        strings.into_iter().for_each(|string| builder.push(string.as_ref()));
        builder.finish()
    }

    /// Creates a column of the strings stored consecutively in `bytes`, each ending at one of the `ends`.
    pub fn from_parts(bytes: Vec<u8>, ends: &[usize]) -> Self {
        Self::from_leased_parts(bytes, ends, ())
    }

    /// Like [`from_parts`](Self::from_parts); `lease`, such as granted memory, lives as long as the bytes.
    pub fn from_leased_parts(bytes: Vec<u8>, ends: &[usize], lease: impl Any + Send + Sync) -> Self {
        let mut start = 0;
        let view = |&end: &usize| {
            let string = std::mem::replace(&mut start, end)..end;
            match bytes[string.start..].first_chunk() {
                Some(first) if string.len() <= INLINE_MAX => short_view(first, string.len()),
                _ => StrView::new(&bytes[string]),
            }
        };
        let views = ends.iter().map(view).collect();
        // SAFETY: the views point into `bytes`, whose allocation moves into the heap as it is.
        unsafe { StrColumn::new(views, Heaps::one(Arc::new((bytes, lease)))) }
    }

    /// Copies strings; long ones into one heap.
    pub fn copied<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let mut views = Vec::with_capacity(strings.len());
        let mut heap: Vec<u8> = Vec::new();
        for string in strings {
            let view = StrView::new(string);
            if !view.is_inline() {
                heap.extend_from_slice(string);
            }
            views.push(view);
        }
        if heap.is_empty() {
            // SAFETY: all views are inline.
            return unsafe { StrColumn::new(views, Heaps::none()) };
        }
        let mut rest = &heap[..];
        for view in views.iter_mut().filter(|view| !view.is_inline()) {
            *view = view.with_pointer(rest.as_ptr());
            rest = &rest[view.len()..];
        }
        // SAFETY: the views point into `heap`, whose allocation moves into the heap as it is.
        unsafe { StrColumn::new(views, Heaps::one(Arc::new(heap))) }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The views.
    #[inline]
    pub fn views(&self) -> &[StrView] {
        let raw: &[u128] = &self.views;
        // SAFETY: `StrView` is a transparent wrapper of `u128`.
        unsafe { std::slice::from_raw_parts(raw.as_ptr().cast::<StrView>(), raw.len()) }
    }

    /// The heaps.
    pub fn heaps(&self) -> &Heaps {
        &self.heaps
    }

    /// Returns string `row`.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        // SAFETY: the heaps that the views point into live as long as `self`.
        unsafe { self.views()[row].as_bytes() }
    }

    /// Iterates over all strings, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the heaps that the views point into live as long as `self`.
        self.views().iter().map(|view| unsafe { view.as_bytes() })
    }

    /// Returns the strings at `rows`; the bytes are shared.
    pub fn take(&self, rows: &[u32]) -> Self {
        let views = self.views();
        let taken: Vec<u128> = rows.iter().map(|&row| views[row as usize].bits()).collect();
        Self { views: ScalarBuffer::from(taken), heaps: self.heaps.clone() }
    }

    /// Concatenates the strings of both columns; the bytes are shared.
    pub fn chained(&self, other: &StrColumn) -> Self {
        let mut views: Vec<u128> = Vec::with_capacity(self.len() + other.len());
        views.extend_from_slice(&self.views);
        views.extend_from_slice(&other.views);
        Self { views: ScalarBuffer::from(views), heaps: self.heaps.union(&other.heaps) }
    }

    /// Returns the strings at `rows` of [`chained`](Self::chained) columns; the bytes are shared.
    pub fn take_of_both(&self, other: &StrColumn, rows: &[u32]) -> Self {
        let view = |&row: &u32| match (row as usize).checked_sub(self.len()) {
            None => self.views[row as usize],
            Some(row) => other.views[row],
        };
        let taken: Vec<u128> = rows.iter().map(view).collect();
        Self { views: ScalarBuffer::from(taken), heaps: self.heaps.union(&other.heaps) }
    }

    /// Returns strings `offset .. offset + len`; everything is shared.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        Self { views: self.views.slice(offset, len), heaps: self.heaps.clone() }
    }

    /// Finds the first of ascending strings that isn't below `string`; all before `start` are below it. Searches near
    /// `start` first, in doubling steps: for strings that are looked up in ascending order.
    pub fn first_not_below(&self, start: usize, string: &[u8]) -> usize {
        let (mut low, mut step) = (start, 1);
        while low + step <= self.len() && self.get(low + step - 1) < string {
            low += step;
            step *= 2;
        }
        let mut high = self.len().min(low + step - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < string { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_behind_each_other_keep_both_alive() {
        let texts = |column: &StrColumn| column.iter().map(|text| text.to_vec()).collect::<Vec<_>>();
        let (first, second) = (["a", "longer than inline"], ["", "another long string", "b"]);
        let (chained, taken) = {
            let (first, second) = (StrColumn::from_strings(first), StrColumn::from_strings(second));
            (first.chained(&second), first.take_of_both(&second, &[3, 1, 4, 0, 1]))
        };
        assert_eq!(texts(&chained), first.iter().chain(&second).map(|text| text.as_bytes()).collect::<Vec<_>>());
        assert_eq!(texts(&taken), [second[1], first[1], second[2], first[0], first[1]].map(str::as_bytes));
        assert!(texts(&StrColumn::from_strings::<&str>([]).chained(&StrColumn::from_strings::<&str>([]))).is_empty());
    }

    #[test]
    fn views_compare_like_their_strings() {
        let strings = [
            "",
            "a",
            "ab",
            "abc\0",
            "abcd",
            "abcd\0",
            "abcde",
            "abcdefghijkl",
            "abcdefghijklm",
            "abcdefghijkln",
            "b",
            "é",
            "zz",
        ];
        let column = StrColumn::from_strings(strings);
        let copied = StrColumn::copied(strings.iter().map(|string| string.as_bytes()));
        for (i, a) in strings.iter().enumerate() {
            assert_eq!((column.get(i), copied.get(i)), (a.as_bytes(), a.as_bytes()));
            for (j, b) in strings.iter().enumerate() {
                let (va, vb) = (&column.views()[i], &column.views()[j]);
                // SAFETY: the column is alive.
                unsafe {
                    assert_eq!(va.compare(vb), a.as_bytes().cmp(b.as_bytes()), "{a} {b}");
                    assert_eq!(va.equals(vb), a == b, "{a} {b}");
                }
            }
        }
    }
}
