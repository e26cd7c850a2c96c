//! Frames whose bounds are a distance in value from the current row, the same for all rows.
//!
//! Values become integers that ascend along the order, whatever its direction: floats by their bits, descending ones
//! inverted. NULLs are each other's peers, and out of reach of any value.

use godwit_common::{Error, Result};
use godwit_types::calendar::{INFINITE_DAYS, INFINITE_TICKS};
use godwit_vector::kernels::date::{NANOSECONDS_PER_DAY, add_months};
use godwit_vector::{ColumnType, Flat, match_flat};

use super::config::BLOCK_ROWS;
use super::ordered::Ordered;
use super::step::Step;

/// A distance in value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RangeOffset {
    /// In units of the column: unscaled decimals, ticks.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A time span, for dates and timestamps.
    Interval {
        /// Calendar months.
        months: i32,
        /// Calendar days.
        days: i32,
        /// The rest.
        nanoseconds: i64,
    },
}

impl RangeOffset {
    pub(super) fn is_negative(&self) -> bool {
        match *self {
            RangeOffset::Integer(value) => value < 0,
            RangeOffset::Float(value) => value < 0.0 || value.is_nan(),
            // A month counts as thirty days, as in comparisons of intervals.
            RangeOffset::Interval { months, days, nanoseconds } => {
                let days = months as i128 * 30 + days as i128;
                days * NANOSECONDS_PER_DAY as i128 + (nanoseconds as i128) < 0
            }
        }
    }

    /// The same distance in the other direction.
    pub(super) fn reversed(self) -> Self {
        match self {
            RangeOffset::Integer(value) => RangeOffset::Integer(value.saturating_neg()),
            RangeOffset::Float(value) => RangeOffset::Float(-value),
            RangeOffset::Interval { months, days, nanoseconds } => RangeOffset::Interval {
                months: months.saturating_neg(),
                days: days.saturating_neg(),
                nanoseconds: nanoseconds.saturating_neg(),
            },
        }
    }
}

/// The column that distances are measured in.
#[derive(Debug, Clone)]
pub(super) struct RangeKey {
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
    pub(super) unit: RangeUnit,
}

/// The unit of the column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeUnit {
    Number,
    /// Days since 1970-01-01.
    Day,
    /// Ticks of this many nanoseconds since then.
    Tick {
        nanoseconds: i64,
    },
}

impl RangeKey {
    pub(super) fn new(column: usize, ty: &ColumnType, descending: bool, nulls_first: bool) -> Self {
        use arrow_schema::DataType;
        let unit = match &ty.logical {
            DataType::Date32 => RangeUnit::Day,
            DataType::Timestamp(unit, _) => {
                RangeUnit::Tick { nanoseconds: 1_000_000_000 / ColumnType::ticks_per_second(*unit) }
            }
            _ => RangeUnit::Number,
        };
        Self { column, descending, nulls_first, unit }
    }

    /// Fails unless distances like this one can be measured in the column.
    pub(super) fn check(&self, offset: &RangeOffset, ty: &ColumnType) -> Result<()> {
        let is_float = matches!(ty.physical, godwit_vector::PhysicalType::F32 | godwit_vector::PhysicalType::F64);
        let fits = match offset {
            RangeOffset::Integer(_) => self.unit == RangeUnit::Number && ty.physical.is_integer(),
            RangeOffset::Float(_) => is_float,
            RangeOffset::Interval { .. } => self.unit != RangeUnit::Number,
        };
        if fits {
            return Ok(());
        }
        Err(Error::unsupported(format!("RANGE with an offset over values of type {}", ty.logical))
            .with_hint("order by one number, date or timestamp, or count ROWS"))
    }

    /// The key at the offset from the value of row i of the column, comparable with [`key_at`](Self::key_at).
    pub(super) fn target(&self, flat: &Flat, i: usize, offset: &RangeOffset) -> i128 {
        let sign = if self.descending { -1 } else { 1 };
        match *offset {
            RangeOffset::Float(offset) => {
                let offset = sign as f64 * offset;
                directed(self.descending, ordered_float(float_at(flat, i) + offset))
            }
            RangeOffset::Integer(offset) => {
                directed(self.descending, integer_at(flat, i).saturating_add(sign * offset))
            }
            RangeOffset::Interval { months, days, nanoseconds } => {
                let value = integer_at(flat, i) as i64;
                let infinite = match self.unit {
                    RangeUnit::Day => i64::from(INFINITE_DAYS),
                    RangeUnit::Tick { .. } | RangeUnit::Number => INFINITE_TICKS,
                };
                // All times are infinitely far from infinite ones.
                if value.saturating_abs() >= infinite {
                    return self.key_at(flat, i);
                }
                let sign = sign as i64;
                let (months, days) = (sign * months as i64, sign * days as i64);
                let shifted = match self.unit {
                    RangeUnit::Tick { nanoseconds: tick } => {
                        let ticks_per_day = NANOSECONDS_PER_DAY / tick;
                        let (day, rest) = (value.div_euclid(ticks_per_day), value.rem_euclid(ticks_per_day));
                        let day = add_months(day, months) + days;
                        (day as i128 * ticks_per_day as i128 + rest as i128) * tick as i128
                    }
                    _ => (add_months(value, months) + days) as i128 * NANOSECONDS_PER_DAY as i128,
                };
                let last = (i128::from(infinite) - 1) * i128::from(self.nanoseconds());
                let shifted = (shifted + (sign * nanoseconds) as i128).clamp(-last, last);
                directed(self.descending, shifted)
            }
        }
    }

    /// Nanoseconds of the unit of dates and timestamps; 1 for numbers, whose keys are the numbers.
    fn nanoseconds(&self) -> i64 {
        match self.unit {
            RangeUnit::Day => NANOSECONDS_PER_DAY,
            RangeUnit::Tick { nanoseconds } => nanoseconds,
            RangeUnit::Number => 1,
        }
    }

    /// The key of row i of the column, which is not NULL.
    pub(super) fn key_at(&self, flat: &Flat, i: usize) -> i128 {
        let value = match flat {
            Flat::F32(_) | Flat::F64(_) => ordered_float(float_at(flat, i)),
            _ => integer_at(flat, i) * i128::from(self.nanoseconds()),
        };
        directed(self.descending, value)
    }
}

/// Moves one bound along the rows.
pub(super) struct RangeCursor {
    key: RangeKey,
    offset: RangeOffset,
    /// The last position of the bound, and its partition.
    row: usize,
    partition: usize,
    reader: KeyReader,
}

impl RangeCursor {
    pub(super) fn new(key: &RangeKey, offset: RangeOffset) -> Self {
        Self { key: key.clone(), offset, row: 0, partition: usize::MAX, reader: KeyReader::default() }
    }

    /// The bound for each row of a step: the first row at or beyond the distance, or, for an end, the first one beyond
    /// it.
    pub(super) fn advance(&mut self, rows: &Ordered, step: &Step, is_end: bool, edges: &mut Vec<usize>) -> Result<()> {
        let pinned = rows.pin(step.rows())?;
        let column = rows.gather(&pinned, self.key.column);
        let flat = column.to_flat();
        for i in 0..step.len() {
            let (begin, end) = (step.partition_begins[i], step.partition_ends[i]);
            if self.partition != begin {
                // NULLs that come first are skipped, because no distance leads there.
                self.partition = begin;
                self.row = if column.is_valid(i) { begin } else { step.peer_ends[i] };
            }
            if !column.is_valid(i) {
                edges.push(if is_end { step.peer_ends[i] } else { step.peer_begins[i] });
                continue;
            }
            let target = self.key.target(&flat, i, &self.offset);
            while self.row < end
                && let Some(key) = self.reader.get(rows, &self.key, self.row)?
                && (key < target || (is_end && key == target))
            {
                self.row += 1;
            }
            edges.push(self.row);
        }
        Ok(())
    }
}

/// Reads the keys of single rows in ascending order, block by block.
#[derive(Default)]
struct KeyReader {
    begin: usize,
    keys: Vec<Option<i128>>,
}

impl KeyReader {
    /// The key of a row; `None` for NULL.
    fn get(&mut self, rows: &Ordered, key: &RangeKey, row: usize) -> Result<Option<i128>> {
        if !(self.begin..self.begin + self.keys.len()).contains(&row) {
            let end = rows.len().min(row + BLOCK_ROWS);
            let pinned = rows.pin(row..end)?;
            let column = rows.gather(&pinned, key.column);
            let flat = column.to_flat();
            self.begin = row;
            self.keys.clear();
            self.keys.extend((0..column.len()).map(|i| column.is_valid(i).then(|| key.key_at(&flat, i))));
        }
        Ok(self.keys[row - self.begin])
    }
}

fn directed(descending: bool, key: i128) -> i128 {
    if descending { !key } else { key }
}

#[allow(clippy::unnecessary_cast, reason = "compiled for every integer type")]
pub(super) fn integer_at(flat: &Flat, i: usize) -> i128 {
    match_flat!(flat, values => values[i] as i128, _s => 0, _a => 0)
}

pub(super) fn float_at(flat: &Flat, i: usize) -> f64 {
    match flat {
        Flat::F32(values) => values[i] as f64,
        Flat::F64(values) => values[i],
        other => panic!("expected floats, found {:?}", other.physical()),
    }
}

/// A float as an integer that sorts the same way: −0 and 0 are equal, all NaNs are equal and above everything else.
pub(super) fn ordered_float(value: f64) -> i128 {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
    let magnitude = (bits & (u64::MAX >> 1)) as i128;
    if bits >> 63 == 1 { -magnitude } else { magnitude }
}
