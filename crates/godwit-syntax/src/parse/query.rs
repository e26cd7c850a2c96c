//! Queries: WITH, set operations, ORDER BY, LIMIT.

use godwit_common::{Result, Span};

use super::{Parser, syntax_error};
use crate::ast::{
    Cte, CteBody, Expr, ExprKind, Limit, Literal, OrderBy, Query, SetExpr, SetExprKind, SetOperations, SetOperator,
    SetStep, With,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// The clauses after the body of a query.
#[derive(Default)]
struct Tail {
    order_by: Option<OrderBy>,
    limit: Option<Limit>,
    offset: Option<Expr>,
}

impl Parser<'_> {
    /// True if a query comes next, not counting one in parentheses.
    pub(super) fn starts_query(&self) -> bool {
        match self.keyword() {
            Some(K::Select | K::With | K::From) => true,
            Some(K::Table) => self.is_name_at(1),
            Some(K::Values) => self.symbol_at(1) == Some(Symbol::LeftParen),
            _ => false,
        }
    }

    /// True if a query or something similar comes next, where no expression can.
    pub(super) fn starts_table_query(&self) -> bool {
        let has_target = || match self.kind_at(1) {
            TokenKind::Word(Some(K::Select | K::From | K::With | K::Values | K::All | K::Table)) => true,
            TokenKind::Word(Some(K::As)) => false,
            TokenKind::Word(_) => self.is_name_at(1),
            kind => kind.is_string() || kind.is_quoted_name() || kind == TokenKind::Symbol(Symbol::LeftParen),
        };
        match self.keyword() {
            Some(K::Describe | K::Summarize | K::Show | K::Pivot | K::Unpivot) => has_target(),
            Some(K::Desc) => true,
            _ => self.starts_query(),
        }
    }

    /// True if the next token continues a query that was in parentheses.
    pub(super) fn continues_query(&self) -> bool {
        let word = self.keyword();
        matches!(word, Some(K::Union | K::Except | K::Intersect | K::Order | K::Limit | K::Offset | K::Fetch))
    }

    /// Parses a query.
    pub(crate) fn query(&mut self) -> Result<Query> {
        self.nested(|parser| {
            let start = parser.peek().span;
            let with = if parser.is(K::With) { Some(parser.with()?) } else { None };
            let body = parser.set_expr()?;
            parser.query_of(with, body, start)
        })
    }

    /// Parses a query whose WITH has been read.
    pub(super) fn query_after_with(&mut self, with: Option<With>, start: Span) -> Result<Query> {
        self.nested(|parser| {
            let body = parser.set_expr()?;
            parser.query_of(with, body, start)
        })
    }

    /// Parses a query that begins with one in parentheses, which has been read.
    pub(super) fn query_from_parens(&mut self, query: Box<Query>, start: Span) -> Result<Query> {
        self.wrap()?;
        let first = SetExpr { kind: SetExprKind::Query(query), span: self.since(start) };
        let body = self.set_operations(first, start)?;
        self.query_of(None, body, start)
    }

    fn query_of(&mut self, with: Option<With>, body: SetExpr, start: Span) -> Result<Query> {
        let Tail { order_by, limit, offset } = self.tail()?;
        Ok(Query { with, body, order_by, limit, offset, span: self.since(start) })
    }

    /// `WITH [RECURSIVE] a AS (…), …`.
    pub(super) fn with(&mut self) -> Result<With> {
        let start = self.peek().span;
        self.expect(K::With)?;
        let recursive = self.eat(K::Recursive);
        let ctes = self.comma_list(Self::cte)?;
        Ok(With { recursive, ctes, span: self.since(start) })
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.name()?;
        let columns = self.optional_names_in_parens()?;
        self.expect(K::As)?;
        let materialized = if self.eat(K::Materialized) {
            Some(true)
        } else {
            self.eat_all(&[K::Not, K::Materialized]).then_some(false)
        };
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let body = if self.starts_write() {
            CteBody::Write(Box::new(self.nested(Self::statement)?))
        } else {
            CteBody::Query(Box::new(self.query()?))
        };
        self.expect_close(open)?;
        let span = self.since(name.span);
        Ok(Cte { name, columns, materialized, body, span })
    }

    /// Parses set operations: INTERSECT binds tighter than UNION and EXCEPT.
    fn set_expr(&mut self) -> Result<SetExpr> {
        let start = self.peek().span;
        let first = self.query_primary()?;
        self.set_operations(first, start)
    }

    fn set_operations(&mut self, first: SetExpr, start: Span) -> Result<SetExpr> {
        let first = self.set_chain(first, start, &[K::Intersect], &Self::query_primary)?;
        self.set_chain(first, start, &[K::Union, K::Except], &|parser| {
            let start = parser.peek().span;
            let first = parser.query_primary()?;
            parser.set_chain(first, start, &[K::Intersect], &Self::query_primary)
        })
    }

    /// Parses the rest of a chain of set operations that begins with `first`.
    fn set_chain(
        &mut self,
        first: SetExpr,
        start: Span,
        operators: &[K],
        operand: &dyn Fn(&mut Self) -> Result<SetExpr>,
    ) -> Result<SetExpr> {
        let mut steps = Vec::new();
        loop {
            let op_span = self.peek().span;
            let op = match self.eat_any(operators) {
                Some(K::Union) => SetOperator::Union,
                Some(K::Except) => SetOperator::Except,
                Some(_) => SetOperator::Intersect,
                None => break,
            };
            let all = self.eat(K::All);
            if !all {
                self.eat(K::Distinct);
            }
            let by_name = self.eat_all(&[K::By, K::Name]);
            let op_span = self.since(op_span);
            steps.push(SetStep { op, all, by_name, right: self.nested(operand)?, op_span });
        }
        if steps.is_empty() {
            return Ok(first);
        }
        self.wrap()?;
        let kind = SetExprKind::Operations(Box::new(SetOperations { first, steps }));
        Ok(SetExpr { kind, span: self.since(start) })
    }

    /// Parses an operand of a set operation.
    fn query_primary(&mut self) -> Result<SetExpr> {
        let start = self.peek().span;
        let kind = match self.keyword() {
            Some(K::Select | K::From) => SetExprKind::Select(Box::new(self.select()?)),
            Some(K::Values) => {
                self.take();
                SetExprKind::Values(self.comma_list(Self::values_row)?)
            }
            Some(K::Table) => {
                self.take();
                SetExprKind::Table(self.object_name()?)
            }
            Some(K::Pivot) => SetExprKind::Pivot(Box::new(self.pivot_query()?)),
            Some(K::Unpivot) => SetExprKind::Unpivot(Box::new(self.unpivot_query()?)),
            Some(K::Describe | K::Desc) => SetExprKind::Describe(Box::new(self.describe()?)),
            Some(K::Summarize) => SetExprKind::Summarize(Box::new(self.describe()?)),
            Some(K::Show) => SetExprKind::Show(Box::new(self.show()?)),
            _ if self.is_symbol(Symbol::LeftParen) => {
                self.take();
                let query = Box::new(self.query()?);
                self.expect_close(start)?;
                SetExprKind::Query(query)
            }
            _ => return Err(self.expected("a query")),
        };
        Ok(SetExpr { kind, span: self.since(start) })
    }

    /// `(1, 2)` in VALUES.
    fn values_row(&mut self) -> Result<Vec<Expr>> {
        self.in_parens(Self::expr)
    }

    /// Parses ORDER BY, LIMIT, OFFSET and FETCH; the last three in any order.
    fn tail(&mut self) -> Result<Tail> {
        let mut tail = Tail::default();
        if self.is(K::Order) {
            tail.order_by = Some(self.order_by()?);
        }
        loop {
            let place = self.peek().span;
            let is_twice = match self.keyword() {
                Some(K::Limit) => {
                    let is_twice = tail.limit.is_some();
                    tail.limit = self.limit()?;
                    is_twice
                }
                Some(K::Fetch) => {
                    let is_twice = tail.limit.is_some();
                    tail.limit = Some(self.fetch()?);
                    is_twice
                }
                Some(K::Offset) => {
                    self.take();
                    let is_twice = tail.offset.replace(self.expr()?).is_some();
                    let _ = self.eat_any(&[K::Row, K::Rows]);
                    is_twice
                }
                Some(K::For) => {
                    self.locking()?;
                    false
                }
                _ => return Ok(tail),
            };
            if is_twice {
                let clause = self.written(place).to_uppercase();
                return Err(syntax_error(format!("the query has a second {clause}")).at_span(place));
            }
        }
    }

    /// ORDER BY of a query.
    fn order_by(&mut self) -> Result<OrderBy> {
        if self.keyword_at(2) != Some(K::All) {
            return self.order_by_list().map(OrderBy::Exprs);
        }
        self.expect_all(&[K::Order, K::By])?;
        let span = self.take().span;
        let (direction, nulls) = self.order_options()?;
        Ok(OrderBy::All { direction, nulls, span })
    }

    /// `LIMIT n`, `LIMIT n%`, `LIMIT n PERCENT`, `LIMIT ALL`.
    fn limit(&mut self) -> Result<Option<Limit>> {
        self.take();
        if self.eat(K::All) {
            return Ok(None);
        }
        let has_percent_sign =
            self.kind_at(0) == TokenKind::Number && self.symbol_at(1) == Some(Symbol::Percent) && self.is_end_at(2);
        let count = if has_percent_sign { self.nested(Self::primary)? } else { self.expr()? };
        let percent = has_percent_sign && self.eat_symbol(Symbol::Percent) || self.eat(K::Percent);
        Ok(Some(Limit { count, percent, with_ties: false }))
    }

    /// True if no value can begin at the token `ahead` tokens after the next one.
    fn is_end_at(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::End | TokenKind::Symbol(Symbol::RightParen) => true,
            TokenKind::Word(Some(keyword)) => !keyword.is_function_name(),
            _ => false,
        }
    }

    /// `FETCH {FIRST | NEXT} [n [PERCENT]] {ROW | ROWS} {ONLY | WITH TIES}`.
    fn fetch(&mut self) -> Result<Limit> {
        self.take();
        if self.eat_any(&[K::First, K::Next]).is_none() {
            return Err(self.expected("FIRST or NEXT"));
        }
        let count = if self.is(K::Row) || self.is(K::Rows) {
            Expr { kind: ExprKind::Literal(Literal::Number("1".into())), span: Span::NONE }
        } else {
            self.expr()?
        };
        let percent = self.eat(K::Percent);
        if self.eat_any(&[K::Row, K::Rows]).is_none() {
            return Err(self.expected("ROWS"));
        }
        let with_ties = self.eat_all(&[K::With, K::Ties]);
        if !with_ties {
            self.expect(K::Only)?;
        }
        Ok(Limit { count, percent, with_ties })
    }

    /// `FOR UPDATE [OF t] [NOWAIT | SKIP LOCKED]`, which has no effect: rows aren't locked.
    fn locking(&mut self) -> Result<()> {
        self.take();
        match self.eat_any(&[K::Update, K::Share, K::No, K::Key]) {
            Some(K::Update | K::Share) => {}
            Some(K::No) => self.expect_all(&[K::Key, K::Update])?,
            Some(_) => self.expect(K::Share)?,
            None => return Err(self.expected("UPDATE or SHARE")),
        }
        if self.eat(K::Of) {
            self.comma_list(Self::object_name)?;
        }
        if !self.eat(K::Nowait) {
            self.eat_all(&[K::Skip, K::Locked]);
        }
        Ok(())
    }
}
