//! The ordered dictionary of a text column, in the file and, once needed, in memory.

use std::sync::{Arc, OnceLock};

use godwit_common::{MemoryTag, Result};
use godwit_encoding::{Encoder, EncodingChoice, OrderedDictionary};
use godwit_memory::{BufferManager, Object, Reservation};
use godwit_trace::{EntryValues, ObjectPart, TracedObject};
use godwit_vector::{Flat, StrColumn, StrView, Vector};
use parking_lot::Mutex;

use super::{StoredPart, corrupt};
use crate::block::Blocks;
use crate::byte_stream::StreamWriter;

/// Strings per part of a dictionary: it is read as a whole, a part at a time.
const PART_STRINGS: usize = 32_768;

/// Memory that a string takes besides its bytes: its view.
const VIEW_BYTES: usize = 16;

/// Sorted strings over blocks; a string's rank is its code.
pub struct ColumnDictionary {
    parts: Vec<StoredPart>,
    strings: u32,
    loaded: Mutex<Option<(OrderedDictionary, Reservation)>>,
    object: OnceLock<Arc<Object>>,
}

impl ColumnDictionary {
    pub(crate) fn new(parts: Vec<StoredPart>, strings: u32) -> Self {
        Self { parts, strings, loaded: Mutex::default(), object: OnceLock::new() }
    }

    pub(crate) fn parts(&self) -> &[StoredPart] {
        &self.parts
    }

    /// Number of strings: the distinct values of the column.
    #[allow(clippy::len_without_is_empty, reason = "a column without strings has no dictionary")]
    pub fn len(&self) -> u32 {
        self.strings
    }

    /// Bytes that it takes in the file.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.header.body_bytes as u64).sum()
    }

    /// Names the dictionary, unless it has a name already.
    pub fn identify(&self, object: impl FnOnce() -> Arc<Object>) {
        self.object.get_or_init(object);
    }

    /// The object of the dictionary, once a table has it.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.object.get()
    }

    /// Tells a memory trace where the views of the strings are.
    #[cold]
    fn declare(self: &Arc<Self>, dictionary: &OrderedDictionary) {
        let Some(object) = self.object() else { return };
        let views = dictionary.shared().values().strings().views();
        let place =
            ObjectPart::of_bytes(views.as_ptr().cast(), size_of_val(views), 0).with_entries(0, views.len() as u64);
        let values: Arc<dyn EntryValues> = self.clone();
        godwit_trace::declare(place, object.trace_key(), || TracedObject {
            entry_bytes: Some(size_of::<StrView>() as u32),
            values: Some(Arc::downgrade(&values)),
            ..object.traced()
        });
    }

    /// The dictionary in memory, read on first use; it stays as long as `self` lives.
    pub fn load(self: &Arc<Self>, memory: &BufferManager) -> Result<OrderedDictionary> {
        let dictionary = self.loaded(memory)?;
        if godwit_trace::is_on() {
            self.declare(&dictionary);
        }
        Ok(dictionary)
    }

    fn loaded(&self, memory: &BufferManager) -> Result<OrderedDictionary> {
        let memory = &self.object().map_or_else(|| memory.clone(), |object| memory.for_object(object));
        if let Some(object) = self.object() {
            object.note_scan(self.strings as usize, self.bytes());
        }
        let mut loaded = self.loaded.lock();
        if let Some((dictionary, _)) = &*loaded {
            return Ok(dictionary.clone());
        }
        let mut reservation = memory.reserve(0, MemoryTag::Table)?;
        let mut columns: Vec<StrColumn> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let open = part.open(memory)?;
            let flat = open.part()?.decode(0..part.header.rows as usize)?.to_flat();
            let strings = flat.strings();
            let bytes: usize = strings.iter().map(|string| string.len() + VIEW_BYTES).sum();
            // For the parts, and for all of them combined.
            reservation.resize(reservation.bytes() + 2 * bytes)?;
            columns.push(strings.clone());
        }
        let strings = || columns.iter().flat_map(StrColumn::iter);
        if !strings().zip(strings().skip(1)).all(|(before, after)| before < after) {
            return Err(corrupt("a dictionary isn't in order"));
        }
        let dictionary = OrderedDictionary::from_sorted(strings());
        reservation.resize(reservation.bytes() / 2)?;
        *loaded = Some((dictionary.clone(), reservation));
        Ok(dictionary)
    }
}

impl EntryValues for ColumnDictionary {
    fn value(&self, entry: u64) -> Option<String> {
        let loaded = self.loaded.lock();
        let (dictionary, _) = loaded.as_ref()?;
        let code = u32::try_from(entry).ok().filter(|&code| (code as usize) < dictionary.len())?;
        Some(String::from_utf8_lossy(dictionary.get(code)).into_owned())
    }
}

/// A dictionary's parts before their stream is known.
pub(super) struct WrittenDictionary {
    pub parts: Vec<(u64, godwit_encoding::PartHeader)>,
    pub strings: u32,
}

/// Appends a dictionary to a stream.
pub(super) fn write(
    dictionary: &OrderedDictionary,
    stream: &mut StreamWriter,
    blocks: &Blocks,
) -> Result<WrittenDictionary> {
    let values = Vector::flat(Flat::Str(dictionary.shared().values().strings().clone()), None);
    let mut encoder = Encoder::default();
    let starts = (0..dictionary.len()).step_by(PART_STRINGS);
    let parts = starts.map(|start| {
        let rows = PART_STRINGS.min(dictionary.len() - start);
        let encoded = encoder.encode(&values.slice(start, rows), EncodingChoice::Auto);
        Ok((stream.append(&encoded.body, blocks)?, encoded.header))
    });
    Ok(WrittenDictionary { parts: parts.collect::<Result<_>>()?, strings: dictionary.len() as u32 })
}

impl WrittenDictionary {
    /// With the stream that its parts were written to.
    pub(super) fn in_stream(self, stream: &Arc<crate::byte_stream::ByteStream>) -> Arc<ColumnDictionary> {
        let mut first_row = 0;
        let parts = self.parts.into_iter().map(|(offset, header)| {
            let part = StoredPart { first_row, stream: stream.clone(), offset, header };
            first_row += part.header.rows;
            part
        });
        Arc::new(ColumnDictionary::new(parts.collect(), self.strings))
    }
}
