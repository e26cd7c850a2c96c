//! TABLESAMPLE: rows picked at random.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::Result;
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, Vector};

use crate::operators::only;

/// Draws a number for each row. With a seed and a single worker, the numbers are the same each time.
pub struct SampleTransform {
    draw: Draw,
    seed: u64,
    /// Number of workers so far: each draws from a sequence of its own.
    workers: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

/// How the number of a row is used.
#[derive(Clone, Copy)]
enum Draw {
    /// Keeps the rows whose number is less.
    Below(u64),
    /// Adds it as a BIGINT column.
    Column,
}

impl SampleTransform {
    /// Lets each row through with a probability, from 0 to 1.
    pub fn of_share(share: f64, seed: Option<u64>, name: impl Into<String>) -> Arc<Self> {
        // The cast saturates: all numbers but one are below that.
        Self::new(Draw::Below((share * u64::MAX as f64) as u64), seed, name)
    }

    /// Adds a column of random numbers: sorting by it puts the rows in random order.
    pub fn of_order(seed: Option<u64>, name: impl Into<String>) -> Arc<Self> {
        Self::new(Draw::Column, seed, name)
    }

    fn new(draw: Draw, seed: Option<u64>, name: impl Into<String>) -> Arc<Self> {
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        Arc::new(Self { draw, seed, workers: AtomicU64::new(0), metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for SampleTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }
}

impl Transform for SampleTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let worker = self.workers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(SampleWorker { draw: self.draw, state: self.seed ^ worker.rotate_left(32) }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct SampleWorker {
    draw: Draw,
    state: u64,
}

impl SampleWorker {
    /// The next number of the sequence: SplitMix64 (Steele, Lea, Flood, 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

impl TransformWorker for SampleWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        match self.draw {
            Draw::Below(bound) => {
                let picked: Vec<u32> = (0..chunk.len() as u32).filter(|_| self.next() < bound).collect();
                chunk.select(&picked);
            }
            Draw::Column => {
                let numbers: Vec<i64> = (0..chunk.len()).map(|_| self.next() as i64).collect();
                chunk.push(Vector::from_values(numbers, None));
            }
        }
        Ok(only(chunk))
    }
}
