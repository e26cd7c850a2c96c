//! The nodes of a plan.

use std::sync::Arc;

use crate::{AggregateCall, ColumnId, Expr, NodeId, Relation, SharedId, SortKey, WindowCall};

/// A relational operator over the rows of other nodes.
#[derive(Debug, Clone)]
pub enum Node {
    /// Rows of expressions without columns; one row of no columns is what a SELECT without FROM reads.
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
    /// Pairs of rows.
    Join(Join),
    /// A row for each group.
    Aggregate(Aggregate),
    /// The rows with the values of window functions.
    Window(Window),
    /// The rows in an order.
    Sort {
        /// The rows.
        input: NodeId,
        /// The order; rows that are equal in it come in any order.
        keys: Vec<SortKey>,
    },
    /// The first rows.
    Limit(Limit),
    /// The rows of several inputs.
    SetOperation(SetOperation),
    /// The rows with the elements of lists, a row each.
    Unnest(Unnest),
    /// A fixpoint.
    Recursive(Recursive),
    /// Inside the step of a [`Recursive`]: the rows of the round before. The columns are fresh, in the order of the
    /// recursion's.
    WorkingRows {
        /// [`Recursive::working`] of the recursion.
        of: ColumnId,
        /// A fresh id for each column of it.
        columns: Vec<ColumnId>,
    },
    /// The rows of a shared plan.
    Use(Use),
    /// Some rows, picked at random.
    Sample(Sample),
}

/// Rows of expressions. They see no columns but free ones.
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
    /// The columns that are read: (id, position in the table).
    pub columns: Vec<(ColumnId, usize)>,
    /// Conditions over these columns that the scan evaluates.
    pub filters: Vec<Expr>,
    /// This many rows are enough.
    pub rows_enough: Option<u64>,
}

/// Some columns of the input, and computed ones.
#[derive(Debug, Clone)]
pub struct Project {
    /// The rows.
    pub input: NodeId,
    /// (id, value). A column that is passed on has its own id: `(#3, #3)`.
    pub columns: Vec<(ColumnId, Expr)>,
}

/// Pairs of rows. The left input is the probe side, the right one the build side.
///
/// While subqueries and LATERAL are not unnested, the right side may use columns of the left one: a *dependent* join.
#[derive(Debug, Clone)]
pub struct Join {
    /// Which pairs and rows come out.
    pub kind: JoinKind,
    /// Probe side.
    pub left: NodeId,
    /// Build side.
    pub right: NodeId,
    /// Conjuncts over both sides that must be TRUE for a pair.
    pub conditions: Vec<Expr>,
}

/// Kinds of joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a pair, with NULLs on the right.
    Left,
    /// Pairs, and right rows without a pair, with NULLs on the left.
    Right,
    /// Pairs, and rows of both sides without a pair.
    Full,
    /// Left rows that have a pair, once each; only left columns.
    Semi,
    /// Left rows that have none.
    Anti,
    /// `Semi` with its sides exchanged: right rows that have a pair, once each; only right columns.
    RightSemi,
    /// `Anti` with its sides exchanged: right rows that have none.
    RightAnti,
    /// As `Left`; more than one pair for a left row is an error, reported if a row with it is used.
    Single,
    /// Left rows with a column that says whether there is a pair.
    ///
    /// Among the right rows for which the conditions of the join are TRUE: TRUE if for one of them all of `compare` are TRUE, else
    /// NULL if for one of them they are NULL together, else FALSE. Without `compare` never NULL.
    Mark {
        /// The column; BOOLEAN.
        mark: ColumnId,
        /// Conjuncts that count with their NULLs, as the comparison of IN does.
        compare: Vec<Expr>,
    },
    /// For each left row the one right row that comes last in the order of `right` up to and including its own `left` value
    /// (or first from it on), among those for which the conditions are TRUE.
    AsOf {
        /// As `Left`: rows without a pair come with NULLs.
        outer: bool,
        /// One of `<`, `<=`, `>`, `>=`: `left op right`.
        comparison: crate::Comparison,
        /// The left value.
        left: Box<Expr>,
        /// The right value.
        right: Box<Expr>,
    },
    /// The first rows of both, the second rows, and so on; NULLs where one side has ended.
    Positional,
}

/// A row for each group. Without keys and sets there is one group, of all rows, even if there are none.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The rows.
    pub input: NodeId,
    /// (id, key). A key that is a column of the input keeps its id unless it is in grouping sets.
    pub keys: Vec<(ColumnId, Expr)>,
    /// Grouping sets, each by positions of its keys: the others are NULL in its rows. Several sets may be equal.
    pub sets: Option<Vec<Vec<usize>>>,
    /// With sets: a BIGINT whose bit `k`, from the last key on, is 1 if the key isn't in the row's set; duplicates of a set
    /// have the same.
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
    /// The rows. If it is a sort the first are those of its order.
    pub input: NodeId,
    /// Rows that are left out at the start: a BIGINT without columns.
    pub offset: Option<Expr>,
    /// Rows after these, at most: a BIGINT without columns; NULL is no limit.
    pub count: Option<Expr>,
    /// Rows that are equal to the last one in the order come, too.
    pub with_ties: bool,
    /// `count` is a DOUBLE, in percent of all rows.
    pub percent: bool,
}

/// The rows of several inputs.
#[derive(Debug, Clone)]
pub struct SetOperation {
    /// Which rows.
    pub operator: SetOperator,
    /// Duplicates stay.
    pub all: bool,
    /// The columns that come out: fresh ids.
    pub columns: Vec<ColumnId>,
    /// The inputs, with their columns in the order of `columns`, of the same types. Two for INTERSECT and EXCEPT, two or more for
    /// UNION.
    pub inputs: Vec<(NodeId, Vec<ColumnId>)>,
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// The rows of all.
    Union,
    /// The rows that both have; with ALL as often as both have them.
    Intersect,
    /// The rows of the first that the second doesn't have; with ALL one less for each of the second.
    Except,
}

/// The rows with the elements of lists, a row each. Lists of a row are walked side by side; shorter ones give NULLs.
#[derive(Debug, Clone)]
pub struct Unnest {
    /// The rows; all their columns are passed on.
    pub input: NodeId,
    /// The lists.
    pub lists: Vec<UnnestedList>,
    /// The position of the element, from 1: BIGINT.
    pub ordinality: Option<ColumnId>,
    /// Rows without an element come once, with NULLs.
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

/// Rows of `base`, then those of `step` over them, over those, and so on until a round has none.
#[derive(Debug, Clone)]
pub struct Recursive {
    /// Names the recursion: not one of its columns, but a fresh id that [`Node::WorkingRows`] refer to.
    pub working: ColumnId,
    /// The columns that come out: fresh ids.
    pub columns: Vec<ColumnId>,
    /// The first rows, with columns in the order of `columns`.
    pub base: (NodeId, Vec<ColumnId>),
    /// The rows of a round.
    pub step: (NodeId, Vec<ColumnId>),
    /// Rows that were there before come again; else they are dropped.
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

/// Some rows, picked at random.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The rows.
    pub input: NodeId,
    /// How many.
    pub size: SampleSize,
    /// Starts the random numbers; the same seed picks the same rows of the same input.
    pub seed: Option<u64>,
}

/// How many rows a sample has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampleSize {
    /// This many.
    Rows(u64),
    /// Each with this probability, in percent.
    Percent(f64),
}
