//! Proven bounds of columns.
//!
//! A column's id denotes the same value everywhere, so the bounds of a table's column hold for that id in the whole
//! plan; outer joins add NULLs, and bounds describe the other values.

use std::collections::HashMap;

use godwit_plan::{ColumnId, Node, NodeId, Plan, ValueRange};

/// Bounds by column, as integers, unscaled decimals, days or ticks.
#[derive(Debug, Default)]
pub struct Ranges {
    of: HashMap<ColumnId, ValueRange>,
}

impl Ranges {
    /// Returns the bounds of a column.
    pub fn get(&self, column: ColumnId) -> Option<ValueRange> {
        self.of.get(&column).copied()
    }

    /// Adds the bounds of the columns that a node makes; inputs must come before their users.
    pub fn add(&mut self, plan: &Plan, id: NodeId) {
        match plan.node(id) {
            Node::Scan(scan) => {
                let statistics = &scan.relation.statistics().columns;
                for &(column, at) in &scan.columns {
                    if let Some(range) = statistics.get(at).and_then(|column| column.range) {
                        self.of.insert(column, range);
                    }
                }
            }
            Node::Project(project) => {
                let renamed = project.columns.iter().filter_map(|(column, expr)| Some((*column, expr.as_column()?)));
                self.rename(renamed);
            }
            Node::Use(used) => self.rename(used.columns.iter().copied()),
            _ => {}
        }
    }

    fn rename(&mut self, pairs: impl Iterator<Item = (ColumnId, ColumnId)>) {
        for (column, source) in pairs {
            if let Some(range) = self.get(source) {
                self.of.insert(column, range);
            }
        }
    }
}
