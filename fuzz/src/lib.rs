//! What is fed with arbitrary bytes: nothing here may panic, whatever they are.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field};
use godwit_catalog::{
    Catalog, CheckRule, Comments, GeneratedColumn, GeneratedKind, IndexRule, KeyRule, Namespace, SCHEMA,
    SequenceDefinition, TableDefinition, TableResolver, TableRules, ViewDefinition,
};
use godwit_encoding::{EncodingChoice, Part, PartContent, PartHeader, encode};
use godwit_io::{DurableFile, FileSystem, OpenMode, SimulatedDisk};
use godwit_memory::{BufferConfig, BufferManager};
use godwit_sql::Planner;
use godwit_storage::file::{BLOCK_BYTES, BlockNumber, BlockPointer, DatabaseFile};
use godwit_storage::log::Log;
use godwit_tables::{NewTable, Store};
use godwit_vector::{Bitmap, Flat, StrColumn, ValueRange, Vector};

const FILE: &str = "/x.godwit";
const LOG: &str = "/x.godwit.wal";
const TABLE_ROWS: usize = 3_000;

fn memory() -> BufferManager {
    BufferManager::new(BufferConfig::new(64 << 20)).expect("so much is there")
}

/// Opens a database and reads all of it.
fn open(disk: &SimulatedDisk) {
    let memory = memory();
    if let Ok(store) = Store::open_on(disk, Arc::new(Catalog::new()), &memory, Path::new(FILE), false) {
        store.check();
        for table in store.tables() {
            table.definition();
        }
        let _ = store.checkpoint();
    }
}

fn columns(rows: usize) -> Vec<Vector> {
    let texts = (0..rows).map(|row| format!("text {}", row % 100));
    let nulls = Bitmap::from_fn(rows, |row| row % 7 != 0);
    vec![
        Vector::from_values((0..rows as i64).collect::<Vec<_>>(), None),
        Vector::flat(Flat::Str(StrColumn::from_strings(texts)), Some(nulls)),
        Vector::from_values((0..rows).map(|row| row as f64 / 4.0).collect::<Vec<_>>(), None),
    ]
}

/// A sound database: a table with row groups, a dictionary, deleted rows, rules, and a delta in the log.
pub fn sound() -> &'static (Vec<u8>, Vec<u8>) {
    static IMAGE: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let (disk, memory) = (SimulatedDisk::new(), memory());
        let open = Store::open_on(&disk, Arc::new(Catalog::new()), &memory, Path::new(FILE), false);
        let store = open.expect("the disk is empty");
        let fields = vec![
            Field::new("n", DataType::Int64, false),
            Field::new("s", DataType::Utf8View, true),
            Field::new("x", DataType::Float64, true),
        ];
        let key = KeyRule { name: "key".into(), columns: vec!["n".into()], is_primary: true };
        let check = CheckRule { name: "check".into(), condition: "n >= 0".into() };
        let rules = TableRules { keys: vec![key], checks: vec![check], ..TableRules::default() };
        let transaction = store.begin();
        let table = NewTable { name: "t".into(), fields, rules, sequences: Vec::new(), or_replace: false };
        let table = transaction.create_table(&table).expect("there is no table");
        transaction.insert(&table, &columns(TABLE_ROWS), TABLE_ROWS).expect("rows fit");
        transaction.commit(&|_| Ok(())).expect("the disk works");
        store.checkpoint().expect("the disk works");
        define_more(&store);
        let transaction = store.begin();
        let table = transaction.table("t").expect("it was made");
        transaction.insert(&table, &columns(10), 10).expect("rows fit");
        transaction.commit(&|_| Ok(())).expect("the disk works");
        let content = |path: &str| disk.content(Path::new(path)).expect("the file is there");
        (content(FILE), content(LOG))
    })
}

/// Definitions of every kind, for the log.
fn define_more(store: &Arc<Store>) {
    let transaction = store.begin();
    transaction.create_schema("other", false).expect("there is no such schema");
    let numbers = |name: &str, is_owned: bool| SequenceDefinition {
        name: name.into(),
        start: 1,
        increment: 2,
        min: 1,
        max: 99,
        cycle: true,
        is_owned,
        comments: Comments::default(),
    };
    transaction.create_sequence(numbers("numbers", false), false).expect("there is no such sequence");
    let statement = "CREATE VIEW v AS SELECT n, s FROM t".to_owned();
    let comments = Comments { own: Some("a view".to_owned()), columns: vec![("n".to_owned(), "a column".to_owned())] };
    let view = ViewDefinition { name: "v".to_owned(), schema: SCHEMA.to_owned(), database: None, statement, comments };
    transaction.create_view(Arc::new(view), false).expect("there is no such view");
    let doubled = GeneratedColumn {
        field: Field::new("doubled", DataType::Int64, true),
        position: 1,
        expression: "a * 2".into(),
        kind: GeneratedKind::Virtual,
    };
    let rules = TableRules {
        defaults: vec![("a".into(), "nextval('numbers')".into())],
        keys: vec![KeyRule { name: "u_key".into(), columns: vec!["a".into()], is_primary: false }],
        encodings: vec![("b".into(), "symbols".into())],
        indexes: vec![IndexRule { name: "i".into(), columns: vec!["b".into()] }],
        generated: vec![doubled],
        ..TableRules::default()
    };
    let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8View, true)];
    let table =
        NewTable { name: "u".into(), fields, rules, sequences: vec![numbers("u_a_seq", true)], or_replace: false };
    transaction.create_table(&table).expect("there is no such table");
    transaction.commit(&|_| Ok(())).expect("the disk works");
    let transaction = store.begin();
    transaction.drop_view("v").expect("it was made");
    transaction.commit(&|_| Ok(())).expect("the disk works");
}

/// A disk with files.
fn disk_of(files: &[(&str, &[u8])]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    for (path, content) in files {
        let file: Box<dyn DurableFile> = disk.open(Path::new(path), OpenMode::Create).expect("the disk is new");
        file.write_at(content, 0).and_then(|()| file.sync()).expect("the disk works");
    }
    disk
}

/// Changes a sound file: offset (4 bytes) and what the byte there is combined with (1), again and again.
pub fn file(data: &[u8]) {
    let (file, log) = sound();
    let (mut file, mut log) = (file.clone(), log.clone());
    for change in data.chunks_exact(5) {
        let at = u32::from_le_bytes([change[0], change[1], change[2], change[3]]) as usize;
        let (bytes, at) = if at.is_multiple_of(2) { (&mut file, at / 2) } else { (&mut log, at / 2) };
        let at = at % bytes.len();
        bytes[at] ^= change[4];
    }
    open(&disk_of(&[(FILE, &file), (LOG, &log)]));
}

/// The metadata of the newest checkpoint of the sound file.
pub fn sound_root() -> Vec<u8> {
    let disk = disk_of(&[(FILE, &sound().0)]);
    let file = DatabaseFile::open(&disk, Path::new(FILE), false).expect("it is sound");
    let (_, root) = file.newest();
    file.read_stream(&root.expect("there is a checkpoint")).expect("it is sound")
}

/// A checkpoint with this metadata.
pub fn root(data: &[u8]) {
    let disk = disk_of(&[(FILE, &sound().0)]);
    {
        let file = DatabaseFile::open(&disk, Path::new(FILE), false).expect("it is sound");
        let blocks = (sound().0.len() / BLOCK_BYTES) as u32;
        (1..blocks).for_each(|block| {
            let pointer = BlockPointer { block: BlockNumber(block), checksum: 0 };
            file.mark_used(pointer).expect("the file has such blocks");
        });
        let mut checkpoint = file.begin().expect("nobody else writes");
        let stream = checkpoint.write_stream(data).expect("the disk works");
        checkpoint.commit(Some(stream)).expect("the disk works");
    }
    open(&disk);
}

/// A record of the log with this payload.
pub fn log(data: &[u8]) {
    let (file, log) = sound();
    let disk = disk_of(&[(FILE, file), (LOG, log)]);
    let checkpoint = {
        let file = DatabaseFile::open(&disk, Path::new(FILE), false).expect("it is sound");
        file.newest().0
    };
    let (log, _) = Log::open(&disk, Path::new(LOG), checkpoint, false, |_| Ok(())).expect("it is sound");
    let position = log.append(data).expect("the disk works");
    log.sync_to(position).expect("the disk works");
    drop(log);
    open(&disk);
}

/// The records of the sound log.
pub fn sound_records() -> Vec<Vec<u8>> {
    let (file, log) = sound();
    let disk = disk_of(&[(FILE, file), (LOG, log)]);
    let (checkpoint, _) = DatabaseFile::open(&disk, Path::new(FILE), false).expect("it is sound").newest();
    let mut records = Vec::new();
    Log::open(&disk, Path::new(LOG), checkpoint, false, |payload| {
        records.push(payload.to_vec());
        Ok(())
    })
    .expect("it is sound");
    records
}

/// Parts of all encodings, as bytes.
pub fn sound_parts() -> Vec<Vec<u8>> {
    let rows = 3_000;
    let nulls = || Some(Bitmap::from_fn(rows, |row| row % 5 != 0));
    let texts = |distinct: usize| {
        Flat::Str(StrColumn::from_strings((0..rows).map(|row| format!("some text {}", row * 7 % distinct))))
    };
    let vectors = [
        Vector::from_values((0..rows as i64).collect::<Vec<_>>(), None),
        Vector::from_values((0..rows as i32).map(|row| row / 100).collect::<Vec<_>>(), nulls()),
        Vector::from_values(vec![7i64; rows], nulls()),
        Vector::from_values(vec![7i64; rows], None),
        Vector::from_values((0..rows).map(|row| row as f64 / 100.0).collect::<Vec<_>>(), nulls()),
        Vector::from_values((0..rows).map(|row| (row as f64).sin()).collect::<Vec<_>>(), None),
        Vector::from_bools((0..rows).map(|row| (row % 2) as u8).collect(), nulls()),
        Vector::flat(texts(rows), nulls()),
        Vector::flat(texts(3), None),
    ];
    let choices = [
        EncodingChoice::Auto,
        EncodingChoice::Plain,
        EncodingChoice::Packed,
        EncodingChoice::RunLength,
        EncodingChoice::Symbols,
    ];
    let encoded = vectors.iter().flat_map(|vector| choices.iter().map(move |&choice| encode(vector, choice)));
    let bytes = encoded.map(|encoded| {
        let mut bytes = Vec::new();
        encoded.header.to_bytes(&mut bytes);
        bytes.extend_from_slice(&encoded.body);
        bytes
    });
    bytes.collect()
}

/// An encoded part: its header, then its body.
pub fn segment(data: &[u8]) {
    let mut rest = data;
    let Ok(header) = PartHeader::from_bytes(&mut rest, PartContent::Values) else { return };
    let Ok(part) = Part::new(&header, rest) else { return };
    let rows = header.rows as usize;
    let _ = part.decode(0..rows);
    let some: Vec<u32> = (0..header.rows).step_by(97).collect();
    let _ = part.take(0, &some);
    if header.physical.is_integer() {
        let mut mask = vec![u64::MAX; rows.div_ceil(64)];
        let _ = part.retain_range(0..rows, ValueRange { min: -3, max: 1_000 }, &mut mask);
    }
}

struct NoFiles;

impl TableResolver for NoFiles {
    fn resolve_path(&self, _path: &str) -> Option<godwit_common::Result<Arc<TableDefinition>>> {
        None
    }
}

/// A planner for a database with the table `t`.
fn planner() -> Planner {
    let memory = memory();
    let (catalog, disk) = (Arc::new(Catalog::new()), disk_of(&[(FILE, &sound().0), (LOG, &sound().1)]));
    let store = Store::open_on(&disk, catalog.clone(), &memory, Path::new(FILE), true);
    // What the catalog refers to, as long as the process lives.
    std::mem::forget(store.expect("it is sound"));
    Planner::new(Namespace::of("fuzz", catalog), Arc::new(NoFiles))
}

/// A script, parsed and planned.
pub fn sql(data: &[u8]) {
    thread_local! {
        static PLANNER: Planner = planner();
    }
    let Ok(script) = std::str::from_utf8(data) else { return };
    PLANNER.with(|planner| {
        let Ok(statements) = planner.parse(script) else { return };
        for statement in statements {
            let _ = planner.plan(&statement);
        }
    });
}
