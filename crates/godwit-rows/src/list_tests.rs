//! Lists, chains and sorted entries keep their rows in place when everything else is gone: unpinned pages are spilled
//! immediately, so a row that isn't kept would have different content.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use godwit_memory::BufferManager;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Flat, PhysicalType, StrColumn, ValueRange, Vector};

use crate::tests::{assert_empty, manager};
use crate::{
    Chains, DirectTable, Extra, InsertScratch, JoinHashTable, KeyedRows, LookupScratch, PartitionedRows, PinnedRows,
    RowCollection, RowLayout, RowLayoutOptions, RowList, RowOrder, RowOrderKey, RowTaker, Rows,
};

/// Rows that are appended at once: few under Miri, which takes a thousand times as long.
const BATCH: usize = if cfg!(miri) { 10 } else { 1000 };
/// Total number of rows; several share each key.
const ROWS: usize = 40 * BATCH;
const KEYS: i64 = 10 * BATCH as i64;
/// Keys that are looked up.
const SOUGHT: [i64; 3] = [3, KEYS - 1, 77];

fn layout(extra: Extra) -> Arc<RowLayout> {
    let columns = [PhysicalType::I64, PhysicalType::Str];
    RowLayout::new(&columns, RowLayoutOptions { hash: true, extra }).unwrap()
}

fn text(number: i64) -> String {
    format!("the text of row number {number}")
}

/// Rows of a key and a text that tells the row's number.
fn columns(numbers: impl Iterator<Item = i64> + Clone) -> [Vector; 2] {
    [
        Vector::from_values(numbers.clone().map(|number| number % KEYS).collect::<Vec<i64>>(), None),
        Vector::flat(Flat::Str(StrColumn::from_strings(numbers.map(text))), None),
    ]
}

fn hashes(columns: &[Vector]) -> Vec<u64> {
    let mut hashes = Vec::new();
    hash_vectors(&columns[..1], columns[0].len(), &mut hashes);
    hashes
}

fn collection(manager: &BufferManager, layout: &Arc<RowLayout>) -> RowCollection {
    let mut rows = RowCollection::new(manager, layout, None);
    for begin in (0..ROWS as i64).step_by(BATCH) {
        let columns = columns(begin..begin + BATCH as i64);
        rows.append(&columns, None, Some(&hashes(&columns)), None).unwrap();
    }
    rows
}

/// The numbers of rows, read from their text.
fn numbers(rows: Rows<'_>) -> Vec<i64> {
    let keys = rows.gather(0).to_flat();
    let texts = rows.gather(1).to_flat();
    let number = |(key, text): (&i64, &[u8])| {
        let text = std::str::from_utf8(text).unwrap();
        let number: i64 = text.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(text == self::text(number) && number % KEYS == *key);
        number
    };
    keys.values::<i64>().iter().zip(texts.strings().iter()).map(number).collect()
}

/// Looks up some keys and follows the chains to their ends, after the table and the rows' owner are gone.
fn check_chains(layout: &Arc<RowLayout>, look_up: impl FnOnce(&[Vector], &[u64], &[u32], &mut Chains)) {
    let columns = columns(SOUGHT.into_iter());
    let mut chains = Chains::new(layout);
    look_up(&columns[..1], &hashes(&columns), &[0, 1, 2], &mut chains);
    let mut found = vec![Vec::new(); 3];
    while !chains.tags.is_empty() {
        chains.tags.iter().zip(numbers(chains.rows())).for_each(|(&tag, number)| found[tag as usize].push(number));
        chains.advance();
    }
    for (tag, key) in SOUGHT.into_iter().enumerate() {
        found[tag].sort_unstable();
        assert_eq!(found[tag], (0..ROWS as i64 / KEYS).map(|round| round * KEYS + key).collect::<Vec<_>>());
    }
}

#[test]
fn chains_keep_the_rows_of_their_table() {
    let manager = manager(64 << 20, true);
    let layout = layout(Extra::Link);
    let rows = collection(&manager, &layout);
    let pinned = rows.pin().unwrap();
    let table = JoinHashTable::new(&pinned, 1, false, 0.6, &manager).unwrap();
    // No other table can take the links, and rows can't be looked up before they are inserted.
    assert!(catch_unwind(AssertUnwindSafe(|| JoinHashTable::new(&pinned, 1, false, 0.6, &manager))).is_err());
    let mut scratch = LookupScratch::default();
    let too_early = || table.look_up(&[1], &[], &[0], &mut scratch, &mut Chains::new(&layout));
    assert!(catch_unwind(AssertUnwindSafe(too_early)).is_err());
    table.insert(0..ROWS / 2, &mut InsertScratch::default());
    table.insert(ROWS / 2..ROWS, &mut InsertScratch::default());
    let again = || table.insert(0..1, &mut InsertScratch::default());
    assert!(catch_unwind(AssertUnwindSafe(again)).is_err());
    drop(pinned);
    check_chains(&layout, |keys, hashes, positions, chains| {
        table.look_up(hashes, keys, positions, &mut LookupScratch::default(), chains);
        drop(table);
    });
    // The links are free again.
    let pinned = rows.pin().unwrap();
    let table = DirectTable::new(&pinned, ValueRange { min: 0, max: KEYS as i128 - 1 }, &manager).unwrap();
    table.insert(0..ROWS, &mut InsertScratch::default());
    drop((pinned, rows));
    check_chains(&layout, |keys, _, positions, chains| {
        table.look_up(&keys[0].to_flat(), positions, chains);
        drop(table);
    });
    assert_empty(&manager);
}

#[test]
fn lists_keep_appended_rows() {
    let manager = manager(64 << 20, true);
    let layout = layout(Extra::None);
    let mut rows = PartitionedRows::new(&manager, &layout, 3);
    rows.keep_pinned();
    let mut lists = Vec::new();
    for begin in (0..ROWS as i64).step_by(BATCH) {
        let columns = columns(begin..begin + BATCH as i64);
        let mut list = RowList::new(&layout);
        rows.append(&columns, None, &hashes(&columns), Some(&mut list)).unwrap();
        lists.push(list);
        rows.release_pins();
    }
    let mut picked = RowList::new(&layout);
    lists.iter().for_each(|list| picked.push(list.all(), 7));
    lists.truncate(3);
    drop(rows);
    for (list, begin) in lists.iter().zip((0..).step_by(BATCH)) {
        assert_eq!(numbers(list.all()), (begin..begin + BATCH as i64).collect::<Vec<i64>>());
    }
    drop(lists);
    assert_eq!(numbers(picked.all()), (0..ROWS / BATCH).map(|batch| (batch * BATCH + 7) as i64).collect::<Vec<_>>());
    drop(picked);
    assert_empty(&manager);
}

#[test]
fn entries_keep_their_rows_and_order_them() {
    let manager = manager(64 << 20, true);
    let layout = layout(Extra::None);
    let rows = collection(&manager, &layout);
    let entries = |numbers: std::ops::Range<usize>| {
        let (mut entries, mut list) = (KeyedRows::new(&layout), RowList::new(&layout));
        PinnedRows::of(&layout, [&rows]).unwrap().list(numbers, &mut list);
        entries.extend(&vec![1u64; list.len()], list.all());
        entries
    };
    let ranges = [0..3 * BATCH, 20 * BATCH..23 * BATCH];
    let mut lists = ranges.clone().map(entries);
    drop(rows);
    let by_text = RowOrder::new(&layout, vec![RowOrderKey { column: 1, descending: true, nulls_first: false }]);
    lists.iter_mut().for_each(|list| list.sort_by_rows(0..list.len(), &by_text));
    let mut taker = RowTaker::new(&layout, 2, 0);
    let mut at = [0, 0];
    while at[0] < 3 * BATCH && at[1] < 3 * BATCH {
        let first = lists[0].compare_rows(at[0], &lists[1], at[1], &by_text).is_gt() as usize;
        taker.take(first, &lists[first], at[first]);
        at[first] += 1;
    }
    lists.iter_mut().for_each(KeyedRows::clear);
    let taken = taker.into_rows();
    let mut expected: Vec<String> = ranges.into_iter().flatten().map(|row| text(row as i64)).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert!(numbers(taken.all()).into_iter().map(text).eq(expected.into_iter().take(taken.len())));
    drop((lists, taken));
    assert_empty(&manager);
}

#[test]
fn rows_of_another_layout_are_refused() {
    let manager = manager(64 << 20, false);
    let (layout, other) = (layout(Extra::None), self::layout(Extra::None));
    let pinned = collection(&manager, &layout).pin().unwrap();
    let list = || pinned.list(0..1, &mut RowList::new(&other));
    assert!(catch_unwind(AssertUnwindSafe(list)).is_err());
    let mut nullable = RowList::new(&RowLayout::nullable(&layout));
    pinned.list(5..6, &mut nullable);
    assert_eq!(numbers(nullable.all()), [5]);
    assert!(nullable.all().layout().has_nulls(0) && !layout.has_nulls(0));
}
