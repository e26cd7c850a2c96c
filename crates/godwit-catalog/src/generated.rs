//! Generated columns: their values follow from the other columns of the row.
//!
//! | kind | in the table | value |
//! |---|---|---|
//! | virtual | no | computed by a projection above each scan |
//! | stored | yes | computed by a projection below each change of rows |
//! | identity | yes | taken from a sequence of the column's own, as a default that can't be replaced |
//!
//! Expressions are kept as text over the stored columns of the table; virtual columns in them are replaced by their
//! expressions when the column is created.

use arrow_schema::{DataType, Field, Schema};
use godwit_common::{Error, Result};

use crate::TableRules;
use crate::stored::mentions;

/// How a generated column gets its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedKind {
    /// Computed when the column is read.
    Virtual,
    /// Computed when its row is written.
    Stored,
    /// Taken from a sequence.
    Identity,
}

/// A column whose values are always computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedColumn {
    /// Name and type.
    pub field: Field,
    /// Position of a virtual column among all columns, from 0.
    pub position: usize,
    /// Its expression, over the stored columns of the table.
    pub expression: String,
    /// How it gets its values.
    pub kind: GeneratedKind,
}

impl GeneratedColumn {
    /// Creates a column whose values are those of `next`.
    pub fn identity(name: &str, next: String) -> Self {
        let field = Field::new(name, DataType::Int64, false);
        Self { field, position: 0, expression: next, kind: GeneratedKind::Identity }
    }
}

impl TableRules {
    /// Returns the rule of a generated column.
    pub fn generated_column(&self, name: &str) -> Option<&GeneratedColumn> {
        self.generated.iter().find(|column| column.field.name().eq_ignore_ascii_case(name))
    }

    /// Returns the columns as statements see them, given the stored ones.
    pub fn visible(&self, stored: &Schema) -> Vec<Field> {
        let mut columns: Vec<Field> = stored.fields().iter().map(|field| field.as_ref().clone()).collect();
        let mut computed: Vec<_> =
            self.generated.iter().filter(|column| column.kind == GeneratedKind::Virtual).collect();
        computed.sort_by_key(|column| column.position);
        for column in computed {
            columns.insert(column.position.min(columns.len()), column.field.clone());
        }
        columns
    }

    /// Removes a generated column's rule before the column is dropped. Returns true if nothing else of it is left.
    pub fn forget_generated(&mut self, name: &str, stored: &Schema) -> bool {
        let visible = self.visible(stored);
        let place = visible.iter().position(|field| field.name().eq_ignore_ascii_case(name));
        let is_virtual = self.generated_column(name).is_some_and(|column| column.kind == GeneratedKind::Virtual);
        self.generated.retain(|column| !column.field.name().eq_ignore_ascii_case(name));
        for column in &mut self.generated {
            if place.is_some_and(|place| column.position > place) {
                column.position -= 1;
            }
        }
        is_virtual
    }

    /// Fails if an expression needs the column.
    pub fn check_unused(&self, column: &str) -> Result<()> {
        for generated in &self.generated {
            if generated.kind != GeneratedKind::Identity && mentions(&generated.expression, column)? {
                let name = generated.field.name();
                return Err(Error::user(format!("the generated column {name} needs {column}"))
                    .with_hint(format!("drop {name} first")));
            }
        }
        Ok(())
    }
}
