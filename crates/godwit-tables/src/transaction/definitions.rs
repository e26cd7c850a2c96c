//! Tables and views that a transaction makes, alters and drops.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_common::{Error, Named, Result};
use godwit_encoding::EncodingChoice;
use godwit_sql::{AlterPlan, CatalogEntry, TableRules, ViewDefinition};
use godwit_storage::table::Main;

use super::{Slot, Transaction, key};
use crate::store::View;
use crate::version::TableVersion;

/// A table that is about to be made.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its columns; strings are views.
    pub fields: Vec<Field>,
    /// Defaults and constraints.
    pub rules: TableRules,
    /// Replaces a table of that name.
    pub or_replace: bool,
}

impl Transaction {
    /// Makes a table without rows.
    pub fn create_table(&self, table: &NewTable) -> Result<Arc<TableVersion>> {
        let mut state = self.changeable()?;
        let key = key(&table.name);
        let Slot { table: existing, entry } = state.own.view.get(&key);
        match (entry, existing) {
            (Some(CatalogEntry::View(_)), _) => return Err(Error::user(format!("{} is a view already", table.name))),
            (Some(CatalogEntry::Table(_)), None) => {
                return Err(Error::user(format!("{} is a file's table", table.name)).with_hint("choose another name"));
            }
            (Some(CatalogEntry::Table(_)), Some(_)) if !table.or_replace => {
                return Err(Error::user(format!("{} exists already", table.name))
                    .with_hint("use CREATE OR REPLACE TABLE to replace it, or choose another name"));
            }
            _ => {}
        }
        let rules = with_parent_keys(&state.own.view, &table.name, &table.rules)?;
        let main = Main::empty(&table.fields)?;
        let version = TableVersion::new(&table.name, main, Arc::new(rules), self.store.memory())?;
        check_children(&state.own.view, &key, Some(version.rules()))?;
        state.own.put(key, Slot::of_table(version.clone()));
        Ok(version)
    }

    /// Gives a table other names and rules; types and rows stay. Returns the table before and after.
    pub fn alter_table(&self, alter: &AlterPlan) -> Result<(Arc<TableVersion>, Arc<TableVersion>)> {
        check_encodings(&alter.rules)?;
        let mut state = self.changeable()?;
        let view = &state.own.view;
        let (old_key, new_key) = (key(&alter.table), key(&alter.new_name));
        let before = view.tables.get(&old_key).cloned();
        let before = before.ok_or_else(|| Error::user(format!("{} is no table of the database", alter.table)))?;
        if old_key != new_key {
            check_children(view, &old_key, None)?;
            if view.get(&new_key).entry.is_some() {
                return Err(Error::user(format!("{} exists already", alter.new_name)).with_hint("choose another name"));
            }
        }
        let rules = with_parent_keys(view, &alter.new_name, &alter.rules)?;
        check_children(view, &old_key, Some(&rules))?;
        let after = before.altered(&alter.new_name, &alter.schema, rules)?;
        state.own.put(old_key, Slot::default());
        state.own.put(new_key, Slot::of_table(after.clone()));
        Ok((before, after))
    }

    /// Removes a table.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(name);
        let slot = state.own.view.get(&key);
        if slot.table.is_some() {
            check_children(&state.own.view, &key, None)?;
        } else {
            // A file's table, or an error.
            state.own.view.catalog.snapshot().drop_table(name)?;
        }
        state.own.put(key, Slot::default());
        Ok(())
    }

    /// Makes a view.
    pub fn create_view(&self, view: Arc<ViewDefinition>, or_replace: bool) -> Result<()> {
        if view.statement.is_some() {
            self.store.check_writable()?;
        }
        let mut state = self.state.lock();
        let key = key(&view.name);
        state.own.view.catalog.snapshot().create_view(view.clone(), or_replace)?;
        state.own.put(key, Slot { table: None, entry: Some(CatalogEntry::View(view)) });
        Ok(())
    }

    /// Removes a view.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let catalog = state.own.view.catalog.snapshot();
        if let Some(CatalogEntry::View(view)) = catalog.get(name)
            && view.statement.is_some()
        {
            self.store.check_writable()?;
        }
        catalog.drop_view(name)?;
        state.own.put(key(name), Slot::default());
        Ok(())
    }
}

/// An error for an encoding that there isn't.
fn check_encodings(rules: &TableRules) -> Result<()> {
    match rules.encodings.iter().find(|(_, name)| EncodingChoice::from_name(name).is_none()) {
        None => Ok(()),
        Some((column, name)) => {
            let known: Vec<&str> = EncodingChoice::NAMES.iter().map(|(name, _)| *name).collect();
            Err(Error::user(format!("{column} can't be stored as '{name}'"))
                .with_hint(format!("encodings are: {}", known.join(", "))))
        }
    }
}

/// Rules whose references name the columns that they refer to: those of the primary key, if none were named.
fn with_parent_keys(view: &View, table: &str, rules: &TableRules) -> Result<TableRules> {
    let mut rules = rules.clone();
    let own_keys = rules.keys.clone();
    for reference in &mut rules.references {
        let parent = view.tables.get(&key(&reference.parent));
        let keys = match parent {
            _ if key(&reference.parent) == key(table) => &own_keys,
            Some(parent) => &parent.rules().keys,
            None => {
                return Err(Error::user(format!(
                    "{} refers to {}, which is no table",
                    reference.name, reference.parent
                )));
            }
        };
        let is_meant = |columns: &[String]| {
            let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
            lower(columns) == lower(&reference.parent_columns)
        };
        let found = match reference.parent_columns.is_empty() {
            true => keys.iter().find(|key| key.is_primary),
            false => keys.iter().find(|key| is_meant(&key.columns)),
        };
        let found = found.filter(|key| key.columns.len() == reference.columns.len()).ok_or_else(|| {
            Error::user(format!("{} doesn't refer to a key of {}", reference.name, reference.parent))
                .with_hint("foreign keys refer to a PRIMARY KEY or UNIQUE constraint with as many columns")
        })?;
        reference.parent_columns.clone_from(&found.columns);
    }
    Ok(rules)
}

/// An error if another table refers to what isn't a key any more; `None`: there is no table any more.
fn check_children(view: &View, name: &str, rules: Option<&TableRules>) -> Result<()> {
    for (other, table) in view.tables.iter().filter(|(other, _)| *other != name) {
        for reference in table.rules().references.iter().filter(|reference| key(&reference.parent) == name) {
            let is_key = |rules: &TableRules| rules.keys.iter().any(|key| key.columns == reference.parent_columns);
            if !rules.is_some_and(is_key) {
                return Err(Error::user(format!("{other} refers to {name}"))
                    .with_hint(format!("drop {other} first, or its constraint {}", reference.name)));
            }
        }
    }
    Ok(())
}
