//! Scripts: sequences of statements separated by semicolons.
//!
//! A script is read one statement at a time, so that a shell runs the statements before a mistake. A statement's end is
//! found by lexing alone: after a syntax error, the next statement can be read; after an unclosed quote, there is none.

use std::sync::Arc;

use godwit_common::{Error, INLINE_LEVELS_MAX, Result, Span, SqlState, with_stack};

use crate::ast::{DataType, Expr, Parameter, Query, Statement};
use crate::lex::{Lexer, Symbol, Token, TokenKind};
use crate::parse::Parser;

use crate::{DEPTH_MAX, TEXT_BYTES_MAX};

/// A statement of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedStatement {
    /// The syntax tree.
    pub statement: Statement,
    /// Its span in the text, without the semicolon.
    pub span: Span,
    /// Its parameters.
    pub parameters: Parameters,
    /// Upper bound on the depth of its tree, in levels; recursion along it needs stack in proportion.
    pub depth: usize,
}

/// The parameters of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    /// The highest number; numbered parameters are those from 1 to it.
    pub count: u32,
    /// The names, in order of first use.
    pub names: Vec<Arc<str>>,
}

impl Parameters {
    /// Returns the parameter that a question mark stands for.
    pub(crate) fn next(&mut self) -> Parameter {
        self.numbered(self.count.saturating_add(1))
    }

    pub(crate) fn numbered(&mut self, number: u32) -> Parameter {
        self.count = self.count.max(number);
        Parameter::Number(number)
    }

    pub(crate) fn named(&mut self, name: Arc<str>) -> Parameter {
        if !self.names.contains(&name) {
            self.names.push(Arc::clone(&name));
        }
        Parameter::Name(name)
    }
}

impl Parameter {
    /// The highest number that a parameter can have.
    pub const NUMBER_MAX: u32 = 65_535;
}

/// Reads a script statement by statement.
#[derive(Debug, Clone)]
pub struct Script<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Script<'a> {
    /// Starts at the beginning of the text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the next statement or its error; `None` after the last. After a syntax error, reading continues behind
    /// the next semicolon.
    pub fn next_statement(&mut self) -> Option<Result<ParsedStatement>> {
        let tokens = match self.next_tokens()? {
            Ok(tokens) => tokens,
            Err(error) => return Some(Err(error)),
        };
        let span = span_of(&tokens);
        Some(parse(self.text, &tokens, Parser::statement).map(|(statement, parameters, depth)| ParsedStatement {
            statement,
            span,
            parameters,
            depth,
        }))
    }

    /// Returns the tokens of the next non-empty statement, followed by an end token.
    fn next_tokens(&mut self) -> Option<Result<Vec<Token>>> {
        let mut lexer = Lexer::new(self.text, self.at);
        let mut tokens: Vec<Token> = Vec::new();
        loop {
            let token = match lexer.next() {
                Ok(token) => token,
                Err(error) => {
                    self.at = self.text.len();
                    return Some(Err(error));
                }
            };
            let is_end = matches!(token.kind, TokenKind::End | TokenKind::Symbol(Symbol::Semicolon));
            if !is_end {
                tokens.push(token);
                continue;
            }
            self.at = token.span.end as usize;
            if !tokens.is_empty() {
                tokens.push(Token { kind: TokenKind::End, span: token.span });
                return Some(check_length(&tokens).map(|()| tokens));
            }
            if token.kind == TokenKind::End {
                return None;
            }
        }
    }
}

impl Iterator for Script<'_> {
    type Item = Result<ParsedStatement>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_statement()
    }
}

/// Returns the span from the first token to the last before the end.
fn span_of(tokens: &[Token]) -> Span {
    match tokens {
        [first, .., last, _] => first.span.to(last.span),
        [only, ..] => only.span,
        [] => Span::NONE,
    }
}

fn check_length(tokens: &[Token]) -> Result<()> {
    let span = span_of(tokens);
    let bytes = (span.end - span.start) as usize;
    if bytes <= TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(Error::user(format!("the statement is {bytes} bytes long, at most {TEXT_BYTES_MAX} are accepted"))
        .with_code(SqlState::STATEMENT_TOO_COMPLEX)
        .with_hint("load many rows with COPY … FROM a file")
        .at_span(Span { start: span.start, end: span.start + 1 }))
}

/// Runs a parser rule on all tokens: on this stack if they are nested as usual, otherwise on a larger one.
fn parse<'a, T: Send>(
    text: &'a str,
    tokens: &'a [Token],
    rule: fn(&mut Parser<'a>) -> Result<T>,
) -> Result<(T, Parameters, usize)> {
    let run = |depth_max| {
        let mut parser = Parser::new(text, tokens, depth_max);
        let parsed = rule(&mut parser).and_then(|parsed| parser.expect_end().map(|()| parsed));
        let (is_too_deep, depth) = (parser.is_too_deep, parser.height());
        (parsed.map(|parsed| (parsed, parser.parameters, depth)), is_too_deep)
    };
    match run(INLINE_LEVELS_MAX) {
        (_, true) => with_stack(DEPTH_MAX, || run(DEPTH_MAX).0),
        (parsed, false) => parsed,
    }
}

/// Runs a parser rule on text that isn't a script.
fn parse_all<T: Send>(text: &str, rule: for<'a> fn(&mut Parser<'a>) -> Result<T>) -> Result<T> {
    let mut lexer = Lexer::new(text, 0);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            break;
        }
    }
    check_length(&tokens)?;
    parse(text, &tokens, rule).map(|(parsed, ..)| parsed)
}

/// Parses all statements of a script.
pub fn parse_script(sql: &str) -> Result<Vec<ParsedStatement>> {
    Script::new(sql).collect()
}

/// Parses a query.
pub fn parse_query(sql: &str) -> Result<Query> {
    parse_all(sql, |parser| parser.query())
}

/// Parses an expression.
pub fn parse_expression(sql: &str) -> Result<Expr> {
    parse_all(sql, |parser| parser.expr())
}

/// Parses a type.
pub fn parse_data_type(sql: &str) -> Result<DataType> {
    parse_all(sql, |parser| parser.data_type())
}

/// Returns the spans of a script's statements up to the first that has no end, and the error of that one.
pub fn split_script(sql: &str) -> (Vec<Span>, Option<Error>) {
    let mut script = Script::new(sql);
    let mut spans = Vec::new();
    loop {
        match script.next_tokens() {
            Some(Ok(tokens)) => spans.push(span_of(&tokens)),
            Some(Err(error)) => return (spans, Some(error)),
            None => return (spans, None),
        }
    }
}

/// True if a shell may run the text: it ends in a semicolon outside of quotes, comments and parentheses, or more text
/// can't make it valid.
pub fn is_complete(sql: &str) -> bool {
    let mut lexer = Lexer::new(sql, 0);
    let (mut open, mut ends) = (0_usize, false);
    loop {
        match lexer.next() {
            Ok(Token { kind: TokenKind::End, .. }) => return ends,
            Ok(Token { kind: TokenKind::Symbol(symbol), .. }) => {
                match symbol {
                    Symbol::LeftParen | Symbol::LeftBracket | Symbol::LeftBrace => open += 1,
                    Symbol::RightParen | Symbol::RightBracket | Symbol::RightBrace => open = open.saturating_sub(1),
                    _ => {}
                }
                ends = symbol == Symbol::Semicolon && open == 0;
            }
            Ok(_) => ends = false,
            Err(_) => return !lexer.is_unclosed(),
        }
    }
}
