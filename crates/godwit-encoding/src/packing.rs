//! Frame of reference and bit packing.
//!
//! A value is stored as its distance from a base, in as many bits as the largest distance needs; NULL rows hold 0. Blocks
//! of [`BLOCK_ROWS`] values are packed together in lanes of the narrowest word that holds a distance (8 to 64 bits), so
//! that unpacking is done by wide instructions, and any value can be had alone. The last block is padded with zeros.

use std::mem::MaybeUninit;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use fastlanes::BitPacking;
use godwit_common::Result;
use godwit_vector::kernels::select::retain_true;
use godwit_vector::{Native, ValueRange};

use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::parameters::take;

/// Most bits of a distance.
pub(crate) const WIDTH_MAX: u8 = 64;

/// Up to so many rows of a block are unpacked one by one, at about two nanoseconds each; unpacking all takes about a hundred.
const SINGLE_ROWS_MAX: usize = 32;

/// The base and the bits of the distances from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// What distance 0 stands for.
    pub base: i128,
    /// Bits of a distance, at most 64.
    pub width: u8,
}

/// Bytes of so many packed rows.
pub(crate) fn bytes_for(rows: usize, width: u8) -> usize {
    rows.div_ceil(BLOCK_ROWS) * block_bytes(width)
}

fn block_bytes(width: u8) -> usize {
    BLOCK_ROWS / 8 * width as usize
}

/// A word whose lanes are packed.
trait Word: BitPacking + Pod + Ord {
    const BITS: u8;
    fn of_distance(distance: u64) -> Self;
    fn distance(self) -> u64;
    fn minus(self, other: Self) -> Self;
}

macro_rules! words {
    ($($T:ty),*) => { $(
        impl Word for $T {
            const BITS: u8 = <$T>::BITS as u8;
            fn of_distance(distance: u64) -> Self { distance as $T }
            fn distance(self) -> u64 { self as u64 }
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
        }
    )* };
}
words!(u8, u16, u32, u64);

/// Runs `$body` with the narrowest word for `$width` bits.
macro_rules! with_word {
    ($width:expr, $W:ident => $body:expr) => {
        match $width {
            0..=8 => {
                type $W = u8;
                $body
            }
            9..=16 => {
                type $W = u16;
                $body
            }
            17..=32 => {
                type $W = u32;
                $body
            }
            _ => {
                type $W = u64;
                $body
            }
        }
    };
}

impl Packing {
    /// The packing of integers in a range; `None` if their distances need more than 64 bits.
    pub(crate) fn of_range(range: ValueRange) -> Option<Self> {
        let span = range.max.checked_sub(range.min)?;
        let width = (i128::BITS - span.leading_zeros()) as u8;
        (width <= WIDTH_MAX).then_some(Self { base: range.min, width })
    }

    /// Appends values, of which `distance(row)` is that of a row from the base.
    pub(crate) fn write(&self, rows: usize, distance: impl Fn(usize) -> u64, out: &mut Vec<u8>) {
        with_word!(self.width, W => self.write_words::<W>(rows, distance, out));
    }

    fn write_words<W: Word>(&self, rows: usize, distance: impl Fn(usize) -> u64, out: &mut Vec<u8>) {
        let mut words = [W::zeroed(); BLOCK_ROWS];
        let mut packed = vec![W::zeroed(); block_bytes(self.width) / size_of::<W>()];
        for begin in (0..rows).step_by(BLOCK_ROWS) {
            words.fill(W::zeroed());
            for row in begin..rows.min(begin + BLOCK_ROWS) {
                words[row - begin] = W::of_distance(distance(row));
            }
            pack_block(self.width, &words, &mut packed);
            out.extend_from_slice(bytemuck::cast_slice(&packed));
        }
    }

    /// Appends the packing to the parameters of a scheme.
    pub(crate) fn to_bytes(self, out: &mut Vec<u8>) {
        out.extend(self.base.to_le_bytes());
        out.push(self.width);
    }

    /// Reads what [`to_bytes`](Self::to_bytes) appended.
    pub(crate) fn from_bytes(bytes: &mut &[u8]) -> Result<Self> {
        let base = i128::from_le_bytes(take(bytes)?);
        let [width] = take(bytes)?;
        if width > WIDTH_MAX {
            return Err(corrupt("too many bits"));
        }
        Ok(Self { base, width })
    }

    /// The values of `rows`, whose start is a multiple of [`BLOCK_ROWS`].
    pub(crate) fn read<T: Native + FromDistance>(&self, body: &[u8], rows: Range<usize>) -> Result<Vec<T>> {
        let base = T::base(self.base);
        self.map(body, rows, |distance| T::at(base, distance))
    }

    /// As [`read`](Self::read), with what `value` makes of each distance.
    pub(crate) fn map<T>(&self, body: &[u8], rows: Range<usize>, value: impl FnMut(u64) -> T) -> Result<Vec<T>> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS), "a block is unpacked as a whole");
        let mut values = Vec::with_capacity(rows.len());
        self.append(body, rows, &mut values, value)?;
        Ok(values)
    }

    /// As [`map`](Self::map), appended to `values`.
    pub(crate) fn append<T>(
        &self,
        body: &[u8],
        rows: Range<usize>,
        values: &mut Vec<T>,
        mut value: impl FnMut(u64) -> T,
    ) -> Result<()> {
        with_word!(self.width, W => {
            self.for_blocks::<W>(body, rows, |words| values.extend(words.iter().map(|word| value(word.distance()))))
        })
    }

    /// The values of single rows: `rows` ascend and are relative to `start`.
    pub(crate) fn take<T: Native + FromDistance>(&self, body: &[u8], start: usize, rows: &[u32]) -> Result<Vec<T>> {
        let base = T::base(self.base);
        self.map_rows(body, start, rows, |distance| T::at(base, distance))
    }

    /// As [`take`](Self::take), with what `value` makes of each distance.
    pub(crate) fn map_rows<T>(
        &self,
        body: &[u8],
        start: usize,
        rows: &[u32],
        value: impl Fn(u64) -> T,
    ) -> Result<Vec<T>> {
        let mut values = Vec::with_capacity(rows.len());
        with_word!(self.width, W => {
            let mut words = [W::zeroed(); BLOCK_ROWS];
            let mut indices = [0usize; SINGLE_ROWS_MAX];
            let mut rest = rows;
            while let [first, ..] = rest {
                let block = (start + *first as usize) / BLOCK_ROWS;
                let end = (block + 1) * BLOCK_ROWS;
                let (now, later) = rest.split_at(rest.partition_point(|&row| start + (row as usize) < end));
                rest = later;
                let packed = self.block::<W>(body, block)?;
                let index = |row: u32| (start + row as usize) % BLOCK_ROWS;
                if now.len() > SINGLE_ROWS_MAX {
                    unpack_block(self.width, &packed, &mut words);
                    values.extend(now.iter().map(|&row| value(words[index(row)].distance())));
                } else {
                    indices.iter_mut().zip(now).for_each(|(to, &row)| *to = index(row));
                    let words = &mut words[..now.len()];
                    unpack_rows(self.width, &packed, &indices[..now.len()], words);
                    values.extend(words.iter().map(|word| value(word.distance())));
                }
            }
        });
        Ok(values)
    }

    /// Clears the bits of `mask` of rows whose value isn't in `wanted`. Bit `i` is row `rows.start + i`; `rows` start at a
    /// multiple of [`BLOCK_ROWS`].
    pub(crate) fn retain_range(
        &self,
        body: &[u8],
        rows: Range<usize>,
        wanted: ValueRange,
        mask: &mut [u64],
    ) -> Result<()> {
        let largest = u64::MAX.checked_shr(64 - self.width as u32).unwrap_or(0);
        let low = wanted.min.saturating_sub(self.base).max(0);
        let high = wanted.max.saturating_sub(self.base).min(largest as i128);
        if low > high {
            mask.fill(0);
            return Ok(());
        }
        if low == 0 && high == largest as i128 {
            return Ok(());
        }
        with_word!(self.width, W => {
            let (low, span) = (W::of_distance(low as u64), W::of_distance((high - low) as u64));
            // One comparison: what is below the lower bound wraps around to above the span.
            self.retain::<W>(body, rows, mask, |word| word.minus(low) <= span)
        })
    }

    /// As [`retain_range`](Self::retain_range), for the values of whose distance from the base `is_wanted` is true.
    pub(crate) fn retain_distances(
        &self,
        body: &[u8],
        rows: Range<usize>,
        is_wanted: impl Fn(u64) -> bool,
        mask: &mut [u64],
    ) -> Result<()> {
        with_word!(self.width, W => self.retain::<W>(body, rows, mask, |word| is_wanted(word.distance())))
    }

    /// Clears the bits of rows whose word isn't wanted. Blocks without a set bit aren't looked at.
    fn retain<W: Word>(
        &self,
        body: &[u8],
        rows: Range<usize>,
        mask: &mut [u64],
        is_wanted: impl Fn(W) -> bool,
    ) -> Result<()> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS), "a block is unpacked as a whole");
        let mut words = [W::zeroed(); BLOCK_ROWS];
        let mut wanted = [0u8; BLOCK_ROWS];
        for (begin, mask) in rows.step_by(BLOCK_ROWS).zip(mask.chunks_mut(BLOCK_ROWS / 64)) {
            if mask.iter().all(|&bits| bits == 0) {
                continue;
            }
            let packed = self.block::<W>(body, begin / BLOCK_ROWS)?;
            unpack_block(self.width, &packed, &mut words);
            wanted.iter_mut().zip(&words).for_each(|(wanted, &word)| *wanted = is_wanted(word) as u8);
            // The last block is padded: what lies behind the rows has no bit set, whatever it holds.
            retain_true(&wanted[..mask.len() * 64], mask);
        }
        Ok(())
    }

    /// Calls `visit` with the words of each block.
    fn for_blocks<W: Word>(&self, body: &[u8], rows: Range<usize>, mut visit: impl FnMut(&[W])) -> Result<()> {
        let mut words = [W::zeroed(); BLOCK_ROWS];
        for begin in rows.clone().step_by(BLOCK_ROWS) {
            let block = self.block::<W>(body, begin / BLOCK_ROWS)?;
            unpack_block(self.width, &block, &mut words);
            visit(&words[..BLOCK_ROWS.min(rows.end - begin)]);
        }
        Ok(())
    }

    /// The packed words of a block: in place where the body is aligned, as pages are, else a copy.
    fn block<'a, W: Word>(&self, body: &'a [u8], block: usize) -> Result<std::borrow::Cow<'a, [W]>> {
        let bytes = block_bytes(self.width);
        let packed = body.get(block * bytes..(block + 1) * bytes).ok_or_else(|| corrupt("too few packed values"))?;
        Ok(match bytemuck::try_cast_slice(packed) {
            Ok(words) => words.into(),
            Err(_) => bytemuck::pod_collect_to_vec(packed).into(),
        })
    }
}

fn pack_block<W: Word>(width: u8, words: &[W; BLOCK_ROWS], packed: &mut [W]) {
    assert!(width <= W::BITS && size_of_val(packed) == block_bytes(width), "the output has room for exactly a block");
    // SAFETY: the input is a block, the output has its length, both just checked.
    unsafe { W::unchecked_pack(width as usize, words, packed) }
}

fn unpack_block<W: Word>(width: u8, packed: &[W], words: &mut [W; BLOCK_ROWS]) {
    assert!(width <= W::BITS && size_of_val(packed) == block_bytes(width), "the input is exactly a block");
    // SAFETY: the input has the length of a packed block, just checked, the output is a block.
    unsafe { W::unchecked_unpack(width as usize, packed, words) }
}

fn unpack_rows<W: Word>(width: u8, packed: &[W], indices: &[usize], words: &mut [W]) {
    assert!(width <= W::BITS && size_of_val(packed) == block_bytes(width), "the input is exactly a block");
    // SAFETY: what is initialized may be seen as what maybe isn't, as long as nobody makes it less so; the callee only
    // writes words to it.
    let words: &mut [MaybeUninit<W>] = unsafe { &mut *(words as *mut [W] as *mut [MaybeUninit<W>]) };
    // SAFETY: the input has the length of a packed block, just checked; the indices are checked by the call.
    unsafe { W::unchecked_unpack_indices(width as usize, packed, indices, words) }
}

/// Integers that are a base plus a distance.
pub(crate) trait FromDistance: Copy {
    fn base(base: i128) -> Self;
    fn at(base: Self, distance: u64) -> Self;
}

macro_rules! from_distance {
    ($($T:ty),*) => { $(impl FromDistance for $T {
        fn base(base: i128) -> Self { base as $T }
        // Modulo the type's size: exact for what was written, and some value for a damaged body.
        fn at(base: Self, distance: u64) -> Self { base.wrapping_add(distance as $T) }
    })* };
}
from_distance!(i8, i16, i32, i64, i128, u8, u16, u32, u64);
