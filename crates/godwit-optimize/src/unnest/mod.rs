//! Unnesting: subqueries in expressions and dependent joins become plain joins.
//!
//! Sources: Neumann, Kemper: Unnesting Arbitrary Queries (2015); Neumann: Improving Unnesting of Complex Queries
//! (2025).
//!
//! ```text
//! place.rs, join_conditions.rs   an expression with a subquery ─► a column of a join below its node
//! subquery.rs                    which join: semi, anti, mark, or an outer join with the one row of an aggregate
//! pile.rs                        joins over the same outer rows; each is made plain when it is added
//!   ├─ pull.rs, region.rs        1st: predicates on outer columns rise to the join
//!   ├─ graft.rs                  2nd: LATERAL over rows: the outer rows go below the right side
//!   └─ domain.rs, attach*.rs     3rd: the right side runs once for all *distinct* outer values
//! ```
//!
//! The walk is from the root down, so the left side of a dependent join is closed when its turn comes: it has no free
//! columns. Then the domain, the distinct values of the left columns that the right side uses, can be computed from it.
//! Subqueries deeper inside the right side stay expressions until the walk reaches them.
//!
//! *Invariants.* A replacement node has the same columns as the original, in the same order. Joins with a domain
//! compare by `IS NOT DISTINCT FROM`, since a domain may contain NULLs; predicates that rise don't change. The only
//! subqueries left in expressions are scalar ones without free columns: the executor runs them first.
//!
//! *Bounds.* Subqueries are nested [`NESTING_MAX`] deep at most. Each level copies its content a constant number of
//! times: time is linear in the size of the plan times its nesting. The walk recurses with the depth of the plan; the
//! caller provides the stack, as for all passes.

mod attach;
mod attach_join;
mod attach_rows;
mod build;
#[cfg(test)]
pub(crate) mod check;
mod domain;
mod facts;
mod graft;
mod join_conditions;
mod limit;
mod nulls;
mod order_shared;
mod pile;
mod place;
mod pull;
mod region;
mod rename;
mod single_row;
mod subquery;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnSet, Expr, ExprKind, FunctionRegistry, Node, NodeId, Plan, SharedId};

use facts::Facts;

/// Maximum nesting of subqueries and dependent joins.
const NESTING_MAX: usize = 500;
/// Maximum number of nodes in the arena: reached only by subqueries stacked inside the step of a recursion, where outer
/// rows are copied.
const NODES_MAX: usize = 1_000_000;

/// Turns every correlated subquery and every dependent join into a plain join, in the plan and in all shared plans.
///
/// # Errors
/// If subqueries are nested too deeply, or if one is in a place where no join can compute it: inside a lambda whose
/// parameter it uses.
pub fn unnest(plan: &mut Plan, functions: &dyn FunctionRegistry) -> Result<()> {
    let mut unnester = Unnester::new(plan, functions);
    if let Some(root) = unnester.plan.root {
        unnester.check_nesting(root)?;
        let root = unnester.walk(root)?;
        unnester.plan.root = Some(root);
    }
    // Unnesting adds further shared plans.
    let mut open: Vec<SharedId> = unnester.plan.shared_plans().map(|(id, _)| id).collect();
    let mut known = open.len();
    while let Some(id) = open.pop() {
        let root = unnester.plan.shared(id).root;
        unnester.check_nesting(root)?;
        let root = unnester.walk(root)?;
        unnester.plan.shared_mut(id).root = root;
        open.extend(unnester.plan.shared_plans().map(|(id, _)| id).skip(known));
        known = unnester.plan.shared_plans().len();
    }
    order_shared::order_shared(plan);
    Ok(())
}

/// The plan while its subqueries are taken out, and facts about its nodes.
struct Unnester<'a> {
    plan: &'a mut Plan,
    functions: &'a dyn FunctionRegistry,
    facts: Facts,
    /// Columns of all subqueries that became joins: if an expression occurs twice, its plan is copied.
    placed: ColumnSet,
}

impl<'a> Unnester<'a> {
    fn new(plan: &'a mut Plan, functions: &'a dyn FunctionRegistry) -> Self {
        Self { plan, functions, facts: Facts::default(), placed: ColumnSet::new() }
    }

    /// Returns the node without subqueries and dependent joins, all the way down.
    fn walk(&mut self, id: NodeId) -> Result<NodeId> {
        if self.plan.node_count() > NODES_MAX {
            return Err(too_complex(Span::NONE));
        }
        let placed = self.place(id)?;
        let plain = if placed == id { self.eliminate(id)? } else { placed };
        if plain != id {
            return self.walk(plain);
        }
        let inputs = self.plan.node(id).inputs();
        let mut walked = inputs.iter().map(|&input| self.walk(input)).collect::<Result<Vec<_>>>()?.into_iter();
        let subqueries = self.walk_kept_subqueries(id)?;
        if walked.as_slice() == inputs && subqueries.iter().all(|(before, after)| before == after) {
            return Ok(id);
        }
        let node = self.plan.node(id).clone();
        let node = node.map_inputs(&mut |_| walked.next().expect("there is one for each input"));
        let node = node.map_exprs(&mut |expr| replace_plans(expr, &subqueries));
        Ok(self.plan.add(node))
    }

    /// Walks the plans of the subqueries that stay in a node's expressions; returns them before and after.
    fn walk_kept_subqueries(&mut self, id: NodeId) -> Result<HashMap<NodeId, NodeId>> {
        let mut plans = Vec::new();
        self.plan.node(id).for_each_expr(&mut |expr| plans.extend(subquery_plans(expr)));
        plans.into_iter().map(|plan| Ok((plan, self.walk(plan)?))).collect()
    }

    /// Turns a dependent join into a plain one; returns other nodes as they are.
    fn eliminate(&mut self, id: NodeId) -> Result<NodeId> {
        let Node::Join(join) = self.plan.node(id).clone() else { return Ok(id) };
        if !self.depends_on(join.right, join.left) {
            return Ok(id);
        }
        let outputs = self.plan.outputs(id);
        let mut pile = pile::Pile::new(self, join.left);
        self.join(&mut pile, join.kind, join.right, join.conditions)?;
        let node = self.finish(pile);
        Ok(self.restore(node, &outputs))
    }

    fn check_nesting(&mut self, root: NodeId) -> Result<()> {
        let mut open = vec![(root, 0, Span::NONE)];
        while let Some((id, depth, span)) = open.pop() {
            if depth > NESTING_MAX {
                return Err(too_complex(span));
            }
            let dependent = match self.plan.node(id) {
                Node::Join(join) => Some(join.right).filter(|&right| !self.facts.free(self.plan, right).is_empty()),
                _ => None,
            };
            let node = self.plan.node(id);
            node.for_each_expr(&mut |expr| {
                expr.for_each(&mut |part| {
                    if let ExprKind::Subquery(subquery) = &part.kind {
                        open.push((subquery.plan, depth + 1, part.span));
                    }
                });
            });
            let deeper = |input: NodeId| depth + usize::from(Some(input) == dependent);
            open.extend(node.inputs().into_iter().map(|input| (input, deeper(input), span)));
        }
        Ok(())
    }
}

/// Returns the plans of the subqueries in an expression.
fn subquery_plans(expr: &Expr) -> Vec<NodeId> {
    let mut plans = Vec::new();
    expr.for_each(&mut |part| {
        if let ExprKind::Subquery(subquery) = &part.kind {
            plans.push(subquery.plan);
        }
    });
    plans
}

fn replace_plans(expr: Expr, plans: &HashMap<NodeId, NodeId>) -> Expr {
    if plans.is_empty() {
        return expr;
    }
    expr.transform(&mut |mut part| {
        if let ExprKind::Subquery(subquery) = &mut part.kind {
            subquery.plan = plans.get(&subquery.plan).copied().unwrap_or(subquery.plan);
        }
        part
    })
}

fn too_complex(span: Span) -> Error {
    let error = Error::user(format!("subqueries are nested more than {NESTING_MAX} deep, or in too many ways"));
    let error = error.with_hint("join the tables in FROM, or keep a part of the result in a table of its own");
    error.with_code(SqlState::STATEMENT_TOO_COMPLEX).at_span(span)
}
