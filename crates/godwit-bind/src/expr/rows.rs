//! Row values: `(a, b) = (c, d)`, `(a, b) < (c, d)`.
//!
//! Rows are compared from left to right, with three-valued logic: `(1, NULL) = (2, 3)` is FALSE, `(1, NULL) = (1, 3)`
//! is NULL. Source: PostgreSQL's documentation, "Row and Array Comparisons".

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Comparison, Expr};
use godwit_syntax::ast;

use super::sharing::Shared;
use crate::Binder;
use crate::binder::ExprContext;

/// Returns the values of a row value.
pub(super) fn row_of(expr: &ast::Expr) -> Option<&[ast::Expr]> {
    match &expr.kind {
        ast::ExprKind::Row { items, .. } => Some(items),
        _ => None,
    }
}

/// Returns the values of a row value, or the single value.
pub(super) fn row_or_value(expr: &ast::Expr) -> &[ast::Expr] {
    row_of(expr).unwrap_or(std::slice::from_ref(expr))
}

impl Binder {
    /// Binds a comparison of two values, or of two rows.
    pub(super) fn comparison(
        &mut self,
        comparison: Comparison,
        left: &ast::Expr,
        right: &ast::Expr,
        op_span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        match (row_of(left), row_of(right)) {
            (Some(row), None) if let ast::ExprKind::Subquery(query) = &right.kind => {
                self.compare_with_row_of(comparison, row, query, op_span, cx)
            }
            (None, Some(row)) if let ast::ExprKind::Subquery(query) = &left.kind => {
                self.compare_with_row_of(comparison.swapped(), row, query, op_span, cx)
            }
            (Some(left), Some(right)) => {
                let left = self.exprs(left, cx)?;
                let right = self.exprs(right, cx)?;
                self.compare_rows(comparison, left, right, op_span)
            }
            _ => {
                let compared = <[Expr; 2]>::try_from(self.compared(&[left, right], cx)?);
                let [left, right] = compared.expect("a value for each operand");
                self.compare(comparison, left, right, op_span)
            }
        }
    }

    /// Compares a row with the single row of a query. If there is none, the result is NULL.
    fn compare_with_row_of(
        &mut self,
        comparison: Comparison,
        row: &[ast::Expr],
        query: &ast::Query,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let left = self.exprs(row, cx)?;
        let (right, columns) = self.row_subquery(query, cx)?;
        if columns == 1 {
            let left = self.row_of_values(left, span)?;
            return self.compare(comparison, left, right, span);
        }
        let mut shared = Shared::new();
        let right = self.share(right, &mut shared);
        let right = self.fields_of(right)?.into_iter().map(|(_, value)| value).collect();
        let compared = self.compare_rows(comparison, left, right, span)?;
        Ok(self.with_shared(compared, shared))
    }

    pub(super) fn exprs(&mut self, exprs: &[ast::Expr], cx: &mut ExprContext<'_>) -> Result<Vec<Expr>> {
        self.all_unpacked(exprs, cx.scope)?.iter().map(|expr| self.expr(expr, cx)).collect()
    }

    /// Compares rows; with one value each, the values themselves.
    pub(super) fn compare_rows(
        &mut self,
        comparison: Comparison,
        left: Vec<Expr>,
        right: Vec<Expr>,
        span: Span,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            let (left, right) = (left.len(), right.len());
            let error = Error::user(format!("a row of {left} values is compared with one of {right}"));
            return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(span));
        }
        let pairs = left.into_iter().zip(right).map(|(left, right)| self.in_common_collation(left, right));
        let pairs = pairs.collect::<Result<Vec<_>>>()?.into_iter();
        match comparison {
            Comparison::Equal | Comparison::NotDistinct => {
                let equal = pairs.map(|(left, right)| self.compare(comparison, left, right, span));
                Ok(Expr::and(equal.collect::<Result<Vec<_>>>()?))
            }
            Comparison::NotEqual | Comparison::Distinct => {
                let differs = pairs.map(|(left, right)| self.compare(comparison, left, right, span));
                Ok(Expr::or(differs.collect::<Result<Vec<_>>>()?))
            }
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                self.order_rows(comparison, pairs.collect(), span)
            }
        }
    }

    /// `a < c OR a = c AND b < d`: from the last pair to the first; the rest matters where a pair is equal.
    fn order_rows(&mut self, comparison: Comparison, mut pairs: Vec<(Expr, Expr)>, span: Span) -> Result<Expr> {
        let strict = match comparison {
            Comparison::Less | Comparison::LessOrEqual => Comparison::Less,
            _ => Comparison::Greater,
        };
        let (left, right) = pairs.pop().expect("rows have values");
        let mut ordered = self.compare(comparison, left, right, span)?;
        let mut shared = Shared::new();
        for (left, right) in pairs.into_iter().rev() {
            let (left, right) = (self.share(left, &mut shared), self.share(right, &mut shared));
            let before = self.compare(strict, left.clone(), right.clone(), span)?;
            let equal = self.compare(Comparison::Equal, left, right, span)?;
            ordered = Expr::or([before, Expr::and([equal, ordered])]);
        }
        Ok(self.with_shared(ordered, shared))
    }
}
