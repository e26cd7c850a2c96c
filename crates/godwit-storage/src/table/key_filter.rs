//! Bloom filters over the keys of immutable rows: they tell where a key certainly isn't.
//!
//! ```text
//!   hash ─ upper half ─▶ block of four 64-bit words      two bits in each, by eight fields of six bits of the mixed hash
//! ```
//!
//! A filter is built when keys are looked up, and kept as a cached page: when memory is short it is dropped, and
//! rebuilt for the next lookup. So a key costs nothing when rows are written, and little memory when it is checked.

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, PinnedPage};
use parking_lot::Mutex;

/// Filter bytes per row: with 32 bits, eight of them set, one in twenty thousand absent hashes passes. With 16 bits it
/// would be one in a thousand, so that looking up a thousand keys would decode nearly every row group of a table.
const BYTES_PER_ROW: usize = 4;

const WORD_BYTES: usize = 8;
const BLOCK_WORDS: usize = 4;
const BLOCK_BYTES: usize = BLOCK_WORDS * WORD_BYTES;

/// Odd, with irregular bits: the bits in a block must differ from those that chose the block.
const FIELDS_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number of single-key lookups before a filter is built for them: building it reads and hashes all keys, which takes
/// about as long as this many searches for a value among the packed keys.
const SCANS_BEFORE_MADE: u32 = 16;

/// The filters of some rows, one for each list of columns that was searched.
#[derive(Default)]
pub struct KeyFilters(Mutex<Vec<Filter>>);

struct Filter {
    columns: Vec<usize>,
    page: Option<CachedPage>,
    /// Searches that found no filter.
    scans: u32,
}

impl KeyFilters {
    /// Positions, in ascending order, of those `hashes` that may be among those of `columns` of the rows. If there is
    /// no filter yet, `visit` has to pass on the hashes of all `rows` rows; without memory for a filter, all hashes may
    /// be there.
    pub fn candidates(
        &self,
        columns: &[usize],
        rows: usize,
        hashes: &[u64],
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<Vec<u32>> {
        let all = 0..hashes.len() as u32;
        Ok(match self.pinned(columns, rows, memory, visit)? {
            Some(page) => all.filter(|&at| is_set(page.as_slice(), hashes[at as usize])).collect(),
            None => all.collect(),
        })
    }

    /// False if `hash` isn't among those of `columns`. For scans, which can search the values themselves: a filter is
    /// built for them only after several have asked.
    pub fn may_have(
        &self,
        columns: &[usize],
        rows: usize,
        hash: u64,
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<bool> {
        if let Some(page) = self.known(columns) {
            return Ok(is_set(page.as_slice(), hash));
        }
        {
            let mut filters = self.0.lock();
            let filter = Self::filter(&mut filters, columns);
            filter.scans += 1;
            if filter.scans <= SCANS_BEFORE_MADE {
                return Ok(true);
            }
            filter.scans = 0;
        }
        let page = self.pinned(columns, rows, memory, visit)?;
        Ok(page.is_none_or(|page| is_set(page.as_slice(), hash)))
    }

    /// The filter of some columns, if it exists.
    fn known(&self, columns: &[usize]) -> Option<PinnedPage> {
        self.0.lock().iter().find(|filter| filter.columns == columns)?.page.as_ref()?.pin()
    }

    fn filter<'a>(filters: &'a mut Vec<Filter>, columns: &[usize]) -> &'a mut Filter {
        let at = filters.iter().position(|filter| filter.columns == columns).unwrap_or_else(|| {
            filters.push(Filter { columns: columns.to_vec(), page: None, scans: 0 });
            filters.len() - 1
        });
        &mut filters[at]
    }

    fn pinned(
        &self,
        columns: &[usize],
        rows: usize,
        memory: &BufferManager,
        visit: impl FnOnce(&mut dyn FnMut(&[u64])) -> Result<()>,
    ) -> Result<Option<PinnedPage>> {
        if let Some(known) = self.known(columns) {
            return Ok(Some(known));
        }
        // Two concurrent lookups may both build it; the later one stays.
        let bytes = (rows * BYTES_PER_ROW).next_multiple_of(BLOCK_BYTES);
        let made = memory.cache(bytes, MemoryTag::Table, |filter| {
            filter.fill(0);
            visit(&mut |hashes| hashes.iter().for_each(|&hash| set(filter, hash)))
        })?;
        let Some((page, pinned)) = made else { return Ok(None) };
        Self::filter(&mut self.0.lock(), columns).page = Some(page);
        Ok(Some(pinned))
    }
}

/// Where the block of a hash begins, and the bits of each of its words.
fn position(filter_bytes: usize, hash: u64) -> (usize, [u64; BLOCK_WORDS]) {
    let blocks = (filter_bytes / BLOCK_BYTES) as u64;
    let block = ((hash >> 32) * blocks) >> 32;
    let mut fields = hash.wrapping_mul(FIELDS_FACTOR) >> 16;
    let words = std::array::from_fn(|_| {
        let bits = 1 << (fields & 63) | 1 << (fields >> 6 & 63);
        fields >>= 12;
        bits
    });
    (block as usize * BLOCK_BYTES, words)
}

fn set(filter: &mut [u8], hash: u64) {
    let (start, words) = position(filter.len(), hash);
    for (word, bits) in filter[start..start + BLOCK_BYTES].chunks_exact_mut(WORD_BYTES).zip(words) {
        let known = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        word.copy_from_slice(&(known | bits).to_le_bytes());
    }
}

fn is_set(filter: &[u8], hash: u64) -> bool {
    let (start, words) = position(filter.len(), hash);
    let found = filter[start..start + BLOCK_BYTES].chunks_exact(WORD_BYTES);
    found.zip(words).all(|(word, bits)| u64::from_le_bytes(word.try_into().expect("eight bytes")) & bits == bits)
}

#[cfg(test)]
mod tests {
    use godwit_memory::BufferConfig;
    use godwit_vector::kernels::hash::hash_integer;

    use super::*;

    #[test]
    fn what_is_there_is_found_and_little_else() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let filters = KeyFilters::default();
        let rows = 100_000;
        let hashes: Vec<u64> = (0..2 * rows as i64).map(hash_integer).collect();
        let there = |hashes: &[u64], calls: &mut usize| {
            let visit = |add: &mut dyn FnMut(&[u64])| {
                *calls += 1;
                add(&(0..rows as i64).map(hash_integer).collect::<Vec<_>>());
                Ok(())
            };
            filters.candidates(&[1, 2], rows, hashes, &memory, visit).unwrap()
        };
        let mut calls = 0;
        let found = there(&hashes, &mut calls);
        assert!(found.iter().copied().take(rows).eq(0..rows as u32));
        let wrong = found.len() - rows;
        assert!(wrong < rows / 5_000, "{wrong} of {rows}");
        assert_eq!(there(&hashes[..3], &mut calls), [0, 1, 2]);
        assert_eq!(calls, 1, "the filter is kept");
    }

    #[test]
    fn scans_get_a_filter_when_many_have_asked() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let filters = KeyFilters::default();
        let mut calls = 0;
        let mut may_have = |key: i64| {
            let visit = |add: &mut dyn FnMut(&[u64])| {
                calls += 1;
                add(&(0..1000).map(hash_integer).collect::<Vec<_>>());
                Ok(())
            };
            (filters.may_have(&[0], 1000, hash_integer(key), &memory, visit).unwrap(), calls)
        };
        for _ in 0..SCANS_BEFORE_MADE {
            assert_eq!(may_have(5000), (true, 0));
        }
        assert_eq!(may_have(5000), (false, 1));
        assert_eq!(may_have(999), (true, 1));
        assert_eq!(may_have(1000), (false, 1));
    }

    #[test]
    fn without_memory_everything_may_be_there() {
        let memory = BufferManager::new(BufferConfig::new(1 << 20)).unwrap();
        let _all = memory.reserve(memory.memory_limit() as usize, MemoryTag::Other).unwrap();
        let visit = |_: &mut dyn FnMut(&[u64])| unreachable!("there is no room for a filter");
        let found = KeyFilters::default().candidates(&[0], 1000, &[1, 2], &memory, visit).unwrap();
        assert_eq!(found, [0, 1]);
    }
}
