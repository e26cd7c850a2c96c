//! Tells memory traces about a delta: where its chunks' columns are, and which rows were read.

use std::ops::Range;

use godwit_memory::Object;
use godwit_trace::{ObjectPart, VECTOR_BYTES};
use godwit_vector::{Chunk, Data, Flat};

/// Tells a memory trace that rows of a chunk's column were read: those of the window, or those of them that are
/// `selected`. The delta's object has its chunks one after the other, and the columns of each; an entry is a row,
/// counted from the delta's first.
pub(crate) fn note_read(
    object: &Object,
    (chunk, first_row): (&Chunk, usize),
    column: usize,
    window: &Range<usize>,
    selected: Option<&[u32]>,
) {
    if !godwit_trace::is_on() {
        return;
    }
    let Some(values) = flat(chunk, column) else { return };
    let width = |column: usize| chunk.column(column).vector.physical().width_bytes();
    let row_bytes: usize = (0..chunk.width()).map(width).sum();
    let offset = first_row * row_bytes + (0..column).map(width).sum::<usize>() * chunk.len();
    let (start, bytes) = values.memory();
    let place = ObjectPart::of_bytes(start, chunk.len() * bytes, offset as u64);
    let place = place.with_entries(first_row as u64, chunk.len() as u64);
    godwit_trace::declare(place, object.trace_key(), || object.traced());
    let start = start.wrapping_add(window.start * bytes);
    godwit_trace::loads(|loads| match selected {
        Some(rows) => loads.each(rows.len(), |i| start.wrapping_add(rows[i] as usize * bytes)),
        None => loads.run(start, window.len() * bytes, VECTOR_BYTES),
    });
}

/// Tells a memory trace that a chunk has been dropped.
pub(super) fn forget(chunk: &Chunk) {
    if !godwit_trace::is_on() {
        return;
    }
    for values in (0..chunk.width()).filter_map(|column| flat(chunk, column)) {
        let (start, bytes) = values.memory();
        godwit_trace::forget(start, chunk.len() * bytes);
    }
}

/// The values of a column, if there is one for each row.
fn flat(chunk: &Chunk, column: usize) -> Option<&Flat> {
    match chunk.column(column).vector.data() {
        Data::Flat(values) => Some(values),
        Data::Constant(_) | Data::Dictionary(..) => None,
    }
}
