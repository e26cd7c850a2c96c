//! Workers in partitions of a simulated cache.
#![cfg(all(target_os = "linux", feature = "cache-partitioning"))]

#[path = "support/texts.rs"]
mod texts;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use godwit::{Call, Config, Connection, Database, DebugOptions, Imitation};
use tempfile::TempDir;

use texts::texts;

const WAYS: u32 = 20;
const EPERM: i32 = 1;
const EBUSY: i32 = 16;

/// A scan that returns one row.
const SCAN: &str = "SELECT count(*) FROM t WHERE v > 5";
/// Groups in hash tables: their keys are too far apart for an array.
const GROUPS: &str = "SELECT count(*) FROM (SELECT g, sum(v) FROM t GROUP BY g)";

fn machine(folder: &Path, ways: u32, classes: u32) -> Imitation {
    Imitation::new(folder, ways, classes)
}

/// Opens a database with two workers and a table of several morsels, whose statements so far moved no threads.
fn open(machine: &Imitation) -> Database {
    let debug = DebugOptions { resctrl: Some(machine.clone()), ..DebugOptions::default() };
    let config = Config { memory_limit_bytes: Some(1 << 30), debug, ..Config::default() }.with_threads(2).unwrap();
    let database = Database::open_with(":memory:", config).unwrap();
    let connection = database.connect();
    connection.execute("SET cache_partitioning = 'off'").unwrap();
    let table = "CREATE TABLE t AS SELECT i % 1000 AS v, i % 50000 * 1000003 AS g FROM range(1000000) AS r(i)";
    connection.execute(table).unwrap();
    assert_eq!(machine.moves(), 0);
    connection.execute("RESET cache_partitioning").unwrap();
    database
}

/// Asserts that the groups of a closed database are removed with its last thread, which may end a moment later.
fn assert_groups_go(machine: &Imitation) {
    let began = Instant::now();
    while !machine.groups().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?} stay", machine.groups());
        thread::sleep(Duration::from_millis(5));
    }
}

fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap().flat_map(|batch| texts(&batch.unwrap(), ""));
    rows.map(|row| row.join(" | ")).collect()
}

/// Returns the groups that threads were moved to since the last call, by the ends of their names.
fn entered(machine: &Imitation) -> Vec<String> {
    let mut classes: Vec<String> = machine
        .take_moves()
        .into_iter()
        .map(|(group, thread)| {
            let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap();
            assert!(name.starts_with("godwit-worker"), "{name} was moved to {group}");
            group.rsplit('-').next().unwrap().to_owned()
        })
        .collect();
    classes.sort();
    classes.dedup();
    classes
}

fn reason(connection: &Connection) -> String {
    let sql = "SELECT value || ': ' || reason FROM godwit_settings() WHERE name = 'cache_partitioning'";
    rows(connection, sql).remove(0)
}

#[test]
fn workers_enter_the_classes_of_pipelines() {
    let folder = TempDir::new().unwrap();
    let machine = machine(folder.path(), WAYS, 16);
    let database = open(&machine);
    let connection = database.connect();
    assert!(machine.groups().is_empty(), "groups are made for the first query");
    assert_eq!(rows(&connection, "SELECT sum(i) FROM (SELECT i FROM range(10) AS r(i) ORDER BY i)"), ["45"]);
    assert_eq!(entered(&machine), [""; 0], "small work stays where it begins");
    assert_eq!(rows(&connection, SCAN), ["994000"]);
    assert_eq!(entered(&machine), ["polluting"]);
    let groups = machine.groups();
    assert_eq!(groups.len(), 2);
    assert!(reason(&connection).starts_with("auto: on: of 20 ways scans fill 2"), "{}", reason(&connection));
    entered(&machine);

    assert_eq!(rows(&connection, GROUPS), ["50000"]);
    let classes = entered(&machine);
    assert!(classes.contains(&String::new()), "grouping has the whole cache: {classes:?}");
    rows(&connection, GROUPS);
    rows(&connection, SCAN);
    assert!(entered(&machine).contains(&"polluting".to_owned()), "a scan leaves it again");

    // Databases of one process have separate groups here; on a real machine they share them.
    let other = open(&machine);
    assert_eq!(rows(&other.connect(), SCAN), ["994000"]);
    assert_eq!(machine.groups().len(), 4);
    drop(other);
    assert_eq!(machine.groups(), groups);
    drop((connection, database));
    assert_groups_go(&machine);
}

#[test]
fn the_setting() {
    let folder = TempDir::new().unwrap();
    let machine = machine(folder.path(), WAYS, 16);
    let database = open(&machine);
    let connection = database.connect();
    connection.execute("SET cache_partitioning = 'on'").unwrap();
    assert_eq!(machine.groups().len(), 2, "'on' is tried at once");
    rows(&connection, SCAN);
    assert_eq!(entered(&machine), ["polluting"]);

    connection.execute("SET cache_partitioning = 'OFF'").unwrap();
    assert_eq!(reason(&connection), "off: off: cache_partitioning is set to off");
    (0..20).for_each(|_| assert_eq!(rows(&connection, SCAN), ["994000"]));
    assert!(!entered(&machine).contains(&"polluting".to_owned()), "workers only go home");
    let error = connection.execute("SET cache_partitioning = 'maybe'").unwrap_err();
    assert!(error.message().contains("there is no 'maybe'"), "{error}");
    drop((connection, database));
    assert_groups_go(&machine);
}

#[test]
fn where_it_cant_be_on_the_reason_is_shown_and_queries_go_on() {
    type Spoil = fn(&Imitation);
    let nothing: Spoil = |_| {};
    let unmounted: Spoil = |machine| fs::remove_dir_all(machine.root().join("info")).unwrap();
    let unknown: Spoil = |machine| fs::remove_dir_all(machine.root()).unwrap();
    let forbidden: Spoil = |machine| machine.fail(Call::Create, "polluting", EPERM, u32::MAX);
    let busy: Spoil = |machine| machine.fail(Call::Create, "comparable", EBUSY, u32::MAX);
    for (ways, classes, spoil, expected) in [
        (WAYS, 16, unmounted, "isn't mounted"),
        (WAYS, 16, unknown, "can't partition its last-level cache"),
        (WAYS, 16, forbidden, "this user may not change"),
        (WAYS, 16, busy, "the kernel refused a change"),
        (3, 16, nothing, "3 neighbouring ways of the cache; partitions need 4"),
        (WAYS, 2, nothing, "all 2 classes of the processor are in use"),
    ] {
        let folder = TempDir::new().unwrap();
        let machine = machine(folder.path(), ways, classes);
        spoil(&machine);
        let database = open(&machine);
        let connection = database.connect();
        for mode in ["auto", "on"] {
            connection.execute(&format!("SET cache_partitioning = '{mode}'")).unwrap();
            assert_eq!(rows(&connection, SCAN), ["994000"]);
            let shown = reason(&connection);
            assert!(shown.starts_with(&format!("{mode}: off: ")) && shown.contains(expected), "{shown}");
        }
        assert_eq!(entered(&machine), [""; 0]);
        if machine.root().exists() {
            assert!(machine.groups().is_empty(), "nothing is left of what was begun");
        }
    }
}

#[test]
fn a_refusal_later_turns_it_off() {
    let folder = TempDir::new().unwrap();
    let machine = machine(folder.path(), WAYS, 16);
    let database = open(&machine);
    let connection = database.connect();
    machine.fail(Call::Write, "polluting/tasks", EPERM, u32::MAX);
    assert_eq!(rows(&connection, SCAN), ["994000"]);
    let shown = reason(&connection);
    assert!(shown.starts_with("auto: off: this user may not change"), "{shown}");
    entered(&machine);
    assert_eq!(rows(&connection, SCAN), ["994000"]);
    assert!(!entered(&machine).contains(&"polluting".to_owned()), "it isn't tried again");
    // Until it is requested.
    machine.heal();
    connection.execute("SET cache_partitioning = 'auto'").unwrap();
    rows(&connection, SCAN);
    assert_eq!(entered(&machine), ["polluting"]);
    drop((connection, database));
    assert_groups_go(&machine);
}

#[test]
fn explain_analyze_tells_classes_and_why() {
    let folder = TempDir::new().unwrap();
    let database = open(&machine(folder.path(), WAYS, 16));
    let connection = database.connect();
    let text = rows(&connection, &format!("EXPLAIN ANALYZE {GROUPS}")).join("\n");
    let (_, classes) =
        text.split_once("Classes of the last-level cache, partitioning is on").expect("there are classes");
    assert!(classes.contains("\n  sensitive: "), "{classes}");
    assert!(classes.contains("looks up groups in hash tables"), "{classes}");
    let json = rows(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {SCAN}")).remove(0);
    let (_, classes) = json.split_once("\"cache_classes\": ").expect("there are classes");
    let compact: String = classes.split_whitespace().collect();
    assert!(compact.starts_with("[{\"class\":\"polluting\",\"operators\":[{\"name\":"), "{compact}");
    assert!(compact.contains("\"usage\":\"polluting\",\"bytes\":0,\"why\":\"readseachvalueonce\""), "{compact}");
}
