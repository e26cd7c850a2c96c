//! The syntax of `COPY`.
//!
//! ```text
//! COPY { table [(column, …)] | (query) } TO 'file' [WITH] [( option [value], … )]
//! COPY table [(column, …)] FROM 'file' [WITH] [( option [value], … )]       INSERT INTO table SELECT * FROM 'file'
//! ```
//!
//! Parsed by hand: the parser crate knows PostgreSQL's options only.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use godwit_common::{Error, Result};

use crate::CopyOption;
use crate::names::WrittenName;
use crate::parse::{StatementParser, Syntax};
use crate::write::InsertClauses;

/// `COPY table (columns) FROM` a CSV or JSON file.
#[derive(Debug, Clone)]
pub(crate) struct CopyFrom {
    pub table: WrittenName,
    pub columns: Vec<String>,
    pub path: String,
    pub options: Vec<CopyOption>,
}

impl StatementParser<'_> {
    pub(crate) fn copy(mut self) -> Result<Syntax> {
        let Some(to) = self.position_outside(Keyword::TO) else {
            if let Some(from) = self.position_outside(Keyword::FROM) {
                return self.copy_from(from);
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

    /// `COPY table (columns) FROM 'file'`; `from` is the place of FROM.
    fn copy_from(mut self, from: usize) -> Result<Syntax> {
        let path = match self.tokens.get(from + 1).map(|token| &token.token) {
            Some(Token::SingleQuotedString(path)) => path.clone(),
            _ => return Err(self.error_at(from + 1, "expected the path of a file in quotes")),
        };
        let options = self.copy_options(from + 2)?;
        let format = options.iter().find(|option| option.name == "format").and_then(|option| option.value.as_deref());
        let is_parquet = format.map_or_else(|| !is_text_file(&path), |format| format.eq_ignore_ascii_case("parquet"));
        if let Some(option) = options.iter().find(|option| is_parquet && option.name != "format") {
            let error = Error::user(format!("Parquet files are read without the option {}", option.name));
            return Err(error.with_hint("for CSV and JSON add FORMAT csv or FORMAT json"));
        }
        let word = |at: usize| match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::Word(word)) if word.quote_style.is_some() => Ok(word.value.clone()),
            Some(Token::Word(word)) => Ok(word.value.to_lowercase()),
            _ => Err(self.error_at(at, "expected a name")),
        };
        let (table, list) = self.name_at(1)?;
        let mut columns = Vec::new();
        if from > list {
            let is_list = self.tokens[list].token == Token::LParen && self.tokens[from - 1].token == Token::RParen;
            if !is_list || (from - list) % 2 != 1 {
                return Err(self.error_at(list, "expected a list of columns"));
            }
            for at in (list + 1..from - 1).step_by(2) {
                columns.push(word(at)?);
                if at + 1 < from - 1 && self.tokens[at + 1].token != Token::Comma {
                    return Err(self.error_at(at + 1, "expected a comma"));
                }
            }
        }
        if !is_parquet {
            return Ok(Syntax::CopyFrom(CopyFrom { table, columns, path, options }));
        }
        self.tokens.truncate(from + 2);
        self.tokens.drain(..from + 1);
        let source = Some(self.query_or_table(0)?);
        let clauses = Box::new(InsertClauses { is_copy: true, ..InsertClauses::default() });
        Ok(Syntax::Insert { table, columns, source, clauses })
    }

    /// The first such word that isn't in parentheses.
    pub(crate) fn position_outside(&self, keyword: Keyword) -> Option<usize> {
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

    pub(crate) fn copy_options(&self, from: usize) -> Result<Vec<CopyOption>> {
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

fn is_text_file(path: &str) -> bool {
    let path = path.to_lowercase();
    [".csv", ".json", ".tsv", ".ndjson"].iter().any(|ending| path.contains(ending))
}
