//! The corpus' input files, most of them Parquet: small, and the same in every run.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Date32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// Number of rows of `numbers.parquet`, in four row groups.
const ROWS: i64 = 10_000;
const ROW_GROUP_ROWS: usize = 3_000;

/// Environment variable with a folder in which the files are created and kept: for `verify_corpus.py`.
const KEEP_VARIABLE: &str = "GODWIT_CORPUS_DATA";

/// A folder with the files.
pub enum Folder {
    Temporary(tempfile::TempDir),
    Kept(PathBuf),
}

impl Folder {
    pub fn new() -> Self {
        let folder = match env::var_os(KEEP_VARIABLE) {
            Some(path) => Self::Kept(path.into()),
            None => Self::Temporary(tempfile::tempdir().expect("a temporary folder can be made")),
        };
        fill(folder.path());
        folder
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

/// Text files that are difficult to read.
const TEXTS: [(&str, &str); 16] = [
    (
        "people.csv",
        "id,name,height,born,seen,active\n1,\"Anna, \"\"the first\"\"\",1.72,1990-02-28,2024-05-01 10:11:12,true\n\
         2,Bob,,1985-12-01,2024-05-02 00:00:00,false\n\n3,\"two\nlines\",1.9,,2024-05-03 23:59:59,true\n",
    ),
    ("plain.csv", "1;alpha;2.5\r\n2;beta;\r\n3;;4\r\n"),
    ("wrong.csv", "a,b\n1,x\ntwo,y\n3,z,more\n4,w\n"),
    ("days.csv", "day|n\n28.02.2024| 7\n01.03.2024|-8 \n"),
    ("none.csv", ""),
    (
        "lines.json",
        "{\"a\": 1, \"b\": \"x\\n{\", \"c\": 1}\n{\"a\": 2, \"c\": 2.5, \"d\": true}\n\n{\"b\": \"[\\\"\"}\n",
    ),
    ("array.json", "[\n  {\"n\": 1, \"s\": \"one\"},\n  {\"n\": 2,\n   \"s\": \"two\"}\n]\n"),
    ("wrong.json", "{\"n\": 1}\n{\"n\": }\n"),
    (
        "german.csv",
        "Nr;PLZ;Tag;Zeitpunkt;Betrag\r\n1;01067;31.12.2020;31.12.2020 23:59:59;1.234,5\r\n2;80331;01.02.2021;01.02.2021 00:00:00;-7,25\r\n",
    ),
    ("report.csv", "Report of sales\nmade by hand\n\nname|n\n'a|b'|1\nc|2\n"),
    ("comments.csv", "# made by a tool\na,b\n1,x\n# a, b, c\n2,y # last\n"),
    ("ragged.csv", "a,b,c\n1,2,3\n4,5\n6\n"),
    ("unclosed.csv", "a,b\n1,\"x\n2,y\n"),
    ("mixed.json", "{\"a\": 1, \"b\": {\"c\": [1, 2]}}\n{\"a\": \"x\", \"b\": {\"c\": [], \"d\": \"2020-01-05\"}}\n"),
    (
        "moments.json",
        "{\"t\": \"2020-01-05T10:00:00\", \"z\": \"2020-01-05 10:00:00+02\", \"n\": 12345678901234567890}\n",
    ),
    ("late.json", "{\"n\": 1}\n{\"n\": \"two\"}\n{\"n\": 3}\n"),
];

fn fill(folder: &Path) {
    fs::create_dir_all(folder.join("parts")).expect("the folder is writable");
    let numbers = numbers();
    write(&folder.join("numbers.parquet"), &numbers);
    write(&folder.join("empty.parquet"), &numbers.slice(0, 0));
    for part in 0..3 {
        write(&folder.join(format!("parts/part_{part}.parquet")), &numbers.slice(part * 100, 100));
    }
    write(&folder.join("types.parquet"), &types());
    for (name, text) in TEXTS {
        fs::write(folder.join(name), text).expect("the folder is writable");
    }

    let bytes = fs::read(folder.join("numbers.parquet")).expect("the file was just written");
    fs::write(folder.join("truncated.parquet"), &bytes[..bytes.len() / 2]).expect("the folder is writable");
    fs::write(folder.join("garbage.parquet"), b"This is no Parquet file, although it is called one.")
        .expect("the folder is writable");
    fs::write(folder.join("nothing.parquet"), b"").expect("the folder is writable");
    // The magic numbers and the footer are intact, the pages are not.
    let mut damaged = bytes.clone();
    let footer_bytes = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().expect("four bytes")) as usize;
    let pages_end = bytes.len() - 8 - footer_bytes;
    damaged[4..pages_end].iter_mut().for_each(|byte| *byte ^= 0xA5);
    fs::write(folder.join("damaged.parquet"), damaged).expect("the folder is writable");
}

fn write(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_compression(Compression::SNAPPY)
        .build();
    let file = File::create(path).expect("the folder is writable");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("the types can be written");
    writer.write(batch).expect("the disk has room");
    writer.close().expect("the disk has room");
}

/// Returns 10,000 rows derived from `id`, with NULLs at different places in each column.
fn numbers() -> RecordBatch {
    let unless = |id: i64, period: i64| id % period != 0;
    let ids = || 0..ROWS;
    let group: PrimitiveArray<Int32Type> = ids().map(|id| unless(id, 7).then_some((id % 100) as i32)).collect();
    let ratio: PrimitiveArray<Float64Type> = ids().map(|id| unless(id, 11).then_some(id as f64 * 0.5)).collect();
    let sign = |id: i64| if id % 2 == 0 { 1 } else { -1 };
    let price = Decimal128Array::from_iter(ids().map(|id| unless(id, 17).then_some(i128::from(sign(id) * id * 37))));
    let category = StringArray::from_iter(ids().map(|id| unless(id, 13).then(|| format!("category {}", id % 50))));
    let text = StringArray::from_iter_values(ids().map(|id| format!("row number {id:05} with a text of its own")));
    let flag = BooleanArray::from_iter(ids().map(|id| unless(id, 5).then_some(id % 3 == 0)));
    let day: PrimitiveArray<Date32Type> =
        ids().map(|id| unless(id, 19).then_some(8_035 + (id % 2_500) as i32)).collect();
    let moment: PrimitiveArray<TimestampMicrosecondType> =
        ids().map(|id| unless(id, 23).then_some(694_224_000_000_000 + id * 3_600_000_000)).collect();
    let nothing: PrimitiveArray<Int64Type> = ids().map(|_| None).collect();
    batch([
        ("id", Arc::new(Int64Array::from_iter_values(ids())) as ArrayRef),
        ("grp", Arc::new(group)),
        ("ratio", Arc::new(ratio)),
        ("price", Arc::new(price.with_precision_and_scale(15, 2).expect("15 digits hold 2 decimals"))),
        ("category", Arc::new(category)),
        ("text", Arc::new(text)),
        ("flag", Arc::new(flag)),
        ("day", Arc::new(day)),
        ("moment", Arc::new(moment)),
        ("nothing", Arc::new(nothing)),
    ])
}

/// Returns four rows: the least value of each type, the greatest, an ordinary one, NULL.
fn types() -> RecordBatch {
    let decimal = |digits: u8, scale: i8, ordinary: i128| -> ArrayRef {
        let most = 10_i128.pow(u32::from(digits)) - 1;
        let values = Decimal128Array::from(vec![Some(-most), Some(most), Some(ordinary), None]);
        Arc::new(values.with_precision_and_scale(digits, scale).expect("the values have so many digits"))
    };
    batch([
        ("row_id", Arc::new(Int32Array::from(vec![1, 2, 3, 4])) as ArrayRef),
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), Some(7), None]))),
        ("i16", Arc::new(Int16Array::from(vec![Some(i16::MIN), Some(i16::MAX), Some(7), None]))),
        ("i32", Arc::new(Int32Array::from(vec![Some(i32::MIN), Some(i32::MAX), Some(7), None]))),
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), Some(7), None]))),
        ("u8", Arc::new(UInt8Array::from(vec![Some(0), Some(u8::MAX), Some(7), None]))),
        ("u16", Arc::new(UInt16Array::from(vec![Some(0), Some(u16::MAX), Some(7), None]))),
        ("u32", Arc::new(UInt32Array::from(vec![Some(0), Some(u32::MAX), Some(7), None]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(0), Some(u64::MAX), Some(7), None]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(f32::NEG_INFINITY), Some(f32::NAN), Some(1.5), None]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(f64::NEG_INFINITY), Some(f64::NAN), Some(-0.0), None]))),
        ("d9", decimal(9, 2, 123)),
        ("d18", decimal(18, 4, 12_345)),
        ("d38", decimal(38, 10, 123)),
        ("truth", Arc::new(BooleanArray::from(vec![Some(false), Some(true), Some(true), None]))),
        (
            "word",
            Arc::new(StringArray::from(vec![Some(""), Some("a text longer than twelve bytes, ü"), Some("é"), None])),
        ),
        ("date", Arc::new(PrimitiveArray::<Date32Type>::from(vec![Some(-25_567), Some(47_482), Some(0), None]))),
    ])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .expect("all columns have the same length")
}
