//! Runs of equal values and groups of bit-packed values, as Parquet stores dictionary codes, levels and booleans.
//!
//! ```text
//! header (varint) ─ even: a run   | value in ⌈width / 8⌉ bytes |           header / 2 times
//!                 └ odd:  groups  | 8 values in `width` bytes | … |        header / 2 groups
//! ```
//!
//! A cursor only moves forward. It knows offsets, not bytes: the page is passed with each call, so cursor and page can
//! live in one structure.

use std::ops::Range;

use arrow_buffer::BooleanBufferBuilder;
use godwit_common::{Error, Result};
use godwit_vector::kernels::unpack::{repeat, unpack, unpack_at};
use godwit_vector::{Bitmap, bitmap_of};

/// If fewer than one in this many values of a group is needed, each is extracted on its own.
const SPARSE_FACTOR: usize = 6;

#[derive(Clone, Debug, PartialEq)]
enum Run {
    Repeated(u32),
    /// Where the groups begin, and how many of their values were consumed.
    Packed(usize, usize),
}

/// A position in encoded values.
#[derive(Clone, Debug)]
pub(crate) struct RunCursor {
    /// The encoded bytes after the current run.
    rest: Range<usize>,
    width: u32,
    run: Run,
    /// Values left in the run.
    left: usize,
}

impl RunCursor {
    /// Creates a cursor over the values of `width` bits in the bytes `range` of a page.
    pub(crate) fn new(range: Range<usize>, width: u32) -> Result<Self> {
        if width > 32 {
            return Err(Error::corrupt(format!("codes of {width} bits")));
        }
        Ok(Self { rest: range, width, run: Run::Repeated(0), left: 0 })
    }

    /// Returns the value that the rest of the current run repeats, and how often, if it is a run.
    pub(crate) fn repeated(&mut self, page: &[u8]) -> Result<Option<(u32, usize)>> {
        if self.left == 0 {
            self.next_run(page)?;
        }
        Ok(match self.run {
            Run::Repeated(value) => Some((value, self.left)),
            Run::Packed(..) => None,
        })
    }

    /// Appends the next `count` values.
    pub(crate) fn read(&mut self, page: &[u8], count: usize, out: &mut Vec<u32>) -> Result<()> {
        let mut wanted = count;
        while wanted > 0 {
            let step = self.step(page, wanted)?;
            match &self.run {
                Run::Repeated(value) => repeat(*value, step, out),
                // Not just the run: the kernel may read beyond it in wide steps.
                Run::Packed(bytes, passed) => unpack(&page[*bytes..], self.width, *passed, step, out),
            }
            self.pass(step);
            wanted -= step;
        }
        Ok(())
    }

    /// Returns the next `count` values, of one bit each, as a bitmap.
    pub(crate) fn read_bits(&mut self, page: &[u8], count: usize) -> Result<Bitmap> {
        assert_eq!(self.width, 1, "the values are bits");
        let mut bits = BooleanBufferBuilder::new(count);
        while bits.len() < count {
            let step = self.step(page, count - bits.len())?;
            match self.run {
                Run::Repeated(value) => bits.append_n(step, value == 1),
                Run::Packed(bytes, passed) => bits.append_packed_range(passed..passed + step, &page[bytes..]),
            }
            self.pass(step);
        }
        Ok(bitmap_of(&bits.finish()))
    }

    /// Appends those of the next `count` values that are at `positions` (ascending, below `count`).
    pub(crate) fn read_selected(
        &mut self,
        page: &[u8],
        count: usize,
        positions: &[u32],
        scratch: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (mut done, mut positions) = (0, positions);
        while let [first, ..] = positions {
            let step = self.step(page, count - done)?;
            let end = done + step;
            if *first as usize >= end {
                self.pass(step);
                done = end;
                continue;
            }
            let (here, later) = positions.split_at(count_below(positions, end as u32));
            match &self.run {
                Run::Repeated(value) => repeat(*value, here.len(), out),
                Run::Packed(bytes, passed) => {
                    let packed = &page[*bytes..];
                    scratch.clear();
                    if here.len() * SPARSE_FACTOR < step {
                        scratch.extend(here.iter().map(|&position| position - done as u32));
                        unpack_at(packed, self.width, *passed, scratch, out);
                    } else {
                        unpack(packed, self.width, *passed, step, scratch);
                        out.extend(here.iter().map(|&position| scratch[position as usize - done]));
                    }
                }
            }
            self.pass(step);
            done = end;
            positions = later;
        }
        self.skip(page, count - done)
    }

    /// Skips `count` values.
    pub(crate) fn skip(&mut self, page: &[u8], count: usize) -> Result<()> {
        let mut wanted = count;
        while wanted > 0 {
            let step = self.step(page, wanted)?;
            self.pass(step);
            wanted -= step;
        }
        Ok(())
    }

    /// Returns how many of `wanted` > 0 values can be taken from the current run.
    fn step(&mut self, page: &[u8], wanted: usize) -> Result<usize> {
        if self.left == 0 {
            self.next_run(page)?;
        }
        Ok(wanted.min(self.left))
    }

    fn pass(&mut self, count: usize) {
        self.left -= count;
        if let Run::Packed(_, passed) = &mut self.run {
            *passed += count;
        }
    }

    /// Moves to the next run that isn't empty.
    #[inline]
    fn next_run(&mut self, page: &[u8]) -> Result<()> {
        // Runs of a few values have a header of one byte, which is nearly always followed by at least four more bytes.
        if let Some([header, value @ ..]) = page.get(self.rest.start..).and_then(|rest| rest.first_chunk::<5>())
            && (2..0x80).contains(header)
        {
            let count = usize::from(header >> 1);
            let is_packed = header & 1 == 1;
            let stored_bytes = if is_packed { count * self.width as usize } else { self.width.div_ceil(8) as usize };
            let start = self.rest.start + 1;
            let beyond = u64::MAX << (stored_bytes * 8).min(63);
            let value = u64::from(u32::from_le_bytes(*value)) & !beyond;
            if start + stored_bytes <= self.rest.end && self.width > 0 && (is_packed || value >> self.width == 0) {
                self.run = if is_packed { Run::Packed(start, 0) } else { Run::Repeated(value as u32) };
                self.left = if is_packed { count * 8 } else { count };
                self.rest.start = start + stored_bytes;
                return Ok(());
            }
        }
        self.next_run_of_any_form(page)
    }

    fn next_run_of_any_form(&mut self, page: &[u8]) -> Result<()> {
        let ended = || Error::corrupt("a page ends before its last value");
        if self.width == 0 && self.rest.is_empty() {
            // All codes are 0, and some writers omit the run.
            (self.run, self.left) = (Run::Repeated(0), usize::MAX);
            return Ok(());
        }
        while self.left == 0 {
            let mut input = page.get(self.rest.clone()).ok_or_else(ended)?;
            let before = input.len();
            let header = varint(&mut input).ok_or_else(ended)?;
            let count = (header >> 1) as usize;
            if header & 1 == 1 {
                // The last group may be truncated after its last value.
                let bytes = count.saturating_mul(self.width as usize).min(input.len());
                let start = self.rest.start + (before - input.len());
                self.left = match self.width {
                    0 => count.saturating_mul(8),
                    width => bytes * 8 / width as usize,
                };
                if count > 0 && self.left == 0 {
                    return Err(ended());
                }
                self.run = Run::Packed(start, 0);
                self.rest.start = start + bytes;
            } else {
                let bytes = self.width.div_ceil(8) as usize;
                let stored = input.get(..bytes).ok_or_else(ended)?;
                let mut value = [0u8; 4];
                value[..bytes].copy_from_slice(stored);
                let value = u32::from_le_bytes(value);
                // Callers rely on this number of bits: a boolean is 0 or 1.
                if value.checked_shr(self.width).is_some_and(|rest| rest != 0) {
                    return Err(Error::corrupt(format!("a run of {value} in a page of {} bits", self.width)));
                }
                self.run = Run::Repeated(value);
                self.left = count;
                self.rest.start += before - input.len() + bytes;
            }
        }
        Ok(())
    }
}

/// Returns how many of ascending numbers are below `end`; fast if they are few.
fn count_below(numbers: &[u32], end: u32) -> usize {
    let mut from = 0;
    let mut step = 4;
    while numbers.get(from + step - 1).is_some_and(|&number| number < end) {
        from += step;
        step *= 2;
    }
    let until = numbers.len().min(from + step);
    from + numbers[from..until].partition_point(|&number| number < end)
}

fn varint(input: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= u32::from(byte & 0x7F).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes alternating runs and groups, as the tests specify.
    fn encode(parts: &[(bool, Vec<u32>)], width: u32) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        let put_varint = |bytes: &mut Vec<u8>, mut value: u32| {
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
        };
        let mask = ((1u64 << width) - 1) as u32;
        for (repeated, part) in parts {
            if *repeated {
                let value = part.first().copied().unwrap_or(0) & mask;
                put_varint(&mut bytes, (part.len() as u32) << 1);
                bytes.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
                values.extend(std::iter::repeat_n(value, part.len()));
            } else {
                let groups = part.len().div_ceil(8);
                put_varint(&mut bytes, (groups as u32) << 1 | 1);
                let start = bytes.len();
                bytes.resize(start + groups * width as usize, 0);
                for i in 0..groups * 8 {
                    let value = part.get(i).copied().unwrap_or(0) & mask;
                    values.push(value);
                    for bit in (0..width as usize).filter(|bit| value >> bit & 1 == 1) {
                        let at = i * width as usize + bit;
                        bytes[start + at / 8] |= 1 << (at % 8);
                    }
                }
            }
        }
        (bytes, values)
    }

    proptest! {
        #[test]
        fn cursors_agree_with_a_list(
            width in 0u32..=32,
            parts in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u32>(), 0..60)), 0..6),
            steps in prop::collection::vec((0usize..4, 0usize..50, 1usize..10), 0..20),
            around: (Vec<u8>, Vec<u8>),
        ) {
            let (encoded, values) = encode(&parts, width);
            let range = around.0.len()..around.0.len() + encoded.len();
            let bytes = [around.0, encoded, around.1].concat();
            let mut cursor = RunCursor::new(range, width).unwrap();
            let mut at = 0;
            for (kind, count, stride) in steps {
                let count = count.min(values.len() - at);
                let next = &values[at..at + count];
                let mut out = Vec::new();
                match kind {
                    0 => cursor.skip(&bytes, count).unwrap(),
                    1 => {
                        cursor.read(&bytes, count, &mut out).unwrap();
                        prop_assert_eq!(&out[..], next);
                    }
                    2 if width == 1 => {
                        let bits = cursor.read_bits(&bytes, count).unwrap();
                        prop_assert_eq!(bits, Bitmap::from_fn(count, |row| next[row] == 1));
                    }
                    _ => {
                        // Some several times, as those of NULLs are.
                        let positions = (0..count as u32).step_by(stride).flat_map(|at| vec![at; 1 + at as usize % 3]);
                        let positions: Vec<u32> = positions.collect();
                        cursor.read_selected(&bytes, count, &positions, &mut Vec::new(), &mut out).unwrap();
                        let expected: Vec<u32> = positions.iter().map(|&p| next[p as usize]).collect();
                        prop_assert_eq!(out, expected);
                    }
                }
                at += count;
            }
            if width > 0 {
                prop_assert!(cursor.skip(&bytes, values.len() - at + 1).is_err());
            }
        }

        #[test]
        fn short_headers_are_those_of_any_form(
            bytes in prop::collection::vec(0u8..200, 0..60),
            end: prop::sample::Index,
            width in 0u32..=32,
        ) {
            let mut short = RunCursor::new(0..end.index(bytes.len() + 1), width).unwrap();
            let mut any = short.clone();
            loop {
                let results = (short.next_run(&bytes), any.next_run_of_any_form(&bytes));
                prop_assert_eq!(results.0.is_ok(), results.1.is_ok());
                prop_assert_eq!((&short.run, short.left, &short.rest), (&any.run, any.left, &any.rest));
                if results.0.is_err() || short.left == usize::MAX {
                    break;
                }
                (short.left, any.left) = (0, 0);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, width in 0u32..=32, count in 0usize..5000) {
            let mut cursor = RunCursor::new(0..bytes.len(), width).unwrap();
            let _ = cursor.clone().read(&bytes, count, &mut Vec::new());
            let _ = cursor.read_selected(&bytes, count, &[], &mut Vec::new(), &mut Vec::new());
            let mut cursor = RunCursor::new(0..bytes.len(), 1).unwrap();
            let _ = cursor.read_bits(&bytes, count);
        }

        #[test]
        fn bits_agree_with_a_list(
            parts in prop::collection::vec((any::<bool>(), prop::collection::vec(0u32..2, 0..200)), 0..6),
            skipped in 0usize..100,
        ) {
            let (bytes, values) = encode(&parts, 1);
            let skipped = skipped.min(values.len());
            let mut cursor = RunCursor::new(0..bytes.len(), 1).unwrap();
            cursor.skip(&bytes, skipped).unwrap();
            let rest = &values[skipped..];
            let bits = cursor.read_bits(&bytes, rest.len()).unwrap();
            prop_assert_eq!(bits, Bitmap::from_fn(rest.len(), |row| rest[row] == 1));
        }
    }
}
