//! Users of memory.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray, UInt64Array};
use godwit_common::{MemoryTag, Result};
use godwit_memory::ObjectKind;

use super::{batch, numbers, texts};
use crate::database::Shared;

/// A use of memory.
struct Use {
    query: Option<u64>,
    operator: Option<String>,
    /// An object that outlives queries: its path and kind.
    object: Option<(String, ObjectKind)>,
    tag: MemoryTag,
    bytes: u64,
    /// The part of it that is in unpinned pages.
    evictable_bytes: u64,
    /// Bytes that the whole operator wrote to temporary files; shown in the first of its rows.
    spilled_bytes: u64,
}

pub(super) fn rows(shared: &Shared) -> Result<RecordBatch> {
    let total = shared.memory.statistics();
    let evictable = shared.memory.evictable();
    let mut uses: Vec<Use> = Vec::new();
    // Memory held by an operator counts as its query's as well, and a query's as the pool's. Each row only shows memory
    // that no earlier row shows. The counters change in the meantime, hence the saturation.
    let mut unclaimed = Totals {
        tag_bytes: total.tag_bytes,
        evictable_bytes: evictable.total(),
        spilled_bytes: total.spilled_bytes_total,
    };
    let mut of_query = None;
    let finish = |query: Option<(u64, Totals)>, uses: &mut Vec<Use>| {
        if let Some((query, left)) = query {
            push(uses, Some(query), None, left);
        }
    };
    for holder in shared.queries.holders() {
        let held = Totals {
            tag_bytes: holder.memory.tag_bytes(),
            evictable_bytes: evictable.of(&holder.memory),
            spilled_bytes: holder.memory.spilled_bytes(),
        };
        match (&holder.operator, &mut of_query) {
            (Some(_), Some((_, left))) => {
                subtract(left, &held);
                push(&mut uses, Some(holder.query), holder.operator, held);
            }
            _ => {
                finish(of_query.take(), &mut uses);
                subtract(&mut unclaimed, &held);
                of_query = Some((holder.query, held));
            }
        }
    }
    finish(of_query, &mut uses);
    for object in shared.memory.objects() {
        let (bytes, evictable) = (object.memory_bytes(), evictable.of_object(&object));
        let tag = match object.kind() {
            // Their holders are covered above.
            ObjectKind::Query | ObjectKind::Operator | ObjectKind::Structure(_) => continue,
            ObjectKind::File | ObjectKind::FileColumn => MemoryTag::Reader,
            ObjectKind::Database
            | ObjectKind::Table
            | ObjectKind::Column
            | ObjectKind::Segment
            | ObjectKind::Dictionary
            | ObjectKind::Delta => MemoryTag::Table,
        };
        let mut held = Totals::default();
        (held.tag_bytes[tag as usize], held.evictable_bytes[tag as usize]) = (bytes, evictable.min(bytes));
        subtract(&mut unclaimed, &held);
        if bytes > 0 {
            let (query, operator, evictable_bytes) = (None, None, evictable.min(bytes));
            let object = Some((object.path(), object.kind()));
            uses.push(Use { query, operator, object, tag, bytes, evictable_bytes, spilled_bytes: 0 });
        }
    }
    push(&mut uses, None, None, unclaimed);
    batch(vec![
        ("query_id", Arc::new(uses.iter().map(|used| used.query).collect::<UInt64Array>())),
        ("operator", Arc::new(uses.iter().map(|used| used.operator.as_deref()).collect::<StringArray>())),
        ("tag", texts(uses.iter().map(|used| used.tag.to_string()))),
        ("object", Arc::new(uses.iter().map(Use::path).collect::<StringArray>())),
        ("kind", Arc::new(uses.iter().map(Use::kind).collect::<StringArray>())),
        ("bytes", numbers(uses.iter().map(|used| used.bytes))),
        ("evictable_bytes", numbers(uses.iter().map(|used| used.evictable_bytes))),
        ("spilled_bytes", numbers(uses.iter().map(|used| used.spilled_bytes))),
    ])
}

impl Use {
    /// Returns database.table.column.segment, or query.operator.structure.
    fn path(&self) -> Option<String> {
        match (&self.object, self.query, &self.operator) {
            (Some((path, _)), _, _) => Some(path.clone()),
            (None, Some(query), Some(operator)) => Some(format!("query {query}.{operator}.{}", self.tag)),
            (None, Some(query), None) => Some(format!("query {query}.{}", self.tag)),
            (None, None, _) => None,
        }
    }

    fn kind(&self) -> Option<String> {
        match &self.object {
            Some((_, kind)) => Some(kind.name().to_owned()),
            None => self.query.map(|_| self.tag.to_string()),
        }
    }
}

/// Memory held.
#[derive(Default)]
struct Totals {
    tag_bytes: [u64; MemoryTag::COUNT],
    evictable_bytes: [u64; MemoryTag::COUNT],
    spilled_bytes: u64,
}

fn subtract(from: &mut Totals, held: &Totals) {
    let subtract_each = |from: &mut [u64], held: &[u64]| {
        from.iter_mut().zip(held).for_each(|(left, held)| *left = left.saturating_sub(*held));
    };
    subtract_each(&mut from.tag_bytes, &held.tag_bytes);
    subtract_each(&mut from.evictable_bytes, &held.evictable_bytes);
    from.spilled_bytes = from.spilled_bytes.saturating_sub(held.spilled_bytes);
}

/// Adds a row for each tag with memory in use.
fn push(uses: &mut Vec<Use>, query: Option<u64>, operator: Option<String>, held: Totals) {
    let mut spilled_bytes = held.spilled_bytes;
    for tag in MemoryTag::ALL {
        let bytes = held.tag_bytes[tag as usize];
        // It was read at a different moment.
        let evictable_bytes = held.evictable_bytes[tag as usize].min(bytes);
        // Spilled bytes have no tag; only pages of rows and columns spill in bulk.
        if bytes > 0 || (spilled_bytes > 0 && tag == MemoryTag::RowPage) {
            let spilled_bytes = std::mem::take(&mut spilled_bytes);
            let operator = operator.clone();
            uses.push(Use { query, operator, object: None, tag, bytes, evictable_bytes, spilled_bytes });
        }
    }
}
