//! The search for the cheapest join tree.
//!
//! DPccp enumerates every pair of disjoint connected subgraphs that an edge connects, each exactly once and smaller
//! sets before larger ones (Moerkotte and Neumann, "Analysis of Two Existing and One New Dynamic Programming
//! Algorithm", 2006). Components without an edge between them, and graphs too large for that, are joined greedily:
//! the pair whose join is smallest first, pairs with a predicate before cross products. Large graphs are then searched
//! once more along lines: one from each of the smallest relations, going on with what leaves fewest rows; and of all trees
//! whose subtrees are pieces of a line the best is found by dynamic programming (as in Neumann and Radke, "Adaptive
//! Optimization of Very Large Join Queries", 2018, but with several greedy lines in place of IKKBZ's one, as key classes
//! make cliques of most graphs).

use datafusion_common::HashMap;

use super::EXACT_RELATIONS_MAX;
use super::cost::{Cardinality, Estimate};
use super::graph::{JoinGraph, RelationSet, bits};

/// Lines along which a large graph is searched, the smallest relations' first: with 20 relations each takes about a
/// millisecond.
const LINES_MAX: usize = 8;

/// A join tree.
#[derive(Debug, Clone)]
pub(super) enum JoinTree {
    /// A relation by its index.
    Leaf(usize),
    /// A join of a probe side and a build side.
    Join(Box<JoinTree>, Box<JoinTree>),
}

impl JoinTree {
    /// Relations from first to last, each the build side of its join.
    pub(super) fn left_deep(relations: usize) -> Self {
        let join = |probe, build| Self::Join(Box::new(probe), Box::new(build));
        (0..relations).map(Self::Leaf).reduce(join).expect("a join tree has relations")
    }
}

/// The best known way to join a set.
#[derive(Debug, Clone, Copy)]
struct Entry {
    estimate: Estimate,
    /// The two sides, the probe side first; `None` for a single relation.
    sides: Option<(RelationSet, RelationSet)>,
}

/// The cheapest tree for the whole graph.
pub(super) fn best_tree(graph: &JoinGraph) -> JoinTree {
    let mut search = Search::new(graph);
    let mut parts = Vec::new();
    for component in search.components() {
        if component.count_ones() as usize <= EXACT_RELATIONS_MAX {
            search.enumerate(component);
            parts.push(component);
        } else {
            search.join_greedily(bits(component).map(|relation| 1 << relation).collect());
            search.enumerate_lines(component);
            parts.push(component);
        }
    }
    let whole = search.join_greedily(parts);
    search.tree(whole)
}

struct Search<'a> {
    graph: &'a JoinGraph,
    cardinality: Cardinality<'a>,
    /// For each relation those that share a key class with it.
    neighbors: Vec<RelationSet>,
    best: HashMap<RelationSet, Entry>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a JoinGraph) -> Self {
        let mut neighbors = vec![0; graph.relations.len()];
        for class in &graph.classes {
            let set = class.members.iter().fold(0, |set, member| set | (1 << member.relation));
            for member in &class.members {
                neighbors[member.relation] |= set & !(1 << member.relation);
            }
        }
        let single = |relation| Entry { estimate: Estimate::of_relation(graph, relation), sides: None };
        let best = (0..graph.relations.len()).map(|relation| (1 << relation, single(relation))).collect();
        Self { graph, cardinality: Cardinality::new(graph), neighbors, best }
    }

    /// Largest sets of relations that key classes connect.
    fn components(&self) -> Vec<RelationSet> {
        let mut left: RelationSet = (0..self.neighbors.len()).fold(0, |set, relation| set | (1 << relation));
        let mut components = Vec::new();
        while left != 0 {
            let mut component = left & left.wrapping_neg();
            loop {
                let grown = component | self.neighborhood(component);
                if grown == component {
                    break;
                }
                component = grown;
            }
            left &= !component;
            components.push(component);
        }
        components
    }

    fn neighborhood(&self, set: RelationSet) -> RelationSet {
        bits(set).fold(0, |all, relation| all | self.neighbors[relation]) & !set
    }

    /// Finds the best tree of every connected subset of a component.
    fn enumerate(&mut self, component: RelationSet) {
        let mut relations: Vec<usize> = bits(component).collect();
        relations.reverse();
        for relation in relations {
            let start = 1 << relation;
            let excluded = (start | (start - 1)) & component;
            self.with_complements(start);
            self.grow(start, excluded);
        }
    }

    /// Visits every connected set that contains `set` and nothing of `excluded` beyond it.
    fn grow(&mut self, set: RelationSet, excluded: RelationSet) {
        let neighborhood = self.neighborhood(set) & !excluded;
        for more in subsets(neighborhood) {
            self.with_complements(set | more);
        }
        for more in subsets(neighborhood) {
            self.grow(set | more, excluded | neighborhood);
        }
    }

    /// Joins a connected set with every connected set beside it whose relations all come after its first one.
    fn with_complements(&mut self, set: RelationSet) {
        let first = set & set.wrapping_neg();
        let excluded = set | (first - 1) | first;
        let neighborhood = self.neighborhood(set) & !excluded;
        let mut starts: Vec<usize> = bits(neighborhood).collect();
        starts.reverse();
        for relation in starts {
            let start = 1 << relation;
            self.consider(set, start);
            let before = (start | (start - 1)) & neighborhood;
            self.grow_complement(set, start, excluded | before);
        }
    }

    fn grow_complement(&mut self, set: RelationSet, complement: RelationSet, excluded: RelationSet) {
        let neighborhood = self.neighborhood(complement) & !excluded & !set;
        for more in subsets(neighborhood) {
            if self.best.contains_key(&(complement | more)) {
                self.consider(set, complement | more);
            }
        }
        for more in subsets(neighborhood) {
            self.grow_complement(set, complement | more, excluded | neighborhood);
        }
    }

    /// Remembers the join of two sets, either way round, if it is the cheapest way to their union.
    fn consider(&mut self, a: RelationSet, b: RelationSet) {
        let (Some(left), Some(right)) = (self.best.get(&a).copied(), self.best.get(&b).copied()) else {
            return;
        };
        let known = self.best.get(&(a | b)).copied();
        let rows = known.map_or_else(|| self.cardinality.rows_of(a | b), |entry| entry.estimate.rows);
        for ((probe, probe_set), (build, build_set)) in [((left, a), (right, b)), ((right, b), (left, a))] {
            let estimate = Estimate::of_join(&probe.estimate, &build.estimate, rows);
            let best = self.best.get(&(a | b));
            if best.is_none_or(|best| estimate.cost < best.estimate.cost) {
                self.best.insert(a | b, Entry { estimate, sides: Some((probe_set, build_set)) });
            }
        }
    }

    /// Joins sets pair by pair until one is left, and returns it.
    fn join_greedily(&mut self, mut parts: Vec<RelationSet>) -> RelationSet {
        while parts.len() > 1 {
            let mut cheapest: Option<(bool, f64, usize, usize)> = None;
            for a in 0..parts.len() {
                for b in a + 1..parts.len() {
                    let rows = self.cardinality.rows_of(parts[a] | parts[b]);
                    let candidate = (!self.is_connected(parts[a], parts[b]), rows, a, b);
                    if cheapest.is_none_or(|best| (candidate.0, candidate.1) < (best.0, best.1)) {
                        cheapest = Some(candidate);
                    }
                }
            }
            let (_, _, a, b) = cheapest.expect("two parts make a pair");
            let b_set = parts.swap_remove(b);
            self.consider(parts[a], b_set);
            parts[a] |= b_set;
        }
        parts[0]
    }

    /// Improves on the tree that was found for a component.
    fn enumerate_lines(&mut self, component: RelationSet) {
        let mut starts: Vec<usize> = bits(component).collect();
        let rows = |&relation: &usize| self.graph.relations[relation].estimate.rows;
        starts.sort_by(|a, b| rows(a).total_cmp(&rows(b)));
        for &start in starts.iter().take(LINES_MAX) {
            let line = self.line(component, start);
            for length in 2..=line.len() {
                for piece in line.windows(length) {
                    self.consider_splits(piece);
                }
            }
        }
    }

    /// The relations of a component, each after one that it is connected to, and the one that leaves fewest rows first.
    fn line(&mut self, component: RelationSet, start: usize) -> Vec<usize> {
        let mut line = vec![start];
        let mut taken = 1 << start;
        while taken != component {
            let rows = |&next: &usize| self.cardinality.rows_of(taken | (1 << next));
            let candidates: Vec<usize> = bits(self.neighborhood(taken)).collect();
            let next = candidates.into_iter().min_by(|a, b| rows(a).total_cmp(&rows(b)));
            let next = next.expect("a component is connected");
            line.push(next);
            taken |= 1 << next;
        }
        line
    }

    fn consider_splits(&mut self, piece: &[usize]) {
        let set = |relations: &[usize]| relations.iter().fold(0, |set, relation| set | (1 << relation));
        for split in 1..piece.len() {
            let (a, b): (RelationSet, RelationSet) = (set(&piece[..split]), set(&piece[split..]));
            if self.neighborhood(a) & b != 0 {
                self.consider(a, b);
            }
        }
    }

    /// True if a key class or a predicate links the sets.
    fn is_connected(&self, a: RelationSet, b: RelationSet) -> bool {
        let by_predicate = self.graph.predicates.iter().any(|predicate| {
            predicate.relations & a != 0 && predicate.relations & b != 0 && predicate.relations & !(a | b) == 0
        });
        by_predicate || self.neighborhood(a) & b != 0
    }

    fn tree(&self, set: RelationSet) -> JoinTree {
        match self.best[&set].sides {
            None => JoinTree::Leaf(set.trailing_zeros() as usize),
            Some((probe, build)) => JoinTree::Join(Box::new(self.tree(probe)), Box::new(self.tree(build))),
        }
    }
}

/// All subsets but the empty one, each after its own subsets.
fn subsets(set: RelationSet) -> impl Iterator<Item = RelationSet> {
    std::iter::successors(Some(set.wrapping_neg() & set), move |subset| Some(subset.wrapping_sub(set) & set))
        .take_while(|subset| *subset != 0)
}
