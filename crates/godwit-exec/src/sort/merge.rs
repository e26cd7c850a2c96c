//! Merging runs: a cursor on each, a tournament between them, batches of row pointers as the result.

use std::sync::Arc;

use godwit_common::Result;
use godwit_rows::{RowPtr, RowScan};
use godwit_vector::{Heap, Heaps, Vector};

use super::Shared;
use super::config::RETIRED_BLOCKS_MAX;
use super::entries::{Entries, Entry, Run};
use super::key::KeyWord;
use super::loser_tree::LoserTree;

/// A position in a run.
struct Cursor<K> {
    /// Sorted entries of the open block, or of the whole run if it is in place. Only the last block may be empty.
    entries: Entries<K>,
    position: usize,
    /// Keeps the pages of the block pinned.
    block: Heap,
    /// The blocks behind; `None` for a run in place.
    scan: Option<RowScan>,
}

/// Merges runs, in memory that depends on their number only.
pub(super) struct Merger<K> {
    shared: Arc<Shared<K>>,
    cursors: Vec<Cursor<K>>,
    tree: Option<LoserTree>,
    /// Rows that may still be emitted.
    rows_left: usize,
    /// Scratch.
    keys: Vec<K>,
}

/// Rows that follow each other in the order, pinned by `heaps`.
pub(super) struct Batch {
    pub(super) rows: Vec<RowPtr>,
    pub(super) heaps: Heaps,
}

impl<K: KeyWord> Merger<K> {
    pub(super) fn new(shared: &Arc<Shared<K>>, runs: Vec<Run<K>>) -> Result<Self> {
        let rows_left = shared.limit.unwrap_or(usize::MAX);
        let mut merger = Self { shared: shared.clone(), cursors: Vec::new(), tree: None, rows_left, keys: Vec::new() };
        for run in runs {
            let cursor = merger.open(run)?;
            merger.cursors.push(cursor);
        }
        if !merger.cursors.is_empty() {
            let beats = beats(&merger.cursors, shared);
            merger.tree = Some(LoserTree::new(merger.cursors.len(), beats));
        }
        Ok(merger)
    }

    /// The next rows, not empty and at most `rows_max`; `None` at the end.
    pub(super) fn next(&mut self, rows_max: usize) -> Result<Option<Batch>> {
        let Some(tree) = &mut self.tree else { return Ok(None) };
        let shared = &*self.shared;
        let rows_max = rows_max.min(self.rows_left);
        let mut rows = Vec::with_capacity(rows_max);
        let mut retired: Vec<Heap> = Vec::new();
        while rows.len() < rows_max && retired.len() < RETIRED_BLOCKS_MAX {
            let cursor = &mut self.cursors[tree.winner()];
            let Some(entry) = cursor.entries.as_slice().get(cursor.position) else { break };
            rows.push(entry.row);
            cursor.position += 1;
            if cursor.position == cursor.entries.len() {
                retired.extend(cursor.advance(shared, &mut self.keys)?);
            }
            tree.replay(beats(&self.cursors, shared));
        }
        if rows.is_empty() {
            self.cursors.clear();
            self.tree = None;
            return Ok(None);
        }
        self.rows_left -= rows.len();
        retired.extend(self.cursors.iter().map(|cursor| cursor.block.clone()));
        Ok(Some(Batch { rows, heaps: Heaps::many(retired) }))
    }

    fn open(&mut self, run: Run<K>) -> Result<Cursor<K>> {
        Ok(match run {
            Run::InPlace(run) => Cursor { entries: run.entries, position: 0, block: Arc::new(run.rows), scan: None },
            Run::Written(rows) => {
                let entries = Entries::new(&self.shared)?;
                let mut cursor = Cursor { entries, position: 0, block: Arc::new(()), scan: Some(rows.into_scan()) };
                cursor.advance(&self.shared, &mut self.keys)?;
                cursor
            }
        })
    }
}

impl<K: KeyWord> Cursor<K> {
    /// Opens the next block, if there is one; returns what kept the last one pinned.
    fn advance(&mut self, shared: &Shared<K>, keys: &mut Vec<K>) -> Result<Option<Heap>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let Some(block) = scan.next_block()? else { return Ok(None) };
        let rows = block.pointers();
        let values: Vec<Vector> = (0..shared.keys.expressions().len())
            .map(|column| shared.layout.gather(rows, column, block.heaps()))
            .collect();
        shared.key_layout.encode(&values, rows.len(), keys);
        self.entries.truncate(0);
        self.entries.reserve(rows.len())?;
        self.entries.extend(keys, rows);
        self.position = 0;
        Ok(Some(std::mem::replace(&mut self.block, Arc::new(block))))
    }

    #[inline(always)]
    fn head(&self) -> Option<&Entry<K>> {
        self.entries.as_slice().get(self.position)
    }
}

/// Who of two cursors comes first; those at their end come last.
#[inline(always)]
fn beats<K: KeyWord>(cursors: &[Cursor<K>], shared: &Shared<K>) -> impl Fn(usize, usize) -> bool {
    |a, b| match (cursors[a].head(), cursors[b].head()) {
        (Some(a), Some(b)) => shared.compare(a, b).is_lt(),
        (Some(_), None) => true,
        (None, _) => false,
    }
}
