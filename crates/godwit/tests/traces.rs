//! Memory traces as seen by SQL: hand-made files, and the results of the analyses.

#[path = "support/texts.rs"]
mod texts;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, UInt64Array};
use godwit::{Connection, Database};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use texts::texts;

const ONE_IN: i64 = 10;
const PAGE: i64 = 4096;

/// Ten pages each of two segments and a dictionary, and two of a join table.
const OBJECTS: &str = r#"[
    {"id": 0, "path": "d.main.t.a.segment 0", "kind": "segment", "bytes": 40960, "entry_bytes": 8,
     "table": "d.main.t", "column": "a", "query": null, "first_row": 0, "rows": 5120, "entries": [],
     "ranges": [{"address": 65536, "bytes": 40960, "offset": 0, "from": 0, "until": null}]},
    {"id": 1, "path": "d.main.t.a.segment 1", "kind": "segment", "bytes": 40960, "entry_bytes": 8,
     "table": "d.main.t", "column": "a", "query": null, "first_row": 5120, "rows": 5120, "entries": []},
    {"id": 2, "path": "d.main.t.s.dictionary", "kind": "dictionary", "bytes": 40960, "entry_bytes": 8,
     "table": "d.main.t", "column": "s", "entries": [{"entry": 7, "value": "it's \u003cseven>"}, {"entry": 8, "value": 8}]},
    {"id": 3, "path": "query 1.join table", "kind": "join table", "bytes": 8192, "entry_bytes": null, "query": 1}
]"#;

/// Time, object, offset, entry.
type Sample = (i64, Option<i32>, Option<i64>, Option<i64>);

fn write(path: &Path, samples: &[Sample], metadata: Option<String>) {
    let column = |of: fn(&Sample) -> Option<i64>| Arc::new(samples.iter().map(of).collect::<Int64Array>()) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("time", column(|sample| Some(sample.0)), false),
        ("thread", Arc::new(samples.iter().map(|_| Some(0)).collect::<Int32Array>()) as ArrayRef, false),
        ("address", Arc::new(samples.iter().map(|_| Some(1 << 63)).collect::<UInt64Array>()) as ArrayRef, false),
        ("object", Arc::new(samples.iter().map(|sample| sample.1).collect::<Int32Array>()) as ArrayRef, true),
        ("offset", column(|sample| sample.2), true),
        ("entry", column(|sample| sample.3), true),
    ])
    .unwrap();
    let metadata = metadata.map(|text| vec![KeyValue::new("godwit.trace".to_owned(), text)]);
    let properties = WriterProperties::builder().set_key_value_metadata(metadata).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn header(objects: &str) -> String {
    format!(
        r#"{{"version": 1, "source": "software", "one_in": {ONE_IN}, "duration_nanos": 1000, "samples": 143, "lost": 0,
            "statements": ["SELECT 1"], "objects": {objects}}}"#
    )
}

/// Returns samples: the first segment is read evenly, four times per page; the dictionary at one entry a hundred times,
/// and at another once; the join table at one line, for which no entry is known; one sample belongs to no object.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for page in 0..10 {
        for row in 0..4 {
            samples.push((page * 10, Some(0), Some(page * PAGE + row * 8), Some(page * 512 + row)));
        }
    }
    samples.extend((0..100).map(|time| (500 + time, Some(2), Some(56), Some(7))));
    samples.push((700, Some(2), Some(9 * PAGE), Some(9 * 512)));
    samples.push((999, Some(3), Some(100), None));
    samples.push((999, None, None, None));
    samples
}

/// Connects with the variable `trace` set to the file.
fn connection_to(folder: &Path, samples: &[Sample], metadata: Option<String>) -> Connection {
    let path = folder.join("it's a trace.parquet");
    write(&path, samples, metadata);
    let connection = Database::open(":memory:").unwrap().connect();
    let path = path.to_str().unwrap().replace('\'', "''");
    connection.execute(&format!("SET VARIABLE trace = '{path}'")).unwrap();
    connection
}

/// Returns rows as text, one per line, with values between bars. `TRACE` in the query is the file.
fn rows(connection: &Connection, sql: &str) -> String {
    match try_rows(connection, sql) {
        Ok(rows) => rows,
        Err(message) => panic!("{sql}: {message}"),
    }
}

fn try_rows(connection: &Connection, sql: &str) -> Result<String, String> {
    let sql = sql.replace("TRACE", "getvariable('trace')");
    let result = connection.query(&sql).map_err(|error| error.message().to_owned())?;
    let batches: Result<Vec<_>, _> = result.collect();
    let batches = batches.map_err(|error| error.message().to_owned())?;
    let rows = batches.iter().flat_map(|batch| texts(batch, "NULL"));
    Ok(rows.map(|row| row.join("|")).collect::<Vec<_>>().join("\n"))
}

#[test]
fn samples_and_objects_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connection_to(folder.path(), &samples(), Some(header(OBJECTS)));
    let header = "SELECT source, one_in, samples, lost, len(statements) FROM godwit_trace_header(TRACE)";
    assert_eq!(rows(&connection, header), "software|10|143|0|1");
    let query = r#"
        SELECT object, kind, "column", "offset", entry, count(*) FROM godwit_trace(TRACE) WHERE time >= 700
        GROUP BY ALL ORDER BY ALL"#;
    assert_eq!(
        rows(&connection, query),
        "d.main.t.s.dictionary|dictionary|s|36864|4608|1\nquery 1.join table|join table|NULL|100|NULL|1\nNULL|NULL|NULL|NULL|NULL|1"
    );
    let query = "SELECT id, object, bytes, samples, first_time FROM godwit_trace_objects(TRACE) ORDER BY id";
    assert_eq!(
        rows(&connection, query),
        "0|d.main.t.a.segment 0|40960|40|0\n1|d.main.t.a.segment 1|40960|0|NULL\n2|d.main.t.s.dictionary|40960|101|500\n3|query 1.join table|8192|1|999"
    );
    let query = "SELECT object, time, accesses FROM godwit_trace_accesses(TRACE, steps := 2)";
    assert_eq!(
        rows(&connection, query),
        "d.main.t.a.segment 0|0|400\nd.main.t.s.dictionary|0|10\nd.main.t.s.dictionary|501|1000\nquery 1.join table|501|10"
    );
}

#[test]
fn the_hottest_entry_is_named_with_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connection_to(folder.path(), &samples(), Some(header(OBJECTS)));
    let query = r#"
        SELECT entry, "offset", value, accesses, round(share, 3) FROM godwit_trace_skew(TRACE, 'd.main.t.s.dictionary')"#;
    assert_eq!(rows(&connection, query), "7|56|it's <seven>|1000|0.99\n4608|36864|NULL|10|0.01");
    // Without entries: lines of 64 bytes.
    let query = r#"SELECT entry, "offset", accesses FROM godwit_trace_skew(TRACE, 'query 1.join table')"#;
    assert_eq!(rows(&connection, query), "NULL|64|10");
    assert_eq!(rows(&connection, "SELECT count(*) FROM godwit_trace_skew(TRACE, 'nothing')"), "0");
}

#[test]
fn rates_of_pages_add_up_and_even_pages_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connection_to(folder.path(), &samples(), Some(header(OBJECTS)));
    let query = "
        SELECT id, sum(pages), round(sum(pages * rate), 6) FROM godwit_trace_page_rates(TRACE) GROUP BY id ORDER BY id";
    assert_eq!(rows(&connection, query), "0|10|40.0\n2|10|101.0\n3|2|1.0");
    let query = "SELECT pages, samples, rate FROM godwit_trace_page_rates(TRACE) WHERE id = 0";
    assert_eq!(rows(&connection, query), "10|4|4.0");
    // A page that was sampled once in a skewed object is hotter than those that weren't, which aren't certain to be
    // cold.
    let query = "
        SELECT pages, samples, rate > 0.01 AND rate < 2 FROM godwit_trace_page_rates(TRACE) WHERE id = 2 AND samples < 2
        ORDER BY samples";
    assert_eq!(rows(&connection, query), "8|0|true\n1|1|true");
}

#[test]
fn the_working_set_is_the_hottest_pages() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connection_to(folder.path(), &samples(), Some(header(OBJECTS)));
    // Of 141 samples of tables, the dictionary's hot page has about 100, and each of the segment's ten pages has four.
    let query = "
        SELECT point, bytes FROM godwit_trace_working_set(TRACE) WHERE scope = 'tables' AND point IN ('50 %', 'suggested buffer')";
    let found = rows(&connection, query);
    let bytes: Vec<i64> = found.lines().map(|line| line.split('|').nth(1).unwrap().parse().unwrap()).collect();
    assert!(bytes[0] <= PAGE && bytes[1] == PAGE, "{found}");
    let query = "
        SELECT scope, max(share) > 0.999999, max(total_bytes) FROM godwit_trace_working_set_curve(TRACE)
        GROUP BY scope ORDER BY scope";
    assert_eq!(rows(&connection, query), format!("everything|true|{}\ntables|true|{}", 22 * PAGE, 20 * PAGE));
}

#[test]
fn without_a_knee_nearly_everything_is_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let even: Vec<Sample> = samples().into_iter().filter(|sample| sample.1 == Some(0)).collect();
    let connection = connection_to(folder.path(), &even, Some(header(OBJECTS)));
    let query = "SELECT point, bytes FROM godwit_trace_working_set(TRACE) WHERE scope = 'tables'";
    let found = rows(&connection, query);
    assert!(!found.contains("knee") && found.ends_with("suggested buffer|40550"), "{found}");
}

#[test]
fn volumes_are_by_column() {
    let folder = tempfile::tempdir().unwrap();
    let connection = connection_to(folder.path(), &samples(), Some(header(OBJECTS)));
    let query = "SELECT * FROM godwit_trace_columns(TRACE)";
    assert_eq!(
        rows(&connection, query),
        "d.main.t|s|dictionary|40960|8192|8080|1010\nd.main.t|a|segment|81920|40960|3200|400"
    );
    let query = "SELECT * FROM godwit_trace_row_ranges(TRACE, parts := 4)";
    assert_eq!(rows(&connection, query), "d.main.t|a|4|2|81920|40960");
}

#[test]
fn partitions_that_are_not_read_need_not_be_held() {
    let folder = tempfile::tempdir().unwrap();
    // All rows of `a` are read, and those rows of `b` whose `a` is below 2,560.
    let segment = |id: i32, column: &str, first_row: i64| {
        format!(
            r#"{{"id": {id}, "path": "d.main.t.{column}.segment {first_row}", "kind": "segment", "bytes": 40960, "entry_bytes": 8,
                "table": "d.main.t", "column": "{column}", "first_row": {first_row}, "rows": 5120}}"#
        )
    };
    let objects = format!(
        "[{}]",
        [segment(0, "a", 0), segment(1, "a", 5120), segment(2, "b", 0), segment(3, "b", 5120)].join(",")
    );
    let read_of = |rows: std::ops::Range<i64>, first: i32| {
        rows.step_by(64).map(move |row| (row, Some(first + (row / 5120) as i32), Some(row % 5120 * 8), Some(row)))
    };
    // The table is in descending order of `a`.
    let samples: Vec<Sample> = read_of(0..10240, 0).chain(read_of(7680..10240, 2)).collect();
    let connection = connection_to(folder.path(), &samples, Some(header(&objects)));
    connection.execute("CREATE TABLE t AS SELECT 10239 - range AS a, 0 AS b FROM range(10240)").unwrap();
    let query = "SELECT * FROM godwit_trace_partitions(TRACE, 't', 'a', bounds := [2560, 5120, 7680])";
    assert_eq!(rows(&connection, query), "a|4|4|81920|81920|20480\nb|4|1|81920|20480|20480");
    // Each has an eighth of the rows: the third begins with the highest value whose `b` is read.
    let query = r#"
        SELECT "column", partitions, touched_partitions, bytes_after FROM godwit_trace_partitions(TRACE, 'main.t', 'a')"#;
    assert_eq!(rows(&connection, query), "a|8|8|81920\nb|8|3|30712");
    let missing = try_rows(&connection, "SELECT * FROM godwit_trace_partitions(TRACE, 'missing', 'a')").unwrap_err();
    assert_eq!(missing, "in macro godwit_trace_partitions: no table or view named missing");
}

#[test]
fn files_that_are_no_traces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (metadata, complaint) in [
        (None, "is a Parquet file, but not a trace"),
        (Some("{".to_owned()), "what it has under godwit.trace is wrong"),
        (Some("[1, 2]".to_owned()), "what it has under godwit.trace is wrong"),
        (Some(header(r#"[{"id": "zero"}]"#)), "what it has under godwit.trace is wrong"),
        (Some(header("[null]")), "an object of the trace is null"),
    ] {
        let connection = connection_to(folder.path(), &samples(), metadata);
        let message = try_rows(&connection, "SELECT * FROM godwit_trace_objects(TRACE)").unwrap_err();
        assert!(message.contains(complaint), "{message}");
    }
    let connection = connection_to(folder.path(), &[], Some(r#"{"version": 1}"#.to_owned()));
    assert_eq!(rows(&connection, "SELECT count(*) FROM godwit_trace_objects(TRACE)"), "0");
    assert_eq!(rows(&connection, "SELECT count(*) FROM godwit_trace_working_set(TRACE)"), "0");
}
