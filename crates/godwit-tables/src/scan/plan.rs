//! Decides which row groups are read, and in which pieces.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::QueryContext;
use godwit_pipeline::scan_filter::{Bounds, Condition, Conjunct, Pruning, refuted};
use godwit_storage::table::{RowGroup, WINDOW_ROWS, WindowSet};
use godwit_types::Value;
use godwit_vector::sql::sql_type;
use godwit_vector::{Chunk, PhysicalType, ValueRange};

use super::packed;
use super::reader::Dictionaries;
use crate::deleted::Place;
use crate::delta::DeltaChunk;
use crate::version::TableVersion;

/// Rows of a morsel: half a row group, so that two workers finish together.
const MORSEL_ROWS: usize = 65_536;

/// Maximum number of indexes that a scan builds, each in one to two milliseconds.
const INDEXES_BUILT_MAX: usize = 4;

/// Bounds of windows are asked for if at most this many row groups are left: in more, the wanted values are likely to be
/// everywhere. One thread reads them while the scan is planned, which takes one to two milliseconds for four.
const NARROWED_GROUPS_MAX: usize = 4;

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

    /// Its row group, if it is of the main part.
    pub(super) fn group(&self) -> Option<Place> {
        match self {
            Morsel::Main(_, group, _) => Some(*group),
            Morsel::Delta(..) => None,
        }
    }
}

/// What a scan's filters tell about rows without their values.
pub(super) struct Criteria<'a> {
    version: &'a TableVersion,
    dictionaries: &'a Dictionaries,
    /// Columns with the range that their integers have to be in.
    ranges: Vec<(usize, ValueRange)>,
    /// What else filters require.
    others: Vec<&'a Condition>,
}

impl<'a> Criteria<'a> {
    /// `of_filters` are columns with the range of their integers that all rows are in which pass their filters.
    pub(super) fn new(
        version: &'a TableVersion,
        dictionaries: &'a Dictionaries,
        pruning: &Pruning<'a>,
        of_filters: &[(usize, ValueRange)],
    ) -> Self {
        let mut ranges: Vec<_> = of_filters.iter().chain(&pruning.key_ranges).copied().collect();
        let mut others = Vec::new();
        for Conjunct { condition, .. } in pruning.filters {
            match packed::range_of_comparison(condition, version.scan_type()) {
                Some(range) if ranges.contains(&range) => {}
                Some(range) => ranges.push(range),
                None => others.push(condition),
            }
        }
        Self { version, dictionaries, ranges, others }
    }

    /// True if bounds show that none of these rows of a row group passes.
    fn refute(&self, group: &RowGroup, rows: &Range<usize>) -> bool {
        let bounds = |column: usize| bounds(self.version, group, column, rows, self.dictionaries);
        self.ranges.iter().any(|&(column, wanted)| excludes(group, column, rows, wanted))
            || self.others.iter().any(|condition| refuted(condition, &bounds))
    }
}

/// Consecutive rows of a row group that may pass.
struct Piece {
    /// Number of the row group.
    group: usize,
    rows: Range<usize>,
}

/// The rows of a table's main part that a scan has to read, fewer with each move.
pub(super) struct ScanPlan {
    /// In ascending order.
    pieces: Vec<Piece>,
    /// Row groups with rows that aren't deleted.
    pub groups: usize,
    /// The rows of these row groups.
    pub rows: usize,
}

impl ScanPlan {
    /// All rows but those of row groups that bounds refute.
    pub(super) fn new(criteria: &Criteria<'_>) -> Self {
        let version = criteria.version;
        let mut plan = Self { pieces: Vec::new(), groups: 0, rows: 0 };
        for (number, group) in version.main().groups.iter().enumerate() {
            let rows = group.rows as usize;
            if version.deleted().of(number as Place).is_some_and(|set| set.rows() == rows) {
                continue;
            }
            plan.groups += 1;
            plan.rows += rows;
            if !criteria.refute(group, &(0..rows)) {
                plan.pieces.push(Piece { group: number, rows: 0..rows });
            }
        }
        plan
    }

    /// Rows that are left.
    pub(super) fn rows_left(&self) -> usize {
        self.pieces.iter().map(|piece| piece.rows.len()).sum()
    }

    /// Trims windows from the ends of pieces that have no integer, or code, in the `wanted` range of a column, if few row
    /// groups are left.
    pub(super) fn narrow(
        &mut self,
        version: &TableVersion,
        column: usize,
        wanted: ValueRange,
        memory: &BufferManager,
    ) -> Result<()> {
        if self.pieces.len() > NARROWED_GROUPS_MAX {
            return Ok(());
        }
        for piece in &mut self.pieces {
            let Some(segment) = version.main().groups[piece.group].segments.get(column) else { continue };
            if let Some(ranges) = segment.window_ranges(memory)? {
                piece.rows = ranges.rows_within(piece.rows.clone(), wanted);
            }
        }
        self.pieces.retain(|piece| !piece.rows.is_empty());
        Ok(())
    }

    /// Leaves the windows in which some row may have one of these hashes in columns that are [looked
    /// up](TableVersion::looked_up).
    pub(super) fn look_up(
        &mut self,
        version: &TableVersion,
        columns: &[usize],
        hashes: &[u64],
        query: &QueryContext,
    ) -> Result<()> {
        let mut builds_left = INDEXES_BUILT_MAX;
        for Piece { group, rows } in std::mem::take(&mut self.pieces) {
            query.cancel.check()?;
            let windows = version.windows_of(group, columns, hashes, &mut builds_left)?;
            self.pieces.extend(runs_of(windows, &rows).into_iter().map(|rows| Piece { group, rows }));
        }
        Ok(())
    }

    /// What is left, cut into morsels, and the rows of the delta.
    pub(super) fn morsels(&self, criteria: &Criteria<'_>) -> Vec<Morsel> {
        let mut morsels = Vec::new();
        for Piece { group: number, rows } in &self.pieces {
            let group = &criteria.version.main().groups[*number];
            for start in (0..rows.end).step_by(MORSEL_ROWS) {
                let rows = rows.start.max(start)..rows.end.min(start + MORSEL_ROWS);
                // Parts have bounds of their own; those of whole row groups were looked at.
                if !rows.is_empty() && (rows.len() == group.rows as usize || !criteria.refute(group, &rows)) {
                    morsels.push(Morsel::Main(group.clone(), *number as Place, rows));
                }
            }
        }
        let mut first = 0;
        for DeltaChunk { chunk, .. } in criteria.version.delta().chunks() {
            morsels.push(Morsel::Delta(chunk.clone(), first));
            first += chunk.len();
        }
        morsels
    }
}

/// The rows that are in these windows, as ranges of consecutive windows.
fn runs_of(windows: WindowSet, rows: &Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for window in (rows.start / WINDOW_ROWS..rows.end.div_ceil(WINDOW_ROWS)).filter(|&it| windows.contains(it)) {
        let start = rows.start.max(window * WINDOW_ROWS);
        let end = rows.end.min((window + 1) * WINDOW_ROWS);
        match runs.last_mut().filter(|run| run.end == start) {
            Some(run) => run.end = end,
            None => runs.push(start..end),
        }
    }
    runs
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
