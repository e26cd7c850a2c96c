//! Operands: literals, names, parentheses, lists, CASE, CAST; and the postfix operators directly after them.

use std::sync::Arc;

use godwit_common::{Result, Span};

use super::level::LOWEST;
use super::{Parser, syntax_error};
use crate::ast::{
    Argument, CaseBranch, Columns, Expr, ExprKind, Ident, ListComprehension, Literal, MapEntry, ObjectName, Parameter,
    Query, Renaming, Replacement, StructField, Wildcard,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind, literal};

/// The contents of parentheses.
pub(super) enum Parens {
    Query(Box<Query>),
    /// At least one.
    Exprs(Vec<Expr>),
}

impl Parser<'_> {
    /// Parses a value without prefix operators.
    pub(super) fn primary(&mut self) -> Result<Expr> {
        let token = self.peek();
        let start = token.span;
        let kind = match token.kind {
            TokenKind::Word(keyword) => return self.word_primary(keyword),
            TokenKind::Number => {
                self.take();
                ExprKind::Literal(Literal::Number(literal::number(self.written(start)).into()))
            }
            TokenKind::Blob => {
                self.take();
                ExprKind::Literal(Literal::Blob(literal::blob(self.written(start), start)?.into()))
            }
            TokenKind::Bits => {
                self.take();
                ExprKind::Literal(Literal::Bits(literal::bits(self.written(start), start)?.into()))
            }
            TokenKind::Parameter => {
                self.take();
                self.parameter(&self.written(start)[1..], start)?
            }
            kind if kind.is_string() => ExprKind::Literal(Literal::String(self.string()?)),
            kind if kind.is_quoted_name() => return self.path(),
            TokenKind::Symbol(symbol) => match symbol {
                Symbol::LeftParen => {
                    let parens = self.query_or_exprs()?;
                    return Ok(self.value_of(parens, start));
                }
                Symbol::LeftBracket => return self.list(start),
                Symbol::LeftBrace => self.struct_literal()?,
                Symbol::Star => return self.star(),
                Symbol::Question => {
                    self.take();
                    ExprKind::Parameter(self.parameters.next())
                }
                Symbol::Colon if matches!(self.kind_at(1), TokenKind::Word(_)) => {
                    self.take();
                    let name = self.take();
                    self.parameter(self.written(name.span), start)?
                }
                Symbol::Hash if self.kind_at(1) == TokenKind::Number => self.position()?,
                _ => return Err(self.expected("an expression")),
            },
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// Parses a parameter by its number or name.
    fn parameter(&mut self, name: &str, span: Span) -> Result<ExprKind> {
        if !name.starts_with(|first: char| first.is_ascii_digit()) {
            let name: Arc<str> = name.to_lowercase().into();
            return Ok(ExprKind::Parameter(self.parameters.named(name)));
        }
        let number =
            name.parse().ok().filter(|number| (1..=Parameter::NUMBER_MAX).contains(number)).ok_or_else(|| {
                syntax_error(format!("parameters are numbered from 1 to {}", Parameter::NUMBER_MAX)).at_span(span)
            })?;
        Ok(ExprKind::Parameter(self.parameters.numbered(number)))
    }

    /// `#2`.
    fn position(&mut self) -> Result<ExprKind> {
        self.take();
        let token = self.take();
        let position = self.written(token.span).parse().ok().filter(|&position: &u32| position > 0);
        position
            .map(ExprKind::Position)
            .ok_or_else(|| syntax_error("a position is an integer from 1 on").at_span(token.span))
    }

    /// Parses a value that begins with a word.
    fn word_primary(&mut self, keyword: Option<K>) -> Result<Expr> {
        let start = self.peek().span;
        let next = self.symbol_at(1);
        let has_parens = next == Some(Symbol::LeftParen);
        let Some(keyword) = keyword else { return self.named_primary(has_parens) };
        let kind = match keyword {
            K::Null => self.word_literal(Literal::Null),
            K::True => self.word_literal(Literal::Boolean(true)),
            K::False => self.word_literal(Literal::Boolean(false)),
            K::Default => {
                self.take();
                ExprKind::Default
            }
            K::Case => self.case()?,
            K::Cast | K::TryCast if has_parens => self.cast(keyword == K::TryCast)?,
            K::Exists if has_parens => {
                self.take();
                ExprKind::Exists(self.query_in_parens()?)
            }
            K::Array if has_parens => {
                self.take();
                ExprKind::ArraySubquery(self.query_in_parens()?)
            }
            K::Array if next == Some(Symbol::LeftBracket) => {
                self.take();
                return self.list(start);
            }
            K::Row if has_parens => {
                self.take();
                let items = self.exprs_in_parens()?;
                if items.is_empty() {
                    return Err(syntax_error("a row has at least one value").at_span(self.since(start)));
                }
                ExprKind::Row { items, explicit: true }
            }
            K::Map if next == Some(Symbol::LeftBrace) => self.map_literal()?,
            K::Columns if has_parens => self.columns(None, false)?,
            K::Lambda if self.is_lambda_keyword() => self.lambda_keyword()?,
            K::Interval if self.is_interval() => self.interval()?,
            _ => match self.special_call(keyword, has_parens)? {
                Some(call) => ExprKind::Call(Box::new(call)),
                None => return self.named_primary(has_parens),
            },
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn word_literal(&mut self, literal: Literal) -> ExprKind {
        self.take();
        ExprKind::Literal(literal)
    }

    /// Parses a typed literal, a column, or a call.
    fn named_primary(&mut self, has_parens: bool) -> Result<Expr> {
        let start = self.peek().span;
        if self.is_typed_literal() {
            let data_type = Box::new(self.data_type()?);
            let kind = ExprKind::TypedLiteral { data_type, text: self.string()? };
            return Ok(Expr { kind, span: self.since(start) });
        }
        match self.keyword() {
            Some(keyword) if !(keyword.is_name() || has_parens && keyword.is_function_name()) => {
                Err(self.expected_name("an expression"))
            }
            _ => self.path(),
        }
    }

    /// True if a type and a string come next: `DATE '…'`, `TIMESTAMP WITH TIME ZONE '…'`, `DECIMAL(5, 2) '…'`.
    fn is_typed_literal(&self) -> bool {
        if !self.is_name_at(0) {
            return false;
        }
        let mut at = match self.keyword_at(1) {
            Some(K::Precision | K::Varying | K::Unsigned) => 2,
            _ => 1,
        };
        if self.symbol_at(at) == Some(Symbol::LeftParen) && self.kind_at(at + 1) == TokenKind::Number {
            at += 2;
            if self.symbol_at(at) == Some(Symbol::Comma) && self.kind_at(at + 1) == TokenKind::Number {
                at += 2;
            }
            if self.symbol_at(at) != Some(Symbol::RightParen) {
                return false;
            }
            at += 1;
        }
        if matches!(self.keyword_at(at), Some(K::With | K::Without)) && self.keyword_at(at + 1) == Some(K::Time) {
            at += 3;
        }
        self.kind_at(at).is_string()
    }

    /// Parses whatever begins with a name: a column, a table's wildcard, or a call.
    fn path(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let mut parts = vec![self.label()?];
        while self.is_symbol(Symbol::Dot) {
            let qualifier = |parts, parser: &Self| Some(ObjectName { parts, span: parser.since(start) });
            match self.kind_at(1) {
                TokenKind::Symbol(Symbol::Star) => {
                    let qualifier = qualifier(parts, self);
                    self.take();
                    return self.wildcard(qualifier, start);
                }
                TokenKind::Word(Some(K::Columns)) if self.symbol_at(2) == Some(Symbol::LeftParen) => {
                    let qualifier = qualifier(parts, self);
                    self.take();
                    let kind = self.columns(qualifier, false)?;
                    return Ok(Expr { kind, span: self.since(start) });
                }
                _ => {
                    self.take();
                    parts.push(self.label()?);
                }
            }
        }
        if self.is_symbol(Symbol::LeftParen) {
            let name = ObjectName { parts, span: self.since(start) };
            return self.call_expr(name, Vec::new(), start);
        }
        Ok(Expr { kind: ExprKind::Column(parts), span: self.since(start) })
    }

    /// `*` or `*COLUMNS(…)`.
    fn star(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        if self.keyword_at(1) == Some(K::Columns) && self.symbol_at(2) == Some(Symbol::LeftParen) {
            self.take();
            let kind = self.columns(None, true)?;
            return Ok(Expr { kind, span: self.since(start) });
        }
        self.wildcard(None, start)
    }

    /// Parses the star and the columns that it leaves out or replaces.
    fn wildcard(&mut self, qualifier: Option<ObjectName>, start: Span) -> Result<Expr> {
        self.expect_symbol(Symbol::Star)?;
        let mut wildcard = Wildcard { qualifier, ..Wildcard::default() };
        let has_list = |parser: &Self| parser.symbol_at(1) == Some(Symbol::LeftParen);
        if self.is(K::Exclude) || self.is(K::Except) && has_list(self) && self.is_name_at(2) {
            self.take();
            wildcard.exclude = self.one_or_list(Self::object_name)?;
        }
        if self.eat(K::Replace) {
            wildcard.replace = self.one_or_list(|parser| {
                let expr = parser.expr()?;
                parser.expect(K::As)?;
                Ok(Replacement { expr, name: parser.object_name()? })
            })?;
        }
        if self.eat(K::Rename) {
            wildcard.rename = self.one_or_list(|parser| {
                let from = parser.object_name()?;
                parser.expect(K::As)?;
                Ok(Renaming { from, to: parser.label()? })
            })?;
        }
        Ok(Expr { kind: ExprKind::Wildcard(Box::new(wildcard)), span: self.since(start) })
    }

    /// Parses a list in parentheses, or a single part without them.
    fn one_or_list<T>(&mut self, mut part: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.is_symbol(Symbol::LeftParen) { self.in_parens(part) } else { Ok(vec![part(self)?]) }
    }

    /// `COLUMNS(selection)`.
    fn columns(&mut self, qualifier: Option<ObjectName>, unpack: bool) -> Result<ExprKind> {
        self.expect(K::Columns)?;
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let selection = self.argument(false)?.value;
        self.expect_close(open)?;
        Ok(ExprKind::Columns(Box::new(Columns { selection, qualifier, unpack })))
    }

    /// `(…)`: a query or expressions. Redundant parentheses around a query are dropped.
    pub(super) fn query_or_exprs(&mut self) -> Result<Parens> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let parens = if self.starts_query() {
            Parens::Query(Box::new(self.query()?))
        } else if self.is_symbol(Symbol::LeftParen) {
            let start = self.peek().span;
            match self.nested(Self::query_or_exprs)? {
                Parens::Query(query) if self.is_symbol(Symbol::RightParen) => Parens::Query(query),
                Parens::Query(query) if self.continues_query() => {
                    Parens::Query(Box::new(self.query_from_parens(query, start)?))
                }
                inner => {
                    let first = self.value_of(inner, start);
                    let first = self.operators(first, start, LOWEST)?;
                    Parens::Exprs(self.more_exprs(first)?)
                }
            }
        } else {
            let first = self.expr()?;
            Parens::Exprs(self.more_exprs(first)?)
        };
        self.expect_close(open)?;
        Ok(parens)
    }

    fn more_exprs(&mut self, first: Expr) -> Result<Vec<Expr>> {
        let mut exprs = vec![first];
        while self.eat_symbol(Symbol::Comma) {
            exprs.push(self.expr()?);
        }
        Ok(exprs)
    }

    /// Returns the value of parentheses that began at `start` and have just been closed.
    fn value_of(&self, parens: Parens, start: Span) -> Expr {
        let kind = match parens {
            Parens::Query(query) => ExprKind::Subquery(query),
            Parens::Exprs(mut items) if items.len() == 1 => return items.pop().expect("there is one"),
            Parens::Exprs(items) => ExprKind::Row { items, explicit: false },
        };
        Expr { kind, span: self.since(start) }
    }

    /// `(query)`.
    pub(super) fn query_in_parens(&mut self) -> Result<Box<Query>> {
        let start = self.peek().span;
        match self.query_or_exprs()? {
            Parens::Query(query) => Ok(query),
            Parens::Exprs(_) => Err(syntax_error("expected a query in the parentheses").at_span(start)),
        }
    }

    /// `(a, b)`, `()`.
    pub(super) fn exprs_in_parens(&mut self) -> Result<Vec<Expr>> {
        if self.symbol_at(1) == Some(Symbol::RightParen) {
            self.expect_symbol(Symbol::LeftParen)?;
            self.take();
            return Ok(Vec::new());
        }
        self.in_parens(Self::expr)
    }

    /// `[a, b]`, or `[x FOR x IN l IF c]`. `start` is the span of ARRAY, if it was written.
    fn list(&mut self, start: Span) -> Result<Expr> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftBracket)?;
        let mut items = Vec::new();
        while !self.is_symbol(Symbol::RightBracket) {
            items.push(self.expr()?);
            if items.len() == 1 && self.is(K::For) {
                let result = items.pop().expect("it was just pushed");
                return self.comprehension(result, open, start);
            }
            if !self.eat_symbol(Symbol::Comma) {
                break;
            }
        }
        self.expect_closing(Symbol::RightBracket, open)?;
        Ok(Expr { kind: ExprKind::List(items), span: self.since(start) })
    }

    fn comprehension(&mut self, result: Expr, open: Span, start: Span) -> Result<Expr> {
        self.expect(K::For)?;
        let variables = self.comma_list(Self::name)?;
        self.expect(K::In)?;
        let source = self.expr()?;
        let condition = if self.eat(K::If) { Some(self.expr()?) } else { None };
        self.expect_closing(Symbol::RightBracket, open)?;
        let kind = ExprKind::ListComprehension(Box::new(ListComprehension { result, variables, source, condition }));
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `{'a': 1, b: 2}`.
    fn struct_literal(&mut self) -> Result<ExprKind> {
        let fields = self.in_braces(|parser| {
            let name = parser.label_or_text()?;
            parser.expect_symbol(Symbol::Colon)?;
            Ok(StructField { name, value: parser.expr()? })
        })?;
        Ok(ExprKind::Struct(fields))
    }

    /// `MAP {k: v}`.
    fn map_literal(&mut self) -> Result<ExprKind> {
        self.take();
        let entries = self.in_braces(|parser| {
            let key = parser.expr()?;
            parser.expect_symbol(Symbol::Colon)?;
            Ok(MapEntry { key, value: parser.expr()? })
        })?;
        Ok(ExprKind::Map(entries))
    }

    fn in_braces<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftBrace)?;
        let mut items = Vec::new();
        while !self.is_symbol(Symbol::RightBrace) {
            items.push(parse(self)?);
            if !self.eat_symbol(Symbol::Comma) {
                break;
            }
        }
        self.expect_closing(Symbol::RightBrace, open)?;
        Ok(items)
    }

    fn case(&mut self) -> Result<ExprKind> {
        self.expect(K::Case)?;
        let operand = if self.is(K::When) { None } else { Some(Box::new(self.expr()?)) };
        let mut branches = Vec::new();
        while branches.is_empty() || self.is(K::When) {
            self.expect(K::When)?;
            let when = self.expr()?;
            self.expect(K::Then)?;
            branches.push(CaseBranch { when, then: self.expr()? });
        }
        let otherwise = if self.eat(K::Else) { Some(Box::new(self.expr()?)) } else { None };
        self.expect(K::End)?;
        Ok(ExprKind::Case { operand, branches, otherwise })
    }

    fn cast(&mut self, is_try: bool) -> Result<ExprKind> {
        self.take();
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let operand = Box::new(self.expr()?);
        self.expect(K::As)?;
        let data_type = Box::new(self.data_type()?);
        self.expect_close(open)?;
        Ok(ExprKind::Cast { operand, data_type, is_try })
    }

    /// Parses what directly follows a value: `::t`, `[…]`, `.name`. Returns `left` if none of these comes next.
    pub(super) fn postfix(&mut self, left: Expr, start: Span) -> Result<Expr> {
        let operand = Box::new(left);
        let kind = match self.symbol() {
            Some(Symbol::DoubleColon) => {
                self.take();
                let data_type = Box::new(self.data_type()?);
                ExprKind::Cast { operand, data_type, is_try: false }
            }
            Some(Symbol::LeftBracket) => self.subscript(operand)?,
            Some(Symbol::Dot)
                if matches!(operand.kind, ExprKind::Literal(Literal::Number(_)))
                    && self.symbol_at(2) != Some(Symbol::LeftParen) =>
            {
                return Err(self.error("a number has no fields"));
            }
            Some(Symbol::Dot) if self.symbol_at(1) == Some(Symbol::Star) => {
                self.at += 2;
                ExprKind::AllFields(operand)
            }
            Some(Symbol::Dot) => {
                self.take();
                let is_keyword = self.keyword().is_some();
                let mut name = self.label()?;
                if self.is_symbol(Symbol::LeftParen) {
                    // A name before arguments isn't one of the words with special syntax.
                    name.quoted |= is_keyword;
                    self.wrap()?;
                    let first = Argument { name: None, value: *operand };
                    return self.call_expr(ObjectName::of(name), vec![first], start);
                }
                ExprKind::Field { operand, name }
            }
            _ => return Ok(*operand),
        };
        self.wrap()?;
        Ok(Expr { kind, span: self.since(start) })
    }

    /// `[index]`, `[low:high:step]`. A bound may be omitted or written as `-`.
    fn subscript(&mut self, operand: Box<Expr>) -> Result<ExprKind> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftBracket)?;
        let low = self.bound()?;
        let kind = if self.eat_symbol(Symbol::Colon) {
            let high = self.bound()?;
            let step = if self.eat_symbol(Symbol::Colon) { self.bound()? } else { None };
            ExprKind::Slice { operand, low, high, step }
        } else {
            match low {
                Some(index) => ExprKind::Subscript { operand, index },
                None => return Err(self.expected("an expression")),
            }
        };
        self.expect_closing(Symbol::RightBracket, open)?;
        Ok(kind)
    }

    fn bound(&mut self) -> Result<Option<Box<Expr>>> {
        let is_end = |symbol: Option<Symbol>| matches!(symbol, Some(Symbol::Colon | Symbol::RightBracket));
        if self.is_symbol(Symbol::Minus) && is_end(self.symbol_at(1)) {
            self.take();
        }
        if is_end(self.symbol()) { Ok(None) } else { Ok(Some(Box::new(self.expr()?))) }
    }

    /// True for `lambda x, y: …` and `lambda x: …`.
    fn is_lambda_keyword(&self) -> bool {
        self.is_name_at(1) && matches!(self.symbol_at(2), Some(Symbol::Comma | Symbol::Colon))
    }

    fn lambda_keyword(&mut self) -> Result<ExprKind> {
        self.take();
        let parameters = self.comma_list(Self::name)?;
        self.expect_symbol(Symbol::Colon)?;
        let body = Box::new(self.expr()?);
        Ok(ExprKind::Lambda { parameters, body, keyword: true })
    }

    /// Parses the parameters of `x -> …` or `(x, y) -> …`, if they come next. `x -> 'key'` and `x -> 0` take a part of
    /// a JSON value, but for arguments of functions that take lambdas.
    pub(super) fn lambda_parameters(&mut self, takes_lambda: bool) -> Result<Option<Vec<Ident>>> {
        let is_arrow = self.is_name_at(0) && self.symbol_at(1) == Some(Symbol::Arrow);
        let is_key = matches!(self.kind_at(2), TokenKind::String | TokenKind::Number | TokenKind::Parameter)
            || self.symbol_at(2) == Some(Symbol::Minus) && self.kind_at(3) == TokenKind::Number;
        if is_arrow && !takes_lambda && is_key {
            return Ok(None);
        }
        if is_arrow {
            let name = self.name()?;
            self.take();
            return Ok(Some(vec![name]));
        }
        if !self.is_symbol(Symbol::LeftParen) {
            return Ok(None);
        }
        let mut at = 1;
        while self.is_name_at(at) && self.symbol_at(at + 1) == Some(Symbol::Comma) {
            at += 2;
        }
        let is_lambda = self.is_name_at(at)
            && self.symbol_at(at + 1) == Some(Symbol::RightParen)
            && self.symbol_at(at + 2) == Some(Symbol::Arrow);
        if !is_lambda {
            return Ok(None);
        }
        let names = self.names_in_parens()?;
        self.take();
        Ok(Some(names))
    }
}
