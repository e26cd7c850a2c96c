//! Dispatch by kind of statement, and read-only statements.

use godwit_common::{Error, Result, Span};

use super::Parser;
use crate::ast::{
    CallStatement, Describe, DescribeTarget, Explain, Expr, ExprKind, Ident, Show, Statement, StatementOption, Trace,
    Wildcard,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    /// Parses a statement.
    pub(crate) fn statement(&mut self) -> Result<Statement> {
        let keyword = self.keyword();
        if self.starts_query() || self.is_symbol(Symbol::LeftParen) {
            return if keyword == Some(K::With) { self.with_statement() } else { self.query_statement() };
        }
        let start = self.peek().span;
        match keyword {
            Some(K::Explain) => self.explain(),
            Some(K::Trace) => self.trace(),
            Some(K::Describe | K::Show) if self.ends_at(1) => {
                self.take();
                Ok(Statement::Show(Box::new(Show::Tables { all: true, schema: None })))
            }
            Some(K::Describe | K::Desc) => self.boxed(Self::describe, Statement::Describe),
            Some(K::Summarize) => self.boxed(Self::describe, Statement::Summarize),
            Some(K::Show) => self.boxed(Self::show, Statement::Show),
            Some(K::Pivot | K::Unpivot) => self.query_statement(),
            Some(K::Call) => self.call_statement(),
            Some(K::Insert) => self.insert(None, start),
            Some(K::Update) => self.update(None, start),
            Some(K::Delete) => self.delete(None, start),
            Some(K::Merge) if self.keyword_at(1) == Some(K::Delta) => self.merge_delta(),
            Some(K::Merge) => self.merge(None, start),
            Some(K::Truncate) => self.truncate(),
            Some(K::Copy) => self.copy(),
            Some(K::Export) => self.export(),
            Some(K::Import) => self.import(),
            Some(K::Create) => self.create(),
            Some(K::Drop) => self.drop(),
            Some(K::Alter) => self.alter(),
            Some(K::Comment) => self.comment_on(),
            Some(keyword) => self.session_statement(keyword),
            None => Err(self.no_statement()),
        }
    }

    fn boxed<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T>,
        statement: impl FnOnce(Box<T>) -> Statement,
    ) -> Result<Statement> {
        Ok(statement(Box::new(parse(self)?)))
    }

    fn query_statement(&mut self) -> Result<Statement> {
        self.boxed(Self::query, Statement::Query)
    }

    /// Parses a query, or a data-modifying statement, after WITH.
    fn with_statement(&mut self) -> Result<Statement> {
        let start = self.peek().span;
        let with = Some(self.with()?);
        match self.keyword() {
            Some(K::Insert) => self.insert(with, start),
            Some(K::Update) => self.update(with, start),
            Some(K::Delete) => self.delete(with, start),
            Some(K::Merge) => self.merge(with, start),
            _ => self.boxed(|parser| parser.query_after_with(with, start), Statement::Query),
        }
    }

    /// True if a data-modifying statement comes next.
    pub(super) fn starts_write(&self) -> bool {
        matches!(self.keyword(), Some(K::Insert | K::Update | K::Delete | K::Merge))
    }

    /// True if the statement ends before this many tokens ahead.
    fn ends_at(&self, ahead: usize) -> bool {
        matches!(self.kind_at(ahead), TokenKind::End | TokenKind::Symbol(Symbol::Semicolon))
    }

    /// Returns the error about text that no statement begins with.
    pub(super) fn no_statement(&self) -> Error {
        self.expected("a statement")
    }

    /// `EXPLAIN [ANALYZE] [(options)] statement`.
    fn explain(&mut self) -> Result<Statement> {
        self.expect(K::Explain)?;
        let mut analyze = self.eat(K::Analyze);
        let mut options = self.leading_options()?;
        options.retain(|option| {
            let is_analyze = option.name.is("analyze");
            analyze |= is_analyze && is_on(option);
            !is_analyze
        });
        self.eat(K::Verbose);
        let statement = self.nested(Self::statement)?;
        Ok(Statement::Explain(Box::new(Explain { analyze, options, statement })))
    }

    /// `TRACE [(options)] query`.
    fn trace(&mut self) -> Result<Statement> {
        self.expect(K::Trace)?;
        let options = self.leading_options()?;
        let query = Box::new(self.query()?);
        Ok(Statement::Trace(Box::new(Trace { options, query })))
    }

    /// Parses options in parentheses before a statement, which may itself begin with a parenthesis.
    fn leading_options(&mut self) -> Result<Vec<StatementOption>> {
        let has_options = self.is_symbol(Symbol::LeftParen) && matches!(self.kind_at(1), TokenKind::Word(_)) && {
            let is_query = matches!(self.keyword_at(1), Some(K::Select | K::With | K::From | K::Values | K::Table));
            !is_query
        };
        if has_options { self.in_parens(Self::explain_option) } else { Ok(Vec::new()) }
    }

    fn explain_option(&mut self) -> Result<StatementOption> {
        if self.starts_query() { Err(self.expected("an option")) } else { self.option() }
    }

    /// `DESCRIBE t`, `DESCRIBE SELECT …`, `SUMMARIZE 'file'`.
    pub(super) fn describe(&mut self) -> Result<Describe> {
        let start = self.take().span;
        let is_query = self.starts_query()
            || self.is_symbol(Symbol::LeftParen)
            || matches!(self.keyword(), Some(K::Pivot | K::Unpivot)) && self.is_name_at(1);
        let target = if is_query {
            DescribeTarget::Query(Box::new(self.query()?))
        } else {
            DescribeTarget::Table(Box::new(self.table_factor()?))
        };
        Ok(Describe { target, span: self.since(start) })
    }

    /// `SHOW …`.
    pub(super) fn show(&mut self) -> Result<Show> {
        self.expect(K::Show)?;
        let is_alone = self.ends_at(1) || self.symbol_at(1) == Some(Symbol::RightParen);
        let keyword = self.keyword();
        match keyword {
            Some(K::All) if self.keyword_at(1) == Some(K::Tables) => {
                self.at += 2;
                Ok(Show::Tables { all: true, schema: None })
            }
            Some(K::All) => {
                self.take();
                Ok(Show::Settings)
            }
            Some(K::Tables) => {
                self.take();
                let schema = match self.eat_any(&[K::From, K::In]) {
                    Some(_) => Some(self.object_name()?),
                    None => None,
                };
                Ok(Show::Tables { all: false, schema })
            }
            Some(K::Databases) if is_alone => {
                self.take();
                Ok(Show::Databases)
            }
            Some(K::Schemas) if is_alone => {
                self.take();
                Ok(Show::Schemas)
            }
            Some(K::Time) if self.keyword_at(1) == Some(K::Zone) => {
                let span = self.take().span;
                self.take();
                Ok(Show::Name(crate::ast::ObjectName::of(Ident::new("timezone", self.since(span)))))
            }
            _ => Ok(Show::Name(self.object_name_of("TABLES, DATABASES, ALL or the name of a setting")?)),
        }
    }

    /// `CALL f(args)`.
    fn call_statement(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let name = self.object_name_of("the name of a function")?;
        let call = self.call(name, Vec::new())?;
        Ok(Statement::Call(Box::new(CallStatement { call, span: self.since(start) })))
    }

    /// `NAME [value]`, `name = value`: an option in parentheses.
    pub(super) fn option(&mut self) -> Result<StatementOption> {
        let name = self.label()?;
        let _ = self.eat_symbol(Symbol::Equal);
        let is_end = matches!(self.kind_at(0), TokenKind::End)
            || matches!(self.symbol(), Some(Symbol::Comma | Symbol::RightParen));
        let value = if is_end { None } else { Some(self.setting_value()?) };
        Ok(StatementOption { name, value })
    }

    /// `(option, …)`, if present.
    pub(super) fn optional_options(&mut self) -> Result<Vec<StatementOption>> {
        if self.is_symbol(Symbol::LeftParen) { self.in_parens(Self::option) } else { Ok(Vec::new()) }
    }

    /// Parses a value of an option or a setting. Any single word is a value, including ON and OFF.
    pub(super) fn setting_value(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let is_alone = matches!(self.kind_at(1), TokenKind::End)
            || matches!(self.symbol_at(1), Some(Symbol::Comma | Symbol::RightParen));
        match self.kind_at(0) {
            TokenKind::Word(Some(K::True | K::False | K::Null | K::Default)) => self.expr(),
            TokenKind::Word(_) if is_alone => {
                let name = self.label()?;
                Ok(Expr { kind: ExprKind::Column(vec![name]), span: start })
            }
            TokenKind::Symbol(Symbol::Star) if is_alone => {
                self.take();
                let wildcard = Wildcard::default();
                Ok(Expr { kind: ExprKind::Wildcard(Box::new(wildcard)), span: start })
            }
            _ => self.expr(),
        }
    }

    /// `IF NOT EXISTS`.
    pub(super) fn if_not_exists(&mut self) -> bool {
        self.eat_all(&[K::If, K::Not, K::Exists])
    }

    /// `IF EXISTS`.
    pub(super) fn if_exists(&mut self) -> bool {
        self.eat_all(&[K::If, K::Exists])
    }

    /// Parses a quoted path; returns its text and span.
    pub(super) fn path_text(&mut self) -> Result<(std::sync::Arc<str>, Span)> {
        let start = self.peek().span;
        if !self.peek().kind.is_string() {
            return Err(self.expected("a path in quotes"));
        }
        let text = self.string()?;
        Ok((text, self.since(start)))
    }
}

/// True unless the option's value turns it off.
fn is_on(option: &StatementOption) -> bool {
    match &option.value {
        Some(Expr { kind: ExprKind::Literal(crate::ast::Literal::Boolean(value)), .. }) => *value,
        Some(value) => value.as_word().is_none_or(|word| !matches!(&*word.to_lowercase(), "off" | "false")),
        None => true,
    }
}
