//! Typed expressions.

use std::hash::{Hash, Hasher};

use godwit_common::Span;
use godwit_types::{Arithmetic, SqlType, Value};

use crate::{ColumnId, NodeId, ParameterId, ScalarFunction};

/// An expression with resolved names and final types: operands have the types that the operation takes, by casts that
/// are there as nodes.
///
/// Two expressions are equal if they are the same computation; their places in the text don't matter.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What is computed.
    pub kind: ExprKind,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
    /// Where it is in the text; [`Span::NONE`] for expressions made by rewrites.
    pub span: Span,
}

/// What an expression computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ExprKind {
    /// The value of a column.
    Column(ColumnId),
    /// A constant of the expression's type.
    Literal(Value),
    /// A value that is given when the statement runs.
    Parameter(ParameterId),
    /// The value as the expression's type; `lenient` (TRY_CAST): NULL where it can't be that.
    Cast {
        /// The value.
        input: Box<Expr>,
        /// NULL in place of an error.
        lenient: bool,
    },
    /// A comparison of two values of one type.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// TRUE if all are, FALSE if one is, else NULL. Two operands at least.
    And(Vec<Expr>),
    /// TRUE if one is, FALSE if all are, else NULL. Two operands at least.
    Or(Vec<Expr>),
    /// Logical NOT.
    Not(Box<Expr>),
    /// Is the value NULL? Never NULL itself.
    IsNull(Box<Expr>),
    /// Arithmetic on numbers, dates, times and intervals.
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// `-x`.
    Negate(Box<Expr>),
    /// The value of the first condition that is TRUE; later conditions and values aren't evaluated.
    Case {
        /// (condition, value), in order.
        branches: Vec<(Expr, Expr)>,
        /// The value if none is TRUE; NULL if missing.
        otherwise: Option<Box<Expr>>,
    },
    /// The first value that isn't NULL; later ones aren't evaluated.
    Coalesce(Vec<Expr>),
    /// Is the value equal to one of these? With the NULLs of `=`. One type for all.
    InList(Box<Expr>, Vec<Expr>),
    /// Does the text match the pattern?
    Match {
        /// Kind of pattern.
        kind: Match,
        /// The text.
        input: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that escapes a wildcard after it.
        escape: Option<char>,
    },
    /// A function of the registry.
    Call(ScalarFunction, Vec<Expr>),
    /// The body, in which `column` stands for a value that is computed once.
    Let {
        /// Id of the value in the body.
        column: ColumnId,
        /// The value.
        value: Box<Expr>,
        /// What it is used in.
        body: Box<Expr>,
    },
    /// A function that is an argument: `x -> x + 1`. Its type is that of the body.
    Lambda(Vec<ColumnId>, Box<Expr>),
    /// A subquery as a value.
    Subquery(Box<Subquery>),
}

/// A query inside an expression; correlated if its plan has free columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subquery {
    /// How its rows are used.
    pub kind: SubqueryKind,
    /// Its plan.
    pub plan: NodeId,
    /// The columns of its SELECT list. One for a scalar subquery; for EXISTS it doesn't matter.
    pub columns: Vec<ColumnId>,
}

/// How a subquery is a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubqueryKind {
    /// The value of its only row; NULL without a row; more rows are an error.
    Scalar,
    /// Is there a row?
    Exists,
    /// `left op ANY (…)` or `left op ALL (…)`, with SQL's NULLs. `IN` is `= ANY`, `NOT IN` the negation of that. Several values
    /// on the left are a row value; the subquery has as many columns, of the same types.
    Quantified {
        /// The comparison of the left value with each row.
        comparison: Comparison,
        /// ALL rather than ANY.
        all: bool,
        /// The left value.
        left: Vec<Expr>,
    },
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
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
    /// `IS DISTINCT FROM`: NULL is a value like others; never NULL.
    Distinct,
    /// `IS NOT DISTINCT FROM`.
    NotDistinct,
}

/// Kinds of patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Match {
    /// `LIKE`: `%` and `_`.
    Like,
    /// `ILIKE`: the same in any case.
    ILike,
    /// `SIMILAR TO`: SQL's regular expressions, of the whole text.
    Similar,
    /// `GLOB`: `*`, `?`, `[…]`, of the whole text.
    Glob,
    /// `~`: a regular expression, anywhere in the text.
    Regex,
    /// `~*`: the same in any case.
    IRegex,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty && self.kind == other.kind
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl Expr {
    /// An expression without a place in the text.
    pub fn new(kind: ExprKind, ty: SqlType, nullable: bool) -> Self {
        Self { kind, ty, nullable, span: Span::NONE }
    }

    /// The same, with its place in the text.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// A constant.
    pub fn literal(value: Value, ty: SqlType) -> Self {
        let nullable = value.is_null();
        Self::new(ExprKind::Literal(value), ty, nullable)
    }

    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Boolean(value), SqlType::Boolean)
    }

    /// NULL of a type.
    pub fn null(ty: SqlType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// A BIGINT.
    pub fn bigint(value: i64) -> Self {
        Self::literal(Value::Integer(i128::from(value)), SqlType::BigInt)
    }

    /// A comparison; both sides have one type.
    pub fn compare(comparison: Comparison, left: Expr, right: Expr) -> Self {
        let nullable = !comparison.is_null_safe() && (left.nullable || right.nullable);
        Self::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), SqlType::Boolean, nullable)
    }

    /// The conjunction: TRUE without any, the condition itself if there is one; nested conjunctions are flattened.
    pub fn and(conditions: impl IntoIterator<Item = Expr>) -> Self {
        let mut all = Vec::new();
        for condition in conditions {
            match condition.kind {
                ExprKind::And(inner) => all.extend(inner),
                _ => all.push(condition),
            }
        }
        match all.len() {
            0 => Self::boolean(true),
            1 => all.remove(0),
            _ => {
                let nullable = all.iter().any(|condition| condition.nullable);
                Self::new(ExprKind::And(all), SqlType::Boolean, nullable)
            }
        }
    }

    /// The disjunction: FALSE without any.
    pub fn or(conditions: impl IntoIterator<Item = Expr>) -> Self {
        let mut all = Vec::new();
        for condition in conditions {
            match condition.kind {
                ExprKind::Or(inner) => all.extend(inner),
                _ => all.push(condition),
            }
        }
        match all.len() {
            0 => Self::boolean(false),
            1 => all.remove(0),
            _ => {
                let nullable = all.iter().any(|condition| condition.nullable);
                Self::new(ExprKind::Or(all), SqlType::Boolean, nullable)
            }
        }
    }

    /// The negation.
    #[must_use]
    pub fn negated(self) -> Self {
        let (nullable, span) = (self.nullable, self.span);
        Self { span, ..Self::new(ExprKind::Not(Box::new(self)), SqlType::Boolean, nullable) }
    }

    /// `self IS NULL`.
    #[must_use]
    pub fn is_null(self) -> Self {
        Self::new(ExprKind::IsNull(Box::new(self)), SqlType::Boolean, false)
    }

    /// The value as another type; itself if it has that type. The caller has to know that there is such a cast.
    #[must_use]
    pub fn cast_to(self, ty: &SqlType) -> Self {
        if self.ty == *ty {
            return self;
        }
        let (nullable, span) = (self.nullable, self.span);
        Self { span, ..Self::new(ExprKind::Cast { input: Box::new(self), lenient: false }, ty.clone(), nullable) }
    }

    /// The column, if it is one and nothing else.
    pub fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            ExprKind::Column(column) => Some(column),
            _ => None,
        }
    }

    /// The value, if it is a constant.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Splits a condition into conjuncts.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        match self.kind {
            ExprKind::And(conditions) => conditions.into_iter().flat_map(Expr::into_conjuncts).collect(),
            ExprKind::Literal(Value::Boolean(true)) => Vec::new(),
            _ => vec![self],
        }
    }
}

impl Comparison {
    /// True for `IS [NOT] DISTINCT FROM`.
    pub fn is_null_safe(self) -> bool {
        matches!(self, Self::Distinct | Self::NotDistinct)
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual | Self::Distinct | Self::NotDistinct => self,
        }
    }

    /// The comparison that is TRUE where this one is FALSE, and NULL where it is NULL.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Distinct => Self::NotDistinct,
            Self::NotDistinct => Self::Distinct,
        }
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}

impl Match {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Like => "LIKE",
            Self::ILike => "ILIKE",
            Self::Similar => "SIMILAR TO",
            Self::Glob => "GLOB",
            Self::Regex => "~",
            Self::IRegex => "~*",
        }
    }
}
