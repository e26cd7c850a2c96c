//! Cuts a file into pieces that end with a record.
//!
//! The file is read once, from front to back, by whichever worker needs a piece; finding the end of the last record is a
//! fast scan for quotes and newlines (CSV), or for strings and braces (JSON). What follows it begins the next piece.
//! JSON arrays of objects become sequences of objects: what is between them is replaced by spaces.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use godwit_common::{Error, Result};
use godwit_io::{InputFile, InputReader};
use memchr::{memchr, memchr_iter, memchr2, memchr3, memrchr};

use super::csv::Dialect;
use super::json_scanner::JsonScanner;
use super::separators::{LastRecord, last_record};
use super::stream::Stream;

/// Bytes read for a piece: large enough that handing out pieces costs nothing, small enough that two workers finish
/// together.
const PIECE_BYTES: usize = 1 << 20;

/// Longest record. Longer ones are more likely a quote that isn't closed.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Size of the sample at the beginning of a file.
pub(super) const SAMPLE_BYTES: usize = 1 << 20;

/// Some records of a file.
#[derive(Default)]
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// The file.
    pub path: PathBuf,
    /// Line of the file with which it begins, from 1.
    pub first_line: u64,
    /// It is the first of the file.
    pub is_first: bool,
    /// Of CSV: all quotes are [regular](super::separators).
    pub is_regular: bool,
}

impl Piece {
    /// Line of the file in which the byte at `at` is.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.first_line + memchr_iter(b'\n', &self.bytes[..at]).count() as u64
    }

    /// Fails unless it is UTF-8.
    pub(super) fn check(&self) -> Result<()> {
        let Err(error) = std::str::from_utf8(&self.bytes) else { return Ok(()) };
        let error = self.error_at(self.line(error.valid_up_to()), "the text is not UTF-8");
        Err(error.with_hint("convert the file to UTF-8 first"))
    }

    /// An error at a line of the file.
    pub(super) fn error_at(&self, line: u64, what: &str) -> Error {
        Error::user(format!("{}, line {line}: {what}", self.path.display()))
    }
}

/// How the end of a record is found.
pub(super) enum RecordEnds {
    Csv(Dialect),
    Json(JsonScanner),
}

/// Reads a file piece by piece.
pub(super) struct Cutter {
    file: Box<dyn Read + Send>,
    path: PathBuf,
    ends: RecordEnds,
    /// Bytes that were read but aren't handed out yet.
    rest: Vec<u8>,
    line: u64,
    is_first: bool,
    at_end: bool,
}

/// An error of opening a file.
pub(super) fn open_error(path: &Path, error: &io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::IsADirectory => Error::user(format!("{shown} is a folder")).with_hint("name a file in it"),
        _ => Error::io(format!("opening {shown}"), error),
    }
}

fn decompressed<'a>(stored: impl Read + Send + 'a, is_gzip: bool) -> Box<dyn Read + Send + 'a> {
    if is_gzip { Box::new(MultiGzDecoder::new(stored)) } else { Box::new(stored) }
}

/// Reads until `bytes` has this many, or the file ends; true if it ended.
pub(super) fn read_up_to(file: &mut dyn Read, length: usize, bytes: &mut Vec<u8>, path: &Path) -> Result<bool> {
    let missing = length.saturating_sub(bytes.len()) as u64;
    bytes.reserve_exact(missing as usize + 1);
    let read = file.take(missing).read_to_end(bytes);
    let read = read.map_err(|error| Error::io(format!("reading {}", path.display()), &error))?;
    Ok((read as u64) < missing)
}

impl Cutter {
    /// Cuts what is stored in a file, from its beginning on.
    pub(super) fn new(stored: Box<dyn Read + Send>, path: &Path, is_gzip: bool, ends: RecordEnds) -> Self {
        let (file, path) = (decompressed(stored, is_gzip), path.to_owned());
        Self { file, path, ends, rest: Vec::new(), line: 1, is_first: true, at_end: false }
    }

    /// The next piece; `None` at the end of the file. `used` is a piece that is no longer needed.
    pub(super) fn next(&mut self, used: Piece) -> Result<Option<Piece>> {
        let (mut bytes, mut spare) = (std::mem::take(&mut self.rest), used.bytes);
        spare.clear();
        let mut length = PIECE_BYTES;
        let is_regular = loop {
            let known = bytes.len();
            if !self.at_end {
                self.at_end = read_up_to(&mut self.file, known.max(length), &mut bytes, &self.path)?;
            }
            if self.is_first && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            let (end, is_regular) = self.last_end(&mut bytes);
            let end = if self.at_end { Some(bytes.len()) } else { end };
            if let Some(end) = end {
                spare.extend_from_slice(&bytes[end..]);
                bytes.truncate(end);
                self.rest = spare;
                break is_regular;
            }
            if bytes.len() >= RECORD_BYTES_MAX {
                let error =
                    format!("{}: the record in line {} doesn't end within 64 MiB", self.path.display(), self.line);
                return Err(Error::user(error).with_hint("is a quote not closed, or another character the quote?"));
            }
            length = bytes.len() * 2;
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        if let RecordEnds::Json(scanner) = &mut self.ends {
            scanner.forget(bytes.len());
        }
        let is_first = std::mem::take(&mut self.is_first);
        let piece = Piece { bytes, path: self.path.clone(), first_line: self.line, is_first, is_regular };
        self.line += memchr_iter(b'\n', &piece.bytes).count() as u64;
        Ok(Some(piece))
    }

    /// Where the last record that ends in `bytes` ends, and whether the quotes of CSV are regular.
    fn last_end(&mut self, bytes: &mut [u8]) -> (Option<usize>, bool) {
        match &mut self.ends {
            RecordEnds::Json(scanner) => (scanner.last_object_end(bytes), true),
            RecordEnds::Csv(dialect) => match last_record(bytes, dialect, self.at_end) {
                LastRecord { end, is_regular: true } => (end, true),
                LastRecord { is_regular: false, .. } => (last_record_end(bytes, dialect), false),
            },
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where the last record that ends in `bytes` with a line feed ends. As in the parser, a quote is one only where a field
/// begins, and a carriage return ends a record, too.
pub(super) fn last_record_end(bytes: &[u8], dialect: &Dialect) -> Option<usize> {
    if memchr(dialect.quote, bytes).is_none() {
        return memrchr(b'\n', bytes).map(|at| at + 1);
    }
    let escape = dialect.escape.unwrap_or(dialect.quote);
    let (mut at, mut last) = (0, None);
    while at < bytes.len() {
        if bytes[at] == dialect.quote {
            at += 1;
            loop {
                let Some(next) = memchr2(dialect.quote, escape, bytes.get(at..)?) else { return last };
                at += next;
                let is_escaped = bytes[at] != dialect.quote || (bytes.get(at + 1) == Some(&dialect.quote));
                at += if is_escaped { 2 } else { 1 };
                if !is_escaped {
                    break;
                }
                if at >= bytes.len() {
                    return last;
                }
            }
        }
        let Some(next) = memchr3(dialect.delimiter, b'\n', b'\r', &bytes[at..]) else { return last };
        at += next + 1;
        if bytes[at - 1] == b'\n' {
            last = Some(at);
        }
    }
    last
}

/// The beginning of a file.
pub(super) struct Sample {
    /// For CSV as it is.
    pub bytes: Vec<u8>,
    pub name: String,
    /// The sample is the whole file.
    pub is_all: bool,
    file_bytes: u64,
}

impl Sample {
    /// The beginning of a file.
    pub(super) fn of_file(file: Arc<dyn InputFile>, path: &Path, is_gzip: bool) -> Result<Self> {
        let file_bytes = file.bytes();
        let mut bytes = Vec::new();
        let is_all = read_up_to(&mut decompressed(InputReader::new(file, 0), is_gzip), SAMPLE_BYTES, &mut bytes, path)?;
        Ok(Self::new(bytes, path, is_all, file_bytes))
    }

    /// The beginning of a stream.
    pub(super) fn of_stream(stream: &Stream, path: &Path, is_gzip: bool) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut text = decompressed(&stream.beginning[..], is_gzip).take(SAMPLE_BYTES as u64);
        match text.read_to_end(&mut bytes) {
            Ok(_) => {}
            // The sample ends where the file ends.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !stream.is_all => {}
            Err(error) => return Err(Error::io(format!("reading {}", path.display()), &error)),
        }
        let is_all = stream.is_all && bytes.len() < SAMPLE_BYTES;
        Ok(Self::new(bytes, path, is_all, 0))
    }

    fn new(mut bytes: Vec<u8>, path: &Path, is_all: bool, file_bytes: u64) -> Self {
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Self { bytes, name: path.display().to_string(), is_all, file_bytes }
    }

    /// The complete records.
    pub(super) fn whole(&self, dialect: &Dialect) -> &[u8] {
        let end = if self.is_all { None } else { last_record_end(&self.bytes, dialect) };
        &self.bytes[..end.unwrap_or(self.bytes.len())]
    }

    /// The complete objects, each on a line of its own.
    pub(super) fn objects(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let mut scanner = JsonScanner::default();
        let mut lines = Vec::with_capacity(bytes.len());
        let mut start = 0;
        for end in 1..=bytes.len() {
            if scanner.step(&mut bytes[..end]) == Some(end) {
                lines.extend(bytes[start..end].iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
                lines.push(b'\n');
                start = end;
            }
        }
        // Whatever is left of a file that was read as a whole is wrong, unless it is blank.
        if self.is_all && !bytes[start..].trim_ascii().is_empty() {
            lines.extend(&bytes[start..]);
        }
        lines
    }

    /// Rows of the file, if the rest is like its beginning.
    pub(super) fn estimated_rows(&self, records: u64) -> u64 {
        let share = self.file_bytes as f64 / self.bytes.len().max(1) as f64;
        (records as f64 * share.max(1.0)) as u64
    }
}
