//! Splitting a script into statements.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use godwit_common::{Error, Result, Span};
use godwit_syntax::ast::{AlterTable, AlterTableAction, CopyDirection, CopyPath, ObjectName, Statement, Truncate};
use godwit_syntax::{Parameters, TEXT_BYTES_MAX};

use crate::write::writes;

/// One statement of a script.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    /// The whole script.
    pub(crate) script: Arc<str>,
    range: Range<usize>,
    pub(crate) depth: usize,
    parameters: Parameters,
    pub(crate) statement: Statement,
}

/// The effect of a statement on the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Read,
    /// Changes rows, tables or views.
    Change,
    /// None by itself: `BEGIN`, `COMMIT` and so on, and statements that run others.
    Control,
}

impl ParsedStatement {
    /// Returns the statement's effect on the database.
    pub fn access(&self) -> Access {
        access_of(&self.statement)
    }

    /// Returns a statement that is part of this one.
    pub(crate) fn part(&self, statement: Statement, span: Span) -> Self {
        let range = span.start as usize..span.end as usize;
        let (script, parameters) = (Arc::clone(&self.script), self.parameters.clone());
        Self { script, range, depth: self.depth, parameters, statement }
    }

    /// Splits a statement that makes several changes: ALTER TABLE and TRUNCATE with a list.
    pub fn steps(&self) -> Option<Vec<Self>> {
        let steps: Vec<Statement> = match &self.statement {
            Statement::AlterTable(alter) if alter.actions.len() > 1 => {
                let step =
                    |action: &AlterTableAction| AlterTable { actions: vec![action.clone()], ..(**alter).clone() };
                alter.actions.iter().map(|action| Statement::AlterTable(Box::new(step(action)))).collect()
            }
            Statement::Truncate(truncate) if truncate.tables.len() > 1 => {
                let step = |table: &ObjectName| Truncate { tables: vec![table.clone()], span: truncate.span };
                truncate.tables.iter().map(|table| Statement::Truncate(Box::new(step(table)))).collect()
            }
            _ => return None,
        };
        Some(steps.into_iter().map(|statement| Self { statement, ..self.clone() }).collect())
    }

    /// Returns the statement's text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.script[self.range.clone()]
    }

    /// Returns the names of its parameters: those with numbers, then the others.
    pub fn parameter_names(&self) -> impl Iterator<Item = String> {
        let names = self.parameters.names.iter().map(|name| name.to_string());
        (1..=self.parameters.count).map(|number| number.to_string()).chain(names)
    }

    /// Returns the script that the statement is a part of, which spans of its errors refer to.
    pub fn script(&self) -> &Arc<str> {
        &self.script
    }

    /// Redirects `COPY … FROM` to the file of the same name in a folder, if there is one.
    pub fn move_files_to(&mut self, folder: &Path) {
        if let Statement::Copy(copy) = &mut self.statement
            && copy.direction == CopyDirection::From
            && let CopyPath::File(path, _) = &mut copy.path
            && let Some(name) = Path::new(&**path).file_name()
        {
            let there = folder.join(name);
            if there.exists() {
                *path = there.to_string_lossy().into();
            }
        }
    }

    /// Returns the byte range of the statement in the script.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// Returns the effect of a statement; one that is explained has none, unless it is run.
fn access_of(statement: &Statement) -> Access {
    match statement {
        Statement::Copy(copy) if copy.direction == CopyDirection::To => Access::Read,
        query @ Statement::Query(_) if writes(query) => Access::Change,
        Statement::Explain(explain) if explain.analyze => access_of(&explain.statement),
        Statement::Copy(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_)
        | Statement::CreateTable(_)
        | Statement::CreateView(_)
        | Statement::CreateSchema(_)
        | Statement::CreateSequence(_)
        | Statement::CreateIndex(_)
        | Statement::CreateType(_)
        | Statement::CreateMacro(_)
        | Statement::Drop(_)
        | Statement::AlterTable(_)
        | Statement::AlterObject(_)
        | Statement::CommentOn(_) => Access::Change,
        Statement::Begin(_)
        | Statement::Commit
        | Statement::Rollback
        | Statement::Savepoint(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::RollbackToSavepoint(_)
        | Statement::Execute(_)
        | Statement::ImportDatabase(_) => Access::Control,
        Statement::Query(_)
        | Statement::Explain(_)
        | Statement::Trace(_)
        | Statement::Describe(_)
        | Statement::Summarize(_)
        | Statement::Show(_)
        | Statement::Call(_)
        | Statement::ExportDatabase(_)
        | Statement::Set(_)
        | Statement::SetVariable(_)
        | Statement::Reset(_)
        | Statement::Pragma(_)
        | Statement::Use(_)
        | Statement::LoadExtension(_)
        | Statement::Attach(_)
        | Statement::Detach(_)
        | Statement::Prepare(_)
        | Statement::Deallocate(_)
        | Statement::Checkpoint(_)
        | Statement::MergeDelta(_)
        | Statement::Vacuum(_)
        | Statement::Analyze(_) => Access::Read,
    }
}

/// Parses a script of statements separated by semicolons.
pub(crate) fn parse_script(sql: &str) -> Result<Vec<ParsedStatement>> {
    if sql.len() > TEXT_BYTES_MAX {
        let message = format!("the statement text is {} bytes long, at most {TEXT_BYTES_MAX} are accepted", sql.len());
        return Err(Error::user(message));
    }
    let script: Arc<str> = sql.into();
    let parsed = godwit_syntax::parse_script(sql).map_err(|error| error.locate(sql))?;
    let statement = |parsed: godwit_syntax::ParsedStatement| ParsedStatement {
        script: Arc::clone(&script),
        range: parsed.span.start as usize..parsed.span.end as usize,
        depth: parsed.depth,
        parameters: parsed.parameters,
        statement: parsed.statement,
    };
    Ok(parsed.into_iter().map(statement).collect())
}
