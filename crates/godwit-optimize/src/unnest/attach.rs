//! Evaluation of a subtree for all values of a domain at once: the result has the subtree's rows for each value, with
//! the domain's columns.
//!
//! The domain is pushed down to the subtrees that need it; others are combined with it by a cross join. Where two
//! subtrees need it, each gets its own use, and the domain's columns are compared where the two are joined.

use godwit_common::{Error, Result};
use godwit_plan::{
    Aggregate, ColumnId, Expr, Join, JoinKind, Node, NodeId, Project, SetOperation, SetOperator, Window,
};
use godwit_types::Value;

use super::Unnester;
use super::domain::Domain;
use super::pull::Pulled;
use super::rename::Renaming;

/// A subtree combined with a domain.
pub(super) struct Attached {
    pub(super) node: NodeId,
    /// Columns of it that stand for those of the domain, in the domain's order.
    pub(super) columns: Vec<ColumnId>,
}

impl Attached {
    /// Maps outer columns to those of the domain.
    pub(super) fn names(&self, domain: &Domain) -> Renaming {
        Renaming::new(domain.outer_columns(), self.columns.iter().copied())
    }
}

impl Unnester<'_> {
    /// Combines a whole right side with a domain, joined to the outer rows by the domain's columns.
    pub(super) fn attach_whole(&mut self, id: NodeId, domain: &Domain) -> Result<Pulled> {
        let attached = self.attach(id, domain)?;
        Ok(self.tied(&attached, domain))
    }

    fn tied(&mut self, attached: &Attached, domain: &Domain) -> Pulled {
        let outer = domain.keys(&domain.outer_columns());
        let conditions = self.same_values(&domain.keys(&attached.columns), &outer);
        Pulled { conditions, ..Pulled::rows(attached.node) }
    }

    /// Combines the right side with a domain, leaving its outermost aggregate without keys to the outer join that is
    /// above it anyway.
    pub(super) fn peel(&mut self, id: NodeId, domain: &Domain) -> Result<Option<Pulled>> {
        match self.plan.node(id).clone() {
            Node::Project(project) => {
                let Some(input) = self.peel(project.input, domain)? else { return Ok(None) };
                Ok(self.pull_project(project, input, &domain.outer))
            }
            Node::Aggregate(aggregate) if aggregate.keys.is_empty() && aggregate.sets.is_none() => {
                let input = self.attach(aggregate.input, domain)?;
                let aggregate = self.rename_aggregate(aggregate, &input.names(domain));
                let input = self.tied(&input, domain);
                Ok(self.pull_aggregate(aggregate, input, &domain.outer))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn attach(&mut self, id: NodeId, domain: &Domain) -> Result<Attached> {
        if self.free(id).is_disjoint(&domain.outer) {
            return Ok(self.cross(id, domain));
        }
        match self.plan.node(id).clone() {
            node @ (Node::Filter { .. } | Node::Sort { .. } | Node::Unnest(_)) => self.attach_passing(node, domain),
            Node::Project(project) => self.attach_project(project, domain),
            Node::Window(window) => self.attach_window(window, domain),
            Node::Join(join) => self.attach_join(join, domain),
            Node::Aggregate(aggregate) => self.attach_aggregate(aggregate, domain),
            Node::Values(values) => self.attach_values(values, domain),
            Node::Limit(limit) => self.attach_limit(limit, domain),
            Node::SetOperation(operation) => self.attach_set_operation(operation, domain),
            Node::Recursive(recursive) => self.attach_recursive(recursive, domain),
            Node::WorkingRows { of, columns } => Ok(self.attach_working_rows(of, columns, domain)),
            Node::Sample(sample) => self.attach_sample(sample, domain),
            Node::Scan(_) | Node::Use(_) => Err(Error::internal("scans and shared plans have no free columns")),
        }
    }

    /// Combines rows that are the same for every value with the domain.
    fn cross(&mut self, id: NodeId, domain: &Domain) -> Attached {
        let (right, columns) = self.use_domain(domain);
        if self.is_one_row(id) {
            return Attached { node: right, columns };
        }
        let join = Join { kind: JoinKind::Inner, left: id, right, conditions: Vec::new() };
        Attached { node: self.plan.add(Node::Join(join)), columns }
    }

    /// Handles a node that passes on all columns of its only input.
    fn attach_passing(&mut self, node: Node, domain: &Domain) -> Result<Attached> {
        let input = self.attach(node.inputs()[0], domain)?;
        let names = input.names(domain);
        let node = node.map_inputs(&mut |_| input.node).map_exprs(&mut |expr| self.rename(expr, &names));
        Ok(Attached { node: self.plan.add(node), ..input })
    }

    fn attach_project(&mut self, project: Project, domain: &Domain) -> Result<Attached> {
        let input = self.attach(project.input, domain)?;
        let names = input.names(domain);
        let mut columns = self.passed(&input.columns);
        columns.extend(project.columns.into_iter().map(|(column, expr)| (column, self.rename(expr, &names))));
        Ok(Attached { node: self.project(input.node, columns), ..input })
    }

    fn attach_window(&mut self, window: Window, domain: &Domain) -> Result<Attached> {
        let attached = self.attach_passing(Node::Window(window), domain)?;
        let Node::Window(mut window) = self.plan.node(attached.node).clone() else {
            return Err(Error::internal("a window stays one"));
        };
        let keys = self.columns(&domain.keys(&attached.columns));
        window.calls.iter_mut().for_each(|(_, call)| call.partition_by.extend(keys.iter().cloned()));
        Ok(Attached { node: self.plan.add(Node::Window(window)), ..attached })
    }

    fn attach_aggregate(&mut self, aggregate: Aggregate, domain: &Domain) -> Result<Attached> {
        if let Some(sets) = &aggregate.sets
            && sets.iter().any(Vec::is_empty)
        {
            let node = self.split_empty_sets(aggregate);
            return self.attach(node, domain);
        }
        let is_global = aggregate.keys.is_empty() && aggregate.sets.is_none();
        let input = self.attach(aggregate.input, domain)?;
        let mut aggregate = self.rename_aggregate(aggregate, &input.names(domain));
        if is_global {
            return self.attach_global(aggregate, &input, domain);
        }
        let columns = match &mut aggregate.sets {
            None => input.columns.clone(),
            Some(sets) => {
                let count = input.columns.len();
                for set in sets {
                    *set = (0..count).chain(set.iter().map(|key| key + count)).collect();
                }
                input.columns.iter().map(|&column| self.plan.copy_column(column)).collect()
            }
        };
        let mut keys: Vec<(ColumnId, Expr)> = columns.iter().copied().zip(self.columns(&input.columns)).collect();
        keys.append(&mut aggregate.keys);
        let node = self.plan.add(Node::Aggregate(Aggregate { input: input.node, keys, ..aggregate }));
        Ok(Attached { node, columns })
    }

    /// Handles an aggregate without keys, which has a row for each value even for empty input: an outer join with the
    /// domain supplies it.
    fn attach_global(&mut self, aggregate: Aggregate, input: &Attached, domain: &Domain) -> Result<Attached> {
        let outputs: Vec<ColumnId> = aggregate.aggregates.iter().map(|&(column, _)| column).collect();
        let (left, columns) = self.use_domain(domain);
        let conditions = self.same_values(&domain.keys(&input.columns), &domain.keys(&columns));
        let input = Pulled { conditions, ..Pulled::rows(input.node) };
        let grouped = self.pull_aggregate(aggregate, input, &columns.iter().copied().collect());
        let grouped =
            grouped.ok_or_else(|| Error::internal("an aggregate over a domain depends on it only by its keys"))?;
        let join = Join { kind: JoinKind::Left, left, right: grouped.node, conditions: grouped.conditions };
        let joined = self.plan.add(Node::Join(join));
        let extended = self.extend(joined, grouped.computed);
        let all: Vec<ColumnId> = columns.iter().copied().chain(outputs).collect();
        Ok(Attached { node: self.restore(extended, &all), columns })
    }

    /// Splits grouping sets of which some are empty into a union: the empty ones have a row even for empty input.
    fn split_empty_sets(&mut self, aggregate: Aggregate) -> NodeId {
        let outputs = {
            let keys = aggregate.keys.iter().map(|&(column, _)| column);
            let calls = aggregate.aggregates.iter().map(|&(column, _)| column);
            keys.chain(aggregate.grouping_id).chain(calls).collect::<Vec<_>>()
        };
        let sets = aggregate.sets.clone().unwrap_or_default();
        let (empty, others): (Vec<_>, Vec<_>) = sets.into_iter().partition(Vec::is_empty);
        let mut parts = Vec::new();
        if !others.is_empty() {
            let rest = Aggregate { sets: Some(others), ..aggregate.clone() };
            parts.push(self.plan.add(Node::Aggregate(rest)));
        }
        for _ in empty {
            let whole = Aggregate { keys: Vec::new(), sets: None, grouping_id: None, ..aggregate.clone() };
            let whole = self.plan.add(Node::Aggregate(whole));
            let nulls = aggregate.keys.iter().map(|(column, key)| (*column, Expr::null(key.ty.clone())));
            let bits = Value::Integer((1_i128 << aggregate.keys.len()) - 1);
            let grouping = aggregate.grouping_id.map(|id| (id, Expr::literal(bits, self.plan.column(id).ty.clone())));
            let made = nulls.chain(grouping).collect();
            parts.push(self.extend(whole, made));
        }
        let mut inputs: Vec<(NodeId, Vec<ColumnId>)> = Vec::new();
        for part in parts {
            let (part, renamed) = self.plan.copy_subtree(part);
            inputs.push((part, outputs.iter().map(|column| renamed[column]).collect()));
        }
        if let [(only, _)] = inputs.as_slice() {
            let only = *only;
            let columns = inputs.remove(0).1;
            let columns = outputs.iter().copied().zip(self.columns(&columns)).collect();
            return self.project(only, columns);
        }
        let operation = SetOperation { operator: SetOperator::Union, all: true, columns: outputs, inputs };
        self.plan.add(Node::SetOperation(operation))
    }

    fn rename_aggregate(&mut self, aggregate: Aggregate, names: &Renaming) -> Aggregate {
        let keys = aggregate.keys.into_iter().map(|(column, key)| (column, self.rename(key, names))).collect();
        let call = |(column, call): (ColumnId, godwit_plan::AggregateCall)| {
            (column, call.map_exprs(&mut |expr| self.rename(expr, names)))
        };
        let aggregates = aggregate.aggregates.into_iter().map(call).collect();
        Aggregate { keys, aggregates, ..aggregate }
    }
}
