//! The header of a part: what is known without its body.

use std::ops::Range;

use godwit_common::{Error, Result};
use godwit_vector::{PhysicalType, ValueRange};

use crate::parameters::take;
use crate::registry::Encoding;
use crate::scheme::Shape;
use crate::{BLOCK_ROWS, ROW_GROUP_ROWS, validity};

/// What the values of a part represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartContent {
    /// The values of the column.
    Values,
    /// Codes of the column's dictionary.
    Codes,
}

/// A part without its body. `to_bytes` and `from_bytes` define its form in the table's metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct PartHeader {
    /// The type of the values.
    pub physical: PhysicalType,
    /// What they represent. Codes are `U32`.
    pub content: PartContent,
    /// Rows, at most [`ROW_GROUP_ROWS`].
    pub rows: u32,
    /// Rows that are NULL.
    pub nulls: u32,
    /// Length of the body.
    pub body_bytes: u32,
    /// Smallest and largest integer; `None` for other types, and without values.
    pub range: Option<ValueRange>,
    /// How the values are stored.
    pub encoding: Encoding,
}

/// Physical types by their number in the file. Appended to, never reordered.
pub(crate) const TYPES: [PhysicalType; 13] = {
    use PhysicalType::*;
    [Bool, I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64, Str]
};

/// The bits of the first byte that hold the number of the type. Those above hold the content: 0 in formats up to 5,
/// which didn't store it.
const TYPE_BITS: u32 = 6;

impl PartHeader {
    /// True if the body starts with a validity bitmap.
    pub(crate) fn has_bitmap(&self) -> bool {
        self.nulls > 0 && self.nulls < self.rows
    }

    /// Length of the validity bitmap in the body.
    pub(crate) fn bitmap_bytes(&self) -> usize {
        if self.has_bitmap() { validity::bytes_for(self.rows as usize) } else { 0 }
    }

    /// The header that `rows` have as a part of their own, and where its body is in the body of this one; `None` if
    /// their values can't be separated from the others without the whole body. `rows` start at a multiple of
    /// [`BLOCK_ROWS`].
    pub fn of_rows(&self, rows: &Range<usize>) -> Option<(PartHeader, Range<usize>)> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS) && rows.end <= self.rows as usize, "whole blocks of the part");
        if self.has_bitmap() {
            return None;
        }
        let offset = |row: usize| self.encoding.scheme().bytes_before(self.physical, row);
        let body = offset(rows.start)?..offset(rows.end)?;
        let nulls = if self.nulls > 0 { rows.len() as u32 } else { 0 };
        Some((PartHeader { rows: rows.len() as u32, nulls, body_bytes: body.len() as u32, ..self.clone() }, body))
    }

    /// Appends the header to metadata.
    pub fn to_bytes(&self, out: &mut Vec<u8>) {
        let physical = TYPES.iter().position(|ty| *ty == self.physical).expect("nested values have no segments");
        let content = match self.content {
            PartContent::Values => 1,
            PartContent::Codes => 2,
        };
        out.push(physical as u8 | content << TYPE_BITS);
        for number in [self.rows, self.nulls, self.body_bytes] {
            out.extend(number.to_le_bytes());
        }
        out.push(self.range.is_some() as u8);
        if let Some(range) = self.range {
            out.extend(range.min.to_le_bytes());
            out.extend(range.max.to_le_bytes());
        }
        self.encoding.write(out);
    }

    /// Reads a header off the front of `bytes`. Fails on bytes that [`to_bytes`](Self::to_bytes) can't have written.
    ///
    /// `unsaid` is what `U32` values represent in a header of a format that doesn't store it: codes in a column of
    /// strings.
    pub fn from_bytes(bytes: &mut &[u8], unsaid: PartContent) -> Result<Self> {
        let [first] = take(bytes)?;
        let physical = TYPES.get(usize::from(first & ((1 << TYPE_BITS) - 1)));
        let physical = *physical.ok_or_else(|| corrupt("unknown type"))?;
        let content = match first >> TYPE_BITS {
            0 if physical == PhysicalType::U32 => unsaid,
            0 | 1 => PartContent::Values,
            2 => PartContent::Codes,
            _ => return Err(corrupt("unknown content")),
        };
        let rows = u32::from_le_bytes(take(bytes)?);
        let nulls = u32::from_le_bytes(take(bytes)?);
        let body_bytes = u32::from_le_bytes(take(bytes)?);
        let range = match take(bytes)? {
            [0] => None,
            [1] => Some(ValueRange { min: i128::from_le_bytes(take(bytes)?), max: i128::from_le_bytes(take(bytes)?) }),
            _ => return Err(corrupt("bad flag")),
        };
        let encoding = Encoding::read(bytes)?;
        let header = Self { physical, content, rows, nulls, body_bytes, range, encoding };
        header.check()?;
        Ok(header)
    }

    /// Whether the fields agree with each other.
    fn check(&self) -> Result<()> {
        let rows = self.rows as usize;
        let is_sound = rows <= ROW_GROUP_ROWS.next_multiple_of(BLOCK_ROWS)
            && self.nulls <= self.rows
            && (self.nulls == self.rows) == matches!(self.encoding, Encoding::Null(_))
            && (self.content == PartContent::Values || self.physical == PhysicalType::U32);
        let bytes = (self.body_bytes as usize).checked_sub(self.bitmap_bytes()).filter(|_| is_sound);
        let bytes = bytes.ok_or_else(|| corrupt("contradicts itself"))?;
        self.encoding.scheme().check(Shape { physical: self.physical, rows, bytes })
    }
}

pub(crate) fn corrupt(what: &str) -> Error {
    Error::corrupt(format!("a column segment is damaged: {what}"))
}
