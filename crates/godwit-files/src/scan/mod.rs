//! Scans of Parquet tables, for [the driver](godwit_pipeline::Scan).
//!
//! ```text
//! start:   bounds of row groups and pages, filters of joins ──▶ morsels            (plan.rs)
//! worker:  the columns of a morsel, each with a reader of its own                  (reader.rs)
//! ```
//!
//! Readers skip the rows of a column when asked for later ones; unneeded pages aren't even read.

mod arrow_column;
mod long_values;
mod plan;
mod reader;
mod row_group;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::scan_filter::Pruning;
use godwit_pipeline::{Planned, QueryContext, Readable, Scan, ScanTask, Table};
use godwit_vector::RowType;

use crate::config::WINDOW_KEPT_BYTES_MAX;
use crate::hive::shown_name;
use crate::table::ParquetTable;
use plan::Morsel;
use reader::ParquetReader;

/// The morsels of a scan.
pub struct ScanPlan {
    morsels: Vec<Morsel>,
}

impl Readable for ParquetTable {
    type Plan = ScanPlan;
    type Reader = ParquetReader;

    fn scan_type(&self) -> &RowType {
        self.row_type()
    }

    fn column_name(&self, column: usize) -> &str {
        shown_name(self.schema().field(column).name())
    }

    fn plan(&self, task: &ScanTask, pruning: &Pruning<'_>, query: &QueryContext) -> Result<Planned<ScanPlan>> {
        Ok(plan::plan(self, (pruning, &self.wanted_files(task)?), &task.columns, query))
    }

    fn announce(&self, task: &ScanTask, query: &QueryContext) {
        if !self.is_remote() || task.request.limit.is_some() {
            return;
        }
        let all = vec![true; self.files().len()];
        let planned = plan::plan(self, (&task.request.pruning(), &all), &task.columns, query);
        if let Some(first) = planned.plan.morsels.first() {
            let ranges = plan::bytes_of(self, planned.plan.row_group_of(0), &task.columns);
            self.files()[first.file].file.bytes.announce(&ranges);
        }
    }

    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<ParquetReader> {
        ParquetReader::new(scan.clone(), query.clone())
    }

    fn reader_bytes(&self, columns: &[usize]) -> u64 {
        columns.iter().map(|&column| self.column_bytes(column)).sum::<u64>() + WINDOW_KEPT_BYTES_MAX as u64
    }
}
