//! Samples of tables, read shortly before a filter is first tried on them.
//!
//! ```text
//! row groups ─pick─▶ 16 windows, evenly spread; every n-th row of each, on average: 8,192 rows in all
//! filter ─▶ its columns, read for these rows and kept ─▶ the engine's own predicates ─▶ rows that pass
//! ```
//!
//! Windows keep it cheap: each costs reading one page of a file, or one block of a table. A table with only a few
//! windows' worth of rows is sampled as a whole; the result of a filter on it is then known for certain, including its
//! keys.
//!
//! The bytes read are accounted for, and bounded for each table. Planning continues without a sample if memory is short
//! or anything fails: the query itself will report it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use godwit_common::MemoryTag;
use godwit_expression::{PlanContext, Predicate};
use godwit_memory::{BufferManager, Reservation};
use godwit_plan::{ColumnId, Expr, SampleCount, TableSample};
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{CHUNK_ROWS, Chunk, PhysicalType, Vector};
use parking_lot::Mutex;

use crate::scan::Table;
use crate::scan_filter::Conjunct;

/// Rows of the sample of a large table: a filter that lets one in a hundred rows pass is estimated to within a tenth.
const SAMPLE_ROWS: usize = 8192;

/// Windows of a large table: each costs reading one page per column.
const WINDOWS: usize = 16;

/// Maximum span, in rows, from the first to the last sampled row of a window: a page holds that many strings of a
/// hundred bytes.
const WINDOW_ROWS_MAX: usize = 8192;

/// Tables with no more rows than the windows together are sampled as a whole: a filter then takes about a millisecond,
/// once. TPC-DS's 73,049 dates are among them; facts have dates of the last few years only, so that statistics alone
/// underestimate the rows that a filter on dates keeps by a factor of 40.
const WHOLE_ROWS_MAX: usize = WINDOWS * WINDOW_ROWS_MAX;

/// Maximum size of the sample of one table, in bytes.
const SAMPLE_BYTES_MAX: usize = 8 << 20;

/// Filters whose counts are remembered: a query asks for the same one several times.
const REMEMBERED_FILTERS: usize = 32;

/// Rows that passed are remembered, too, if there are no more than this.
const REMEMBERED_ROWS: usize = 8192;

/// Rows of a part (a row group) that are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledRows {
    /// Number of the part.
    pub part: usize,
    /// Rows of the part.
    pub rows: Range<usize>,
    /// One of this many of them is taken.
    pub step: usize,
}

impl SampledRows {
    /// The sampled rows, counted from the start of the range, ascending. Not every n-th row, but a random one of every
    /// n: otherwise periodic values could make up all of the sample, or none of it.
    pub fn positions(&self) -> Vec<u32> {
        let any_of = |start: usize| {
            let mixed = ((self.rows.start + start) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            start + mixed as usize % self.step.min(self.rows.len() - start)
        };
        (0..self.rows.len()).step_by(self.step).map(|start| any_of(start) as u32).collect()
    }
}

/// The rows to sample of a table whose parts have these numbers of rows: in the order of the table, each row at most
/// once.
pub fn pick_sample(parts: &[usize]) -> Vec<SampledRows> {
    let rows: usize = parts.iter().sum();
    let all = parts.iter().enumerate().filter(|part| *part.1 > 0);
    if rows <= WHOLE_ROWS_MAX {
        return all.map(|(part, &rows)| SampledRows { part, rows: 0..rows, step: 1 }).collect();
    }
    let mut windows: Vec<SampledRows> = Vec::with_capacity(WINDOWS);
    let (mut part, mut before) = (0, 0);
    for window in 0..WINDOWS {
        // The window is in the middle of its section of the table.
        let first = (rows * (2 * window + 1) / WINDOWS - WINDOW_ROWS_MAX) / 2;
        while first >= before + parts[part] {
            before += parts[part];
            part += 1;
        }
        let first = (first - before).min(parts[part].saturating_sub(WINDOW_ROWS_MAX));
        let taken = windows.last().filter(|last| last.part == part).map_or(0, |last| last.rows.end);
        let range = first.max(taken)..(first + WINDOW_ROWS_MAX).min(parts[part]);
        if !range.is_empty() {
            let step = range.len().div_ceil(SAMPLE_ROWS / WINDOWS);
            windows.push(SampledRows { part, rows: range, step });
        }
    }
    windows
}

/// Values of sampled rows in buffers of their own, so that they don't keep alive the pages that they were read from.
pub fn sampled_values(pieces: &[Vector]) -> Option<Vector> {
    let can_be_kept = pieces.first()?.physical() != PhysicalType::Nested;
    can_be_kept.then(|| concatenated(pieces))
}

/// The sample of a table, whose columns are read as filters and joins ask for them.
pub struct SampledTable {
    table: Arc<dyn Table>,
    /// Number of rows of the table, including deleted ones that take part in [`pick_sample`].
    rows: u64,
    memory: BufferManager,
    columns: Vec<OnceLock<Option<Vector>>>,
    reservation: Mutex<Option<Reservation>>,
    known: Mutex<Vec<(Asked, Arc<Passed>)>>,
}

/// Filters that have been tried.
#[derive(PartialEq)]
struct Asked {
    filters: Vec<Expr>,
    /// The columns that they use, with their positions in the table.
    columns: Vec<(ColumnId, usize)>,
}

/// The rows that passed a filter.
struct Passed {
    /// Rows of the sample, ascending, unless there are too many to be remembered.
    selected: Option<Vec<u32>>,
    count: SampleCount,
}

impl SampledTable {
    /// The sample of a table of `rows` rows.
    pub fn new(table: Arc<dyn Table>, rows: u64, memory: &BufferManager) -> Self {
        let columns = table.row_type().iter().map(|_| OnceLock::new()).collect();
        let memory = memory.clone();
        Self { table, rows, memory, columns, reservation: Mutex::default(), known: Mutex::default() }
    }

    fn column(&self, column: usize) -> Option<Vector> {
        let has_room = || self.memory.available_bytes() >= self.memory.memory_limit() / 2;
        if self.columns[column].get().is_none() && !has_room() {
            return None;
        }
        self.columns[column].get_or_init(|| self.read_column(column)).clone()
    }

    fn read_column(&self, column: usize) -> Option<Vector> {
        let values = self.table.sample(column, &self.memory).ok()??;
        let bytes = bytes_of(&values);
        let mut reservation = self.reservation.lock();
        match &mut *reservation {
            Some(held) if held.bytes() + bytes > SAMPLE_BYTES_MAX => return None,
            Some(held) => held.resize(held.bytes() + bytes).ok()?,
            none => *none = Some(self.memory.try_reserve(bytes, MemoryTag::Other)?),
        }
        Some(values)
    }

    fn passed(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<Arc<Passed>> {
        if filters.iter().any(Expr::has_subquery) {
            return None;
        }
        let is_used = |column: ColumnId| filters.iter().any(|filter| filter.columns().contains(column));
        let columns = columns.iter().copied().filter(|&(column, _)| is_used(column)).collect();
        let asked = Asked { filters: filters.to_vec(), columns };
        if let Some((_, passed)) = self.known.lock().iter().find(|(known, _)| *known == asked) {
            return Some(passed.clone());
        }
        let passed = Arc::new(self.evaluate(&asked)?);
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED_FILTERS {
            known.remove(0);
        }
        known.push((asked, passed.clone()));
        Some(passed)
    }

    fn evaluate(&self, asked: &Asked) -> Option<Passed> {
        let (types, context) = (self.table.row_type(), PlanContext::default());
        let conjuncts = Conjunct::of_plan(&asked.filters, &asked.columns, types, &context).ok()?;
        let predicate = Predicate::new(conjuncts.into_iter().map(|conjunct| conjunct.expression).collect());
        let used = predicate.columns_used();
        if used.is_empty() {
            return None;
        }
        let columns: Vec<Vector> = used.iter().map(|&column| self.column(column)).collect::<Option<_>>()?;
        let rows = columns[0].len();
        let all = Chunk::new(columns, rows);
        let position = |column: usize| used.binary_search(&column).expect("columns used are ascending");
        let mut worker = predicate.remap_columns(&position).worker();
        let mut selected = Vec::new();
        for start in (0..rows).step_by(CHUNK_ROWS) {
            let chunk = all.slice(start, CHUNK_ROWS.min(rows - start));
            match worker.rows(&chunk).ok()? {
                Some(passing) => selected.extend(passing.into_iter().map(|row| row + start as u32)),
                None => selected.extend(start as u32..(start + chunk.len()) as u32),
            }
        }
        let count = SampleCount { passing: selected.len() as u64, rows: rows as u64 };
        Some(Passed { selected: Some(selected).filter(|rows| rows.len() <= REMEMBERED_ROWS), count })
    }
}

impl TableSample for SampledTable {
    fn passing(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<SampleCount> {
        Some(self.passed(filters, columns)?.count)
    }

    fn keys(&self, filters: &[Expr], columns: &[(ColumnId, usize)], column: usize) -> Option<Vec<i64>> {
        if !matches!(self.table.row_type()[column].physical, PhysicalType::I32 | PhysicalType::I64) {
            return None;
        }
        let values = match filters {
            [] if self.is_whole() && self.rows > REMEMBERED_ROWS as u64 => return None,
            [] => self.column(column)?,
            filters => {
                let passed = self.passed(filters, columns)?;
                self.column(column)?.take(passed.selected.as_ref()?)
            }
        };
        let flat = values.to_flat();
        let valid = (0..values.len()).filter(|&row| values.is_valid(row));
        Some(match flat.physical() {
            PhysicalType::I32 => valid.map(|row| i64::from(flat.values::<i32>()[row])).collect(),
            _ => valid.map(|row| flat.values::<i64>()[row]).collect(),
        })
    }

    fn distinct(&self, column: usize) -> Option<u64> {
        self.table.distinct(column, &self.memory).ok()?
    }

    fn will_be_asked(&self, columns: &[usize]) {
        self.table.announce_sample(columns);
    }

    fn is_unread(&self, column: usize) -> bool {
        self.columns[column].get().is_none()
    }

    fn read(&self, column: usize) {
        self.column(column);
    }

    fn is_whole(&self) -> bool {
        self.rows <= WHOLE_ROWS_MAX as u64
    }
}

/// The approximate memory of values.
fn bytes_of(values: &Vector) -> usize {
    let fixed = values.len() * values.physical().width_bytes();
    match values.physical() {
        PhysicalType::Str => fixed + values.to_flat().strings().iter().map(<[u8]>::len).sum::<usize>(),
        _ => fixed,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn samples_are_spread_over_the_table(parts in prop::collection::vec(0usize..300_000, 0..40)) {
            let rows: usize = parts.iter().sum();
            let picked = pick_sample(&parts);
            let sampled: usize = picked.iter().map(|sampled| sampled.positions().len()).sum();
            let is_within = |sampled: &SampledRows| sampled.rows.end <= parts[sampled.part] && !sampled.rows.is_empty();
            prop_assert!(picked.iter().all(is_within));
            let is_behind = |pair: &[SampledRows]| {
                let end = (pair[0].part, pair[0].rows.end);
                end <= (pair[1].part, pair[1].rows.start)
            };
            prop_assert!(picked.windows(2).all(is_behind));
            if rows <= WHOLE_ROWS_MAX {
                prop_assert_eq!(sampled, rows);
            } else {
                prop_assert!(sampled <= SAMPLE_ROWS + parts.len());
                // Windows at the ends of parts are cut short, or moved.
                prop_assert!(rows < 4_000_000 || sampled >= SAMPLE_ROWS / 4, "{sampled} of {rows}");
            }
        }
    }
}
