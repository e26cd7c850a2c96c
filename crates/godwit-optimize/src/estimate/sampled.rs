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
//! often.

use std::collections::HashMap;

use godwit_plan::{ColumnId, Expr, Node, NodeId, Plan, SampleCount, Scan, TableSample};

use super::Estimates;
use super::config::{MEASURED_PAIRS_MIN, UNSEEN_ROWS};

/// Estimates the rows of a table that pass a filter; `estimated` is the number expected from statistics alone.
pub(super) fn rows(count: SampleCount, table_rows: f64, estimated: f64) -> f64 {
    let (passing, rows) = (count.passing as f64, count.rows as f64);
    let found = match count.passing {
        0 if count.rows as f64 == table_rows => 0.0,
        0 => estimated.min(table_rows * UNSEEN_ROWS / rows),
        _ => table_rows * passing / rows,
    };
    found.max(1.0_f64.min(table_rows))
}

/// Keys of a relation in the sample of its table, for the rows that pass the scan's filters.
pub(crate) struct SampledKeys {
    keys: Vec<i64>,
    /// True if these are all keys of the relation.
    pub(crate) is_whole: bool,
}

impl Estimates {
    /// Returns true if an expression over a node's rows is a column of a table whose sample has all its rows.
    pub(crate) fn is_sampled_as_a_whole(&self, plan: &Plan, node: NodeId, key: &Expr) -> bool {
        let scanned = key.as_column().and_then(|column| scanned_column(plan, node, column));
        scanned.and_then(|(scan, _)| self.sample_of(scan)).is_some_and(TableSample::is_whole)
    }
}

impl SampledKeys {
    /// Returns the sampled keys of an expression over a node's rows; `None` unless it is an integer column of a scan
    /// with a sample.
    pub(crate) fn of(estimates: &Estimates, plan: &Plan, node: NodeId, key: &Expr) -> Option<Self> {
        let (scan, column) = scanned_column(plan, node, key.as_column()?)?;
        let sample = estimates.sample_of(scan)?;
        let keys = sample.keys(&scan.filters, &scan.columns, column)?;
        Some(Self { keys, is_whole: sample.is_whole() })
    }

    /// Counts the rows of each key, for a relation whose keys are all known.
    pub(crate) fn counted(&self) -> KeyCounts {
        assert!(self.is_whole, "two samples would be joined");
        let mut rows_of = HashMap::with_capacity(self.keys.len());
        for &key in &self.keys {
            *rows_of.entry(key).or_default() += 1;
        }
        KeyCounts { rows_of, rows: self.keys.len() as f64 }
    }
}

/// All keys of a relation, with their numbers of rows.
pub(crate) struct KeyCounts {
    rows_of: HashMap<i64, u32>,
    rows: f64,
}

impl KeyCounts {
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
