//! Shared plans that are better copied to where they are used.
//!
//! A shared plan is evaluated once and its rows are kept; nothing that a use knows (its conditions, the columns that it
//! needs) reaches it. So what is used once, and what is cheap, goes to its uses: into the plan itself for the only one,
//! as a copy with fresh columns for several.
//!
//! Bound: copies are paid from a budget of [`GROWTH_MAX`] nodes, so that views of views of views, each used twice,
//! don't double a plan at each level.

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{ColumnId, Node, NodeId, Plan, Project, SharedId, Use};

use super::{Context, bottom_up, column, subquery_plans, used_shared_plans};
use crate::properties::effects::has_volatile;

/// Uses that cheap plans are copied to.
const USES_MAX: usize = 4;

/// Nodes that the copies of a plan may have together.
const COPIES_MAX: usize = 200;

/// Nodes that all copies may have together.
const GROWTH_MAX: usize = 1_000;

/// Puts shared plans where they are used.
pub(crate) fn share(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let uses = count_uses(plan);
    let mut budget = GROWTH_MAX;
    let mut decisions: HashMap<SharedId, Decision> = HashMap::new();
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| {
        let Node::Use(used) = plan.node(id).clone() else { return Ok(id) };
        // The trees of shared plans come before those of their uses: what is decided on here is rewritten already.
        let decision =
            *decisions.entry(used.shared).or_insert_with(|| decide(plan, used.shared, uses[&used.shared], &mut budget));
        Ok(match decision {
            Decision::Keep => id,
            Decision::Move => replace_use(plan, context, &used, None),
            Decision::Copy => {
                let (root, renamed) = plan.copy_subtree(plan.shared(used.shared).root);
                replace_use(plan, context, &used, Some((root, renamed)))
            }
        })
    })
}

#[derive(Debug, Clone, Copy)]
enum Decision {
    Keep,
    /// To the only use.
    Move,
    Copy,
}

/// Where a plan is used.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    count: usize,
    /// In what is evaluated again and again: the step of a recursion, or a subquery.
    is_repeated: bool,
}

fn decide(plan: &Plan, id: SharedId, uses: Uses, budget: &mut usize) -> Decision {
    let shared = plan.shared(id);
    let pinned = shared.materialized == Some(true) || uses.is_repeated || has_volatile(plan, shared.root);
    if pinned {
        return Decision::Keep;
    }
    if uses.count == 1 {
        return Decision::Move;
    }
    let Some(size) = size_if_cheap(plan, shared.root, shared.materialized == Some(false)) else {
        return Decision::Keep;
    };
    let growth = size * uses.count;
    let is_asked_for = shared.materialized == Some(false);
    if growth > *budget || (!is_asked_for && (uses.count > USES_MAX || growth > COPIES_MAX)) {
        return Decision::Keep;
    }
    *budget -= growth;
    Decision::Copy
}

/// Number of nodes, if evaluating them again costs about what reading kept rows does, or if that was asked for.
fn size_if_cheap(plan: &Plan, root: NodeId, is_asked_for: bool) -> Option<usize> {
    let mut size = 0;
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        size += 1;
        let node = plan.node(id);
        let is_cheap = match node {
            Node::Values(_) | Node::Scan(_) | Node::Project(_) | Node::Filter { .. } | Node::Join(_) | Node::Use(_) => {
                true
            }
            Node::SetOperation(operation) => operation.all,
            _ => false,
        };
        let subqueries = subquery_plans(node);
        let is_allowed = is_asked_for || (is_cheap && subqueries.is_empty());
        if !is_allowed {
            return None;
        }
        open.extend(node.inputs().into_iter().chain(subqueries));
    }
    Some(size)
}

fn count_uses(plan: &Plan) -> HashMap<SharedId, Uses> {
    let mut uses: HashMap<SharedId, Uses> = HashMap::new();
    let roots = used_shared_plans(plan).into_iter().map(|id| plan.shared(id).root);
    let mut open: Vec<(NodeId, bool)> = roots.chain(plan.root).map(|root| (root, false)).collect();
    while let Some((id, is_repeated)) = open.pop() {
        let node = plan.node(id);
        if let Node::Use(used) = node {
            let uses = uses.entry(used.shared).or_default();
            uses.count += 1;
            uses.is_repeated |= is_repeated;
        }
        let in_step = |input| matches!(node, Node::Recursive(recursive) if recursive.step.0 == input);
        open.extend(node.inputs().into_iter().map(|input| (input, is_repeated || in_step(input))));
        open.extend(subquery_plans(node).into_iter().map(|subquery| (subquery, is_repeated)));
    }
    uses
}

/// The plan itself, or a copy of it, with the columns of the use.
fn replace_use(
    plan: &mut Plan,
    context: &mut Context<'_>,
    used: &Use,
    copy: Option<(NodeId, HashMap<ColumnId, ColumnId>)>,
) -> NodeId {
    let (input, renamed) = copy.unwrap_or_else(|| (plan.shared(used.shared).root, HashMap::new()));
    let nullable = context.properties.nullable(plan, input);
    let columns = used.columns.iter().map(|&(own, inner)| {
        let inner = renamed.get(&inner).copied().unwrap_or(inner);
        (own, column(plan, inner, nullable.contains(inner)))
    });
    let columns = columns.collect();
    plan.add(Node::Project(Project { input, columns }))
}
