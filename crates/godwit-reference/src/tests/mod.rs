//! The evaluator against SQL's rules, on hand-made plans.
//!
//! Tables have INTEGER columns; results are text, with bars between rows: `1, NULL | 2, 3`.

mod aggregates;
mod exprs;
mod functions;
mod joins;
mod nodes;
mod subqueries;
mod windows;

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Node, NodeId, OutputColumn, Plan, Relation, Scan, SortKey};
use godwit_types::{SqlType, Value, format_value};

use crate::{MemoryTable, evaluate};

const NULL: Option<i64> = None;

/// Adds a scan of a table of integers.
fn table<const N: usize>(plan: &mut Plan, rows: &[[Option<i64>; N]]) -> (NodeId, [Expr; N]) {
    let names: Vec<String> = (0..N).map(|index| format!("c{index}")).collect();
    let columns: Vec<(&str, SqlType)> = names.iter().map(|name| (name.as_str(), SqlType::Integer)).collect();
    let rows = rows.iter().map(|row| row.iter().map(|&value| number(value)).collect()).collect();
    let relation = Arc::new(MemoryTable::new("t", &columns, rows).with_nullable_columns());
    let ids: [ColumnId; N] = std::array::from_fn(|at| plan.add_column(names[at].clone(), SqlType::Integer, true));
    let columns = ids.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    assert_eq!(relation.columns().len(), N);
    let scan = plan.add(Node::Scan(Scan { relation, columns, filters: Vec::new(), rows_enough: None }));
    (scan, ids.map(|id| column(plan, id)))
}

/// Adds a table of one column.
fn list(plan: &mut Plan, values: &[Option<i64>]) -> (NodeId, Expr) {
    let rows: Vec<[Option<i64>; 1]> = values.iter().map(|&value| [value]).collect();
    let (node, [column]) = table(plan, &rows);
    (node, column)
}

fn number(value: Option<i64>) -> Value {
    value.map_or(Value::Null, |value| Value::Integer(i128::from(value)))
}

fn column(plan: &Plan, id: ColumnId) -> Expr {
    let info = plan.column(id);
    Expr::new(ExprKind::Column(id), info.ty.clone(), true)
}

fn id(column: &Expr) -> ColumnId {
    column.as_column().expect("it is a column")
}

fn int(value: impl Into<Option<i64>>) -> Expr {
    Expr::literal(number(value.into()), SqlType::Integer)
}

fn equal(a: &Expr, b: &Expr) -> Expr {
    Expr::compare(Comparison::Equal, a.clone(), b.clone())
}

fn less(a: &Expr, b: &Expr) -> Expr {
    Expr::compare(Comparison::Less, a.clone(), b.clone())
}

fn ascending(expr: &Expr) -> SortKey {
    SortKey { expr: expr.clone(), descending: false, nulls_first: false }
}

fn descending(expr: &Expr) -> SortKey {
    SortKey { descending: true, ..ascending(expr) }
}

/// Returns the rows of a node, with all its columns.
fn rows_of(plan: &Plan, root: NodeId) -> Result<Vec<Vec<Value>>> {
    let mut plan = plan.clone();
    plan.root = Some(root);
    let output = |column| OutputColumn { name: String::new(), column };
    plan.output = plan.outputs(root).into_iter().map(output).collect();
    evaluate(&plan, &[])
}

/// Does the same, as text.
fn result(plan: &Plan, root: NodeId) -> String {
    let types: Vec<SqlType> = plan.outputs(root).into_iter().map(|id| plan.column(id).ty.clone()).collect();
    let rows = rows_of(plan, root).unwrap_or_else(|error| panic!("{error}\n{}", plan.describe(plan.node(root))));
    let row = |row: Vec<Value>| {
        let values = row.iter().zip(&types).map(|(value, ty)| format_value(value, ty));
        values.collect::<Vec<_>>().join(", ")
    };
    rows.into_iter().map(row).collect::<Vec<_>>().join(" | ")
}

/// Returns the message of the error with which a node fails.
fn error(plan: &Plan, root: NodeId) -> String {
    rows_of(plan, root).expect_err("it fails").message().to_owned()
}
