//! Codes for strings in the order of arrival.
//!
//! One interner per text column, shared by the workers of a load. Strings that arrive as codes of another dictionary,
//! as from Parquet, are looked up once per entry; the lock is held for a chunk at a time.

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::StrBuilder;
use hashbrown::HashTable;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

/// Rows after which it is decided whether a dictionary is worth it: enough for recurring values to show up again.
const TRIAL_ROWS: u64 = 1 << 19;

/// A dictionary must have this many rows per value: otherwise codes and dictionary take more space than compressed
/// strings.
pub(super) const ROWS_PER_VALUE_MIN: u64 = 2;

/// The same for lists of numbers, which are read faster as lists than by a dictionary.
pub(super) const ROWS_PER_LIST_MIN: u64 = 1_024;

/// Dictionaries of up to this many values are always worth it.
const VALUES_ALWAYS: u64 = 1_024;

/// Upper bound on the bytes of a dictionary, whatever the limit: queries have to hold it.
const BYTES_MAX: u64 = 64 << 20;

/// Longer strings aren't worth a dictionary: a few hundred of them would fill it.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// Bytes reserved at once.
const RESERVED_STEP_BYTES: usize = 1 << 20;

/// An interner behind its lock.
pub(super) struct SharedInterner(pub Mutex<Interner>);

/// State of a table before a load, for a column that consists only of codes.
#[derive(Default)]
pub(super) struct Known {
    pub values: u64,
    pub rows: u64,
}

/// Strings and their codes.
pub(super) struct Interner {
    strings: StrBuilder,
    /// By the hash of their strings.
    codes: HashTable<u32>,
    rows: u64,
    bytes_max: u64,
    is_forced: bool,
    /// Fewer rows per value aren't worth a dictionary.
    rows_per_value_min: u64,
    is_given_up: bool,
    reservation: Reservation,
}

impl SharedInterner {
    pub(super) fn new(
        memory: &BufferManager,
        bytes_max: u64,
        is_forced: bool,
        rows_per_value_min: u64,
    ) -> Result<Self> {
        Ok(Self(Mutex::new(Interner {
            strings: StrBuilder::default(),
            codes: HashTable::new(),
            rows: 0,
            bytes_max: if is_forced { bytes_max } else { bytes_max.min(BYTES_MAX) },
            is_forced,
            rows_per_value_min,
            is_given_up: false,
            reservation: memory.reserve(0, MemoryTag::Writer)?,
        })))
    }
}

impl Interner {
    /// The code of a string; a new string gets a new code.
    pub(super) fn intern(&mut self, string: &[u8]) -> u32 {
        let Self { strings, codes, .. } = self;
        let hash = xxh3_64(string);
        if let Some(&code) = codes.find(hash, |&code| strings.get(code as usize) == string) {
            return code;
        }
        self.is_given_up |= !self.is_forced && string.len() > VALUE_BYTES_MAX;
        let code = strings.len() as u32;
        strings.push(string);
        codes.insert_unique(hash, code, |&code| xxh3_64(strings.get(code as usize)));
        code
    }

    /// The string of a code.
    pub(super) fn get(&self, code: u32) -> &[u8] {
        self.strings.get(code as usize)
    }

    /// Bytes of all strings.
    pub(super) fn string_bytes(&self) -> usize {
        self.strings.bytes().len()
    }

    /// Number of strings.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The share of rows with a new value.
    pub(super) fn distinct_share(&self) -> f64 {
        self.len() as f64 / self.rows.max(1) as f64
    }

    /// Counts interned rows, and gives up if the dictionary isn't worth it or takes too much memory.
    pub(super) fn note_rows(&mut self, rows: usize) {
        self.rows += rows as u64;
        let bytes = self.strings.allocated_bytes() + self.codes.allocation_size();
        let is_too_large = bytes as u64 > self.bytes_max;
        if is_too_large || (self.rows >= TRIAL_ROWS && self.has_too_many(&Known::default())) {
            self.is_given_up = true;
        }
        if bytes > self.reservation.bytes() {
            self.is_given_up |= self.reservation.resize(bytes + RESERVED_STEP_BYTES).is_err();
        }
    }

    fn has_too_many(&self, known: &Known) -> bool {
        let (values, rows) = (known.values + self.len() as u64, known.rows + self.rows);
        !self.is_forced && values > VALUES_ALWAYS && values * self.rows_per_value_min > rows
    }

    /// True if strings are no longer interned.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// The final decision, once all rows have arrived: it is for the whole column, so that a few rows without repeated
    /// values don't make the table lose its codes.
    pub(super) fn is_worth_it(&self, known: &Known) -> bool {
        !self.is_given_up && !self.has_too_many(known)
    }

    /// All codes, by the order of their strings.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut codes: Vec<u32> = (0..self.len() as u32).collect();
        codes.sort_unstable_by(|&a, &b| self.get(a).cmp(self.get(b)));
        codes
    }
}
