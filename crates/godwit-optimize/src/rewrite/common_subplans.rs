//! Equal aggregations are computed once.
//!
//! ```text
//! Join s.store = a.store                      shared plan: Aggregate sum(price) by store, item
//! ├─ Aggregate sum(price) by store, item s    Join s.store = a.store
//! └─ Aggregate avg(revenue) by store a  ──▶   ├─ Use s
//!    └─ Aggregate sum(price) by store, item   └─ Aggregate avg(revenue) by store a
//!                                                └─ Use
//! ```
//!
//! Statements say the same thing twice where one part needs rows and another what they are on average; so do copies of
//! a common table expression that were made for what they might have become. This pass runs when all others have
//! made of both what they can: subplans that still are the same, but for the ids of their columns, are turned into a
//! shared plan. Only aggregations are worth it: they read much and return little, so keeping their rows is cheap. Where
//! joins above them need few of their groups, they aren't: when the query runs, a filter of the build side's keys passes
//! through GROUP BY, but not into a shared plan.
//!
//! Bound: the first [`AGGREGATIONS_MAX`] aggregations of the main tree and its subqueries are compared in pairs; a
//! comparison ends at the first difference, and visits each node once.

use std::collections::{HashMap, HashSet, VecDeque};

use godwit_common::Result;
use godwit_plan::{
    Aggregate, AggregateCall, ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, Project, Scan,
    SetOperation, SharedPlan, Use,
};

use super::{Context, subquery_plans, with_below};
use crate::estimate::{Estimates, Matches};
use crate::properties::effects::is_volatile_node;

/// Maximum number of aggregations that are compared.
const AGGREGATIONS_MAX: usize = 32;

/// Minimum of the sum of the shares of their groups that equal aggregations need: keeping all groups and reading them
/// again isn't free.
const NEEDED_MIN: f64 = 1.2;

/// Replaces equal aggregations of the main tree and its subqueries by uses of a shared plan.
pub(crate) fn share_subplans(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let Some(root) = plan.root else { return Ok(()) };
    let mut equal = equal_aggregations(plan, root, context.check)?;
    if !equal.is_empty() {
        let shares = needed_shares(plan, root, &Estimates::new(plan, None));
        equal.retain(|equal| equal.members.iter().map(|(id, _)| shares[id]).sum::<f64>() >= NEEDED_MIN);
    }
    let mut uses = HashMap::new();
    for equal in equal {
        let (copy, renamed) = plan.copy_subtree(equal.first);
        let nullable = plan.nullable_columns(copy);
        let name = "repeated aggregation".to_owned();
        let shared = plan.add_shared(SharedPlan { name, root: copy, materialized: None });
        for (id, firsts) in equal.members {
            let inner_of = |own: &ColumnId| renamed[firsts.get(own).unwrap_or(own)];
            let columns: Vec<_> = plan.outputs(id).into_iter().map(|own| (own, inner_of(&own))).collect();
            for &(own, _) in columns.iter().filter(|(_, inner)| nullable.contains(*inner)) {
                plan.make_nullable(own);
            }
            uses.insert(id, plan.add(Node::Use(Use { shared, columns })));
        }
    }
    if !uses.is_empty() {
        plan.root = Some(with_uses(plan, root, &uses)?);
    }
    Ok(())
}

/// Returns a tree with nodes replaced.
fn with_uses(plan: &mut Plan, id: NodeId, uses: &HashMap<NodeId, NodeId>) -> Result<NodeId> {
    match uses.get(&id) {
        Some(&used) => Ok(used),
        None => with_below(plan, id, &mut |plan, input| with_uses(plan, input, uses)),
    }
}

/// Aggregations with the same rows, of which none is in another.
struct Equal {
    first: NodeId,
    /// All of them, the first included: for each column that they make, the one in its place in the first.
    members: Vec<(NodeId, HashMap<ColumnId, ColumnId>)>,
}

/// Finds equal aggregations, outer ones before those inside them.
fn equal_aggregations(plan: &Plan, root: NodeId, check: &dyn Fn() -> Result<()>) -> Result<Vec<Equal>> {
    let mut open: VecDeque<NodeId> = aggregations(plan, root).into();
    open.truncate(AGGREGATIONS_MAX);
    let mut found = Vec::new();
    while let Some(first) = open.pop_front() {
        check()?;
        let others = open.iter().filter_map(|&other| Some((other, paired_columns(plan, first, other)?)));
        let mut members: Vec<_> = others.collect();
        if members.is_empty() {
            continue;
        }
        members.push((first, HashMap::new()));
        let inside: HashSet<NodeId> = members.iter().flat_map(|&(id, _)| aggregations(plan, id)).collect();
        open.retain(|id| !inside.contains(id));
        found.push(Equal { first, members });
    }
    Ok(found)
}

/// Returns the aggregations of a tree and its subqueries, outer ones before those inside them; without those of
/// recursions, which are computed in rounds.
fn aggregations(plan: &Plan, root: NodeId) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match plan.node(id) {
            // Copies of an expression have one subquery.
            _ if !seen.insert(id) => continue,
            Node::Aggregate(_) => found.push(id),
            Node::Recursive(_) => continue,
            _ => {}
        }
        open.extend(subquery_plans(plan.node(id)));
        open.extend(plan.node(id).inputs().into_iter().rev());
    }
    found
}

/// Returns for each aggregation the share of its groups that the joins above it need.
fn needed_shares(plan: &Plan, root: NodeId, estimates: &Estimates) -> HashMap<NodeId, f64> {
    let mut shares = HashMap::new();
    // With the filters that reach each node: a column, and the share of its rows that pass.
    let mut open: Vec<(NodeId, Vec<(ColumnId, f64)>)> = vec![(root, Vec::new())];
    while let Some((id, filters)) = open.pop() {
        let node = plan.node(id);
        open.extend(subquery_plans(node).into_iter().map(|subquery| (subquery, Vec::new())));
        let mut filters_of_left = filters.clone();
        match node {
            Node::Aggregate(aggregate) => {
                let is_key = |column| aggregate.keys.iter().any(|&(key, _)| key == column);
                let passing = filters.iter().filter(|&&(column, _)| is_key(column)).map(|&(_, share)| share);
                shares.insert(id, passing.fold(1.0, f64::min));
            }
            Node::Join(join) => filters_of_left.extend(filters_of_build_side(plan, join, estimates)),
            _ => {}
        }
        let mut filters = std::iter::once(filters_of_left).chain(std::iter::repeat(filters));
        open.extend(node.inputs().into_iter().map(|input| (input, filters.next().unwrap_or_default())));
    }
    shares
}

/// Returns the columns of the probe side by which a join drops rows without a match, and the share of rows that it
/// keeps.
fn filters_of_build_side(plan: &Plan, join: &Join, estimates: &Estimates) -> Vec<(ColumnId, f64)> {
    if !matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::RightSemi) {
        return Vec::new();
    }
    let (left, right) = (estimates.of(plan, join.left), estimates.of(plan, join.right));
    let of_condition = |condition: &Expr| {
        let ExprKind::Compare(Comparison::Equal, one, other) = &condition.kind else { return None };
        let columns = [one.as_column()?, other.as_column()?];
        let own = columns.into_iter().find(|&column| left.column(column).is_some())?;
        let matches = Matches::new(&left, &right, std::slice::from_ref(condition));
        Some((own, matches.left_share(right.rows)))
    };
    join.conditions.iter().filter_map(of_condition).collect()
}

/// Returns for each column that the second subtree makes the one in its place in the first, if both are the same
/// otherwise.
fn paired_columns(plan: &Plan, first: NodeId, second: NodeId) -> Option<HashMap<ColumnId, ColumnId>> {
    let mut pairing = Pairing { plan, columns: HashMap::new() };
    pairing.is_same(first, second).then_some(pairing.columns)
}

/// A comparison of two subtrees.
struct Pairing<'p> {
    plan: &'p Plan,
    /// Columns of the second, with those in their places in the first.
    columns: HashMap<ColumnId, ColumnId>,
}

impl Pairing<'_> {
    /// True if both nodes have the same rows, and the same each time they are evaluated. Recurses once for each level.
    fn is_same(&mut self, first: NodeId, second: NodeId) -> bool {
        let (first, second) = (self.plan.node(first), self.plan.node(second));
        let (inputs, others) = (first.inputs(), second.inputs());
        inputs.len() == others.len()
            && std::mem::discriminant(first) == std::mem::discriminant(second)
            && inputs.into_iter().zip(others).all(|(first, second)| self.is_same(first, second))
            && !is_volatile_node(first)
            && self.is_same_node(first, second)
    }

    /// Compares two nodes over the same inputs, and pairs the columns that they make.
    fn is_same_node(&mut self, first: &Node, second: &Node) -> bool {
        match (first, second) {
            (Node::Scan(first), Node::Scan(second)) => self.is_same_scan(first, second),
            (Node::Use(first), Node::Use(second)) => {
                let inner = |used: &Use| used.columns.iter().map(|&(_, inner)| inner).collect::<Vec<_>>();
                let is_same = first.shared == second.shared && inner(first) == inner(second);
                is_same && self.pair(own_columns(&first.columns), own_columns(&second.columns))
            }
            (Node::Project(Project { columns: first, .. }), Node::Project(Project { columns: second, .. })) => {
                self.are_same_columns(first, second)
            }
            (Node::Filter { conditions: first, .. }, Node::Filter { conditions: second, .. }) => {
                self.are_same(first, second)
            }
            (Node::Join(first), Node::Join(second)) => self.is_same_join(first, second),
            (Node::Aggregate(first), Node::Aggregate(second)) => self.is_same_aggregation(first, second),
            (Node::SetOperation(first), Node::SetOperation(second)) => self.is_same_operation(first, second),
            _ => false,
        }
    }

    fn is_same_scan(&mut self, first: &Scan, second: &Scan) -> bool {
        let positions = |scan: &Scan| scan.columns.iter().map(|&(_, position)| position).collect::<Vec<_>>();
        first.relation.is_same(&*second.relation)
            && positions(first) == positions(second)
            && first.rows_enough.is_none()
            && second.rows_enough.is_none()
            && self.pair(own_columns(&first.columns), own_columns(&second.columns))
            && self.are_same(&first.filters, &second.filters)
    }

    fn is_same_join(&mut self, first: &Join, second: &Join) -> bool {
        let is_same_kind = match (&first.kind, &second.kind) {
            (JoinKind::Mark { mark, compare }, JoinKind::Mark { mark: other, compare: compared }) => {
                self.are_same(compare, compared) && self.pair([*mark], [*other])
            }
            (JoinKind::Mark { .. } | JoinKind::AsOf { .. }, _) => false,
            (kind, other) => kind == other,
        };
        is_same_kind && self.are_same(&first.conditions, &second.conditions)
    }

    fn is_same_aggregation(&mut self, first: &Aggregate, second: &Aggregate) -> bool {
        first.sets == second.sets
            && self.are_same_columns(&first.keys, &second.keys)
            && self.pair(first.grouping_id, second.grouping_id)
            && first.aggregates.len() == second.aggregates.len()
            && first
                .aggregates
                .iter()
                .zip(&second.aggregates)
                .all(|((_, call), (_, other))| self.is_same_call(call, other))
            && self.pair(own_columns(&first.aggregates), own_columns(&second.aggregates))
    }

    fn is_same_call(&self, first: &AggregateCall, second: &AggregateCall) -> bool {
        AggregateCall { span: first.span, ..second.clone().map_exprs(&mut |expr| expr.rename(&self.columns)) } == *first
    }

    fn is_same_operation(&mut self, first: &SetOperation, second: &SetOperation) -> bool {
        let are_same_inputs = first.inputs.iter().zip(&second.inputs).all(|((_, first), (_, second))| {
            first.iter().copied().eq(second.iter().map(|column| self.columns.get(column).copied().unwrap_or(*column)))
        });
        are_same_inputs
            && (first.operator, first.all) == (second.operator, second.all)
            && self.pair(first.columns.iter().copied(), second.columns.iter().copied())
    }

    /// Compares columns with their values, and pairs them.
    fn are_same_columns(&mut self, first: &[(ColumnId, Expr)], second: &[(ColumnId, Expr)]) -> bool {
        first.len() == second.len()
            && first.iter().zip(second).all(|((_, first), (_, second))| self.is_same_expr(first, second))
            && self.pair(own_columns(first), own_columns(second))
    }

    fn are_same(&self, first: &[Expr], second: &[Expr]) -> bool {
        first.len() == second.len() && first.iter().zip(second).all(|(first, second)| self.is_same_expr(first, second))
    }

    fn is_same_expr(&self, first: &Expr, second: &Expr) -> bool {
        second.clone().rename(&self.columns) == *first
    }

    /// Notes columns in the same places; false if one subtree has more of them.
    fn pair(&mut self, first: impl IntoIterator<Item = ColumnId>, second: impl IntoIterator<Item = ColumnId>) -> bool {
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        loop {
            match (first.next(), second.next()) {
                (Some(first), Some(second)) => self.columns.insert(second, first),
                (None, None) => return true,
                _ => return false,
            };
        }
    }
}

/// Returns the columns of a list of columns with what they are.
fn own_columns<T>(columns: &[(ColumnId, T)]) -> impl Iterator<Item = ColumnId> {
    columns.iter().map(|&(column, _)| column)
}
