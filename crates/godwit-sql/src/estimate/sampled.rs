//! What samples tell: of filters on one table, and of joins with a table that is sampled as a whole.
//!
//! ```text
//! info_type i          i.info = 'genres' leaves one row of 113, for certain, with the key 3
//!   ⨝ i.id = m.info_type_id
//! movie_info m         of the sampled rows with m.info = 'Crime', all have info_type_id = 3: the join keeps them all,
//!                      where independence would have it keep 1 of 113
//! ```
//!
//! One of the two must be whole. Of two samples, rows that lie side by side in both tables would match too often.

use datafusion_common::{Column, HashMap};
use datafusion_expr::{Expr, LogicalPlan, TableScan};

use super::Estimates;
use super::config::{MEASURED_PAIRS_MIN, UNSEEN_ROWS};
use crate::SampleCount;

/// Rows of a table that pass a filter, of which `estimated` would be expected by the statistics alone.
pub(super) fn rows(count: SampleCount, table_rows: f64, estimated: f64) -> f64 {
    let (passing, rows) = (count.passing as f64, count.rows as f64);
    let found = match count.passing {
        0 if count.rows as f64 == table_rows => 0.0,
        0 => estimated.min(table_rows * UNSEEN_ROWS / rows),
        _ => table_rows * passing / rows,
    };
    found.max(1.0_f64.min(table_rows))
}

/// The keys of a relation in the sample of its table: of the rows that pass the scan's filters.
pub(crate) struct SampledKeys {
    keys: Vec<i64>,
    /// True if they are all keys of the relation.
    pub(crate) is_whole: bool,
}

impl SampledKeys {
    /// The keys that an expression over a relation has; `None` unless it is an integer column of a scan with a sample.
    pub(crate) fn of(estimates: &Estimates, relation: &LogicalPlan, key: &Expr) -> Option<Self> {
        let (scan, name) = scanned_column(relation, key)?;
        let sample = estimates.sample_of(scan)?;
        let keys = sample.keys(&scan.filters, &name)?;
        Some(Self { keys, is_whole: sample.is_whole() })
    }

    /// How many rows of a whole relation each key has.
    pub(crate) fn counted(&self) -> KeyCounts {
        assert!(self.is_whole, "two samples would be joined");
        let mut rows_of = HashMap::with_capacity(self.keys.len());
        for &key in &self.keys {
            *rows_of.entry(key).or_default() += 1;
        }
        KeyCounts { rows_of, rows: self.keys.len() as f64 }
    }
}

/// All keys of a relation.
pub(crate) struct KeyCounts {
    rows_of: HashMap<i64, u32>,
    rows: f64,
}

impl KeyCounts {
    /// The number of values that pairs of these keys and others are spread over; `estimated` is what statistics tell.
    /// `None` if too few pairs are found to know better.
    pub(crate) fn domain_with(&self, other: &SampledKeys, estimated: f64) -> Option<f64> {
        let rows_of = |key| self.rows_of.get(key).map_or(0, |&rows| u64::from(rows));
        let found = other.keys.iter().map(rows_of).sum::<u64>() as f64;
        let combinations = self.rows * other.keys.len() as f64;
        let is_telling = found.max(combinations / estimated) >= MEASURED_PAIRS_MIN;
        is_telling.then(|| (combinations / found.max(UNSEEN_ROWS)).max(1.0))
    }
}

/// The column of a scanned table that an expression over a relation is.
fn scanned_column<'a>(relation: &'a LogicalPlan, key: &Expr) -> Option<(&'a TableScan, String)> {
    let Expr::Column(column) = key else { return None };
    let at = relation.schema().maybe_index_of_column(column)?;
    match relation {
        LogicalPlan::TableScan(scan) => Some((scan, relation.schema().field(at).name().clone())),
        LogicalPlan::SubqueryAlias(alias) => {
            let below = Column::from(alias.input.schema().qualified_field(at));
            scanned_column(&alias.input, &Expr::Column(below))
        }
        LogicalPlan::Projection(projection) => {
            scanned_column(&projection.input, &projection.expr[at].clone().unalias())
        }
        _ => None,
    }
}
