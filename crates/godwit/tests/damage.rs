//! Database files and logs with flipped bits, overwritten pieces and missing ends: they give an error that says so or
//! the right rows, never a crash or other rows. `GODWIT_DAMAGES=5000` for a thorough run.

use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use godwit::{Config, Connection, Database, ErrorKind, Result};

const DAMAGES: u64 = 150;
const DAMAGES_VARIABLE: &str = "GODWIT_DAMAGES";

/// Number of inserts after the checkpoint, each followed by an update: they are in the log.
const LOGGED_COMMITS: i64 = 12;
const ROWS: i64 = 20_000;

fn config() -> Config {
    Config { threads: Some(1), memory_limit_bytes: Some(128 << 20), ..Config::default() }
}

/// The values of a row follow from its number.
const QUERY: &str = "SELECT count(*), coalesce(sum(n), 0), \
     count(*) FILTER (WHERE few <> 'value ' || (n % 100) OR many <> 'text number ' || n || ' of many' \
        OR price <> CAST(n AS DECIMAL(10,2)) / 4 OR half <> n * 0.5 OR (n % 7 = 0) <> (day IS NULL)) FROM t";

fn rows(from: i64, count: i64) -> String {
    format!(
        "SELECT i AS n, 'value ' || (i % 100) AS few, 'text number ' || i || ' of many' AS many, \
         CAST(CAST(i AS DECIMAL(10,2)) / 4 AS DECIMAL(10,2)) AS price, i * 0.5 AS half, \
         CASE WHEN i % 7 = 0 THEN NULL ELSE DATE '2020-01-01' + CAST(i % 1000 AS INTEGER) END AS day \
         FROM range({from}, {}) r(i)",
        from + count
    )
}

/// Returns the rows and their sum; `None` for impossible rows.
fn state(connection: &Connection) -> Result<Option<i64>> {
    let Some(batch) = connection.query(QUERY)?.next() else { return Ok(None) };
    let batch = batch?;
    let value = |index: usize| batch.column(index).as_primitive::<Int64Type>().value(0);
    let (count, wrong) = (value(0), value(2));
    let sum = batch.column(1).as_primitive::<Decimal128Type>().value(0);
    let is_right = wrong == 0 && sum == (0..i128::from(count)).sum();
    Ok(is_right.then_some(count))
}

struct Image {
    file: Vec<u8>,
    log: Vec<u8>,
}

fn image(folder: &Path) -> Image {
    let path = folder.join("whole.godwit");
    let database = Database::open_with(&path, config()).unwrap();
    let connection = database.connect();
    connection.execute(&format!("CREATE TABLE t AS {}", rows(0, ROWS))).unwrap();
    // Deleted rows in the checkpoint and in the log: rows are replaced by equal ones.
    connection.execute("UPDATE t SET few = few WHERE n % 1000 = 1").unwrap();
    connection.execute("CHECKPOINT").unwrap();
    connection.execute("UPDATE t SET many = many WHERE n % 1000 = 7; CHECKPOINT").unwrap();
    for commit in 0..LOGGED_COMMITS {
        connection.execute(&format!("INSERT INTO t {}", rows(ROWS + commit, 1))).unwrap();
        connection.execute(&format!("UPDATE t SET few = few WHERE n % 5000 = {commit}")).unwrap();
    }
    connection.execute(&format!("INSERT INTO t {}", rows(ROWS + LOGGED_COMMITS, 1))).unwrap();
    connection.execute(&format!("DELETE FROM t WHERE n = {}", ROWS + LOGGED_COMMITS)).unwrap();
    // The file is as a crash would leave it now: closing the database may make a checkpoint.
    let mut image = Image { file: fs::read(&path).unwrap(), log: fs::read(folder.join("whole.godwit.wal")).unwrap() };
    // The log has free space after its records, where damage is of little interest.
    let end = image.log.iter().rposition(|&byte| byte != 0).expect("there are records");
    image.log.truncate(end + 100);
    assert_eq!(state(&connection).unwrap(), Some(ROWS + LOGGED_COMMITS), "the query is right for sound files");
    image
}

fn next(number: &mut u64) -> u64 {
    *number ^= *number << 13;
    *number ^= *number >> 7;
    *number ^= *number << 17;
    *number
}

/// Damages bytes in some way; returns a description.
fn damage(bytes: &mut Vec<u8>, number: &mut u64) -> String {
    let kind = next(number) % 8;
    let at = (next(number) % bytes.len() as u64) as usize;
    match kind {
        0 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        1 => {
            let end = bytes.len().min(at + 4096);
            bytes[at..end].fill(0);
            format!("zeros from {at} to {end}")
        }
        2 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].iter_mut().for_each(|byte| *byte = next(number) as u8);
            format!("noise from {at} to {end}")
        }
        _ => {
            let bit = next(number) % 8;
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at}")
        }
    }
}

/// Reads damaged files: returns the rows, or an error.
fn read(folder: &Path, file: &[u8], log: &[u8], read_only: bool) -> Result<Option<i64>> {
    let path = folder.join("damaged.godwit");
    fs::write(&path, file).unwrap();
    fs::write(folder.join("damaged.godwit.wal"), log).unwrap();
    let database = Database::open_with(&path, Config { read_only, ..config() })?;
    database.check();
    state(&database.connect())
}

#[test]
fn damage_is_told_or_does_no_harm() {
    let damages = std::env::var(DAMAGES_VARIABLE).map_or(DAMAGES, |text| text.parse().expect("a number of damages"));
    let folder = tempfile::tempdir().unwrap();
    let whole = image(folder.path());
    let all = ROWS + LOGGED_COMMITS;
    assert_eq!(read(folder.path(), &whole.file, &whole.log, false).unwrap(), Some(all));
    let (mut errors, mut harmless) = (0, 0);
    for seed in 1..=damages {
        let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (mut file, mut log) = (whole.file.clone(), whole.log.clone());
        let in_log = seed.is_multiple_of(3);
        let what = damage(if in_log { &mut log } else { &mut file }, &mut number);
        let what = format!("seed {seed}: {what} of the {}", if in_log { "log" } else { "file" });
        match read(folder.path(), &file, &log, seed.is_multiple_of(2)) {
            Ok(Some(found)) => {
                assert_eq!(found, all, "{what}");
                harmless += 1;
            }
            Ok(None) => panic!("{what}: wrong rows"),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{what}: {error}");
                errors += 1;
            }
        }
    }
    assert!(errors > 0 && harmless > 0, "{errors} errors, {harmless} without harm");
}
