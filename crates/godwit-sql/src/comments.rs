//! `COMMENT ON`.

use godwit_catalog::names::WrittenName;
use godwit_catalog::{CatalogEntry, ObjectName, SCHEMA, macro_key, schema_key, type_key};
use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast::{self, CommentTarget, ObjectKind};

use crate::{Definition, Planner, Statement};

impl Planner {
    pub(crate) fn comment_on(&self, statement: &ast::CommentOn) -> Result<Statement> {
        let commented = self.commented(statement).map_err(|error| error.at_span(statement.name.span));
        commented.map(Statement::Definition)
    }

    fn commented(&self, statement: &ast::CommentOn) -> Result<Definition> {
        let written = WrittenName::of(&statement.name)?;
        let text = statement.comment.as_ref().map(|text| text.to_string());
        let key = match statement.target {
            CommentTarget::Column => return self.commented_column(&written, text),
            CommentTarget::Object(kind) => self.key_of(kind, &written)?,
        };
        let mut comments = self.entry_at(&key)?.comments();
        comments.own = text;
        Ok(Definition::Comment { key, comments })
    }

    /// Comments on the column named by the last part of a name.
    fn commented_column(&self, written: &WrittenName, text: Option<String>) -> Result<Definition> {
        let (column, table) = written.parts().split_last().expect("names have a part");
        let Some((key, entry)) = self.namespace().find(table) else {
            return Err(self.unknown_table(&table.join(".")));
        };
        let columns: Vec<String> = match &entry {
            CatalogEntry::Table(table) => match table.rules() {
                Some(rules) => rules.visible(&table.schema).iter().map(|field| field.name().clone()).collect(),
                None => table.schema.fields().iter().map(|field| field.name().clone()).collect(),
            },
            CatalogEntry::View(view) => {
                let columns = self.statement_names().view_columns(&key.database, view)?;
                columns.into_iter().map(|(name, ..)| name).collect()
            }
            _ => return Err(Error::user(format!("{key} has no columns"))),
        };
        let Some(column) = columns.iter().find(|known| known.eq_ignore_ascii_case(column)) else {
            let error = Error::user(format!("{key} has no column {column}"));
            return Err(error.with_code(SqlState::UNDEFINED_COLUMN));
        };
        let mut comments = entry.comments();
        comments.set_column(column, text);
        Ok(Definition::Comment { key, comments })
    }

    /// Returns the catalog key of an object of this kind.
    fn key_of(&self, kind: ObjectKind, written: &WrittenName) -> Result<ObjectName> {
        let parts = written.parts();
        let none = |kind: &str| Error::user(format!("no {kind} named {written}"));
        match kind {
            ObjectKind::Table | ObjectKind::View => {
                let Some((name, entry)) = self.namespace().find(parts) else {
                    return Err(self.unknown_table(&written.to_string()));
                };
                match (kind, entry) {
                    (ObjectKind::Table, CatalogEntry::Table(_)) | (ObjectKind::View, CatalogEntry::View(_)) => Ok(name),
                    (ObjectKind::Table, _) => Err(Error::user(format!("{name} is no table"))),
                    _ => Err(Error::user(format!("{name} is no view"))),
                }
            }
            ObjectKind::Sequence => match self.namespace().find(parts) {
                Some((name, CatalogEntry::Sequence(_))) => Ok(name),
                _ => Err(none("sequence")),
            },
            ObjectKind::Type => {
                let (name, _) = self.namespace().find_type(parts).ok_or_else(|| none("type"))?;
                Ok(ObjectName { name: type_key(&name.name), ..name })
            }
            ObjectKind::Macro | ObjectKind::TableMacro => {
                let (name, _) = self.namespace().find_macro(parts).ok_or_else(|| none("macro"))?;
                Ok(ObjectName { name: macro_key(&name.name), ..name })
            }
            ObjectKind::Schema => {
                let place = self.namespace().place(parts)?;
                match place.schema == SCHEMA {
                    true => Err(Error::unsupported(format!("a comment on the schema {SCHEMA}"))),
                    false => Ok(ObjectName { database: place.database, name: schema_key(&place.schema) }),
                }
            }
            ObjectKind::Index => Err(Error::unsupported("COMMENT ON INDEX")),
            ObjectKind::Database => Err(Error::unsupported("COMMENT ON DATABASE")),
        }
    }

    fn entry_at(&self, key: &ObjectName) -> Result<CatalogEntry> {
        self.namespace().get(key).ok_or_else(|| Error::internal("an object that was found is gone"))
    }
}
