//! Sums of differences, block by block.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, match_integer_type};

use super::Block;
use crate::BLOCK_ROWS;
use crate::flat::make;
use crate::header::corrupt;
use crate::packing::Packing;
use crate::scheme::Body;

pub(super) fn decode(body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    Ok(match_integer_type!(body.physical, T => {
        let mut values: Vec<T> = Vec::with_capacity(rows.len());
        for begin in rows.clone().step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(rows.end - begin);
            let block = Block::of(body, begin / BLOCK_ROWS)?;
            match block.even_step() {
                Some(value) => values.extend((0..rows).map(|row| value(row) as T)),
                None => block.append(body, rows, &mut values, |value| value as T)?,
            }
        }
        make(body.physical, values)
    }))
}

impl Block {
    /// Block `number` of a body.
    pub(super) fn of(body: Body<'_>, number: usize) -> Result<Self> {
        let entry = body.bytes.as_chunks::<{ Self::BYTES }>().0.get(number);
        let entry = entry.ok_or_else(|| corrupt("no such block of differences"))?;
        let number = |at: usize| i64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
        let offset = u32::from_le_bytes(entry[16..20].try_into().expect("four bytes"));
        if entry[20] > crate::packing::WIDTH_MAX {
            return Err(corrupt("too many bits"));
        }
        Ok(Self { first: number(0), least: number(8), offset, width: entry[20] })
    }

    /// Appends the results of `made` for its first `rows` values.
    pub(super) fn append<T>(
        &self,
        body: Body<'_>,
        rows: usize,
        values: &mut Vec<T>,
        made: impl Fn(i64) -> T,
    ) -> Result<()> {
        let packed = body.bytes.get(self.offset as usize..);
        let packed = packed.ok_or_else(|| corrupt("differences lie outside of it"))?;
        // The first row's stored difference is 0, so start from a value that is the least difference below it.
        let (least, mut value) = (self.least, self.first.wrapping_sub(self.least));
        Packing { base: 0, width: self.width }.append(packed, 0..rows, values, |difference| {
            // Only one of the two additions depends on the previous row.
            value = value.wrapping_add((difference as i64).wrapping_add(least));
            made(value)
        })
    }
}
