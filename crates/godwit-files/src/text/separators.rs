//! Finds the separators of CSV fields and records, a block at a time.
//!
//! Quotes are counted: anything after an odd number of them is quoted. The parser ([`super::csv::Records`]) agrees as
//! long as quotes are *regular*: each pair encloses a whole field, and none is doubled or escaped. Text with other
//! quotes is left to the parser.

use std::ops::Range;

use godwit_vector::kernels::blocks::{BLOCK_BYTES, Block, behind_odd};

use super::dialect::Dialect;

/// Scans text from the beginning of a record.
pub(super) struct Separators {
    delimiter: u8,
    quote: Option<u8>,
    escapes_by_quote: bool,
    /// All bits set if the next byte is within quotes.
    quoted: u64,
    /// Bit 0: a field may begin here.
    may_begin: u64,
    /// Bit 0: the previous byte is a closing quote.
    is_closed: u64,
    is_regular: bool,
}

/// Bits for the bytes of a block that end just a field, and for those that end a record.
pub(super) struct Found {
    pub fields: u64,
    pub records: u64,
}

impl Separators {
    /// Creates a scanner for a dialect without comments whose delimiter is `delimiter`.
    pub(super) fn new(dialect: &Dialect, delimiter: u8) -> Self {
        let (quote, escapes_by_quote) = (dialect.quote, dialect.escapes_by_quote());
        Self { delimiter, quote, escapes_by_quote, quoted: 0, may_begin: 1, is_closed: 0, is_regular: true }
    }

    /// Returns the separators of the next block; only bytes whose bits are set in `there` belong to the text. A line
    /// break of two characters ends two records, the second of which is empty.
    #[inline]
    pub(super) fn next(&mut self, block: &Block, there: u64) -> Found {
        let quotes = self.quote.map_or(0, |quote| block.equal_to(quote) & there);
        let mut fields = block.equal_to(self.delimiter) & there;
        let mut records = (block.equal_to(b'\n') | block.equal_to(b'\r')) & there;
        if (quotes | self.quoted | self.is_closed) != 0 {
            let quoted = behind_odd(quotes) ^ self.quoted;
            fields &= !quoted;
            records &= !quoted;
            let (opening, closing) = (quotes & quoted, quotes & !quoted);
            let may_begin = (fields | records) << 1 | self.may_begin;
            let behind_closing = closing << 1 | self.is_closed;
            let is_wrong = (opening & !may_begin) | (behind_closing & !(fields | records) & there);
            self.is_regular &= is_wrong == 0 && (quotes == 0 || self.escapes_by_quote);
            self.quoted = if quoted >> (BLOCK_BYTES - 1) == 1 { u64::MAX } else { 0 };
            self.is_closed = closing >> (BLOCK_BYTES - 1);
        }
        self.may_begin = (fields | records) >> (BLOCK_BYTES - 1);
        Found { fields, records }
    }

    /// Returns true if all quotes so far enclose whole fields, except perhaps the last one, which may continue.
    pub(super) fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// True within quotes.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted != 0
    }
}

/// The outcome of [`last_record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastRecord {
    /// The end of the last complete record in the text.
    pub end: Option<usize>,
    /// True if all quotes are regular.
    pub is_regular: bool,
}

/// Finds the last record in `bytes` that ends with the dialect's line break; `is_all`: nothing follows.
pub(super) fn last_record(bytes: &[u8], dialect: &Dialect, is_all: bool) -> LastRecord {
    let newline = dialect.newline;
    let Some(delimiter) = dialect.plain_delimiter() else { return LastRecord { end: None, is_regular: false } };
    if dialect.quote.is_none_or(|quote| memchr::memchr(quote, bytes).is_none()) {
        return LastRecord { end: memchr::memrchr(newline, bytes).map(|at| at + 1), is_regular: true };
    }
    let mut separators = Separators::new(dialect, delimiter);
    let mut end = None;
    for at in (0..bytes.len()).step_by(BLOCK_BYTES) {
        let (block, there) = Block::at(bytes, at);
        let found = separators.next(&block, there).records & block.equal_to(newline);
        if found != 0 {
            end = Some(at + BLOCK_BYTES - found.leading_zeros() as usize);
        }
    }
    let is_regular = separators.is_regular() && !(is_all && separators.is_quoted());
    LastRecord { end, is_regular }
}

/// Positions of the fields of some records in their text.
#[derive(Default)]
pub(super) struct Places {
    /// For each record, where its fields begin, and where one after them would: each field ends a byte before the next
    /// position. The vector has room after the positions in use.
    starts: Vec<u32>,
    used: usize,
    records: usize,
}

/// The outcome of [`Places::find`].
pub(super) struct Stop {
    /// Where the next record begins.
    pub next: usize,
    /// Number of rejected records of another width.
    pub rejected: u64,
    /// The requested ones of those: their positions and numbers of fields.
    pub rejects: Vec<(Range<usize>, usize)>,
    /// The number of fields of the next record, if it has another width and isn't rejected.
    pub wrong_width: Option<usize>,
}

/// The records to find.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub records_max: usize,
    /// Number of fields of each.
    pub width: usize,
    /// True if records of another width are rejected.
    pub ignore_errors: bool,
    /// Maximum number of these that are reported.
    pub rejects_max: usize,
    /// True if missing fields at the end of a record are NULL.
    pub null_padding: bool,
}

impl Wanted {
    /// Returns true if a record with this number of fields is wanted. A delimiter at the end of a record begins no
    /// field; an empty line is a record of one column only.
    #[inline]
    pub(super) fn has(&self, fields: usize, ends_empty: bool) -> bool {
        fields == self.width || (fields == self.width + 1 && ends_empty) || (fields < self.width && self.null_padding)
    }
}

impl Places {
    /// Returns the number of records.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// Returns where the fields of all records begin, record by record.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts[..self.used]
    }

    pub(super) fn clear(&mut self) {
        (self.used, self.records) = (0, 0);
    }

    /// Memory held.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>()
    }

    /// Appends a record of `width` fields, writing their text. Missing ones will be NULL.
    pub(super) fn push<'a>(&mut self, fields: impl Iterator<Item = &'a [u8]>, width: usize, text: &mut Vec<u8>) {
        self.starts.truncate(self.used);
        self.starts.push(text.len() as u32);
        let end = self.starts.len() + width;
        for field in fields.take(width) {
            text.extend_from_slice(field);
            text.push(0);
            self.starts.push(text.len() as u32);
        }
        self.starts.resize(end, text.len() as u32);
        self.used = self.starts.len();
        self.records += 1;
    }

    /// Finds the next records of a text with regular quotes, starting at the beginning of a record.
    pub(super) fn find(&mut self, bytes: &[u8], begin: usize, dialect: &Dialect, wanted: Wanted) -> Stop {
        self.clear();
        let delimiter = dialect.plain_delimiter().expect("irregular text is read by the parser");
        let mut separators = Separators::new(dialect, delimiter);
        let mut record = Record { first: 0, len: 0, begin: begin as u32 };
        let mut stop = Stop { next: begin, rejected: 0, rejects: Vec::new(), wrong_width: None };
        self.starts.resize(self.starts.len().max(SPARE), 0);
        for at in (begin..bytes.len()).step_by(BLOCK_BYTES) {
            let (block, there) = Block::at(bytes, at);
            let Found { fields, mut records } = separators.next(&block, there);
            let mut rest = fields | records;
            while records != 0 {
                let end = records & records.wrapping_neg();
                let of_record = rest & (end | (end - 1));
                rest ^= of_record;
                records ^= end;
                self.push_starts(&mut record, at, of_record);
                let next = at + end.trailing_zeros() as usize + 1;
                if self.end_record(bytes, &mut record, next, wanted, &mut stop) {
                    return self.finish(&record, stop);
                }
            }
            self.push_starts(&mut record, at, rest);
        }
        // The last line of a file may lack a line break.
        if (record.begin as usize) < bytes.len() {
            let end = bytes.len() + 1;
            self.push_starts(&mut record, bytes.len(), 1);
            self.end_record(bytes, &mut record, end, wanted, &mut stop);
            stop.next = stop.next.min(bytes.len());
        }
        self.finish(&record, stop)
    }

    /// Adds fields that begin after the bits of `found`, in a block that begins at `at`.
    #[inline]
    fn push_starts(&mut self, record: &mut Record, at: usize, mut found: u64) {
        let count = found.count_ones() as usize;
        let free = record.first + 1 + record.len;
        if free + BLOCK_BYTES > self.starts.len() {
            self.starts.resize(2 * self.starts.len(), 0);
        }
        for start in &mut self.starts[free..free + count] {
            *start = (at as u32) + found.trailing_zeros() + 1;
            found &= found - 1;
        }
        record.len += count;
    }

    /// Ends a record before `next`; returns true if the search is over.
    #[inline]
    fn end_record(&mut self, bytes: &[u8], record: &mut Record, next: usize, wanted: Wanted, stop: &mut Stop) -> bool {
        let is_empty = next as u32 - record.begin == 1;
        if record.len == wanted.width && (!is_empty || is_line(bytes, record.begin as usize)) {
            self.starts[record.first] = record.begin;
            record.first += wanted.width + 1;
            self.records += 1;
        } else if !is_empty {
            let ends_empty = self.starts[record.first + record.len] - self.last_start(record) == 1;
            if wanted.has(record.len, ends_empty) {
                self.pad(record, wanted.width);
            } else if !wanted.ignore_errors {
                stop.wrong_width = Some(record.len);
                return true;
            } else {
                stop.rejected += 1;
                if stop.rejects.len() < wanted.rejects_max {
                    stop.rejects.push((record.begin as usize..next - 1, record.len));
                }
            }
        }
        (record.len, record.begin, stop.next) = (0, next as u32, next);
        self.records == wanted.records_max
    }

    /// Returns where the last field of a record begins.
    fn last_start(&self, record: &Record) -> u32 {
        if record.len == 1 { record.begin } else { self.starts[record.first + record.len - 1] }
    }

    /// Adds a record of another width; its missing fields are NULL.
    #[cold]
    fn pad(&mut self, record: &mut Record, width: usize) {
        let end = record.first + width + 1;
        if end > self.starts.len() {
            self.starts.resize(2 * end, 0);
        }
        self.starts[record.first] = record.begin;
        if record.len < width {
            let behind = self.starts[record.first + record.len];
            self.starts[record.first + record.len + 1..end].fill(behind);
        }
        record.first = end;
        self.records += 1;
    }

    fn finish(&mut self, record: &Record, stop: Stop) -> Stop {
        self.used = record.first;
        stop
    }
}

/// Returns true unless an empty record that begins at `at` is the second half of a line break.
fn is_line(bytes: &[u8], at: usize) -> bool {
    at == 0 || !(bytes[at - 1] == b'\r' && bytes.get(at) == Some(&b'\n'))
}

/// Initial room, which is doubled whenever it may not suffice for all fields of a block.
const SPARE: usize = 2 * BLOCK_BYTES;

/// The current record.
struct Record {
    /// Where its positions are stored, starting with that of its beginning.
    first: usize,
    /// Number of fields that have ended.
    len: usize,
    begin: u32,
}
