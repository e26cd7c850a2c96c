//! The state of a page, with threads that pin it while its memory is taken away or written to disk.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::page_state::{Claim, PageState};

/// An unpinned page and its memory.
struct Page {
    state: PageState,
    memory: UnsafeCell<u32>,
}

impl Page {
    fn new() -> Arc<Self> {
        let page = Self { state: PageState::new_pinned(), memory: UnsafeCell::new(0) };
        assert!(page.state.unpin() && page.state.mark_queued());
        Arc::new(page)
    }

    fn read(&self) {
        // SAFETY: loom would report a concurrent write.
        self.memory.with(|memory| unsafe { assert!(*memory <= 1) });
    }

    fn write(&self) {
        // SAFETY: loom would report a concurrent read or write.
        self.memory.with_mut(|memory| unsafe { *memory = 1 });
    }

    /// Reads or changes the memory under a pin, if the page is there.
    fn use_pinned(&self, writes: bool) {
        if self.state.try_pin(writes).is_some() {
            if writes {
                self.write()
            } else {
                self.read()
            }
            self.state.unpin();
        }
    }
}

/// Pinned memory isn't taken away, and taking it comes after all uses under a pin.
#[test]
fn a_spill_waits_for_no_pin_and_meets_none() {
    loom::model(|| {
        let page = Page::new();
        let threads: Vec<_> = [false, false]
            .map(|writes| {
                let page = page.clone();
                thread::spawn(move || page.use_pinned(writes))
            })
            .into();
        if page.state.begin_spill() != Claim::Pinned {
            // The frame goes to another page.
            page.write();
            page.state.end_spill();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A page that is written to disk while it stays in memory may be read meanwhile, but not changed, and a later change
/// makes it dirty again. There is only one user: keeping users from reading each other's changes is up to them.
#[test]
fn a_write_sees_no_change() {
    loom::model(|| {
        let page = Page::new();
        let user = {
            let page = page.clone();
            thread::spawn(move || [false, true].into_iter().for_each(|writes| page.use_pinned(writes)))
        };
        let mut written = None;
        if page.state.begin_write() {
            // SAFETY: loom would report a concurrent write.
            written = Some(page.memory.with(|memory| unsafe { *memory }));
            page.state.end_write(true);
        }
        user.join().unwrap();
        // SAFETY: the other thread has ended.
        let last = page.memory.with(|memory| unsafe { *memory });
        assert!(page.state.is_dirty() || written == Some(last), "a clean page is as it was written");
    });
}
