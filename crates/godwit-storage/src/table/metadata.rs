//! Serialization of a table's main part: everything except the bodies.
//!
//! ```text
//!   fields      count, then name, type, nullable
//!   blocks      count, then pointers
//!   streams     count, then extents: count, then block index, offset, bytes
//!   columns     nulls, distinct, range, string bounds, string bytes, dictionary: strings + parts
//!   row groups  count, then rows and, by column, parts
//!   parts       count, then stream index, offset, header
//! ```
//!
//! Reading validates the metadata: parts are within their streams, streams within their blocks, and row counts add up.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Field;
use godwit_common::Result;
use godwit_encoding::{PartContent, PartHeader, ROW_GROUP_ROWS};
use godwit_vector::{PhysicalType, ValueRange};

use super::dictionary::ColumnDictionary;
use super::{ColumnSummary, Main, MainColumn, RowGroup, Segment, StoredPart, WINDOW_ROWS, corrupt, stored_type, types};
use crate::block::{Block, Blocks};
use crate::byte_stream::{ByteStream, Extent};
use crate::file::{BLOCK_BYTES, BlockPointer};
use crate::wire::{Reader, put_bytes, put_u32, put_u64};

/// Appends the columns of a table.
pub fn write_fields(fields: &[Field], out: &mut Vec<u8>) -> Result<()> {
    put_u32(out, fields.len() as u32);
    for field in fields {
        put_bytes(out, field.name().as_bytes());
        types::write(field, out)?;
        out.push(field.is_nullable() as u8);
    }
    Ok(())
}

/// Reads the columns of a table.
pub fn read_fields(bytes: &mut Reader<'_>) -> Result<Vec<Field>> {
    let count = bytes.u32()?;
    let mut field = || {
        let name = bytes.text()?;
        let field = types::read(name, bytes)?;
        Ok(field.with_nullable(bytes.u8()? != 0))
    };
    (0..count).map(|_| field()).collect()
}

impl Main {
    /// Appends the metadata. Only for tables in a file.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let fields: Vec<Field> = self.columns.iter().map(|column| column.field.clone()).collect();
        write_fields(&fields, out)?;
        let blocks = self.blocks();
        put_u32(out, blocks.len() as u32);
        blocks.iter().for_each(|block| out.extend(block.pointer().to_bytes()));
        let index_of: HashMap<*const Block, u32> = blocks.iter().map(Arc::as_ptr).zip(0..).collect();
        let streams = self.streams();
        put_u32(out, streams.len() as u32);
        for stream in &streams {
            put_u32(out, stream.extents().len() as u32);
            for extent in stream.extents() {
                put_u32(out, index_of[&Arc::as_ptr(&extent.block)]);
                put_u32(out, extent.offset);
                put_u32(out, extent.bytes);
            }
        }
        let writer = Parts(streams.iter().map(Arc::as_ptr).zip(0..).collect());
        for column in &self.columns {
            write_summary(&column.summary, out);
            out.push(column.dictionary.is_some() as u8);
            if let Some(dictionary) = &column.dictionary {
                put_u32(out, dictionary.len());
                writer.write(dictionary.parts(), out);
            }
        }
        put_u32(out, self.groups.len() as u32);
        for group in &self.groups {
            put_u32(out, group.rows);
            group.segments.iter().for_each(|segment| writer.write(&segment.parts, out));
        }
        Ok(())
    }

    /// Reads metadata, and takes over its blocks.
    pub fn read(bytes: &mut Reader<'_>, blocks: &Blocks) -> Result<Self> {
        let fields = read_fields(bytes)?;
        let count = bytes.u32()?;
        let block = |bytes: &mut Reader<'_>| blocks.adopt(BlockPointer::from_bytes(bytes.array()?));
        let blocks: Vec<Arc<Block>> = (0..count).map(|_| block(bytes)).collect::<Result<_>>()?;
        let count = bytes.u32()?;
        let streams: Vec<Arc<ByteStream>> = (0..count).map(|_| read_stream(bytes, &blocks)).collect::<Result<_>>()?;
        let columns = fields.into_iter().map(|field| {
            let summary = read_summary(bytes)?;
            let dictionary = match bytes.u8()? {
                0 => None,
                _ => {
                    let strings = bytes.u32()?;
                    let parts = read_parts(bytes, &streams, PartContent::Values)?;
                    let is_sound = parts.iter().map(|part| part.header.rows as u64).sum::<u64>() == strings as u64
                        && parts.iter().all(|part| part.header.physical == PhysicalType::Str);
                    if !is_sound {
                        return Err(corrupt("a dictionary doesn't add up"));
                    }
                    Some(Arc::new(ColumnDictionary::new(parts, strings)))
                }
            };
            Ok(MainColumn { field, summary, dictionary })
        });
        let columns: Vec<MainColumn> = columns.collect::<Result<_>>()?;
        let count = bytes.u32()?;
        let groups = (0..count).map(|_| {
            let rows = bytes.u32()?;
            let segment = |column: &MainColumn| read_segment(bytes, &streams, column, rows);
            let segments = columns.iter().map(segment).collect::<Result<_>>()?;
            Ok(Arc::new(RowGroup { rows, segments, key_indexes: Arc::default() }))
        });
        let groups = groups.collect::<Result<_>>()?;
        Ok(Self { columns, groups })
    }
}

/// Writes parts; knows the number of each stream.
struct Parts(HashMap<*const ByteStream, u32>);

impl Parts {
    fn write(&self, parts: &[StoredPart], out: &mut Vec<u8>) {
        put_u32(out, parts.len() as u32);
        for part in parts {
            put_u32(out, self.0[&Arc::as_ptr(&part.stream)]);
            put_u64(out, part.offset);
            part.header.to_bytes(out);
        }
    }
}

fn read_stream(bytes: &mut Reader<'_>, blocks: &[Arc<Block>]) -> Result<Arc<ByteStream>> {
    let count = bytes.u32()?;
    let extents = (0..count).map(|_| {
        let block = blocks.get(bytes.u32()? as usize).ok_or_else(|| corrupt("no such block"))?.clone();
        let (offset, length) = (bytes.u32()?, bytes.u32()?);
        if offset as u64 + length as u64 > BLOCK_BYTES as u64 {
            return Err(corrupt("bytes outside of a block"));
        }
        Ok(Extent { block, offset, bytes: length })
    });
    Ok(Arc::new(ByteStream::new(extents.collect::<Result<_>>()?)))
}

/// `unsaid` is what integers represent in formats that don't store it.
fn read_parts(bytes: &mut Reader<'_>, streams: &[Arc<ByteStream>], unsaid: PartContent) -> Result<Vec<StoredPart>> {
    let count = bytes.u32()?;
    let mut first_row = 0u32;
    let parts = (0..count).map(|_| {
        let stream = streams.get(bytes.u32()? as usize).ok_or_else(|| corrupt("no such stream"))?.clone();
        let offset = bytes.u64()?;
        let header = PartHeader::from_bytes(&mut bytes.0, unsaid)?;
        let ends_in_stream = offset.checked_add(header.body_bytes as u64).is_some_and(|end| end <= stream.bytes());
        if !ends_in_stream || header.rows == 0 {
            return Err(corrupt("a part outside of its stream"));
        }
        let part = StoredPart { first_row, stream, offset, header };
        first_row = first_row.checked_add(part.header.rows).ok_or_else(|| corrupt("too many rows"))?;
        Ok(part)
    });
    parts.collect()
}

fn read_segment(
    bytes: &mut Reader<'_>,
    streams: &[Arc<ByteStream>],
    column: &MainColumn,
    rows: u32,
) -> Result<Segment> {
    let natural = stored_type(column.field.data_type())?;
    let unsaid = if natural == PhysicalType::Str { PartContent::Codes } else { PartContent::Values };
    let parts = read_parts(bytes, streams, unsaid)?;
    let codes = column.dictionary.as_ref().map_or(0, |dictionary| dictionary.len());
    let is_sound = |part: &StoredPart| {
        let header = &part.header;
        let in_dictionary = header.range.is_none_or(|range| 0 <= range.min && range.max < codes as i128);
        let is_of_column = match header.content {
            PartContent::Values => header.physical == natural,
            PartContent::Codes => natural == PhysicalType::Str && in_dictionary,
        };
        (part.first_row as usize).is_multiple_of(WINDOW_ROWS) && is_of_column
    };
    let total: u64 = parts.iter().map(|part| part.header.rows as u64).sum();
    if rows as usize > ROW_GROUP_ROWS || total != rows as u64 || !parts.iter().all(is_sound) {
        return Err(corrupt("a row group doesn't add up"));
    }
    Ok(Segment::new(parts))
}

fn write_summary(summary: &ColumnSummary, out: &mut Vec<u8>) {
    put_u64(out, summary.nulls);
    put_u64(out, summary.distinct);
    out.push(summary.range.is_some() as u8);
    if let Some(range) = summary.range {
        out.extend(range.min.to_le_bytes());
        out.extend(range.max.to_le_bytes());
    }
    out.push(summary.strings.is_some() as u8);
    if let Some((min, max)) = &summary.strings {
        put_bytes(out, min);
        put_bytes(out, max);
    }
    put_u64(out, summary.string_bytes);
}

fn read_summary(bytes: &mut Reader<'_>) -> Result<ColumnSummary> {
    let (nulls, distinct) = (bytes.u64()?, bytes.u64()?);
    let range = match bytes.u8()? {
        0 => None,
        _ => Some(ValueRange { min: i128::from_le_bytes(bytes.array()?), max: i128::from_le_bytes(bytes.array()?) }),
    };
    let strings = match bytes.u8()? {
        0 => None,
        _ => Some((bytes.bytes()?.to_vec(), bytes.bytes()?.to_vec())),
    };
    Ok(ColumnSummary { nulls, distinct, range, strings, string_bytes: bytes.u64()? })
}
