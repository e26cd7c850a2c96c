//! Merging runs, or a range of them: a cursor on each, a tournament between them, batches of rows as the result.

use std::sync::Arc;

use godwit_common::Result;
use godwit_rows::{KeyedRows, RowList, RowScan, RowTaker};
use godwit_vector::Vector;

use super::Shared;
use super::config::{PREFETCH_ENTRIES, RETIRED_BLOCKS_MAX};
use super::entries::Entries;
use super::key::KeyWord;
use super::loser_tree::LoserTree;
use super::run::{Cut, Run};

/// The input of a merge: sorted runs, between two places in their order; everything if there are none.
pub(super) struct MergeInput<K> {
    pub(super) runs: Arc<Vec<Run<K>>>,
    pub(super) start: Option<Cut<K>>,
    pub(super) end: Option<Cut<K>>,
}

/// A position in a run.
struct Cursor<K> {
    /// Position in the entries of the open block, or of the whole run if it is in place.
    position: usize,
    /// Where the range ends in these entries.
    end: usize,
    /// `None` for a run in place.
    written: Option<Blocks<K>>,
}

/// The open block of a written run, and those after it.
struct Blocks<K> {
    entries: Entries<K>,
    scan: RowScan,
    /// Row of the run that follows the block.
    next_row: u64,
}

/// Merges runs, in memory that depends only on their number.
pub(super) struct Merger<K> {
    shared: Arc<Shared<K>>,
    input: MergeInput<K>,
    cursors: Vec<Cursor<K>>,
    /// The key at each cursor; `None` at its end.
    heads: Vec<Option<K>>,
    tree: Option<LoserTree>,
    /// Rows that may still be needed.
    rows_left: usize,
    /// Scratch.
    keys: Vec<K>,
}

/// Consecutive rows in the sort order.
pub(super) struct Batch<K> {
    /// Key of the first row.
    pub(super) first: K,
    pub(super) rows: RowList,
}

impl<K: KeyWord> Merger<K> {
    pub(super) fn new(shared: &Arc<Shared<K>>, input: MergeInput<K>) -> Result<Self> {
        let mut merger = Self {
            shared: shared.clone(),
            cursors: Vec::with_capacity(input.runs.len()),
            heads: Vec::with_capacity(input.runs.len()),
            tree: None,
            rows_left: shared.limit.unwrap_or(usize::MAX),
            keys: Vec::new(),
            input,
        };
        for (index, run) in merger.input.runs.iter().enumerate() {
            // The first pages of all runs are read back while the merge waits for that of the first run.
            if let Run::Written(run) = run {
                run.scan_from(index, merger.input.start.as_ref()).0.read_ahead();
            }
        }
        for index in 0..merger.input.runs.len() {
            let cursor = merger.open(index)?;
            merger.cursors.push(cursor);
            merger.heads.push(None);
            merger.refresh(index);
        }
        if !merger.cursors.is_empty() {
            merger.tree = Some(LoserTree::new(merger.cursors.len(), merger.beats()));
        }
        Ok(merger)
    }

    /// The next rows, not empty and at most `rows_max`; `None` at the end.
    pub(super) fn next(&mut self, rows_max: usize) -> Result<Option<Batch<K>>> {
        let Some(mut tree) = self.tree.take() else { return Ok(None) };
        let shared = self.shared.clone();
        let rows_max = rows_max.min(self.rows_left);
        let mut rows = RowTaker::new(&shared.layout, self.cursors.len(), rows_max);
        let mut first = None;
        let mut retired = 0;
        while rows.len() < rows_max && retired < RETIRED_BLOCKS_MAX {
            let winner = tree.winner();
            let Some(key) = self.heads[winner] else { break };
            first.get_or_insert(key);
            let (cursor, run) = (&mut self.cursors[winner], &self.input.runs[winner]);
            rows.take(winner, cursor.entries(run), cursor.position);
            cursor.position += 1;
            cursor.prefetch(run, &shared);
            if cursor.position == cursor.end {
                retired += self.advance(winner)? as usize;
            }
            self.refresh(winner);
            tree.replay(self.beats());
        }
        let Some(first) = first else {
            self.cursors.clear();
            return Ok(None);
        };
        self.tree = Some(tree);
        self.rows_left -= rows.len();
        Ok(Some(Batch { first, rows: rows.into_rows() }))
    }

    fn open(&mut self, index: usize) -> Result<Cursor<K>> {
        let (start, end) = (self.input.start.as_ref(), self.input.end.as_ref());
        match &self.input.runs[index] {
            Run::InPlace(run) => {
                let entries = &*run.entries;
                let before = |cut: &Cut<K>| partition(entries, 0, index, cut);
                let position = start.map_or(0, before);
                Ok(Cursor { position, end: end.map_or(entries.len(), before).max(position), written: None })
            }
            Run::Written(run) => {
                let (scan, next_row) = run.scan_from(index, start);
                let blocks = Blocks { entries: Entries::new(&self.shared)?, scan, next_row };
                let mut cursor = Cursor { position: 0, end: 0, written: Some(blocks) };
                while cursor.advance(index, &self.shared, &self.input, &mut self.keys)? {
                    if cursor.position < cursor.end || !cursor.may_go_on() {
                        break;
                    }
                }
                Ok(cursor)
            }
        }
    }

    /// Opens the next block of a cursor; returns false if there is none.
    fn advance(&mut self, index: usize) -> Result<bool> {
        self.cursors[index].advance(index, &self.shared, &self.input, &mut self.keys)
    }

    #[inline(always)]
    fn refresh(&mut self, index: usize) {
        let cursor = &self.cursors[index];
        self.heads[index] =
            (cursor.position < cursor.end).then(|| cursor.entries(&self.input.runs[index]).key(cursor.position));
    }

    /// Which of two cursors comes first; those at their end come last.
    #[inline(always)]
    fn beats(&self) -> impl Fn(usize, usize) -> bool + '_ {
        let at = |index: usize| {
            let cursor = &self.cursors[index];
            (cursor.entries(&self.input.runs[index]), cursor.position)
        };
        move |a, b| match (self.heads[a], self.heads[b]) {
            (Some(key), Some(other)) if key == other && self.shared.is_open(key) => {
                self.shared.compare_open(at(a), at(b)).is_lt()
            }
            (Some(key), Some(other)) => key < other,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

impl<K: KeyWord> Cursor<K> {
    /// Opens the next block if the range may continue in it; returns false if it doesn't.
    fn advance(&mut self, index: usize, shared: &Shared<K>, input: &MergeInput<K>, keys: &mut Vec<K>) -> Result<bool> {
        if !self.may_go_on() {
            return Ok(false);
        }
        let Some(blocks) = &mut self.written else { return Ok(false) };
        let Some(block) = blocks.scan.next_block()? else { return Ok(false) };
        let rows = block.rows();
        let values: Vec<Vector> = (0..shared.keys.expressions().len()).map(|column| rows.gather(column)).collect();
        shared.key_layout.encode(&values, rows.len(), keys);
        blocks.entries.clear();
        blocks.entries.reserve(rows.len())?;
        blocks.entries.extend(keys, rows);
        let (entries, first_row) = (&*blocks.entries, blocks.next_row);
        let before = |cut: &Cut<K>| partition(entries, first_row, index, cut);
        self.position = input.start.as_ref().map_or(0, before);
        self.end = input.end.as_ref().map_or(entries.len(), before).max(self.position);
        blocks.next_row += rows.len() as u64;
        if let (None, None, Run::Written(run)) = (&input.start, &input.end, &input.runs[index]) {
            // The run has no other readers.
            run.release_rows_before(first_row);
        }
        Ok(true)
    }

    /// The entries of the open block, or of the whole run.
    #[inline(always)]
    fn entries<'a>(&'a self, run: &'a Run<K>) -> &'a KeyedRows<K> {
        match (&self.written, run) {
            (Some(blocks), _) => &blocks.entries,
            (None, Run::InPlace(run)) => &run.entries,
            (None, Run::Written(_)) => unreachable!("a written run is read block by block"),
        }
    }

    /// Prefetches the strings by which upcoming rows are compared, if they may be needed and the rows are scattered.
    #[inline(always)]
    fn prefetch(&self, run: &Run<K>, shared: &Shared<K>) {
        if let (Some(key), None) = (shared.first_string_key, &self.written) {
            let (first, second) = (self.position + 2 * PREFETCH_ENTRIES, self.position + PREFETCH_ENTRIES);
            self.entries(run).prefetch_strings(first, second, &shared.order, key);
        }
    }

    /// False if the range is known to end in the open block.
    fn may_go_on(&self) -> bool {
        self.written.as_ref().is_some_and(|blocks| self.end == blocks.entries.len())
    }
}

/// The number of sorted entries, which are the rows of a run starting at `first_row`, that are before a cut.
fn partition<K: KeyWord>(entries: &KeyedRows<K>, first_row: u64, run: usize, cut: &Cut<K>) -> usize {
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if cut.is_behind(run, entries.key(middle), first_row + middle as u64) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
