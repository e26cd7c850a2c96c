//! Expressions.

use std::sync::Arc;

use godwit_common::Span;

use super::{DataType, Ident, ObjectName, OrderByExpr, Query};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its span in the text, without surrounding parentheses.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `1.5`, `'text'`, `TRUE`, `NULL`.
    Literal(Literal),
    /// `DATE '2020-01-01'`: a string literal that is converted to a type.
    TypedLiteral {
        /// The type.
        data_type: Box<DataType>,
        /// The string.
        text: Arc<str>,
    },
    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (a + b) DAY`.
    Interval {
        /// A string literal, or the number of units.
        value: Box<Expr>,
        /// The unit; `None` only if `value` is a string literal, which then contains it.
        unit: Option<IntervalUnit>,
    },
    /// `a`, `t.a`, `s.t.a`, `d.s.t.a`, `t.a.field`: the binder determines the meaning of each part.
    Column(Vec<Ident>),
    /// `*`, `t.*`, with columns that are left out or replaced.
    Wildcard(Box<Wildcard>),
    /// `COLUMNS('regex')`, `COLUMNS(*)`, `COLUMNS(c -> …)`.
    Columns(Box<Columns>),
    /// `?`, `$1`, `$name`, `:name`.
    Parameter(Parameter),
    /// `#2`: the second column of FROM.
    Position(u32),
    /// A prefix operator. `NOT EXISTS (…)` is NOT of EXISTS.
    Unary {
        /// The operator.
        op: UnaryOperator,
        /// The operand.
        operand: Box<Expr>,
    },
    /// An infix operator except AND and OR.
    Binary {
        /// The operator.
        op: BinaryOperator,
        /// The span of the operator in the text.
        op_span: Span,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `a AND b AND c`; at least two, none of them an `And` unless parenthesized.
    And(Vec<Expr>),
    /// `a OR b OR c`; at least two, none of them an `Or` unless parenthesized.
    Or(Vec<Expr>),
    /// `x IS [NOT] NULL`, `TRUE`, `FALSE`, `UNKNOWN`, `JSON [OBJECT]`.
    Is {
        /// The tested value.
        operand: Box<Expr>,
        /// The test.
        test: IsTest,
        /// True for `IS NOT`.
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`.
    IsDistinctFrom {
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
        /// True for `IS NOT DISTINCT FROM`.
        negated: bool,
    },
    /// `x [NOT] BETWEEN [SYMMETRIC] low AND high`.
    Between {
        /// The tested value.
        operand: Box<Expr>,
        /// One bound.
        low: Box<Expr>,
        /// The other bound.
        high: Box<Expr>,
        /// True for `NOT BETWEEN`.
        negated: bool,
        /// True if the bounds may be in any order.
        symmetric: bool,
    },
    /// `x [NOT] IN (a, b, c)`.
    InList {
        /// The value to search for.
        operand: Box<Expr>,
        /// The values.
        list: Vec<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] IN (SELECT …)`.
    InSubquery {
        /// The value to search for.
        operand: Box<Expr>,
        /// The query whose rows are searched.
        query: Box<Query>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] IN l`: tests whether `x` is an element of a list, or a key of a map, given as an expression.
    InExpr {
        /// The value to search for.
        operand: Box<Expr>,
        /// The list or map.
        list: Box<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE escape]` and similar. `x ~~ p` is [`Binary`](Self::Binary).
    Like {
        /// The kind of pattern match.
        kind: LikeKind,
        /// The tested value.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character for wildcards.
        escape: Option<Box<Expr>>,
        /// True for `NOT LIKE`.
        negated: bool,
    },
    /// `x = ANY (…)`, `x > ALL (…)`, `x LIKE ANY (…)`.
    Quantified {
        /// The left side.
        left: Box<Expr>,
        /// The comparison operator.
        op: BinaryOperator,
        /// The span of the operator in the text.
        op_span: Span,
        /// Whether one or all of the comparisons must hold.
        quantifier: Quantifier,
        /// The values.
        right: Quantified,
    },
    /// `EXISTS (SELECT …)`.
    Exists(Box<Query>),
    /// `(SELECT …)` as a value.
    Subquery(Box<Query>),
    /// `ARRAY(SELECT …)`.
    ArraySubquery(Box<Query>),
    /// `CASE [x] WHEN … THEN … [ELSE …] END`.
    Case {
        /// The value that branches are compared with.
        operand: Option<Box<Expr>>,
        /// The branches; at least one.
        branches: Vec<CaseBranch>,
        /// The value if no branch applies.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS t)`, `x::t`, `TRY_CAST(x AS t)`.
    Cast {
        /// The value.
        operand: Box<Expr>,
        /// The target type.
        data_type: Box<DataType>,
        /// True for `TRY_CAST`: NULL if the cast fails.
        is_try: bool,
    },
    /// `x COLLATE name`.
    Collate {
        /// The string.
        operand: Box<Expr>,
        /// The collation.
        collation: ObjectName,
    },
    /// A call of a function, an aggregate, a window function or a macro, and any syntax that is only another spelling
    /// of one: `EXTRACT(part FROM x)` is `date_part('part', x)`, `POSITION(a IN b)` is `strpos(b, a)`, `x AT TIME ZONE
    /// z` is `timezone(z, x)`, `TRIM(LEADING c FROM x)` is `ltrim(x, c)`, `CURRENT_DATE` is `current_date()`, `x.f(y)`
    /// is `f(x, y)` unless `x` is a name: `a.f(y)` is a call of `a.f`.
    Call(Box<Call>),
    /// `(a, b)`, `ROW(a, b)`.
    Row {
        /// The values; at least two without the word ROW.
        items: Vec<Expr>,
        /// True if the word ROW was written.
        explicit: bool,
    },
    /// `[a, b]`, `ARRAY[a, b]`.
    List(Vec<Expr>),
    /// `{'a': 1, b: 2}`.
    Struct(Vec<StructField>),
    /// `MAP {k: v}`.
    Map(Vec<MapEntry>),
    /// `[x * 2 FOR x IN l IF x > 1]`.
    ListComprehension(Box<ListComprehension>),
    /// `a[1]`.
    Subscript {
        /// The list, string, struct or map.
        operand: Box<Expr>,
        /// The position or key.
        index: Box<Expr>,
    },
    /// `a[low:high:step]`.
    Slice {
        /// The list or string.
        operand: Box<Expr>,
        /// The first position.
        low: Option<Box<Expr>>,
        /// The last position.
        high: Option<Box<Expr>>,
        /// The step from one position to the next.
        step: Option<Box<Expr>>,
    },
    /// `(x).name`, `f(x).name`, `a[1].name`. A path of names is a [`Column`](Self::Column).
    Field {
        /// The struct.
        operand: Box<Expr>,
        /// The field.
        name: Ident,
    },
    /// `(x).*`: all fields of a struct.
    AllFields(Box<Expr>),
    /// `x -> x + 1`, `(x, y) -> x + y`, `lambda x, y: x + y`. The arrow makes a lambda only in an argument of a call,
    /// and only if its left side is an unqualified name or names in parentheses; anywhere else it is
    /// [`BinaryOperator::Arrow`].
    Lambda {
        /// The parameters.
        parameters: Vec<Ident>,
        /// The body.
        body: Box<Expr>,
        /// True for the form with the word `lambda`.
        keyword: bool,
    },
    /// `DEFAULT`, as a value of INSERT or UPDATE.
    Default,
}

/// A constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `TRUE`, `FALSE`.
    Boolean(bool),
    /// Digits without underscores: `12`, `1.5`, `.5`, `5.`, `1e-5`; `0x1f`, `0o17`, `0b11` in lower case.
    Number(Arc<str>),
    /// `'text'`, in any kind of quotes, with escapes resolved.
    String(Arc<str>),
    /// `X'00ff'`.
    Blob(Arc<[u8]>),
    /// `B'0101'`: the digits.
    Bits(Arc<str>),
}

/// A unit of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Millennium,
    Century,
    Decade,
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    YearToMonth,
    DayToHour,
    DayToMinute,
    DayToSecond,
    HourToMinute,
    HourToSecond,
    MinuteToSecond,
}

/// `[q.]* [EXCLUDE (…)] [REPLACE (…)] [RENAME (…)]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wildcard {
    /// The table (or struct) whose columns it stands for.
    pub qualifier: Option<ObjectName>,
    /// Columns to leave out, possibly qualified.
    pub exclude: Vec<ObjectName>,
    /// Columns to replace by other expressions.
    pub replace: Vec<Replacement>,
    /// Columns to rename.
    pub rename: Vec<Renaming>,
}

/// `expr AS name` in REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The new value.
    pub expr: Expr,
    /// The column, possibly qualified.
    pub name: ObjectName,
}

/// `old AS new` in RENAME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// The column, possibly qualified.
    pub from: ObjectName,
    /// Its name in the result.
    pub to: Ident,
}

/// `[*]COLUMNS(selection)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// A string (a regular expression), a wildcard, a list of names, or a lambda.
    pub selection: Expr,
    /// `t.COLUMNS(…)`: the table.
    pub qualifier: Option<ObjectName>,
    /// `*COLUMNS(…)`: each column becomes a separate argument or item.
    pub unpack: bool,
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// `$1`, counted from 1. `?` takes the next number after the highest so far.
    Number(u32),
    /// `$name`, `:name`, in lower case.
    Name(Arc<str>),
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `NOT`
    Not,
    /// `~`
    BitwiseNot,
    /// `@`, the absolute value
    Absolute,
    /// `|/`
    SquareRoot,
    /// `||/`
    CubeRoot,
}

/// Infix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`
    IntegerDivide,
    /// `%`
    Modulo,
    /// `^`, `**`
    Power,
    /// `||`
    Concat,
    /// `&`
    BitwiseAnd,
    /// `|`
    BitwiseOr,
    /// `#`
    BitwiseXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
    /// `#>`
    PathArrow,
    /// `#>>`
    LongPathArrow,
    /// `#-`
    WithoutPath,
    /// `?`
    HasKey,
    /// `?|`
    HasAnyKey,
    /// `?&`
    HasAllKeys,
    /// `~`
    Matches,
    /// `~*`
    MatchesInsensitive,
    /// `!~`
    NotMatches,
    /// `!~*`
    NotMatchesInsensitive,
    /// `~~`, and LIKE before ANY or ALL
    Like,
    /// `!~~`, and NOT LIKE before ANY or ALL
    NotLike,
    /// `~~*`, and ILIKE before ANY or ALL
    ILike,
    /// `!~~*`, and NOT ILIKE before ANY or ALL
    NotILike,
    /// `~~~`
    Glob,
    /// `^@`
    StartsWith,
    /// `@>`
    Contains,
    /// `<@`
    ContainedBy,
    /// `&&`
    Overlaps,
    /// `<->`
    Distance,
    /// `<=>`
    CosineDistance,
}

/// The tests of IS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
    Json,
    JsonObject,
    JsonArray,
    JsonScalar,
}

/// The pattern matches written as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum LikeKind {
    Like,
    ILike,
    SimilarTo,
    Glob,
}

/// ANY (or SOME) and ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Quantifier {
    Any,
    All,
}

/// The right side of ANY and ALL.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantified {
    /// The rows of a query.
    Query(Box<Query>),
    /// The elements of a list.
    List(Box<Expr>),
}

/// `WHEN when THEN then`.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// The condition, or the value to compare with.
    pub when: Expr,
    /// The value if the branch applies.
    pub then: Expr,
}

/// `name([DISTINCT] args [ORDER BY …] [IGNORE NULLS]) [WITHIN GROUP (…)] [FILTER (…)] [IGNORE NULLS] [OVER …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub name: ObjectName,
    /// The arguments.
    pub args: Vec<Argument>,
    /// `count(*)`: then `args` is empty.
    pub star: bool,
    /// DISTINCT before the arguments.
    pub distinct: bool,
    /// ORDER BY after the arguments.
    pub order_by: Vec<OrderByExpr>,
    /// IGNORE NULLS or RESPECT NULLS, inside or after the parentheses.
    pub nulls: Option<NullTreatment>,
    /// `WITHIN GROUP (ORDER BY …)`.
    pub within_group: Vec<OrderByExpr>,
    /// `FILTER (WHERE …)`.
    pub filter: Option<Expr>,
    /// OVER: makes it a call of a window function.
    pub over: Option<Over>,
}

impl Call {
    /// A call without any clause.
    pub fn new(name: ObjectName, args: Vec<Argument>) -> Self {
        Self {
            name,
            args,
            star: false,
            distinct: false,
            order_by: Vec::new(),
            nulls: None,
            within_group: Vec::new(),
            filter: None,
            over: None,
        }
    }
}

/// An argument: `x`, `name := x`, `name => x`. `name = x` is a comparison here; the binder takes it as a named argument
/// of a table function.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The parameter's name.
    pub name: Option<Ident>,
    /// The value. It is a [`Wildcard`](ExprKind::Wildcard) in `f(*)` other than `count(*)`, and in `f(t.*)`.
    pub value: Expr,
}

/// How a window function treats NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NullTreatment {
    Respect,
    Ignore,
}

/// The window after OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER w`.
    Name(Ident),
    /// `OVER (…)`.
    Spec(Box<WindowSpec>),
}

/// `([base] [PARTITION BY …] [ORDER BY …] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The window that this one refines.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderByExpr>,
    /// The frame.
    pub frame: Option<Frame>,
    /// Its span in the text, including the parentheses.
    pub span: Span,
}

/// `ROWS BETWEEN start AND end EXCLUDE …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The unit of its bounds.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row; CURRENT ROW if it wasn't written.
    pub end: FrameBound,
    /// Rows to leave out.
    pub exclude: FrameExclusion,
    /// Its span in the text.
    pub span: Span,
}

/// The units of frame bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FrameUnits {
    Rows,
    Range,
    Groups,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// The EXCLUDE clause of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

/// `name: value` in a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct StructField {
    /// The field; names in single quotes count as quoted names.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// `key: value` in a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: Expr,
    /// Its value.
    pub value: Expr,
}

/// `[result FOR variables IN source IF condition]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ListComprehension {
    /// The expression computed for each element.
    pub result: Expr,
    /// Names for the element and, if there are two, its position.
    pub variables: Vec<Ident>,
    /// The list.
    pub source: Expr,
    /// The filter on elements.
    pub condition: Option<Expr>,
}
