//! The interface of schemes, and the types that it works on.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::kernels::select::retain_true;
use godwit_vector::{Flat, Lists, PhysicalType, SharedBytes, ValueRange, Vector};

use crate::BLOCK_ROWS;
use crate::column::Column;
use crate::part::CodeFilter;
use crate::registry::Encoding;

/// A way to store the values of a part. Implemented by the parameters that a header holds; the bytes are in the body.
///
/// Methods are called once per window, never per row. NULL rows have some arbitrary value here; the part knows which
/// they are. A body may be damaged: methods return errors, or values that were never written, but don't panic.
pub(crate) trait Scheme {
    /// The scheme's proposal for a column; `None` if it can't store it.
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>>
    where
        Self: Sized;

    /// Reads parameters off the front of `bytes`. `form` is the index, among the scheme's numbers, of the one found in
    /// the file.
    fn read(form: usize, bytes: &mut &[u8]) -> Result<Self>
    where
        Self: Sized;

    /// Appends the parameters that [`read`](Self::read) reads.
    fn write(&self, _out: &mut Vec<u8>) {}

    /// Index of the scheme's number under which the parameters are written to the file.
    fn form(&self) -> usize {
        0
    }

    /// Checks whether the parameters fit the values: their type, their number, and their bytes.
    fn check(&self, shape: Shape) -> Result<()>;

    /// The values of `rows`, which start at a multiple of [`BLOCK_ROWS`].
    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat>;

    /// The values of single rows, which are ascending and relative to `start`.
    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat>;

    /// [`decode`](Self::decode) as lengths and items, if the strings are stored as lists; without the validity.
    fn lists(&self, _body: Body<'_>, _rows: Range<usize>) -> Result<Option<Lists>> {
        Ok(None)
    }

    /// [`take`](Self::take) as lengths and items, if the strings are stored as lists; without the validity.
    fn take_lists(&self, _body: Body<'_>, _start: usize, _rows: &[u32]) -> Result<Option<Lists>> {
        Ok(None)
    }

    /// `rows` rows, if all rows are the same. Only for parts without NULLs, or with nothing else.
    fn uniform(&self, _body: Body<'_>, _rows: usize) -> Result<Option<Vector>> {
        Ok(None)
    }

    /// Clears the bits of `mask` of those of `rows` whose integer isn't in `wanted`. Bit `i` is row `rows.start + i`;
    /// `rows` start at a multiple of [`BLOCK_ROWS`].
    fn retain_range(&self, body: Body<'_>, rows: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        self.retain_decoded_range(body, rows, wanted, mask)
    }

    /// [`retain_range`](Self::retain_range) on decoded values.
    fn retain_decoded_range(
        &self,
        body: Body<'_>,
        rows: Range<usize>,
        wanted: ValueRange,
        mask: &mut [u64],
    ) -> Result<()> {
        let limits = ValueRange::of_type(body.physical).expect("only integers have ranges");
        let (min, max) = (wanted.min.max(limits.min), wanted.max.min(limits.max));
        if min > max {
            mask.fill(0);
            return Ok(());
        }
        self.retain_decoded(body, rows, mask, &|values| in_range(values, min, max))
    }

    /// [`retain_range`](Self::retain_range) for rows whose dictionary code has its bit set.
    fn retain_codes(&self, body: Body<'_>, rows: Range<usize>, wanted: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        self.retain_decoded(body, rows, mask, &|values| with_code(values, wanted))
    }

    /// Clears the bits of rows for whose decoded values `is_wanted` is 0. Blocks without a set bit aren't decoded.
    fn retain_decoded(
        &self,
        body: Body<'_>,
        rows: Range<usize>,
        mask: &mut [u64],
        is_wanted: &dyn Fn(&Flat) -> Vec<u8>,
    ) -> Result<()> {
        for (begin, mask) in rows.clone().step_by(BLOCK_ROWS).zip(mask.chunks_mut(BLOCK_ROWS / 64)) {
            if mask.iter().any(|&bits| bits != 0) {
                let values = self.decode(body, begin..rows.end.min(begin + BLOCK_ROWS))?;
                retain_true(&is_wanted(&values), mask);
            }
        }
        Ok(())
    }

    /// Bytes of the values before `row`, a multiple of [`BLOCK_ROWS`] or the end, if the values after it can be read
    /// without them.
    fn bytes_before(&self, _physical: PhysicalType, _row: usize) -> Option<usize> {
        None
    }
}

/// What is known about the values of a part besides the parameters of its scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Their type.
    pub physical: PhysicalType,
    /// Their number.
    pub rows: usize,
    /// Bytes of the body without the validity bitmap.
    pub bytes: usize,
}

/// The values of a part as they are stored, without the validity bitmap.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    /// Their type.
    pub physical: PhysicalType,
    /// Their number.
    pub rows: usize,
    /// Where they are stored.
    pub bytes: &'a [u8],
    /// The bytes of which `bytes` are the end, if strings may point into them.
    pub shared: Option<&'a SharedBytes>,
}

/// A scheme's proposal for a column.
pub(crate) struct Proposal<'a> {
    /// Size of the values, and whether it is exact.
    pub size: Size,
    /// Relative cost of decoding: see `cost.rs`.
    pub cost: f64,
    /// Appends the values to a body.
    pub write: WriteValues<'a>,
}

/// Writes values once; the result belongs in the header.
pub(crate) type WriteValues<'a> = Box<dyn FnOnce(&mut Vec<u8>) -> Encoding + 'a>;

/// Number of bytes that a scheme would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Exactly this many.
    Exact(usize),
    /// About this many, estimated from a sample.
    Sampled(usize),
}

impl Size {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Size::Exact(bytes) | Size::Sampled(bytes) => bytes,
        }
    }
}

pub(crate) fn contains(wanted: ValueRange, value: i128) -> bool {
    wanted.min <= value && value <= wanted.max
}

pub(crate) fn has_code(wanted: &CodeFilter, code: i128) -> bool {
    usize::try_from(code).is_ok_and(|code| code < wanted.len() && wanted.get(code))
}

/// Whether each value is in a range.
#[allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]
fn in_range(values: &Flat, min: i128, max: i128) -> Vec<u8> {
    godwit_vector::match_flat!(
        values,
        values => between(values, min as _, max as _),
        _s => unreachable!("strings have no range"),
        _a => unreachable!("nested values have no segments")
    )
}

#[allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]
fn with_code(values: &Flat, wanted: &CodeFilter) -> Vec<u8> {
    godwit_vector::match_flat!(
        values,
        values => values.iter().map(|&code| has_code(wanted, code as i128) as u8).collect(),
        _s => unreachable!("strings are selected by code"),
        _a => unreachable!("nested values have no segments")
    )
}

fn between<T: PartialOrd + Copy>(values: &[T], min: T, max: T) -> Vec<u8> {
    values.iter().map(|&value| (min <= value && value <= max) as u8).collect()
}
