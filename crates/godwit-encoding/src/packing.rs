//! Frame of reference and bit packing.
//!
//! A value is stored as its distance from a base, in as many bits as the largest distance needs; NULL rows hold 0.
//! Blocks of [`BLOCK_ROWS`] values are packed together in lanes of the narrowest word that holds a distance (8 to 64
//! bits), so that unpacking uses SIMD instructions, and any value can be read on its own. The last block is padded with
//! zeros.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use fastlanes::BitPacking;
use godwit_common::Result;
use godwit_vector::kernels::select::retain_true;
use godwit_vector::{Native, ValueRange};

use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::parameters::take;

/// Maximum number of bits of a distance.
pub(crate) const WIDTH_MAX: u8 = 64;

/// Up to this many rows of a block are unpacked one by one, at three to four nanoseconds each; unpacking the whole
/// block takes about a hundred.
pub(crate) const SINGLE_ROWS_MAX: usize = 32;

/// The base and the bits of the distances from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// The value that distance 0 stands for.
    pub base: i128,
    /// Bits of a distance, at most 64.
    pub width: u8,
}

/// Bytes of `rows` packed rows.
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
    /// The bits of a distance that starts at bit `shift` of two consecutive words.
    fn cut(low: Self, high: Self, shift: u32) -> u64;
}

macro_rules! words {
    ($($T:ty as $Twice:ty),*) => { $(
        impl Word for $T {
            const BITS: u8 = <$T>::BITS as u8;
            fn of_distance(distance: u64) -> Self { distance as $T }
            fn distance(self) -> u64 { self as u64 }
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            fn cut(low: Self, high: Self, shift: u32) -> u64 {
                ((low as $Twice | (high as $Twice) << <$T>::BITS) >> shift) as u64
            }
        }
    )* };
}
words!(u8 as u32, u16 as u32, u32 as u64, u64 as u128);

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

    /// Appends `rows` values; `distance(row)` is the distance of a row's value from the base.
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

    /// [`read`](Self::read), with `value` applied to each distance.
    pub(crate) fn map<T>(&self, body: &[u8], rows: Range<usize>, value: impl FnMut(u64) -> T) -> Result<Vec<T>> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS), "a block is unpacked as a whole");
        let mut values = Vec::with_capacity(rows.len());
        self.append(body, rows, &mut values, value)?;
        Ok(values)
    }

    /// [`map`](Self::map), appending to `values`.
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

    /// The values of single rows: `rows` are ascending and relative to `start`.
    pub(crate) fn take<T: Native + FromDistance>(&self, body: &[u8], start: usize, rows: &[u32]) -> Result<Vec<T>> {
        let base = T::base(self.base);
        self.map_rows(body, start, rows, |distance| T::at(base, distance))
    }

    /// [`take`](Self::take), with `value` applied to each distance.
    pub(crate) fn map_rows<T>(
        &self,
        body: &[u8],
        start: usize,
        rows: &[u32],
        value: impl Fn(u64) -> T,
    ) -> Result<Vec<T>> {
        let mut values = Vec::with_capacity(rows.len());
        let blocks = rows.last().map_or(0, |&last| (start + last as usize) / BLOCK_ROWS + 1);
        let used = body.get(..blocks * block_bytes(self.width)).ok_or_else(|| corrupt("too few packed values"))?;
        with_word!(self.width, W => {
            let body: Cow<'_, [W]> = match bytemuck::try_cast_slice(used) {
                Ok(words) => words.into(),
                Err(_) => bytemuck::pod_collect_to_vec(used).into(),
            };
            let block_words = block_bytes(self.width) / size_of::<W>();
            let mut words = [W::zeroed(); BLOCK_ROWS];
            let mut rest = rows;
            while let [first, ..] = rest {
                let block = (start + *first as usize) / BLOCK_ROWS;
                let end = (block + 1) * BLOCK_ROWS;
                let is_of_block = |row: &u32| start + (*row as usize) < end;
                if rest.get(SINGLE_ROWS_MAX).is_some_and(is_of_block) {
                    let (now, later) = rest.split_at(rest.partition_point(is_of_block));
                    unpack_block(self.width, &body[block * block_words..][..block_words], &mut words);
                    values.extend(now.iter().map(|&row| value(words[(start + row as usize) % BLOCK_ROWS].distance())));
                    rest = later;
                } else {
                    let (now, later) = rest.split_at(rest.len().min(SINGLE_ROWS_MAX));
                    let distances = single_rows(self.width, &body, start, now);
                    values.extend(distances[..now.len()].iter().map(|&distance| value(distance)));
                    rest = later;
                }
            }
        });
        Ok(values)
    }

    /// Clears the bits of `mask` of rows whose value isn't in `wanted`. Bit `i` is row `rows.start + i`; `rows` start
    /// at a multiple of [`BLOCK_ROWS`].
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
            // A single comparison: values below the lower bound wrap around to above the span.
            self.retain::<W>(body, rows, mask, |word| word.minus(low) <= span)
        })
    }

    /// [`retain_range`](Self::retain_range) for values whose distance from the base satisfies `is_wanted`.
    pub(crate) fn retain_distances(
        &self,
        body: &[u8],
        rows: Range<usize>,
        is_wanted: impl Fn(u64) -> bool,
        mask: &mut [u64],
    ) -> Result<()> {
        with_word!(self.width, W => self.retain::<W>(body, rows, mask, |word| is_wanted(word.distance())))
    }

    /// Clears the bits of rows whose word isn't wanted. Blocks without a set bit are skipped.
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
            // The last block is padded: positions after the rows have no bit set, whatever they hold.
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

    /// The packed words of a block: in place if the body is aligned, as pages are; otherwise a copy.
    fn block<'a, W: Word>(&self, body: &'a [u8], block: usize) -> Result<Cow<'a, [W]>> {
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

/// The distances of at most [`SINGLE_ROWS_MAX`] rows of packed blocks, in any order.
///
/// A value is in lane `row % lanes` of its block, whose words are `lanes` apart; within the lane, rows come in the
/// order in which `fastlanes` packs all types. All positions are computed before the first word is read, so that many
/// loads from memory are in flight at once.
fn single_rows<W: Word>(width: u8, body: &[W], start: usize, rows: &[u32]) -> [u64; SINGLE_ROWS_MAX] {
    let mut distances = [0; SINGLE_ROWS_MAX];
    if width == 0 {
        return distances;
    }
    let (bits, width) = (u32::from(W::BITS), u32::from(width));
    let lanes = BLOCK_ROWS as u32 / bits;
    // For each row: the word that it begins in, how many words later it ends, and its first bit in the word.
    let [mut words, mut further, mut shifts] = [[0u32; SINGLE_ROWS_MAX]; 3];
    for (at, &row) in rows.iter().enumerate() {
        let row = start as u32 + row;
        let (block, index) = (row / BLOCK_ROWS as u32, row % BLOCK_ROWS as u32);
        let lane = index % lanes;
        let group = (index % 128 - lane) / 16;
        // Groups of 16 rows are in the order of their numbers' bits reversed, 0 4 2 6 1 5 3 7.
        let order = (group & 1) << 2 | group & 2 | group >> 2;
        let bit = (order * 8 + index / 128) * width;
        words[at] = (block * width + bit / bits) * lanes + lane;
        shifts[at] = bit % bits;
        further[at] = u32::from(bit % bits + width > bits) * lanes;
    }
    let mut found = [(W::zeroed(), W::zeroed()); SINGLE_ROWS_MAX];
    for ((found, word), further) in found[..rows.len()].iter_mut().zip(words).zip(further) {
        *found = (body[word as usize], body[(word + further) as usize]);
    }
    let mask = u64::MAX >> (64 - width);
    for ((distance, (low, high)), shift) in distances.iter_mut().zip(found).zip(shifts) {
        *distance = W::cut(low, high, shift) & mask;
    }
    distances
}

/// Integers that are a base plus a distance.
pub(crate) trait FromDistance: Copy {
    fn base(base: i128) -> Self;
    fn at(base: Self, distance: u64) -> Self;
}

macro_rules! from_distance {
    ($($T:ty),*) => { $(impl FromDistance for $T {
        fn base(base: i128) -> Self { base as $T }
        // Modulo the type's size: exact for undamaged bodies, and some arbitrary value for damaged ones.
        fn at(base: Self, distance: u64) -> Self { base.wrapping_add(distance as $T) }
    })* };
}
from_distance!(i8, i16, i32, i64, i128, u8, u16, u32, u64);
