//! The syntax of `COPY … TO`.
//!
//! ```text
//! COPY { table [(column, …)] | (query) } TO 'file' [WITH] [( option [value], … )]
//! ```
//!
//! Parsed by hand: the parser crate knows PostgreSQL's options only.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use godwit_common::{Error, Result};

use crate::CopyOption;
use crate::parse::{StatementParser, Syntax};

impl StatementParser<'_> {
    pub(crate) fn copy(mut self) -> Result<Syntax> {
        let Some(to) = self.position_outside(Keyword::TO) else {
            if self.position_outside(Keyword::FROM).is_some() {
                let error = Error::unsupported("COPY ... FROM");
                return Err(error.with_hint("Parquet files are tables: SELECT ... FROM 'file.parquet'"));
            }
            return Err(self.error_at(self.tokens.len(), "expected COPY ... TO 'file'"));
        };
        let path = match self.tokens.get(to + 1).map(|token| &token.token) {
            Some(Token::SingleQuotedString(path)) => path.clone(),
            _ => return Err(self.error_at(to + 1, "expected the path of a file in quotes")),
        };
        let options = self.copy_options(to + 2)?;
        self.end = self.tokens[to].span.start;
        self.tokens.truncate(to);
        self.tokens.remove(0);
        if self.tokens.is_empty() {
            return Err(self.error_at(0, "expected a table or a query in parentheses"));
        }
        self.select_named_columns();
        Ok(Syntax::Copy { query: self.query_or_table(0)?, path, options })
    }

    /// The first such word that isn't in parentheses.
    fn position_outside(&self, keyword: Keyword) -> Option<usize> {
        let mut depth = 0;
        self.tokens.iter().position(|token| {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::Word(word) => return depth == 0 && word.quote_style.is_none() && word.keyword == keyword,
                _ => {}
            }
            false
        })
    }

    /// `table (a, b)` is `SELECT a, b FROM table`.
    fn select_named_columns(&mut self) {
        let Some(open) = self.tokens.iter().position(|token| token.token == Token::LParen) else { return };
        if open == 0 || self.tokens.last().is_none_or(|token| token.token != Token::RParen) {
            return;
        }
        let keyword =
            |name: &str, like: &TokenWithSpan| TokenWithSpan { token: Token::make_keyword(name), span: like.span };
        let (table, columns) = self.tokens.split_at(open);
        let columns = &columns[1..columns.len() - 1];
        let select = [keyword("SELECT", &table[0])];
        let from = [keyword("FROM", &table[0])];
        self.tokens = [&select, columns, &from, table].concat();
    }

    fn copy_options(&self, from: usize) -> Result<Vec<CopyOption>> {
        let token = |at: usize| self.tokens.get(at).map(|token| &token.token);
        let is_with = matches!(token(from), Some(Token::Word(word)) if word.keyword == Keyword::WITH);
        let mut at = if is_with { from + 1 } else { from };
        let mut options = Vec::new();
        if token(at).is_none() && !is_with {
            return Ok(options);
        }
        if token(at) != Some(&Token::LParen) {
            return Err(self.error_at(at, "expected options in parentheses"));
        }
        loop {
            at += 1;
            let Some(Token::Word(name)) = token(at) else {
                return Err(self.error_at(at, "expected the name of an option"));
            };
            at += 1;
            let value = match token(at) {
                Some(Token::Comma | Token::RParen) => None,
                Some(Token::SingleQuotedString(text)) => Some(text.clone()),
                Some(Token::Word(word)) => Some(word.value.clone()),
                Some(Token::Number(number, _)) => Some(number.replace('_', "")),
                _ => return Err(self.error_at(at, "expected the value of an option")),
            };
            at += usize::from(value.is_some());
            options.push(CopyOption { name: name.value.to_lowercase(), value });
            match token(at) {
                Some(Token::Comma) => {}
                Some(Token::RParen) => break,
                _ => return Err(self.error_at(at, "expected a comma or a closing parenthesis")),
            }
        }
        self.ends_at(at + 1)?;
        Ok(options)
    }
}
