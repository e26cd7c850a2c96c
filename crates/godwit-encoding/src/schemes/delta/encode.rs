//! Encodes differences block by block, each block with as many bits as it needs.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use godwit_vector::{Flat, PhysicalType};

use super::{Block, Delta};
use crate::BLOCK_ROWS;
use crate::column::Column;
use crate::cost;
use crate::packing::{self, Packing};
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let numbers = column.numbers()?;
    column.range?;
    if column.physical() == PhysicalType::I128 {
        return None;
    }
    let blocks = blocks(numbers);
    let last = blocks.last()?;
    let size = Size::Exact(last.offset as usize + packing::bytes_for(1, last.width));
    let is_even = blocks.iter().all(|block| block.width == 0);
    let cost = if is_even { cost::EVEN_STEPS } else { cost::DELTA };
    let write = Box::new(move |body: &mut Vec<u8>| {
        write(numbers, &blocks, body);
        Encoding::Delta(Delta)
    });
    Some(Proposal { size, cost, write })
}

fn blocks(numbers: &Flat) -> Vec<Block> {
    godwit_vector::match_flat!(
        numbers,
        values => {
            let mut offset = values.len().div_ceil(BLOCK_ROWS) * Block::BYTES;
            let block = |values: &[_]| {
                let (least, greatest) = values.windows(2).fold((i64::MAX, i64::MIN), |(least, greatest), pair| {
                    let difference = (pair[1] as i64).wrapping_sub(pair[0] as i64);
                    (least.min(difference), greatest.max(difference))
                });
                // A single row has no differences.
                let (least, greatest) = if least > greatest { (0, 0) } else { (least, greatest) };
                let width = (u64::BITS - (greatest.wrapping_sub(least) as u64).leading_zeros()) as u8;
                let block = Block { first: values[0] as i64, least, offset: offset as u32, width };
                offset += packing::bytes_for(1, width);
                block
            };
            values.chunks(BLOCK_ROWS).map(block).collect()
        },
        _s => unreachable!("strings have no range"),
        _a => unreachable!("nested values have no range")
    )
}

fn write(numbers: &Flat, blocks: &[Block], body: &mut Vec<u8>) {
    for block in blocks {
        body.extend(block.first.to_le_bytes());
        body.extend(block.least.to_le_bytes());
        body.extend(block.offset.to_le_bytes());
        body.extend([block.width, 0, 0, 0]);
    }
    godwit_vector::match_flat!(
        numbers,
        values => for (values, block) in values.chunks(BLOCK_ROWS).zip(blocks) {
            let difference = |row: usize| match row {
                0 => 0,
                _ => (values[row] as i64).wrapping_sub(values[row - 1] as i64).wrapping_sub(block.least) as u64,
            };
            Packing { base: 0, width: block.width }.write(values.len(), difference, body);
        },
        _s => unreachable!("strings have no range"),
        _a => unreachable!("nested values have no range")
    )
}
