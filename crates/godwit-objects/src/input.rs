//! An object open for reading.
//!
//! ```text
//!   will_need_all ─▶ what isn't there or in flight yet, neighbours together, long ones split ─▶ queue of the store
//!   read_at       ─▶ what arrived │ what is under way: wait │ what is queued: first │ else: fetch it now
//!   wont_need     ─▶ what nothing else announced goes; what was never announced goes when it was read, or after a while
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

use godwit_common::MemoryTag;
use godwit_io::InputFile;
use godwit_memory::{BufferManager, Reservation};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{
    AHEAD_BYTES_MAX, AHEAD_FREE_SHARE, AHEAD_LIMIT_SHARE, FIRST_BYTES, GAP_BYTES_MAX, IDLE_MAX, READ_BYTES_MIN,
    READERS_MAX, REQUEST_BYTES_MAX, SEQUENTIAL_BYTES_AHEAD, SEQUENTIAL_READS_MIN, SMALL_SHARE,
};
use crate::failure::Failure;
use crate::fetch::{Arrived, Fetch, Taken};
use crate::location::Location;
use crate::store::{Got, Store, Version};

/// Memory for bytes in flight and those not yet taken.
#[derive(Clone)]
pub(crate) struct Room {
    memory: BufferManager,
    /// Permits of a KiB each.
    share: Arc<Semaphore>,
    share_kib: u32,
    /// Fetches that aren't needed at the moment, oldest first.
    offered: Arc<Mutex<VecDeque<Offered>>>,
}

/// A fetch that isn't needed at the moment, and its file.
type Offered = (Weak<Inner>, Weak<Fetch>);

impl Room {
    pub(crate) fn new(memory: BufferManager) -> Self {
        let bytes = (memory.memory_limit() / AHEAD_LIMIT_SHARE).min(AHEAD_BYTES_MAX as u64);
        let share_kib = (bytes >> 10) as u32;
        Self { memory, share: Arc::new(Semaphore::new(share_kib as usize)), share_kib, offered: Arc::default() }
    }

    /// Waits until `bytes` bytes may be read ahead.
    async fn share(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).min(self.share_kib);
        loop {
            match self.share.clone().try_acquire_many_owned(kib) {
                Ok(share) => return Some(share),
                Err(_) if self.evict() => {}
                Err(_) => return self.share.clone().acquire_many_owned(kib).await.ok(),
            }
        }
    }

    /// Records a fetch that is no longer needed unless it is announced again. It is dropped when its room is needed.
    fn offer(&self, file: &Arc<Inner>, announced: &Announced) {
        self.offered.lock().push_back((Arc::downgrade(file), Arc::downgrade(&announced.fetch)));
    }

    /// Releases the fetch that was unused for the longest time; returns false if there is none.
    fn evict(&self) -> bool {
        loop {
            let Some((file, fetch)) = self.offered.lock().pop_front() else { return false };
            let (Some(file), Some(fetch)) = (file.upgrade(), fetch.upgrade()) else { continue };
            let mut state = file.state.lock();
            let start = fetch.range.start;
            if state.fetches.get(&start).is_some_and(|found| Arc::ptr_eq(&found.fetch, &fetch) && found.users == 0) {
                state.fetches.remove(&start);
                return true;
            }
        }
    }

    /// Returns true if queries don't need the memory of bytes read ahead.
    fn is_plenty(&self) -> bool {
        self.memory.available_bytes() >= self.memory.memory_limit() / AHEAD_FREE_SHARE
    }
}

/// An object open for reading. All its bytes are those of the version that was opened.
pub(crate) struct ObjectFile(Arc<Inner>);

struct Inner {
    location: Location,
    version: Version,
    store: Arc<Store>,
    room: Room,
    network: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Fetches by their start. They don't overlap.
    fetches: BTreeMap<u64, Announced>,
    /// Ends of reads, the newest last, and how many consecutive reads ended there.
    ends: VecDeque<(u64, u32)>,
    /// True if a task is watching for bytes that no reader takes.
    is_swept: bool,
}

struct Announced {
    fetch: Arc<Fetch>,
    /// Number of announcements that include it and weren't withdrawn.
    users: u32,
    origin: Origin,
}

/// The reason why a range was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It was announced.
    Announced,
    /// The file is read sequentially.
    Sequential,
    /// A reader waited for it.
    Read,
    /// A reader waited for a small part of it and will be back for more: it is kept after it was read.
    Kept,
    /// Only the whole file could be fetched.
    Whole,
}

impl Origin {
    /// Returns true if it is dropped once it was read to its end.
    fn is_read_once(self) -> bool {
        matches!(self, Origin::Sequential | Origin::Read)
    }
}

impl fmt::Debug for ObjectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectFile").field(&self.0.location).field(&self.0.version).finish()
    }
}

impl ObjectFile {
    /// Creates a version of an object that hasn't been read yet.
    pub(crate) fn new(location: Location, version: Version, store: Arc<Store>, room: Room, network: Handle) -> Self {
        Self(Arc::new(Inner { location, version, store, room, network, state: Mutex::default() }))
    }

    /// The version.
    pub(crate) fn version(&self) -> &Version {
        &self.0.version
    }

    /// Keeps bytes that came along with the version, if there is room.
    pub(crate) fn keep(&self, got: Got) {
        let range = got.start..got.start + got.bytes.len() as u64;
        let memory = self.0.room.memory.try_reserve(got.bytes.len(), MemoryTag::Reader);
        if let (false, Some(memory)) = (range.is_empty(), memory) {
            let arrived = Arrived::new(got.bytes, memory, None);
            let mut state = self.0.state.lock();
            let kept = Announced { fetch: Fetch::arrived(range.clone(), arrived), users: 0, origin: Origin::Kept };
            state.fetches.insert(range.start, kept);
            self.0.sweep(&mut state);
        }
    }

    /// Keeps a whole file while it is open.
    pub(crate) fn keep_whole(&self, got: Got, memory: Reservation) {
        let length = got.bytes.len() as u64;
        let fetch = Fetch::arrived(0..length, Arrived::new(got.bytes, memory, None));
        self.0.state.lock().fetches.insert(0, Announced { fetch, users: 0, origin: Origin::Whole });
    }

    /// Starts fetching the end of the file.
    pub(crate) fn announce_end(&self) {
        let end = self.0.version.bytes;
        let mut state = self.0.state.lock();
        if state.fetches.is_empty() && end > 0 {
            self.0.announce(&mut state, std::slice::from_ref(&(end.saturating_sub(FIRST_BYTES)..end)), 0, Origin::Kept);
        }
    }
}

impl InputFile for ObjectFile {
    fn bytes(&self) -> u64 {
        self.0.version.bytes
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let wanted = (buffer.len() as u64).min(self.bytes().saturating_sub(offset));
        if wanted == 0 {
            return Ok(0);
        }
        self.0.read_on(offset, wanted);
        loop {
            let fetch = self.0.fetch_of(offset, wanted);
            match fetch.read(&mut buffer[..wanted as usize], offset) {
                Ok(Taken::Bytes(bytes)) => {
                    if offset + bytes as u64 == fetch.range.end {
                        self.0.let_go(&fetch);
                    }
                    return Ok(bytes);
                }
                // The next one fetches it itself.
                Ok(Taken::Nothing) => self.0.forget(&fetch),
                Err(error) => {
                    self.0.forget(&fetch);
                    return Err(error);
                }
            }
        }
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        self.may_need(std::slice::from_ref(&(offset..offset.saturating_add(bytes))));
    }

    fn may_need(&self, ranges: &[Range<u64>]) {
        self.0.announce(&mut self.0.state.lock(), ranges, 0, Origin::Announced);
    }

    fn will_need_all(&self, ranges: &[Range<u64>]) {
        self.0.announce(&mut self.0.state.lock(), ranges, 1, Origin::Announced);
    }

    fn wont_need(&self, ranges: &[Range<u64>]) {
        let mut state = self.0.state.lock();
        for start in overlapping(&state.fetches, ranges) {
            let announced = state.fetches.get_mut(&start).expect("it was just found");
            announced.users = announced.users.saturating_sub(1);
            if announced.users == 0 {
                // The next scan of the file may need the same.
                self.0.room.offer(&self.0, announced);
            }
        }
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl Inner {
    /// Returns the fetch for the byte at `offset`: one in flight, or a new one for it and what follows.
    fn fetch_of(self: &Arc<Self>, offset: u64, wanted: u64) -> Arc<Fetch> {
        let mut state = self.state.lock();
        if let Some(found) = covering(&state.fetches, offset) {
            let fetch = found.fetch.clone();
            if fetch.begin() {
                self.start(fetch.clone());
            }
            return fetch;
        }
        if wanted > REQUEST_BYTES_MAX {
            self.announce(&mut state, std::slice::from_ref(&(offset..offset + wanted)), 0, Origin::Read);
            drop(state);
            return self.fetch_of(offset, 1);
        }
        let (before, behind) = free_around(&state.fetches, offset, self.version.bytes);
        let is_at_end = offset + FIRST_BYTES >= self.version.bytes && wanted < FIRST_BYTES;
        let start = if is_at_end { before.max(self.version.bytes.saturating_sub(FIRST_BYTES)) } else { offset };
        let end = behind.min(offset + wanted.max(READ_BYTES_MIN));
        let fetch = Fetch::queued(start..end);
        assert!(fetch.begin(), "nobody else knows it");
        // A reader that got more than it asked for will come back for the rest.
        let origin = if is_at_end || wanted < READ_BYTES_MIN { Origin::Kept } else { Origin::Read };
        state.fetches.insert(start, Announced { fetch: fetch.clone(), users: 0, origin });
        self.sweep(&mut state);
        drop(state);
        self.start(fetch.clone());
        fetch
    }

    /// Detects whether the file is read sequentially, and if so fetches what follows. Readers that announce their reads
    /// know better.
    fn read_on(self: &Arc<Self>, offset: u64, wanted: u64) {
        let mut state = self.state.lock();
        let is_announced = covering(&state.fetches, offset)
            .is_some_and(|found| matches!(found.origin, Origin::Announced | Origin::Whole));
        if is_announced {
            return;
        }
        let known = state.ends.iter().position(|&(end, _)| end == offset);
        let before = known.and_then(|known| state.ends.remove(known)).map_or(0, |(_, reads)| reads);
        if state.ends.len() == READERS_MAX {
            state.ends.pop_front();
        }
        state.ends.push_back((offset + wanted, before + 1));
        let end = (offset + wanted).saturating_add(SEQUENTIAL_BYTES_AHEAD).min(self.version.bytes);
        // In whole requests: otherwise each read would announce just the few bytes that are new.
        let end = if end == self.version.bytes { end } else { end / REQUEST_BYTES_MAX * REQUEST_BYTES_MAX };
        if before >= SEQUENTIAL_READS_MIN && offset + wanted < end {
            self.announce(&mut state, std::slice::from_ref(&(offset + wanted..end)), 0, Origin::Sequential);
        }
    }

    /// Fetches ranges that haven't arrived and aren't in flight, once there is room for them.
    fn announce(self: &Arc<Self>, state: &mut State, ranges: &[Range<u64>], users: u32, origin: Origin) {
        let ranges: Vec<Range<u64>> =
            ranges.iter().map(|range| range.start..range.end.min(self.version.bytes)).collect();
        for start in overlapping(&state.fetches, &ranges) {
            state.fetches.get_mut(&start).expect("it was just found").users += users;
        }
        if users > 0 {
            forget_small(&mut state.fetches, &ranges);
        }
        for range in missing(&state.fetches, ranges) {
            let fetch = Fetch::queued(range.clone());
            state.fetches.insert(range.start, Announced { fetch: fetch.clone(), users, origin });
            self.queue(&fetch);
        }
        self.sweep(state);
    }

    /// Fetches a range when its turn comes, unless it is forgotten or somebody waits for it before then.
    fn queue(self: &Arc<Self>, fetch: &Arc<Fetch>) {
        let (room, slots) = (self.room.clone(), self.store.slots.clone());
        // A queued fetch doesn't keep abandoned requests alive.
        let (file, length) = (Arc::downgrade(self), fetch.range.end - fetch.range.start);
        let fetch = Arc::downgrade(fetch);
        self.network.spawn(async move {
            let (Some(share), Ok(_slot)) = (room.share(length).await, slots.acquire_owned().await) else { return };
            let (Some(file), Some(fetch)) = (file.upgrade(), fetch.upgrade()) else { return };
            if !fetch.begin() {
                return;
            }
            while !file.room.is_plenty() && file.room.evict() {}
            match file.room.is_plenty() {
                true => file.fetch(&fetch, Some(share)).await,
                false => fetch.give_up(),
            }
        });
    }

    /// Fetches a range for which somebody waits.
    fn start(self: &Arc<Self>, fetch: Arc<Fetch>) {
        let file = self.clone();
        self.network.spawn(async move { file.fetch(&fetch, None).await });
    }

    async fn fetch(&self, fetch: &Fetch, share: Option<OwnedSemaphorePermit>) {
        let length = (fetch.range.end - fetch.range.start) as usize;
        let memory = match self.room.memory.reserve(length, MemoryTag::Reader) {
            Ok(memory) => memory,
            Err(_) if share.is_some() => return fetch.give_up(),
            Err(error) => return fetch.fail(Failure::Memory(error.message().to_owned())),
        };
        fetch.go(Arrived::new(Vec::with_capacity(length), memory, share));
        let mut take = |piece: &[u8]| fetch.arrive(piece);
        match self.store.read(&self.location.path, &self.version, fetch.range.clone(), &mut take).await {
            Ok(()) => fetch.finish(),
            Err(failure) => fetch.fail(failure),
        }
    }

    /// Drops a read-once range when its end was read; an announced range stays until its announcement is withdrawn.
    fn let_go(&self, fetch: &Arc<Fetch>) {
        let mut state = self.state.lock();
        let is_done =
            |found: &Announced| Arc::ptr_eq(&found.fetch, fetch) && found.users == 0 && found.origin.is_read_once();
        if state.fetches.get(&fetch.range.start).is_some_and(is_done) {
            state.fetches.remove(&fetch.range.start);
        }
    }

    /// Forgets a failed fetch, so the next reader requests it again.
    fn forget(&self, fetch: &Arc<Fetch>) {
        let mut state = self.state.lock();
        if state.fetches.get(&fetch.range.start).is_some_and(|found| Arc::ptr_eq(&found.fetch, fetch)) {
            state.fetches.remove(&fetch.range.start);
        }
    }

    /// Starts a task that drops bytes which no reader takes in time; it ends when none are left.
    fn sweep(self: &Arc<Self>, state: &mut State) {
        if std::mem::replace(&mut state.is_swept, true) {
            return;
        }
        let file: Weak<Self> = Arc::downgrade(self);
        self.network.spawn(async move {
            loop {
                tokio::time::sleep(IDLE_MAX / 2).await;
                let Some(file) = file.upgrade() else { return };
                let mut state = file.state.lock();
                state.fetches.retain(|_, it| it.origin == Origin::Whole || !it.fetch.is_idle(IDLE_MAX));
                if state.fetches.is_empty() {
                    state.is_swept = false;
                    return;
                }
            }
        });
    }
}

type Fetches = BTreeMap<u64, Announced>;

/// Returns the fetch that contains the byte at `offset`.
fn covering(fetches: &Fetches, offset: u64) -> Option<&Announced> {
    let (_, found) = fetches.range(..=offset).next_back()?;
    (offset < found.fetch.range.end).then_some(found)
}

/// Returns the end of the fetch before a free byte and the start of the one after it.
fn free_around(fetches: &Fetches, offset: u64, file_bytes: u64) -> (u64, u64) {
    let before = fetches.range(..=offset).next_back().map_or(0, |(_, found)| found.fetch.range.end);
    let behind = fetches.range(offset..).next().map_or(file_bytes, |(&start, _)| start);
    (before, behind)
}

/// Forgets what arrived of the ranges in much shorter pieces: one request for everything costs less than one for each
/// gap between them.
fn forget_small(fetches: &mut Fetches, ranges: &[Range<u64>]) {
    for range in ranges.iter().filter(|range| range.start < range.end) {
        let bytes_max = (range.end - range.start) / SMALL_SHARE;
        let is_small = |found: &Announced| {
            let own = &found.fetch.range;
            let is_within = range.start <= own.start && own.end <= range.end && own.end - own.start <= bytes_max;
            is_within && found.origin == Origin::Announced && found.fetch.has_arrived()
        };
        let (mut small, mut others) = (Vec::new(), 0);
        for start in overlapping(fetches, std::slice::from_ref(range)) {
            let found = &fetches[&start];
            match is_small(found) {
                true => small.push(start),
                false => others += found.fetch.range.end.min(range.end) - start.max(range.start),
            }
        }
        // If most of it has arrived, few parts are left.
        if others <= (range.end - range.start) / 2 {
            small.iter().for_each(|start| drop(fetches.remove(start)));
        }
    }
}

/// Returns the starts of the fetches that overlap the ranges, each once.
fn overlapping(fetches: &Fetches, ranges: &[Range<u64>]) -> Vec<u64> {
    let mut starts: Vec<u64> = Vec::new();
    for range in ranges.iter().filter(|range| range.start < range.end) {
        let first = covering(fetches, range.start).map(|found| found.fetch.range.start);
        starts.extend(first.into_iter().chain(fetches.range(range.clone()).map(|(&start, _)| start)));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Returns the ranges to fetch so that all `ranges` are available: neighbours are joined, including gaps between them,
/// but no longer than a request may be.
fn missing(fetches: &Fetches, mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut pieces: Vec<Range<u64>> = Vec::new();
    let mut add = |piece: Range<u64>| match pieces.last_mut() {
        Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
        Some(last) if piece.start - last.end <= GAP_BYTES_MAX && is_free(fetches, last.end..piece.start) => {
            last.end = piece.end;
        }
        _ => pieces.push(piece),
    };
    for range in ranges {
        let mut at = range.start;
        while at < range.end {
            if let Some(found) = covering(fetches, at) {
                at = found.fetch.range.end;
                continue;
            }
            let end = free_around(fetches, at, u64::MAX).1.min(range.end);
            add(at..end);
            at = end;
        }
    }
    pieces.into_iter().flat_map(cut).collect()
}

fn is_free(fetches: &Fetches, gap: Range<u64>) -> bool {
    overlapping(fetches, std::slice::from_ref(&gap)).is_empty()
}

/// Splits a range into equal parts, none of them too long.
fn cut(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let length = range.end - range.start;
    let parts = length.div_ceil(REQUEST_BYTES_MAX).max(1);
    let step = length.div_ceil(parts);
    (0..parts).map(move |part| {
        let start = range.start + part * step;
        start..(start + step).min(range.end)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init, reason = "they are lists of ranges")]

    use super::*;

    fn fetches(ranges: &[Range<u64>]) -> Fetches {
        let announced =
            |range: &Range<u64>| Announced { fetch: Fetch::queued(range.clone()), users: 1, origin: Origin::Announced };
        ranges.iter().map(|range| (range.start, announced(range))).collect()
    }

    #[test]
    fn neighbours_are_fetched_together_and_nothing_twice() {
        let known = fetches(&[100..200]);
        assert_eq!(missing(&known, vec![0..10, 20..30]), [0..30]);
        assert!(missing(&known, vec![150..160]).is_empty());
        assert_eq!(missing(&known, vec![50..60, 90..250]), [50..100, 200..250]);
        assert_eq!(missing(&known, vec![300..400, 10..20]), [10..20, 300..400], "what is between is on its way");
        assert_eq!(missing(&known, vec![300..400, 350..360, 5..5]), [300..400]);
        let far = 1000 + GAP_BYTES_MAX;
        assert_eq!(
            missing(&known, vec![200..1000, far..far + 1, 2 * far..2 * far + 1]),
            [200..far + 1, 2 * far..2 * far + 1]
        );
        let long = missing(&known, vec![200..200 + 3 * REQUEST_BYTES_MAX + 1]);
        assert_eq!(long.len(), 4);
        assert!(long.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(long.last().map(|last| last.end), Some(200 + 3 * REQUEST_BYTES_MAX + 1));
    }

    #[test]
    fn overlaps_are_found_once() {
        let known = fetches(&[0..10, 10..20, 30..40]);
        assert_eq!(overlapping(&known, &[5..6, 8..12, 20..30, 39..50]), [0, 10, 30]);
        assert!(overlapping(&known, &[20..30, 10..10]).is_empty());
    }
}
