//! Marks of comparisons that may be NULL.
//!
//! Equalities of a row value, `(a, b) IN (SELECT x, y …)`, have a join by keys for TRUE, and one for each non-empty set of
//! them that are NULL while the others are TRUE:
//!
//! ```text
//! TRUE          a = x AND b = y
//! NULL          a = x AND (b IS NULL OR y IS NULL)                      over distinct (x, y IS NULL)
//!               b = y AND (a IS NULL OR x IS NULL)                      over distinct (y, x IS NULL)
//!               (a IS NULL OR x IS NULL) AND (b IS NULL OR y IS NULL)   over distinct (x IS NULL, y IS NULL)
//! FALSE         otherwise
//! ```
//!
//! So the number of pairs stays linear: a key has a few distinct rows, and what has no key a few rows in all. Other
//! comparisons are evaluated for all pairs.

use std::collections::HashMap;

use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Limit, Node, NodeId, Plan, SharedId,
    SharedPlan, Use,
};
use godwit_types::SqlType;

use super::Lowering;

/// Maximum number of equalities that may be NULL whose sets have a join each: three have seven.
const NULLABLE_EQUALITIES_MAX: usize = 3;

/// Pairs for which a comparison is NULL.
struct NullPairs {
    conditions: Vec<Expr>,
    /// Whether values of the right side are NULL, for conditions that need no more of them. `None`: the conditions need
    /// the right rows as they are.
    flags: Option<Vec<(ColumnId, Expr)>>,
}

/// The right rows under columns of their own, by the original ones.
type Renamed = (NodeId, HashMap<ColumnId, ColumnId>);

impl Lowering {
    pub(super) fn mark(&mut self, node: &Node) -> NodeId {
        let Node::Join(Join { kind: JoinKind::Mark { mark, compare }, left, right, conditions }) = node else {
            unreachable!("the rewrite of another node")
        };
        // Where the conjunction is NULL, conjuncts that are never NULL are TRUE.
        let (nullable, certain): (Vec<Expr>, Vec<Expr>) =
            compare.iter().cloned().partition(|condition| condition.nullable);
        let certain: Vec<Expr> = conditions.iter().cloned().chain(certain).collect();
        let null_pairs = self.null_pairs(&certain, &nullable, *left, *right);
        let columns = self.columns(*left);
        let mut uses = self.uses(*right, 1 + null_pairs.len()).into_iter();
        let (right, renamed) = uses.next().expect("there is a use for TRUE");
        let true_for = certain.into_iter().chain(nullable).map(|condition| condition.rename(&renamed)).collect();
        let (mut rows, is_true) = self.marked(*left, right, true_for);
        let mut branches = vec![(self.column(is_true), Expr::boolean(true))];
        for (pairs, of_right) in null_pairs.into_iter().zip(uses) {
            let (right, null_for) = self.flagged(pairs, of_right);
            let is_null;
            (rows, is_null) = self.marked(rows, right, null_for);
            branches.push((self.column(is_null), Expr::null(SqlType::Boolean)));
        }
        let kind = ExprKind::Case { branches, otherwise: Some(Box::new(Expr::boolean(false))) };
        let value = Expr::new(kind, SqlType::Boolean, true);
        self.project(rows, columns.into_iter().chain([(*mark, value)]).collect())
    }

    /// The pairs for which all of `certain` are TRUE, and the conjunction of `nullable` is NULL.
    fn null_pairs(&mut self, certain: &[Expr], nullable: &[Expr], left: NodeId, right: NodeId) -> Vec<NullPairs> {
        let (probe, build) = (self.plan.output_set(left), self.plan.output_set(right));
        let sides: Option<Vec<_>> = nullable.iter().map(|condition| sides_of(condition, &probe, &build)).collect();
        // Merged rows would have fewer random numbers; copies for a recursion's rounds would multiply.
        let are_merged = !certain.iter().any(Expr::is_volatile) && !self.reads_working_rows(right);
        let Some(sides) = sides.filter(|it| it.len() <= NULLABLE_EQUALITIES_MAX && are_merged) else {
            let is_null = Expr::and(nullable.iter().cloned()).is_null();
            return vec![NullPairs { conditions: [certain, &[is_null]].concat(), flags: None }];
        };
        let pairs = (1..1 << sides.len()).map(|null_set: u32| {
            let (mut conditions, mut flags) = (certain.to_vec(), Vec::new());
            for (at, (of_left, of_right)) in sides.iter().enumerate() {
                if null_set >> at & 1 == 0 {
                    conditions.push(nullable[at].clone());
                    continue;
                }
                let mut is_null = Vec::new();
                if of_left.nullable {
                    is_null.push((*of_left).clone().is_null());
                }
                if of_right.nullable {
                    let flag = self.plan.add_column("is null", SqlType::Boolean, false);
                    is_null.push(self.column(flag));
                    flags.push((flag, (*of_right).clone().is_null()));
                }
                conditions.push(Expr::or(is_null));
            }
            NullPairs { conditions, flags: Some(flags) }
        });
        pairs.collect()
    }

    /// The right rows with what these pairs need of them, each once, and the conditions on them.
    fn flagged(&mut self, pairs: NullPairs, (right, renamed): Renamed) -> (NodeId, Vec<Expr>) {
        let conditions: Vec<Expr> = pairs.conditions.into_iter().map(|condition| condition.rename(&renamed)).collect();
        let Some(flags) = pairs.flags else { return (right, conditions) };
        let used = conditions.iter().fold(ColumnSet::new(), |used, condition| used.union(&condition.columns()));
        let mut keys = self.columns(right);
        keys.retain(|(column, _)| used.contains(*column));
        keys.extend(flags.into_iter().map(|(flag, is_null)| (flag, is_null.rename(&renamed))));
        let right = match keys.is_empty() {
            true => self.first_row(right),
            false => self.add(Node::Aggregate(Aggregate {
                input: right,
                keys,
                sets: None,
                grouping_id: None,
                aggregates: Vec::new(),
            })),
        };
        (right, conditions)
    }

    fn first_row(&mut self, input: NodeId) -> NodeId {
        let count = Some(Expr::bigint(1));
        self.add(Node::Limit(Limit { input, offset: None, count, with_ties: false, percent: false }))
    }

    /// The left rows, marked by whether they have a match.
    fn marked(&mut self, left: NodeId, mut right: NodeId, conditions: Vec<Expr>) -> (NodeId, ColumnId) {
        let mark = self.plan.add_column("mark", SqlType::Boolean, false);
        // Conditions on the right side alone are evaluated once per right row, not once per pair.
        let probe = self.plan.output_set(left);
        let is_of_pairs = |condition: &Expr| condition.is_volatile() || !condition.columns().is_disjoint(&probe);
        let (of_pairs, of_right): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_of_pairs);
        if !of_right.is_empty() {
            right = self.filter(right, of_right);
        }
        if of_pairs.is_empty() {
            // All rows of the left side have the same mark.
            right = self.first_row(right);
        }
        let kind = JoinKind::Mark { mark, compare: Vec::new() };
        (self.add(Node::Join(Join { kind, left, right, conditions: of_pairs })), mark)
    }

    /// The same rows under sets of fresh columns. They are computed once, unless they differ in each round of a
    /// recursion.
    fn uses(&mut self, node: NodeId, count: usize) -> Vec<Renamed> {
        if self.reads_working_rows(node) {
            return (0..count).map(|_| self.plan.copy_subtree(node)).collect();
        }
        let name = "mark".to_owned();
        let shared = self.plan.add_shared(SharedPlan { name, root: node, materialized: Some(true) });
        (0..count).map(|_| self.use_of(shared)).collect()
    }

    /// The rows of a shared plan, and the mapping from its columns to those of the use.
    pub(super) fn use_of(&mut self, shared: SharedId) -> Renamed {
        let root = self.plan.shared(shared).root;
        let nullable = self.plan.nullable_columns(root);
        let fresh = |plan: &mut Plan, column| {
            let fresh = plan.copy_column(column);
            if nullable.contains(column) {
                plan.make_nullable(fresh);
            }
            (fresh, column)
        };
        let outputs = self.plan.outputs(root);
        let columns: Vec<_> = outputs.into_iter().map(|column| fresh(&mut self.plan, column)).collect();
        let renamed = columns.iter().map(|&(fresh, column)| (column, fresh)).collect();
        (self.plan.add(Node::Use(Use { shared, columns })), renamed)
    }

    /// Whether its rows differ in each round of a recursion.
    pub(super) fn reads_working_rows(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            let node = self.plan.node(id);
            if matches!(node, Node::WorkingRows { .. }) {
                return true;
            }
            open.extend(node.inputs());
        }
        false
    }
}

/// The sides of an equality between a value of the left rows and one of the right rows.
fn sides_of<'e>(condition: &'e Expr, left: &ColumnSet, right: &ColumnSet) -> Option<(&'e Expr, &'e Expr)> {
    let ExprKind::Compare(Comparison::Equal, a, b) = &condition.kind else { return None };
    let is_of = |value: &Expr, side: &ColumnSet| value.columns().is_subset(side);
    match condition.has_subquery() || condition.is_volatile() {
        true => None,
        false if is_of(a, left) && is_of(b, right) => Some((a, b)),
        false if is_of(b, left) && is_of(a, right) => Some((b, a)),
        false => None,
    }
}
