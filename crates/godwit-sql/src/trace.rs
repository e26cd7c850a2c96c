//! `TRACE`.
//!
//! ```text
//! TRACE query
//! TRACE ( option, … ) query        option: FILE 'trace.parquet' | THRESHOLD n
//! ```

use godwit_common::{Error, Result};
use godwit_syntax::ast;

use crate::{Planner, QueryStatement, Statement};

/// Options of TRACE.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TracedQuery {
    /// File for the samples; `None`: they are only counted.
    pub file: Option<String>,
    /// Sampling period: one in this many loads is sampled; `None`: as set for the session.
    pub threshold: Option<u32>,
}

impl TracedQuery {
    fn of(options: &[ast::StatementOption]) -> Result<Self> {
        let mut traced = Self::default();
        for option in options {
            let wrong = |message: &str| Error::user(message.to_owned()).at_span(option.name.span);
            match &*option.name.text.to_lowercase() {
                "file" => {
                    let file = option.text().ok_or_else(|| wrong("FILE takes the name of a file as a text"))?;
                    traced.file = Some(file.to_string());
                }
                "threshold" => {
                    let value = option.value.as_ref().map(ToString::to_string);
                    let number = value.and_then(|value| value.parse().ok()).filter(|&number| number > 0);
                    traced.threshold = Some(number.ok_or_else(|| wrong("THRESHOLD takes a number from 1 on"))?);
                }
                _ => return Err(wrong("expected FILE or THRESHOLD")),
            }
        }
        Ok(traced)
    }
}

impl Planner {
    pub(crate) fn trace(&self, trace: &ast::Trace) -> Result<Statement> {
        let options = TracedQuery::of(&trace.options)?;
        let plan = self.shown(&trace.query)?;
        Ok(Statement::Query(QueryStatement::Trace { options, plan }))
    }
}
