//! Stack space for deep recursion.
//!
//! Ordinary statements are handled on the caller's stack; the stacks of ordinary threads have at least two megabytes.
//! Anything nested more deeply is handled on a separate thread.

use std::thread;

use crate::{Error, Result, bail};

/// Levels of nesting that are handled on the caller's stack.
pub const INLINE_LEVELS_MAX: usize = 64;

/// Stack for one level: several times what the parser needs without optimization.
const LEVEL_BYTES: usize = 64 * 1024;

/// Runs `work` on a stack that suffices for `levels` levels of recursion, at least 32 KiB for each. Only touched
/// pages of it cost memory.
pub fn with_stack<T: Send>(levels: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if levels <= INLINE_LEVELS_MAX {
        return work();
    }
    thread::scope(|scope| {
        let deep = thread::Builder::new().name("godwit-deep".to_owned()).stack_size(levels * LEVEL_BYTES);
        match deep.spawn_scoped(scope, work) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(_) => bail!(Internal, "handling a deep statement panicked"),
            },
            Err(error) => Err(Error::io("starting a thread for a deep statement", &error)),
        }
    })
}
