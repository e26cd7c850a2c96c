//! Dictionaries of several row groups, decompressed together.
//!
//! A dictionary has no neighbour of its kind in its chunk, and pages of codes are much shorter. But a scan will need the
//! same column's dictionary in the next row groups, which is about as long: it is decompressed along with this one, and
//! found in the cache later.

use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::Reservation;

use super::buffer::PageRoom;
use super::cache::Keeping;
use super::{PAGES_TOGETHER, PageHeader, PageKind, PageReader, ParquetPage, decompress_pages, may_be_together};
use crate::config::{DICTIONARY_AHEAD_SHARE_MIN, DICTIONARY_BYTES_MIN, TOGETHER_BYTES_MAX};

/// Dictionaries of later row groups that are decompressed along with one.
pub(crate) const DICTIONARIES_AHEAD: usize = PAGES_TOGETHER - 1;

/// The stored bytes of a later dictionary.
struct LaterDictionary {
    offset: u64,
    bytes: Vec<u8>,
    header: PageHeader,
    header_bytes: usize,
    _memory: Reservation,
}

impl LaterDictionary {
    fn stored(&self) -> &[u8] {
        &self.bytes[self.header_bytes..][..self.header.compressed_bytes]
    }
}

impl PageReader {
    /// The scan will read the chunks of this column that begin with these dictionary pages, too.
    pub(crate) fn expect_dictionaries(&mut self, places: Vec<Range<u64>>) {
        self.dictionaries_ahead = places;
    }

    /// Reads the dictionary, which has this header, and those that are expected, decompressed together; the latter go
    /// to the cache. `None` if that isn't possible, or not worth it.
    pub(super) fn dictionary_with_later(
        &mut self,
        header: PageHeader,
        header_bytes: usize,
    ) -> Result<Option<ParquetPage>> {
        let places = std::mem::take(&mut self.dictionaries_ahead);
        if places.is_empty()
            || !self.is_worth_company(&header)
            || !self.reads_ahead()
            || self.is_cached(self.chunk.start)
        {
            return Ok(None);
        }
        // The others are about as long.
        let fitting = (TOGETHER_BYTES_MAX / header.uncompressed_bytes).saturating_sub(1).min(DICTIONARIES_AHEAD);
        let places = places.into_iter().filter(|place| !self.is_cached(place.start)).take(fitting);
        let later: Vec<_> = places.map_while(|place| self.later_dictionary(place)).collect();
        if later.is_empty() {
            return Ok(None);
        }
        self.dictionaries_together(header, header_bytes, &later)
    }

    /// Returns true if decompressing a dictionary along with others pays off.
    fn is_worth_company(&self, header: &PageHeader) -> bool {
        header.uncompressed_bytes >= DICTIONARY_BYTES_MIN && header.is_compressed() && !self.is_copied(header)
    }

    /// Reads a dictionary page of a later row group; `None` if it can't be read now, or is no usual one. Whoever needs
    /// it will say why.
    fn later_dictionary(&self, place: Range<u64>) -> Option<LaterDictionary> {
        let length = usize::try_from(place.end.checked_sub(place.start)?).ok()?;
        if length > TOGETHER_BYTES_MAX || length as u64 > self.memory.memory_limit() / DICTIONARY_AHEAD_SHARE_MIN {
            return None;
        }
        let memory = self.memory.reserve(length, MemoryTag::Reader).ok()?;
        let mut bytes = vec![0; length];
        self.file.read_at(&mut bytes, place.start).ok()?;
        let (header, header_bytes) = PageHeader::parse(&bytes).ok()??;
        let is_usual = header.kind == PageKind::Dictionary
            && self.is_worth_company(&header)
            && header_bytes.checked_add(header.compressed_bytes)? <= length;
        is_usual.then_some(LaterDictionary { offset: place.start, bytes, header, header_bytes, _memory: memory })
    }

    fn dictionaries_together(
        &mut self,
        header: PageHeader,
        header_bytes: usize,
        later: &[LaterDictionary],
    ) -> Result<Option<ParquetPage>> {
        let start = self.chunk.start;
        let headers = || std::iter::once(&header).chain(later.iter().map(|later| &later.header));
        if !may_be_together(headers()) {
            return Ok(None);
        }
        let window = self.window.clone();
        let mut window = window.lock();
        let seen = self.fetch(&mut window, start + header_bytes as u64, header.compressed_bytes)?;
        // What isn't kept would be gone before it is needed; others may need the memory more.
        let later_rooms = later.iter().map(|later| {
            let pages = self.file.pages();
            let room = pages.room(later.offset, &later.header, Keeping::AtOnce, &self.cache);
            room.ok().flatten().map(PageRoom::Cached)
        });
        let Some(later_rooms) = later_rooms.collect::<Option<Vec<_>>>() else { return Ok(None) };
        // Without the others, there may be room for it.
        let Ok(own_room) = self.room(start, None, &header) else { return Ok(None) };
        let mut rooms: Vec<_> = std::iter::once(own_room).chain(later_rooms).collect();
        let own = (header, &seen[..header.compressed_bytes]);
        let stored: Vec<_> =
            std::iter::once(own).chain(later.iter().map(|later| (later.header, later.stored()))).collect();
        if decompress_pages(&self.codec, &stored, &mut rooms).is_none() {
            return Ok(None);
        }
        window.trim();
        self.reads.pages += 1 + later.len() as u64;
        self.reads.bytes += later.iter().map(|later| later.bytes.len() as u64).sum::<u64>();
        for later in later {
            self.file.pages().note_header(later.offset, (later.header, later.header_bytes));
        }
        let offsets = std::iter::once(start).chain(later.iter().map(|later| later.offset));
        let pages = offsets.zip(headers()).zip(rooms);
        let file = &self.file;
        let pages: Vec<_> =
            pages.map(|((offset, header), room)| ParquetPage::new(file, offset, *header, room, 0)).collect();
        Ok(pages.into_iter().next())
    }
}
