//! The syntax of `ATTACH`, `DETACH`, `EXPORT` and `IMPORT DATABASE`.
//!
//! ```text
//! ATTACH [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(READ_ONLY)]        DETACH [DATABASE] [IF EXISTS] name
//! EXPORT DATABASE 'folder' [(FORMAT format, …)]                           IMPORT DATABASE 'folder'
//! ```

use datafusion_sql::sqlparser::tokenizer::Token;
use godwit_common::{Error, Result};

use crate::AttachPlan;
use crate::parse::{StatementParser, Syntax};

impl StatementParser<'_> {
    pub(crate) fn attach(&self) -> Result<Syntax> {
        let mut at = self.skipped(1, &["DATABASE"]);
        let after = self.skipped(at, &["IF", "NOT", "EXISTS"]);
        let if_not_exists = after > at;
        at = after;
        let path = self.quoted_at(at)?;
        at += 1;
        let mut name = None;
        if self.word(at) == "AS" {
            let (written, end) = self.name_at(at + 1)?;
            name = Some(written.last().to_owned());
            at = end;
        }
        let mut is_read_only = false;
        for option in self.copy_options(at)? {
            match (option.name.as_str(), option.value.as_deref().map(str::to_lowercase).as_deref()) {
                ("read_only", None | Some("true" | "1" | "on")) => is_read_only = true,
                ("read_only", Some("false" | "0" | "off")) | ("read_write", None) => is_read_only = false,
                _ => {
                    let error = Error::unsupported(format!("ATTACH with the option {}", option.name));
                    return Err(error.with_hint("there is READ_ONLY"));
                }
            }
        }
        Ok(Syntax::Attach(AttachPlan { path, name, is_read_only, if_not_exists }))
    }

    pub(crate) fn detach(&self) -> Result<Syntax> {
        let at = self.skipped(1, &["DATABASE"]);
        let name = self.skipped(at, &["IF", "EXISTS"]);
        let (written, end) = self.name_at(name)?;
        self.ends_at(end)?;
        Ok(Syntax::Detach { name: written.last().to_owned(), if_exists: name > at })
    }

    pub(crate) fn export(&self) -> Result<Syntax> {
        Ok(Syntax::Export { folder: self.quoted_at(2)?, options: self.copy_options(3)? })
    }

    pub(crate) fn import(&self) -> Result<Syntax> {
        self.ends_at(3)?;
        Ok(Syntax::Import { folder: self.quoted_at(2)? })
    }

    /// The place behind these words, if they are there.
    fn skipped(&self, at: usize, words: &[&str]) -> usize {
        let are_there = words.iter().zip(at..).all(|(word, at)| self.word(at) == *word);
        if are_there { at + words.len() } else { at }
    }

    /// The text in quotes at a place.
    fn quoted_at(&self, at: usize) -> Result<String> {
        match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::SingleQuotedString(text)) => Ok(text.clone()),
            _ => Err(self.error_at(at, "expected a path in quotes")),
        }
    }
}
