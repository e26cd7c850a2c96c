//! Tables as the plan sees them.

use std::any::Any;
use std::fmt;

use godwit_types::SqlType;

use crate::{ColumnId, Expr, TableStatistics};

/// A version of a table, a set of files, the rows of a table function: what a scan reads.
pub trait Relation: Any + fmt::Debug + Send + Sync {
    /// Name for plans and messages: a table's name or a path.
    fn name(&self) -> &str;

    /// Its columns, in order.
    fn columns(&self) -> &[RelationColumn];

    /// What is known about its values; one entry per column.
    fn statistics(&self) -> &TableStatistics;

    /// The estimated number of distinct values of a column, NULL left out. Reading may be needed to answer: it is asked
    /// for columns that the plan depends on, when it does.
    fn distinct(&self, position: usize) -> Option<u64> {
        self.statistics().columns.get(position)?.distinct.or_else(|| self.sample()?.distinct(position))
    }

    /// Sets of columns, by position, of which no two rows have the same values without NULL.
    fn keys(&self) -> &[Vec<usize>] {
        &[]
    }

    /// Columns that are computed from the others when rows are read, in the order of their positions.
    fn computed(&self) -> &[ComputedColumn] {
        &[]
    }

    /// Do scans evaluate filters?
    fn evaluates_filters(&self) -> bool;

    /// Some of its rows, to try filters on.
    fn sample(&self) -> Option<&dyn TableSample> {
        None
    }

    /// For code that knows the type behind it.
    fn as_any(&self) -> &dyn Any;
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Name, as it was written.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// False only if no NULL can occur.
    pub nullable: bool,
    /// True for columns that `*` leaves out.
    pub hidden: bool,
}

/// A column that is computed from the columns that a table has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedColumn {
    /// Name, as it was written.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Its position among all columns, including computed ones.
    pub position: usize,
    /// Its value, as SQL over the columns of the table.
    pub expression: String,
}

/// Some rows of a table, picked evenly, on which filters are tried while a query is planned: it reflects skew and
/// dependent columns, which statistics of single columns don't.
pub trait TableSample: Send + Sync {
    /// How many of the sampled rows pass all filters; `None` if that can't be found out. `columns` maps the columns of
    /// the filters to positions in the table.
    fn passing(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<SampleCount>;

    /// The values of an integer column in the sampled rows that pass all filters, without NULLs; `None` if there are
    /// too many to look at one by one.
    fn keys(&self, filters: &[Expr], columns: &[(ColumnId, usize)], column: usize) -> Option<Vec<i64>>;

    /// The estimated number of distinct values of a column in the whole table, NULL left out.
    fn distinct(&self, _column: usize) -> Option<u64> {
        None
    }

    /// Announces that the other questions may be about these columns: the answers may be remote.
    fn will_be_asked(&self, _columns: &[usize]) {}

    /// True if the sample is the whole table.
    fn is_whole(&self) -> bool;
}

/// What passed a filter on a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleCount {
    /// Rows of the sample that passed.
    pub passing: u64,
    /// Rows of the sample.
    pub rows: u64,
}
