//! Joins probe chunks with a table, one at a time, resumably.
//!
//! ```text
//! keys ─▶ look up ─▶ (row, head of chain)… ─▶ fill: up to chunk_rows pairs, chain step by chain step
//!                                               └▶ residual ─▶ note matches on both sides ─▶ emit pairs
//! at the end of the chunk: rows without a match (outer), with or without (semi, anti), all of them (mark)
//! ```
//!
//! A spilled probe row may have to be looked up in several tables (`Pass::Part`): then nothing is emitted at the end of
//! the chunk, and a flag records whether the row has had a match until `Pass::Last`.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_expression::PredicateWorker;
use godwit_rows::{Chains, ColumnBlock, LookupScratch, RowCollection, RowLayout, RowList};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::kernels::select::{bytes_to_bitmap, select_bits, select_true};
use godwit_vector::{Bitmap, Chunk, Vector};

use super::build::common_validity;
use super::table::{JoinTable, Lookup};
use super::{HashJoin, JoinKind};

/// The kind of pass in which probe rows are joined.
pub(super) enum Pass {
    /// The only pass: this table holds all matches.
    Whole,
    /// The rows are spilled, and some of their matches are in this table, others in different ones.
    Part(ColumnBlock),
    /// The last pass: the rows have seen all their matches.
    Last(ColumnBlock),
}

/// A worker's state for probing.
pub(super) struct Prober {
    join: Arc<HashJoin>,
    residual: Option<PredicateWorker>,
    /// The build row of a probe row without a match.
    outer: Option<OuterRow>,
    lookup: LookupScratch,
    hashes: Vec<u64>,
    /// Probe rows to look up.
    rows: Vec<u32>,
    pairs: Pairs,
    /// Buffers of the previous chunk, for reuse.
    spare: Option<Chains>,
    active: Option<Active>,
}

/// Probe positions and their build rows.
struct Pairs {
    rows: Vec<u32>,
    build: RowList,
}

/// The chunk being joined.
struct Active {
    chunk: Chunk,
    table: Arc<JoinTable>,
    pass: Pass,
    /// Validity of the key, for null-aware joins.
    key_validity: Option<Bitmap>,
    /// 1 for rows that have had a match; empty if that doesn't matter.
    matched: Vec<u8>,
    cursor: Cursor,
    /// Rows without a match that have yet to be emitted with NULLs; `None` until they are known.
    unmatched: Option<Vec<u32>>,
}

/// Walks along the chains of all rows at once: each round emits one build row per chain that has one left.
struct Cursor {
    chains: Chains,
    position: usize,
    /// No chain has a second row.
    unique: bool,
    /// Continues with the next step of the chains until there are `chunk_rows` pairs.
    concatenates: bool,
    exhausted: bool,
}

/// A pinned build row of NULLs. Its layout is like that of the build rows, except that all columns are nullable; so the
/// build rows' layout can still tell which columns are never NULL.
struct OuterRow {
    layout: Arc<RowLayout>,
    row: RowList,
}

impl OuterRow {
    fn new(join: &HashJoin) -> Result<Self> {
        let layout = RowLayout::nullable(&join.plan.build_layout);
        let mut collection = RowCollection::new(&join.memory, &layout, None);
        let nulls: Vec<Vector> = layout.columns().iter().map(|&physical| Vector::null(physical, 1)).collect();
        collection.append(&nulls, None, Some(&[0]), None)?;
        let mut row = RowList::new(&layout);
        collection.pin()?.list(0..1, &mut row);
        Ok(Self { layout, row })
    }
}

impl Prober {
    pub(super) fn new(join: &Arc<HashJoin>) -> Result<Self> {
        let outer = if join.plan.extends_probe_rows() { Some(OuterRow::new(join)?) } else { None };
        let layout = outer.as_ref().map_or(&join.plan.build_layout, |outer| &outer.layout);
        Ok(Self {
            residual: join.plan.residual.as_ref().map(|residual| residual.predicate.worker()),
            pairs: Pairs { rows: Vec::new(), build: RowList::new(layout) },
            outer,
            lookup: LookupScratch::default(),
            hashes: Vec::new(),
            rows: Vec::new(),
            spare: Some(Chains::new(&join.plan.build_layout)),
            active: None,
            join: join.clone(),
        })
    }

    /// The join keys of a chunk.
    pub(super) fn keys(&self, chunk: &Chunk) -> Result<Vec<Vector>> {
        self.join.plan.probe_keys.iter().map(|key| key.evaluate(chunk)).collect()
    }

    /// Starts a chunk; the previous one must be finished. `hashes` are those of `keys`, if they are known.
    pub(super) fn begin(
        &mut self,
        table: &Arc<JoinTable>,
        chunk: Chunk,
        keys: &[Vector],
        hashes: Option<&[u64]>,
        pass: Pass,
    ) {
        assert!(self.active.is_none(), "one chunk after the other");
        let plan = &self.join.plan;
        let notes_matches = plan.extends_probe_rows() || plan.stops_at_first_match();
        let mut active = Active {
            matched: if notes_matches { vec![0; chunk.len()] } else { Vec::new() },
            key_validity: if plan.null_aware { keys[0].validity().map(|bitmap| (**bitmap).clone()) } else { None },
            chunk,
            table: table.clone(),
            pass,
            cursor: Cursor {
                chains: self.spare.take().expect("put back at the end of each chunk"),
                position: 0,
                unique: table.is_unique(),
                concatenates: self.join.concatenates,
                exhausted: false,
            },
            unmatched: None,
        };
        active.load_flags();
        if !matches!(active.pass, Pass::Last(_)) {
            self.look_up(&mut active, keys, hashes);
        }
        self.active = Some(active);
    }

    /// Finds the heads of the chains of all rows.
    fn look_up(&mut self, active: &mut Active, keys: &[Vector], hashes: Option<&[u64]>) {
        let plan = &self.join.plan;
        let found = &mut active.cursor.chains;
        match common_validity(keys).filter(|_| !plan.nulls_equal) {
            Some(validity) => select_bits(&validity, true, &mut self.rows),
            None => {
                self.rows.clear();
                self.rows.extend(0..active.chunk.len() as u32);
            }
        }
        if let Some(set) = active.table.existence(&self.join) {
            set.find(&keys[0].to_flat(), &self.rows, &mut found.tags);
        } else {
            match &active.table.lookup {
                Lookup::Hash(table) => {
                    let hashes = match hashes {
                        Some(hashes) => hashes,
                        None => {
                            hash_vectors(keys, active.chunk.len(), &mut self.hashes);
                            &self.hashes
                        }
                    };
                    table.look_up(hashes, keys, &self.rows, &mut self.lookup, found);
                }
                Lookup::Direct(table) => {
                    table.look_up(&keys[0].to_flat(), &self.rows, found);
                    if !active.cursor.unique {
                        found.prefetch();
                    }
                }
                Lookup::Empty | Lookup::Existence => {}
            }
        }
        if let Some(extremes) = &plan.extremes {
            extremes.note(&active.chunk, found);
            return;
        }
        if plan.residual.is_some() {
            return;
        }
        if plan.stops_at_first_match() {
            found.tags.iter().for_each(|&row| active.matched[row as usize] = 1);
            found.clear();
        } else if matches!(plan.kind, JoinKind::BuildSemi | JoinKind::BuildAnti) {
            // The rows of a chain get their matches at the same time.
            found.retain_found(false);
        }
    }

    /// The next rows of the chunk's output; `None` when it is finished.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>> {
        let Some(mut active) = self.active.take() else { return Ok(None) };
        let output = self.advance(&mut active)?;
        let plan = &self.join.plan;
        let ends_with_pairs = plan.emits_pairs() && !plan.extends_probe_rows();
        if output.is_none() || (active.cursor.exhausted && ends_with_pairs) {
            active.store_flags()?;
            active.cursor.chains.clear();
            self.pairs.clear();
            self.spare = Some(active.cursor.chains);
        } else {
            self.active = Some(active);
        }
        Ok(output)
    }

    /// True if the chunk is finished.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_none()
    }

    fn advance(&mut self, active: &mut Active) -> Result<Option<Chunk>> {
        let join = self.join.clone();
        if let Some(set) = active.table.existence(&join)
            && join.plan.kind == JoinKind::Inner
        {
            debug_assert!(set.is_exact());
            active.cursor.exhausted = true;
            let rows = std::mem::take(&mut active.cursor.chains.tags);
            return Ok(if rows.is_empty() {
                None
            } else {
                Some(selected(&active.chunk, &join.plan.probe_output, &rows))
            });
        }
        while !active.cursor.exhausted {
            active.cursor.fill(&join, &active.matched, &mut self.pairs);
            if self.pairs.rows.is_empty() {
                break;
            }
            if let Some(residual) = &mut self.residual {
                self.pairs.filter(&join, residual, active)?;
            }
            active.note_matches(&join, &self.pairs)?;
            if active.cursor.exhausted {
                self.extend_with_unmatched(active);
            }
            if join.plan.emits_pairs() && !self.pairs.rows.is_empty() {
                return Ok(Some(self.emit_pairs(active)));
            }
        }
        active.cursor.exhausted = true;
        if join.plan.extends_probe_rows() {
            self.pairs.clear();
            self.extend_with_unmatched(active);
            return Ok(if self.pairs.rows.is_empty() { None } else { Some(self.emit_pairs(active)) });
        }
        Ok(active.emit_by_match(&join))
    }

    /// Adds rows without a match while there is room.
    fn extend_with_unmatched(&mut self, active: &mut Active) {
        let Some(outer) = &self.outer else { return };
        if matches!(active.pass, Pass::Part(_)) {
            return;
        }
        let unmatched = active.unmatched.get_or_insert_with(|| {
            let mut rows: Vec<u32> = (0..active.matched.len() as u32).collect();
            rows.retain(|&row| active.matched[row as usize] == 0);
            rows
        });
        let room = self.join.chunk_rows - self.pairs.rows.len();
        let rest = unmatched.len().saturating_sub(room);
        self.pairs.rows.extend(unmatched.drain(rest..));
        self.pairs.build.resize(self.pairs.rows.len(), outer.row.all(), 0);
    }

    fn emit_pairs(&self, active: &Active) -> Chunk {
        let plan = &self.join.plan;
        let mut output = selected(&active.chunk, &plan.probe_output, &self.pairs.rows);
        for &column in &plan.build_output {
            output.push(self.pairs.build.all().gather(column));
        }
        output
    }
}

/// The rows of some columns of a chunk.
fn selected(chunk: &Chunk, columns: &[usize], rows: &[u32]) -> Chunk {
    let mut output = chunk.project(columns);
    let is_all = rows.len() == chunk.len() && rows.iter().enumerate().all(|(i, &row)| i == row as usize);
    if !is_all {
        output.select(rows);
    }
    output
}

impl Cursor {
    /// Replaces `pairs` with the next ones, at most `chunk_rows`.
    fn fill(&mut self, join: &HashJoin, matched: &[u8], pairs: &mut Pairs) {
        let first_match_only = join.plan.stops_at_first_match();
        pairs.clear();
        while pairs.rows.len() < join.chunk_rows {
            if self.position == self.chains.tags.len() {
                if !self.concatenates && !pairs.rows.is_empty() {
                    return;
                }
                if self.unique || self.chains.tags.is_empty() {
                    self.exhausted = true;
                    return;
                }
                if first_match_only && !pairs.rows.is_empty() {
                    // The next step needs to know which of these have a match.
                    return;
                }
                if first_match_only {
                    self.chains.retain(|row| matched[row as usize] == 0);
                }
                self.chains.advance();
                self.position = 0;
                continue;
            }
            let end = self.chains.tags.len().min(self.position + join.chunk_rows - pairs.rows.len());
            pairs.rows.extend_from_slice(&self.chains.tags[self.position..end]);
            pairs.build.append(self.chains.rows().slice(self.position..end));
            self.position = end;
        }
    }
}

impl Pairs {
    fn clear(&mut self) {
        self.rows.clear();
        self.build.clear();
    }

    /// Keeps the pairs for which the residual predicate is TRUE.
    fn filter(&mut self, join: &HashJoin, worker: &mut PredicateWorker, active: &Active) -> Result<()> {
        let plan = &join.plan;
        let residual = plan.residual.as_ref().expect("a worker of it exists");
        let mut input = selected(&active.chunk, &residual.probe_columns, &self.rows);
        for &column in &residual.row_columns {
            input.push(self.build.all().gather(column));
        }
        let Some(kept) = worker.rows(&input)? else { return Ok(()) };
        for (i, &position) in kept.iter().enumerate() {
            self.rows[i] = self.rows[position as usize];
        }
        self.rows.truncate(kept.len());
        self.build.keep(&kept);
        Ok(())
    }
}

impl Active {
    fn load_flags(&mut self) {
        if let Pass::Part(rows) | Pass::Last(rows) = &self.pass
            && !self.matched.is_empty()
        {
            self.matched.copy_from_slice(rows.flags());
        }
    }

    fn store_flags(&self) -> Result<()> {
        match &self.pass {
            Pass::Part(rows) if !self.matched.is_empty() => rows.set_flags(&self.matched),
            _ => Ok(()),
        }
    }

    /// Records which rows of both sides have had a match.
    fn note_matches(&mut self, join: &HashJoin, pairs: &Pairs) -> Result<()> {
        if join.plan.kind == JoinKind::Single {
            for &row in &pairs.rows {
                if std::mem::replace(&mut self.matched[row as usize], 1) != 0 {
                    return Err(Error::user("a scalar subquery returned more than one row")
                        .with_hint("aggregate the subquery, or add LIMIT 1"));
                }
            }
        } else if !self.matched.is_empty() {
            pairs.rows.iter().for_each(|&row| self.matched[row as usize] = 1);
        }
        if join.plan.build_rows_at_end().is_some() {
            pairs.build.all().mark_found();
        }
        Ok(())
    }

    /// The output of semi, anti and mark joins, returned once.
    fn emit_by_match(&mut self, join: &HashJoin) -> Option<Chunk> {
        let plan = &join.plan;
        if matches!(self.pass, Pass::Part(_)) || self.unmatched.is_some() {
            return None;
        }
        self.unmatched = Some(Vec::new());
        let mut rows = Vec::new();
        match plan.kind {
            JoinKind::ProbeSemi => select_true(&self.matched, None, &mut rows),
            JoinKind::ProbeAnti => {
                let unmatched: Vec<u8> = self.matched.iter().map(|matched| matched ^ 1).collect();
                select_true(&unmatched, self.known(join).as_ref(), &mut rows);
            }
            JoinKind::Mark => {
                let mut output = self.chunk.project(&plan.probe_output);
                let validity = self.known(join).map(|known| {
                    let matched = bytes_to_bitmap(&self.matched);
                    Bitmap::from_fn(self.chunk.len(), |row| matched.get(row) || known.get(row))
                });
                output.push(Vector::from_bools(std::mem::take(&mut self.matched), validity));
                return Some(output);
            }
            _ => return None,
        }
        if rows.is_empty() { None } else { Some(selected(&self.chunk, &plan.probe_output, &rows)) }
    }

    /// Rows for which "no match" is certain; `None`: all.
    fn known(&self, join: &HashJoin) -> Option<Bitmap> {
        let ready = join.ready();
        if !join.plan.null_aware || ready.build_rows == 0 {
            return None;
        }
        if ready.build_has_null {
            return Some(Bitmap::filled(self.chunk.len(), false));
        }
        self.key_validity.clone()
    }
}
