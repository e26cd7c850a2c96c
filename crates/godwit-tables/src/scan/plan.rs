//! Which row groups are read, and in which pieces.

use std::ops::Range;
use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_exec::scan_filter::{Bounds, Conjunct, refuted};
use godwit_expression::scalar_from_integer;
use godwit_storage::table::RowGroup;
use godwit_vector::{Chunk, PhysicalType, ValueRange};

use super::reader::Dictionaries;
use crate::deleted::Place;
use crate::delta::DeltaChunk;
use crate::version::TableVersion;

/// Rows of a morsel: half of a row group, so that two workers end together.
const MORSEL_ROWS: usize = 65_536;

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

/// The morsels of a scan, and what was left out.
pub(crate) struct ScanPlan {
    pub morsels: Vec<Morsel>,
    pub groups_pruned: usize,
    pub rows: u64,
    pub rows_pruned: u64,
}

/// Plans a scan. `key_ranges` are columns and the ranges of the keys that joins look for in them.
pub(super) fn plan(
    version: &TableVersion,
    filters: &[Conjunct],
    key_ranges: &[(usize, ValueRange)],
    dictionaries: &Dictionaries,
) -> ScanPlan {
    let mut plan = ScanPlan { morsels: Vec::new(), groups_pruned: 0, rows: 0, rows_pruned: 0 };
    for (number, group) in version.main().groups.iter().enumerate() {
        if version.deleted().of(number as Place).is_some_and(|set| set.rows() == group.rows as usize) {
            continue;
        }
        let rows = group.rows as usize;
        plan.rows += rows as u64;
        let bounds = |column: usize| bounds(version, group, column, dictionaries);
        let is_refuted = filters.iter().any(|filter| refuted(&filter.condition, &bounds))
            || key_ranges.iter().any(|&(column, range)| bounds(column).is_some_and(|bounds| bounds.excludes(range)));
        if is_refuted {
            plan.groups_pruned += 1;
            plan.rows_pruned += rows as u64;
            continue;
        }
        let starts = (0..rows).step_by(MORSEL_ROWS);
        plan.morsels.extend(
            starts.map(|start| Morsel::Main(group.clone(), number as Place, start..rows.min(start + MORSEL_ROWS))),
        );
    }
    let mut first = 0;
    for DeltaChunk { chunk, .. } in version.delta().chunks() {
        plan.rows += chunk.len() as u64;
        plan.morsels.push(Morsel::Delta(chunk.clone(), first));
        first += chunk.len();
    }
    plan
}

/// Bounds of a column in a row group.
fn bounds(version: &TableVersion, group: &RowGroup, column: usize, dictionaries: &Dictionaries) -> Option<Bounds> {
    // Row ids have none.
    let segment = group.segments.get(column)?;
    let ty = &version.row_type()[column];
    let (nulls, rows) = (Some(segment.nulls()), group.rows as u64);
    let range = segment.range();
    let (min, max) = match ty.physical {
        PhysicalType::Str => {
            let all_codes = segment.parts.iter().all(|part| part.has_codes());
            let dictionary = dictionaries.get(column).filter(|_| all_codes);
            let text = |code: i128| {
                let string = dictionary?.get(u32::try_from(code).ok()?);
                Some(ScalarValue::Utf8View(Some(String::from_utf8(string.to_vec()).ok()?)))
            };
            (range.and_then(|range| text(range.min)), range.and_then(|range| text(range.max)))
        }
        // What is kept of them are bytes, whose order is of no use to a filter.
        PhysicalType::Nested => (None, None),
        _ => {
            let value = |integer: i128| scalar_from_integer(integer, &ty.logical);
            (range.and_then(|range| value(range.min)), range.and_then(|range| value(range.max)))
        }
    };
    Some(Bounds { min, max, nulls, rows })
}
