//! The names of one database: schemas, tables, views and sequences.
//!
//! Names are full names (`names.rs`) and case-insensitive (kept in lower case), like unquoted SQL names. A view is kept
//! as text and bound again at each use, so it follows its tables. Safe to share between threads.
//!
//! A [snapshot](Catalog::snapshot) costs nothing until either of the two changes: each statement is planned with one,
//! and each transaction has its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_common::{Error, Result};
use parking_lot::RwLock;

use crate::names::{SCHEMA, nearest, schema_key, schema_of_key};
use crate::{Comments, Sequence, TableDefinition};

/// The content of a database, by full name.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: RwLock<Arc<Entries>>,
}

#[derive(Debug, Clone, Default)]
struct Entries {
    by_name: BTreeMap<String, CatalogEntry>,
    /// Replaced whenever an entry is added, removed, or changed by more than a new version of its table.
    definitions: Arc<Definitions>,
}

/// The entries without the rows of tables, compared by address.
#[derive(Debug, Default)]
struct Definitions;

impl Entries {
    fn insert(&mut self, key: String, entry: CatalogEntry) {
        let before = self.by_name.get(&key);
        if !before.is_some_and(|before| before.has_same_definition(&entry)) {
            self.definitions = Arc::default();
        }
        self.by_name.insert(key, entry);
    }

    fn remove(&mut self, key: &str) {
        self.by_name.remove(key);
        self.definitions = Arc::default();
    }
}

/// The meaning of a name.
#[derive(Debug, Clone)]
pub enum CatalogEntry {
    /// A table.
    Table(Arc<TableDefinition>),
    /// A view.
    View(Arc<ViewDefinition>),
    /// A macro, under its [`macro_key`](crate::names::macro_key).
    Macro(Arc<MacroDefinition>),
    /// A type, under its [`type_key`](crate::names::type_key).
    Type(Arc<TypeDefinition>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// A schema other than main, under its [`schema_key`].
    Schema(Arc<SchemaDefinition>),
}

impl CatalogEntry {
    /// Returns true if both are versions of one table, without an ALTER TABLE between them.
    fn has_same_definition(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Table(a), Self::Table(b)) => a.has_same_definition(b),
            _ => false,
        }
    }
}

/// A schema; its members are found by their names.
#[derive(Debug, Clone)]
pub struct SchemaDefinition {
    /// The name.
    pub name: String,
    /// Comments on it.
    pub comments: Comments,
}

/// A named expression or query with parameters. It sees the names of its own database, as seen in main.
#[derive(Debug, Clone)]
pub struct MacroDefinition {
    /// The full name.
    pub name: String,
    /// The statement that created it.
    pub statement: String,
    /// Comments on it.
    pub comments: Comments,
}

/// A named type.
#[derive(Debug, Clone)]
pub struct TypeDefinition {
    /// The full name.
    pub name: String,
    /// The type as SQL.
    pub sql: String,
    /// Comments on it.
    pub comments: Comments,
}

/// A named query.
#[derive(Debug, Clone)]
pub struct ViewDefinition {
    /// The full name.
    pub name: String,
    /// The schema in which the query's names are looked up first: the current one when the view was created.
    pub schema: String,
    /// The database of that schema, for a temporary view; others see their own database.
    pub database: Option<Arc<str>>,
    /// The statement that created it. Its query is bound again by each statement that names the view.
    pub statement: String,
    /// Comments on it and its columns.
    pub comments: Comments,
}

impl CatalogEntry {
    /// Returns the comments set by COMMENT ON; none for a file's table.
    pub fn comments(&self) -> Comments {
        match self {
            Self::Table(table) => table.rules().map(|rules| rules.comments.clone()).unwrap_or_default(),
            Self::View(view) => view.comments.clone(),
            Self::Macro(definition) => definition.comments.clone(),
            Self::Type(definition) => definition.comments.clone(),
            Self::Sequence(sequence) => sequence.definition().comments.clone(),
            Self::Schema(schema) => schema.comments.clone(),
        }
    }

    /// Returns the entry with these comments; `None` for a table, whose comments are among its rules.
    pub fn with_comments(&self, comments: Comments) -> Option<Self> {
        Some(match self {
            Self::Table(_) => return None,
            Self::View(view) => Self::View(Arc::new(ViewDefinition { comments, ..view.as_ref().clone() })),
            Self::Macro(definition) => {
                Self::Macro(Arc::new(MacroDefinition { comments, ..definition.as_ref().clone() }))
            }
            Self::Type(definition) => Self::Type(Arc::new(TypeDefinition { comments, ..definition.as_ref().clone() })),
            Self::Sequence(sequence) => Self::Sequence(Arc::new(sequence.with_comments(comments))),
            Self::Schema(schema) => Self::Schema(Arc::new(SchemaDefinition { comments, ..schema.as_ref().clone() })),
        })
    }
}

impl Catalog {
    /// Creates a catalog without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the entry of that name.
    pub fn get(&self, name: &str) -> Option<CatalogEntry> {
        self.entries.read().by_name.get(&name.to_lowercase()).cloned()
    }

    /// Adds a table under its own name, replacing a table or view of that name if `or_replace`.
    pub fn create_table(&self, table: Arc<TableDefinition>, or_replace: bool) -> Result<()> {
        let name = table.name.clone();
        self.create(&name, CatalogEntry::Table(table), or_replace)
    }

    /// Adds a view under its own name, replacing a view of that name if `or_replace`.
    pub fn create_view(&self, view: Arc<ViewDefinition>, or_replace: bool) -> Result<()> {
        let name = view.name.clone();
        self.create(&name, CatalogEntry::View(view), or_replace)
    }

    /// Returns a catalog with the same entries that changes independently.
    pub fn snapshot(&self) -> Catalog {
        Self { entries: RwLock::new(self.entries.read().clone()) }
    }

    /// Returns true if all entries are the same, because neither has changed since one was created from the other.
    pub fn is_same(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.entries.read().clone(), &other.entries.read())
    }

    /// Returns true if statements bind the same way with both: only rows of tables may differ.
    pub fn has_same_definitions(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.entries.read().definitions.clone(), &other.entries.read().definitions)
    }

    /// Replaces or removes entries, all at once.
    pub fn put_all(&self, changes: impl IntoIterator<Item = (String, Option<CatalogEntry>)>) {
        let mut entries = self.entries.write();
        let entries = Arc::make_mut(&mut entries);
        for (name, entry) in changes {
            match entry {
                Some(entry) => entries.insert(name.to_lowercase(), entry),
                None => entries.remove(&name.to_lowercase()),
            }
        }
    }

    /// Removes a table; fails if there is none of that name.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut entries = self.entries.write();
        match entries.by_name.get(&name.to_lowercase()) {
            Some(CatalogEntry::Table(_)) => {
                Arc::make_mut(&mut entries).remove(&name.to_lowercase());
                Ok(())
            }
            Some(CatalogEntry::View(_)) => {
                Err(Error::user(format!("{name} is a view, not a table")).with_hint("use DROP VIEW"))
            }
            _ => Err(missing("table", name, &entries, |entry| matches!(entry, CatalogEntry::Table(_)))),
        }
    }

    /// Removes a view; fails if there is none of that name.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        let mut entries = self.entries.write();
        match entries.by_name.get(&name.to_lowercase()) {
            Some(CatalogEntry::View(_)) => {
                Arc::make_mut(&mut entries).remove(&name.to_lowercase());
                Ok(())
            }
            Some(CatalogEntry::Table(_)) => Err(Error::user(format!("{name} is a table, not a view"))),
            _ => Err(missing("view", name, &entries, |entry| matches!(entry, CatalogEntry::View(_)))),
        }
    }

    /// Returns the names of all schemas.
    pub fn schemas(&self) -> Vec<String> {
        let others = self.entries.read().by_name.keys().filter_map(|key| schema_of_key(key)).collect::<Vec<_>>();
        std::iter::once(SCHEMA.to_owned()).chain(others).collect()
    }

    /// Returns true if there is such a schema.
    pub fn has_schema(&self, schema: &str) -> bool {
        schema.eq_ignore_ascii_case(SCHEMA) || self.get(&schema_key(schema)).is_some()
    }

    /// Returns all entries, by name.
    pub fn entries(&self) -> Vec<(String, CatalogEntry)> {
        self.entries.read().by_name.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
    }

    fn create(&self, name: &str, entry: CatalogEntry, or_replace: bool) -> Result<()> {
        let mut entries = self.entries.write();
        let key = name.to_lowercase();
        match (entries.by_name.get(&key), &entry) {
            (Some(CatalogEntry::Table(_)), CatalogEntry::View(_)) => {
                Err(Error::user(format!("{name} is a table already")).with_hint("choose another name for the view"))
            }
            (
                Some(
                    CatalogEntry::Sequence(_)
                    | CatalogEntry::Schema(_)
                    | CatalogEntry::Macro(_)
                    | CatalogEntry::Type(_),
                ),
                _,
            ) => Err(Error::user(format!("{name} is a sequence already")).with_hint("choose another name")),
            (Some(_), _) if !or_replace => Err(Error::user(format!("{name} exists already"))
                .with_hint("use CREATE OR REPLACE to replace it, or choose another name")),
            _ => {
                Arc::make_mut(&mut entries).insert(key, entry);
                Ok(())
            }
        }
    }
}

/// Returns the error for a name that is missing among the entries of a kind.
fn missing(kind: &str, name: &str, entries: &Entries, is_of_kind: impl Fn(&CatalogEntry) -> bool) -> Error {
    let names = entries.by_name.iter().filter(|(_, entry)| is_of_kind(entry)).map(|(name, _)| name.as_str());
    let error = Error::user(format!("no {kind} named {name}"));
    match nearest(name, names) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}
