//! CSV and JSON: each worker writes blocks of whole lines, compressed one by one if requested.
//!
//! Members of a gzip file and frames of a zstd file may be concatenated, so blocks are also compressed in parallel.

use std::io::Write as _;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use godwit_common::Result;
use godwit_memory::{BufferManager, Reservation};
use godwit_types::{SqlType, write_json_string};
use godwit_vector::Chunk;
use godwit_vector::sql::{Reader, type_of_field};
use parking_lot::Mutex;

use super::csv::CsvOptions;
use super::output_file::{OutputFile, write_error};
use super::{Encoder, FileWriter, TAG};

/// Text gathered by a worker before it is written, unless files are to be smaller: large enough for the disk and for
/// compression.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns the maximum size of a compressed block.
const fn compressed_bytes(block_bytes: usize) -> usize {
    block_bytes + (block_bytes >> 3)
}

/// The storage of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// Uncompressed.
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
    /// One object per row and line, or an array of them.
    Json {
        /// True for one array.
        array: bool,
        /// The storage of blocks.
        block: Block,
    },
}

/// A text file to which workers add blocks.
pub(super) struct TextWriter {
    file: Mutex<OpenFile>,
    format: TextFormat,
    schema: SchemaRef,
    types: Vec<SqlType>,
    /// Size of a block.
    block_bytes: usize,
}

struct OpenFile {
    file: OutputFile,
    has_rows: bool,
}

impl TextWriter {
    /// Begins a file, which shall have about `file_bytes` if that is given.
    pub(super) fn new(
        file: OutputFile,
        format: &TextFormat,
        schema: &SchemaRef,
        file_bytes: Option<u64>,
    ) -> Result<Arc<Self>> {
        let block_bytes =
            file_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        let file = Mutex::new(OpenFile { file, has_rows: false });
        let types = schema.fields().iter().map(|field| type_of_field(field)).collect::<Result<_>>()?;
        let writer = Self { file, format: format.clone(), schema: schema.clone(), types, block_bytes };
        match format {
            TextFormat::Csv(options, _) if options.header => {
                let mut line = Vec::new();
                options.write_header(schema, &mut line);
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

    /// Writes the text before or after the rows.
    fn write_around(&self, text: &[u8]) -> Result<()> {
        let mut stored = Vec::new();
        self.block().compress(text, &mut stored).map_err(|error| write_error(&error))?;
        self.file.lock().file.write_all(&stored).map_err(|error| write_error(&error))
    }

    /// Writes whole rows, each preceded by its separator, which is cut off in the first row of the file.
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
        (self.block_bytes + compressed_bytes(self.block_bytes)) as u64
    }

    fn encoder(self: Arc<Self>, memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        let compressed = if self.block() == Block::Plain { 0 } else { compressed_bytes(self.block_bytes) };
        let reservation = memory.reserve(self.block_bytes + compressed, TAG)?;
        let text = Vec::with_capacity(self.block_bytes);
        Ok(Box::new(TextEncoder { file: self, text, reservation }))
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
    /// Room for a block, and for a compressed one.
    reservation: Reservation,
}

impl Encoder for TextEncoder {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let file = self.file.clone();
        match &file.format {
            TextFormat::Csv(options, _) => options.write_rows(chunk, &file.schema, &file.types, &mut self.text)?,
            TextFormat::Json { array, .. } => self.write_json(*array, chunk)?,
        }
        // Long rows make a block unusually large.
        if self.text.capacity() > self.reservation.bytes() {
            self.reservation.resize(self.text.capacity())?;
        }
        if self.text.len() >= file.block_bytes { self.end_block() } else { Ok(()) }
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

    fn write_json(&mut self, array: bool, chunk: &Chunk) -> Result<()> {
        let columns = self.file.schema.fields().iter().zip(&self.file.types).enumerate();
        let columns = columns.map(|(index, (field, ty))| {
            let mut key = String::from(if index == 0 { "{" } else { "," });
            write_json_string(&mut key, field.name());
            key.push(':');
            Ok((key, Reader::new(&chunk.dense(index), ty)?))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut row_text = String::new();
        for row in 0..chunk.len() {
            row_text.clear();
            for (key, values) in &columns {
                row_text.push_str(key);
                values.write_json(row, &mut row_text)?;
            }
            self.text.extend_from_slice(if array { ROW_SEPARATOR } else { b"" });
            self.text.extend_from_slice(row_text.as_bytes());
            self.text.extend_from_slice(if array { b"}" } else { b"}\n" });
        }
        Ok(())
    }
}

/// The separator before each row of an array; the first one loses its comma.
const ROW_SEPARATOR: &[u8] = b",\n\t";
const ROW_SEPARATOR_BYTES: usize = 1;
