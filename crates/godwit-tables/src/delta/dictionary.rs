//! The dictionary of a text column of a delta: its values in order of arrival.
//!
//! ```text
//!   code      0      1      2      3   ┊   4      5
//!   value   pear   fig    apple  kiwi  ┊  date   plum        values are added, and never change
//!           └───────── snapshot ─────┘ ┊                     what readers hold; a later one has these values, too
//!   sorted    2      1      3      0   ┊                     codes in the order of their values
//! ```
//!
//! All versions of a table share it, including those of open transactions: a version knows how many values there were
//! when its last rows arrived, and can use any snapshot with at least that many. Commits only look up and add values.
//! Snapshots are made, and new values sorted in, when a reader asks for it.
//!
//! Columns of mostly distinct values gain nothing: the dictionary closes, and later rows are strings. Values of
//! rolled-back transactions stay until the delta is folded.
//!
//! Source: thesis 2.2.2.

use std::cmp::Ordering;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_encoding::{OrderedDictionary, UnitedDictionary};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::kernels::hash::hash_bytes;
use godwit_vector::{Dictionary, Flat, StrBuilder, StrColumn, Vector};
use hashbrown::HashTable;
use parking_lot::Mutex;

/// Dictionaries of up to this many values are always worth it.
const VALUES_ALWAYS: usize = 1_024;

/// Beyond that, a dictionary must have this many rows per value: a value takes about 40 bytes besides its string, a row
/// with a string 16.
const ROWS_PER_VALUE_MIN: usize = 2;

/// Upper bound on the bytes of a dictionary's strings: deltas are folded when they have grown to about that.
const STRING_BYTES_MAX: usize = 16 << 20;

/// Bytes that a value takes besides its string: its view, and its entries in the hash table and the sorted list.
const VALUE_BYTES: usize = 40;

/// Reservations grow in steps of this many bytes, and have at least as many.
const RESERVED_STEP_BYTES: usize = 16 << 10;

/// Each snapshot adds a heap; one that would have more than this copies all strings into a single heap.
const HEAPS_MAX: usize = 32;

/// The values of a text column; shared by versions.
pub(crate) struct DeltaDictionary {
    values: Mutex<Values>,
    /// The united codes requested last.
    united: Mutex<Option<Arc<UnitedCodes>>>,
}

/// All values of a version's text column in order, and the codes of its parts mapped to them.
pub(crate) struct UnitedCodes {
    /// The ids of the main part's dictionary and of the snapshot of the delta's.
    parts: (u64, u64),
    pub united: UnitedDictionary,
    _memory: Reservation,
}

struct Values {
    strings: Strings,
    string_bytes: usize,
    /// By the hash of their values.
    codes: HashTable<u32>,
    /// Number of rows that aren't NULL, over all transactions.
    rows: usize,
    is_closed: bool,
    snapshot: Arc<Dictionary>,
    /// Codes in the order of their values, for the values that existed when they were last sorted.
    sorted: Arc<Vec<u32>>,
    reservation: Reservation,
}

struct Strings {
    /// Values in a snapshot.
    sealed: StrColumn,
    /// Values added since then.
    open: StrBuilder,
}

impl DeltaDictionary {
    pub(super) fn new(memory: &BufferManager) -> Result<Self> {
        let none = || StrColumn::from_strings::<&[u8]>([]);
        let values = Values {
            strings: Strings { sealed: none(), open: StrBuilder::default() },
            string_bytes: 0,
            codes: HashTable::new(),
            rows: 0,
            is_closed: false,
            snapshot: Arc::new(Dictionary::new(Flat::Str(none()), false)),
            sorted: Arc::default(),
            reservation: memory.reserve(0, MemoryTag::Table)?,
        };
        Ok(Self { values: Mutex::new(values), united: Mutex::default() })
    }

    /// The codes of strings, adding new values; NULL has code 0. `None` if the dictionary is closed. With `keeps_all`
    /// it doesn't close because of too many values.
    pub(super) fn codes(&self, strings: &Vector, keeps_all: bool) -> Option<Vector> {
        let mut values = self.values.lock();
        let flat = strings.to_flat();
        let column = flat.strings();
        let mut codes = Vec::with_capacity(strings.len());
        for row in 0..strings.len() {
            if values.is_closed {
                break;
            }
            codes.push(if strings.is_valid(row) { values.code_of(column.get(row), keeps_all) } else { 0 });
        }
        values.reserve();
        (!values.is_closed).then(|| Vector::from_values(codes, None).with_validity(strings.validity().cloned()))
    }

    /// Copies of the strings for some codes: for few rows.
    pub(super) fn strings(&self, codes: &Vector) -> Vector {
        let values = self.values.lock();
        let flat = codes.to_flat();
        let string = |(row, &code): (usize, &u32)| if codes.is_valid(row) { values.strings.get(code) } else { &[] };
        let strings = StrColumn::from_strings(flat.values::<u32>().iter().enumerate().map(string));
        Vector::flat(Flat::Str(strings), None).with_validity(codes.validity().cloned())
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.values.lock().strings.len()
    }

    /// A snapshot with at least the first `len` values, which exist. All callers get the same one until new values
    /// arrive.
    pub(super) fn snapshot(&self, len: usize) -> Arc<Dictionary> {
        let mut values = self.values.lock();
        if values.snapshot.len() < len {
            values.seal();
        }
        values.snapshot.clone()
    }

    /// The codes of a snapshot in the order of their values.
    fn sorted(&self, snapshot: &Dictionary) -> Arc<Vec<u32>> {
        let sorted = {
            let mut values = self.values.lock();
            values.sort();
            values.sorted.clone()
        };
        match sorted.len() == snapshot.len() {
            true => sorted,
            // A later snapshot has already been sorted.
            false => Arc::new(sorted.iter().copied().filter(|&code| (code as usize) < snapshot.len()).collect()),
        }
    }

    /// The values of the main part's dictionary and of a snapshot, in order; `None` if there isn't enough memory.
    pub(crate) fn united(
        &self,
        main: &OrderedDictionary,
        snapshot: &Dictionary,
        memory: &BufferManager,
    ) -> Option<Arc<UnitedCodes>> {
        let mut known = self.united.lock();
        let parts = (main.shared().id(), snapshot.id());
        if let Some(known) = known.as_ref().filter(|known| known.parts == parts) {
            return Some(known.clone());
        }
        // Views and codes; strings are shared.
        let bytes = (main.len() + snapshot.len()) * (size_of::<u128>() + 2 * size_of::<u32>());
        let memory = memory.reserve(bytes, MemoryTag::Table).ok()?;
        let united = main.united(snapshot.values().strings(), &self.sorted(snapshot));
        let made = Arc::new(UnitedCodes { parts, united, _memory: memory });
        *known = Some(made.clone());
        Some(made)
    }
}

impl Strings {
    fn len(&self) -> usize {
        self.sealed.len() + self.open.len()
    }

    fn get(&self, code: u32) -> &[u8] {
        match (code as usize).checked_sub(self.sealed.len()) {
            None => self.sealed.get(code as usize),
            Some(at) => self.open.get(at),
        }
    }

    fn seal(&mut self) {
        let new = std::mem::take(&mut self.open).finish();
        self.sealed = match self.sealed.heaps().as_slice().len() < HEAPS_MAX {
            true => self.sealed.chained(&new),
            false => StrColumn::from_strings(self.sealed.iter().chain(new.iter())),
        };
    }
}

impl Values {
    /// The code of a string. Adding a new value may close the dictionary.
    fn code_of(&mut self, string: &[u8], keeps_all: bool) -> u32 {
        self.rows += 1;
        let Self { strings, codes, .. } = self;
        let hash = hash_bytes(string);
        if let Some(&code) = codes.find(hash, |&code| strings.get(code) == string) {
            return code;
        }
        let code = strings.len() as u32;
        strings.open.push(string);
        codes.insert_unique(hash, code, |&code| hash_bytes(strings.get(code)));
        self.string_bytes += string.len();
        let values = codes.len();
        let has_too_many = !keeps_all && values > VALUES_ALWAYS && values * ROWS_PER_VALUE_MIN > self.rows;
        self.is_closed |= has_too_many || self.string_bytes > STRING_BYTES_MAX;
        code
    }

    /// Reserves memory for added values. If there isn't any, the dictionary closes.
    fn reserve(&mut self) {
        let bytes = self.string_bytes + self.codes.len() * VALUE_BYTES;
        if bytes > self.reservation.bytes() {
            let bytes = bytes.max(self.reservation.bytes() * 5 / 4).next_multiple_of(RESERVED_STEP_BYTES);
            self.is_closed |= self.reservation.resize(bytes).is_err();
        }
    }

    /// Makes a snapshot of all values.
    fn seal(&mut self) {
        self.strings.seal();
        self.snapshot = Arc::new(Dictionary::new(Flat::Str(self.strings.sealed.clone()), false));
    }

    /// Sorts the values of the newest snapshot: first the new ones, then merges them with the old ones.
    fn sort(&mut self) {
        let (strings, known) = (&self.strings.sealed, &self.sorted);
        if known.len() == strings.len() {
            return;
        }
        let of = |code: &u32| strings.get(*code as usize);
        let mut new: Vec<u32> = (known.len() as u32..strings.len() as u32).collect();
        new.sort_unstable_by(|a, b| of(a).cmp(of(b)));
        let mut sorted = Vec::with_capacity(strings.len());
        let (mut known, mut new) = (known.iter().peekable(), new.iter().peekable());
        while let (Some(a), Some(b)) = (known.peek(), new.peek()) {
            sorted.extend(if of(a).cmp(of(b)) == Ordering::Less { known.next() } else { new.next() });
        }
        sorted.extend(known.chain(new));
        self.sorted = Arc::new(sorted);
    }
}

#[cfg(test)]
mod tests {
    use godwit_memory::BufferConfig;
    use godwit_vector::Bitmap;
    use proptest::prelude::*;

    use super::*;

    fn memory() -> BufferManager {
        BufferManager::new(BufferConfig::new(64 << 20)).unwrap()
    }

    fn vector(strings: &[Option<String>]) -> Vector {
        let values = StrColumn::from_strings(strings.iter().map(|string| string.as_deref().unwrap_or("")));
        let validity = Bitmap::from_fn(strings.len(), |row| strings[row].is_some());
        Vector::flat(Flat::Str(values), Some(validity))
    }

    fn texts(vector: &Vector) -> Vec<Option<String>> {
        let flat = vector.to_flat();
        let text = |row: usize| String::from_utf8(flat.strings().get(row).to_vec()).unwrap();
        (0..vector.len()).map(|row| vector.is_valid(row).then(|| text(row))).collect()
    }

    proptest! {
        /// Rows keep their strings in their own and all later snapshots; sorted lists are sorted; united codes stand
        /// for the same strings.
        #[test]
        fn rows_keep_their_strings(
            pieces in prop::collection::vec(
                prop::collection::vec(prop::option::of("[a-d]{0,3}|long[a-b]{12,14}"), 1..30),
                1..80,
            ),
            main in prop::collection::btree_set("[a-c]{0,3}|long[a-b]{12,14}", 0..40),
            asks in prop::collection::vec(any::<bool>(), 80),
        ) {
            let memory = memory();
            let main = OrderedDictionary::from_strings(main.into_iter().collect());
            let dictionary = DeltaDictionary::new(&memory).unwrap();
            let mut versions = Vec::new();
            for (piece, ask) in pieces.iter().zip(asks) {
                let codes = dictionary.codes(&vector(piece), false).unwrap();
                prop_assert_eq!(&texts(&dictionary.strings(&codes)), piece);
                let len = dictionary.len();
                let snapshot = ask.then(|| dictionary.snapshot(len));
                let sorted = snapshot.as_ref().filter(|_| len.is_multiple_of(2)).map(|snapshot| dictionary.sorted(snapshot));
                versions.push((codes, len, snapshot, sorted));
            }
            for ((codes, len, snapshot, sorted), piece) in versions.into_iter().zip(&pieces) {
                let snapshot = snapshot.unwrap_or_else(|| dictionary.snapshot(len));
                prop_assert!(snapshot.len() >= len);
                let strings = snapshot.values().strings();
                let sorted = sorted.unwrap_or_else(|| dictionary.sorted(&snapshot));
                prop_assert_eq!(sorted.len(), snapshot.len());
                prop_assert!(sorted.windows(2).all(|pair| strings.get(pair[0] as usize) < strings.get(pair[1] as usize)));
                let made = dictionary.united(&main, &snapshot, &memory).unwrap();
                let flat = codes.to_flat();
                for (row, text) in piece.iter().enumerate() {
                    let Some(text) = text else { continue };
                    let code = flat.values::<u32>()[row];
                    prop_assert_eq!(strings.get(code as usize), text.as_bytes());
                    let code = made.united.added_codes[code as usize];
                    prop_assert_eq!(made.united.dictionary.get(code), text.as_bytes());
                }
            }
        }
    }

    #[test]
    fn mostly_distinct_values_close_it() {
        let memory = memory();
        let rows: Vec<_> = (0..5_000).map(|row| Some(format!("value {row}"))).collect();
        let dictionary = DeltaDictionary::new(&memory).unwrap();
        assert!(dictionary.codes(&vector(&rows), false).is_none());
        assert!(dictionary.len() <= VALUES_ALWAYS + 1, "it says so soon");
        assert!(dictionary.codes(&vector(&rows[..1]), false).is_none(), "for good");
        let dictionary = DeltaDictionary::new(&memory).unwrap();
        assert!(dictionary.codes(&vector(&rows), true).is_some());
        assert!(dictionary.codes(&vector(&rows), false).is_some());
        assert_eq!(dictionary.len(), rows.len());
    }

    #[test]
    fn large_strings_close_it_too() {
        let dictionary = DeltaDictionary::new(&memory()).unwrap();
        let large = |number: usize| vector(&[Some(number.to_string().repeat(1 << 20))]);
        let taken = (0..40).take_while(|&number| dictionary.codes(&large(number), true).is_some()).count();
        assert!((10..=16).contains(&taken), "{taken}");
        let dictionary = DeltaDictionary::new(&BufferManager::new(BufferConfig::new(1 << 20)).unwrap()).unwrap();
        assert!(dictionary.codes(&large(0), true).is_none(), "so does a lack of memory");
    }
}
