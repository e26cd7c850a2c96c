//! The join graph: relations, classes of equal expressions, and all other predicates.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::{Column, NullEquality, Result};
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{BinaryExpr, Expr, Filter, Join, JoinType, LogicalPlan, Operator};

use super::RELATIONS_MAX;
use crate::Estimates;
use crate::estimate::{ColumnEstimate, NodeEstimate, SampledKeys, pair_domain, selectivity};

/// A set of relations, one bit each.
pub(super) type RelationSet = u64;

/// The relations of a set, in ascending order.
pub(super) fn bits(set: RelationSet) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(set), |set| Some(set & set.wrapping_sub(1)))
        .take_while(|set| *set != 0)
        .map(|set| set.trailing_zeros() as usize)
}

/// A semi or anti join moves down if it leaves at most this share of its relation's rows ...
const SEMI_SHARE_MAX: f64 = 0.5;

/// ... and its right side has at most this share of the rows of that relation.
const SEMI_BUILD_SHARE_MAX: f64 = 0.5;

/// An input of the join tree.
pub(super) struct Relation {
    pub(super) plan: Arc<LogicalPlan>,
    pub(super) estimate: Arc<NodeEstimate>,
}

/// An expression over one relation that equals all others of its class.
pub(super) struct Member {
    pub(super) relation: usize,
    pub(super) expr: Expr,
    pub(super) estimate: ColumnEstimate,
}

/// Expressions that are equal in every row of the result.
pub(super) struct KeyClass {
    /// Of at least two relations, one per relation.
    pub(super) members: Vec<Member>,
    /// The member that the joins of all others were measured with.
    pub(super) hub: Option<Hub>,
}

/// A member whose keys are all known, and were looked for in the samples of the others.
pub(super) struct Hub {
    pub(super) member: usize,
    /// By member: over how many values pairs of the hub's rows and its rows are spread.
    pub(super) domains: Vec<f64>,
}

impl Hub {
    /// The member of the smallest relation that is known as a whole; `None` if there is none.
    fn of(members: &[Member], relations: &[Relation], estimates: &Estimates) -> Option<Self> {
        let rows = |at: usize| relations[members[at].relation].estimate.rows;
        let keys = |at: usize| {
            let Member { relation, expr, .. } = &members[at];
            SampledKeys::of(estimates, &relations[*relation].plan, expr)
        };
        let mut keys: Vec<Option<SampledKeys>> = (0..members.len()).map(keys).collect();
        let is_whole = |at: &usize| keys[*at].as_ref().is_some_and(|keys| keys.is_whole);
        let member = (0..members.len()).filter(is_whole).min_by(|&a, &b| rows(a).total_cmp(&rows(b)))?;
        let hub = keys[member].take()?.counted();
        let domain = |(other, keys): (&Member, &Option<SampledKeys>)| {
            let estimated = pair_domain(&members[member].estimate, &other.estimate);
            keys.as_ref().and_then(|keys| hub.domain_with(keys, estimated)).unwrap_or(estimated).max(1.0)
        };
        Some(Self { member, domains: members.iter().zip(&keys).map(domain).collect() })
    }
}

/// A predicate over two or more relations that isn't an equality of two.
pub(super) struct Predicate {
    pub(super) relations: RelationSet,
    pub(super) expr: Expr,
    pub(super) selectivity: f64,
}

/// What is to be joined.
pub(super) struct JoinGraph {
    pub(super) relations: Vec<Relation>,
    pub(super) classes: Vec<KeyClass>,
    pub(super) predicates: Vec<Predicate>,
    /// Predicates without any column, for the very top.
    pub(super) constants: Vec<Expr>,
}

impl JoinGraph {
    /// Takes a join tree apart; `None` if it must stay as it is.
    pub(super) fn collect(plan: &LogicalPlan, estimates: &Estimates) -> Result<Option<Self>> {
        let mut collector = Collector { estimates, relations: Vec::new(), conjuncts: Vec::new() };
        collector.collect(plan)?;
        let Collector { relations, conjuncts, .. } = collector;
        if relations.len() < 2 || relations.len() > RELATIONS_MAX {
            return Ok(None);
        }
        let Some(owners) = column_owners(&relations) else {
            return Ok(None);
        };
        Self::new(relations, conjuncts, &owners, estimates)
    }

    /// Replaces each relation by what `map` makes of it.
    pub(super) fn map_relations(
        &mut self,
        map: impl Fn(LogicalPlan) -> Result<LogicalPlan>,
        estimates: &Estimates,
    ) -> Result<()> {
        for relation in &mut self.relations {
            relation.plan = Arc::new(map(relation.plan.as_ref().clone())?);
            relation.estimate = estimates.of_shared(&relation.plan);
        }
        Ok(())
    }

    fn new(
        relations: Vec<Arc<LogicalPlan>>,
        conjuncts: Vec<Expr>,
        owners: &HashMap<Column, usize>,
        estimates: &Estimates,
    ) -> Result<Option<Self>> {
        let mut equalities: Vec<(usize, Expr, usize, Expr)> = Vec::new();
        let mut local: Vec<Vec<Expr>> = vec![Vec::new(); relations.len()];
        let mut others: Vec<(RelationSet, Expr)> = Vec::new();
        let mut constants = Vec::new();
        for conjunct in conjuncts {
            let Some(set) = relations_of(&conjunct, owners) else {
                return Ok(None);
            };
            match set.count_ones() {
                0 => constants.push(conjunct),
                1 => local[set.trailing_zeros() as usize].push(conjunct),
                _ => match as_equality(&conjunct, owners) {
                    Some(equality) => equalities.push(equality),
                    None => others.push((set, conjunct)),
                },
            }
        }
        let classes = classes_of(equalities, &mut local);
        let relations: Vec<Relation> = relations
            .into_iter()
            .zip(local)
            .map(|(plan, filters)| {
                let plan = match conjunction(filters) {
                    Some(predicate) => Arc::new(LogicalPlan::Filter(Filter::try_new(predicate, plan)?)),
                    None => plan,
                };
                let estimate = estimates.of_shared(&plan);
                Ok(Relation { plan, estimate })
            })
            .collect::<Result<_>>()?;
        let member = |(relation, expr): (usize, Expr)| {
            let Relation { plan, estimate } = &relations[relation];
            Member { relation, estimate: estimate.of_expr(&expr, plan.schema()), expr }
        };
        let key_class = |class: Vec<(usize, Expr)>| {
            let members: Vec<Member> = class.into_iter().map(member).collect();
            KeyClass { hub: Hub::of(&members, &relations, estimates), members }
        };
        let classes = classes.into_iter().map(key_class).collect();
        let predicates = others
            .into_iter()
            .map(|(set, expr)| {
                let selectivity = predicate_selectivity(&relations, set, &expr)?;
                Ok(Predicate { relations: set, expr, selectivity })
            })
            .collect::<Result<_>>()?;
        Ok(Some(Self { relations, classes, predicates, constants }))
    }
}

/// Walks a join tree down to its relations.
struct Collector<'a> {
    estimates: &'a Estimates,
    relations: Vec<Arc<LogicalPlan>>,
    conjuncts: Vec<Expr>,
}

impl Collector<'_> {
    fn collect(&mut self, plan: &LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Join(join) if is_plain_inner(join) => {
                self.conjuncts.extend(join.on.iter().map(|(left, right)| left.clone().eq(right.clone())));
                self.conjuncts.extend(join.filter.iter().flat_map(split_conjunction).cloned());
                self.collect(&join.left)?;
                self.collect(&join.right)
            }
            LogicalPlan::Filter(filter) if super::is_join_tree(&filter.input) && !filter.predicate.is_volatile() => {
                self.conjuncts.extend(split_conjunction(&filter.predicate).into_iter().cloned());
                self.collect(&filter.input)
            }
            LogicalPlan::Projection(projection) if super::is_join_tree(plan) => self.collect(&projection.input),
            LogicalPlan::Join(join) if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) => {
                self.collect_semi(join)
            }
            leaf => {
                self.relations.push(Arc::new(leaf.clone()));
                Ok(())
            }
        }
    }

    /// Moves a semi join to the relation it asks about, or keeps it with all below as one relation.
    fn collect_semi(&mut self, join: &Join) -> Result<()> {
        if super::is_join_tree(&join.left) && join.filter.is_none() && !join.on.is_empty() {
            let mut below = Collector { estimates: self.estimates, relations: Vec::new(), conjuncts: Vec::new() };
            below.collect(&join.left)?;
            if let Some(relation) = self.semi_target(join, &below.relations) {
                let moved = moved_to(join, &below.relations[relation])?;
                below.relations[relation] = Arc::new(LogicalPlan::Join(moved));
                self.relations.append(&mut below.relations);
                self.conjuncts.append(&mut below.conjuncts);
                return Ok(());
            }
        }
        self.relations.push(Arc::new(LogicalPlan::Join(join.clone())));
        Ok(())
    }

    /// The relation that all keys of a semi join belong to, if moving the join there pays.
    fn semi_target(&self, join: &Join, relations: &[Arc<LogicalPlan>]) -> Option<usize> {
        let owners = column_owners(relations)?;
        let mut set = 0;
        for (key, _) in &join.on {
            set |= relations_of(key, &owners)?;
        }
        if set.count_ones() != 1 {
            return None;
        }
        let target = set.trailing_zeros() as usize;
        let relation = &relations[target];
        let rows = self.estimates.of_shared(relation).rows;
        let moved = moved_to(join, relation).ok()?;
        let left_over = self.estimates.of(&LogicalPlan::Join(moved)).rows;
        let build_rows = self.estimates.of_shared(&join.right).rows;
        (left_over <= rows * SEMI_SHARE_MAX && build_rows <= rows * SEMI_BUILD_SHARE_MAX).then_some(target)
    }
}

/// A semi or anti join without residual, on another left side.
fn moved_to(join: &Join, left: &Arc<LogicalPlan>) -> Result<Join> {
    Join::try_new(
        Arc::clone(left),
        Arc::clone(&join.right),
        join.on.clone(),
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )
}

/// True for inner joins whose predicates are ordinary: no NULL = NULL, nothing random.
fn is_plain_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner
        && (join.on.is_empty() || join.null_equality == NullEquality::NullEqualsNothing)
        && !join.filter.as_ref().is_some_and(Expr::is_volatile)
}

/// Which relation each column belongs to; `None` if a name is in two of them.
fn column_owners(relations: &[Arc<LogicalPlan>]) -> Option<HashMap<Column, usize>> {
    let mut owners = HashMap::new();
    for (at, relation) in relations.iter().enumerate() {
        for column in relation.schema().columns() {
            if owners.insert(column, at).is_some() {
                return None;
            }
        }
    }
    Some(owners)
}

/// The relations whose columns an expression uses; `None` if a column is of none of them.
fn relations_of(expr: &Expr, owners: &HashMap<Column, usize>) -> Option<RelationSet> {
    expr.column_refs().into_iter().try_fold(0, |set, column| Some(set | (1 << owners.get(column)?)))
}

/// `f(a) = g(b)` with one relation on each side.
fn as_equality(expr: &Expr, owners: &HashMap<Column, usize>) -> Option<(usize, Expr, usize, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else {
        return None;
    };
    let (left_set, right_set) = (relations_of(left, owners)?, relations_of(right, owners)?);
    let is_pair = left_set.count_ones() == 1 && right_set.count_ones() == 1 && left_set != right_set;
    (is_pair && !expr.is_volatile()).then(|| {
        let relation = |set: RelationSet| set.trailing_zeros() as usize;
        (relation(left_set), left.as_ref().clone(), relation(right_set), right.as_ref().clone())
    })
}

/// Merges equalities that share an expression: a = b and b = c make the class {a, b, c}. Two members of one relation
/// become a filter of that relation.
fn classes_of(equalities: Vec<(usize, Expr, usize, Expr)>, local: &mut [Vec<Expr>]) -> Vec<Vec<(usize, Expr)>> {
    let mut classes: Vec<Vec<(usize, Expr)>> = Vec::new();
    for (left_relation, left, right_relation, right) in equalities {
        let (left, right) = ((left_relation, left), (right_relation, right));
        let left_class = classes.iter().position(|class| class.contains(&left));
        let right_class = classes.iter().position(|class| class.contains(&right));
        match (left_class, right_class) {
            (None, None) => classes.push(vec![left, right]),
            (Some(class), None) => classes[class].push(right),
            (None, Some(class)) => classes[class].push(left),
            (Some(a), Some(b)) if a != b => {
                let merged = classes.swap_remove(a.max(b));
                classes[a.min(b)].extend(merged);
            }
            (Some(_), Some(_)) => {}
        }
    }
    for class in &mut classes {
        let mut kept: Vec<(usize, Expr)> = Vec::new();
        for (relation, expr) in class.drain(..) {
            match kept.iter().find(|(other, _)| *other == relation) {
                Some((_, first)) => local[relation].push(first.clone().eq(expr)),
                None => kept.push((relation, expr)),
            }
        }
        *class = kept;
    }
    classes
}

/// The share of all combinations of the predicate's relations that passes it.
fn predicate_selectivity(relations: &[Relation], set: RelationSet, expr: &Expr) -> Result<f64> {
    let mut used = relations.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0).map(|(_, relation)| relation);
    let first = used.next().expect("a predicate of two relations");
    let mut node = first.estimate.as_ref().clone();
    let mut schema = first.plan.schema().as_ref().clone();
    for relation in used {
        node.rows *= relation.estimate.rows;
        node.columns.extend(relation.estimate.columns.iter().cloned());
        schema = schema.join(relation.plan.schema())?;
    }
    Ok(selectivity(expr, &node, &schema))
}
