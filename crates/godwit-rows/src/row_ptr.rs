//! The address of a row, with reads and writes through it. It never leaves the crate; lists that hold the pins of their
//! rows do ([`RowList`](crate::RowList)).

use std::sync::atomic::AtomicU64;

/// The address of a row. It doesn't imply that the row is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct RowPtr(*mut u8);

// SAFETY: a row pointer is only an address; reads and writes through it are unsafe, and it is up to them to avoid
// races.
unsafe impl Send for RowPtr {}
// SAFETY: as above.
unsafe impl Sync for RowPtr {}

impl RowPtr {
    #[inline(always)]
    pub(crate) fn new(address: *mut u8) -> Self {
        RowPtr(address)
    }

    /// The null address, which is that of no row.
    pub(crate) fn null() -> Self {
        RowPtr(std::ptr::null_mut())
    }

    /// The address: 48 bits on all supported processors, for packing into table entries.
    #[inline(always)]
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut u8 {
        self.0
    }

    /// The field at `offset`.
    ///
    /// # Safety
    /// The row is pinned, `offset .. offset + size_of::<T>()` lies inside it, its bytes are a `T`, and nobody writes
    /// them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn read<T: Copy>(self, offset: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(offset).cast::<T>().read_unaligned() }
    }

    /// Writes the field at `offset`.
    ///
    /// # Safety
    /// The row is pinned, `offset .. offset + size_of::<T>()` lies inside it, and nobody else accesses it meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn write<T: Copy>(self, offset: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(offset).cast::<T>().write_unaligned(value) }
    }

    /// The 64-bit field at `offset`, for several threads at once.
    ///
    /// # Safety
    /// The row is pinned as long as the field is borrowed, the field is an aligned word of the extra area, and all
    /// other accesses meanwhile are through this function.
    #[inline(always)]
    pub(crate) unsafe fn atomic_u64<'a>(self, offset: usize) -> &'a AtomicU64 {
        let address = self.0.wrapping_add(offset).cast::<u64>();
        debug_assert!(address.is_aligned());
        // SAFETY: the caller's promise.
        unsafe { AtomicU64::from_ptr(address) }
    }

    /// Asks the processor to load the cache line at `offset`. Any address will do.
    #[inline(always)]
    pub(crate) fn prefetch(self, offset: usize) {
        prefetch(self.0.wrapping_add(offset));
    }
}

/// Asks the processor to load the cache line of `address`, which may be any address. Does nothing where the standard
/// library offers no prefetch instruction.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
