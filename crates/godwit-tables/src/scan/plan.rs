//! Decides which row groups are read, and in which pieces.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::scan_filter::{Bounds, Conjunct, refuted};
use godwit_storage::table::RowGroup;
use godwit_types::Value;
use godwit_vector::sql::sql_type;
use godwit_vector::{Chunk, PhysicalType, ValueRange};

use super::reader::Dictionaries;
use crate::deleted::Place;
use crate::delta::DeltaChunk;
use crate::version::TableVersion;

/// Rows of a morsel: half a row group, so that two workers finish together.
const MORSEL_ROWS: usize = 65_536;

/// Up to this many morsels, reading them is faster than checking key filters.
const LOOKED_THROUGH_MORSELS: usize = 2;

/// Bounds of windows are asked for if at most this many morsels are left: in more, the wanted values are likely to be
/// everywhere. One thread reads them while the scan is planned, which takes one to two milliseconds for eight morsels.
const NARROWED_MORSELS_MAX: usize = 8;

/// A piece of work.
pub(crate) enum Morsel {
    /// Rows of a row group of the main part, and its number.
    Main(Arc<RowGroup>, Place, Range<usize>),
    /// Rows of the delta as they are kept, and the number of the first.
    Delta(Chunk, usize),
}

impl Morsel {
    pub(super) fn rows(&self) -> usize {
        match self {
            Morsel::Main(_, _, rows) => rows.len(),
            Morsel::Delta(chunk, _) => chunk.len(),
        }
    }
}

/// The morsels of a scan, and counts of what was skipped.
pub(crate) struct ScanPlan {
    pub morsels: Vec<Morsel>,
    pub groups_pruned: usize,
    pub rows: u64,
    pub rows_pruned: u64,
}

/// Plans a scan. `ranges` are columns with the wanted range of their integers; all rows that pass `filters` are in
/// range.
pub(super) fn plan(
    version: &TableVersion,
    filters: &[Conjunct],
    ranges: &[(usize, ValueRange)],
    dictionaries: &Dictionaries,
) -> ScanPlan {
    let mut plan = ScanPlan { morsels: Vec::new(), groups_pruned: 0, rows: 0, rows_pruned: 0 };
    for (number, group) in version.main().groups.iter().enumerate() {
        if version.deleted().of(number as Place).is_some_and(|set| set.rows() == group.rows as usize) {
            continue;
        }
        let rows = group.rows as usize;
        plan.rows += rows as u64;
        let is_refuted = |rows: Range<usize>| {
            let bounds = |column: usize| bounds(version, group, column, &rows, dictionaries);
            ranges.iter().any(|&(column, wanted)| excludes(group, column, &rows, wanted))
                || filters.iter().any(|filter| refuted(&filter.condition, &bounds))
        };
        if is_refuted(0..rows) {
            plan.groups_pruned += 1;
            plan.rows_pruned += rows as u64;
            continue;
        }
        let morsels = (0..rows).step_by(MORSEL_ROWS).map(|start| start..rows.min(start + MORSEL_ROWS));
        for morsel in morsels {
            // Parts have bounds of their own.
            if morsel.len() < rows && is_refuted(morsel.clone()) {
                plan.rows_pruned += morsel.len() as u64;
            } else {
                plan.morsels.push(Morsel::Main(group.clone(), number as Place, morsel));
            }
        }
    }
    let mut first = 0;
    for DeltaChunk { chunk, .. } in version.delta().chunks() {
        plan.rows += chunk.len() as u64;
        plan.morsels.push(Morsel::Delta(chunk.clone(), first));
        first += chunk.len();
    }
    plan
}

impl ScanPlan {
    /// Skips row groups in which no row has a value with this hash in a column.
    pub(super) fn look_up(&mut self, version: &TableVersion, column: usize, hash: u64) -> Result<()> {
        if self.morsels_of_main() <= LOOKED_THROUGH_MORSELS || !version.is_looked_up(column) {
            return Ok(());
        }
        // The row group that was checked last, and whether it may have the value: its morsels are consecutive.
        let mut last = None;
        let mut kept = Vec::new();
        for morsel in std::mem::take(&mut self.morsels) {
            if let Morsel::Main(_, place, rows) = &morsel {
                let may_have = match last.filter(|(known, _)| known == place) {
                    Some((_, may_have)) => may_have,
                    None => version.may_have(*place as usize, column, hash)?,
                };
                self.groups_pruned += usize::from(!may_have && last.is_none_or(|(known, _)| known != *place));
                last = Some((*place, may_have));
                if !may_have {
                    self.rows_pruned += rows.len() as u64;
                    continue;
                }
            }
            kept.push(morsel);
        }
        self.morsels = kept;
        Ok(())
    }

    /// Trims windows from the ends of morsels that have no integer, or code, in the `wanted` range of a column, if few
    /// morsels are left.
    pub(super) fn narrow(&mut self, column: usize, wanted: ValueRange, memory: &BufferManager) -> Result<()> {
        if self.morsels_of_main() > NARROWED_MORSELS_MAX {
            return Ok(());
        }
        // The bounds of the row group before: its morsels are consecutive, and are one lookup.
        let mut last = None;
        for morsel in &mut self.morsels {
            let Morsel::Main(group, place, rows) = morsel else { continue };
            let Some(segment) = group.segments.get(column) else { continue };
            let ranges = match last.take().filter(|(known, _)| known == place) {
                Some((_, ranges)) => ranges,
                None => segment.window_ranges(memory)?,
            };
            if let Some(ranges) = &ranges {
                let within = ranges.rows_within(rows.clone(), wanted);
                self.rows_pruned += (rows.len() - within.len()) as u64;
                *rows = within;
            }
            last = Some((*place, ranges));
        }
        self.morsels.retain(|morsel| morsel.rows() > 0);
        Ok(())
    }

    fn morsels_of_main(&self) -> usize {
        self.morsels.iter().filter(|morsel| matches!(morsel, Morsel::Main(..))).count()
    }
}

/// True if no integer of a column is in the `wanted` range, in the parts of a row group that have some of these rows.
fn excludes(group: &RowGroup, column: usize, rows: &Range<usize>, wanted: ValueRange) -> bool {
    let Some(segment) = group.segments.get(column) else { return false };
    segment.parts_of(rows).iter().all(|part| match part.header.range {
        Some(range) => range.max < wanted.min || wanted.max < range.min,
        None => part.header.nulls == part.header.rows,
    })
}

/// Bounds of a column in the parts of a row group that have some of these rows.
fn bounds(
    version: &TableVersion,
    group: &RowGroup,
    column: usize,
    rows: &Range<usize>,
    dictionaries: &Dictionaries,
) -> Option<Bounds> {
    // Row ids have no bounds.
    let parts = group.segments.get(column)?.parts_of(rows);
    let ty = &version.row_type()[column];
    let nulls = Some(parts.iter().map(|part| part.header.nulls as u64).sum());
    let rows = parts.iter().map(|part| part.header.rows as u64).sum();
    let ranges = parts.iter().filter_map(|part| part.header.range);
    let range = ranges.reduce(|a, b| ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) });
    let (min, max) = match ty.physical {
        PhysicalType::Str => {
            let all_codes = parts.iter().all(|part| part.has_codes());
            let dictionary = dictionaries.get(column).filter(|_| all_codes);
            let text = |code: i128| {
                let string = dictionary?.get(u32::try_from(code).ok()?);
                Some(Value::text(std::str::from_utf8(string).ok()?))
            };
            (range.and_then(|range| text(range.min)), range.and_then(|range| text(range.max)))
        }
        // They are stored as bytes, whose order is useless to a filter.
        PhysicalType::Nested => (None, None),
        _ => {
            let sql_type = sql_type(&ty.logical).ok()?;
            let value = |inside: i128| Value::of_integer(inside, &sql_type);
            (range.and_then(|range| value(range.min)), range.and_then(|range| value(range.max)))
        }
    };
    Some(Bounds { min, max, nulls, rows })
}
