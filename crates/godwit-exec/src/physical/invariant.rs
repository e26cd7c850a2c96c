//! The parts of a recursion's step that are the same in all rounds.
//!
//! ```text
//! step     Join r.dst = g.src
//!          ├─ WorkingRows r                 other rows in each round
//!          └─ Aggregate g                   kept: computed in the first round, read in all
//! ```
//!
//! The shared plans that a step uses are kept, and the largest subplans that cost more than reading their rows.
//! Subplans whose rows differ from one evaluation to the next aren't.

use std::collections::{HashMap, HashSet};

use godwit_plan::{Node, NodeId, Plan};

use super::shared::Kept;

/// Which parts of a step are kept.
pub(super) fn invariants(plan: &Plan, step: NodeId) -> HashSet<Kept> {
    let mut search = Search { plan, known: HashMap::new(), found: HashSet::new() };
    search.look_at(step);
    search.found
}

/// How a subplan behaves across rounds.
#[derive(Clone, Copy, Default)]
struct Nature {
    /// Its rows may differ from round to round.
    varies: bool,
    /// It costs more than reading its rows.
    is_costly: bool,
}

struct Search<'p> {
    plan: &'p Plan,
    known: HashMap<NodeId, Nature>,
    found: HashSet<Kept>,
}

impl Search<'_> {
    /// Recurses once for each level of the plan, as planning does.
    fn look_at(&mut self, id: NodeId) -> Nature {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let node = self.plan.node(id);
        let mut nature = Nature { varies: varies(node), is_costly: is_costly(node) };
        let inputs: Vec<(NodeId, Nature)> =
            node.inputs().into_iter().map(|input| (input, self.look_at(input))).collect();
        for (_, input) in &inputs {
            nature.varies |= input.varies;
            nature.is_costly |= input.is_costly;
        }
        if let Node::Use(used) = node {
            nature.varies = self.look_at(self.plan.shared(used.shared).root).varies;
            if !nature.varies {
                self.found.insert(Kept::Shared(used.shared));
            }
        }
        if nature.varies {
            let kept = inputs.iter().filter(|(_, input)| input.is_costly && !input.varies);
            self.found.extend(kept.map(|&(input, _)| Kept::Node(input)));
        }
        self.known.insert(id, nature);
        nature
    }
}

/// Whether the node may produce different rows for the same input. A recursion inside a step isn't distinguished from
/// the one around it.
fn varies(node: &Node) -> bool {
    let mut varies = match node {
        Node::WorkingRows { .. } | Node::Recursive(_) => true,
        Node::Sample(sample) => sample.seed.is_none(),
        _ => false,
    };
    node.for_each_expr(&mut |expr| varies |= expr.is_volatile() || expr.has_subquery());
    varies
}

fn is_costly(node: &Node) -> bool {
    match node {
        Node::Values(_) | Node::Scan(_) | Node::Project(_) | Node::Filter { .. } | Node::Use(_) => false,
        Node::SetOperation(operation) => !operation.all,
        Node::WorkingRows { .. } | Node::Recursive(_) | Node::Sample(_) => false,
        Node::Join(_) | Node::Aggregate(_) | Node::Window(_) | Node::Sort { .. } | Node::Limit(_) | Node::Unnest(_) => {
            true
        }
    }
}
