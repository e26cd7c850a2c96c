//! Phase one: groups of one worker, pre-aggregated in a small table and kept in radix partitions.
//!
//! ```text
//! chunk ─hash─▶ table ──found──▶ row of the group ◀─update─ states
//!                 └─new──▶ partition by hash ─▶ row pages, pinned while the table points into them
//! table 2/3 full: grow up to its largest size; then, or if long strings pin too much, empty the entries, unpin the pages,
//!                 start over
//! ```
//!
//! A group may thus have several rows, in the pages of one partition: phase two (partition.rs) combines them. If a full
//! table has hardly reduced the number of rows, the next ones are only partitioned, each as a group of its own.
//!
//! Early aggregation: data that is only partitioned grows with the number of rows, not of groups. If a sketch shows
//! that groups do repeat, but too far apart for a small table to catch, and if rows are wide or memory gets short, a
//! *large table* is created, for all groups or as many as memory allows. It is never emptied; rows whose groups don't
//! fit in it are partitioned.
//!
//! ```text
//! small table ──full, hardly reduced──▶ rows are passed ──many of them repeat──▶ large table ──▶ full: others are passed
//!      ▲                                      │ after RETRY_ROWS                     │ few rows find their group
//!      └──────────────────────────────────────┴──────────────────────────────────────┘
//! ```

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, ErrorKind, Result};
use godwit_memory::{BufferManager, MemoryClaim};
use godwit_rows::aggregate_state::StateLayout;
use godwit_rows::{
    Extra, GroupTable, PartitionedRows, PayloadKind, RowCollection, RowLayout, RowLayoutOptions, RowList, RowOwner,
    Rows,
};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{CHUNK_ROWS, PhysicalType, Vector};
use parking_lot::Mutex;

use super::config::*;
use super::partition::GroupMorsel;
use super::sketch::DistinctSketch;

/// How groups are stored: the same for all workers.
pub(super) struct Grouping {
    pub(super) memory: BufferManager,
    pub(super) workers: usize,
    /// Key columns, payload columns, hash, states.
    pub(super) layout: Arc<RowLayout>,
    keys: usize,
    /// What the payload columns hold.
    pub(super) payload: Vec<PayloadKind>,
    pub(super) states: Arc<StateLayout>,
    pub(super) radix_bits: u32,
    local_entries_max: usize,
    /// Maximum number of bytes that a worker's small table pins, if rows have strings, so that the number of entries
    /// doesn't bound them.
    pinned_bytes_max: Option<u64>,
    /// Bytes of a group: row, strings of ordinary length, entries.
    group_bytes: usize,
}

impl Grouping {
    pub(super) fn new(
        memory: &BufferManager,
        workers: usize,
        keys: &[PhysicalType],
        payload: &[(PhysicalType, PayloadKind)],
        states: &Arc<StateLayout>,
        radix_bits: u32,
    ) -> Result<Arc<Self>> {
        let columns: Vec<PhysicalType> = keys.iter().copied().chain(payload.iter().map(|column| column.0)).collect();
        let layout = RowLayout::new(&columns, RowLayoutOptions { hash: true, extra: Extra::States(states.bytes()) })?;
        // A long string may take another 32 bytes, twice the size of its view.
        let heap_bytes = 32 * columns.iter().filter(|&&column| column == PhysicalType::Str).count();
        let entry_bytes = 2 * size_of::<u64>() + (layout.row_bytes() + heap_bytes) * FILL_PERCENT_MAX / 100;
        let budget = memory.memory_limit() as f64 * LOCAL_MEMORY_SHARE / workers as f64;
        let fitting = (budget / entry_bytes as f64) as usize;
        // The largest power of two that isn't above it.
        let local_entries_max = (fitting / 2 + 1).next_power_of_two().clamp(LOCAL_ENTRIES_MIN, LOCAL_ENTRIES_MAX);
        Ok(Arc::new(Self {
            memory: memory.clone(),
            workers,
            layout,
            keys: keys.len(),
            payload: payload.iter().map(|column| column.1).collect(),
            states: states.clone(),
            radix_bits,
            local_entries_max,
            pinned_bytes_max: (heap_bytes > 0).then_some(budget as u64),
            group_bytes: entry_bytes * 100 / FILL_PERCENT_MAX,
        }))
    }

    /// Number of key columns.
    pub(super) fn keys(&self) -> usize {
        self.keys
    }

    /// The payload columns in the rows.
    pub(super) fn payload_columns(&self) -> Range<usize> {
        self.keys..self.keys + self.payload.len()
    }

    /// Whether a later row can change a payload column.
    pub(super) fn improves_payload(&self) -> bool {
        let mut columns = self.payload_columns().zip(&self.payload);
        columns.any(|(column, &kind)| self.layout.improves_payload(column, kind))
    }

    /// Bytes that each worker may use for a morsel of phase two.
    pub(super) fn partition_budget(&self) -> u64 {
        (self.memory.memory_limit() as f64 * PARTITIONS_MEMORY_SHARE / self.workers as f64) as u64
    }
}

/// State of a worker's table while it is a large one.
struct LargeTable {
    /// The claim for its groups; if others ask for a part of it, the table is dropped.
    claim: MemoryClaim,
    claimed_bytes: u64,
    /// The table takes no more groups.
    is_full: bool,
    groups_max: usize,
    /// Rows whose groups have no room in the table.
    passed: PartitionedRows,
    missing: Vec<u32>,
    /// Rows looked up in the full table since its last evaluation, and how many of them found no group.
    rows: u64,
    misses: u64,
}

/// The groups of one worker.
pub(super) struct LocalGroups {
    grouping: Arc<Grouping>,
    /// The owner of all rows here.
    owner: RowOwner,
    rows: PartitionedRows,
    table: GroupTable,
    /// The group row of each row of the last call, and scratch for some of them.
    found: RowList,
    picked: RowList,
    /// Rows replaced by a new one since the table was last empty, because a better string didn't fit in them.
    replaced_rows: usize,
    left: Vec<u32>,
    /// Rows that the table has taken since it was last empty.
    rows_taken: u64,
    /// Bytes of the rows when the table was last emptied; rows added since then are pinned.
    bytes_when_empty: u64,
    /// The table was emptied, or rows bypassed it: groups may have several rows.
    has_duplicates: bool,
    /// Number of further rows that are only partitioned.
    passing_rows: u64,
    /// Sketch of the keys of rows that were only partitioned.
    sketch: DistinctSketch,
    large: Option<LargeTable>,
    /// Scratch of [`improve_known`](Self::improve_known).
    known: KnownRows,
}

/// Rows of a chunk whose groups are in the table: their positions, and the rows of their groups.
struct KnownRows {
    positions: Vec<u32>,
    rows: RowList,
}

/// Creates a group for each of the rows `rows` of a chunk. If memory runs out, some may already exist.
fn append_groups(
    owner: &mut RowOwner,
    groups: &mut PartitionedRows,
    states: &StateLayout,
    columns: &[Vector],
    rows: Option<&[u32]>,
    hashes: &[u64],
    made: &mut RowList,
) -> Result<()> {
    let first = made.len();
    let appended = groups.append(columns, rows, hashes, Some(made));
    states.initialize(owner, made.slice(first..made.len()));
    appended
}

impl LocalGroups {
    pub(super) fn new(grouping: &Arc<Grouping>) -> Result<Self> {
        Self::inside(grouping, 0, 0, grouping.radix_bits)
    }

    /// Groups that lie inside partition `parent` of `parent_bits` bits, in partitions of `bits` bits.
    pub(super) fn inside(grouping: &Arc<Grouping>, parent: usize, parent_bits: u32, bits: u32) -> Result<Self> {
        let owner = RowOwner::new();
        let rows = PartitionedRows::inside(&grouping.memory, &grouping.layout, parent, parent_bits, bits);
        let mut rows = rows.owned_by(&owner);
        rows.keep_pinned();
        let table = GroupTable::new(&grouping.memory, &grouping.layout, grouping.keys(), LOCAL_ENTRIES_MIN)?;
        Ok(Self {
            grouping: grouping.clone(),
            owner,
            rows,
            table,
            found: RowList::new(&grouping.layout),
            picked: RowList::new(&grouping.layout),
            replaced_rows: 0,
            left: Vec::new(),
            rows_taken: 0,
            bytes_when_empty: 0,
            has_duplicates: false,
            passing_rows: 0,
            sketch: DistinctSketch::new(),
            large: None,
            known: KnownRows { positions: Vec::new(), rows: RowList::new(&grouping.layout) },
        })
    }

    pub(super) fn grouping(&self) -> &Grouping {
        &self.grouping
    }

    /// True if there are no groups.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.rows() == 0
    }

    /// A lower bound on the number of distinct groups.
    pub(super) fn distinct_groups(&self) -> u64 {
        if self.has_duplicates { 0 } else { self.rows.rows() }
    }

    /// For `EXPLAIN ANALYZE`.
    pub(super) fn describe(&self) -> String {
        let entries = self.table.entries();
        let note = match self.large {
            Some(_) => ", large",
            None if self.has_duplicates => ", emptied when full",
            None => "",
        };
        format!("hash table, {entries} entries{note}, {} rows kept", self.kept_rows())
    }

    /// The group row of each row of the dense `keys` (at most [`CHUNK_ROWS`]), its states ready to be updated, its
    /// payload the best of all rows so far. Valid until the next call.
    pub(super) fn assign(&mut self, keys: &[Vector], payload: &[Vector], hashes: &[u64]) -> Result<Rows<'_>> {
        let joined: Vec<Vector>;
        let columns = match payload {
            [] => keys,
            payload => {
                joined = keys.iter().chain(payload).cloned().collect();
                &joined
            }
        };
        assert!(hashes.len() <= CHUNK_ROWS);
        if self.large.is_some() {
            self.make_room_in_large(hashes.len())?;
        }
        if self.large.as_ref().is_some_and(|large| large.is_full) {
            return self.assign_known(keys, columns, payload, hashes);
        }
        if self.large.is_none() && self.passing_rows == 0 {
            self.make_room(hashes.len())?;
        }
        let states = &self.grouping.states;
        if self.passing_rows > 0 {
            self.passing_rows = self.passing_rows.saturating_sub(hashes.len() as u64);
            self.sketch.add(hashes);
            self.found.clear();
            self.rows.release_pins();
            append_groups(&mut self.owner, &mut self.rows, states, columns, None, hashes, &mut self.found)?;
            if self.passing_rows % DECIDE_ROWS < CHUNK_ROWS as u64 {
                // Takes effect with the next chunk: the rows of this one stay pinned.
                self.consider_large()?;
            }
            return Ok(self.found.all());
        }
        self.rows_taken += hashes.len() as u64;
        let assigned = self.table.find_or_insert(&mut self.owner, keys, hashes, &mut self.found, |owner, new, made| {
            append_groups(owner, &mut self.rows, states, columns, Some(new), hashes, made)
        });
        if let Err(error) = assigned {
            return self.assign_again(keys, payload, hashes, error);
        }
        if !payload.is_empty() {
            let mut found = std::mem::replace(&mut self.found, RowList::new(&self.grouping.layout));
            self.improve(&mut found, keys, payload)?;
            self.found = found;
        }
        Ok(self.found.all())
    }

    /// [`assign`](Self::assign) while the large table is full.
    fn assign_known(
        &mut self,
        keys: &[Vector],
        columns: &[Vector],
        payload: &[Vector],
        hashes: &[u64],
    ) -> Result<Rows<'_>> {
        let LargeTable { passed, missing, rows, misses, .. } = self.large.as_mut().expect("checked by the caller");
        let states = &self.grouping.states;
        let (owner, found) = (&mut self.owner, &mut self.found);
        let assigned = self.table.find_or_pass(owner, keys, hashes, found, missing, |owner, missing, made| {
            passed.release_pins();
            append_groups(owner, passed, states, columns, Some(missing), hashes, made)
        });
        *rows += hashes.len() as u64;
        *misses += missing.len() as u64;
        self.has_duplicates |= !missing.is_empty();
        if let Err(error) = assigned {
            return self.assign_again(keys, payload, hashes, error);
        }
        if !payload.is_empty() && self.grouping.improves_payload() {
            self.improve_known(keys, payload)?;
        }
        Ok(self.found.all())
    }

    /// Memory ran out while groups of a chunk were created: empties the table, so that the pages that it pins can be
    /// evicted, and starts over with the chunk. Groups created so far stay, as groups of no rows.
    fn assign_again(&mut self, keys: &[Vector], payload: &[Vector], hashes: &[u64], error: Error) -> Result<Rows<'_>> {
        if error.kind() != ErrorKind::Resource || (self.table.groups() == 0 && self.large.is_none()) {
            return Err(error);
        }
        self.has_duplicates = true;
        match self.large {
            Some(_) => self.drop_large()?,
            None => self.empty_table(),
        }
        self.assign(keys, payload, hashes)
    }

    /// [`improve`](Self::improve) for the rows of a chunk that found their group in the full table: rows that were
    /// passed on already have their payload, and their groups aren't in the table.
    fn improve_known(&mut self, keys: &[Vector], payload: &[Vector]) -> Result<()> {
        let nothing = KnownRows { positions: Vec::new(), rows: RowList::new(&self.grouping.layout) };
        let mut known = std::mem::replace(&mut self.known, nothing);
        let mut missing = self.large.as_ref().expect("the table is a large one").missing.iter().copied().peekable();
        known.positions.clear();
        known.positions.extend((0..self.found.len() as u32).filter(|&row| missing.next_if_eq(&row).is_none()));
        known.rows.append_picked(self.found.all(), &known.positions);
        let take = |columns: &[Vector]| columns.iter().map(|column| column.take(&known.positions)).collect::<Vec<_>>();
        let (keys, payload) = (take(keys), take(payload));
        self.improve(&mut known.rows, &keys, &payload)?;
        self.found.scatter(&known.positions, known.rows.all());
        known.rows.clear();
        self.known = known;
        Ok(())
    }

    /// Where the payload of a chunk's row is better than that of its group's row in the table, takes it over. `rows`
    /// has the group row of each row; for groups whose row is replaced, it is set to the new one.
    pub(super) fn improve(&mut self, rows: &mut RowList, keys: &[Vector], payload: &[Vector]) -> Result<()> {
        let grouping = self.grouping.clone();
        for (column, (&kind, values)) in grouping.payload_columns().zip(grouping.payload.iter().zip(payload)) {
            if !grouping.layout.improves_payload(column, kind) {
                continue;
            }
            if keys.is_empty() {
                // All rows are of one group: if the best of them is no improvement, none is.
                let Some(best) = kind.best_of(values) else { continue };
                let mut row = RowList::new(&grouping.layout);
                row.push(rows.all(), best as usize);
                self.improve_column(&mut row, keys, column, kind, &values.take(&[best]))?;
                let len = rows.len();
                rows.clear();
                rows.resize(len, row.all(), 0);
            } else {
                self.improve_column(rows, keys, column, kind, values)?;
            }
        }
        Ok(())
    }

    fn improve_column(
        &mut self,
        rows: &mut RowList,
        keys: &[Vector],
        column: usize,
        kind: PayloadKind,
        values: &Vector,
    ) -> Result<()> {
        let mut left = std::mem::take(&mut self.left);
        left.clear();
        rows.all().improve_payload(&mut self.owner, column, kind, values, &mut left);
        if !left.is_empty() {
            self.owner.read(rows.all()).keep_best(column, kind, values, &mut left);
            self.replace(rows, &left, column, keys, values)?;
        }
        self.left = left;
        Ok(())
    }

    /// Creates new rows for the groups of the rows at `positions`, with their values in `column` and empty states.
    /// Phase two combines the old rows with them.
    fn replace(
        &mut self,
        rows: &mut RowList,
        positions: &[u32],
        column: usize,
        keys: &[Vector],
        values: &Vector,
    ) -> Result<()> {
        let grouping = self.grouping.clone();
        let (mut old, mut made) = (RowList::new(&grouping.layout), RowList::new(&grouping.layout));
        old.append_picked(rows.all(), positions);
        let mut columns: Vec<Vector> = keys.iter().map(|key| key.take(positions)).collect();
        let mut hashes = Vec::new();
        hash_vectors(&columns, positions.len(), &mut hashes);
        columns.extend(grouping.payload_columns().map(|other| match other == column {
            true => values.take(positions),
            false => self.owner.read(old.all()).gather(other),
        }));
        self.rows.append(&columns, None, &hashes, Some(&mut made))?;
        grouping.states.initialize(&mut self.owner, made.all());
        self.replaced_rows += made.len();
        self.has_duplicates = true;
        self.table.replace(&hashes, old.all(), made.all());
        rows.substitute(old.all(), made.all());
        Ok(())
    }

    /// Makes room for the groups of `rows` more rows without touching existing ones. Returns false if there isn't any.
    pub(super) fn try_room(&mut self, rows: usize) -> Result<bool> {
        let is_over = |most: u64| self.rows.bytes() - self.bytes_when_empty > most;
        if self.grouping.pinned_bytes_max.is_some_and(is_over) {
            return Ok(false);
        }
        let needed = (self.table.groups() + self.replaced_rows + rows) * 100 / FILL_PERCENT_MAX;
        if needed <= self.table.entries() {
            return Ok(true);
        }
        if needed > self.grouping.local_entries_max {
            return Ok(false);
        }
        // By a factor of four, because each growth reinserts all groups.
        let entries = (self.table.entries() * 4).max(needed).min(self.grouping.local_entries_max);
        match self.table.grow(entries) {
            Err(error) if error.kind() == ErrorKind::Resource => Ok(false),
            grown => grown.map(|()| true),
        }
    }

    /// Creates a large table if that saves more than it costs. The pins of the rows so far are kept until it empties.
    fn consider_large(&mut self) -> Result<()> {
        let Grouping { memory, group_bytes, workers, layout, radix_bits, .. } = &*self.grouping;
        let limit = memory.memory_limit() as f64;
        let is_short = self.rows.bytes() as f64 * *workers as f64 > limit * PRESSURE_SHARE;
        // A partition that phase two splits has few enough groups.
        if self.rows.radix_bits() != *radix_bits || !(is_short || *group_bytes >= WIDE_GROUP_BYTES) {
            return Ok(());
        }
        let Some(groups) = self.sketch.expected_keys() else { return Ok(()) };
        let free = (memory.available_bytes() + memory.evictable_bytes()) as f64;
        let budget = (limit * LARGE_MEMORY_SHARE).min(free * LARGE_MEMORY_SHARE) / *workers as f64;
        let groups_max = budget / *group_bytes as f64;
        if groups_max < groups * LARGE_HELD_MIN {
            return Ok(());
        }
        // The estimate may be low by some percent.
        let wanted_bytes = (groups_max.min(groups * 1.2) * *group_bytes as f64) as u64;
        let claim = memory.claim();
        claim.report(wanted_bytes, wanted_bytes / LARGE_CLAIM_MIN, *group_bytes as f64);
        let claimed_bytes = claim.request();
        let groups_max = claimed_bytes as usize / group_bytes;
        if (groups_max as f64) < groups * LARGE_HELD_MIN {
            return Ok(());
        }
        match self.table.reset((groups_max + CHUNK_ROWS) * 100 / FILL_PERCENT_MAX) {
            Err(error) if error.kind() == ErrorKind::Resource => return self.table.reset(LOCAL_ENTRIES_MIN),
            made => made?,
        }
        let mut passed = PartitionedRows::new(memory, layout, *radix_bits).owned_by(&self.owner);
        passed.keep_pinned();
        self.large = Some(LargeTable {
            claim,
            claimed_bytes,
            is_full: false,
            groups_max,
            passed,
            missing: Vec::new(),
            rows: 0,
            misses: 0,
        });
        self.passing_rows = 0;
        Ok(())
    }

    /// Called before `rows` rows go to the large table: decides whether it takes more groups and whether it is still
    /// worth keeping.
    fn make_room_in_large(&mut self, rows: usize) -> Result<()> {
        let Some(large) = &mut self.large else { return Ok(()) };
        let memory = &self.grouping.memory;
        let free = (memory.available_bytes() + memory.evictable_bytes()) as f64;
        let is_short = free < memory.memory_limit() as f64 * LARGE_FREE_MIN;
        large.is_full |= is_short || self.table.groups() + self.replaced_rows + rows > large.groups_max;
        let is_judged = large.rows >= RETRY_ROWS;
        let is_useless = is_judged && (large.misses as f64) > large.rows as f64 * (1.0 - LARGE_HELD_MIN / 2.0);
        if is_judged {
            (large.rows, large.misses) = (0, 0);
        }
        let is_asked = large.claim.settle() < large.claimed_bytes;
        let is_replaced_often = self.replaced_rows > self.table.groups() + LOCAL_ENTRIES_MAX;
        if is_asked
            || is_useless
            || is_replaced_often
            || is_short && free < memory.memory_limit() as f64 * LARGE_FREE_MIN / 2.0
        {
            self.drop_large()?;
        }
        Ok(())
    }

    /// Goes back to a small table.
    fn drop_large(&mut self) -> Result<()> {
        let large = self.large.take().expect("there is one");
        self.rows.combine(large.passed);
        self.sketch = DistinctSketch::new();
        self.empty_table();
        self.table.reset(LOCAL_ENTRIES_MIN)
    }

    /// Removes all groups from the table; their rows stay, unpinned.
    fn empty_table(&mut self) {
        self.has_duplicates = true;
        (self.replaced_rows, self.rows_taken) = (0, 0);
        self.found.clear();
        self.table.clear();
        self.rows.release_pins();
        self.bytes_when_empty = self.rows.bytes();
    }

    /// Number of rows in the pages.
    fn kept_rows(&self) -> u64 {
        self.rows.rows() + self.large.as_ref().map_or(0, |large| large.passed.rows())
    }

    /// Makes sure that the table has room for the groups of `rows` more rows: grows it, or empties it.
    fn make_room(&mut self, rows: usize) -> Result<()> {
        if self.try_room(rows)? {
            return Ok(());
        }
        if (self.rows_taken as f64) < self.table.groups() as f64 * REDUCTION_MIN {
            self.passing_rows = RETRY_ROWS;
        }
        self.empty_table();
        Ok(())
    }

    /// Updates state `state` of the groups of the rows of the last call, or of some of these rows: `arguments` have a
    /// value for each of them.
    pub(super) fn update(&mut self, state: usize, selected: Option<&[u32]>, arguments: &[Vector]) -> Result<()> {
        let states = &self.grouping.states;
        let Some(selected) = selected else {
            return states.update(&mut self.owner, state, self.found.all(), arguments);
        };
        self.picked.clear();
        self.picked.append_picked(self.found.all(), selected);
        let updated = states.update(&mut self.owner, state, self.picked.all(), arguments);
        self.picked.clear();
        updated
    }

    /// Adds readable rows with the same states, such as those of another worker's groups: their states are combined.
    pub(super) fn add_rows(
        &mut self,
        keys: &[Vector],
        payload: &[Vector],
        hashes: &[u64],
        sources: Rows<'_>,
    ) -> Result<()> {
        self.assign(keys, payload, hashes)?;
        self.grouping.states.combine(&mut self.owner, self.found.all(), sources)
    }

    /// Returns the rows, unpinned and at rest, and whether a group may have several.
    pub(super) fn finish(self) -> (PartitionedRows, bool) {
        let mut rows = self.rows;
        if let Some(large) = self.large {
            rows.combine(large.passed);
        }
        self.owner.hand_over(&mut rows);
        (rows, self.has_duplicates)
    }
}

/// The groups of all workers.
pub(super) struct SharedGroups {
    pub(super) grouping: Arc<Grouping>,
    combined: Mutex<Combined>,
}

#[derive(Default)]
struct Combined {
    rows: Option<PartitionedRows>,
    /// A group may have several rows.
    has_duplicates: bool,
}

impl SharedGroups {
    pub(super) fn new(grouping: Arc<Grouping>) -> Self {
        Self { grouping, combined: Mutex::default() }
    }

    /// Takes over the groups of a worker.
    pub(super) fn combine(&self, local: LocalGroups) {
        let (rows, has_duplicates) = local.finish();
        if rows.rows() == 0 {
            return;
        }
        let mut combined = self.combined.lock();
        combined.has_duplicates |= has_duplicates;
        match &mut combined.rows {
            None => combined.rows = Some(rows),
            Some(others) => {
                others.combine(rows);
                combined.has_duplicates = true;
            }
        }
    }

    /// Number of rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.combined.lock().rows.as_ref().map_or(0, PartitionedRows::rows)
    }

    /// Hands out the partitions for phase two. `collected` are the partitions of rows that belong to the groups.
    pub(super) fn take_morsels(&self, collected: Vec<PartitionedRows>) -> Vec<GroupMorsel> {
        let Combined { rows, has_duplicates } = std::mem::take(&mut *self.combined.lock());
        let Some(rows) = rows else { return Vec::new() };
        let bits = rows.radix_bits();
        let mut collected: Vec<_> = collected.into_iter().map(|rows| rows.into_partitions().into_iter()).collect();
        let mut morsels: Vec<GroupMorsel> = Vec::new();
        for (partition, rows) in rows.into_partitions().into_iter().enumerate() {
            let collected: Vec<RowCollection> =
                collected.iter_mut().map(|set| set.next().expect("as many partitions as the groups")).collect();
            if rows.is_empty() {
                continue;
            }
            let morsel = GroupMorsel::new(partition, bits, rows, collected, has_duplicates);
            match morsels.last_mut() {
                Some(last) if last.can_be_merged(&morsel, self.grouping.partition_budget()) => last.merge(morsel),
                _ => morsels.push(morsel),
            }
        }
        morsels
    }
}
