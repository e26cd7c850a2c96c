//! Drops rows that can't be among the first of their partition, before a window operator keeps and sorts them.
//!
//! ```text
//! rank() OVER (PARTITION BY p ORDER BY o) <= 3
//!
//! p ─▶ the 3 smallest o so far      a row with a larger o than the last of these has 3 rows before it: it goes
//! ```
//!
//! Partition and order keys are encoded as strings that sort the same way ([`ordered_value`]). Each worker knows only
//! its own rows, so not every row that it passes on is a first row: the operator behind it numbers whatever arrives.
//! Memory is bounded: rows of partitions for which there is no room pass. So do all rows once few are dropped, because
//! partitions are small or their rows arrive in descending order.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_expression::{Expression, OrderedKey, ordered_value};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::{
    ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::Chunk;

use super::WindowSpec;
use super::config::{BOUND_BYTES, BOUNDS_BYTES_MAX, DROPPED_SHARE_MIN, GROWTH_BYTES, TRIAL_ROWS};

/// Lets through the rows that may be among the first of their partition.
pub struct FirstRows {
    keys: Keys,
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
}

struct Keys {
    /// A string for each row; equal for rows of the same partition.
    partition: Expression,
    /// A string for each row that sorts as the rows do.
    order: Expression,
    /// Number of first rows, at least one.
    rows: usize,
    /// Rows that are equal to the last of them count, too.
    with_ties: bool,
}

impl FirstRows {
    /// For the partitions and the order of a window operator.
    pub fn new(spec: &WindowSpec, rows: usize, with_ties: bool, query: &QueryContext) -> Result<Arc<Self>> {
        assert!(rows > 0, "there is a first row");
        let end = Expression::boolean(true);
        let key = |expression: &Expression, descending: bool, nulls_first: bool| OrderedKey {
            expression: expression.clone(),
            descending,
            nulls_first,
            required: false,
        };
        let partition_by: Vec<OrderedKey> = spec.partition_by.iter().map(|by| key(by, false, false)).collect();
        let order_by: Vec<OrderedKey> =
            spec.order_by.iter().map(|by| key(&by.expression, by.descending, by.nulls_first)).collect();
        let keys = Keys {
            partition: ordered_value(&partition_by, &end, false),
            order: ordered_value(&order_by, &end, false),
            rows,
            with_ties,
        };
        let metrics = OperatorMetrics::new(format!("First {rows} of each partition"));
        let memory = query.memory.scoped(metrics.memory().clone());
        Ok(Arc::new(Self { keys, memory, metrics }))
    }
}

impl Operator for FirstRows {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Transform for FirstRows {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let bounds = Some(Bounds::new(&self.memory)?);
        Ok(Box::new(FirstRowsWorker { first: self, bounds, tried: 0, dropped: 0 }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct FirstRowsWorker {
    first: Arc<FirstRows>,
    /// `None` once it has turned out not to be worth it.
    bounds: Option<Bounds>,
    /// Rows of the current trial, and how many of them were dropped.
    tried: usize,
    dropped: usize,
}

impl TransformWorker for FirstRowsWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        let Some(bounds) = &mut self.bounds else { return Ok(TransformVerdict::LastChunk(chunk)) };
        let partitions = self.first.keys.partition.evaluate(&chunk)?.to_flat();
        let orders = self.first.keys.order.evaluate(&chunk)?.to_flat();
        let (partitions, orders) = (partitions.strings(), orders.strings());
        let mut kept = Vec::with_capacity(chunk.len());
        for row in 0..chunk.len() {
            if bounds.may_be_first(&self.first.keys, partitions.get(row), orders.get(row)) {
                kept.push(row as u32);
            }
        }
        self.tried += chunk.len();
        self.dropped += chunk.len() - kept.len();
        if self.tried >= TRIAL_ROWS {
            if (self.dropped as f64) < self.tried as f64 * DROPPED_SHARE_MIN {
                self.bounds = None;
            }
            (self.tried, self.dropped) = (0, 0);
        }
        if kept.is_empty() {
            return Ok(TransformVerdict::NeedInput);
        }
        if kept.len() < chunk.len() {
            chunk.select(&kept);
        }
        Ok(TransformVerdict::LastChunk(chunk))
    }
}

/// For each partition, the smallest order keys, up to the number of first rows; the largest of them is readily
/// accessible.
struct Bounds {
    partitions: HashMap<Box<[u8]>, BinaryHeap<Box<[u8]>>>,
    bytes: usize,
    reservation: Reservation,
}

impl Bounds {
    fn new(memory: &BufferManager) -> Result<Self> {
        Ok(Self { partitions: HashMap::new(), bytes: 0, reservation: memory.reserve(0, MemoryTag::Sort)? })
    }

    /// False if enough rows of the partition come before this one. If a row isn't remembered for lack of room, later
    /// ones may pass unnecessarily.
    fn may_be_first(&mut self, keys: &Keys, partition: &[u8], order: &[u8]) -> bool {
        let Some(smallest) = self.partitions.get_mut(partition) else {
            if grow(&mut self.bytes, &mut self.reservation, partition.len() + order.len() + 2 * BOUND_BYTES) {
                self.partitions.insert(partition.into(), BinaryHeap::from([order.into()]));
            }
            return true;
        };
        if smallest.len() < keys.rows {
            if grow(&mut self.bytes, &mut self.reservation, order.len() + BOUND_BYTES) {
                smallest.push(order.into());
            }
            return true;
        }
        let Some(mut largest) = smallest.peek_mut() else { return true };
        if order >= &**largest {
            return keys.with_ties && order == &**largest;
        }
        let more = order.len().saturating_sub(largest.len());
        if grow(&mut self.bytes, &mut self.reservation, more) {
            *largest = order.into();
        }
        true
    }
}

/// Whether there is room for `more` more bytes.
fn grow(bytes: &mut usize, reservation: &mut Reservation, more: usize) -> bool {
    let wanted = *bytes + more;
    let fits = wanted <= reservation.bytes()
        || wanted <= BOUNDS_BYTES_MAX && reservation.resize(wanted.next_multiple_of(GROWTH_BYTES)).is_ok();
    *bytes += if fits { more } else { 0 };
    fits
}
