//! The bindings during evaluation: a chain, the innermost first.
//!
//! ```text
//! row of the right side ─► row of the left side ─► row of the outer query ─► rows of a recursion's round ─► nothing
//! ```

use godwit_plan::ColumnId;
use godwit_types::Value;

/// A value for each column.
pub type Row = Vec<Value>;

/// The rows of a node.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The columns, in order.
    pub columns: Vec<ColumnId>,
    /// The rows, each with a value per column.
    pub rows: Vec<Row>,
}

/// The columns and recursions with known values.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
    outer: Option<&'a Environment<'a>>,
    binding: Binding<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Binding<'a> {
    Nothing,
    Row { columns: &'a [ColumnId], values: &'a [Value] },
    Working { of: ColumnId, rows: &'a [Row] },
}

impl<'a> Environment<'a> {
    /// An environment without bindings.
    pub const EMPTY: Environment<'static> = Environment { outer: None, binding: Binding::Nothing };

    /// Adds a row, whose columns hide those outside.
    #[must_use]
    pub fn with_row(&'a self, columns: &'a [ColumnId], values: &'a [Value]) -> Self {
        Self { outer: Some(self), binding: Binding::Row { columns, values } }
    }

    /// Adds the rows of a round of a recursion.
    #[must_use]
    pub fn with_working_rows(&'a self, of: ColumnId, rows: &'a [Row]) -> Self {
        Self { outer: Some(self), binding: Binding::Working { of, rows } }
    }

    /// Returns the value of a column.
    pub fn value(&self, column: ColumnId) -> Option<&'a Value> {
        self.chain().find_map(|binding| match binding {
            Binding::Row { columns, values } => {
                columns.iter().position(|&bound| bound == column).map(|position| &values[position])
            }
            Binding::Nothing | Binding::Working { .. } => None,
        })
    }

    /// Returns the rows of the current round of a recursion.
    pub fn working_rows(&self, recursion: ColumnId) -> Option<&'a [Row]> {
        self.chain().find_map(|binding| match binding {
            Binding::Working { of, rows } if of == recursion => Some(rows),
            _ => None,
        })
    }

    fn chain(&self) -> impl Iterator<Item = Binding<'a>> {
        std::iter::successors(Some(*self), |environment| environment.outer.copied())
            .map(|environment| environment.binding)
    }
}
