//! Bounds of the values in each window of a segment: they rule out windows in a row group that may contain a key.
//!
//! The file has only bounds of whole parts, which may be whole row groups. Repeated lookups of single rows need finer
//! ones; they are computed from the values at a segment's second lookup, since a scan is just as fast for a single one.
//! They are kept as a cached page, which is dropped when memory is short.

use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, PinnedPage};
use godwit_vector::kernels::cast::min_max;
use godwit_vector::{PhysicalType, ValueRange};
use parking_lot::Mutex;

use super::{Segment, WINDOW_ROWS};

/// Least and greatest value of a window, as two `i64`; if a window has no values, the first is larger.
const ENTRY_BYTES: usize = 2 * size_of::<i64>();

/// The bounds of a segment's windows, if known.
#[derive(Default)]
pub(super) struct WindowBounds(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Unasked,
    Asked,
    /// An entry for each window, unless the page has been dropped since.
    Known(CachedPage),
}

/// Bounds of the integers, or codes, in each window of a segment.
pub struct WindowRanges(PinnedPage);

impl WindowRanges {
    /// The shortest range that contains all of `rows` whose integers, or codes, may be in `wanted`. `rows` start at a
    /// multiple of [`WINDOW_ROWS`].
    pub fn rows_within(&self, rows: Range<usize>, wanted: ValueRange) -> Range<usize> {
        let may_have = |window: &usize| {
            let entry = &self.0.as_slice()[window * ENTRY_BYTES..][..ENTRY_BYTES];
            let (min, max) = entry.split_at(size_of::<i64>());
            let value = |bytes: &[u8]| i128::from(i64::from_le_bytes(bytes.try_into().expect("eight bytes")));
            let (min, max) = (value(min), value(max));
            min <= max && wanted.min <= max && min <= wanted.max
        };
        let mut windows = rows.start / WINDOW_ROWS..rows.end.div_ceil(WINDOW_ROWS);
        let Some(first) = windows.clone().find(may_have) else { return rows.start..rows.start };
        let last = windows.rfind(may_have).expect("there is a first");
        first * WINDOW_ROWS..rows.end.min((last + 1) * WINDOW_ROWS)
    }
}

impl Segment {
    /// The bounds of its windows, for one lookup; `None` for the first one, for values that have none, and while memory is
    /// short. The second one reads the whole segment.
    pub fn window_ranges(&self, memory: &BufferManager) -> Result<Option<WindowRanges>> {
        if !self.parts.iter().all(|part| is_bounded(part.header.physical, part.header.range)) {
            return Ok(None);
        }
        {
            let mut state = self.windows.0.lock();
            match &*state {
                State::Unasked => {
                    *state = State::Asked;
                    return Ok(None);
                }
                State::Asked => {}
                State::Known(page) => {
                    if let Some(page) = page.pin() {
                        return Ok(Some(WindowRanges(page)));
                    }
                }
            }
        }
        // Two concurrent lookups may both compute it; the later one stays.
        let rows: usize = self.parts.iter().map(|part| part.header.rows as usize).sum();
        let bytes = rows.div_ceil(WINDOW_ROWS) * ENTRY_BYTES;
        let memory = self.memory(memory);
        let made = memory.cache(bytes, MemoryTag::Table, |page| self.read_bounds(page, &memory))?;
        Ok(made.map(|(page, pinned)| {
            *self.windows.0.lock() = State::Known(page);
            WindowRanges(pinned)
        }))
    }

    fn read_bounds(&self, page: &mut [u8], memory: &BufferManager) -> Result<()> {
        let mut entries = page.chunks_exact_mut(ENTRY_BYTES);
        for stored in &self.parts {
            let open = stored.open(memory)?;
            let (part, rows) = (open.part()?, stored.header.rows as usize);
            for start in (0..rows).step_by(WINDOW_ROWS) {
                let values = part.decode(start..rows.min(start + WINDOW_ROWS))?;
                // Only damaged parts have values that don't fit.
                let value = |integer: i128| integer.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                let range = min_max(&values).map(|range| (value(range.min), value(range.max)));
                let (min, max) = range.unwrap_or((i64::MAX, i64::MIN));
                let (to_min, to_max) = entries.next().expect("parts are cut at windows").split_at_mut(size_of::<i64>());
                to_min.copy_from_slice(&min.to_le_bytes());
                to_max.copy_from_slice(&max.to_le_bytes());
            }
        }
        Ok(())
    }
}

/// True if the values of a part are integers that fit an entry.
fn is_bounded(physical: PhysicalType, range: Option<ValueRange>) -> bool {
    let fits = |integer: i128| i64::try_from(integer).is_ok();
    physical.is_integer() && range.is_none_or(|range| fits(range.min) && fits(range.max))
}
