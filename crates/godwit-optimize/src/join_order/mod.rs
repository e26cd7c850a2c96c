//! Join order: takes trees of joins apart and reassembles them in the cheapest order.
//!
//! ```text
//!   plan ── region ──► Region ── graph ──► JoinGraph ── enumerate ──► JoinTree ── rebuild ──► plan
//!                      leaves             relations                   leaf | left ⨝ right
//!                      conjuncts          key classes (a = b = c)
//!                      operators          other predicates
//!                                         operators: outer, semi and anti joins, with what they conflict with
//! ```
//!
//! A *region* is a maximal tree of inner, outer, semi and anti joins, with the filters and choices of columns between
//! them. Anything else is a *relation* of the region: a scan, an aggregation, a mark join; or a subtree that must be
//! joined as a whole before the rest, such as inner joins on the NULL side of an outer one, which form a region
//! themselves.
//!
//! Inner joins can be reordered wherever their predicates allow; `conflict` determines what outer, semi and anti joins
//! allow. Up to [`EXACT_RELATIONS_MAX`] relations, dynamic programming over connected subgraphs finds the best bushy
//! tree; larger graphs are searched along lines (`enumerate`); beyond [`RELATIONS_MAX`] the written order stays. In
//! every join of the result the right input is the build side; for outer, semi and anti joins see `build_side`.
//!
//! The walk recurses along inputs: the caller's stack must hold the depth of the plan.

mod build;
mod build_side;
mod conflict;
mod connect;
mod cost;
mod enumerate;
mod graph;
mod operators;
mod owners;
mod rebuild;
mod region;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use godwit_common::{Named, Result};
use godwit_plan::{Expr, ExprKind, Node, NodeId, Plan, Project, ReadSamples};

use crate::estimate::Estimates;
use region::Region;

/// Largest graph ordered by dynamic programming; the number of steps grows with 3^relations.
const EXACT_RELATIONS_MAX: usize = 12;

/// Largest graph that is reordered at all: sets of relations are bits of a `u64`.
const RELATIONS_MAX: usize = 64;

/// Order in which tables are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JoinOrder {
    /// The cheapest one by estimates.
    #[default]
    Cost,
    /// As written, from left to right; each further table is the build side of its join.
    Written,
}

impl Named for JoinOrder {
    const NAMES: &'static [(&'static str, Self)] = &[("cost", Self::Cost), ("written", Self::Written)];
}

/// Puts all joins of a plan, including those in shared plans and subqueries, into this order, and chooses build sides.
/// `read_samples` reads columns of samples, several at once. Calls `check` now and then, which fails if the statement is
/// to stop.
pub fn order_joins(
    plan: &mut Plan,
    order: JoinOrder,
    read_samples: Option<ReadSamples>,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let estimates = Estimates::new(plan, read_samples);
    let mut orderer = Orderer { plan, estimates, order, check };
    let shared: Vec<_> = orderer.plan.shared_plans().map(|(id, shared)| (id, shared.root)).collect();
    for (id, root) in shared {
        let root = orderer.order(root)?;
        orderer.plan.shared_mut(id).root = root;
    }
    if let Some(root) = orderer.plan.root {
        orderer.plan.root = Some(orderer.order(root)?);
    }
    Ok(())
}

/// Orders the joins of a plan while walking it.
struct Orderer<'a> {
    plan: &'a mut Plan,
    estimates: Estimates,
    order: JoinOrder,
    check: &'a dyn Fn() -> Result<()>,
}

impl Orderer<'_> {
    fn order(&mut self, id: NodeId) -> Result<NodeId> {
        (self.check)()?;
        match Region::collect(self.plan, id) {
            Some(region) => self.order_region(id, region),
            None => {
                let inputs = self.plan.node(id).inputs();
                let inputs = inputs.into_iter().map(|input| self.order(input)).collect::<Result<Vec<_>>>()?;
                self.over(id, inputs)
            }
        }
    }

    fn order_region(&mut self, id: NodeId, mut region: Region) -> Result<NodeId> {
        let mut ordered = HashMap::with_capacity(region.leaves.len());
        for leaf in &mut region.leaves {
            let new = self.order(*leaf)?;
            ordered.insert(*leaf, new);
            *leaf = new;
        }
        if self.order == JoinOrder::Written || region.leaves.len() > RELATIONS_MAX {
            return self.keep(id, &ordered);
        }
        for expr in region.exprs_mut() {
            self.order_subqueries(expr)?;
        }
        let has_dropped_columns = region.has_dropped_columns;
        let graph = build::join_graph(self.plan, region, &self.estimates);
        let Some(tree) = enumerate::best_tree(&graph, self.check)? else {
            return self.keep(id, &ordered);
        };
        let root = rebuild::rebuild(self.plan, &self.estimates, &graph, &tree);
        if !has_dropped_columns {
            return Ok(root);
        }
        let nullable = self.plan.nullable_columns(id);
        let column = |column| {
            let ty = self.plan.column(column).ty.clone();
            (column, Expr::new(ExprKind::Column(column), ty, nullable.contains(column)))
        };
        let columns = self.plan.outputs(id).into_iter().map(column).collect();
        Ok(self.plan.add(Node::Project(Project { input: root, columns })))
    }

    /// Rebuilds the region as written, over new leaves.
    fn keep(&mut self, id: NodeId, leaves: &HashMap<NodeId, NodeId>) -> Result<NodeId> {
        if let Some(leaf) = leaves.get(&id) {
            return Ok(*leaf);
        }
        let inputs = self.plan.node(id).inputs();
        let inputs = inputs.into_iter().map(|input| self.keep(input, leaves)).collect::<Result<Vec<_>>>()?;
        self.over(id, inputs)
    }

    /// Rebuilds a node over other inputs, with its subqueries ordered, and its build side chosen if it is a join.
    fn over(&mut self, id: NodeId, inputs: Vec<NodeId>) -> Result<NodeId> {
        let node = self.plan.node(id);
        let mut has_subquery = false;
        node.for_each_expr(&mut |expr| has_subquery |= expr.as_literal().is_none() && expr.has_subquery());
        let is_mirrored = match node {
            Node::Join(join) => build_side::should_mirror(self.plan, &self.estimates, &join.kind, inputs[0], inputs[1]),
            _ => false,
        };
        if inputs == node.inputs() && !has_subquery && !is_mirrored {
            return Ok(id);
        }
        let mut inputs = inputs.into_iter();
        let mut node = node.clone().map_inputs(&mut |_| inputs.next().expect("as many as there were"));
        if has_subquery {
            let mut done = Ok(());
            node = node.map_exprs(&mut |mut expr| {
                if done.is_ok() {
                    done = self.order_subqueries(&mut expr);
                }
                expr
            });
            done?;
        }
        Ok(match node {
            Node::Join(join) => build_side::add(self.plan, &self.estimates, join),
            other => self.plan.add(other),
        })
    }

    /// Orders the joins of the subqueries in an expression.
    fn order_subqueries(&mut self, expr: &mut Expr) -> Result<()> {
        if !expr.has_subquery() {
            return Ok(());
        }
        let mut done = Ok(());
        let whole = std::mem::replace(expr, Expr::boolean(false));
        *expr = whole.transform(&mut |mut part| {
            if let (ExprKind::Subquery(subquery), true) = (&mut part.kind, done.is_ok()) {
                match self.order(subquery.plan) {
                    Ok(plan) => subquery.plan = plan,
                    Err(error) => done = Err(error),
                }
            }
            part
        });
        done
    }
}
