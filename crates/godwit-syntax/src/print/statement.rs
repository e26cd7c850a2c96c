//! Read-only statements, and those about the session and transactions.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, Text, list, list_in_parens, optional, when};
use crate::ast::{
    Attach, Begin, Describe, DescribeTarget, Execute, Explain, Maintenance, Pragma, PragmaValue, Prepare, Reset, Set,
    SettingScope, Show, Statement, StatementOption, Trace, TransactionMode,
};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Statement::Query(query) => query.fmt(f),
            Statement::Explain(explain) => explain.fmt(f),
            Statement::Trace(trace) => trace.fmt(f),
            Statement::Describe(describe) => write!(f, "DESCRIBE {describe}"),
            Statement::Summarize(describe) => write!(f, "SUMMARIZE {describe}"),
            Statement::Show(show) => show.fmt(f),
            Statement::Call(call) => write!(f, "CALL {}", call.call),
            Statement::Insert(insert) => insert.fmt(f),
            Statement::Update(update) => update.fmt(f),
            Statement::Delete(delete) => delete.fmt(f),
            Statement::Merge(merge) => merge.fmt(f),
            Statement::Truncate(truncate) => write!(f, "TRUNCATE {}", Commas(&truncate.tables)),
            Statement::Copy(copy) => copy.fmt(f),
            Statement::ExportDatabase(export) => {
                write!(f, "EXPORT DATABASE {}", Text(&export.folder))?;
                list_in_parens(f, " ", &export.options)
            }
            Statement::ImportDatabase(import) => write!(f, "IMPORT DATABASE {}", Text(&import.folder)),
            Statement::CreateTable(table) => table.fmt(f),
            Statement::CreateView(view) => view.fmt(f),
            Statement::CreateSchema(schema) => schema.fmt(f),
            Statement::CreateSequence(sequence) => sequence.fmt(f),
            Statement::CreateIndex(index) => index.fmt(f),
            Statement::CreateType(new) => new.fmt(f),
            Statement::CreateMacro(new) => new.fmt(f),
            Statement::Drop(drop) => drop.fmt(f),
            Statement::AlterTable(alter) => alter.fmt(f),
            Statement::AlterObject(alter) => alter.fmt(f),
            Statement::CommentOn(comment) => comment.fmt(f),
            _ => session(f, self),
        }
    }
}

fn session(f: &mut Formatter<'_>, statement: &Statement) -> Result {
    match statement {
        Statement::Set(set) => set.fmt(f),
        Statement::SetVariable(set) => write!(f, "SET VARIABLE {} = {}", set.name, set.value),
        Statement::Reset(reset) => reset.fmt(f),
        Statement::Pragma(pragma) => pragma.fmt(f),
        Statement::Use(place) => write!(f, "USE {}", place.name),
        Statement::LoadExtension(load) => write!(f, "{} {}", if load.install { "INSTALL" } else { "LOAD" }, load.name),
        Statement::Attach(attach) => attach.fmt(f),
        Statement::Detach(detach) => {
            write!(f, "DETACH DATABASE {}{}", when(detach.if_exists, "IF EXISTS "), detach.name)
        }
        Statement::Prepare(prepare) => prepare.fmt(f),
        Statement::Execute(execute) => execute.fmt(f),
        Statement::Deallocate(deallocate) => match &deallocate.name {
            Some(name) => write!(f, "DEALLOCATE {name}"),
            None => f.write_str("DEALLOCATE ALL"),
        },
        Statement::Begin(begin) => begin.fmt(f),
        Statement::Commit => f.write_str("COMMIT"),
        Statement::Rollback => f.write_str("ROLLBACK"),
        Statement::Savepoint(name) => write!(f, "SAVEPOINT {name}"),
        Statement::ReleaseSavepoint(name) => write!(f, "RELEASE SAVEPOINT {name}"),
        Statement::RollbackToSavepoint(name) => write!(f, "ROLLBACK TO SAVEPOINT {name}"),
        Statement::Checkpoint(checkpoint) => {
            write!(f, "{}CHECKPOINT", when(checkpoint.force, "FORCE "))?;
            optional(f, " ", checkpoint.database.as_ref())
        }
        Statement::MergeDelta(merge) => write!(f, "MERGE DELTA OF {}", merge.table),
        Statement::Vacuum(maintenance) => write!(f, "VACUUM{maintenance}"),
        Statement::Analyze(maintenance) => write!(f, "ANALYZE{maintenance}"),
        _ => unreachable!("all other statements were printed before"),
    }
}

impl Display for Explain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "EXPLAIN {}", when(self.analyze, "ANALYZE "))?;
        if !self.options.is_empty() {
            write!(f, "({}) ", Commas(&self.options))?;
        }
        self.statement.fmt(f)
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("TRACE ")?;
        if !self.options.is_empty() {
            write!(f, "({}) ", Commas(&self.options))?;
        }
        self.query.fmt(f)
    }
}

impl Display for Describe {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.target {
            DescribeTarget::Table(table) => table.fmt(f),
            DescribeTarget::Query(query) => query.fmt(f),
        }
    }
}

impl Display for Show {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Show::Tables { all, schema } => {
                write!(f, "SHOW {}TABLES", when(*all, "ALL "))?;
                optional(f, " FROM ", schema.as_ref())
            }
            Show::Databases => f.write_str("SHOW DATABASES"),
            Show::Schemas => f.write_str("SHOW SCHEMAS"),
            Show::Settings => f.write_str("SHOW ALL"),
            Show::Name(name) => write!(f, "SHOW {name}"),
        }
    }
}

impl Display for StatementOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        optional(f, " ", self.value.as_ref())
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let scope = match self.scope {
            None => "",
            Some(SettingScope::Session) => "SESSION ",
            Some(SettingScope::Local) => "LOCAL ",
            Some(SettingScope::Global) => "GLOBAL ",
        };
        write!(f, "SET {scope}{} = {}", self.name, when(self.values.is_empty(), "DEFAULT"))?;
        Commas(&self.values).fmt(f)
    }
}

impl Display for Reset {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.name {
            Some(name) => write!(f, "RESET {}{name}", when(self.is_variable, "VARIABLE ")),
            None => f.write_str("RESET ALL"),
        }
    }
}

impl Display for Pragma {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "PRAGMA {}", self.name)?;
        match &self.value {
            PragmaValue::None => Ok(()),
            PragmaValue::Set(value) => write!(f, " = {value}"),
            PragmaValue::Call(args) => write!(f, "({})", Commas(args)),
        }
    }
}

impl Display for Attach {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (replace, exists) = (when(self.or_replace, "OR REPLACE "), when(self.if_not_exists, "IF NOT EXISTS "));
        write!(f, "ATTACH {replace}{exists}{}", Text(&self.path))?;
        optional(f, " AS ", self.name.as_ref())?;
        list_in_parens(f, " ", &self.options)
    }
}

impl Display for Prepare {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "PREPARE {}", self.name)?;
        list_in_parens(f, " ", &self.types)?;
        write!(f, " AS {}", self.statement)
    }
}

impl Display for Execute {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "EXECUTE {}", self.name)?;
        list_in_parens(f, "", &self.args)
    }
}

impl Display for Begin {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let modes: Vec<_> = self.modes.iter().map(|(mode, _)| mode).collect();
        f.write_str("BEGIN TRANSACTION")?;
        list(f, " ", &modes)
    }
}

impl Display for TransactionMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            TransactionMode::ReadOnly => "READ ONLY",
            TransactionMode::ReadWrite => "READ WRITE",
            TransactionMode::ReadUncommitted => "ISOLATION LEVEL READ UNCOMMITTED",
            TransactionMode::ReadCommitted => "ISOLATION LEVEL READ COMMITTED",
            TransactionMode::RepeatableRead => "ISOLATION LEVEL REPEATABLE READ",
            TransactionMode::Serializable => "ISOLATION LEVEL SERIALIZABLE",
        })
    }
}

impl Display for Maintenance {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        optional(f, " ", self.table.as_ref())?;
        list_in_parens(f, " ", &self.columns)
    }
}
