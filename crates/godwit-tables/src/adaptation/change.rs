//! Changes the forms of segments.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_storage::block::{Block, Freezing};
use godwit_storage::table::{Form, FormBytes};

use super::history::{History, KnownSegment};
use super::{Adaptation, FormChange};

/// Flat vectors made in one period: about a tenth of a second's work.
const HOT_BYTES_MAX: u64 = 128 << 20;

/// Blocks compressed in one period: 64 MiB, which takes LZ4 about as long.
const FROZEN_BLOCKS_MAX: usize = 256;

/// Gives segments their `forms`, the hottest first, until the period's work is done; returns the changes.
pub(super) fn apply(
    manager: &Adaptation,
    history: &mut History,
    segments: &[KnownSegment],
    forms: &[Form],
    is_short: bool,
) -> Vec<FormChange> {
    let mut work = Work {
        memory: &manager.memory,
        warm: warm_blocks(segments, forms),
        hot_bytes_left: HOT_BYTES_MAX,
        blocks_left: FROZEN_BLOCKS_MAX,
        is_short,
    };
    let mut order: Vec<usize> = (0..segments.len()).collect();
    // Changes that free memory come first.
    let gain = |at: &usize| segments[*at].candidate.rows_read * segments[*at].candidate.row_nanos;
    order.sort_by(|a, b| (forms[*a] == Form::Hot).cmp(&(forms[*b] == Form::Hot)).then(gain(b).total_cmp(&gain(a))));
    let mut changes = Vec::new();
    for at in order {
        let (known, to) = (&segments[at], forms[at]);
        let now = known.candidate.form;
        if known.form_before != now {
            history.note_form(known.id, now);
            changes.extend(change(known, known.form_before, "the pool needed the room", Duration::ZERO));
        }
        // Reading a frozen block leaves it in both forms.
        let is_there = now == to && (to != Form::Compact || known.bytes.frozen == 0);
        if is_there || manager.is_interrupted() {
            continue;
        }
        let began = Instant::now();
        // Changes that fail for lack of memory, or because of a disk, are tried again in the next period, if still
        // wanted.
        let Ok(Some(why)) = work.give(known, to, history) else { continue };
        history.note_form(known.id, known.segment().form());
        changes.extend(change(known, now, &why, began.elapsed()));
    }
    changes
}

/// The blocks of segments that shouldn't be frozen.
fn warm_blocks(segments: &[KnownSegment], forms: &[Form]) -> HashSet<*const Block> {
    if !forms.contains(&Form::Frozen) {
        return HashSet::new();
    }
    let warm = segments.iter().zip(forms).filter(|(_, form)| **form != Form::Frozen);
    warm.flat_map(|(known, _)| known.segment().blocks()).map(|block| Arc::as_ptr(&block)).collect()
}

struct Work<'a> {
    memory: &'a BufferManager,
    warm: HashSet<*const Block>,
    hot_bytes_left: u64,
    blocks_left: usize,
    is_short: bool,
}

impl Work<'_> {
    /// Gives a segment a form; returns the reason, or `None` if nothing changed.
    fn give(&mut self, known: &KnownSegment, to: Form, history: &mut History) -> Result<Option<String>> {
        let (segment, candidate) = (known.segment(), &known.candidate);
        match to {
            Form::Hot => {
                if candidate.flat_bytes > self.hot_bytes_left {
                    return Ok(None);
                }
                let Some(decoding) = segment.make_hot(self.memory)? else { return Ok(None) };
                self.hot_bytes_left -= candidate.flat_bytes;
                history.note_decoded(segment, decoding.as_nanos() as f64);
                Ok(Some(format!("{:.0} reads lately", candidate.reads)))
            }
            Form::Compact => {
                let had_vectors = segment.make_compact();
                if known.bytes.frozen > 0 {
                    segment.blocks().iter().try_for_each(|block| block.thaw(self.memory))?;
                }
                let why = if had_vectors { "others are read more" } else { "it is read again" };
                Ok(Some(why.to_owned()))
            }
            Form::Frozen => {
                segment.make_compact();
                let (frozen, forgotten) = self.freeze(&segment.blocks())?;
                let periods = candidate.idle_periods;
                Ok(match (frozen, forgotten) {
                    (0, 0) => None,
                    (0, _) => Some(format!("not read for {periods} periods, left to its file")),
                    (_, _) => Some(format!("not read for {periods} periods")),
                })
            }
        }
    }

    /// Compresses blocks that aren't read by other segments or, if memory is short, drops the copies that their file
    /// can replace; returns how many bytes each of the two saved.
    fn freeze(&mut self, blocks: &[Arc<Block>]) -> Result<(u64, u64)> {
        let (mut frozen, mut forgotten) = (0, 0);
        for block in blocks.iter().filter(|block| !self.warm.contains(&Arc::as_ptr(block))) {
            if self.blocks_left == 0 {
                break;
            }
            match block.freeze(self.memory)? {
                Freezing::Saved(bytes) => {
                    self.blocks_left -= 1;
                    frozen += bytes;
                }
                Freezing::Nothing if self.is_short => forgotten += block.forget(),
                Freezing::Nothing => {}
            }
        }
        Ok((frozen, forgotten))
    }
}

fn change(known: &KnownSegment, from: Form, reason: &str, took: Duration) -> Option<FormChange> {
    let segment = known.segment();
    let (to, after) = (segment.form(), segment.memory_bytes());
    let candidate = &known.candidate;
    let saved = if to == Form::Hot { candidate.rows_read * candidate.row_nanos / 2.0 } else { 0.0 };
    let total = |bytes: FormBytes| bytes.hot + bytes.compact + bytes.frozen;
    let before = total(known.bytes);
    let is_change = from != to || before != total(after);
    is_change.then(|| FormChange {
        at: SystemTime::now(),
        object: segment.object().map(|object| object.path()).unwrap_or_default(),
        from,
        to,
        reason: reason.to_owned(),
        bytes_before: before,
        bytes_after: total(after),
        took,
        saved: Duration::from_nanos(saved as u64),
    })
}
