//! Blocks that are rarely read, compressed in memory.
//!
//! Encoded columns seldom compress much further, so a block is frozen only if that makes it smaller, and if thawing it
//! is faster than reading it from its file: both are measured. If not, the block isn't tried again. LZ4 is tried first,
//! since it thaws three times as fast as zstd.

use std::time::Instant;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, Codec, Page, PinnedPage};

use crate::file::BLOCK_BYTES;

/// A frozen block takes at most this percentage of its bytes: thawing costs as much as several scans.
const FROZEN_PERCENT_MAX: usize = 85;

/// A block's bytes, compressed.
#[derive(Clone)]
pub(super) struct Frozen<P> {
    page: P,
    codec: Codec,
    bytes: usize,
}

/// A block that was compressed and isn't kept anywhere yet.
pub(super) struct Compressed {
    pub codec: Codec,
    pub bytes: Vec<u8>,
}

/// How often thawing a block is measured before it counts as slow: other threads may have used the processor meanwhile.
const THAWS_MEASURED_MAX: usize = 3;

/// Compresses a block; `None` if that doesn't pay off: if it saves too little, or thawing takes longer than reading the
/// block from its file, which takes `read_nanos`.
pub(super) fn compress(content: &[u8], read_nanos: Option<u64>) -> Option<Compressed> {
    let mut buffer = vec![0; Codec::encoded_bytes_max(content.len())];
    let mut thawed = vec![0; content.len()];
    [Codec::Lz4, Codec::Zstd].into_iter().find_map(|codec| {
        let bytes = codec.encode(content, &mut buffer)?;
        if bytes * 100 > content.len() * FROZEN_PERCENT_MAX {
            return None;
        }
        let mut is_fast = || {
            let began = Instant::now();
            let decoded = codec.decode(&buffer[..bytes], &mut thawed);
            decoded.is_ok() && read_nanos.is_none_or(|read_nanos| (began.elapsed().as_nanos() as u64) < read_nanos)
        };
        let pays = (0..THAWS_MEASURED_MAX).any(|_| is_fast());
        pays.then(|| Compressed { codec, bytes: buffer[..bytes].to_vec() })
    })
}

impl Frozen<CachedPage> {
    /// Keeps the result of [`compress`], if there is room to spare.
    pub(super) fn in_cache(compressed: &Compressed, memory: &BufferManager) -> Result<Option<Self>> {
        let Compressed { codec, bytes } = compressed;
        let made = memory.cache(bytes.len(), MemoryTag::Table, |page| {
            page.copy_from_slice(bytes);
            Ok(())
        })?;
        Ok(made.map(|(page, _)| {
            page.outlast_others();
            Self { page, codec: *codec, bytes: bytes.len() }
        }))
    }

    /// Bytes that it takes in memory; 0 if it has been dropped.
    pub(super) fn memory_bytes(&self) -> u64 {
        if self.page.is_loaded() { self.page.memory_bytes() } else { 0 }
    }

    /// The compressed bytes, if they are still there.
    pub(super) fn pin(&self) -> Option<Frozen<PinnedPage>> {
        Some(Frozen { page: self.page.pin()?, codec: self.codec, bytes: self.bytes })
    }
}

impl Frozen<Page> {
    /// Keeps the result of [`compress`] as a page that may be spilled.
    pub(super) fn in_pool(compressed: &Compressed, memory: &BufferManager) -> Result<Self> {
        let page = memory.large_page_of(&compressed.bytes, MemoryTag::Table)?;
        Ok(Self { page, codec: compressed.codec, bytes: compressed.bytes.len() })
    }

    /// Bytes that it takes in memory; 0 if it has been spilled.
    pub(super) fn memory_bytes(&self) -> u64 {
        if self.page.is_loaded() { self.page.bytes() as u64 } else { 0 }
    }

    /// The compressed bytes.
    pub(super) fn pin(&self, memory: &BufferManager) -> Result<Frozen<PinnedPage>> {
        Ok(Frozen { page: memory.pin_unchanged(&self.page)?, codec: self.codec, bytes: self.bytes })
    }
}

impl Frozen<PinnedPage> {
    /// Decompresses the block into `content`, which has the length of a block.
    pub(super) fn thaw_into(&self, content: &mut [u8]) -> Result<()> {
        self.codec.decode(&self.page.as_slice()[..self.bytes], &mut content[..BLOCK_BYTES])
    }
}
