//! Stores on a disk whose plug is pulled.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use godwit_common::Result;
use godwit_io::{DiskFault, SimulatedDisk};
use godwit_memory::{BufferConfig, BufferManager};
use godwit_sql::Catalog;
use godwit_vector::{Flat, StrColumn, Vector};
use proptest::prelude::*;

use crate::store::{NewTable, Store, TableTarget};

const PATH: &str = "/db/x.godwit";

/// What a test does to the table `t`, or to another one.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A small commit of so many rows.
    Insert(u8),
    /// A load of so many rows.
    Load(u8),
    /// Makes a table of so many rows, or replaces it.
    Replace(u8),
    Drop,
    Checkpoint,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u8..20).prop_map(Step::Insert),
        3 => (1u8..200).prop_map(Step::Load),
        1 => (0u8..20).prop_map(Step::Replace),
        1 => Just(Step::Drop),
        2 => Just(Step::Checkpoint),
    ]
}

/// The rows of both tables; `None`: there is no such table.
#[derive(Debug, Clone, PartialEq, Default)]
struct Model {
    rows: Vec<(i64, String)>,
    other: Option<Vec<(i64, String)>>,
}

fn memory() -> BufferManager {
    BufferManager::new(BufferConfig::new(64 << 20)).unwrap()
}

fn open(disk: &SimulatedDisk, memory: &BufferManager) -> Result<Arc<Store>> {
    Store::open_on(disk, Arc::new(Catalog::new()), memory, Path::new(PATH), false)
}

fn new_table(name: &str) -> NewTable {
    let fields = vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8View, true)];
    NewTable { name: name.to_owned(), fields, or_replace: true }
}

/// Rows whose strings come before, between and behind those that were there.
fn rows(count: u8, seed: i64) -> Vec<(i64, String)> {
    (0..count as i64).map(|row| (seed * 1_000 + row, format!("{:03} value", (seed * 37 + row) % 211))).collect()
}

fn vectors(rows: &[(i64, String)]) -> Vec<Vector> {
    let strings = Flat::Str(StrColumn::from_strings(rows.iter().map(|row| row.1.as_str())));
    vec![Vector::from_values(rows.iter().map(|row| row.0).collect::<Vec<i64>>(), None), Vector::flat(strings, None)]
}

fn load(store: &Store, target: &TableTarget, rows: &[(i64, String)], memory: &BufferManager) -> Result<()> {
    let load = store.load(target, memory, 1)?;
    let mut worker = load.worker(memory)?;
    worker.append(&vectors(rows), rows.len())?;
    worker.finish()?;
    store.commit_load(target, &load)
}

/// Does a step, in the model, too; the store may fail.
fn run(store: &Store, step: Step, seed: i64, model: &mut Model, memory: &BufferManager) -> Result<()> {
    let table = || TableTarget::Existing(store.table("t").expect("the test made it"));
    match step {
        Step::Insert(count) => {
            let rows = rows(count, seed);
            model.rows.extend(rows.clone());
            store.commit_rows(&table(), vectors(&rows), rows.len())
        }
        Step::Load(count) => {
            let rows = rows(count, seed);
            model.rows.extend(rows.clone());
            load(store, &table(), &rows, memory)
        }
        Step::Replace(count) => {
            let rows = rows(count, seed);
            model.other = Some(rows.clone());
            load(store, &TableTarget::New(new_table("other")), &rows, memory)
        }
        Step::Drop => match model.other.take() {
            Some(_) => store.drop_table("other"),
            None => Ok(()),
        },
        Step::Checkpoint => store.checkpoint(),
    }
}

fn content(store: &Store, name: &str, memory: &BufferManager) -> Result<Option<Vec<(i64, String)>>> {
    let Some(version) = store.table(name) else { return Ok(None) };
    let mut found = Vec::new();
    let mut add = |columns: &[Vector], rows: usize| {
        let (numbers, strings) = (columns[0].to_flat(), columns[1].to_flat());
        found.extend((0..rows).map(|row| {
            let string = String::from_utf8(strings.strings().get(row).to_vec()).expect("texts come back");
            (numbers.values::<i64>()[row], string)
        }));
        Ok(())
    };
    for group in 0..version.main().groups.len() {
        version.main().for_each_window(group, memory, &mut add)?;
    }
    version.delta().iter().try_for_each(|chunk| add(&chunk.dense_columns(), chunk.len()))?;
    found.sort();
    assert_eq!(found.len() as u64, version.rows());
    Ok(Some(found))
}

fn found(store: &Store, memory: &BufferManager) -> Result<Model> {
    Ok(Model { rows: content(store, "t", memory)?.unwrap_or_default(), other: content(store, "other", memory)? })
}

fn sorted(mut model: Model) -> Model {
    model.rows.sort();
    model.other.iter_mut().for_each(|rows| rows.sort());
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The plug is pulled anywhere in a series of commits: all that were acknowledged are there, the one under way is there
    /// as a whole or not at all, and the database goes on.
    #[test]
    fn a_power_failure_loses_no_commit(
        steps in prop::collection::vec(step(), 1..12),
        at in 1u64..80,
        fault in prop::sample::select(vec![DiskFault::Crash, DiskFault::Crash, DiskFault::Broken, DiskFault::Full]),
        seed in any::<u64>(),
    ) {
        let memory = memory();
        let disk = SimulatedDisk::new();
        let store = open(&disk, &memory).unwrap();
        store.create_table(&new_table("t")).unwrap();
        disk.fail(at, fault);
        let (mut acknowledged, mut tried) = (Model::default(), Model::default());
        for (number, &step) in steps.iter().enumerate() {
            tried = acknowledged.clone();
            if run(&store, step, number as i64 + 1, &mut tried, &memory).is_err() {
                break;
            }
            acknowledged = tried.clone();
        }
        drop(store);
        let disk = disk.restart(seed);
        let store = open(&disk, &memory).unwrap();
        let there = found(&store, &memory).unwrap();
        let (acknowledged, tried) = (sorted(acknowledged), sorted(tried));
        prop_assert!(there == acknowledged || there == tried, "{there:?}\n{acknowledged:?}\n{tried:?}");

        let mut model = there;
        for (number, step) in [Step::Insert(3), Step::Load(40), Step::Checkpoint, Step::Insert(2)].into_iter().enumerate() {
            run(&store, step, number as i64 + 100, &mut model, &memory).unwrap();
        }
        drop(store);
        let store = open(&disk, &memory).unwrap();
        prop_assert_eq!(found(&store, &memory).unwrap(), sorted(model));
    }
}

#[test]
fn replaced_tables_leave_their_space_to_others() {
    let memory = memory();
    let disk = SimulatedDisk::new();
    let store = open(&disk, &memory).unwrap();
    for round in 0..20 {
        load(&store, &TableTarget::New(new_table("t")), &rows(200, round), &memory).unwrap();
        store.checkpoint().unwrap();
    }
    drop(store);
    let blocks = disk.content(Path::new(PATH)).unwrap().len() / (256 * 1024);
    assert!(blocks <= 12, "{blocks} blocks for a table of one");
}
