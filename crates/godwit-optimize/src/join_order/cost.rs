//! Cardinality and cost of joining sets of relations.
//!
//! The rows of a set don't depend on the order in which it is joined: they are the product of its relations' rows and
//! of the selectivities of all key classes, predicates and operators inside the set. The cost of a tree is the sum,
//! over its joins, of the rows probed, built and produced; building costs more than probing, and both cost more when
//! the hash table is large, but for probes of rows that its filter drops.

use super::build_side::is_clearly_smaller;
use super::conflict::Operation;
use super::graph::{JoinGraph, Member, RelationSet, bits, one};
use crate::estimate::{key_domain, pair_domain};

/// Cost of building per row; the unit is the probe of a row in a cached table. Rows are copied and hashed, entries
/// written.
const BUILD_ROW: f64 = 2.0;

/// Cost of a row that a join produces.
const OUTPUT_ROW: f64 = 1.0;

/// Cost of comparing a pair of rows in a join without keys: one vector lane, without a lookup.
const COMPARED_PAIR: f64 = 0.2;

/// Size up to which a hash table fits a core's cache, in bytes (L2 of current servers: 1 to 2 MiB).
const CACHED_BYTES: f64 = 1_048_576.0;

/// Factor by which a probe or a build costs more when the table is much larger than the cache: one miss per row.
const MISS_FACTOR: f64 = 3.0;

/// Rows of a build side beyond which it has no filter, as that would be too large for a cache.
const FILTER_ROWS_MAX: f64 = 8_000_000.0;

/// Bytes of a hash table entry beyond the row.
const ENTRY_BYTES: f64 = 16.0;

/// Lower bound on the assumed rows of a join result used as build side: a table of a million rows where one was
/// expected costs far more than probing with that one row.
const JOINED_BUILD_ROWS_MIN: f64 = 100.0;

/// Growth of that bound with each further relation: errors multiply from join to join. So where costs are about the
/// same, small and certain relations become build sides first.
const JOINED_BUILD_GROWTH: f64 = 2.0;

/// Number of relations after which the bound stops growing: beyond some thousand rows it would outweigh the estimates.
const JOINED_BUILD_GROWTH_MAX: i32 = 5;

/// Rows, width and cost of a joined set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    pub(super) row_bytes: f64,
    pub(super) cost: f64,
    /// Number of relations in the set.
    relations: i32,
}

impl Estimate {
    /// Returns a relation by itself; reading it costs the same in every order.
    pub(super) fn of_relation(graph: &JoinGraph, relation: usize) -> Self {
        let estimate = &graph.relations[relation].estimate;
        Self { rows: estimate.rows.max(1.0), row_bytes: estimate.row_bytes(), cost: 0.0, relations: 1 }
    }

    /// Returns the inner join of two sets into `rows`, with the given build side.
    pub(super) fn of_join(probe: &Self, build: &Self, rows: f64, has_key: bool) -> Self {
        // The filter of the build side drops most rows that have no match before they are looked up.
        let has_filter = has_key && build.rows <= FILTER_ROWS_MAX;
        let looked_up = if has_filter { probe.rows.min(rows) } else { probe.rows };
        Self::of_probes(probe, looked_up, build, rows, has_key)
    }

    /// Returns the join into `rows`, for which this many rows of the probe side are looked up.
    fn of_probes(probe: &Self, looked_up: f64, build: &Self, rows: f64, has_key: bool) -> Self {
        let build_rows = build.rows.max(build.rows_to_fear());
        let table_bytes = build_rows * (build.row_bytes + ENTRY_BYTES);
        let misses = (table_bytes / CACHED_BYTES).log2().clamp(0.0, 4.0) / 4.0;
        let extra = misses * (MISS_FACTOR - 1.0);
        let compared = if has_key { 0.0 } else { probe.rows * build.rows * COMPARED_PAIR };
        let work =
            probe.rows + looked_up * extra + build_rows * BUILD_ROW * (1.0 + extra) + compared + rows * OUTPUT_ROW;
        Self {
            rows,
            row_bytes: probe.row_bytes + build.row_bytes,
            cost: probe.cost + build.cost + work,
            relations: probe.relations + build.relations,
        }
    }

    /// Returns the join of two sets by an operator, with the build side that it will have.
    pub(super) fn of_operator(operation: Operation, left: &Self, right: &Self, rows: f64) -> Self {
        let is_mirrored = is_clearly_smaller((left.rows, left.row_bytes), (right.rows, right.row_bytes));
        let (probe, build) = if is_mirrored { (right, left) } else { (left, right) };
        let both = match operation {
            // Here `rows` aren't the probe side's rows that have a match.
            Operation::Anti => Self::of_probes(probe, probe.rows, build, rows, true),
            Operation::Semi if is_mirrored => Self::of_probes(probe, probe.rows, build, rows, true),
            Operation::Left | Operation::Full | Operation::Semi => Self::of_join(probe, build, rows, true),
        };
        match operation {
            Operation::Left | Operation::Full => both,
            Operation::Semi | Operation::Anti => Self { row_bytes: left.row_bytes, ..both },
        }
    }

    /// Returns the number of rows to plan for even if fewer are expected.
    fn rows_to_fear(&self) -> f64 {
        match self.relations {
            1 => 0.0,
            joined => JOINED_BUILD_ROWS_MIN * JOINED_BUILD_GROWTH.powi((joined - 2).min(JOINED_BUILD_GROWTH_MAX)),
        }
    }
}

/// Expected rows of joined sets of relations in a graph.
pub(super) struct Cardinality<'a> {
    graph: &'a JoinGraph,
    /// For each relation, the earlier relations for which assuming independent keys underestimates the join, and by how
    /// much.
    composite: Vec<Vec<(usize, f64)>>,
}

impl<'a> Cardinality<'a> {
    pub(super) fn new(graph: &'a JoinGraph) -> Self {
        let correction = |left: usize, right: usize| {
            let correction = composite_key_correction(graph, left, right);
            (correction > 1.0).then_some((left, correction))
        };
        let of = |right: usize| (0..right).filter_map(|left| correction(left, right)).collect();
        Self { graph, composite: (0..graph.relations.len()).map(of).collect() }
    }

    /// Returns the expected rows of the join of a set of relations.
    pub(super) fn rows_of(&self, set: RelationSet) -> f64 {
        let mut rows: f64 = 1.0;
        for at in bits(set) {
            let relation = &self.graph.relations[at];
            let operator = relation.joined_by.map(|operator| &self.graph.operators[operator]);
            rows *= match operator.filter(|operator| operator.is_inside(set)) {
                Some(operator) => operator.factor,
                None => relation.estimate.rows.max(1.0),
            };
            let corrections = self.composite[at].iter().filter(|(left, _)| set & one(*left) != 0);
            rows *= corrections.map(|(_, correction)| *correction).fold(1.0, f64::max);
        }
        for class in &self.graph.classes {
            // With k members present there are k - 1 independent equalities. Joined from the smallest domain to the
            // largest, each contributes the wider domain of its pair.
            let is_inside = |member: &Member| set & one(member.relation) != 0;
            if let Some(hub) = class.hub.as_ref().filter(|hub| is_inside(&class.members[hub.member])) {
                let others =
                    class.members.iter().enumerate().filter(|(at, other)| *at != hub.member && is_inside(other));
                rows /= others.map(|(at, _)| hub.domains[at]).product::<f64>();
                continue;
            }
            let mut before: Option<&Member> = None;
            for member in class.by_domain.iter().map(|&at| &class.members[at]).filter(|member| is_inside(member)) {
                rows /= before.map_or(1.0, |before| pair_domain(&before.estimate, &member.estimate).max(1.0));
                before = Some(member);
            }
        }
        for predicate in &self.graph.predicates {
            if predicate.relations & set == predicate.relations {
                rows *= predicate.selectivity;
            }
        }
        rows.max(1.0)
    }
}

/// Returns the correction for two relations joined by several keys: the keys' domains must not be multiplied as if they
/// were independent, since a composite key has at most as many values as its table has rows.
fn composite_key_correction(graph: &JoinGraph, left: usize, right: usize) -> f64 {
    let both = one(left) | one(right);
    let classes = graph.classes.iter().filter(|class| class.relations & both == both);
    if classes.clone().nth(1).is_none() {
        return 1.0;
    }
    let pairs = classes.filter_map(|class| {
        let of = |relation: usize| class.members.iter().find(|member| member.relation == relation);
        Some((&*of(left)?.estimate, &*of(right)?.estimate))
    });
    let pairs: Vec<_> = pairs.collect();
    let independent: f64 = pairs.iter().map(|(left, right)| pair_domain(left, right)).product();
    (independent / key_domain(&pairs)).max(1.0)
}
