//! The probe: one probe chunk against all build blocks.
//!
//! A *strip* is a row of the smaller of (probe chunk, build block) against all rows of the other. Its matches are
//! collected as pairs until they fill a chunk; if there are many, they are emitted at once, with the build row as
//! constants.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_expression::PredicateWorker;
use godwit_memory::PAGE_BYTES;
use godwit_pipeline::{
    ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, PhysicalType, Vector};

use super::Shared;
use super::build::{BlockScan, BuildBlock};
use crate::hash_join::JoinKind;

/// Joins the probe side's rows.
pub(super) struct ProbeTransform(pub(super) Arc<Shared>);

impl Operator for ProbeTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics[1]
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        4 * (PAGE_BYTES * workers) as u64
    }
}

impl Transform for ProbeTransform {
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(ProbeWorker {
            shared: self.0.clone(),
            query: query.clone(),
            predicate: self.0.predicate.worker(),
            probing: None,
            ready: VecDeque::new(),
        }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct ProbeWorker {
    shared: Arc<Shared>,
    query: Arc<QueryContext>,
    predicate: PredicateWorker,
    probing: Option<Probing>,
    /// Output of the last strip: at most a few chunks.
    ready: VecDeque<Chunk>,
}

/// A probe chunk that is being joined with the build side.
struct Probing {
    chunk: Chunk,
    /// The columns that the predicate reads, for the active rows: those that still look for matches.
    compared: Chunk,
    /// Which rows of `chunk` these are; `None`: all of them.
    active: Option<Vec<u32>>,
    /// Whether each row of `chunk` has had a match, if that matters.
    matched: Vec<bool>,
    blocks: BlockScan,
    current: Option<CurrentBlock>,
}

/// A build block and the matches found in it.
struct CurrentBlock {
    block: BuildBlock,
    /// Strips are rows of the block, not of the chunk.
    by_build_row: bool,
    next_strip: usize,
    /// Matches: rows of the chunk, and the matching rows of the block.
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
}

impl TransformWorker for ProbeWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        let shared = &*self.shared;
        self.probing = Some(Probing {
            compared: chunk.project(&shared.compared),
            active: None,
            matched: if shared.marks_probe() { vec![false; chunk.len()] } else { Vec::new() },
            blocks: shared.build().scan(),
            current: None,
            chunk,
        });
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        use JoinKind::*;
        let shared = self.shared.clone();
        if shared.build().rows() == 0 && matches!(shared.kind, Inner | Right | ProbeSemi | BuildSemi | BuildAnti) {
            return Ok(TransformVerdict::Done);
        }
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(TransformVerdict::Chunk(chunk));
            }
            let Some(probing) = &mut self.probing else { return Ok(TransformVerdict::NeedInput) };
            let more = probing.step(&shared, &self.query, &mut self.predicate, &mut self.ready)?;
            if !more {
                probing.emit_by_mark(&shared, &mut self.ready);
                self.probing = None;
            }
        }
    }
}

impl Probing {
    /// Compares a strip or moves on to the next block; returns false when there is nothing left to compare.
    fn step(
        &mut self,
        shared: &Shared,
        query: &QueryContext,
        predicate: &mut PredicateWorker,
        ready: &mut VecDeque<Chunk>,
    ) -> Result<bool> {
        if self.compared.is_empty() {
            return Ok(false);
        }
        let Some(current) = &mut self.current else {
            query.cancel.check()?;
            let Some(block) = self.blocks.next(shared.build())? else { return Ok(false) };
            let by_build_row = block.chunk.len() <= self.compared.len();
            let (probe_rows, build_rows) = (Vec::new(), Vec::new());
            self.current = Some(CurrentBlock { block, by_build_row, next_strip: 0, probe_rows, build_rows });
            return Ok(true);
        };
        let strip = current.next_strip;
        let strips = if current.by_build_row { current.block.chunk.len() } else { self.compared.len() };
        if strip == strips {
            current.emit_pairs(&self.chunk, shared, 1, ready);
            self.current = None;
            return Ok(true);
        }
        current.next_strip += 1;
        if current.by_build_row {
            self.strip_of_build_row(strip, shared, predicate, ready)?;
        } else {
            self.strip_of_probe_row(strip, shared, predicate)?;
        }
        let current = self.current.as_mut().expect("the block isn't done");
        current.emit_pairs(&self.chunk, shared, shared.chunk_rows, ready);
        Ok(true)
    }

    /// One build row against all active probe rows.
    fn strip_of_build_row(
        &mut self,
        build_row: usize,
        shared: &Shared,
        predicate: &mut PredicateWorker,
        ready: &mut VecDeque<Chunk>,
    ) -> Result<()> {
        let current = self.current.as_mut().expect("a strip is in a block");
        let number = current.block.first_row + build_row as u64;
        if !shared.emits_pairs() && shared.marks_build() && shared.build().is_marked(number) {
            return Ok(());
        }
        let constants = constant_row(&current.block.chunk, build_row, self.compared.len());
        let matches = predicate.rows(&self.compared.clone().zip(constants))?;
        let Some(rows) = self.probe_rows_of(&matches) else { return Ok(()) };
        if shared.marks_build() {
            shared.build().mark(number);
        }
        self.mark_probe(&rows, shared)?;
        let current = self.current.as_mut().expect("a strip is in a block");
        if shared.emits_pairs() {
            if current.block.chunk.len() == 1 || rows.len() >= shared.chunk_rows / 2 {
                let mut chunk = self.chunk.project(&shared.probe_output);
                if rows.len() < chunk.len() {
                    chunk.select(&rows);
                }
                let build = current.block.chunk.project(&shared.build_output);
                ready.push_back(chunk.zip(constant_row(&build, build_row, rows.len())));
            } else {
                current.probe_rows.extend(&rows);
                current.build_rows.resize(current.probe_rows.len(), build_row as u32);
            }
        } else if shared.marks_probe() {
            self.deactivate(&rows, shared);
        }
        Ok(())
    }

    /// One active probe row against all rows of the block.
    fn strip_of_probe_row(&mut self, strip: usize, shared: &Shared, predicate: &mut PredicateWorker) -> Result<()> {
        let probe_row = self.active.as_ref().map_or(strip as u32, |active| active[strip]);
        let current = self.current.as_mut().expect("a strip is in a block");
        let once = shared.marks_probe() && !shared.emits_pairs();
        if once && self.matched[probe_row as usize] {
            return Ok(());
        }
        let block = &current.block.chunk;
        let constants = constant_row(&self.compared, strip, block.len());
        let matches = predicate.rows(&constants.zip(block.clone()))?;
        let rows = matches.unwrap_or_else(|| (0..block.len() as u32).collect());
        if rows.is_empty() {
            return Ok(());
        }
        if shared.kind == JoinKind::Single && rows.len() > 1 {
            return Err(too_many_rows());
        }
        if shared.marks_build() {
            rows.iter().for_each(|&row| shared.build().mark(current.block.first_row + row as u64));
        }
        if shared.emits_pairs() {
            current.build_rows.extend(&rows);
            current.probe_rows.resize(current.build_rows.len(), probe_row);
        }
        self.mark_probe(&[probe_row], shared)
    }

    /// Translates positions among the active rows to rows of the chunk; `None` if there are none.
    fn probe_rows_of(&self, matches: &Option<Vec<u32>>) -> Option<Vec<u32>> {
        let rows = match (matches, &self.active) {
            (None, None) => (0..self.chunk.len() as u32).collect(),
            (None, Some(active)) => active.clone(),
            (Some(rows), None) => rows.clone(),
            (Some(rows), Some(active)) => rows.iter().map(|&row| active[row as usize]).collect(),
        };
        Some(rows).filter(|rows: &Vec<u32>| !rows.is_empty())
    }

    fn mark_probe(&mut self, rows: &[u32], shared: &Shared) -> Result<()> {
        if shared.marks_probe() {
            for &row in rows {
                let before = std::mem::replace(&mut self.matched[row as usize], true);
                if before && shared.kind == JoinKind::Single {
                    return Err(too_many_rows());
                }
            }
        }
        Ok(())
    }

    /// Deactivates rows that have found a match and needn't look for others.
    fn deactivate(&mut self, rows: &[u32], shared: &Shared) {
        if rows.is_empty() {
            return;
        }
        let active: Vec<u32> = (0..self.chunk.len() as u32).filter(|&row| !self.matched[row as usize]).collect();
        self.compared = self.chunk.project(&shared.compared);
        self.compared.select(&active);
        self.active = Some(active);
    }

    /// Emits the probe rows that are output because they have, or don't have, a match.
    fn emit_by_mark(&self, shared: &Shared, ready: &mut VecDeque<Chunk>) {
        let rows_marked = |mark: bool| -> Vec<u32> {
            (0..self.chunk.len() as u32).filter(|&r| self.matched[r as usize] == mark).collect()
        };
        let rows = match shared.kind {
            JoinKind::Left | JoinKind::Full | JoinKind::Single | JoinKind::ProbeAnti => rows_marked(false),
            JoinKind::ProbeSemi => rows_marked(true),
            JoinKind::Mark => (0..self.chunk.len() as u32).collect(),
            JoinKind::Inner | JoinKind::Right | JoinKind::BuildSemi | JoinKind::BuildAnti => return,
        };
        if rows.is_empty() {
            return;
        }
        let mut chunk = self.chunk.project(&shared.probe_output);
        if rows.len() < chunk.len() {
            chunk.select(&rows);
        }
        if shared.kind == JoinKind::Mark {
            let marks = self.matched.iter().map(|&matched| matched as u8).collect();
            chunk.push(Vector::from_bools(marks, None));
        } else if shared.emits_pairs() {
            chunk = chunk.zip(null_chunk(&shared.build_output_types, rows.len()));
        }
        ready.push_back(chunk);
    }
}

impl CurrentBlock {
    /// Emits the pairs if there are at least `rows_min`.
    fn emit_pairs(&mut self, probe: &Chunk, shared: &Shared, rows_min: usize, ready: &mut VecDeque<Chunk>) {
        if self.probe_rows.len() < rows_min {
            return;
        }
        let (probe, build) = (probe.project(&shared.probe_output), self.block.chunk.project(&shared.build_output));
        let pieces = self.probe_rows.chunks(shared.chunk_rows).zip(self.build_rows.chunks(shared.chunk_rows));
        for (probe_rows, build_rows) in pieces {
            let (mut left, mut right) = (probe.clone(), build.clone());
            left.select(probe_rows);
            right.select(build_rows);
            ready.push_back(left.zip(right));
        }
        self.probe_rows.clear();
        self.build_rows.clear();
    }
}

/// One row of a chunk, `len` times.
fn constant_row(chunk: &Chunk, row: usize, len: usize) -> Chunk {
    let constant = |column| {
        let view = chunk.column(column);
        let position = view.selection.map_or(row, |selection| selection[row] as usize);
        if view.vector.is_valid(position) {
            Vector::constant(view.vector.slice(position, 1).to_flat(), len)
        } else {
            Vector::null(view.vector.physical(), len)
        }
    };
    Chunk::new((0..chunk.width()).map(constant).collect(), len)
}

/// `len` rows of NULLs.
pub(super) fn null_chunk(types: &[PhysicalType], len: usize) -> Chunk {
    Chunk::new(types.iter().map(|&physical| Vector::null(physical, len)).collect(), len)
}

fn too_many_rows() -> Error {
    Error::user("a scalar subquery returned more than one row")
        .with_hint("make it return one row, with LIMIT 1 or an aggregate, or use IN or EXISTS")
}
