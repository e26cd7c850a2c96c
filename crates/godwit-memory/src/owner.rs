//! Who holds memory: counters of a query or an operator, nested.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use godwit_common::MemoryTag;

/// Memory use of one owner (a query, an operator). Made by the owner, kept up to date by the buffer manager that
/// [`scoped`](crate::BufferManager::scoped) returned for it, read by anybody at any time.
#[derive(Debug, Default)]
pub struct OwnerCounters {
    reserved_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    spilled_bytes: AtomicU64,
    reread_bytes: AtomicU64,
    /// Parts of `reserved_bytes`.
    tag_bytes: [AtomicU64; MemoryTag::COUNT],
}

impl OwnerCounters {
    /// Counters at zero, ready to be shared.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Bytes in memory now: reservations and loaded pages.
    pub fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes.load(Relaxed)
    }

    /// Bytes in memory now, by tag.
    pub fn tag_bytes(&self) -> [u64; MemoryTag::COUNT] {
        array::from_fn(|tag| self.tag_bytes[tag].load(Relaxed))
    }

    /// The most that [`reserved_bytes`](Self::reserved_bytes) has been.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Relaxed)
    }

    /// Bytes of pages written to temporary files so far.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Relaxed)
    }

    /// Bytes of pages read back so far.
    pub fn reread_bytes(&self) -> u64 {
        self.reread_bytes.load(Relaxed)
    }
}

/// An owner and the owners around it; an allocation counts for all of them.
#[derive(Debug)]
pub(crate) struct Owner {
    counters: Arc<OwnerCounters>,
    parent: Option<Arc<Owner>>,
}

impl Owner {
    pub(crate) fn new(counters: Arc<OwnerCounters>, parent: Option<Arc<Owner>>) -> Arc<Self> {
        Arc::new(Self { counters, parent })
    }
}

fn each(mut owner: Option<&Arc<Owner>>, mut visit: impl FnMut(&OwnerCounters)) {
    while let Some(current) = owner {
        visit(&current.counters);
        owner = current.parent.as_ref();
    }
}

pub(crate) fn add_reserved(owner: Option<&Arc<Owner>>, tag: MemoryTag, bytes: u64) {
    each(owner, |counters| {
        counters.tag_bytes[tag as usize].fetch_add(bytes, Relaxed);
        let now = counters.reserved_bytes.fetch_add(bytes, Relaxed) + bytes;
        counters.peak_bytes.fetch_max(now, Relaxed);
    });
}

pub(crate) fn remove_reserved(owner: Option<&Arc<Owner>>, tag: MemoryTag, bytes: u64) {
    each(owner, |counters| {
        counters.tag_bytes[tag as usize].fetch_sub(bytes, Relaxed);
        counters.reserved_bytes.fetch_sub(bytes, Relaxed);
    });
}

pub(crate) fn add_spilled(owner: Option<&Arc<Owner>>, bytes: u64) {
    each(owner, |counters| {
        counters.spilled_bytes.fetch_add(bytes, Relaxed);
    });
}

pub(crate) fn add_reread(owner: Option<&Arc<Owner>>, bytes: u64) {
    each(owner, |counters| {
        counters.reread_bytes.fetch_add(bytes, Relaxed);
    });
}
