//! Filtering of shared plans by what their uses need.
//!
//! ```text
//! Join on a.k = b.k                          shared plan: Filter year = 2001 OR year = 2002
//! ├─ Filter year = 2001            ──▶                    └─ …
//! │  └─ Use of the shared plan
//! └─ Filter year = 2002
//!    └─ Use of the shared plan
//! ```
//!
//! A shared plan keeps its rows for all of its uses. If each use has a condition on the same column, the disjunction of
//! these conditions holds for every row that matters and is pushed down below the shared plan. The conditions above the
//! uses stay.
//!
//! Bound: each node is visited once per round, and there are [`ROUNDS_MAX`] rounds, since a filter of one shared plan
//! may reach the uses of another. Plans with more than [`USES_MAX`] uses are left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr, Node, NodeId, Plan, SharedId, Use};

use super::{Context, push_filters, subquery_plans, used_shared_plans};

/// Rounds, each of which may reach shared plans one level further down.
const ROUNDS_MAX: usize = 3;

/// Maximum number of uses whose conditions are combined.
const USES_MAX: usize = 16;

/// Requirements of the uses of a shared plan: for each use, its conditions on single columns of the shared plan.
type Wanted = BTreeMap<SharedId, Vec<BTreeMap<ColumnId, Vec<Expr>>>>;

/// Adds to shared plans the conditions that all of their uses have in common, and pushes them down.
pub(crate) fn filter_shared(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let mut known: HashSet<(SharedId, Expr)> = HashSet::new();
    for _ in 0..ROUNDS_MAX {
        (context.check)()?;
        let mut has_changed = false;
        for (shared, uses) in wanted(plan) {
            let conditions = common(uses).into_iter().filter(|condition| known.insert((shared, condition.clone())));
            let conditions: Vec<Expr> = conditions.collect();
            if !conditions.is_empty() {
                let input = plan.shared(shared).root;
                plan.shared_mut(shared).root = plan.add(Node::Filter { input, conditions });
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
        push_filters::push_filters(plan, context)?;
    }
    Ok(())
}

/// Returns the disjunctions over all uses, for the columns on which each use has a condition.
fn common(mut uses: Vec<BTreeMap<ColumnId, Vec<Expr>>>) -> Vec<Expr> {
    let Some(first) = uses.pop() else { return Vec::new() };
    let of_column = |(column, conditions): (ColumnId, Vec<Expr>)| {
        let mut parts = vec![Expr::and(conditions)];
        for other in &uses {
            let part = Expr::and(other.get(&column)?.clone());
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Some(if parts.len() == 1 { parts.pop().expect("there is one") } else { Expr::or(parts) })
    };
    first.into_iter().filter_map(of_column).collect()
}

/// Collects the conditions of uses, for plans that may be filtered.
fn wanted(plan: &Plan) -> Wanted {
    let mut wanted = Wanted::new();
    let roots = used_shared_plans(plan).into_iter().map(|id| plan.shared(id).root);
    let mut open: Vec<NodeId> = roots.chain(plan.root).collect();
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        match node {
            Node::Use(used) => wanted.entry(used.shared).or_default().push(BTreeMap::new()),
            Node::Filter { input, conditions } if let Node::Use(used) = plan.node(*input) => {
                wanted.entry(used.shared).or_default().push(conditions_of(used, conditions));
                open.extend(subquery_plans(node));
            }
            _ => {
                open.extend(node.inputs());
                open.extend(subquery_plans(node));
            }
        }
    }
    wanted.retain(|&shared, uses| plan.shared(shared).materialized != Some(true) && uses.len() <= USES_MAX);
    wanted
}

/// Returns the conditions on single columns of a use, in terms of the shared plan's columns.
fn conditions_of(used: &Use, conditions: &[Expr]) -> BTreeMap<ColumnId, Vec<Expr>> {
    let inner: HashMap<ColumnId, ColumnId> = used.columns.iter().copied().collect();
    let mut found: BTreeMap<ColumnId, Vec<Expr>> = BTreeMap::new();
    for condition in conditions.iter().filter(|condition| !condition.is_volatile() && !condition.has_subquery()) {
        let columns: Vec<ColumnId> = condition.columns().iter().collect();
        if let &[column] = &columns[..]
            && let Some(&column) = inner.get(&column)
        {
            found.entry(column).or_default().push(condition.clone().rename(&inner));
        }
    }
    found
}
