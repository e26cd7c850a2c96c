//! Byte streams over blocks, which store the bodies of segments.
//!
//! ```text
//!   stream 1   │ block 17 │ block 23 │ 40 K of block 31 │
//!   stream 2   │ block 18 │ 9 K of block 31 │               the rests of all streams of a load share their last blocks
//! ```
//!
//! Bodies follow each other without gaps, so some straddle two blocks; those are copied to be read, all others are read
//! in place. A column has streams of its own, so that a scan reads only the blocks of its columns.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_trace::VECTOR_BYTES;

use crate::block::{Block, BlockBytes, Blocks};
use crate::file::BLOCK_BYTES;

/// Bodies begin at multiples of this, so that packed words can be read in place.
const ALIGNMENT_BYTES: usize = 8;

/// Part of a stream: bytes of one block.
#[derive(Clone)]
pub(crate) struct Extent {
    pub block: Arc<Block>,
    /// Where it begins in the block.
    pub offset: u32,
    pub bytes: u32,
}

/// A written stream.
pub struct ByteStream {
    extents: Vec<Extent>,
    /// Where each extent ends in the stream.
    ends: Vec<u64>,
}

impl ByteStream {
    pub(crate) fn new(extents: Vec<Extent>) -> Self {
        let mut end = 0;
        let ends = extents.iter().map(|extent| {
            end += extent.bytes as u64;
            end
        });
        Self { ends: ends.collect(), extents }
    }

    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Length of the stream.
    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The blocks that hold these bytes, and how many of them each holds.
    pub(crate) fn blocks_of(&self, range: Range<u64>) -> impl Iterator<Item = (&Arc<Block>, f64)> {
        let first = self.ends.partition_point(|&end| end <= range.start);
        let extents = self.extents.iter().zip(&self.ends).skip(first);
        let starts = extents.map(|(extent, &end)| (extent, end - extent.bytes as u64, end));
        starts.take_while(move |&(_, start, _)| start < range.end).map(move |(extent, start, end)| {
            let bytes = end.min(range.end) - start.max(range.start);
            (&extent.block, bytes as f64 / BLOCK_BYTES as f64)
        })
    }

    /// Asks the system to read ahead the bytes that will be needed soon.
    pub(crate) fn read_ahead(&self, range: Range<u64>) {
        self.blocks_of(range).for_each(|(block, _)| block.read_ahead());
    }

    /// Bytes of the stream, which must be within it.
    pub(crate) fn read(&self, range: Range<u64>, memory: &BufferManager) -> Result<StreamBytes> {
        assert!(range.end <= self.bytes(), "readers check the range when they read the metadata");
        let length = (range.end - range.start) as usize;
        if length == 0 {
            return Ok(StreamBytes::Empty);
        }
        let first = self.ends.partition_point(|&end| end <= range.start);
        let start_of = |index: usize| self.ends[index] - self.extents[index].bytes as u64;
        if range.end <= self.ends[first] {
            let extent = &self.extents[first];
            let start = extent.offset as usize + (range.start - start_of(first)) as usize;
            return Ok(StreamBytes::InPlace(extent.block.read(memory)?, start..start + length));
        }
        let reservation = memory.reserve(length, MemoryTag::Table)?;
        let mut words = Vec::with_capacity(length.div_ceil(ALIGNMENT_BYTES));
        let mut copied = 0;
        for index in first.. {
            if copied == length {
                break;
            }
            let extent = &self.extents[index];
            let skipped = (range.start + copied as u64 - start_of(index)) as usize;
            let taken = (extent.bytes as usize - skipped).min(length - copied);
            let from = extent.offset as usize + skipped;
            let block = extent.block.read(memory)?;
            let piece = &block[from..from + taken];
            godwit_trace::loads(|loads| loads.run(piece.as_ptr(), piece.len(), VECTOR_BYTES));
            append(&mut words, copied, piece);
            copied += taken;
        }
        Ok(StreamBytes::Copied(CopiedBytes { words, length, _reservation: reservation }))
    }
}

/// Appends a piece to words that hold `length` bytes so far: whole words keep a copy aligned. Nearly all pieces consist
/// of them, so nothing is written twice.
fn append(words: &mut Vec<u64>, length: usize, piece: &[u8]) {
    let whole = &piece[..piece.len() / ALIGNMENT_BYTES * ALIGNMENT_BYTES];
    let whole =
        if length.is_multiple_of(ALIGNMENT_BYTES) { bytemuck::try_cast_slice(whole).unwrap_or(&[]) } else { &[] };
    words.extend_from_slice(whole);
    let rest = &piece[size_of_val(whole)..];
    if !rest.is_empty() {
        let start = length + piece.len() - rest.len();
        words.resize((length + piece.len()).div_ceil(ALIGNMENT_BYTES), 0);
        bytemuck::cast_slice_mut(words)[start..start + rest.len()].copy_from_slice(rest);
    }
}

/// Bytes of a stream, in memory as long as this lives.
pub enum StreamBytes {
    /// No bytes.
    Empty,
    /// In one block.
    InPlace(BlockBytes, Range<usize>),
    /// From several blocks.
    Copied(CopiedBytes),
}

/// A copy of bytes.
pub struct CopiedBytes {
    /// The bytes, padded.
    words: Vec<u64>,
    /// Number of bytes.
    length: usize,
    /// Accounts for the copy.
    _reservation: Reservation,
}

impl Drop for CopiedBytes {
    fn drop(&mut self) {
        // A memory trace may know what is stored here.
        godwit_trace::forget(self.words.as_ptr().cast(), self.length);
    }
}

impl AsRef<[u8]> for StreamBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            StreamBytes::Empty => &[],
            StreamBytes::InPlace(block, range) => &block[range.clone()],
            StreamBytes::Copied(copy) => &bytemuck::cast_slice(&copy.words)[..copy.length],
        }
    }
}

/// A stream that is being written. Holds less than a block in memory.
#[derive(Default)]
pub(crate) struct StreamWriter {
    extents: Vec<Extent>,
    /// Number of bytes in written blocks.
    written: u64,
    open: Vec<u8>,
}

impl StreamWriter {
    /// Appends a body; returns where it begins.
    pub(crate) fn append(&mut self, mut body: &[u8], blocks: &Blocks) -> Result<u64> {
        self.open.resize(self.open.len().next_multiple_of(ALIGNMENT_BYTES), 0);
        let start = self.written + self.open.len() as u64;
        while !body.is_empty() {
            let (now, later) = body.split_at(body.len().min(BLOCK_BYTES - self.open.len()));
            self.open.extend_from_slice(now);
            body = later;
            if self.open.len() == BLOCK_BYTES {
                let block = blocks.write(std::mem::take(&mut self.open))?;
                self.extents.push(Extent { block, offset: 0, bytes: BLOCK_BYTES as u32 });
                self.written += BLOCK_BYTES as u64;
            }
        }
        Ok(start)
    }

    /// Bytes that aren't in a block yet.
    pub(crate) fn open_bytes(&self) -> usize {
        self.open.capacity()
    }
}

/// Ends streams; their last, partial blocks share common blocks.
pub(crate) fn finish_streams(writers: Vec<StreamWriter>, blocks: &Blocks) -> Result<Vec<Arc<ByteStream>>> {
    let mut common = StreamWriter::default();
    let starts = writers.iter().map(|writer| common.append(&writer.open, blocks)).collect::<Result<Vec<u64>>>()?;
    if !common.open.is_empty() {
        let bytes = common.open.len() as u32;
        let block = blocks.write(std::mem::take(&mut common.open))?;
        common.extents.push(Extent { block, offset: 0, bytes });
    }
    let rest = |start: u64, bytes: usize| {
        let pieces = (start / BLOCK_BYTES as u64..).map_while(move |index| {
            let from = start.max(index * BLOCK_BYTES as u64);
            let to = (start + bytes as u64).min((index + 1) * BLOCK_BYTES as u64);
            (from < to).then(|| (index as usize, (from % BLOCK_BYTES as u64) as u32, (to - from) as u32))
        });
        pieces.collect::<Vec<_>>()
    };
    let finished = writers.into_iter().zip(starts).map(|(writer, start)| {
        let mut extents = writer.extents;
        for (index, offset, bytes) in rest(start, writer.open.len()) {
            extents.push(Extent { block: common.extents[index].block.clone(), offset, bytes });
        }
        Arc::new(ByteStream::new(extents))
    });
    Ok(finished.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_are_appended() {
        let bytes: Vec<u8> = (0..200).collect();
        for ends in [[64, 128, 200], [64, 128, 199], [3, 64, 200], [61, 62, 200], [0, 200, 200]] {
            // Also pieces that don't begin at whole words in memory.
            for shift in [0, 1] {
                let source = [vec![0; shift], bytes.clone()].concat();
                let (mut words, mut length) = (Vec::new(), 0);
                for end in ends {
                    append(&mut words, length, &source[shift + length..shift + end]);
                    length = end;
                }
                assert_eq!(words.len(), length.div_ceil(ALIGNMENT_BYTES));
                assert_eq!(bytemuck::cast_slice::<u64, u8>(&words)[..length], bytes[..length]);
            }
        }
    }
}
