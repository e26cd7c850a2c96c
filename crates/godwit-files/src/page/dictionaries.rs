//! Dictionaries of several row groups, decompressed together.
//!
//! A dictionary has no neighbour of its kind in its chunk, and pages of codes are much shorter. But a scan will need the
//! same column's dictionary in the next row groups, which is about as long: it is decompressed along with this one, and
//! found in the cache later.

use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::Reservation;

use super::buffer::PageRoom;
use super::cache::PagePlace;
use super::{PAGES_TOGETHER, Page, PageHeader, PageKind, PageReader, decompress_pages};
use crate::config::{DICTIONARY_AHEAD_SHARE_MIN, DICTIONARY_BYTES_MIN, TOGETHER_BYTES_MAX};

/// Dictionaries of later row groups that are decompressed along with one.
pub(crate) const DICTIONARIES_AHEAD: usize = PAGES_TOGETHER - 1;
const _: () = assert!(DICTIONARIES_AHEAD == 2, "one and two are told apart below");

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
    pub(super) fn dictionary_with_later(&mut self, header: PageHeader, header_bytes: usize) -> Result<Option<Page>> {
        let places = std::mem::take(&mut self.dictionaries_ahead);
        let is_worth_it = header.uncompressed_bytes >= DICTIONARY_BYTES_MIN && header.is_compressed();
        if places.is_empty() || !is_worth_it || !self.reads_ahead() || self.is_cached(self.chunk.start) {
            return Ok(None);
        }
        // The others are about as long.
        let fitting = (TOGETHER_BYTES_MAX / header.uncompressed_bytes).saturating_sub(1);
        let places = places.into_iter().filter(|place| !self.is_cached(place.start)).take(fitting);
        let later: Vec<_> = places.map_while(|place| self.later_dictionary(place)).collect();
        match later.len() {
            0 => Ok(None),
            1 => self.dictionaries_together::<2>(header, header_bytes, &later),
            DICTIONARIES_AHEAD.. => self.dictionaries_together::<PAGES_TOGETHER>(header, header_bytes, &later),
        }
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
            && header.is_compressed()
            && header.uncompressed_bytes >= DICTIONARY_BYTES_MIN
            && header_bytes.checked_add(header.compressed_bytes)? <= length;
        is_usual.then_some(LaterDictionary { offset: place.start, bytes, header, header_bytes, _memory: memory })
    }

    fn dictionaries_together<const PAGES: usize>(
        &mut self,
        header: PageHeader,
        header_bytes: usize,
        later: &[LaterDictionary],
    ) -> Result<Option<Page>> {
        let start = self.chunk.start;
        let headers = || std::iter::once(header).chain(later.iter().map(|later| later.header));
        let bytes = headers().fold(0, |bytes: usize, header| bytes.saturating_add(header.uncompressed_bytes));
        if bytes > TOGETHER_BYTES_MAX {
            return Ok(None);
        }
        let mut later_rooms = Vec::with_capacity(later.len());
        for later in later {
            let pages = self.file.pages();
            // What isn't kept would be gone before it is needed; others may need the memory more.
            match pages.room(later.offset, PagePlace::Unknown, &later.header, true, &self.cache) {
                Ok(Some(room)) => later_rooms.push(PageRoom::Cached(room)),
                Ok(None) | Err(_) => return Ok(None),
            }
        }
        let mut rooms = vec![self.room(start, None, &header)?];
        rooms.extend(later_rooms);
        let window = self.window.clone();
        let mut window = window.lock();
        let seen = self.fetch(&mut window, start + header_bytes as u64, header.compressed_bytes)?;
        let own = (header, &seen[..header.compressed_bytes]);
        let stored: Vec<_> =
            std::iter::once(own).chain(later.iter().map(|later| (later.header, later.stored()))).collect();
        if decompress_pages::<PAGES>(&self.codec, &stored, &mut rooms).is_none() {
            return Ok(None);
        }
        window.trim();
        self.reads.pages += PAGES as u64;
        self.reads.bytes += later.iter().map(|later| later.bytes.len() as u64).sum::<u64>();
        for later in later {
            self.file.pages().note_header(later.offset, (later.header, later.header_bytes));
        }
        let offsets = std::iter::once(start).chain(later.iter().map(|later| later.offset));
        let pages = offsets.zip(headers()).zip(rooms);
        let file = &self.file;
        let pages: Vec<_> = pages.map(|((offset, header), room)| Page::new(file, offset, header, room, 0)).collect();
        Ok(pages.into_iter().next())
    }
}
