//! Block numbers, block pointers, and the free blocks.

use std::collections::BTreeSet;
use std::fmt;

use crate::checksum;

/// Length of a block: that of a page of the buffer pool.
pub const BLOCK_BYTES: usize = 256 * 1024;

/// Number of a block. Block 0 holds the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNumber(pub u32);

impl BlockNumber {
    /// Where it begins in the file.
    pub(super) fn offset(self) -> u64 {
        self.0 as u64 * BLOCK_BYTES as u64
    }

    /// The checksum of its content.
    pub(super) fn checksum(self, content: &[u8]) -> u64 {
        checksum(content, self.offset())
    }
}

impl fmt::Display for BlockNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where a block is, and what it must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPointer {
    /// Its number.
    pub block: BlockNumber,
    /// Checksum of its content, and of its place.
    pub checksum: u64,
}

/// Bytes of a pointer in the file.
pub(super) const POINTER_BYTES: usize = 12;

impl BlockPointer {
    /// Appends the pointer to metadata.
    pub fn to_bytes(self) -> [u8; POINTER_BYTES] {
        let mut bytes = [0; POINTER_BYTES];
        bytes[..4].copy_from_slice(&self.block.0.to_le_bytes());
        bytes[4..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// The pointer of these bytes.
    pub fn from_bytes(bytes: [u8; POINTER_BYTES]) -> Self {
        let (block, checksum) = bytes.split_at(4);
        Self {
            block: BlockNumber(u32::from_le_bytes(block.try_into().expect("four bytes"))),
            checksum: u64::from_le_bytes(checksum.try_into().expect("eight bytes")),
        }
    }
}

/// The blocks of a file that aren't in use.
pub(super) struct FreeBlocks {
    /// Number of blocks in the file, including the first.
    blocks: u32,
    free: BTreeSet<u32>,
}

impl FreeBlocks {
    /// All blocks but the first one are free.
    pub(super) fn new(blocks: u32) -> Self {
        Self { blocks, free: (1..blocks).collect() }
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32
    }

    pub(super) fn mark_used(&mut self, block: BlockNumber) -> Result<(), &'static str> {
        match (block.0 < self.blocks, self.free.remove(&block.0)) {
            (false, _) => Err("the file has no such block"),
            (true, false) => Err("it is used twice"),
            (true, true) => Ok(()),
        }
    }

    /// The first free block, to keep the file short; a new one at the end if there is none. `None` if block numbers
    /// have run out.
    pub(super) fn allocate(&mut self) -> Option<BlockNumber> {
        if let Some(block) = self.free.pop_first() {
            return Some(BlockNumber(block));
        }
        let block = self.blocks;
        self.blocks = block.checked_add(1)?;
        Some(BlockNumber(block))
    }

    pub(super) fn release(&mut self, block: BlockNumber) {
        assert!(block.0 < self.blocks && self.free.insert(block.0), "block {block} is released once");
    }

    /// Drops the free blocks at the end; returns how many blocks are left.
    pub(super) fn cut_tail(&mut self) -> u32 {
        while self.free.last().is_some_and(|&last| last + 1 == self.blocks) {
            self.free.pop_last();
            self.blocks -= 1;
        }
        self.blocks
    }
}
