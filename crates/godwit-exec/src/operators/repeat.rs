//! Copies of rows, as INTERSECT ALL and EXCEPT ALL need them.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_vector::Chunk;

use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{ChunkEffect, Transform, TransformVerdict, TransformWorker};

/// Emits each row as often as an expression says; not at all if that is NULL, zero or less. Columns aren't touched, only
/// their selections.
pub struct RepeatTransform {
    /// A BIGINT, as `i64`.
    copies: Expression,
    metrics: Arc<OperatorMetrics>,
}

impl RepeatTransform {
    /// A repetition that `EXPLAIN` shows as `name`.
    pub fn new(copies: Expression, name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { copies, metrics: OperatorMetrics::new(name) })
    }
}

impl Transform for RepeatTransform {
    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(RepeatWorker {
            copies: self.copies.clone(),
            chunk_rows: query.settings.chunk_rows,
            waiting: None,
            counts: Vec::new(),
            row: 0,
        }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct RepeatWorker {
    copies: Expression,
    chunk_rows: usize,
    waiting: Option<Chunk>,
    /// Copies that are left of each waiting row.
    counts: Vec<i64>,
    /// First waiting row that may have copies left.
    row: usize,
}

impl TransformWorker for RepeatWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        let copies = self.copies.evaluate(&chunk)?;
        let flat = copies.to_flat();
        let count = |(row, &count): (usize, &i64)| if copies.is_valid(row) { count } else { 0 };
        self.counts = flat.values::<i64>().iter().enumerate().map(count).collect();
        self.row = 0;
        self.waiting = Some(chunk);
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        let Some(chunk) = &self.waiting else { return Ok(TransformVerdict::NeedInput) };
        let mut rows: Vec<u32> = Vec::new();
        while rows.len() < self.chunk_rows && self.row < self.counts.len() {
            let left = &mut self.counts[self.row];
            let taken = (*left).clamp(0, (self.chunk_rows - rows.len()) as i64);
            rows.extend(std::iter::repeat_n(self.row as u32, taken as usize));
            *left -= taken;
            if *left <= 0 {
                self.row += 1;
            }
        }
        if rows.is_empty() {
            self.waiting = None;
            return Ok(TransformVerdict::NeedInput);
        }
        let mut copied = chunk.clone();
        copied.select(&rows);
        Ok(TransformVerdict::Chunk(copied))
    }
}
