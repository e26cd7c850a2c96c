//! A process that changes a database is killed at any moment, again and again: every acknowledged commit is there, the one
//! under way is there as a whole or not at all, and the file is sound.
//!
//! ```text
//!   parent:  spawn ──▶ wait ──▶ SIGKILL ──▶ open, compare with the acknowledgements, check the file ──▶ spawn …
//!   child:   open, then on two connections: inserts of 1 to 20,000 rows, new tables, checkpoints;
//!            after each commit a line in the file of acknowledgements
//! ```
//!
//! The power of the simulated disk is cut in `godwit-tables`; here it is the real file system, and real time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};

/// How often the process is killed, if the variable says nothing; `GODWIT_KILLS=500` for a thorough run.
const KILLS: u64 = 20;
const KILLS_VARIABLE: &str = "GODWIT_KILLS";
/// The folder of the database, for the process that is killed.
const FOLDER_VARIABLE: &str = "GODWIT_TEST_KILLS_FOLDER";
/// Longest time between start and kill.
const LIFE_MILLISECONDS_MAX: u64 = 400;
/// After so many kills a new database is begun, so that files stay small.
const KILLS_PER_DATABASE: u64 = 25;
const CONNECTIONS: u64 = 2;

fn config() -> Config {
    Config { threads: Some(2), memory_limit_bytes: Some(256 << 20), ..Config::default() }
}

/// Numbers that look random: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Rows of a batch: its number, how many rows it has, and in each row a number and a text. Some texts are new to the
/// dictionary, some aren't.
fn rows_of(batch: u64, rows: u64) -> String {
    format!(
        "SELECT {batch} AS batch, {rows} AS rows, i AS n, 'text ' || ((i * 7919 + {batch}) % 311) AS s FROM range({rows}) r(i)"
    )
}

/// One change; the batch that it commits, if it does.
fn change(connection: &Connection, numbers: &mut Numbers, batch: u64) -> bool {
    let execute = |sql: String| connection.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match numbers.below(20) {
        0 => execute("CHECKPOINT".into()),
        1..3 => {
            execute(format!("INSERT INTO items {}", rows_of(batch, 20_000)));
            return true;
        }
        3 => {
            let rows = numbers.below(30_000);
            execute(format!("CREATE OR REPLACE TABLE copy{} AS {}", batch % CONNECTIONS, rows_of(batch, rows)));
        }
        4..8 => {
            let rows = 1 + numbers.below(3_000);
            execute(format!("INSERT INTO items {}", rows_of(batch, rows)));
            return true;
        }
        _ => {
            execute(format!("INSERT INTO items VALUES ({batch}, 1, 0, 'single {batch}')"));
            return true;
        }
    }
    false
}

/// Changes a database until it is killed; nothing if nobody wants it to.
#[test]
fn change_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let folder = Path::new(&folder);
    let database = Database::open_with(folder.join("x.godwit"), config()).unwrap();
    let first = fs::read_to_string(folder.join("acknowledged")).map_or(0, |text| text.lines().count() as u64);
    // Batches whose commit was not acknowledged may be there, too: their numbers aren't used again.
    let start = (first + 1) * 1_000_000 + std::process::id() as u64 % 1_000 * 1_000;
    thread::scope(|scope| {
        for index in 0..CONNECTIONS {
            let (connection, mut numbers) = (database.connect(), Numbers(start + index));
            scope.spawn(move || {
                let acknowledged = folder.join("acknowledged");
                let mut file = OpenOptions::new().create(true).append(true).open(acknowledged).unwrap();
                for batch in (start + index..).step_by(CONNECTIONS as usize) {
                    if change(&connection, &mut numbers, batch) {
                        file.write_all(format!("{batch}\n").as_bytes()).unwrap();
                    }
                }
            });
        }
    });
}

/// Batch, rows that are there, rows that it has.
fn batches(connection: &Connection, table: &str) -> BTreeMap<i64, (i64, i64)> {
    let sql = format!("SELECT batch, count(DISTINCT n), min(rows), max(rows), count(s) FROM {table} GROUP BY batch");
    let mut found = BTreeMap::new();
    for batch in connection.query(&sql).unwrap() {
        let batch = batch.unwrap();
        let column = |index: usize| batch.column(index).as_primitive::<Int64Type>().values();
        for row in 0..batch.num_rows() {
            let [number, rows, least, most, texts] = [0, 1, 2, 3, 4].map(|index| column(index)[row]);
            assert!(least == most && texts == rows, "{table}, batch {number}: {least} {most} {texts} {rows}");
            found.insert(number, (rows, least));
        }
    }
    found
}

fn verify(folder: &Path) {
    let database = Database::open_with(folder.join("x.godwit"), config()).unwrap();
    let connection = database.connect();
    let found = batches(&connection, "items");
    let torn: Vec<_> = found.iter().filter(|(_, (there, all))| there != all).collect();
    assert!(torn.is_empty(), "half a commit is there: {torn:?}");
    let text = fs::read_to_string(folder.join("acknowledged")).unwrap_or_default();
    let acknowledged: BTreeSet<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|batch| !found.contains_key(*batch)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged commits are lost: {lost:?}", lost.len(), acknowledged.len());
    for copy in 0..CONNECTIONS {
        let table = format!("copy{copy}");
        if connection.query(&format!("SELECT count(*) FROM {table}")).is_ok() {
            let found = batches(&connection, &table);
            assert!(found.len() <= 1 && found.values().all(|(there, all)| there == all), "{table}: {found:?}");
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
                .execute("CREATE TABLE items (batch BIGINT NOT NULL, rows BIGINT NOT NULL, n BIGINT, s VARCHAR)")
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
        let acknowledged = fs::read_to_string(folder.path().join("acknowledged")).unwrap_or_default();
        commits = commits.max(acknowledged.lines().count());
    }
    assert!(kills < KILLS || commits > 0, "nothing was committed between the kills");
}
