//! FROM: tables, joins, samples, PIVOT and UNPIVOT.

use std::sync::Arc;

use godwit_common::Span;

use super::{Call, DataType, Expr, Ident, ObjectName, Query, SelectItem};

/// `a JOIN b ON … JOIN c ON …`: joined from the left to the right.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWithJoins {
    /// The leftmost.
    pub relation: TableFactor,
    /// What is joined to it, one after the other.
    pub joins: Vec<Join>,
}

/// `LEFT JOIN relation ON …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Which rows there are.
    pub kind: JoinKind,
    /// ASOF: of the right side the nearest row only.
    pub asof: bool,
    /// The right side.
    pub relation: TableFactor,
    /// Which rows go together.
    pub constraint: JoinConstraint,
    /// From the first word of the join to the end of its constraint.
    pub span: Span,
}

/// The kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum JoinKind {
    Cross,
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    Positional,
}

/// Which rows of a join go together.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinConstraint {
    /// All: CROSS and POSITIONAL joins.
    None,
    /// `ON condition`.
    On(Expr),
    /// `USING (a, b)`.
    Using(Vec<Ident>),
    /// `NATURAL`.
    Natural,
}

/// Something that delivers rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    /// What it is.
    pub kind: TableFactorKind,
    /// `[AS] name [(columns)]`, `name: factor`.
    pub alias: Option<TableAlias>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// With alias and sample.
    pub span: Span,
}

/// The kinds of sources.
#[derive(Debug, Clone, PartialEq)]
pub enum TableFactorKind {
    /// A table, a view, or a common table expression.
    Table(ObjectName),
    /// `'path/*.parquet'`.
    File(Arc<str>),
    /// `range(10)`, `read_csv('a.csv', header = true)`, `unnest(l)`.
    Function {
        /// The call.
        call: Box<Call>,
        /// LATERAL was written. Functions see the tables to their left in any case.
        lateral: bool,
        /// WITH ORDINALITY: one column more, which counts.
        with_ordinality: bool,
    },
    /// `(SELECT …)`, `(VALUES …)`, `(DESCRIBE …)`.
    Subquery {
        /// True if it sees the tables to its left.
        lateral: bool,
        /// The query.
        query: Box<Query>,
    },
    /// Joins in parentheses, and the right side of `a JOIN b JOIN c ON … ON …`.
    Nested(Box<TableWithJoins>),
    /// `t PIVOT (…)`.
    Pivot(Box<Pivot>),
    /// `t UNPIVOT (…)`.
    Unpivot(Box<Unpivot>),
}

/// `AS name (columns)`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableAlias {
    /// The name.
    pub name: Ident,
    /// Names of the columns; may be fewer than there are.
    pub columns: Vec<AliasColumn>,
}

/// A column of an alias; with a type where a function doesn't know it.
#[derive(Debug, Clone, PartialEq)]
pub struct AliasColumn {
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: Option<DataType>,
}

/// `TABLESAMPLE method (10 PERCENT) REPEATABLE (seed)`, `USING SAMPLE …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// How much.
    pub amount: Expr,
    /// Of what; PERCENT if it wasn't written and there is a method or TABLESAMPLE, else ROWS.
    pub unit: SampleUnit,
    /// `bernoulli`, `system`, `reservoir`.
    pub method: Option<Ident>,
    /// Where the random numbers start.
    pub seed: Option<Expr>,
    /// Its place in the text.
    pub span: Span,
}

/// What a sample counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SampleUnit {
    Percent,
    Rows,
}

/// `PIVOT source ON on USING aggregates GROUP BY group_by`, `source PIVOT (aggregates FOR on GROUP BY group_by)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pivot {
    /// The rows.
    pub source: TableFactor,
    /// What becomes columns.
    pub on: Vec<PivotColumn>,
    /// What the columns hold; none: the count of rows.
    pub aggregates: Vec<SelectItem>,
    /// What makes rows; none written: all columns that nothing else mentions.
    pub group_by: Option<Vec<Expr>>,
    /// Its place in the text.
    pub span: Span,
}

/// `year IN (2019, 2020)`.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotColumn {
    /// One expression, or those of a row.
    pub exprs: Vec<Expr>,
    /// The values that get a column.
    pub values: PivotValues,
}

/// The values that get a column.
#[derive(Debug, Clone, PartialEq)]
pub enum PivotValues {
    /// All that there are.
    All,
    /// These, perhaps with names.
    List(Vec<SelectItem>),
    /// What a query returns.
    Query(Box<Query>),
    /// The labels of an enum.
    Enum(ObjectName),
}

/// `UNPIVOT source ON columns INTO NAME name VALUE values`, `source UNPIVOT (values FOR name IN (columns))`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpivot {
    /// The rows.
    pub source: TableFactor,
    /// What becomes rows.
    pub columns: Vec<UnpivotColumn>,
    /// The column of names; `name` if it wasn't written.
    pub name: Ident,
    /// The columns of values; `value` if none was written.
    pub values: Vec<Ident>,
    /// True if NULLs become rows, too.
    pub include_nulls: bool,
    /// Its place in the text.
    pub span: Span,
}

/// One name's column, or its columns if there are several columns of values.
#[derive(Debug, Clone, PartialEq)]
pub struct UnpivotColumn {
    /// The columns; `COLUMNS(…)` as well.
    pub exprs: Vec<Expr>,
    /// What stands in the column of names.
    pub alias: Option<Ident>,
}
