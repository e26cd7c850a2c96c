//! Files written by older versions of Godwit are read as they were left, and continue as files of the newest format.
//!
//! `format_2.godwit` was made by a version that wrote format 2 and was killed before it moved the last commits from the
//! log into the file:
//!
//! ```sql
//! CREATE TABLE kept (id BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(12, 2) DEFAULT 1.5 CHECK (price >= 0), day DATE,
//!     ratio DOUBLE, flag BOOLEAN);
//! INSERT INTO kept SELECT i, CASE WHEN i % 7 > 0 THEN 'name ' || (i % 10) END, i * 0.25,
//!     DATE '2024-01-01' + CAST(i % 100 AS INTEGER), i / 8.0, i % 3 = 0 FROM range(1000) r(i);
//! CHECKPOINT;
//! CREATE TABLE child (id BIGINT REFERENCES kept (id), note VARCHAR NOT NULL);
//! INSERT INTO child VALUES (1, 'one'), (2, 'two');
//! CREATE VIEW cheap AS SELECT id, name FROM kept WHERE price < 1;
//! DELETE FROM kept WHERE id BETWEEN 500 AND 599;
//! UPDATE kept SET name = 'changed' WHERE id = 7;
//! INSERT INTO kept (id, name) VALUES (5000, 'in the log');
//! ```
//!
//! `format_5.godwit` was made likewise, by the last version whose parts didn't say whether they have codes. It has data
//! that was stored differently then: runs, decimals, symbols, 32-bit unsigned numbers beside codes.
//!
//! ```sql
//! CREATE TABLE numbers AS SELECT i AS key, CAST(i / 100 AS UINTEGER) AS run, CAST(i * 7919 % 1000 AS UINTEGER) AS packed,
//!     i * 7919 % 50 * 100 AS whole, CAST(i % 777 AS DOUBLE) / 4 AS price, sqrt(i % 50) AS noise,
//!     CASE WHEN i % 3 > 0 THEN 5 END AS same, NULL AS nothing FROM range(3000) r(i);
//! CREATE TABLE texts AS SELECT i AS key, 'group ' || (i * 7919 % 30) AS coded,
//!     'https://example.org/item/' || (i * 7919 % 5003) AS site,
//!     CASE WHEN i % 5 > 0 THEN chr(CAST(97 + i % 26 AS INTEGER)) || (i * 7919 % 3001) END AS short FROM range(3000) r(i);
//! CHECKPOINT;
//! CREATE TABLE logged AS SELECT i / 1000 AS key, 'kind ' || (i % 7) AS kind FROM range(70000) r(i);
//! INSERT INTO numbers (key, run, price) VALUES (3000, 30, 0.1);
//! INSERT INTO texts VALUES (3000, 'group 1', 'in the log', NULL);
//! ```

#[path = "../support/texts.rs"]
mod texts;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use godwit::{Config, Connection, Database};

use texts::texts;

/// Unpacks a file of this folder. Tests run in the folder of their package, wherever they were built.
fn unpack(name: &str, target: &Path) {
    let packed = Path::new("tests/formats").join(name);
    let mut content = Vec::new();
    GzDecoder::new(File::open(packed).unwrap()).read_to_end(&mut content).unwrap();
    fs::write(target, content).unwrap();
}

/// Returns the rows of a query, values separated by blanks.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap().flat_map(|batch| texts(&batch.unwrap(), "NULL"));
    rows.map(|row| row.join(" ")).collect()
}

fn format_of(file: &Path) -> u32 {
    u32::from_le_bytes(fs::read(file).unwrap()[12..16].try_into().unwrap())
}

fn check_rows(connection: &Connection) {
    let rows = |sql| rows(connection, sql);
    let all = "SELECT count(*), count(name), CAST(sum(id) AS BIGINT), sum(price), min(day), max(day), sum(ratio),
               count(*) FILTER (WHERE flag) FROM kept WHERE id < 1000";
    assert_eq!(rows(all), ["900 772 444550 111137.50 2024-01-01 2024-04-09 55568.75 301"]);
    let some = "SELECT * FROM kept WHERE id IN (0, 7, 8, 499, 500, 600, 5000) ORDER BY id";
    let expected = [
        "0 NULL 0.00 2024-01-01 0.0 true",
        "7 changed 1.75 2024-01-08 0.875 false",
        "8 name 8 2.00 2024-01-09 1.0 false",
        "499 name 9 124.75 2024-04-09 62.375 false",
        "600 name 0 150.00 2024-01-01 75.0 true",
        "5000 in the log 1.50 NULL NULL NULL",
    ];
    assert_eq!(rows(some), expected);
    assert_eq!(rows("SELECT * FROM child ORDER BY id"), ["1 one", "2 two"]);
    assert_eq!(rows("SELECT * FROM cheap ORDER BY id"), ["0 NULL", "1 name 1", "2 name 2", "3 name 3"]);
}

#[test]
fn format_2_is_read_and_goes_on_as_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.godwit");
    unpack("format_2.godwit.gz", &file);
    unpack("format_2.godwit.wal.gz", &folder.path().join("old.godwit.wal"));
    assert_eq!(format_of(&file), 2);
    let config = || Config { threads: Some(2), ..Config::default() };
    {
        let connection = Database::open_with(&file, Config { read_only: true, ..config() }).unwrap().connect();
        check_rows(&connection);
    }
    assert_eq!(format_of(&file), 2, "who only reads leaves the file alone");
    {
        let connection = Database::open_with(&file, config()).unwrap().connect();
        check_rows(&connection);
        // Rules still hold.
        for (refused, reason) in [
            ("INSERT INTO kept (id) VALUES (7)", "duplicate key"),
            ("UPDATE kept SET price = -1 WHERE id = 8", "check"),
            ("INSERT INTO child VALUES (500, 'no such row')", "there is no"),
            ("INSERT INTO child (id) VALUES (1)", "NULL"),
        ] {
            let error = connection.execute(refused).unwrap_err();
            assert!(error.message().to_lowercase().contains(&reason.to_lowercase()), "{refused}: {error}");
        }
        // Features that format 2 lacks can be added to the same file.
        let script = "CREATE SCHEMA newer; CREATE SEQUENCE newer.numbers START 7;
                      CREATE TABLE newer.t (n BIGINT DEFAULT nextval('newer.numbers'), doubled BIGINT AS (n * 2));
                      INSERT INTO newer.t DEFAULT VALUES";
        connection.execute(script).unwrap();
    }
    let connection = Database::open_with(&file, config()).unwrap().connect();
    check_rows(&connection);
    assert_eq!(rows(&connection, "SELECT * FROM newer.t"), ["7 14"]);
    assert!(format_of(&file) > 2);
}

#[test]
fn format_5_is_read_and_goes_on_as_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.godwit");
    unpack("format_5.godwit.gz", &file);
    unpack("format_5.godwit.wal.gz", &folder.path().join("old.godwit.wal"));
    assert_eq!(format_of(&file), 5);
    let config = || Config { threads: Some(2), ..Config::default() };
    // First as it is, then with additional rows in the newest format, then as a file of the newest format.
    for step in 0..3 {
        let connection = Database::open_with(&file, config()).unwrap().connect();
        check_encodings(&connection);
        if step == 1 {
            let more = "INSERT INTO texts SELECT 10000 + i, 'group 30', 'site ' || i, NULL FROM range(200000) r(i);
                        DELETE FROM texts WHERE key >= 10000; CHECKPOINT";
            connection.execute(more).unwrap();
        }
    }
    assert!(format_of(&file) > 5);
}

fn check_encodings(connection: &Connection) {
    let rows = |sql| rows(connection, sql);
    let sums =
        "SELECT count(*), sum(key), sum(run), sum(packed), sum(whole), sum(price), round(sum(noise), 3), sum(same),
                count(nothing) FROM numbers";
    assert_eq!(rows(sums), ["3001 4501500 43530 1498500 7350000 281968.6 13917.884 10000 0"]);
    let some = "SELECT run, packed, whole, price, noise, same FROM numbers WHERE key IN (0, 2047, 3000) ORDER BY key";
    let expected = ["0 0 0 0.0 0.0 NULL", "20 193 4300 123.25 6.855654600401044 5", "30 NULL NULL 0.1 NULL NULL"];
    assert_eq!(rows(some), expected);
    let some = "SELECT * FROM texts WHERE key IN (0, 1, 2047, 2999, 3000) ORDER BY key";
    let expected = [
        "0 group 0 https://example.org/item/0 NULL",
        "1 group 29 https://example.org/item/2916 b1917",
        "2047 group 23 https://example.org/item/473 t1792",
        "2999 group 1 https://example.org/item/4843 j2168",
        "3000 group 1 in the log NULL",
    ];
    assert_eq!(rows(some), expected);
    let all = "SELECT count(DISTINCT site), max(short), sum(length(short)), count(*) FILTER (WHERE coded = 'group 7') FROM texts";
    assert_eq!(rows(all), ["3001 z99 11111 100"]);
    let kinds = "SELECT kind, count(*), sum(key) FROM logged GROUP BY kind ORDER BY kind LIMIT 2";
    assert_eq!(rows(kinds), ["kind 0 10000 344970", "kind 1 10000 344980"]);
}
