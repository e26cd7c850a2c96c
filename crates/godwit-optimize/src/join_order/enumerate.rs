//! The search for the cheapest join tree.
//!
//! DPhyp (Moerkotte and Neumann, "Dynamic Programming Strikes Back", 2008) enumerates every pair of disjoint connected
//! subgraphs that an edge connects, each exactly once and smaller sets before larger ones. Components without an edge
//! between them, and graphs too large for it, are joined greedily: the pair with the smallest join first, pairs with a
//! predicate before cross products. Large graphs are then searched again along lines. A line starts at one of the
//! smallest relations and continues with the relation that leaves the fewest rows; dynamic programming finds the best
//! of all trees whose subtrees are contiguous pieces of a line (as in Neumann and Radke, "Adaptive Optimization of Very
//! Large Join Queries", 2018, but with several greedy lines in place of IKKBZ's one, as key classes make cliques of
//! most graphs).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use godwit_common::Result;

use super::EXACT_RELATIONS_MAX;
use super::cost::{Cardinality, Estimate};
use super::graph::{JoinGraph, RelationSet, Step, bits, one};

/// Number of lines along which a large graph is searched, starting with the smallest relations: with 20 relations each
/// takes about a millisecond.
const LINES_MAX: usize = 8;

/// A join tree.
#[derive(Debug, Clone)]
pub(super) enum JoinTree {
    /// A relation by its index.
    Leaf(usize),
    /// A join; of an inner one, the sides are probe side and build side.
    Join(Box<JoinTree>, Box<JoinTree>),
}

/// The best known way to join a set.
#[derive(Debug, Clone, Copy)]
struct Entry {
    estimate: Estimate,
    /// The two sides; `None` for a single relation.
    sides: Option<(RelationSet, RelationSet)>,
}

/// Hashes sets of relations by spreading their bits with a multiplication.
#[derive(Default)]
struct SetHasher(u64);

impl Hasher for SetHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only sets of relations are hashed")
    }

    fn write_u64(&mut self, set: u64) {
        // 2^64 divided by the golden ratio: Fibonacci hashing.
        let product = set.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// Returns the cheapest tree for the whole graph; `None` if none was found and the written order must be used.
pub(super) fn best_tree(graph: &JoinGraph, check: &dyn Fn() -> Result<()>) -> Result<Option<JoinTree>> {
    let mut search = Search::new(graph, check);
    let mut parts = Vec::new();
    for &component in &graph.components {
        if component.count_ones() as usize <= EXACT_RELATIONS_MAX {
            search.enumerate(component);
        } else {
            search.join_greedily(bits(component).map(one).collect())?;
            search.enumerate_lines(component)?;
        }
        match search.best.contains_key(&component) {
            true => parts.push(component),
            false => parts.extend(bits(component).map(one)),
        }
    }
    let parts = search.join_greedily(parts)?;
    let [whole] = parts.as_slice() else {
        return Ok(None);
    };
    Ok(Some(search.tree(*whole)))
}

struct Search<'a> {
    graph: &'a JoinGraph,
    check: &'a dyn Fn() -> Result<()>,
    cardinality: Cardinality<'a>,
    best: HashMap<RelationSet, Entry, BuildHasherDefault<SetHasher>>,
}

/// Two parts that can be joined.
#[derive(Clone, Copy)]
struct Candidate {
    is_product: bool,
    rows: f64,
    parts: (RelationSet, RelationSet),
}

impl<'a> Search<'a> {
    fn new(graph: &'a JoinGraph, check: &'a dyn Fn() -> Result<()>) -> Self {
        let single = |relation| Entry { estimate: Estimate::of_relation(graph, relation), sides: None };
        let best = (0..graph.relations.len()).map(|relation| (one(relation), single(relation))).collect();
        Self { graph, check, cardinality: Cardinality::new(graph), best }
    }

    /// Finds the best tree of every connected subset of a component.
    fn enumerate(&mut self, component: RelationSet) {
        let mut relations: Vec<usize> = bits(component).collect();
        relations.reverse();
        for relation in relations {
            let start = one(relation);
            let excluded = !component | start | (start - 1);
            self.with_complements(start, !component);
            self.grow(start, excluded, !component);
        }
    }

    /// Visits every connected set that contains `set` and otherwise nothing from `excluded`.
    fn grow(&mut self, set: RelationSet, excluded: RelationSet, outside: RelationSet) {
        let neighborhood = self.graph.neighborhood(set, excluded);
        for more in subsets(neighborhood) {
            if self.best.contains_key(&(set | more)) {
                self.with_complements(set | more, outside);
            }
        }
        for more in subsets(neighborhood) {
            self.grow(set | more, excluded | neighborhood, outside);
        }
    }

    /// Joins a connected set with every disjoint connected set whose relations all come after its first one.
    fn with_complements(&mut self, set: RelationSet, outside: RelationSet) {
        let first = set & set.wrapping_neg();
        let excluded = outside | set | (first - 1) | first;
        let neighborhood = self.graph.neighborhood(set, excluded);
        let mut starts: Vec<usize> = bits(neighborhood).collect();
        starts.reverse();
        for relation in starts {
            let start = one(relation);
            self.consider(set, start);
            let before = (start | (start - 1)) & neighborhood;
            self.grow_complement(set, start, excluded | before);
        }
    }

    fn grow_complement(&mut self, set: RelationSet, complement: RelationSet, excluded: RelationSet) {
        let neighborhood = self.graph.neighborhood(complement, excluded | set);
        for more in subsets(neighborhood) {
            if self.best.contains_key(&(complement | more)) {
                self.consider(set, complement | more);
            }
        }
        for more in subsets(neighborhood) {
            self.grow_complement(set, complement | more, excluded | neighborhood);
        }
    }

    /// Records the join of two sets if it is the cheapest way to get their union; an inner join is tried both ways.
    fn consider(&mut self, a: RelationSet, b: RelationSet) {
        let (Some(left), Some(right)) = (self.best.get(&a).copied(), self.best.get(&b).copied()) else {
            return;
        };
        let Some(step) = self.graph.step(a, b) else {
            return;
        };
        let known = self.best.get(&(a | b)).copied();
        let rows = known.map_or_else(|| self.cardinality.rows_of(a | b), |entry| entry.estimate.rows);
        let ((left, a), (right, b)) = match step {
            Step::Operator { is_swapped: true, .. } => ((right, b), (left, a)),
            _ => ((left, a), (right, b)),
        };
        let (left, right) = (&left.estimate, &right.estimate);
        let mut best = known;
        let mut offer = |estimate: Estimate, sides| {
            if best.is_none_or(|best| estimate.cost < best.estimate.cost) {
                best = Some(Entry { estimate, sides: Some(sides) });
            }
        };
        match step {
            Step::Operator { at, .. } => {
                offer(Estimate::of_operator(self.graph.operators[at].operation, left, right, rows), (a, b));
            }
            Step::Inner => {
                let has_key = self.graph.has_key(a, b);
                offer(Estimate::of_join(left, right, rows, has_key), (a, b));
                offer(Estimate::of_join(right, left, rows, has_key), (b, a));
            }
        }
        self.best.extend(best.map(|best| (a | b, best)));
    }

    /// Joins parts pair by pair until one is left, or until no more can be joined, and returns what remains.
    fn join_greedily(&mut self, mut parts: Vec<RelationSet>) -> Result<Vec<RelationSet>> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for at in 0..parts.len() {
            candidates.extend(parts[..at].iter().filter_map(|&before| self.candidate(before, parts[at])));
        }
        let by_rank = |a: &Candidate, b: &Candidate| a.is_product.cmp(&b.is_product).then(a.rows.total_cmp(&b.rows));
        while let Some(next) = candidates.iter().copied().min_by(by_rank) {
            (self.check)()?;
            let (a, b) = next.parts;
            self.consider(a, b);
            parts.retain(|&part| part != a && part != b);
            candidates.retain(|other| (other.parts.0 | other.parts.1) & (a | b) == 0);
            candidates.extend(parts.iter().filter_map(|&part| self.candidate(part, a | b)));
            parts.push(a | b);
        }
        Ok(parts)
    }

    fn candidate(&self, a: RelationSet, b: RelationSet) -> Option<Candidate> {
        let step = self.graph.step(a, b)?;
        let is_product = step == Step::Inner && !self.graph.is_linked(a, b);
        Some(Candidate { is_product, rows: self.cardinality.rows_of(a | b), parts: (a, b) })
    }

    /// Improves the tree found for a component.
    fn enumerate_lines(&mut self, component: RelationSet) -> Result<()> {
        let mut starts: Vec<usize> = bits(component).collect();
        let rows = |&relation: &usize| self.graph.relations[relation].estimate.rows;
        starts.sort_by(|a, b| rows(a).total_cmp(&rows(b)));
        for &start in starts.iter().take(LINES_MAX) {
            let line = self.line(component, start);
            for length in 2..=line.len() {
                (self.check)()?;
                for piece in line.windows(length) {
                    self.consider_splits(piece);
                }
            }
        }
        Ok(())
    }

    /// Orders the relations of a component so that each is connected to an earlier one, preferring the one that leaves
    /// the fewest rows.
    fn line(&mut self, component: RelationSet, start: usize) -> Vec<usize> {
        let mut line = vec![start];
        let mut taken = one(start);
        loop {
            let rows = |&next: &usize| self.cardinality.rows_of(taken | one(next));
            let candidates: Vec<usize> = bits(self.graph.neighborhood(taken, !component)).collect();
            let Some(next) = candidates.into_iter().min_by(|a, b| rows(a).total_cmp(&rows(b))) else {
                return line;
            };
            line.push(next);
            taken |= one(next);
        }
    }

    fn consider_splits(&mut self, piece: &[usize]) {
        let set = |relations: &[usize]| relations.iter().fold(0, |set, &relation| set | one(relation));
        for split in 1..piece.len() {
            self.consider(set(&piece[..split]), set(&piece[split..]));
        }
    }

    fn tree(&self, set: RelationSet) -> JoinTree {
        match self.best[&set].sides {
            None => JoinTree::Leaf(set.trailing_zeros() as usize),
            Some((a, b)) => JoinTree::Join(Box::new(self.tree(a)), Box::new(self.tree(b))),
        }
    }
}

/// Iterates over all non-empty subsets, each after its own subsets.
fn subsets(set: RelationSet) -> impl Iterator<Item = RelationSet> {
    std::iter::successors(Some(set.wrapping_neg() & set), move |subset| Some(subset.wrapping_sub(set) & set))
        .take_while(|subset| *subset != 0)
}
