//! Facts about a subtree: the columns that it uses and makes, and whether it is volatile. Nodes don't change, so facts
//! are computed once per node.

use std::rc::Rc;

use godwit_plan::{ColumnSet, ExprKind, Node, NodeId, Plan};

use super::{Unnester, subquery_plans};

/// The facts computed so far, by node.
#[derive(Default)]
pub(super) struct Facts {
    known: Vec<Option<Rc<Fact>>>,
}

/// Facts about a subtree. The plans of subqueries in its expressions belong to it, shared plans don't.
#[derive(Default)]
struct Fact {
    /// Columns in expressions. Reading the rows of a recursion counts as using the recursion's id.
    used: ColumnSet,
    /// Columns that a node or an expression makes.
    made: ColumnSet,
    volatile: bool,
}

impl Facts {
    /// Returns the columns that a subtree takes from outside; inside the step of a recursion also the recursion's id,
    /// if its rows are read.
    pub(super) fn free(&mut self, plan: &Plan, id: NodeId) -> ColumnSet {
        let fact = self.fact(plan, id);
        fact.used.difference(&fact.made)
    }

    /// Computes the fact of a node. Iterative, children first, since plans may be deep.
    fn fact(&mut self, plan: &Plan, id: NodeId) -> Rc<Fact> {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.get(next).is_some() {
                open.pop();
                continue;
            }
            let mut below = plan.node(next).inputs();
            plan.node(next).for_each_expr(&mut |expr| below.extend(subquery_plans(expr)));
            let waiting = open.len();
            open.extend(below.iter().copied().filter(|&child| self.get(child).is_none()));
            if open.len() == waiting {
                let fact = self.combine(plan, next, &below);
                self.set(next, fact);
                open.pop();
            }
        }
        Rc::clone(self.get(id).expect("the loop ends when it is known"))
    }

    fn get(&self, id: NodeId) -> Option<&Rc<Fact>> {
        self.known.get(id.index())?.as_ref()
    }

    fn set(&mut self, id: NodeId, fact: Fact) {
        if self.known.len() <= id.index() {
            self.known.resize_with(id.index() + 1, || None);
        }
        self.known[id.index()] = Some(Rc::new(fact));
    }

    fn combine(&self, plan: &Plan, id: NodeId, below: &[NodeId]) -> Fact {
        let mut fact = Fact::default();
        for &child in below {
            let child = self.get(child).expect("children come first");
            fact.used.union_with(&child.used);
            fact.made.union_with(&child.made);
            fact.volatile |= child.volatile;
        }
        let node = plan.node(id);
        fact.made.extend(node.made_columns());
        if let Node::WorkingRows { of, .. } = node {
            fact.used.insert(*of);
        }
        node.for_each_expr(&mut |expr| {
            fact.volatile |= expr.is_volatile();
            expr.for_each(&mut |part| match &part.kind {
                ExprKind::Column(column) => _ = fact.used.insert(*column),
                ExprKind::Let { column, .. } => _ = fact.made.insert(*column),
                ExprKind::Lambda(parameters, _) => fact.made.extend(parameters.iter().copied()),
                _ => {}
            });
        });
        fact
    }
}

impl Unnester<'_> {
    /// See [`Facts::free`].
    pub(super) fn free(&mut self, id: NodeId) -> ColumnSet {
        self.facts.free(self.plan, id)
    }

    pub(super) fn is_volatile(&mut self, id: NodeId) -> bool {
        self.facts.fact(self.plan, id).volatile
    }

    /// Returns the columns that the nodes of a subtree make.
    pub(super) fn makes(&mut self, id: NodeId) -> ColumnSet {
        self.facts.fact(self.plan, id).made.clone()
    }

    /// Returns true if a subtree uses columns of another node.
    pub(super) fn depends_on(&mut self, id: NodeId, other: NodeId) -> bool {
        let free = self.free(id);
        !free.is_empty() && !free.is_disjoint(&self.plan.output_set(other))
    }

    /// Returns the columns that an expression uses, including its subqueries.
    pub(super) fn columns_of(&mut self, expr: &godwit_plan::Expr) -> ColumnSet {
        let mut columns = expr.columns();
        for plan in subquery_plans(expr) {
            columns.union_with(&self.free(plan));
        }
        columns
    }
}
