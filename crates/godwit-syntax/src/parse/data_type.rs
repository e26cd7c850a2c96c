//! Types.

use godwit_common::{Error, Result, SqlState};

use super::{Parser, syntax_error};
use crate::ast::{DataType, DataTypeKind, Expr, Ident, ObjectName, StructTypeField};
use crate::keyword::{Class, Keyword as K};
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    /// A type.
    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        self.nested(|parser| {
            let start = parser.peek().span;
            let kind = parser.element_type()?;
            let mut data_type = DataType { kind, span: parser.since(start) };
            while let Some(length) = parser.array_suffix()? {
                parser.wrap()?;
                let kind = DataTypeKind::Array { of: Box::new(data_type), length };
                data_type = DataType { kind, span: parser.since(start) };
            }
            Ok(data_type)
        })
    }

    /// `[]`, `[3]`, `ARRAY`, `ARRAY[3]`.
    fn array_suffix(&mut self) -> Result<Option<Option<u64>>> {
        let has_word = self.eat(K::Array);
        if !self.is_symbol(Symbol::LeftBracket) {
            return Ok(has_word.then_some(None));
        }
        let open = self.take().span;
        let length = if self.peek().kind == TokenKind::Number { Some(self.array_length()?) } else { None };
        self.expect_closing(Symbol::RightBracket, open)?;
        Ok(Some(length))
    }

    fn array_length(&mut self) -> Result<u64> {
        let token = self.take();
        let length = self.written(token.span).parse();
        length.map_err(|_| syntax_error("the length of an array is a positive integer").at_span(token.span))
    }

    /// Parses a type without array suffixes.
    fn element_type(&mut self) -> Result<DataTypeKind> {
        let has_parens = self.symbol_at(1) == Some(Symbol::LeftParen);
        match self.keyword() {
            Some(K::Struct | K::Row) if has_parens => {
                self.take();
                let fields = self.in_parens(|parser| {
                    let name = parser.label()?;
                    Ok(StructTypeField { name, data_type: parser.data_type()? })
                })?;
                Ok(DataTypeKind::Struct(fields))
            }
            Some(K::Map) if has_parens => {
                self.take();
                let open = self.take().span;
                let key = Box::new(self.data_type()?);
                self.expect_symbol(Symbol::Comma)?;
                let value = Box::new(self.data_type()?);
                self.expect_close(open)?;
                Ok(DataTypeKind::Map(key, value))
            }
            Some(K::Enum) if has_parens => {
                self.take();
                Ok(DataTypeKind::Enum(self.in_parens(Self::string)?))
            }
            Some(K::Union) => Err(Error::unsupported("the type UNION")
                .with_code(SqlState::FEATURE_NOT_SUPPORTED)
                .with_hint("use a STRUCT with a field for each alternative")
                .at_span(self.peek().span)),
            _ => self.named_type(),
        }
    }

    fn named_type(&mut self) -> Result<DataTypeKind> {
        let start = self.peek().span;
        let is_type = match self.kind_at(0) {
            TokenKind::Word(keyword) => keyword.is_none_or(|keyword| keyword.class() != Class::Reserved),
            kind => kind.is_quoted_name(),
        };
        if !is_type {
            return Err(self.expected_name("a type"));
        }
        let mut name = self.label()?;
        if !name.quoted
            && let Some(words) = self.type_words(&name)
        {
            name = Ident::new(words, self.since(start));
        }
        let mut name = self.qualified(name)?;
        let arguments =
            if self.is_symbol(Symbol::LeftParen) { self.in_parens(Self::type_argument)? } else { Vec::new() };
        if let [last] = &mut name.parts[..]
            && (last.is("timestamp") || last.is("time"))
            && self.with_time_zone()?
        {
            *last = Ident::new(format!("{} with time zone", last.text.to_lowercase()), self.since(start));
            name = ObjectName::of(last.clone());
        }
        Ok(DataTypeKind::Named { name, arguments })
    }

    /// Returns the full name of a type of several words, without the words after parentheses; `first` was consumed.
    fn type_words(&mut self, first: &Ident) -> Option<String> {
        let next = self.keyword()?;
        let is = |name: &str| first.is(name);
        let words = match next {
            K::Precision if is("double") => "double precision".to_owned(),
            K::Varying if is("character") || is("char") || is("nchar") => "character varying".to_owned(),
            K::Varying if is("bit") => "bit varying".to_owned(),
            K::Unsigned => format!("{} unsigned", first.text.to_lowercase()),
            _ => return None,
        };
        self.take();
        Some(words)
    }

    /// `WITH TIME ZONE`, or `WITHOUT TIME ZONE`, which has no effect.
    fn with_time_zone(&mut self) -> Result<bool> {
        let with = self.is(K::With);
        if (with || self.is(K::Without)) && self.keyword_at(1) == Some(K::Time) {
            self.at += 2;
            self.expect(K::Zone)?;
            return Ok(with);
        }
        Ok(false)
    }

    /// Parses a number, a string, or a word.
    fn type_argument(&mut self) -> Result<Expr> {
        match self.kind_at(0) {
            TokenKind::Number | TokenKind::Word(None) => self.nested(Self::primary),
            TokenKind::Symbol(Symbol::Minus) => self.expr(),
            kind if kind.is_string() => self.nested(Self::primary),
            _ => Err(self.expected("a number")),
        }
    }

    /// Parses a type where a column's definition may omit it.
    pub(super) fn optional_data_type(&mut self, is_end: impl Fn(&Self) -> bool) -> Result<Option<DataType>> {
        if is_end(self) { Ok(None) } else { self.data_type().map(Some) }
    }
}
