//! Tests stores, including power failures on a simulated disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arrow_schema::{DataType, Field};
use godwit_catalog::{Catalog, KeyRule, TableRules};
use godwit_common::{Named, Result};
use godwit_io::{DiskFault, SimulatedDisk};
use godwit_memory::{BufferConfig, BufferManager};
use godwit_vector::{Chunk, Flat, StrColumn, Vector};
use proptest::prelude::*;

use crate::adaptation::{Adaptation, AdaptiveCompression};
use crate::deleted::{DELTA, Marks, RowId};
use crate::store::Store;
use crate::transaction::{NewRows, NewTable, SHARED_TRIES_MAX, Transaction};
use crate::version::TableVersion;

const PATH: &str = "/db/x.godwit";

/// A step of a test, on the table `t` or another one.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A small commit of this many rows.
    Insert(u8),
    /// A load of this many rows.
    Load(u8),
    /// Deletes every n-th row.
    Delete(u8),
    /// Deletes every n-th row and inserts as many into both tables, in one transaction.
    Move(u8),
    /// Creates a table of this many rows, or replaces it.
    Replace(u8),
    Drop,
    Checkpoint,
    /// Merges the delta of `t`, or of the other table if there is one.
    Merge(bool),
    /// A checkpoint with a commit between its fold and its switch: a `Move` or, for an odd number, a `Load`.
    Overtaken(u8),
    /// Gives segments other forms in memory.
    Adapt(AdaptiveCompression),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u8..20).prop_map(Step::Insert),
        3 => (1u8..200).prop_map(Step::Load),
        3 => (1u8..9).prop_map(Step::Delete),
        2 => (1u8..9).prop_map(Step::Move),
        1 => (0u8..20).prop_map(Step::Replace),
        1 => Just(Step::Drop),
        2 => Just(Step::Checkpoint),
        2 => any::<bool>().prop_map(Step::Merge),
        2 => (1u8..9).prop_map(Step::Overtaken),
        3 => prop::sample::select(AdaptiveCompression::NAMES).prop_map(|(_, mode)| Step::Adapt(mode)),
    ]
}

type Row = (i64, String);

/// The rows of both tables; `None`: there is no such table.
#[derive(Debug, Clone, PartialEq, Default)]
struct Model {
    rows: Vec<Row>,
    other: Option<Vec<Row>>,
}

fn memory() -> BufferManager {
    BufferManager::new(BufferConfig::new(64 << 20)).unwrap()
}

fn open(disk: &SimulatedDisk, memory: &BufferManager) -> Result<Arc<Store>> {
    Store::open_on(disk, Arc::new(Catalog::new()), memory, Path::new(PATH), false)
}

fn new_table(name: &str) -> NewTable {
    let fields = vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8View, true)];
    let key = KeyRule { name: "key".into(), columns: vec!["n".into()], is_primary: true };
    let rules = TableRules { defaults: vec![("n".into(), "7".into())], keys: vec![key], ..TableRules::default() };
    NewTable { name: name.to_owned(), fields, rules, sequences: Vec::new(), or_replace: true }
}

/// Rows whose strings sort before, between and after the existing ones.
fn rows(count: u8, seed: i64) -> Vec<Row> {
    (0..count as i64).map(|row| (seed * 1_000 + row, format!("{:03} value", (seed * 37 + row) % 211))).collect()
}

fn vectors(rows: &[Row]) -> Vec<Vector> {
    let strings = Flat::Str(StrColumn::from_strings(rows.iter().map(|row| row.1.as_str())));
    vec![Vector::from_values(rows.iter().map(|row| row.0).collect::<Vec<i64>>(), None), Vector::flat(strings, None)]
}

fn commit(transaction: &Transaction) -> Result<()> {
    transaction.commit(&|_| Ok(()))
}

fn insert(transaction: &Transaction, name: &str, rows: &[Row]) -> Result<()> {
    let table = transaction.table(name).expect("the test made it");
    transaction.write(&table, &Marks::default(), NewRows::Few(vectors(rows), rows.len()))
}

fn load(transaction: &Transaction, name: &str, rows: &[Row], memory: &BufferManager) -> Result<()> {
    let table = transaction.table(name).expect("the test made it");
    let load = transaction.load(&table, memory, 1)?;
    let mut worker = load.worker(memory)?;
    worker.append(&Chunk::new(vectors(rows), rows.len()))?;
    worker.finish()?;
    transaction.write(&table, &Marks::default(), NewRows::Load(load))
}

/// All rows of a version, with their ids.
fn rows_of(version: &TableVersion, memory: &BufferManager) -> Result<Vec<(RowId, Row)>> {
    let mut found = Vec::new();
    let mut add = |place: u32, first: &mut u32, columns: &[Vector], rows: usize| {
        let (numbers, strings) = (columns[0].to_flat(), columns[1].to_flat());
        for row in 0..rows {
            let id = RowId { place, row: *first + row as u32 };
            let string = String::from_utf8(strings.strings().get(row).to_vec()).expect("texts come back");
            if !version.deleted().of(place).is_some_and(|set| set.contains(id.row as usize)) {
                found.push((id, (numbers.values::<i64>()[row], string)));
            }
        }
        *first += rows as u32;
    };
    for group in 0..version.main().groups.len() {
        let mut first = 0;
        version.main().for_each_window(group, &[0, 1], memory, |columns, rows| {
            add(group as u32, &mut first, columns, rows);
            Ok(())
        })?;
    }
    let mut first = 0;
    version.delta().visit(0, |chunk| {
        add(DELTA, &mut first, &chunk.dense_columns(), chunk.len());
        Ok(())
    })?;
    assert_eq!(found.len() as u64, version.rows());
    Ok(found)
}

/// Deletes every n-th row, by number; returns what it deleted.
fn delete(transaction: &Transaction, name: &str, every: u8, memory: &BufferManager) -> Result<Vec<Row>> {
    let table = transaction.table(name).expect("the test made it");
    let mut marks = Marks::default();
    let mut deleted = Vec::new();
    for (id, row) in rows_of(&table, memory)? {
        if row.0 % every as i64 == 0 {
            marks.insert(id);
            deleted.push(row);
        }
    }
    transaction.write(&table, &marks, NewRows::None)?;
    Ok(deleted)
}

/// Performs a step on the store, which may fail, and on the model.
fn run(store: &Arc<Store>, step: Step, seed: i64, model: &mut Model, memory: &BufferManager) -> Result<()> {
    match step {
        Step::Checkpoint => return store.checkpoint(),
        Step::Merge(of_other) => {
            let name = if of_other && model.other.is_some() { "other" } else { "t" };
            store.merge_delta(name)?;
            assert_eq!(store.table(name).expect("it is there").delta_rows(), 0);
            return Ok(());
        }
        Step::Overtaken(number) => {
            let folds = store.fold_all()?;
            let meanwhile = if number % 2 == 0 { Step::Move(number) } else { Step::Load(number) };
            run(store, meanwhile, seed, model, memory)?;
            return store.switch(folds);
        }
        Step::Adapt(mode) => {
            let adaptation = Adaptation::new(memory);
            adaptation.watch(store);
            adaptation.adapt_as(mode);
            return Ok(());
        }
        _ => {}
    }
    let transaction = store.begin();
    match step {
        Step::Insert(count) => {
            let rows = rows(count, seed);
            insert(&transaction, "t", &rows)?;
            model.rows.extend(rows);
        }
        Step::Load(count) => {
            let rows = rows(count, seed);
            load(&transaction, "t", &rows, memory)?;
            model.rows.extend(rows);
        }
        Step::Delete(every) => {
            delete(&transaction, "t", every, memory)?;
            model.rows.retain(|row| row.0 % every as i64 != 0);
        }
        Step::Move(every) => {
            let moved = delete(&transaction, "t", every, memory)?;
            model.rows.retain(|row| row.0 % every as i64 != 0);
            if model.other.is_some() && !moved.is_empty() {
                insert(&transaction, "other", &moved)?;
            }
            if let Some(other) = &mut model.other {
                other.extend(moved);
            }
            let rows = rows(every, seed);
            insert(&transaction, "t", &rows)?;
            model.rows.extend(rows);
        }
        Step::Replace(count) => {
            let rows = rows(count, seed);
            transaction.create_table(&new_table("other"))?;
            load(&transaction, "other", &rows, memory)?;
            model.other = Some(rows);
        }
        Step::Drop => {
            if model.other.take().is_some() {
                transaction.drop_table("other")?;
            }
        }
        Step::Checkpoint | Step::Merge(_) | Step::Overtaken(_) | Step::Adapt(_) => {
            unreachable!("they have no transaction of their own")
        }
    }
    commit(&transaction)
}

fn content(store: &Store, name: &str, memory: &BufferManager) -> Result<Option<Vec<Row>>> {
    let Some(version) = store.table(name) else { return Ok(None) };
    assert_eq!(version.rules().as_ref(), &new_table(name).rules, "rules come back");
    let mut found: Vec<Row> = rows_of(&version, memory)?.into_iter().map(|(_, row)| row).collect();
    found.sort();
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

fn create(store: &Arc<Store>, name: &str) {
    let transaction = store.begin();
    transaction.create_table(&new_table(name)).unwrap();
    commit(&transaction).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The plug is pulled anywhere in a series of commits: all acknowledged ones are there, the one in progress is
    /// there completely or not at all, and the database keeps working.
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
        create(&store, "t");
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
        let more = [Step::Insert(3), Step::Load(40), Step::Delete(2), Step::Checkpoint, Step::Move(3), Step::Insert(2)];
        for (number, step) in more.into_iter().enumerate() {
            run(&store, step, number as i64 + 100, &mut model, &memory).unwrap();
        }
        drop(store);
        let store = open(&disk, &memory).unwrap();
        prop_assert_eq!(found(&store, &memory).unwrap(), sorted(model));
    }

    /// Overlapping transactions: each sees the state committed when it began; of two that delete the same row, the one
    /// that commits first wins; all other changes of both are there.
    #[test]
    fn overlapping_transactions_are_isolated(
        first in prop::collection::vec(step(), 1..5),
        second in prop::collection::vec(step(), 1..5),
        before in prop::collection::vec(step(), 0..4),
    ) {
        let memory = memory();
        let disk = SimulatedDisk::new();
        let store = open(&disk, &memory).unwrap();
        create(&store, "t");
        let mut base = Model::default();
        for (number, &step) in before.iter().enumerate() {
            run(&store, step, number as i64 + 1, &mut base, &memory).unwrap();
        }
        let transactions = [store.begin(), store.begin()];
        let mut deleted: [Vec<Row>; 2] = Default::default();
        let mut added: [Vec<Row>; 2] = Default::default();
        let steps = first.iter().map(|step| (0, step)).chain(second.iter().map(|step| (1, step)));
        for (number, (which, step)) in steps.enumerate() {
            let (transaction, new) = (&transactions[which], rows(5, number as i64 + 50));
            match step {
                Step::Insert(_) => insert(transaction, "t", &new).unwrap(),
                Step::Load(_) => load(transaction, "t", &new, &memory).unwrap(),
                Step::Delete(every) => {
                    for row in delete(transaction, "t", *every, &memory).unwrap() {
                        match added[which].iter().position(|known| *known == row) {
                            Some(at) => drop(added[which].remove(at)),
                            None => deleted[which].push(row),
                        }
                    }
                    continue;
                }
                // Row ids change, and both transactions still find their rows.
                Step::Checkpoint => {
                    store.checkpoint().unwrap();
                    continue;
                }
                Step::Merge(_) => {
                    store.merge_delta("t").unwrap();
                    continue;
                }
                _ => continue,
            }
            added[which].extend(new);
        }
        commit(&transactions[0]).unwrap();
        let is_conflict = deleted[1].iter().any(|row| deleted[0].contains(row));
        prop_assert_eq!(commit(&transactions[1]).is_err(), is_conflict);
        drop(transactions);
        let mut rows = base.rows;
        let winners = if is_conflict { 1 } else { 2 };
        rows.retain(|row| !deleted[..winners].iter().flatten().any(|gone| gone == row));
        rows.extend(added[..winners].iter().flatten().cloned());
        rows.sort();
        prop_assert_eq!(content(&store, "t", &memory).unwrap().unwrap(), rows.clone());
        store.checkpoint().unwrap();
        prop_assert_eq!(content(&store, "t", &memory).unwrap().unwrap(), rows.clone());
        drop(store);
        let store = open(&disk, &memory).unwrap();
        prop_assert_eq!(content(&store, "t", &memory).unwrap().unwrap(), rows);
    }
}

/// Inserts and deletes on two threads while checkpoints are made in succession.
#[test]
fn checkpoints_disturb_nobody() {
    const ROUNDS: u8 = 60;
    let memory = memory();
    let disk = SimulatedDisk::new();
    let store = open(&disk, &memory).unwrap();
    ["t", "other"].into_iter().for_each(|name| create(&store, name));
    let change = |name: &str, first: i64| {
        let mut expected = Vec::new();
        for round in 0..ROUNDS {
            let transaction = store.begin();
            let new = rows(20, first + round as i64);
            insert(&transaction, name, &new).unwrap();
            expected.extend(new);
            let every = 2 + round % 7;
            delete(&transaction, name, every, &memory).unwrap();
            expected.retain(|row| row.0 % every as i64 != 0);
            commit(&transaction).unwrap();
        }
        expected.sort();
        expected
    };
    let is_over = AtomicBool::new(false);
    let expected = std::thread::scope(|scope| {
        let first = scope.spawn(|| change("t", 1));
        let second = scope.spawn(|| change("other", 500));
        let checkpoints = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.checkpoint().unwrap();
            }
        });
        let expected = [first.join().unwrap(), second.join().unwrap()];
        is_over.store(true, Ordering::Relaxed);
        checkpoints.join().unwrap();
        expected
    });
    let expected = expected.map(Some);
    assert_eq!(["t", "other"].map(|name| content(&store, name, &memory).unwrap()), expected);
    drop(store);
    let store = open(&disk, &memory).unwrap();
    assert_eq!(["t", "other"].map(|name| content(&store, name, &memory).unwrap()), expected);
}

/// A commit whose constraints take long to check isn't overtaken forever.
#[test]
fn slow_commits_get_a_turn() {
    let memory = memory();
    let store = Store::in_memory(Arc::new(Catalog::new()), &memory);
    create(&store, "t");
    let (commits, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (checks, last_checked_rows) = (AtomicUsize::new(0), AtomicU64::new(0));
    // One commit may have been in progress.
    let overtaken = |before: u64| commits.load(Ordering::Relaxed) > before + 1;
    std::thread::scope(|scope| {
        let slow = store.begin();
        insert(&slow, "t", &rows(1, 2)).unwrap();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let transaction = store.begin();
                insert(&transaction, "t", &rows(1, 1)).unwrap();
                commit(&transaction).unwrap();
                commits.fetch_add(1, Ordering::Relaxed);
            }
        });
        let wait_for_others = |before| {
            while !overtaken(before) {
                std::thread::yield_now();
            }
        };
        wait_for_others(0);
        let committed = slow.commit(&|verification| {
            let checked_rows = verification.checked.as_ref().unwrap().rows();
            assert!(checked_rows >= last_checked_rows.swap(checked_rows, Ordering::Relaxed));
            let before = commits.load(Ordering::Relaxed);
            if checks.fetch_add(1, Ordering::Relaxed) < SHARED_TRIES_MAX {
                wait_for_others(before);
            } else {
                std::thread::sleep(Duration::from_millis(20));
                assert!(!overtaken(before), "it has its turn alone");
            }
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        committed.unwrap();
    });
    assert_eq!(checks.into_inner(), SHARED_TRIES_MAX + 1);
    assert!(last_checked_rows.into_inner() > 0, "later checks know what was checked");
    assert_eq!(store.table("t").unwrap().rows(), commits.into_inner() + 1);
}

/// Objects that a transaction defines survive a checkpoint made meanwhile.
#[test]
fn definitions_survive_checkpoints() {
    let memory = memory();
    let store = Store::in_memory(Arc::new(Catalog::new()), &memory);
    create(&store, "t");
    let filling = store.begin();
    insert(&filling, "t", &rows(5, 1)).unwrap();
    commit(&filling).unwrap();
    let transaction = store.begin();
    transaction.create_table(&new_table("t")).unwrap();
    insert(&transaction, "t", &rows(3, 2)).unwrap();
    store.checkpoint().unwrap();
    commit(&transaction).unwrap();
    assert_eq!(store.table("t").unwrap().rows(), 3);
    store.checkpoint().unwrap();
    assert_eq!(store.table("t").unwrap().rows(), 3);
}

/// The thread, if there is one, makes a checkpoint that is due.
#[test]
fn a_thread_makes_checkpoints() {
    let memory = memory();
    let disk = SimulatedDisk::new();
    let store = open(&disk, &memory).unwrap();
    create(&store, "t");
    store.allow_maintenance();
    store.set_checkpoint_bytes(1);
    let mut model = Model::default();
    // Four times the threshold: each commit waits for the checkpoint.
    for round in 0..5 {
        run(&store, Step::Insert(10), round, &mut model, &memory).unwrap();
        assert!(store.checkpoints() > round as u64);
    }
    assert_eq!(found(&store, &memory).unwrap(), sorted(model));
    store.stop_maintenance();
    assert_eq!(Arc::strong_count(&store), 1);
}

#[test]
fn replaced_tables_leave_their_space_to_others() {
    let memory = memory();
    let disk = SimulatedDisk::new();
    let store = open(&disk, &memory).unwrap();
    for round in 0..20 {
        let transaction = store.begin();
        transaction.create_table(&new_table("t")).unwrap();
        load(&transaction, "t", &rows(200, round), &memory).unwrap();
        commit(&transaction).unwrap();
        drop(transaction);
        store.checkpoint().unwrap();
    }
    drop(store);
    let blocks = disk.content(Path::new(PATH)).unwrap().len() / (256 * 1024);
    assert!(blocks <= 12, "{blocks} blocks for a table of one");
}

#[test]
fn savepoints_undo_what_came_after() {
    let memory = memory();
    let store = Store::in_memory(Arc::new(Catalog::new()), &memory);
    create(&store, "t");
    let transaction = store.begin();
    insert(&transaction, "t", &rows(3, 1)).unwrap();
    transaction.savepoint("a");
    insert(&transaction, "t", &rows(4, 2)).unwrap();
    transaction.savepoint("b");
    delete(&transaction, "t", 1, &memory).unwrap();
    transaction.rollback_to("b").unwrap();
    assert_eq!(transaction.table("t").unwrap().rows(), 7);
    transaction.rollback_to("a").unwrap();
    assert!(transaction.rollback_to("b").is_err());
    assert_eq!(transaction.table("t").unwrap().rows(), 3);
    transaction.release("a").unwrap();
    assert!(transaction.release("a").is_err());
    assert_eq!(store.table("t").unwrap().rows(), 0);
    commit(&transaction).unwrap();
    assert_eq!(store.table("t").unwrap().rows(), 3);
    assert!(insert(&transaction, "t", &rows(1, 3)).is_err(), "it has ended");
}

#[test]
fn definitions_that_others_changed_conflict() {
    let memory = memory();
    let store = Store::in_memory(Arc::new(Catalog::new()), &memory);
    create(&store, "t");
    let (writer, dropper) = (store.begin(), store.begin());
    insert(&writer, "t", &rows(3, 1)).unwrap();
    dropper.drop_table("t").unwrap();
    commit(&dropper).unwrap();
    let error = commit(&writer).unwrap_err();
    assert!(error.message().contains("another one changed"), "{error}");
    let twice = [store.begin(), store.begin()];
    twice.iter().for_each(|transaction| drop(transaction.create_table(&new_table("u")).unwrap()));
    commit(&twice[0]).unwrap();
    assert!(commit(&twice[1]).is_err());
}

/// In this order of events, two changes that each respect a constraint break it together.
#[test]
fn constraints_are_checked_against_what_others_committed() {
    let memory = memory();
    let store = Store::in_memory(Arc::new(Catalog::new()), &memory);
    create(&store, "t");
    let (first, second) = (store.begin(), store.begin());
    insert(&first, "t", &rows(3, 1)).unwrap();
    insert(&second, "t", &rows(2, 1)).unwrap();
    commit(&first).unwrap();
    let refused = second.commit(&|change| {
        assert_eq!(change.after.rows(), 5);
        assert_eq!(change.after.added_since(change.before.as_ref().unwrap()).unwrap().rows(), 2);
        Err(godwit_common::Error::user("a key is there twice"))
    });
    assert!(refused.is_err());
    assert_eq!(store.table("t").unwrap().rows(), 3);
}
