//! The memory objects of the parts of a table: see [`Object`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_schema::{Field, Schema};
use godwit_catalog::split_name;
use godwit_memory::{BufferManager, Object, ObjectKind};
use godwit_storage::table::Main;

/// The objects of a table, which all of its versions share.
pub(crate) struct TableObjects {
    table: Arc<Object>,
    columns: Vec<Arc<Object>>,
    delta: Arc<Object>,
    /// The number of the next row group. Numbers are never reused, so that a segment keeps its name when others are
    /// merged.
    next_group: AtomicU32,
}

impl TableObjects {
    /// The objects of a new table; `memory` allocates for the object of its database.
    pub(crate) fn new(name: &str, fields: &[Field], memory: &BufferManager) -> Arc<Self> {
        let table = match memory.object() {
            Some(database) => database.child(ObjectKind::Table, &with_schema(name)),
            None => memory.root_object(ObjectKind::Table, &with_schema(name)),
        };
        let columns = fields.iter().map(|field| table.child(ObjectKind::Column, field.name())).collect();
        let delta = table.child(ObjectKind::Delta, "(delta)");
        Arc::new(Self { table, columns, delta, next_group: AtomicU32::new(0) })
    }

    /// Names the segments and dictionaries of a main part that have no names yet.
    pub(crate) fn identify(&self, main: &Main) {
        for group in &main.groups {
            let mut number = None;
            for (segment, column) in group.segments.iter().zip(&self.columns) {
                segment.identify(|| {
                    let number = *number.get_or_insert_with(|| self.next_group.fetch_add(1, Ordering::Relaxed));
                    column.numbered_child(ObjectKind::Segment, number)
                });
            }
        }
        for (column, object) in main.columns.iter().zip(&self.columns) {
            if let Some(dictionary) = &column.dictionary {
                dictionary.identify(|| object.child(ObjectKind::Dictionary, "(dictionary)"));
            }
        }
    }

    /// Renames the table and its columns.
    pub(crate) fn rename(&self, name: &str, schema: &Schema) {
        self.table.rename(&with_schema(name));
        self.columns.iter().zip(schema.fields()).for_each(|(column, field)| column.rename(field.name()));
    }

    /// The objects of the columns.
    pub(crate) fn columns(&self) -> &[Arc<Object>] {
        &self.columns
    }

    /// The object of the rows outside of row groups.
    pub(crate) fn delta(&self) -> &Arc<Object> {
        &self.delta
    }
}

/// The full name of a table as a path: adds the schema main to names without a schema.
fn with_schema(name: &str) -> String {
    let (schema, table) = split_name(name);
    format!("{schema}.{table}")
}
