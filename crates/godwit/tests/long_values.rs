//! Strings of a megabyte: with chunks of fewer rows they pass through scans, sorts, groups, joins and COPY in little
//! memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use godwit::{Config, Connection, Database};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

const ROWS: i64 = 240;
const TEXT_BYTES: usize = 1_000_000;
const LIMIT_BYTES: u64 = 128 << 20;

/// Returns the string of a row. Every string occurs twice, in no order; all of them together exceed the limit.
fn text(row: i64) -> String {
    let number = format!("t{:07}", row * 7919 % (ROWS / 2));
    number.repeat(TEXT_BYTES / number.len())
}

fn write(path: &Path) {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap()))
        .set_write_batch_size(1);
    let batch = |rows: std::ops::Range<i64>| {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.map(text)));
        RecordBatch::try_from_iter([("k", keys), ("s", texts)]).unwrap()
    };
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(0..1).schema(), Some(properties.build())).unwrap();
    // One row group.
    (0..ROWS).step_by(8).for_each(|row| writer.write(&batch(row..row + 8)).unwrap());
    writer.close().unwrap();
}

fn integer(connection: &Connection, sql: &str) -> i64 {
    let mut rows = connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let batch = rows.next().unwrap_or_else(|| panic!("no row: {sql}"));
    batch.unwrap_or_else(|error| panic!("{error}: {sql}")).column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn texts_of_a_megabyte_pass_through_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("texts.parquet"));
    let config = Config { threads: Some(2), memory_limit_bytes: Some(LIMIT_BYTES), ..Config::default() };
    let database = Database::open_with(folder.path(), config).unwrap();
    let connection = database.connect();
    let path = |name: &str| folder.path().join(name).display().to_string();
    assert!(ROWS as u64 * TEXT_BYTES as u64 > LIMIT_BYTES);
    let all_bytes = ROWS * TEXT_BYTES as i64;
    for format in ["csv", "json", "arrow"] {
        connection.execute(&format!("COPY (FROM texts) TO '{}'", path(&format!("copy.{format}")))).unwrap();
    }
    let sorted = path("sorted.parquet");
    connection.execute(&format!("COPY (FROM texts ORDER BY s, k) TO '{sorted}'")).unwrap();
    for file in ["texts.parquet", "copy.csv", "copy.json", "copy.arrow", "sorted.parquet"] {
        let file = path(file);
        assert_eq!(integer(&connection, &format!("SELECT sum(length(s))::BIGINT FROM '{file}'")), all_bytes, "{file}");
        let groups = format!("SELECT count(*) FROM (SELECT s, count(*) AS n FROM '{file}' GROUP BY s) WHERE n = 2");
        assert_eq!(integer(&connection, &groups), ROWS / 2, "{file}");
    }
    let pairs = format!("SELECT count(*) FROM texts a JOIN '{}' b ON a.s = b.s", path("copy.csv"));
    assert_eq!(integer(&connection, &pairs), 2 * ROWS);
    // The later of the two rows with the least string.
    let least = "SELECT max(k) FROM (SELECT k FROM texts ORDER BY s, k LIMIT 2)";
    assert_eq!(integer(&connection, least), ROWS / 2);
    connection.execute("CREATE TABLE own AS FROM texts; CHECKPOINT").unwrap();
    assert_eq!(integer(&connection, "SELECT sum(length(s))::BIGINT FROM own"), all_bytes);
    let memory = database.memory_statistics();
    assert!(memory.spilled_bytes_total > 0, "sorts and joins were larger than memory");
}
