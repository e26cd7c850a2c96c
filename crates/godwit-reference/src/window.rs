//! Window functions. For each call, the rows are split into partitions, and each partition is sorted; for each row, the
//! positions of its frame are listed one by one, without exclusions, and passed to the function.
//!
//! ```text
//! partition in order   0  1  2  3  4  5        positions
//! peers                a  a  b  b  b  c        equal in the order of the window
//! frame of row 3          └────────┘           ROWS 2 PRECEDING TO 1 FOLLOWING
//! ```
//!
//! In RANGE frames with a distance, NULL is infinitely far from all values, on the side determined by the order.

use std::cmp::Ordering;
use std::ops::Range;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Expr, FrameBound, FrameExclusion, FrameUnits, SortKey, Window, WindowCall, WindowTarget};
use godwit_types::{Arithmetic, SqlType, Value, cast_value, compare_values};

use crate::aggregate::{Taken, aggregate_rows, group_by};
use crate::arithmetic::compute_cast;
use crate::environment::{Environment, Row, Rows};
use crate::evaluator::Evaluator;
use crate::functions::{WindowRow, window_kernel};
use crate::order::compare_keys;

/// A sorted partition.
struct Partition<'a> {
    rows: Vec<&'a Row>,
    /// The sort keys of the window.
    keys: Vec<Row>,
    /// The arguments of the call.
    args: Vec<Row>,
    /// The positions of the peers of each row.
    peers: Vec<Range<usize>>,
}

/// The end of a frame to find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Start,
    Last,
}

impl Evaluator<'_> {
    pub(crate) fn window(&self, window: &Window, environment: &Environment<'_>) -> Result<Rows> {
        let input = self.rows(window.input, environment)?;
        let mut rows = input.rows.clone();
        let mut columns = input.columns.clone();
        for (column, call) in &window.calls {
            let values = self.window_call(call, &input, environment).map_err(|error| error.at_span(call.span))?;
            rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
            columns.push(*column);
        }
        Ok(Rows { columns, rows })
    }

    /// Returns a value for each row of the input.
    fn window_call(&self, call: &WindowCall, input: &Rows, environment: &Environment<'_>) -> Result<Vec<Value>> {
        let keys = |row: &Row| self.values(&call.partition_by, &environment.with_row(&input.columns, row));
        let keys = input.rows.iter().map(keys).collect::<Result<Vec<_>>>()?;
        let types: Vec<&SqlType> = call.partition_by.iter().map(|key| &key.ty).collect();
        let mut values = vec![Value::Null; input.rows.len()];
        for (_, members) in group_by(keys.into_iter(), &types) {
            let (members, partition) = self.partition(call, members, input, environment)?;
            for (position, member) in members.into_iter().enumerate() {
                values[member] = self.window_value(call, position, &partition, input, environment)?;
            }
        }
        Ok(values)
    }

    /// Returns the sorted rows of a partition, and their positions in the input.
    fn partition<'a>(
        &self,
        call: &WindowCall,
        members: Vec<usize>,
        input: &'a Rows,
        environment: &Environment<'_>,
    ) -> Result<(Vec<usize>, Partition<'a>)> {
        let with_keys = members.into_iter().map(|member| {
            Ok((member, self.sort_keys(&call.order_by, &input.columns, &input.rows[member], environment)?))
        });
        let mut with_keys = with_keys.collect::<Result<Vec<(usize, Row)>>>()?;
        with_keys.sort_by(|(_, a), (_, b)| compare_keys(a, b, &call.order_by));
        let (members, keys): (Vec<usize>, Vec<Row>) = with_keys.into_iter().unzip();
        let rows: Vec<&Row> = members.iter().map(|&member| &input.rows[member]).collect();
        let args = rows.iter().map(|row| self.values(&call.args, &environment.with_row(&input.columns, row)));
        let args = args.collect::<Result<_>>()?;
        let is_peer = |a: usize, b: usize| compare_keys(&keys[a], &keys[b], &call.order_by).is_eq();
        let peers = (0..keys.len()).map(|row| {
            let first = (0..row).find(|&other| is_peer(other, row)).unwrap_or(row);
            let end = (row..keys.len()).find(|&other| !is_peer(other, row)).unwrap_or(keys.len());
            first..end
        });
        let peers = peers.collect();
        Ok((members, Partition { rows, keys, args, peers }))
    }

    fn window_value(
        &self,
        call: &WindowCall,
        row: usize,
        partition: &Partition<'_>,
        input: &Rows,
        environment: &Environment<'_>,
    ) -> Result<Value> {
        let mut frame = Vec::new();
        let uses_frame = match &call.function {
            WindowTarget::Window(function) => function.uses_frame,
            WindowTarget::Aggregate(_) => true,
        };
        if uses_frame {
            frame = self.frame(call, row, partition, input, environment)?;
            self.spend(frame.len())?;
        }
        match &call.function {
            WindowTarget::Aggregate(function) => {
                let taken = Taken {
                    args: &call.args,
                    distinct: call.distinct,
                    filter: call.filter.as_ref(),
                    order_by: &call.argument_order,
                    ignore_nulls: call.ignore_nulls,
                };
                let rows: Vec<&Row> = frame.iter().map(|&position| partition.rows[position]).collect();
                let rows = self.take(&taken, input, &rows, environment)?;
                aggregate_rows(function, &call.args, &rows, &call.ty)
            }
            WindowTarget::Window(function) => {
                let frame = self.filtered_frame(call, frame, partition, input, environment)?;
                let place = WindowRow {
                    row,
                    args: &partition.args,
                    peers: &partition.peers,
                    frame: &frame,
                    ignore_nulls: call.ignore_nulls,
                };
                window_kernel(function)?(&place)
            }
        }
    }

    /// Returns the rows of a frame that pass the call's filter, in the order of its arguments.
    fn filtered_frame(
        &self,
        call: &WindowCall,
        frame: Vec<usize>,
        partition: &Partition<'_>,
        input: &Rows,
        environment: &Environment<'_>,
    ) -> Result<Vec<usize>> {
        let mut kept = Vec::new();
        for position in frame {
            let row = partition.rows[position];
            let inner = environment.with_row(&input.columns, row);
            let passes = call.filter.as_ref().map_or(Ok(Some(true)), |filter| self.truth(filter, &inner))?;
            if passes == Some(true) {
                kept.push((position, self.sort_keys(&call.argument_order, &input.columns, row, environment)?));
            }
        }
        kept.sort_by(|(_, a), (_, b)| compare_keys(a, b, &call.argument_order));
        Ok(kept.into_iter().map(|(position, _)| position).collect())
    }

    /// Returns the positions of a row's frame.
    fn frame(
        &self,
        call: &WindowCall,
        row: usize,
        partition: &Partition<'_>,
        input: &Rows,
        environment: &Environment<'_>,
    ) -> Result<Vec<usize>> {
        let inner = environment.with_row(&input.columns, partition.rows[row]);
        let inside = |end: End, bound: &FrameBound| -> Result<Vec<bool>> {
            let distance = bound.distance().map(|distance| self.distance(distance, &inner)).transpose()?;
            (0..partition.rows.len())
                .map(|other| is_inside(call, end, bound, distance.as_ref(), row, other, partition))
                .collect()
        };
        let (from_start, to_end) = (inside(End::Start, &call.frame.start)?, inside(End::Last, &call.frame.end)?);
        let peers = &partition.peers[row];
        let excluded = |other: &usize| match call.frame.exclude {
            FrameExclusion::NoOthers => false,
            FrameExclusion::CurrentRow => *other == row,
            FrameExclusion::Group => peers.contains(other),
            FrameExclusion::Ties => *other != row && peers.contains(other),
        };
        let positions = 0..partition.rows.len();
        Ok(positions.filter(|&other| from_start[other] && to_end[other]).filter(|other| !excluded(other)).collect())
    }

    /// Evaluates the distance of a bound, and returns it with its type.
    fn distance(&self, expr: &Expr, environment: &Environment<'_>) -> Result<(Value, SqlType)> {
        let value = self.value(expr, environment)?;
        let zero = cast_value(&Value::text("0"), &SqlType::Varchar, &expr.ty)?;
        if value.is_null() || compare_values(&value, &zero, &expr.ty).is_lt() {
            let error = Error::user("the distance of a frame's bound must not be NULL or negative");
            return Err(error.with_code(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE));
        }
        Ok((value, expr.ty.clone()))
    }
}

/// Whether another row is on the inner side of a bound of the row's frame.
fn is_inside(
    call: &WindowCall,
    end: End,
    bound: &FrameBound,
    distance: Option<&(Value, SqlType)>,
    row: usize,
    other: usize,
    partition: &Partition<'_>,
) -> Result<bool> {
    let inner_side = |order: Ordering| if end == End::Start { order.is_ge() } else { order.is_le() };
    let place = |position: usize| match call.frame.units {
        FrameUnits::Rows => position,
        // The first peer stands for all of them.
        FrameUnits::Range | FrameUnits::Groups => partition.peers[position].start,
    };
    let is_following = matches!(bound, FrameBound::Following(_));
    match bound {
        FrameBound::UnboundedPreceding => Ok(inner_side(Ordering::Greater)),
        FrameBound::UnboundedFollowing => Ok(inner_side(Ordering::Less)),
        FrameBound::CurrentRow => Ok(inner_side(place(other).cmp(&place(row)))),
        FrameBound::Preceding(_) | FrameBound::Following(_) => {
            let distance = distance.expect("bounds of these kinds have a distance");
            if call.frame.units == FrameUnits::Range {
                let [key] = call.order_by.as_slice() else {
                    return Err(Error::internal("a RANGE frame with a distance has one key"));
                };
                return in_range(key, is_following, distance, row, other, partition).map(inner_side);
            }
            let Value::Integer(steps) = distance.0 else {
                return Err(Error::internal("the distance of a ROWS or GROUPS frame is a number of them"));
            };
            let number = |position: usize| match call.frame.units {
                FrameUnits::Groups => (1..=position).filter(|&at| partition.peers[at].start == at).count() as i128,
                _ => position as i128,
            };
            let steps = if is_following { steps } else { -steps };
            Ok(inner_side(number(other).cmp(&(number(row) + steps))))
        }
    }
}

/// Compares another row with the value at a distance from that of the row.
fn in_range(
    key: &SortKey,
    is_following: bool,
    (distance, distance_type): &(Value, SqlType),
    row: usize,
    other: usize,
    partition: &Partition<'_>,
) -> Result<Ordering> {
    let (value, candidate) = (&partition.keys[row][0], &partition.keys[other][0]);
    if value.is_null() || candidate.is_null() {
        return Ok(compare_keys(
            std::slice::from_ref(candidate),
            std::slice::from_ref(value),
            std::slice::from_ref(key),
        ));
    }
    let grows = is_following != key.descending;
    let op = if grows { Arithmetic::Add } else { Arithmetic::Subtract };
    let order = match compute_cast(op, (value, &key.expr.ty), (distance, distance_type))? {
        Some((limit, ty)) => compare_values(&cast_value(candidate, &key.expr.ty, &ty)?, &limit, &ty),
        // The limit is beyond all values.
        None if grows => Ordering::Less,
        None => Ordering::Greater,
    };
    Ok(if key.descending { order.reverse() } else { order })
}
