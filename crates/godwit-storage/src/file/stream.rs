//! Streams: metadata of any length, stored in blocks.
//!
//! The blocks of a stream are listed in an index block, whose pointer is in the stream's parent: so the checksum of
//! every block lives outside of it, up to the header.

use godwit_common::{Error, Result};

use super::blocks::POINTER_BYTES;
use super::{BLOCK_BYTES, BlockPointer, Checkpoint, DatabaseFile};

/// Number of blocks that an index has room for, which limits a stream to 5.4 GiB.
const STREAM_BLOCKS_MAX: usize = BLOCK_BYTES / POINTER_BYTES;

/// Where a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPointer {
    /// The block that lists the blocks of the stream.
    pub index: BlockPointer,
    /// Length of the stream.
    pub bytes: u64,
}

impl DatabaseFile {
    /// Reads a stream.
    pub fn read_stream(&self, stream: &StreamPointer) -> Result<Vec<u8>> {
        let pointers = self.content_pointers(stream)?;
        let mut content = Vec::new();
        let mut block = vec![0; BLOCK_BYTES];
        for pointer in pointers {
            self.read_block(pointer, &mut block)?;
            content.extend_from_slice(&block);
        }
        content.truncate(stream.bytes as usize);
        Ok(content)
    }

    /// The blocks of a stream, including the index.
    pub(super) fn stream_blocks(&self, stream: &StreamPointer) -> Result<Vec<BlockPointer>> {
        let mut blocks = self.content_pointers(stream)?;
        blocks.push(stream.index);
        Ok(blocks)
    }

    fn content_pointers(&self, stream: &StreamPointer) -> Result<Vec<BlockPointer>> {
        let blocks = stream.bytes.div_ceil(BLOCK_BYTES as u64);
        if blocks > STREAM_BLOCKS_MAX as u64 {
            return Err(self.corrupt(stream.index.block, "it can't list a stream of that length"));
        }
        let mut index = vec![0; BLOCK_BYTES];
        self.read_block(stream.index, &mut index)?;
        let pointers = index.chunks_exact(POINTER_BYTES).take(blocks as usize);
        Ok(pointers.map(|bytes| BlockPointer::from_bytes(bytes.try_into().expect("as long as a pointer"))).collect())
    }
}

impl Checkpoint<'_> {
    /// Writes a stream.
    pub fn write_stream(&mut self, content: &[u8]) -> Result<StreamPointer> {
        if content.len().div_ceil(BLOCK_BYTES) > STREAM_BLOCKS_MAX {
            return Err(Error::resource("the metadata of the database is longer than its format allows"));
        }
        let mut index = Vec::with_capacity(BLOCK_BYTES);
        let mut block = vec![0; BLOCK_BYTES];
        for piece in content.chunks(BLOCK_BYTES) {
            block[..piece.len()].copy_from_slice(piece);
            block[piece.len()..].fill(0);
            index.extend(self.write_block(&block)?.to_bytes());
        }
        index.resize(BLOCK_BYTES, 0);
        Ok(StreamPointer { index: self.write_block(&index)?, bytes: content.len() as u64 })
    }
}
