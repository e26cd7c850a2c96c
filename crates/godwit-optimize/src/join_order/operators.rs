//! The operators of a join graph: the requirements of their sides, their effect on cardinality, and what has to wait
//! for them.

use std::rc::Rc;

use super::conflict::{
    Operation, Placed, Rejects, Rule, closure, rules_of_inner_above, rules_of_left, rules_of_right, used_of,
};
use super::graph::{JoinGraph, Operator, RelationSet, bits};
use super::owners::Owners;
use super::region::{Part, WrittenOperator};
use crate::estimate::{Matches, NodeEstimate, unmatched_share};

/// Adds the operators of a region. Returns the relations as seen from above, with the NULLs of outer joins.
pub(super) fn add_operators(
    graph: &mut JoinGraph,
    written: Vec<WrittenOperator>,
    owners: &Owners,
) -> Vec<Rc<NodeEstimate>> {
    let limits = limits_of(&written, owners);
    let estimates: Vec<Rc<NodeEstimate>> =
        graph.relations.iter().map(|relation| Rc::clone(&relation.estimate)).collect();
    let mut filled = estimates.clone();
    for (at, (operator, Limits { left, right, rules })) in written.into_iter().zip(limits).enumerate() {
        let (left_head, right_head) = (operator.left.head, operator.right.head);
        graph.relations[right_head].joined_by = Some(at);
        let used = owners.of_all(&operator.conditions);
        let side = |part: &Part| combinations_of(part.relations & used, &estimates);
        let matches = Matches::new(&side(&operator.left), &side(&operator.right), &operator.conditions);
        let rows = |relation: usize| estimates[relation].rows.max(1.0);
        let (left_rows, right_rows) = (rows(left_head), rows(right_head));
        let without_pair = || unmatched_share(matches.left_share(right_rows));
        let pairs = matches.pairs_per_left_row(right_rows).max(1.0);
        let mut fill = |relations: RelationSet, share: f64| {
            bits(relations).for_each(|relation| filled[relation] = Rc::new(filled[relation].with_nulls(share)));
        };
        let factor = match operator.operation {
            Operation::Left => pairs,
            Operation::Full => pairs.max(right_rows / left_rows),
            Operation::Semi => matches.left_share(right_rows),
            Operation::Anti => without_pair(),
        };
        if matches!(operator.operation, Operation::Left | Operation::Full) {
            fill(operator.right.relations, without_pair());
        }
        if operator.operation == Operation::Full {
            fill(operator.left.relations, unmatched_share(matches.right_share(left_rows)));
        }
        let WrittenOperator { operation, conditions, .. } = operator;
        graph.operators.push(Operator { operation, conditions, left, right, rules, factor });
    }
    filled
}

/// Relations that the sides of an operator must contain, and the rules that it obeys.
struct Limits {
    left: RelationSet,
    right: RelationSet,
    rules: Vec<Rule>,
}

fn limits_of(written: &[WrittenOperator], owners: &Owners) -> Vec<Limits> {
    let placed = placed(written, owners);
    let relation_of = |column| owners.of_column(column);
    let rejects = Rejects { relation_of: &relation_of };
    let limits = placed.iter().zip(written).map(|(own, written)| {
        let below = |part: &Part| &placed[part.operators.clone()];
        let of_left = below(&written.left).iter().flat_map(|below| rules_of_left(own, below, &rejects));
        let of_right = below(&written.right).iter().flat_map(|below| rules_of_right(own, below, &rejects));
        let (of_left, of_right): (Vec<Rule>, Vec<Rule>) = (of_left.collect(), of_right.collect());
        let left = closure(used_of(own.left, own.used), &of_left);
        let right = closure(used_of(own.right, own.used), &of_right);
        // Relations that both sides contain anyway need no rule.
        let is_open = |rule: &Rule| rule.then_all & !(left | right) != 0;
        Limits { left, right, rules: of_left.into_iter().chain(of_right).filter(is_open).collect() }
    });
    limits.collect()
}

fn placed<'w>(written: &'w [WrittenOperator], owners: &Owners) -> Vec<Placed<'w>> {
    let placed = written.iter().map(|operator| Placed {
        operation: operator.operation,
        conditions: &operator.conditions,
        left: operator.left.relations,
        right: operator.right.relations,
        used: owners.of_all(&operator.conditions),
    });
    placed.collect()
}

/// Returns the rules for conjuncts and cross products: uses of a NULL side wait for the outer join.
pub(super) fn rules_of_conjuncts(written: &[WrittenOperator], owners: &Owners) -> Vec<Rule> {
    placed(written, owners).iter().flat_map(rules_of_inner_above).collect()
}

/// Estimates all combinations of rows of some relations.
pub(super) fn combinations_of(set: RelationSet, relations: &[Rc<NodeEstimate>]) -> NodeEstimate {
    let estimates = bits(set).map(|at| Rc::clone(&relations[at]));
    let all = estimates.reduce(|all, next| Rc::new(NodeEstimate::of_pairs(&all, &next)));
    all.map_or_else(NodeEstimate::default, |all| all.as_ref().clone())
}
