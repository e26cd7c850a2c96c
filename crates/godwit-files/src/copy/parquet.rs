//! Parquet: each worker encodes its own row groups.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use godwit_common::{Error, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::to_batch;
use godwit_vector::{Chunk, in_layout};
use parking_lot::Mutex;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, TypePtr};

use super::distinct::DistinctValues;
use super::output_file::OutputFile;
use super::{Encoder, FileWriter, TAG};

/// Rows of a row group, as in other engines. Readers prune and distribute work by row group.
const ROW_GROUP_ROWS: usize = 122_880;

/// Encoded bytes after which a row group ends early: wide rows would otherwise hold hundreds of megabytes.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Lower bound on the size of a row group: smaller ones compress badly and make long footers.
const ROW_GROUP_BYTES_MIN: usize = 2 << 20;

/// Rows by which columns are judged before the first row group is encoded; held until then. See [`DistinctValues`].
const JUDGED_ROWS: usize = 16_384;

/// Memory of a finished column chunk in the footer: its location, statistics and page index.
const COLUMN_CHUNK_FOOTER_BYTES: usize = 2 << 10;

/// Zstandard's default level.
const ZSTD_LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

/// Brotli's level if the user names none: its default, 11, takes a hundred times as long for a few percent.
const BROTLI_LEVEL: u32 = 4;

/// The compression of pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression(Codec);

impl Compression {
    /// Returns the compression by the name that users write.
    pub(super) fn of(name: &str, level: Option<usize>) -> Result<Self> {
        let invalid = |error: ParquetError| Error::user(format!("COMPRESSION_LEVEL: {error}"));
        let level = level.map(|level| i32::try_from(level).unwrap_or(i32::MAX));
        let codec = match (name, level) {
            ("uncompressed" | "none", None) => Codec::UNCOMPRESSED,
            ("snappy", None) => Codec::SNAPPY,
            ("lz4" | "lz4_raw", None) => Codec::LZ4_RAW,
            ("gzip", None) => Codec::GZIP(GzipLevel::default()),
            ("gzip", Some(level)) => Codec::GZIP(GzipLevel::try_new(level as u32).map_err(invalid)?),
            ("brotli", None) => Codec::BROTLI(BrotliLevel::try_new(BROTLI_LEVEL).map_err(invalid)?),
            ("brotli", Some(level)) => Codec::BROTLI(BrotliLevel::try_new(level as u32).map_err(invalid)?),
            ("zstd", None) => Codec::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).map_err(invalid)?),
            ("zstd", Some(level)) => Codec::ZSTD(ZstdLevel::try_new(level).map_err(invalid)?),
            ("uncompressed" | "none" | "snappy" | "lz4" | "lz4_raw", Some(_)) => {
                return Err(Error::user(format!("the compression {name} has no levels"))
                    .with_hint("leave COMPRESSION_LEVEL out, or use zstd, gzip or brotli"));
            }
            _ => {
                return Err(Error::user(format!("there is no compression '{name}' for Parquet"))
                    .with_hint("compressions are uncompressed, snappy, lz4, zstd, gzip and brotli"));
            }
        };
        Ok(Self(codec))
    }
}

/// Options of a Parquet file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetOptions {
    /// The compression of pages.
    pub(super) compression: Compression,
    /// Most rows in a row group.
    pub(super) row_group_rows: usize,
    /// Encoded bytes after which a row group ends.
    pub(super) row_group_bytes: usize,
    /// Pairs of the footer's own metadata.
    pub(super) metadata: Vec<(String, String)>,
    /// True for data pages of version 2.
    pub(super) has_new_pages: bool,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            compression: Compression(Codec::SNAPPY),
            row_group_rows: ROW_GROUP_ROWS,
            row_group_bytes: ROW_GROUP_BYTES,
            metadata: Vec::new(),
            has_new_pages: false,
        }
    }
}

/// A Parquet file to which workers add row groups.
pub(super) struct ParquetWriter {
    /// `None` while the footer is being written.
    file: Mutex<Option<OpenFile>>,
    root: TypePtr,
    compression: Compression,
    has_new_pages: bool,
    /// Types of the rows as they arrive, and as stored.
    chunk_schema: SchemaRef,
    schema: SchemaRef,
    row_group_rows: usize,
    row_group_bytes: usize,
}

struct OpenFile {
    writer: SerializedFileWriter<OutputFile>,
    /// Memory of the footer.
    footer: Reservation,
}

impl ParquetWriter {
    pub(super) fn new(
        file: OutputFile,
        options: &ParquetOptions,
        schema: &SchemaRef,
        row_group_bytes_max: usize,
        memory: &BufferManager,
    ) -> Result<Arc<Self>> {
        let fields = schema.fields().iter().map(|field| {
            let data_type = stored_type(field.data_type());
            Ok(Field::new(field.name(), check_type(data_type, field)?, true))
        });
        let chunk_schema = schema.clone();
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        let root = ArrowSchemaConverter::new().convert(&schema).map_err(unexpected)?.root_schema_ptr();
        let metadata = options.metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let properties = properties(options.compression, options.has_new_pages).set_key_value_metadata(Some(metadata));
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(file, root.clone(), properties).map_err(unexpected)?;
        let footer = memory.reserve(0, TAG)?;
        Ok(Arc::new(Self {
            file: Mutex::new(Some(OpenFile { writer, footer })),
            root,
            compression: options.compression,
            has_new_pages: options.has_new_pages,
            chunk_schema,
            schema,
            row_group_rows: options.row_group_rows,
            row_group_bytes: options.row_group_bytes.min(row_group_bytes_max.max(ROW_GROUP_BYTES_MIN)),
        }))
    }
}

fn properties(compression: Compression, has_new_pages: bool) -> WriterPropertiesBuilder {
    let version = if has_new_pages { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
    WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression.0)
        .set_created_by(format!("Godwit version {}", env!("CARGO_PKG_VERSION")))
}

impl ParquetWriter {
    /// Creates the columns of row groups, with dictionaries for those with few values.
    fn row_groups(&self, are_few: &[bool]) -> Result<ArrowRowGroupWriterFactory> {
        let mut properties = properties(self.compression, self.has_new_pages);
        for (field, _) in self.schema.fields().iter().zip(are_few).filter(|(_, is_few)| !**is_few) {
            let column = ColumnPath::new(vec![field.name().clone()]);
            properties = properties.set_column_dictionary_enabled(column, false);
        }
        // Columns take their properties from a file writer; this one writes no file.
        let writer = SerializedFileWriter::new(std::io::sink(), self.root.clone(), Arc::new(properties.build()));
        Ok(ArrowRowGroupWriterFactory::new(&writer.map_err(unexpected)?, self.schema.clone()))
    }
}

/// Returns Parquet's nearest type for types that it can't express.
fn stored_type(data_type: &DataType) -> DataType {
    let part =
        |field: &Arc<Field>| Arc::new(Field::new(field.name(), stored_type(field.data_type()), field.is_nullable()));
    match data_type {
        DataType::List(item) => DataType::List(part(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(part(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(part).collect()),
        DataType::Map(entries, sorted) => DataType::Map(part(entries), *sorted),
        DataType::Null => DataType::Int32,
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        other => other.clone(),
    }
}

fn check_type(data_type: DataType, field: &Field) -> Result<DataType> {
    if !matches!(data_type, DataType::Interval(_) | DataType::Duration(_)) {
        return Ok(data_type);
    }
    Err(Error::unsupported(format!("column {}: intervals in Parquet files", field.name()))
        .with_hint(format!("write it as text: CAST({} AS VARCHAR)", field.name())))
}

impl FileWriter for ParquetWriter {
    fn worker_bytes_min(&self) -> u64 {
        ROW_GROUP_BYTES_MIN as u64
    }

    fn encoder(self: Arc<Self>, memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        let reservation = memory.reserve(0, TAG)?;
        let distinct = DistinctValues::new(self.schema.fields().len(), JUDGED_ROWS.min(self.row_group_rows));
        let state = State::Judging { distinct, held: Vec::new(), held_bytes: 0 };
        Ok(Box::new(RowGroupEncoder { file: self, state, columns: Vec::new(), rows: 0, reservation }))
    }

    fn finish(&self) -> Result<()> {
        let OpenFile { mut writer, .. } = self.file.lock().take().expect("a file is finished once");
        writer.finish().map_err(write_error)?;
        writer.inner_mut().commit()
    }
}

struct RowGroupEncoder {
    file: Arc<ParquetWriter>,
    state: State,
    /// Empty between row groups.
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
    /// Memory of `columns` or of the held rows.
    reservation: Reservation,
}

/// An encoder judges the columns by its first rows, then encodes those and all others.
enum State {
    Judging { distinct: DistinctValues, held: Vec<RecordBatch>, held_bytes: usize },
    Encoding(ArrowRowGroupWriterFactory),
}

impl Encoder for RowGroupEncoder {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let batch = to_batch(chunk, &self.file.chunk_schema)?;
        match &mut self.state {
            State::Encoding(_) => self.encode(&batch),
            State::Judging { distinct, held, held_bytes } => {
                distinct.count(chunk);
                *held_bytes += batch.get_array_memory_size();
                held.push(batch);
                // Without room for more, they are judged by the rows so far.
                let is_short =
                    *held_bytes >= self.file.row_group_bytes || self.reservation.resize(*held_bytes).is_err();
                if is_short || distinct.is_enough() { self.judge() } else { Ok(()) }
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.judge()?;
        self.end_row_group()
    }
}

impl RowGroupEncoder {
    /// Ends judging, and encodes the held rows.
    fn judge(&mut self) -> Result<()> {
        let State::Judging { distinct, held, .. } = &mut self.state else { return Ok(()) };
        let held = std::mem::take(held);
        let row_groups = self.file.row_groups(&distinct.are_few(self.file.row_group_rows))?;
        self.state = State::Encoding(row_groups);
        held.into_iter().try_for_each(|batch| self.encode(&batch))
    }

    /// Encodes rows, ending row groups when they are full.
    fn encode(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = (batch.num_rows() - start).min(self.file.row_group_rows - self.rows);
            self.encode_within(&batch.slice(start, rows))?;
            start += rows;
            let bytes: usize = self.columns.iter().map(ArrowColumnWriter::memory_size).sum();
            // Without room for more, the rows so far are written.
            let is_short = self.reservation.resize(bytes).is_err();
            if is_short || self.rows == self.file.row_group_rows || bytes >= self.file.row_group_bytes {
                self.end_row_group()?;
            }
        }
        Ok(())
    }

    /// Encodes rows for the current row group.
    fn encode_within(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.columns.is_empty() {
            let State::Encoding(row_groups) = &self.state else { unreachable!("columns are judged before") };
            self.columns = row_groups.create_column_writers(0).map_err(unexpected)?;
        }
        let mut leaves = self.columns.iter_mut();
        for (field, array) in self.file.schema.fields().iter().zip(batch.columns()) {
            let stored = in_layout(array, field.data_type())
                .map_err(|error| error.context(format!("column {}", field.name())))?;
            for leaf in compute_leaves(field, &stored).map_err(unexpected)? {
                leaves.next().expect("a writer for each leaf").write(&leaf).map_err(unexpected)?;
            }
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks = columns.into_iter().map(|column| column.close().map_err(unexpected));
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        let mut file = self.file.file.lock();
        let OpenFile { writer, footer } = file.as_mut().expect("the file is finished after its encoders");
        footer.resize(footer.bytes() + chunks.len() * COLUMN_CHUNK_FOOTER_BYTES)?;
        let mut row_group = writer.next_row_group().map_err(write_error)?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut row_group).map_err(write_error)?;
        }
        row_group.close().map_err(write_error)?;
        drop(file);
        self.rows = 0;
        self.reservation.resize(0)
    }
}

/// Returns the error for a failed write, unwrapping disk errors.
pub(crate) fn write_error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast_ref::<std::io::Error>() {
            Some(error) => super::output_file::write_error(error),
            None => unexpected(ParquetError::External(inner)),
        },
        other => unexpected(other),
    }
}

fn unexpected(error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(what) => Error::unsupported(format!("writing Parquet: {what}")),
        other => Error::internal(format!("writing Parquet: {other}")),
    }
}
