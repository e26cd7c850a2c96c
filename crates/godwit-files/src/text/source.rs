//! Sources of text, and the properties of their records.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use godwit_common::{Error, MemoryTag, Result};
use godwit_io::{FileKind, Files, Input, InputFile, InputReader};
use godwit_memory::BufferManager;

use super::columns::ColumnForm;
use super::compression::{Compression, text_of};
use super::counts::Counted;
use super::cutter::{Cutter, CutterOptions, RECORD_BYTES_MAX, RecordEnds, open_error};
use super::dialect::Dialect;
use super::options::TextOptions;
use super::sample::Sample;
use super::sniff::Sniffed;
use super::stream::{SharedStream, Streams};

/// A file or stream of a table.
pub(super) struct TextSource {
    pub path: PathBuf,
    /// Present if it isn't a file.
    stream: Option<SharedStream>,
    /// Length as stored.
    pub bytes: u64,
    /// Properties of CSV records; `None`: JSON.
    pub shape: Option<Arc<CsvShape>>,
}

/// Properties of the records of a CSV file.
pub(super) struct CsvShape {
    pub dialect: Dialect,
    /// The end of a line, as options are written.
    pub newline: &'static str,
    /// Number of lines before the header or the first row, besides those skipped by an option.
    pub skip: u64,
    pub header: Option<Vec<Vec<u8>>>,
    /// Number of fields of a record.
    pub width: usize,
    /// For each column of the table its field, if there is one, and the notation of its values.
    pub columns: Vec<(Option<usize>, ColumnForm)>,
}

impl CsvShape {
    /// Returns the shape of a file whose fields are the columns of the table.
    pub(super) fn of(sniffed: Sniffed) -> Self {
        let Sniffed { dialect, newline, skip, header, forms, fields, .. } = sniffed;
        let columns = forms.into_iter().enumerate().map(|(at, form)| (Some(at), form)).collect();
        Self { dialect, newline, skip, header, width: fields.len(), columns }
    }
}

impl TextSource {
    pub(super) fn open(files: &dyn Files, streams: &Streams, path: &Path, is_alone: bool) -> Result<Self> {
        let found = files.metadata(path).map_err(|error| open_error(path, &error))?;
        let stream = match found.kind {
            FileKind::Stream if !is_alone => {
                return Err(Error::user(format!("{} is a pipe or a device", path.display()))
                    .with_hint("a list of files has none of them; read it alone"));
            }
            FileKind::Stream => Some(streams.open(files, path, found.identity)?),
            FileKind::File | FileKind::Folder => None,
        };
        Ok(Self { path: path.to_owned(), stream, bytes: found.bytes, shape: None })
    }

    /// Returns a sample of its beginning.
    pub(super) fn sample(&self, files: &dyn Files, options: &TextOptions, memory: &BufferManager) -> Result<Sample> {
        let options = &self.options(options);
        match &self.stream {
            Some(stream) => {
                let sample = stream.look(|stream| Sample::of_stream(stream, &self.path, options, memory));
                let sample = sample.expect("no scan knows a stream that is being planned")?;
                // The writer is gone.
                if sample.is_all && sample.bytes.is_empty() {
                    return Err(Error::user(format!("{} is empty: it has no columns", self.path.display())));
                }
                Ok(sample)
            }
            None => Sample::of_file(opened(files, &self.path)?, &self.path, options, memory),
        }
    }

    /// Returns all of its text. The stored bytes that are read for it are added to `count`.
    pub(super) fn text(
        &self,
        files: &dyn Files,
        options: &TextOptions,
        count: &Arc<AtomicU64>,
    ) -> Result<Box<dyn Read + Send>> {
        let options = self.options(options);
        let stored: Box<dyn Read + Send> = match &self.stream {
            Some(stream) => stream.take(&self.path)?.reader(),
            None => Box::new(InputReader::new(opened(files, &self.path)?, 0)),
        };
        let counted: Box<dyn Read + Send> = Box::new(Counted { bytes: stored, count: count.clone() });
        text_of(counted, options.compression, &options.encoding)
    }

    /// Creates a cutter to examine a whole file during planning; `None`: it can be read only once.
    pub(super) fn cutter(
        &self,
        files: &dyn Files,
        options: &TextOptions,
        (ends, skip): (RecordEnds, u64),
        memory: &BufferManager,
    ) -> Result<Option<Cutter>> {
        if self.stream.is_some() {
            return Ok(None);
        }
        let usual = if matches!(ends, RecordEnds::Csv(_)) { RECORD_BYTES_MAX } else { usize::MAX };
        let record_bytes_max = options.record_bytes_max.unwrap_or(usual);
        let (skip, memory) = (options.skip.unwrap_or(0) + skip, memory.reserve(0, MemoryTag::Reader)?);
        let cut = CutterOptions { source: 0, skip, record_bytes_max, memory };
        Ok(Some(Cutter::new(self.text(files, options, &Arc::default())?, &self.path, ends, cut)))
    }

    /// Returns the options, with the compression given by its extension.
    fn options(&self, options: &TextOptions) -> TextOptions {
        let of_ending = Compression::of_ending(crate::local::name_of(&self.path));
        let compression = if options.is_compression_given { options.compression } else { of_ending };
        TextOptions { compression, ..options.clone() }
    }
}

/// Opens a file that can be read more than once.
fn opened(files: &dyn Files, path: &Path) -> Result<Arc<dyn InputFile>> {
    match files.open(path).map_err(|error| open_error(path, &error))? {
        Input::File(file) => Ok(file),
        Input::Stream(_) => Err(Error::user(format!("{} became a pipe or a device", path.display()))),
    }
}
