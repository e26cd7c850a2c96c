//! FROM: tables, joins, samples.

use godwit_common::{Result, Span};

use super::Parser;
use crate::ast::{
    AliasColumn, Call, Join, JoinConstraint, JoinKind, Query, Sample, SampleUnit, TableAlias, TableFactor,
    TableFactorKind, TableWithJoins,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// The words before JOIN.
struct JoinWords {
    kind: JoinKind,
    asof: bool,
    natural: bool,
}

impl Parser<'_> {
    /// Parses the comma-separated list after FROM, with an optional trailing comma.
    pub(super) fn table_list(&mut self) -> Result<Vec<TableWithJoins>> {
        let mut tables = vec![self.table_with_joins()?];
        while self.eat_symbol(Symbol::Comma) {
            let is_end = match self.kind_at(0) {
                TokenKind::End | TokenKind::Symbol(Symbol::RightParen) => true,
                TokenKind::Word(Some(keyword)) => {
                    matches!(keyword, K::Where | K::Group | K::Order | K::Limit | K::Select)
                }
                _ => false,
            };
            if is_end {
                break;
            }
            tables.push(self.table_with_joins()?);
        }
        Ok(tables)
    }

    /// `a JOIN b ON … JOIN c …`.
    pub(super) fn table_with_joins(&mut self) -> Result<TableWithJoins> {
        let relation = self.table_factor()?;
        let joins = self.joins()?;
        Ok(TableWithJoins { relation, joins })
    }

    fn joins(&mut self) -> Result<Vec<Join>> {
        let mut joins = Vec::new();
        while let Some(join) = self.join()? {
            joins.push(join);
        }
        Ok(joins)
    }

    fn join(&mut self) -> Result<Option<Join>> {
        let start = self.peek().span;
        let Some(JoinWords { kind, asof, natural }) = self.join_words()? else { return Ok(None) };
        let mut relation = self.table_factor()?;
        let constraint = if natural {
            JoinConstraint::Natural
        } else if matches!(kind, JoinKind::Cross | JoinKind::Positional) {
            JoinConstraint::None
        } else {
            if !self.is(K::On) && !self.is(K::Using) {
                relation = self.nested_right_side(relation)?;
            }
            self.join_constraint()?
        };
        Ok(Some(Join { kind, asof, relation, constraint, span: self.since(start) }))
    }

    /// `b JOIN c ON …` of `a JOIN b JOIN c ON … ON …`.
    fn nested_right_side(&mut self, relation: TableFactor) -> Result<TableFactor> {
        let start = relation.span;
        let joins = self.nested(Self::joins)?;
        if joins.is_empty() {
            return Ok(relation);
        }
        let kind = TableFactorKind::Nested(Box::new(TableWithJoins { relation, joins }));
        Ok(TableFactor { kind, alias: None, sample: None, span: self.since(start) })
    }

    fn join_constraint(&mut self) -> Result<JoinConstraint> {
        if self.eat(K::On) {
            Ok(JoinConstraint::On(self.expr()?))
        } else if self.is(K::Using) && self.keyword_at(1) != Some(K::Sample) {
            self.take();
            Ok(JoinConstraint::Using(self.names_in_parens()?))
        } else {
            Err(self.expected("ON or USING").with_hint("a join of all rows with all rows is a CROSS JOIN"))
        }
    }

    /// Parses the words up to JOIN, if present.
    fn join_words(&mut self) -> Result<Option<JoinWords>> {
        let start = self.at;
        let natural = self.eat(K::Natural);
        let asof = self.eat(K::Asof);
        let side = self.eat_any(&[K::Cross, K::Inner, K::Left, K::Right, K::Full, K::Semi, K::Anti, K::Positional]);
        let kind = match side {
            None | Some(K::Inner) => JoinKind::Inner,
            Some(K::Cross) => JoinKind::Cross,
            Some(K::Left) if self.eat(K::Semi) => JoinKind::Semi,
            Some(K::Left) if self.eat(K::Anti) => JoinKind::Anti,
            Some(K::Left) => JoinKind::Left,
            Some(K::Right) => JoinKind::Right,
            Some(K::Full) => JoinKind::Full,
            Some(K::Semi) => JoinKind::Semi,
            Some(K::Anti) => JoinKind::Anti,
            Some(_) => JoinKind::Positional,
        };
        if matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full) {
            self.eat(K::Outer);
        }
        if self.at == start && !self.is(K::Join) {
            return Ok(None);
        }
        self.expect(K::Join)?;
        Ok(Some(JoinWords { kind, asof, natural }))
    }

    /// Parses a table or another source of rows, with alias and sample.
    pub(super) fn table_factor(&mut self) -> Result<TableFactor> {
        self.nested(Self::table_factor_unnested)
    }

    fn table_factor_unnested(&mut self) -> Result<TableFactor> {
        let start = self.peek().span;
        let prefix = if self.is_prefix_alias() {
            let name = self.label_or_text()?;
            self.take();
            Some(TableAlias { name, columns: Vec::new() })
        } else {
            None
        };
        let lateral = self.eat(K::Lateral);
        let kind = self.table_factor_kind(lateral)?;
        let mut factor = TableFactor { kind, alias: prefix, sample: None, span: self.since(start) };
        if factor.alias.is_none() {
            factor.alias = self.columns_of_function(&factor.kind)?;
        }
        self.alias_and_sample(&mut factor)?;
        factor.span = self.since(start);
        while matches!(self.keyword(), Some(K::Pivot | K::Unpivot)) {
            self.wrap()?;
            let kind = self.pivoted(factor, start)?;
            factor = TableFactor { kind, alias: None, sample: None, span: self.since(start) };
            self.alias_and_sample(&mut factor)?;
            factor.span = self.since(start);
        }
        Ok(factor)
    }

    /// `AS (a INTEGER)` after a function, whose name is the alias then.
    fn columns_of_function(&mut self, kind: &TableFactorKind) -> Result<Option<TableAlias>> {
        let TableFactorKind::Function { call, .. } = kind else { return Ok(None) };
        if !self.is(K::As) || self.symbol_at(1) != Some(Symbol::LeftParen) {
            return Ok(None);
        }
        self.take();
        let columns = self.in_parens(Self::alias_column)?;
        Ok(Some(TableAlias { name: call.name.last().clone(), columns }))
    }

    /// Parses alias and sample, in either order.
    fn alias_and_sample(&mut self, factor: &mut TableFactor) -> Result<()> {
        factor.sample = self.table_sample()?;
        if factor.alias.is_none() {
            factor.alias = self.table_alias(&[])?;
        }
        if factor.sample.is_none() {
            factor.sample = self.table_sample()?;
        }
        Ok(())
    }

    fn table_factor_kind(&mut self, lateral: bool) -> Result<TableFactorKind> {
        if self.is_symbol(Symbol::LeftParen) {
            return self.table_in_parens(lateral);
        }
        if self.peek().kind.is_string() {
            return self.string().map(TableFactorKind::File);
        }
        if self.is(K::Values) && self.symbol_at(1) == Some(Symbol::LeftParen) {
            return Ok(TableFactorKind::Subquery { lateral, query: Box::new(self.query()?) });
        }
        let call = match self.special_table()? {
            Some(call) => call,
            None => {
                self.eat(K::Only);
                let is_function =
                    self.symbol_at(1) == Some(Symbol::LeftParen) && self.keyword().is_some_and(K::is_function_name);
                let first = if is_function { self.label()? } else { self.name_of("a table")? };
                let name = self.qualified(first)?;
                if !self.is_symbol(Symbol::LeftParen) {
                    return Ok(TableFactorKind::Table(name));
                }
                self.call(name, Vec::new())?
            }
        };
        let with_ordinality = self.eat_all(&[K::With, K::Ordinality]);
        Ok(TableFactorKind::Function { call: Box::new(call), lateral, with_ordinality })
    }

    /// Parses a function with special syntax: `CURRENT_DATE`, `EXTRACT(YEAR FROM d)`.
    fn special_table(&mut self) -> Result<Option<Call>> {
        match (self.keyword(), self.symbol_at(1)) {
            (None, _) | (_, Some(Symbol::Dot)) => Ok(None),
            (Some(keyword), next) => self.special_call(keyword, next == Some(Symbol::LeftParen)),
        }
    }

    /// `(query)` or `(a JOIN b)`.
    fn table_in_parens(&mut self, lateral: bool) -> Result<TableFactorKind> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        if self.starts_table_query() {
            let query = Box::new(self.query()?);
            self.expect_close(open)?;
            return Ok(TableFactorKind::Subquery { lateral, query });
        }
        let start = self.peek().span;
        if self.is_symbol(Symbol::LeftParen) {
            let inner = self.nested(|parser| parser.table_in_parens(false))?;
            if let TableFactorKind::Subquery { lateral: false, query } = inner {
                return self.after_inner_query(query, lateral, start, open);
            }
            return self.after_inner_table(inner, start, open);
        }
        let tables = self.table_with_joins()?;
        self.close_nested(tables, open)
    }

    /// Parses the contents of parentheses that begin with another query in parentheses: a query or a join.
    fn after_inner_query(
        &mut self,
        query: Box<Query>,
        lateral: bool,
        start: Span,
        open: Span,
    ) -> Result<TableFactorKind> {
        let query = if self.continues_query() {
            Box::new(self.query_from_parens(query, start)?)
        } else if self.is_symbol(Symbol::RightParen) {
            query
        } else {
            return self.after_inner_table(TableFactorKind::Subquery { lateral: false, query }, start, open);
        };
        self.expect_close(open)?;
        Ok(TableFactorKind::Subquery { lateral, query })
    }

    /// Parses the rest of a join in parentheses whose first table has been read up to its alias.
    fn after_inner_table(&mut self, kind: TableFactorKind, start: Span, open: Span) -> Result<TableFactorKind> {
        let mut relation = TableFactor { kind, alias: None, sample: None, span: self.since(start) };
        self.alias_and_sample(&mut relation)?;
        relation.span = self.since(start);
        let joins = self.joins()?;
        self.close_nested(TableWithJoins { relation, joins }, open)
    }

    fn close_nested(&mut self, tables: TableWithJoins, open: Span) -> Result<TableFactorKind> {
        self.expect_close(open)?;
        self.wrap()?;
        Ok(TableFactorKind::Nested(Box::new(tables)))
    }

    /// `[AS] name [(columns)]`; an alias without AS must not be one of `excluded`.
    pub(super) fn table_alias(&mut self, excluded: &[K]) -> Result<Option<TableAlias>> {
        if self.is(K::As) && self.symbol_at(1) == Some(Symbol::LeftParen) {
            return Err(self.expected("an alias"));
        }
        let Some(name) = self.optional_alias(excluded)? else { return Ok(None) };
        let columns = if self.is_symbol(Symbol::LeftParen) { self.in_parens(Self::alias_column)? } else { Vec::new() };
        Ok(Some(TableAlias { name, columns }))
    }

    fn alias_column(&mut self) -> Result<AliasColumn> {
        let name = self.name()?;
        let data_type = self.optional_data_type(|parser| {
            matches!(parser.symbol(), Some(Symbol::Comma | Symbol::RightParen)) || parser.peek().kind == TokenKind::End
        })?;
        Ok(AliasColumn { name, data_type })
    }

    /// `TABLESAMPLE …`, if present.
    fn table_sample(&mut self) -> Result<Option<Sample>> {
        let start = self.peek().span;
        if self.eat(K::Tablesample) { self.sample(start, true).map(Some) } else { Ok(None) }
    }

    /// `[method] (amount) [REPEATABLE (seed)]`, `amount [(method, seed)]`.
    pub(super) fn sample(&mut self, start: Span, of_table: bool) -> Result<Sample> {
        let mut method = if self.is_name_at(0) { Some(self.name()?) } else { None };
        let has_method = method.is_some();
        // A reservoir holds a number of rows; the other methods take each row with a probability.
        let counts_rows = method.as_ref().map_or(!of_table, |method| method.is("reservoir"));
        let open = self.peek().span;
        let in_parens = self.eat_symbol(Symbol::LeftParen);
        let amount = self.nested(Self::primary)?;
        let unit = if self.eat_symbol(Symbol::Percent) || self.eat(K::Percent) {
            SampleUnit::Percent
        } else if self.eat(K::Rows) || self.eat(K::Row) || counts_rows {
            SampleUnit::Rows
        } else {
            SampleUnit::Percent
        };
        if in_parens {
            self.expect_close(open)?;
        }
        let mut seed = None;
        if self.eat(K::Repeatable) {
            seed = Some(self.one_in_parens()?);
        } else if !has_method && self.is_symbol(Symbol::LeftParen) {
            let open = self.take().span;
            method = Some(self.name()?);
            if self.eat_symbol(Symbol::Comma) {
                seed = Some(self.nested(Self::primary)?);
            }
            self.expect_close(open)?;
        }
        Ok(Sample { amount, unit, method, seed, span: self.since(start) })
    }

    /// `(x)`.
    pub(super) fn one_in_parens(&mut self) -> Result<crate::ast::Expr> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let expr = self.expr()?;
        self.expect_close(open)?;
        Ok(expr)
    }
}
