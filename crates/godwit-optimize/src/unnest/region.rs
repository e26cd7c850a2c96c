//! Filters and inner joins as one region: its leaves are joined again without the predicates that rise.
//!
//! Two rules keep the joins efficient. If two columns are bound to the same outer value, only one predicate rises, and
//! the columns are compared with each other inside. And if the rising predicates are all that connects the leaves,
//! nothing rises: the leaves would become a cross product, which a join with a domain avoids.

use godwit_common::Result;
use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, Join, JoinKind, Node, NodeId};

use super::Unnester;
use super::pull::{Pulled, put_in};

/// Leaves without correlation, and the predicates of a region.
#[derive(Default)]
struct Region {
    leaves: Vec<(NodeId, ColumnSet)>,
    /// Predicates over columns of leaves only.
    local: Vec<Expr>,
    /// Predicates that use outer columns as well.
    risen: Vec<Expr>,
    computed: Vec<(ColumnId, Expr)>,
}

impl Unnester<'_> {
    pub(super) fn pull_region(&mut self, id: NodeId, outer: &ColumnSet) -> Result<Option<Pulled>> {
        let (leaves, mut conditions) = self.flatten(id);
        let mut region = Region::default();
        let mut visible = outer.clone();
        for leaf in leaves {
            let Some(pulled) = self.pull(leaf, &visible)? else { return Ok(None) };
            if pulled.always {
                return Ok(None);
            }
            visible.union_with(&self.plan.output_set(leaf));
            let columns = self.plan.output_set(pulled.node);
            visible.union_with(&columns);
            region.leaves.push((pulled.node, columns));
            region.computed.extend(pulled.computed);
            conditions.extend(pulled.conditions);
        }
        region.resolve_computed();
        let above = outer.union(&region.computed.iter().map(|&(column, _)| column).collect());
        for condition in conditions {
            if self.is_stuck(&condition, &above) {
                return Ok(None);
            }
            let condition = put_in(condition, &region.computed);
            let rises = !self.columns_of(&condition).is_disjoint(outer);
            if rises { &mut region.risen } else { &mut region.local }.push(condition);
        }
        self.compare_inside(&mut region, outer);
        if !self.holds_together(&region) {
            return Ok(None);
        }
        let node = self.join_leaves(region.leaves, region.local);
        Ok(Some(Pulled { conditions: region.risen, computed: region.computed, ..Pulled::rows(node) }))
    }

    /// Returns the leaves of a region, from left to right, and its predicates.
    fn flatten(&self, id: NodeId) -> (Vec<NodeId>, Vec<Expr>) {
        let (mut leaves, mut all) = (Vec::new(), Vec::new());
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.plan.node(id) {
                Node::Filter { input, conditions } => {
                    all.extend(conditions.iter().cloned().flat_map(Expr::into_conjuncts));
                    open.push(*input);
                }
                Node::Join(Join { kind: JoinKind::Inner, left, right, conditions }) => {
                    all.extend(conditions.iter().cloned().flat_map(Expr::into_conjuncts));
                    open.extend([*right, *left]);
                }
                _ => leaves.push(id),
            }
        }
        (leaves, all)
    }

    /// Splits `a = outer AND b = outer` into `a = outer` above and `a = b` inside.
    fn compare_inside(&mut self, region: &mut Region, outer: &ColumnSet) {
        let mut bound: Vec<(Expr, Expr)> = Vec::new();
        for condition in std::mem::take(&mut region.risen) {
            let binding = self.bound_value(&condition, outer);
            let Some((Comparison::Equal, inner, value)) = binding else {
                region.risen.push(condition);
                continue;
            };
            match bound.iter().find(|(_, known)| known == value) {
                Some((first, _)) => region.local.push(Expr::compare(Comparison::Equal, first.clone(), inner.clone())),
                None => {
                    bound.push((inner.clone(), value.clone()));
                    region.risen.push(condition);
                }
            }
        }
    }

    /// Returns true if local predicates connect all leaves that risen predicates refer to.
    fn holds_together(&mut self, region: &Region) -> bool {
        let mut group: Vec<usize> = (0..region.leaves.len()).collect();
        for condition in &region.local {
            let touched = self.touched(region, condition);
            let Some(&first) = touched.first() else { continue };
            let into = group[first];
            let joined: Vec<usize> = touched.iter().map(|&leaf| group[leaf]).collect();
            group.iter_mut().filter(|group| joined.contains(group)).for_each(|group| *group = into);
        }
        let risen: Vec<usize> = region.risen.iter().flat_map(|condition| self.touched(region, condition)).collect();
        risen.windows(2).all(|pair| group[pair[0]] == group[pair[1]])
    }

    fn touched(&mut self, region: &Region, condition: &Expr) -> Vec<usize> {
        let columns = self.columns_of(condition);
        (0..region.leaves.len()).filter(|&leaf| !region.leaves[leaf].1.is_disjoint(&columns)).collect()
    }

    /// Joins leaves by inner joins from left to right, each predicate as low as its columns allow.
    fn join_leaves(&mut self, leaves: Vec<(NodeId, ColumnSet)>, mut conditions: Vec<Expr>) -> NodeId {
        let mut joined: Option<(NodeId, ColumnSet)> = None;
        for (leaf, columns) in leaves {
            let single = self.take_within(&mut conditions, &columns);
            let leaf = self.filter(leaf, single);
            joined = Some(match joined {
                None => (leaf, columns),
                Some((left, before)) => {
                    let columns = before.union(&columns);
                    let conditions = self.take_within(&mut conditions, &columns);
                    let join = Join { kind: JoinKind::Inner, left, right: leaf, conditions };
                    (self.plan.add(Node::Join(join)), columns)
                }
            });
        }
        let (node, _) = joined.expect("a region has a leaf");
        self.filter(node, conditions)
    }

    fn take_within(&mut self, conditions: &mut Vec<Expr>, columns: &ColumnSet) -> Vec<Expr> {
        let all = std::mem::take(conditions);
        let (within, rest) = all.into_iter().partition(|condition| self.columns_of(condition).is_subset(columns));
        *conditions = rest;
        within
    }
}

impl Region {
    /// Substitutes columns that an earlier leaf put off in the leaves that depend on them.
    fn resolve_computed(&mut self) {
        for index in 1..self.computed.len() {
            let (before, rest) = self.computed.split_at_mut(index);
            let (_, value) = &mut rest[0];
            *value = put_in(value.clone(), before);
        }
    }
}
