//! Dictionaries of a scan: read when a column first needs them, and shared by the workers.
//!
//! In a stream, a message may append values to a dictionary (a delta) or replace all of them. Only the newest values of
//! a dictionary are kept; if a later batch merely added some, they serve earlier batches, too.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::{Dictionary, PhysicalType, StrView, from_arrow, in_layout};
use parking_lot::Mutex;

use super::column::ArrayReader;
use super::file::{ArrowFile, DictionaryPlace, Extent};
use super::message::{Content, Message};
use super::types::Column;
use crate::file::guarded;

/// Bytes per value of the set used to check for duplicates.
const SET_BYTES_PER_VALUE: usize = 40;

/// The values of a dictionary.
pub(super) struct Entries {
    pub values: ArrayRef,
    pub dictionary: Arc<Dictionary>,
    /// True if vectors may use its codes: its values are texts or binaries, and distinct.
    pub is_coded: bool,
    /// The messages of the file that they come from.
    first: usize,
    last: usize,
    _memory: Reservation,
}

/// The dictionaries of a scan, by file and id.
#[derive(Default)]
pub(super) struct Dictionaries(Mutex<BTreeMap<(usize, i64), Arc<Entries>>>);

impl Dictionaries {
    /// Returns the values of a dictionary as seen by a batch.
    pub(super) fn get(
        &self,
        (number, file): (usize, &ArrowFile),
        id: i64,
        batch: usize,
        memory: &BufferManager,
    ) -> Result<Arc<Entries>> {
        let seen = |place: &DictionaryPlace| place.id == id && place.first_batch <= batch;
        let places = file.dictionaries.iter().enumerate().filter(|(_, place)| seen(place)).map(|(at, _)| at);
        let places: Vec<usize> = places.collect();
        let start = places.iter().rposition(|&at| !file.dictionaries[at].is_delta).unwrap_or(0);
        let places = &places[start..];
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            // A column of NULLs needs no values.
            return Entries::new(empty(file, id)?, (usize::MAX, 0), memory.reserve(0, MemoryTag::Reader)?);
        };
        // The lock is held while entries are read: other readers of this dictionary would have to wait for them anyway.
        let mut known = self.0.lock();
        let before = known.get(&(number, id)).filter(|entries| entries.first == first).cloned();
        if let Some(entries) = &before
            && entries.last >= last
        {
            return Ok(entries.clone());
        }
        let mut reservation = memory.reserve(0, MemoryTag::Reader)?;
        let mut parts: Vec<ArrayRef> = before.iter().map(|entries| entries.values.clone()).collect();
        let done = before.as_ref().map_or(0, |entries| entries.last + 1);
        for &at in places.iter().filter(|&&at| at >= done) {
            let place = &file.dictionaries[at];
            let part = read(file, place, memory, &mut reservation);
            parts.push(part.map_err(|error| file.wrong(place.offset, &format!("dictionary {id}"), error))?);
        }
        let values = match &parts[..] {
            [whole] => whole.clone(),
            parts => {
                let bytes: usize = parts.iter().map(|part| part.get_array_memory_size()).sum();
                reservation.resize(reservation.bytes() + bytes)?;
                let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
                let all =
                    guarded(|| arrow_select::concat::concat(&parts)).map_err(|error| file.bytes.corrupt(error))?;
                all.map_err(|error| file.bytes.corrupt(error))?
            }
        };
        drop(parts);
        let entries = Entries::new(values, (first, last), reservation)?;
        known.insert((number, id), entries.clone());
        Ok(entries)
    }
}

/// Returns the type of a dictionary's values.
fn column(file: &ArrowFile, id: i64) -> Result<Column> {
    let values = file.dictionary_type(id).ok_or_else(|| Error::corrupt("no column has this dictionary"))?;
    Column::of(values)
}

fn empty(file: &ArrowFile, id: i64) -> Result<ArrayRef> {
    Ok(new_empty_array(column(file, id)?.field.data_type()))
}

/// Reads the values in one message.
fn read(file: &ArrowFile, place: &DictionaryPlace, memory: &BufferManager, held: &mut Reservation) -> Result<ArrayRef> {
    let message = Message::read(&file.bytes, place.offset, memory)?;
    let Some(Message { content: Content::Dictionary { values: batch, .. }, body, .. }) = message else {
        return Err(Error::corrupt("the file was changed while it was read"));
    };
    let before = held.bytes();
    let column = column(file, place.id)?;
    let nested = |_| Err(Error::corrupt("a dictionary has a dictionary"));
    let mut reader = ArrayReader::new(&file.bytes, (&batch, body), Extent::default(), &nested, held)?;
    let array = reader.whole(&column.decoded, batch.rows)?;
    let layout = column.field.data_type();
    if array.data_type() == layout {
        return Ok(array);
    }
    // Both are there for a moment.
    let stored = held.bytes() - before;
    held.resize(held.bytes() + array.get_array_memory_size() + array.len() * size_of::<StrView>())?;
    let converted = in_layout(&array, layout)?;
    drop(array);
    held.resize(held.bytes() - stored)?;
    Ok(converted)
}

impl Entries {
    fn new(values: ArrayRef, (first, last): (usize, usize), mut memory: Reservation) -> Result<Arc<Self>> {
        memory.resize(memory.bytes() + values.len() * (size_of::<StrView>() + SET_BYTES_PER_VALUE))?;
        let flat = from_arrow(&values)?.to_flat();
        let is_text = flat.physical() == PhysicalType::Str;
        let mut known = HashSet::with_capacity(if is_text { values.len() } else { 0 });
        // Codes are compared instead of values.
        let is_coded = is_text && values.null_count() == 0 && flat.strings().iter().all(|value| known.insert(value));
        drop(known);
        memory.resize(memory.bytes() - values.len() * SET_BYTES_PER_VALUE)?;
        let dictionary = Arc::new(Dictionary::new(flat, false));
        Ok(Arc::new(Self { values, dictionary, is_coded, first, last, _memory: memory }))
    }
}
