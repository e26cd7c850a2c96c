//! Cuts a file into pieces that end with a record.
//!
//! The file is read once, from front to back, by whichever worker needs a piece. The end of the last record is found by
//! a fast scan for quotes and newlines (CSV), or for strings and braces (JSON); the rest goes to the next piece. JSON
//! arrays of objects become sequences of objects: everything between these is replaced by spaces.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use godwit_common::{Error, Result};
use godwit_memory::Reservation;
use memchr::{memchr_iter, memrchr};

use super::csv::{Records, breaks};
use super::dialect::Dialect;
use super::json::JsonScanner;
use super::separators::{LastRecord, last_record};

/// Bytes read for a piece: large enough that handing out pieces costs nothing, small enough that two workers finish
/// together.
const PIECE_BYTES: usize = 1 << 20;

/// Longest record of CSV, unless an option says otherwise. A longer one more likely has an unclosed quote.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Longest record in any case: positions within a piece have 32 bits.
const PIECE_BYTES_MAX: usize = 1 << 31;

/// Some records of a file.
#[derive(Default)]
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// The file.
    pub path: PathBuf,
    /// Number of the file among those of the table.
    pub source: usize,
    /// Line of the file in which it begins, from 1.
    pub first_line: u64,
    /// Where it begins in the file's text.
    pub offset: u64,
    /// True for the first piece of the file.
    pub is_first: bool,
    /// For CSV: true if all quotes are [regular](super::separators).
    pub is_regular: bool,
}

impl Piece {
    /// Returns the line of the file that contains the byte at `at`.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.lines()(at)
    }

    /// Returns the same for bytes in ascending order, counting line breaks only once for all of them.
    pub(super) fn lines(&self) -> impl FnMut(usize) -> u64 + '_ {
        let (mut counted, mut line) = (0, self.first_line);
        move |at| {
            line += breaks(&self.bytes[counted..at]);
            counted = at;
            line
        }
    }

    /// Fails if it isn't UTF-8.
    pub(super) fn check(&self) -> Result<()> {
        let Err(error) = std::str::from_utf8(&self.bytes) else { return Ok(()) };
        let error = self.error_at(self.line(error.valid_up_to()), "the text is not UTF-8");
        Err(error.with_hint(NOT_UTF8_HINT))
    }

    /// Returns an error at a line of the file.
    pub(super) fn error_at(&self, line: u64, what: &str) -> Error {
        Error::user(format!("{}, line {line}: {what}", self.path.display()))
    }
}

/// Hint for text that isn't UTF-8.
pub(super) const NOT_UTF8_HINT: &str = "name its encoding, such as ENCODING 'latin-1' or 'utf-16'";

/// The way to find the end of a record.
pub(super) enum RecordEnds {
    Csv(Dialect),
    Json(JsonScanner),
}

/// Reads a file piece by piece.
pub(super) struct Cutter {
    file: Box<dyn Read + Send>,
    path: PathBuf,
    source: usize,
    ends: RecordEnds,
    /// Number of lines still to be skipped.
    skip: u64,
    record_bytes_max: usize,
    /// Memory of what was read.
    memory: Reservation,
    /// Bytes read but not yet handed out.
    rest: Vec<u8>,
    line: u64,
    /// Where the rest begins in the text.
    offset: u64,
    is_first: bool,
    at_end: bool,
}

/// Options for reading a file.
pub(super) struct CutterOptions {
    pub source: usize,
    /// Number of lines to skip at the beginning.
    pub skip: u64,
    pub record_bytes_max: usize,
    /// Memory of what was read and isn't handed out.
    pub memory: Reservation,
}

/// Returns the error for a file that can't be opened.
pub(super) fn open_error(path: &Path, error: &io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::IsADirectory => Error::user(format!("{shown} is a folder")).with_hint("name a file in it"),
        _ => Error::io(format!("opening {shown}"), error),
    }
}

/// Reads until `bytes` has `length` bytes or the file ends; returns true if it ended.
pub(super) fn read_up_to(file: &mut dyn Read, length: usize, bytes: &mut Vec<u8>, path: &Path) -> Result<bool> {
    let missing = length.saturating_sub(bytes.len()) as u64;
    bytes.reserve_exact(missing as usize + 1);
    let read = file.take(missing).read_to_end(bytes);
    let read = read.map_err(|error| Error::io(format!("reading {}", path.display()), &error))?;
    Ok((read as u64) < missing)
}

impl Cutter {
    /// Creates a cutter for the text of a file.
    pub(super) fn new(file: Box<dyn Read + Send>, path: &Path, ends: RecordEnds, options: CutterOptions) -> Self {
        let CutterOptions { source, skip, record_bytes_max, memory } = options;
        let (path, record_bytes_max) = (path.to_owned(), record_bytes_max.min(PIECE_BYTES_MAX));
        let (rest, line, offset, is_first, at_end) = (Vec::new(), 1, 0, true, false);
        Self { file, path, source, ends, skip, record_bytes_max, memory, rest, line, offset, is_first, at_end }
    }

    /// Returns the next piece; `None` at the end of the file. `used` is a piece that is no longer needed.
    pub(super) fn next(&mut self, used: Piece) -> Result<Option<Piece>> {
        self.skip_lines()?;
        let (mut bytes, mut spare) = (std::mem::take(&mut self.rest), used.bytes);
        spare.clear();
        let mut length = PIECE_BYTES;
        let is_regular = loop {
            let known = bytes.len();
            if !self.at_end {
                self.reserve(known.max(length))?;
                self.at_end = read_up_to(&mut self.file, known.max(length), &mut bytes, &self.path)?;
            }
            let (end, is_regular) = self.last_end(&mut bytes);
            let end = if self.at_end { Some(bytes.len()) } else { end };
            if let Some(end) = end {
                spare.extend_from_slice(&bytes[end..]);
                bytes.truncate(end);
                self.rest = spare;
                break is_regular;
            }
            if bytes.len() >= self.record_bytes_max {
                return Err(self.too_long());
            }
            length = (bytes.len() * 2).min(self.record_bytes_max);
        };
        self.memory.resize(self.rest.capacity())?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if let RecordEnds::Json(scanner) = &mut self.ends {
            scanner.forget(bytes.len());
        }
        let is_first = std::mem::take(&mut self.is_first);
        let (path, source, first_line, offset) = (self.path.clone(), self.source, self.line, self.offset);
        let piece = Piece { bytes, path, source, first_line, offset, is_first, is_regular };
        self.line += breaks(&piece.bytes);
        self.offset += piece.bytes.len() as u64;
        Ok(Some(piece))
    }

    /// Skips the lines before the first record.
    fn skip_lines(&mut self) -> Result<()> {
        let newline = if let RecordEnds::Csv(dialect) = &self.ends { dialect.newline } else { b'\n' };
        while self.skip > 0 && !(self.at_end && self.rest.is_empty()) {
            if self.rest.is_empty() {
                self.reserve(PIECE_BYTES)?;
                self.at_end = read_up_to(&mut self.file, PIECE_BYTES, &mut self.rest, &self.path)?;
            }
            let mut ends = memchr_iter(newline, &self.rest);
            let (lines, end) = match ends.nth(self.skip as usize - 1) {
                Some(last) => (self.skip, last + 1),
                None => (memchr_iter(newline, &self.rest).count() as u64, self.rest.len()),
            };
            self.skip -= lines;
            self.line += lines;
            self.offset += end as u64;
            self.rest.drain(..end);
        }
        Ok(())
    }

    /// Reserves memory for bytes that are read together.
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.memory.bytes() {
            return Ok(());
        }
        let (path, line) = (self.path.display(), self.line);
        self.memory.resize(bytes).map_err(|error| match bytes <= PIECE_BYTES {
            true => error,
            false => Error::resource(format!("{path}: the record in line {line} needs more memory than is free"))
                .with_hint("raise the memory limit; if no record is so long, check quotes and braces"),
        })
    }

    fn too_long(&self) -> Error {
        let bytes = self.record_bytes_max;
        let error =
            format!("{}: the record in line {} doesn't end within {bytes} bytes", self.path.display(), self.line);
        Error::user(error).with_hint(match self.ends {
            RecordEnds::Csv(_) => "is a quote not closed, or another character the quote? MAX_LINE_SIZE allows more",
            RecordEnds::Json(_) => "is a brace not closed? MAXIMUM_OBJECT_SIZE allows more",
        })
    }

    /// Returns where the last complete record in `bytes` ends, and whether the quotes of CSV are regular.
    fn last_end(&mut self, bytes: &mut [u8]) -> (Option<usize>, bool) {
        match &mut self.ends {
            RecordEnds::Json(scanner) => (scanner.last_value_end(bytes), true),
            RecordEnds::Csv(dialect) => match last_record(bytes, dialect, self.at_end) {
                LastRecord { end, is_regular: true } => (end, true),
                LastRecord { is_regular: false, .. } => (last_record_end(bytes, dialect), false),
            },
        }
    }
}

/// Returns where the last record in `bytes` that ends with a line break ends.
pub(super) fn last_record_end(bytes: &[u8], dialect: &Dialect) -> Option<usize> {
    let is_plain = dialect.plain_delimiter().is_some();
    if is_plain && dialect.quote.is_none_or(|quote| memchr::memchr(quote, bytes).is_none()) {
        return memrchr(dialect.newline, bytes).map(|at| at + 1);
    }
    let (mut records, mut last) = (Records::new(dialect, 0), None);
    while records.skip(bytes) {
        let end = records.position();
        if bytes[end - 1] == dialect.newline && !records.met.unclosed {
            last = Some(end);
        }
    }
    last
}
