//! A snapshot of the tables and names of a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_catalog::{Catalog, CatalogEntry, Comments, SchemaDefinition, Sequence, TableRules};
use godwit_common::Result;

use crate::version::TableVersion;

/// Tables by lower-case name. Cloning is free until one of the two changes.
pub(crate) type Tables = Arc<BTreeMap<String, Arc<TableVersion>>>;

/// What a name stands for.
#[derive(Clone, Default)]
pub(crate) struct Slot {
    /// A table of the database's own.
    pub table: Option<Arc<TableVersion>>,
    /// The entry that the planner sees: that table, a view, a sequence, a schema, or a file.
    pub entry: Option<CatalogEntry>,
}

impl Slot {
    pub(crate) fn of_table(table: Arc<TableVersion>) -> Self {
        let entry = Some(CatalogEntry::Table(table.definition()));
        Self { table: Some(table), entry }
    }

    /// A new schema.
    pub(crate) fn of_schema(name: &str) -> Self {
        Self::of_entry(CatalogEntry::Schema(Arc::new(SchemaDefinition {
            name: name.to_owned(),
            comments: Comments::default(),
        })))
    }

    /// Anything but a table of the database's own.
    pub(crate) fn of_entry(entry: CatalogEntry) -> Self {
        Self { table: None, entry: Some(entry) }
    }

    pub(crate) fn of_sequence(sequence: Arc<Sequence>) -> Self {
        Self::of_entry(CatalogEntry::Sequence(sequence))
    }

    /// The schema, if it is one.
    pub(crate) fn schema(&self) -> Option<&SchemaDefinition> {
        match &self.entry {
            Some(CatalogEntry::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The same object with other comments; `None` if there is nothing to comment on.
    pub(crate) fn with_comments(&self, comments: Comments) -> Result<Option<Self>> {
        if let Some(table) = &self.table {
            let rules = TableRules { comments, ..table.rules().as_ref().clone() };
            return Ok(Some(Self::of_table(table.with_rules(rules)?)));
        }
        Ok(self.entry.as_ref().and_then(|entry| entry.with_comments(comments)).map(Self::of_entry))
    }

    /// True if both are the same version of the same object.
    pub(crate) fn is(&self, other: &Slot) -> bool {
        match (&self.table, &other.table, &self.entry, &other.entry) {
            (Some(a), Some(b), ..) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::View(a)), Some(CatalogEntry::View(b))) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::Table(a)), Some(CatalogEntry::Table(b))) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::Sequence(a)), Some(CatalogEntry::Sequence(b))) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::Schema(a)), Some(CatalogEntry::Schema(b))) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::Macro(a)), Some(CatalogEntry::Macro(b))) => Arc::ptr_eq(a, b),
            (None, None, Some(CatalogEntry::Type(a)), Some(CatalogEntry::Type(b))) => Arc::ptr_eq(a, b),
            (None, None, None, None) => true,
            _ => false,
        }
    }
}

/// A change of what a name stands for.
pub(crate) struct Put {
    /// The name in lower case.
    pub key: String,
    pub before: Slot,
    pub after: Slot,
}

impl Put {
    /// True if the table has blocks that it didn't have before.
    pub(crate) fn has_new_blocks(&self) -> bool {
        match (&self.before.table, &self.after.table) {
            (Some(before), Some(after)) => !Arc::ptr_eq(before.main(), after.main()),
            (None, Some(after)) => !after.main().groups.is_empty(),
            (_, None) => false,
        }
    }
}

/// All tables and names.
#[derive(Clone)]
pub(crate) struct View {
    pub tables: Tables,
    /// Never modified, only replaced.
    pub catalog: Arc<Catalog>,
}

impl View {
    pub(crate) fn get(&self, key: &str) -> Slot {
        Slot { table: self.tables.get(key).cloned(), entry: self.catalog.get(key) }
    }

    pub(crate) fn put_all(&mut self, puts: impl IntoIterator<Item = (String, Slot)>) {
        let catalog = self.catalog.snapshot();
        for (key, slot) in puts {
            put_table(&mut self.tables, &key, slot.table);
            catalog.put_all([(key, slot.entry)]);
        }
        self.catalog = Arc::new(catalog);
    }
}

pub(super) fn put_table(tables: &mut Tables, key: &str, table: Option<Arc<TableVersion>>) {
    match table {
        Some(table) => {
            table.objects().rename(table.name(), table.schema());
            Arc::make_mut(tables).insert(key.to_owned(), table)
        }
        None if tables.contains_key(key) => Arc::make_mut(tables).remove(key),
        None => None,
    };
}
