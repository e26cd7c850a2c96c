//! Stack for deep recursion.
//!
//! Usual statements are handled on the caller's stack, of which the least of usual threads have two megabytes. What is
//! nested more deeply is handled on a thread of its own.

use std::thread;

use crate::{Error, Result, bail};

/// Levels that the caller's stack is used for.
pub const INLINE_LEVELS_MAX: usize = 64;

/// Stack for one level: several times what the parser needs without optimization.
const LEVEL_BYTES: usize = 64 * 1024;

/// Runs `work` on a stack that suffices for a recursion of this depth, with 16 KiB at least for each level. Only
/// touched pages of it cost memory.
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
