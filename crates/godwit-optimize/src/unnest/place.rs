//! Subqueries in the expressions of nodes, and how the nodes are rewritten.
//!
//! The joins go below the node, over the rows that it reads. Columns that they add don't leak: a node that passes on
//! all columns of its input gets a projection above.

use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, Expr, Limit, Node, NodeId, SetOperation, SetOperator, Values};

use super::Unnester;
use super::pile::Pile;

impl Unnester<'_> {
    /// Returns a node without subqueries in its expressions, except those that stay.
    pub(super) fn place(&mut self, id: NodeId) -> Result<NodeId> {
        if !self.is_placeable(id) {
            return self.place_below_limit(id);
        }
        let outputs = self.plan.outputs(id);
        let placed = match self.plan.node(id).clone() {
            Node::Filter { input, conditions } => self.place_in_filter(input, conditions)?,
            Node::Join(join) => self.place_in_join(join)?,
            Node::Values(values) => self.place_in_values(values),
            Node::Limit(limit) => self.place_in_limit(limit)?,
            node @ (Node::Project(_) | Node::Aggregate(_) | Node::Window(_) | Node::Sort { .. } | Node::Unnest(_)) => {
                self.place_below(node)?
            }
            Node::Scan(_)
            | Node::SetOperation(_)
            | Node::Recursive(_)
            | Node::WorkingRows { .. }
            | Node::Use(_)
            | Node::Sample(_) => return Err(Error::internal("this node takes no subqueries")),
        };
        Ok(self.restore(placed, &outputs))
    }

    fn is_placeable(&mut self, id: NodeId) -> bool {
        let mut exprs = Vec::new();
        self.plan.node(id).for_each_expr(&mut |expr| {
            if expr.has_subquery() {
                exprs.push(expr.clone());
            }
        });
        exprs.iter().any(|expr| self.has_placeable(expr))
    }

    /// Handles rows of values. Expressions without free columns are computed first. Others use a recursion's rows and
    /// become projections of one row.
    fn place_in_values(&mut self, mut values: Values) -> NodeId {
        if values.rows.iter().flatten().all(|expr| self.is_closed(expr)) {
            let value = |expr: &mut Expr| *expr = self.computed_first(expr.clone());
            values.rows.iter_mut().flatten().for_each(value);
            return self.plan.add(Node::Values(values));
        }
        let mut inputs = Vec::new();
        for row in values.rows {
            let columns: Vec<ColumnId> = values.columns.iter().map(|&column| self.plan.copy_column(column)).collect();
            let input = self.one_row();
            let projected = self.project(input, columns.iter().copied().zip(row).collect());
            inputs.push((projected, columns));
        }
        if inputs.len() == 1 {
            let (input, columns) = inputs.remove(0);
            let columns = values.columns.into_iter().zip(self.columns(&columns)).collect();
            return self.project(input, columns);
        }
        let operator = SetOperator::Union;
        self.plan.add(Node::SetOperation(SetOperation { operator, all: true, columns: values.columns, inputs }))
    }

    /// Does the same for the numbers of a limit: those that use a recursion's rows are compared in a filter.
    fn place_in_limit(&mut self, limit: Limit) -> Result<NodeId> {
        if limit.offset.iter().chain(&limit.count).all(|expr| self.is_closed(expr)) {
            let offset = limit.offset.map(|offset| self.computed_first(offset));
            let count = limit.count.map(|count| self.computed_first(count));
            return Ok(self.plan.add(Node::Limit(Limit { offset, count, ..limit })));
        }
        if let Some(projection) = self.limit_below_projection(&limit) {
            return Ok(projection);
        }
        let (input, keys) = self.rows_and_order(limit.input);
        self.limit_each(input, Vec::new(), keys, limit)
    }

    fn is_closed(&mut self, expr: &Expr) -> bool {
        self.columns_of(expr).is_empty()
    }

    fn computed_first(&mut self, expr: Expr) -> Expr {
        if self.has_placeable(&expr) { self.as_scalar(expr) } else { expr }
    }

    /// Moves the projection above both limit and sort, as a limit sees the order only if its input is the sort itself.
    fn place_below_limit(&mut self, id: NodeId) -> Result<NodeId> {
        let Node::Limit(limit) = self.plan.node(id) else { return Ok(id) };
        let sort = limit.input;
        if !matches!(self.plan.node(sort), Node::Sort { .. }) || !self.is_placeable(sort) {
            return Ok(id);
        }
        let Node::Limit(limit) = self.plan.node(id).clone() else { return Ok(id) };
        let outputs = self.plan.outputs(id);
        let sort = self.place_below(self.plan.node(sort).clone())?;
        let node = self.plan.add(Node::Limit(Limit { input: sort, ..limit }));
        Ok(self.restore(node, &outputs))
    }

    /// Places the joins between a node and its input.
    fn place_below(&mut self, node: Node) -> Result<NodeId> {
        let mut pile = Pile::new(self, node.inputs()[0]);
        let node = self.try_map_exprs(node, &mut |unnester, expr| unnester.place_in(&mut pile, expr))?;
        let input = self.finish(pile);
        Ok(self.plan.add(node.map_inputs(&mut |_| input)))
    }

    /// Orders conditions: those without subqueries come first, then those that are joins, then those that use the
    /// values of joins.
    fn place_in_filter(&mut self, input: NodeId, conditions: Vec<Expr>) -> Result<NodeId> {
        let conjuncts = conditions.into_iter().flat_map(Expr::into_conjuncts);
        let (placeable, plain): (Vec<_>, Vec<_>) = conjuncts.partition(|conjunct| self.has_placeable(conjunct));
        let base = self.filter(input, plain);
        let mut pile = Pile::new(self, base);
        let mut others = Vec::new();
        for conjunct in placeable {
            others.extend(self.place_conjunct(&mut pile, conjunct)?);
        }
        let mut values = Vec::new();
        for condition in others {
            values.push(self.place_in(&mut pile, condition)?);
        }
        let joined = self.finish(pile);
        Ok(self.filter(joined, values))
    }

    pub(super) fn try_map_exprs(
        &mut self,
        node: Node,
        map: &mut impl FnMut(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Node> {
        let mut failure = Ok(());
        let node = node.map_exprs(&mut |expr| {
            if failure.is_err() {
                return expr;
            }
            map(self, expr).unwrap_or_else(|error| {
                failure = Err(error);
                Expr::boolean(false)
            })
        });
        failure.map(|()| node)
    }
}
