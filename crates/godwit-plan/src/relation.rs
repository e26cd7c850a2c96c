//! Tables from the plan's point of view.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use godwit_types::SqlType;

use crate::{ColumnId, Expr, TableStatistics};

/// A source of a scan: a version of a table, a set of files, or the rows of a table function.
pub trait Relation: Any + fmt::Debug + Send + Sync {
    /// Returns its name for plans and messages: a table's name or a path.
    fn name(&self) -> &str;

    /// Returns its columns, in order.
    fn columns(&self) -> &[RelationColumn];

    /// Returns statistics on its values; one entry per column.
    fn statistics(&self) -> &TableStatistics;

    /// Returns the estimated number of distinct values of a column, not counting NULL. May have to read data, so it is
    /// called only for columns that the plan depends on, when it does.
    fn distinct(&self, position: usize) -> Option<u64> {
        self.statistics().columns.get(position)?.distinct.or_else(|| self.sample()?.distinct(position))
    }

    /// Returns the unique keys, by column positions: no two rows have the same non-NULL values.
    fn keys(&self) -> &[Vec<usize>] {
        &[]
    }

    /// Returns its virtual columns, which are computed from the others when rows are read, by position.
    fn computed(&self) -> &[ComputedColumn] {
        &[]
    }

    /// True if scans evaluate filters.
    fn evaluates_filters(&self) -> bool;

    /// Returns a sample of its rows, to try filters on.
    fn sample(&self) -> Option<&dyn TableSample> {
        None
    }

    /// True if the other one has the same rows: both are one version of one table, or the same files.
    fn is_same(&self, other: &dyn Relation) -> bool {
        std::ptr::addr_eq(self, other)
    }

    /// For downcasts to the concrete type.
    fn as_any(&self) -> &dyn Any;
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Name, as written.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// False only if it contains no NULLs.
    pub nullable: bool,
    /// True for columns that `*` leaves out.
    pub hidden: bool,
    /// The collation in which its texts are compared; `None`: by their bytes.
    pub collation: Option<Arc<str>>,
}

/// A virtual column, computed from the stored columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputedColumn {
    /// Name, as written.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Its position among all columns, including virtual ones.
    pub position: usize,
    /// Its value, as SQL over the columns of the table.
    pub expression: String,
}

/// A sample of a table's rows, picked evenly, on which filters are tried while a query is planned: it reflects skew and
/// correlated columns, which statistics of single columns don't.
pub trait TableSample: Send + Sync {
    /// Returns how many of the sampled rows pass all filters; `None` if that can't be determined. `columns` maps the
    /// columns of the filters to positions in the table.
    fn passing(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<SampleCount>;

    /// Returns the values of an integer column in the sampled rows that pass all filters, without NULLs; `None` if
    /// there are too many to visit one by one.
    fn keys(&self, filters: &[Expr], columns: &[(ColumnId, usize)], column: usize) -> Option<Vec<i64>>;

    /// Returns the estimated number of distinct values of a column in the whole table, not counting NULL.
    fn distinct(&self, _column: usize) -> Option<u64> {
        None
    }

    /// Announces that later calls may concern these columns: the answers may be remote.
    fn will_be_asked(&self, _columns: &[usize]) {}

    /// Returns true if the next call about this column reads it first.
    fn is_unread(&self, _column: usize) -> bool {
        false
    }

    /// Reads a column, so that calls about it needn't: several threads may read different ones at once.
    fn read(&self, _column: usize) {}

    /// True if the sample is the whole table.
    fn is_whole(&self) -> bool;
}

/// Reads columns of samples, several at once.
pub type ReadSamples = Arc<dyn Fn(&[(&dyn TableSample, usize)]) + Send + Sync>;

/// The result of filters on a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleCount {
    /// Rows of the sample that passed.
    pub passing: u64,
    /// Rows of the sample.
    pub rows: u64,
}
