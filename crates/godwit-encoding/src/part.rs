//! A part: a header and a body, and the three ways to read it.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::kernels::select::retain_true;
use godwit_vector::{Bitmap, Flat, PhysicalType, SharedBytes, ValueRange, Vector, match_integer_type, match_physical};

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
    /// The body, if strings may point into it.
    shared: Option<&'a SharedBytes>,
}

/// Dictionary codes that a predicate holds for, one bit per code.
pub type CodeFilter = Bitmap;

impl EncodedPart {
    /// The part, to read from.
    pub fn part(&self) -> Part<'_> {
        Part { header: &self.header, body: &self.body, shared: None }
    }
}

impl<'a> Part<'a> {
    /// A part of a header and its body. Fails if the body isn't as long as the header says.
    pub fn new(header: &'a PartHeader, body: &'a [u8]) -> Result<Self> {
        if body.len() != header.body_bytes as usize {
            return Err(corrupt("its length is not that of its header"));
        }
        Ok(Self { header, body, shared: None })
    }

    /// As [`new`](Self::new); strings that are stored as they are aren't copied, but keep the body alive.
    pub fn shared(header: &'a PartHeader, body: &'a SharedBytes) -> Result<Self> {
        Ok(Self { shared: Some(body), ..Self::new(header, body)? })
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
            Encoding::RunLength { runs } => self.runs(*runs)?.decode(rows.clone())?,
            Encoding::Plain => plain::read(physical, self.values(), rows.clone())?,
            Encoding::Text => {
                let strings = Strings::read(self.values(), self.rows(), false)?;
                Flat::Str(match self.shared {
                    Some(body) => strings.share(body, rows.clone())?,
                    None => strings.decode(rows.clone())?,
                })
            }
            Encoding::Symbols => Flat::Str(Strings::read(self.values(), self.rows(), true)?.decode(rows.clone())?),
        };
        Ok(Vector::flat(flat, self.validity(&rows)))
    }

    /// The values of single rows: `rows` ascend and are relative to `start`.
    pub fn take(&self, start: usize, rows: &[u32]) -> Result<Vector> {
        debug_assert!(rows.is_sorted(), "rows are taken in ascending order");
        assert!(rows.last().is_none_or(|&row| start + (row as usize) < self.rows()), "rows of the part");
        let physical = self.header.physical;
        let flat = match &self.header.encoding {
            Encoding::Null => return Ok(Vector::null(physical, rows.len())),
            Encoding::Constant(value) if self.header.nulls == 0 => {
                return Ok(Vector::constant(constant(physical, *value, 1), rows.len()));
            }
            Encoding::Constant(value) => constant(physical, *value, rows.len()),
            Encoding::Packed(packing) => {
                match_integer_type!(physical, T => make(physical, packing.take::<T>(self.values(), start, rows)?))
            }
            Encoding::Decimals { exponent, packing } => {
                doubles(packing.take::<i64>(self.values(), start, rows)?, *exponent)
            }
            Encoding::RunLength { runs } => self.runs(*runs)?.take(start, rows)?,
            Encoding::Plain => self.take_plain(start, rows)?,
            Encoding::Text => Flat::Str(Strings::read(self.values(), self.rows(), false)?.take(start, rows)?),
            Encoding::Symbols => Flat::Str(Strings::read(self.values(), self.rows(), true)?.take(start, rows)?),
        };
        let validity =
            (self.header.nulls > 0).then(|| Bitmap::from_fn(rows.len(), |i| self.is_valid(start + rows[i] as usize)));
        Ok(Vector::flat(flat, validity))
    }

    /// Clears the bits of `mask` of those of `rows` whose integer isn't in `wanted`; NULL never is. Bit `i` is row
    /// `rows.start + i`, and bits past `rows` are clear. `rows` start at a multiple of [`BLOCK_ROWS`].
    pub fn retain_range(&self, rows: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        let is_wanted = |value: i128| wanted.min <= value && value <= wanted.max;
        self.retain(rows, mask, is_wanted, |packing, body, rows, mask| packing.retain_range(body, rows, wanted, mask))
    }

    /// As [`retain_range`](Self::retain_range), for rows whose dictionary code has its bit set.
    pub fn retain_codes(&self, rows: Range<usize>, wanted: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        let is_wanted = |code: i128| usize::try_from(code).is_ok_and(|code| code < wanted.len() && wanted.get(code));
        self.retain(rows, mask, is_wanted, |packing, body, rows, mask| {
            let bits = wanted.words();
            let base = packing.base as u64;
            let is_wanted = |distance: u64| {
                let code = base.wrapping_add(distance);
                bits.get((code / 64) as usize).is_some_and(|bits| bits >> (code % 64) & 1 == 1)
            };
            packing.retain_distances(body, rows, is_wanted, mask)
        })
    }

    /// Narrows a mask by integer: on packed values if there are any, by value otherwise.
    fn retain(
        &self,
        rows: Range<usize>,
        mask: &mut [u64],
        is_wanted: impl Fn(i128) -> bool,
        on_packed: impl FnOnce(&Packing, &[u8], Range<usize>, &mut [u64]) -> Result<()>,
    ) -> Result<()> {
        assert_eq!(mask.len(), rows.len().div_ceil(64), "a bit per row");
        match &self.header.encoding {
            Encoding::Null => mask.fill(0),
            Encoding::Constant(value) if !is_wanted(*value) => mask.fill(0),
            Encoding::Constant(_) => {}
            Encoding::Packed(packing) => on_packed(packing, self.values(), rows.clone(), mask)?,
            _ => {
                let values = self.decode(rows.clone())?.to_flat();
                let wanted: Vec<u8> = godwit_vector::match_flat!(
                    &values,
                    values => values.iter().map(|&value| is_wanted(value as i128) as u8).collect(),
                    _s => unreachable!("strings are selected by code"),
                    _a => unreachable!("nested values have no segments")
                );
                retain_true(&wanted, mask);
            }
        }
        if self.header.nulls > 0 && self.header.has_bitmap() {
            mask.iter_mut().enumerate().for_each(|(index, word)| *word &= self.word(rows.start / 64 + index));
        }
        Ok(())
    }

    fn runs(&self, runs: u32) -> Result<Runs<'a>> {
        Runs::read(self.header.physical, self.values(), runs as usize)
    }

    fn take_plain(&self, start: usize, rows: &[u32]) -> Result<Flat> {
        let physical = self.header.physical;
        let values = self.values();
        Ok(match_physical!(physical, T => {
            let width = size_of::<T>();
            let value = |&row: &u32| {
                let row = start + row as usize;
                let bytes = values.get(row * width..(row + 1) * width);
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
