//! The reads of each segment, period by period.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_memory::{Accesses, ObjectId};
use godwit_storage::table::{Form, FormBytes, RowGroup, Segment};
use godwit_vector::PhysicalType;

use super::policy::Candidate;
use crate::store::Store;

/// Reads in a period count half as much one period later.
const DECAY: f64 = 0.5;

/// Weight of a new measurement in the running average.
const NEW_WEIGHT: f64 = 0.25;

/// The history of segments, and the cost of decoding them.
#[derive(Default)]
pub(super) struct History {
    period: u64,
    segments: HashMap<ObjectId, Past>,
    /// By encoding and type, where measured.
    row_nanos: HashMap<(&'static str, PhysicalType), f64>,
}

#[derive(Clone, Copy)]
struct Past {
    seen: Accesses,
    reads: f64,
    rows_read: f64,
    /// The last period in which reads were recorded.
    read_in: u64,
    /// The form that it had at the end of the last period, and since when.
    form: Form,
    formed_in: u64,
}

/// A segment of a table as it is now.
pub(super) struct KnownSegment {
    group: Arc<RowGroup>,
    column: usize,
    pub id: ObjectId,
    pub candidate: Candidate,
    /// The memory that it takes.
    pub bytes: FormBytes,
    /// The form that the last period gave it, which the pool may have taken back.
    pub form_before: Form,
}

impl KnownSegment {
    pub(super) fn segment(&self) -> &Segment {
        &self.group.segments[self.column]
    }
}

impl History {
    /// Begins a period; returns the segments of all tables, with their reads.
    pub(super) fn next_period(&mut self, stores: &[Arc<Store>]) -> Vec<KnownSegment> {
        self.period += 1;
        let mut before = std::mem::take(&mut self.segments);
        let mut found = Vec::new();
        for table in stores.iter().flat_map(|store| store.tables()) {
            for group in &table.main().groups {
                for (column, segment) in group.segments.iter().enumerate() {
                    let Some(object) = segment.object() else { continue };
                    let past = self.aged(before.remove(&object.id()), object.accesses(), segment.form());
                    self.segments.insert(object.id(), past);
                    found.push(KnownSegment {
                        group: group.clone(),
                        column,
                        id: object.id(),
                        candidate: self.candidate(segment, &past),
                        bytes: segment.memory_bytes(),
                        form_before: past.form,
                    });
                }
            }
        }
        found
    }

    fn aged(&self, past: Option<Past>, now: Accesses, form: Form) -> Past {
        let Some(past) = past else {
            // Earlier reads count as those of one period.
            let (reads, rows_read) = (now.reads as f64, now.rows as f64);
            let read_in = if now.reads > 0 { self.period } else { self.period.saturating_sub(1) };
            return Past { seen: now, reads, rows_read, read_in, form, formed_in: self.period };
        };
        let new_reads = now.reads - past.seen.reads;
        Past {
            seen: now,
            reads: past.reads * DECAY + new_reads as f64,
            rows_read: past.rows_read * DECAY + (now.rows - past.seen.rows) as f64,
            read_in: if new_reads > 0 { self.period } else { past.read_in },
            ..past
        }
    }

    fn candidate(&self, segment: &Segment, past: &Past) -> Candidate {
        let rows: u64 = segment.parts.iter().map(|part| u64::from(part.header.rows)).sum();
        Candidate {
            form: segment.form(),
            can_be_hot: segment.can_be_hot(),
            rows,
            stored_bytes: segment.parts.iter().map(|part| u64::from(part.header.body_bytes)).sum(),
            flat_bytes: segment.flat_bytes(),
            reads: past.reads,
            rows_read: past.rows_read,
            row_nanos: self.row_nanos(segment),
            idle_periods: self.period - past.read_in,
            hot_periods: self.period - past.formed_in,
        }
    }

    /// Nanoseconds to decode a row of a segment, measured on similar ones.
    fn row_nanos(&self, segment: &Segment) -> f64 {
        let Some(part) = segment.parts.first() else { return 0.0 };
        let (encoding, physical) = (part.header.encoding.name(), part.header.physical);
        self.row_nanos.get(&(encoding, physical)).copied().unwrap_or_else(|| expected_row_nanos(encoding))
    }

    /// Records that decoding a segment took `nanos` nanoseconds.
    pub(super) fn note_decoded(&mut self, segment: &Segment, nanos: f64) {
        let Some(part) = segment.parts.first() else { return };
        let rows: u64 = segment.parts.iter().map(|part| u64::from(part.header.rows)).sum();
        let (key, new) = ((part.header.encoding.name(), part.header.physical), nanos / rows.max(1) as f64);
        self.row_nanos.entry(key).and_modify(|known| *known += NEW_WEIGHT * (new - *known)).or_insert(new);
    }

    /// Records that a segment has another form from this period onwards.
    pub(super) fn note_form(&mut self, id: ObjectId, form: Form) {
        if let Some(past) = self.segments.get_mut(&id) {
            (past.form, past.formed_in) = (form, self.period);
        }
    }
}

/// Used until there are measurements: nanoseconds per row on a virtual machine of 2024, from `cargo run --example
/// schemes`.
fn expected_row_nanos(encoding: &str) -> f64 {
    match encoding {
        "symbols" => 12.0,
        "decimals" => 1.0,
        _ => 0.3,
    }
}
