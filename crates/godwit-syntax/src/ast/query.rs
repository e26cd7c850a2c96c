//! Queries: WITH, set operations, SELECT and its clauses except FROM.

use godwit_common::Span;

use super::{Describe, Expr, Ident, ObjectName, Pivot, Sample, Show, Statement, TableWithJoins, Unpivot, WindowSpec};

/// `[WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Common table expressions.
    pub with: Option<With>,
    /// The body, which produces the rows.
    pub body: SetExpr,
    /// ORDER BY.
    pub order_by: Option<OrderBy>,
    /// LIMIT or FETCH.
    pub limit: Option<Limit>,
    /// OFFSET.
    pub offset: Option<Expr>,
    /// Its span in the text, without surrounding parentheses.
    pub span: Span,
}

impl Query {
    /// Makes a query of just a body.
    pub fn of(kind: SetExprKind, span: Span) -> Self {
        Self { with: None, body: SetExpr { kind, span }, order_by: None, limit: None, offset: None, span }
    }
}

/// `WITH [RECURSIVE] a AS (…), b AS (…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// True if expressions may refer to themselves.
    pub recursive: bool,
    /// The common table expressions; at least one.
    pub ctes: Vec<Cte>,
    /// Its span, starting with the word WITH.
    pub span: Span,
}

/// `name [(columns)] [USING KEY (…)] AS [[NOT] MATERIALIZED] (body)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// The name.
    pub name: Ident,
    /// Column names; may be fewer than there are columns.
    pub columns: Vec<Ident>,
    /// MATERIALIZED or NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// The body.
    pub body: CteBody,
    /// Its span in the text.
    pub span: Span,
}

/// The body of a common table expression.
#[derive(Debug, Clone, PartialEq)]
pub enum CteBody {
    /// The rows of a query.
    Query(Box<Query>),
    /// The rows returned by INSERT, UPDATE, DELETE or MERGE.
    Write(Box<Statement>),
}

/// The body of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SetExpr {
    /// Its kind.
    pub kind: SetExprKind,
    /// Its span in the text, including surrounding parentheses.
    pub span: Span,
}

/// The kinds of query bodies.
#[derive(Debug, Clone, PartialEq)]
pub enum SetExprKind {
    /// `SELECT …`, `FROM …`.
    Select(Box<Select>),
    /// A query in parentheses.
    Query(Box<Query>),
    /// `a UNION b EXCEPT c`.
    Operations(Box<SetOperations>),
    /// `VALUES (1, 2), (3, 4)`; at least one row; rows may differ in length.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(ObjectName),
    /// `PIVOT t ON …`.
    Pivot(Box<Pivot>),
    /// `UNPIVOT t ON …`.
    Unpivot(Box<Unpivot>),
    /// `DESCRIBE …` in parentheses.
    Describe(Box<Describe>),
    /// `SUMMARIZE …` in parentheses.
    Summarize(Box<Describe>),
    /// `SHOW …` in parentheses.
    Show(Box<Show>),
}

/// A chain of set operations with the same precedence, from left to right: `((first op a) op b) op c`. INTERSECT binds
/// tighter than the others, so it never shares a chain with them.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperations {
    /// The leftmost operand.
    pub first: SetExpr,
    /// The further steps; at least one.
    pub steps: Vec<SetStep>,
}

/// `UNION [ALL] [BY NAME] right`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetStep {
    /// The operation.
    pub op: SetOperator,
    /// True if duplicates are kept.
    pub all: bool,
    /// True if columns are matched by name.
    pub by_name: bool,
    /// The right side.
    pub right: SetExpr,
    /// The span of the operator in the text.
    pub op_span: Span,
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// `SELECT …` or `FROM … [SELECT …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: Option<Distinct>,
    /// The SELECT list. For `FROM t`, it is a wildcard without a span.
    pub projection: Vec<SelectItem>,
    /// FROM: the comma-separated items.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Option<GroupBy>,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<NamedWindow>,
    /// QUALIFY.
    pub qualify: Option<Expr>,
    /// USING SAMPLE.
    pub sample: Option<Sample>,
    /// Its span in the text.
    pub span: Span,
}

impl Select {
    /// Makes a SELECT without any clauses.
    pub fn of(projection: Vec<SelectItem>, span: Span) -> Self {
        Self {
            distinct: None,
            projection,
            from: Vec::new(),
            filter: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            qualify: None,
            sample: None,
            span,
        }
    }
}

/// DISTINCT of SELECT; `SELECT ALL` has none.
#[derive(Debug, Clone, PartialEq)]
pub enum Distinct {
    /// `DISTINCT`.
    Rows,
    /// `DISTINCT ON (…)`.
    On(Vec<Expr>),
}

/// `expr [AS] alias`, `alias: expr`.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectItem {
    /// The value, possibly a wildcard.
    pub expr: Expr,
    /// Its name.
    pub alias: Option<Ident>,
}

/// GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupBy {
    /// `GROUP BY ALL`: by everything in SELECT that isn't an aggregate.
    All(Span),
    /// `GROUP BY [DISTINCT] a, ROLLUP (b, c)`.
    Elements {
        /// True if equal grouping sets are merged.
        distinct: bool,
        /// The elements; at least one.
        elements: Vec<GroupingElement>,
    },
}

/// An element of GROUP BY or of GROUPING SETS.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupingElement {
    /// Its kind.
    pub kind: GroupingElementKind,
    /// Its span in the text.
    pub span: Span,
}

/// The kinds of elements of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupingElementKind {
    /// An expression.
    Expr(Expr),
    /// `()`, `(a, b)`.
    Set(Vec<Expr>),
    /// `ROLLUP (a, (b, c))`.
    Rollup(Vec<Vec<Expr>>),
    /// `CUBE (a, (b, c))`.
    Cube(Vec<Vec<Expr>>),
    /// `GROUPING SETS (…)`.
    Sets(Vec<GroupingElement>),
}

/// `name AS (…)` of WINDOW.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name.
    pub name: Ident,
    /// The window.
    pub spec: WindowSpec,
}

/// ORDER BY of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum OrderBy {
    /// By expressions.
    Exprs(Vec<OrderByExpr>),
    /// `ORDER BY ALL`: by all columns of the result.
    All {
        /// ASC or DESC.
        direction: Option<Direction>,
        /// NULLS FIRST or NULLS LAST.
        nulls: Option<NullsOrder>,
        /// The span of ALL in the text.
        span: Span,
    },
}

/// `expr [ASC | DESC] [NULLS FIRST | LAST]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderByExpr {
    /// The key.
    pub expr: Expr,
    /// ASC or DESC, if it was written.
    pub direction: Option<Direction>,
    /// NULLS FIRST or NULLS LAST, if it was written.
    pub nulls: Option<NullsOrder>,
}

/// The direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Direction {
    Asc,
    Desc,
}

/// The position of NULLs in a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NullsOrder {
    First,
    Last,
}

/// `LIMIT n`, `LIMIT n%`, `FETCH FIRST n ROWS WITH TIES`. `LIMIT ALL` is no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The number of rows, or the percentage.
    pub count: Expr,
    /// True for a percentage.
    pub percent: bool,
    /// True if rows equal to the last one are included.
    pub with_ties: bool,
}
