//! Messages: a length, a header, a body. Everything in a header is checked before it is trusted.
//!
//! ```text
//! | FF FF FF FF | length | header, a flatbuffer | body: buffers in sequence | next message …
//! ```

use std::ops::Range;

use arrow_ipc::{BodyCompressionMethod, CompressionType, Endianness, MessageHeader, MetadataVersion};
use arrow_schema::Schema;
use flatbuffers::VerifierOptions;
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};

use crate::file::{FileBytes, guarded};

/// Bytes read at once to find a header; longer ones take a second read.
const HEAD_BYTES: u64 = 4096;

/// Maximum memory of a decoded header per byte: the fields of a schema are larger in memory than in the header.
const DECODED_BYTES_PER_BYTE: usize = 8;

/// Prefix of a header, unless the file is from before 2019.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// A message of a file.
pub(super) struct Message {
    pub content: Content,
    /// Where the message begins.
    pub offset: u64,
    /// Range of the body in the file.
    pub body: Range<u64>,
    /// Memory of the content.
    pub memory: Reservation,
}

pub(super) enum Content {
    Schema(Schema),
    /// Values of a dictionary, new or appended.
    Dictionary {
        id: i64,
        is_delta: bool,
        values: Batch,
    },
    Rows(Batch),
}

/// The arrays in a body.
pub(super) struct Batch {
    pub rows: usize,
    pub nodes: Vec<Node>,
    /// Ranges within the body.
    pub buffers: Vec<Range<u64>>,
    /// For each view array, the number of buffers besides the usual two.
    pub variadic: Vec<usize>,
    pub compression: Option<CompressionType>,
}

/// An array.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub rows: usize,
    pub has_nulls: bool,
}

impl Message {
    /// Reads the message at `offset`; `None` if the stream ends there.
    pub(super) fn read(file: &FileBytes, offset: u64, memory: &BufferManager) -> Result<Option<Self>> {
        let place = MessageRef { file, offset };
        let left = file.bytes().checked_sub(offset).ok_or_else(|| place.wrong("it is behind the end of the file"))?;
        if left == 0 {
            return Ok(None);
        }
        let mut head = vec![0; left.min(HEAD_BYTES) as usize];
        file.read_at(&mut head, offset)?;
        let Some((start, length)) = prefix(&head) else { return Err(place.wrong("it has no length")) };
        if length == 0 {
            return Ok(None);
        }
        if length > left - start {
            return Err(place.wrong("it is cut off: its header ends behind the file"));
        }
        let length = length as usize;
        let reserved = memory.reserve(length.saturating_mul(DECODED_BYTES_PER_BYTE), MemoryTag::Reader)?;
        let header = match head.get(start as usize..start as usize + length) {
            Some(header) => header.to_vec(),
            None => {
                let mut header = vec![0; length];
                file.read_at(&mut header, offset + start)?;
                header
            }
        };
        let body = offset + start + length as u64;
        let (content, body_bytes) = place.decoded(&header)?;
        match body.checked_add(body_bytes).filter(|&end| end <= file.bytes()) {
            Some(end) => Ok(Some(Self { content, offset, body: body..end, memory: reserved })),
            None => Err(place.wrong("it is cut off: its body ends behind the file")),
        }
    }

    /// The end of the message.
    pub(super) fn end(&self) -> u64 {
        self.body.end
    }
}

/// Returns where a header begins, and its length; a length of 0 ends the stream.
fn prefix(head: &[u8]) -> Option<(u64, u64)> {
    let (first, rest) = head.split_first_chunk::<4>()?;
    let (start, length) = match *first == CONTINUATION {
        true => (8, rest.first_chunk::<4>()?),
        false => (4, first),
    };
    Some((start, u64::try_from(i32::from_le_bytes(*length)).ok()?))
}

/// Returns the limits for verifying flatbuffers of `bytes` bytes, whose parts may be used more than once.
pub(super) fn verifier(bytes: usize) -> VerifierOptions {
    VerifierOptions { max_apparent_size: bytes.saturating_mul(DECODED_BYTES_PER_BYTE), ..VerifierOptions::default() }
}

/// A message, for errors about it.
#[derive(Clone, Copy)]
struct MessageRef<'a> {
    file: &'a FileBytes,
    offset: u64,
}

impl MessageRef<'_> {
    fn wrong(self, what: impl std::fmt::Display) -> Error {
        self.file.corrupt(format!("the message at byte {}: {what}", self.offset))
    }

    /// Decodes a header; returns its content and the length of the body.
    fn decoded(self, header: &[u8]) -> Result<(Content, u64)> {
        let file = self.file;
        let options = verifier(header.len());
        let message = guarded(|| arrow_ipc::root_as_message_with_opts(&options, header).ok());
        let message = message.ok().flatten().ok_or_else(|| self.wrong("its header is damaged"))?;
        check_version(file, message.version())?;
        let body_bytes =
            u64::try_from(message.bodyLength()).map_err(|_| self.wrong("its body has a negative length"))?;
        let empty = || self.wrong("its header has no content");
        let content = match message.header_type() {
            MessageHeader::Schema => Content::Schema(schema(file, message.header_as_schema().ok_or_else(empty)?)?),
            MessageHeader::RecordBatch => {
                Content::Rows(self.batch(message.header_as_record_batch().ok_or_else(empty)?, body_bytes)?)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or_else(empty)?;
                let values = self.batch(dictionary.data().ok_or_else(empty)?, body_bytes)?;
                Content::Dictionary { id: dictionary.id(), is_delta: dictionary.isDelta(), values }
            }
            other => return Err(unsupported(file, format!("messages of kind {other:?}"))),
        };
        Ok((content, body_bytes))
    }

    fn batch(self, batch: arrow_ipc::RecordBatch<'_>, body_bytes: u64) -> Result<Batch> {
        // Positions of rows in a batch are 32 bits wide.
        let rows = |rows: i64| {
            u32::try_from(rows).map(|rows| rows as usize).map_err(|_| self.wrong(format!("it claims {rows} rows")))
        };
        let buffer = |buffer: &arrow_ipc::Buffer| {
            let start = u64::try_from(buffer.offset()).ok();
            let range = start.zip(u64::try_from(buffer.length()).ok()).and_then(|(start, bytes)| {
                let end = start.checked_add(bytes).filter(|&end| end <= body_bytes)?;
                Some(start..end)
            });
            range.ok_or_else(|| self.wrong("a buffer lies outside of it"))
        };
        let node =
            |node: &arrow_ipc::FieldNode| Ok(Node { rows: rows(node.length())?, has_nulls: node.null_count() != 0 });
        let variadic =
            |number: i64| usize::try_from(number).map_err(|_| self.wrong(format!("a column has {number} buffers")));
        let compression = batch.compression().map(|compression| match compression.method() {
            BodyCompressionMethod::BUFFER => Ok(compression.codec()),
            other => Err(unsupported(self.file, format!("compression of {other:?}"))),
        });
        Ok(Batch {
            rows: rows(batch.length())?,
            nodes: batch.nodes().into_iter().flatten().map(node).collect::<Result<_>>()?,
            buffers: batch.buffers().into_iter().flatten().map(buffer).collect::<Result<_>>()?,
            variadic: batch.variadicBufferCounts().into_iter().flatten().map(variadic).collect::<Result<_>>()?,
            compression: compression.transpose()?,
        })
    }
}

/// Rejects earlier versions, whose buffers have a different layout.
pub(super) fn check_version(file: &FileBytes, version: MetadataVersion) -> Result<()> {
    match version {
        MetadataVersion::V4 | MetadataVersion::V5 => Ok(()),
        other => Err(unsupported(file, format!("version {other:?} of the Arrow format"))),
    }
}

/// Decodes a schema; its columns are checked later.
pub(super) fn schema(file: &FileBytes, schema: arrow_ipc::Schema<'_>) -> Result<Schema> {
    if schema.endianness() != Endianness::Little {
        return Err(unsupported(file, "big-endian values"));
    }
    guarded(|| arrow_ipc::convert::fb_to_schema(schema)).map_err(|error| error.context(file.path().display()))
}

fn unsupported(file: &FileBytes, what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{}: {what}", file.path().display()))
}
