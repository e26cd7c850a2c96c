//! Arrow: each worker encodes its own batches.
//!
//! Batches are stored as in memory. They are large enough to be read in a few reads, and small enough that a reader can
//! hold several. Text is written with offsets, which more programs can read than views.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion, convert::IpcSchemaEncoder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use flatbuffers::FlatBufferBuilder;
use godwit_common::{Error, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::to_batch;
use godwit_vector::{Chunk, in_layout};
use parking_lot::Mutex;

use super::output_file::{OutputFile, write_error};
use super::{Encoder, FileWriter, TAG};

/// Rows of a batch: as many as other engines put into a row group, so work is shared evenly.
const BATCH_ROWS: usize = 122_880;

/// Bytes after which a batch ends early. Far below the reach of 32-bit offsets.
const BATCH_BYTES: usize = 32 << 20;

/// Lower bound on the size of a batch: smaller ones cause many reads.
const BATCH_BYTES_MIN: usize = 1 << 20;

/// Rows are held as they arrived, concatenated, and encoded.
const COPIES: usize = 3;

/// Magic number at both ends of a file; the first is padded.
const MAGIC: &[u8; 6] = b"ARROW1";
const PADDED_MAGIC: &[u8; 8] = b"ARROW1\0\0";

/// A message without a length: the end of a stream, and of the messages of a file.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Options of an Arrow file.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrowOptions {
    /// True for messages in sequence, without a footer.
    pub(super) is_stream: bool,
    /// How buffers are compressed.
    pub(super) compression: Option<CompressionType>,
}

impl ArrowOptions {
    /// Returns the compression by the name that users write.
    pub(super) fn compression(name: &str) -> Result<Option<CompressionType>> {
        match name {
            "none" | "uncompressed" => Ok(None),
            "lz4" | "lz4_frame" => Ok(Some(CompressionType::LZ4_FRAME)),
            "zstd" => Ok(Some(CompressionType::ZSTD)),
            other => Err(Error::user(format!("there is no compression '{other}' for Arrow files"))
                .with_hint("compressions are none, lz4 and zstd")),
        }
    }
}

/// An Arrow file to which workers add batches.
pub(super) struct ArrowWriter {
    file: Mutex<OpenFile>,
    /// Types of the rows as they arrive, and as stored.
    chunk_schema: SchemaRef,
    schema: SchemaRef,
    options: IpcWriteOptions,
    is_stream: bool,
    batch_bytes: usize,
}

struct OpenFile {
    file: OutputFile,
    /// Bytes written so far.
    offset: usize,
    /// Where the batches are.
    blocks: Vec<Block>,
    /// Memory of `blocks`.
    footer: Reservation,
}

impl ArrowWriter {
    pub(super) fn new(
        file: OutputFile,
        options: &ArrowOptions,
        schema: &SchemaRef,
        batch_bytes_max: usize,
        memory: &BufferManager,
    ) -> Result<Arc<Self>> {
        let fields: Vec<Field> = schema.fields().iter().map(|field| stored_field(field)).collect();
        let chunk_schema = schema.clone();
        let schema = Arc::new(Schema::new(fields));
        let is_stream = options.is_stream;
        let options = IpcWriteOptions::default().try_with_compression(options.compression).map_err(unexpected)?;
        let mut open = OpenFile { file, offset: 0, blocks: Vec::new(), footer: memory.reserve(0, TAG)? };
        if !is_stream {
            open.file.write_all(PADDED_MAGIC).map_err(|error| write_error(&error))?;
            open.offset = PADDED_MAGIC.len();
        }
        let mut tracker = DictionaryTracker::new(true);
        let message = IpcDataGenerator {}.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        open.write(message, &options)?;
        let batch_bytes = BATCH_BYTES.min((batch_bytes_max / COPIES).max(BATCH_BYTES_MIN));
        Ok(Arc::new(Self { file: Mutex::new(open), chunk_schema, schema, options, is_stream, batch_bytes }))
    }
}

impl OpenFile {
    /// Writes a message and returns where it is.
    fn write(&mut self, message: EncodedData, options: &IpcWriteOptions) -> Result<Block> {
        let offset = self.offset;
        let (header, body) = write_message(&mut self.file, message, options).map_err(unexpected)?;
        self.offset += header + body;
        Ok(Block::new(offset as i64, header as i32, body as i64))
    }
}

/// Returns a column as stored.
fn stored_field(field: &Field) -> Field {
    Field::new(field.name(), stored_type(field.data_type()), field.is_nullable())
}

fn stored_type(data_type: &DataType) -> DataType {
    use DataType as D;
    let child = |field: &FieldRef| Arc::new(stored_field(field));
    match data_type {
        D::Utf8View => D::Utf8,
        D::BinaryView => D::Binary,
        D::List(items) => D::List(child(items)),
        D::FixedSizeList(items, length) => D::FixedSizeList(child(items), *length),
        D::Struct(fields) => D::Struct(fields.iter().map(child).collect()),
        D::Map(entries, is_sorted) => D::Map(child(entries), *is_sorted),
        other => other.clone(),
    }
}

impl FileWriter for ArrowWriter {
    fn worker_bytes_min(&self) -> u64 {
        (COPIES * BATCH_BYTES_MIN) as u64
    }

    fn encoder(self: Arc<Self>, memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        let reservation = memory.reserve(0, TAG)?;
        let context = IpcWriteContext::default();
        Ok(Box::new(BatchEncoder { file: self, context, pending: Vec::new(), rows: 0, bytes: 0, reservation }))
    }

    fn finish(&self) -> Result<()> {
        let mut open = self.file.lock();
        let mut end = END.to_vec();
        if !self.is_stream {
            let footer = footer(&self.schema, &open.blocks);
            let length =
                i32::try_from(footer.len()).map_err(|_| Error::unsupported("an Arrow file of so many batches"))?;
            end.extend(footer);
            end.extend(length.to_le_bytes());
            end.extend(MAGIC);
        }
        open.file.write_all(&end).map_err(|error| write_error(&error))?;
        open.file.commit()
    }
}

/// Returns the footer: the schema, and where the batches are.
fn footer(schema: &Schema, blocks: &[Block]) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector::<Block>(&[]);
    let batches = builder.create_vector(blocks);
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let root = footer.finish();
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

struct BatchEncoder {
    file: Arc<ArrowWriter>,
    context: IpcWriteContext,
    /// Rows that haven't been written, with the types of the file.
    pending: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    /// Memory of these rows and their encoded form.
    reservation: Reservation,
}

impl Encoder for BatchEncoder {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let batch = to_batch(chunk, &self.file.chunk_schema)?;
        let columns = batch.columns().iter().zip(self.file.schema.fields());
        let stored = |(array, field): (&ArrayRef, &FieldRef)| {
            in_layout(array, field.data_type()).map_err(|error| error.context(format!("column {}", field.name())))
        };
        let columns = columns.map(stored).collect::<Result<Vec<_>>>()?;
        let stored = RecordBatch::try_new(self.file.schema.clone(), columns).map_err(unexpected)?;
        self.rows += stored.num_rows();
        self.bytes += stored.get_array_memory_size();
        self.pending.push(stored);
        // Without room for more, the rows so far are written.
        let is_short = self.reservation.resize(COPIES * self.bytes).is_err();
        if is_short || self.rows >= BATCH_ROWS || self.bytes >= self.file.batch_bytes {
            self.end_batch()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end_batch()
    }
}

impl BatchEncoder {
    fn end_batch(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let ArrowWriter { schema, options, .. } = &*self.file;
        let batch = arrow_select::concat::concat_batches(schema, &self.pending).map_err(unexpected)?;
        self.pending.clear();
        let mut tracker = DictionaryTracker::new(true);
        let encoded = IpcDataGenerator {}.encode(&batch, &mut tracker, options, &mut self.context);
        let (_, encoded) = encoded.map_err(unexpected)?;
        drop(batch);
        let mut open = self.file.file.lock();
        let footer_bytes = (open.blocks.len() + 1) * size_of::<Block>();
        open.footer.resize(2 * footer_bytes)?;
        let block = open.write(encoded, options)?;
        open.blocks.push(block);
        drop(open);
        (self.rows, self.bytes) = (0, 0);
        self.reservation.resize(0)
    }
}

/// Unwraps disk errors.
fn unexpected(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => write_error(&error),
        other => Error::internal(format!("writing Arrow: {other}")),
    }
}
