//! Settings, databases, prepared statements, transactions and maintenance.

use godwit_common::Result;

use super::Parser;
use crate::ast::{
    Attach, Begin, Checkpoint, Deallocate, Detach, Execute, Expr, ExprKind, Ident, LoadExtension, Maintenance,
    MergeDelta, ObjectName, Pragma, PragmaValue, Prepare, Reset, Set, SetVariable, SettingScope, Statement,
    TransactionMode, Use,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    /// Parses a session, transaction or maintenance statement.
    pub(super) fn session_statement(&mut self, keyword: K) -> Result<Statement> {
        match keyword {
            K::Set => self.set(),
            K::Reset => self.reset(),
            K::Pragma => self.pragma(),
            K::Use => {
                let start = self.take().span;
                let name = self.object_name()?;
                Ok(Statement::Use(Box::new(Use { name, span: self.since(start) })))
            }
            K::Attach => self.attach(),
            K::Detach => self.detach(),
            K::Prepare => self.prepare(),
            K::Execute => self.execute(),
            K::Deallocate => self.deallocate(),
            K::Begin | K::Start => self.begin(),
            K::Commit | K::End => {
                self.take();
                let _ = self.eat_any(&[K::Transaction, K::Work]);
                Ok(Statement::Commit)
            }
            K::Rollback | K::Abort => self.rollback(),
            K::Savepoint => {
                self.take();
                self.name_of("the name of a savepoint").map(Statement::Savepoint)
            }
            K::Release => {
                self.take();
                self.savepoint_name().map(Statement::ReleaseSavepoint)
            }
            K::Force if self.keyword_at(1) == Some(K::Install) => self.load_extension(),
            K::Checkpoint | K::Force => self.checkpoint(),
            K::Vacuum => {
                let start = self.take().span;
                self.eat(K::Analyze);
                let maintenance = self.maintenance(start)?;
                Ok(Statement::Vacuum(Box::new(maintenance)))
            }
            K::Analyze => {
                let start = self.take().span;
                let maintenance = self.maintenance(start)?;
                Ok(Statement::Analyze(Box::new(maintenance)))
            }
            K::Load | K::Install => self.load_extension(),
            _ => Err(self.no_statement()),
        }
    }

    /// `SET [scope] name { = | TO } values`.
    fn set(&mut self) -> Result<Statement> {
        let start = self.take().span;
        if self.is(K::Variable) && self.is_name_at(1) {
            self.take();
            let name = self.name()?;
            self.set_operator()?;
            let value = self.expr()?;
            return Ok(Statement::SetVariable(Box::new(SetVariable { name, value, span: self.since(start) })));
        }
        let has_scope = !matches!(self.symbol_at(1), Some(Symbol::Equal)) && self.keyword_at(1) != Some(K::To);
        let scope = match self.keyword() {
            Some(K::Session) if has_scope => Some(SettingScope::Session),
            Some(K::Local) if has_scope => Some(SettingScope::Local),
            Some(K::Global) if has_scope => Some(SettingScope::Global),
            _ => None,
        };
        if scope.is_some() {
            self.take();
        }
        let name = if self.are(&[K::Time, K::Zone]) {
            let place = self.take().span;
            self.take();
            ObjectName::of(Ident::new("timezone", self.since(place)))
        } else {
            let name = self.object_name_of("the name of a setting")?;
            self.set_operator()?;
            name
        };
        let value_start = self.peek().span;
        let values = if self.eat(K::Default) { Vec::new() } else { self.comma_list(Self::written_value)? };
        let value_span = self.since(value_start);
        let set = Set { scope, name, values, value_span, span: self.since(start) };
        Ok(Statement::Set(Box::new(set)))
    }

    fn set_operator(&mut self) -> Result<()> {
        if self.eat_symbol(Symbol::Equal) || self.eat(K::To) { Ok(()) } else { Err(self.expected("= or TO")) }
    }

    /// Parses the value of a setting; a size without quotes, such as `512MB` or `1.5 GB`, is a word.
    fn written_value(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let has_unit = match (self.kind_at(0), self.kind_at(1)) {
            (TokenKind::BadNumber, _) => false,
            (TokenKind::Number, TokenKind::Word(_)) => true,
            _ => return self.setting_value(),
        };
        self.take();
        if has_unit {
            self.take();
        }
        let span = self.since(start);
        let text = self.written(span).into();
        Ok(Expr { kind: ExprKind::Column(vec![Ident { text, quoted: true, span }]), span })
    }

    fn reset(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let is_variable = self.is(K::Variable) && self.is_name_at(1);
        if is_variable {
            self.take();
        }
        let has_scope = matches!(self.keyword(), Some(K::Session | K::Local | K::Global)) && self.is_name_at(1);
        if has_scope {
            self.take();
        }
        let name = if self.eat(K::All) { None } else { Some(self.object_name_of("the name of a setting")?) };
        Ok(Statement::Reset(Box::new(Reset { name, is_variable, span: self.since(start) })))
    }

    fn pragma(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let name = self.name_of("the name of a setting")?;
        let value = if self.eat_symbol(Symbol::Equal) {
            PragmaValue::Set(self.written_value()?)
        } else if self.is_symbol(Symbol::LeftParen) {
            PragmaValue::Call(self.arguments_in_parens()?)
        } else {
            PragmaValue::None
        };
        Ok(Statement::Pragma(Box::new(Pragma { name, value, span: self.since(start) })))
    }

    fn load_extension(&mut self) -> Result<Statement> {
        let start = self.peek().span;
        self.eat(K::Force);
        let install = self.is(K::Install);
        self.take();
        let name = self.label_or_text()?;
        if install && self.eat(K::From) {
            self.label_or_text()?;
        }
        Ok(Statement::LoadExtension(Box::new(LoadExtension { install, name, span: self.since(start) })))
    }

    fn attach(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let or_replace = self.eat_all(&[K::Or, K::Replace]);
        self.eat(K::Database);
        let if_not_exists = self.if_not_exists();
        let (path, _) = self.path_text()?;
        let name = if self.eat(K::As) { Some(self.label()?) } else { None };
        let options = self.optional_options()?;
        let span = self.since(start);
        Ok(Statement::Attach(Box::new(Attach { or_replace, if_not_exists, path, name, options, span })))
    }

    fn detach(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.eat(K::Database);
        let if_exists = self.if_exists();
        let name = self.name()?;
        Ok(Statement::Detach(Box::new(Detach { if_exists, name, span: self.since(start) })))
    }

    fn prepare(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let name = self.name()?;
        let types = if self.is_symbol(Symbol::LeftParen) { self.in_parens(Self::data_type)? } else { Vec::new() };
        self.expect(K::As)?;
        let statement_start = self.peek().span;
        let statement = self.nested(Self::statement)?;
        let statement_span = self.since(statement_start);
        let prepare = Prepare { name, types, statement, statement_span, span: self.since(start) };
        Ok(Statement::Prepare(Box::new(prepare)))
    }

    fn execute(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let name = self.name()?;
        let args = if self.is_symbol(Symbol::LeftParen) { self.arguments_in_parens()? } else { Vec::new() };
        Ok(Statement::Execute(Box::new(Execute { name, args, span: self.since(start) })))
    }

    fn deallocate(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.eat(K::Prepare);
        let name = if self.eat(K::All) { None } else { Some(self.name()?) };
        Ok(Statement::Deallocate(Box::new(Deallocate { name, span: self.since(start) })))
    }

    /// `BEGIN [TRANSACTION | WORK] [modes]`, `START TRANSACTION [modes]`.
    fn begin(&mut self) -> Result<Statement> {
        if self.take().kind == TokenKind::Word(Some(K::Start)) {
            self.expect(K::Transaction)?;
        } else {
            let _ = self.eat_any(&[K::Transaction, K::Work]);
        }
        let mut modes = Vec::new();
        while self.peek().kind != TokenKind::End {
            let start = self.peek().span;
            let mode = self.transaction_mode()?;
            modes.push((mode, self.since(start)));
            self.eat_symbol(Symbol::Comma);
        }
        Ok(Statement::Begin(Begin { modes }))
    }

    fn transaction_mode(&mut self) -> Result<TransactionMode> {
        let is_level = self.eat_all(&[K::Isolation, K::Level]);
        let modes: [(&[K], TransactionMode); 4] = [
            (&[K::Serializable], TransactionMode::Serializable),
            (&[K::Repeatable, K::Read], TransactionMode::RepeatableRead),
            (&[K::Read, K::Committed], TransactionMode::ReadCommitted),
            (&[K::Read, K::Uncommitted], TransactionMode::ReadUncommitted),
        ];
        let accesses: [(&[K], TransactionMode); 2] =
            [(&[K::Read, K::Only], TransactionMode::ReadOnly), (&[K::Read, K::Write], TransactionMode::ReadWrite)];
        let candidates: &[_] = if is_level { &modes } else { &accesses };
        match candidates.iter().find(|(words, _)| self.eat_all(words)) {
            Some(&(_, mode)) => Ok(mode),
            None if is_level => Err(self.expected("an isolation level, such as SERIALIZABLE")),
            None => Err(self.expected("the end of the statement")),
        }
    }

    /// `ROLLBACK [TO [SAVEPOINT] name]`.
    fn rollback(&mut self) -> Result<Statement> {
        self.take();
        let _ = self.eat_any(&[K::Transaction, K::Work]);
        if self.eat(K::To) {
            self.savepoint_name().map(Statement::RollbackToSavepoint)
        } else {
            Ok(Statement::Rollback)
        }
    }

    fn savepoint_name(&mut self) -> Result<Ident> {
        if self.is(K::Savepoint) && self.is_name_at(1) {
            self.take();
        }
        self.name_of("the name of a savepoint")
    }

    fn checkpoint(&mut self) -> Result<Statement> {
        let start = self.peek().span;
        let force = self.eat(K::Force);
        self.expect(K::Checkpoint)?;
        let database = if self.is_name_at(0) { Some(self.name()?) } else { None };
        Ok(Statement::Checkpoint(Box::new(Checkpoint { force, database, span: self.since(start) })))
    }

    /// `MERGE DELTA OF table`.
    pub(super) fn merge_delta(&mut self) -> Result<Statement> {
        let start = self.peek().span;
        self.expect_all(&[K::Merge, K::Delta, K::Of])?;
        let table = self.object_name()?;
        Ok(Statement::MergeDelta(Box::new(MergeDelta { table, span: self.since(start) })))
    }

    /// `[table [(columns)]]` after VACUUM and ANALYZE.
    fn maintenance(&mut self, start: godwit_common::Span) -> Result<Maintenance> {
        let table = if self.is_name_at(0) { Some(self.object_name()?) } else { None };
        let columns = if table.is_some() { self.optional_names_in_parens()? } else { Vec::new() };
        Ok(Maintenance { table, columns, span: self.since(start) })
    }
}
