//! Pins that a collection shares with the lists of its rows.

use std::sync::Arc;

use godwit_memory::PinnedPage;
use godwit_vector::Heap;
use parking_lot::Mutex;

/// The pins of pages that rows were appended to. The pins of full pages are here; those of pages being filled belong to
/// the collection, which puts them here before it releases them.
#[derive(Default)]
pub(crate) struct HeldPages(Mutex<Vec<PinnedPage>>);

impl HeldPages {
    pub(crate) fn push(&self, pin: PinnedPage) {
        self.0.lock().push(pin);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// In the form that lists hold.
pub(crate) fn as_heap(held: &Arc<HeldPages>) -> Heap {
    held.clone()
}
