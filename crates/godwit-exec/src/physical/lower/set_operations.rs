//! UNION, INTERSECT and EXCEPT.
//!
//! With ALL it matters how often a row occurs: equal rows of each side are numbered, and the n-th of one side is
//! matched with the n-th of the other.

use godwit_plan::{
    ColumnId, Comparison, Expr, Join, JoinKind, Node, NodeId, Plan, SetOperation, SetOperator, Values, Window,
};
use godwit_types::SqlType;

use super::{Lowering, numbering};

/// Whether several inputs are lists of constants.
pub(super) fn has_lists(plan: &Plan, operation: &SetOperation) -> bool {
    operation.inputs.iter().filter(|(input, columns)| List::of(plan, *input, columns).is_some()).nth(1).is_some()
}

/// A node that lists constants.
enum List<'p> {
    /// Some positions of each row.
    Rows(&'p Values, Vec<usize>),
    /// A row repeated this many times.
    Same(Vec<&'p Expr>, usize),
}

impl<'p> List<'p> {
    fn of(plan: &'p Plan, node: NodeId, columns: &[ColumnId]) -> Option<Self> {
        let is_constant = |expr: &Expr| expr.as_literal().is_some();
        match plan.node(node) {
            Node::Values(values) => {
                let place = |column: &ColumnId| values.columns.iter().position(|known| known == column);
                let places: Vec<usize> = columns.iter().map(place).collect::<Option<_>>()?;
                let has_constants = |row: &Vec<Expr>| places.iter().all(|&place| is_constant(&row[place]));
                values.rows.iter().all(has_constants).then_some(List::Rows(values, places))
            }
            Node::Project(project) => {
                let Node::Values(values) = plan.node(project.input) else { return None };
                let value = |column: &ColumnId| project.columns.iter().find(|(known, _)| known == column);
                let row = columns.iter().map(|column| Some(&value(column)?.1).filter(|expr| is_constant(expr)));
                Some(List::Same(row.collect::<Option<_>>()?, values.rows.len()))
            }
            _ => None,
        }
    }

    fn rows(&self) -> Vec<Vec<Expr>> {
        match self {
            List::Rows(values, places) => {
                let row = |row: &Vec<Expr>| places.iter().map(|&place| row[place].clone()).collect();
                values.rows.iter().map(row).collect()
            }
            List::Same(row, times) => vec![row.iter().map(|&expr| expr.clone()).collect(); *times],
        }
    }
}

impl Lowering {
    pub(super) fn union(&mut self, node: &Node) -> NodeId {
        let Node::SetOperation(operation) = node else { unreachable!("the rewrite of another node") };
        let all = self.merged(operation);
        self.distinct(all)
    }

    /// UNION ALL of inputs that list constants, which become one list: `SELECT 1 UNION ALL SELECT 2` and so on.
    pub(super) fn union_all(&mut self, node: &Node) -> NodeId {
        let Node::SetOperation(operation) = node else { unreachable!("the rewrite of another node") };
        self.merged(operation)
    }

    /// The rows of all inputs.
    fn merged(&mut self, operation: &SetOperation) -> NodeId {
        let (mut rows, mut inputs) = (Vec::new(), Vec::new());
        for (input, columns) in &operation.inputs {
            match List::of(&self.plan, *input, columns) {
                Some(list) => rows.extend(list.rows()),
                None => inputs.push((*input, columns.clone())),
            }
        }
        if inputs.is_empty() {
            return self.plan.add(Node::Values(Values { columns: operation.columns.clone(), rows }));
        }
        if !rows.is_empty() {
            let columns: Vec<ColumnId> =
                operation.columns.iter().map(|&column| self.plan.copy_column(column)).collect();
            inputs.push((self.plan.add(Node::Values(Values { columns: columns.clone(), rows })), columns));
        }
        self.add(Node::SetOperation(SetOperation { all: true, inputs, ..operation.clone() }))
    }

    /// INTERSECT and EXCEPT.
    pub(super) fn common_rows(&mut self, node: &Node) -> NodeId {
        let Node::SetOperation(operation) = node else { unreachable!("the rewrite of another node") };
        let [(left, left_columns), (right, right_columns)] = &operation.inputs[..] else {
            panic!("INTERSECT and EXCEPT have two inputs")
        };
        let (left_values, right_values) = (self.values(*left, left_columns), self.values(*right, right_columns));
        let renamed = |(&column, value): (&ColumnId, &Expr)| (column, value.clone());
        let left = self.project(*left, operation.columns.iter().zip(&left_values).map(renamed).collect());
        let left_values = self.values(left, &operation.columns);
        let equal = left_values.iter().cloned().zip(right_values.iter().cloned());
        let mut conditions: Vec<Expr> =
            equal.map(|(left, right)| Expr::compare(Comparison::NotDistinct, left, right)).collect();
        let (left, right) = match operation.all {
            true => {
                let (left, left_number) = self.numbered(left, left_values);
                let (right, right_number) = self.numbered(*right, right_values);
                let numbers = (self.column(left_number), self.column(right_number));
                conditions.push(Expr::compare(Comparison::Equal, numbers.0, numbers.1));
                (left, right)
            }
            false => (self.distinct(left), *right),
        };
        let kind = match operation.operator {
            SetOperator::Except => JoinKind::Anti,
            SetOperator::Union | SetOperator::Intersect => JoinKind::Semi,
        };
        let rows = self.add(Node::Join(Join { kind, left, right, conditions }));
        if !operation.all {
            return rows;
        }
        let columns = self.columns(rows).into_iter().filter(|(column, _)| operation.columns.contains(column));
        let columns = columns.collect();
        self.project(rows, columns)
    }

    /// These columns of a node. Outer joins below it may have added NULLs.
    fn values(&self, node: NodeId, columns: &[ColumnId]) -> Vec<Expr> {
        let all = self.columns(node);
        let of = |column: &ColumnId| {
            let (_, value) = all.iter().find(|(id, _)| id == column).expect("columns of inputs are there");
            value.clone()
        };
        columns.iter().map(of).collect()
    }

    /// The rows, each with a number among those that are equal to it.
    fn numbered(&mut self, input: NodeId, partition_by: Vec<Expr>) -> (NodeId, ColumnId) {
        let number = self.plan.add_column("number", SqlType::BigInt, false);
        let calls = vec![(number, numbering("row_number", partition_by, Vec::new()))];
        (self.add(Node::Window(Window { input, calls })), number)
    }
}
