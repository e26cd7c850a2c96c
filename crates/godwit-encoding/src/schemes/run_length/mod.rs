//! Runs of equal values: where each ends, and a value per run, which have a scheme of their own.
//!
//! ```text
//! few runs:   ends        u32 per run: the row behind its last one
//!
//! many runs:  blocks      u32 per block of 1,024 runs: the row at which its first run begins
//!             zeros       up to a multiple of 8 bytes
//!             ends        of runs, counted from the begin of their block, packed
//!
//!             values      a value per run: packed, multiples, decimals, or plain
//! ```
//!
//! The smaller form is used; packed ends take whole blocks, so few ends are smaller in plain form. To find a row, the
//! ends of the block of its run are unpacked.
//!
//! Form 0, in files up to format 5: ends as for few runs, plain values.

mod decode;
mod encode;
mod ends;
mod retain;
mod take;
mod validate;

#[cfg(test)]
mod tests;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::Flat;

use super::plain::Plain;
use crate::column::Column;
use crate::parameters::take;
use crate::registry::Encoding;
use crate::scheme::{Body, Proposal, Scheme, Shape};
use ends::EndsForm;

#[derive(Debug, Clone, PartialEq)]
pub struct RunLength {
    runs: u32,
    ends: EndsForm,
    values: Box<Encoding>,
}

impl Scheme for RunLength {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(form: usize, bytes: &mut &[u8]) -> Result<Self> {
        let runs = u32::from_le_bytes(take(bytes)?);
        if form == 0 {
            return Ok(Self { runs, ends: EndsForm::Plain, values: Box::new(Encoding::Plain(Plain)) });
        }
        let ends = EndsForm::read(bytes)?;
        Ok(Self { runs, ends, values: Box::new(Encoding::read_inner(validate::VALUES, bytes)?) })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.runs.to_le_bytes());
        self.ends.write(out);
        self.values.write(out);
    }

    fn form(&self) -> usize {
        1
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(self, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        decode::decode(self, body, rows)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        take::take(self, body, start, rows)
    }

    fn retain_decoded(
        &self,
        body: Body<'_>,
        rows: Range<usize>,
        mask: &mut [u64],
        is_wanted: &dyn Fn(&Flat) -> Vec<u8>,
    ) -> Result<()> {
        retain::retain(self, body, rows, mask, is_wanted)
    }
}
