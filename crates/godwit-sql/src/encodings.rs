//! How the columns of a new table are stored, as its statement says it.
//!
//! ```text
//! CREATE TABLE t (a INTEGER ENCODING run_length, b VARCHAR) WITH (encoding = 'dictionary') [AS SELECT …]
//! ```
//!
//! The option is about all columns that don't say it themselves. The parser crate doesn't know the clause of a column: it
//! is taken out of the tokens. Which encodings there are is the storage's business.

use arrow_schema::Schema;
use datafusion_sql::sqlparser::ast::{self, CreateTableOptions, SqlOption};
use datafusion_sql::sqlparser::tokenizer::Token;
use godwit_common::{Error, Result};

use crate::parse::{StatementParser, Syntax};

/// The word before the name of an encoding, and the option's name.
pub(crate) const ENCODING: &str = "ENCODING";

/// What leaves the choice to the storage.
const AUTO: &str = "auto";

/// Words that may be between CREATE and TABLE.
const BEFORE_TABLE: [&str; 6] = ["OR", "REPLACE", "TEMP", "TEMPORARY", "LOCAL", "GLOBAL"];

impl StatementParser<'_> {
    /// True for `CREATE … TABLE`.
    pub(crate) fn is_table(&self) -> bool {
        self.word(self.table_word()) == "TABLE"
    }

    /// Where TABLE is in `CREATE … TABLE`.
    fn table_word(&self) -> usize {
        (1..).find(|&at| !BEFORE_TABLE.contains(&self.word(at).as_str())).expect("statements end")
    }

    /// `CREATE TABLE` with encodings of columns.
    pub(crate) fn create_table(&mut self) -> Result<Syntax> {
        let encodings = self.take_encodings()?;
        Ok(match self.other()? {
            Syntax::CreateTable { table, .. } => Syntax::CreateTable { table, encodings },
            other => other,
        })
    }

    /// Takes `ENCODING x` out of the definitions of columns; columns and encodings.
    fn take_encodings(&mut self) -> Result<Vec<(String, String)>> {
        let mut at = self.table_word() + 1;
        if ["IF", "NOT", "EXISTS"].into_iter().zip(at..).all(|(word, at)| self.word(at) == word) {
            at += 3;
        }
        let mut encodings: Vec<(String, String)> = Vec::new();
        // A name that can't be read is told by the parser.
        let Ok((_, mut at)) = self.name_at(at) else { return Ok(encodings) };
        if self.word(at) != "(" {
            return Ok(encodings);
        }
        let (mut depth, mut column) = (0, String::new());
        while at < self.tokens.len() {
            let begins = depth == 1 && matches!(self.tokens[at - 1].token, Token::LParen | Token::Comma);
            match &self.tokens[at].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 1 => break,
                Token::RParen => depth -= 1,
                Token::Word(word) if begins && word.quote_style.is_some() => column.clone_from(&word.value),
                Token::Word(word) if begins => column = word.value.to_lowercase(),
                Token::Word(_) if depth == 1 && self.word(at) == ENCODING => {
                    let encoding = match self.tokens.get(at + 1).map(|token| &token.token) {
                        Some(Token::Word(word)) => word.value.to_lowercase(),
                        Some(Token::SingleQuotedString(text)) => text.to_lowercase(),
                        _ => return Err(self.error_at(at + 1, "expected the name of an encoding")),
                    };
                    if encodings.iter().any(|(known, _)| *known == column) {
                        return Err(self.error_at(at, &format!("{column} has an encoding already")));
                    }
                    encodings.push((column.clone(), encoding));
                    self.tokens.drain(at..at + 2);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        Ok(encodings)
    }
}

/// How the columns of a new table are stored, for those that aren't left to the storage: names and encodings.
pub(crate) fn encodings_of(
    table: &ast::CreateTable,
    of_columns: &[(String, String)],
    schema: &Schema,
) -> Result<Vec<(String, String)>> {
    let all = encoding_of_all(&table.table_options)?;
    let is = |(name, _): &&(String, String), column: &str| name.eq_ignore_ascii_case(column);
    let stored = |column: &str| schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(column));
    if let Some((column, _)) = of_columns.iter().find(|(column, _)| !stored(column)) {
        return Err(Error::user(format!("{column} can't have an encoding: it is no column that is stored")));
    }
    let encodings = schema.fields().iter().filter_map(|field| {
        let own = of_columns.iter().find(|own| is(own, field.name())).map(|(_, encoding)| encoding);
        Some((field.name().clone(), own.or(all.as_ref())?.clone()))
    });
    Ok(encodings.filter(|(_, encoding)| encoding != AUTO).collect())
}

/// The option of the whole table.
fn encoding_of_all(options: &CreateTableOptions) -> Result<Option<String>> {
    let options = match options {
        CreateTableOptions::None => return Ok(None),
        CreateTableOptions::With(options) => options,
        other => return Err(Error::unsupported(format!("CREATE TABLE ... {other}"))),
    };
    let mut encoding = None;
    for option in options {
        match option {
            SqlOption::KeyValue { key, value } if key.value.eq_ignore_ascii_case(ENCODING) => {
                let text = match value {
                    ast::Expr::Value(value) => value.value.clone().into_string().unwrap_or_else(|| value.to_string()),
                    other => other.to_string(),
                };
                encoding = Some(text.to_lowercase());
            }
            other => {
                return Err(Error::user(format!("CREATE TABLE has no option {other}"))
                    .with_hint("options are: encoding, as in WITH (encoding = 'dictionary')"));
            }
        }
    }
    Ok(encoding)
}
