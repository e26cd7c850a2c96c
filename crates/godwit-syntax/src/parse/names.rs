//! Names, aliases and strings.

use std::sync::Arc;

use godwit_common::{Error, Result, Span};

use super::{Parser, syntax_error};
use crate::ast::{Ident, ObjectName};
use crate::keyword::Keyword;
use crate::lex::{Symbol, Token, TokenKind, literal};

impl Parser<'_> {
    /// True if the token `ahead` tokens after the next one can be a name.
    pub(super) fn is_name_at(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::Word(keyword) => keyword.is_none_or(Keyword::is_name),
            kind => kind.is_quoted_name(),
        }
    }

    /// Parses the name of a table, a column or another object.
    pub(super) fn name(&mut self) -> Result<Ident> {
        self.name_of("a name")
    }

    /// Parses a name; `what` describes it in the error.
    pub(super) fn name_of(&mut self, what: &str) -> Result<Ident> {
        if self.is_name_at(0) { self.label() } else { Err(self.expected_name(what)) }
    }

    /// Parses a name where nothing else is possible, so that any word is accepted: after AS or a dot.
    pub(super) fn label(&mut self) -> Result<Ident> {
        let token = self.peek();
        match token.kind {
            TokenKind::Word(_) => {
                self.take();
                Ok(Ident::new(self.written(token.span), token.span))
            }
            kind if kind.is_quoted_name() => self.quoted_name(),
            _ => Err(self.expected("a name")),
        }
    }

    fn quoted_name(&mut self) -> Result<Ident> {
        let token = self.take();
        let text = match token.kind {
            TokenKind::UnicodeName => {
                let escape = self.unicode_escape()?;
                literal::unicode(self.written(token.span), escape, token.span)?
            }
            _ => literal::quoted(self.written(token.span)),
        };
        if text.is_empty() {
            return Err(empty_name(token.span));
        }
        Ok(Ident { text: text.into(), quoted: true, span: self.since(token.span) })
    }

    /// `a`, `a.b`, `a.b.c`.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        self.object_name_of("a name")
    }

    /// Parses a name with its qualifiers; `what` describes it in the error.
    pub(super) fn object_name_of(&mut self, what: &str) -> Result<ObjectName> {
        let first = self.name_of(what)?;
        self.qualified(first)
    }

    /// Parses the rest of a qualified name.
    pub(super) fn qualified(&mut self, first: Ident) -> Result<ObjectName> {
        let start = first.span;
        let mut parts = vec![first];
        while self.is_symbol(Symbol::Dot) {
            self.take();
            parts.push(self.label()?);
        }
        Ok(ObjectName { parts, span: self.since(start) })
    }

    /// `(a, b)`.
    pub(super) fn names_in_parens(&mut self) -> Result<Vec<Ident>> {
        self.in_parens(Self::name)
    }

    /// `(a, b)`, if present.
    pub(super) fn optional_names_in_parens(&mut self) -> Result<Vec<Ident>> {
        if self.is_symbol(Symbol::LeftParen) { self.names_in_parens() } else { Ok(Vec::new()) }
    }

    /// Parses a label after AS, which may be a string, or an alias without AS that isn't one of `excluded`.
    pub(super) fn optional_alias(&mut self, excluded: &[Keyword]) -> Result<Option<Ident>> {
        if self.eat(Keyword::As) {
            return self.label_or_text().map(Some);
        }
        let is_alias = match self.kind_at(0) {
            TokenKind::Word(Some(keyword)) => keyword.is_bare_alias() && !excluded.contains(&keyword),
            TokenKind::Word(None) => true,
            kind => kind.is_quoted_name(),
        };
        if is_alias { self.label().map(Some) } else { Ok(None) }
    }

    /// Parses a label, or a string used as one.
    pub(super) fn label_or_text(&mut self) -> Result<Ident> {
        if !self.peek().kind.is_string() {
            return self.label();
        }
        let start = self.peek().span;
        let text = self.string()?;
        let span = self.since(start);
        if text.is_empty() { Err(empty_name(span)) } else { Ok(Ident { text, quoted: true, span }) }
    }

    /// Parses a string in any kind of quotes. Strings separated by a line break are concatenated.
    pub(super) fn string(&mut self) -> Result<Arc<str>> {
        let first = self.peek();
        if !first.kind.is_string() {
            return Err(self.expected("a text in quotes"));
        }
        self.take();
        let mut text = self.string_value(first)?;
        while self.peek().kind == TokenKind::String && self.has_line_break_before() {
            let next = self.take();
            text += &self.string_value(Token { kind: next.kind, span: next.span })?;
        }
        Ok(text.into())
    }

    fn string_value(&mut self, token: Token) -> Result<String> {
        let written = self.written(token.span);
        match token.kind {
            TokenKind::EscapeString => literal::escaped(written, token.span),
            TokenKind::DollarString => Ok(literal::dollar_quoted(written).to_owned()),
            TokenKind::UnicodeString => {
                let escape = self.unicode_escape()?;
                literal::unicode(written, escape, token.span)
            }
            _ => Ok(literal::quoted(written)),
        }
    }

    /// True if there is a line break before the next token.
    fn has_line_break_before(&self) -> bool {
        let between = Span { start: self.tokens[self.at - 1].span.end, end: self.peek().span.start };
        self.written(between).contains('\n')
    }

    /// `UESCAPE '!'`; a backslash if omitted.
    fn unicode_escape(&mut self) -> Result<char> {
        if !(self.is(Keyword::Uescape) && self.kind_at(1) == TokenKind::String) {
            return Ok('\\');
        }
        self.take();
        let token = self.take();
        let text = literal::quoted(self.written(token.span));
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(escape), None) if !escape.is_ascii_hexdigit() && !"+'\"".contains(escape) && escape != ' ' => {
                Ok(escape)
            }
            _ => Err(syntax_error("UESCAPE takes one character that is no digit, letter to f, plus or quote")
                .at_span(token.span)),
        }
    }
}

fn empty_name(span: Span) -> Error {
    syntax_error("a name in quotes is empty").at_span(span)
}
