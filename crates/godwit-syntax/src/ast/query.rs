//! Queries: WITH, set operations, SELECT and its clauses except FROM.

use godwit_common::Span;

use super::{Describe, Expr, Ident, ObjectName, Pivot, Sample, Show, Statement, TableWithJoins, Unpivot, WindowSpec};

/// `[WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Common table expressions.
    pub with: Option<With>,
    /// What makes the rows.
    pub body: SetExpr,
    /// ORDER BY.
    pub order_by: Option<OrderBy>,
    /// LIMIT or FETCH.
    pub limit: Option<Limit>,
    /// OFFSET.
    pub offset: Option<Expr>,
    /// Its place in the text, without parentheses around it.
    pub span: Span,
}

impl Query {
    /// A query that is no more than its body.
    pub fn of(kind: SetExprKind, span: Span) -> Self {
        Self { with: None, body: SetExpr { kind, span }, order_by: None, limit: None, offset: None, span }
    }
}

/// `WITH [RECURSIVE] a AS (…), b AS (…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// True if expressions may refer to themselves.
    pub recursive: bool,
    /// The expressions; at least one.
    pub ctes: Vec<Cte>,
    /// From the word WITH on.
    pub span: Span,
}

/// `name [(columns)] [USING KEY (…)] AS [[NOT] MATERIALIZED] (body)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// The name.
    pub name: Ident,
    /// Names of the columns; may be fewer than there are.
    pub columns: Vec<Ident>,
    /// MATERIALIZED or NOT MATERIALIZED.
    pub materialized: Option<bool>,
    /// What it stands for.
    pub body: CteBody,
    /// Its place in the text.
    pub span: Span,
}

/// What a common table expression stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum CteBody {
    /// The rows of a query.
    Query(Box<Query>),
    /// What INSERT, UPDATE, DELETE or MERGE returns.
    Write(Box<Statement>),
}

/// What makes the rows of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SetExpr {
    /// What it is.
    pub kind: SetExprKind,
    /// Its place in the text, with parentheses around it.
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
    /// `VALUES (1, 2), (3, 4)`; at least one row, rows may differ in length.
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

/// A chain of set operations of one precedence, from the left to the right: `((first op a) op b) op c`. INTERSECT binds
/// tighter than the others, so it never shares a chain with them.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperations {
    /// The leftmost.
    pub first: SetExpr,
    /// The others; at least one.
    pub steps: Vec<SetStep>,
}

/// `UNION [ALL] [BY NAME] right`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetStep {
    /// The operation.
    pub op: SetOperator,
    /// True if duplicates count.
    pub all: bool,
    /// True if columns go together by name.
    pub by_name: bool,
    /// The right side.
    pub right: SetExpr,
    /// The place of the operator in the text.
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
    /// What is selected. Of `FROM t` it is a wildcard without a place.
    pub projection: Vec<SelectItem>,
    /// FROM; what commas separate.
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
    /// Its place in the text.
    pub span: Span,
}

impl Select {
    /// A SELECT without any clause.
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

/// DISTINCT of SELECT. `SELECT ALL` is no DISTINCT.
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
    /// The value; a wildcard as well.
    pub expr: Expr,
    /// Its name.
    pub alias: Option<Ident>,
}

/// GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupBy {
    /// `GROUP BY ALL`: by whatever in SELECT is no aggregate.
    All(Span),
    /// `GROUP BY [DISTINCT] a, ROLLUP (b, c)`.
    Elements {
        /// True if equal grouping sets count once.
        distinct: bool,
        /// The elements; at least one.
        elements: Vec<GroupingElement>,
    },
}

/// An element of GROUP BY or of GROUPING SETS.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupingElement {
    /// What it is.
    pub kind: GroupingElementKind,
    /// Its place in the text.
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
        /// The place of ALL in the text.
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

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Direction {
    Asc,
    Desc,
}

/// Where NULLs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NullsOrder {
    First,
    Last,
}

/// `LIMIT n`, `LIMIT n%`, `FETCH FIRST n ROWS WITH TIES`. `LIMIT ALL` is no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// How many rows, or per cent of them.
    pub count: Expr,
    /// True for per cent.
    pub percent: bool,
    /// True if equals of the last row come along.
    pub with_ties: bool,
}
