//! `godwit check`: checks whether a database file is intact.

use std::process::ExitCode;

use godwit::{CheckReport, Database, Error, Result};

use crate::arguments::Check;
use crate::shell::print_line;

/// Opens the file read-only and reads all of it.
pub fn run(check: &Check) -> Result<ExitCode> {
    if !check.database.is_file() {
        return Err(Error::user(format!("{} is not a file", check.database.display())));
    }
    let mut config = check.limits.config();
    config.read_only = true;
    let CheckReport { tables, rows, complaints } = Database::open_with(&check.database, config)?.check();
    for complaint in &complaints {
        print_line(&complaint.to_string())?;
    }
    print_line(&format!("{tables} tables, {rows} rows read, {} complaints", complaints.len()))?;
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
