//! Stack for deep statements.
//!
//! Usual statements are handled on the caller's stack, of which the least of usual threads have two megabytes. What is
//! nested more deeply is parsed again on a thread of its own, and whoever copies, prints or binds its tree does
//! that under [`with_stack`] as well. Dropping a tree of the greatest depth needs less than half a megabyte.

use std::thread;

use godwit_common::{Error, Result, bail};

use crate::DEPTH_MAX;

/// Levels that the caller's stack is used for.
pub(crate) const INLINE_DEPTH_MAX: usize = 64;

/// Stack for one level: several times what the parser needs without optimization.
const LEVEL_BYTES: usize = 64 * 1024;

/// Runs `work` on a stack that suffices for a statement of that depth, with 16 KiB at least for each level.
pub fn with_stack<T: Send>(depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if depth <= INLINE_DEPTH_MAX { work() } else { with_large_stack(work) }
}

/// Runs `work` on a stack that suffices for any statement. Only touched pages of it cost memory.
pub(crate) fn with_large_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let deep = thread::Builder::new().name("godwit-deep".to_owned()).stack_size(DEPTH_MAX * LEVEL_BYTES);
        match deep.spawn_scoped(scope, work) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(_) => bail!(Internal, "handling a deep statement panicked"),
            },
            Err(error) => Err(Error::io("starting a thread for a deep statement", &error)),
        }
    })
}
