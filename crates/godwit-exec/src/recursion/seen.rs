//! UNION in a recursion: rows that existed before are dropped.
//!
//! ```text
//! rows of a round ─▶ in the set? ──no──▶ new: into the set, and on
//!
//! the set is too large:   step EXCEPT all rows there were        a join that spills; the set is gone
//! ```
//!
//! All rows so far are kept in pages. As long as it is small, a set in memory tells which rows are new as they arrive.
//! The round during which the set becomes too large is restarted and, like all later ones, joined with the pages. The
//! first round has no duplicates, whether or not there is a set.

use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_expression::{Expression, OrderedKey, ordered_value};
use godwit_memory::Reservation;
use godwit_pipeline::{
    ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_types::{SqlType, Value};
use godwit_vector::{Chunk, PhysicalType};
use parking_lot::Mutex;

use crate::shared_rows::SharedRows;

/// The set may take this share of the memory limit. The step's operators need the rest.
const SET_SHARE: u64 = 4;

/// Approximate bytes of a row in the set besides its content.
const ENTRY_BYTES: usize = 48;

/// All rows of a recursion so far.
pub(crate) struct SeenRows {
    rows: Arc<SharedRows>,
    /// `None` once it is too large.
    set: Mutex<Option<RowSet>>,
}

/// Rows encoded as strings, which are equal if the rows are.
struct RowSet {
    keys: HashSet<Box<[u8]>>,
    reservation: Reservation,
    bytes_max: usize,
}

impl SeenRows {
    /// No rows yet; `columns` are the types in which they are kept.
    pub(crate) fn new(columns: &[PhysicalType], query: &QueryContext) -> Result<Arc<Self>> {
        let rows = SharedRows::kept(columns, query, "Rows of all rounds before".to_owned())?;
        let memory = &query.memory;
        let bytes_max = if memory.forces_spill() { 0 } else { (memory.memory_limit() / SET_SHARE) as usize };
        let reservation = memory.reserve(0, MemoryTag::HashTable)?;
        let set = Mutex::new(Some(RowSet { keys: HashSet::new(), reservation, bytes_max }));
        Ok(Arc::new(Self { rows, set }))
    }

    /// All rows of complete rounds.
    pub(crate) fn rows(&self) -> &Arc<SharedRows> {
        &self.rows
    }

    /// Whether [`NewRows`] decides which rows are new.
    pub(crate) fn has_set(&self) -> bool {
        self.set.lock().is_some()
    }
}

impl RowSet {
    /// Adds the strings that aren't in the set, and returns their positions; `None` if there is no room for them.
    fn add_new<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> Option<Vec<u32>> {
        let mut new = Vec::new();
        let mut bytes = self.reservation.bytes();
        for (row, key) in keys.enumerate() {
            if !self.keys.contains(key) {
                self.keys.insert(key.into());
                bytes += key.len() + ENTRY_BYTES;
                new.push(row as u32);
            }
        }
        let has_room = bytes <= self.bytes_max && self.reservation.resize(bytes).is_ok();
        has_room.then_some(new)
    }
}

/// The kind of rows that [`NewRows`] gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundKind {
    /// Distinct rows, all of them new.
    First,
    /// Any rows.
    Later,
}

/// Lets each row through once over all rounds, as long as there is a set of them.
pub(crate) struct NewRows {
    /// A string for each row; equal rows have equal strings.
    key: Expression,
    seen: Arc<SeenRows>,
    round: RoundKind,
    metrics: Arc<OperatorMetrics>,
}

impl NewRows {
    /// For rows that are equal if and only if these keys are, none of which is nested.
    pub(crate) fn new(keys: Vec<Expression>, seen: Arc<SeenRows>, round: RoundKind) -> Result<Arc<Self>> {
        let key = |expression| OrderedKey { expression, descending: false, nulls_first: false, required: false };
        let nothing = Expression::literal(&Value::Null, &SqlType::Boolean)?;
        let key = ordered_value(&keys.into_iter().map(key).collect::<Vec<_>>(), &nothing, false);
        Ok(Arc::new(Self { key, seen, round, metrics: OperatorMetrics::new("New rows") }))
    }
}

impl Operator for NewRows {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn is_reusable(&self) -> bool {
        true
    }
}

impl Transform for NewRows {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(NewRowsWorker(self)))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct NewRowsWorker(Arc<NewRows>);

impl TransformWorker for NewRowsWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        let keys = self.0.key.evaluate(&chunk)?.to_flat();
        let strings = keys.strings();
        let mut seen = self.0.seen.set.lock();
        let new = seen.as_mut().and_then(|set| set.add_new((0..chunk.len()).map(|row| strings.get(row))));
        let Some(new) = new else {
            *seen = None;
            return Ok(match self.0.round {
                RoundKind::First => TransformVerdict::LastChunk(chunk),
                // The output of the round isn't needed.
                RoundKind::Later => TransformVerdict::Done,
            });
        };
        drop(seen);
        if new.is_empty() {
            return Ok(TransformVerdict::NeedInput);
        }
        if new.len() < chunk.len() {
            chunk.select(&new);
        }
        Ok(TransformVerdict::LastChunk(chunk))
    }
}
