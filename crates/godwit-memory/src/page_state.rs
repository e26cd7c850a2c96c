//! The state of a page as one atomic word; only the methods here know its bits.
//!
//! ```text
//!                 pin/unpin
//!                  ┌────┐      begin_spill (no pins)
//!   allocate ──► Loaded ─────────────────────────► Spilling
//!                  ▲  ▲                              │  │
//!        end_load  │  └──────── cancel_spill ────────┘  │ end_spill
//!                  │                                    ▼
//!                  └──────────────────────────────── Evicted
//! ```
//!
//! A thread that moves a page out of Loaded or into it holds the page's latch; pins of a loaded page need no latch.
//! Next to the residence the word holds the number of pins, *dirty* (memory may differ from the copy on disk), *queued*
//! (the eviction queue has exactly one entry for the page, or is about to get it) and *writing*: an I/O thread, which
//! holds the latch, copies the loaded page to disk. Such a page may be pinned and read; a change has to wait for the
//! latch. The models in `xtask/models` try all orders in which threads may meet (`cargo xtask soundness`).

#[cfg(not(loom))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

#[cfg(loom)]
use loom::sync::atomic::AtomicU64;

const PINS: u64 = 0xffff_ffff;
const ONE_PIN: u64 = 1;
const DIRTY: u64 = 1 << 32;
const QUEUED: u64 = 1 << 33;
const SPILLING: u64 = 1 << 34;
const EVICTED: u64 = 1 << 35;
const WRITING: u64 = 1 << 36;

fn is_loaded(word: u64) -> bool {
    word & (SPILLING | EVICTED) == 0
}

/// The outcome of trying to evict the page of a popped queue entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The page is now Spilling and belongs to the caller, who holds the latch.
    Spilling {
        /// Memory differs from the copy on disk, or there is none.
        dirty: bool,
    },
    /// The page is pinned; its last unpin will queue it again.
    Pinned,
}

pub(crate) struct PageState(AtomicU64);

impl PageState {
    /// A loaded, dirty page with one pin.
    pub(crate) fn new_pinned() -> Self {
        Self(AtomicU64::new(ONE_PIN | DIRTY))
    }

    pub(crate) fn is_loaded(&self) -> bool {
        is_loaded(self.0.load(Acquire))
    }

    /// Loaded and not pinned.
    pub(crate) fn is_evictable(&self) -> bool {
        let word = self.0.load(Acquire);
        is_loaded(word) && word & PINS == 0
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.0.load(Relaxed) & EVICTED != 0
    }

    pub(crate) fn is_queued(&self) -> bool {
        self.0.load(Relaxed) & QUEUED != 0
    }

    /// Memory may differ from the copy on disk, or there is no copy.
    pub(crate) fn is_dirty(&self) -> bool {
        self.0.load(Acquire) & DIRTY != 0
    }

    /// Adds a pin if the page is loaded and, for a pin that may change it, isn't being written; returns whether the pin
    /// is the first one.
    pub(crate) fn try_pin(&self, writes: bool) -> Option<bool> {
        let dirty = if writes { DIRTY } else { 0 };
        let pin = |word: u64| {
            assert!(word & PINS < PINS, "too many pins");
            let is_free = is_loaded(word) && !(writes && word & WRITING != 0);
            is_free.then(|| (word + ONE_PIN) | dirty)
        };
        self.0.fetch_update(AcqRel, Acquire, pin).ok().map(|before| before & PINS == 0)
    }

    /// Adds a pin to a page that the caller has already pinned.
    pub(crate) fn pin_again(&self) {
        let before = self.0.fetch_add(ONE_PIN, Relaxed);
        assert!(before & PINS > 0 && before & PINS < PINS, "pinned again without a pin");
    }

    /// Removes a pin; returns whether it was the last.
    pub(crate) fn unpin(&self) -> bool {
        let before = self.0.fetch_sub(ONE_PIN, AcqRel);
        assert!(before & PINS > 0, "unpinned without a pin");
        before & PINS == ONE_PIN
    }

    /// Marks the page as queued; returns false if it already was.
    pub(crate) fn mark_queued(&self) -> bool {
        self.0.fetch_or(QUEUED, AcqRel) & QUEUED == 0
    }

    /// Takes the page off the queue if it is pinned: the last unpin will queue it again.
    pub(crate) fn unqueue_if_pinned(&self) -> bool {
        let unqueue = |word: u64| (word & PINS > 0).then_some(word & !QUEUED);
        self.0.fetch_update(AcqRel, Acquire, unqueue).is_ok()
    }

    /// Starts a write of the page that leaves it in memory; returns false if it is pinned or doesn't need one. The
    /// caller holds the latch until [`end_write`](Self::end_write).
    pub(crate) fn begin_write(&self) -> bool {
        let claim = |word: u64| (is_loaded(word) && word & PINS == 0 && word & DIRTY != 0).then_some(word | WRITING);
        self.0.fetch_update(AcqRel, Acquire, claim).is_ok()
    }

    /// The write is over; if it succeeded, the page is clean.
    pub(crate) fn end_write(&self, succeeded: bool) {
        let gone = if succeeded { WRITING | DIRTY } else { WRITING };
        let before = self.0.fetch_and(!gone, AcqRel);
        assert!(before & (WRITING | DIRTY) == WRITING | DIRTY, "no write to end");
    }

    /// Takes the page off the queue and starts its spill if it isn't pinned. The caller holds the latch.
    pub(crate) fn begin_spill(&self) -> Claim {
        let claim = |word: u64| {
            assert!(is_loaded(word) && word & WRITING == 0, "only loaded pages are queued");
            let unqueued = word & !QUEUED;
            Some(if word & PINS == 0 { unqueued | SPILLING } else { unqueued })
        };
        let before = self.0.fetch_update(AcqRel, Acquire, claim).unwrap_or_else(|word| word);
        if before & PINS == 0 { Claim::Spilling { dirty: before & DIRTY != 0 } } else { Claim::Pinned }
    }

    /// The page stays in memory; it has to be queued again.
    pub(crate) fn cancel_spill(&self) {
        let before = self.0.fetch_and(!SPILLING, AcqRel);
        assert!(before & SPILLING != 0, "no spill to cancel");
    }

    /// The page is on disk only.
    pub(crate) fn end_spill(&self) {
        let before = self.0.swap(EVICTED, AcqRel);
        assert!(before & (SPILLING | PINS) == SPILLING, "no spill to end");
    }

    /// The page is back in memory ahead of its first pin.
    pub(crate) fn end_read_ahead(&self) {
        let before = self.0.swap(0, AcqRel);
        assert!(before == EVICTED, "loaded a page that was in memory");
    }

    /// The page is back in memory with one pin.
    pub(crate) fn end_load(&self, dirty: bool) {
        let before = self.0.swap(ONE_PIN | if dirty { DIRTY } else { 0 }, AcqRel);
        assert!(before == EVICTED, "loaded a page that was in memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_travels_to_disk_and_back() {
        let state = PageState::new_pinned();
        assert_eq!(state.try_pin(false), Some(false));
        assert!(!state.unpin());
        assert!(state.mark_queued());
        assert_eq!(state.begin_spill(), Claim::Pinned);
        assert!(!state.is_queued());
        assert!(state.unpin());
        assert_eq!(state.begin_spill(), Claim::Spilling { dirty: true });
        assert_eq!(state.try_pin(false), None);
        state.cancel_spill();
        assert_eq!(state.begin_spill(), Claim::Spilling { dirty: true });
        state.end_spill();
        assert!(!state.is_loaded());
        state.end_load(false);
        assert!(state.unpin());
        assert_eq!(state.begin_spill(), Claim::Spilling { dirty: false });
    }

    #[test]
    fn a_pin_for_writing_makes_a_page_dirty() {
        let state = PageState::new_pinned();
        state.unpin();
        state.begin_spill();
        state.end_spill();
        state.end_load(false);
        state.unpin();
        assert_eq!(state.try_pin(true), Some(true));
        state.unpin();
        assert_eq!(state.begin_spill(), Claim::Spilling { dirty: true });
    }

    #[test]
    fn a_page_being_written_can_be_read_but_not_changed() {
        let state = PageState::new_pinned();
        assert!(!state.begin_write(), "pinned");
        state.unpin();
        assert!(state.mark_queued() && !state.unqueue_if_pinned());
        assert!(state.begin_write());
        assert_eq!(state.try_pin(false), Some(true));
        assert_eq!(state.try_pin(true), None);
        state.end_write(true);
        assert!(!state.is_dirty() && state.unqueue_if_pinned() && !state.is_queued());
        assert_eq!(state.try_pin(true), Some(false));
        state.unpin();
        state.unpin();
        assert!(state.begin_write());
        state.end_write(false);
        assert!(state.is_dirty());
    }

    #[test]
    #[should_panic(expected = "unpinned without a pin")]
    fn an_unpin_too_many_is_caught() {
        let state = PageState::new_pinned();
        state.unpin();
        state.unpin();
    }
}
