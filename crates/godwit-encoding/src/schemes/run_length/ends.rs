//! The ends of runs: an ascending list that is read in blocks of 1,024 runs.

use std::borrow::Cow;

use godwit_common::Result;

use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::packing::{self, Packing};
use crate::parameters::{pad, split, take, u32_at};

/// How ends are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsForm {
    Plain,
    /// In blocks, each end in `width` bits.
    Packed {
        width: u8,
    },
}

/// Ends that can be read.
pub(super) struct Ends<'a> {
    runs: usize,
    stored: Stored<'a>,
}

enum Stored<'a> {
    Plain(Cow<'a, [u32]>),
    Packed { starts: &'a [u8], packing: Packing, packed: &'a [u8] },
}

impl EndsForm {
    /// The smaller form of these ends.
    pub(super) fn of(ends: &[u32]) -> Self {
        let spans = starts(ends).zip(ends.chunks(BLOCK_ROWS)).map(|(start, block)| block[block.len() - 1] - start);
        let width = (u32::BITS - spans.max().unwrap_or(0).leading_zeros()) as u8;
        let packed = Self::Packed { width };
        if packed.bytes(ends.len()) < Self::Plain.bytes(ends.len()) { packed } else { Self::Plain }
    }

    /// Bytes that `runs` ends take.
    pub(super) fn bytes(self, runs: usize) -> usize {
        match self {
            Self::Plain => runs * 4,
            Self::Packed { width } => starts_bytes(runs) + packing::bytes_for(runs, width),
        }
    }

    /// Appends ends to a body that begins at `begin` of `out`.
    pub(super) fn write_ends(self, ends: &[u32], begin: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain => ends.iter().for_each(|end| out.extend(end.to_le_bytes())),
            Self::Packed { width } => {
                let starts: Vec<u32> = starts(ends).collect();
                starts.iter().for_each(|start| out.extend(start.to_le_bytes()));
                pad(begin, out);
                let packing = Packing { base: 0, width };
                packing.write(ends.len(), |run| (ends[run] - starts[run / BLOCK_ROWS]).into(), out);
            }
        }
    }

    /// Appends the form to the parameters: the width, or 255 for none.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Plain => u8::MAX,
            Self::Packed { width } => width,
        });
    }

    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self> {
        match take(bytes)? {
            [u8::MAX] => Ok(Self::Plain),
            [width] if width <= u32::BITS as u8 => Ok(Self::Packed { width }),
            _ => Err(corrupt("too many bits")),
        }
    }
}

/// The rows at which blocks of runs begin.
fn starts(ends: &[u32]) -> impl Iterator<Item = u32> {
    (0..ends.len()).step_by(BLOCK_ROWS).map(|first| if first == 0 { 0 } else { ends[first - 1] })
}

fn starts_bytes(runs: usize) -> usize {
    (runs.div_ceil(BLOCK_ROWS) * 4).next_multiple_of(8)
}

impl<'a> Ends<'a> {
    /// Takes ends off the front of a body.
    pub(super) fn read(form: EndsForm, runs: usize, body: &mut &'a [u8]) -> Result<Self> {
        let stored = match form {
            EndsForm::Plain => {
                let bytes = split(body, runs * 4)?;
                // Pages are aligned; other bodies are copied.
                Stored::Plain(match bytemuck::try_cast_slice(bytes) {
                    Ok(ends) => ends.into(),
                    Err(_) => bytemuck::pod_collect_to_vec(bytes).into(),
                })
            }
            EndsForm::Packed { width } => {
                let starts = split(body, starts_bytes(runs))?;
                let packed = split(body, packing::bytes_for(runs, width))?;
                Stored::Packed { starts, packing: Packing { base: 0, width }, packed }
            }
        };
        Ok(Self { runs, stored })
    }

    /// The block of the run that a row is in; some block if the body is damaged.
    pub(super) fn block_of(&self, row: usize) -> Result<usize> {
        match &self.stored {
            Stored::Plain(ends) => Ok(ends.partition_point(|&end| end as usize <= row) / BLOCK_ROWS),
            Stored::Packed { starts, .. } => {
                let blocks = self.runs.div_ceil(BLOCK_ROWS);
                let starts = &starts.as_chunks::<4>().0[..blocks];
                Ok(starts.partition_point(|start| u32::from_le_bytes(*start) as usize <= row).saturating_sub(1))
            }
        }
    }

    /// The ends of a block of runs: ascending, unless the body is damaged. Fails if there is no such block.
    pub(super) fn block(&self, block: usize) -> Result<Cow<'_, [u32]>> {
        let first = block * BLOCK_ROWS;
        if first >= self.runs {
            return Err(corrupt("runs don't add up"));
        }
        let runs = first..self.runs.min(first + BLOCK_ROWS);
        match &self.stored {
            Stored::Plain(ends) => Ok(Cow::Borrowed(&ends[runs])),
            Stored::Packed { starts, packing, packed } => {
                let start = u32_at(starts, block)?;
                let ends = packing.map(packed, runs, |end| start.wrapping_add(end as u32))?;
                Ok(Cow::Owned(ends))
            }
        }
    }
}
