//! The values of one column in one batch.
//!
//! ```text
//! buffers in the file ──read, decompressed──▶ arrays, validated ──▶ windows of rows as vectors
//! ```
//!
//! All memory is reserved before it is allocated. Arrays are validated as a whole: offsets and views against their
//! data, codes against their dictionary, text for UTF-8, decimals against their precision.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field};
use godwit_common::{Error, Result};
use godwit_memory::{Object, Reservation};
use godwit_trace::{ObjectPart, VECTOR_BYTES};
use godwit_vector::{Vector, from_arrow, from_arrow_codes, in_layout};

use super::dictionary::Entries;
use super::file::{Extent, dictionary_id};
use super::message::{Batch, Node};
use super::types::{children, is_view, own_buffers, plain};
use crate::file::{FileBytes, guarded};
use crate::page::Codec;

/// Size of the prefix of a compressed buffer, its decompressed length.
const LENGTH_BYTES: u64 = 8;

/// Replaces the length if the bytes aren't compressed.
const NOT_COMPRESSED: i64 = -1;

/// The array of a column in a batch.
pub(super) struct ColumnValues {
    array: ArrayRef,
    /// The dictionary entries, if the column has codes.
    entries: Option<Arc<Entries>>,
    /// The type of the values, if it differs from the stored one.
    shown_as: Option<DataType>,
}

impl ColumnValues {
    pub(super) fn new(array: ArrayRef, entries: Option<Arc<Entries>>) -> Self {
        let shown = plain(array.data_type());
        let shown_as = (entries.is_none() && shown != *array.data_type()).then_some(shown);
        Self { array, entries, shown_as }
    }

    /// Tells a memory trace where the values are, and that all of them were read. Their buffers are consecutive in the
    /// column's object, starting at `offset`.
    pub(super) fn tell_trace(&self, object: &Object, mut offset: u64) {
        if !godwit_trace::is_on() {
            return;
        }
        self.visit_buffers(|buffer| {
            let place = ObjectPart::of_bytes(buffer.as_ptr(), buffer.len(), offset);
            godwit_trace::declare(place, object.trace_key(), || object.traced());
            godwit_trace::loads(|loads| loads.run(buffer.as_ptr(), buffer.len(), VECTOR_BYTES));
            offset += buffer.len() as u64;
        });
    }

    /// Tells a memory trace that the values are gone.
    pub(super) fn tell_trace_of_end(&self) {
        if godwit_trace::is_on() {
            self.visit_buffers(|buffer| godwit_trace::forget(buffer.as_ptr(), buffer.len()));
        }
    }

    /// Visits all buffers except those of dictionary values, which columns share.
    fn visit_buffers(&self, mut visit: impl FnMut(&Buffer)) {
        let mut open = vec![self.array.to_data()];
        while let Some(array) = open.pop() {
            array.buffers().iter().for_each(&mut visit);
            if !matches!(array.data_type(), DataType::Dictionary(..)) {
                open.extend(array.child_data().iter().cloned());
            }
        }
    }

    /// Returns some rows, or those of them at `selected`.
    pub(super) fn vector(&self, rows: Range<usize>, selected: Option<&[u32]>) -> Result<Vector> {
        let mut array = self.array.slice(rows.start, rows.len());
        if let Some(shown) = &self.shown_as {
            array = in_layout(&array, shown)?;
        }
        let vector = match &self.entries {
            Some(entries) => from_arrow_codes(&array, &entries.dictionary)?,
            None => from_arrow(&array)?,
        };
        let vector = match selected {
            Some(selected) => vector.take(selected),
            None => vector,
        };
        Ok(match &self.entries {
            Some(entries) if !entries.is_coded => vector.flattened(),
            _ => vector,
        })
    }
}

/// Reads the arrays of a batch in file order.
pub(super) struct ArrayReader<'a> {
    pub file: &'a FileBytes,
    pub batch: &'a Batch,
    /// Where the buffers are in the file.
    pub body: Range<u64>,
    /// Memory of everything read.
    pub memory: &'a mut Reservation,
    /// Returns the values of a dictionary by its id.
    pub dictionary: &'a dyn Fn(i64) -> Result<Arc<Entries>>,
    pub bytes_read: u64,
    codec: Codec,
    next: Cursor,
}

/// Position of the next array, buffer and view array.
#[derive(Debug, Default)]
struct Cursor {
    node: usize,
    buffer: usize,
    view: usize,
}

impl<'a> ArrayReader<'a> {
    /// Creates a reader that starts at `start`.
    pub(super) fn new(
        file: &'a FileBytes,
        (batch, body): (&'a Batch, Range<u64>),
        start: Extent,
        dictionary: &'a dyn Fn(i64) -> Result<Arc<Entries>>,
        memory: &'a mut Reservation,
    ) -> Result<Self> {
        let next = Cursor { node: start.nodes, buffer: first_buffer(batch, start)?, view: start.views };
        let codec = Codec::of_arrow(batch.compression)?;
        Ok(Self { file, batch, body, memory, dictionary, bytes_read: 0, codec, next })
    }

    /// Reads the next array, which must have `rows` rows.
    pub(super) fn whole(&mut self, field: &Field, rows: usize) -> Result<ArrayRef> {
        let array = self.array(field)?;
        if array.len() != rows {
            return Err(Error::corrupt(format!("it has {} values for {rows} rows", array.len())));
        }
        guarded(|| make_array(array))
    }

    /// Reads the next array as the values of a column.
    pub(super) fn column(&mut self, field: &Field) -> Result<ColumnValues> {
        let entries = dictionary_id(field).map(self.dictionary).transpose()?;
        let array = self.whole(field, self.batch.rows)?;
        let may_have_nulls = field.is_nullable() || *field.data_type() == DataType::Null;
        if !may_have_nulls && array.logical_null_count() > 0 {
            return Err(Error::corrupt("it is declared NOT NULL and has NULLs"));
        }
        Ok(ColumnValues::new(array, entries))
    }

    fn array(&mut self, field: &Field) -> Result<ArrayData> {
        let data_type = field.data_type();
        let node = self.next_node()?;
        let mut buffers = self.next_buffers(data_type, node)?;
        let mut nested = Vec::new();
        for child in children(data_type) {
            nested.push(self.array(child)?);
        }
        if let Some(id) = dictionary_id(field) {
            nested.push((self.dictionary)(id)?.values.to_data());
        }
        let nulls = match buffers.is_empty() {
            true => None,
            false => validity(node, buffers.remove(0))?,
        };
        let builder = ArrayData::builder(data_type.clone()).len(node.rows).nulls(nulls);
        let builder = builder.buffers(buffers).child_data(nested);
        let array = guarded(|| builder.build().and_then(|array| check_decimals(&array).map(|()| array)))?;
        array.map_err(|error| Error::corrupt(error.to_string()))
    }

    fn next_node(&mut self) -> Result<Node> {
        let node = self.batch.nodes.get(self.next.node).copied();
        let node = node.ok_or_else(|| Error::corrupt("the batch has fewer arrays than the schema"))?;
        self.next.node += 1;
        // Any value takes at least a byte at some point of processing.
        self.reserve(node.rows)?;
        Ok(node)
    }

    fn next_buffers(&mut self, data_type: &DataType, node: Node) -> Result<Vec<Buffer>> {
        let mut number = own_buffers(data_type);
        if is_view(data_type) {
            number += variadic(self.batch, self.next.view)?;
            self.next.view += 1;
        }
        let end = self.next.buffer.saturating_add(number);
        let batch = self.batch;
        let ranges = batch.buffers.get(self.next.buffer..end).ok_or_else(missing_buffers)?;
        self.next.buffer = end;
        // The first buffer holds the validity bits.
        let buffer = |(at, range)| if at == 0 && !node.has_nulls { Ok(Buffer::default()) } else { self.buffer(range) };
        ranges.iter().enumerate().map(buffer).collect()
    }

    /// Reads a buffer and decompresses it.
    fn buffer(&mut self, range: &Range<u64>) -> Result<Buffer> {
        let (start, end) = (self.body.start + range.start, self.body.start + range.end);
        if start == end || matches!(self.codec, Codec::None) {
            return Ok(self.read(start..end)?.into());
        }
        let values = start + LENGTH_BYTES;
        if values > end {
            return Err(Error::corrupt("a compressed buffer has no length"));
        }
        let mut length = [0; LENGTH_BYTES as usize];
        self.file.read_at(&mut length, start)?;
        let length = match i64::from_le_bytes(length) {
            NOT_COMPRESSED => return Ok(self.read(values..end)?.into()),
            length => usize::try_from(length)
                .map_err(|_| Error::corrupt(format!("a compressed buffer claims {length} bytes")))?,
        };
        self.reserve(length)?;
        let stored = self.read(values..end)?;
        let mut buffer = MutableBuffer::from_len_zeroed(length);
        self.codec.decompress(&stored, &mut buffer)?;
        let stored_bytes = stored.len();
        drop(stored);
        self.memory.resize(self.memory.bytes() - stored_bytes)?;
        Ok(buffer.into())
    }

    fn read(&mut self, range: Range<u64>) -> Result<MutableBuffer> {
        let bytes = usize::try_from(range.end - range.start).map_err(|_| Error::corrupt("a buffer is too long"))?;
        self.reserve(bytes)?;
        let mut buffer = MutableBuffer::from_len_zeroed(bytes);
        self.file.read_at(&mut buffer, range.start)?;
        self.bytes_read += bytes as u64;
        Ok(buffer)
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.memory.resize(self.memory.bytes().saturating_add(bytes))
    }
}

fn missing_buffers() -> Error {
    Error::corrupt("the batch has fewer buffers than the schema")
}

fn variadic(batch: &Batch, view: usize) -> Result<usize> {
    batch.variadic.get(view).copied().ok_or_else(missing_buffers)
}

/// Returns the first buffer after an extent.
fn first_buffer(batch: &Batch, start: Extent) -> Result<usize> {
    let mut views = (0..start.views).map(|view| variadic(batch, view));
    views.try_fold(start.buffers, |sum, number| Ok(sum.saturating_add(number?)))
}

/// Returns the buffers of a batch between two extents.
pub(super) fn buffers_between(batch: &Batch, (start, end): (Extent, Extent)) -> Result<&[Range<u64>]> {
    batch.buffers.get(first_buffer(batch, start)?..first_buffer(batch, end)?).ok_or_else(missing_buffers)
}

fn validity(node: Node, bits: Buffer) -> Result<Option<NullBuffer>> {
    if !node.has_nulls {
        return Ok(None);
    }
    if bits.len() < node.rows.div_ceil(8) {
        return Err(Error::corrupt("it has fewer bits of validity than rows"));
    }
    Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, node.rows))))
}

/// Checks that decimals have no more digits than their type allows, since their width in memory depends on it.
fn check_decimals(array: &ArrayData) -> std::result::Result<(), ArrowError> {
    use DataType as D;
    match array.data_type() {
        D::Decimal32(precision, _) => {
            make_array(array.clone()).as_primitive::<Decimal32Type>().validate_decimal_precision(*precision)
        }
        D::Decimal64(precision, _) => {
            make_array(array.clone()).as_primitive::<Decimal64Type>().validate_decimal_precision(*precision)
        }
        D::Decimal128(precision, _) => {
            make_array(array.clone()).as_primitive::<Decimal128Type>().validate_decimal_precision(*precision)
        }
        D::Decimal256(precision, _) => {
            make_array(array.clone()).as_primitive::<Decimal256Type>().validate_decimal_precision(*precision)
        }
        _ => Ok(()),
    }
}
