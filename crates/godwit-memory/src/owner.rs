//! Owners of memory: nested counters for queries and operators.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use godwit_common::MemoryTag;
use parking_lot::Mutex;

use crate::config::working_bytes;
use crate::object::{Object, ObjectKind, Registry};

/// Memory use of one owner (a query, an operator). Created by the owner, kept up to date by the buffer manager that
/// [`scoped`](crate::BufferManager::scoped) returned for it; may be read by any thread at any time.
#[derive(Debug)]
pub struct OwnerCounters {
    reserved_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    spilled_bytes: AtomicU64,
    reread_bytes: AtomicU64,
    /// Parts of `reserved_bytes`.
    tag_bytes: [AtomicU64; MemoryTag::COUNT],
    /// [`NO_LIMIT`] if there is none; the same for the next field.
    memory_limit_bytes: AtomicU64,
    grant_limit_bytes: AtomicU64,
    /// When the query began to wait for the reader of its result, if it is waiting.
    stalled_since: Mutex<Option<Instant>>,
    name: OnceLock<(ObjectKind, Arc<str>)>,
    objects: Mutex<OwnerObjects>,
}

/// The objects of an owner, created when they are first asked for.
#[derive(Debug, Default)]
struct OwnerObjects {
    own: Option<Arc<Object>>,
    by_tag: [Option<Arc<Object>>; MemoryTag::COUNT],
}

const NO_LIMIT: u64 = u64::MAX;

impl Default for OwnerCounters {
    fn default() -> Self {
        Self {
            reserved_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
            reread_bytes: AtomicU64::new(0),
            tag_bytes: Default::default(),
            memory_limit_bytes: AtomicU64::new(NO_LIMIT),
            grant_limit_bytes: AtomicU64::new(NO_LIMIT),
            stalled_since: Mutex::new(None),
            name: OnceLock::new(),
            objects: Mutex::default(),
        }
    }
}

impl OwnerCounters {
    /// Counters at zero, ready to be shared.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Names the owner, unless it has a name already: a query or an operator, which then has an object.
    pub fn identify(&self, kind: ObjectKind, name: impl Into<Arc<str>>) {
        self.name.get_or_init(|| (kind, name.into()));
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

    /// The limit that this owner's operators plan with; `None`: that of the pool.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        Some(self.memory_limit_bytes.load(Relaxed)).filter(|&bytes| bytes != NO_LIMIT)
    }

    /// Changes the limit, and with it the limit on grants, from the next plan and request onwards. Unpinned pages may
    /// stay in memory beyond it as long as the room isn't needed for anything else.
    pub fn set_memory_limit_bytes(&self, bytes: Option<u64>) {
        self.memory_limit_bytes.store(bytes.unwrap_or(NO_LIMIT), Relaxed);
        self.set_grant_limit_bytes(bytes.map(|bytes| bytes - working_bytes(bytes)));
    }

    /// Maximum granted to all claims of this owner together; `None`: what the pool has.
    pub fn grant_limit_bytes(&self) -> Option<u64> {
        Some(self.grant_limit_bytes.load(Relaxed)).filter(|&bytes| bytes != NO_LIMIT)
    }

    /// Changes that maximum from the next request onwards.
    pub fn set_grant_limit_bytes(&self, bytes: Option<u64>) {
        self.grant_limit_bytes.store(bytes.unwrap_or(NO_LIMIT), Relaxed);
    }

    /// Records whether the query is blocked until its result is read.
    pub fn set_stalled(&self, is_stalled: bool) {
        let mut since = self.stalled_since.lock();
        *since = is_stalled.then(|| since.unwrap_or_else(Instant::now));
    }

    /// True if it has been waiting for its reader for `time`.
    pub(crate) fn is_stalled_for(&self, time: Duration) -> bool {
        self.stalled_since.lock().is_some_and(|since| since.elapsed() >= time)
    }

    /// Bytes of pages read back so far.
    pub fn reread_bytes(&self) -> u64 {
        self.reread_bytes.load(Relaxed)
    }
}

/// The owner that memory is allocated for.
#[derive(Debug, Clone)]
pub(crate) enum Owner {
    /// A query or an operator.
    Query(Arc<QueryOwner>),
    /// An object that outlives queries.
    Object(Arc<Object>),
}

/// An owner and its enclosing owners; an allocation is charged to all of them.
#[derive(Debug)]
pub(crate) struct QueryOwner {
    counters: Arc<OwnerCounters>,
    parent: Option<Arc<QueryOwner>>,
}

impl Owner {
    /// An owner within another; within an object it has no parent, since an object's memory isn't charged to queries.
    pub(crate) fn of_query(counters: Arc<OwnerCounters>, parent: Option<&Owner>) -> Self {
        let parent = match parent {
            Some(Owner::Query(parent)) => Some(parent.clone()),
            Some(Owner::Object(_)) | None => None,
        };
        Owner::Query(Arc::new(QueryOwner { counters, parent }))
    }

    /// The object for which memory with a tag is allocated; `None` if no owner has a name.
    pub(crate) fn object_of(&self, tag: MemoryTag, registry: &Arc<Registry>) -> Option<Arc<Object>> {
        match self {
            Owner::Object(object) => Some(object.clone()),
            Owner::Query(owner) => owner.structure(tag, registry),
        }
    }

    /// The object, if it is one.
    pub(crate) fn object(&self) -> Option<&Arc<Object>> {
        match self {
            Owner::Object(object) => Some(object),
            Owner::Query(_) => None,
        }
    }
}

impl QueryOwner {
    /// The object of the innermost owner with a name.
    fn object(&self, registry: &Arc<Registry>) -> Option<Arc<Object>> {
        let around = || self.parent.as_ref().and_then(|parent| parent.object(registry));
        let Some((kind, name)) = self.counters.name.get() else { return around() };
        let mut objects = self.counters.objects.lock();
        let make = || match around() {
            Some(parent) => parent.child(*kind, name),
            None => registry.root(*kind, name),
        };
        Some(objects.own.get_or_insert_with(make).clone())
    }

    /// The object for what that owner holds under a tag.
    fn structure(&self, tag: MemoryTag, registry: &Arc<Registry>) -> Option<Arc<Object>> {
        if self.counters.name.get().is_none() {
            return self.parent.as_ref()?.structure(tag, registry);
        }
        if let Some(known) = &self.counters.objects.lock().by_tag[tag as usize] {
            return Some(known.clone());
        }
        let owner = self.object(registry)?;
        let mut objects = self.counters.objects.lock();
        let make = || owner.child(ObjectKind::Structure(tag), tag.name());
        Some(objects.by_tag[tag as usize].get_or_insert_with(make).clone())
    }
}

/// The counters of an owner and of its enclosing owners.
pub(crate) fn owners(owner: Option<&Owner>) -> impl Iterator<Item = &Arc<OwnerCounters>> {
    let first = match owner {
        Some(Owner::Query(owner)) => Some(owner),
        Some(Owner::Object(_)) | None => None,
    };
    let chain = std::iter::successors(first, |owner| owner.parent.as_ref());
    chain.map(|owner| &owner.counters)
}

pub(crate) fn add_reserved(owner: Option<&Owner>, tag: MemoryTag, bytes: u64) {
    if let Some(Owner::Object(object)) = owner {
        object.add_bytes(bytes);
    }
    owners(owner).for_each(|counters| {
        counters.tag_bytes[tag as usize].fetch_add(bytes, Relaxed);
        let now = counters.reserved_bytes.fetch_add(bytes, Relaxed) + bytes;
        counters.peak_bytes.fetch_max(now, Relaxed);
    });
}

pub(crate) fn remove_reserved(owner: Option<&Owner>, tag: MemoryTag, bytes: u64) {
    if let Some(Owner::Object(object)) = owner {
        object.remove_bytes(bytes);
    }
    owners(owner).for_each(|counters| {
        counters.tag_bytes[tag as usize].fetch_sub(bytes, Relaxed);
        counters.reserved_bytes.fetch_sub(bytes, Relaxed);
    });
}

pub(crate) fn add_spilled(owner: Option<&Owner>, bytes: u64) {
    owners(owner).for_each(|counters| {
        counters.spilled_bytes.fetch_add(bytes, Relaxed);
    });
}

pub(crate) fn add_reread(owner: Option<&Owner>, bytes: u64) {
    owners(owner).for_each(|counters| {
        counters.reread_bytes.fetch_add(bytes, Relaxed);
    });
}
