//! The allocator of the programs, and its treatment of freed memory.
//!
//! Large freed pieces, such as the buffers of readers, stay resident for some milliseconds, in case they are needed
//! again. That is fast, but under a tight limit on the whole process it is too much: 10 to 30 MiB.

use std::ffi::{c_int, c_long};

pub use mimalloc::MiMalloc;

/// For how many milliseconds freed memory stays: the number of the option in the header of version 2 of the allocator,
/// which is the one that is built.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Has the allocator give back large pieces of freed memory at once, from now on. To be called at the start of a program.
pub fn give_back_at_once() {
    // SAFETY: the function is part of the allocator that this crate links, and stores one aligned word, for which every
    // value is valid: a thread that looks meanwhile sees the value before or after.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}
