//! Columns whose values in one chunk's rows are too large to be held at once.

use std::ops::Range;

use crate::config::{LONG_VALUE_BYTES, WINDOW_VALUES_BYTES_MAX};
use crate::footer::{PageSpan, ParquetFile};

/// A column of texts or of nested values in a row group.
pub(super) struct LongValues {
    /// Data pages, if the file has an offset index.
    pages: Option<Vec<PageSpan>>,
    /// Rows of the row group.
    rows: usize,
    /// Decompressed bytes per byte of the file.
    ratio: f64,
    /// Mean decompressed size of the values per row.
    row_bytes: f64,
}

impl LongValues {
    /// Returns the column, if the values of `window_rows` rows among `rows` may be too large.
    pub(super) fn new(
        file: &ParquetFile,
        row_group: usize,
        column: usize,
        rows: &Range<usize>,
        window_rows: usize,
    ) -> Option<Self> {
        if !file.is_of_any_length(row_group, column) {
            return None;
        }
        let location = file.chunk(row_group, column).ok()?;
        let decompressed = file.decompressed_bytes(row_group, column) as f64;
        let column = Self {
            ratio: (decompressed / (location.end - location.start).max(1) as f64).max(1.0),
            row_bytes: decompressed / location.rows.max(1) as f64,
            pages: location.pages,
            rows: location.rows,
        };
        column.is_long(rows, window_rows).then_some(column)
    }

    /// Returns the maximum decompressed size of the column's pages; 0 if its values have ordinary lengths.
    pub(super) fn page_bytes_max(file: &ParquetFile, row_group: usize, column: usize) -> u64 {
        let decompressed_bytes = file.decompressed_bytes(row_group, column);
        let rows = file.row_group_rows[row_group] as u64;
        if !file.is_of_any_length(row_group, column) || decompressed_bytes < LONG_VALUE_BYTES.saturating_mul(rows) {
            return 0;
        }
        let pages = file.chunk(row_group, column).ok().and_then(|location| {
            let pages = location.pages?;
            let largest = pages.iter().map(|page| page.bytes).max()? as f64;
            Some(largest * decompressed_bytes as f64 / (location.end - location.start).max(1) as f64)
        });
        pages.map_or(decompressed_bytes, |bytes| (bytes as u64).min(decompressed_bytes))
    }

    fn is_long(&self, rows: &Range<usize>, window_rows: usize) -> bool {
        let Some(pages) = &self.pages else { return self.rows_max() < window_rows };
        let first = page_of(pages, rows.start);
        let mut in_morsel = (first..pages.len()).take_while(|&page| pages[page].first_row < rows.end);
        in_morsel.any(|page| {
            let rows = (self.page_end(pages, page) - pages[page].first_row).max(1);
            self.page_bytes(&pages[page]) / rows as f64 * window_rows as f64 > WINDOW_VALUES_BYTES_MAX as f64
        })
    }

    /// Returns the number of average rows whose values may be held at once.
    pub(super) fn rows_max(&self) -> usize {
        ((WINDOW_VALUES_BYTES_MAX as f64 / self.row_bytes.max(1.0)) as usize).max(1)
    }

    /// Returns true if only headers tell where the pages of the column are.
    pub(super) fn has_unknown_pages(&self) -> bool {
        self.pages.is_none()
    }

    /// Returns the latest end of a window of rows that begins at `start`.
    pub(super) fn window_end(&self, start: usize) -> usize {
        let Some(pages) = &self.pages else { return start + self.rows_max() };
        let first = page_of(pages, start);
        let mut bytes = 0.0;
        let mut fits = |page: &PageSpan| {
            bytes += self.page_bytes(page);
            bytes <= WINDOW_VALUES_BYTES_MAX as f64
        };
        // A page is decompressed as a whole, whatever its size.
        let last = first + pages[first..].iter().take_while(|page| fits(page)).count().saturating_sub(1);
        self.page_end(pages, last)
    }

    fn page_bytes(&self, page: &PageSpan) -> f64 {
        page.bytes as f64 * self.ratio
    }

    fn page_end(&self, pages: &[PageSpan], page: usize) -> usize {
        pages.get(page + 1).map_or(self.rows, |next| next.first_row)
    }
}

fn page_of(pages: &[PageSpan], row: usize) -> usize {
    pages.partition_point(|page| page.first_row <= row).saturating_sub(1)
}
