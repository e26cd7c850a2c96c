//! Edges between the relations of a graph, and cross products where there are none.

use super::conflict::{Rule, closure};
use super::graph::{JoinGraph, RelationSet, bits, one};

impl JoinGraph {
    /// Adds edges for classes, equalities and operators. Other predicates don't guide the search: a join with only
    /// those compares all pairs.
    pub(super) fn add_edges(&mut self) {
        for at in 0..self.classes.len() {
            let set = self.classes[at].relations;
            bits(set).for_each(|relation| self.neighbors[relation] |= set & !one(relation));
        }
        let keys = self.predicates.iter().filter_map(|predicate| predicate.key);
        let sides = self.operators.iter().map(|operator| (operator.left, operator.right));
        let edges: Vec<_> = keys.chain(sides).collect();
        edges.into_iter().for_each(|(a, b)| self.link(a, b));
    }

    /// Finds the components, and adds as many cross products as it takes to connect them.
    pub(super) fn connect(&mut self, free: RelationSet, waits: &[Rule]) {
        let mut parts: Vec<RelationSet> = (0..self.relations.len()).map(one).collect();
        self.merge_connected(&mut parts, false);
        self.components = parts.clone();
        self.merge_connected(&mut parts, true);
        while parts.len() > 1 {
            let Some((a, b)) = self.product_of(&parts, free, waits) else {
                return;
            };
            self.products.push((a, b));
            self.merge_connected(&mut parts, true);
        }
    }

    /// Merges parts that are connected by edges, or, if `by_all`, also by any predicates and cross products.
    fn merge_connected(&self, parts: &mut Vec<RelationSet>, by_all: bool) {
        let are_linked = |a: RelationSet, b: RelationSet| {
            self.neighborhood(a, !b) != 0
                || self.neighborhood(b, !a) != 0
                || by_all && (self.is_linked(a, b) || self.is_product(a, b))
        };
        let mut at = 0;
        while at < parts.len() {
            match (at + 1..parts.len()).find(|&other| are_linked(parts[at], parts[other])) {
                Some(other) => {
                    parts[at] |= parts.swap_remove(other);
                    at = 0;
                }
                None => at += 1,
            }
        }
    }

    /// Returns the next cross product to try: one that a predicate or an operator waits for, or else the smallest.
    fn product_of(
        &self,
        parts: &[RelationSet],
        free: RelationSet,
        waits: &[Rule],
    ) -> Option<(RelationSet, RelationSet)> {
        let rows = |relation: &usize| self.relations[*relation].estimate.rows;
        let smallest = |part: RelationSet| bits(part & free).min_by(|a, b| rows(a).total_cmp(&rows(b)));
        let mut ends: Vec<(usize, RelationSet)> =
            parts.iter().filter_map(|&part| Some((smallest(part)?, part))).collect();
        ends.sort_by(|(a, _), (b, _)| rows(a).total_cmp(&rows(b)));
        let sides = self.hyperedges.iter().flat_map(|&(a, b)| [a, b, a | b]);
        let wanted: Vec<RelationSet> =
            sides.chain(self.predicates.iter().map(|predicate| predicate.relations)).collect();
        let waited_for = wanted.iter().find_map(|&wanted| {
            let mut needed = ends.iter().filter(|(_, part)| part & wanted != 0);
            Some((needed.next()?.0, needed.next()?.0))
        });
        let (a, b) = waited_for.or_else(|| Some((ends.first()?.0, ends.get(1)?.0)))?;
        let (a, b) = (closure(one(a), waits), closure(one(b), waits));
        (a & b == 0).then_some((a, b))
    }
}
