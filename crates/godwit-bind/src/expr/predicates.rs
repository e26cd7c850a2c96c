//! IS, BETWEEN, IN, LIKE and CASE.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Comparison, Expr, ExprKind, Match};
use godwit_syntax::ast::{self, IsTest, LikeKind};
use godwit_types::{SqlType, Value};

use super::CastContext;
use super::rows::{row_of, row_or_value};
use super::sharing::Shared;
use crate::Binder;
use crate::binder::ExprContext;

impl Binder {
    /// `x IS [NOT] NULL`, `TRUE`, `FALSE`, `UNKNOWN`, `JSON`. A row is NULL if all its values are, and NOT NULL if none is.
    pub(super) fn is_test(
        &mut self,
        operand: &ast::Expr,
        test: IsTest,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let with_sign = |test: Expr| if negated { test.negated() } else { test };
        let comparison = if negated { Comparison::Distinct } else { Comparison::NotDistinct };
        match test {
            IsTest::Null => {
                let mut tests = Vec::new();
                for operand in row_or_value(operand) {
                    tests.push(with_sign(self.settled(operand, cx)?.is_null()));
                }
                Ok(Expr::and(tests))
            }
            IsTest::Unknown => Ok(with_sign(self.truth(operand, cx, "the operand of IS UNKNOWN")?.is_null())),
            IsTest::True => {
                let operand = self.truth(operand, cx, "the operand of IS TRUE")?;
                Ok(Expr::compare(comparison, operand, Expr::boolean(true)))
            }
            IsTest::False => {
                let operand = self.truth(operand, cx, "the operand of IS FALSE")?;
                Ok(Expr::compare(comparison, operand, Expr::boolean(false)))
            }
            IsTest::Json => self.is_json(operand, "value", cx).map(with_sign),
            IsTest::JsonObject => self.is_json(operand, "object", cx).map(with_sign),
            IsTest::JsonArray => self.is_json(operand, "array", cx).map(with_sign),
            IsTest::JsonScalar => self.is_json(operand, "scalar", cx).map(with_sign),
        }
    }

    /// `x IS JSON OBJECT`; NULL for NULL.
    fn is_json(&mut self, operand: &ast::Expr, kind: &str, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let value = self.expr(operand, cx)?;
        let kind = Expr::literal(Value::text(kind), SqlType::Varchar).at(operand.span);
        self.call_scalar("json_valid", vec![value, kind], operand.span)
    }

    pub(super) fn is_distinct_from(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let comparison = if negated { Comparison::NotDistinct } else { Comparison::Distinct };
        self.comparison(comparison, left, right, left.span.to(right.span), cx)
    }

    /// `x BETWEEN low AND high`: `x >= low AND x <= high`. SYMMETRIC: with the bounds in either order.
    pub(super) fn between(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let ast::ExprKind::Between { operand, low, high, negated, symmetric } = &expr.kind else {
            unreachable!("the caller has looked");
        };
        let mut shared = Shared::new();
        let compared = <[Expr; 3]>::try_from(self.compared(&[operand, low, high], cx)?);
        let [operand, mut low, mut high] = compared.expect("a value for each operand");
        let operand = self.share(operand, &mut shared);
        let span = low.span.to(high.span);
        if *symmetric {
            (low, high) = (self.share(low, &mut shared), self.share(high, &mut shared));
        }
        let inside = self.range(&operand, low.clone(), high.clone(), *negated, span)?;
        let inside = match symmetric {
            true => {
                let turned = self.range(&operand, high, low, *negated, span)?;
                if *negated { Expr::and([inside, turned]) } else { Expr::or([inside, turned]) }
            }
            false => inside,
        };
        Ok(self.with_shared(inside, shared))
    }

    fn range(&mut self, operand: &Expr, low: Expr, high: Expr, outside: bool, span: Span) -> Result<Expr> {
        if outside {
            let below = self.compare(Comparison::Less, operand.clone(), low, span)?;
            let above = self.compare(Comparison::Greater, operand.clone(), high, span)?;
            return Ok(Expr::or([below, above]));
        }
        let from = self.compare(Comparison::GreaterOrEqual, operand.clone(), low, span)?;
        let to = self.compare(Comparison::LessOrEqual, operand.clone(), high, span)?;
        Ok(Expr::and([from, to]))
    }

    /// `x IN (a, b)`; for rows, a disjunction of equalities.
    pub(super) fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let found = match row_of(operand) {
            Some(items) if list.iter().all(|item| row_of(item).is_some()) => {
                let mut shared = Shared::new();
                let mut left = Vec::with_capacity(items.len());
                for item in items {
                    let item = self.expr(item, cx)?;
                    left.push(self.share(item, &mut shared));
                }
                let mut equal = Vec::with_capacity(list.len());
                for item in list {
                    let right = self.exprs(row_or_value(item), cx)?;
                    equal.push(self.compare_rows(Comparison::Equal, left.clone(), right, item.span)?);
                }
                self.with_shared(Expr::or(equal), shared)
            }
            _ => {
                let list = self.all_unpacked(list, cx.scope)?;
                let operands: Vec<&ast::Expr> = std::iter::once(operand).chain(list.iter()).collect();
                let mut values = self.compared(&operands, cx)?;
                let list = values.split_off(1);
                self.is_one_of(values.pop().expect("the operand comes first"), list)?
            }
        };
        Ok(if negated { found.negated() } else { found })
    }

    /// Binds a test whether the value is equal to one of the others.
    pub(super) fn is_one_of(&mut self, value: Expr, mut list: Vec<Expr>) -> Result<Expr> {
        if list.is_empty() {
            return Ok(Expr::boolean(false));
        }
        list.insert(0, value);
        let (mut list, _) = self.unify(list, "IN")?;
        let nullable = list.iter().any(|expr| expr.nullable);
        let value = list.remove(0);
        Ok(Expr::new(ExprKind::InList(Box::new(value), list), SqlType::Boolean, nullable))
    }

    pub(super) fn like(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let ast::ExprKind::Like { kind, operand, pattern, escape, negated } = &expr.kind else {
            unreachable!("the caller has looked");
        };
        let kind = match kind {
            LikeKind::Like => Match::Like,
            LikeKind::ILike => Match::ILike,
            LikeKind::SimilarTo => Match::Similar,
            LikeKind::Glob => Match::Glob,
        };
        let operand = self.expr(operand, cx)?;
        let pattern = self.expr(pattern, cx)?;
        let escape = escape.as_deref().map(|escape| self.escape(escape, cx)).transpose()?;
        let matches = self.matches(kind, operand, pattern, escape)?;
        Ok(if *negated { matches.negated() } else { matches })
    }

    /// Returns the character after ESCAPE; `None` for the empty string.
    fn escape(&mut self, escape: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Option<char>> {
        let value = self.settled(escape, cx)?;
        if let Some(Value::Text(text)) = value.as_literal() {
            let mut characters = text.chars();
            if let (character, None) = (characters.next(), characters.next()) {
                return Ok(character);
            }
        }
        let error = Error::user("ESCAPE is followed by a text of one character");
        Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(escape.span))
    }

    /// Matches a pattern. Without ESCAPE, a backslash escapes a wildcard, as in PostgreSQL.
    pub(super) fn matches(
        &mut self,
        kind: Match,
        input: Expr,
        pattern: Expr,
        escape: Option<Option<char>>,
    ) -> Result<Expr> {
        let (input, pattern) = match kind {
            Match::Like | Match::ILike => {
                let (letters, image) = self.as_letters(input.clone(), pattern.clone())?;
                if escape.flatten().is_some_and(char::is_alphabetic) && letters != input {
                    let error = Error::unsupported("a letter as ESCAPE for texts that have a collation");
                    return Err(error.at_span(input.span).with_hint("without ESCAPE, \\ is the escape character"));
                }
                (letters, image)
            }
            Match::Similar | Match::Glob | Match::Regex | Match::IRegex => (input, pattern),
        };
        let mut as_text = |side: Expr| {
            let ty = self.type_so_far(&side).into_owned();
            let span = side.span;
            self.coerce(side, &SqlType::Varchar, CastContext::Implicit).map_err(|_| {
                let error = Error::user(format!("{} takes texts, this is {ty}", kind.symbol()));
                let error = error.with_code(SqlState::DATATYPE_MISMATCH).at_span(span);
                error.with_hint("write CAST(... AS VARCHAR)")
            })
        };
        let (input, pattern) = (as_text(input)?, as_text(pattern)?);
        let has_escape = matches!(kind, Match::Like | Match::ILike | Match::Similar);
        let escape = match (escape, pattern.as_literal()) {
            (Some(escape), _) => escape,
            (None, Some(Value::Text(text))) if !text.contains('\\') => None,
            (None, _) => has_escape.then_some('\\'),
        };
        let nullable = input.nullable || pattern.nullable;
        let kind = ExprKind::Match { kind, input: Box::new(input), pattern: Box::new(pattern), escape };
        Ok(Expr::new(kind, SqlType::Boolean, nullable))
    }

    /// `CASE WHEN condition THEN …`, `CASE x WHEN value THEN …`. The operand is computed once.
    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let mut shared = Shared::new();
        let (operand, mut whens) = match operand {
            Some(operand) => {
                let compared: Vec<&ast::Expr> =
                    std::iter::once(operand).chain(branches.iter().map(|branch| &branch.when)).collect();
                let mut whens = self.compared(&compared, cx)?.into_iter();
                let operand = whens.next().expect("the operand comes first");
                (Some(self.share(operand, &mut shared)), whens)
            }
            None => (None, Vec::new().into_iter()),
        };
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for branch in branches {
            conditions.push(match &operand {
                Some(operand) => {
                    let when = whens.next().expect("there is one for each branch");
                    self.compare(Comparison::Equal, operand.clone(), when, branch.when.span)?.at(branch.when.span)
                }
                None => self.truth(&branch.when, cx, "the condition of WHEN")?,
            });
            values.push(self.expr(&branch.then, cx)?);
        }
        let has_otherwise = otherwise.is_some();
        values.extend(otherwise.map(|otherwise| self.expr(otherwise, cx)).transpose()?);
        let (mut values, ty) = self.unify(values, "CASE")?;
        let nullable = !has_otherwise || values.iter().any(|value| value.nullable);
        let otherwise = if has_otherwise { values.pop().map(Box::new) } else { None };
        let branches = conditions.into_iter().zip(values).collect();
        let case = Expr::new(ExprKind::Case { branches, otherwise }, ty, nullable);
        Ok(self.with_shared(case, shared))
    }
}
