//! Keys: sets of columns in which no two rows agree, where NULL counts as a value. The empty set is a key of nodes with
//! at most one row.

use std::collections::HashMap;
use std::rc::Rc;

use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, SetOperator,
};
use godwit_types::Value;

use super::{Equivalences, Properties};

/// Maximum number of keys kept for a node: joins multiply them.
const KEYS_MAX: usize = 8;

impl Properties {
    /// Returns keys of a node's rows: not all, but the first short ones found.
    pub fn keys(&mut self, plan: &Plan, id: NodeId) -> Rc<[ColumnSet]> {
        if let Some(known) = self.keys.get(&id) {
            return Rc::clone(known);
        }
        let mut keys: Vec<ColumnSet> = Vec::new();
        for key in self.find_keys(plan, id) {
            if !keys.iter().any(|other| other.is_subset(&key)) {
                keys.retain(|other| !key.is_subset(other));
                keys.push(key);
            }
        }
        keys.sort_by_key(ColumnSet::len);
        keys.truncate(KEYS_MAX);
        let keys: Rc<[ColumnSet]> = keys.into();
        self.keys.insert(id, Rc::clone(&keys));
        keys
    }

    /// Returns true if no two rows agree in all these columns.
    pub fn is_unique(&mut self, plan: &Plan, id: NodeId, columns: &ColumnSet) -> bool {
        self.keys(plan, id).iter().any(|key| key.is_subset(columns))
    }

    /// Returns true if no row of the left side has more than one match on the right.
    pub fn right_is_unique(&mut self, plan: &Plan, join: &Join) -> bool {
        let left = self.outputs(plan, join.left);
        let right = self.outputs(plan, join.right);
        let columns = bound_columns(&join.conditions, &right, &left);
        self.is_unique(plan, join.right, &columns)
    }

    fn find_keys(&mut self, plan: &Plan, id: NodeId) -> Vec<ColumnSet> {
        match plan.node(id) {
            Node::Values(values) if values.rows.len() <= 1 => vec![ColumnSet::new()],
            Node::Scan(scan) => {
                let info = scan.relation.columns();
                let keys = scan.relation.keys().iter().filter(|key| key.iter().all(|&at| !info[at].nullable));
                let id_of = |at: usize| scan.columns.iter().find(|(_, position)| *position == at).map(|&(id, _)| id);
                let keys = keys.filter_map(|key| key.iter().map(|&at| id_of(at)).collect::<Option<ColumnSet>>());
                reduced(keys.collect(), &scan.filters)
            }
            Node::Project(project) => {
                let mut names: HashMap<ColumnId, ColumnId> = HashMap::new();
                for (column, expr) in &project.columns {
                    if let Some(passed) = expr.as_column() {
                        names.entry(passed).or_insert(*column);
                    }
                }
                renamed(&self.keys(plan, project.input), &names)
            }
            Node::Filter { input, conditions } => reduced(self.keys(plan, *input).to_vec(), conditions),
            Node::Limit(limit) => {
                let count = limit.count.as_ref().and_then(Expr::as_literal);
                let one = matches!(count, Some(Value::Integer(count)) if *count <= 1);
                if one && !limit.with_ties && !limit.percent {
                    return vec![ColumnSet::new()];
                }
                self.keys(plan, limit.input).to_vec()
            }
            Node::Sort { .. } | Node::Sample(_) | Node::Window(_) => {
                self.keys(plan, plan.node(id).inputs()[0]).to_vec()
            }
            Node::Join(join) => self.keys_of_join(plan, join),
            Node::Aggregate(aggregate) => self.keys_of_aggregate(plan, aggregate),
            Node::SetOperation(operation) => {
                let (first, columns) = &operation.inputs[0];
                let names = columns.iter().copied().zip(operation.columns.iter().copied()).collect();
                let of_first = match operation.operator {
                    SetOperator::Union => Vec::new(),
                    SetOperator::Intersect | SetOperator::Except => renamed(&self.keys(plan, *first), &names),
                };
                let whole = (!operation.all).then(|| operation.columns.iter().copied().collect());
                of_first.into_iter().chain(whole).collect()
            }
            Node::Unnest(unnest) => match unnest.ordinality {
                Some(ordinality) => {
                    let with = |key: &ColumnSet| key.iter().chain([ordinality]).collect();
                    self.keys(plan, unnest.input).iter().map(with).collect()
                }
                None => Vec::new(),
            },
            Node::Recursive(recursive) if !recursive.all => vec![recursive.columns.iter().copied().collect()],
            Node::Use(used) => {
                let names = used.columns.iter().rev().map(|&(own, inner)| (inner, own)).collect();
                renamed(&self.keys(plan, plan.shared(used.shared).root), &names)
            }
            Node::Values(_) | Node::Recursive(_) | Node::WorkingRows { .. } => Vec::new(),
        }
    }

    fn keys_of_join(&mut self, plan: &Plan, join: &Join) -> Vec<ColumnSet> {
        let left = self.keys(plan, join.left);
        match join.kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } | JoinKind::Single | JoinKind::AsOf { .. } => {
                return left.to_vec();
            }
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {}
            _ => return Vec::new(),
        }
        let right = self.keys(plan, join.right);
        let (left_columns, right_columns) = (self.outputs(plan, join.left), self.outputs(plan, join.right));
        let matched = bound_columns(&join.conditions, &right_columns, &left_columns);
        let one_right = right.iter().any(|key| key.is_subset(&matched));
        let matched = bound_columns(&join.conditions, &left_columns, &right_columns);
        let one_left = left.iter().any(|key| key.is_subset(&matched));
        let mut keys = Vec::new();
        if one_right && matches!(join.kind, JoinKind::Inner | JoinKind::Left) {
            keys.extend(left.iter().cloned());
        }
        if one_left && matches!(join.kind, JoinKind::Inner | JoinKind::Right) {
            keys.extend(right.iter().cloned());
        }
        keys.extend(left.iter().flat_map(|left| right.iter().map(move |right| left.union(right))));
        match join.kind {
            JoinKind::Inner => reduced(keys, &join.conditions),
            // Rows without a match come from both sides, and the NULLs of one kind may equal those of the other.
            JoinKind::Full => Vec::new(),
            _ => keys,
        }
    }

    fn keys_of_aggregate(&mut self, plan: &Plan, aggregate: &Aggregate) -> Vec<ColumnSet> {
        let all: ColumnSet = aggregate.keys.iter().map(|&(column, _)| column).collect();
        match (&aggregate.sets, aggregate.grouping_id) {
            (None, _) => {
                let names =
                    aggregate.keys.iter().filter_map(|(column, key)| Some((key.as_column()?, *column))).collect();
                let mut keys = renamed(&self.keys(plan, aggregate.input), &names);
                if aggregate.keys.is_empty() {
                    keys.clear();
                }
                keys.push(all);
                keys
            }
            (Some(sets), Some(grouping_id)) if are_distinct(sets) => vec![all.iter().chain([grouping_id]).collect()],
            (Some(_), _) => Vec::new(),
        }
    }
}

fn are_distinct(sets: &[Vec<usize>]) -> bool {
    let mut sorted: Vec<Vec<usize>> = sets.to_vec();
    sorted.iter_mut().for_each(|set| {
        set.sort_unstable();
        set.dedup();
    });
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Returns the columns of one side that conditions make equal to constants or to expressions over the other side.
fn bound_columns(conditions: &[Expr], own: &ColumnSet, other: &ColumnSet) -> ColumnSet {
    let mut bound = ColumnSet::new();
    for condition in conditions {
        if let ExprKind::Compare(Comparison::Equal | Comparison::NotDistinct, a, b) = &condition.kind {
            for (column, value) in [(a, b), (b, a)] {
                let column = column.as_column().filter(|&column| own.contains(column));
                bound.extend(column.filter(|_| value.columns().is_subset(other) && !value.is_volatile()));
            }
        }
    }
    bound
}

/// Returns keys without the columns that conditions bind to constants.
fn reduced(keys: Vec<ColumnSet>, conditions: &[Expr]) -> Vec<ColumnSet> {
    let constants = Equivalences::of(conditions).constant_columns();
    keys.into_iter().map(|key| key.difference(&constants)).collect()
}

/// Returns the keys whose columns all have a name, renamed.
fn renamed(keys: &[ColumnSet], names: &HashMap<ColumnId, ColumnId>) -> Vec<ColumnSet> {
    keys.iter().filter_map(|key| key.iter().map(|column| names.get(&column).copied()).collect()).collect()
}
