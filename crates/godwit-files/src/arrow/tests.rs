//! Scans compared with the data written, over types, compressions and both formats; and damaged files.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, NullBuffer};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_common::{ErrorKind, Result, format_bytes};
use godwit_io::DiskSystem;
use godwit_memory::{BufferConfig, BufferManager};
use godwit_pipeline::{ScanRequest, Table};
use godwit_plan::Comparison;
use godwit_types::Value;
use proptest::prelude::*;

use super::*;
use crate::test_scan::{Columns, Rows, expected, filtered, memory, note, request, scan};

/// Properties of a test file.
#[derive(Debug, Clone)]
struct Shape {
    rows: usize,
    batch_rows: usize,
    is_stream: bool,
    compression: Option<CompressionType>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let compressions = vec![None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    let compression = prop::sample::select(compressions);
    (0usize..3000, 1usize..1500, any::<bool>(), compression).prop_map(|(rows, batch_rows, is_stream, compression)| {
        Shape { rows, batch_rows: batch_rows.max(rows / 8), is_stream, compression }
    })
}

/// A column of a type, in which every seventh value is NULL.
fn primitive<T: ArrowPrimitiveType>(rows: usize, of: impl Fn(usize) -> T::Native) -> ArrayRef {
    let values = (0..rows).map(|row| (row % 7 != 3).then(|| of(row)));
    Arc::new(values.collect::<PrimitiveArray<T>>())
}

fn texts(rows: usize) -> Vec<Option<String>> {
    (0..rows).map(|row| (row % 5 != 2).then(|| format!("text {row} {}", "äöx".repeat(row % 7)))).collect()
}

fn lists(rows: usize) -> ArrayRef {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..rows {
        (0..row % 4).for_each(|item| lists.values().append_value(item as i32));
        lists.append(row % 7 != 3);
    }
    Arc::new(lists.finish())
}

fn maps(rows: usize) -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..rows {
        for item in 0..row % 3 {
            maps.keys().append_value(format!("k{item}"));
            maps.values().append_value(row as i32);
        }
        maps.append(row % 7 != 3).unwrap();
    }
    Arc::new(maps.finish())
}

/// Columns of most types; the first is the number of the row.
fn batch(rows: usize) -> RecordBatch {
    let texts = texts(rows);
    let words: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let bytes = || words.iter().map(|text| text.map(str::as_bytes));
    let money = primitive::<Decimal128Type>(rows, |row| row as i128 * 37 - 99);
    let money = money.as_any().downcast_ref::<Decimal128Array>().unwrap().clone();
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes().map(|b| b.map(|b| b[..4].to_vec())), 4);
    let coded: DictionaryArray<Int8Type> =
        (0..rows).map(|row| (row % 7 != 3).then(|| ["x", "y", "z"][row % 3])).collect();
    let structs = StructArray::new(
        vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)].into(),
        vec![primitive::<Int32Type>(rows, |row| row as i32), Arc::new(StringArray::from(words.clone()))],
        Some(NullBuffer::from_iter((0..rows).map(|row| row % 4 != 1))),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i64", Arc::new((0..rows as i64).map(Some).collect::<Int64Array>())),
        ("i8", primitive::<Int8Type>(rows, |row| (row % 100) as i8 - 50)),
        ("u64", primitive::<UInt64Type>(rows, |row| u64::MAX - row as u64)),
        ("f64", primitive::<Float64Type>(rows, |row| row as f64 / 7.0)),
        ("bool", Arc::new((0..rows).map(|row| (row % 7 != 3).then_some(row % 2 == 0)).collect::<BooleanArray>())),
        ("text", Arc::new(StringArray::from(words.clone()))),
        ("large_text", Arc::new(LargeStringArray::from(words.clone()))),
        ("view", Arc::new(StringViewArray::from(words.clone()))),
        ("bytes", Arc::new(bytes().collect::<BinaryArray>())),
        ("fixed", Arc::new(fixed.unwrap())),
        ("money", Arc::new(money.clone().with_precision_and_scale(30, 2).unwrap())),
        ("small_money", Arc::new(money.with_precision_and_scale(7, 2).unwrap())),
        ("date", primitive::<Date32Type>(rows, |row| row as i32)),
        ("time", primitive::<Time64MicrosecondType>(rows, |row| row as i64)),
        ("moment", primitive::<TimestampNanosecondType>(rows, |row| row as i64)),
        ("interval", primitive::<IntervalMonthDayNanoType>(rows, |row| IntervalMonthDayNano::new(row as i32, 1, 2))),
        ("list", lists(rows)),
        ("map", maps(rows)),
        ("struct", Arc::new(structs)),
        ("coded", Arc::new(coded)),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), *name != "i64")).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// Columns of [`batch`].
const COLUMNS: usize = 20;

fn write(shape: &Shape, batch: &RecordBatch, path: &Path) {
    let options = IpcWriteOptions::default().try_with_compression(shape.compression).unwrap();
    let pieces = (0..batch.num_rows()).step_by(shape.batch_rows);
    let pieces = pieces.map(|start| batch.slice(start, shape.batch_rows.min(batch.num_rows() - start)));
    let (file, schema) = (File::create(path).unwrap(), batch.schema());
    if shape.is_stream {
        let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
        pieces.for_each(|piece| writer.write(&piece).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
        pieces.for_each(|piece| writer.write(&piece).unwrap());
        writer.finish().unwrap();
    }
}

fn open_with(path: &Path, memory: &BufferManager) -> Result<Arc<ArrowTable>> {
    ArrowTable::open_on(&DiskSystem, &[path.to_owned()], memory)
}

fn open(path: &Path) -> Result<Arc<ArrowTable>> {
    open_with(path, &memory())
}

fn file(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("x.arrow")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scans_agree_with_what_was_written(
        shape in shapes(),
        chunk_rows in prop::sample::select(vec![1usize, 100, 2048]),
        columns in prop::collection::vec(0..COLUMNS, 0..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let batch = batch(shape.rows);
        write(&shape, &batch, &file(&directory));
        let table = open(&file(&directory)).unwrap();
        prop_assert_eq!(table.rows(), shape.rows as u64);
        let all: Vec<usize> = (0..COLUMNS).collect();
        let (rows, _) = scan(&table, request(&all), chunk_rows).unwrap();
        prop_assert_eq!(rows, expected(&batch, &all, &(0..shape.rows).collect::<Vec<_>>()));
        let known = Columns::of(&*table, table.schema());
        let filter = known.compare("i64", Comparison::Less, Value::Integer(700));
        let (rows, _) = scan(&table, filtered(&columns, known.conjuncts(&[filter])), chunk_rows).unwrap();
        prop_assert_eq!(rows, expected(&batch, &columns, &(0..shape.rows.min(700)).collect::<Vec<_>>()));
    }

    #[test]
    fn damaged_files_are_errors(shape in shapes(), damages in prop::collection::vec((any::<u32>(), any::<u8>()), 1..60)) {
        let shape = Shape { rows: shape.rows % 60, batch_rows: 25, ..shape };
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory);
        write(&shape, &batch(shape.rows), &path);
        let bytes = fs::read(&path).unwrap();
        for (at, value) in damages {
            let mut damaged = bytes.clone();
            // Most damage affects headers, which are at the end of a file and at the beginning of a stream.
            let within = if value % 4 == 0 { bytes.len() } else { bytes.len().min(4000) };
            let at = at as usize % within;
            let at = if shape.is_stream { at } else { bytes.len() - 1 - at };
            match value {
                0..8 => damaged.truncate(at),
                8..32 => damaged.copy_within(at / 2..at / 2 + (bytes.len() - at).min(usize::from(value)), at),
                _ => damaged[at] ^= value,
            }
            fs::write(&path, damaged).unwrap();
            // It may be read as other values or rejected, but must not panic or take unbounded memory.
            let read = open(&path).and_then(|table| {
                let columns: Vec<usize> = (0..table.row_type().len()).collect();
                scan(&table, request(&columns), 100)
            });
            if let Err(error) = read {
                prop_assert!(error.kind() != ErrorKind::Internal, "{error}");
                prop_assert!(error.message().contains("x.arrow") || error.kind() != ErrorKind::Corrupt, "{error}");
            }
        }
    }
}

#[test]
fn only_columns_and_batches_that_are_needed_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let all = batch(4000);
    write(&Shape { rows: 4000, batch_rows: 1000, is_stream: false, compression: None }, &all, &path);
    let table = open(&path).unwrap();
    let read = |columns: &[usize], limit| {
        let (rows, notes) = scan(&table, ScanRequest { limit, ..request(columns) }, 500).unwrap();
        (rows.len(), note(&notes, "read").unwrap_or_else(|| format_bytes(0)))
    };
    assert_eq!(read(&[], None), (4000, format_bytes(0)));
    // Eight bytes per value; the validity bitmap isn't needed.
    assert_eq!(read(&[0], None), (4000, format_bytes(4000 * 8)));
    assert_eq!(read(&[0], Some(100)), (500, format_bytes(1000 * 8)));
    // No row passes the filter: the text is never read.
    let columns = Columns::of(&*table, table.schema());
    let none = columns.compare("i64", Comparison::Less, Value::Integer(0));
    let (rows, notes) = scan(&table, filtered(&[5], columns.conjuncts(&[none])), 2048).unwrap();
    assert_eq!((rows.len(), note(&notes, "read")), (0, Some(format_bytes(4000 * 8))));
}

/// Dictionaries that grow, or are replaced, from batch to batch.
#[test]
fn dictionaries_of_streams_change() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("x", coded, true)]));
    let grown: [&[&str]; 3] = [&["a", "b"], &["a", "b", "c"], &["a", "b", "c", "d"]];
    let replaced: [&[&str]; 3] = [&["a", "b"], &["c"], &["c", "c", "d"]];
    for (handling, words) in [(DictionaryHandling::Delta, grown), (DictionaryHandling::Resend, replaced)] {
        let options = IpcWriteOptions::default().with_dictionary_handling(handling);
        let mut writer = StreamWriter::try_new_with_options(File::create(&path).unwrap(), &schema, options).unwrap();
        for words in words {
            let keys = Int32Array::from_iter((0..words.len() as i32).map(Some).chain([None]));
            let values = Arc::new(StringArray::from(words.to_vec()));
            let column = DictionaryArray::<Int32Type>::try_new(keys, values).unwrap();
            writer.write(&RecordBatch::try_new(schema.clone(), vec![Arc::new(column)]).unwrap()).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        let rows = words.iter().flat_map(|words| words.iter().copied().chain(["NULL"]));
        let expected: Rows = rows.map(|word| vec![word.to_owned()]).collect();
        assert_eq!(scan(&open(&path).unwrap(), request(&[0]), 2048).unwrap().0, expected, "{handling:?}");
    }
}

#[test]
fn a_limit_is_an_error_and_never_exceeded() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 1 << 20]));
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let small = BufferManager::new(BufferConfig::new(4 << 20)).unwrap();
    for compression in [None, Some(CompressionType::ZSTD)] {
        write(&Shape { rows: 1 << 20, batch_rows: 1 << 20, is_stream: false, compression }, &batch, &path);
        let table = open_with(&path, &small).unwrap();
        let batch = table.sample(0, &small);
        assert_eq!(batch.err().map(|error| error.kind()), Some(ErrorKind::Resource), "{compression:?}");
    }
}

#[test]
fn errors_name_the_file_the_column_and_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let shape = Shape { rows: 10, batch_rows: 10, is_stream: false, compression: None };
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let table = open(&path)?;
        scan(&table, request(&(0..table.row_type().len()).collect::<Vec<_>>()), 100).map(|(rows, _)| rows.len())
    };
    let error = |bytes: &[u8]| read(bytes).expect_err("it is damaged").to_string();

    let union = DataType::Union(
        arrow_schema::UnionFields::from_fields(vec![Field::new("a", DataType::Int32, true)]),
        arrow_schema::UnionMode::Sparse,
    );
    let schema = Schema::new(vec![Field::new("u", union, false)]);
    FileWriter::try_new(File::create(&path).unwrap(), &schema).unwrap().finish().unwrap();
    let unknown = error(&fs::read(&path).unwrap());
    assert!(unknown.contains("x.arrow") && unknown.contains("column u has the Arrow type Union"), "{unknown}");

    let batch =
        RecordBatch::try_from_iter([("s", Arc::new(StringArray::from(vec!["abcdefgh"; 10])) as ArrayRef)]).unwrap();
    write(&shape, &batch, &path);
    let whole = fs::read(&path).unwrap();
    assert_eq!(read(&whole).unwrap(), 10);
    let text = whole.windows(8).position(|bytes| bytes == b"abcdefgh").unwrap();
    let mut damaged = whole.clone();
    damaged[text] = 0xFF;
    let wrong = error(&damaged);
    assert!(wrong.contains("x.arrow, the message at byte ") && wrong.contains("column s"), "{wrong}");
    assert!(error(&whole[..whole.len() - 30]).contains("truncated"));
    assert!(error(b"").contains("is not an Arrow file"));
    assert!(error(b"a,b\n1,2\n").contains("is not an Arrow file"));
    assert!(error(b"FEA1 and more of it").contains("Feather"));

    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    assert_eq!(read(&stream).unwrap(), 10);
    assert!(error(&stream[..stream.len() - 40]).contains("is cut off"));
    // A stream may end without an end marker.
    assert_eq!(read(&stream[..stream.len() - 8]).unwrap(), 10);
    let mut twice = stream[..stream.len() - 8].to_vec();
    twice.write_all(&stream).unwrap();
    assert!(error(&twice).contains("another schema"));
}

/// A file of some hundred bytes may claim to have lists of billions of values without bytes.
#[test]
fn values_without_bytes_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let items = Arc::new(Field::new_list_field(DataType::Null, true));
    let nulls = Arc::new(NullArray::new(1 << 30));
    let lists = ListArray::new(items, arrow_buffer::OffsetBuffer::from_lengths([1 << 30]), nulls, None);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).unwrap();
    write(&Shape { rows: 1, batch_rows: 1, is_stream: false, compression: None }, &batch, &path);
    assert!(fs::metadata(&path).unwrap().len() < 2000);
    let read = open(&path).and_then(|table| scan(&table, request(&[0]), 2048));
    assert_eq!(read.err().map(|error| error.kind()), Some(ErrorKind::Resource));
}

#[test]
fn columns_of_several_files_go_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ["a.arrow", "b.arrow"].map(|name| directory.path().join(name));
    let (all, shape) = (batch(50), Shape { rows: 50, batch_rows: 20, is_stream: true, compression: None });
    write(&shape, &all.project(&[0, 5, 19]).unwrap(), &paths[0]);
    write(&shape, &all.project(&[19, 0, 5]).unwrap(), &paths[1]);
    let table = ArrowTable::open_on(&DiskSystem, &paths, &memory()).unwrap();
    let (rows, _) = scan(&table, request(&[2, 0]), 2048).unwrap();
    let once = expected(&all, &[19, 0], &(0..50).collect::<Vec<_>>());
    assert_eq!(rows, [once.clone(), once].concat());
    let sample = table.sample(2, &memory()).unwrap().expect("it is text");
    assert_eq!((sample.len(), sample.validity().unwrap().count_ones()), (100, 86));
}
