//! The forms that a segment may have in memory, shared by all versions of its table.
//!
//! ```text
//!   hot       flat vectors: a scan hands out pointers, a single row is one load      a page beside the blocks
//!   compact   as it is stored                                                        blocks
//!   frozen    that, compressed                                                       blocks            (../block)
//! ```
//!
//! Hot and frozen forms are additional copies; the stored one stays. So a form can change while readers run: those that
//! have opened a part keep the pages that they have pinned, later ones find the new form. The pool may drop a hot page
//! when it needs the room; readers then fall back to the blocks. All forms are parts with headers and bodies, so that
//! all are read in the same way, including filters on packed values: a hot one is encoded flat.
//!
//! Source: Windheuser et al., "Adaptive Compression For Databases", 2024, 3.2. They have two forms, of which the
//! compact one is copied into vectors before it is used.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use godwit_common::{MemoryTag, Named, Result};
use godwit_encoding::{EncodingChoice, PartHeader, encode};
use godwit_memory::{BufferManager, CachedPage, Object};
use godwit_vector::{PhysicalType, SharedBytes};
use parking_lot::RwLock;

use super::{OpenPart, Segment, StoredPart};
use crate::block::{Block, BlockMemory};

/// Bodies in a hot page begin at multiples of this: wide enough for every type.
const ALIGNMENT_BYTES: usize = 64;

/// Approximate compression ratio of symbol tables.
const SYMBOLS_GAIN: u64 = 2;

/// The form of a segment in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Flat.
    Hot,
    /// As it is stored.
    Compact,
    /// As it is stored, compressed.
    Frozen,
}

impl Named for Form {
    const NAMES: &'static [(&'static str, Self)] =
        &[("hot", Self::Hot), ("compact", Self::Compact), ("frozen", Self::Frozen)];
}

/// Bytes of memory that a segment takes in each form. Blocks shared by several segments count towards each in
/// proportion to its share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FormBytes {
    /// Bytes of flat vectors.
    pub hot: u64,
    /// Bytes of blocks as they are stored.
    pub compact: u64,
    /// Bytes of compressed blocks.
    pub frozen: u64,
}

/// In-memory state of a segment, shared by all versions of the table that have the segment.
#[derive(Default)]
pub(super) struct Forms {
    object: OnceLock<Arc<Object>>,
    hot: RwLock<Option<Arc<Hot>>>,
}

/// A segment as flat vectors.
struct Hot {
    page: CachedPage,
    parts: Vec<HotPart>,
}

struct HotPart {
    header: PartHeader,
    first_row: u32,
    body: Range<usize>,
}

impl Segment {
    /// Names the segment, unless it has a name already.
    pub fn identify(&self, object: impl FnOnce() -> Arc<Object>) {
        self.forms.object.get_or_init(object);
    }

    /// The object of the segment, once a table has it.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.forms.object.get()
    }

    /// Opens the part that has the first of `rows`, which begin a window of the row group, for reading these rows; uses
    /// the flat vectors, if there are any.
    pub fn open_rows(&self, rows: &Range<usize>, memory: &BufferManager) -> Result<OpenPart> {
        if let Some(open) = self.open_hot(rows.start) {
            return Ok(open);
        }
        self.part_of(rows.start).open_rows(rows, &self.memory(memory))
    }

    /// Asks the system to read ahead what [`open_rows`](Self::open_rows) will read.
    pub fn read_ahead_rows(&self, rows: &Range<usize>) {
        if self.forms.hot.read().is_none() {
            self.part_of(rows.start).read_ahead_rows(rows);
        }
    }

    /// `memory`, with the segment as the owner of cached pages.
    pub(super) fn memory(&self, memory: &BufferManager) -> BufferManager {
        match self.object() {
            Some(object) => memory.for_object(object),
            None => memory.clone(),
        }
    }

    fn open_hot(&self, row: usize) -> Option<OpenPart> {
        let hot = self.forms.hot.read().clone()?;
        let Some(page) = hot.page.pin() else {
            // The pool needed the room.
            self.make_compact();
            return None;
        };
        let index = hot.parts.partition_point(|part| part.first_row as usize <= row);
        let part = &hot.parts[index - 1];
        let body = SharedBytes::new(page).slice(part.body.clone());
        Some(OpenPart { header: part.header.clone(), first_row: part.first_row, body })
    }

    /// Makes flat vectors of the segment; returns how long it took to decode it. `None` if it is already hot, if
    /// nothing would change, or if there is no room to spare. Temporarily uses as much additional memory as the
    /// vectors.
    pub fn make_hot(&self, memory: &BufferManager) -> Result<Option<Duration>> {
        if self.is_hot() || !self.can_be_hot() {
            return Ok(None);
        }
        // Twice the bytes while they are copied; no pages are evicted for them.
        if memory.used_bytes() + 2 * self.flat_bytes() > memory.cache_limit() {
            return Ok(None);
        }
        let mut decoding = Duration::ZERO;
        let memory = self.memory(memory);
        let mut reservation = memory.reserve(0, MemoryTag::Table)?;
        let mut bodies = Vec::with_capacity(self.parts.len());
        let mut parts = Vec::with_capacity(self.parts.len());
        let mut end = 0;
        for stored in &self.parts {
            let open = stored.open(&memory)?;
            let began = Instant::now();
            let values = open.part()?.decode(0..stored.header.rows as usize)?;
            decoding += began.elapsed();
            let flat = encode(&values, EncodingChoice::Plain).with_content(stored.header.content);
            reservation.resize(reservation.bytes() + flat.body.len())?;
            let start = usize::next_multiple_of(end, ALIGNMENT_BYTES);
            end = start + flat.body.len();
            parts.push(HotPart { header: flat.header, first_row: stored.first_row, body: start..end });
            bodies.push(flat.body);
        }
        let made = memory.cache(end.max(1), MemoryTag::Table, |page| {
            for (part, body) in parts.iter().zip(&bodies) {
                page[part.body.clone()].copy_from_slice(body);
            }
            Ok(())
        })?;
        let Some((page, _)) = made else { return Ok(None) };
        *self.forms.hot.write() = Some(Arc::new(Hot { page, parts }));
        Ok(Some(decoding))
    }

    /// Drops the flat vectors; returns true if there were any.
    pub fn make_compact(&self) -> bool {
        self.forms.hot.write().take().is_some()
    }

    /// True if flat vectors would make a difference: constants and segments that are stored flat are as fast as they
    /// get.
    pub fn can_be_hot(&self) -> bool {
        self.parts.iter().any(|part| !part.header.encoding.is_flat())
    }

    /// The approximate size of flat vectors: exact for numbers; for strings, based on what symbol tables usually save.
    pub fn flat_bytes(&self) -> u64 {
        let of_part = |header: &PartHeader| match header.physical {
            PhysicalType::Str => u64::from(header.body_bytes) * SYMBOLS_GAIN,
            physical => u64::from(header.rows) * physical.width_bytes() as u64,
        };
        self.parts.iter().map(|part| of_part(&part.header)).sum()
    }

    fn is_hot(&self) -> bool {
        self.forms.hot.read().as_ref().is_some_and(|hot| hot.page.is_loaded())
    }

    /// The form that readers find.
    pub fn form(&self) -> Form {
        if self.is_hot() {
            return Form::Hot;
        }
        let memory = self.block_memory();
        if memory.frozen > 0 && memory.compact == 0 { Form::Frozen } else { Form::Compact }
    }

    /// The memory that the segment takes.
    pub fn memory_bytes(&self) -> FormBytes {
        let hot = self
            .forms
            .hot
            .read()
            .as_ref()
            .map_or(0, |hot| if hot.page.is_loaded() { hot.page.memory_bytes() } else { 0 });
        let BlockMemory { compact, frozen } = self.block_memory();
        FormBytes { hot, compact, frozen }
    }

    fn block_memory(&self) -> BlockMemory {
        self.parts.iter().flat_map(StoredPart::extents).fold(BlockMemory::default(), |sum, (block, share)| {
            let BlockMemory { compact, frozen } = block.memory();
            let part = |bytes: u64| (bytes as f64 * share) as u64;
            BlockMemory { compact: sum.compact + part(compact), frozen: sum.frozen + part(frozen) }
        })
    }

    /// The blocks that hold the segment, each once; they may hold bytes of others as well.
    pub fn blocks(&self) -> Vec<Arc<Block>> {
        let mut seen = HashSet::new();
        let blocks = self.parts.iter().flat_map(StoredPart::extents);
        blocks.filter(|(block, _)| seen.insert(Arc::as_ptr(block))).map(|(block, _)| block.clone()).collect()
    }
}

impl StoredPart {
    /// The blocks of the body, and how much of each is the body's.
    fn extents(&self) -> impl Iterator<Item = (&Arc<Block>, f64)> {
        self.stream.blocks_of(self.offset..self.offset + self.header.body_bytes as u64)
    }
}
