//! The programs' allocator, and its treatment of freed memory.
//!
//! Large freed blocks, such as the buffers of readers, stay resident for some milliseconds in case they are needed
//! again. That is fast, but too much under a tight limit on the whole process: 10 to 30 MiB.

use std::ffi::{c_int, c_long};

pub use mimalloc::MiMalloc;

/// Number, in the header of the allocator's version 2, of the option for the milliseconds that freed memory stays
/// resident. Version 2 is the one that is built.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Makes the allocator return large blocks of freed memory to the system at once, from now on. Call it at program
/// start.
pub fn give_back_at_once() {
    // SAFETY: the function is part of the allocator that this crate links. It stores one aligned word, for which every
    // value is valid: a thread that reads concurrently sees the value before or after.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}
