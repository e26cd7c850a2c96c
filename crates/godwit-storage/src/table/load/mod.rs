//! Loading: turns rows into a new version of a table, in memory that doesn't grow with the table.
//!
//! ```text
//! LoadWorker ─ buffers a row group ─▶ numbers, long texts: encoded ─▶ stream per column ─▶ blocks
//!                                └─▶ texts of few values: codes in order of arrival ─▶ spool in the pool
//! Load::finish ─ dictionaries sorted, merged with the table's ─▶ codes remapped ─▶ streams ─▶ blocks
//! ```
//!
//! An order-preserving dictionary is complete only when the last value has arrived. Until then, codes number the values
//! in order of arrival ([`interner`]); they are kept, encoded, in pages of the buffer pool, which may be spilled. A
//! column that turns out to have too many values gives up its dictionary: its strings are stored as they are, or with
//! symbol tables.
//!
//! If merging changes the codes of existing rows of the table, the segments of that column are rewritten; all other
//! columns are appended to.

mod buffer;
mod finish;
mod interner;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Field;
use godwit_common::{MemoryTag, Result};
use godwit_encoding::{Encoder, EncodingChoice, PartContent, PartHeader, ROW_GROUP_ROWS};
use godwit_memory::{BufferManager, Object, Reservation};
use godwit_vector::{Chunk, Lists, PhysicalType, Vector};
use parking_lot::Mutex;

use super::{ColumnSummary, WINDOW_ROWS, stored_type, types};
use crate::block::Blocks;
use crate::byte_stream::StreamWriter;
use buffer::ColumnBuffer;
use interner::{ROWS_PER_LIST_MIN, ROWS_PER_VALUE_MIN, SharedInterner};

/// Approximate maximum size of a body: a scan holds one per column and worker, and one that straddles two blocks is
/// copied.
const PART_BYTES: usize = 96 * 1024;

/// A worker's row group may take this share of the memory limit, divided among the workers; then it ends early.
const GROUP_LIMIT_SHARE: u64 = 8;

/// Row groups aren't ended below this size, whatever the limit: their overhead would exceed their content.
const GROUP_BYTES_MIN: u64 = 1 << 20;

/// Bytes of strings that are buffered at once, unless those of a single row are more: row groups end between such pieces.
const PIECE_TEXT_BYTES: usize = 1 << 20;

/// All dictionaries of a load may take this share of the memory limit.
const DICTIONARIES_LIMIT_SHARE: u64 = 8;

/// A load of rows into a table, by several workers.
pub struct Load {
    columns: Vec<LoadColumn>,
    /// Where the table is stored.
    blocks: Blocks,
    /// Where codes are kept until their dictionary is complete.
    spool: Blocks,
    group_bytes_max: u64,
    /// Numbers row groups in the order in which they are started.
    next_group: AtomicU64,
    outputs: Mutex<Vec<WorkerOutput>>,
}

struct LoadColumn {
    field: Field,
    physical: PhysicalType,
    choice: EncodingChoice,
    /// Where the column is stored.
    blocks: Blocks,
    /// For text columns.
    interner: Option<SharedInterner>,
}

/// One worker's end of a load.
pub struct LoadWorker {
    load: Arc<Load>,
    memory: BufferManager,
    buffers: Vec<ColumnBuffer>,
    rows: usize,
    group: u64,
    reservation: Reservation,
    output: WorkerOutput,
    /// By column.
    encoders: Vec<PartEncoder>,
}

/// The output of a worker. All vectors are by column.
struct WorkerOutput {
    streams: Vec<StreamWriter>,
    spools: Vec<StreamWriter>,
    summaries: Vec<ColumnSummary>,
    groups: Vec<PendingGroup>,
}

/// A row group whose streams are still being written.
struct PendingGroup {
    number: u64,
    rows: u32,
    segments: Vec<PendingSegment>,
}

struct PendingSegment {
    /// The parts are codes of the interner, in the worker's spool.
    is_spooled: bool,
    parts: Vec<PendingPart>,
}

/// Where a part begins in its stream.
#[derive(Clone)]
struct PendingPart {
    offset: u64,
    header: PartHeader,
}

impl Load {
    /// A load into a table with these columns. `choices` are their encodings, `objects` their objects in memory.
    pub fn new(
        fields: &[Field],
        choices: &[EncodingChoice],
        objects: &[Arc<Object>],
        blocks: Blocks,
        memory: &BufferManager,
        workers: usize,
    ) -> Result<Arc<Self>> {
        let texts = fields.iter().filter(|field| stored_type(field.data_type()).ok() == Some(PhysicalType::Str));
        let dictionary_bytes_max = memory.memory_limit() / DICTIONARIES_LIMIT_SHARE / (texts.count() as u64).max(1);
        let columns = fields.iter().zip(choices).zip(objects).map(|((field, &choice), object)| {
            types::check(field)?;
            let physical = stored_type(field.data_type())?;
            let wants = matches!(choice, EncodingChoice::Auto | EncodingChoice::Dictionary);
            let rows_per_value_min = match Lists::item_type(field.data_type()) {
                Some(_) => ROWS_PER_LIST_MIN,
                None => ROWS_PER_VALUE_MIN,
            };
            let interner = (physical == PhysicalType::Str && wants)
                .then(|| {
                    let is_forced = choice == EncodingChoice::Dictionary;
                    SharedInterner::new(memory, dictionary_bytes_max, is_forced, rows_per_value_min)
                })
                .transpose()?;
            let blocks = blocks.for_object(object);
            Ok(LoadColumn { field: field.clone(), physical, choice, blocks, interner })
        });
        let group_bytes_max = memory.memory_limit() / GROUP_LIMIT_SHARE / workers as u64;
        Ok(Arc::new(Self {
            columns: columns.collect::<Result<_>>()?,
            blocks,
            spool: Blocks::of_pool(memory.clone(), MemoryTag::ColumnPage),
            group_bytes_max: group_bytes_max.max(GROUP_BYTES_MIN),
            next_group: AtomicU64::new(0),
            outputs: Mutex::default(),
        }))
    }

    /// State for one worker.
    pub fn worker(self: &Arc<Self>, memory: &BufferManager) -> Result<LoadWorker> {
        let columns = self.columns.len();
        let streams = || (0..columns).map(|_| StreamWriter::default()).collect();
        Ok(LoadWorker {
            load: self.clone(),
            memory: memory.clone(),
            buffers: self.columns.iter().map(ColumnBuffer::new).collect(),
            rows: 0,
            group: 0,
            reservation: memory.reserve(0, MemoryTag::Writer)?,
            output: WorkerOutput {
                streams: streams(),
                spools: streams(),
                summaries: vec![ColumnSummary::default(); columns],
                groups: Vec::new(),
            },
            encoders: self.columns.iter().map(|column| PartEncoder::of(&column.field)).collect(),
        })
    }
}

impl LoadWorker {
    /// Appends rows, whose columns have the table's types or, for integers, any width.
    pub fn append(&mut self, chunk: &Chunk) -> Result<()> {
        chunk.pieces(PIECE_TEXT_BYTES).try_for_each(|piece| self.append_piece(&piece))
    }

    fn append_piece(&mut self, piece: &Chunk) -> Result<()> {
        let load = self.load.clone();
        let columns = piece.dense_columns();
        let mut from = 0;
        while from < piece.len() {
            if self.rows == 0 {
                self.group = load.next_group.fetch_add(1, Ordering::Relaxed);
            }
            let taken = (piece.len() - from).min(ROW_GROUP_ROWS - self.rows);
            for ((buffer, column), vector) in self.buffers.iter_mut().zip(&load.columns).zip(&columns) {
                buffer.append(column, &vector.slice(from, taken))?;
            }
            self.rows += taken;
            from += taken;
            let bytes: usize = self.buffers.iter().map(ColumnBuffer::bytes).sum();
            self.reservation.resize(bytes + self.open_bytes())?;
            // New values count: their column may turn out to be one without a dictionary.
            let new_value_bytes: usize = self.buffers.iter().map(ColumnBuffer::new_value_bytes).sum();
            if self.rows == ROW_GROUP_ROWS || (bytes + new_value_bytes) as u64 >= load.group_bytes_max {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn open_bytes(&self) -> usize {
        let streams = self.output.streams.iter().chain(&self.output.spools);
        streams.map(StreamWriter::open_bytes).sum()
    }

    /// Reserves memory for encoding the strings of the largest column: they exist once more when they are compressed,
    /// and a third time as the body of a part, which may have all of them.
    fn reserve_for_encoding(&mut self) -> Result<()> {
        let bytes: usize = self.buffers.iter().map(ColumnBuffer::bytes).sum();
        let largest = self.buffers.iter().map(ColumnBuffer::string_bytes).max().unwrap_or(0);
        self.reservation.resize(bytes + 2 * largest + self.open_bytes())
    }

    /// Encodes the buffered row group.
    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.reserve_for_encoding()?;
        let load = self.load.clone();
        let mut segments = Vec::with_capacity(load.columns.len());
        let output = &mut self.output;
        for (index, column) in load.columns.iter().enumerate() {
            let (values, is_spooled) = self.buffers[index].take(column);
            let (stream, blocks) = match is_spooled {
                true => (&mut output.spools[index], &load.spool),
                false => (&mut output.streams[index], &column.blocks),
            };
            let choice = if is_spooled { EncodingChoice::Auto } else { column.choice };
            let content = if is_spooled { PartContent::Codes } else { PartContent::Values };
            let mut writer = PartWriter { stream, blocks, content, encoder: &mut self.encoders[index] };
            let summary = &mut output.summaries[index];
            let parts = writer.write(&values, choice, if is_spooled { None } else { Some(summary) })?;
            segments.push(PendingSegment { is_spooled, parts });
        }
        output.groups.push(PendingGroup { number: self.group, rows: self.rows as u32, segments });
        self.rows = 0;
        self.reservation.resize(self.open_bytes())?;
        Ok(())
    }

    /// Hands over the worker's output.
    pub fn finish(mut self) -> Result<()> {
        self.end_group()?;
        let load = self.load.clone();
        // The open ends of streams stay in memory until the load ends: less than a block per stream.
        load.outputs.lock().push(self.output);
        drop(self.memory);
        Ok(())
    }
}

/// Cuts a segment into parts, encodes and writes them.
struct PartWriter<'a> {
    stream: &'a mut StreamWriter,
    blocks: &'a Blocks,
    /// What the values represent.
    content: PartContent,
    encoder: &'a mut PartEncoder,
}

/// State that the next part of a column takes over from the previous one.
#[derive(Default)]
struct PartEncoder {
    encoder: Encoder,
    /// Bytes of a row.
    bytes_per_row: f64,
}

impl PartEncoder {
    /// An encoder of the values of a column.
    fn of(column: &Field) -> Self {
        Self { encoder: Encoder::for_lists(Lists::item_type(column.data_type())), ..Self::default() }
    }
}

impl PartWriter<'_> {
    /// Writes values, and adds their statistics to `summary`.
    fn write(
        &mut self,
        values: &Vector,
        choice: EncodingChoice,
        mut summary: Option<&mut ColumnSummary>,
    ) -> Result<Vec<PendingPart>> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < values.len() {
            let rows = self.part_rows(start..values.len());
            let encoded = self.encoder.encoder.encode(&values.slice(start, rows), choice);
            let encoded = encoded.with_content(self.content);
            self.encoder.bytes_per_row = encoded.body.len() as f64 / rows as f64;
            if encoded.body.len() > 2 * PART_BYTES && rows > WINDOW_ROWS {
                continue;
            }
            if let Some(summary) = summary.as_deref_mut() {
                summary.add_part(&encoded);
            }
            parts.push(PendingPart { offset: self.stream.append(&encoded.body, self.blocks)?, header: encoded.header });
            start += rows;
        }
        if let Some(summary) = summary {
            summary.add_strings(values);
        }
        Ok(parts)
    }

    /// How many of the rows make a part of the right size, judging by the previous one.
    fn part_rows(&self, rows: Range<usize>) -> usize {
        let fitting = (PART_BYTES as f64 / self.encoder.bytes_per_row).min(ROW_GROUP_ROWS as f64) as usize;
        (fitting / WINDOW_ROWS * WINDOW_ROWS).max(WINDOW_ROWS).min(rows.len())
    }
}

impl ColumnSummary {
    fn add_part(&mut self, encoded: &godwit_encoding::EncodedPart) {
        self.nulls += encoded.header.nulls as u64;
        self.distinct += encoded.runs as u64;
        self.add_range(encoded.header.range);
    }

    fn add_range(&mut self, range: Option<godwit_vector::ValueRange>) {
        self.range = match (self.range, range) {
            (Some(a), Some(b)) => Some(godwit_vector::ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) }),
            (known, new) => known.or(new),
        };
    }

    /// Adds the bounds and bytes of strings; does nothing for other values.
    fn add_strings(&mut self, values: &Vector) {
        if values.physical() != PhysicalType::Str {
            return;
        }
        let flat = values.to_flat();
        let strings = flat.strings();
        let mut valid = (0..values.len()).filter(|&row| values.is_valid(row)).map(|row| strings.get(row));
        let Some(first) = valid.next() else { return };
        let mut bytes = first.len();
        let (min, max) = valid.fold((first, first), |(min, max), string| {
            bytes += string.len();
            (min.min(string), max.max(string))
        });
        self.string_bytes += bytes as u64;
        self.add_string_bounds(min, max);
    }

    fn add_string_bounds(&mut self, min: &[u8], max: &[u8]) {
        match &mut self.strings {
            Some((known_min, known_max)) => {
                if min < &known_min[..] {
                    *known_min = min.to_vec();
                }
                if max > &known_max[..] {
                    *known_max = max.to_vec();
                }
            }
            None => self.strings = Some((min.to_vec(), max.to_vec())),
        }
    }

    /// Adds the statistics of other rows of the column.
    fn add(&mut self, other: &ColumnSummary) {
        self.nulls += other.nulls;
        self.distinct += other.distinct;
        self.string_bytes += other.string_bytes;
        self.add_range(other.range);
        if let Some((min, max)) = &other.strings {
            self.add_string_bounds(min, max);
        }
    }
}
