//! A part: a header and a body, and the three ways to read it.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Bitmap, Flat, PhysicalType, ValueRange, Vector, match_integer_type, match_physical};

use crate::BLOCK_ROWS;
use crate::decimals::unscale;
use crate::header::{Encoding, PartHeader, corrupt};
use crate::packed::Packing;
use crate::plain::{self, make};
use crate::run_length::Runs;
use crate::text::Strings;

/// What [`encode`](crate::encode) makes.
#[derive(Debug, Clone)]
pub struct EncodedPart {
    /// For the table's metadata.
    pub header: PartHeader,
    /// For a page; `header.body_bytes` long.
    pub body: Vec<u8>,
    /// Runs of equal values, NULL left out: a bound of the number of distinct values. Of strings: values.
    pub runs: u32,
}

/// A part to read from. Bodies in pages should begin at a multiple of 8 bytes: others are read through copies.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub(crate) header: &'a PartHeader,
    body: &'a [u8],
}

/// Dictionary codes that a predicate holds for, one bit per code.
pub type CodeFilter = Bitmap;

impl EncodedPart {
    /// The part, to read from.
    pub fn part(&self) -> Part<'_> {
        Part { header: &self.header, body: &self.body }
    }
}

impl<'a> Part<'a> {
    /// A part of a header and its body. Fails if the body isn't as long as the header says.
    pub fn new(header: &'a PartHeader, body: &'a [u8]) -> Result<Self> {
        if body.len() != header.body_bytes as usize {
            return Err(corrupt("its length is not that of its header"));
        }
        Ok(Self { header, body })
    }

    pub(crate) fn bitmap(&self) -> &'a [u8] {
        &self.body[..self.header.bitmap_bytes()]
    }

    fn values(&self) -> &'a [u8] {
        &self.body[self.header.bitmap_bytes()..]
    }

    fn rows(&self) -> usize {
        self.header.rows as usize
    }

    /// The values of `rows`, which start at a multiple of [`BLOCK_ROWS`].
    pub fn decode(&self, rows: Range<usize>) -> Result<Vector> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS) && rows.end <= self.rows(), "whole blocks of the part");
        let physical = self.header.physical;
        let flat = match &self.header.encoding {
            Encoding::Null => return Ok(Vector::null(physical, rows.len())),
            Encoding::Constant(value) if self.header.nulls == 0 => {
                return Ok(Vector::constant(constant(physical, *value, 1), rows.len()));
            }
            Encoding::Constant(value) => constant(physical, *value, rows.len()),
            Encoding::Packed(packing) => {
                match_integer_type!(physical, T => make(physical, packing.read::<T>(self.values(), rows.clone())?))
            }
            Encoding::Decimals { exponent, packing } => {
                let integers = packing.read::<i64>(self.values(), rows.clone())?;
                doubles(integers, *exponent)
            }
            Encoding::RunLength { runs } => self.runs(*runs)?.decode(rows.clone()),
            Encoding::Plain => plain::read(physical, self.values(), rows.clone())?,
            Encoding::Text => Flat::Str(Strings::read(self.values(), self.rows(), false)?.decode(rows.clone())?),
            Encoding::Symbols => Flat::Str(Strings::read(self.values(), self.rows(), true)?.decode(rows.clone())?),
        };
        Ok(Vector::flat(flat, self.validity(&rows)))
    }

    /// The values of single rows, in any order.
    pub fn take(&self, rows: &[u32]) -> Result<Vector> {
        assert!(rows.iter().all(|&row| row < self.header.rows), "rows of the part");
        let physical = self.header.physical;
        let flat = match &self.header.encoding {
            Encoding::Null => return Ok(Vector::null(physical, rows.len())),
            Encoding::Constant(value) => constant(physical, *value, rows.len()),
            Encoding::Packed(packing) => {
                match_integer_type!(physical, T => make(physical, packing.take::<T>(self.values(), rows)?))
            }
            Encoding::Decimals { exponent, packing } => doubles(packing.take::<i64>(self.values(), rows)?, *exponent),
            Encoding::RunLength { runs } => self.runs(*runs)?.take(rows),
            Encoding::Plain => self.take_plain(rows)?,
            Encoding::Text => Flat::Str(Strings::read(self.values(), self.rows(), false)?.take(rows)?),
            Encoding::Symbols => Flat::Str(Strings::read(self.values(), self.rows(), true)?.take(rows)?),
        };
        let validity =
            (self.header.nulls > 0).then(|| Bitmap::from_fn(rows.len(), |i| self.is_valid(rows[i] as usize)));
        Ok(Vector::flat(flat, validity))
    }

    /// Appends those of `rows`, relative to their start, whose integer is in `wanted`; NULL never is. `rows` start at a
    /// multiple of [`BLOCK_ROWS`].
    pub fn select_range(&self, rows: Range<usize>, wanted: ValueRange, selected: &mut Vec<u32>) -> Result<()> {
        self.select(
            rows,
            selected,
            |value| wanted.min <= value && value <= wanted.max,
            |packing, body, rows, selected| packing.select_range(body, rows, wanted, selected),
        )
    }

    /// As [`select_range`](Self::select_range), for rows whose dictionary code has its bit set.
    pub fn select_codes(&self, rows: Range<usize>, wanted: &CodeFilter, selected: &mut Vec<u32>) -> Result<()> {
        let is_wanted = |code: i128| usize::try_from(code).is_ok_and(|code| code < wanted.len() && wanted.get(code));
        self.select(rows, selected, is_wanted, |packing, body, rows, selected| {
            let base = packing.base;
            packing.select_bits(body, rows, |distance| is_wanted(base + distance as i128), selected)
        })
    }

    /// Selects rows by integer: on packed values if there are any, by value otherwise.
    fn select(
        &self,
        rows: Range<usize>,
        selected: &mut Vec<u32>,
        is_wanted: impl Fn(i128) -> bool,
        on_packed: impl FnOnce(&Packing, &[u8], Range<usize>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let start = selected.len();
        match &self.header.encoding {
            Encoding::Null => return Ok(()),
            Encoding::Constant(value) if !is_wanted(*value) => return Ok(()),
            Encoding::Constant(_) => selected.extend(0..rows.len() as u32),
            Encoding::Packed(packing) => on_packed(packing, self.values(), rows.clone(), selected)?,
            _ => {
                let values = self.decode(rows.clone())?.to_flat();
                godwit_vector::match_flat!(
                    &values,
                    values => selected.extend((0..values.len() as u32).filter(|&row| is_wanted(values[row as usize] as i128))),
                    _s => unreachable!("strings are selected by code"),
                    _a => unreachable!("nested values have no segments")
                );
            }
        }
        if self.header.nulls > 0 {
            let first = rows.start;
            let mut kept = start;
            for index in start..selected.len() {
                selected[kept] = selected[index];
                kept += self.is_valid(first + selected[index] as usize) as usize;
            }
            selected.truncate(kept);
        }
        Ok(())
    }

    fn runs(&self, runs: u32) -> Result<Runs> {
        Runs::read(self.header.physical, self.values(), runs as usize, self.rows())
    }

    fn take_plain(&self, rows: &[u32]) -> Result<Flat> {
        let physical = self.header.physical;
        let values = self.values();
        Ok(match_physical!(physical, T => {
            let width = size_of::<T>();
            let value = |&row: &u32| {
                let bytes = values.get(row as usize * width..(row as usize + 1) * width);
                let bytes = bytes.ok_or_else(|| corrupt("too few values"))?;
                Ok(T::from_le_bytes(bytes.try_into().expect("as wide")))
            };
            make(physical, rows.iter().map(value).collect::<Result<Vec<T>>>()?)
        }))
    }
}

/// `rows` times a value: an integer, or the bits of a float.
fn constant(physical: PhysicalType, value: i128, rows: usize) -> Flat {
    match physical {
        PhysicalType::F32 => make(physical, vec![f32::from_bits(value as u32); rows]),
        PhysicalType::F64 => make(physical, vec![f64::from_bits(value as u64); rows]),
        PhysicalType::Str => unreachable!("equal strings are text"),
        _ => match_integer_type!(physical, T => make(physical, vec![value as T; rows])),
    }
}

fn doubles(integers: Vec<i64>, exponent: u8) -> Flat {
    make(PhysicalType::F64, integers.into_iter().map(|integer| unscale(integer, exponent)).collect::<Vec<f64>>())
}
