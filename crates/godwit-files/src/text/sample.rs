//! Samples of the beginning of a file, from which its properties are determined.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use godwit_common::{Error, MemoryTag, Result};
use godwit_io::{InputFile, InputReader};
use godwit_memory::{BufferManager, Reservation};

use super::compression::text_of;
use super::cutter::{last_record_end, read_up_to};
use super::dialect::Dialect;
use super::json::{JsonScanner, Layout};
use super::options::{Format, TextOptions};
use super::stream::Stream;

/// Size of the sample at the beginning of a file. It is larger if a single record is.
pub(super) const SAMPLE_BYTES: usize = 1 << 20;

/// The beginning of a file, without the lines that an option skips.
pub(super) struct Sample {
    /// For CSV, as stored.
    pub bytes: Vec<u8>,
    pub name: String,
    /// True if the sample is the rest of the file.
    pub is_all: bool,
    pub first_line: u64,
    file_bytes: u64,
    _memory: Reservation,
}

impl Sample {
    /// The beginning of a file.
    pub(super) fn of_file(
        file: Arc<dyn InputFile>,
        path: &Path,
        options: &TextOptions,
        memory: &BufferManager,
    ) -> Result<Self> {
        let file_bytes = file.bytes();
        let text = text_of(InputReader::new(file, 0), options.compression, &options.encoding)?;
        Self::read(text, path, options, file_bytes, memory)
    }

    /// The beginning of a stream.
    pub(super) fn of_stream(
        stream: &Stream,
        path: &Path,
        options: &TextOptions,
        memory: &BufferManager,
    ) -> Result<Self> {
        let text = text_of(&stream.beginning[..], options.compression, &options.encoding)?;
        let mut sample = Self::read(UntilCut(text, stream.is_all), path, options, 0, memory)?;
        sample.is_all &= stream.is_all;
        Ok(sample)
    }

    fn read(
        mut text: impl Read,
        path: &Path,
        options: &TextOptions,
        file_bytes: u64,
        memory: &BufferManager,
    ) -> Result<Self> {
        let mut reservation = memory.reserve(SAMPLE_BYTES, MemoryTag::Reader)?;
        let (mut bytes, mut is_all) = (Vec::new(), false);
        let (mut skip, newline) = (options.skip.unwrap_or(0), options.newline.unwrap_or(b'\n'));
        let mut first_line = 1;
        while skip > 0 && !is_all {
            is_all = read_up_to(&mut text, SAMPLE_BYTES, &mut bytes, path)?;
            let mut ends = memchr::memchr_iter(newline, &bytes);
            let (lines, end) = match ends.nth(skip as usize - 1) {
                Some(last) => (skip, last + 1),
                None => (memchr::memchr_iter(newline, &bytes).count() as u64, bytes.len()),
            };
            skip -= lines;
            first_line += lines;
            bytes.drain(..end);
        }
        let mut length = SAMPLE_BYTES;
        loop {
            is_all = is_all || read_up_to(&mut text, length, &mut bytes, path)?;
            let has_record = || match options.format {
                Format::Csv => memchr::memchr2(b'\n', b'\r', &bytes).is_some(),
                Format::Json => {
                    let mut bytes = bytes.clone();
                    let end = JsonScanner::new(Layout::Elements).last_value_end(&mut bytes);
                    end.is_some_and(|end| !bytes[..end].trim_ascii().is_empty())
                }
            };
            if is_all || has_record() {
                break;
            }
            length *= 2;
            let twice = if options.format == Format::Json { 2 } else { 1 };
            reservation.resize(length * twice).map_err(|_| {
                Error::resource(format!("{}: the first record needs more memory than is free", path.display()))
                    .with_hint("raise the memory limit; if no record is so long, check quotes and braces")
            })?;
        }
        Ok(Self { bytes, name: path.display().to_string(), is_all, first_line, file_bytes, _memory: reservation })
    }

    /// Returns the complete records.
    pub(super) fn whole(&self, dialect: &Dialect) -> &[u8] {
        let end = if self.is_all { None } else { last_record_end(&self.bytes, dialect) };
        &self.bytes[..end.unwrap_or(self.bytes.len())]
    }

    /// Estimates the rows of the file, assuming that the rest is like its beginning.
    pub(super) fn estimated_rows(&self, records: u64) -> u64 {
        let share = self.file_bytes as f64 / self.bytes.len().max(1) as f64;
        (records as f64 * share.max(1.0)) as u64
    }
}

/// Text that may be truncated, unless it is all.
struct UntilCut<R>(R, bool);

impl<R: Read> Read for UntilCut<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !self.1 => Ok(0),
            read => read,
        }
    }
}
