//! Filters made from the keys of a join's build side, applied by the probe-side scan.
//!
//! ```text
//! dense integers:  one bit per integer of [min, max]                            exact, 1 access
//! all others:      register-blocked Bloom filter: 4 bits of one 64-bit word     1 access, ~1 % wrong positives
//! both:            [min, max] of integers, for pruning row groups and pages
//! few keys:        the hash of each, for tables that can look keys up
//! ```
//!
//! Workers that build a hash table fill a [`KeySet`] at the same time; a finished set never changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::MemoryTag;
use godwit_memory::BufferManager;
use godwit_rows::{AtomicWords, IntegerKey, match_integers};
use godwit_vector::kernels::hash::{hash_columns, hash_vectors};
use godwit_vector::kernels::select::select_bits;
use godwit_vector::{Bitmap, ColumnView, Data, Dictionary, Flat, Native, ValueRange, Vector};
use parking_lot::Mutex;

use crate::top_bound::TopBound;

/// Bits per key of a Bloom filter, before rounding up to a power of two: with 4 bits set per key in one word, about 1 %
/// of the other keys pass.
const BLOOM_BITS_PER_KEY: u64 = 16;
/// Maximum size of a Bloom filter: beyond a typical last-level cache, a lookup costs as much as one in the hash table.
const BLOOM_BYTES_MAX: u64 = 16 << 20;
/// A bit vector may always have this many bits (256 KiB: stays in the L2 cache).
const BITS_ALWAYS: u128 = 1 << 21;
/// Otherwise the maximum number of bits per key: as many as its hash-table entry has.
const BITS_PER_KEY_MAX: u128 = 64;
/// More for each key instead of a Bloom filter, as long as they stay in a last-level cache and memory is plentiful: a
/// lookup takes a third of the instructions, and where keys come in order, as those of a fact table's rows often do, it
/// hardly ever misses a cache. TPC-H's Q4 and Q5 at scale factor 10, which filter the lines of one order in 30, take
/// 0.70 and 0.76 of the time when warm.
const SPARSE_BITS_PER_KEY_MAX: u128 = 256;
/// Maximum size of such a bit vector: that of a Bloom filter.
const SPARSE_BITS_MAX: u128 = BLOOM_BYTES_MAX as u128 * 8;
/// Maximum size of a bit vector.
const BITS_MAX: u128 = 1 << 30;
/// Maximum number of build rows whose hashes are known: each is looked up in every row group that isn't ruled out, in some
/// 0.1 µs, and a scan for more reads most windows anyway.
const FEW_KEYS_MAX: u64 = 64;
/// A filter may take at most this share of the memory limit.
const MEMORY_SHARE: u64 = 16;

/// What is known about the keys on the build side: rows with other keys have no match.
pub struct KeyFilter {
    range: Option<ValueRange>,
    set: Option<Arc<KeySet>>,
    /// Number of build rows: an upper bound on the number of distinct keys.
    keys: u64,
    /// Set for a top-N filter, which has a bound instead of a join's keys.
    bound: Option<Arc<TopBound>>,
}

impl KeyFilter {
    /// A filter from the range of the keys and, possibly, their set.
    pub fn new(range: Option<ValueRange>, set: Option<Arc<KeySet>>, keys: u64) -> Self {
        Self { range, set, keys, bound: None }
    }

    /// A filter that a top-N tightens while the scan runs.
    pub fn of_bound(bound: Arc<TopBound>) -> Self {
        Self { range: None, set: None, keys: u64::MAX, bound: Some(bound) }
    }

    /// True if it removes more rows later than at first: giving up on it early would be wrong.
    pub fn gets_better(&self) -> bool {
        self.bound.is_some()
    }

    /// Smallest and largest key, if keys are integers, decimals, dates or times. Prunes row groups and pages.
    pub fn range(&self) -> Option<ValueRange> {
        self.range
    }

    /// True if no key exists: no row has a match.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// True if rows that pass certainly have a match.
    pub fn is_exact(&self) -> bool {
        self.set.as_ref().is_some_and(|set| set.is_exact())
    }

    /// The hashes of the keys if they are few, as [`hash_vectors`] gives them for a single column: rows with other hashes
    /// have no match.
    pub fn hashes(&self) -> Option<Vec<u64>> {
        if self.keys > FEW_KEYS_MAX {
            return None;
        }
        let of_integers = |keys: Vec<i64>| {
            let (mut hashes, rows) = (Vec::new(), keys.len());
            hash_vectors(&[Vector::from_values(keys, None)], rows, &mut hashes);
            hashes
        };
        match (self.set.as_deref(), self.range) {
            (_, Some(range)) if range.min == range.max => Some(of_integers(vec![i64::try_from(range.min).ok()?])),
            (Some(KeySet::Bits { min, words }), _) => Some(of_integers(integers_in(*min, words.as_slice()))),
            (Some(KeySet::Bloom { few: Some(few), .. }), _) => {
                Some(few.lock().clone()).filter(|hashes| hashes.len() as u64 <= FEW_KEYS_MAX)
            }
            _ => None,
        }
    }

    /// Bytes that are looked up at random places.
    pub fn set_bytes(&self) -> u64 {
        self.set.as_ref().map_or(0, |set| set.bytes())
    }

    /// An estimate of the share of rows that pass, assuming that the scanned column's values are uniformly distributed
    /// over `column`; a filter that passes nearly everything isn't worth its cost. The scan knows better once it has
    /// measured.
    pub fn selectivity(&self, column: Option<ValueRange>) -> f64 {
        let (Some(keys), Some(column)) = (self.range, column) else {
            return if self.keys == 0 { 0.0 } else { 0.5 };
        };
        let overlap = ValueRange { min: keys.min.max(column.min), max: keys.max.min(column.max) };
        if self.keys == 0 || overlap.min > overlap.max {
            return 0.0;
        }
        let values = if self.set.is_some() { overlap.count().min(self.keys as u128) } else { overlap.count() };
        values as f64 / column.count() as f64
    }

    /// Keeps those of `rows` (ascending positions in the dense vector `keys`) whose key may have a match; NULL never
    /// has one, but may be among the first rows of a top-N.
    pub fn retain(&self, keys: &Vector, rows: &mut Vec<u32>) {
        if let Some(bound) = &self.bound {
            return bound.retain(keys, rows);
        }
        if self.keys == 0 {
            return rows.clear();
        }
        if let Some(validity) = keys.validity() {
            match rows.len() == keys.len() {
                true => select_bits(validity, true, rows),
                false => keep(rows, |row| validity.get(row as usize)),
            }
        }
        if rows.is_empty() {
            return;
        }
        match keys.data() {
            Data::Constant(_) => {
                let mut first = vec![rows[0]];
                self.retain_flat(&keys.slice(rows[0] as usize, 1).flattened(), &mut Vec::from([0]), &mut first);
                if first.is_empty() {
                    rows.clear();
                }
            }
            Data::Dictionary(codes, dictionary) if dictionary.len() <= rows.len() => {
                let passing = self.entries(dictionary);
                keep(rows, |row| passing.get(codes[row as usize] as usize));
            }
            Data::Dictionary(..) => {
                let taken = keys.take(rows).flattened();
                let mut positions = (0..rows.len() as u32).collect();
                self.retain_flat(&taken, &mut positions, rows);
            }
            _ => {
                let mut positions = std::mem::take(rows);
                self.retain_values(keys, &mut positions);
                *rows = positions;
            }
        }
    }

    /// Which entries of a dictionary may have a match: worth keeping for as long as the dictionary is in use.
    pub fn entries(&self, dictionary: &Dictionary) -> Bitmap {
        let values = Vector::flat(dictionary.values().clone(), None);
        let mut rows: Vec<u32> = (0..dictionary.len() as u32).collect();
        if self.keys == 0 {
            rows.clear();
        }
        self.retain_values(&values, &mut rows);
        let mut passing = Bitmap::filled(dictionary.len(), false);
        rows.iter().for_each(|&row| passing.set(row as usize, true));
        passing
    }

    /// Keeps the `rows` whose counterpart in `positions` passes.
    fn retain_flat(&self, keys: &Vector, positions: &mut Vec<u32>, rows: &mut Vec<u32>) {
        self.retain_values(keys, positions);
        positions.iter_mut().for_each(|position| *position = rows[*position as usize]);
        std::mem::swap(positions, rows);
    }

    /// [`KeyFilter::retain`] for flat vectors whose `rows` aren't NULL.
    fn retain_values(&self, keys: &Vector, rows: &mut Vec<u32>) {
        let Data::Flat(flat) = keys.data() else { unreachable!("only flat vectors get here") };
        match self.set.as_deref() {
            Some(KeySet::Bits { min, words }) => retain_bits(flat, *min, words.as_slice(), rows),
            Some(KeySet::Bloom { words, .. }) => {
                let words = words.as_slice();
                let mut hashes = Vec::new();
                hash_columns(&[ColumnView { vector: keys, selection: Some(rows) }], rows.len(), &mut hashes);
                note_loads(words, hashes.len(), |i| bloom_position(hashes[i], words.len()).0);
                let mut kept = 0;
                for (i, &hash) in hashes.iter().enumerate() {
                    let (word, mask) = bloom_position(hash, words.len());
                    rows[kept] = rows[i];
                    kept += (words[word].load(Ordering::Relaxed) & mask == mask) as usize;
                }
                rows.truncate(kept);
            }
            None => retain_range(flat, self.range, rows),
        }
    }
}

/// Keeps the rows for which `passes` is true, without a branch per row.
#[inline(always)]
fn keep(rows: &mut Vec<u32>, passes: impl Fn(u32) -> bool) {
    let mut kept = 0;
    for i in 0..rows.len() {
        let row = rows[i];
        rows[kept] = row;
        kept += passes(row) as usize;
    }
    rows.truncate(kept);
}

fn retain_bits(flat: &Flat, min: i64, words: &[AtomicU64], rows: &mut Vec<u32>) {
    let Some(last) = words.len().checked_sub(1) else { return rows.clear() };
    match_integers!(flat, values => note_loads(words, rows.len(), |i| {
        ((values[rows[i] as usize].offset_from(min) >> 6) as usize).min(last)
    }));
    match_integers!(flat, values => keep(rows, |row| {
        let offset = values[row as usize].offset_from(min);
        // The last word is a guard without bits: offsets outside of the range end there.
        let word = ((offset >> 6) as usize).min(last);
        words[word].load(Ordering::Relaxed) >> (offset & 63) & 1 == 1
    }));
}

/// The integers of a bit vector.
fn integers_in(min: i64, words: &[AtomicU64]) -> Vec<i64> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != 0 {
            found.push(min.wrapping_add((at as i64) << 6 | i64::from(bits.trailing_zeros())));
            bits &= bits - 1;
        }
    }
    found
}

/// Tells a memory trace that `count` words were read.
#[inline(always)]
fn note_loads(words: &[AtomicU64], count: usize, word: impl Fn(usize) -> usize) {
    godwit_trace::loads(|loads| loads.each(count, |i| (&raw const words[word(i)]).cast()));
}

fn retain_range(flat: &Flat, range: Option<ValueRange>, rows: &mut Vec<u32>) {
    fn within<T: Native + PartialOrd>(values: &[T], min: T, max: T, rows: &mut Vec<u32>) {
        keep(rows, |row| (min <= values[row as usize]) & (values[row as usize] <= max));
    }
    let Some(range) = range else { return };
    macro_rules! integers {
        ($values:expr, $t:ty) => {{
            if range.max < <$t>::MIN as i128 || range.min > <$t>::MAX as i128 {
                return rows.clear();
            }
            let clamp = |value: i128| value.clamp(<$t>::MIN as i128, <$t>::MAX as i128) as $t;
            within($values, clamp(range.min), clamp(range.max), rows)
        }};
    }
    match flat {
        Flat::I8(v) => integers!(v, i8),
        Flat::I16(v) => integers!(v, i16),
        Flat::I32(v) => integers!(v, i32),
        Flat::I64(v) => integers!(v, i64),
        Flat::I128(v) => within(v, range.min, range.max, rows),
        Flat::U8(v) => integers!(v, u8),
        Flat::U16(v) => integers!(v, u16),
        Flat::U32(v) => integers!(v, u32),
        Flat::U64(v) => integers!(v, u64),
        _ => {}
    }
}

/// A set of keys that workers fill at the same time.
pub enum KeySet {
    /// Bit `key - min`.
    Bits {
        /// The smallest key.
        min: i64,
        /// The last word is a guard without bits.
        words: AtomicWords,
    },
    /// Four bits of the word that the hash selects.
    Bloom {
        /// Their number is a power of two.
        words: AtomicWords,
        /// The hashes of the keys, if few are expected; more than [`FEW_KEYS_MAX`] are incomplete.
        few: Option<Mutex<Vec<u64>>>,
    },
}

impl KeySet {
    /// The best set for about `keys` keys, which are in `range` if they are integers. `None` if it would be too large
    /// to be useful, or memory is short.
    pub fn for_keys(range: Option<ValueRange>, keys: u64, memory: &BufferManager) -> Option<KeySet> {
        let is_plenty = memory.available_bytes() >= memory.memory_limit() / 2;
        let sparse_max = if is_plenty { (SPARSE_BITS_PER_KEY_MAX * keys as u128).min(SPARSE_BITS_MAX) } else { 0 };
        Self::bits_up_to(sparse_max.max(dense_bits_max(keys)), range, keys, memory)
            .or_else(|| Self::bloom(keys, memory))
    }

    /// A bit vector, if `range` is dense enough for `keys` keys.
    pub fn bits(range: Option<ValueRange>, keys: u64, memory: &BufferManager) -> Option<KeySet> {
        Self::bits_up_to(dense_bits_max(keys), range, keys, memory)
    }

    fn bits_up_to(bits_max: u128, range: Option<ValueRange>, keys: u64, memory: &BufferManager) -> Option<KeySet> {
        let range = range?;
        let bits = range.count();
        if range.min > range.max || bits > bits_max.min(memory.memory_limit() as u128 * 8 / MEMORY_SHARE as u128) {
            return None;
        }
        let min = i64::try_from(range.min).ok()?;
        i64::try_from(range.max).ok()?;
        let words = bits.div_ceil(64) as usize + 1;
        let words = AtomicWords::zeroed(words, keys as usize, memory, MemoryTag::HashTable).ok()?;
        Some(KeySet::Bits { min, words })
    }

    /// A Bloom filter, if it can be large enough for `keys` keys.
    pub fn bloom(keys: u64, memory: &BufferManager) -> Option<KeySet> {
        let words = (keys.saturating_mul(BLOOM_BITS_PER_KEY) / 64).max(8).checked_next_power_of_two()?;
        let bytes_max = BLOOM_BYTES_MAX.min(memory.memory_limit() / MEMORY_SHARE);
        // Half the ideal size still rejects most keys; anything smaller isn't worth a cache miss per row.
        let words = if words * 8 <= bytes_max { words } else { words / 2 };
        if words * 8 > bytes_max {
            return None;
        }
        let words = AtomicWords::zeroed(words as usize, keys as usize, memory, MemoryTag::HashTable).ok()?;
        Some(KeySet::Bloom { words, few: (keys <= FEW_KEYS_MAX).then(Mutex::default) })
    }

    /// Adds the keys that aren't NULL, which are in the range that the set was made for. May be called concurrently.
    /// Returns false if some key was already in a bit vector.
    pub fn insert(&self, keys: &Vector) -> bool {
        let mut rows: Vec<u32> = match keys.validity() {
            Some(validity) => {
                let mut rows = Vec::new();
                select_bits(validity, true, &mut rows);
                rows
            }
            None => (0..keys.len() as u32).collect(),
        };
        match self {
            KeySet::Bits { min, words } => {
                words.make_resident();
                let words = words.as_slice();
                let mut seen = 0;
                let flat = keys.to_flat();
                match_integers!(&flat, values => {
                    note_loads(words, rows.len(), |i| (values[rows[i] as usize].offset_from(*min) >> 6) as usize)
                });
                match_integers!(&flat, values => for &row in &rows {
                    let offset = values[row as usize].offset_from(*min);
                    let (word, mask) = (&words[(offset >> 6) as usize], 1u64 << (offset & 63));
                    // With duplicates, most bits are already set: reading doesn't take the cache line away from other
                    // cores.
                    let before = match word.load(Ordering::Relaxed) & mask {
                        0 => word.fetch_or(mask, Ordering::Relaxed) & mask,
                        there => there,
                    };
                    seen |= before;
                });
                seen == 0
            }
            KeySet::Bloom { words, few } => {
                words.make_resident();
                let words = words.as_slice();
                let mut hashes = Vec::new();
                hash_columns(&[ColumnView { vector: keys, selection: Some(&rows) }], rows.len(), &mut hashes);
                note_loads(words, hashes.len(), |i| bloom_position(hashes[i], words.len()).0);
                if let Some(few) = few {
                    let mut few = few.lock();
                    let room = (FEW_KEYS_MAX as usize + 1).saturating_sub(few.len());
                    few.extend(hashes.iter().take(room));
                }
                rows.clear();
                for hash in hashes {
                    let (word, mask) = bloom_position(hash, words.len());
                    if words[word].load(Ordering::Relaxed) & mask != mask {
                        words[word].fetch_or(mask, Ordering::Relaxed);
                    }
                }
                true
            }
        }
    }

    /// True if everything it contains is certainly a key.
    pub fn is_exact(&self) -> bool {
        matches!(self, KeySet::Bits { .. })
    }

    /// Puts those of `rows`, none of which is NULL, whose key is in a bit vector into `found`.
    pub fn find(&self, keys: &Flat, rows: &[u32], found: &mut Vec<u32>) {
        let KeySet::Bits { min, words } = self else { unreachable!("a Bloom filter finds nothing for sure") };
        found.clear();
        found.extend_from_slice(rows);
        retain_bits(keys, *min, words.as_slice(), found);
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        let (KeySet::Bits { words, .. } | KeySet::Bloom { words, .. }) = self;
        words.bytes() as u64
    }

    /// A description for `EXPLAIN`.
    pub fn describe(&self) -> String {
        let kind = match self {
            KeySet::Bits { .. } => "bit vector",
            KeySet::Bloom { .. } => "Bloom filter",
        };
        format!("{kind}, {}", godwit_common::format_bytes(self.bytes()))
    }
}

/// The maximum number of bits of a vector that is dense enough for `keys` keys.
fn dense_bits_max(keys: u64) -> u128 {
    BITS_ALWAYS.max(BITS_PER_KEY_MAX * keys as u128).min(BITS_MAX)
}

/// Word and bits of a hash. The word comes from the middle of the hash, the bits from the low 24: neither decides the
/// partition or the salt of the hash table.
#[inline(always)]
fn bloom_position(hash: u64, words: usize) -> (usize, u64) {
    let bit = |shift: u32| 1u64 << (hash >> shift & 63);
    ((hash >> 24) as usize & (words - 1), bit(0) | bit(6) | bit(12) | bit(18))
}

/// Smallest and largest of the integer keys that aren't NULL; `None` if there is none or the keys aren't integers.
#[allow(clippy::unnecessary_cast, reason = "the cast is one for most types of the match")]
pub fn range_of(keys: &Vector) -> Option<ValueRange> {
    fn of<T: Native + Ord>(values: &[T], validity: Option<&Bitmap>) -> Option<(T, T)> {
        match validity {
            None => Some((*values.iter().min()?, *values.iter().max()?)),
            Some(validity) => {
                let valid = || values.iter().enumerate().filter(|(row, _)| validity.get(*row)).map(|(_, value)| *value);
                Some((valid().min()?, valid().max()?))
            }
        }
    }
    let flat = keys.to_flat();
    if !flat.physical().is_integer() {
        return None;
    }
    let validity = keys.validity().map(|bitmap| &**bitmap);
    match_integers!(&flat, values => {
        of(values, validity).map(|(min, max)| ValueRange { min: min as i128, max: max as i128 })
    })
}

#[cfg(test)]
mod tests;
