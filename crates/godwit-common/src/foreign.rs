//! Calls of foreign code on bytes that may be damaged.
//!
//! Libraries may panic on input that no writer produces. Such a panic is caught at the call and becomes an error about
//! the bytes; panic reports can tell that it isn't a bug of ours.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Runs `call`; returns `None` if it panicked. Its data must not be used afterwards.
pub fn call_foreign<T>(call: impl FnOnce() -> T) -> Option<T> {
    CALLS.set(CALLS.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    CALLS.set(CALLS.get() - 1);
    result.ok()
}

/// Returns true if a panic of this thread would now end in [`call_foreign`], so a panic hook needn't report it.
pub fn is_in_foreign_call() -> bool {
    CALLS.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_in_the_innermost_call() {
        let nested = call_foreign(|| {
            let inner = call_foreign(|| assert!(!is_in_foreign_call(), "a panic on purpose"));
            (inner, is_in_foreign_call())
        });
        assert_eq!(nested, Some((None, true)));
        assert!(!is_in_foreign_call());
    }
}
