//! `PREPARE`, `EXECUTE`: statements whose parameters get values when they run.

use godwit_bind::Binder;
use godwit_catalog::names::plain;
use godwit_common::{Error, Result};
use godwit_syntax::ast;

use crate::{Argument, ParsedStatement, Planner, SessionStatement, Statement};

impl Planner {
    pub(crate) fn prepare(&self, prepare: &ast::Prepare, parsed: &ParsedStatement) -> Result<Statement> {
        let binder = Binder::new(self.statement_names());
        let types = prepare.types.iter().map(|ty| binder.data_type(ty)).collect::<Result<_>>()?;
        let statement = Box::new(parsed.part(prepare.statement.clone(), prepare.statement_span));
        Ok(Statement::Session(SessionStatement::Prepare { name: plain(&prepare.name), statement, types }))
    }

    pub(crate) fn execute(&self, execute: &ast::Execute) -> Result<Statement> {
        let mut binder = Binder::new(self.statement_names());
        let argument = |argument: &ast::Argument| {
            let (value, ty) = binder.constant_value(&argument.value)?;
            Ok(Argument { name: argument.name.as_ref().map(|name| name.text.to_string()), value, ty })
        };
        let arguments = execute.args.iter().map(argument).collect::<Result<_>>()?;
        Ok(Statement::Execute { name: plain(&execute.name), arguments })
    }
}

impl ParsedStatement {
    /// Fails if the statement can't be prepared, as statements about the session or its transaction can't.
    pub fn check_preparable(&self) -> Result<()> {
        use ast::Statement as Tree;
        match &self.statement {
            Tree::Query(_)
            | Tree::Insert(_)
            | Tree::Update(_)
            | Tree::Delete(_)
            | Tree::Merge(_)
            | Tree::Copy(_)
            | Tree::Explain(_)
            | Tree::Describe(_)
            | Tree::Summarize(_)
            | Tree::Call(_)
            | Tree::CreateTable(_) => Ok(()),
            _ => Err(Error::unsupported("a statement of this kind can't be prepared")
                .with_hint("queries, INSERT, UPDATE, DELETE, MERGE, COPY and CREATE TABLE AS can")),
        }
    }
}
