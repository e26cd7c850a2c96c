//! SELECT and its clauses except FROM.

use godwit_common::{Result, Span};

use super::Parser;
use crate::ast::{
    Distinct, Expr, ExprKind, GroupBy, GroupingElement, GroupingElementKind, NamedWindow, Select, SelectItem, Wildcard,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    /// `SELECT …` or `FROM … [SELECT …]`.
    pub(super) fn select(&mut self) -> Result<Select> {
        let start = self.peek().span;
        let mut select = Select::of(Vec::new(), start);
        if self.eat(K::From) {
            select.from = self.table_list()?;
            if self.eat(K::Select) {
                self.select_list(&mut select)?;
            } else {
                select.projection.push(all_columns());
            }
            if self.is(K::From) {
                return Err(self.error("the query has two FROM clauses"));
            }
        } else {
            self.expect(K::Select)?;
            self.select_list(&mut select)?;
            if self.eat(K::From) {
                select.from = self.table_list()?;
            }
        }
        self.select_clauses(&mut select)?;
        select.span = self.since(start);
        Ok(select)
    }

    /// `[DISTINCT [ON (…)]] items`.
    fn select_list(&mut self, select: &mut Select) -> Result<()> {
        if self.eat(K::Distinct) {
            select.distinct =
                Some(if self.eat(K::On) { Distinct::On(self.in_parens(Self::expr)?) } else { Distinct::Rows });
        } else if !(self.is(K::All) && self.symbol_at(1) == Some(Symbol::LeftParen)) {
            self.eat(K::All);
        }
        select.projection = self.select_items()?;
        Ok(())
    }

    /// Parses the items of SELECT or RETURNING, with an optional trailing comma.
    pub(super) fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = vec![self.select_item()?];
        while self.eat_symbol(Symbol::Comma) {
            if self.is_end_of_items() {
                break;
            }
            items.push(self.select_item()?);
        }
        Ok(items)
    }

    /// True if a clause, or the end, comes next.
    fn is_end_of_items(&self) -> bool {
        match self.kind_at(0) {
            TokenKind::End | TokenKind::Symbol(Symbol::RightParen) => true,
            TokenKind::Word(Some(keyword)) => matches!(
                keyword,
                K::From
                    | K::Where
                    | K::Group
                    | K::Having
                    | K::Window
                    | K::Qualify
                    | K::Order
                    | K::Limit
                    | K::Union
                    | K::Except
                    | K::Intersect
            ),
            _ => false,
        }
    }

    /// `expr [AS] alias`, `alias: expr`.
    pub(super) fn select_item(&mut self) -> Result<SelectItem> {
        if self.is_prefix_alias() {
            let alias = self.label_or_text()?;
            self.take();
            return Ok(SelectItem { expr: self.expr()?, alias: Some(alias) });
        }
        let expr = self.expr()?;
        let alias = self.optional_alias(&[])?;
        Ok(SelectItem { expr, alias })
    }

    /// True for `name:`.
    pub(super) fn is_prefix_alias(&self) -> bool {
        self.symbol_at(1) == Some(Symbol::Colon) && (self.is_name_at(0) || self.peek().kind == TokenKind::String)
    }

    fn select_clauses(&mut self, select: &mut Select) -> Result<()> {
        if self.eat(K::Where) {
            select.filter = Some(self.expr()?);
        }
        if self.eat_all(&[K::Group, K::By]) {
            select.group_by = Some(self.group_by()?);
        }
        if self.eat(K::Having) {
            select.having = Some(self.expr()?);
        }
        if self.eat(K::Window) {
            select.windows = self.comma_list(|parser| {
                let name = parser.name()?;
                parser.expect(K::As)?;
                Ok(NamedWindow { name, spec: parser.window_spec()? })
            })?;
        }
        if self.eat(K::Qualify) {
            select.qualify = Some(self.expr()?);
        }
        if self.are(&[K::Using, K::Sample]) {
            select.sample = Some(self.using_sample()?);
        }
        self.misplaced_clause()
    }

    /// Rejects a clause of SELECT that comes after one that it has to precede.
    fn misplaced_clause(&self) -> Result<()> {
        let clause = match self.keyword() {
            Some(K::Where) => "WHERE",
            Some(K::Group) if self.keyword_at(1) == Some(K::By) => "GROUP BY",
            Some(K::Having) => "HAVING",
            _ => return Ok(()),
        };
        Err(self
            .error(format!("{clause} is not in its place"))
            .with_hint("the order is FROM, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, ORDER BY, LIMIT"))
    }

    /// Parses what follows GROUP BY.
    fn group_by(&mut self) -> Result<GroupBy> {
        let place = self.peek().span;
        if self.eat(K::All) {
            return Ok(GroupBy::All(place));
        }
        let distinct = self.eat(K::Distinct);
        let elements = self.comma_list(Self::grouping_element)?;
        Ok(GroupBy::Elements { distinct, elements })
    }

    fn grouping_element(&mut self) -> Result<GroupingElement> {
        self.nested(|parser| {
            let start = parser.peek().span;
            let has_parens = parser.symbol_at(1) == Some(Symbol::LeftParen);
            let kind = match parser.keyword() {
                Some(K::Rollup) if has_parens => {
                    parser.take();
                    GroupingElementKind::Rollup(parser.in_parens(Self::grouping_set)?)
                }
                Some(K::Cube) if has_parens => {
                    parser.take();
                    GroupingElementKind::Cube(parser.in_parens(Self::grouping_set)?)
                }
                Some(K::Grouping) if parser.keyword_at(1) == Some(K::Sets) => {
                    parser.at += 2;
                    GroupingElementKind::Sets(parser.in_parens(Self::grouping_element)?)
                }
                _ if parser.is_symbol(Symbol::LeftParen) && parser.symbol_at(1) == Some(Symbol::RightParen) => {
                    parser.at += 2;
                    GroupingElementKind::Set(Vec::new())
                }
                _ => match parser.expr()? {
                    Expr { kind: ExprKind::Row { items, explicit: false }, .. } => GroupingElementKind::Set(items),
                    expr => GroupingElementKind::Expr(expr),
                },
            };
            Ok(GroupingElement { kind, span: parser.since(start) })
        })
    }

    /// `a`, `(a, b)`: the keys that ROLLUP and CUBE add at once.
    fn grouping_set(&mut self) -> Result<Vec<Expr>> {
        Ok(match self.expr()? {
            Expr { kind: ExprKind::Row { items, explicit: false }, .. } => items,
            expr => vec![expr],
        })
    }

    /// `USING SAMPLE …`.
    fn using_sample(&mut self) -> Result<crate::ast::Sample> {
        let start = self.peek().span;
        self.at += 2;
        self.sample(start, false)
    }
}

/// The implied `*`.
fn all_columns() -> SelectItem {
    let wildcard = Wildcard::default();
    SelectItem { expr: Expr { kind: ExprKind::Wildcard(Box::new(wildcard)), span: Span::NONE }, alias: None }
}
