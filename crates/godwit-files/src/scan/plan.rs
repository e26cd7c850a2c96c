//! The rows to read, and their division into morsels.
//!
//! ```text
//! row groups ──bounds──▶ those that may have rows ──page bounds──▶ ranges of rows ──▶ morsels, cut at page boundaries
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::ScanPlan;
use super::long_values::LongValues;
use super::row_group::RowGroupState;
use crate::config::{LARGE_PAGES_PER_LIMIT, MORSEL_ROWS_MAX, MORSEL_ROWS_MIN, MORSELS_PER_WORKER};
use crate::footer::{ChunkLocation, ParquetFile};
use crate::page::{DICTIONARIES_AHEAD, PageReader};
use crate::statistics::page_bounds;
use crate::table::{ParquetTable, TableFile};
use godwit_pipeline::scan_filter::{Bounds, Pruning, refuted};
use godwit_pipeline::{Planned, QueryContext, Table};

/// A unit of work: some rows of a row group.
pub(crate) struct Morsel {
    /// File of the table.
    pub file: usize,
    /// Row group of the file.
    pub row_group: usize,
    /// Rows of the row group.
    pub rows: Range<usize>,
    /// State shared by the morsels of the row group.
    pub state: Arc<RowGroupState>,
}

impl ScanPlan {
    /// Returns the morsels of the row group that contains morsel `number`.
    pub(super) fn row_group_of(&self, number: usize) -> &[Morsel] {
        let is_in = |morsel: &&Morsel| Arc::ptr_eq(&morsel.state, &self.morsels[number].state);
        let before = self.morsels[..number].iter().rev().take_while(is_in).count();
        let from_here = self.morsels[number..].iter().take_while(is_in).count();
        &self.morsels[number - before..number + from_here]
    }
}

/// Returns where a column's dictionaries are in the row groups of the same file that are read after that of morsel
/// `number`. The first row group has none, as a query may end there, nor has one with fewer morsels than `workers`: they
/// read the next row groups at the same time.
pub(super) fn later_dictionaries(
    table: &ParquetTable,
    morsels: &[Morsel],
    number: usize,
    workers: usize,
    column: usize,
) -> Vec<Range<u64>> {
    let this = &morsels[number];
    let file = &table.files()[this.file];
    let is_of_this = |morsel: &&Morsel| Arc::ptr_eq(&morsel.state, &this.state);
    let is_shared = morsels[number..].iter().take_while(is_of_this).nth(workers - 1).is_some();
    let Some(column) = file.column(column).filter(|_| is_shared && !is_of_this(&&morsels[0])) else {
        return Vec::new();
    };
    let later = morsels[number..].windows(2).filter(|pair| !Arc::ptr_eq(&pair[0].state, &pair[1].state));
    let later = later.map(|pair| &pair[1]).take(DICTIONARIES_AHEAD).take_while(|morsel| morsel.file == this.file);
    later.filter_map(|morsel| file.file.later_dictionary(this.row_group, morsel.row_group, column)).collect()
}

/// Returns where columns of the table are, for the rows of some morsels of one row group.
pub(super) fn bytes_of(table: &ParquetTable, morsels: &[Morsel], columns: &[usize]) -> Vec<Range<u64>> {
    let (file, row_group) = (&table.files()[morsels[0].file], morsels[0].row_group);
    let stored = columns.iter().filter_map(|&column| file.column(column));
    let chunks = stored.map(|column| file.file.chunk(row_group, column));
    let of_chunk = |chunk: ChunkLocation| {
        let dictionary = chunk.pages.as_ref().map(|pages| chunk.start..pages[0].offset);
        let rows = morsels.iter().map(|morsel| {
            let bytes = PageReader::bytes_of(&chunk, morsel.rows.clone());
            // A cached dictionary says nothing about the pages behind it.
            dictionary.as_ref().map_or(bytes.start, |dictionary| dictionary.end.max(bytes.start))..bytes.end
        });
        dictionary.clone().into_iter().chain(rows).collect::<Vec<_>>()
    };
    chunks.flatten().flat_map(of_chunk).collect()
}

/// Plans the scan of those files of a table that are wanted. `columns` are those to read, the most selective first.
pub(crate) fn plan(
    table: &ParquetTable,
    (pruning, is_wanted): (&Pruning<'_>, &[bool]),
    columns: &[usize],
    query: &QueryContext,
) -> Planned<ScanPlan> {
    let workers = query.settings.workers;
    let mut morsels = Vec::new();
    let (mut groups_pruned, mut rows_pruned) = (0, 0);
    let rows = table.files().iter().flat_map(|file| &file.file.row_group_rows).sum::<usize>();
    let morsel_rows = (rows / (workers * MORSELS_PER_WORKER)).clamp(MORSEL_ROWS_MIN, MORSEL_ROWS_MAX);
    let all_groups: usize = table.files().iter().map(|file| file.file.row_group_rows.len()).sum();
    for (index, file) in table.files().iter().enumerate() {
        for (row_group, &rows) in file.file.row_group_rows.iter().enumerate() {
            let bounds = |column: usize| file.bounds(column).map(|bounds| bounds.get(row_group));
            if rows == 0 || !is_wanted[index] || pruning.refutes(&bounds) {
                groups_pruned += 1;
                rows_pruned += rows;
                continue;
            }
            let ranges = page_ranges(file, row_group, pruning);
            rows_pruned += rows - ranges.iter().map(Range::len).sum::<usize>();
            let cuts = cuts(file, row_group, columns, all_groups, workers);
            let pieces: Vec<Range<usize>> =
                ranges.into_iter().flat_map(|range| cut(range, &cuts, morsel_rows)).collect();
            let state = Arc::new(RowGroupState::new(table.row_type().len(), pieces.len()));
            morsels.extend(pieces.into_iter().map(|rows| Morsel {
                file: index,
                row_group,
                rows,
                state: state.clone(),
            }));
        }
    }
    let (rows, rows_pruned) = (rows as u64, rows_pruned as u64);
    let fitting = workers_with_large_pages(table, &morsels, columns, query.memory.memory_limit());
    let workers_max = morsels.len().min(fitting);
    Planned { plan: ScanPlan { morsels }, workers_max, rows, rows_pruned, groups: all_groups, groups_pruned }
}

/// Returns how many workers may hold pages of these columns at once, if some pages are large for the memory limit: they
/// are decompressed as a whole.
fn workers_with_large_pages(table: &ParquetTable, morsels: &[Morsel], columns: &[usize], limit_bytes: u64) -> usize {
    let page_bytes = |morsel: &Morsel| {
        let file = &table.files()[morsel.file];
        let columns = columns.iter().filter_map(|&column| file.column(column));
        columns.map(|column| LongValues::page_bytes_max(&file.file, morsel.row_group, column)).sum::<u64>()
    };
    let first_of_groups = morsels.chunk_by(|a, b| Arc::ptr_eq(&a.state, &b.state)).map(|group| &group[0]);
    let worker_bytes = first_of_groups.map(page_bytes).max().unwrap_or(0);
    let share_bytes = limit_bytes / LARGE_PAGES_PER_LIMIT;
    usize::try_from(share_bytes.checked_div(worker_bytes).unwrap_or(u64::MAX)).unwrap_or(usize::MAX).max(1)
}

/// Returns the rows of a row group in pages that can't be pruned, as ascending ranges.
fn page_ranges(file: &TableFile, row_group: usize, pruning: &Pruning<'_>) -> Vec<Range<usize>> {
    let rows = file.file.row_group_rows[row_group];
    let mut ranges = vec![Range { start: 0, end: rows }];
    let mut restrict = |column: usize, is_refuted: &dyn Fn(&Bounds) -> bool| {
        let of_pages = file.column(column).and_then(|column| page_bounds(&file.file, row_group, column));
        let Some((bounds, starts)) = of_pages else { return };
        let ends = starts.iter().skip(1).copied().chain([rows]);
        let kept = starts.iter().zip(ends).enumerate().filter(|(page, _)| !is_refuted(&bounds.get(*page)));
        ranges = intersect(&ranges, kept.map(|(_, (&start, end))| start..end));
    };
    for filter in pruning.filters {
        if let [column] = filter.expression.columns_used()[..] {
            restrict(column, &|bounds| refuted(&filter.condition, &|_| Some(bounds.clone())));
        }
    }
    for &(column, range) in &pruning.key_ranges {
        restrict(column, &|bounds| bounds.excludes(range));
    }
    ranges
}

/// Returns the intersection of both; adjacent ranges are joined.
fn intersect(ranges: &[Range<usize>], others: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    let mut push = |range: Range<usize>| match joined.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ if range.is_empty() => {}
        _ => joined.push(range),
    };
    for other in others {
        for range in ranges {
            push(range.start.max(other.start)..range.end.min(other.end).max(range.start.max(other.start)));
        }
    }
    joined
}

/// Returns the rows at which a row group may be cut.
fn cuts(file: &TableFile, row_group: usize, columns: &[usize], all_groups: usize, workers: usize) -> Vec<usize> {
    let rows = file.file.row_group_rows[row_group];
    let stored: Vec<usize> = columns.iter().filter_map(|&column| file.column(column)).collect();
    if let Some(starts) = stored.iter().find_map(|&column| page_starts(&file.file, row_group, column)) {
        return starts;
    }
    // Page boundaries are unknown, or there are no pages: a page that is cut is decompressed twice. Row groups are only
    // cut if there are too few for the workers.
    let pieces = if stored.is_empty() { rows.div_ceil(MORSEL_ROWS_MIN) } else { (2 * workers).div_ceil(all_groups) };
    let step = rows.div_ceil(pieces.max(1)).max(MORSEL_ROWS_MIN);
    (0..rows).step_by(step).collect()
}

fn page_starts(file: &ParquetFile, row_group: usize, column: usize) -> Option<Vec<usize>> {
    Some(file.chunk(row_group, column).ok()?.pages?.iter().map(|page| page.first_row).collect())
}

/// Cuts a range at the first cut after every `morsel_rows` rows.
fn cut(range: Range<usize>, cuts: &[usize], morsel_rows: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    for &cut in cuts.iter().filter(|&&cut| range.start < cut && cut < range.end) {
        if cut - start >= morsel_rows {
            pieces.push(start..cut);
            start = cut;
        }
    }
    pieces.push(start..range.end);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_intersect_and_join() {
        let kept = intersect(&[0..10, 20..30], [0..5, 5..22, 29..40].into_iter());
        assert_eq!(kept, [0..10, 20..22, 29..30]);
        assert!(intersect(&[0..10, 12..30], std::iter::once(10..12)).is_empty());
    }

    #[test]
    fn cuts_follow_pages_and_cover_everything() {
        let pages: Vec<usize> = (0..500_000).step_by(20_480).collect();
        let pieces = cut(1000..450_000, &pages, 80_000);
        assert_eq!(pieces.first().map(|p| p.start), Some(1000));
        assert_eq!(pieces.last().map(|p| p.end), Some(450_000));
        assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start && pages.contains(&pair[0].end)));
        assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.len() >= 80_000));
    }
}
