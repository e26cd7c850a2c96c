//! Inserting rows into chains that start in a table of entries, by compare-and-swap.
//!
//! Generic in the words so that loom can try all orders in which threads may meet, and all values that they may see
//! (`cargo xtask soundness`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::links::{ADDRESS_MASK, FOUND};

/// A word that several threads use at once.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn compare_exchange(&self, current: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64>;
}

macro_rules! word {
    ($t:ty) => {
        impl Word for $t {
            #[inline(always)]
            fn load(&self, order: Ordering) -> u64 {
                self.load(order)
            }

            #[inline(always)]
            fn store(&self, value: u64, order: Ordering) {
                self.store(value, order);
            }

            #[inline(always)]
            fn compare_exchange(&self, now: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64> {
                self.compare_exchange(now, new, success, failure)
            }
        }
    };
}
word!(AtomicU64);

/// Puts the row at address `row`, whose link is `link`, at the head of the chain of its key. Returns true if the key was
/// there already. `has_key` says whether the row at an address has the same key.
///
/// An entry is published by the exchange, after the link of its row was stored: a thread that acquires the entry sees
/// both the link and the row.
#[inline(always)]
pub(crate) fn insert<W: Word>(entries: &[W], hash: u64, row: u64, link: &W, has_key: impl Fn(u64) -> bool) -> bool {
    let mask = entries.len() as u64 - 1;
    let tagged = row | hash & !ADDRESS_MASK;
    let found = link.load(Ordering::Relaxed) & FOUND;
    let mut slot = hash & mask;
    link.store(found, Ordering::Relaxed);
    let mut entry = entries[slot as usize].load(Ordering::Acquire);
    loop {
        let is_equal = entry != 0 && (entry ^ hash) & !ADDRESS_MASK == 0 && has_key(entry & ADDRESS_MASK);
        if entry != 0 && !is_equal {
            slot = (slot + 1) & mask;
            entry = entries[slot as usize].load(Ordering::Acquire);
            continue;
        }
        link.store(found | entry & ADDRESS_MASK, Ordering::Relaxed);
        match entries[slot as usize].compare_exchange(entry, tagged, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return is_equal,
            Err(now) => entry = now,
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as LoomWord;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    use super::*;

    word!(LoomWord);

    /// Row `i` is at address `i + 1`.
    struct Table {
        entries: Vec<LoomWord>,
        links: Vec<LoomWord>,
        /// Read by threads that reach the row, written by the thread that inserts it, before.
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

        /// All keys have one hash.
        fn insert(&self, row: usize, key: u64) -> bool {
            // SAFETY: the row isn't reached before it is inserted.
            self.keys[row].with_mut(|own| unsafe { *own = key });
            // SAFETY: rows that are reached are inserted, and keys don't change any more.
            let has_key = |other: u64| self.keys[other as usize - 1].with(|other| unsafe { *other == key });
            let duplicate = insert(&self.entries, 5 << 48, row as u64 + 1, &self.links[row], has_key);
            self.inserted.fetch_add(1, Ordering::Release);
            duplicate
        }

        /// The chains as a lookup sees them, each sorted, with its key.
        fn chains(&self) -> Vec<(u64, Vec<u64>)> {
            let entries = self.entries.iter().map(|entry| entry.load(Ordering::Relaxed) & ADDRESS_MASK);
            let mut chains: Vec<_> = entries.filter(|&head| head != 0).map(|head| self.chain(head)).collect();
            chains.sort();
            chains
        }

        fn chain(&self, head: u64) -> (u64, Vec<u64>) {
            // SAFETY: keys don't change any more.
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
            // For one row of each key, the insertion returned that it isn't the first.
            assert!(theirs.0 ^ mine.1 && theirs.1 ^ mine.0);
        });
    }

    /// Three threads at one entry.
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

    /// A thread that sees that all rows are inserted sees all links, though lookups load them without an order.
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
}
