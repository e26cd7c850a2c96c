//! The functions' own examples, run in the engine, and the reference generated from them.

#[path = "support/reference.rs"]
mod reference;
#[path = "support/texts.rs"]
mod texts;

use std::path::Path;

use godwit::{Config, Connection, Database, Error};

use godwit_functions::listed_functions;

use reference::reference;
use texts::texts;

fn connection() -> Connection {
    Database::open(":memory:").unwrap().connect()
}

/// Returns the rows of a query as texts.
fn rows(connection: &Connection, sql: &str) -> Result<Vec<Vec<String>>, Error> {
    let batches = connection.query(sql)?.collect::<Result<Vec<_>, _>>()?;
    Ok(batches.iter().flat_map(|batch| texts(batch, "NULL")).collect())
}

/// Returns what follows SELECT as text, with commas between rows: NULL as `NULL`, an error as its message.
fn shown(connection: &Connection, selected: &str) -> String {
    match rows(connection, &format!("SELECT v::VARCHAR FROM (SELECT {selected}) AS e(v)")) {
        Ok(rows) => rows.concat().join(", "),
        Err(error) => format!("error: {}", error.message()),
    }
}

#[test]
fn examples_give_what_they_say() {
    let connection = connection();
    let functions = listed_functions().into_iter().flat_map(|function| function.examples);
    let others = "SELECT DISTINCT example, example_value FROM godwit_functions()
        WHERE (kind = 'macro' OR category IN ('Special forms', 'Sequences')) AND example <> '' ORDER BY 1";
    let others = rows(&connection, others).unwrap().into_iter().map(|row| (row[0].clone(), row[1].clone()));
    rows(&connection, "CREATE SEQUENCE numbers").unwrap();
    assert_eq!(shown(&connection, "nextval('numbers')"), "1");
    let wrong: Vec<String> = functions
        .map(|(call, value)| (call.to_owned(), value.to_owned()))
        .chain(others)
        .map(|(call, value)| (shown(&connection, &call), call, value))
        .filter(|(found, _, value)| value != found)
        .map(|(found, call, value)| format!("{call} is {found}, not {value}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_functions_are_documented() {
    let connection = connection();
    let without = "SELECT kind, name FROM godwit_functions() \
                   WHERE description = '' OR kind IN ('scalar', 'aggregate', 'window') AND example = ''";
    assert_eq!(rows(&connection, without).unwrap(), [[""; 2]; 0]);
}

/// Checks the reference; `GODWIT_WRITE=1` rewrites docs/functions.md.
#[test]
fn the_reference_is_up_to_date() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs tests");
    let path = Path::new(&root).join("../../docs/functions.md");
    let reference = reference(&rows(&connection(), reference::TABLES_AND_MACROS).unwrap());
    if std::env::var_os("GODWIT_WRITE").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == reference, "docs/functions.md is not what the functions say: run the test with GODWIT_WRITE=1");
}

#[test]
fn the_functions_are_a_table() {
    let connection = connection();
    let rows = "(SELECT string_agg(signature, '; ' ORDER BY signature) FROM godwit_functions() WHERE name = 'lpad')";
    assert_eq!(shown(&connection, rows), "lpad(VARCHAR, BIGINT); lpad(VARCHAR, BIGINT, VARCHAR)");
}

const MIB: u64 = 1 << 20;

/// Memory for the results of functions is accounted for; if it would be too much, fewer rows are computed at a time.
#[test]
fn what_functions_make_stays_within_the_limit() {
    let limit = 128 * MIB;
    let config = Config { memory_limit_bytes: Some(limit), threads: Some(2), ..Config::default() };
    let database = Database::open_with(":memory:", config).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE t AS SELECT 'x' || i AS x FROM range(600) r(i)").unwrap();
    for (expression, expected) in [
        // 600 MB of strings, one after the other.
        ("SELECT sum(length(repeat(x, 300000))) FROM t", "687000000"),
        ("SELECT count(*) FROM t WHERE length(lpad(x, 1000000, 'é')) = 1000000", "600"),
        ("SELECT count(DISTINCT md5(lpad(x, 1000000, '-'))) FROM t", "600"),
        ("SELECT sum(len(string_split(repeat(x || ',', 20000), ','))) FROM t", "12000600"),
        ("SELECT max(length(upper(y) || lower(y))) FROM (SELECT rpad(x, 500000, 'ab') AS y FROM t)", "1000000"),
    ] {
        assert_eq!(shown(&connection, &format!("({expression})")), expected, "{expression}");
    }
    let too_long = shown(&connection, "lpad('x', 2147483647, 'y')");
    assert!(too_long.contains("longer than 1073741824 bytes"), "{too_long}");
    let too_large = shown(&connection, "(SELECT length(repeat(min(x), 300000000)) FROM t)");
    assert!(too_large.contains("memory"), "{too_large}");
    let peak = database.memory_statistics().peak_bytes;
    assert!(peak <= limit && peak > 8 * MIB, "{peak} bytes");
}

/// An invalid pattern is detected while the statement is planned, with its kind's error code.
#[test]
fn bad_patterns_have_a_code() {
    let connection = connection();
    for call in ["regexp_extract('a', '(')", "regexp_replace('a', '[', 'b')", "regexp_like('a', '(')"] {
        let error = connection.query(&format!("SELECT {call}")).err().unwrap();
        assert_eq!(error.code().to_string(), "2201B", "{call}: {error}");
    }
}
