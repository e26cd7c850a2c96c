//! The corpus on tables of a database file whose columns are all stored in one way.
//!
//! Corpus files that create tables do so in a database file. In those that read the corpus' Parquet files, tables with
//! the same rows take their place. A file that leaves nothing but tables behind runs with a restart for every
//! statement.

use std::fs;
use std::path::{Path, PathBuf};

use godwit::{Config, Database};

use super::script::{Session, run_script};
use super::session::{Connected, Restarting};
use super::{corpus_files, data};

/// Parquet files that become tables.
const TABLES: [&str; 3] = ["numbers", "types", "empty"];
/// Schema of these tables.
const SCHEMA: &str = "stored";
/// First words of statements that only change the connection, or whose effect ends with it.
const STATEFUL: [&str; 8] =
    ["SET ", "BEGIN", "START ", "USE ", "ATTACH ", "CREATE TEMP", "CREATE OR REPLACE TEMP", "PREPARE "];

/// Runs the files that have tables, on rows in a database that are stored as `encoding` says where types allow it, or
/// else as Godwit chooses.
pub fn run_stored(config: &Config, encoding: Option<&str>) {
    let data = data::Folder::new();
    let stored = StoredTables::new(config, data.path(), encoding);
    let mut failures = Vec::new();
    let (mut files, mut restarted) = (0, 0);
    for (name, text) in corpus_files() {
        let script = with_tables(&text);
        let reads_tables = script != text;
        let makes_tables = begins_statement(&text, "CREATE TABLE");
        // Files that attach databases refer to the first one by its name in memory.
        if (!reads_tables && !makes_tables) || begins_statement(&text, "ATTACH ") {
            continue;
        }
        let is_restarted = makes_tables && !STATEFUL.iter().any(|word| begins_statement(&text, word));
        let script = script.replace("$data", &data.path().display().to_string());
        if let Err(failure) = stored.run(&name, &script, reads_tables, is_restarted) {
            failures.push(failure);
        }
        files += 1;
        restarted += usize::from(is_restarted);
    }
    assert!(failures.is_empty(), "{} files failed, stored as {encoding:?}:\n{}", failures.len(), failures.join("\n"));
    assert!(files > 30 && restarted > 10, "{files} files, {restarted} with restarts");
}

/// Returns the text of a file with tables in place of Parquet files.
fn with_tables(text: &str) -> String {
    let with_tables = |line: &str| {
        let names = TABLES.iter().flat_map(|table| ["FROM", "JOIN"].map(|before| (table, before)));
        let changed = names.fold(line.to_owned(), |line, (table, before)| {
            line.replace(&format!("{before} '$data/{table}.parquet'"), &format!("{before} {SCHEMA}.{table}"))
        });
        // COPY reads files.
        if line.starts_with("COPY") { format!("{line}\n") } else { format!("{changed}\n") }
    };
    text.lines().map(with_tables).collect()
}

fn begins_statement(text: &str, words: &str) -> bool {
    text.lines().any(|line| line.starts_with(words))
}

/// A database file with the tables that replace Parquet files.
struct StoredTables<'a> {
    config: &'a Config,
    /// Script that every connection runs first.
    setup: String,
    is_forced: bool,
    folder: tempfile::TempDir,
}

impl<'a> StoredTables<'a> {
    fn new(config: &'a Config, data: &Path, encoding: Option<&str>) -> Self {
        let setup = encoding.map_or(String::new(), |encoding| format!("SET force_encoding = '{encoding}'"));
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let stored = Self { config, setup, is_forced: encoding.is_some(), folder };
        let database = stored.open(&stored.path());
        let connection = database.connect();
        let make = |table: &str| {
            let file = data.join(format!("{table}.parquet"));
            format!("CREATE TABLE {SCHEMA}.{table} AS SELECT * FROM '{}';", file.display())
        };
        let script = format!("{}; CREATE SCHEMA {SCHEMA}; {}", stored.setup, TABLES.map(make).join(" "));
        connection.execute(&script).expect("tables can be made of the files");
        let looks_so =
            format!("SELECT 1 FROM godwit_segments() WHERE encoding LIKE '%{}%'", encoding.unwrap_or("packed"));
        let segments = connection.query(&looks_so).expect("there is such a function");
        let segments: usize = segments.map(|batch| batch.expect("it gives rows").num_rows()).sum();
        assert!(segments > 0, "nothing is stored as {encoding:?}");
        stored
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("stored.godwit")
    }

    fn open(&self, path: &Path) -> Database {
        Database::open_with(path, self.config.clone()).expect("the file is sound")
    }

    /// Runs a script on a copy of the tables, or on a database without any.
    fn run(&self, name: &str, script: &str, reads_tables: bool, is_restarted: bool) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("x.godwit");
        if reads_tables {
            fs::copy(self.path(), &path).expect("the disk has room");
        }
        if is_restarted {
            let session = Restarting { path, config: self.config.clone(), setup: self.setup.clone() };
            return self.run_in(session, name, script, &["stored", "restarted"]);
        }
        let database = self.open(&path);
        let session = Connected::new(&database);
        session.execute(&self.setup).expect("there is such a setting");
        self.run_in(session, name, script, &["stored"])
    }

    fn run_in(&self, mut session: impl Session, name: &str, script: &str, labels: &[&str]) -> Result<(), String> {
        let forced: &[&str] = if self.is_forced { &["forced_encodings"] } else { &[] };
        run_script(&mut session, &[labels, forced].concat(), name, script)
    }
}
