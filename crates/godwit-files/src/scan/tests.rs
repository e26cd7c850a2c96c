//! Scans compared with the Arrow reader and naive filters, over everything a writer can choose; and damaged files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, NullArray, PrimitiveArray, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use godwit_common::{ErrorKind, Result};
use godwit_pipeline::{ColumnReads, ScanRequest, SourceVerdict, Table};
use godwit_plan::{Comparison, Expr, ExprKind, Match};
use godwit_types::{SqlType, Value};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::ParquetTable;
use crate::test_scan::{Columns, Rows, expected, filtered, memory, note, printed, query, request, scan};

mod crafted;

/// Properties of a test file.
#[derive(Debug, Clone)]
struct Shape {
    rows: usize,
    /// Distinct values.
    cardinality: u64,
    /// Number of NULLs per 8 rows; 9: no column is nullable.
    nulls: u64,
    /// Values come in runs of this length.
    run: usize,
    version: WriterVersion,
    compression: Compression,
    dictionary: bool,
    dictionary_bytes: usize,
    page_rows: usize,
    row_group_rows: usize,
    statistics: EnabledStatistics,
    has_offset_index: bool,
    other_encodings: bool,
    seed: u64,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let compressions = vec![
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::try_new(4).unwrap()),
    ];
    let data = (1usize..3000, 1u64..400, 0u64..=9, 1usize..40, any::<u64>());
    let writer = (
        prop::sample::select(vec![WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]),
        prop::sample::select(compressions),
        any::<bool>(),
        prop::sample::select(vec![64usize, 1024, 1 << 20]),
        prop::sample::select(vec![64usize, 300, 20_000]),
        prop::sample::select(vec![200usize, 1000, 1 << 20]),
        prop::sample::select(vec![EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page]),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    (data, writer).prop_map(|((rows, cardinality, nulls, run, seed), writer)| Shape {
        rows,
        cardinality,
        nulls,
        run,
        version: writer.0,
        compression: writer.1,
        dictionary: writer.2,
        dictionary_bytes: writer.3,
        page_rows: writer.4,
        row_group_rows: writer.5,
        statistics: writer.6,
        has_offset_index: writer.7,
        other_encodings: writer.8,
        seed,
    })
}

/// A pseudorandom number for each row of a column, `None` for NULL.
fn numbers(shape: &Shape, column: u64) -> Vec<Option<u64>> {
    let mix = |x: u64| {
        let x = (x ^ x >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 7
    };
    (0..shape.rows)
        .map(|row| {
            let group = mix(shape.seed ^ mix(column ^ ((row / shape.run) as u64) << 8));
            let is_null = shape.nulls < 9 && group >> 20 & 7 < shape.nulls;
            (!is_null).then_some(group % shape.cardinality)
        })
        .collect()
}

fn primitive<T: ArrowPrimitiveType>(values: &[Option<u64>], of: impl Fn(u64) -> T::Native) -> PrimitiveArray<T> {
    values.iter().map(|value| value.map(&of)).collect()
}

/// A text whose length depends on the number; some are longer than a view holds inline.
fn text(number: u64) -> String {
    format!("t{number}{}", "äöx".repeat((number % 7) as usize))
}

fn batch(shape: &Shape) -> RecordBatch {
    let column = |index| numbers(shape, index);
    let texts: Vec<Option<String>> = column(7).iter().map(|value| value.map(text)).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for value in column(14) {
        (0..value.unwrap_or(0) % 4).for_each(|item| lists.values().append_value(item as i32));
        lists.append(value.is_some());
    }
    let decimal = |index, precision, scale| {
        let values = primitive::<Decimal128Type>(&column(index), |v| v as i128 * 37 - 99);
        Decimal128Array::with_precision_and_scale(values, precision, scale).unwrap()
    };
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        column(13).iter().map(|v| v.map(|v| (v as u32).to_be_bytes())),
        4,
    );
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("i8", Arc::new(primitive::<Int8Type>(&column(0), |v| (v % 100) as i8 - 50))),
        ("i32", Arc::new(primitive::<Int32Type>(&column(1), |v| v as i32 - 100))),
        ("i64", Arc::new(primitive::<Int64Type>(&column(2), |v| v as i64 * 1_000_000_007 - 5))),
        ("u32", Arc::new(column(3).iter().map(|v| v.map(|v| u32::MAX - v as u32)).collect::<UInt32Array>())),
        ("u64", Arc::new(column(4).iter().map(|v| v.map(|v| u64::MAX - v)).collect::<UInt64Array>())),
        ("f32", Arc::new(column(5).iter().map(|v| v.map(|v| v as f32 / 3.0)).collect::<Float32Array>())),
        ("f64", Arc::new(column(6).iter().map(|v| v.map(|v| -(v as f64) / 7.0)).collect::<Float64Array>())),
        ("text", Arc::new(texts.iter().map(|t| t.as_deref()).collect::<StringArray>())),
        ("bool", Arc::new(column(8).iter().map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>())),
        ("date", Arc::new(column(9).iter().map(|v| v.map(|v| v as i32)).collect::<Date32Array>())),
        ("money", Arc::new(decimal(10, 15, 2))),
        ("small_money", Arc::new(decimal(11, 7, 3))),
        ("large_money", Arc::new(decimal(12, 38, 4))),
        ("fixed", Arc::new(fixed.unwrap())),
        ("list", Arc::new(lists.finish())),
        ("time", Arc::new(column(15).iter().map(|v| v.map(|v| v as i64)).collect::<TimestampMicrosecondArray>())),
        ("bytes", Arc::new(texts.iter().map(|t| t.as_deref().map(str::as_bytes)).collect::<BinaryArray>())),
    ];
    let nullable = shape.nulls < 9;
    let fields: Vec<Field> =
        arrays.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), nullable)).collect();
    let arrays = arrays.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn write(shape: &Shape, path: &Path) -> RecordBatch {
    let batch = batch(shape);
    let mut properties = WriterProperties::builder()
        .set_writer_version(shape.version)
        .set_compression(shape.compression)
        .set_dictionary_enabled(shape.dictionary)
        .set_dictionary_page_size_limit(shape.dictionary_bytes)
        .set_data_page_row_count_limit(shape.page_rows)
        .set_write_batch_size(64)
        .set_max_row_group_row_count(Some(shape.row_group_rows))
        .set_statistics_enabled(shape.statistics)
        .set_offset_index_disabled(!shape.has_offset_index && shape.statistics != EnabledStatistics::Page);
    if shape.other_encodings {
        properties = properties
            .set_dictionary_enabled(false)
            .set_column_encoding("i32".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("f64".into(), Encoding::BYTE_STREAM_SPLIT);
    }
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    batch
}

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("x.parquet")
}

/// Filters, and the rows that pass them.
fn filters(columns: &Columns<'_>, batch: &RecordBatch, shape: &Shape, kind: usize) -> (Vec<Expr>, Vec<usize>) {
    let threshold = (shape.cardinality / 4) as i32 - 100;
    let integers = batch.column(1).clone();
    let integer = move |row: usize| {
        let array = integers.as_any().downcast_ref::<PrimitiveArray<Int32Type>>().unwrap();
        array.is_valid(row).then(|| array.value(row))
    };
    let texts = printed(batch.column(7));
    let wanted = text(shape.seed % shape.cardinality);
    let money = printed(batch.column(10));
    let integers_from = |comparison| columns.compare("i32", comparison, Value::Integer(threshold.into()));
    let is_wanted = || columns.compare("text", Comparison::Equal, Value::text(wanted.as_str()));
    let (filters, test): (Vec<Expr>, Box<dyn Fn(usize) -> bool>) = match kind {
        0 => (vec![], Box::new(|_| true)),
        1 => (
            vec![integers_from(Comparison::Less)],
            Box::new(move |row| integer(row).is_some_and(|value| value < threshold)),
        ),
        2 => (vec![is_wanted()], Box::new(move |row| texts[row] == wanted)),
        3 => (
            vec![Expr::and([integers_from(Comparison::GreaterOrEqual), is_wanted()])],
            Box::new(move |row| integer(row).is_some_and(|value| value >= threshold) && texts[row] == wanted),
        ),
        4 => (
            vec![columns.compare("money", Comparison::Equal, Value::Integer(37 - 99))],
            Box::new(move |row| money[row] == "-0.62"),
        ),
        _ => (
            vec![columns.column("text").is_null(), columns.column("i32").is_null().negated()],
            Box::new(move |row| texts[row] == "NULL" && integer(row).is_some()),
        ),
    };
    let rows = (0..batch.num_rows()).filter(|&row| test(row)).collect();
    (filters, rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn scans_agree_with_what_was_written(
        shape in shapes(),
        chunk_rows in prop::sample::select(vec![1usize, 7, 100, 2048]),
        columns in prop::collection::vec(0usize..17, 0..6),
        kind in 0usize..6,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let batch = write(&shape, &file(&directory));
        let table = ParquetTable::open(vec![file(&directory)], &memory()).unwrap();
        prop_assert_eq!(table.statistics().rows, shape.rows as u64);
        let all: Vec<usize> = (0..17).collect();
        let (rows, _) = scan(&table, request(&all), chunk_rows).unwrap();
        prop_assert_eq!(rows, expected(&batch, &all, &(0..shape.rows).collect::<Vec<_>>()));
        let known = Columns::of(&*table, table.schema());
        let (filters, passing) = filters(&known, &batch, &shape, kind);
        let (rows, _) = scan(&table, filtered(&columns, known.conjuncts(&filters)), chunk_rows).unwrap();
        prop_assert_eq!(rows, expected(&batch, &columns, &passing));
    }

    #[test]
    fn damaged_files_are_errors(shape in shapes(), damages in prop::collection::vec((any::<u32>(), any::<u8>()), 1..40)) {
        let shape = Shape { rows: shape.rows.min(400), ..shape };
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory);
        write(&shape, &path);
        let bytes = std::fs::read(&path).unwrap();
        let columns: Vec<usize> = (0..17).collect();
        for (at, value) in damages {
            let mut damaged = bytes.clone();
            let at = at as usize % bytes.len();
            match value {
                0..8 => damaged.truncate(at),
                // Bytes from elsewhere in the file.
                8..32 => damaged.copy_within(at / 2..at / 2 + (bytes.len() - at).min(usize::from(value)), at),
                _ => damaged[at] ^= value,
            }
            std::fs::write(&path, damaged).unwrap();
            // It may be read as other values or rejected, but must not panic or take unbounded memory.
            if let Err(error) = ParquetTable::open(vec![path.clone()], &memory())
                .and_then(|table| scan(&table, request(&columns[..table.row_type().len().min(17)]), 100))
            {
                prop_assert!(error.kind() != ErrorKind::Internal, "{error}");
                prop_assert!(error.message().contains("x.parquet") || error.kind() != ErrorKind::Corrupt, "{error}");
            }
        }
    }
}

/// Sorted integers in row groups and pages, with texts.
fn sorted_file(path: &Path) -> RecordBatch {
    let rows = 40_000;
    let texts: StringArray = (0..rows).map(|row| Some(if row < 20_000 { "even" } else { "odd" })).collect();
    let fields = vec![Field::new("x", DataType::Int64, false), Field::new("s", DataType::Utf8, false)];
    let keys: PrimitiveArray<Int64Type> = (0..rows as i64).map(Some).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(keys), Arc::new(texts)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(10_000))
        .set_data_page_row_count_limit(1000)
        .set_write_batch_size(500)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    batch
}

#[test]
fn statistics_prune_row_groups_pages_and_dictionaries() {
    let directory = tempfile::tempdir().unwrap();
    let batch = sorted_file(&file(&directory));
    let table = ParquetTable::open(vec![file(&directory)], &memory()).unwrap();
    let statistics = &table.statistics().columns;
    assert_eq!(statistics[0].range, Some(godwit_vector::ValueRange { min: 0, max: 39_999 }));
    let distinct = |column| table.distinct(column, &memory()).unwrap();
    assert_eq!((distinct(0), distinct(1)), (Some(40_000), Some(1)));
    assert_eq!(statistics[0].null_count, Some(0));

    let columns = Columns::of(&*table, table.schema());
    let from = columns.compare("x", Comparison::GreaterOrEqual, Value::Integer(12_300));
    let to = columns.compare("x", Comparison::LessOrEqual, Value::Integer(12_400));
    let (rows, notes) = scan(&table, filtered(&[0, 1], columns.conjuncts(&[from, to])), 2048).unwrap();
    assert_eq!(rows, expected(&batch, &[0, 1], &(12_300..=12_400).collect::<Vec<_>>()));
    assert_eq!(note(&notes, "row groups pruned").as_deref(), Some("3 of 4"));
    assert_eq!(note(&notes, "rows pruned").as_deref(), Some("39000 of 40000"));

    // "none" is between the bounds of no row group's text, "f" between those of no dictionary.
    let (input, pattern) = (columns.column("s"), Expr::literal(Value::text("%vem%"), SqlType::Varchar));
    let kind = ExprKind::Match { kind: Match::Like, input: Box::new(input), pattern: Box::new(pattern), escape: None };
    let like = Expr::new(kind, SqlType::Boolean, true);
    let (rows, notes) = scan(&table, filtered(&[0], columns.conjuncts(&[like])), 2048).unwrap();
    assert!(rows.is_empty());
    assert_eq!(note(&notes, "morsels without matching dictionary entries").as_deref(), Some("4"));
}

#[test]
fn limits_stop_and_cancellation_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    sorted_file(&file(&directory));
    let table = ParquetTable::open(vec![file(&directory)], &memory()).unwrap();
    let query = query(100, 1);
    let source = table.clone().scan(ScanRequest { limit: Some(5), ..request(&[0]) }, &query).unwrap();
    source.start(&query).unwrap();
    let mut worker = source.clone().worker(&query).unwrap();
    let mut chunks = 0;
    while !matches!(worker.next().unwrap(), SourceVerdict::Done) {
        chunks += 1;
    }
    assert!(chunks <= 101, "at most one morsel of 10,000 rows, {chunks}");

    let source = table.clone().scan(request(&[0]), &query).unwrap();
    source.start(&query).unwrap();
    let mut worker = source.clone().worker(&query).unwrap();
    query.cancel.cancel();
    assert_eq!(worker.next().err().map(|error| error.kind()), Some(ErrorKind::Cancelled));
}

#[test]
fn several_files_are_one_table() {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..3).map(|i| directory.path().join(format!("part{i}.parquet"))).collect();
    let batches: Vec<RecordBatch> = paths.iter().map(|path| sorted_file(path)).collect();
    let table = ParquetTable::open(paths, &memory()).unwrap();
    assert_eq!(table.statistics().rows, 120_000);
    let (rows, _) = scan(&table, request(&[1, 0]), 2048).unwrap();
    let all: Vec<usize> = (0..40_000).collect();
    let expected: Rows = batches.iter().flat_map(|batch| expected(batch, &[1, 0], &all)).collect();
    assert!(rows == expected);
}

#[test]
fn wrong_page_indexes_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let batch = sorted_file(&path);
    let bytes = std::fs::read(&path).unwrap();
    let all: Vec<usize> = (0..40_000).collect();
    let table = ParquetTable::open(vec![path.clone()], &memory()).unwrap();
    let chunk = table.files()[0].file.metadata().row_group(2).column(0);
    let places = [
        (chunk.offset_index_offset(), chunk.offset_index_length()),
        (chunk.column_index_offset(), chunk.column_index_length()),
    ];
    for (offset, length) in places.map(|(offset, length)| (offset.unwrap() as usize, length.unwrap() as usize)) {
        for fill in [0, 0x15, 0xff] {
            let mut damaged = bytes.clone();
            damaged[offset..offset + length].fill(fill);
            std::fs::write(&path, damaged).unwrap();
            let table = ParquetTable::open(vec![path.clone()], &memory()).unwrap();
            let (rows, _) = scan(&table, request(&[1, 0]), 2048).unwrap();
            assert!(rows == expected(&batch, &[1, 0], &all), "{fill} at {offset}");
        }
    }
}

#[test]
fn columns_of_nothing_but_null_are_integers() {
    let directory = tempfile::tempdir().unwrap();
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    let numbers: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::from_iter_values([1, 2, 3]));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", nulls, true), ("x", numbers, false)]).unwrap();
    for has_dictionary in [false, true] {
        let properties = WriterProperties::builder().set_dictionary_enabled(has_dictionary).build();
        let output = File::create(file(&directory)).unwrap();
        let mut writer = ArrowWriter::try_new(output, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let table = ParquetTable::open(vec![file(&directory)], &memory()).unwrap();
        assert_eq!(table.schema().field(0).data_type(), &DataType::Int32);
        let (rows, _) = scan(&table, request(&[1, 0]), 2048).unwrap();
        assert_eq!(rows, [["1", "NULL"], ["2", "NULL"], ["3", "NULL"]].map(|row| row.map(str::to_owned).to_vec()));
    }
}

#[test]
fn values_outside_the_statistics_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    sorted_file(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    // The maximum of the last row group, wherever it is in the footer: 39999 becomes 39998.
    let (old, new) = (39_999i64.to_le_bytes(), 39_998i64.to_le_bytes());
    let footer = bytes.len() - 4000;
    for at in footer..bytes.len() - 8 {
        if bytes[at..at + 8] == old {
            bytes[at..at + 8].copy_from_slice(&new);
        }
    }
    std::fs::write(&path, bytes).unwrap();
    let result = ParquetTable::open(vec![path], &memory()).and_then(|table| scan(&table, request(&[0]), 2048));
    let error = result.expect_err("the last value is above the maximum");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains("outside the statistics"), "{error}");
}

#[test]
fn all_workers_together_read_every_row_once() {
    static TABLE: OnceLock<(TempDir, Arc<ParquetTable>)> = OnceLock::new();
    let (_, table) = TABLE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        sorted_file(&file(&directory));
        let table = ParquetTable::open(vec![file(&directory)], &memory()).unwrap();
        (directory, table)
    });
    let query = query(64, 4);
    let source = table.clone().scan(request(&[0, 1]), &query).unwrap();
    source.start(&query).unwrap();
    let work = || {
        let mut worker = source.clone().worker(&query).unwrap();
        let mut keys = Vec::new();
        loop {
            match worker.next().unwrap() {
                SourceVerdict::Chunk(chunk) => keys.extend_from_slice(chunk.dense(0).to_flat().values::<i64>()),
                SourceVerdict::Done => return keys,
                _ => {}
            }
        }
    };
    let mut keys: Vec<i64> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    keys.sort_unstable();
    assert_eq!(keys, (0..40_000).collect::<Vec<i64>>());
}

/// Rows of a row group whose dictionary is large enough to be decompressed along with others.
const GROUP_ROWS: usize = 20_000;

/// Five row groups of as many dictionaries, compressed with Snappy; returns the values.
fn file_of_large_dictionaries(path: &Path) -> Vec<i64> {
    let keys: Vec<i64> = (0..5 * GROUP_ROWS).map(|row| (row / 2 * 977) as i64).collect();
    let fields = vec![Field::new("x", DataType::Int64, false)];
    let array: PrimitiveArray<Int64Type> = keys.iter().copied().map(Some).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(array)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    keys
}

/// Reads a column of integers with one worker, until the end or an error; returns what was read of the file, too.
fn integers(path: PathBuf) -> (Vec<i64>, Result<ColumnReads>) {
    let table = ParquetTable::open(vec![path], &memory()).unwrap();
    let query = query(2048, 1);
    let source = table.scan(request(&[0]), &query).unwrap();
    source.start(&query).unwrap();
    let mut worker = source.clone().worker(&query).unwrap();
    let mut values = Vec::new();
    loop {
        match worker.next() {
            Ok(SourceVerdict::Chunk(chunk)) => values.extend_from_slice(chunk.dense(0).to_flat().values::<i64>()),
            Ok(SourceVerdict::Done) => break,
            Ok(_) => {}
            Err(error) => return (values, Err(error)),
        }
    }
    drop(worker);
    (values, Ok(source.metrics().columns()[0].counts.reads))
}

#[test]
fn dictionaries_of_the_next_row_groups_come_along_with_one() {
    let directory = tempfile::tempdir().unwrap();
    let keys = file_of_large_dictionaries(&file(&directory));
    let (values, reads) = integers(file(&directory));
    assert_eq!(values, keys);
    // Those of the third and fourth row group come along with the second's; the first is alone, as a query may end
    // there, and the last has none after it.
    let reads = reads.unwrap();
    assert_eq!((reads.pages, reads.pages_cached), (10, 2), "five dictionaries and five pages");
}

#[test]
fn a_damaged_dictionary_ahead_is_an_error_only_where_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let keys = file_of_large_dictionaries(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let chunk = reader.metadata().row_group(3).column(0);
    let dictionary = chunk.dictionary_page_offset().unwrap() as usize..chunk.data_page_offset() as usize;
    bytes[dictionary.end - 2000..dictionary.end].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let (values, reads) = integers(path);
    assert_eq!(reads.expect_err("a dictionary is damaged").kind(), ErrorKind::Corrupt);
    assert_eq!(values, keys[..3 * GROUP_ROWS]);
}
