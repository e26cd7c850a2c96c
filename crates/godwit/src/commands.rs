//! Statements without rows: those that create and drop objects, and those about the database or the connection as a
//! whole.

use std::sync::Arc;

use godwit_catalog::{ObjectName, macro_key, type_key};
use godwit_common::{Error, Result, SqlState};
use godwit_sql::{Definition, Planner, SessionStatement};
use godwit_tables::NewTable;

use crate::connection::Inner;
use crate::execution::text_result;
use crate::prepared::{PREPARED_MAX, ParameterValues};
use crate::result::QueryResult;
use crate::settings;
use crate::transactions::{NamedStore, Scope};

impl Inner {
    /// Creates, alters and drops.
    pub(crate) fn run_definition(
        self: &Arc<Self>,
        sql: &str,
        definition: Definition,
        values: &ParameterValues,
        planner: &Planner,
        scope: Scope,
    ) -> Result<QueryResult> {
        match definition {
            Definition::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows, analyzed } => {
                let fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                let table = NewTable { name: name.name, fields, rules, sequences, or_replace };
                let rows = rows.map(|plan| (plan, analyzed));
                self.create_table(sql, &name.database, table, if_not_exists, rows, values, scope)
            }
            Definition::Alter(alter) => self.alter(&alter, scope),
            Definition::CreateView { name, view, or_replace, if_not_exists } => {
                self.define(scope, |scope| match if_not_exists && planner.namespace().get(&name).is_some() {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_view(view, or_replace),
                })
            }
            Definition::CreateMacro { name, definition, or_replace, if_not_exists } => self.define(scope, |scope| {
                let is_there = catalog_has(planner, &name.database, &macro_key(&name.name));
                match if_not_exists && is_there {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_macro(definition, or_replace),
                }
            }),
            Definition::CreateType { name, definition, or_replace, if_not_exists } => self.define(scope, |scope| {
                let is_there = catalog_has(planner, &name.database, &type_key(&name.name));
                match if_not_exists && is_there {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_type(definition, or_replace),
                }
            }),
            Definition::CreateEnum { name, labels, or_replace, if_not_exists } => {
                self.create_enum(sql, &name, &labels, or_replace, if_not_exists, planner, scope)
            }
            Definition::DropMacro { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_macro(&name.name))
            }),
            Definition::DropType { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_type(&name.name))
            }),
            Definition::DropView { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_view(&name.name))
            }),
            Definition::DropTable { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_table(&name.name))
            }),
            Definition::CreateSchema { place, or_replace, if_not_exists } => self.define(scope, |scope| {
                let catalog = planner.namespace().catalog(&place.database);
                match if_not_exists && catalog.is_some_and(|catalog| catalog.has_schema(&place.schema)) {
                    true => Ok(()),
                    false => scope.transaction_of(&place.database)?.create_schema(&place.schema, or_replace),
                }
            }),
            Definition::DropSchema { places, cascade } => self.define(scope, |scope| {
                let mut places = places.iter();
                places.try_for_each(|place| scope.transaction_of(&place.database)?.drop_schema(&place.schema, cascade))
            }),
            Definition::CreateSequence { name, definition, or_replace, if_not_exists } => {
                self.define(scope, |scope| match if_not_exists && planner.namespace().get(&name).is_some() {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_sequence(definition, or_replace),
                })
            }
            Definition::AlterSequence { name, definition, next } => {
                self.define(scope, |scope| scope.transaction_of(&name.database)?.alter_sequence(definition, next))
            }
            Definition::RenameView { name, view } => self.define(scope, |scope| {
                let transaction = scope.transaction_of(&name.database)?;
                transaction.create_view(view, false)?;
                transaction.drop_view(&name.name)
            }),
            Definition::DropSequence { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_sequence(&name.name))
            }),
            Definition::Comment { key, comments } => {
                self.define(scope, |scope| scope.transaction_of(&key.database)?.set_comments(&key.name, comments))
            }
            Definition::Nothing => Ok(QueryResult::empty()),
        }
    }

    /// Runs statements about the session or the maintenance of databases.
    pub(crate) fn run_session_statement(
        &self,
        sql: &str,
        statement: SessionStatement,
        planner: &Planner,
        scope: &Scope,
    ) -> Result<QueryResult> {
        match statement {
            SessionStatement::Prepare { name, statement, types } => {
                let prepared = Arc::new(self.prepared(*statement, types)?);
                let mut all = self.prepared.lock();
                if all.len() >= PREPARED_MAX && !all.contains_key(&name) {
                    let message =
                        format!("the connection has {PREPARED_MAX} prepared statements, and may have no more");
                    return Err(Error::user(message).with_hint("DEALLOCATE those that aren't needed"));
                }
                all.insert(name, prepared);
                Ok(QueryResult::empty())
            }
            SessionStatement::Deallocate { name: None } => {
                self.prepared.lock().clear();
                Ok(QueryResult::empty())
            }
            SessionStatement::Deallocate { name: Some(name) } => match self.prepared.lock().remove(&name) {
                Some(_) => Ok(QueryResult::empty()),
                None => Err(Error::user(format!("no prepared statement named {name}"))
                    .with_code(SqlState::INVALID_SQL_STATEMENT_NAME)),
            },
            SessionStatement::Attach(plan) => self.attach(&plan),
            SessionStatement::Detach { name, if_exists } => self.detach(&name, if_exists),
            SessionStatement::Use { path } => {
                self.session().change(|own| own.path = path);
                Ok(QueryResult::empty())
            }
            SessionStatement::Checkpoint => match scope.is_open() {
                false => {
                    let current = &planner.namespace().current().database;
                    let stores = self.stores();
                    let current = stores.iter().find(|NamedStore { name, .. }| name == current);
                    current.map_or(Ok(()), |named| named.store.checkpoint()).map(|()| QueryResult::empty())
                }
                true => Err(Error::user("a checkpoint can't be made within a transaction").with_hint("COMMIT first")),
            },
            SessionStatement::MergeDelta { table } => self.merge_delta(&table, scope),
            SessionStatement::Set { name, value } => {
                settings::set(&self.session(), &name, &value).map(|()| QueryResult::empty())
            }
            SessionStatement::Reset { name } => {
                settings::reset(&self.session(), name.as_deref()).map(|()| QueryResult::empty())
            }
            SessionStatement::SetVariable { name, value } => self.set_variable(sql, name, &value),
            SessionStatement::ResetVariable { name } => Ok(self.reset_variable(&name)),
            SessionStatement::Show { name } => {
                let rows = settings::show(&self.session(), name.as_deref())?;
                let column = |index: usize| rows.iter().map(|row| row[index].clone()).collect();
                text_result(&settings::COLUMNS, (0..settings::COLUMNS.len()).map(column).collect())
            }
        }
    }

    fn merge_delta(&self, table: &ObjectName, scope: &Scope) -> Result<QueryResult> {
        if scope.is_open() {
            return Err(Error::user("deltas can't be merged within a transaction").with_hint("COMMIT first"));
        }
        let stores = self.stores();
        let store = stores.iter().find(|NamedStore { name, .. }| *name == table.database);
        let store = store.ok_or_else(|| Error::user(format!("{} was detached", table.database)))?;
        store.store.merge_delta(&table.name).map(|()| QueryResult::empty())
    }
}

/// Returns true if a database has an entry under a key.
pub(crate) fn catalog_has(planner: &Planner, database: &str, key: &str) -> bool {
    planner.namespace().catalog(database).is_some_and(|catalog| catalog.get(key).is_some())
}
