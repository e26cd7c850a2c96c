//! Expressions.

use std::sync::Arc;

use godwit_common::Span;

use super::{DataType, Ident, ObjectName, OrderByExpr, Query};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place in the text, without parentheses around it.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `1.5`, `'text'`, `TRUE`, `NULL`.
    Literal(Literal),
    /// `DATE '2020-01-01'`: a text that is read as a type.
    TypedLiteral {
        /// The type.
        data_type: Box<DataType>,
        /// The text.
        text: Arc<str>,
    },
    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (a + b) DAY`.
    Interval {
        /// A text literal, or how many of the unit.
        value: Box<Expr>,
        /// The unit; `None` only if `value` is a text literal, which then says it.
        unit: Option<IntervalUnit>,
    },
    /// `a`, `t.a`, `s.t.a`, `d.s.t.a`, `t.a.field`: which part is what is for the binder to say.
    Column(Vec<Ident>),
    /// `*`, `t.*`, with what it leaves out or replaces.
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
        /// What it is applied to.
        operand: Box<Expr>,
    },
    /// An infix operator except AND and OR.
    Binary {
        /// The operator.
        op: BinaryOperator,
        /// The place of the operator in the text.
        op_span: Span,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `a AND b AND c`; at least two, none of them an `And` unless it stood in parentheses.
    And(Vec<Expr>),
    /// `a OR b OR c`; at least two, none of them an `Or` unless it stood in parentheses.
    Or(Vec<Expr>),
    /// `x IS [NOT] NULL`, `TRUE`, `FALSE`, `UNKNOWN`.
    Is {
        /// What is tested.
        operand: Box<Expr>,
        /// For what.
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
        /// What is tested.
        operand: Box<Expr>,
        /// One bound.
        low: Box<Expr>,
        /// The other.
        high: Box<Expr>,
        /// True for `NOT BETWEEN`.
        negated: bool,
        /// True if the bounds may be in any order.
        symmetric: bool,
    },
    /// `x [NOT] IN (a, b, c)`.
    InList {
        /// What is looked for.
        operand: Box<Expr>,
        /// The values.
        list: Vec<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] IN (SELECT …)`.
    InSubquery {
        /// What is looked for.
        operand: Box<Expr>,
        /// Where.
        query: Box<Query>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] IN l`: is it in the list (or a key of the map) that the right side is a value of.
    InExpr {
        /// What is looked for.
        operand: Box<Expr>,
        /// The list.
        list: Box<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE escape]` and its relatives. `x ~~ p` is [`Binary`](Self::Binary).
    Like {
        /// Which of them.
        kind: LikeKind,
        /// What is tested.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that takes a wildcard's meaning away.
        escape: Option<Box<Expr>>,
        /// True for `NOT LIKE`.
        negated: bool,
    },
    /// `x = ANY (…)`, `x > ALL (…)`, `x LIKE ANY (…)`.
    Quantified {
        /// The left side.
        left: Box<Expr>,
        /// How values are compared.
        op: BinaryOperator,
        /// The place of the operator in the text.
        op_span: Span,
        /// With one or with each of them.
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
        /// What each branch is compared with.
        operand: Option<Box<Expr>>,
        /// The branches; at least one.
        branches: Vec<CaseBranch>,
        /// The value if none applies.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS t)`, `x::t`, `TRY_CAST(x AS t)`.
    Cast {
        /// The value.
        operand: Box<Expr>,
        /// The type that it gets.
        data_type: Box<DataType>,
        /// True for `TRY_CAST`: NULL for what can't be cast.
        is_try: bool,
    },
    /// `x COLLATE name`.
    Collate {
        /// The text.
        operand: Box<Expr>,
        /// The order.
        collation: ObjectName,
    },
    /// A call of a function, an aggregate, a window function or a macro, and whatever is only another spelling of one:
    /// `EXTRACT(part FROM x)` is `date_part('part', x)`, `POSITION(a IN b)` is `strpos(b, a)`, `x AT TIME ZONE z` is
    /// `timezone(z, x)`, `TRIM(LEADING c FROM x)` is `ltrim(x, c)`, `CURRENT_DATE` is `current_date()`, `x.f(y)` is
    /// `f(x, y)` unless `x` is a name: `a.f(y)` is a call of `a.f`.
    Call(Box<Call>),
    /// `(a, b)`, `ROW(a, b)`.
    Row {
        /// The values; two at least without the word ROW.
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
        /// The list, text, struct or map.
        operand: Box<Expr>,
        /// The place or the key.
        index: Box<Expr>,
    },
    /// `a[low:high:step]`.
    Slice {
        /// The list or text.
        operand: Box<Expr>,
        /// The first place.
        low: Option<Box<Expr>>,
        /// The last place.
        high: Option<Box<Expr>>,
        /// From one to the next.
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
    /// `x -> x + 1`, `(x, y) -> x + y`, `lambda x, y: x + y`. The arrow makes a lambda only of an argument of a
    /// call whose left side is an unqualified name or names in parentheses; anywhere else it is
    /// [`BinaryOperator::Arrow`].
    Lambda {
        /// The parameters.
        parameters: Vec<Ident>,
        /// What is computed of them.
        body: Box<Expr>,
        /// True for the form with the word.
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
    /// `'text'`, in whatever quotes, without escapes.
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
    /// The table (or struct) whose columns are meant.
    pub qualifier: Option<ObjectName>,
    /// Columns that are left out, perhaps qualified.
    pub exclude: Vec<ObjectName>,
    /// Columns that are another expression.
    pub replace: Vec<Replacement>,
    /// Columns that have another name.
    pub rename: Vec<Renaming>,
}

/// `expr AS name` in REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The new value.
    pub expr: Expr,
    /// The column, perhaps qualified.
    pub name: ObjectName,
}

/// `old AS new` in RENAME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// The column, perhaps qualified.
    pub from: ObjectName,
    /// Its name in the result.
    pub to: Ident,
}

/// `[*]COLUMNS(selection)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// A text (a regular expression), a wildcard, a list of names, or a lambda.
    pub selection: Expr,
    /// `t.COLUMNS(…)`: the table.
    pub qualifier: Option<ObjectName>,
    /// `*COLUMNS(…)`: the columns become arguments or items one by one.
    pub unpack: bool,
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// `$1`, counted from 1. `?` is the number after the highest so far.
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

/// What IS tests for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

/// The pattern matches that are words.
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

/// What ANY and ALL range over.
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
    /// The condition, or the value that is compared.
    pub when: Expr,
    /// The value if it applies.
    pub then: Expr,
}

/// `name([DISTINCT] args [ORDER BY …] [IGNORE NULLS]) [WITHIN GROUP (…)] [FILTER (…)] [IGNORE NULLS] [OVER …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub name: ObjectName,
    /// The arguments.
    pub args: Vec<Argument>,
    /// `count(*)`: there are no `args` then.
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
    /// OVER: the call is of a window function.
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

/// An argument: `x`, `name := x`, `name => x`. `name = x` is a comparison here; binding a table function reads it as a
/// named argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The parameter's name.
    pub name: Option<Ident>,
    /// The value. It is a [`Wildcard`](ExprKind::Wildcard) in `f(*)` other than `count(*)`, and in `f(t.*)`.
    pub value: Expr,
}

/// What a window function does with NULLs.
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
    /// Which rows around the current one.
    pub frame: Option<Frame>,
    /// With the parentheses.
    pub span: Span,
}

/// `ROWS BETWEEN start AND end EXCLUDE …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What bounds count.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row; CURRENT ROW if it wasn't written.
    pub end: FrameBound,
    /// Rows that are left out.
    pub exclude: FrameExclusion,
    /// Its place in the text.
    pub span: Span,
}

/// What the bounds of a frame count.
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

/// EXCLUDE of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

/// `name: value` of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct StructField {
    /// The field; texts in single quotes count as quoted names.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// `key: value` of a map.
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
    /// What is computed of each element.
    pub result: Expr,
    /// Names for the element and, if there are two, its place.
    pub variables: Vec<Ident>,
    /// The list.
    pub source: Expr,
    /// Which elements count.
    pub condition: Option<Expr>,
}
