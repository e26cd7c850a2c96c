//! What an address belongs to: ranges of memory and their objects, over the time of a trace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Weak;

/// Ranges in the description of a trace that ended before it did; more are known while it runs, and left out of its file. 22
/// queries have some 10,000, which takes some ten milliseconds to write.
const PAST_DESCRIBED_MAX: usize = 10_000;
/// The same, of ranges that were there to its end.
const CURRENT_DESCRIBED_MAX: usize = 10_000;

/// Number of an object: of the pool that knows it, and within that.
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

/// What is told of an object when some of its memory is declared for the first time.
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
    /// Bytes of an entry, if all take as much.
    pub entry_bytes: Option<u32>,
    /// Its first row in the table, and how many it has.
    pub rows: Option<(u64, u64)>,
    /// Gives the values of entries as long as the object lives.
    pub values: Option<Weak<dyn EntryValues>>,
}

/// A range of memory and which part of an object lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The first byte.
    pub address: u64,
    /// Length.
    pub bytes: u64,
    /// Where it begins within the object.
    pub offset: u64,
    /// Number of the first entry in it, and how many there are, spread evenly; 0 if entries can't be told apart.
    pub first_entry: u64,
    /// How many entries there are.
    pub entries: u64,
}

impl Place {
    /// A place whose entries can't be told apart.
    pub fn of_bytes(address: *const u8, bytes: usize, offset: u64) -> Self {
        Self { address: address as u64, bytes: bytes as u64, offset, first_entry: 0, entries: 0 }
    }

    /// As [`of_bytes`](Self::of_bytes), with `entries` entries, evenly spread.
    pub fn with_entries(self, first_entry: u64, entries: u64) -> Self {
        Self { first_entry, entries, ..self }
    }
}

/// A place, and when it was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedRange {
    /// Index of the object.
    pub object: u32,
    /// The memory.
    pub place: Place,
    /// Nanoseconds since the trace began.
    pub from_nanos: u64,
    /// The same, of its end; `None`: it was there when the trace ended.
    pub until_nanos: Option<u64>,
}

/// What an address turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub object: u32,
    pub offset: u64,
    pub entry: Option<u64>,
}

/// The ranges that are known now, and all that were.
#[derive(Default)]
pub(crate) struct Ranges {
    /// By first byte; they don't overlap.
    current: BTreeMap<u64, TracedRange>,
    past: Vec<TracedRange>,
    objects: Vec<(TracedObject, u64)>,
    /// For each object: it was described by who knows its entries, not only by the owner of a page.
    is_detailed: Vec<bool>,
    indices: HashMap<ObjectKey, u32>,
}

impl Ranges {
    /// True if just this is known already.
    pub(crate) fn knows(&self, place: Place, key: ObjectKey) -> bool {
        let known = self.current.get(&place.address);
        known.is_some_and(|known| known.place == place && self.indices.get(&key) == Some(&known.object))
    }

    /// From now on the memory is the object's. What was known of it ends; what lies beside stays.
    pub(crate) fn declare(
        &mut self,
        now_nanos: u64,
        place: Place,
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

    /// The memory is nobody's from now on.
    pub(crate) fn forget(&mut self, now_nanos: u64, gone: Place) {
        self.cut_out(now_nanos, gone);
    }

    /// Ends what is known of `gone`; the rest of ranges that reach into it goes on.
    fn cut_out(&mut self, now_nanos: u64, gone: Place) {
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

    /// Can values of the object's entries be told?
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
fn entry_at(place: Place, within: u64) -> u64 {
    (u128::from(within) * u128::from(place.entries) / u128::from(place.bytes)) as u64
}

/// The part of a place between two addresses inside it.
fn part(place: Place, from: u64, to: u64) -> Place {
    let (first, end) = (from - place.address, to - place.address);
    let first_entry = entry_at(place, first);
    Place {
        address: from,
        bytes: to - from,
        offset: place.offset + first,
        first_entry: place.first_entry + first_entry,
        entries: entry_at(place, end) - first_entry,
    }
}
