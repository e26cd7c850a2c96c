//! Hand-built plans over tables of integers.

use std::sync::Arc;

use godwit_plan::{
    Aggregate, ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Limit, Node, NodeId, OutputColumn, Plan, Project,
    Relation, Scan, SortKey, Subquery, SubqueryKind, Values,
};
use godwit_reference::{MemoryTable, TestFunctions, difference, evaluate, validate};
use godwit_types::{SqlType, Value};

use crate::unnest::check::assert_unnested;
use crate::unnest::unnest;

/// A row of a table.
pub(super) type Numbers<'a> = &'a [Option<i64>];

/// A plan under construction.
#[derive(Default)]
pub(super) struct Query {
    pub(super) plan: Plan,
}

/// A node and its columns as expressions.
pub(super) struct Table {
    pub(super) node: NodeId,
    pub(super) columns: Vec<Expr>,
}

impl Query {
    /// Scans a table whose columns are named by letters from `a` on, all of them nullable.
    pub(super) fn table(&mut self, name: &str, width: usize, rows: &[Numbers<'_>]) -> Table {
        let names: Vec<String> = (0..width).map(|index| char::from(b'a' + index as u8).to_string()).collect();
        let columns: Vec<(&str, SqlType)> = names.iter().map(|name| (name.as_str(), SqlType::Integer)).collect();
        let value = |value: &Option<i64>| value.map_or(Value::Null, |value| Value::Integer(value.into()));
        let values = rows.iter().map(|row| row.iter().map(value).collect()).collect();
        let relation = MemoryTable::new(name, &columns, values).with_nullable_columns();
        self.scan(Arc::new(relation))
    }

    pub(super) fn scan(&mut self, relation: Arc<MemoryTable>) -> Table {
        let found: Vec<_> = relation.columns().to_vec();
        let mut columns = Vec::new();
        for (position, column) in found.iter().enumerate() {
            let name = format!("{}.{}", relation.name(), column.name);
            columns.push((self.plan.add_column(name, column.ty.clone(), column.nullable), position));
        }
        let exprs = columns.iter().map(|&(id, _)| self.column(id)).collect();
        let scan = Scan { relation, columns, filters: Vec::new(), rows_enough: None };
        Table { node: self.plan.add(Node::Scan(scan)), columns: exprs }
    }

    pub(super) fn column(&self, id: ColumnId) -> Expr {
        let info = self.plan.column(id);
        Expr::new(ExprKind::Column(id), info.ty.clone(), info.nullable)
    }

    pub(super) fn filter(&mut self, input: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.plan.add(Node::Filter { input, conditions })
    }

    pub(super) fn join(&mut self, kind: JoinKind, left: NodeId, right: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.plan.add(Node::Join(Join { kind, left, right, conditions }))
    }

    /// Projects computed columns; returns the node, and these columns.
    pub(super) fn project(&mut self, input: NodeId, exprs: Vec<Expr>) -> (NodeId, Vec<Expr>) {
        let mut columns = Vec::new();
        for expr in exprs {
            columns.push((self.plan.add_column("p", expr.ty.clone(), expr.nullable), expr));
        }
        let made = columns.iter().map(|&(id, _)| self.column(id)).collect();
        (self.plan.add(Node::Project(Project { input, columns })), made)
    }

    pub(super) fn one_row(&mut self) -> NodeId {
        self.plan.add(Node::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] }))
    }

    /// Computes one aggregate over groups by columns.
    pub(super) fn aggregate(&mut self, input: NodeId, keys: &[Expr], name: &str, args: Vec<Expr>) -> (NodeId, Expr) {
        let call = TestFunctions.aggregate_call(name, args);
        let id = self.plan.add_column(name, call.ty.clone(), call.nullable);
        let keys = keys.iter().map(|key| (key.as_column().expect("keys are columns here"), key.clone())).collect();
        let aggregates = vec![(id, call)];
        let aggregate = Aggregate { input, keys, sets: None, grouping_id: None, aggregates };
        (self.plan.add(Node::Aggregate(aggregate)), self.column(id))
    }

    /// Selects the first rows by a column, largest first.
    pub(super) fn first(&mut self, input: NodeId, key: &Expr, count: i64, offset: Option<i64>) -> NodeId {
        let keys = vec![SortKey { expr: key.clone(), descending: true, nulls_first: false }];
        let input = self.plan.add(Node::Sort { input, keys });
        let (count, offset) = (Some(Expr::bigint(count)), offset.map(Expr::bigint));
        self.plan.add(Node::Limit(Limit { input, offset, count, with_ties: false, percent: false }))
    }

    /// Compares the rows of the plan before and after unnesting; returns the plan after, as text, and the rows.
    pub(super) fn unnested(mut self, root: NodeId, output: &[Expr]) -> (String, Vec<Vec<Value>>) {
        self.plan.root = Some(root);
        let named = |expr: &Expr| OutputColumn { name: "c".into(), column: expr.as_column().expect("a column") };
        self.plan.output = output.iter().map(named).collect();
        validate(&self.plan).expect("the plan is right before");
        let expected = evaluate(&self.plan, &[]).expect("the plan can be evaluated before");
        unnest(&mut self.plan, &TestFunctions).expect("the plan can be unnested");
        assert_unnested(&self.plan);
        let text = self.plan.display();
        validate(&self.plan).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let found = evaluate(&self.plan, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if let Some(difference) = difference(&expected, &found) {
            panic!("{difference}\n{text}");
        }
        (text, found)
    }
}

pub(super) fn equal(a: &Expr, b: &Expr) -> Expr {
    compare(Comparison::Equal, a, b)
}

pub(super) fn compare(comparison: Comparison, a: &Expr, b: &Expr) -> Expr {
    Expr::compare(comparison, a.clone(), b.clone())
}

pub(super) fn integer(value: i64) -> Expr {
    Expr::literal(Value::Integer(value.into()), SqlType::Integer)
}

pub(super) fn exists(plan: NodeId) -> Expr {
    let subquery = Subquery { kind: SubqueryKind::Exists, plan, columns: Vec::new() };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, false)
}

pub(super) fn scalar(plan: NodeId, column: &Expr) -> Expr {
    let columns = vec![column.as_column().expect("a column")];
    let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), column.ty.clone(), true)
}

/// Builds `left op ANY (plan)` or `left op ALL (plan)`.
pub(super) fn quantified(left: Vec<Expr>, comparison: Comparison, all: bool, plan: NodeId, columns: &[Expr]) -> Expr {
    let columns = columns.iter().map(|column| column.as_column().expect("a column")).collect();
    let subquery = Subquery { kind: SubqueryKind::Quantified { comparison, all, left }, plan, columns };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, true)
}
