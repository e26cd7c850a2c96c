//! What is known of a part without its body.

use std::ops::Range;

use godwit_common::{Error, Result};
use godwit_vector::{PhysicalType, ValueRange};

use crate::packed::{self, Packing};
use crate::{BLOCK_ROWS, ROW_GROUP_ROWS, validity};

/// How the values of a part are stored, with what decoding needs besides the body.
#[derive(Debug, Clone, PartialEq)]
pub enum Encoding {
    /// All rows are NULL.
    Null,
    /// All rows have this integer, or the bits of this float.
    Constant(i128),
    /// Offsets from a base in a few bits.
    Packed(Packing),
    /// Doubles `integer / 10^exponent`, the integers packed.
    Decimals {
        /// Decimal places, at most [`crate::decimals::EXPONENT_MAX`].
        exponent: u8,
        /// How the integers are packed.
        packing: Packing,
    },
    /// Ends of runs, then a value per run.
    RunLength {
        /// Number of runs.
        runs: u32,
    },
    /// Values as they are.
    Plain,
    /// Strings as they are.
    Text,
    /// Strings compressed with a symbol table.
    Symbols,
}

/// A part without its body. `to_bytes` and `from_bytes` are its form in the table's metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct PartHeader {
    /// The type of the values.
    pub physical: PhysicalType,
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
const TYPES: [PhysicalType; 13] = {
    use PhysicalType::*;
    [Bool, I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64, Str]
};

impl PartHeader {
    /// True if the body starts with a validity bitmap.
    pub(crate) fn has_bitmap(&self) -> bool {
        self.nulls > 0 && self.nulls < self.rows
    }

    /// Length of the validity bitmap in the body.
    pub(crate) fn bitmap_bytes(&self) -> usize {
        if self.has_bitmap() { validity::bytes_for(self.rows as usize) } else { 0 }
    }

    /// The header that `rows` have as a part of their own, and where its body lies in the body of this one; `None` if
    /// their values can't be told from the others' without all of it. `rows` start at a multiple of [`BLOCK_ROWS`].
    pub fn of_rows(&self, rows: &Range<usize>) -> Option<(PartHeader, Range<usize>)> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS) && rows.end <= self.rows as usize, "whole blocks of the part");
        if self.has_bitmap() {
            return None;
        }
        let offset = |row: usize| match &self.encoding {
            Encoding::Null | Encoding::Constant(_) => Some(0),
            Encoding::Packed(how) | Encoding::Decimals { packing: how, .. } => Some(packed::bytes_for(row, how.width)),
            Encoding::Plain => Some(row * self.physical.width_bytes()),
            Encoding::RunLength { .. } | Encoding::Text | Encoding::Symbols => None,
        };
        let body = offset(rows.start)?..offset(rows.end)?;
        let nulls = if self.nulls > 0 { rows.len() as u32 } else { 0 };
        Some((PartHeader { rows: rows.len() as u32, nulls, body_bytes: body.len() as u32, ..self.clone() }, body))
    }

    /// Appends the header to metadata.
    pub fn to_bytes(&self, out: &mut Vec<u8>) {
        let physical = TYPES.iter().position(|ty| *ty == self.physical).expect("nested values have no segments");
        out.push(physical as u8);
        for number in [self.rows, self.nulls, self.body_bytes] {
            out.extend(number.to_le_bytes());
        }
        out.push(self.range.is_some() as u8);
        if let Some(range) = self.range {
            out.extend(range.min.to_le_bytes());
            out.extend(range.max.to_le_bytes());
        }
        let packing = |out: &mut Vec<u8>, packing: &Packing| {
            out.extend(packing.base.to_le_bytes());
            out.push(packing.width);
        };
        match &self.encoding {
            Encoding::Null => out.push(0),
            Encoding::Constant(value) => {
                out.push(1);
                out.extend(value.to_le_bytes());
            }
            Encoding::Packed(how) => {
                out.push(2);
                packing(out, how);
            }
            Encoding::Decimals { exponent, packing: how } => {
                out.extend([3, *exponent]);
                packing(out, how);
            }
            Encoding::RunLength { runs } => {
                out.push(4);
                out.extend(runs.to_le_bytes());
            }
            Encoding::Plain => out.push(5),
            Encoding::Text => out.push(6),
            Encoding::Symbols => out.push(7),
        }
    }

    /// Reads a header off the front of `bytes`. Fails on what no [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &mut &[u8]) -> Result<Self> {
        let [physical] = take(bytes)?;
        let physical = *TYPES.get(physical as usize).ok_or_else(|| corrupt("unknown type"))?;
        let rows = u32::from_le_bytes(take(bytes)?);
        let nulls = u32::from_le_bytes(take(bytes)?);
        let body_bytes = u32::from_le_bytes(take(bytes)?);
        let range = match take(bytes)? {
            [0] => None,
            [1] => Some(ValueRange { min: i128::from_le_bytes(take(bytes)?), max: i128::from_le_bytes(take(bytes)?) }),
            _ => return Err(corrupt("bad flag")),
        };
        let encoding = match take(bytes)? {
            [0] => Encoding::Null,
            [1] => Encoding::Constant(i128::from_le_bytes(take(bytes)?)),
            [2] => Encoding::Packed(read_packing(bytes)?),
            [3] => {
                let [exponent] = take(bytes)?;
                Encoding::Decimals { exponent, packing: read_packing(bytes)? }
            }
            [4] => Encoding::RunLength { runs: u32::from_le_bytes(take(bytes)?) },
            [5] => Encoding::Plain,
            [6] => Encoding::Text,
            [7] => Encoding::Symbols,
            _ => return Err(corrupt("unknown encoding")),
        };
        let header = Self { physical, rows, nulls, body_bytes, range, encoding };
        header.check()?;
        Ok(header)
    }

    /// Whether the fields agree with each other.
    fn check(&self) -> Result<()> {
        let rows = self.rows as usize;
        let is_integer = self.physical.is_integer() || self.physical == PhysicalType::Bool;
        let values_bytes = match &self.encoding {
            Encoding::Null => Some(0),
            Encoding::Constant(_) => Some(0),
            Encoding::Packed(how) => Some(packed::bytes_for(rows, how.width)),
            Encoding::Decimals { packing, .. } => Some(packed::bytes_for(rows, packing.width)),
            Encoding::Plain if self.physical == PhysicalType::Str => return Err(corrupt("strings stored as numbers")),
            Encoding::Plain => Some(rows * self.physical.width_bytes()),
            Encoding::RunLength { runs } => Some(*runs as usize * (4 + self.physical.width_bytes())),
            Encoding::Text | Encoding::Symbols => None,
        };
        let is_of_type = match &self.encoding {
            Encoding::Null | Encoding::Plain => true,
            Encoding::Constant(_) => self.physical != PhysicalType::Str,
            Encoding::Packed(_) => is_integer,
            Encoding::RunLength { runs } => self.physical != PhysicalType::Str && *runs <= self.rows,
            Encoding::Decimals { exponent, .. } => {
                self.physical == PhysicalType::F64 && *exponent <= crate::decimals::EXPONENT_MAX
            }
            Encoding::Text | Encoding::Symbols => self.physical == PhysicalType::Str,
        };
        let body_bytes = self.body_bytes as usize;
        let body_fits = match values_bytes {
            Some(bytes) => body_bytes == self.bitmap_bytes() + bytes,
            None => body_bytes >= self.bitmap_bytes(),
        };
        let is_sound = rows <= ROW_GROUP_ROWS.next_multiple_of(BLOCK_ROWS)
            && self.nulls <= self.rows
            && (self.nulls == self.rows) == (self.encoding == Encoding::Null)
            && is_of_type
            && body_fits;
        if is_sound { Ok(()) } else { Err(corrupt("contradicts itself")) }
    }
}

fn read_packing(bytes: &mut &[u8]) -> Result<Packing> {
    let base = i128::from_le_bytes(take(bytes)?);
    let [width] = take(bytes)?;
    if width > packed::WIDTH_MAX {
        return Err(corrupt("too many bits"));
    }
    Ok(Packing { base, width })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>().ok_or_else(|| corrupt("too short"))?;
    *bytes = tail;
    Ok(*head)
}

pub(crate) fn corrupt(what: &str) -> Error {
    Error::corrupt(format!("a column segment is damaged: {what}"))
}
