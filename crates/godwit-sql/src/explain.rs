//! The syntax of `EXPLAIN`.
//!
//! ```text
//! EXPLAIN [ANALYZE] query
//! EXPLAIN ( option, … ) query        option: ANALYZE | FORMAT text | FORMAT json
//! ```

use datafusion_sql::sqlparser::tokenizer::Token;
use godwit_common::Result;

use crate::parse::{StatementParser, Syntax};

/// What is wanted of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExplainOptions {
    /// Run the query, discard its rows, and show what happened.
    pub analyze: bool,
    /// As JSON, not as text.
    pub json: bool,
}

impl StatementParser<'_> {
    pub(crate) fn explain(mut self) -> Result<Syntax> {
        if self.word(1) == "ANALYZE" {
            let options = ExplainOptions { analyze: true, json: false };
            return Ok(Syntax::Explain { options, query: self.query(2)? });
        }
        let has_options = self.word(1) == "(" && matches!(self.word(2).as_str(), "ANALYZE" | "FORMAT");
        let (options, query) = if has_options { self.explain_options(2)? } else { (ExplainOptions::default(), 1) };
        Ok(Syntax::Explain { options, query: self.query(query)? })
    }

    /// The options from token `at` on, and where the query begins behind them.
    fn explain_options(&self, mut at: usize) -> Result<(ExplainOptions, usize)> {
        let mut options = ExplainOptions::default();
        loop {
            match (self.word(at).as_str(), self.word(at + 1).as_str()) {
                ("ANALYZE", _) => options.analyze = true,
                ("FORMAT", format @ ("TEXT" | "JSON")) => {
                    options.json = format == "JSON";
                    at += 1;
                }
                ("FORMAT", _) => return Err(self.error_at(at + 1, "expected FORMAT text or FORMAT json")),
                _ => return Err(self.error_at(at, "expected ANALYZE or FORMAT")),
            }
            at += 1;
            match self.tokens.get(at).map(|token| &token.token) {
                Some(Token::Comma) => at += 1,
                Some(Token::RParen) => return Ok((options, at + 1)),
                _ => return Err(self.error_at(at, "expected a comma or the end of the options")),
            }
        }
    }
}
