//! Statements without rows: what makes and drops things, and what is about the database or the connection as a whole.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_sql::{ObjectName, Planner, Statement};

use crate::connection::Inner;
use crate::execution::text_result;
use crate::result::QueryResult;
use crate::settings;
use crate::transactions::{NamedStore, Scope};

impl Inner {
    /// Makes or drops what there is besides tables with rows.
    pub(crate) fn define_planned(
        self: &Arc<Self>,
        planned: Statement,
        planner: &Planner,
        scope: Scope,
    ) -> Result<QueryResult> {
        match planned {
            Statement::CreateView { name, view, or_replace, if_not_exists } => {
                self.define(scope, |scope| match if_not_exists && planner.namespace().get(&name).is_some() {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_view(view, or_replace),
                })
            }
            Statement::DropView { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_view(&name.name))
            }),
            Statement::DropTable { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_table(&name.name))
            }),
            Statement::CreateSchema { place, if_not_exists } => self.define(scope, |scope| {
                let catalog = planner.namespace().catalog(&place.database);
                match if_not_exists && catalog.is_some_and(|catalog| catalog.has_schema(&place.schema)) {
                    true => Ok(()),
                    false => scope.transaction_of(&place.database)?.create_schema(&place.schema),
                }
            }),
            Statement::DropSchema { places, cascade } => self.define(scope, |scope| {
                let mut places = places.iter();
                places.try_for_each(|place| scope.transaction_of(&place.database)?.drop_schema(&place.schema, cascade))
            }),
            Statement::CreateSequence { name, definition, or_replace, if_not_exists } => {
                self.define(scope, |scope| match if_not_exists && planner.namespace().get(&name).is_some() {
                    true => Ok(()),
                    false => scope.transaction_of(&name.database)?.create_sequence(definition, or_replace),
                })
            }
            Statement::DropSequence { names } => self.define(scope, |scope| {
                names.iter().try_for_each(|name| scope.transaction_of(&name.database)?.drop_sequence(&name.name))
            }),
            other => self.run_command(other, planner, &scope),
        }
    }

    fn run_command(&self, planned: Statement, planner: &Planner, scope: &Scope) -> Result<QueryResult> {
        match planned {
            Statement::Attach(plan) => self.attach(&plan),
            Statement::Detach { name, if_exists } => self.detach(&name, if_exists),
            Statement::Use { path } => {
                self.session().change(|own| own.path = path);
                Ok(QueryResult::empty())
            }
            Statement::Nothing => Ok(QueryResult::empty()),
            Statement::Checkpoint => match scope.is_open() {
                false => {
                    let current = &planner.namespace().current().database;
                    let stores = self.stores();
                    let current = stores.iter().find(|NamedStore { name, .. }| name == current);
                    current.map_or(Ok(()), |named| named.store.checkpoint()).map(|()| QueryResult::empty())
                }
                true => Err(Error::user("a checkpoint can't be made within a transaction").with_hint("COMMIT first")),
            },
            Statement::MergeDelta { table } => self.merge_delta(&table, scope),
            Statement::Set { name, value } => {
                settings::set(&self.session(), &name, &value).map(|()| QueryResult::empty())
            }
            Statement::Reset { name } => {
                settings::reset(&self.session(), name.as_deref()).map(|()| QueryResult::empty())
            }
            Statement::Show { name } => {
                let rows = settings::show(&self.session(), name.as_deref())?;
                let column = |index: usize| rows.iter().map(|row| row[index].clone()).collect();
                text_result(&settings::COLUMNS, (0..settings::COLUMNS.len()).map(column).collect())
            }
            _ => unreachable!("all other statements were handled before"),
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
