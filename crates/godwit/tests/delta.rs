//! Text in deltas: codes of values added since row groups were made, compared with a plain model, for readers of any
//! age.

#[path = "support/texts.rs"]
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};
use proptest::prelude::*;

use texts::texts;

type Row = (i64, Option<String>);

/// Whether a string passes a filter.
type Passes<'a> = &'a dyn Fn(&str) -> bool;

/// An operation on the table `t`, which starts with rows in row groups.
#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<Option<String>>),
    /// Inserts this many rows of few distinct values, which depend on the number.
    InsertMany(u16),
    /// Inserts a string of a megabyte of this character.
    InsertLarge(char),
    /// Deletes every n-th row.
    Delete(u8),
    Merge,
    Checkpoint,
    /// Opens a reader, which reads until the end.
    Open,
    /// Reopens the database as after a crash: its log is replayed.
    Replay,
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        1 => Just(None),
        2 => Just(Some(String::new())),
        5 => "[a-g]{1,2}".prop_map(Some),
        3 => "[a-z]{0,1}a string that is long, number [0-9]{1,2}".prop_map(Some),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec(text(), 1..40).prop_map(Step::Insert),
        2 => (100u16..6_000).prop_map(Step::InsertMany),
        1 => prop::char::range('a', 'c').prop_map(Step::InsertLarge),
        2 => (2u8..9).prop_map(Step::Delete),
        1 => Just(Step::Merge),
        1 => Just(Step::Checkpoint),
        3 => Just(Step::Open),
        1 => Just(Step::Replay),
    ]
}

fn run(connection: &Connection, sql: &str) -> Vec<RecordBatch> {
    let result = connection.query(sql).unwrap_or_else(|error| panic!("{error}: {}", &sql[..sql.len().min(200)]));
    result.map(Result::unwrap).collect()
}

/// Returns the rows as text, with NULL as `?`.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    run(connection, sql).iter().flat_map(|batch| texts(batch, "?")).map(|row| row.join("|")).collect()
}

fn shown(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("?")
}

fn open(path: &Path) -> Database {
    Database::open_with(path, Config { threads: Some(2), ..Config::default() }).unwrap()
}

/// Creates tables with row groups, whose values leave room for others in between.
fn create(connection: &Connection) -> Vec<Row> {
    let values =
        "CASE WHEN i % 7 = 0 THEN NULL ELSE chr(97 + (i % 5)::INT) || CASE WHEN i % 2 = 0 THEN '' ELSE 'c' END END";
    run(connection, &format!("CREATE TABLE t AS SELECT i AS n, {values} AS s FROM range(3000) r(i)"));
    // Some of both are in its delta.
    run(connection, "CREATE TABLE u AS SELECT chr(97 + i::INT) AS s, i AS k FROM range(12) r(i)");
    run(
        connection,
        "INSERT INTO u VALUES ('', 100), ('cc', 101), ('a string that is long, number 5', 102), (NULL, 103)",
    );
    let text = |i: i64| {
        let letter = (b'a' + (i % 5) as u8) as char;
        (i % 7 != 0).then(|| format!("{letter}{}", if i % 2 == 0 { "" } else { "c" }))
    };
    (0..3_000).map(|i| (i, text(i))).collect()
}

/// Returns the values of `u`, with their numbers.
fn others() -> BTreeMap<String, i64> {
    let letters = (0..12).map(|i| (((b'a' + i as u8) as char).to_string(), i));
    let more = [("", 100), ("cc", 101), ("a string that is long, number 5", 102)].map(|(s, k)| (s.to_owned(), k));
    letters.chain(more).collect()
}

/// Runs all queries that involve codes.
fn check(connection: &Connection, model: &[Row]) {
    let mut groups: BTreeMap<&Option<String>, (u64, i64)> = BTreeMap::new();
    for (n, s) in model {
        let group = groups.entry(s).or_default();
        *group = (group.0 + 1, group.1 + n);
    }
    let same = |sql: &str, expected: Vec<String>| {
        let found = rows(connection, sql);
        assert!(found == expected, "{sql}: {} rows, {} were expected", found.len(), expected.len());
    };
    let grouped = |(s, (count, sum)): (&&Option<String>, &(u64, i64))| format!("{}|{count}|{sum}", shown(s));
    let sql = "SELECT s, count(*), sum(n) FROM t GROUP BY s ORDER BY s NULLS FIRST";
    same(sql, groups.iter().map(grouped).collect());
    let is = |s: &Option<String>, filter: &dyn Fn(&str) -> bool| s.as_deref().is_some_and(filter);
    let filters: [(&str, Passes<'_>); 4] = [
        ("s >= 'b' AND s < 'e'", &|s| ("b".."e").contains(&s)),
        ("s LIKE '%1%'", &|s| s.contains('1')),
        ("s = ''", &|s| s.is_empty()),
        ("length(s) <> 1", &|s| s.len() != 1),
    ];
    for (sql, filter) in filters {
        let groups = groups.iter().filter(|(s, _)| is(s, filter)).map(grouped).collect();
        same(&format!("SELECT s, count(*), sum(n) FROM t WHERE {sql} GROUP BY s ORDER BY s"), groups);
        let sum: i64 = model.iter().filter(|(_, s)| is(s, filter)).map(|(n, _)| n + 1).sum();
        same(&format!("SELECT coalesce(sum(n + 1), 0) FROM t WHERE {sql}"), vec![sum.to_string()]);
    }
    let nulls = model.iter().filter(|(_, s)| s.is_none()).count();
    same("SELECT count(*) FROM t WHERE s IS NULL", vec![nulls.to_string()]);
    let values: BTreeSet<&str> = model.iter().filter_map(|(_, s)| s.as_deref()).collect();
    let ends = [values.first(), values.last()].map(|end| end.copied().unwrap_or("?"));
    let sql = "SELECT min(s), max(s), count(DISTINCT s) FROM t";
    same(sql, vec![format!("{}|{}|{}", ends[0], ends[1], values.len())]);
    let mut sorted: Vec<&Row> = model.iter().collect();
    sorted.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
    same(
        "SELECT s, n FROM t ORDER BY s NULLS FIRST, n",
        sorted.iter().map(|(n, s)| format!("{}|{n}", shown(s))).collect(),
    );
    let others = others();
    let joined = |s: &Option<String>| others.get(s.as_deref()?).copied();
    let pairs: Vec<i64> = model.iter().filter_map(|(n, s)| Some(n + joined(s)?)).collect();
    let expected = vec![format!("{}|{}", pairs.len(), pairs.iter().sum::<i64>())];
    same("SELECT count(*), coalesce(sum(n + k), 0) FROM t JOIN u ON t.s = u.s", expected.clone());
    let sql = "SELECT count(n), coalesce(sum(n + k), 0) FROM u LEFT JOIN t ON t.s = u.s";
    same(sql, expected);
    let expected = vec![(model.len() - pairs.len()).to_string()];
    same("SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.s = t.s)", expected);
}

fn insert(connection: &Connection, model: &mut Vec<Row>, texts: Vec<Option<String>>) {
    let first = model.iter().map(|row| row.0 + 1).max().unwrap_or(0);
    let added: Vec<Row> = (first..).zip(texts).collect();
    let literal = |(n, s): &Row| match s {
        Some(text) => format!("({n}, '{text}')"),
        None => format!("({n}, NULL)"),
    };
    let values: Vec<String> = added.iter().map(literal).collect();
    run(connection, &format!("INSERT INTO t VALUES {}", values.join(", ")));
    model.extend(added);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn readers_of_any_age_see_their_values(steps in prop::collection::vec(step(), 1..14)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.godwit");
        let database = open(&path);
        let connection = database.connect();
        let mut model = create(&connection);
        let mut readers: Vec<(Connection, Vec<Row>)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(texts) => insert(&connection, &mut model, texts),
                Step::InsertMany(count) => {
                    let text = |row: u16| Some(format!("{} of {number}", row % 613));
                    insert(&connection, &mut model, (0..count).map(text).collect());
                }
                Step::InsertLarge(letter) => insert(&connection, &mut model, vec![Some(letter.to_string().repeat(1 << 20))]),
                Step::Delete(every) => {
                    run(&connection, &format!("DELETE FROM t WHERE n % {every} = 0"));
                    model.retain(|row| row.0 % every as i64 != 0);
                }
                Step::Merge => drop(run(&connection, "MERGE DELTA OF t")),
                Step::Checkpoint => drop(run(&connection, "CHECKPOINT")),
                Step::Open => {
                    let reader = database.connect();
                    run(&reader, "BEGIN");
                    readers.push((reader, model.clone()));
                }
                Step::Replay => {
                    let copy = folder.path().join(format!("copy{number}.godwit"));
                    std::fs::copy(&path, &copy).unwrap();
                    let log = |path: &Path| path.with_extension("godwit.wal");
                    std::fs::copy(log(&path), log(&copy)).unwrap();
                    check(&open(&copy).connect(), &model);
                }
            }
            if number % 3 == 0 {
                check(&connection, &model);
            }
        }
        check(&connection, &model);
        for (reader, model) in &readers {
            check(reader, model);
        }
        drop((connection, readers, database));
        check(&open(&path).connect(), &model);
    }
}

/// While values are added and deltas merged, every reader finds each value as often as its commit added it, and in
/// order.
#[test]
fn readers_beside_writers_see_whole_commits() {
    let database = Database::open_with(":memory:", Config { threads: Some(2), ..Config::default() }).unwrap();
    let connection = database.connect();
    run(&connection, "CREATE TABLE t AS SELECT 'value ' || (i % 100) AS s FROM range(300) r(i)");
    let is_over = AtomicBool::new(false);
    let read = || {
        let connection = database.connect();
        let mut known = 0;
        while !is_over.load(Ordering::Relaxed) {
            let sql =
                "SELECT count(*), count(*) FILTER (WHERE c <> 3) FROM (SELECT s, count(*) AS c FROM t GROUP BY s)";
            let batches = run(&connection, sql);
            let counts = [0, 1].map(|column| batches[0].column(column).as_primitive::<Int64Type>().value(0));
            assert_eq!(counts[1], 0, "a part of a commit");
            assert!(counts[0] >= known, "values went away");
            known = counts[0];
            let found = rows(&connection, "SELECT s FROM t WHERE s > 'value 50' ORDER BY s");
            assert!(found.is_sorted() && found.len().is_multiple_of(3));
        }
    };
    let write = |writer: usize| {
        let connection = database.connect();
        for number in 0..60 {
            let value = format!("value {:02}.{writer} {number}", number * 37 % 100);
            run(&connection, &format!("INSERT INTO t VALUES ('{value}'), ('{value}'), ('{value}')"));
            if number % 20 == 10 + writer {
                run(&connection, "MERGE DELTA OF t");
            }
        }
    };
    std::thread::scope(|threads| {
        let readers = [threads.spawn(read), threads.spawn(read)];
        let writers = [0, 1].map(|writer| threads.spawn(move || write(writer)));
        let written = writers.map(|writer| writer.join());
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        written.into_iter().for_each(|written| written.unwrap());
    });
    assert_eq!(rows(&connection, "SELECT count(*), count(DISTINCT s) FROM t"), ["660|220"]);
}
