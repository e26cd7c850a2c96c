//! Commands about files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use godwit::{Database, Error};

use super::super::{Outcome, Shell, Stop, complain, script};
use super::{Call, literal, query};

/// Maximum nesting of files that read each other; deeper ones are taken for a cycle.
const READ_DEPTH_MAX: usize = 16;

pub(super) fn read(shell: &mut Shell, call: &Call) -> Outcome<ControlFlow<Stop>> {
    if shell.read_depth == READ_DEPTH_MAX {
        return Err(Error::user(format!("{READ_DEPTH_MAX} files are being read already, each from another"))
            .with_hint("does a file read itself?")
            .into());
    }
    shell.read_depth += 1;
    let flow = script::run_file(shell, &in_home(call.word(0)));
    shell.read_depth -= 1;
    Ok(flow?)
}

pub(super) fn output(shell: &mut Shell, call: &Call) -> Outcome {
    redirect(shell, call, false)
}

pub(super) fn once(shell: &mut Shell, call: &Call) -> Outcome {
    redirect(shell, call, true)
}

fn redirect(shell: &mut Shell, call: &Call, is_once: bool) -> Outcome {
    let target = match call.word(0) {
        _ if call.rest.starts_with('|') => Some(call.rest.clone()),
        _ if call.words.len() > 1 => {
            return Err(Error::user(format!("{} takes one file", call.name))
                .with_hint("put a name with spaces in quotes")
                .into());
        }
        "" | "stdout" => None,
        name => {
            let path = in_home(name.trim_end_matches(';'));
            shell.connection.check_target(&path)?;
            Some(path.display().to_string())
        }
    };
    shell.sink.redirect(target.as_deref(), is_once)
}

/// Opens the new database before the old one is closed, so that a mistake costs nothing.
pub(super) fn open(shell: &mut Shell, call: &Call) -> Outcome {
    let path = match call.word(0) {
        "" => PathBuf::from(":memory:"),
        name => in_home(name),
    };
    let database = Database::open_with(&path, shell.limits.config())?;
    if shell.connection.is_in_transaction() {
        complain("the open transaction was undone\n");
    }
    shell.connection = Arc::new(database.connect());
    shell.path = path;
    shell.names_are_stale = true;
    Ok(())
}

/// Creates the table with the columns of the file if it doesn't exist, and imports the rows; both happen, or neither.
pub(super) fn import(shell: &mut Shell, call: &Call) -> Outcome<ControlFlow<Stop>> {
    let file = in_home(call.word(0)).display().to_string();
    let (file, table) = (literal(&file), call.word(1));
    // A new table has what was found in the file; what is in COPY for a table that was there could differ.
    let is_there = shell.connection.execute(&format!("FROM {table} LIMIT 0")).is_ok();
    let rows = match is_there && is_text(call.word(0)) {
        true => format!("COPY {table} FROM {file}"),
        false => format!("INSERT INTO {table} FROM {file}"),
    };
    let steps = [format!("CREATE TABLE IF NOT EXISTS {table} AS FROM {file} LIMIT 0"), rows];
    let begins = !shell.connection.is_in_transaction();
    if begins {
        shell.connection.execute("BEGIN")?;
    }
    // Creating an empty table isn't worth a message.
    let changes = std::mem::replace(&mut shell.settings.changes, false);
    let made = query(shell, &steps[0]);
    shell.settings.changes = changes;
    let imported = match made {
        Ok(ControlFlow::Continue(())) => query(shell, &steps[1]),
        made => made,
    };
    if begins {
        let is_done = matches!(imported, Ok(ControlFlow::Continue(())));
        shell.connection.execute(if is_done { "COMMIT" } else { "ROLLBACK" })?;
    }
    imported
}

/// Returns true if a file's rows are text, which is read as the types of the table; decided by its name, as in the
/// engine.
fn is_text(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    [".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"].iter().any(|ending| name.ends_with(ending))
}

/// Returns a path, with `~/` as the user's folder.
pub(in crate::shell) fn in_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_files_are_known_by_their_names() {
        assert!(is_text("a.CSV") && is_text("b.json.gz") && is_text("x/*.tsv"));
        assert!(!is_text("a.parquet") && !is_text("csv") && !is_text("a.arrow.gz"));
    }
}
