//! PIVOT and UNPIVOT, as statements and after a table.

use godwit_common::{Result, Span};

use super::Parser;
use super::level::PATTERN;
use crate::ast::{
    Expr, ExprKind, Ident, Pivot, PivotColumn, PivotValues, TableFactor, TableFactorKind, Unpivot, UnpivotColumn,
};
use crate::keyword::Keyword as K;
use crate::lex::Symbol;

impl Parser<'_> {
    /// `PIVOT t [ON …] [USING …] [GROUP BY …]`.
    pub(super) fn pivot_query(&mut self) -> Result<Pivot> {
        let start = self.peek().span;
        self.expect(K::Pivot)?;
        let source = self.table_factor()?;
        let on = if self.eat(K::On) { self.comma_list(Self::pivot_column)? } else { Vec::new() };
        let aggregates = if self.eat(K::Using) { self.select_items()? } else { Vec::new() };
        let group_by = self.pivot_group_by()?;
        Ok(Pivot { source, on, aggregates, group_by, span: self.since(start) })
    }

    fn pivot_group_by(&mut self) -> Result<Option<Vec<Expr>>> {
        if self.eat_all(&[K::Group, K::By]) { self.comma_list(Self::expr).map(Some) } else { Ok(None) }
    }

    /// `UNPIVOT t ON … [INTO NAME n VALUE v]`.
    pub(super) fn unpivot_query(&mut self) -> Result<Unpivot> {
        let start = self.peek().span;
        self.expect(K::Unpivot)?;
        let source = self.table_factor()?;
        let include_nulls = self.include_nulls();
        self.expect(K::On)?;
        let columns = self.comma_list(Self::unpivot_column)?;
        let mut name = Ident::new("name", Span::NONE);
        let mut values = vec![Ident::new("value", Span::NONE)];
        if self.eat(K::Into) {
            self.expect(K::Name)?;
            name = self.name()?;
            self.expect(K::Value)?;
            values = self.comma_list(Self::name)?;
        }
        Ok(Unpivot { source, columns, name, values, include_nulls, span: self.since(start) })
    }

    fn include_nulls(&mut self) -> bool {
        let include = self.eat_all(&[K::Include, K::Nulls]);
        if !include {
            self.eat_all(&[K::Exclude, K::Nulls]);
        }
        include
    }

    /// `PIVOT (…)` or `UNPIVOT (…)` after a table.
    pub(super) fn pivoted(&mut self, source: TableFactor, start: Span) -> Result<TableFactorKind> {
        if self.eat(K::Unpivot) {
            return self.unpivoted(source, start);
        }
        self.expect(K::Pivot)?;
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let aggregates = self.select_items()?;
        self.expect(K::For)?;
        let mut on = vec![self.pivot_column()?];
        while !self.is_symbol(Symbol::RightParen) && !self.is(K::Group) {
            on.push(self.pivot_column()?);
        }
        let group_by = self.pivot_group_by()?;
        self.expect_close(open)?;
        let pivot = Pivot { source, on, aggregates, group_by, span: self.since(start) };
        Ok(TableFactorKind::Pivot(Box::new(pivot)))
    }

    fn unpivoted(&mut self, source: TableFactor, start: Span) -> Result<TableFactorKind> {
        let include_nulls = self.include_nulls();
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let values = if self.is_symbol(Symbol::LeftParen) { self.names_in_parens()? } else { vec![self.name()?] };
        self.expect(K::For)?;
        let name = self.name()?;
        self.expect(K::In)?;
        let columns = self.in_parens(Self::unpivot_column)?;
        self.expect_close(open)?;
        let unpivot = Unpivot { source, columns, name, values, include_nulls, span: self.since(start) };
        Ok(TableFactorKind::Unpivot(Box::new(unpivot)))
    }

    /// `year IN (2019, 2020)`, `(a, b) IN ((1, 2))`, `a IN mood`, `a`.
    fn pivot_column(&mut self) -> Result<PivotColumn> {
        let exprs = items_of(self.expr_above(PATTERN)?);
        if !self.eat(K::In) {
            return Ok(PivotColumn { exprs, values: PivotValues::All });
        }
        let values = if !self.is_symbol(Symbol::LeftParen) {
            PivotValues::Enum(self.object_name()?)
        } else if matches!(self.keyword_at(1), Some(K::Select | K::From | K::With)) {
            PivotValues::Query(self.query_in_parens()?)
        } else {
            PivotValues::List(self.in_parens(Self::select_item)?)
        };
        Ok(PivotColumn { exprs, values })
    }

    /// `a [AS 'label']`, `(a, b) [AS 'label']`.
    fn unpivot_column(&mut self) -> Result<UnpivotColumn> {
        let exprs = items_of(self.expr()?);
        let alias = self.optional_alias(&[])?;
        Ok(UnpivotColumn { exprs, alias })
    }
}

/// Returns the values of a row in parentheses, or the single value.
fn items_of(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::Row { items, explicit: false } => items,
        _ => vec![expr],
    }
}
