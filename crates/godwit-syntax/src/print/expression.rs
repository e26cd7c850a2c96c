//! Expressions, parenthesized by the parser's own table of precedences.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, Text, list, list_in_parens, optional, path, when};
use crate::ast::{
    Argument, BinaryOperator, Call, Columns, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnits,
    IntervalUnit, IsTest, LikeKind, ListComprehension, Literal, MapEntry, NullTreatment, Over, Parameter, Quantified,
    Quantifier, Renaming, Replacement, StructField, UnaryOperator, Wildcard, WindowSpec,
};
use crate::parse::level::{
    AND, COLLATE, COMPARISON, IS, LOWEST, NOT, OR, OTHER, PATTERN, POSTFIX, POWER, PRODUCT, SIGN, SUM,
};

/// Returns the precedence of an expression: that of its loosest operator.
fn level_of(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Lambda { .. } => LOWEST,
        // As an argument it would be a lambda.
        ExprKind::Binary { op: BinaryOperator::Arrow, left, .. } if is_lambda_head(left) => LOWEST,
        ExprKind::Or(_) => OR,
        ExprKind::And(_) => AND,
        ExprKind::Unary { op: UnaryOperator::Not, .. } => NOT,
        ExprKind::Is { .. } | ExprKind::IsDistinctFrom { .. } => IS,
        ExprKind::Binary { op, .. } | ExprKind::Quantified { op, .. } => level_of_operator(*op),
        ExprKind::Between { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSubquery { .. }
        | ExprKind::InExpr { .. }
        | ExprKind::Like { .. } => PATTERN,
        ExprKind::Unary { op: UnaryOperator::Minus | UnaryOperator::Plus, .. } => SIGN,
        ExprKind::Unary { .. } => OTHER,
        ExprKind::Collate { .. } => COLLATE,
        _ => POSTFIX,
    }
}

fn level_of_operator(op: BinaryOperator) -> u8 {
    use BinaryOperator as B;
    match op {
        B::Equal | B::NotEqual | B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => COMPARISON,
        B::Plus | B::Minus => SUM,
        B::Multiply | B::Divide | B::IntegerDivide | B::Modulo => PRODUCT,
        B::Power => POWER,
        _ => OTHER,
    }
}

/// True for an unqualified name, or names in parentheses.
fn is_lambda_head(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(path) => path.len() == 1,
        ExprKind::Row { items, explicit: false } => items.iter().all(is_lambda_head),
        _ => false,
    }
}

/// An operand, in parentheses unless it binds at least as tightly as `level`.
pub(super) struct Operand<'a>(pub(super) &'a Expr, pub(super) u8);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if level_of(self.0) < self.1 { write!(f, "({})", self.0) } else { self.0.fmt(f) }
    }
}

/// The operand of a bracket or a dot.
struct Base<'a>(&'a Expr, bool);

impl Display for Base<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let is_plain = match &self.0.kind {
            // Before a dot, a column would become part of a longer path.
            ExprKind::Column(_) => !self.1,
            ExprKind::Wildcard(_) | ExprKind::Lambda { .. } => false,
            _ => level_of(self.0) == POSTFIX,
        };
        if is_plain { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

fn joined(f: &mut Formatter<'_>, items: &[Expr], word: &str, level: u8) -> Result {
    for (at, item) in items.iter().enumerate() {
        let word = if at > 0 { word } else { "" };
        write!(f, "{word}{}", Operand(item, level + 1))?;
    }
    Ok(())
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExprKind::Literal(literal) => literal.fmt(f),
            ExprKind::TypedLiteral { data_type, text } => write!(f, "{data_type} {}", Text(text)),
            ExprKind::Interval { value, unit } => interval(f, value, *unit),
            ExprKind::Column(parts) => path(f, parts),
            ExprKind::Wildcard(wildcard) => wildcard.fmt(f),
            ExprKind::Columns(columns) => columns.fmt(f),
            ExprKind::Parameter(Parameter::Number(number)) => write!(f, "${number}"),
            ExprKind::Parameter(Parameter::Name(name)) => write!(f, "${name}"),
            ExprKind::Position(position) => write!(f, "#{position}"),
            ExprKind::Call(call) => call.fmt(f),
            ExprKind::Row { items, explicit } => write!(f, "{}({})", when(*explicit, "ROW"), Commas(items)),
            ExprKind::List(items) => write!(f, "[{}]", Commas(items)),
            ExprKind::Struct(fields) => write!(f, "{{{}}}", Commas(fields)),
            ExprKind::Map(entries) => write!(f, "MAP {{{}}}", Commas(entries)),
            ExprKind::ListComprehension(list) => list.fmt(f),
            ExprKind::Lambda { parameters, body, keyword: true } => {
                write!(f, "LAMBDA {}: {body}", Commas(parameters))
            }
            ExprKind::Lambda { parameters, body, keyword: false } => match &parameters[..] {
                [one] => write!(f, "{one} -> {body}"),
                several => write!(f, "({}) -> {body}", Commas(several)),
            },
            ExprKind::Default => f.write_str("DEFAULT"),
            ExprKind::Exists(query) => write!(f, "EXISTS ({query})"),
            ExprKind::Subquery(query) => write!(f, "({query})"),
            ExprKind::ArraySubquery(query) => write!(f, "ARRAY({query})"),
            ExprKind::Cast { operand, data_type, is_try } => {
                write!(f, "{}CAST({operand} AS {data_type})", when(*is_try, "TRY_"))
            }
            ExprKind::Case { operand, branches, otherwise } => {
                f.write_str("CASE")?;
                optional(f, " ", operand.as_ref())?;
                for branch in branches {
                    write!(f, " WHEN {} THEN {}", branch.when, branch.then)?;
                }
                optional(f, " ELSE ", otherwise.as_ref())?;
                f.write_str(" END")
            }
            _ => operation(f, self),
        }
    }
}

/// Prints operators.
fn operation(f: &mut Formatter<'_>, expr: &Expr) -> Result {
    let not = |negated| when(negated, "NOT ");
    match &expr.kind {
        ExprKind::Unary { op, operand } => {
            let level = match op {
                UnaryOperator::Not => NOT,
                UnaryOperator::Minus | UnaryOperator::Plus => POSTFIX,
                _ => SUM,
            };
            write!(f, "{op}{}", Operand(operand, level))
        }
        ExprKind::Binary { op, left, right, .. } => {
            let level = level_of_operator(*op);
            write!(f, "{} {op} {}", Operand(left, level), Operand(right, level + 1))
        }
        ExprKind::Quantified { left, op, quantifier, right, .. } => {
            write!(f, "{} {op} {quantifier} (", Operand(left, level_of_operator(*op)))?;
            match right {
                Quantified::Query(query) => write!(f, "{query})"),
                Quantified::List(list) => write!(f, "{list})"),
            }
        }
        ExprKind::And(items) => joined(f, items, " AND ", AND),
        ExprKind::Or(items) => joined(f, items, " OR ", OR),
        ExprKind::Is { operand, test, negated } => write!(f, "{} IS {}{test}", Operand(operand, IS), not(*negated)),
        ExprKind::IsDistinctFrom { left, right, negated } => {
            write!(f, "{} IS {}DISTINCT FROM {}", Operand(left, IS), not(*negated), Operand(right, IS + 1))
        }
        ExprKind::Between { operand, low, high, negated, symmetric } => {
            let symmetric = when(*symmetric, "SYMMETRIC ");
            write!(f, "{} {}BETWEEN {symmetric}", Operand(operand, PATTERN), not(*negated))?;
            write!(f, "{} AND {}", Operand(low, PATTERN + 1), Operand(high, PATTERN + 1))
        }
        ExprKind::InList { operand, list, negated } => {
            write!(f, "{} {}IN ({})", Operand(operand, PATTERN), not(*negated), Commas(list))
        }
        ExprKind::InSubquery { operand, query, negated } => {
            write!(f, "{} {}IN ({query})", Operand(operand, PATTERN), not(*negated))
        }
        ExprKind::InExpr { operand, list, negated } => {
            write!(f, "{} {}IN {}", Operand(operand, PATTERN), not(*negated), Operand(list, PATTERN + 1))
        }
        ExprKind::Like { kind, operand, pattern, escape, negated } => {
            let pattern = Operand(pattern, PATTERN + 1);
            write!(f, "{} {}{kind} {pattern}", Operand(operand, PATTERN), not(*negated))?;
            optional(f, " ESCAPE ", escape.as_ref().map(|escape| Operand(escape, PATTERN + 1)).as_ref())
        }
        ExprKind::Collate { operand, collation } => write!(f, "{} COLLATE {collation}", Operand(operand, COLLATE)),
        ExprKind::Subscript { operand, index } => write!(f, "{}[{index}]", Base(operand, false)),
        ExprKind::Slice { operand, low, high, step } => {
            write!(f, "{}[", Base(operand, false))?;
            optional(f, "", low.as_ref())?;
            f.write_str(":")?;
            optional(f, "", high.as_ref())?;
            // Two colons would be a cast.
            let step_words = if high.is_some() { ":" } else { "-:" };
            optional(f, step_words, step.as_ref())?;
            f.write_str("]")
        }
        ExprKind::Field { operand, name } => write!(f, "{}.{name}", Base(operand, true)),
        ExprKind::AllFields(operand) => write!(f, "{}.*", Base(operand, true)),
        _ => unreachable!("all other kinds of expressions were printed before"),
    }
}

fn interval(f: &mut Formatter<'_>, value: &Expr, unit: Option<IntervalUnit>) -> Result {
    match value.kind {
        ExprKind::Literal(Literal::String(_) | Literal::Number(_)) => write!(f, "INTERVAL {value}")?,
        _ => write!(f, "INTERVAL ({value})")?,
    }
    optional(f, " ", unit.as_ref())
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Boolean(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Literal::Number(digits) => f.write_str(digits),
            Literal::String(text) => Text(text).fmt(f),
            Literal::Blob(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Literal::Bits(digits) => write!(f, "B'{digits}'"),
        }
    }
}

impl Display for Wildcard {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(qualifier) = &self.qualifier {
            write!(f, "{qualifier}.")?;
        }
        f.write_str("*")?;
        list_in_parens(f, " EXCLUDE ", &self.exclude)?;
        list_in_parens(f, " REPLACE ", &self.replace)?;
        list_in_parens(f, " RENAME ", &self.rename)
    }
}

impl Display for Replacement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} AS {}", self.expr, self.name)
    }
}

impl Display for Renaming {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} AS {}", self.from, self.to)
    }
}

impl Display for Columns {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(qualifier) = &self.qualifier {
            write!(f, "{qualifier}.")?;
        }
        write!(f, "{}COLUMNS({})", when(self.unpack, "*"), ArgumentValue(&self.selection))
    }
}

/// An argument's value: a lambda is printed as it is; anything that could be taken for one is parenthesized.
struct ArgumentValue<'a>(&'a Expr);

impl Display for ArgumentValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let is_lambda = matches!(self.0.kind, ExprKind::Lambda { .. });
        Operand(self.0, if is_lambda { LOWEST } else { OR }).fmt(f)
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(name) = &self.name {
            write!(f, "{name} := ")?;
        }
        ArgumentValue(&self.value).fmt(f)
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (star, distinct) = (when(self.star, "*"), when(self.distinct, "DISTINCT "));
        write!(f, "{}({distinct}{star}{}", self.name, Commas(&self.args))?;
        list(f, " ORDER BY ", &self.order_by)?;
        f.write_str(")")?;
        if !self.within_group.is_empty() {
            write!(f, " WITHIN GROUP (ORDER BY {})", Commas(&self.within_group))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        optional(f, " ", self.nulls.as_ref())?;
        match &self.over {
            Some(Over::Name(name)) => write!(f, " OVER {name}"),
            Some(Over::Spec(window)) => write!(f, " OVER {window}"),
            None => Ok(()),
        }
    }
}

impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (has_base, has_partition) = (self.base.is_some(), !self.partition_by.is_empty());
        let has_order = !self.order_by.is_empty();
        f.write_str("(")?;
        optional(f, "", self.base.as_ref())?;
        f.write_str(when(has_base && has_partition, " "))?;
        list(f, "PARTITION BY ", &self.partition_by)?;
        f.write_str(when((has_base || has_partition) && has_order, " "))?;
        list(f, "ORDER BY ", &self.order_by)?;
        f.write_str(when((has_base || has_partition || has_order) && self.frame.is_some(), " "))?;
        optional(f, "", self.frame.as_ref())?;
        f.write_str(")")
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} BETWEEN {} AND {}", self.units, self.start, self.end)?;
        f.write_str(match self.exclude {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        })
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(distance) => write!(f, "{} PRECEDING", Operand(distance, NOT)),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(distance) => write!(f, "{} FOLLOWING", Operand(distance, NOT)),
            FrameBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

impl Display for StructField {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

impl Display for MapEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {}", self.key, self.value)
    }
}

impl Display for ListComprehension {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "[{} FOR {} IN {}", self.result, Commas(&self.variables), self.source)?;
        optional(f, " IF ", self.condition.as_ref())?;
        f.write_str("]")
    }
}

/// Prints the alternatives of a type as words or symbols.
macro_rules! print_as {
    ($($name:ident { $($alternative:ident $text:expr,)* })*) => {
        $(impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                f.write_str(match self {
                    $($name::$alternative => $text,)*
                })
            }
        })*
    };
}

print_as! {
    UnaryOperator {
        Minus "-", Plus "+", Not "NOT ", BitwiseNot "~ ", Absolute "@ ", SquareRoot "|/ ", CubeRoot "||/ ",
    }
    BinaryOperator {
        Equal "=", NotEqual "<>", Less "<", LessOrEqual "<=", Greater ">", GreaterOrEqual ">=", Plus "+", Minus "-",
        Multiply "*", Divide "/", IntegerDivide "//", Modulo "%", Power "^", Concat "||", BitwiseAnd "&", BitwiseOr "|",
        BitwiseXor "#", ShiftLeft "<<", ShiftRight ">>", Arrow "->", LongArrow "->>", PathArrow "#>", LongPathArrow "#>>",
        WithoutPath "#-", HasKey "?", HasAnyKey "?|", HasAllKeys "?&", Matches "~",
        MatchesInsensitive "~*", NotMatches "!~", NotMatchesInsensitive "!~*", Like "~~", NotLike "!~~", ILike "~~*",
        NotILike "!~~*", Glob "~~~", StartsWith "^@", Contains "@>", ContainedBy "<@", Overlaps "&&",
        Distance "<->", CosineDistance "<=>",
    }
    IsTest {
        Null "NULL", True "TRUE", False "FALSE", Unknown "UNKNOWN", Json "JSON", JsonObject "JSON OBJECT",
        JsonArray "JSON ARRAY", JsonScalar "JSON SCALAR",
    }
    LikeKind { Like "LIKE", ILike "ILIKE", SimilarTo "SIMILAR TO", Glob "GLOB", }
    Quantifier { Any "ANY", All "ALL", }
    NullTreatment { Respect "RESPECT NULLS", Ignore "IGNORE NULLS", }
    FrameUnits { Rows "ROWS", Range "RANGE", Groups "GROUPS", }
    IntervalUnit {
        Millennium "MILLENNIUM", Century "CENTURY", Decade "DECADE", Year "YEAR", Quarter "QUARTER", Month "MONTH",
        Week "WEEK", Day "DAY", Hour "HOUR", Minute "MINUTE", Second "SECOND", Millisecond "MILLISECOND",
        Microsecond "MICROSECOND", YearToMonth "YEAR TO MONTH", DayToHour "DAY TO HOUR", DayToMinute "DAY TO MINUTE",
        DayToSecond "DAY TO SECOND", HourToMinute "HOUR TO MINUTE", HourToSecond "HOUR TO SECOND",
        MinuteToSecond "MINUTE TO SECOND",
    }
}
