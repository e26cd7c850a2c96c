//! FROM: tables, joins, samples, PIVOT and UNPIVOT.

use std::sync::Arc;

use godwit_common::Span;

use super::{Call, DataType, Expr, Ident, ObjectName, Query, SelectItem};

/// `a JOIN b ON … JOIN c ON …`: joined from left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWithJoins {
    /// The leftmost table.
    pub relation: TableFactor,
    /// The joins, in order.
    pub joins: Vec<Join>,
}

/// `LEFT JOIN relation ON …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// The kind of join.
    pub kind: JoinKind,
    /// ASOF: only the nearest row of the right side matches.
    pub asof: bool,
    /// The right side.
    pub relation: TableFactor,
    /// The join condition.
    pub constraint: JoinConstraint,
    /// Its span, from the first word of the join to the end of its constraint.
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

/// The condition of a join.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinConstraint {
    /// No condition: CROSS and POSITIONAL joins.
    None,
    /// `ON condition`.
    On(Expr),
    /// `USING (a, b)`.
    Using(Vec<Ident>),
    /// `NATURAL`.
    Natural,
}

/// A source of rows in FROM.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    /// Its kind.
    pub kind: TableFactorKind,
    /// `[AS] name [(columns)]`, `name: factor`.
    pub alias: Option<TableAlias>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// Its span, including alias and sample.
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
        /// True if LATERAL was written. Functions see the tables to their left in any case.
        lateral: bool,
        /// WITH ORDINALITY: an additional column that counts rows.
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
    /// Column names; may be fewer than there are columns.
    pub columns: Vec<AliasColumn>,
}

/// A column of an alias; with a type if the function doesn't determine it.
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
    /// The amount.
    pub amount: Expr,
    /// The unit; if omitted, PERCENT if there is a method or for TABLESAMPLE, else ROWS.
    pub unit: SampleUnit,
    /// `bernoulli`, `system`, `reservoir`.
    pub method: Option<Ident>,
    /// The random seed.
    pub seed: Option<Expr>,
    /// Its span in the text.
    pub span: Span,
}

/// The unit of a sample's amount.
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
    /// The expressions whose values become columns.
    pub on: Vec<PivotColumn>,
    /// The aggregates in these columns; if empty, the count of rows.
    pub aggregates: Vec<SelectItem>,
    /// The grouping keys; if `None`, all columns that nothing else mentions.
    pub group_by: Option<Vec<Expr>>,
    /// Its span in the text.
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
    /// All existing values.
    All,
    /// The listed values, possibly with names.
    List(Vec<SelectItem>),
    /// The values that a query returns.
    Query(Box<Query>),
    /// The labels of an enum.
    Enum(ObjectName),
}

/// `UNPIVOT source ON columns INTO NAME name VALUE values`, `source UNPIVOT (values FOR name IN (columns))`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpivot {
    /// The rows.
    pub source: TableFactor,
    /// The columns that become rows.
    pub columns: Vec<UnpivotColumn>,
    /// The column for names; `name` if omitted.
    pub name: Ident,
    /// The columns for values; `value` if omitted.
    pub values: Vec<Ident>,
    /// True if NULLs also become rows.
    pub include_nulls: bool,
    /// Its span in the text.
    pub span: Span,
}

/// The column for one name, or several if there are several columns of values.
#[derive(Debug, Clone, PartialEq)]
pub struct UnpivotColumn {
    /// The columns, possibly `COLUMNS(…)`.
    pub exprs: Vec<Expr>,
    /// The name in the column for names.
    pub alias: Option<Ident>,
}
