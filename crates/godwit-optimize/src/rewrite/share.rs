//! Inlining of shared plans.
//!
//! A shared plan is evaluated once and its rows are kept; nothing that a use knows (its conditions, the columns that it
//! needs) reaches it. So plans that are used once or are cheap are moved to their uses: the plan itself for a single
//! use, copies with fresh columns for several uses.
//!
//! Bound: copies are charged to a budget of [`GROWTH_MAX`] nodes, so that views of views of views, each used twice,
//! don't double the plan at each level. A plan stays shared if inlining it would make another one deeper than
//! [`DEPTH_MAX`], so that a long chain of common table expressions doesn't become a deep plan.

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{ColumnId, Node, NodeId, Plan, Project, SharedId, Use};

use super::{Context, bottom_up, column, subquery_plans, used_shared_plans};
use crate::properties::effects::is_volatile_node;

/// Maximum number of uses that a cheap plan is copied to.
const USES_MAX: usize = 4;

/// Maximum number of joins of a cheap plan. Those of TPC-DS that join more, and filter in between, keep few of the rows
/// that each copy would read.
const JOINS_MAX: usize = 2;

/// Maximum number of nodes of all copies of a plan.
const COPIES_MAX: usize = 200;

/// Maximum number of nodes of all copies of all plans.
const GROWTH_MAX: usize = 1_000;

/// Maximum depth of a plan after others are moved into it: passes recurse once for each level.
const DEPTH_MAX: usize = 500;

/// Inlines shared plans at their uses.
pub(crate) fn share(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let uses = count_uses(plan);
    let mut budget = GROWTH_MAX;
    let mut decisions: HashMap<SharedId, Decision> = HashMap::new();
    let mut measures = Measures::default();
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| {
        let Node::Use(used) = plan.node(id) else { return Ok(id) };
        let used = used.clone();
        // The trees of shared plans come before those of their uses, so the plan to decide on has already been
        // rewritten.
        let decision = *decisions.entry(used.shared).or_insert_with(|| {
            let measure = measures.of(plan, plan.shared(used.shared).root);
            decide(plan.shared(used.shared).materialized, measure, uses[&used.shared], &mut budget)
        });
        Ok(match decision {
            Decision::Keep => id,
            Decision::Move => replace_use(plan, context, &used, None),
            Decision::Copy => {
                let (root, renamed) = plan.copy_subtree(plan.shared(used.shared).root);
                replace_use(plan, context, &used, Some((root, renamed)))
            }
        })
    })?;
    // A plan that was moved exists only in its new place.
    if plan.root.is_some() {
        plan.empty_unused_shared_plans();
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Decision {
    Keep,
    /// Moves the plan to its only use.
    Move,
    Copy,
}

/// The uses of a plan.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    count: usize,
    /// Whether one is evaluated repeatedly: in the step of a recursion, or in a subquery.
    is_repeated: bool,
}

fn decide(materialized: Option<bool>, measure: Measure, uses: Uses, budget: &mut usize) -> Decision {
    let pinned = materialized == Some(true) || uses.is_repeated || measure.is_volatile;
    if pinned || measure.depth >= DEPTH_MAX {
        return Decision::Keep;
    }
    if uses.count == 1 {
        return Decision::Move;
    }
    let growth = measure.size.saturating_mul(uses.count);
    let is_asked_for = materialized == Some(false);
    let is_worth_it = measure.is_cheap && measure.joins <= JOINS_MAX && uses.count <= USES_MAX && growth <= COPIES_MAX;
    if growth > *budget || !(is_asked_for || is_worth_it) {
        return Decision::Keep;
    }
    *budget -= growth;
    Decision::Copy
}

/// Measures that decide whether a plan is moved to its uses.
#[derive(Debug, Clone, Copy)]
struct Measure {
    /// Number of nodes.
    size: usize,
    /// Number of levels.
    depth: usize,
    /// Number of joins.
    joins: usize,
    /// Whether evaluating it again costs about as much as reading stored rows.
    is_cheap: bool,
    /// Whether evaluating it again may give different rows.
    is_volatile: bool,
}

/// Measures of subtrees, each computed once. The plans of subqueries count as parts of the subtree that contains them.
#[derive(Default)]
struct Measures {
    known: HashMap<NodeId, Measure>,
}

impl Measures {
    fn of(&mut self, plan: &Plan, root: NodeId) -> Measure {
        let mut open = vec![(root, false)];
        while let Some((id, is_ready)) = open.pop() {
            if self.known.contains_key(&id) {
                continue;
            }
            let node = plan.node(id);
            let subqueries = subquery_plans(node);
            let below = node.inputs().into_iter().chain(subqueries.iter().copied());
            if !is_ready {
                open.push((id, true));
                open.extend(below.map(|below| (below, false)));
                continue;
            }
            let is_cheap = subqueries.is_empty() && is_cheap(node);
            let joins = usize::from(matches!(node, Node::Join(_)));
            let mut measure = Measure { size: 1, depth: 1, joins, is_cheap, is_volatile: is_volatile_node(node) };
            for below in below.map(|below| self.known[&below]) {
                measure.size = measure.size.saturating_add(below.size);
                measure.joins = measure.joins.saturating_add(below.joins);
                measure.depth = measure.depth.max(below.depth + 1);
                measure.is_cheap &= below.is_cheap;
                measure.is_volatile |= below.is_volatile;
            }
            self.known.insert(id, measure);
        }
        self.known[&root]
    }
}

fn is_cheap(node: &Node) -> bool {
    match node {
        Node::Values(_) | Node::Scan(_) | Node::Project(_) | Node::Filter { .. } | Node::Join(_) | Node::Use(_) => true,
        Node::SetOperation(operation) => operation.all,
        _ => false,
    }
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

/// Returns the plan itself, or a copy of it, with the columns of the use.
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
