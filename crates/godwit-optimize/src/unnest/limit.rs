//! Selection of the first rows of each partition by their numbers: LIMIT over an input that holds the rows of all outer
//! values.

use godwit_common::Result;
use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind, Limit, Node, NodeId, Project, SortKey, Window};
use godwit_types::{SqlType, Value};

use super::Unnester;
use super::build::coalesce;

impl Unnester<'_> {
    /// Returns the rows below a limit, and their order.
    pub(super) fn rows_and_order(&self, id: NodeId) -> (NodeId, Vec<SortKey>) {
        match self.plan.node(id) {
            Node::Sort { input, keys } => (*input, keys.clone()),
            _ => (id, Vec::new()),
        }
    }

    /// Moves a limit below the projection that is its input: there it sees the order.
    pub(super) fn limit_below_projection(&mut self, limit: &Limit) -> Option<NodeId> {
        let Node::Project(Project { input, columns }) = self.plan.node(limit.input).clone() else { return None };
        let below = self.plan.add(Node::Limit(Limit { input, ..limit.clone() }));
        Some(self.project(below, columns))
    }

    /// Returns the rows that the limit leaves of each partition, in order.
    ///
    /// WITH TIES, a row counts by its rank: peers of the last row don't have a higher rank. Percentages are compared as
    /// floats: `number <= floor(x)` is `number <= x` for whole numbers.
    pub(super) fn limit_each(
        &mut self,
        input: NodeId,
        partition_by: Vec<Expr>,
        keys: Vec<SortKey>,
        limit: Limit,
    ) -> Result<NodeId> {
        let (number, call) = self.numbering("row_number", partition_by.clone(), keys.clone())?;
        let mut calls = vec![(number, call)];
        let mut counted = number;
        if limit.with_ties {
            let (rank, call) = self.numbering("rank", partition_by.clone(), keys.clone())?;
            calls.push((rank, call));
            counted = rank;
        }
        let mut total = None;
        if limit.percent {
            let (size, call) = self.partition_size(partition_by)?;
            calls.push((size, call));
            total = Some(self.column(size).cast_to(&SqlType::Double));
        }
        let window = self.plan.add(Node::Window(Window { input, calls }));
        let mut conditions = Vec::new();
        let mut counted = self.column(counted);
        if let Some(offset) = limit.offset {
            let offset = if offset.nullable { coalesce(offset, Expr::bigint(0)) } else { offset };
            conditions.push(Expr::compare(Comparison::Greater, self.column(number), offset.clone()));
            counted = arithmetic(Arithmetic::Subtract, counted, offset);
        }
        if let Some(count) = limit.count {
            conditions.extend(within(counted, count, total, limit.with_ties));
        }
        let filtered = self.filter(window, conditions);
        if keys.is_empty() {
            return Ok(filtered);
        }
        Ok(self.plan.add(Node::Sort { input: filtered, keys }))
    }
}

/// Builds `counted <= count`; a NULL count lets all rows pass, and a count of 0 none, whatever the ties.
fn within(counted: Expr, count: Expr, total: Option<Expr>, with_ties: bool) -> Vec<Expr> {
    let (counted, most) = match total {
        Some(total) => {
            let hundred = Expr::literal(Value::Float(100.0), SqlType::Double);
            let share = arithmetic(Arithmetic::Multiply, total, count.clone());
            (counted.cast_to(&SqlType::Double), arithmetic(Arithmetic::Divide, share, hundred))
        }
        None => (counted, count.clone()),
    };
    let mut conditions = vec![Expr::compare(Comparison::LessOrEqual, counted, most.clone())];
    if with_ties {
        let one = if most.ty == SqlType::Double {
            Expr::literal(Value::Float(1.0), SqlType::Double)
        } else {
            Expr::bigint(1)
        };
        conditions.push(Expr::compare(Comparison::GreaterOrEqual, most, one));
    }
    let is_unlimited = count.nullable.then(|| count.is_null());
    let or_unlimited = |condition| Expr::or(is_unlimited.clone().into_iter().chain([condition]));
    conditions.into_iter().map(or_unlimited).collect()
}

fn arithmetic(op: Arithmetic, a: Expr, b: Expr) -> Expr {
    let (ty, nullable) = (a.ty.clone(), a.nullable || b.nullable);
    Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), ty, nullable)
}
