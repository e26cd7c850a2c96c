//! One Arrow file and the places of its messages. The file format lists them in a footer; a stream is walked from
//! header to header.
//!
//! ```text
//! file:   | ARROW1 | schema | dictionaries, batches … | footer: schema, places of messages | length | ARROW1 |
//! stream: | schema | dictionary | batch | dictionary, anew or more of it | batch | … | end |
//! ```

use std::path::Path;

use arrow_schema::{DataType, Field, Schema};
use godwit_common::{Error, ErrorKind, MemoryTag, Result};
use godwit_io::Files;
use godwit_memory::{BufferManager, Reservation};

use super::message::{Content, Message, check_version, schema, verifier};
use super::types::{Column, children, is_view, own_buffers};
use crate::file::{FileBytes, guarded};

/// Magic number at the beginning of a file, followed by two bytes, and at its end.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";

/// Magic number of the Feather format from before Arrow had a file format.
const FEATHER_1_MAGIC: &[u8; 4] = b"FEA1";

/// Length of the footer and magic number.
const TAIL_BYTES: u64 = 10;

/// A file with the places of its messages.
pub(crate) struct ArrowFile {
    pub(super) bytes: FileBytes,
    pub(super) columns: Vec<Column>,
    /// Arrays, buffers and view arrays before each column in a batch.
    starts: Vec<Extent>,
    pub(super) batches: Vec<BatchPlace>,
    pub(super) dictionaries: Vec<DictionaryPlace>,
    /// Types of the values of dictionaries, as stored.
    dictionary_types: Vec<(i64, Field)>,
    /// Memory of the schema and the places.
    memory: Reservation,
}

/// A batch of rows.
#[derive(Clone, Copy)]
pub(super) struct BatchPlace {
    pub offset: u64,
    pub body_bytes: u64,
    pub rows: usize,
}

/// Values of a dictionary.
pub(super) struct DictionaryPlace {
    pub id: i64,
    /// True if they are appended to the existing ones; otherwise they replace them.
    pub is_delta: bool,
    pub offset: u64,
    /// The first batch that uses them.
    pub first_batch: usize,
}

/// A number of arrays, buffers, and arrays of views.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub nodes: usize,
    /// Without the variable buffers of view arrays.
    pub buffers: usize,
    pub views: usize,
}

impl Extent {
    /// Returns the extent of a field in a batch.
    fn of(field: &Field) -> Self {
        let data_type = field.data_type();
        let own = Self { nodes: 1, buffers: own_buffers(data_type), views: usize::from(is_view(data_type)) };
        children(data_type).iter().fold(own, |sum, child| sum.plus(Self::of(child)))
    }

    fn plus(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, buffers: self.buffers + other.buffers, views: self.views + other.views }
    }
}

impl ArrowFile {
    /// Opens a file or a stream in a file and finds its messages, which are accounted for with `memory`.
    pub(crate) fn open(files: &dyn Files, path: &Path, memory: &BufferManager) -> Result<Self> {
        let bytes = FileBytes::open(files, path, "Arrow")?;
        let mut head = [0; MAGIC.len()];
        let known = (bytes.bytes() as usize).min(head.len());
        bytes.read_at(&mut head[..known], 0)?;
        if head.starts_with(FEATHER_1_MAGIC) {
            return Err(Error::unsupported(format!("{}: version 1 of the Feather format", path.display()))
                .with_hint("write the file again, as version 2"));
        }
        if &head == MAGIC { Self::of_file(bytes, memory) } else { Self::of_stream(bytes, memory) }
    }

    fn new(bytes: FileBytes, schema: &Schema, memory: Reservation) -> Result<Self> {
        let of_file = |error: Error| error.context(bytes.path().display());
        let columns =
            schema.fields().iter().map(|field| Column::of(field).map_err(of_file)).collect::<Result<Vec<_>>>()?;
        let mut starts = Vec::with_capacity(columns.len() + 1);
        let mut start = Extent::default();
        for column in &columns {
            starts.push(start);
            start = start.plus(Extent::of(&column.decoded));
        }
        starts.push(start);
        let mut dictionary_types = Vec::new();
        schema.fields().iter().for_each(|field| note_dictionaries(field, &mut dictionary_types));
        Ok(Self { bytes, columns, starts, batches: Vec::new(), dictionaries: Vec::new(), dictionary_types, memory })
    }

    fn of_file(bytes: FileBytes, memory: &BufferManager) -> Result<Self> {
        let truncated = || {
            bytes
                .corrupt("the file is truncated: it doesn't end with an Arrow footer")
                .with_hint("copy or write the file again; maybe its writer wasn't closed")
        };
        let first = MAGIC.len() as u64 + 2;
        let tail_start = bytes.bytes().checked_sub(TAIL_BYTES).filter(|&start| start >= first).ok_or_else(truncated)?;
        let mut tail = [0; TAIL_BYTES as usize];
        bytes.read_at(&mut tail, tail_start)?;
        let (length, magic) = tail.split_at(tail.len() - MAGIC.len());
        if magic != MAGIC {
            return Err(truncated());
        }
        let length = i32::from_le_bytes(length.try_into().expect("four bytes stand before it"));
        let length = u64::try_from(length).ok().filter(|&length| length <= tail_start - first);
        let length = length.ok_or_else(|| bytes.corrupt("the length of its footer is wrong"))? as usize;
        let options = verifier(length);
        let reserved = memory.reserve(length.saturating_add(options.max_apparent_size), MemoryTag::Reader)?;
        let mut footer = vec![0; length];
        bytes.read_at(&mut footer, tail_start - length as u64)?;
        let footer = guarded(|| arrow_ipc::root_as_footer_with_opts(&options, &footer).ok());
        let footer = footer.ok().flatten().ok_or_else(|| bytes.corrupt("its footer is damaged"))?;
        check_version(&bytes, footer.version())?;
        let no_schema = || bytes.corrupt("its footer has no schema");
        let schema = schema(&bytes, footer.schema().ok_or_else(no_schema)?)?;
        let mut file = Self::new(bytes.clone(), &schema, reserved)?;
        for (blocks, is_dictionary) in [(footer.dictionaries(), true), (footer.recordBatches(), false)] {
            for block in blocks.into_iter().flatten() {
                let message = u64::try_from(block.offset()).ok().filter(|&offset| offset < tail_start);
                let message = message.map(|offset| Message::read(&bytes, offset, memory)).transpose()?.flatten();
                let message =
                    message.filter(|message| matches!(message.content, Content::Dictionary { .. }) == is_dictionary);
                match message {
                    Some(message) => file.add(message)?,
                    None => {
                        return Err(
                            bytes.corrupt(format!("its footer names a message at {} that isn't there", block.offset()))
                        );
                    }
                }
            }
        }
        Ok(file)
    }

    fn of_stream(bytes: FileBytes, memory: &BufferManager) -> Result<Self> {
        let no_arrow = || {
            Error::user(format!("{} is not an Arrow file", bytes.path().display()))
                .with_hint("it begins neither with ARROW1 nor with the schema of a stream; check the path")
        };
        let first = Message::read(&bytes, 0, memory);
        let first = first.map_err(|error| if error.kind() == ErrorKind::Corrupt { no_arrow() } else { error })?;
        let Some(Message { content: Content::Schema(schema), body, memory: reserved, .. }) = first else {
            return Err(no_arrow());
        };
        let mut file = Self::new(bytes.clone(), &schema, reserved)?;
        let mut offset = body.end;
        while let Some(message) = Message::read(&bytes, offset, memory)? {
            offset = message.end();
            file.add(message)?;
        }
        Ok(file)
    }

    /// Records where a message is.
    fn add(&mut self, message: Message) -> Result<()> {
        let Message { content, offset, body, memory } = message;
        drop(memory);
        match content {
            Content::Schema(_) => return Err(self.bytes.corrupt(format!("there is another schema at byte {offset}"))),
            Content::Rows(batch) => {
                self.batches.push(BatchPlace { offset, body_bytes: body.end - body.start, rows: batch.rows });
            }
            Content::Dictionary { id, is_delta, .. } => {
                let first_batch = self.batches.len();
                self.dictionaries.push(DictionaryPlace { id, is_delta, offset, first_batch });
            }
        }
        // Vectors grow by doubling.
        let messages = self.batches.len() + self.dictionaries.len();
        if messages.is_power_of_two() {
            let bytes = 2 * messages * size_of::<BatchPlace>().max(size_of::<DictionaryPlace>());
            self.memory.resize(self.memory.bytes() + bytes)?;
        }
        Ok(())
    }

    /// Returns an error about a part of the message at `offset`.
    pub(super) fn wrong(&self, offset: u64, part: &str, error: Error) -> Error {
        error.context(format!("{}, the message at byte {offset}, {part}", self.bytes.path().display()))
    }

    /// Number of rows in all batches.
    pub(crate) fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.rows as u64).sum()
    }

    /// Returns the start and end extent of a column in a batch.
    pub(super) fn extent(&self, column: usize) -> (Extent, Extent) {
        (self.starts[column], self.starts[column + 1])
    }

    /// Returns the type of a dictionary's values, as stored.
    pub(super) fn dictionary_type(&self, id: i64) -> Option<&Field> {
        self.dictionary_types.iter().find(|(known, _)| *known == id).map(|(_, values)| values)
    }
}

/// Finds the dictionaries below a field.
fn note_dictionaries(field: &Field, known: &mut Vec<(i64, Field)>) {
    if let Some(id) = dictionary_id(field)
        && let DataType::Dictionary(_, values) = field.data_type()
    {
        known.push((id, Field::new(field.name(), values.as_ref().clone(), true)));
    }
    children(field.data_type()).iter().for_each(|child| note_dictionaries(child, known));
}

/// Returns the id of a field's dictionary.
#[expect(deprecated, reason = "the crate keeps it nowhere else")]
pub(super) fn dictionary_id(field: &Field) -> Option<i64> {
    field.dict_id()
}
