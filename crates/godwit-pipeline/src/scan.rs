//! The interface of tables to the executor.

mod columns;
mod driver;
mod window;

use std::sync::{Arc, OnceLock};

use godwit_common::Result;
use godwit_expression::{Expression, TextDomain};
use godwit_memory::BufferManager;
use godwit_vector::{RowType, ValueRange, Vector};

use crate::QueryContext;
use crate::key_filter::KeyFilter;
use crate::pipeline::Source;
use crate::scan_filter::{Conjunct, Pruning};

pub use columns::{ColumnCounts, ColumnReads, ScannedColumn};
pub use driver::{MorselReader, MorselRows, Planned, Readable, Scan, ScanTask, WindowRows};

/// A table that can be scanned. Implemented by the file readers; reached from the catalog through a [`TableHandle`].
pub trait Table: Send + Sync {
    /// Types of all of the table's columns, with the ranges that its statistics prove.
    fn row_type(&self) -> &RowType;

    /// A source of the requested columns of the rows that pass the filters.
    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>>;

    /// The domain of a text column if scans emit it as vectors of one ordered dictionary, so that its codes cost
    /// nothing.
    fn text_codes(&self, _column: usize) -> Result<Option<Arc<TextDomain>>> {
        Ok(None)
    }

    /// The domain of a text column, if its values are few and cheap to find out. Bytes read for that are charged to
    /// `memory`.
    fn text_domain(&self, column: usize, _memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
        self.text_codes(column)
    }

    /// The estimated number of distinct values of a column, not counting NULL, if that takes reading to find out. The
    /// table remembers it; bytes read are charged to `memory`.
    fn distinct(&self, _column: usize, _memory: &BufferManager) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The values of a column in the rows of the table's sample, which are always the same
    /// ([`pick_sample`](crate::pick_sample)), in buffers of their own; `None` if there is no sample of this column.
    fn sample(&self, _column: usize, _memory: &BufferManager) -> Result<Option<Vector>> {
        Ok(None)
    }

    /// Announces that [`Table::distinct`] and [`Table::sample`] may be called for these columns, in case they read
    /// remote data.
    fn announce_sample(&self, _columns: &[usize]) {}
}

/// The form in which the catalog, which knows nothing about execution, carries a [`Table`].
#[derive(Clone)]
pub struct TableHandle(pub Arc<dyn Table>);

/// What to read.
pub struct ScanRequest {
    /// Name for `EXPLAIN`.
    pub name: String,
    /// Columns of the table to emit, in this order. May be empty if only row counts matter.
    pub columns: Vec<usize>,
    /// Conjuncts over the table's columns; only rows where all are TRUE are emitted. Their columns need not be among
    /// `columns`.
    pub filters: Vec<Conjunct>,
    /// Filters on emitted columns that arrive from joins before the scan starts.
    pub join_filters: Vec<ScanFilter>,
    /// The number of rows that suffices, if only a few are needed (a hint: more may be emitted).
    pub limit: Option<usize>,
}

impl ScanRequest {
    /// The criteria for pruning rows. Known once the filters of joins are.
    pub fn pruning(&self) -> Pruning<'_> {
        let filters = self.join_filters.iter();
        let ranges = filters.clone().filter_map(|filter| Some((self.columns[filter.column], filter.range()?)));
        let hashes = filters.filter_map(|filter| Some((self.columns[filter.column], filter.hashes()?)));
        Pruning { filters: &self.filters, key_ranges: ranges.collect(), key_hashes: hashes.collect() }
    }
}

/// A slot for a filter from the build side of a join, filled before the probe-side scan starts, or left empty.
#[derive(Clone)]
pub struct ScanFilter {
    /// Index into [`ScanRequest::columns`].
    pub column: usize,
    /// The key of the filter, over a chunk with only that column; `None`: the column's values.
    pub key: Option<Expression>,
    /// The filter, once the build is done. A row may be dropped if `KeyFilter` excludes its key.
    pub filter: Arc<OnceLock<Arc<KeyFilter>>>,
}

impl ScanFilter {
    /// Bounds of the column's values in rows that may pass, if they are known: before the scan starts.
    pub fn range(&self) -> Option<ValueRange> {
        self.filter.get().filter(|_| self.key.is_none())?.range()
    }

    /// The hashes of the column's values in rows that may pass, if they are few and known.
    fn hashes(&self) -> Option<Vec<u64>> {
        self.filter.get().filter(|_| self.key.is_none())?.hashes()
    }
}
