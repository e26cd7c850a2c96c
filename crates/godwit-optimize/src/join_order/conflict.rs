//! Reorderings of outer, semi and anti joins that give the same rows.
//!
//! Based on Moerkotte, Fender and Eich, "On the Correct and Complete Enumeration of the Core Search Space" (2013),
//! detector CD-C. Of two operators one below the other, three laws can hold:
//!
//! ```text
//! assoc        (a ∘ b) • c  =  a ∘ (b • c)
//! left asscom  (a ∘ b) • c  =  (a • c) ∘ b
//! right asscom a ∘ (b • c)  =  b • (a ∘ c)
//! ```
//!
//! Where a law doesn't hold, a *rule* forbids the orders that it would give: if one of `if_any` is joined, all of
//! `then_all` must be. Inner joins aren't operators here. They commute freely with each other; where inner joins below
//! an operator don't, the region turns them into a leaf.

use godwit_plan::{ColumnId, Expr};

use super::graph::RelationSet;
use crate::properties::rejects_nulls;

/// A join that isn't inner. Right joins are treated as left joins with their sides swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Left,
    Full,
    Semi,
    Anti,
}

/// Rule: if any of some relations is joined, all of some others must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) if_any: RelationSet,
    pub(super) then_all: RelationSet,
}

impl Rule {
    /// Returns true if a set of joined relations satisfies the rule.
    pub(super) fn allows(self, set: RelationSet) -> bool {
        set & self.if_any == 0 || self.then_all & !set == 0
    }
}

/// Returns a set together with everything that rules require to be joined along with it.
pub(super) fn closure(mut set: RelationSet, rules: &[Rule]) -> RelationSet {
    loop {
        let active = rules.iter().filter(|rule| rule.if_any & set != 0);
        let grown = active.fold(set, |grown, rule| grown | rule.then_all);
        if grown == set {
            return set;
        }
        set = grown;
    }
}

/// An operator as the laws see it.
pub(super) struct Placed<'a> {
    pub(super) operation: Operation,
    pub(super) conditions: &'a [Expr],
    /// Relations of its left side, as written.
    pub(super) left: RelationSet,
    /// Relations of its right side.
    pub(super) right: RelationSet,
    /// Relations that its conditions use.
    pub(super) used: RelationSet,
}

impl Placed<'_> {
    /// Returns the relations of its left side that it can't do without: those that it uses, or all if it uses none.
    fn left_part(&self) -> RelationSet {
        used_of(self.left, self.used)
    }

    fn right_part(&self) -> RelationSet {
        used_of(self.right, self.used)
    }
}

/// Returns the used relations of a side, or all if none is used.
pub(super) fn used_of(side: RelationSet, used: RelationSet) -> RelationSet {
    if side & used == 0 { side } else { side & used }
}

/// Returns the rules for an inner join above an operator.
pub(super) fn rules_of_inner_above(below: &Placed<'_>) -> Vec<Rule> {
    let mut rules = vec![Rule { if_any: below.right, then_all: below.left_part() }];
    if below.operation == Operation::Full {
        rules.push(Rule { if_any: below.left, then_all: below.right_part() });
    }
    rules
}

/// Returns the rules for an operator with another one on its left side.
pub(super) fn rules_of_left(own: &Placed<'_>, below: &Placed<'_>, rejects: &Rejects<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    if !is_assoc(below, own, below.right, rejects) {
        rules.push(Rule { if_any: below.right, then_all: below.left_part() });
    }
    if !is_left_asscom(below, own, below.left, rejects) {
        rules.push(Rule { if_any: below.left, then_all: below.right_part() });
    }
    rules
}

/// Returns the rules for an operator with another one on its right side.
pub(super) fn rules_of_right(own: &Placed<'_>, below: &Placed<'_>, rejects: &Rejects<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    if !is_assoc(own, below, below.left, rejects) {
        rules.push(Rule { if_any: below.left, then_all: below.right_part() });
    }
    if !is_right_asscom(own, below, below.right, rejects) {
        rules.push(Rule { if_any: below.right, then_all: below.left_part() });
    }
    rules
}

/// Returns true if `(a first b) second c = a first (b second c)`.
fn is_assoc(first: &Placed<'_>, second: &Placed<'_>, b: RelationSet, rejects: &Rejects<'_>) -> bool {
    use Operation::{Anti, Full, Left, Semi};
    match (first.operation, second.operation) {
        (Left | Full, Left) => rejects.of(second, b),
        (Full, Full) => rejects.of(first, b) && rejects.of(second, b),
        (Semi | Anti, _) | (_, Semi | Anti) | (Left, Full) => false,
    }
}

/// Returns true if `(a first b) second c = (a second c) first b`.
fn is_left_asscom(first: &Placed<'_>, second: &Placed<'_>, a: RelationSet, rejects: &Rejects<'_>) -> bool {
    use Operation::{Full, Left};
    match (first.operation, second.operation) {
        (Full, Left) => rejects.of(second, a),
        (Left, Full) => rejects.of(first, a),
        (Full, Full) => rejects.of(first, a) && rejects.of(second, a),
        (Full, _) | (_, Full) => false,
        _ => true,
    }
}

/// Returns true if `a first (b second c) = b second (a first c)`.
fn is_right_asscom(first: &Placed<'_>, second: &Placed<'_>, c: RelationSet, rejects: &Rejects<'_>) -> bool {
    let are_full = first.operation == Operation::Full && second.operation == Operation::Full;
    are_full && rejects.of(first, c) && rejects.of(second, c)
}

/// Decides whether conditions reject rows in which all columns of some relations are NULL.
pub(super) struct Rejects<'a> {
    /// The relation of a column, as a set.
    pub(super) relation_of: &'a dyn Fn(ColumnId) -> RelationSet,
}

impl Rejects<'_> {
    fn of(&self, operator: &Placed<'_>, relations: RelationSet) -> bool {
        operator.conditions.iter().any(|condition| {
            let columns = condition.columns();
            rejects_nulls(
                condition,
                &columns.iter().filter(|&column| (self.relation_of)(column) & relations != 0).collect(),
            )
        })
    }
}
