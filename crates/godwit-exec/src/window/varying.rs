//! Bounds at a distance that depends on the row: each is searched on its own.
//!
//! A row or a group is found by its number, a value by a binary search. The searches of a step run side by side, so
//! that many keys are read at a time.

use arrow_array::Array;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{cast::AsArray, types::ArrowPrimitiveType};
use godwit_common::{Error, Result, SqlState};
use godwit_expression::{Compression, Expression};
use godwit_vector::{Chunk, ColumnType, Flat, PhysicalType, Vector, to_arrow};

use super::config::SCATTERED_ROWS;
use super::frame::FrameUnits;
use super::ordered::Ordered;
use super::range::{RangeKey, RangeOffset, float_at, integer_at};
use super::step::Step;

/// A column of distances in the rows.
#[derive(Clone)]
pub(super) struct Distance {
    column: usize,
    /// Decodes intervals from the bytes that rows hold.
    decoded: Option<Expression>,
}

impl Distance {
    /// `add` adds a column to the rows and returns its index.
    pub(super) fn new(distance: &Expression, add: impl FnOnce(&Expression) -> usize) -> Self {
        let Some(compression) = Compression::of_nested(distance.output()) else {
            return Self { column: add(distance), decoded: None };
        };
        let stored = compression.compress(distance);
        let bytes = Expression::column(0, stored.output().clone());
        Self { column: add(&stored), decoded: Some(compression.decompress(&bytes, distance.output())) }
    }

    /// The distances of the rows of a step. NULL and negative ones are errors.
    fn of_step(&self, rows: &Ordered, step: &Step) -> Result<Vec<RangeOffset>> {
        let stored = rows.gather(&rows.pin(step.rows())?, self.column);
        let distances = match &self.decoded {
            Some(decoded) => intervals(&decoded.evaluate(&Chunk::new(vec![stored], step.len()))?, decoded.output())?,
            None => numbers(&stored),
        };
        let checked = distances.into_iter().map(|distance| match distance {
            None => Err(invalid_distance("NULL")),
            Some(distance) if distance.is_negative() => Err(invalid_distance("negative")),
            Some(distance) => Ok(distance),
        });
        checked.collect()
    }
}

fn numbers(column: &Vector) -> Vec<Option<RangeOffset>> {
    let flat = column.to_flat();
    let number = |i: usize| match &flat {
        Flat::F32(_) | Flat::F64(_) => RangeOffset::Float(float_at(&flat, i)),
        _ => RangeOffset::Integer(integer_at(&flat, i)),
    };
    (0..column.len()).map(|i| column.is_valid(i).then(|| number(i))).collect()
}

fn intervals(column: &Vector, ty: &ColumnType) -> Result<Vec<Option<RangeOffset>>> {
    let array = to_arrow(column, &ty.logical)?;
    let intervals = array.as_primitive_opt::<IntervalMonthDayNanoType>().ok_or_else(|| {
        Error::internal(format!(
            "a distance of type {}, not {}",
            array.data_type(),
            IntervalMonthDayNanoType::DATA_TYPE
        ))
    })?;
    let offset = |i: usize| {
        let interval = intervals.value(i);
        RangeOffset::Interval { months: interval.months, days: interval.days, nanoseconds: interval.nanoseconds }
    };
    Ok((0..intervals.len()).map(|i| intervals.is_valid(i).then(|| offset(i))).collect())
}

/// The error of an invalid distance.
pub(crate) fn invalid_distance(what: &str) -> Error {
    Error::user(format!("a distance in a frame must not be {what}"))
        .with_code(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE)
}

/// An offset of the kind used for distances of this type.
pub(super) fn kind_of(ty: &ColumnType) -> Result<RangeOffset> {
    match ty.physical {
        PhysicalType::F32 | PhysicalType::F64 => Ok(RangeOffset::Float(0.0)),
        PhysicalType::Nested if ty.logical == IntervalMonthDayNanoType::DATA_TYPE => {
            Ok(RangeOffset::Interval { months: 0, days: 0, nanoseconds: 0 })
        }
        physical if physical.is_integer() => Ok(RangeOffset::Integer(0)),
        _ => Err(Error::unsupported(format!("RANGE with a distance of type {}", ty.logical))),
    }
}

/// One bound of a frame.
pub(super) struct VaryingEdge {
    distance: Distance,
    is_following: bool,
    units: FrameUnits,
    /// The key that distances in value are measured in.
    key: Option<RangeKey>,
}

/// A search for the first row of a range whose key isn't before the target.
struct Search {
    /// Where the result goes.
    at: usize,
    begin: usize,
    end: usize,
    target: i128,
}

impl VaryingEdge {
    pub(super) fn new(distance: Distance, is_following: bool, units: FrameUnits, key: Option<RangeKey>) -> Self {
        Self { distance, is_following, units, key }
    }

    /// The bound for each row of a step: the first row of the frame, or (`is_end`) the one after its last.
    pub(super) fn advance(&self, rows: &Ordered, step: &Step, is_end: bool, edges: &mut Vec<usize>) -> Result<()> {
        let distances = self.distance.of_step(rows, step)?;
        let signed = |distance: &RangeOffset| if self.is_following { *distance } else { distance.reversed() };
        let offsets: Vec<RangeOffset> = distances.iter().map(signed).collect();
        if self.units == FrameUnits::Range {
            let key = self.key.as_ref().expect("a RANGE has a key");
            return search_keys(rows, step, key, &offsets, is_end, edges);
        }
        edges.extend(offsets.iter().enumerate().map(|(i, offset)| match *offset {
            RangeOffset::Integer(count) => {
                let count = count.clamp(i64::MIN as i128, i64::MAX as i128) as i64;
                match self.units {
                    FrameUnits::Groups => step.group_edge(rows, i, count, is_end),
                    _ => step.row_edge(i, count, is_end),
                }
            }
            _ => unreachable!("rows and groups are counted in integers"),
        }));
        Ok(())
    }
}

/// For each row of a step, the first row whose key is at or beyond the offset, or, for an end, the first one beyond it.
fn search_keys(
    rows: &Ordered,
    step: &Step,
    key: &RangeKey,
    offsets: &[RangeOffset],
    is_end: bool,
    edges: &mut Vec<usize>,
) -> Result<()> {
    let column = rows.gather(&rows.pin(step.rows())?, key.column);
    let flat = column.to_flat();
    // NULLs are out of reach of any value: their frames consist of their peers.
    edges.extend_from_slice(if is_end { &step.peer_ends } else { &step.peer_begins });
    let search = |at: usize| Search {
        at,
        begin: step.partition_begins[at],
        end: step.partition_ends[at],
        target: key.target(&flat, at, &offsets[at]),
    };
    let mut searches: Vec<Search> = (0..step.len()).filter(|&at| column.is_valid(at)).map(search).collect();
    while !searches.is_empty() {
        for piece in searches.chunks_mut(SCATTERED_ROWS) {
            let middles = piece.iter().map(|search| search.begin + (search.end - search.begin) / 2);
            let keys = rows.gather(&rows.pin_each(middles.clone())?, key.column);
            let flat = keys.to_flat();
            let middles: Vec<usize> = middles.collect();
            for (i, (search, middle)) in piece.iter_mut().zip(middles).enumerate() {
                let is_before = match keys.is_valid(i).then(|| key.key_at(&flat, i)) {
                    Some(found) => found < search.target || (is_end && found == search.target),
                    None => key.nulls_first,
                };
                if is_before {
                    search.begin = middle + 1;
                } else {
                    search.end = middle;
                }
            }
        }
        searches.retain(|search| {
            let is_open = search.begin < search.end;
            if !is_open {
                edges[search.at] = search.begin;
            }
            is_open
        });
    }
    Ok(())
}
