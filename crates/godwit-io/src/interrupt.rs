//! Waits that end when a statement has to stop.
//!
//! [`Files`](crate::Files) doesn't know about statements, and waiting for a network may take minutes. A thread that
//! works on a statement registers its interrupt, and code that waits checks it.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

/// A source of interrupts.
pub trait Interrupt: Send + Sync {
    /// Returns true once the work has to stop.
    fn is_interrupted(&self) -> bool;
}

/// The message of errors caused by an interrupt.
pub const INTERRUPTED: &str = "the statement was interrupted";

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Interrupt>>> = const { RefCell::new(None) };
}

/// Runs `work`; waits of this thread within it end when `interrupt` says so.
pub fn interruptible<T>(interrupt: Arc<dyn Interrupt>, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(CURRENT.replace(Some(interrupt)));
    work()
}

/// Returns the interrupt of this thread, for threads that help it.
pub fn current_interrupt() -> Option<Arc<dyn Interrupt>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Restores the outer interrupt, even if the work panics.
struct Restored(Option<Arc<dyn Interrupt>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Fails if the work of this thread has to stop. The error isn't of kind `Interrupted`, on which readers would retry.
pub fn check_interrupt() -> io::Result<()> {
    let is_interrupted = CURRENT.with_borrow(|current| current.as_ref().is_some_and(|it| it.is_interrupted()));
    if is_interrupted { Err(io::Error::other(INTERRUPTED)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    impl Interrupt for AtomicBool {
        fn is_interrupted(&self) -> bool {
            self.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn only_what_runs_for_a_stopped_statement_is_interrupted() {
        let (outer, inner) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        check_interrupt().unwrap();
        interruptible(outer.clone(), || {
            check_interrupt().unwrap();
            assert!(interruptible(inner.clone(), check_interrupt).is_err());
            let panicked = catch_unwind(AssertUnwindSafe(|| interruptible(inner.clone(), || panic!("on purpose"))));
            assert!(panicked.is_err());
            check_interrupt().unwrap();
            outer.store(true, Ordering::Relaxed);
            assert!(check_interrupt().is_err());
        });
        check_interrupt().unwrap();
    }
}
