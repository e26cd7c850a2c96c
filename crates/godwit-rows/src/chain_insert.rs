//! Inserting rows into chains that start in a table of entries, by compare-and-swap.
//!
//! Generic over the word type so that loom can try all interleavings of threads, and all values that they may see
//! (`xtask/models`, run by `cargo xtask soundness`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of an entry or a link that form the address: as many as x86-64 and AArch64 use in user space.
pub(crate) const ADDRESS_MASK: u64 = (1 << 48) - 1;
/// The bit of a link that is set if the row has had a match.
pub(crate) const FOUND: u64 = 1 << 63;

/// A word that several threads use concurrently.
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

/// Puts the row at address `row`, whose link is `link`, at the head of the chain of its key. Returns true if the key
/// was already there. `has_key` says whether the row at an address has the same key.
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
