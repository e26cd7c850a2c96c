//! Memory traces as Parquet files: a row for each sample, and a description of the sampled objects as JSON in the
//! footer, under [`TRACE_KEY`].
//!
//! ```text
//! time BIGINT       nanoseconds since the trace began
//! thread INTEGER    number of the thread
//! address UBIGINT   what was loaded
//! object INTEGER    its "id" in the footer's "objects"
//! offset BIGINT     bytes from the object's beginning, which stays the same while its pages move
//! entry BIGINT      row of a segment's table, code of a dictionary, slot of a table; NULL: unknown
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_common::{Error, Json, MemoryTag, Named, Result};
use godwit_io::Files;
use godwit_memory::{BufferManager, Reservation};
use godwit_trace::{Sample, TraceDescription, TraceSink, TracedObject, TracedRange};
use parking_lot::Mutex;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::copy::{OutputFile, parquet_write_error as write_error};

/// The key of the description in the footer.
pub const TRACE_KEY: &str = "godwit.trace";

/// Maximum bytes of a sample in a file: its uncompressed size.
pub const SAMPLE_BYTES_MAX: u64 = 8 + 4 + 8 + 4 + 8 + 8 + 1;

/// Samples of a row group: their encoder takes about 3 MiB.
const ROW_GROUP_SAMPLES: usize = 65_536;

/// Memory of the writer: a row group before and after it is encoded, and as much again for the footer.
const WRITER_BYTES: usize = 16 << 20;

/// The texts of statements that ran during a trace.
pub type TracedStatements = Arc<Mutex<Vec<String>>>;

/// A trace being written.
pub struct TraceFile {
    writer: ArrowWriter<OutputFile>,
    schema: SchemaRef,
    statements: TracedStatements,
    _memory: Reservation,
}

impl TraceFile {
    /// Begins a file that will have this name.
    pub fn create(files: &dyn Files, path: &str, statements: TracedStatements, memory: &BufferManager) -> Result<Self> {
        let memory = memory.reserve(WRITER_BYTES, MemoryTag::Writer)?;
        let field = |name, data_type| Field::new(name, data_type, name == "entry");
        let schema = Arc::new(Schema::new(vec![
            field("time", DataType::Int64),
            field("thread", DataType::Int32),
            field("address", DataType::UInt64),
            field("object", DataType::Int32),
            field("offset", DataType::Int64),
            field("entry", DataType::Int64),
        ]));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP_SAMPLES))
            .set_created_by(format!("Godwit version {}", env!("CARGO_PKG_VERSION")));
        // A dictionary of values that rarely repeat costs most of the writer's time, and is given up anyway.
        for name in ["time", "address", "offset", "entry"] {
            let column = ColumnPath::from(name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let properties = properties.build();
        let file = OutputFile::create(files, path)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(write_error)?;
        Ok(Self { writer, schema, statements, _memory: memory })
    }
}

impl TraceSink for TraceFile {
    fn write(&mut self, samples: &[Sample]) -> Result<()> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(samples.iter().map(|sample| sample.time_nanos as i64))),
            Arc::new(Int32Array::from_iter_values(samples.iter().map(|sample| sample.thread as i32))),
            Arc::new(UInt64Array::from_iter_values(samples.iter().map(|sample| sample.address))),
            Arc::new(Int32Array::from_iter_values(samples.iter().map(|sample| sample.object as i32))),
            Arc::new(Int64Array::from_iter_values(samples.iter().map(|sample| sample.offset as i64))),
            Arc::new(samples.iter().map(|sample| sample.entry.map(|entry| entry as i64)).collect::<Int64Array>()),
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
        self.writer.write(&batch).map_err(write_error)
    }

    fn finish(mut self: Box<Self>, description: &TraceDescription) -> Result<()> {
        let text = description_json(description, &self.statements.lock()).to_string();
        self.writer.append_key_value_metadata(KeyValue::new(TRACE_KEY.to_owned(), text));
        self.writer.finish().map_err(write_error)?;
        self.writer.inner_mut().commit()
    }
}

fn description_json(description: &TraceDescription, statements: &[String]) -> Json {
    let texts = statements.iter().map(|statement| statement.as_str().into()).collect();
    let objects = description.objects.iter().enumerate().map(|(id, totals)| {
        let id = id as u32;
        // Both are ordered by object.
        let ranges = of_object(&description.ranges, id, |range| range.object);
        let entries = of_object(&description.hot_entries, id, |hot| hot.object);
        let entry = |entry: u64, value: &str| Json::object([("entry", entry.into()), ("value", value.into())]);
        let lists = [
            ("ranges", Json::Array(ranges.iter().map(range_json).collect())),
            ("entries", Json::Array(entries.iter().map(|hot| entry(hot.entry, &hot.value)).collect())),
        ];
        Json::object(object_members(id, &totals.object, totals.bytes).into_iter().chain(lists))
    });
    Json::object([
        ("version", 1u64.into()),
        ("source", description.source.name().into()),
        ("hardware_unavailable", description.hardware_unavailable.as_deref().into()),
        ("one_in", u64::from(description.one_in).into()),
        ("duration_nanos", (description.duration.as_nanos() as u64).into()),
        ("samples", description.samples.into()),
        ("lost", description.lost.into()),
        ("elsewhere", description.elsewhere.into()),
        ("statements", Json::Array(texts)),
        ("objects", Json::Array(objects.collect())),
    ])
}

/// Returns the items of one object.
fn of_object<T>(items: &[T], id: u32, object: impl Fn(&T) -> u32) -> &[T] {
    let first = items.partition_point(|item| object(item) < id);
    &items[first..first + items[first..].partition_point(|item| object(item) == id)]
}

fn object_members(id: u32, object: &TracedObject, bytes: u64) -> [(&'static str, Json); 10] {
    [
        ("id", u64::from(id).into()),
        ("path", object.path.as_str().into()),
        ("kind", object.kind.as_str().into()),
        ("bytes", bytes.into()),
        ("entry_bytes", object.entry_bytes.map(u64::from).into()),
        ("table", object.table.as_deref().into()),
        ("column", object.column.as_deref().into()),
        ("query", object.query.into()),
        ("first_row", object.rows.map(|(first, _)| first).into()),
        ("rows", object.rows.map(|(_, rows)| rows).into()),
    ]
}

fn range_json(range: &TracedRange) -> Json {
    Json::object([
        ("address", range.place.address.into()),
        ("bytes", range.place.bytes.into()),
        ("offset", range.place.offset.into()),
        ("from", range.from_nanos.into()),
        ("until", range.until_nanos.into()),
    ])
}
