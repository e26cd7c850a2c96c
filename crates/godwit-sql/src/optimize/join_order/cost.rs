//! Rows and cost of joining sets of relations.
//!
//! The rows of a set don't depend on the order in which it is joined: all rows of its relations, times the share that
//! each key class and each predicate inside the set lets pass. The cost of a tree adds up, over its joins, the rows
//! probed, built and made; building costs more than probing, and both cost more when the hash table is large.

use super::graph::{JoinGraph, Member, RelationSet, bits};
use crate::estimate::{key_domain, pair_domain};

/// Cost of building per row, with a probed row in a cached table as unit: rows are copied and hashed, entries written.
const BUILD_ROW: f64 = 2.0;

/// Cost of a row that a join makes.
const OUTPUT_ROW: f64 = 1.0;

/// Size up to which a hash table is in the cache of a core, in bytes (L2 of current servers: 1 to 2 MiB).
const CACHED_BYTES: f64 = 1_048_576.0;

/// Times that a probe or a build costs more when the table is much larger than the cache: one miss per row.
const MISS_FACTOR: f64 = 3.0;

/// Bytes of a hash table entry beyond the row.
const ENTRY_BYTES: f64 = 16.0;

/// The result of a join is never thought to be cheaper to build on than so many rows: a table of a million rows where one
/// was expected costs far more than probing with that one row.
const JOINED_BUILD_ROWS_MIN: f64 = 100.0;

/// The same for one relation more: errors multiply from join to join. So what is certain and small is built on first, where
/// the costs are otherwise about the same.
const JOINED_BUILD_GROWTH: f64 = 2.0;

/// Relations after which that ends: beyond some thousand rows it would outweigh what is known.
const JOINED_BUILD_GROWTH_MAX: i32 = 5;

/// Rows, width and cost of a joined set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    pub(super) row_bytes: f64,
    pub(super) cost: f64,
    /// How many there are in the set.
    relations: i32,
}

impl Estimate {
    /// A relation by itself; reading it costs the same in every order.
    pub(super) fn of_relation(graph: &JoinGraph, relation: usize) -> Self {
        let estimate = &graph.relations[relation].estimate;
        Self { rows: estimate.rows.max(1.0), row_bytes: estimate.row_bytes(), cost: 0.0, relations: 1 }
    }

    /// The join of two sets into `rows`, with the given side as build side.
    pub(super) fn of_join(probe: &Self, build: &Self, rows: f64) -> Self {
        let build_rows = build.rows.max(build.rows_to_fear());
        let table_bytes = build_rows * (build.row_bytes + ENTRY_BYTES);
        let misses = (table_bytes / CACHED_BYTES).log2().clamp(0.0, 4.0) / 4.0;
        let factor = 1.0 + misses * (MISS_FACTOR - 1.0);
        let work = (probe.rows + build_rows * BUILD_ROW) * factor + rows * OUTPUT_ROW;
        Self {
            rows,
            row_bytes: probe.row_bytes + build.row_bytes,
            cost: probe.cost + build.cost + work,
            relations: probe.relations + build.relations,
        }
    }

    /// How many rows there may be, however few are expected.
    fn rows_to_fear(&self) -> f64 {
        match self.relations {
            1 => 0.0,
            joined => JOINED_BUILD_ROWS_MIN * JOINED_BUILD_GROWTH.powi((joined - 2).min(JOINED_BUILD_GROWTH_MAX)),
        }
    }
}

/// Expected rows of joined sets of a graph.
pub(super) struct Cardinality<'a> {
    graph: &'a JoinGraph,
    /// `composite[a][b]`, a < b: by how much independent keys underestimate the join of two relations.
    composite: Vec<Vec<f64>>,
}

impl<'a> Cardinality<'a> {
    pub(super) fn new(graph: &'a JoinGraph) -> Self {
        let relations = graph.relations.len();
        let mut composite = vec![vec![1.0; relations]; relations];
        for (a, row) in composite.iter_mut().enumerate() {
            for (b, correction) in row.iter_mut().enumerate().skip(a + 1) {
                *correction = composite_key_correction(graph, a, b);
            }
        }
        Self { graph, composite }
    }

    /// Expected rows of the join of a set of relations.
    pub(super) fn rows_of(&self, set: RelationSet) -> f64 {
        let inside: Vec<usize> = bits(set).collect();
        let mut rows: f64 = inside.iter().map(|&at| self.graph.relations[at].estimate.rows.max(1.0)).product();
        for class in &self.graph.classes {
            // With k members present there are k - 1 independent equalities. Joined from the smallest domain to the
            // largest, each brings in the wider domain of its pair.
            let is_inside = |member: &Member| set & (1 << member.relation) != 0;
            if let Some(hub) = class.hub.as_ref().filter(|hub| is_inside(&class.members[hub.member])) {
                let others =
                    class.members.iter().enumerate().filter(|(at, other)| *at != hub.member && is_inside(other));
                rows /= others.map(|(at, _)| hub.domains[at]).product::<f64>();
                continue;
            }
            let mut members: Vec<_> = class.members.iter().filter(|member| is_inside(member)).collect();
            members.sort_by(|a, b| a.estimate.domain.total_cmp(&b.estimate.domain));
            for pair in members.windows(2) {
                rows /= pair_domain(&pair[0].estimate, &pair[1].estimate).max(1.0);
            }
        }
        for predicate in &self.graph.predicates {
            if predicate.relations & set == predicate.relations {
                rows *= predicate.selectivity;
            }
        }
        for (at, &right) in inside.iter().enumerate() {
            rows *= inside[..at].iter().map(|&left| self.composite[left][right]).fold(1.0, f64::max);
        }
        rows.max(1.0)
    }
}

/// Where two relations are joined by several keys together, the keys' domains must not be multiplied as if they were
/// independent: a composite key has at most as many values as its table has rows.
fn composite_key_correction(graph: &JoinGraph, left: usize, right: usize) -> f64 {
    let pairs: Vec<_> = graph
        .classes
        .iter()
        .filter_map(|class| {
            let of = |relation: usize| class.members.iter().find(|member| member.relation == relation);
            Some((&of(left)?.estimate, &of(right)?.estimate))
        })
        .collect();
    if pairs.len() < 2 {
        return 1.0;
    }
    let independent: f64 = pairs.iter().map(|(left, right)| pair_domain(left, right)).product();
    (independent / key_domain(&pairs)).max(1.0)
}
