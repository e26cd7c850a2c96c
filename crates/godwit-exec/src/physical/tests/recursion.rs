//! Recursive common table expressions.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use godwit_common::ErrorKind;
use godwit_plan::{
    Aggregate, Arithmetic, ColumnId, Comparison, Expr, ExprKind, JoinKind, Node, NodeId, Plan, Project, Recursive,
    Sample, SampleSize, SharedPlan, Use,
};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::super::invariant::invariants;
use super::super::shared::Kept;
use super::{Builder, check, engine_rows, explained, int, query};
use crate::testing::World;

fn arithmetic(op: Arithmetic, left: Expr, right: i64) -> Expr {
    let right = Expr::literal(int(right), SqlType::Integer);
    Expr::new(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), SqlType::Integer, true)
}

/// `WITH RECURSIVE r(n, s) AS (SELECT n, s FROM t UNION [ALL] SELECT next(n), s FROM r WHERE goes_on(n))`
fn recursive(
    builder: &mut Builder,
    table: &Arc<MemoryTable>,
    all: bool,
    next: impl Fn(Expr) -> Expr,
    goes_on: impl Fn(Expr) -> Option<Expr>,
) -> NodeId {
    let base = builder.scan(table);
    let base_columns = builder.0.outputs(base);
    let columns: Vec<ColumnId> = base_columns.iter().map(|&column| builder.0.copy_column(column)).collect();
    let working = builder.0.add_column("r", SqlType::Integer, false);
    let rows: Vec<ColumnId> = columns.iter().map(|&column| builder.0.copy_column(column)).collect();
    let read = builder.0.add(Node::WorkingRows { of: working, columns: rows });
    let values = builder.columns(read);
    let input = match goes_on(values[0].clone()) {
        Some(condition) => builder.0.add(Node::Filter { input: read, conditions: vec![condition] }),
        None => read,
    };
    let made = builder.0.add_column("n", SqlType::Integer, true);
    let step = vec![(made, next(values[0].clone())), (values[1].as_column().unwrap(), values[1].clone())];
    let step_columns = step.iter().map(|&(column, _)| column).collect();
    let step = builder.0.add(Node::Project(Project { input, columns: step }));
    let (base, step) = ((base, base_columns), (step, step_columns));
    builder.0.add(Node::Recursive(Recursive { working, columns, base, step, all }))
}

fn is_less(value: Expr, limit: i64) -> Option<Expr> {
    Some(Expr::compare(Comparison::Less, value, Expr::literal(int(limit), SqlType::Integer)))
}

/// Rows (n, s), all with this n, with texts of `characters` characters.
fn table(rows: usize, first: i64, characters: usize) -> Arc<MemoryTable> {
    let columns = [("n", SqlType::Integer), ("s", SqlType::Varchar)];
    let row = |number: usize| vec![int(first), Value::text(format!("{number:>characters$}"))];
    Arc::new(MemoryTable::new("t", &columns, (0..rows).map(row).collect()))
}

/// `SELECT count(*), min(n), max(n) FROM input`
fn counted(mut builder: Builder, input: NodeId) -> Plan {
    let number = builder.columns(input).remove(0);
    let calls = [
        ("count", SqlType::BigInt, vec![]),
        ("min", SqlType::Integer, vec![number.clone()]),
        ("max", SqlType::Integer, vec![number]),
    ];
    let aggregates = calls.map(|(name, ty, args)| {
        let call = builder.aggregate(name, args);
        (builder.0.add_column(name, ty, true), call)
    });
    let aggregate = Aggregate { input, keys: vec![], sets: None, grouping_id: None, aggregates: aggregates.to_vec() };
    let root = builder.0.add(Node::Aggregate(aggregate));
    builder.finish(root)
}

#[test]
fn rounds_go_on_until_one_is_empty() {
    for all in [false, true] {
        let mut builder = Builder::default();
        let counts = |value| arithmetic(Arithmetic::Add, value, 1);
        let root = recursive(&mut builder, &table(3, 1, 20), all, counts, |value| is_less(value, 9));
        check(&builder.finish(root));
    }
}

#[test]
fn with_union_rows_that_were_there_end_it() {
    let mut builder = Builder::default();
    let circles = |value| arithmetic(Arithmetic::Modulo, arithmetic(Arithmetic::Add, value, 1), 7);
    let root = recursive(&mut builder, &table(2, 1, 5), false, circles, |_| None);
    check(&builder.finish(root));
}

#[test]
fn the_step_is_shown() {
    let mut builder = Builder::default();
    let root = recursive(&mut builder, &table(1, 1, 1), true, |value| value, |value| is_less(value, 0));
    let text = explained(&builder.finish(root), &query());
    assert!(text.contains("Recursion") && text.contains("step") && text.contains("Filter n < 0"), "{text}");
}

/// `WITH RECURSIVE r AS (SELECT n, s FROM t UNION ALL SELECT r.n + 1, r.s FROM r JOIN g ON r.n = g.n)`, where g is a node
/// over another table that `of_table` makes. The plan, the step and that node.
fn joined(of_table: impl Fn(&mut Builder, NodeId) -> NodeId) -> (Plan, NodeId, NodeId) {
    let mut builder = Builder::default();
    let base = builder.scan(&table(3, 1, 5));
    let base_columns = builder.0.outputs(base);
    let copies = |builder: &mut Builder| base_columns.iter().map(|&column| builder.0.copy_column(column)).collect();
    let (columns, of_round): (Vec<ColumnId>, Vec<ColumnId>) = (copies(&mut builder), copies(&mut builder));
    let working = builder.0.add_column("r", SqlType::Integer, false);
    let read = builder.0.add(Node::WorkingRows { of: working, columns: of_round });
    let rows = (0..6).map(|number| vec![int(number)]).collect();
    let others = builder.scan(&Arc::new(MemoryTable::new("o", &[("n", SqlType::Integer)], rows)));
    let group = of_table(&mut builder, others);
    let (left, right) = (builder.columns(read), builder.columns(group));
    let equal = Expr::compare(Comparison::Equal, left[0].clone(), right[0].clone());
    let input = builder.join(JoinKind::Inner, read, group, vec![equal]);
    let next = builder.0.add_column("n", SqlType::Integer, true);
    let text = left[1].as_column().unwrap();
    let made = vec![(next, arithmetic(Arithmetic::Add, left[0].clone(), 1)), (text, left[1].clone())];
    let step = builder.0.add(Node::Project(Project { input, columns: made }));
    let (base, recursion_step) = ((base, base_columns), (step, vec![next, text]));
    let recursive = Recursive { working, columns, base, step: recursion_step, all: true };
    let root = builder.0.add(Node::Recursive(recursive));
    (builder.finish(root), step, group)
}

/// The distinct numbers.
fn grouped(builder: &mut Builder, input: NodeId) -> NodeId {
    let number = builder.columns(input).remove(0);
    let keys = vec![(number.as_column().unwrap(), number)];
    let aggregate = Aggregate { input, keys, sets: None, grouping_id: None, aggregates: Vec::new() };
    builder.0.add(Node::Aggregate(aggregate))
}

#[test]
fn what_is_the_same_in_all_rounds_is_kept() {
    let (plan, step, group) = joined(grouped);
    assert_eq!(invariants(&plan, step), HashSet::from([Kept::Node(group)]));
    check(&plan);

    let (plan, step, group) = joined(|builder, input| {
        let root = grouped(builder, input);
        let inner = builder.0.outputs(root)[0];
        let own = builder.0.copy_column(inner);
        let shared = builder.0.add_shared(SharedPlan { name: "g".to_owned(), root, materialized: None });
        builder.0.add(Node::Use(Use { shared, columns: vec![(own, inner)] }))
    });
    let Node::Use(used) = plan.node(group) else { panic!("{}", plan.display()) };
    assert_eq!(invariants(&plan, step), HashSet::from([Kept::Shared(used.shared)]));
    check(&plan);
    assert!(explained(&plan, &query()).contains("SharedRows"));

    // The rows of a table are read again in each round; a sample differs each time.
    let (plan, step, _) = joined(|_, input| input);
    assert_eq!(invariants(&plan, step), HashSet::new());
    check(&plan);
    let (plan, step, _) = joined(|builder, input| {
        let input = builder.0.add(Node::Sample(Sample { input, size: SampleSize::Rows(3), seed: None }));
        grouped(builder, input)
    });
    assert_eq!(invariants(&plan, step), HashSet::new());
}

#[test]
fn rounds_larger_than_memory_are_spilled() {
    const MIB: u64 = 1 << 20;
    let (rows, rounds) = (40_000, 5);
    let mut builder = Builder::default();
    let counts = |value| arithmetic(Arithmetic::Add, value, 1);
    let root = recursive(&mut builder, &table(rows, 1, 300), true, counts, |value| is_less(value, rounds));
    let plan = counted(builder, root);
    let query = World { memory_limit: 8 * MIB, force_spill: false, chunk_rows: 2048, workers: 2 }.query();
    let counted = engine_rows(&plan, &query).unwrap();
    assert_eq!(counted, [[int(rows as i64 * rounds), int(1), int(rounds)]]);
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 16 * MIB, "{statistics:?}");
}

#[test]
fn rows_that_were_there_are_spilled() {
    const MIB: u64 = 1 << 20;
    let (rows, rounds) = (40_000, 6);
    let mut builder = Builder::default();
    // 1, 2, …, 5, 0, and then 1 again.
    let circles = |value| arithmetic(Arithmetic::Modulo, arithmetic(Arithmetic::Add, value, 1), rounds);
    let root = recursive(&mut builder, &table(rows, 1, 300), false, circles, |_| None);
    let plan = counted(builder, root);
    let query = World { memory_limit: 64 * MIB, force_spill: false, chunk_rows: 2048, workers: 2 }.query();
    let counted = engine_rows(&plan, &query).unwrap();
    assert_eq!(counted, [[int(rows as i64 * rounds), int(0), int(rounds - 1)]]);
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 16 * MIB, "{statistics:?}");
}

#[test]
fn a_recursion_without_end_can_be_cancelled() {
    let mut builder = Builder::default();
    let root = recursive(&mut builder, &table(1, 1, 1), true, |value| value, |_| None);
    let plan = counted(builder, root);
    let query = query();
    let cancelled = query.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancelled.cancel.cancel();
    });
    assert_eq!(engine_rows(&plan, &query).unwrap_err().kind(), ErrorKind::Cancelled);
    canceller.join().unwrap();
}

#[test]
fn an_error_in_a_round_is_the_querys() {
    let mut builder = Builder::default();
    let grows = |value| arithmetic(Arithmetic::Multiply, value, 2_000);
    let root = recursive(&mut builder, &table(1, 1_000, 1), true, grows, |_| None);
    let plan = counted(builder, root);
    let error = engine_rows(&plan, &query()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User, "{error}");
    assert!(error.message().contains("range") || error.message().contains("overflow"), "{error}");
}
