//! ALTER.

use godwit_common::Result;

use super::Parser;
use crate::ast::{
    AlterAction, AlterColumnAction, AlterObject, AlterTable, AlterTableAction, ObjectKind, ObjectName, Statement,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn alter(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let kind = self.object_kind()?;
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        if kind == ObjectKind::Table {
            let actions = self.comma_list(Self::alter_table_action)?;
            let span = self.since(start);
            return Ok(Statement::AlterTable(Box::new(AlterTable { name, if_exists, actions, span })));
        }
        let action = if self.eat_all(&[K::Rename, K::To]) {
            AlterAction::RenameTo(self.label()?)
        } else if self.eat_all(&[K::Set, K::Schema]) {
            AlterAction::SetSchema(self.name()?)
        } else {
            let options = if kind == ObjectKind::Sequence { self.sequence_options()? } else { Vec::new() };
            if options.is_empty() {
                return Err(self.expected("RENAME TO or SET SCHEMA"));
            }
            AlterAction::SequenceOptions(options)
        };
        let span = self.since(start);
        Ok(Statement::AlterObject(Box::new(AlterObject { kind, if_exists, name, action, span })))
    }

    fn alter_table_action(&mut self) -> Result<AlterTableAction> {
        match self.eat_any(&[K::Rename, K::Add, K::Drop, K::Alter, K::Set, K::Reset]) {
            Some(K::Rename) => self.rename(),
            Some(K::Add) => self.add(),
            Some(K::Drop) => self.drop_part(),
            Some(K::Alter) => {
                self.eat(K::Column);
                let column = self.object_name_of("the name of a column")?;
                Ok(AlterTableAction::AlterColumn { column, action: self.alter_column_action()? })
            }
            Some(K::Set) => {
                if self.eat(K::Schema) {
                    return Ok(AlterTableAction::SetSchema(self.name()?));
                }
                Ok(AlterTableAction::SetOptions(self.in_parens(Self::option)?))
            }
            Some(_) => Ok(AlterTableAction::ResetOptions(self.names_in_parens()?)),
            None => Err(self.expected("RENAME, ADD, DROP, ALTER or SET")),
        }
    }

    /// Parses what follows RENAME.
    fn rename(&mut self) -> Result<AlterTableAction> {
        if self.eat_any(&[K::To, K::As]).is_some() {
            return Ok(AlterTableAction::RenameTable(self.label()?));
        }
        if self.eat(K::Constraint) {
            let name = self.name()?;
            self.expect(K::To)?;
            return Ok(AlterTableAction::RenameConstraint { name, to: self.label()? });
        }
        self.eat(K::Column);
        let column = self.object_name_of("the name of a column")?;
        self.expect(K::To)?;
        Ok(AlterTableAction::RenameColumn { column, to: self.label()? })
    }

    /// Parses what follows ADD.
    fn add(&mut self) -> Result<AlterTableAction> {
        if self.starts_table_constraint() {
            return Ok(AlterTableAction::AddConstraint(self.table_constraint()?));
        }
        self.eat(K::Column);
        let if_not_exists = self.if_not_exists();
        let mut parent = self.object_name_of("the name of a column")?.parts;
        let name = parent.pop().expect("names have parts");
        let column = Box::new(self.column_of(name)?);
        Ok(AlterTableAction::AddColumn { if_not_exists, parent, column })
    }

    /// Parses what follows DROP.
    fn drop_part(&mut self) -> Result<AlterTableAction> {
        if self.eat(K::Constraint) {
            let if_exists = self.if_exists();
            let name = self.name()?;
            return Ok(AlterTableAction::DropConstraint { if_exists, name, behavior: self.drop_behavior() });
        }
        self.eat(K::Column);
        let if_exists = self.if_exists();
        let column: ObjectName = self.object_name_of("the name of a column")?;
        Ok(AlterTableAction::DropColumn { if_exists, column, behavior: self.drop_behavior() })
    }

    /// Parses what follows ALTER COLUMN and the column's name.
    fn alter_column_action(&mut self) -> Result<AlterColumnAction> {
        if self.eat(K::Type) || self.eat_all(&[K::Set, K::Data, K::Type]) || self.eat_all(&[K::Set, K::Type]) {
            return self.set_type();
        }
        if self.eat(K::Drop) {
            return match self.eat_any(&[K::Default, K::Not]) {
                Some(K::Default) => Ok(AlterColumnAction::DropDefault),
                Some(_) => self.expect(K::Null).map(|()| AlterColumnAction::DropNotNull),
                None => Err(self.expected("DEFAULT or NOT NULL")),
            };
        }
        if !self.eat(K::Set) {
            return Err(self.expected("TYPE, SET or DROP"));
        }
        match self.eat_any(&[K::Default, K::Not, K::Encoding]) {
            Some(K::Default) => Ok(AlterColumnAction::SetDefault(self.expr()?)),
            Some(K::Not) => self.expect(K::Null).map(|()| AlterColumnAction::SetNotNull),
            Some(_) => Ok(AlterColumnAction::SetEncoding(self.encoding_name()?)),
            None => Err(self.expected("DEFAULT, NOT NULL, DATA TYPE or ENCODING")),
        }
    }

    /// Parses what follows TYPE.
    fn set_type(&mut self) -> Result<AlterColumnAction> {
        let data_type = self.optional_data_type(|parser| {
            let is_end = parser.peek().kind == TokenKind::End || parser.symbol() == Some(Symbol::Comma);
            is_end || parser.is(K::Using) || parser.is(K::Collate)
        })?;
        let collation = if self.eat(K::Collate) { Some(self.object_name()?) } else { None };
        let using = if self.eat(K::Using) { Some(self.expr()?) } else { None };
        if data_type.is_none() && using.is_none() {
            return Err(self.expected("a type"));
        }
        Ok(AlterColumnAction::SetType { data_type, collation, using })
    }
}
