//! The address of a row, and how rows are read and written through it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The address of a row in a pinned page. See the crate's documentation for how long it is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct RowPtr(*mut u8);

// SAFETY: a row pointer is only an address. Reads and writes through it follow the contract in the crate's
// documentation: rows are written by one thread, or through the atomic accessors.
unsafe impl Send for RowPtr {}
// SAFETY: as above.
unsafe impl Sync for RowPtr {}

impl RowPtr {
    #[inline(always)]
    pub(crate) fn new(address: *mut u8) -> Self {
        RowPtr(address)
    }

    /// The address: 48 bits on all supported processors, for packing into table entries.
    #[inline(always)]
    pub fn address(self) -> u64 {
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

    #[inline(always)]
    fn atomic_u64(&self, offset: usize) -> &AtomicU64 {
        let address = self.0.wrapping_add(offset).cast::<u64>();
        debug_assert!(address.is_aligned());
        // SAFETY: the row is pinned by the contract of row pointers, and the field is aligned.
        unsafe { AtomicU64::from_ptr(address) }
    }

    /// The 64-bit field at `offset`, a multiple of 8 in the extra area or the hash; a relaxed atomic load.
    #[inline(always)]
    pub fn load_u64(self, offset: usize) -> u64 {
        self.atomic_u64(offset).load(Ordering::Relaxed)
    }

    /// Sets the 64-bit field at `offset`, a multiple of 8 in the extra area; a relaxed atomic store.
    #[inline(always)]
    pub fn store_u64(self, offset: usize, value: u64) {
        self.atomic_u64(offset).store(value, Ordering::Relaxed);
    }

    /// Raises the 64-bit field at `offset`, a multiple of 8 in the extra area, to `value` if it is lower. Called in
    /// parallel; reading first keeps the line shared when little is new.
    #[inline(always)]
    pub(crate) fn raise_u64(self, offset: usize, value: u64) {
        let field = self.atomic_u64(offset);
        if field.load(Ordering::Relaxed) < value {
            field.fetch_max(value, Ordering::Relaxed);
        }
    }

    /// Asks the processor to load the cache line at `offset`.
    #[inline(always)]
    pub fn prefetch(self, offset: usize) {
        prefetch(self.0.wrapping_add(offset));
    }
}

/// Asks the processor to load the cache line of `address`, which may be any address. Does nothing where the standard
/// library offers no such instruction.
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
