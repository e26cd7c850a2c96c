//! What memory is used for: everything large, as a tree of named objects.
//!
//! ```text
//!   database ── table ─┬─ column ─┬─ segment        a column of a row group
//!                      │          └─ dictionary
//!                      └─ delta                     rows that aren't in segments yet
//!   file ── file column                             decompressed pages of a file
//!   query ── operator ── hash table, row page, …    what an operator holds, by tag
//! ```
//!
//! An object belongs to its creator; the pool knows it as long as it lives. Pages and reservations made [for an
//! object](crate::BufferManager::for_object) are charged to it. Those of queries are charged to
//! [owners](crate::OwnerCounters), which have objects only once somebody asks for them: most queries are over before
//! anybody does. Readers report what they read to the object; only a sample of the accesses is recorded, so that
//! counting costs next to nothing.
//!
//! Source: Windheuser et al., "Adaptive Compression For Databases", 2024, 3.2, whose hash table of accesses is here a
//! counter in each object.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use godwit_common::MemoryTag;
use godwit_trace::{ObjectKey, TracedObject};
use parking_lot::Mutex;

/// Sampling step: one in this many scans of a morsel is recorded. Recording one takes about 30 ns, reading a morsel of
/// a column at least ten times as long.
const SCANS_PER_SAMPLE: u64 = 2;

/// Sampling step: one in this many lookups of single rows is recorded. Lookups are many, and short.
const LOOKUPS_PER_SAMPLE: u64 = 8;

/// Number of an object, never used twice by a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(u64);

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A database: a file, or tables in memory.
    Database,
    /// A table of it.
    Table,
    /// A column of a table.
    Column,
    /// The rows of a column in one row group.
    Segment,
    /// The strings of a text column.
    Dictionary,
    /// Rows of a table that aren't in segments yet.
    Delta,
    /// A file other than the database's own.
    File,
    /// Pages of a column of such a file.
    FileColumn,
    /// A query that runs.
    Query,
    /// An operator of it.
    Operator,
    /// What an operator, or a query, holds under a tag.
    Structure(MemoryTag),
}

impl ObjectKind {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Database => "database",
            ObjectKind::Table => "table",
            ObjectKind::Column => "column",
            ObjectKind::Segment => "segment",
            ObjectKind::Dictionary => "dictionary",
            ObjectKind::Delta => "delta",
            ObjectKind::File => "file",
            ObjectKind::FileColumn => "file column",
            ObjectKind::Query => "query",
            ObjectKind::Operator => "operator",
            ObjectKind::Structure(tag) => tag.name(),
        }
    }
}

/// A node of the tree.
#[derive(Debug)]
pub struct Object {
    id: ObjectId,
    kind: ObjectKind,
    name: Name,
    parent: Option<Arc<Object>>,
    /// Bytes of loaded pages and reservations that were made for this object, not for those below it.
    bytes: AtomicU64,
    /// Offset within the object of the next page that a memory trace encounters.
    traced_bytes: AtomicU64,
    heat: Heat,
    registry: Arc<Registry>,
}

#[derive(Debug)]
enum Name {
    Number(u32),
    Text(Mutex<Arc<str>>),
}

/// Accesses to an object, as sampled.
#[derive(Debug, Default)]
struct Heat {
    reads: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Milliseconds on the clock of the registry, plus one; 0: never.
    last_access: AtomicU64,
}

/// How much an object has been read since it was created, estimated from samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Morsels scanned, and lookups.
    pub reads: u64,
    /// Rows that they read.
    pub rows: u64,
    /// Stored bytes of these rows.
    pub bytes: u64,
    /// Time since the last recorded access; `None` if there was none.
    pub last: Option<Duration>,
}

/// The objects of a pool.
#[derive(Debug)]
pub(crate) struct Registry {
    next_id: AtomicU64,
    known: Mutex<BTreeMap<ObjectId, Weak<Object>>>,
    began: Instant,
}

impl Default for Registry {
    fn default() -> Self {
        Self { next_id: AtomicU64::new(1), known: Mutex::default(), began: Instant::now() }
    }
}

impl Registry {
    fn register(self: &Arc<Self>, kind: ObjectKind, name: Name, parent: Option<Arc<Object>>) -> Arc<Object> {
        let id = ObjectId(self.next_id.fetch_add(1, Relaxed));
        let (bytes, traced_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        let (heat, registry) = (Heat::default(), self.clone());
        let object = Arc::new(Object { id, kind, name, parent, bytes, traced_bytes, heat, registry });
        self.known.lock().insert(id, Arc::downgrade(&object));
        object
    }

    /// An object without a parent.
    pub(crate) fn root(self: &Arc<Self>, kind: ObjectKind, name: &str) -> Arc<Object> {
        self.register(kind, Name::Text(Mutex::new(name.into())), None)
    }

    /// The live objects, in the order in which they were created.
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        // Ours may be the last handle of an object, and dropping it takes the lock; so the lock is released first.
        let known: Vec<Weak<Object>> = self.known.lock().values().cloned().collect();
        known.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Object {
    /// An object below this one.
    pub fn child(self: &Arc<Self>, kind: ObjectKind, name: &str) -> Arc<Object> {
        self.registry.register(kind, Name::Text(Mutex::new(name.into())), Some(self.clone()))
    }

    /// [`child`](Self::child) for one of many children, whose names are numbers.
    pub fn numbered_child(self: &Arc<Self>, kind: ObjectKind, number: u32) -> Arc<Object> {
        self.registry.register(kind, Name::Number(number), Some(self.clone()))
    }

    /// Number of the object.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// What it is.
    pub fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// The object that it is part of.
    pub fn parent(&self) -> Option<&Arc<Object>> {
        self.parent.as_ref()
    }

    /// Names from the root down to this, with dots between them.
    pub fn path(&self) -> String {
        match &self.parent {
            Some(parent) => format!("{}.{}", parent.path(), self.own_name()),
            None => self.own_name(),
        }
    }

    /// The object and its ancestors, bottom up.
    fn ancestry(&self) -> impl Iterator<Item = &Object> {
        std::iter::successors(Some(self), |object| object.parent.as_deref())
    }

    fn own_name(&self) -> String {
        match &self.name {
            Name::Number(number) => number.to_string(),
            Name::Text(text) => text.lock().to_string(),
        }
    }

    /// The object in memory traces.
    pub fn trace_key(&self) -> ObjectKey {
        ObjectKey { pool: Arc::as_ptr(&self.registry) as u64, object: self.id.0 }
    }

    /// The description of the object in traces.
    pub fn traced(&self) -> TracedObject {
        let of_kinds = |kinds: &[ObjectKind]| self.ancestry().find(|object| kinds.contains(&object.kind));
        let table = of_kinds(&[ObjectKind::Table, ObjectKind::File]);
        let column = of_kinds(&[ObjectKind::Column, ObjectKind::FileColumn]);
        let query = of_kinds(&[ObjectKind::Query]).map(Object::own_name);
        TracedObject {
            path: self.path(),
            kind: self.kind.name().to_owned(),
            table: table.map(Object::path),
            column: column.map(Object::own_name),
            query: query.and_then(|name| name.rsplit(' ').next()?.parse().ok()),
            ..TracedObject::default()
        }
    }

    /// Takes the next `bytes` bytes of the object's offsets, for a page that a trace encounters for the first time.
    pub(crate) fn take_traced_bytes(&self, bytes: u64) -> u64 {
        self.traced_bytes.fetch_add(bytes, Relaxed)
    }

    /// Renames the object, if its name differs. Numbered objects keep theirs.
    pub fn rename(&self, name: &str) {
        if let Name::Text(text) = &self.name {
            let mut text = text.lock();
            if **text != *name {
                *text = name.into();
            }
        }
    }

    /// Bytes of loaded pages and reservations that were made for this object, not for those below it.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Samples a scan of `rows` rows, stored in `bytes` bytes.
    pub fn note_scan(&self, rows: usize, bytes: u64) {
        self.note(SCANS_PER_SAMPLE, rows, bytes);
    }

    /// Samples a lookup of `rows` single rows, stored in `bytes` bytes.
    pub fn note_lookup(&self, rows: usize, bytes: u64) {
        self.note(LOOKUPS_PER_SAMPLE, rows, bytes);
    }

    fn note(&self, per_sample: u64, rows: usize, bytes: u64) {
        if !next_random().is_multiple_of(per_sample) {
            return;
        }
        self.heat.reads.fetch_add(per_sample, Relaxed);
        self.heat.rows.fetch_add(per_sample * rows as u64, Relaxed);
        self.heat.bytes.fetch_add(per_sample * bytes, Relaxed);
        let millis = self.registry.began.elapsed().as_millis() as u64;
        self.heat.last_access.store(millis + 1, Relaxed);
    }

    /// How much of it has been read so far.
    pub fn accesses(&self) -> Accesses {
        let last = self.heat.last_access.load(Relaxed).checked_sub(1).map(Duration::from_millis);
        Accesses {
            reads: self.heat.reads.load(Relaxed),
            rows: self.heat.rows.load(Relaxed),
            bytes: self.heat.bytes.load(Relaxed),
            last: last.map(|last| self.registry.began.elapsed().saturating_sub(last)),
        }
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn remove_bytes(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.registry.known.lock().remove(&self.id);
    }
}

/// A thread's next random number (xorshift). With a plain counter, a reader that cycles through columns would be
/// sampled at the same ones again and again.
fn next_random() -> u64 {
    thread_local!(static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) });
    STATE.with(|state| {
        let mut value = state.get();
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        state.set(value);
        // The low bits are the weakest.
        value >> 32
    })
}

#[cfg(test)]
mod tests {
    use godwit_common::MemoryTag;

    use super::*;
    use crate::{BufferConfig, BufferManager};

    fn manager() -> BufferManager {
        BufferManager::new(BufferConfig::new(64 << 20)).unwrap()
    }

    #[test]
    fn objects_are_known_as_long_as_they_live() {
        let memory = manager();
        let database = memory.root_object(ObjectKind::Database, "d");
        let table = database.child(ObjectKind::Table, "t");
        let segment = table.child(ObjectKind::Column, "c").numbered_child(ObjectKind::Segment, 7);
        assert_eq!(segment.path(), "d.t.c.7");
        table.rename("u");
        assert_eq!(segment.path(), "d.u.c.7");
        assert_eq!(memory.objects().len(), 4);
        drop((table, segment));
        assert_eq!(memory.objects().iter().map(|object| object.kind()).collect::<Vec<_>>(), [ObjectKind::Database]);
    }

    #[test]
    fn memory_counts_for_its_object_until_it_is_freed_or_evicted() {
        let memory = manager();
        let object = memory.root_object(ObjectKind::File, "f");
        let for_object = memory.for_object(&object);
        let (cached, pinned) = for_object.cache(1 << 20, MemoryTag::Table, |_| Ok(())).unwrap().unwrap();
        assert_eq!(object.memory_bytes(), 1 << 20);
        let reservation = for_object.reserve(100, MemoryTag::Table).unwrap();
        assert_eq!(object.memory_bytes(), (1 << 20) + 100);
        drop((reservation, pinned));
        assert_eq!(memory.evictable().of_object(&object), 1 << 20);
        memory.set_memory_limit(1 << 20).unwrap();
        memory.set_memory_limit(1 << 19).unwrap();
        assert!(cached.pin().is_none());
        assert_eq!(object.memory_bytes(), 0);
    }

    #[test]
    fn samples_stand_for_all_accesses() {
        let memory = manager();
        let object = memory.root_object(ObjectKind::Table, "t");
        assert_eq!(object.accesses(), Accesses::default());
        let others: Vec<_> = (0..15).map(|_| object.child(ObjectKind::Column, "c")).collect();
        for _ in 0..10_000 {
            object.note_scan(10, 3);
            others.iter().for_each(|other| other.note_scan(1, 1));
        }
        for object in [&object].into_iter().chain(&others) {
            let reads = object.accesses().reads;
            assert!((9_000..11_000).contains(&reads), "{reads} of 10,000 reads");
        }
        let accesses = object.accesses();
        assert_eq!((accesses.rows, accesses.bytes), (10 * accesses.reads, 3 * accesses.reads));
        assert!(accesses.last.is_some());
    }
}
