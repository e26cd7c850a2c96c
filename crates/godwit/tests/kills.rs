//! A process that changes a database is killed at random moments, again and again: every acknowledged commit is
//! present, the one under way is present as a whole or not at all, and the file is intact.
//!
//! ```text
//!   parent:  spawn ──▶ wait ──▶ SIGKILL ──▶ open, compare with the notes, check the file ──▶ spawn …
//!   child:   open, then on two connections: inserts of 1 to 20,000 rows, updates and deletes of batches, new tables,
//!            checkpoints, and a thread that merges; a line of notes before each change, and one after its commit
//! ```
//!
//! `godwit-tables` tests power failures on a simulated disk; this test uses the real file system and real time.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};

/// Number of kills by default; `GODWIT_KILLS=500` for a thorough run.
const KILLS: u64 = 20;
const KILLS_VARIABLE: &str = "GODWIT_KILLS";
/// Environment variable with the folder of the database, for the process that is killed.
const FOLDER_VARIABLE: &str = "GODWIT_TEST_KILLS_FOLDER";
/// Maximum time between start and kill.
const LIFE_MILLISECONDS_MAX: u64 = 400;
/// Number of kills after which a new database is started, so that files stay small.
const KILLS_PER_DATABASE: u64 = 25;
const CONNECTIONS: u64 = 2;

fn config() -> Config {
    Config { threads: Some(2), memory_limit_bytes: Some(256 << 20), ..Config::default() }
}

/// Pseudo-random numbers: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Returns rows of a batch: its number, its number of rows, and in each row a number and a string. Some strings are new
/// to the dictionary, some aren't.
fn rows_of(batch: u64, rows: u64) -> String {
    format!(
        "SELECT {batch} AS batch, {rows} AS rows, i AS n, 'text ' || ((i * 7919 + {batch}) % 311) AS s, 0 AS version \
         FROM range({rows}) r(i)"
    )
}

/// One connection's work: batches, and notes of operations on them.
struct Worker {
    connection: Connection,
    numbers: Numbers,
    notes: fs::File,
    /// Its existing batches, with the number of updates of each.
    batches: Vec<(u64, u64)>,
}

impl Worker {
    fn execute(&self, sql: &str) {
        self.connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs a statement, with a note before and after.
    fn noted(&mut self, what: &str, sql: &str) {
        self.notes.write_all(format!("try {what}\n").as_bytes()).unwrap();
        self.execute(sql);
        self.notes.write_all(format!("did {what}\n").as_bytes()).unwrap();
    }

    fn insert(&mut self, batch: u64, sql: &str) {
        self.noted(&format!("insert {batch} 0"), sql);
        self.batches.push((batch, 0));
    }

    /// Makes one change.
    fn change(&mut self, batch: u64) {
        match self.numbers.below(24) {
            0 => self.execute("CHECKPOINT"),
            1 => self.execute("MERGE DELTA OF items"),
            2..4 => self.insert(batch, &format!("INSERT INTO items {}", rows_of(batch, 20_000))),
            4 => {
                let rows = self.numbers.below(30_000);
                self.execute(&format!(
                    "CREATE OR REPLACE TABLE copy{} AS {}",
                    batch % CONNECTIONS,
                    rows_of(batch, rows)
                ));
            }
            5..9 => {
                let rows = 1 + self.numbers.below(3_000);
                self.insert(batch, &format!("INSERT INTO items {}", rows_of(batch, rows)));
            }
            9..12 if !self.batches.is_empty() => {
                let at = self.numbers.below(self.batches.len() as u64) as usize;
                let (batch, version) = &mut self.batches[at];
                *version += 1;
                let (batch, version) = (*batch, *version);
                let sql = format!("UPDATE items SET version = version + 1 WHERE batch = {batch}");
                self.noted(&format!("update {batch} {version}"), &sql);
            }
            12..15 if !self.batches.is_empty() => {
                let at = self.numbers.below(self.batches.len() as u64) as usize;
                let (batch, version) = self.batches.swap_remove(at);
                self.noted(&format!("delete {batch} {version}"), &format!("DELETE FROM items WHERE batch = {batch}"));
            }
            _ => self.insert(batch, &format!("INSERT INTO items VALUES ({batch}, 1, 0, 'single {batch}', 0)")),
        }
    }
}

/// Changes a database until it is killed; does nothing unless asked to.
#[test]
fn change_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let folder = Path::new(&folder);
    let database = Database::open_with(folder.join("x.godwit"), config()).unwrap();
    database.connect().execute("SET checkpoint_threshold = '32KB'").unwrap();
    let first = fs::read_to_string(folder.join("notes")).map_or(0, |text| text.lines().count() as u64);
    // Batches whose commit was not acknowledged may exist as well: their numbers aren't reused.
    let start = (first + 1) * 1_000_000 + std::process::id() as u64 % 1_000 * 1_000;
    thread::scope(|scope| {
        for index in 0..CONNECTIONS {
            let notes = OpenOptions::new().create(true).append(true).open(folder.join("notes")).unwrap();
            let (connection, numbers) = (database.connect(), Numbers(start + index));
            let mut worker = Worker { connection, numbers, notes, batches: Vec::new() };
            scope.spawn(move || {
                (start + index..).step_by(CONNECTIONS as usize).for_each(|batch| worker.change(batch));
            });
        }
    });
}

/// Notes on a batch: its minimum version, whether it was deleted, and the last attempt.
#[derive(Debug, Default, Clone, Copy)]
struct Noted {
    version: Option<i64>,
    version_tried: i64,
    is_deleted: bool,
    is_deletion_tried: bool,
}

fn notes(folder: &Path) -> BTreeMap<i64, Noted> {
    let mut batches: BTreeMap<i64, Noted> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("notes")).unwrap_or_default().lines() {
        let [when, what, batch, version] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let noted = batches.entry(batch.parse().unwrap()).or_default();
        match (when, what) {
            ("did", "delete") => noted.is_deleted = true,
            ("did", _) => noted.version = Some(version.parse().unwrap()),
            (_, "delete") => noted.is_deletion_tried = true,
            _ => noted.version_tried = version.parse().unwrap(),
        }
    }
    batches
}

/// Returns, by batch: rows that are present, rows that it should have, version.
fn batches(connection: &Connection, table: &str) -> BTreeMap<i64, (i64, i64, i64)> {
    let sql = format!(
        "SELECT batch::BIGINT, count(DISTINCT n), min(rows)::BIGINT, max(rows)::BIGINT, count(s), min(version)::BIGINT, \
         max(version)::BIGINT FROM {table} GROUP BY batch"
    );
    let mut found = BTreeMap::new();
    for batch in connection.query(&sql).unwrap() {
        let batch = batch.unwrap();
        let column = |index: usize| batch.column(index).as_primitive::<Int64Type>().values();
        for row in 0..batch.num_rows() {
            let [number, rows, least, most, texts, version, newest] =
                [0, 1, 2, 3, 4, 5, 6].map(|index| column(index)[row]);
            let is_whole = least == most && texts == rows && version == newest;
            assert!(is_whole, "{table}, batch {number}: {least} {most} {texts} {rows} {version} {newest}");
            found.insert(number, (rows, least, version));
        }
    }
    found
}

fn verify(folder: &Path) {
    let database = Database::open_with(folder.join("x.godwit"), config()).unwrap();
    let connection = database.connect();
    let found = batches(&connection, "items");
    let torn: Vec<_> = found.iter().filter(|(_, (there, all, _))| there != all).collect();
    assert!(torn.is_empty(), "half a commit is there: {torn:?}");
    let notes = notes(folder);
    for (batch, noted) in &notes {
        match found.get(batch) {
            Some((_, _, version)) => {
                let is_expected = noted.version.unwrap_or(0) <= *version && *version <= noted.version_tried;
                assert!(!noted.is_deleted && is_expected, "batch {batch} has version {version}: {noted:?}");
            }
            None => assert!(noted.version.is_none() || noted.is_deletion_tried, "batch {batch} is lost: {noted:?}"),
        }
    }
    assert!(found.keys().all(|batch| notes.contains_key(batch)), "there is a batch that nobody inserted");
    for copy in 0..CONNECTIONS {
        let table = format!("copy{copy}");
        if connection.query(&format!("SELECT count(*) FROM {table}")).is_ok() {
            let found = batches(&connection, &table);
            assert!(found.len() <= 1 && found.values().all(|(there, all, _)| there == all), "{table}: {found:?}");
        }
    }
    let report = database.check();
    assert!(report.complaints.is_empty(), "{:?}", report.complaints);
}

#[test]
fn a_killed_process_loses_no_commit() {
    let kills = std::env::var(KILLS_VARIABLE).map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let mut numbers = Numbers(kills);
    let mut commits = 0;
    let mut folder = tempfile::tempdir().unwrap();
    for kill in 0..kills {
        if kill.is_multiple_of(KILLS_PER_DATABASE) {
            folder = tempfile::tempdir().unwrap();
            let database = Database::open_with(folder.path().join("x.godwit"), config()).unwrap();
            let connection = database.connect();
            connection
                .execute(
                    "CREATE TABLE items (batch BIGINT NOT NULL, rows BIGINT NOT NULL, n BIGINT, s VARCHAR, version BIGINT)",
                )
                .unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "change_until_killed"])
            .env(FOLDER_VARIABLE, folder.path())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(numbers.below(LIFE_MILLISECONDS_MAX)));
        assert_eq!(child.try_wait().unwrap(), None, "the process ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        verify(folder.path());
        commits = commits.max(notes(folder.path()).values().filter(|noted| noted.version.is_some()).count());
    }
    assert!(kills < KILLS || commits > 0, "nothing was committed between the kills");
}
