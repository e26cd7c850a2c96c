//! Scans of the database's own tables, for [the driver](godwit_pipeline::Scan).
//!
//! ```text
//! start:   bounds of row groups, filters of joins ──▶ morsels                                           (plan.rs)
//!          filters ──▶ ranges of integers, sets of codes                                                (packed.rs)
//! worker:  morsel: rows of a row group, or of the delta ──▶ windows of 2,048 rows                       (version_reader.rs)
//!            a filter on packed values: a bit per row                                                   (reader.rs)
//!            values of the rows that are left
//! ```
//!
//! Windows start with the rows that aren't deleted. The column after those of the table is the row id. Text columns
//! with codes are emitted as dictionary vectors: with the dictionary of all values of the version if the plan asked for
//! it, otherwise each part with its own. Filters over a single text column are evaluated once per value, in the delta
//! as well.

mod packed;
mod plan;
mod reader;
pub(crate) mod sample;
mod version_reader;

use std::collections::BTreeSet;
use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::scan_filter::Pruning;
use godwit_pipeline::{OperatorMetrics, Planned, QueryContext, Readable, Scan, ScanTask};
use godwit_storage::table::WINDOW_ROWS;
use godwit_vector::{Bitmap, PhysicalType, RowType};

use crate::version::TableVersion;
use packed::PackedFilter;
use plan::{Criteria, Morsel, ScanPlan};
use reader::Dictionaries;
use version_reader::VersionReader;

/// Up to this many rows, searching them is faster than looking keys up.
const SEARCHED_ROWS_MAX: usize = 2 * WINDOW_ROWS;

/// Minimum number of rows per worker: waking one and waiting for it takes 50 to 200 µs, as long as reading some
/// thousands of rows. A key lookup reads one window, and the rows that aren't in row groups yet.
const ROWS_PER_WORKER_MIN: usize = 8192;

/// The pieces of a scan, and the state shared by its readers.
pub struct VersionPlan {
    morsels: Vec<Morsel>,
    dictionaries: Dictionaries,
    /// By stage: how it is evaluated on packed values, if it can be.
    packed: Vec<Option<PackedFilter>>,
    /// By stage: which codes of the delta's dictionary pass, if they determine which rows do.
    delta: Vec<Option<Bitmap>>,
}

impl Readable for TableVersion {
    type Plan = VersionPlan;
    type Reader = VersionReader;

    fn scan_type(&self) -> &RowType {
        self.scan_type()
    }

    fn column_name(&self, column: usize) -> &str {
        self.schema().fields().get(column).map_or("row id", |field| field.name())
    }

    fn plan(&self, task: &ScanTask, pruning: &Pruning<'_>, query: &QueryContext) -> Result<Planned<VersionPlan>> {
        let memory = task.memory(query);
        let row_type = self.scan_type();
        let dictionaries = Dictionaries::load(self, &task.columns)?;
        let of_filters: Vec<_> = task.stages.iter().filter_map(|stage| packed::range(stage, row_type)).collect();
        let criteria = Criteria::new(self, &dictionaries, pruning, &of_filters);
        let mut plan = ScanPlan::new(&criteria);
        for (column, wanted) in of_filters {
            plan.narrow(self, column, wanted, &memory)?;
        }
        if plan.rows_left() > SEARCHED_ROWS_MAX {
            let of_filters = task.stages.iter().filter_map(|stage| packed::listed_values(stage, row_type));
            let of_joins = pruning.key_ranges.iter().filter_map(packed::single_key);
            let values: Vec<_> = of_filters.chain(of_joins).collect();
            if let Some((columns, hashes)) = self.looked_up(&values, &pruning.key_hashes) {
                plan.look_up(self, &columns, &hashes, query)?;
            }
        }
        let rows_left = (plan.rows_left() + self.delta_rows()) as u64;
        let mut packed = Vec::with_capacity(task.stages.len());
        for stage in &task.stages {
            let filter = PackedFilter::of(stage, row_type, &dictionaries, rows_left, &memory)?;
            // Integers have narrowed it already.
            if let (Some(PackedFilter::Range(wanted)), &[column]) = (&filter, &stage.columns()[..])
                && row_type[column].physical == PhysicalType::Str
            {
                plan.narrow(self, column, *wanted, &memory)?;
            }
            packed.push(filter);
        }
        let delta_rows = self.delta_rows();
        let delta_codes = |stage| packed::delta_codes(stage, row_type, &dictionaries, delta_rows, &memory);
        let delta = task.stages.iter().map(delta_codes).collect::<Result<_>>()?;
        let morsels = plan.morsels(&criteria);
        let rows_read: usize = morsels.iter().map(Morsel::rows).sum();
        let groups_read: BTreeSet<_> = morsels.iter().filter_map(Morsel::group).collect();
        let rows = plan.rows + delta_rows;
        Ok(Planned {
            workers_max: morsels.len().min(rows_read.div_ceil(ROWS_PER_WORKER_MIN)),
            rows: rows as u64,
            rows_pruned: (rows - rows_read) as u64,
            groups: self.main().groups.len(),
            groups_pruned: plan.groups - groups_read.len(),
            plan: VersionPlan { morsels, dictionaries, packed, delta },
        })
    }

    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<VersionReader> {
        Ok(VersionReader::new(scan.clone(), query))
    }

    fn dictionary_bytes(plan: &VersionPlan) -> u64 {
        plan.dictionaries.bytes()
    }

    fn note(plan: &VersionPlan, metrics: &OperatorMetrics) {
        let packed = plan.packed.iter().flatten().count();
        if packed > 0 {
            metrics.note("filters on packed values", format!("{packed} of {}", plan.packed.len()));
        }
    }
}
