//! Maps addresses to objects: ranges of memory and their objects, over the time of a trace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Weak;

/// Maximum number of ranges in the description of a trace that ended before the trace did; there may be more while it
/// runs, but they are left out of its file. 22 queries have about 10,000, which take some ten milliseconds to write.
const PAST_DESCRIBED_MAX: usize = 10_000;
/// The same for ranges that exist until its end.
const CURRENT_DESCRIBED_MAX: usize = 10_000;

/// The key of an object: the number of its pool, and its number within the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// The pool.
    pub pool: u64,
    /// The object.
    pub object: u64,
}

/// The values of an object's entries, such as the strings of a dictionary.
pub trait EntryValues: Send + Sync {
    /// The value of an entry as text, if there is such an entry.
    fn value(&self, entry: u64) -> Option<String>;
}

/// The description of an object, given when some of its memory is first declared.
#[derive(Clone, Default)]
pub struct TracedObject {
    /// Names from the root down, with dots between them.
    pub path: String,
    /// "segment", "dictionary", "hash table", …
    pub kind: String,
    /// Path of the table that it is part of.
    pub table: Option<String>,
    /// Name of the column that it is part of.
    pub column: Option<String>,
    /// Number of the query whose structure it is.
    pub query: Option<u64>,
    /// Bytes of an entry, if all have the same size.
    pub entry_bytes: Option<u32>,
    /// Its first row in the table, and its number of rows.
    pub rows: Option<(u64, u64)>,
    /// Provides the values of entries as long as the object lives.
    pub values: Option<Weak<dyn EntryValues>>,
}

/// A range of memory, and the part of an object that lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectPart {
    /// The first byte.
    pub address: u64,
    /// Length.
    pub bytes: u64,
    /// Where it begins within the object.
    pub offset: u64,
    /// Number of the first entry in it.
    pub first_entry: u64,
    /// Number of entries, which are spread evenly; 0 if they can't be told apart.
    pub entries: u64,
}

impl ObjectPart {
    /// A place whose entries can't be told apart.
    pub fn of_bytes(address: *const u8, bytes: usize, offset: u64) -> Self {
        Self { address: address as u64, bytes: bytes as u64, offset, first_entry: 0, entries: 0 }
    }

    /// The place, as made by [`of_bytes`](Self::of_bytes), with `entries` entries, spread evenly.
    pub fn with_entries(self, first_entry: u64, entries: u64) -> Self {
        Self { first_entry, entries, ..self }
    }
}

/// A place, and the time during which it existed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedRange {
    /// Index of the object.
    pub object: u32,
    /// The memory.
    pub place: ObjectPart,
    /// When it began, in nanoseconds since the start of the trace.
    pub from_nanos: u64,
    /// When it ended, likewise; `None` if it still existed when the trace ended.
    pub until_nanos: Option<u64>,
}

/// The object and entry that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub object: u32,
    pub offset: u64,
    pub entry: Option<u64>,
}

/// The current ranges, and all past ones.
#[derive(Default)]
pub(crate) struct Ranges {
    /// By first byte; they don't overlap.
    current: BTreeMap<u64, TracedRange>,
    past: Vec<TracedRange>,
    objects: Vec<(TracedObject, u64)>,
    /// For each object: whether it was described by someone who knows its entries, not only by the owner of a page.
    is_detailed: Vec<bool>,
    indices: HashMap<ObjectKey, u32>,
}

impl Ranges {
    /// True if exactly this is already known.
    pub(crate) fn knows(&self, place: ObjectPart, key: ObjectKey) -> bool {
        let known = self.current.get(&place.address);
        known.is_some_and(|known| known.place == place && self.indices.get(&key) == Some(&known.object))
    }

    /// Declares that the memory belongs to the object from now on. Earlier ranges of that memory end; adjacent ones
    /// stay.
    pub(crate) fn declare(
        &mut self,
        now_nanos: u64,
        place: ObjectPart,
        key: ObjectKey,
        describe: impl FnOnce() -> TracedObject,
    ) {
        if place.bytes == 0 {
            return;
        }
        self.cut_out(now_nanos, place);
        let knows_entries = place.entries > 0;
        let object = match self.indices.get(&key) {
            Some(&known) => {
                if knows_entries && !std::mem::replace(&mut self.is_detailed[known as usize], true) {
                    self.objects[known as usize].0 = describe();
                }
                known
            }
            None => {
                self.objects.push((describe(), 0));
                self.is_detailed.push(knows_entries);
                let new = (self.objects.len() - 1) as u32;
                self.indices.insert(key, new);
                new
            }
        };
        let bytes = &mut self.objects[object as usize].1;
        *bytes = (*bytes).max(place.offset + place.bytes);
        self.current.insert(place.address, TracedRange { object, place, from_nanos: now_nanos, until_nanos: None });
    }

    /// Declares that the memory belongs to no object from now on.
    pub(crate) fn forget(&mut self, now_nanos: u64, gone: ObjectPart) {
        self.cut_out(now_nanos, gone);
    }

    /// Ends the ranges within `gone`; the rest of ranges that reach into it continues.
    fn cut_out(&mut self, now_nanos: u64, gone: ObjectPart) {
        let end = gone.address + gone.bytes;
        let before = self.current.range(..gone.address).next_back().map(|(&start, _)| start);
        let inside = self.current.range(gone.address..end).map(|(&start, _)| start);
        for start in before.into_iter().chain(inside).collect::<Vec<_>>() {
            let range = self.current[&start];
            let range_end = start + range.place.bytes;
            if range_end <= gone.address {
                continue;
            }
            self.current.remove(&start);
            if self.past.len() < PAST_DESCRIBED_MAX {
                self.past.push(TracedRange { until_nanos: Some(now_nanos), ..range });
            }
            for (from, to) in [(start, gone.address.min(range_end)), (end.max(start), range_end)] {
                if from < to {
                    let rest = TracedRange { place: part(range.place, from, to), from_nanos: now_nanos, ..range };
                    self.current.insert(from, rest);
                }
            }
        }
    }

    pub(crate) fn resolve(&self, address: u64) -> Option<Resolved> {
        let (_, range) = self.current.range(..=address).next_back()?;
        let place = range.place;
        let within = address - place.address;
        (within < place.bytes).then(|| Resolved {
            object: range.object,
            offset: place.offset + within,
            entry: (place.entries > 0).then(|| place.first_entry + entry_at(place, within)),
        })
    }

    /// Whether the values of the object's entries are available.
    pub(crate) fn has_values(&self, object: u32) -> bool {
        self.objects[object as usize].0.values.is_some()
    }

    /// All objects with their sizes, and their ranges.
    pub(crate) fn into_parts(self) -> (Vec<(TracedObject, u64)>, Vec<TracedRange>) {
        let Self { current, mut past, objects, .. } = self;
        past.extend(current.into_values().take(CURRENT_DESCRIBED_MAX));
        past.sort_by_key(|range| (range.object, range.from_nanos, range.place.address));
        (objects, past)
    }
}

/// The entry at a byte of a place, counted from its first.
fn entry_at(place: ObjectPart, within: u64) -> u64 {
    (u128::from(within) * u128::from(place.entries) / u128::from(place.bytes)) as u64
}

/// The part of a place between two addresses inside it.
fn part(place: ObjectPart, from: u64, to: u64) -> ObjectPart {
    let (first, end) = (from - place.address, to - place.address);
    let first_entry = entry_at(place, first);
    ObjectPart {
        address: from,
        bytes: to - from,
        offset: place.offset + first,
        first_entry: place.first_entry + first_entry,
        entries: entry_at(place, end) - first_entry,
    }
}
