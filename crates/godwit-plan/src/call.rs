//! Calls of aggregate and window functions.

use godwit_common::Span;
use godwit_types::SqlType;

use crate::{AggregateFunction, AggregateMatch, Expr, WindowFunction};

/// A sort key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// The value to compare.
    pub expr: Expr,
    /// True for descending order.
    pub descending: bool,
    /// True if NULLs come before all other values.
    pub nulls_first: bool,
}

/// An aggregate over the rows of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AggregateCall {
    /// The function.
    pub function: AggregateFunction,
    /// Its arguments, cast to the types that it takes; none for `count(*)`.
    pub args: Vec<Expr>,
    /// True if each combination of arguments counts once.
    pub distinct: bool,
    /// Only rows for which this is TRUE count.
    pub filter: Option<Expr>,
    /// The order of rows, for functions that depend on it; also that of WITHIN GROUP.
    pub order_by: Vec<SortKey>,
    /// True if rows whose first argument is NULL are skipped (`IGNORE NULLS`).
    pub ignore_nulls: bool,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
    /// Its span in the text.
    pub span: Span,
}

/// A function over the frame or the partition of each row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowCall {
    /// The function.
    pub function: WindowTarget,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// True if each combination of arguments counts once.
    pub distinct: bool,
    /// Only rows for which this is TRUE count.
    pub filter: Option<Expr>,
    /// The order of arguments within the frame, if it isn't that of the window.
    pub argument_order: Vec<SortKey>,
    /// True if rows whose first argument is NULL are skipped.
    pub ignore_nulls: bool,
    /// Partition keys: rows with equal values form a partition.
    pub partition_by: Vec<Expr>,
    /// The order within partitions.
    pub order_by: Vec<SortKey>,
    /// The frame of each row.
    pub frame: Frame,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
    /// Its span in the text.
    pub span: Span,
}

/// The function of a window call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WindowTarget {
    /// `row_number`, `lag` and others that exist only with OVER.
    Window(WindowFunction),
    /// An aggregate function.
    Aggregate(AggregateFunction),
}

/// A frame, with its defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The unit of its bounds.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// The rows that it excludes.
    pub exclude: FrameExclusion,
}

/// The units of frame bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Differences from the value of the single sort key.
    Range,
    /// Groups of peers.
    Groups,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// At this distance before the current row.
    Preceding(Box<Expr>),
    /// The current row; in RANGE and GROUPS also its peers.
    CurrentRow,
    /// At this distance after the current row.
    Following(Box<Expr>),
    /// The last row of the partition.
    UnboundedFollowing,
}

/// The rows that a frame excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameExclusion {
    /// Nothing.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers of the current row, but not the row itself.
    Ties,
}

impl AggregateCall {
    /// Makes a call over all rows of a group, with the arguments that the chosen function takes.
    pub fn of(found: AggregateMatch, args: Vec<Expr>) -> Self {
        Self {
            function: found.function,
            args: args.into_iter().zip(&found.argument_types).map(|(arg, ty)| arg.cast_to(ty)).collect(),
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            ignore_nulls: false,
            ty: found.ty,
            nullable: found.nullable,
            span: Span::NONE,
        }
    }
}

impl WindowCall {
    /// Makes a call without arguments over ordered partitions, with the default frame.
    pub fn over(function: WindowTarget, ty: SqlType, partition_by: Vec<Expr>, order_by: Vec<SortKey>) -> Self {
        Self {
            function,
            args: Vec::new(),
            distinct: false,
            filter: None,
            argument_order: Vec::new(),
            ignore_nulls: false,
            partition_by,
            frame: Frame::default_of(!order_by.is_empty()),
            order_by,
            ty,
            nullable: false,
            span: Span::NONE,
        }
    }
}

impl Frame {
    /// Returns the default frame: up to the current row's peers; all rows if there is no order.
    pub fn default_of(is_ordered: bool) -> Self {
        let end = if is_ordered { FrameBound::CurrentRow } else { FrameBound::UnboundedFollowing };
        Self { units: FrameUnits::Range, start: FrameBound::UnboundedPreceding, end, exclude: FrameExclusion::NoOthers }
    }
}
