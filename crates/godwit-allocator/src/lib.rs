//! The programs' allocator, and its treatment of freed memory.
//!
//! Freed memory stays resident in two ways, which a limit on the whole process must bound:
//!
//! - Large freed blocks, such as the buffers of readers, are kept for some milliseconds in case they are needed again.
//!   That is fast, but 10 to 30 MiB: too much under a tight limit ([`give_back_at_once`]).
//! - A block that another thread frees, such as a batch that a worker makes and the reader of the result drops, waits for
//!   its owner, who looks at every hundredth allocation: with large blocks, that can be hundreds of megabytes. So
//!   threads look whenever they have allocated [`LOOK_BYTES`] in large blocks.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::{c_int, c_long};

use mimalloc::MiMalloc;

/// Size, in bytes, from which a block is large. Smaller ones come from pages that are shared and soon found again.
const LARGE_BYTES: usize = 128 << 10;

/// Bytes of large blocks that a thread allocates before it looks for those that others have freed. Looking takes some
/// microseconds for each hundred pages of the thread, writing to this many bytes a millisecond.
const LOOK_BYTES: usize = 4 << 20;

/// Number, in the header of the allocator's version 2, of the option for the milliseconds that freed memory stays
/// resident. Version 2 is the one that is built.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
    fn mi_collect(force: bool);
}

thread_local! {
    /// Bytes of large blocks allocated since the thread looked for freed ones.
    static ALLOCATED_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// The allocator of a program: `#[global_allocator] static ALLOCATOR: Allocator = Allocator;`.
pub struct Allocator;

// SAFETY: all blocks are the inner allocator's; what is done besides neither allocates nor unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promises are those that the inner allocator asks for.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(block, layout, bytes) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

/// Notes that a block of this size will be allocated.
#[inline]
fn note(bytes: usize) {
    if bytes >= LARGE_BYTES {
        note_large(bytes);
    }
}

#[cold]
#[inline(never)]
fn note_large(bytes: usize) {
    let is_due = ALLOCATED_BYTES.with(|allocated| {
        let sum = allocated.get().saturating_add(bytes);
        allocated.set(if sum < LOOK_BYTES { sum } else { 0 });
        sum >= LOOK_BYTES
    });
    if is_due {
        // SAFETY: the function is part of the allocator that this crate links, and may be called between allocations, also
        // by a thread that is ending.
        unsafe { mi_collect(false) };
    }
}

/// Makes the allocator return large blocks of freed memory to the system at once, from now on. Call it at program
/// start.
pub fn give_back_at_once() {
    // SAFETY: the function is part of the allocator that this crate links. It stores one aligned word, for which every
    // value is valid: a thread that reads concurrently sees the value before or after.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}
