//! What is known about the rows of a node, beyond what the node itself states.
//!
//! Everything here is computed on demand, from the inputs up, and cached by [`NodeId`]: nodes never change, so the
//! properties of a node stay true. A pass that replaces the root of a shared plan doesn't change its rows, so the
//! properties of its uses stay true as well.
//!
//! | property | meaning |
//! |---|---|
//! | [`outputs`](Properties::outputs) | the columns of the rows, as a set |
//! | [`nullable`](Properties::nullable) | the columns that may be NULL judging by the nodes that make them |
//! | [`nullable_behind_conditions`](Properties::nullable_behind_conditions) | the same, also considering conditions |
//! | [`keys`](Properties::keys) | sets of columns in which no two rows agree |
//! | [`Equivalences`] | columns and constants that conditions make equal |
//! | [`Ranges`] | proven bounds of integer-like columns |
//! | [`rejects_nulls`] | whether a condition isn't TRUE if some columns are NULL |
//! | [`effects`] | whether it is volatile, whether it may fail, and how costly it is |

pub mod effects;
mod equivalences;
mod keys;
mod nulls;
mod ranges;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::rc::Rc;

use godwit_plan::{ColumnSet, Join, JoinKind, Node, NodeId, Plan};

pub use equivalences::Equivalences;
use nulls::Basis;
pub(crate) use nulls::nullable_by;
pub use nulls::{may_be_null, rejects_nulls};
pub use ranges::Ranges;

/// The properties computed so far, by node.
#[derive(Debug, Default)]
pub struct Properties {
    outputs: HashMap<NodeId, Rc<ColumnSet>>,
    nullable: HashMap<(NodeId, Basis), Rc<ColumnSet>>,
    keys: HashMap<NodeId, Rc<[ColumnSet]>>,
}

impl Properties {
    /// Returns the columns of a node's rows.
    pub fn outputs(&mut self, plan: &Plan, id: NodeId) -> Rc<ColumnSet> {
        if let Some(known) = self.outputs.get(&id) {
            return Rc::clone(known);
        }
        let outputs = Rc::new(self.find_outputs(plan, id));
        self.outputs.insert(id, Rc::clone(&outputs));
        outputs
    }

    fn find_outputs(&mut self, plan: &Plan, id: NodeId) -> ColumnSet {
        match plan.node(id) {
            Node::Filter { input, .. } | Node::Sort { input, .. } => (*self.outputs(plan, *input)).clone(),
            Node::Limit(limit) => (*self.outputs(plan, limit.input)).clone(),
            Node::Sample(sample) => (*self.outputs(plan, sample.input)).clone(),
            node @ (Node::Window(_) | Node::Unnest(_)) => {
                let mut columns = (*self.outputs(plan, node.inputs()[0])).clone();
                columns.extend(node.made_columns());
                columns
            }
            Node::Join(Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. }) => {
                (*self.outputs(plan, *left)).clone()
            }
            Node::Join(Join { kind: JoinKind::Mark { mark, .. }, left, .. }) => {
                let mut columns = (*self.outputs(plan, *left)).clone();
                columns.insert(*mark);
                columns
            }
            Node::Join(join) if is_pairs(&join.kind) => {
                self.outputs(plan, join.left).union(&self.outputs(plan, join.right))
            }
            _ => plan.output_set(id),
        }
    }

    /// Returns the columns of all inputs of a node: those that its expressions may use, besides free ones.
    pub fn inputs(&mut self, plan: &Plan, id: NodeId) -> ColumnSet {
        let mut all = ColumnSet::new();
        for input in plan.node(id).inputs() {
            all.union_with(&self.outputs(plan, input));
        }
        all
    }
}

/// Returns true for joins whose rows have the columns of both sides.
fn is_pairs(kind: &JoinKind) -> bool {
    matches!(
        kind,
        JoinKind::Inner
            | JoinKind::Left
            | JoinKind::Right
            | JoinKind::Full
            | JoinKind::Single
            | JoinKind::AsOf { .. }
            | JoinKind::Positional
    )
}
