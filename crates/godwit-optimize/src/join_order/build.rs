//! From a region to a join graph: the relations that each expression uses, the joins that must come first, and the
//! columns that are equal.

use std::rc::Rc;

use godwit_plan::{Comparison, Expr, ExprKind, Node, NodeId, Plan, Scan};

use super::conflict::{Operation, Rule, closure};
use super::graph::{Hub, JoinGraph, KeyClass, Member, Predicate, Relation, RelationSet, bits, one};
use super::operators::{add_operators, combinations_of, rules_of_conjuncts};
use super::owners::Owners;
use super::region::{Region, WrittenOperator};
use crate::estimate::{Estimates, KeyColumn, KeyCounts, NodeEstimate, SampledKeys, pair_domain, selectivity};

/// Factor by which the center of a star is larger than each of the other relations. Hash tables of a sixteenth of its
/// rows are built while a few of its columns are scanned.
const STAR_FACTOR: f64 = 16.0;

/// Builds the graph of a region. Conjuncts over one relation become filters on it.
pub(super) fn join_graph(plan: &mut Plan, mut region: Region, estimates: &Estimates) -> JoinGraph {
    let owners = Owners::new(plan, &region.leaves, estimates);
    expect_nulls(&mut region, &owners);
    let waits = rules_of_conjuncts(&region.operators, &owners);
    let sorted = Conjuncts::sort(region.conjuncts, &owners, &waits, region.leaves.len());
    let mut graph = JoinGraph { constants: sorted.constants, ..JoinGraph::default() };
    for (leaf, filters) in region.leaves.iter().zip(sorted.local) {
        let node = filtered(plan, *leaf, filters);
        graph.relations.push(Relation { node, estimate: estimates.of(plan, node), joined_by: None });
    }
    graph.neighbors = vec![0; graph.relations.len()];
    graph.classes = key_classes(plan, &graph.relations, sorted.classes, estimates);
    let filled = add_operators(&mut graph, region.operators, &owners);
    for (expr, relations) in sorted.others {
        graph.predicates.push(predicate(expr, relations, &owners, &waits, &filled));
    }
    graph.add_edges();
    graph.connect(region.free, &waits);
    graph
}

/// Marks all uses of a NULL side's columns as possibly NULL: a join may come before the outer one or after it.
fn expect_nulls(region: &mut Region, owners: &Owners) {
    let null_side = |operator: &WrittenOperator| match operator.operation {
        Operation::Left => operator.right.relations,
        Operation::Full => operator.left.relations | operator.right.relations,
        Operation::Semi | Operation::Anti => 0,
    };
    let filled = region.operators.iter().fold(0, |set, operator| set | null_side(operator));
    for expr in region.exprs_mut().filter(|_| filled != 0) {
        let whole = std::mem::replace(expr, Expr::boolean(false));
        *expr = whole.transform(&mut |mut part| {
            part.nullable |= match &part.kind {
                ExprKind::Column(column) => owners.of_column(*column) & filled != 0,
                ExprKind::IsNull(_) => false,
                ExprKind::Compare(comparison, ..) if comparison.is_null_safe() => false,
                _ => part.children().into_iter().any(|child| child.nullable),
            };
            part
        });
    }
}

/// An expression over a relation.
type Term = (usize, Expr);

/// The conjuncts of a region by kind.
struct Conjuncts {
    /// By relation.
    local: Vec<Vec<Expr>>,
    classes: Vec<Vec<Term>>,
    /// Conjuncts with the relations that they use.
    others: Vec<(Expr, RelationSet)>,
    constants: Vec<Expr>,
}

impl Conjuncts {
    fn sort(conjuncts: Vec<Expr>, owners: &Owners, waits: &[Rule], relations: usize) -> Self {
        let (mut equalities, mut others, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        let mut local = vec![Vec::new(); relations];
        let waits_for_none = |relation: usize| closure(one(relation), waits) == one(relation);
        for conjunct in conjuncts {
            let used = owners.of_expr(&conjunct);
            let needed = closure(used, waits);
            match needed.count_ones() {
                0 => constants.push(conjunct),
                1 => local[needed.trailing_zeros() as usize].push(conjunct),
                _ => match as_equality(&conjunct, owners).filter(|_| bits(used).all(waits_for_none)) {
                    Some(equality) => equalities.push(equality),
                    None => others.push((conjunct, needed)),
                },
            }
        }
        Self { classes: classes_of(equalities, &mut local), local, others, constants }
    }
}

/// Returns the sides of `f(a) = g(b)` with one relation on each side.
fn as_equality(expr: &Expr, owners: &Owners) -> Option<(Term, Term)> {
    let ExprKind::Compare(Comparison::Equal, left, right) = &expr.kind else {
        return None;
    };
    let (a, b) = (owners.of_expr(left), owners.of_expr(right));
    let is_pair = a.count_ones() == 1 && b.count_ones() == 1 && a != b;
    let term = |set: RelationSet, expr: &Expr| (set.trailing_zeros() as usize, expr.clone());
    is_pair.then(|| (term(a, left), term(b, right)))
}

/// Merges equalities that share an expression: a = b and b = c make the class {a, b, c}. Two members of one relation
/// become a filter of that relation.
fn classes_of(equalities: Vec<(Term, Term)>, local: &mut [Vec<Expr>]) -> Vec<Vec<Term>> {
    let mut classes: Vec<Vec<Term>> = Vec::new();
    for (left, right) in equalities {
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
        let mut kept: Vec<Term> = Vec::new();
        for (relation, expr) in class.drain(..) {
            match kept.iter().find(|(other, _)| *other == relation) {
                Some((_, first)) => local[relation].push(Expr::compare(Comparison::Equal, first.clone(), expr)),
                None => kept.push((relation, expr)),
            }
        }
        *class = kept;
    }
    classes
}

/// Adds conditions to a node: to its scan, if that evaluates them.
fn filtered(plan: &mut Plan, id: NodeId, mut filters: Vec<Expr>) -> NodeId {
    if filters.is_empty() {
        return id;
    }
    let node = match plan.node(id) {
        Node::Scan(scan) if takes_filters(scan) && !filters.iter().any(Expr::has_subquery) => {
            let mut scan = scan.clone();
            scan.filters.append(&mut filters);
            Node::Scan(scan)
        }
        Node::Filter { input, conditions } => {
            let conditions = conditions.iter().cloned().chain(filters).collect();
            Node::Filter { input: *input, conditions }
        }
        _ => Node::Filter { input: id, conditions: filters },
    };
    plan.add(node)
}

fn takes_filters(scan: &Scan) -> bool {
    scan.relation.evaluates_filters() && scan.rows_enough.is_none()
}

/// Builds the classes of equal expressions, and measures joins in samples.
fn key_classes(plan: &Plan, relations: &[Relation], classes: Vec<Vec<Term>>, estimates: &Estimates) -> Vec<KeyClass> {
    let member = |(relation, expr): Term| {
        let estimate = relations[relation].estimate.of_expr(&expr);
        Member { relation, estimate, expr }
    };
    let members: Vec<Vec<Member>> = classes.into_iter().map(|class| class.into_iter().map(member).collect()).collect();
    let hubs = hubs_of(plan, &members, relations, estimates);
    members.into_iter().zip(hubs).map(|(members, hub)| KeyClass::new(members, hub)).collect()
}

/// Returns, for each class, the member of the smallest relation that is known as a whole; `None` if there is none.
fn hubs_of(plan: &Plan, classes: &[Vec<Member>], relations: &[Relation], estimates: &Estimates) -> Vec<Option<Hub>> {
    let rows = |member: &Member| relations[member.relation].estimate.rows;
    let column = |member: &Member| estimates.key_column(plan, relations[member.relation].node, &member.expr);
    let columns: Vec<Vec<Option<KeyColumn<'_>>>> =
        classes.iter().map(|members| members.iter().map(column).collect()).collect();
    let smallest_of = |(members, columns): (&Vec<Member>, &Vec<Option<KeyColumn<'_>>>)| {
        let is_whole = |at: &usize| columns[*at].is_some_and(|column| column.is_known_as_a_whole(rows(&members[*at])));
        (0..members.len()).filter(is_whole).min_by(|&a, &b| rows(&members[a]).total_cmp(&rows(&members[b])))
    };
    let smallest: Vec<Option<usize>> = std::iter::zip(classes, &columns).map(smallest_of).collect();
    let hub_columns: Vec<_> = std::iter::zip(&columns, &smallest).map(|(columns, at)| columns[(*at)?]).collect();
    let counted = |keys: Option<SampledKeys>| keys.map(|keys| keys.counted());
    let hubs: Vec<Option<KeyCounts>> = estimates.keys_of(&hub_columns).into_iter().map(counted).collect();
    // Of the others only those that a hub may tell something about: reading samples takes time.
    let center = center_of(relations);
    let is_asked = |class: usize, at: usize| {
        let member = &classes[class][at];
        let hub = hubs[class].as_ref().filter(|_| smallest[class] != Some(at) && center != Some(member.relation));
        hub.is_some_and(|hub| !hub.has_most_of(&member.estimate))
    };
    let places = classes.iter().enumerate().flat_map(|(class, all)| (0..all.len()).map(move |at| (class, at)));
    let other_columns: Vec<_> = places.map(|(class, at)| columns[class][at].filter(|_| is_asked(class, at))).collect();
    let mut keys = estimates.keys_of(&other_columns).into_iter();
    let hub_of_class = |(class, members): (usize, &Vec<Member>)| {
        let keys: Vec<Option<SampledKeys>> = keys.by_ref().take(members.len()).collect();
        let (member, hub) = (smallest[class]?, hubs[class].as_ref()?);
        let domain = |(at, keys): (usize, Option<SampledKeys>)| {
            if at == member {
                return 1.0;
            }
            let estimated = pair_domain(&members[member].estimate, &members[at].estimate).max(1.0);
            keys.and_then(|keys| hub.domain_with(&keys, estimated)).unwrap_or(estimated)
        };
        Some(Hub { member, domains: keys.into_iter().enumerate().map(domain).collect() })
    };
    classes.iter().enumerate().map(hub_of_class).collect()
}

/// Returns the relation that is far larger than each of the others. In any order, these become hash tables that its rows
/// look up, and the executor measures which of them keeps the fewest rows: samples of its keys would take longer than
/// they save.
fn center_of(relations: &[Relation]) -> Option<usize> {
    let rows = |at: usize| relations[at].estimate.rows;
    let largest = (0..relations.len()).max_by(|&a, &b| rows(a).total_cmp(&rows(b)))?;
    (0..relations.len()).all(|at| at == largest || rows(at) * STAR_FACTOR <= rows(largest)).then_some(largest)
}

fn predicate(
    expr: Expr,
    needed: RelationSet,
    owners: &Owners,
    waits: &[Rule],
    relations: &[Rc<NodeEstimate>],
) -> Predicate {
    let selectivity = selectivity([&expr], &combinations_of(owners.of_expr(&expr), relations));
    let key = match &expr.kind {
        ExprKind::Compare(Comparison::Equal | Comparison::NotDistinct, a, b) => {
            let (a, b) = (closure(owners.of_expr(a), waits), closure(owners.of_expr(b), waits));
            (a != 0 && b != 0 && a & b == 0).then_some((a, b))
        }
        _ => None,
    };
    Predicate { relations: needed, expr, selectivity, key }
}
