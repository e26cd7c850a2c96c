//! Rows of groups are read and changed by their owner only, from the first to the last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use godwit_memory::BufferManager;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, Vector};

use crate::aggregate_state::{StateArea, StateKind, StateLayout};
use crate::tests::{assert_empty, manager};
use crate::{
    Extra, PartitionedRows, PayloadKind, PinnedRows, RowCollection, RowLayout, RowLayoutOptions, RowList, RowOwner,
};

const LAST: &str = "the last of all texts is longer than a view";
const FIRST: &str = "a text that comes first, of this length too";

/// Groups with a key, a text and a count.
struct Groups {
    states: Arc<StateLayout>,
    owner: RowOwner,
    rows: PartitionedRows,
    list: RowList,
}

impl Groups {
    fn new(manager: &BufferManager, layout: &Arc<RowLayout>) -> Self {
        let owner = RowOwner::new();
        let mut rows = PartitionedRows::new(manager, layout, 0).owned_by(&owner);
        rows.keep_pinned();
        let states = StateLayout::new(&[StateKind::Count]);
        let mut groups = Self { states, owner, rows, list: RowList::new(layout) };
        groups.append(&[Some(LAST), None]);
        groups
    }

    fn append(&mut self, values: &[Option<&str>]) {
        let keys = Vector::from_values((0..values.len() as i64).collect::<Vec<_>>(), None);
        let mut hashes = Vec::new();
        hash_vectors(std::slice::from_ref(&keys), values.len(), &mut hashes);
        self.rows.append(&[keys, texts(values)], None, &hashes, Some(&mut self.list)).unwrap();
    }

    fn count(&mut self) {
        self.states.update(&mut self.owner, 0, self.list.all(), &[]).unwrap();
    }

    /// The collection of the rows, which are at rest.
    fn rest(self) -> RowCollection {
        let Self { owner, mut rows, .. } = self;
        owner.hand_over(&mut rows);
        rows.into_partitions().remove(0)
    }
}

fn layout() -> Arc<RowLayout> {
    let options = RowLayoutOptions { hash: true, extra: Extra::States(8) };
    RowLayout::new(&[PhysicalType::I64, PhysicalType::Str], options).unwrap()
}

fn texts(values: &[Option<&str>]) -> Vector {
    let strings = StrColumn::from_strings(values.iter().map(|value| value.unwrap_or("").as_bytes()));
    Vector::flat(Flat::Str(strings), Some(Bitmap::from_fn(values.len(), |i| values[i].is_some())))
}

fn text_at(vector: &Vector, row: usize) -> Option<String> {
    vector.is_valid(row).then(|| String::from_utf8(vector.to_flat().strings().get(row).to_vec()).unwrap())
}

/// The message of a panic.
fn refusal<R>(misuse: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(misuse)) else { panic!("it isn't refused") };
    panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or(panic.downcast::<String>().ok().map(|s| *s)).unwrap()
}

#[test]
fn rows_are_used_through_their_owner() {
    let (manager, layout) = (manager(64 << 20, true), layout());
    let (mut mine, mut other) = (Groups::new(&manager, &layout), Groups::new(&manager, &layout));
    mine.count();
    let rows = mine.list.all();
    assert!(refusal(|| rows.gather(0)).contains("through their owner"));
    assert!(refusal(|| mine.states.counts(0, rows)).contains("through their owner"));
    assert!(refusal(|| other.owner.read(rows)).contains("another owner"));
    assert!(refusal(|| other.states.update(&mut other.owner, 0, rows, &[])).contains("another owner"));
    let unreadable = || mine.states.combine(&mut other.owner, other.list.all(), rows);
    assert!(refusal(unreadable).contains("through their owner"));
    let mut copy = PartitionedRows::new(&manager, &layout, 0);
    assert!(refusal(|| copy.append_rows(rows, None)).contains("through their owner"));
    // Neither do they get into lists of others' rows, not even by a second attempt.
    for _ in 0..2 {
        assert!(refusal(|| other.list.append(rows)).contains("one owner"));
    }
    other.states.combine(&mut other.owner, other.list.all(), mine.owner.read(rows)).unwrap();
    assert_eq!(other.states.counts(0, other.owner.read(other.list.all())), [1, 1]);
}

/// A list that was asked for rows before they had an owner doesn't make them readable.
#[test]
fn lists_learn_of_owners() {
    let (manager, layout) = (manager(64 << 20, true), layout());
    let mut rows = PartitionedRows::new(&manager, &layout, 0);
    rows.keep_pinned();
    let mut list = RowList::new(&layout);
    let empty = [Vector::from_values(Vec::<i64>::new(), None), texts(&[])];
    rows.append(&empty, None, &[], Some(&mut list)).unwrap();
    let owner = RowOwner::new();
    let mut rows = rows.owned_by(&owner);
    let one = [Vector::from_values(vec![1i64], None), texts(&[None])];
    assert!(refusal(|| rows.append(&one, None, &[1], Some(&mut list))).contains("one owner"));
    list.clear();
    rows.append(&one, None, &[1], Some(&mut list)).unwrap();
    assert!(refusal(|| list.all().gather(0)).contains("through their owner"));
}

#[test]
fn areas_grow_for_their_owner() {
    let states = StateLayout::new(&[StateKind::Count]);
    let (owner, other) = (RowOwner::new(), RowOwner::new());
    let mut area = StateArea::new(&states, &owner);
    assert!(refusal(|| area.grow(&other, 1)).contains("another owner"));
    area.grow(&owner, 1);
}

#[test]
fn rows_at_rest_get_an_owner_or_are_shared() {
    let (manager, layout) = (manager(64 << 20, true), layout());
    let groups = || {
        let mut groups = Groups::new(&manager, &layout);
        groups.count();
        groups
    };
    let in_use = groups();
    assert!(refusal(|| in_use.rows.partitions()[0].pin()).contains("in use"));
    assert!(refusal(|| in_use.rows.partitions()[0].scan()).contains("may change"));
    let rest = in_use.rest();
    assert!(refusal(|| rest.scan()).contains("may change"));
    let (early, pinned) = (rest.pin().unwrap(), rest.pin().unwrap());
    let mut list = RowList::new(&layout);
    early.list(0..2, &mut list);
    let elsewhere = groups().rest();
    assert!(refusal(|| rest.pin().unwrap().own(vec![elsewhere])).contains("all rows"));
    let (pinned, mut owner) = pinned.own(vec![rest]);
    // Rows that were listed before are nobody's for ever.
    assert!(refusal(|| owner.read(list.all())).contains("another owner"));
    list.clear();
    pinned.list(0..2, &mut list);
    let states = StateLayout::new(&[StateKind::Count]);
    states.update(&mut owner, 0, list.slice(1..2), &[]).unwrap();
    assert_eq!(states.counts(0, owner.read(list.all())), [1, 2]);
    // Rows that nobody can change any more are read by all.
    let mut scan = groups().rest().into_scan();
    let block = scan.next_block().unwrap().unwrap();
    assert_eq!(states.counts(0, block.rows()), [1, 1]);
    assert_eq!(text_at(&block.rows().gather(1), 0).as_deref(), Some(LAST));
    drop((early, pinned, list, block, scan));
    assert_empty(&manager);
}

#[test]
fn strings_are_overwritten_or_shared() {
    let (manager, layout) = (manager(64 << 20, true), layout());
    let mut groups = Groups::new(&manager, &layout);
    let before = groups.owner.read(groups.list.all()).gather(1);
    let (rows, mut left) = (groups.list.all(), Vec::new());
    rows.improve_payload(&mut groups.owner, 1, PayloadKind::Min, &texts(&[Some(FIRST), Some(LAST)]), &mut left);
    // The first replaces a string of its length; there is no room for the other one.
    assert_eq!(left, [1]);
    let after = groups.owner.read(rows).gather(1);
    assert_eq!([&before, &after].map(|texts| text_at(texts, 0)), [LAST, FIRST].map(|text| Some(text.to_owned())));
    let merge = || rows.slice(1..2).merge_payload(&mut groups.owner, 1, PayloadKind::Min, rows.slice(0..1));
    assert!(refusal(merge).contains("stay as they are"));

    let rest = groups.rest();
    let pinned = PinnedRows::of(&layout, [&rest]).unwrap();
    let (pinned, mut owner) = pinned.own(vec![rest]);
    let mut list = RowList::new(&layout);
    pinned.list(0..2, &mut list);
    list.slice(1..2).merge_payload(&mut owner, 1, PayloadKind::Min, list.slice(0..1));
    let improve =
        || list.all().improve_payload(&mut owner, 1, PayloadKind::Max, &texts(&[None, None]), &mut Vec::new());
    assert!(refusal(improve).contains("aren't overwritten"));
    let merged = owner.read(list.slice(1..2)).gather(1);
    drop((pinned, list));
    // The column holds the pins of the string, which lies beside the other row.
    assert_eq!(text_at(&merged, 0).as_deref(), Some(FIRST));
    drop(merged);
    assert_empty(&manager);
}
