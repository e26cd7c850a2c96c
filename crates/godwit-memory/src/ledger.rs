//! The ledger: how many bytes are in memory, for what, and for which owner.
//!
//! A charge has two halves. *Room* is the share of the limit: [`Ledger::try_take_room`] never lets the sum exceed the
//! limit; only the buffers of I/O batches may, because they free memory. The *label* says for which tag and which
//! owners. An eviction removes the label and hands the room to the request that asked for it, so that no other request
//! can snatch it in between.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use godwit_common::MemoryTag;

use crate::owner::{self, Owner};

pub(crate) struct Ledger {
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    tag_bytes: [AtomicU64; MemoryTag::COUNT],
}

impl Ledger {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes: AtomicU64::new(limit_bytes),
            used_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            tag_bytes: array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Relaxed)
    }

    pub(crate) fn set_limit_bytes(&self, bytes: u64) {
        self.limit_bytes.store(bytes, Relaxed);
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Relaxed)
    }

    pub(crate) fn tag_bytes(&self) -> [u64; MemoryTag::COUNT] {
        array::from_fn(|tag| self.tag_bytes[tag].load(Relaxed))
    }

    /// Takes `bytes` of the limit if they are free.
    pub(crate) fn try_take_room(&self, bytes: u64) -> bool {
        let limit = self.limit_bytes();
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= limit);
        match self.used_bytes.fetch_update(Relaxed, Relaxed, fits) {
            Ok(before) => {
                self.peak_bytes.fetch_max(before + bytes, Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes `bytes` whether they are free or not; the next request for room makes up for it.
    pub(crate) fn take_room_over_limit(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn release_room(&self, bytes: u64) {
        let before = self.used_bytes.fetch_sub(bytes, Relaxed);
        assert!(before >= bytes, "more memory was released than was taken");
    }

    pub(crate) fn add_label(&self, tag: MemoryTag, owner: Option<&Owner>, bytes: u64) {
        self.tag_bytes[tag as usize].fetch_add(bytes, Relaxed);
        owner::add_reserved(owner, tag, bytes);
    }

    pub(crate) fn remove_label(&self, tag: MemoryTag, owner: Option<&Owner>, bytes: u64) {
        self.tag_bytes[tag as usize].fetch_sub(bytes, Relaxed);
        owner::remove_reserved(owner, tag, bytes);
    }
}
