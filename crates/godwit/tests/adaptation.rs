//! Segments change form alongside readers, writers and merges, without any effect on rows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use godwit::{Config, Connection, Database};

fn database(path: &std::path::Path, limit_mib: u64) -> Database {
    let config = Config { threads: Some(2), memory_limit_bytes: Some(limit_mib << 20), ..Config::default() };
    Database::open_with(path, config).unwrap()
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<i64>> {
    let mut found = Vec::new();
    for batch in connection.query(sql).unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let value = |column: usize| match batch.column(column).as_primitive_opt::<Int64Type>() {
                Some(values) => values.value(row),
                None => batch.column(column).as_primitive::<UInt64Type>().value(row) as i64,
            };
            found.push((0..batch.num_columns()).map(value).collect());
        }
    }
    found
}

fn number(connection: &Connection, sql: &str) -> i64 {
    rows(connection, sql)[0][0]
}

/// Waits until a query returns a positive number.
fn wait_for(connection: &Connection, what: &str, sql: &str) {
    let began = Instant::now();
    while number(connection, sql) <= 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} didn't happen: {sql}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const TABLE: &str =
    "CREATE TABLE t AS SELECT i AS id, i * 7919 % 1000 AS k, 'text number ' || (i * 31 % 99991) AS s, i / 4.0 AS d
    FROM range(400000) r(i);";

const CHECKSUM: &str =
    "SELECT count(*), sum(id)::BIGINT, sum(k)::BIGINT, sum(length(s))::BIGINT, sum(d * 4)::BIGINT FROM t";

fn hot(comparison: &str) -> String {
    format!(
        "SELECT count(*) FILTER (form = 'hot' AND hot_bytes > 0) {comparison} FROM godwit_heat() WHERE object LIKE '%.main.t.%'"
    )
}

#[test]
fn every_mode_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("x.godwit"), ":memory:".into()] {
        let database = database(&path, 512);
        let connection = database.connect();
        connection.execute(TABLE).unwrap();
        connection.execute("CHECKPOINT").unwrap();
        let expected = rows(&connection, CHECKSUM);
        let point = "SELECT id, k, length(s)::BIGINT FROM t WHERE id = 234567";
        let filtered =
            "SELECT count(*), sum(id)::BIGINT FROM t WHERE k BETWEEN 100 AND 107 AND d > 1000 AND s LIKE '%77%'";
        let (expected_point, expected_filtered) = (rows(&connection, point), rows(&connection, filtered));
        for (mode, is_there) in
            [("hot", "::BIGINT"), ("compact", "::BIGINT - 1 < 0"), ("hot", "::BIGINT"), ("off", "::BIGINT - 1 < 0")]
        {
            connection.execute(&format!("SET adaptive_compression = '{mode}'")).unwrap();
            let condition = hot(is_there)
                .replace("- 1 < 0", "= 0")
                .replace("SELECT ", "SELECT (")
                .replace(" FROM", ")::BIGINT FROM");
            wait_for(&connection, mode, &condition);
            assert_eq!(rows(&connection, CHECKSUM), expected, "{mode}");
            assert_eq!(rows(&connection, point), expected_point, "{mode}");
            assert_eq!(rows(&connection, filtered), expected_filtered, "{mode}");
        }
        let changes = "SELECT count(*) FROM godwit_adaptation() WHERE from_form = 'compact' AND to_form = 'hot' AND bytes_after > bytes_before";
        assert!(number(&connection, changes) > 0);
    }
}

#[test]
fn auto_makes_hot_what_is_read_again_and_again_and_changes_nothing_for_one_pass() {
    let folder = tempfile::tempdir().unwrap();
    let database = database(&folder.path().join("x.godwit"), 512);
    let connection = database.connect();
    let table = TABLE.replace("'text number '", "i || ' is a longer text with a number at its end, '");
    connection.execute(&table).unwrap();
    connection.execute("CHECKPOINT; SET adaptation_period = '50ms'").unwrap();
    rows(&connection, CHECKSUM);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(number(&connection, "SELECT count(*) FROM godwit_adaptation()"), 0);
    let is_hot = "SELECT count(*) FROM godwit_heat() WHERE form = 'hot' AND object LIKE '%.s.%'";
    let began = Instant::now();
    while number(&connection, is_hot) == 0 {
        number(&connection, "SELECT sum(length(s))::BIGINT FROM t WHERE s LIKE '%99%'");
        assert!(began.elapsed() < Duration::from_secs(20), "texts that are read all the time stay packed");
    }
    // They are no longer read.
    wait_for(&connection, "cooling", &is_hot.replace("count(*)", "(count(*) = 0)::BIGINT"));
}

#[test]
fn heat_tells_segments_that_are_read_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let database = database(&folder.path().join("x.godwit"), 512);
    let connection = database.connect();
    connection.execute(TABLE).unwrap();
    connection.execute("CHECKPOINT").unwrap();
    for id in 0..400 {
        assert_eq!(number(&connection, &format!("SELECT id FROM t WHERE id = {}", 300_000 + id)), 300_000 + id);
    }
    let of =
        |condition: &str| format!("SELECT coalesce(sum(reads), 0)::BIGINT FROM godwit_heat() WHERE object {condition}");
    let hottest = number(&connection, &of("= 'x.main.t.id.2'"));
    assert!((200..800).contains(&hottest), "{hottest} reads");
    assert!(number(&connection, &of("LIKE 'x.main.t.s.%' AND kind = 'segment'")) < hottest / 10);
    assert_eq!(number(&connection, "SELECT count(*) FROM godwit_heat() WHERE kind = 'delta' AND form IS NULL"), 1);
    let held = "SELECT sum(bytes)::BIGINT FROM godwit_memory() WHERE object LIKE 'x.main.t.%' AND kind = 'segment' AND tag = 'table'";
    assert!(number(&connection, held) > 0);
}

#[test]
fn what_nobody_reads_is_frozen_and_thaws_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("x.godwit"), ":memory:".into()] {
        let database = database(&path, 256);
        let connection = database.connect();
        connection.execute("SET adaptive_compression = 'off'; SET force_encoding = 'plain'").unwrap();
        connection.execute(TABLE).unwrap();
        connection.execute("CHECKPOINT").unwrap();
        let expected = rows(&connection, CHECKSUM);
        connection
            .execute("SET compaction_threshold = 1; SET adaptation_period = '20ms'; SET adaptive_compression = 'on'")
            .unwrap();
        let sums = "SELECT sum(frozen_bytes)::BIGINT FROM godwit_heat()";
        let is_in_file = path != std::path::Path::new(":memory:");
        if is_in_file {
            // Blocks of a file that are in the system's page cache are read faster than thawed.
            std::thread::sleep(Duration::from_millis(300));
        } else {
            wait_for(&connection, "freezing", sums);
            let why = "SELECT count(*) FROM godwit_adaptation() WHERE to_form = 'frozen' AND reason LIKE 'not read for %' AND bytes_after < bytes_before";
            wait_for(&connection, "a note of freezing", why);
        }
        assert_eq!(rows(&connection, CHECKSUM), expected);
        let again = "SELECT count(*) FROM godwit_heat() WHERE compact_bytes > 0 AND kind = 'segment'";
        let began = Instant::now();
        // On a busy machine it may have been frozen again already.
        while number(&connection, again) == 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "what is read isn't there as it is stored");
            assert_eq!(rows(&connection, CHECKSUM), expected);
        }
        connection.execute("SET adaptive_compression = 'off'").unwrap();
        wait_for(&connection, "thawing", &sums.replace("sum(frozen_bytes)", "(sum(frozen_bytes) = 0)"));
        assert_eq!(rows(&connection, CHECKSUM), expected);
    }
}

#[test]
fn settings_refuse_what_they_cannot_be() {
    let database = database(":memory:".as_ref(), 256);
    let connection = database.connect();
    for wrong in [
        "SET adaptive_compression = 'maybe'",
        "SET compaction_threshold = 1.5",
        "SET compaction_threshold = 'most'",
        "SET adaptation_period = 'often'",
        "SET adaptation_period = '0s'",
    ] {
        let error = connection.execute(wrong).unwrap_err().to_string();
        assert!(error.contains("can't be") || error.contains("one of"), "{wrong}: {error}");
    }
    connection
        .execute("SET compaction_threshold = 0.75; SET adaptation_period = '250ms'; SET adaptive_compression = 'on'")
        .unwrap();
    connection.execute("RESET compaction_threshold; RESET adaptation_period; RESET adaptive_compression").unwrap();
}

/// Accounts whose sum never changes: one thread moves money between them, others read them, a fourth merges and changes
/// forms. Every reader sees a consistent state, and the final state is that of a plain map.
#[test]
fn readers_writers_merges_and_changes_of_form_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (path, seed) in [(folder.path().join("x.godwit"), 1), (":memory:".into(), 2)] {
        let database = database(&path, 256);
        let mut model: BTreeMap<i64, i64> = (0..200_000).map(|id| (id, id % 97)).collect();
        let total: i64 = model.values().sum();
        let connection = database.connect();
        connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT, s VARCHAR)").unwrap();
        connection
            .execute("INSERT INTO t SELECT i, i % 97, 'account ' || i FROM range(200000) r(i); CHECKPOINT; SET adaptation_period = '5ms'")
            .unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 0..2 {
                let (connection, is_over) = (database.connect(), &is_over);
                scope.spawn(move || {
                    let mut reads = 0;
                    while !is_over.load(Ordering::Relaxed) || reads < 3 {
                        let sums = rows(&connection, "SELECT sum(v)::BIGINT, count(*) - count(DISTINCT s) FROM t");
                        assert_eq!(sums, [[total, 0]], "reader {reader}");
                        reads += 1;
                    }
                });
            }
            let (former, is_over_too) = (database.connect(), &is_over);
            scope.spawn(move || {
                let modes = ["hot", "on", "compact", "auto", "hot", "off"];
                for mode in modes.iter().cycle() {
                    if is_over_too.load(Ordering::Relaxed) {
                        break;
                    }
                    former.execute(&format!("SET adaptive_compression = '{mode}'")).unwrap();
                    std::thread::sleep(Duration::from_millis(7));
                    former.execute("CHECKPOINT").unwrap();
                }
            });
            let mut random = seed * 0x9e37_79b9_u64;
            let mut next = |below: i64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((random >> 33) % below as u64) as i64
            };
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(4) {
                let (from, to, amount) = (next(200_000), next(200_000), next(50));
                if !model.contains_key(&from) || !model.contains_key(&to) || from == to {
                    continue;
                }
                *model.get_mut(&from).unwrap() -= amount;
                *model.get_mut(&to).unwrap() += amount;
                connection
                    .execute(&format!(
                        "BEGIN; UPDATE t SET v = v - {amount} WHERE id = {from}; UPDATE t SET v = v + {amount} WHERE id = {to}; COMMIT"
                    ))
                    .unwrap();
                if next(10) == 0 {
                    // An account is closed, and another takes over its balance.
                    let (gone, heir) = (next(200_000), to);
                    if gone != heir
                        && let Some(left) = model.remove(&gone)
                    {
                        *model.get_mut(&heir).unwrap() += left;
                        connection
                            .execute(&format!(
                                "BEGIN; DELETE FROM t WHERE id = {gone}; UPDATE t SET v = v + {left} WHERE id = {heir}; COMMIT"
                            ))
                            .unwrap();
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(number(&connection, "SELECT count(*) FROM godwit_adaptation() WHERE to_form = 'hot'") > 0);
        let there: BTreeMap<i64, i64> =
            rows(&connection, "SELECT id, v FROM t").into_iter().map(|row| (row[0], row[1])).collect();
        assert!(there == model, "the table differs from the map");
    }
}
