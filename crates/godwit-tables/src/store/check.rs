//! `godwit check`: reads everything in a database, and reports damage.

use godwit_common::Result;

use super::Store;
use crate::version::TableVersion;

/// Maximum number of complaints; then the check stops.
const COMPLAINTS_MAX: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Number of tables checked.
    pub tables: usize,
    /// Number of rows that could be read.
    pub rows: u64,
    /// Descriptions of the damage, at most a hundred.
    pub complaints: Vec<String>,
}

impl Store {
    /// Reads all blocks of all tables, including dictionaries, decodes all values, and compares them with the metadata.
    pub fn check(&self) -> CheckReport {
        let mut report = CheckReport::default();
        for version in self.tables() {
            report.tables += 1;
            for complaint in self.check_dictionaries(&version) {
                report.add(complaint);
            }
            for group in 0..version.main().groups.len() {
                let mut rows = 0;
                let columns: Vec<usize> = (0..version.main().columns.len()).collect();
                let read = version.main().for_each_window(group, &columns, &self.memory, |_, count| {
                    rows += count as u64;
                    Ok(())
                });
                report.rows += rows;
                if let Err(error) = read {
                    report.add(format!("table {}, row group {group}: {}", version.name(), error.message()));
                }
                if report.complaints.len() >= COMPLAINTS_MAX {
                    return report;
                }
            }
            report.rows += version.delta_rows() as u64;
        }
        report
    }

    fn check_dictionaries(&self, version: &TableVersion) -> Vec<String> {
        let columns = version.main().columns.iter();
        let load = columns.filter_map(|column| {
            let loaded: Result<_> = column.dictionary.as_ref()?.load(&self.memory);
            let error = loaded.err()?;
            Some(format!("table {}, dictionary of {}: {}", version.name(), column.field.name(), error.message()))
        });
        load.collect()
    }
}

impl CheckReport {
    fn add(&mut self, complaint: String) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(complaint);
        }
    }
}
