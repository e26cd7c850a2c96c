//! Rows inserted into one chain by several threads.

use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

use crate::chain_insert::{ADDRESS_MASK, FOUND, Word, insert};

word!(LoomWord);

/// Row `i` has the address `i + 1`.
struct Table {
    entries: Vec<LoomWord>,
    links: Vec<LoomWord>,
    /// Read by threads that reach the row; written before, by the thread that inserts it.
    keys: Vec<UnsafeCell<u64>>,
    inserted: AtomicUsize,
}

impl Table {
    fn new(rows: usize) -> Self {
        Self {
            entries: (0..4).map(|_| LoomWord::new(0)).collect(),
            links: (0..rows).map(|_| LoomWord::new(FOUND)).collect(),
            keys: (0..rows).map(|_| UnsafeCell::new(0)).collect(),
            inserted: AtomicUsize::new(0),
        }
    }

    /// Inserts a row. All keys have one hash.
    fn insert(&self, row: usize, key: u64) -> bool {
        // SAFETY: the row can't be reached before it is inserted.
        self.keys[row].with_mut(|own| unsafe { *own = key });
        // SAFETY: rows that can be reached are inserted, and their keys no longer change.
        let has_key = |other: u64| self.keys[other as usize - 1].with(|other| unsafe { *other == key });
        let duplicate = insert(&self.entries, 5 << 48, row as u64 + 1, &self.links[row], has_key);
        self.inserted.fetch_add(1, Ordering::Release);
        duplicate
    }

    /// Returns the chains as a lookup sees them, each sorted, with its key.
    fn chains(&self) -> Vec<(u64, Vec<u64>)> {
        let entries = self.entries.iter().map(|entry| entry.load(Ordering::Relaxed) & ADDRESS_MASK);
        let mut chains: Vec<_> = entries.filter(|&head| head != 0).map(|head| self.chain(head)).collect();
        chains.sort();
        chains
    }

    fn chain(&self, head: u64) -> (u64, Vec<u64>) {
        // SAFETY: keys no longer change.
        let key = self.keys[head as usize - 1].with(|key| unsafe { *key });
        let (mut rows, mut row) = (Vec::new(), head);
        while row != 0 {
            rows.push(row);
            let link = self.links[row as usize - 1].load(Ordering::Relaxed);
            assert_eq!(link & FOUND, FOUND, "a row that was found stays so");
            row = link & ADDRESS_MASK;
        }
        rows.sort();
        (key, rows)
    }
}

/// Two threads insert rows of two keys that collide: none is lost, and no key has two chains.
#[test]
fn every_row_is_in_the_chain_of_its_key() {
    loom::model(|| {
        let table = Arc::new(Table::new(4));
        let other = table.clone();
        let thread = thread::spawn(move || (other.insert(0, 7), other.insert(1, 8)));
        let mine = (table.insert(2, 8), table.insert(3, 7));
        let theirs = thread.join().unwrap();
        assert_eq!(table.chains(), [(7, vec![1, 4]), (8, vec![2, 3])]);
        // For one row of each key, the insertion reported that it wasn't the first.
        assert!(theirs.0 ^ mine.1 && theirs.1 ^ mine.0);
    });
}

/// Three threads insert at one entry.
#[test]
fn a_chain_takes_rows_from_all_sides() {
    loom::model(|| {
        let table = Arc::new(Table::new(3));
        let threads: Vec<_> = (0..2)
            .map(|row| {
                let table = table.clone();
                thread::spawn(move || table.insert(row, 7))
            })
            .collect();
        let mine = table.insert(2, 7);
        let theirs = threads.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(theirs.chain([mine]).filter(|duplicate| !duplicate).count(), 1);
        assert_eq!(table.chains(), [(7, vec![1, 2, 3])]);
    });
}

/// A thread that sees that all rows are inserted sees all links, although lookups load them without ordering.
#[test]
fn lookups_see_all_links() {
    loom::model(|| {
        let table = Arc::new(Table::new(2));
        let threads: Vec<_> = (0..2)
            .map(|row| {
                let table = table.clone();
                thread::spawn(move || table.insert(row, 7))
            })
            .collect();
        if table.inserted.load(Ordering::Acquire) == 2 {
            assert_eq!(table.chains(), [(7, vec![1, 2])]);
        }
        threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
    });
}
