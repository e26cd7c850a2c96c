//! The join graph: relations, classes of equal expressions, other predicates, and operators; and the edges between
//! them.
//!
//! Everything that links relations is a hyperedge: two sets of relations that can be joined once each of them has been.
//! Most consist of two single relations.

use std::rc::Rc;

use godwit_plan::{Expr, NodeId};

use super::conflict::{Operation, Rule};
use crate::estimate::{ColumnEstimate, NodeEstimate};

/// A set of relations, one bit each.
pub(super) type RelationSet = u64;

/// Returns the set of one relation. Meaningless for regions too large for these sets, where it isn't used.
pub(super) fn one(relation: usize) -> RelationSet {
    1_u64.checked_shl(relation as u32).unwrap_or(0)
}

/// Iterates over the relations of a set, in ascending order.
pub(super) fn bits(set: RelationSet) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(set), |set| Some(set & set.wrapping_sub(1)))
        .take_while(|set| *set != 0)
        .map(|set| set.trailing_zeros() as usize)
}

/// A leaf of the region.
pub(super) struct Relation {
    pub(super) node: NodeId,
    pub(super) estimate: Rc<NodeEstimate>,
    /// Position of the operator that joins it as (the head of) its right side.
    pub(super) joined_by: Option<usize>,
}

/// An expression over one relation that is equal to all others of its class.
pub(super) struct Member {
    pub(super) relation: usize,
    pub(super) expr: Expr,
    pub(super) estimate: Rc<ColumnEstimate>,
}

/// Expressions that are equal in every row of the result.
pub(super) struct KeyClass {
    /// At least two members, one per relation.
    pub(super) members: Vec<Member>,
    pub(super) relations: RelationSet,
    /// Positions of the members, by their domains.
    pub(super) by_domain: Vec<usize>,
    /// The member with which the joins of all others were measured.
    pub(super) hub: Option<Hub>,
}

impl KeyClass {
    pub(super) fn new(members: Vec<Member>, hub: Option<Hub>) -> Self {
        let relations = members.iter().fold(0, |set, member| set | one(member.relation));
        // For an order, bounds do: tables may have to read files to tell how many values there are.
        let domain = |&at: &usize| members[at].estimate.domain_at_most();
        let mut by_domain: Vec<usize> = (0..members.len()).collect();
        by_domain.sort_by(|a, b| domain(a).total_cmp(&domain(b)));
        Self { members, relations, by_domain, hub }
    }
}

/// A member whose keys are all known and were looked up in the samples of the others.
pub(super) struct Hub {
    pub(super) member: usize,
    /// For each other member, the number of values over which pairs of the hub's rows and its rows spread.
    pub(super) domains: Vec<f64>,
}

/// A conjunct over two or more relations that isn't in a class.
pub(super) struct Predicate {
    /// The relations that must be joined before it can be evaluated: those that it uses, and those that they depend on.
    pub(super) relations: RelationSet,
    pub(super) expr: Expr,
    pub(super) selectivity: f64,
    /// For an equality with disjoint sides: the relations that each side needs.
    pub(super) key: Option<(RelationSet, RelationSet)>,
}

/// An outer, semi or anti join.
pub(super) struct Operator {
    pub(super) operation: Operation,
    pub(super) conditions: Vec<Expr>,
    /// Relations that its left side must contain.
    pub(super) left: RelationSet,
    /// Relations that its right side must contain.
    pub(super) right: RelationSet,
    pub(super) rules: Vec<Rule>,
    /// Factor by which it multiplies the rows of its left side.
    pub(super) factor: f64,
}

impl Operator {
    pub(super) fn is_inside(&self, set: RelationSet) -> bool {
        (self.left | self.right) & !set == 0
    }
}

/// How two sets can be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// By an inner join.
    Inner,
    /// By the operator at this position, with the first set on its left side or, if swapped, on its right.
    Operator { at: usize, is_swapped: bool },
}

/// The join graph of a region.
#[derive(Default)]
pub(super) struct JoinGraph {
    pub(super) relations: Vec<Relation>,
    pub(super) classes: Vec<KeyClass>,
    pub(super) predicates: Vec<Predicate>,
    pub(super) operators: Vec<Operator>,
    /// Conjuncts without columns, to be evaluated at the very top.
    pub(super) constants: Vec<Expr>,
    /// For each relation, those that an edge links to it alone.
    pub(super) neighbors: Vec<RelationSet>,
    /// Edges of more than two relations.
    pub(super) hyperedges: Vec<(RelationSet, RelationSet)>,
    /// Edges between parts that aren't otherwise connected: cross products.
    pub(super) products: Vec<(RelationSet, RelationSet)>,
    /// Maximal sets of relations connected by edges.
    pub(super) components: Vec<RelationSet>,
}

impl JoinGraph {
    /// Returns how two disjoint joined sets can be joined next; `None` if they can't.
    pub(super) fn step(&self, a: RelationSet, b: RelationSet) -> Option<Step> {
        let set = a | b;
        let mut step = None;
        for (at, operator) in self.operators.iter().enumerate() {
            if !operator.is_inside(set) || operator.is_inside(a) || operator.is_inside(b) {
                continue;
            }
            let fits =
                |left: RelationSet, right: RelationSet| operator.left & !left == 0 && operator.right & !right == 0;
            let is_swapped = fits(b, a);
            let is_allowed = (is_swapped || fits(a, b)) && operator.rules.iter().all(|rule| rule.allows(set));
            if step.is_some() || !is_allowed {
                return None;
            }
            step = Some(Step::Operator { at, is_swapped });
        }
        step.or_else(|| (self.is_linked(a, b) || self.is_product(a, b)).then_some(Step::Inner))
    }

    /// Returns true if a key class or a predicate links the sets.
    pub(super) fn is_linked(&self, a: RelationSet, b: RelationSet) -> bool {
        let is_split = |set: RelationSet| set & !(a | b) == 0 && set & a != 0 && set & b != 0;
        self.has_class_key(a, b) || self.predicates.iter().any(|predicate| is_split(predicate.relations))
    }

    /// Returns true if the sets are joined without a link between them.
    pub(super) fn is_product(&self, a: RelationSet, b: RelationSet) -> bool {
        self.products.iter().any(|&edge| connects(edge, a, b))
    }

    /// Returns true if the join of the sets can use a hash table on keys.
    pub(super) fn has_key(&self, a: RelationSet, b: RelationSet) -> bool {
        self.has_class_key(a, b)
            || self.predicates.iter().any(|predicate| predicate.key.is_some_and(|key| connects(key, a, b)))
    }

    fn has_class_key(&self, a: RelationSet, b: RelationSet) -> bool {
        self.classes.iter().any(|class| class.relations & a != 0 && class.relations & b != 0)
    }

    /// Returns the relations outside a set to which its edges lead, without those in `excluded`; for a hyperedge, only
    /// the first one.
    pub(super) fn neighborhood(&self, set: RelationSet, excluded: RelationSet) -> RelationSet {
        let closed = set | excluded;
        let simple = bits(set).fold(0, |all, relation| all | self.neighbors[relation]) & !closed;
        self.hyperedges.iter().fold(simple, |all, &(a, b)| {
            let leads = |from: RelationSet, to: RelationSet| from & !set == 0 && to & (closed | simple) == 0;
            match (leads(a, b), leads(b, a)) {
                (true, _) => all | lowest(b),
                (_, true) => all | lowest(a),
                _ => all,
            }
        })
    }

    /// Adds an edge.
    pub(super) fn link(&mut self, a: RelationSet, b: RelationSet) {
        if a.count_ones() == 1 && b.count_ones() == 1 {
            self.neighbors[a.trailing_zeros() as usize] |= b;
            self.neighbors[b.trailing_zeros() as usize] |= a;
        } else {
            self.hyperedges.push((a, b));
        }
    }
}

/// Returns true if an edge connects two sets.
fn connects(edge: (RelationSet, RelationSet), a: RelationSet, b: RelationSet) -> bool {
    let is_in = |part: RelationSet, set: RelationSet| part & !set == 0;
    (is_in(edge.0, a) && is_in(edge.1, b)) || (is_in(edge.0, b) && is_in(edge.1, a))
}

fn lowest(set: RelationSet) -> RelationSet {
    set & set.wrapping_neg()
}
