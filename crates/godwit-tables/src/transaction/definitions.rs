//! Creating, altering and dropping tables, views, sequences and schemas in a transaction.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_catalog::{
    AlterPlan, CatalogEntry, Comments, GeneratedKind, MacroDefinition, SCHEMA, Sequence, SequenceDefinition,
    TableRules, TypeDefinition, ViewDefinition, full_name_of_key, macro_key, schema_key, sequences_in, split_name,
    type_key,
};
use godwit_common::{Error, Named, Result};
use godwit_encoding::EncodingChoice;
use godwit_storage::table::Main;

use super::{Own, Slot, Transaction, key};
use crate::store::View;
use crate::version::TableVersion;

/// A table to be created.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its full name.
    pub name: String,
    /// Its columns; strings are views.
    pub fields: Vec<Field>,
    /// Defaults and constraints.
    pub rules: TableRules,
    /// Sequences of its identity columns.
    pub sequences: Vec<SequenceDefinition>,
    /// Replaces an existing table with that name.
    pub or_replace: bool,
}

impl Transaction {
    /// Creates a table without rows.
    pub fn create_table(&self, table: &NewTable) -> Result<Arc<TableVersion>> {
        check_encodings(&table.rules)?;
        let mut state = self.changeable()?;
        let key = key(&table.name);
        let Slot { table: existing, entry } = state.own.view.get(&key);
        match (entry, &existing) {
            (Some(CatalogEntry::View(_)), _) => return Err(Error::user(format!("{} is a view already", table.name))),
            (Some(CatalogEntry::Sequence(_)), _) => {
                return Err(Error::user(format!("{} is a sequence already", table.name)));
            }
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
        enter_schema(&mut state.own, &table.name)?;
        if let Some(replaced) = existing {
            drop_owned(&mut state.own, replaced.rules(), version.rules());
        }
        for definition in &table.sequences {
            let name = &definition.name;
            if state.own.view.get(&self::key(name)).entry.is_some() {
                return Err(Error::user(format!("{name} exists already"))
                    .with_hint("the IDENTITY column needs a sequence of that name: rename the column"));
            }
            let sequence = Sequence::new(definition.clone(), Some(definition.start));
            state.own.put(self::key(name), Slot::of_sequence(Arc::new(sequence)));
        }
        state.own.put(key, Slot::of_table(version.clone()));
        Ok(version)
    }

    /// Changes the names and rules of a table; types and rows stay. Returns the table before and after.
    pub fn alter_table(&self, alter: &AlterPlan) -> Result<(Arc<TableVersion>, Arc<TableVersion>)> {
        check_encodings(&alter.rules)?;
        let mut state = self.changeable()?;
        let view = &state.own.view;
        let (old_key, new_key) = (key(&alter.table.name), key(&alter.new_name));
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

    /// Drops a table.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(name);
        let slot = state.own.view.get(&key);
        if let Some(table) = &slot.table {
            check_children(&state.own.view, &key, None)?;
            drop_owned(&mut state.own, table.rules(), &TableRules::default());
        } else {
            // Either a table backed by a file, or an error.
            state.own.view.catalog.snapshot().drop_table(name)?;
        }
        state.own.put(key, Slot::default());
        Ok(())
    }

    /// Creates a schema. If it replaces one, that must be empty.
    pub fn create_schema(&self, name: &str, or_replace: bool) -> Result<()> {
        if or_replace && self.catalog().has_schema(name) {
            self.drop_schema(name, false)?;
        }
        let mut state = self.changeable()?;
        if state.own.view.catalog.has_schema(name) {
            return Err(Error::user(format!("the schema {name} exists already")));
        }
        state.own.put(key(&schema_key(name)), Slot::of_schema(name));
        Ok(())
    }

    /// Drops a schema and, with `cascade`, everything in it.
    pub fn drop_schema(&self, name: &str, cascade: bool) -> Result<()> {
        let mut state = self.changeable()?;
        let view = &state.own.view;
        if name == SCHEMA {
            return Err(Error::user(format!("the schema {SCHEMA} can't be dropped")));
        }
        if !view.catalog.has_schema(name) {
            return Err(Error::user(format!("no schema named {name}")));
        }
        let entries = view.catalog.entries().into_iter().map(|(full, _)| full);
        let inside: Vec<String> =
            entries.filter(|full| full != &schema_key(name) && split_name(full_name_of_key(full)).0 == name).collect();
        if let Some(first) = inside.first().filter(|_| !cascade) {
            return Err(Error::user(format!("the schema {name} isn't empty: it has {first}"))
                .with_hint(format!("DROP SCHEMA {name} CASCADE drops what is in it, too")));
        }
        let others = view.tables.iter().filter(|(other, _)| !inside.contains(other));
        for (other, table) in others {
            let refers = |parent: &str| inside.contains(&key(parent));
            if let Some(reference) = table.rules().references.iter().find(|reference| refers(&reference.parent)) {
                return Err(Error::user(format!("{other} refers to {}", reference.parent))
                    .with_hint(format!("drop {other} first, or its constraint {}", reference.name)));
            }
        }
        check_unused(view, &inside)?;
        inside.into_iter().for_each(|full| state.own.put(full, Slot::default()));
        state.own.put(key(&schema_key(name)), Slot::default());
        Ok(())
    }

    /// Creates a sequence.
    pub fn create_sequence(&self, definition: SequenceDefinition, or_replace: bool) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(&definition.name);
        match state.own.view.get(&key).entry {
            None => {}
            Some(CatalogEntry::Sequence(_)) if or_replace => {}
            Some(_) => {
                return Err(Error::user(format!("{} exists already", definition.name)).with_hint("choose another name"));
            }
        }
        enter_schema(&mut state.own, &definition.name)?;
        let start = Some(definition.start);
        state.own.put(key, Slot::of_sequence(Arc::new(Sequence::new(definition, start))));
        Ok(())
    }

    /// Changes the definition of a sequence; it continues at `next`.
    pub fn alter_sequence(&self, definition: SequenceDefinition, next: Option<i64>) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(&definition.name);
        match state.own.view.get(&key).entry {
            Some(CatalogEntry::Sequence(_)) => {}
            _ => return Err(Error::user(format!("no sequence named {}", definition.name))),
        }
        state.own.put(key, Slot::of_sequence(Arc::new(Sequence::new(definition, next))));
        Ok(())
    }

    /// Drops a sequence.
    pub fn drop_sequence(&self, name: &str) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(name);
        match state.own.view.get(&key).entry {
            Some(CatalogEntry::Sequence(_)) => {}
            Some(_) => return Err(Error::user(format!("{name} is no sequence"))),
            None => return Err(Error::user(format!("no sequence named {name}"))),
        }
        check_unused(&state.own.view, std::slice::from_ref(&key))?;
        state.own.put(key, Slot::default());
        Ok(())
    }

    /// Creates a view.
    pub fn create_view(&self, view: Arc<ViewDefinition>, or_replace: bool) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(&view.name);
        enter_schema(&mut state.own, &view.name)?;
        state.own.view.catalog.snapshot().create_view(view.clone(), or_replace)?;
        state.own.put(key, Slot::of_entry(CatalogEntry::View(view)));
        Ok(())
    }

    /// Creates a macro.
    pub fn create_macro(&self, definition: Arc<MacroDefinition>, or_replace: bool) -> Result<()> {
        let name = definition.name.clone();
        self.create_text(&name, macro_key(&name), CatalogEntry::Macro(definition), or_replace)
    }

    /// Creates a type.
    pub fn create_type(&self, definition: Arc<TypeDefinition>, or_replace: bool) -> Result<()> {
        let name = definition.name.clone();
        self.create_text(&name, type_key(&name), CatalogEntry::Type(definition), or_replace)
    }

    /// Drops a macro.
    pub fn drop_macro(&self, name: &str) -> Result<()> {
        self.drop_text("macro", name, &macro_key(name))
    }

    /// Drops a type. Its users have copies.
    pub fn drop_type(&self, name: &str) -> Result<()> {
        self.drop_text("type", name, &type_key(name))
    }

    fn create_text(&self, name: &str, as_key: String, entry: CatalogEntry, or_replace: bool) -> Result<()> {
        let mut state = self.changeable()?;
        enter_schema(&mut state.own, name)?;
        let key = key(&as_key);
        if !or_replace && state.own.view.get(&key).entry.is_some() {
            return Err(Error::user(format!("{name} exists already"))
                .with_hint("use CREATE OR REPLACE to replace it, or choose another name"));
        }
        state.own.put(key, Slot::of_entry(entry));
        Ok(())
    }

    fn drop_text(&self, kind: &str, name: &str, as_key: &str) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(as_key);
        if state.own.view.get(&key).entry.is_none() {
            return Err(Error::user(format!("no {kind} named {name}")));
        }
        state.own.put(key, Slot::default());
        Ok(())
    }

    /// Sets the comments on the catalog object with a key.
    pub fn set_comments(&self, of: &str, comments: Comments) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(of);
        let commented = state.own.view.get(&key).with_comments(comments)?;
        let commented = commented.ok_or_else(|| Error::user(format!("{of} can't have comments")))?;
        state.own.put(key, commented);
        Ok(())
    }

    /// Drops a view.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        let mut state = self.changeable()?;
        state.own.view.catalog.snapshot().drop_view(name)?;
        state.own.put(key(name), Slot::default());
        Ok(())
    }
}

/// Fails for an unknown encoding.
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

/// Columns whose values may come from sequences, each with its expression.
fn numbered(rules: &TableRules) -> impl Iterator<Item = (&str, &str)> {
    let defaults = rules.defaults.iter().map(|(column, default)| (column.as_str(), default.as_str()));
    let identities = rules.generated.iter().filter(|column| column.kind == GeneratedKind::Identity);
    defaults.chain(identities.map(|column| (column.field.name().as_str(), column.expression.as_str())))
}

/// Drops the sequences of identity columns along with the rules that use them, unless other rules still do.
fn drop_owned(own: &mut Own, rules: &TableRules, kept: &TableRules) {
    let used = |rules: &TableRules| numbered(rules).flat_map(|(_, text)| sequences_in(text)).collect::<Vec<_>>();
    let kept = used(kept);
    for name in used(rules).into_iter().filter(|name| !kept.contains(name)) {
        let entry = own.view.get(&key(&name)).entry;
        if matches!(entry, Some(CatalogEntry::Sequence(sequence)) if sequence.definition().is_owned) {
            own.put(key(&name), Slot::default());
        }
    }
}

/// Fails if defaults of remaining tables use sequences in `going`. All names are in lower case.
fn check_unused(view: &View, going: &[String]) -> Result<()> {
    for (other, table) in view.tables.iter().filter(|(other, _)| !going.contains(other)) {
        for (column, expression) in numbered(table.rules()) {
            if let Some(used) = sequences_in(expression).into_iter().find(|name| going.contains(&key(name))) {
                return Err(Error::user(format!("column {column} of {other} takes numbers of {used}"))
                    .with_hint(format!("ALTER TABLE {other} ALTER COLUMN {column} DROP DEFAULT")));
            }
        }
    }
    Ok(())
}

/// Called when something is created in the schema with this name, which must exist and stay until the commit.
fn enter_schema(own: &mut Own, name: &str) -> Result<()> {
    let (schema, _) = split_name(name);
    if schema == SCHEMA {
        return Ok(());
    }
    let key = key(&schema_key(&schema));
    let Some(definition) = own.view.get(&key).schema().cloned() else {
        return Err(
            Error::user(format!("no schema named {schema}")).with_hint(format!("CREATE SCHEMA {schema} makes one"))
        );
    };
    // Put again, so that a transaction that drops it meanwhile fails.
    own.put(key, Slot::of_entry(CatalogEntry::Schema(Arc::new(definition))));
    Ok(())
}

/// The rules with references completed: those that don't name the referenced columns get the primary key's.
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

/// Fails if another table refers to columns that are no longer a key; `None` if the table no longer exists.
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
