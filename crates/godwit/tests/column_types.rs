//! Columns keep their SQL types through the log, through checkpoints, and in a file that is reopened.

#[path = "support/texts.rs"]
mod texts;

use std::fs;
use std::path::Path;

use godwit::{Config, Connection, Database};

use texts::texts;

const MAKE: &str = "
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE t (id INTEGER PRIMARY KEY, m mood DEFAULT 'ok', u UUID, j JSON, b BIT, map MAP(mood, INTEGER), h HUGEINT,
        moods mood[], copied mood GENERATED ALWAYS AS (m) STORED, shown mood AS (m));
    INSERT INTO t (id, m, u, j, b, map, h, moods) VALUES (1, 'happy', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '[1]', '10',
        MAP {'sad'::mood: 1}, -1, ['happy', 'sad']::mood[]);
    INSERT INTO t (id) VALUES (2);
    INSERT INTO t (id, m) VALUES (3, 'sad'), (4, NULL);
    DELETE FROM t WHERE id = 4";

const TYPES: [&str; 10] = [
    "id INTEGER",
    "m mood",
    "u UUID",
    "j JSON",
    "b BIT",
    "map MAP(mood, INTEGER)",
    "h HUGEINT",
    "moods mood[]",
    "copied mood",
    "shown mood",
];

const ROWS: [&str; 3] = [
    "1 happy 6ba7b810-9dad-11d1-80b4-00c04fd430c8 [1] 10 {sad=1} -1 [happy, sad] happy happy",
    "2 ok ? ? ? ? ? ? ok ok",
    "3 sad ? ? ? ? ? ? sad sad",
];

fn open(path: &Path) -> Connection {
    Database::open_with(path, Config { threads: Some(2), ..Config::default() }).unwrap().connect()
}

/// Returns the rows of a query, values separated by blanks, NULL as `?`.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap().flat_map(|batch| texts(&batch.unwrap(), "?"));
    rows.map(|row| row.join(" ")).collect()
}

/// Checks that the table is as it was created, and works.
fn check(connection: &Connection) {
    let types = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position";
    assert_eq!(rows(connection, types), TYPES);
    assert_eq!(rows(connection, "SELECT * FROM t ORDER BY id"), ROWS);
    assert_eq!(rows(connection, "SELECT id FROM t ORDER BY m"), ["3", "2", "1"]);
    assert_eq!(rows(connection, "SELECT max(m), min(m) FROM t WHERE m < 'happy'"), ["ok sad"]);
    for (refused, reason) in [
        ("INSERT INTO t (id, m) VALUES (5, 'glad')", "not a label of mood"),
        ("INSERT INTO t (id, u) VALUES (5, '1')", "not a UUID"),
        ("DROP TYPE mood", "is of the type mood"),
    ] {
        let error = connection.execute(refused).unwrap_err();
        assert!(error.message().contains(reason), "{refused}: {error}");
    }
}

/// Opens the database as it would be after a crash.
fn crashed(path: &Path, name: &str) -> Connection {
    let copy = path.with_file_name(name);
    let log = |path: &Path| path.with_extension("godwit.wal");
    fs::copy(path, &copy).unwrap();
    fs::copy(log(path), log(&copy)).unwrap();
    open(&copy)
}

#[test]
fn types_of_columns_are_durable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("types.godwit");
    {
        let connection = open(&path);
        connection.execute(MAKE).unwrap();
        check(&connection);
        check(&crashed(&path, "logged.godwit"));
        connection.execute("CHECKPOINT").unwrap();
        check(&connection);
        check(&crashed(&path, "checkpointed.godwit"));
        // Rows in row groups and in the log.
        connection.execute("INSERT INTO t (id, m) VALUES (6, 'happy'); UPDATE t SET m = 'sad' WHERE id = 6").unwrap();
        assert_eq!(rows(&crashed(&path, "both.godwit"), "SELECT m, shown FROM t WHERE id = 6"), ["sad sad"]);
        connection
            .execute("DELETE FROM t WHERE id = 6; ALTER TABLE t RENAME TO other; ALTER TABLE other RENAME TO t")
            .unwrap();
        check(&crashed(&path, "renamed.godwit"));
    }
    check(&open(&path));
    let again = open(&path);
    again.execute("DROP TABLE t; DROP TYPE mood").unwrap();
    drop(again);
    assert!(open(&path).execute("SELECT 'ok'::mood").is_err());
}

/// Parameters of prepared statements have the types of the columns that they are compared with.
#[test]
fn parameters_become_labels() {
    let connection = Database::open(":memory:").unwrap().connect();
    connection.execute(MAKE).unwrap();
    let insert = connection.prepare("INSERT INTO t (id, m, u) VALUES (?, ?, ?)").unwrap();
    let types: Vec<String> = insert.parameters().iter().map(|parameter| parameter.ty.to_string()).collect();
    assert_eq!(types, ["INTEGER", "mood", "UUID"]);
    insert.run(&[7_i64.into(), "sad".into(), "6BA7B8109DAD11D180B400C04FD430C8".into()]).unwrap().for_each(drop);
    let found = connection.prepare("SELECT id FROM t WHERE m = $1 AND u IS NOT NULL").unwrap();
    let ids: usize = found.run(&["sad".into()]).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(ids, 1);
    let error = found.run(&["glad".into()]).err().unwrap();
    assert!(error.message().contains("'glad' is not a label of mood"), "{error}");
    assert_eq!(error.code().to_string(), "22P02");
}
