//! Cuts a file into pieces that end with a record.
//!
//! The file is read once, from front to back, by whichever worker needs a piece; finding the end of the last record is a
//! fast scan for quotes and newlines (CSV), or for strings and braces (JSON). What follows it begins the next piece. JSON
//! arrays of objects become objects one after the other: what stands between them is replaced by spaces.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use godwit_common::{Error, Result};
use memchr::{memchr, memchr2, memrchr};

use super::csv::Dialect;

/// Bytes read for a piece: long enough that handing out pieces costs nothing, short enough that two workers end together.
const PIECE_BYTES: usize = 1 << 20;

/// Longest record. Longer ones are more likely a quote that isn't closed.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Bytes that the beginning is judged by.
const SAMPLE_BYTES: usize = 1 << 20;

/// Some records of a file.
pub(super) struct Piece {
    pub bytes: Vec<u8>,
    /// Line of the file with which it begins, from 1.
    pub first_line: u64,
    /// It is the first of the file.
    pub is_first: bool,
}

/// How the end of a record is found.
pub(super) enum RecordEnds {
    Csv(Dialect),
    Json(JsonScanner),
}

/// Reads a file piece by piece.
pub(super) struct Cutter {
    file: Box<dyn Read + Send>,
    name: String,
    ends: RecordEnds,
    /// What was read and isn't handed out.
    rest: Vec<u8>,
    line: u64,
    is_first: bool,
    at_end: bool,
}

fn open(path: &Path, is_gzip: bool) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(|error| Error::io(format!("opening {}", path.display()), &error))?;
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// Reads until `bytes` has so many, or the file ends; true if it ended.
fn read_up_to(file: &mut dyn Read, length: usize, bytes: &mut Vec<u8>, name: &str) -> Result<bool> {
    let missing = length.saturating_sub(bytes.len()) as u64;
    let read = file.take(missing).read_to_end(bytes);
    let read = read.map_err(|error| Error::io(format!("reading {name}"), &error))?;
    Ok((read as u64) < missing)
}

impl Cutter {
    pub(super) fn open(path: &Path, is_gzip: bool, ends: RecordEnds) -> Result<Self> {
        let name = path.display().to_string();
        let file = open(path, is_gzip)?;
        Ok(Self { file, name, ends, rest: Vec::new(), line: 1, is_first: true, at_end: false })
    }

    /// The next piece; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut length = PIECE_BYTES;
        loop {
            let known = bytes.len();
            if !self.at_end {
                self.at_end = read_up_to(&mut self.file, known.max(length), &mut bytes, &self.name)?;
            }
            if self.is_first && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            let end = match &mut self.ends {
                RecordEnds::Csv(dialect) => last_record_end(&bytes, dialect),
                RecordEnds::Json(scanner) => scanner.last_object_end(&mut bytes),
            };
            let end = if self.at_end { Some(bytes.len()) } else { end };
            if let Some(end) = end {
                self.rest = bytes.split_off(end);
                break;
            }
            if bytes.len() >= RECORD_BYTES_MAX {
                let error = format!("{}: the record in line {} doesn't end within 64 MiB", self.name, self.line);
                return Err(Error::user(error).with_hint("is a quote not closed, or another character the quote?"));
            }
            length = bytes.len() * 2;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        if let RecordEnds::Json(scanner) = &mut self.ends {
            scanner.forget(bytes.len());
        }
        let piece = Piece { first_line: self.line, is_first: std::mem::take(&mut self.is_first), bytes };
        self.line += memchr::memchr_iter(b'\n', &piece.bytes).count() as u64;
        if let Err(error) = std::str::from_utf8(&piece.bytes) {
            let before = &piece.bytes[..error.valid_up_to()];
            let line = piece.first_line + memchr::memchr_iter(b'\n', before).count() as u64;
            return Err(Error::user(format!("{}, line {line}: the text is not UTF-8", self.name))
                .with_hint("convert the file to UTF-8 first"));
        }
        Ok(Some(piece))
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where the last record that ends in `bytes` ends. As in the parser, a quote is one only where a field begins.
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
        let Some(next) = memchr2(dialect.delimiter, b'\n', &bytes[at..]) else { return last };
        at += next + 1;
        if bytes[at - 1] == b'\n' {
            last = Some(at);
        }
    }
    last
}

/// Finds the ends of JSON objects, and what stands between them.
#[derive(Default)]
pub(super) struct JsonScanner {
    /// Braces and brackets that are open, not counting the array around all objects.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Bytes of the next piece that were looked at.
    seen: usize,
    /// Where the last object ended.
    last: Option<usize>,
}

impl JsonScanner {
    /// Where the last object that ends in `bytes` ends. `bytes` may have grown since the last call.
    pub(super) fn last_object_end(&mut self, bytes: &mut [u8]) -> Option<usize> {
        for (at, byte) in bytes.iter_mut().enumerate().skip(self.seen) {
            if self.in_string {
                self.in_string = self.is_escaped || *byte != b'"';
                self.is_escaped = !self.is_escaped && *byte == b'\\';
                continue;
            }
            match *byte {
                b'"' => self.in_string = true,
                b'[' | b']' | b',' if self.depth == 0 => *byte = b' ',
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.last = Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        self.seen = bytes.len();
        self.last
    }

    /// So many bytes are handed out.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.seen -= bytes.min(self.seen);
        self.last = None;
    }
}

/// The beginning of a file.
pub(super) struct Sample {
    /// For CSV as it is.
    pub bytes: Vec<u8>,
    pub name: String,
    /// The file is no longer.
    pub is_all: bool,
    file_bytes: u64,
}

/// Reads the beginning of a file.
pub(super) fn sample(path: &Path, is_gzip: bool) -> Result<Sample> {
    let name = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| Error::io(format!("opening {name}"), &error))?;
    let mut bytes = Vec::new();
    let is_all = read_up_to(&mut open(path, is_gzip)?, SAMPLE_BYTES, &mut bytes, &name)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(Sample { bytes, name, is_all, file_bytes: metadata.len() })
}

impl Sample {
    /// The records that are whole.
    pub(super) fn whole(&self, dialect: &Dialect) -> &[u8] {
        let end = if self.is_all { None } else { last_record_end(&self.bytes, dialect) };
        &self.bytes[..end.unwrap_or(self.bytes.len())]
    }

    /// The objects that are whole, each in a line of its own.
    pub(super) fn objects(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let mut scanner = JsonScanner::default();
        let mut lines = Vec::with_capacity(bytes.len());
        let mut start = 0;
        for end in 1..=bytes.len() {
            if scanner.last_object_end(&mut bytes[..end]) == Some(end) {
                lines.extend(bytes[start..end].iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
                lines.push(b'\n');
                start = end;
            }
        }
        // What is left of a file that was read as a whole is wrong, unless it is blank.
        if self.is_all && !bytes[start..].trim_ascii().is_empty() {
            lines.extend(&bytes[start..]);
        }
        lines
    }

    /// Rows of the file, if it goes on as it begins.
    pub(super) fn estimated_rows(&self, records: u64) -> u64 {
        let share = self.file_bytes as f64 / self.bytes.len().max(1) as f64;
        (records as f64 * share.max(1.0)) as u64
    }
}
