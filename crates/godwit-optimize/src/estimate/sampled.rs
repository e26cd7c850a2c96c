//! Evidence from samples: about filters on one table, and about joins with a table whose sample is the whole table.
//!
//! ```text
//! info_type i          i.info = 'genres' leaves one row of 113, for certain, with the key 3
//!   ⨝ i.id = m.info_type_id
//! movie_info m         of the sampled rows with m.info = 'Crime', all have info_type_id = 3: the join keeps them all,
//!                      where independence would have it keep 1 of 113
//! ```
//!
//! One of the two must be the whole table: in two samples, rows that lie side by side in both tables would match too
//! often. Where the other isn't sampled, as the center of a star isn't, the keys are compared with its bounds
//! ([`KnownKeys`]).

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use godwit_plan::{ColumnId, Expr, Node, NodeId, Plan, SampleCount, Scan, TableSample};

use super::column::is_discrete;
use super::config::{HUB_ROWS_MAX, MEASURED_PAIRS_MIN, UNSEEN_ROWS};
use super::{ColumnEstimate, Estimates};

/// Estimates the rows of a table that pass a filter; `estimated` is the number expected from statistics alone.
pub(super) fn rows(count: SampleCount, table_rows: f64, estimated: f64) -> f64 {
    let (passing, rows) = (count.passing as f64, count.rows as f64);
    let found = match is_unseen(count, table_rows) {
        true => estimated.min(table_rows * UNSEEN_ROWS / rows),
        false => table_rows * passing / rows,
    };
    found.max(1.0_f64.min(table_rows))
}

/// Returns true if no row of the sample passes, but others of the table may.
pub(super) fn is_unseen(count: SampleCount, table_rows: f64) -> bool {
    count.passing == 0 && (count.rows as f64) < table_rows
}

/// Keys of a relation in the sample of its table, for the rows that pass the scan's filters.
pub(crate) struct SampledKeys {
    keys: Vec<i64>,
    /// True if these are all keys of the relation.
    is_whole: bool,
    /// True if they are those of all rows of its table.
    is_unfiltered: bool,
}

/// The values of a column in all rows that pass the filters of a scan, in a table whose sample has all rows.
#[derive(Debug)]
pub(super) struct KnownKeys {
    scan: Rc<Scan>,
    position: usize,
    keys: OnceCell<Option<Vec<i64>>>,
}

impl KnownKeys {
    /// Returns the keys of the columns of a scan of which this many rows of the sample pass; none unless these are all
    /// and few.
    pub(super) fn of(scan: &Scan, count: SampleCount) -> Option<impl Fn(usize) -> Rc<Self> + use<>> {
        let is_whole = scan.relation.sample().is_some_and(TableSample::is_whole);
        let scan = (is_whole && count.passing as f64 <= HUB_ROWS_MAX).then(|| Rc::new(scan.clone()))?;
        Some(move |position| Rc::new(Self { scan: Rc::clone(&scan), position, keys: OnceCell::new() }))
    }

    /// Returns the keys, ascending, reading them if no join has asked before; `None` if they can't be told.
    pub(super) fn get(&self) -> Option<&[i64]> {
        let read = || {
            let mut keys = self.scan.relation.sample()?.keys(&self.scan.filters, &self.scan.columns, self.position)?;
            keys.sort_unstable();
            Some(keys)
        };
        self.keys.get_or_init(read).as_deref()
    }
}

/// A column of a scan whose keys are asked for.
#[derive(Clone, Copy)]
pub(crate) struct KeyColumn<'p> {
    scan: &'p Scan,
    sample: &'p dyn TableSample,
    position: usize,
}

impl Estimates {
    /// Reads the columns on which filters will be tried.
    pub(super) fn read_samples_of_filters(&self, scans: &[&Scan]) {
        let mut columns = Vec::new();
        for scan in scans.iter().filter(|scan| !scan.filters.iter().any(Expr::has_subquery)) {
            let Some(sample) = self.sample_of(scan) else { continue };
            let is_used = |column| scan.filters.iter().any(|filter| filter.columns().contains(column));
            let used = scan.columns.iter().filter(|(column, _)| is_used(*column));
            columns.extend(used.map(|&(_, position)| (sample, position)));
        }
        self.read(columns);
    }

    /// Reads columns of samples at once, if there are several to read.
    fn read(&self, columns: Vec<(&dyn TableSample, usize)>) {
        let Some(read_samples) = &self.read_samples else { return };
        let mut unread: Vec<(&dyn TableSample, usize)> = Vec::new();
        for (sample, column) in columns.into_iter().filter(|(sample, column)| sample.is_unread(*column)) {
            // A table that is scanned several times has one sample.
            let is_same = |other: &(&dyn TableSample, usize)| std::ptr::addr_eq(other.0, sample) && other.1 == column;
            if !unread.iter().any(is_same) {
                unread.push((sample, column));
            }
        }
        if unread.len() > 1 {
            read_samples(&unread);
        }
    }

    /// Returns the integer column of a scan with a sample that an expression over a node's rows is.
    pub(crate) fn key_column<'p>(&self, plan: &'p Plan, node: NodeId, key: &Expr) -> Option<KeyColumn<'p>> {
        let (scan, position) = scanned_column(plan, node, key.as_column().filter(|_| is_discrete(&key.ty))?)?;
        Some(KeyColumn { scan, sample: self.sample_of(scan)?, position })
    }

    /// Returns the sampled keys of each column.
    pub(crate) fn keys_of(&self, columns: &[Option<KeyColumn<'_>>]) -> Vec<Option<SampledKeys>> {
        self.read(columns.iter().flatten().map(|column| (column.sample, column.position)).collect());
        columns.iter().map(|column| column.as_ref().and_then(KeyColumn::keys)).collect()
    }
}

impl KeyColumn<'_> {
    /// Returns true if all keys of the column can be known, of a relation with this many rows.
    pub(crate) fn is_known_as_a_whole(&self, rows: f64) -> bool {
        let is_counted = self.scan.rows_enough.is_none() && !self.scan.filters.iter().any(Expr::has_subquery);
        self.sample.is_whole() && is_counted && rows <= HUB_ROWS_MAX
    }

    fn keys(&self) -> Option<SampledKeys> {
        let Self { scan, sample, position } = self;
        let keys = sample.keys(&scan.filters, &scan.columns, *position)?;
        Some(SampledKeys { keys, is_whole: sample.is_whole(), is_unfiltered: scan.filters.is_empty() })
    }
}

impl SampledKeys {
    /// Counts the rows of each key, for a relation whose keys are all known.
    pub(crate) fn counted(&self) -> KeyCounts {
        assert!(self.is_whole, "two samples would be joined");
        let mut rows_of = HashMap::with_capacity(self.keys.len());
        for &key in &self.keys {
            *rows_of.entry(key).or_default() += 1;
        }
        KeyCounts { rows_of, rows: self.keys.len() as f64, is_unfiltered: self.is_unfiltered }
    }
}

/// All keys of a relation, with their numbers of rows.
pub(crate) struct KeyCounts {
    rows_of: HashMap<i64, u32>,
    rows: f64,
    is_unfiltered: bool,
}

impl KeyCounts {
    /// Returns true if each value of another column should be the key of one row: a table's primary key, all of it, and
    /// a column that has no more values.
    pub(crate) fn has_most_of(&self, other: &ColumnEstimate) -> bool {
        self.is_unfiltered && self.rows_of.len() as f64 == self.rows && other.domain_at_most() <= self.rows
    }

    /// Returns the number of values over which pairs of these keys and others spread; `estimated` is the estimate from
    /// statistics. `None` if too few pairs are found to improve on it.
    pub(crate) fn domain_with(&self, other: &SampledKeys, estimated: f64) -> Option<f64> {
        let rows_of = |key| self.rows_of.get(key).map_or(0, |&rows| u64::from(rows));
        let found = other.keys.iter().map(rows_of).sum::<u64>() as f64;
        let combinations = self.rows * other.keys.len() as f64;
        let is_telling = found.max(combinations / estimated) >= MEASURED_PAIRS_MIN;
        is_telling.then(|| (combinations / found.max(UNSEEN_ROWS)).max(1.0))
    }
}

/// Returns the scan that a column comes from and the column's position in the table, if all rows of the scan are rows
/// of the node.
fn scanned_column(plan: &Plan, node: NodeId, column: ColumnId) -> Option<(&Scan, usize)> {
    match plan.node(node) {
        Node::Scan(scan) => {
            let (_, position) = scan.columns.iter().find(|(id, _)| *id == column)?;
            Some((scan, *position))
        }
        Node::Project(project) => {
            let (_, expr) = project.columns.iter().find(|(id, _)| *id == column)?;
            scanned_column(plan, project.input, expr.as_column()?)
        }
        _ => None,
    }
}
