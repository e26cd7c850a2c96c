//! CSV and JSON: each worker writes blocks of whole lines, compressed one by one if that is asked for.
//!
//! Members of a gzip file and frames of a zstd file may follow each other, so blocks are compressed in parallel, too.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_json::writer::{LineDelimited, Writer, WriterBuilder};
use arrow_schema::{ArrowError, SchemaRef};
use godwit_common::{Error, Result};
use godwit_memory::{BufferManager, Reservation};
use parking_lot::Mutex;

use super::output_file::{OutputFile, write_error};
use super::{Encoder, FileWriter, TAG};

/// Text that a worker gathers before it is written: large enough for the disk and for compression.
const BLOCK_BYTES: usize = 1 << 20;

/// What a compressed block may take besides the text itself.
const COMPRESSED_BYTES: usize = BLOCK_BYTES + (BLOCK_BYTES >> 3);

const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";
const TIMESTAMP_TZ_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f%:z";

/// How a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// As it is.
    Plain,
    /// A member of a gzip file.
    Gzip,
    /// A frame of a zstd file.
    Zstd,
}

impl Block {
    fn compress(self, text: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Block::Plain => out.extend_from_slice(text),
            Block::Gzip => {
                let mut member = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                member.write_all(text)?;
                member.finish()?;
            }
            Block::Zstd => out.extend(zstd::bulk::compress(text, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        }
        Ok(())
    }
}

/// Rows as text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextFormat {
    /// Values between delimiters.
    Csv(CsvOptions, Block),
    /// An object per row and line, or an array of them.
    Json {
        /// One array.
        array: bool,
        /// How blocks are stored.
        block: Block,
    },
}

/// Options of a CSV file.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// The first line names the columns.
    pub(super) header: bool,
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    /// What stands before a quote within quotes.
    pub(super) escape: u8,
    /// What stands for NULL, without quotes.
    pub(super) null: String,
    /// `None`: ISO 8601.
    pub(super) date_format: Option<String>,
    pub(super) timestamp_format: Option<String>,
}

/// A text file that workers add blocks to.
pub(super) struct TextWriter {
    file: Mutex<OpenFile>,
    format: TextFormat,
}

struct OpenFile {
    file: OutputFile,
    has_rows: bool,
}

impl TextWriter {
    pub(super) fn new(file: OutputFile, format: &TextFormat, schema: &SchemaRef) -> Result<Arc<Self>> {
        let file = Mutex::new(OpenFile { file, has_rows: false });
        let writer = Self { file, format: format.clone() };
        match format {
            TextFormat::Csv(options, _) if options.header => {
                let mut line = Vec::new();
                for (index, field) in schema.fields().iter().enumerate() {
                    if index > 0 {
                        line.push(options.delimiter);
                    }
                    options.write_field(field.name().as_bytes(), &mut line);
                }
                line.push(b'\n');
                writer.write_around(&line)?;
            }
            TextFormat::Json { array: true, .. } => writer.write_around(b"[")?,
            _ => {}
        }
        Ok(Arc::new(writer))
    }

    fn block(&self) -> Block {
        match self.format {
            TextFormat::Csv(_, block) | TextFormat::Json { block, .. } => block,
        }
    }

    /// Writes what stands before or behind the rows.
    fn write_around(&self, text: &[u8]) -> Result<()> {
        let mut stored = Vec::new();
        self.block().compress(text, &mut stored).map_err(|error| write_error(&error))?;
        self.file.lock().file.write_all(&stored).map_err(|error| write_error(&error))
    }

    /// Writes whole rows, each of which starts with its separator from the one before. The first row of the file has
    /// none, so it is cut off there.
    fn write_rows(&self, text: &[u8], separator_bytes: usize) -> Result<()> {
        let compressed = |text: &[u8]| {
            let mut stored = Vec::new();
            self.block().compress(text, &mut stored).map(|()| stored).map_err(|error| write_error(&error))
        };
        let stored = match self.block() {
            Block::Plain => None,
            _ if separator_bytes == 0 || self.file.lock().has_rows => Some(compressed(text)?),
            _ => None,
        };
        let mut open = self.file.lock();
        let is_first = !std::mem::replace(&mut open.has_rows, true);
        let text = if is_first { &text[separator_bytes..] } else { text };
        let written = match (stored, self.block()) {
            (Some(stored), _) => open.file.write_all(&stored),
            (None, Block::Plain) => open.file.write_all(text),
            (None, _) => open.file.write_all(&compressed(text)?),
        };
        written.map_err(|error| write_error(&error))
    }
}

impl FileWriter for TextWriter {
    fn worker_bytes_min(&self) -> u64 {
        (BLOCK_BYTES + COMPRESSED_BYTES) as u64
    }

    fn encoder(self: Arc<Self>, memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        let compressed_bytes = if self.block() == Block::Plain { 0 } else { COMPRESSED_BYTES };
        let reservation = memory.reserve(BLOCK_BYTES + compressed_bytes, TAG)?;
        Ok(Box::new(TextEncoder {
            file: self,
            text: Vec::with_capacity(BLOCK_BYTES),
            value: String::new(),
            reservation,
        }))
    }

    fn finish(&self) -> Result<()> {
        if let TextFormat::Json { array: true, .. } = self.format {
            self.write_around(b"\n]\n")?;
        }
        self.file.lock().file.commit()
    }
}

struct TextEncoder {
    file: Arc<TextWriter>,
    text: Vec<u8>,
    /// One value.
    value: String,
    /// Room for a block, and for a compressed one.
    reservation: Reservation,
}

impl Encoder for TextEncoder {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let file = self.file.clone();
        match &file.format {
            TextFormat::Csv(options, _) => self.write_csv(options, batch)?,
            TextFormat::Json { array, .. } => self.write_json(*array, batch)?,
        }
        // Long rows make a block larger than usual.
        if self.text.capacity() > self.reservation.bytes() {
            self.reservation.resize(self.text.capacity())?;
        }
        if self.text.len() >= BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end_block()
    }
}

impl TextEncoder {
    fn end_block(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let separator_bytes = match self.file.format {
            TextFormat::Json { array: true, .. } => ROW_SEPARATOR_BYTES,
            _ => 0,
        };
        self.file.write_rows(&self.text, separator_bytes)?;
        self.text.clear();
        Ok(())
    }

    fn write_csv(&mut self, options: &CsvOptions, batch: &RecordBatch) -> Result<()> {
        let formats = FormatOptions::new()
            .with_date_format(options.date_format.as_deref())
            .with_timestamp_format(Some(options.timestamp_format.as_deref().unwrap_or(TIMESTAMP_FORMAT)))
            .with_timestamp_tz_format(Some(options.timestamp_format.as_deref().unwrap_or(TIMESTAMP_TZ_FORMAT)));
        let formatter = |column| ArrayFormatter::try_new(column, &formats).map_err(unwritable);
        let columns = batch.columns().iter().map(|column| formatter(column.as_ref())).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    self.text.push(options.delimiter);
                }
                if batch.column(index).is_null(row) {
                    self.text.extend_from_slice(options.null.as_bytes());
                } else {
                    self.value.clear();
                    column.value(row).write(&mut self.value).map_err(unwritable)?;
                    options.write_field(self.value.as_bytes(), &mut self.text);
                }
            }
            self.text.push(b'\n');
        }
        Ok(())
    }

    fn write_json(&mut self, array: bool, batch: &RecordBatch) -> Result<()> {
        let start = self.text.len();
        let mut writer: Writer<_, LineDelimited> = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_timestamp_format(TIMESTAMP_FORMAT.into())
            .with_timestamp_tz_format(TIMESTAMP_TZ_FORMAT.into())
            .build(&mut self.text);
        writer.write(batch).map_err(unwritable)?;
        writer.finish().map_err(unwritable)?;
        drop(writer);
        if array {
            // A line break ends each row and is nowhere else: within texts it is escaped.
            let lines = self.text.split_off(start);
            for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                self.text.extend_from_slice(ROW_SEPARATOR);
                self.text.extend_from_slice(line);
            }
        }
        Ok(())
    }
}

/// What stands before each row of an array; before the first one without the comma.
const ROW_SEPARATOR: &[u8] = b",\n\t";
const ROW_SEPARATOR_BYTES: usize = 1;

impl CsvOptions {
    /// Appends a value, in quotes if it could be taken for something else.
    fn write_field(&self, value: &[u8], out: &mut Vec<u8>) {
        let is_special = |&byte: &u8| byte == self.delimiter || byte == self.quote || byte == b'\n' || byte == b'\r';
        if value != self.null.as_bytes() && !value.iter().any(is_special) {
            out.extend_from_slice(value);
            return;
        }
        out.push(self.quote);
        for &byte in value {
            if byte == self.quote || byte == self.escape {
                out.push(self.escape);
            }
            out.push(byte);
        }
        out.push(self.quote);
    }
}

fn unwritable(error: ArrowError) -> Error {
    Error::unsupported(format!("writing values as text: {error}")).with_hint("check the date and timestamp formats")
}
