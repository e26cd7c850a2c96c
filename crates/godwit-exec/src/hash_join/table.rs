//! The table of one round: pinned build rows and the structure that finds them by key.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use godwit_common::{Result, format_bytes};
use godwit_pipeline::CacheUse;
use godwit_pipeline::key_filter::KeySet;
use godwit_rows::{DirectTable, InsertScratch, JoinHashTable, PinnedRows, RowCollection, RowList};
use godwit_vector::{CHUNK_ROWS, ValueRange};
use parking_lot::Mutex;

use super::HashJoin;
use super::config::{DIRECT_BYTES_ALWAYS, DIRECT_BYTES_PER_ROW_MAX, MORSEL_ROWS};
use super::plan::JoinPlan;

/// Build rows, pinned, under a table that finds them.
pub(super) struct JoinTable {
    pub lookup: Lookup,
    /// Sets of keys, one slot per key: filled along with the table.
    sets: Vec<Option<Arc<KeySet>>>,
    /// So far, no key has been added to its set twice.
    set_is_unique: AtomicBool,
    rows: Mutex<Rows>,
    morsels: Vec<Range<usize>>,
    next: AtomicUsize,
    unfinished: AtomicUsize,
}

/// The structure that finds rows.
pub(super) enum Lookup {
    /// No rows.
    Empty,
    Hash(JoinHashTable),
    Direct(DirectTable),
    /// Only the set of keys is used.
    Existence,
}

struct Rows {
    pinned: Option<PinnedRows>,
    /// Own the pages.
    collections: Vec<RowCollection>,
}

/// A table and its pins, before it takes ownership of the rows.
pub(super) struct Prepared {
    lookup: Lookup,
    sets: Vec<Option<Arc<KeySet>>>,
    pinned: PinnedRows,
}

impl Prepared {
    /// Pins all rows of `collections` and allocates the table for them. `with_sets`: these are all build rows of the
    /// join, so sets of their keys are useful.
    pub(super) fn new(
        join: &HashJoin,
        collections: &[&RowCollection],
        ranges: &[Option<ValueRange>],
        with_sets: bool,
    ) -> Result<Self> {
        let rows = collections.iter().map(|rows| rows.rows()).sum();
        let sets = if with_sets && rows > 0 { key_sets(join, ranges, rows) } else { Vec::new() };
        let spare = if with_sets { Spare::All } else { Spare::Little };
        let pinned = PinnedRows::of(&join.plan.build_layout, collections.iter().copied())?;
        let lookup = lookup_for(join, &pinned, ranges[0], spare, sets.first().is_some_and(is_exact))?;
        Ok(Self { lookup, sets, pinned })
    }
}

/// How much memory a table may use beyond its minimum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spare {
    /// All build rows fit.
    All,
    /// Memory that the table takes is lost to rows.
    Little,
}

/// Size of the rows that a table is built from.
#[derive(Clone, Copy, Default)]
pub(super) struct TableSize {
    pub rows: u64,
    /// Pages of the rows.
    pub bytes: u64,
}

impl TableSize {
    pub(super) fn of<'a>(collections: impl IntoIterator<Item = &'a RowCollection>) -> Self {
        collections.into_iter().fold(Self::default(), |sum, rows| sum.with(rows))
    }

    /// Adds a collection.
    pub(super) fn with(self, rows: &RowCollection) -> Self {
        Self { rows: self.rows + rows.rows(), bytes: self.bytes + rows.bytes() }
    }

    /// Memory that the table and the rows take; `range` is that of the first key.
    pub(super) fn needed_bytes(self, plan: &JoinPlan, range: Option<ValueRange>, spare: Spare) -> u64 {
        if self.rows == 0 {
            return 0;
        }
        let table = match direct_range(plan, self.rows, range, spare) {
            Some(range) => range.count() as u64 * 8,
            None => JoinHashTable::bytes_for(self.rows, plan.load_factor),
        };
        self.bytes + table
    }
}

fn is_exact(set: &Option<Arc<KeySet>>) -> bool {
    set.as_ref().is_some_and(|set| set.is_exact())
}

/// A set for each key whose filter is wanted and isn't being made already, and a bit vector if all that matters may be
/// whether the key exists.
fn key_sets(join: &HashJoin, ranges: &[Option<ValueRange>], rows: u64) -> Vec<Option<Arc<KeySet>>> {
    let plan = &join.plan;
    let by_existence = plan.asks_for_existence() || plan.asks_for_existence_if_unique();
    let set = |(key, range): (usize, &Option<ValueRange>)| {
        let set = if join.wants_filter(key) && join.early_sets.is_empty() {
            KeySet::for_keys(*range, rows, &join.memory)
        } else if by_existence {
            KeySet::bits(*range, rows, &join.memory)
        } else {
            None
        };
        set.map(Arc::new)
    };
    ranges.iter().enumerate().map(set).collect()
}

fn lookup_for(
    join: &HashJoin,
    pinned: &PinnedRows,
    range: Option<ValueRange>,
    spare: Spare,
    has_exact_set: bool,
) -> Result<Lookup> {
    let plan = &join.plan;
    let rows = pinned.rows() as u64;
    if rows == 0 {
        return Ok(Lookup::Empty);
    }
    if has_exact_set && plan.asks_for_existence() {
        return Ok(Lookup::Existence);
    }
    if let Some(range) = direct_range(plan, rows, range, spare) {
        return Ok(Lookup::Direct(DirectTable::new(pinned, range, &join.memory)?));
    }
    let keys = plan.build_keys.len();
    let table = JoinHashTable::new(pinned, keys, plan.nulls_equal, plan.load_factor, &join.memory)?;
    Ok(Lookup::Hash(table))
}

/// The range of the key, if an array serves `rows` rows better than a hash table.
fn direct_range(plan: &JoinPlan, rows: u64, range: Option<ValueRange>, spare: Spare) -> Option<ValueRange> {
    let range = range.filter(|_| plan.has_integer_key())?;
    let hash_bytes = DIRECT_BYTES_ALWAYS.max(JoinHashTable::bytes_for(rows, plan.load_factor) as u128);
    let bytes_max = match spare {
        Spare::All => hash_bytes.max(DIRECT_BYTES_PER_ROW_MAX * rows as u128),
        Spare::Little => hash_bytes,
    };
    let is_dense = range.count().saturating_mul(8) <= bytes_max;
    (is_dense && i64::try_from(range.min).is_ok() && i64::try_from(range.max).is_ok()).then_some(range)
}

impl JoinTable {
    /// A table whose rows have yet to be inserted, morsel by morsel.
    pub(super) fn new(prepared: Prepared, collections: Vec<RowCollection>) -> Arc<Self> {
        let Prepared { lookup, sets, pinned } = prepared;
        let rows = pinned.rows();
        let morsels: Vec<Range<usize>> =
            (0..rows).step_by(MORSEL_ROWS).map(|start| start..(start + MORSEL_ROWS).min(rows)).collect();
        Arc::new(Self {
            lookup,
            sets,
            set_is_unique: AtomicBool::new(true),
            rows: Mutex::new(Rows { pinned: Some(pinned), collections }),
            unfinished: AtomicUsize::new(morsels.len()),
            next: AtomicUsize::new(0),
            morsels,
        })
    }

    /// A table without rows; a set has its keys.
    pub(super) fn of_set(join: &HashJoin, set: Arc<KeySet>) -> Result<Arc<Self>> {
        let pinned = PinnedRows::of(&join.plan.build_layout, [])?;
        Ok(Self::new(Prepared { lookup: Lookup::Existence, sets: vec![Some(set)], pinned }, Vec::new()))
    }

    /// A table without rows.
    pub(super) fn empty(join: &HashJoin) -> Result<Arc<Self>> {
        Ok(Self::new(Prepared::new(join, &[], &join.ready().ranges, false)?, Vec::new()))
    }

    /// False if there are no rows, or none that will be needed again.
    pub(super) fn has_rows(&self) -> bool {
        !self.morsels.is_empty() && !matches!(self.lookup, Lookup::Existence)
    }

    /// Bytes of its rows and of the lookup structure.
    pub(super) fn bytes(&self) -> u64 {
        let lookup = match &self.lookup {
            Lookup::Empty | Lookup::Existence => 0,
            Lookup::Hash(table) => table.bytes(),
            Lookup::Direct(table) => table.bytes(),
        };
        self.rows.lock().collections.iter().map(RowCollection::bytes).sum::<u64>() + lookup as u64
    }

    /// How inserting the rows, which are read sequentially, uses the cache.
    pub(super) fn cache_use_of_build(&self) -> CacheUse {
        let set_bytes: u64 = self.sets.iter().flatten().map(|set| set.bytes()).sum();
        match &self.lookup {
            Lookup::Empty | Lookup::Existence => CacheUse::depends(set_bytes, "sets bits of sets of keys"),
            Lookup::Direct(table) => CacheUse::depends(table.bytes() as u64 + set_bytes, "fills an array by key"),
            Lookup::Hash(table) => CacheUse::table(table.bytes() as u64 + set_bytes, "fills a hash table"),
        }
    }

    /// How looking up rows in the finished table uses the cache.
    pub(super) fn cache_use_of_probe(&self, join: &HashJoin) -> CacheUse {
        match (&self.lookup, self.existence(join)) {
            (_, Some(set)) => CacheUse::depends(set.bytes(), "looks up bits of a vector"),
            (Lookup::Empty | Lookup::Existence, None) => CacheUse::CHUNKS,
            (Lookup::Direct(_), None) => CacheUse::depends(self.bytes(), "looks up rows by an array"),
            (Lookup::Hash(_), None) => CacheUse::table(self.bytes(), "looks up rows in a hash table"),
        }
    }

    /// The rows, collection by collection, unpinned.
    pub(super) fn into_rows(self) -> Vec<RowCollection> {
        self.rows.into_inner().collections
    }

    /// Pieces of work, for inserting and for scanning.
    pub(super) fn morsels(&self) -> usize {
        self.morsels.len()
    }

    /// Inserts the next morsel; `None` if there is none left, `Some(true)` if it was the last one to be finished.
    pub(super) fn insert_next(&self, join: &HashJoin, scratch: &mut InsertScratch) -> Option<bool> {
        let morsel = self.next.fetch_add(1, Ordering::Relaxed);
        if morsel >= self.morsels.len() {
            return None;
        }
        self.insert(join, morsel, scratch);
        Some(self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    fn insert(&self, join: &HashJoin, morsel: usize, scratch: &mut InsertScratch) {
        let range = self.morsels[morsel].clone();
        let mut rows = RowList::new(&join.plan.build_layout);
        for start in range.clone().step_by(CHUNK_ROWS) {
            let numbers = start..(start + CHUNK_ROWS).min(range.end);
            match &self.lookup {
                Lookup::Hash(table) => table.insert(numbers.clone(), scratch),
                Lookup::Direct(table) => table.insert(numbers.clone(), scratch),
                Lookup::Existence | Lookup::Empty => {}
            }
            if self.sets.iter().all(Option::is_none) {
                continue;
            }
            rows.clear();
            self.list(numbers, &mut rows);
            for (key, set) in self.sets.iter().enumerate() {
                let Some(set) = set else { continue };
                if !set.insert(&rows.all().gather(key)) {
                    self.set_is_unique.store(false, Ordering::Relaxed);
                }
            }
        }
    }

    fn list(&self, numbers: Range<usize>, rows: &mut RowList) {
        let pinned = self.rows.lock().pinned.clone().expect("rows are pinned until they are inserted or asked for");
        pinned.list(numbers, rows);
    }

    /// Appends the rows of a morsel.
    pub(super) fn list_morsel(&self, morsel: usize, rows: &mut RowList) {
        self.list(self.morsels[morsel].clone(), rows);
    }

    /// Called once all rows are inserted: frees those that won't be needed again.
    pub(super) fn finish(&self, join: &HashJoin) {
        join.metrics.note("table", self.describe());
        if matches!(self.lookup, Lookup::Existence) {
            *self.rows.lock() = Rows { pinned: None, collections: Vec::new() };
        }
    }

    /// The set that answers all lookups, if there is one.
    pub(super) fn existence(&self, join: &HashJoin) -> Option<&KeySet> {
        let set = self.sets.first()?.as_deref().filter(|set| set.is_exact())?;
        let is_unique = || self.set_is_unique.load(Ordering::Relaxed);
        let answers = join.plan.asks_for_existence() || join.plan.asks_for_existence_if_unique() && is_unique();
        answers.then_some(set)
    }

    pub(super) fn sets(&self) -> &[Option<Arc<KeySet>>] {
        &self.sets
    }

    /// True if no key has several rows: chains needn't be followed.
    pub(super) fn is_unique(&self) -> bool {
        match &self.lookup {
            Lookup::Empty | Lookup::Existence => true,
            Lookup::Hash(table) => !table.has_duplicates(),
            Lookup::Direct(table) => !table.has_duplicates(),
        }
    }

    fn describe(&self) -> String {
        let unique = if self.is_unique() { ", unique" } else { "" };
        match &self.lookup {
            Lookup::Empty => "empty".to_owned(),
            Lookup::Existence => self.sets[0].as_ref().expect("existence is answered by a set").describe(),
            Lookup::Hash(table) => format!("hash table, {}{unique}", format_bytes(table.bytes() as u64)),
            Lookup::Direct(table) => format!("direct array, {} slots{unique}", table.slots()),
        }
    }
}
