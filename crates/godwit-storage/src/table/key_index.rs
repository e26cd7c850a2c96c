//! Where keys may be among immutable rows: for the hash of a key, the windows of a row group that may have it.
//!
//! ```text
//!   hash ─ upper half ─▶ bucket ─ starts ─▶ entries: │ 26 bits of the mixed hash, window │ …
//! ```
//!
//! There is a bucket for every four rows, and an entry for each hash in each window that has it: at most 64 for a value
//! that is everywhere. One absent hash in sixteen million passes. An index is built when keys are looked up, and kept as a
//! cached page, which is dropped when memory is short. Then it is rebuilt after some lookups have missed it, not for each:
//! if there is no room for all, most of those in memory stay. So a key costs nothing when rows are written, and little
//! memory when it is checked.

use godwit_common::{MemoryTag, Result};
use godwit_encoding::ROW_GROUP_ROWS;
use godwit_memory::{BufferManager, CachedPage, PinnedPage};
use parking_lot::Mutex;

use super::WINDOW_ROWS;

/// Rows per bucket: 5 bytes per row in all. With two, it would be 6, for one cache line less in few lookups.
const BUCKET_ROWS: usize = 4;

const WORD_BYTES: usize = 4;

/// Low bits of an entry, which are the number of the window.
const WINDOW_BITS: u32 = 6;
const _: () = assert!(ROW_GROUP_ROWS.div_ceil(WINDOW_ROWS) <= 1 << WINDOW_BITS, "a set of windows is one word");

/// Odd, with irregular bits: those of an entry must differ from those that chose its bucket.
const ENTRY_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number of lookups before an index is built for scans, or built again: building it reads and hashes all keys, which takes
/// about as long as this many searches for a value among the packed keys.
const MISSES_BEFORE_BUILT: u32 = 16;

/// The indexes of some rows, one for each list of columns that was searched.
#[derive(Default)]
pub struct KeyIndexes(Mutex<Vec<KeyIndex>>);

struct KeyIndex {
    columns: Vec<usize>,
    page: Option<CachedPage>,
    /// Lookups that found no index since it was last built.
    misses: u32,
    /// Whether it has been built before: then it was dropped for lack of memory.
    was_built: bool,
}

/// Some windows of a row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSet(u64);

impl WindowSet {
    /// No window.
    pub const EMPTY: Self = Self(0);
    /// All windows, however many there are.
    pub const ALL: Self = Self(u64::MAX);

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// True if it has this window.
    pub fn contains(self, window: usize) -> bool {
        self.0 >> window & 1 == 1
    }

    /// The windows of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl KeyIndexes {
    /// For each of `hashes`, the windows whose `columns` may have it. If there is no index yet, `visit` has to pass on
    /// the hashes of all `rows` rows, in order; while an index lacks memory, they may be anywhere.
    pub fn windows(
        &self,
        columns: &[usize],
        rows: usize,
        hashes: &[u64],
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<Vec<WindowSet>> {
        let page = match self.known(columns) {
            None if self.is_due(columns, true) => self.built(columns, rows, memory, visit)?,
            known => known,
        };
        Ok(match page {
            Some(page) => hashes.iter().map(|&hash| windows_of(page.as_slice(), rows, hash)).collect(),
            None => vec![WindowSet::ALL; hashes.len()],
        })
    }

    /// The windows of all these hashes for scans, which can search the values themselves: an index is built for them only
    /// after several have asked, and if this one may build more, which is then counted.
    pub fn windows_of_scan(
        &self,
        columns: &[usize],
        rows: usize,
        hashes: &[u64],
        builds_left: &mut usize,
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<WindowSet> {
        let page = match self.known(columns) {
            None if self.is_due(columns, false) && *builds_left > 0 => {
                *builds_left -= 1;
                self.built(columns, rows, memory, visit)?
            }
            known => known,
        };
        let Some(page) = page else { return Ok(WindowSet::ALL) };
        let windows = hashes.iter().map(|&hash| windows_of(page.as_slice(), rows, hash));
        Ok(windows.fold(WindowSet::EMPTY, WindowSet::union))
    }

    /// The index of some columns, if it exists.
    fn known(&self, columns: &[usize]) -> Option<PinnedPage> {
        self.0.lock().iter().find(|index| index.columns == columns)?.page.as_ref()?.pin()
    }

    fn index<'a>(indexes: &'a mut Vec<KeyIndex>, columns: &[usize]) -> &'a mut KeyIndex {
        let at = indexes.iter().position(|index| index.columns == columns).unwrap_or_else(|| {
            indexes.push(KeyIndex { columns: columns.to_vec(), page: None, misses: 0, was_built: false });
            indexes.len() - 1
        });
        &mut indexes[at]
    }

    /// Counts a lookup that finds no index. Returns whether one should be built: after several, or at once if it is the
    /// first.
    fn is_due(&self, columns: &[usize], first_at_once: bool) -> bool {
        let mut indexes = self.0.lock();
        let index = Self::index(&mut indexes, columns);
        index.misses += 1;
        index.misses > MISSES_BEFORE_BUILT || first_at_once && !index.was_built
    }

    fn built(
        &self,
        columns: &[usize],
        rows: usize,
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<Option<PinnedPage>> {
        // Two concurrent lookups may both build it; the later one stays.
        let Ok(_hashes) = memory.reserve(rows * size_of::<u64>(), MemoryTag::Table) else { return Ok(None) };
        let made = memory.cache(index_bytes(rows), MemoryTag::Table, |index| {
            let mut hashes = Vec::with_capacity(rows);
            visit(&mut |window| hashes.extend_from_slice(window))?;
            assert_eq!(hashes.len(), rows, "each row has a hash");
            fill(index, &hashes);
            Ok(())
        })?;
        let Some((page, pinned)) = made else { return Ok(None) };
        let mut indexes = self.0.lock();
        let index = Self::index(&mut indexes, columns);
        (index.page, index.misses, index.was_built) = (Some(page), 0, true);
        Ok(Some(pinned))
    }
}

/// Where each bucket begins, where the last one ends, and an entry per row.
fn index_bytes(rows: usize) -> usize {
    (buckets(rows) + 1 + rows) * WORD_BYTES
}

fn buckets(rows: usize) -> usize {
    rows.div_ceil(BUCKET_ROWS)
}

fn bucket_of(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// The bits of an entry that tell one hash from others in its bucket.
fn tag(hash: u64) -> u32 {
    (hash.wrapping_mul(ENTRY_FACTOR) >> 32) as u32 >> WINDOW_BITS << WINDOW_BITS
}

/// Writes the index of rows with these hashes: where the entries of each bucket begin, the number of all, the entries.
fn fill(index: &mut [u8], hashes: &[u64]) {
    let buckets = buckets(hashes.len());
    let (starts, entries) = index.split_at_mut((buckets + 1) * WORD_BYTES);
    starts.fill(0);
    for &hash in hashes {
        let bucket = bucket_of(hash, buckets);
        set_word(starts, bucket, word(starts, bucket) + 1);
    }
    let mut end = 0;
    for bucket in 0..=buckets {
        end += word(starts, bucket);
        set_word(starts, bucket, end);
    }
    // Where a bucket ends moves to where it begins.
    for (row, &hash) in hashes.iter().enumerate().rev() {
        let bucket = bucket_of(hash, buckets);
        let at = word(starts, bucket) - 1;
        set_word(starts, bucket, at);
        set_word(entries, at as usize, tag(hash) | (row / WINDOW_ROWS) as u32);
    }
    keep_distinct(starts, entries, buckets);
}

/// Leaves one of equal entries, which rows of one window with the same hash have.
fn keep_distinct(starts: &mut [u8], entries: &mut [u8], buckets: usize) {
    let mut of_bucket = Vec::new();
    let (mut begin, mut kept) = (0, 0);
    for bucket in 0..buckets {
        let end = word(starts, bucket + 1);
        of_bucket.clear();
        of_bucket.extend((begin..end).map(|at| word(entries, at as usize)));
        of_bucket.sort_unstable();
        of_bucket.dedup();
        set_word(starts, bucket, kept);
        for &entry in &of_bucket {
            set_word(entries, kept as usize, entry);
            kept += 1;
        }
        begin = end;
    }
    set_word(starts, buckets, kept);
}

fn windows_of(index: &[u8], rows: usize, hash: u64) -> WindowSet {
    let buckets = buckets(rows);
    let (starts, entries) = index.split_at((buckets + 1) * WORD_BYTES);
    let bucket = bucket_of(hash, buckets);
    let mut windows = 0;
    for at in word(starts, bucket)..word(starts, bucket + 1) {
        let entry = word(entries, at as usize);
        let window = entry & ((1 << WINDOW_BITS) - 1);
        windows |= u64::from(entry - window == tag(hash)) << window;
    }
    WindowSet(windows)
}

fn word(words: &[u8], at: usize) -> u32 {
    let bytes = &words[at * WORD_BYTES..(at + 1) * WORD_BYTES];
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn set_word(words: &mut [u8], at: usize, word: u32) {
    words[at * WORD_BYTES..(at + 1) * WORD_BYTES].copy_from_slice(&word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use godwit_memory::BufferConfig;
    use godwit_vector::kernels::hash::hash_integer;

    use super::*;

    /// Passes on the hashes of integers, window by window.
    fn add_all(keys: impl Iterator<Item = i64>, add: &mut dyn FnMut(&[u64])) {
        let hashes: Vec<u64> = keys.map(hash_integer).collect();
        hashes.chunks(WINDOW_ROWS).for_each(add);
    }

    #[test]
    fn each_key_is_in_its_window_and_others_are_nowhere() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let indexes = KeyIndexes::default();
        let rows = 100_000;
        let hashes: Vec<u64> = (0..2 * rows as i64).map(hash_integer).collect();
        let windows = |hashes: &[u64], calls: &mut usize| {
            let visit = |add: &mut dyn FnMut(&[u64])| {
                *calls += 1;
                add_all(0..rows as i64, add);
                Ok(())
            };
            indexes.windows(&[1, 2], rows, hashes, &memory, visit).unwrap()
        };
        let mut calls = 0;
        let found = windows(&hashes, &mut calls);
        let (there, absent) = found.split_at(rows);
        assert!(there.iter().enumerate().all(|(row, set)| set.contains(row / WINDOW_ROWS)));
        let single = there.iter().filter(|set| (0..64).filter(|&window| set.contains(window)).count() == 1).count();
        assert!(rows - single < 3, "{} keys seem to be in several windows", rows - single);
        let wrong = absent.iter().filter(|set| !set.is_empty()).count();
        assert!(wrong < 3, "{wrong} of {rows}");
        assert_eq!(windows(&hashes[..3], &mut calls), [WindowSet(1); 3]);
        assert_eq!(calls, 1, "the index is kept");
    }

    #[test]
    fn equal_keys_are_in_all_of_their_windows() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let rows = 10 * WINDOW_ROWS + 5;
        // One key in every other window.
        let hashes: Vec<u64> = (0..rows).map(|row| hash_integer((row / WINDOW_ROWS % 2) as i64)).collect();
        let mut index = vec![0; index_bytes(rows)];
        fill(&mut index, &hashes);
        assert_eq!(word(&index, buckets(rows)), 11, "an entry for each window");
        let visit = |add: &mut dyn FnMut(&[u64])| {
            hashes.chunks(WINDOW_ROWS).for_each(add);
            Ok(())
        };
        let found = [0, 1, 2].map(hash_integer);
        let found = KeyIndexes::default().windows(&[0], rows, &found, &memory, visit).unwrap();
        assert_eq!(found, [WindowSet(0b101_0101_0101), WindowSet(0b010_1010_1010), WindowSet::EMPTY]);
    }

    #[test]
    fn scans_get_an_index_when_many_have_asked() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let indexes = KeyIndexes::default();
        let mut calls = 0;
        let mut windows = |key: i64, builds_left: &mut usize| {
            let visit = |add: &mut dyn FnMut(&[u64])| {
                calls += 1;
                add_all(0..1000, add);
                Ok(())
            };
            (indexes.windows_of_scan(&[0], 1000, &[hash_integer(key)], builds_left, &memory, visit).unwrap(), calls)
        };
        for _ in 0..MISSES_BEFORE_BUILT {
            assert_eq!(windows(5000, &mut 1), (WindowSet::ALL, 0));
        }
        assert_eq!(windows(5000, &mut 0), (WindowSet::ALL, 0));
        let mut builds_left = 1;
        assert_eq!(windows(5000, &mut builds_left), (WindowSet::EMPTY, 1));
        assert_eq!(builds_left, 0);
        assert_eq!(windows(999, &mut 0), (WindowSet(1), 1));
        assert_eq!(windows(1000, &mut 0), (WindowSet::EMPTY, 1));
    }

    #[test]
    fn scans_for_several_keys_get_the_windows_of_all() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let rows = 3 * WINDOW_ROWS;
        let indexes = KeyIndexes::default();
        let visit = |add: &mut dyn FnMut(&[u64])| {
            add_all(0..rows as i64, add);
            Ok(())
        };
        indexes.windows(&[0], rows, &[], &memory, visit).unwrap();
        let wanted = [-1, 5, 2 * WINDOW_ROWS as i64].map(hash_integer);
        let visit = |_: &mut dyn FnMut(&[u64])| unreachable!("there is an index");
        let found = indexes.windows_of_scan(&[0], rows, &wanted, &mut 0, &memory, visit).unwrap();
        assert_eq!(found, WindowSet(0b101));
    }

    #[test]
    fn a_dropped_index_is_rebuilt_after_several_lookups() {
        let memory = BufferManager::new(BufferConfig::new(16 << 20)).unwrap();
        let indexes = KeyIndexes::default();
        let mut calls = 0;
        let mut windows = || {
            let visit = |add: &mut dyn FnMut(&[u64])| {
                calls += 1;
                add_all(0..1000, add);
                Ok(())
            };
            (indexes.windows(&[0], 1000, &[hash_integer(5000)], &memory, visit).unwrap()[0], calls)
        };
        assert_eq!(windows(), (WindowSet::EMPTY, 1));
        drop(memory.reserve(memory.memory_limit() as usize, MemoryTag::Other).unwrap());
        for _ in 0..MISSES_BEFORE_BUILT {
            assert_eq!(windows(), (WindowSet::ALL, 1));
        }
        assert_eq!(windows(), (WindowSet::EMPTY, 2));
        assert_eq!(windows(), (WindowSet::EMPTY, 2));
    }

    #[test]
    fn without_memory_keys_may_be_anywhere() {
        let memory = BufferManager::new(BufferConfig::new(1 << 20)).unwrap();
        let _all = memory.reserve(memory.memory_limit() as usize, MemoryTag::Other).unwrap();
        let visit = |_: &mut dyn FnMut(&[u64])| unreachable!("there is no room for an index");
        let found = KeyIndexes::default().windows(&[0], 1000, &[1, 2], &memory, visit).unwrap();
        assert_eq!(found, [WindowSet::ALL; 2]);
    }
}
