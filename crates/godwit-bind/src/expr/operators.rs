//! Operators: comparisons, arithmetic, AND, OR, NOT, and operators that are function calls.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind, Match};
use godwit_syntax::ast::{self, BinaryOperator as Op, UnaryOperator};
use godwit_types::{self as types, SqlType, Value, arithmetic_type, common_type, is_json};

use super::CastContext;
use super::coercion::{adapt_to_unsigned, no_operator};
use crate::Binder;
use crate::binder::ExprContext;

/// The meaning of an infix operator.
pub(super) enum Infix {
    Compare(Comparison),
    Arithmetic(Arithmetic),
    /// A pattern, and whether it must not match.
    Match(Match, bool),
    /// A function of the two sides.
    Function(&'static str),
    /// A function of the two sides, swapped.
    Swapped(&'static str),
    /// `/`
    Divide,
}

/// Returns the meaning of a syntax operator, and how it is written.
pub(super) fn infix(op: Op) -> (Infix, &'static str) {
    let pattern = |kind: Match, negated, symbol| (Infix::Match(kind, negated), symbol);
    let function = |name| (Infix::Function(name), name);
    let compare = |comparison: Comparison| (Infix::Compare(comparison), comparison.symbol());
    let arithmetic = |op: Arithmetic| (Infix::Arithmetic(op), op.symbol());
    match op {
        Op::Equal => compare(Comparison::Equal),
        Op::NotEqual => compare(Comparison::NotEqual),
        Op::Less => compare(Comparison::Less),
        Op::LessOrEqual => compare(Comparison::LessOrEqual),
        Op::Greater => compare(Comparison::Greater),
        Op::GreaterOrEqual => compare(Comparison::GreaterOrEqual),
        Op::Plus => arithmetic(Arithmetic::Add),
        Op::Minus => arithmetic(Arithmetic::Subtract),
        Op::Multiply => arithmetic(Arithmetic::Multiply),
        Op::Divide => (Infix::Divide, "/"),
        Op::Modulo => arithmetic(Arithmetic::Modulo),
        // It truncates the quotient of integers only, as in DuckDB.
        Op::IntegerDivide => (Infix::Arithmetic(Arithmetic::Divide), "//"),
        Op::Power => (Infix::Function("power"), "^"),
        Op::Concat => function("||"),
        Op::BitwiseAnd => function("&"),
        Op::BitwiseOr => function("|"),
        Op::BitwiseXor => function("#"),
        Op::ShiftLeft => function("<<"),
        Op::ShiftRight => function(">>"),
        Op::Arrow => function("->"),
        Op::LongArrow => function("->>"),
        Op::PathArrow => function("#>"),
        Op::LongPathArrow => function("#>>"),
        Op::WithoutPath => (Infix::Function("jsonb_delete_path"), "#-"),
        Op::HasKey => (Infix::Function("jsonb_exists"), "?"),
        Op::HasAnyKey => (Infix::Function("jsonb_exists_any"), "?|"),
        Op::HasAllKeys => (Infix::Function("jsonb_exists_all"), "?&"),
        Op::Matches => pattern(Match::Regex, false, "~"),
        Op::MatchesInsensitive => pattern(Match::IRegex, false, "~*"),
        Op::NotMatches => pattern(Match::Regex, true, "!~"),
        Op::NotMatchesInsensitive => pattern(Match::IRegex, true, "!~*"),
        Op::Like => pattern(Match::Like, false, "LIKE"),
        Op::NotLike => pattern(Match::Like, true, "NOT LIKE"),
        Op::ILike => pattern(Match::ILike, false, "ILIKE"),
        Op::NotILike => pattern(Match::ILike, true, "NOT ILIKE"),
        Op::Glob => pattern(Match::Glob, false, "GLOB"),
        Op::StartsWith => (Infix::Function("starts_with"), "^@"),
        Op::Contains => (Infix::Function("list_has_all"), "@>"),
        Op::ContainedBy => (Infix::Swapped("list_has_all"), "<@"),
        Op::Overlaps => (Infix::Function("list_has_any"), "&&"),
        Op::Distance => function("<->"),
        Op::CosineDistance => function("<=>"),
    }
}

impl Binder {
    pub(super) fn binary(
        &mut self,
        op: Op,
        op_span: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        if let (Infix::Compare(comparison), _) = infix(op) {
            return self.comparison(comparison, left, right, op_span, cx);
        }
        let left = self.expr(left, cx)?;
        let right = self.expr(right, cx)?;
        self.infix(op, op_span, left, right)
    }

    /// Binds an operator between two values.
    pub(super) fn infix(&mut self, op: Op, op_span: Span, left: Expr, right: Expr) -> Result<Expr> {
        if let Some(name) = self.of_json(op, &left, &right) {
            return self.call_scalar(name, vec![left, right], op_span);
        }
        match infix(op).0 {
            Infix::Compare(comparison) => self.compare(comparison, left, right, op_span),
            Infix::Arithmetic(op) => self.arithmetic(op, left, right, op_span),
            Infix::Divide => {
                let is_whole = |side: &Expr| self.type_so_far(side).is_integer();
                let left = match !self.dialect().integer_division && is_whole(&left) && is_whole(&right) {
                    true => self.coerce(left, &SqlType::Double, CastContext::Explicit)?,
                    false => left,
                };
                self.arithmetic(Arithmetic::Divide, left, right, op_span)
            }
            Infix::Match(kind, negated) => {
                let matches = self.matches(kind, left, right, None)?;
                Ok(if negated { matches.negated() } else { matches })
            }
            Infix::Function(name) => self.call_scalar(name, vec![left, right], op_span),
            Infix::Swapped(name) => self.call_scalar(name, vec![right, left], op_span),
        }
    }

    /// Returns the function that an operator stands for if it is one of JSON. Quoted text and parameters beside JSON are
    /// JSON, but `||` puts a text that isn't JSON behind the value's text.
    fn of_json(&self, op: Op, left: &Expr, right: &Expr) -> Option<&'static str> {
        let sides = [&*self.type_so_far(left), &*self.type_so_far(right)];
        let may_be_json = |side: &Expr| match side.as_literal() {
            Some(Value::Text(text)) => is_json(text),
            _ => true,
        };
        let both =
            matches!(sides, [SqlType::Json, SqlType::Json | SqlType::Unknown] | [SqlType::Unknown, SqlType::Json]);
        match op {
            Op::Contains if both => Some("jsonb_contains"),
            Op::ContainedBy if both => Some("jsonb_contained"),
            Op::Concat if both && may_be_json(left) && may_be_json(right) => Some("jsonb_concat"),
            Op::Minus if *sides[0] == SqlType::Json && *sides[1] != SqlType::Json => Some("jsonb_delete"),
            _ => None,
        }
    }

    /// Compares two values, as their common type.
    pub(crate) fn compare(&mut self, comparison: Comparison, left: Expr, right: Expr, span: Span) -> Result<Expr> {
        let (a, b) = (self.type_so_far(&left).into_owned(), self.type_so_far(&right).into_owned());
        if common_type(&a, &b).is_none() {
            let error = no_operator(&format!("{a} {} {b}", comparison.symbol()), span);
            return Err(error.with_hint(format!("cast one side: CAST(... AS {a})")));
        }
        let (mut sides, _) = self.unify(vec![left, right], comparison.symbol())?;
        let right = sides.pop().expect("two were given");
        let left = sides.pop().expect("two were given");
        Ok(Expr::compare(comparison, left, right))
    }

    /// `+`, `-`, `*`, `/`, `%`.
    pub(super) fn arithmetic(&mut self, op: Arithmetic, left: Expr, right: Expr, span: Span) -> Result<Expr> {
        let mut sides = [left, right];
        adapt_to_unsigned(&mut sides);
        let [left, right] = sides;
        let (a, b) = (self.type_so_far(&left).into_owned(), self.type_so_far(&right).into_owned());
        let types = match (&a, &b) {
            (SqlType::Unknown, SqlType::Unknown) => {
                let is_null = |side: &Expr| side.as_literal().is_some_and(Value::is_null);
                if !is_null(&left) || !is_null(&right) {
                    let error = Error::user(format!("the types of both sides of {} are unknown", op.symbol()));
                    let error = error.with_code(SqlState::INDETERMINATE_DATATYPE).at_span(span);
                    return Err(error.with_hint("cast one of them: CAST(... AS INTEGER)"));
                }
                arithmetic_type(of_types(op), &SqlType::Integer, &SqlType::Integer)
            }
            _ => arithmetic_type(of_types(op), &a, &b),
        };
        let Some(types) = types else {
            let error = no_operator(&format!("{a} {} {b}", op.symbol()), span);
            let has_text = a == SqlType::Varchar || b == SqlType::Varchar;
            return Err(match op {
                Arithmetic::Add if has_text => error.with_hint("|| puts texts together"),
                _ if has_text => error.with_hint("cast the text: CAST(... AS DOUBLE)"),
                _ => error,
            });
        };
        let left = self.coerce(left, &types.left, CastContext::Explicit)?;
        let right = self.coerce(right, &types.right, CastContext::Explicit)?;
        if let Some(zone) = self.zone_of_shift(op, &left.ty, &right.ty) {
            return self.shifted_in_zone(&zone, op, left, right, span);
        }
        let nullable = left.nullable || right.nullable;
        Ok(Expr::new(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), types.result, nullable))
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let function = match op {
            UnaryOperator::Not => return Ok(self.truth(operand, cx, "the operand of NOT")?.negated()),
            UnaryOperator::Minus => return self.minus(operand, cx),
            UnaryOperator::Plus => {
                let operand = self.expr(operand, cx)?;
                let operand = self.as_number(operand)?;
                return match operand.ty.is_numeric() || operand.ty == SqlType::Interval {
                    true => Ok(operand),
                    false => Err(no_operator(&format!("+ of {}", operand.ty), operand.span)),
                };
            }
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::Absolute => "abs",
            UnaryOperator::SquareRoot => "sqrt",
            UnaryOperator::CubeRoot => "cbrt",
        };
        let operand = self.expr(operand, cx)?;
        let span = operand.span;
        self.call_scalar(function, vec![operand], span)
    }

    /// `-x`. The sign belongs to a number after it, even to a cast one: `-128::TINYINT` is a TINYINT.
    fn minus(&mut self, operand: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        if let ast::ExprKind::Cast { operand: inner, data_type, is_try: false } = &operand.kind
            && matches!(inner.kind, ast::ExprKind::Literal(ast::Literal::Number(_)))
        {
            let number = self.minus(inner, cx)?.at(inner.span);
            let ty = self.data_type(data_type)?;
            if ty.is_numeric() {
                return self.coerce(number, &ty, CastContext::Explicit);
            }
        }
        let is_written = matches!(operand.kind, ast::ExprKind::Literal(ast::Literal::Number(_)));
        let operand = self.expr(operand, cx)?;
        let operand = self.as_number(operand)?;
        if let ExprKind::Literal(value) = &operand.kind
            && let Some((value, ty)) = negative(value, &operand.ty, is_written)
        {
            return Ok(Expr::literal(value, ty));
        }
        let ty = match &operand.ty {
            SqlType::UTinyInt => SqlType::SmallInt,
            SqlType::USmallInt => SqlType::Integer,
            SqlType::UInteger => SqlType::BigInt,
            SqlType::UBigInt | SqlType::UHugeInt => SqlType::HugeInt,
            ty if ty.is_numeric() || *ty == SqlType::Interval => ty.clone(),
            ty => return Err(no_operator(&format!("- of {ty}"), operand.span)),
        };
        let operand = operand.cast_to(&ty);
        let nullable = operand.nullable;
        Ok(Expr::new(ExprKind::Negate(Box::new(operand)), ty, nullable))
    }

    /// Binds quoted text after a sign: a DOUBLE.
    fn as_number(&mut self, operand: Expr) -> Result<Expr> {
        let is_null = operand.as_literal().is_some_and(Value::is_null);
        match *self.type_so_far(&operand) {
            SqlType::Unknown if !is_null => self.coerce(operand, &SqlType::Double, CastContext::Implicit),
            _ => Ok(self.settle(operand)),
        }
    }

    pub(super) fn and(&mut self, operands: &[ast::Expr], cx: &mut ExprContext<'_>) -> Result<Expr> {
        let operands = operands.iter().map(|operand| self.truth(operand, cx, "an operand of AND"));
        Ok(Expr::and(operands.collect::<Result<Vec<_>>>()?))
    }

    pub(super) fn or(&mut self, operands: &[ast::Expr], cx: &mut ExprContext<'_>) -> Result<Expr> {
        let operands = operands.iter().map(|operand| self.truth(operand, cx, "an operand of OR"));
        Ok(Expr::or(operands.collect::<Result<Vec<_>>>()?))
    }
}

fn of_types(op: Arithmetic) -> types::Arithmetic {
    match op {
        Arithmetic::Add => types::Arithmetic::Add,
        Arithmetic::Subtract => types::Arithmetic::Subtract,
        Arithmetic::Multiply => types::Arithmetic::Multiply,
        Arithmetic::Divide => types::Arithmetic::Divide,
        Arithmetic::Modulo => types::Arithmetic::Modulo,
    }
}

/// Negates a constant, and returns its type: that of the constant if it holds the result, and the smallest for a
/// written number. `None` if it isn't a number or can't be negated.
fn negative(value: &Value, ty: &SqlType, is_written: bool) -> Option<(Value, SqlType)> {
    const SIGNED: [SqlType; 3] = [SqlType::Integer, SqlType::BigInt, SqlType::HugeInt];
    match value {
        Value::Null => Some((Value::Null, ty.clone())),
        Value::Float(value) => Some((Value::Float(-value), ty.clone())),
        Value::Integer(value) if ty.is_decimal() => Some((Value::Integer(value.checked_neg()?), ty.clone())),
        Value::Integer(value) => {
            let value = value.checked_neg()?;
            let holds = |ty: &&SqlType| ty.integer_range().is_some_and(|(min, max)| (min..=max).contains(&value));
            let ty = if holds(&ty) && !is_written { ty } else { SIGNED.iter().find(holds)? };
            Some((Value::Integer(value), ty.clone()))
        }
        Value::UHuge(value) => {
            let value = i128::try_from(*value)
                .map_or_else(|_| (*value == i128::MIN.unsigned_abs()).then_some(i128::MIN), |value| Some(-value));
            Some((Value::Integer(value?), SqlType::HugeInt))
        }
        Value::Interval(value) => Some((Value::Interval(value.checked_neg()?), ty.clone())),
        _ => None,
    }
}
