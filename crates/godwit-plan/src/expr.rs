//! Typed expressions.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use godwit_common::Span;
use godwit_types::{Arithmetic, SqlType, Value};

use crate::{ColumnId, NodeId, ParameterId, ScalarFunction};

/// An expression with resolved names and final types: operands have the types that the operation takes, by explicit
/// cast nodes.
///
/// Two expressions are equal if they are the same computation, regardless of their spans.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The computation.
    pub kind: ExprKind,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
    /// Its span in the text; [`Span::NONE`] for expressions created by rewrites.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ExprKind {
    /// The value of a column.
    Column(ColumnId),
    /// A constant of the expression's type.
    Literal(Value),
    /// A parameter, given when the statement runs.
    Parameter(ParameterId),
    /// The value cast to the expression's type.
    Cast {
        /// The value.
        input: Box<Expr>,
        /// TRY_CAST: NULL instead of an error.
        lenient: bool,
    },
    /// A comparison of two values of the same type.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// Three-valued AND: TRUE if all are TRUE, FALSE if one is FALSE, else NULL. At least two operands.
    And(Vec<Expr>),
    /// Three-valued OR: TRUE if one is TRUE, FALSE if all are FALSE, else NULL. At least two operands.
    Or(Vec<Expr>),
    /// Logical NOT.
    Not(Box<Expr>),
    /// Whether the value is NULL; never NULL itself.
    IsNull(Box<Expr>),
    /// Arithmetic on numbers, dates, times and intervals.
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// `-x`.
    Negate(Box<Expr>),
    /// The value of the first condition that is TRUE; later conditions and values aren't evaluated.
    Case {
        /// (condition, value), in order.
        branches: Vec<(Expr, Expr)>,
        /// The value if no condition is TRUE; NULL if missing.
        otherwise: Option<Box<Expr>>,
    },
    /// The first value that isn't NULL; later ones aren't evaluated.
    Coalesce(Vec<Expr>),
    /// The value, or NULL in rows for which computing it is an error of the user's.
    Try(Box<Expr>),
    /// Whether the value is equal to one of these, with the NULL semantics of `=`. All have the same type.
    InList(Box<Expr>, Vec<Expr>),
    /// Whether the string matches the pattern.
    Match {
        /// Kind of pattern.
        kind: Match,
        /// The string.
        input: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that escapes a following wildcard.
        escape: Option<char>,
    },
    /// A function of the registry.
    Call(ScalarFunction, Vec<Expr>),
    /// The body, in which `column` stands for a value that is computed once.
    Let {
        /// The id of the value in the body.
        column: ColumnId,
        /// The value.
        value: Box<Expr>,
        /// The expression that uses it.
        body: Box<Expr>,
    },
    /// A lambda as an argument: `x -> x + 1`. Its type is that of the body.
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
    /// The columns of its SELECT list: one for a scalar subquery; irrelevant for EXISTS.
    pub columns: Vec<ColumnId>,
}

/// How a subquery yields a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubqueryKind {
    /// The value of its only row; NULL if there is none; an error if there are several.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// `left op ANY (…)` or `left op ALL (…)`, with SQL's NULL semantics. `IN` is `= ANY`, `NOT IN` its negation.
    /// Several values on the left are a row value; the subquery has as many columns, with the same types.
    Quantified {
        /// The comparison of the left value with each row.
        comparison: Comparison,
        /// True for ALL, false for ANY.
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
    /// `IS DISTINCT FROM`: treats NULL as an ordinary value; never NULL.
    Distinct,
    /// `IS NOT DISTINCT FROM`.
    NotDistinct,
}

/// Kinds of patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Match {
    /// `LIKE`: `%` and `_`.
    Like,
    /// `ILIKE`: `LIKE`, case-insensitive.
    ILike,
    /// `SIMILAR TO`: SQL's regular expressions, matched against the whole string.
    Similar,
    /// `GLOB`: `*`, `?`, `[…]`, matched against the whole string.
    Glob,
    /// `~`: a regular expression, anywhere in the string.
    Regex,
    /// `~*`: `~`, case-insensitive.
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
    /// Makes an expression without a span.
    pub fn new(kind: ExprKind, ty: SqlType, nullable: bool) -> Self {
        Self { kind, ty, nullable, span: Span::NONE }
    }

    /// Returns the expression with a span.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Makes a constant.
    pub fn literal(value: Value, ty: SqlType) -> Self {
        let nullable = value.is_null();
        Self::new(ExprKind::Literal(value), ty, nullable)
    }

    /// Makes TRUE or FALSE.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Boolean(value), SqlType::Boolean)
    }

    /// Makes NULL of a type.
    pub fn null(ty: SqlType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// Makes a BIGINT constant.
    pub fn bigint(value: i64) -> Self {
        Self::literal(Value::Integer(i128::from(value)), SqlType::BigInt)
    }

    /// Makes a comparison; both sides must have the same type.
    pub fn compare(comparison: Comparison, left: Expr, right: Expr) -> Self {
        let nullable = !comparison.is_null_safe() && (left.nullable || right.nullable);
        Self::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), SqlType::Boolean, nullable)
    }

    /// Makes a conjunction: TRUE if empty, the condition itself if there is only one; flattens nested conjunctions.
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

    /// Makes a disjunction: FALSE if empty.
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

    /// Returns the negation.
    #[must_use]
    pub fn negated(self) -> Self {
        let (nullable, span) = (self.nullable, self.span);
        Self { span, ..Self::new(ExprKind::Not(Box::new(self)), SqlType::Boolean, nullable) }
    }

    /// Makes `self IS NULL`.
    #[must_use]
    pub fn is_null(self) -> Self {
        Self::new(ExprKind::IsNull(Box::new(self)), SqlType::Boolean, false)
    }

    /// Casts the value to another type, unless it has that type already. The caller must know that the cast exists.
    #[must_use]
    pub fn cast_to(self, ty: &SqlType) -> Self {
        if self.ty == *ty {
            return self;
        }
        let (nullable, span) = (self.nullable, self.span);
        Self { span, ..Self::new(ExprKind::Cast { input: Box::new(self), lenient: false }, ty.clone(), nullable) }
    }

    /// Returns the column, if the expression is just a column.
    pub fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            ExprKind::Column(column) => Some(column),
            _ => None,
        }
    }

    /// Returns the value, if the expression is a constant.
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

    /// Returns true if it is TRUE for values in this order.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal | Self::NotDistinct => order.is_eq(),
            Self::NotEqual | Self::Distinct => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// Returns the comparison with its sides swapped.
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

    /// Returns the comparison that is TRUE where this one is FALSE, and NULL where this one is NULL.
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

    /// Returns the SQL symbol.
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
    /// Returns the SQL symbol.
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
