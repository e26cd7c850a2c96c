//! The nodes of a plan.

use std::sync::Arc;

use crate::{AggregateCall, ColumnId, Expr, NodeId, Relation, SharedId, SortKey, WindowCall};

/// A relational operator over the rows of other nodes.
#[derive(Debug, Clone)]
pub enum Node {
    /// Rows of expressions without columns; a SELECT without FROM reads one row without columns.
    Values(Values),
    /// The rows of a table.
    Scan(Scan),
    /// Some columns of the input, and computed ones.
    Project(Project),
    /// The rows for which all conditions are TRUE.
    Filter {
        /// The rows.
        input: NodeId,
        /// Conjuncts.
        conditions: Vec<Expr>,
    },
    /// A join.
    Join(Join),
    /// A row for each group.
    Aggregate(Aggregate),
    /// The rows with the values of window functions.
    Window(Window),
    /// The rows, sorted.
    Sort {
        /// The rows.
        input: NodeId,
        /// The order; ties come in any order.
        keys: Vec<SortKey>,
    },
    /// The first rows.
    Limit(Limit),
    /// The union, intersection or difference of several inputs.
    SetOperation(SetOperation),
    /// The rows joined with the elements of their lists, one row per element.
    Unnest(Unnest),
    /// A recursive query.
    Recursive(Recursive),
    /// Inside the step of a [`Recursive`]: the rows of the previous round. The columns are fresh, in the order of the
    /// recursion's columns.
    WorkingRows {
        /// [`Recursive::working`] of the recursion.
        of: ColumnId,
        /// A fresh id for each column of the recursion.
        columns: Vec<ColumnId>,
    },
    /// The rows of a shared plan.
    Use(Use),
    /// A random sample of the rows.
    Sample(Sample),
}

/// Rows of expressions, which may use free columns only.
#[derive(Debug, Clone)]
pub struct Values {
    /// The columns.
    pub columns: Vec<ColumnId>,
    /// Rows, each with an expression per column.
    pub rows: Vec<Vec<Expr>>,
}

/// The rows of a table.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The table.
    pub relation: Arc<dyn Relation>,
    /// The columns to read: (id, position in the table).
    pub columns: Vec<(ColumnId, usize)>,
    /// Predicates over these columns, evaluated by the scan.
    pub filters: Vec<Expr>,
    /// The scan may stop after this many rows.
    pub rows_enough: Option<u64>,
}

/// Some columns of the input, and computed ones.
#[derive(Debug, Clone)]
pub struct Project {
    /// The rows.
    pub input: NodeId,
    /// (id, value). A column that is passed on keeps its id: `(#3, #3)`.
    pub columns: Vec<(ColumnId, Expr)>,
}

/// A join. The left input is the probe side, the right one the build side.
///
/// Before subqueries and LATERAL are unnested, the right side may use columns of the left one: a *dependent* join.
#[derive(Debug, Clone)]
pub struct Join {
    /// The kind of join.
    pub kind: JoinKind,
    /// Probe side.
    pub left: NodeId,
    /// Build side.
    pub right: NodeId,
    /// Conjuncts over both sides that must be TRUE for a pair to match.
    pub conditions: Vec<Expr>,
}

/// Kinds of joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Pairs, and left rows without a match, with NULLs on the right.
    Left,
    /// Pairs, and right rows without a match, with NULLs on the left.
    Right,
    /// Pairs, and rows of both sides without a match.
    Full,
    /// Left rows that have a match, once each; only left columns.
    Semi,
    /// Left rows that have no match; only left columns.
    Anti,
    /// `Semi` with its sides swapped: right rows that have a match, once each; only right columns.
    RightSemi,
    /// `Anti` with its sides swapped: right rows that have no match; only right columns.
    RightAnti,
    /// Like `Left`; more than one match for a left row is an error, reported if a row with it is used.
    Single,
    /// Mark join: left rows with a column that says whether there is a match.
    ///
    /// Among the right rows for which the conditions of the join are TRUE: TRUE if the conjunction of `compare` is TRUE
    /// for one of them, else NULL if it is NULL for one of them, else FALSE. Without `compare`, never NULL.
    Mark {
        /// The mark column; BOOLEAN.
        mark: ColumnId,
        /// Conjuncts whose NULLs matter, such as the comparison of IN.
        compare: Vec<Expr>,
    },
    /// For each left row, the one right row that comes last in the order of `right` up to and including the left row's
    /// `left` value (or the first one starting at it), among those for which the conditions are TRUE.
    AsOf {
        /// Like `Left`: rows without a match come with NULLs.
        outer: bool,
        /// One of `<`, `<=`, `>`, `>=`: `left op right`.
        comparison: crate::Comparison,
        /// The left value.
        left: Box<Expr>,
        /// The right value.
        right: Box<Expr>,
    },
    /// Pairs the first rows of both sides, the second rows, and so on; NULLs where one side has ended.
    Positional,
}

/// One row per group. Without keys and sets, there is one group of all rows, even if there are none.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The rows.
    pub input: NodeId,
    /// (id, key). A key that is a column of the input keeps its id unless it is in grouping sets.
    pub keys: Vec<(ColumnId, Expr)>,
    /// Grouping sets, each as positions of its keys: all other keys are NULL in its rows. Several sets may be equal.
    pub sets: Option<Vec<Vec<usize>>>,
    /// With sets: a BIGINT whose bit `k`, counted from the last key, is 1 if the key isn't in the row's set; duplicates
    /// of a set have the same value.
    pub grouping_id: Option<ColumnId>,
    /// (id, aggregate).
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
}

/// The rows with the values of window functions.
#[derive(Debug, Clone)]
pub struct Window {
    /// The rows; all their columns are passed on.
    pub input: NodeId,
    /// (id, call).
    pub calls: Vec<(ColumnId, WindowCall)>,
}

/// The first rows.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The rows. If this is a sort, the first rows in its order are returned.
    pub input: NodeId,
    /// The number of rows to skip: a BIGINT without columns.
    pub offset: Option<Expr>,
    /// The maximum number of rows after these: a BIGINT without columns; NULL is no limit.
    pub count: Option<Expr>,
    /// True if rows that are equal to the last one in the order are included.
    pub with_ties: bool,
    /// True if `count` is a DOUBLE, in percent of all rows.
    pub percent: bool,
}

/// The union, intersection or difference of several inputs.
#[derive(Debug, Clone)]
pub struct SetOperation {
    /// The operation.
    pub operator: SetOperator,
    /// True if duplicates are kept.
    pub all: bool,
    /// The output columns: fresh ids.
    pub columns: Vec<ColumnId>,
    /// The inputs, with their columns in the order of `columns` and with the same types. Two for INTERSECT and EXCEPT,
    /// two or more for UNION.
    pub inputs: Vec<(NodeId, Vec<ColumnId>)>,
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// The rows of all inputs.
    Union,
    /// The rows that both inputs have; with ALL, as often as both have them.
    Intersect,
    /// The rows of the first input that the second doesn't have; with ALL, each row of the second removes one.
    Except,
}

/// The rows joined with the elements of their lists, one row per element. Lists of a row are unnested side by side;
/// shorter ones are padded with NULLs.
#[derive(Debug, Clone)]
pub struct Unnest {
    /// The rows; all their columns are passed on.
    pub input: NodeId,
    /// The lists.
    pub lists: Vec<UnnestedList>,
    /// The 1-based position of the element: BIGINT.
    pub ordinality: Option<ColumnId>,
    /// True if rows without elements come once, with NULLs.
    pub outer: bool,
}

/// A list whose elements become rows.
#[derive(Debug, Clone)]
pub struct UnnestedList {
    /// The element.
    pub column: ColumnId,
    /// The list; its elements have the column's type.
    pub list: Expr,
}

/// The rows of `base`, then those of `step` over them, and so on until a round has no rows.
#[derive(Debug, Clone)]
pub struct Recursive {
    /// Identifies the recursion: not one of its columns, but a fresh id that [`Node::WorkingRows`] refers to.
    pub working: ColumnId,
    /// The output columns: fresh ids.
    pub columns: Vec<ColumnId>,
    /// The first rows, with columns in the order of `columns`.
    pub base: (NodeId, Vec<ColumnId>),
    /// The rows of a round.
    pub step: (NodeId, Vec<ColumnId>),
    /// True if rows that occurred before are kept; otherwise they are dropped.
    pub all: bool,
}

/// The rows of a shared plan.
#[derive(Debug, Clone)]
pub struct Use {
    /// The plan.
    pub shared: SharedId,
    /// (fresh id, column of the shared plan).
    pub columns: Vec<(ColumnId, ColumnId)>,
}

/// A random sample of the rows.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The rows.
    pub input: NodeId,
    /// The sample size.
    pub size: SampleSize,
    /// The random seed; the same seed picks the same rows from the same input.
    pub seed: Option<u64>,
}

/// The size of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampleSize {
    /// This number of rows.
    Rows(u64),
    /// Each row with this probability, in percent.
    Percent(f64),
}
