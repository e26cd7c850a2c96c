//! Window function calls, as the operator takes them.

use godwit_common::{Error, Result};
use godwit_expression::Expression;
use godwit_types::Value;
use godwit_vector::{ColumnType, PhysicalType};

use super::frame::Frame;
use super::range::RangeOffset;
use super::varying::invalid_distance;
use crate::hash_aggregate::{AggregateCall, AggregateKind};
use godwit_vector::sql::arrow_interval;

/// What a window function computes for each row.
#[derive(Debug, Clone)]
pub enum WindowFunction {
    /// The row's number in its partition, starting at 1.
    RowNumber,
    /// The number of the first of the row's peers.
    Rank,
    /// The number of the row's group of peers.
    DenseRank,
    /// (rank − 1) / (rows − 1).
    PercentRank,
    /// The share of rows up to and including the row's peers.
    CumeDist,
    /// The number of the row's bucket, out of this many, whose sizes differ by at most one row.
    Ntile(u64),
    /// The value of the row this far after the current one; before it, if negative. The second argument, if any, is the
    /// result if that row doesn't exist.
    Shift {
        /// Rows.
        offset: i64,
        /// Rows whose value is NULL don't count.
        ignore_nulls: bool,
    },
    /// The same at the distance given by the second argument, after or before; NULL if that is NULL. The third
    /// argument, if any, is the result if that row doesn't exist.
    ShiftByColumn {
        /// Before rather than after.
        backwards: bool,
    },
    /// The n-th value of the frame, counting from 1; from its end, if negative.
    Nth {
        /// Never 0.
        n: i64,
        /// Rows whose value is NULL don't count.
        ignore_nulls: bool,
    },
    /// An aggregate over the frame.
    Aggregate(AggregateCall),
    /// An aggregate over the frame that keeps the frame's values.
    Listed(ListedKind),
    /// Any other aggregate over the frame. The arguments are its filter, if it has one, then its own arguments and its
    /// sort keys.
    Grouped {
        /// The aggregate over the columns that frames' rows have when they are aggregated (frame_groups.rs).
        aggregate: AggregateCall,
        /// The first argument is a filter.
        has_filter: bool,
    },
}

/// Aggregates that keep the values of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum ListedKind {
    /// The smallest string.
    Min,
    /// The largest string.
    Max,
    /// Number of distinct values.
    CountDistinct,
    /// The value at a fraction of the sorted values, interpolated between neighbours.
    Quantile(f64),
    /// The strings of the frame, joined by this separator.
    StringAgg(String),
}

/// A window function of a query.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// What it computes.
    pub function: WindowFunction,
    /// Its arguments, except constants and those of aggregates.
    pub arguments: Vec<Expression>,
    /// The rows that it looks at, if it depends on a frame.
    pub frame: Frame,
    /// The type of the result; the physical type may be narrower than the natural one.
    pub output: ColumnType,
}

impl ListedKind {
    /// The kind of an aggregate that keeps the values of its frame; `None` if it isn't one.
    pub(crate) fn of(call: &AggregateCall) -> Option<Self> {
        let physical = call.arguments.first()?.output().physical;
        let is_text = physical == PhysicalType::Str;
        let is_number = physical.is_integer() || matches!(physical, PhysicalType::F32 | PhysicalType::F64);
        Some(match &call.kind {
            AggregateKind::Count if call.distinct && call.arguments.len() == 1 && physical != PhysicalType::Nested => {
                Self::CountDistinct
            }
            _ if call.distinct || !call.order_by.is_empty() => return None,
            AggregateKind::Min if is_text => Self::Min,
            AggregateKind::Max if is_text => Self::Max,
            AggregateKind::Quantile { fractions, interpolated: true, as_list: false } if is_number => {
                Self::Quantile(fractions[0])
            }
            AggregateKind::StringAgg(separator) if is_text => Self::StringAgg(separator.clone()),
            _ => return None,
        })
    }
}

/// A distance in value, with a sign.
pub(crate) fn distance_of(value: &Value, sign: i64) -> Result<RangeOffset> {
    let distance = match value {
        Value::Float(value) => RangeOffset::Float(*value),
        Value::Integer(value) => RangeOffset::Integer(*value),
        Value::Interval(interval) => {
            let interval = arrow_interval(*interval)?;
            RangeOffset::Interval { months: interval.months, days: interval.days, nanoseconds: interval.nanoseconds }
        }
        other => return Err(Error::unsupported(format!("RANGE with the offset {other:?}"))),
    };
    match distance.is_negative() {
        true => Err(invalid_distance("negative")
            .with_hint("swap PRECEDING and FOLLOWING, and give the distance without a sign")),
        false if sign < 0 => Ok(distance.reversed()),
        false => Ok(distance),
    }
}
