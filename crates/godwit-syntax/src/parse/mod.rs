//! Tokens to trees: recursive descent for statements and clauses, precedence climbing for expressions.
//!
//! The parser never backtracks: alternatives with a common beginning are distinguished by bounded lookahead or are
//! parsed as the more general form, so the time is linear in the number of tokens.
//!
//! Depth is counted in one place, [`Parser::nested`]. `depth` levels are open around the current token, and the tallest
//! tree completed inside the current level has `height` levels; neither nesting to the right nor chains to the left can
//! make a tree with more than [`DEPTH_MAX`](crate::DEPTH_MAX) levels.

mod alter;
mod call;
mod copy;
mod create;
mod create_table;
mod data_type;
mod expression;
mod from;
pub(crate) mod level;
mod names;
mod pivot;
mod primary;
mod query;
mod select;
mod session;
mod special;
mod statement;
mod window;
mod write;

use godwit_common::{Error, Result, Span, SqlState};

use crate::DEPTH_MAX;
use crate::keyword::{Class, Keyword};
use crate::lex::{Symbol, Token, TokenKind};
use crate::script::Parameters;

/// Parses one statement, query, expression or type.
pub(crate) struct Parser<'a> {
    /// The whole script, to which spans refer.
    text: &'a str,
    /// The last is [`TokenKind::End`].
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    height: usize,
    depth_max: usize,
    /// True once the statement has turned out to be deeper than `depth_max`.
    pub(crate) is_too_deep: bool,
    pub(crate) parameters: Parameters,
}

impl<'a> Parser<'a> {
    /// Creates a parser. `tokens` end with [`TokenKind::End`]; trees have at most `depth_max` levels.
    pub(crate) fn new(text: &'a str, tokens: &'a [Token], depth_max: usize) -> Self {
        assert!(matches!(tokens.last(), Some(Token { kind: TokenKind::End, .. })), "statements end");
        let parameters = Parameters::default();
        Self { text, tokens, at: 0, depth: 0, height: 0, depth_max, is_too_deep: false, parameters }
    }

    /// Returns the depth of the parsed tree.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Parses one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = std::mem::take(&mut self.height);
        self.depth += 1;
        self.check_depth()?;
        let parsed = parse(self)?;
        self.depth -= 1;
        self.height = around.max(self.height + 1);
        Ok(parsed)
    }

    /// Records that the tree parsed on this level becomes the child of a new node.
    fn wrap(&mut self) -> Result<()> {
        self.height += 1;
        self.check_depth()
    }

    fn check_depth(&mut self) -> Result<()> {
        if self.depth + self.height <= self.depth_max {
            return Ok(());
        }
        self.is_too_deep = true;
        Err(Error::user(format!("the statement is nested deeper than {DEPTH_MAX} levels"))
            .with_code(SqlState::STATEMENT_TOO_COMPLEX)
            .with_hint(
                "split it, with temporary views or common table expressions, and write long chains of OR as IN (…)",
            )
            .at_span(self.peek().span))
    }

    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// Returns the token `ahead` tokens after the next one.
    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.peek_at(ahead).kind
    }

    /// Consumes the next token, unless it is the end.
    fn take(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// Returns the text at a span.
    fn written(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Returns the span from the start of `first` to the end of the last consumed token.
    fn since(&self, first: Span) -> Span {
        match self.at.checked_sub(1) {
            Some(last) if self.tokens[last].span.end >= first.end => first.to(self.tokens[last].span),
            _ => first,
        }
    }

    /// Returns the keyword `ahead` tokens after the next one.
    fn keyword_at(&self, ahead: usize) -> Option<Keyword> {
        match self.kind_at(ahead) {
            TokenKind::Word(keyword) => keyword,
            _ => None,
        }
    }

    fn keyword(&self) -> Option<Keyword> {
        self.keyword_at(0)
    }

    fn symbol_at(&self, ahead: usize) -> Option<Symbol> {
        match self.kind_at(ahead) {
            TokenKind::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn symbol(&self) -> Option<Symbol> {
        self.symbol_at(0)
    }

    fn is(&self, keyword: Keyword) -> bool {
        self.keyword() == Some(keyword)
    }

    fn is_symbol(&self, symbol: Symbol) -> bool {
        self.symbol() == Some(symbol)
    }

    /// True if these words come next.
    fn are(&self, keywords: &[Keyword]) -> bool {
        keywords.iter().enumerate().all(|(ahead, &keyword)| self.keyword_at(ahead) == Some(keyword))
    }

    fn eat(&mut self, keyword: Keyword) -> bool {
        self.eat_all(&[keyword])
    }

    /// Consumes these words if all of them come next.
    fn eat_all(&mut self, keywords: &[Keyword]) -> bool {
        let are_there = self.are(keywords);
        if are_there {
            self.at += keywords.len();
        }
        are_there
    }

    /// Consumes one of these words.
    fn eat_any(&mut self, keywords: &[Keyword]) -> Option<Keyword> {
        let keyword = self.keyword().filter(|keyword| keywords.contains(keyword))?;
        self.at += 1;
        Some(keyword)
    }

    fn eat_symbol(&mut self, symbol: Symbol) -> bool {
        let is_there = self.is_symbol(symbol);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    fn expect(&mut self, keyword: Keyword) -> Result<()> {
        if self.eat(keyword) { Ok(()) } else { Err(self.expected(&keyword.text())) }
    }

    fn expect_all(&mut self, keywords: &[Keyword]) -> Result<()> {
        keywords.iter().try_for_each(|&keyword| self.expect(keyword))
    }

    fn expect_symbol(&mut self, symbol: Symbol) -> Result<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { Err(self.expected(symbol.text())) }
    }

    /// Consumes the parenthesis that closes the one at `open`.
    fn expect_close(&mut self, open: Span) -> Result<()> {
        self.expect_closing(Symbol::RightParen, open)
    }

    /// Consumes the bracket that closes the one at `open`.
    fn expect_closing(&mut self, close: Symbol, open: Span) -> Result<()> {
        if self.eat_symbol(close) {
            return Ok(());
        }
        let error = self.expected(close.text());
        let line = self.text[..open.start as usize].bytes().filter(|&byte| byte == b'\n').count() + 1;
        let has_hint = error.hint().is_some();
        let opening = self.written(open);
        Err(if has_hint { error } else { error.with_hint(format!("the {opening} in line {line} isn't closed")) })
    }

    /// Parses one or more items, separated by commas.
    fn comma_list<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![parse(self)?];
        while self.eat_symbol(Symbol::Comma) {
            items.push(parse(self)?);
        }
        Ok(items)
    }

    /// `(a, b)`; at least one.
    fn in_parens<T>(&mut self, parse: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let items = self.comma_list(parse)?;
        self.expect_close(open)?;
        Ok(items)
    }

    /// Fails unless all tokens have been read.
    pub(crate) fn expect_end(&self) -> Result<()> {
        if self.peek().kind == TokenKind::End { Ok(()) } else { Err(self.expected("the end of the statement")) }
    }

    /// Returns an error at the next token.
    fn error(&self, message: impl Into<String>) -> Error {
        syntax_error(message).at_span(self.peek().span)
    }

    /// Returns the error "expected …, found …" at the next token.
    fn expected(&self, what: &str) -> Error {
        let token = self.peek();
        let error = self.error(format!("expected {what}, found {}", self.found(token)));
        match token.kind {
            TokenKind::BadNumber => self.bad_number(token),
            TokenKind::Word(Some(Keyword::From)) if self.at > 0 && self.tokens[self.at - 1].kind == COMMA => {
                error.with_hint("remove the comma before FROM")
            }
            _ => error,
        }
    }

    /// Describes a token for an error.
    fn found(&self, token: Token) -> String {
        const LENGTH_MAX: usize = 40;
        if token.kind == TokenKind::End {
            return "the end of the statement".to_owned();
        }
        let written = self.written(token.span);
        match written.char_indices().nth(LENGTH_MAX) {
            Some((end, _)) => format!("{}…", &written[..end]),
            None => written.to_owned(),
        }
    }

    /// Returns the error about a number with letters after it.
    fn bad_number(&self, token: Token) -> Error {
        syntax_error(format!("{} is no number", self.found(token)))
            .with_hint("underscores stand between digits only, and a name can't begin with a digit unless it is quoted")
            .at_span(token.span)
    }

    /// Returns the error "expected a …, found the reserved word …".
    fn expected_name(&self, what: &str) -> Error {
        let token = self.peek();
        match token.kind {
            TokenKind::Word(Some(keyword)) if matches!(keyword.class(), Class::Reserved | Class::Join) => {
                let written = self.written(token.span);
                self.expected(what).with_hint(format!("{written} is a reserved word; as a name it is \"{written}\""))
            }
            _ => self.expected(what),
        }
    }
}

const COMMA: TokenKind = TokenKind::Symbol(Symbol::Comma);

fn syntax_error(message: impl Into<String>) -> Error {
    Error::user(message).with_code(SqlState::SYNTAX_ERROR)
}
