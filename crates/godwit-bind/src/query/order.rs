//! ORDER BY, LIMIT and samples.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Expr, Limit, Node, Sample, SampleSize, SortKey};
use godwit_syntax::ast::{self, Direction, NullsOrder};
use godwit_types::{SqlType, Value};

use super::source::Source;
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::CastContext;
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

impl Binder {
    /// Makes a sort key; what it doesn't say is the session's choice.
    pub(crate) fn ordered(&self, expr: Expr, direction: Option<Direction>, nulls: Option<NullsOrder>) -> SortKey {
        let dialect = self.dialect();
        let descending = direction.map_or(dialect.descending, |direction| direction == Direction::Desc);
        let nulls_first = nulls.map_or(dialect.null_order.is_first(descending), |nulls| nulls == NullsOrder::First);
        SortKey { expr, descending, nulls_first }
    }
}

/// Returns the column of a result that a key refers to by position or name; `None` for other expressions.
pub(super) fn position_of(expr: &ast::Expr, columns: &[(Arc<str>, ColumnId)]) -> Result<Option<ColumnId>> {
    match &expr.kind {
        ast::ExprKind::Column(path) if path.len() == 1 => {
            let mut named = columns.iter().filter(|(name, _)| path[0].is(name));
            let (first, second) = (named.next(), named.next());
            match (first, second) {
                (Some((_, one)), Some((_, two))) if one != two => {
                    let error = Error::user(format!("two columns of the result are named {}", path[0].text));
                    Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).at_span(expr.span))
                }
                (Some(&(_, column)), _) => Ok(Some(column)),
                (None, _) => Ok(None),
            }
        }
        _ => Ok(position(expr, columns.len())?.map(|at| columns[at].1)),
    }
}

/// Returns the 0-based position that an integer in ORDER BY or GROUP BY refers to; `None` for other expressions.
pub(super) fn position(expr: &ast::Expr, columns: usize) -> Result<Option<usize>> {
    let place;
    let (digits, is_negative) = match &expr.kind {
        // `#2`, elsewhere a column of FROM.
        ast::ExprKind::Position(at) => {
            place = Arc::from(at.to_string());
            (&place, false)
        }
        ast::ExprKind::Literal(ast::Literal::Number(digits)) => (digits, false),
        ast::ExprKind::Unary { op: ast::UnaryOperator::Minus, operand } => match &operand.kind {
            ast::ExprKind::Literal(ast::Literal::Number(digits)) => (digits, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(None);
    }
    match digits.parse::<usize>() {
        Ok(at) if !is_negative && (1..=columns).contains(&at) => Ok(Some(at - 1)),
        _ => {
            let sign = if is_negative { "-" } else { "" };
            let message = format!("there is no column {sign}{digits}: the SELECT list has {columns}");
            Err(Error::user(message).with_code(SqlState::INVALID_COLUMN_REFERENCE).at_span(expr.span))
        }
    }
}

impl Binder {
    /// LIMIT and OFFSET of a query.
    pub(super) fn limited(&mut self, bound: BoundQuery, query: &ast::Query, scope: &Scope<'_>) -> Result<BoundQuery> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(bound);
        }
        let percent = query.limit.as_ref().is_some_and(|limit| limit.percent);
        let count = query.limit.as_ref().map(|limit| {
            let ty = if percent { SqlType::Double } else { SqlType::BigInt };
            self.row_count(&limit.count, &ty, "LIMIT", scope)
        });
        let offset = query.offset.as_ref().map(|offset| self.row_count(offset, &SqlType::BigInt, "OFFSET", scope));
        let with_ties = query.limit.as_ref().is_some_and(|limit| limit.with_ties);
        if with_ties && query.order_by.is_none() {
            let error = Error::user("WITH TIES needs an ORDER BY").with_code(SqlState::SYNTAX_ERROR);
            return Err(error.at_span(query.span));
        }
        let (count, offset) = (count.transpose()?, offset.transpose()?);
        let node = self.plan.add(Node::Limit(Limit { input: bound.node, offset, count, with_ties, percent }));
        Ok(BoundQuery { node, columns: bound.columns })
    }

    fn row_count(&mut self, expr: &ast::Expr, ty: &SqlType, clause: &str, scope: &Scope<'_>) -> Result<Expr> {
        let mut collected = Collected::default();
        let mut context = ExprContext { scope, clause: Clause::Limit, collected: &mut collected, windows: &[] };
        let count = self.expr(expr, &mut context)?;
        let is_negative = match count.as_literal() {
            Some(Value::Integer(value)) => *value < 0,
            Some(Value::Float(value)) => *value < 0.0,
            _ => false,
        };
        if is_negative {
            let error = Error::user(format!("{clause} is negative")).with_code(SqlState::INVALID_PARAMETER_VALUE);
            return Err(error.at_span(expr.span));
        }
        self.coerce(count, ty, CastContext::Assignment)
    }

    /// TABLESAMPLE and USING SAMPLE.
    pub(super) fn sampled(&mut self, source: Source, sample: Option<&ast::Sample>) -> Result<Source> {
        let Some(sample) = sample else { return Ok(source) };
        let (amount, ty) = self.constant(&sample.amount, Clause::From)?;
        let wrong = |what: &str| {
            let error = Error::user(format!("a sample is {what}"));
            error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(sample.amount.span)
        };
        let size = match sample.unit {
            ast::SampleUnit::Rows => match godwit_types::cast_value(&amount, &ty, &SqlType::BigInt)? {
                Value::Integer(rows) => {
                    SampleSize::Rows(u64::try_from(rows).map_err(|_| wrong("of no fewer than 0 rows"))?)
                }
                _ => return Err(wrong("of a number of rows")),
            },
            ast::SampleUnit::Percent => match godwit_types::cast_value(&amount, &ty, &SqlType::Double)? {
                Value::Float(percent) if (0.0..=100.0).contains(&percent) => SampleSize::Percent(percent),
                _ => return Err(wrong("of 0 to 100 percent")),
            },
        };
        let seed = match &sample.seed {
            Some(seed) => match self.constant(seed, Clause::From)?.0 {
                Value::Integer(seed) => Some(seed as u64),
                _ => return Err(Error::user("a seed is an integer").at_span(seed.span)),
            },
            None => None,
        };
        let node = self.plan.add(Node::Sample(Sample { input: source.node, size, seed }));
        Ok(Source { node, ..source })
    }
}
