//! Output of EXPLAIN: as JSON, and about the memory that a plan needs.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use godwit::{Config, Connection, Database, DebugOptions};
use parquet::arrow::ArrowWriter;

const ROWS: i64 = 700_000;

fn write_facts(folder: &Path) {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row * 7919 % ROWS)));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row % 100)));
    let texts = (0..ROWS).map(|row| format!("{:040}", row * 31 % ROWS));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("k", keys), ("g", groups), ("t", texts)]).unwrap();
    let file = File::create(folder.join("facts.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn open(folder: &Path, threads: usize, pool_bytes: Option<u64>) -> Database {
    let debug = DebugOptions { pool_bytes, ..DebugOptions::default() };
    let config = Config { memory_limit_bytes: Some(1 << 30), threads: Some(threads), debug, ..Config::default() };
    Database::open_with(folder, config).unwrap()
}

/// Returns the text in the first column of the only row.
fn text(connection: &Connection, sql: &str) -> String {
    let batch = connection.query(sql).unwrap().next().expect("a row").unwrap();
    assert_eq!(batch.num_rows(), 1);
    batch.column(0).as_string::<i32>().value(0).to_owned()
}

/// Returns the number that follows a name in JSON.
fn number(json: &str, name: &str) -> f64 {
    let (_, rest) = json.split_once(&format!("\"{name}\": ")).unwrap_or_else(|| panic!("no {name} in {json}"));
    let end = rest.find([',', '\n', '}']).expect("something follows");
    rest[..end].parse().unwrap()
}

/// Each join of a chain shows the work of its own compactor, not of that of the pipeline for spilled rows, which did
/// none.
#[test]
fn every_compactor_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 1, None);
    let connection = database.connect();
    let script = "SET join_filters = false; SET compaction = 'full';
        CREATE TABLE r AS SELECT i % 1000 AS a, i % 1009 AS b, i % 1013 AS c, i AS d FROM range(200000) t(i);
        CREATE TABLE s AS SELECT i * 4 AS k, 'text ' || i AS text FROM range(250) t(i)";
    connection.execute(script).unwrap();
    let query = "SELECT count(*), max(x.text), max(y.text), max(z.text), max(d) FROM r
        JOIN s AS x ON r.a = x.k JOIN s AS y ON r.b = y.k JOIN s AS z ON r.c = z.k";
    let analyzed = text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {query}"));
    let copied = |text: &str| number(&format!("\"rows_copied\": {text}"), "rows_copied");
    let copied: Vec<f64> = analyzed.split("\"rows_copied\": ").skip(1).map(copied).collect();
    assert!(copied.len() >= 2 && copied.iter().all(|&rows| rows > 0.0), "{copied:?} in {analyzed}");
}

/// Joins are in the written order if that is requested, and show how long building their tables took.
#[test]
fn joins_keep_the_written_order() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 1, None);
    let connection = database.connect();
    let script = "CREATE TABLE one AS SELECT 1 AS i; CREATE TABLE ten AS SELECT i FROM range(10) t(i);
        CREATE TABLE many AS SELECT i FROM range(100000) t(i)";
    connection.execute(script).unwrap();
    let analyze =
        "EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM one, ten JOIN many USING (i) WHERE one.i = ten.i";
    let tables = |plan: &str| {
        let names =
            plan.split("\"operator\": \"Scan ").skip(1).map(|rest| rest.split([' ', '"']).next().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let by_cost = text(&connection, analyze);
    assert_eq!(tables(&by_cost)[0], "many", "the largest one is streamed: {by_cost}");
    connection.execute("SET join_order = 'written'").unwrap();
    let written = text(&connection, analyze);
    assert_eq!(tables(&written), ["one", "ten", "many"], "{written}");
    assert_eq!(written.matches("\"built in\": ").count(), 2, "{written}");
    connection.execute("RESET join_order").unwrap();
    assert_eq!(tables(&text(&connection, analyze)), tables(&by_cost));
    assert!(connection.execute("SET join_order = 'random'").unwrap_err().to_string().contains("'written'"));
}

/// Returns the entry for a scan's column, as JSON.
fn column<'a>(analyzed: &'a str, name: &str) -> &'a str {
    let columns = analyzed.split("\"columns\": ").nth(1).unwrap_or_else(|| panic!("no columns in {analyzed}"));
    let (_, column) = columns.split_once(&format!("\"name\": \"{name}\"")).expect("the column is there");
    column
}

/// Returns the bytes that a note of the scan tells, such as `"text": "1.5 MiB"`.
fn bytes_noted(analyzed: &str, name: &str) -> u64 {
    let (_, rest) = analyzed.split_once(&format!("\"{name}\": \"")).unwrap_or_else(|| panic!("{name}: {analyzed}"));
    let mut words = rest.split([' ', '"', ',']);
    let (number, unit) = (words.next().unwrap(), words.next().unwrap());
    godwit_common::parse_bytes(&format!("{number} {unit}")).unwrap()
}

/// Scans report per column what was read, decoded and skipped, whatever they read.
#[test]
fn scans_count_by_column() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    let database = open(folder.path(), 1, None);
    let connection = database.connect();
    let path = folder.path().display();
    let script = format!(
        "COPY (FROM facts) TO '{path}/text.csv'; COPY (FROM facts) TO '{path}/text.json';
        COPY (SELECT k, g, [t] AS t FROM facts) TO '{path}/lists.parquet'; COPY (FROM facts) TO '{path}/f.arrow';
        CREATE TABLE own AS SELECT k, g, t FROM facts; CHECKPOINT;"
    );
    connection.execute(&script).unwrap();
    let analyze = |table: &str| {
        let value = if table.contains("lists") { "t[1]" } else { "t" };
        let query = format!("SELECT max({value}) FROM {table} WHERE k < {}", ROWS / 10);
        text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {query}"))
    };
    let [csv, json, lists, arrow] =
        ["text.csv", "text.json", "lists.parquet", "f.arrow"].map(|file| format!("'{path}/{file}'"));
    for table in ["facts", "own", &csv, &json, &lists, &arrow] {
        let analyzed = analyze(table);
        let (filtered, wanted) = (column(&analyzed, "k"), column(&analyzed, "t"));
        assert_eq!(number(filtered, "rows"), ROWS as f64, "{analyzed}");
        let looked_at = number(filtered, "decoded") + number(filtered, "packed");
        assert_eq!(looked_at, ROWS as f64, "{analyzed}");
        // The values of JSON's records are parsed together, and those of lists batch by batch.
        let is_all = [&*json, &*lists].contains(&table);
        assert_eq!(number(wanted, "decoded"), (if is_all { ROWS } else { ROWS / 10 }) as f64, "{analyzed}");
        assert_eq!(number(wanted, "packed"), 0.0, "{analyzed}");
        assert!(!analyzed.contains("\"name\": \"g\""), "{analyzed}");
        // Fields of a text file aren't read separately.
        let is_text = [&*csv, &*json].contains(&table);
        for column in [filtered, wanted] {
            assert_eq!(number(column, "bytes_read") > 0.0, !is_text, "{analyzed}");
            assert_eq!(number(column, "pages_read") > 0.0, !is_text, "{analyzed}");
        }
        if is_text {
            assert!(analyzed.contains("\"columns not parsed\": \"1 of 3\""), "{analyzed}");
            assert!(analyzed.contains(&format!("\"records\": \"{ROWS}\"")), "{analyzed}");
            assert_eq!(bytes_noted(&analyzed, "read"), bytes_noted(&analyzed, "text"), "{analyzed}");
        }
    }
    // Later reads find pages in memory, except small ones.
    let analyzed = analyze("facts");
    let [read, cached] = ["pages_read", "pages_cached"].map(|name| number(column(&analyzed, "k"), name));
    assert!(cached > read, "{read} pages were read, and {cached} were in memory");
}

/// A limit ends scans early, and what they had read by then is told, too.
/// Files that filters on their paths or folders exclude aren't read.
#[test]
fn filters_on_paths_leave_files_out() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 2, None);
    let connection = database.connect();
    let shown = folder.path().display();
    for format in ["csv", "json", "parquet"] {
        let parts = format!("{shown}/{format}");
        let copy = format!(
            "COPY (SELECT i AS a, i % 4 AS part FROM range(100) t(i))
             TO '{parts}' (FORMAT {format}, PARTITION_BY part)"
        );
        connection.execute(&copy).unwrap();
        for (filter, read) in [
            ("part = 2", 1),
            ("part % 2 = 1", 2),
            ("filename LIKE '%part=3%'", 1),
            ("file_index < 3 AND part > 0", 2),
            ("part = 7", 0),
            ("a >= 0", 4),
            ("part IN (SELECT 1)", 1),
        ] {
            let query = format!("SELECT count(*), sum(a) FROM '{parts}/*/*.{format}' WHERE {filter}");
            let analyzed = text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {query}"));
            let is_told = analyzed.contains(&format!("\"files\": \"{read} of 4\""));
            // Statistics of Parquet tell that there is nothing to scan.
            assert!(is_told || read == 0 && format == "parquet", "{format}, {filter}: {analyzed}");
            let batch = connection.query(&query).unwrap().next().expect("a row").unwrap();
            assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 25 * read, "{format}, {filter}");
        }
    }
}

#[test]
fn scans_with_a_limit_read_little() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    let database = open(folder.path(), 1, None);
    let connection = database.connect();
    let path = folder.path().display();
    let script = format!(
        "COPY (FROM facts) TO '{path}/text.csv.gz'; COPY (FROM facts) TO '{path}/text.json';
        COPY (SELECT k, [t] AS t FROM facts) TO '{path}/lists.parquet';"
    );
    connection.execute(&script).unwrap();
    let analyze = |file: &str| {
        text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) SELECT k, t FROM '{path}/{file}' LIMIT 10"))
    };
    for file in ["text.csv.gz", "text.json", "lists.parquet"] {
        let analyzed = analyze(file);
        for name in ["k", "t"] {
            assert_eq!(number(column(&analyzed, name), "decoded"), 2048.0, "{file}: {analyzed}");
        }
        if file != "lists.parquet" {
            assert!(analyzed.contains("\"records\": \"2048\""), "{analyzed}");
            assert!(bytes_noted(&analyzed, "text") <= 1 << 20, "one piece: {analyzed}");
        }
    }
    let [stored, text] = ["read", "text"].map(|name| bytes_noted(&analyze("text.csv.gz"), name));
    assert!(0 < stored && stored < text / 2, "{stored} bytes were decompressed to {text}");
}

#[test]
fn plans_are_json_if_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    let database = open(folder.path(), 2, Some(24 << 20));
    let connection = database.connect();
    let query = "SELECT t, count(*) FROM facts WHERE t <> 'a \"quoted\" text' GROUP BY t";
    let plan = text(&connection, &format!("EXPLAIN (FORMAT json) {query}"));
    assert!(plan.contains("\"operator\": \"HashAggregate") && plan.contains("\"operator\": \"Scan facts"), "{plan}");
    assert!(plan.contains("a \\\"quoted\\\" text"), "{plan}");
    assert!(!plan.contains("spilled_bytes"), "nothing ran: {plan}");
    assert!(number(&plan, "memory_limit_min_bytes") >= (96 << 20) as f64);
    let analyzed = text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {query}"));
    assert_eq!(number(&analyzed, "rows"), ROWS as f64);
    for name in ["total_ms", "memory_peak_bytes", "spilled_bytes", "reread_bytes", "chunks"] {
        assert!(number(&analyzed, name) > 0.0, "{name}: {analyzed}");
    }
    let depth = |open: char, close: char| {
        analyzed.chars().fold(0, |depth, c| depth + i32::from(c == open) - i32::from(c == close))
    };
    assert_eq!((depth('{', '}'), depth('[', ']')), (0, 0));
}

#[test]
fn a_plan_finishes_in_the_memory_that_explain_tells() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    for threads in [1, 2] {
        for query in [
            "SELECT count(*) FROM facts",
            "SELECT t, count(*), max(k) FROM facts GROUP BY t",
            "SELECT g, count(DISTINCT t) FROM facts GROUP BY g",
            "SELECT a.k, b.t FROM facts a JOIN facts b ON a.k = b.k",
            "SELECT a.g, count(*) FROM facts a JOIN facts b ON a.k = b.k JOIN facts c ON b.t = c.t GROUP BY a.g",
            "WITH r AS (SELECT t, count(*) AS n FROM facts GROUP BY t) SELECT * FROM r WHERE n = (SELECT max(n) FROM r)",
            "SELECT k, t FROM facts ORDER BY t",
            "SELECT k, row_number() OVER (ORDER BY t), lag(k) OVER (PARTITION BY g ORDER BY t) FROM facts",
        ] {
            let plenty = open(folder.path(), threads, None);
            let base_bytes = plenty.memory_statistics().used_bytes;
            let plan = text(&plenty.connect(), &format!("EXPLAIN (FORMAT json) {query}"));
            let pinned_bytes = number(&plan, "pinned_bytes") as u64;
            let expected: usize = plenty.connect().query(query).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            let tight = open(folder.path(), threads, Some(base_bytes + pinned_bytes));
            let rows: usize = tight
                .connect()
                .query(query)
                .unwrap()
                .map(|batch| batch.unwrap_or_else(|error| panic!("{threads} threads, {query}: {error}")).num_rows())
                .sum();
            assert_eq!(rows, expected, "{query}");
            println!("{threads} threads, {} KiB: {query}", pinned_bytes >> 10);
        }
    }
}

#[test]
fn subplans_that_occur_twice_are_computed_once() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    let database = open(folder.path(), 2, Some(24 << 20));
    let connection = database.connect();
    let twice = "WITH r AS (SELECT t, count(*) AS n FROM facts GROUP BY t) \
                 SELECT a.n, b.n FROM r AS a JOIN r AS b USING (t) WHERE a.n = (SELECT max(n) FROM r)";
    let plan = text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {twice}"));
    assert_eq!(plan.matches("\"operator\": \"Scan facts").count(), 1, "{plan}");
    assert_eq!(plan.matches("\"operator\": \"SharedRows 1").count(), 3, "{plan}");
    let (_, shared) = plan.split_once("\"operator\": \"SharedRows 1\"").unwrap();
    assert_eq!(number(shared, "rows"), ROWS as f64);
    assert!(number(shared, "spilled_bytes") > 0.0, "{shared}");
    let rows: usize = connection.query(twice).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, ROWS as usize);
    for different in [
        // Another filter, another column.
        "SELECT * FROM (SELECT k, count(*) FROM facts WHERE g = 1 GROUP BY k) UNION ALL \
         SELECT * FROM (SELECT k, count(*) FROM facts WHERE g = 2 GROUP BY k)",
        "SELECT k, count(*) FROM facts GROUP BY k UNION ALL SELECT g, count(*) FROM facts GROUP BY g",
    ] {
        let plan = text(&connection, &format!("EXPLAIN (FORMAT json) {different}"));
        assert!(!plan.contains("SharedRows"), "{plan}");
    }
}

#[test]
fn a_few_groups_are_found_without_reading_everything() {
    let folder = tempfile::tempdir().unwrap();
    write_facts(folder.path());
    let connection = open(folder.path(), 2, None).connect();
    for query in ["SELECT DISTINCT g FROM facts LIMIT 3", "SELECT t || k FROM facts GROUP BY t, k LIMIT 10 OFFSET 5"] {
        let plan = text(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {query}"));
        let (_, scan) = plan.split_once("\"operator\": \"Scan facts").unwrap();
        assert!(number(scan, "rows") < ROWS as f64 / 2.0, "{plan}");
    }
    let rows = |sql: &str| connection.query(sql).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(rows("SELECT DISTINCT g FROM facts LIMIT 99"), 99);
    assert_eq!(rows("SELECT DISTINCT g FROM facts LIMIT 101"), 100);
    assert_eq!(rows("SELECT t FROM facts GROUP BY t LIMIT 7 OFFSET 600000"), 7);
    assert_eq!(
        rows("SELECT g FROM facts GROUP BY g HAVING g > 97 LIMIT 2"),
        2,
        "groups that a filter drops don't count"
    );
}
