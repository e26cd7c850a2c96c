//! Memory from the system, and advice to it. Under Miri, which doesn't support mappings, it comes from the allocator.

use std::ptr::NonNull;

use godwit_common::{Error, Result, format_bytes};

use crate::config::{ARENA_BYTES, HUGE_PAGE_BYTES};

pub(crate) use platform::{advise_huge, release_to_system, take_back, thread_time, unmap};

/// Zeroed memory, aligned to the size of an arena if it is one, or of a huge page if it is at least that large.
pub(crate) fn map(bytes: usize) -> Result<NonNull<u8>> {
    platform::map(bytes, alignment(bytes)).map_err(|what| {
        Error::resource(format!("the system refused {} of memory: {what}", format_bytes(bytes as u64)))
            .with_hint("lower memory_limit below what the system can give")
    })
}

/// The alignment of a mapping; 1 if any page will do.
fn alignment(bytes: usize) -> usize {
    match bytes {
        ARENA_BYTES => ARENA_BYTES,
        HUGE_PAGE_BYTES.. => HUGE_PAGE_BYTES,
        _ => 1,
    }
}

#[cfg(not(miri))]
mod platform {
    use std::ffi::c_void;
    use std::ptr::{self, NonNull};
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::mm::{self, Advice, MapFlags, ProtFlags};
    use rustix::time::{ClockId, clock_gettime};

    /// Processor time of this thread.
    pub(crate) fn thread_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    pub(super) fn map(bytes: usize, alignment: usize) -> Result<NonNull<u8>, Errno> {
        if alignment == 1 {
            return anywhere(bytes);
        }
        // Maps more, and gives the ends back.
        let wide = anywhere(bytes + alignment)?;
        let skip = wide.as_ptr().align_offset(alignment);
        // SAFETY: all offsets are within the wide mapping, and its ends are unmapped once each.
        unsafe {
            let start = wide.add(skip);
            unmap(wide, skip);
            unmap(start.add(bytes), alignment - skip);
            Ok(start)
        }
    }

    fn anywhere(bytes: usize) -> Result<NonNull<u8>, Errno> {
        // SAFETY: a new anonymous mapping at an address that the system chooses touches no existing memory.
        let start = unsafe {
            mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        Ok(NonNull::new(start?.cast()).expect("a mapping isn't at address 0"))
    }

    /// # Safety
    /// The range is mapped, or empty, and not in use. Under Miri it is a whole mapping.
    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let unmapped = unsafe { mm::munmap(start.as_ptr().cast::<c_void>(), bytes) };
        if unmapped.is_err() {
            // The kernel's memory map of the process is full, and this would split an entry: only addresses are lost.
            // SAFETY: still mapped, and the caller promises that it isn't in use.
            unsafe { release_to_system(start, bytes) };
        }
    }

    /// Gives the memory of a mapped range back to the system. If the system refuses, as when the host has locked all
    /// its memory, only memory is wasted.
    ///
    /// # Safety
    /// The range is mapped, and its content isn't used any more.
    pub(crate) unsafe fn release_to_system(start: NonNull<u8>, bytes: usize) {
        #[cfg(target_os = "linux")]
        let advice = Advice::LinuxDontNeed;
        #[cfg(not(target_os = "linux"))]
        let advice = Advice::DontNeed;
        // SAFETY: the caller's promise.
        let _ = unsafe { mm::madvise(start.as_ptr().cast::<c_void>(), bytes, advice) };
    }

    /// Takes memory back that was released: the system fills it with zeros when it is touched.
    ///
    /// # Safety
    /// As for [`release_to_system`].
    pub(crate) unsafe fn take_back(_start: NonNull<u8>, _bytes: usize) {}

    /// Advises the kernel to use huge pages for a range, or not to. A kernel without them may refuse.
    ///
    /// # Safety
    /// The range is mapped, or empty.
    pub(crate) unsafe fn advise_huge(start: NonNull<u8>, bytes: usize, huge: bool) {
        #[cfg(target_os = "linux")]
        {
            let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
            // SAFETY: the caller's promise; the advice doesn't change the content.
            let _ = unsafe { mm::madvise(start.as_ptr().cast::<c_void>(), bytes, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, bytes, huge);
    }
}

#[cfg(miri)]
mod platform {
    use std::alloc::{Layout, LayoutError, alloc_zeroed, dealloc};
    use std::ptr::NonNull;
    use std::time::Duration;

    /// The alignment of every mapping.
    const PAGE: usize = 4096;

    fn layout(bytes: usize, alignment: usize) -> Result<Layout, LayoutError> {
        Layout::from_size_align(bytes, alignment.max(PAGE))
    }

    pub(super) fn map(bytes: usize, alignment: usize) -> Result<NonNull<u8>, LayoutError> {
        let layout = layout(bytes, alignment)?;
        assert!(layout.size() > 0);
        // SAFETY: the size isn't 0.
        let start = unsafe { alloc_zeroed(layout) };
        Ok(NonNull::new(start).expect("Miri has the memory"))
    }

    pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        let layout = layout(bytes, super::alignment(bytes)).expect("it was allocated with this");
        // SAFETY: the caller's promise: a whole mapping, which came from `map`.
        unsafe { dealloc(start.as_ptr(), layout) };
    }

    /// Reading the memory before it is taken back would be a bug, which Miri then finds.
    pub(crate) unsafe fn release_to_system(start: NonNull<u8>, bytes: usize) {
        let nothing = Box::<[u8]>::new_uninit_slice(bytes);
        // SAFETY: the caller's promise; a new box lies elsewhere.
        unsafe { start.as_ptr().copy_from_nonoverlapping(nothing.as_ptr().cast(), bytes) };
    }

    pub(crate) unsafe fn take_back(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
    }

    pub(crate) unsafe fn advise_huge(_start: NonNull<u8>, _bytes: usize, _huge: bool) {}

    /// No touch is slow.
    pub(crate) fn thread_time() -> Duration {
        Duration::ZERO
    }
}
