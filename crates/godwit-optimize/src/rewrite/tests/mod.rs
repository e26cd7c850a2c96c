//! Results of passes on small plans, as text. Columns are shown by name, so the tests use distinct names.

mod aggregation;
mod columns;
mod conditions;
mod large;
mod rows;
mod subplans;

use std::sync::Arc;

use godwit_plan::{
    Aggregate, ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Limit, Node, NodeId, OutputColumn, Plan, Project,
    Scan, SetOperation, SetOperator, SharedId, SharedPlan, SortKey, Use,
};
use godwit_reference::{MemoryTable, TestFunctions, agree, evaluate};
use godwit_types::{SqlType, Value};

use super::Context;
use crate::passes::run;
use crate::{OptimizerSettings, Pass};

/// A plan under construction. All columns are INTEGERs.
#[derive(Default)]
struct Build {
    plan: Plan,
}

impl Build {
    /// Adds a table of three rows with NULLs; returns it and its columns.
    fn table(&mut self, name: &str, columns: &[&str]) -> (NodeId, Vec<Expr>) {
        self.scan(MemoryTable::new(name, &typed(columns), rows(columns.len())).with_nullable_columns())
    }

    /// Adds a table without NULLs whose first column is a key.
    fn keyed_table(&mut self, name: &str, columns: &[&str]) -> (NodeId, Vec<Expr>) {
        let rows = (0..4).map(|row| (0..columns.len()).map(|at| Value::Integer(row * i128::from(at < 2))).collect());
        self.scan(MemoryTable::new(name, &typed(columns), rows.collect()).with_key(&[0]))
    }

    fn scan(&mut self, table: MemoryTable) -> (NodeId, Vec<Expr>) {
        let relation: Arc<dyn godwit_plan::Relation> = Arc::new(table);
        self.scan_of(&relation)
    }

    fn scan_of(&mut self, relation: &Arc<dyn godwit_plan::Relation>) -> (NodeId, Vec<Expr>) {
        let columns: Vec<(ColumnId, usize)> = relation
            .columns()
            .iter()
            .enumerate()
            .map(|(at, column)| (self.plan.add_column(column.name.clone(), column.ty.clone(), column.nullable), at))
            .collect();
        let exprs = columns.iter().map(|&(id, _)| self.column(id)).collect();
        let scan = Scan { relation: relation.clone(), columns, filters: Vec::new(), rows_enough: None };
        (self.plan.add(Node::Scan(scan)), exprs)
    }

    fn column(&self, id: ColumnId) -> Expr {
        super::column(&self.plan, id, self.plan.column(id).nullable)
    }

    fn filter(&mut self, input: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.plan.add(Node::Filter { input, conditions })
    }

    fn join(&mut self, kind: JoinKind, left: NodeId, right: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.plan.add(Node::Join(Join { kind, left, right, conditions }))
    }

    /// Projects columns that are passed on, and named values.
    fn project(&mut self, input: NodeId, passed: &[&Expr], made: &[(&str, Expr)]) -> (NodeId, Vec<Expr>) {
        let mut columns: Vec<(ColumnId, Expr)> = passed.iter().map(|&expr| (id_of(expr), expr.clone())).collect();
        for (name, expr) in made {
            columns.push((self.plan.add_column(*name, expr.ty.clone(), expr.nullable), expr.clone()));
        }
        let exprs = columns.iter().map(|&(id, _)| self.column(id)).collect();
        (self.plan.add(Node::Project(Project { input, columns })), exprs)
    }

    fn aggregate(&mut self, input: NodeId, keys: &[&Expr], calls: &[(&str, Vec<Expr>)]) -> (NodeId, Vec<Expr>) {
        let keys = keys.iter().map(|&key| (id_of(key), key.clone())).collect();
        let mut aggregates = Vec::new();
        for (name, args) in calls {
            let call = TestFunctions.aggregate_call(name, args.clone());
            aggregates.push((self.plan.add_column(*name, call.ty.clone(), call.nullable), call));
        }
        let exprs = aggregates.iter().map(|&(id, _)| self.column(id)).collect();
        (self.plan.add(Node::Aggregate(Aggregate { input, keys, sets: None, grouping_id: None, aggregates })), exprs)
    }

    fn sort(&mut self, input: NodeId, keys: &[&Expr]) -> NodeId {
        let key = |&expr: &&Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
        self.plan.add(Node::Sort { input, keys: keys.iter().map(key).collect() })
    }

    fn limit(&mut self, input: NodeId, count: i64) -> NodeId {
        let count = Some(Expr::bigint(count));
        self.plan.add(Node::Limit(Limit { input, offset: None, count, with_ties: false, percent: false }))
    }

    fn union_all(&mut self, inputs: Vec<(NodeId, Vec<Expr>)>) -> (NodeId, Vec<Expr>) {
        let columns: Vec<ColumnId> =
            (0..inputs[0].1.len()).map(|at| self.plan.add_column(format!("u{at}"), SqlType::Integer, true)).collect();
        let exprs = columns.iter().map(|&id| self.column(id)).collect();
        let inputs = inputs.into_iter().map(|(input, columns)| (input, columns.iter().map(id_of).collect())).collect();
        let union = SetOperation { operator: SetOperator::Union, all: true, columns, inputs };
        (self.plan.add(Node::SetOperation(union)), exprs)
    }

    fn share(&mut self, root: NodeId) -> SharedId {
        self.plan.add_shared(SharedPlan { name: "s".to_owned(), root, materialized: None })
    }

    fn use_of(&mut self, shared: SharedId) -> (NodeId, Vec<Expr>) {
        let inner = self.plan.outputs(self.plan.shared(shared).root);
        let columns: Vec<(ColumnId, ColumnId)> =
            inner.into_iter().map(|inner| (self.plan.copy_column(inner), inner)).collect();
        let exprs = columns.iter().map(|&(id, _)| self.column(id)).collect();
        (self.plan.add(Node::Use(Use { shared, columns })), exprs)
    }

    /// Completes the plan with these columns.
    fn finish(mut self, root: NodeId, output: &[&Expr]) -> Plan {
        self.plan.root = Some(root);
        let output = output.iter().map(|expr| OutputColumn { name: "c".to_owned(), column: id_of(expr) });
        self.plan.output = output.collect();
        self.plan
    }
}

fn typed<'n>(columns: &[&'n str]) -> Vec<(&'n str, SqlType)> {
    columns.iter().map(|name| (*name, SqlType::Integer)).collect()
}

fn rows(columns: usize) -> Vec<Vec<Value>> {
    let value = |row: usize, at: usize| {
        if (row + at) % 3 == 2 { Value::Null } else { Value::Integer(((row + at) % 3) as i128) }
    };
    (0..3).map(|row| (0..columns).map(|at| value(row, at)).collect()).collect()
}

fn id_of(expr: &Expr) -> ColumnId {
    expr.as_column().expect("a column is asked for")
}

fn integer(value: i128) -> Expr {
    Expr::literal(Value::Integer(value), SqlType::Integer)
}

fn equal(a: &Expr, b: &Expr) -> Expr {
    Expr::compare(Comparison::Equal, a.clone(), b.clone())
}

fn less(a: &Expr, b: &Expr) -> Expr {
    Expr::compare(Comparison::Less, a.clone(), b.clone())
}

fn plus(a: &Expr, b: &Expr) -> Expr {
    let kind = ExprKind::Arithmetic(godwit_plan::Arithmetic::Add, Box::new(a.clone()), Box::new(b.clone()));
    Expr::new(kind, a.ty.clone(), a.nullable || b.nullable)
}

fn random() -> Expr {
    TestFunctions.call("random", Vec::new())
}

/// Returns the plan after some passes, without the ids of columns; checks that it has the same rows as before.
fn after(plan: &Plan, passes: &[Pass]) -> String {
    let rewritten = rewritten(plan, passes);
    if let Err(difference) = agree(&evaluate(plan, &[]), &evaluate(&rewritten, &[])) {
        panic!("{difference}\nbefore:\n{}\nafter:\n{}", plan.display(), rewritten.display());
    }
    without_ids(&rewritten.display())
}

fn rewritten(plan: &Plan, passes: &[Pass]) -> Plan {
    let mut rewritten = plan.clone();
    let settings = OptimizerSettings::default();
    let mut context = Context::new(&TestFunctions, &settings);
    for &pass in passes {
        run(pass, &mut rewritten, &mut context, &settings).unwrap();
    }
    rewritten
}

fn without_ids(text: &str) -> String {
    let mut parts = text.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

/// Compares text line by line; the expected text may be indented.
fn assert_plan(actual: &str, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|line| format!("{}\n", &line[indent..])).collect();
    assert_eq!(actual, expected, "\nfound:\n{actual}");
}
