//! Tests that plans run by the engine return the same rows as the reference evaluator.
//!
//! Rewrites of nodes without an operator are also compared with the originals by the reference evaluator alone.

mod by_order;
mod codes;
mod engine;
mod extremes;
mod first_rows;
mod random;
mod recursion;

use std::sync::Arc;

use godwit_common::ErrorKind;
use godwit_pipeline::{QueryContext, QuerySettings};
use godwit_plan::{
    Aggregate, AggregateCall, ArgumentType, Arithmetic, ColumnId, Comparison, Expr, ExprKind, FunctionRegistry, Join,
    JoinKind, Limit, Node, NodeId, OutputColumn, Plan, Relation, Sample, SampleSize, Scan, SetOperation, SetOperator,
    SharedPlan, SortKey, Unnest, UnnestedList, Use, Values,
};
use godwit_reference::{MemoryTable, TestFunctions, agree, evaluate};
use godwit_types::{SqlType, Value};

use self::engine::{engine_rows, explained};
use super::lower::lower;
use crate::testing::World;

/// The worlds in which plans are run: one worker with plenty of memory, several with tiny chunks, and one where
/// everything is spilled.
fn worlds() -> [World; 3] {
    let usual = World { memory_limit: 64 << 20, force_spill: false, chunk_rows: 2048, workers: 1 };
    [
        usual,
        World { chunk_rows: 3, workers: 2, ..usual },
        World { force_spill: true, chunk_rows: 7, workers: 2, ..usual },
    ]
}

/// A query that keeps all rows compressed.
fn compressing(world: World) -> Arc<QueryContext> {
    let query = world.query();
    let settings = QuerySettings { compress_from_bytes: Some(0), ..query.settings.clone() };
    QueryContext::new(query.memory.clone(), settings, query.cancel.clone())
}

/// Each way of running plans.
fn queries() -> impl Iterator<Item = Arc<QueryContext>> {
    worlds().into_iter().flat_map(|world| [world.query(), compressing(world)])
}

fn query() -> Arc<QueryContext> {
    worlds()[0].query()
}

/// Both evaluators, in all worlds.
fn check(plan: &Plan) {
    let expected = evaluate(plan, &[]);
    let lowered = evaluate(&lower(plan), &[]);
    if let Err(difference) = agree(&expected, &lowered) {
        panic!("lowered: {difference}\n{}\n{}", plan.display(), lower(plan).display());
    }
    for query in queries() {
        let (actual, settings) = (engine_rows(plan, &query), &query.settings);
        if let Err(difference) = agree(&expected, &actual) {
            panic!("{settings:?}: {difference}\n{}\n{}", plan.display(), lower(plan).display());
        }
        if let (Ok(_), Err(error)) = (&expected, &actual) {
            panic!("{settings:?}: {error}\n{}", plan.display());
        }
    }
}

/// A plan in the making.
#[derive(Default)]
struct Builder(Plan);

impl Builder {
    fn scan(&mut self, table: &Arc<MemoryTable>) -> NodeId {
        let columns = table.columns().iter().enumerate();
        let columns = columns
            .map(|(at, column)| (self.0.add_column(column.name.clone(), column.ty.clone(), column.nullable), at));
        let (columns, relation) = (columns.collect(), table.clone());
        self.0.add(Node::Scan(Scan { relation, columns, filters: Vec::new(), rows_enough: None }))
    }

    fn columns(&self, node: NodeId) -> Vec<Expr> {
        let nullable = self.0.nullable_columns(node);
        let column =
            |id: ColumnId| Expr::new(ExprKind::Column(id), self.0.column(id).ty.clone(), nullable.contains(id));
        self.0.outputs(node).into_iter().map(column).collect()
    }

    fn join(&mut self, kind: JoinKind, left: NodeId, right: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.0.add(Node::Join(Join { kind, left, right, conditions }))
    }

    fn finish(mut self, root: NodeId) -> Plan {
        let output = |column| OutputColumn { name: self.0.column(column).name.clone(), column };
        self.0.output = self.0.outputs(root).into_iter().map(output).collect();
        self.0.root = Some(root);
        self.0
    }

    fn aggregate(&self, name: &str, args: Vec<Expr>) -> AggregateCall {
        let types: Vec<ArgumentType<'_>> = args
            .iter()
            .map(|arg| ArgumentType { ty: &arg.ty, value: None, nullable: arg.nullable, lambda_parameters: None })
            .collect();
        let found = TestFunctions.aggregate(name, &types, &[]).unwrap();
        AggregateCall::of(found, args)
    }
}

fn int(value: i64) -> Value {
    Value::Integer(value.into())
}

/// Two tables (n INTEGER, s VARCHAR) with duplicates and NULLs, whose values partly match.
fn tables() -> [Arc<MemoryTable>; 2] {
    let row = |number: Option<i64>, text: Option<&str>| {
        vec![number.map_or(Value::Null, int), text.map_or(Value::Null, Value::text)]
    };
    let columns = [("n", SqlType::Integer), ("s", SqlType::Varchar)];
    let left = vec![
        row(Some(1), Some("a")),
        row(Some(1), Some("a")),
        row(Some(2), None),
        row(None, Some("b")),
        row(None, None),
        row(Some(3), Some("c")),
        row(Some(7), Some("a string that is too long to be inlined")),
    ];
    let right = vec![
        row(Some(1), Some("a")),
        row(Some(2), Some("b")),
        row(Some(2), None),
        row(None, None),
        row(Some(4), Some("d")),
        row(Some(7), Some("a string that is too long to be inlined")),
    ];
    [Arc::new(MemoryTable::new("l", &columns, left)), Arc::new(MemoryTable::new("r", &columns, right))]
}

#[test]
fn joins_of_all_kinds_and_conditions() {
    let kinds = [
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::Full,
        JoinKind::Semi,
        JoinKind::Anti,
        JoinKind::RightSemi,
        JoinKind::RightAnti,
    ];
    for kind in kinds {
        for conditions in 0..7 {
            let mut builder = Builder::default();
            let [left, right] = tables().map(|table| builder.scan(&table));
            let (l, r) = (builder.columns(left), builder.columns(right));
            let equal = |comparison, at: usize| Expr::compare(comparison, l[at].clone(), r[at].clone());
            let conditions = match conditions {
                0 => vec![],
                1 => vec![equal(Comparison::Equal, 0)],
                2 => vec![equal(Comparison::Equal, 0), equal(Comparison::Equal, 1)],
                3 => vec![equal(Comparison::NotDistinct, 0), equal(Comparison::NotDistinct, 1)],
                4 => vec![equal(Comparison::NotDistinct, 0), equal(Comparison::Equal, 1)],
                5 => vec![equal(Comparison::Less, 0)],
                _ => vec![equal(Comparison::Equal, 0), equal(Comparison::NotEqual, 1)],
            };
            let joined = builder.join(kind.clone(), left, right, conditions);
            check(&builder.finish(joined));
        }
    }
}

#[test]
fn marks_with_and_without_null() {
    for form in 0..14 {
        let mut builder = Builder::default();
        let [left, right] = tables().map(|table| builder.scan(&table));
        let (l, r) = (builder.columns(left), builder.columns(right));
        let equal = |comparison, at: usize| Expr::compare(comparison, l[at].clone(), r[at].clone());
        let both = || vec![equal(Comparison::Equal, 0), equal(Comparison::Equal, 1)];
        let of_right = |number: i128| {
            let number = Expr::literal(Value::Integer(number), r[0].ty.clone());
            Expr::compare(Comparison::Equal, number, r[0].clone())
        };
        let (conditions, compare) = match form {
            0 => (vec![equal(Comparison::Equal, 0)], vec![]),
            1 => (vec![], vec![equal(Comparison::Equal, 0)]),
            2 => (vec![], both()),
            3 => (vec![equal(Comparison::NotDistinct, 1)], vec![equal(Comparison::Equal, 0)]),
            4 => (vec![], vec![equal(Comparison::Less, 0)]),
            // Three and four equalities, one within a condition on pairs, one with a constant, of a few rows.
            9 => (vec![], [both(), vec![of_right(1)]].concat()),
            10 => (vec![], [both(), both()].concat()),
            11 => (vec![equal(Comparison::Less, 0)], both()),
            12 => (vec![of_right(7)], both()),
            13 => (vec![], vec![equal(Comparison::NotDistinct, 0), equal(Comparison::Equal, 1)]),
            5 => (vec![], vec![equal(Comparison::NotDistinct, 0), equal(Comparison::Greater, 1)]),
            // All rows of the left side have one mark, or nearly.
            6 => (vec![], vec![of_right(7)]),
            7 => (vec![], vec![of_right(1)]),
            _ => (vec![], vec![of_right(1), equal(Comparison::Less, 0)]),
        };
        let mark = builder.0.add_column("mark", SqlType::Boolean, true);
        let joined = builder.join(JoinKind::Mark { mark, compare }, left, right, conditions);
        check(&builder.finish(joined));
    }
}

#[test]
fn set_operations() {
    for operator in [SetOperator::Union, SetOperator::Intersect, SetOperator::Except] {
        for all in [false, true] {
            let mut builder = Builder::default();
            let [left, right] = tables().map(|table| builder.scan(&table));
            let inputs = vec![(left, builder.0.outputs(left)), (right, builder.0.outputs(right))];
            let columns = ["n", "s"].into_iter().zip([SqlType::Integer, SqlType::Varchar]);
            let columns = columns.map(|(name, ty)| builder.0.add_column(name, ty, true)).collect();
            let root = builder.0.add(Node::SetOperation(SetOperation { operator, all, columns, inputs }));
            check(&builder.finish(root));
        }
    }
}

#[test]
fn limits_of_an_order() {
    let percent = |percent: f64| Expr::literal(Value::Float(percent), SqlType::Double);
    let cases = [
        (None, Some(Expr::bigint(3)), false, false),
        (Some(Expr::bigint(2)), None, false, false),
        (Some(Expr::bigint(1)), Some(Expr::bigint(2)), true, false),
        (None, Some(Expr::bigint(1)), true, false),
        (None, Some(Expr::bigint(0)), true, false),
        (None, Some(Expr::null(SqlType::BigInt)), true, false),
        (None, Some(percent(40.0)), false, true),
        (Some(Expr::bigint(1)), Some(percent(20.0)), true, true),
        (None, Some(Expr::bigint(-1)), false, false),
        (None, Some(percent(101.0)), false, true),
    ];
    for (offset, count, with_ties, percent) in cases {
        let mut builder = Builder::default();
        let [left, _] = tables();
        let scan = builder.scan(&left);
        let columns = builder.columns(scan);
        let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: true, nulls_first: false };
        let keys = if with_ties { vec![key(&columns[0])] } else { columns.iter().map(key).collect() };
        let input = builder.0.add(Node::Sort { input: scan, keys });
        let root = builder.0.add(Node::Limit(Limit { input, offset, count, with_ties, percent }));
        let plan = builder.finish(root);
        if evaluate(&plan, &[]).is_ok() {
            check(&plan);
        } else {
            assert_eq!(engine_rows(&plan, &query()).unwrap_err().kind(), ErrorKind::User);
        }
    }
}

#[test]
fn a_limit_that_is_known_when_the_query_runs() {
    let mut builder = Builder::default();
    let [left, right] = tables();
    let (scan, counted) = (builder.scan(&left), builder.scan(&right));
    let count = builder.aggregate("count", vec![]);
    let total = builder.0.add_column("total", SqlType::BigInt, false);
    let counts = builder.0.add(Node::Aggregate(Aggregate {
        input: counted,
        keys: vec![],
        sets: None,
        grouping_id: None,
        aggregates: vec![(total, count)],
    }));
    let subquery =
        godwit_plan::Subquery { kind: godwit_plan::SubqueryKind::Scalar, plan: counts, columns: vec![total] };
    let subquery = Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::BigInt, true);
    let less = Expr::new(
        ExprKind::Arithmetic(Arithmetic::Subtract, Box::new(subquery), Box::new(Expr::bigint(4))),
        SqlType::BigInt,
        true,
    );
    let keys = builder.columns(scan).into_iter().map(|expr| SortKey { expr, descending: false, nulls_first: true });
    let keys = keys.collect();
    let input = builder.0.add(Node::Sort { input: scan, keys });
    let limit = Limit { input, offset: None, count: Some(less), with_ties: false, percent: false };
    let root = builder.0.add(Node::Limit(limit));
    check(&builder.finish(root));
}

#[test]
fn grouping_sets_have_their_numbers() {
    let sets = [vec![vec![0, 1], vec![0], vec![]], vec![vec![1], vec![1], vec![0, 1]], vec![vec![], vec![]]];
    for (sets, has_number) in sets.into_iter().flat_map(|sets| [(sets.clone(), true), (sets, false)]) {
        let mut builder = Builder::default();
        let [left, _] = tables();
        let input = builder.scan(&left);
        let columns = builder.columns(input);
        let keys = columns.iter().map(|key| (builder.0.copy_column(key.as_column().unwrap()), key.clone())).collect();
        let number = builder.0.add_column("grouping", SqlType::BigInt, false);
        let total = builder.0.add_column("total", SqlType::BigInt, false);
        let count = builder.aggregate("count", vec![]);
        let root = builder.0.add(Node::Aggregate(Aggregate {
            input,
            keys,
            sets: Some(sets),
            grouping_id: has_number.then_some(number),
            aggregates: vec![(total, count)],
        }));
        check(&builder.finish(root));
    }
}

#[test]
fn lists_become_rows() {
    let list = |values: &[Option<i64>]| {
        Value::List(values.iter().map(|value| value.map_or(Value::Null, int)).collect::<Vec<_>>().into())
    };
    let rows = vec![
        vec![int(1), list(&[Some(1), None, Some(3)]), list(&[Some(4)])],
        vec![int(2), list(&[]), list(&[])],
        vec![int(3), Value::Null, list(&[Some(5), Some(6)])],
    ];
    let ty = SqlType::list_of(SqlType::Integer);
    let table = MemoryTable::new("t", &[("n", SqlType::Integer), ("a", ty.clone()), ("b", ty)], rows);
    let table = Arc::new(table);
    for outer in [false, true] {
        let mut builder = Builder::default();
        let input = builder.scan(&table);
        let columns = builder.columns(input);
        let lists = columns[1..].iter().map(|list| UnnestedList {
            column: builder.0.add_column("element", SqlType::Integer, true),
            list: list.clone(),
        });
        let lists = lists.collect();
        let ordinality = Some(builder.0.add_column("at", SqlType::BigInt, outer));
        let root = builder.0.add(Node::Unnest(Unnest { input, lists, ordinality, outer }));
        check(&builder.finish(root));
    }
}

#[test]
fn shared_rows_are_read_by_each_use() {
    let mut builder = Builder::default();
    let [left, _] = tables();
    let root = builder.scan(&left);
    let inner = builder.0.outputs(root);
    let shared = builder.0.add_shared(SharedPlan { name: "s".into(), root, materialized: Some(true) });
    let [a, b] = [(), ()].map(|()| {
        let columns = inner.iter().map(|&column| (builder.0.copy_column(column), column)).collect();
        builder.0.add(Node::Use(Use { shared, columns }))
    });
    let (left, right) = (builder.columns(a), builder.columns(b));
    let equal = Expr::compare(Comparison::NotDistinct, left[0].clone(), right[0].clone());
    let joined = builder.join(JoinKind::Left, a, b, vec![equal]);
    let plan = builder.finish(joined);
    check(&plan);
    let text = explained(&plan, &query());
    assert_eq!(text.matches("Scan l").count(), 1, "{text}");
}

#[test]
fn values_of_literals_and_others() {
    let mut builder = Builder::default();
    let columns: Vec<ColumnId> = [SqlType::Integer, SqlType::Varchar, SqlType::Double]
        .into_iter()
        .map(|ty| builder.0.add_column("v", ty, true))
        .collect();
    let sum = |a: i64, b: i64| {
        let [a, b] = [a, b].map(|value| Box::new(Expr::literal(int(value), SqlType::Integer)));
        Expr::new(ExprKind::Arithmetic(Arithmetic::Add, a, b), SqlType::Integer, false)
    };
    let text = |text: &str| Expr::literal(Value::text(text), SqlType::Varchar);
    let rows = vec![
        vec![sum(1, 2), text("a"), Expr::null(SqlType::Double)],
        vec![Expr::null(SqlType::Integer), text(""), Expr::literal(Value::Float(-0.5), SqlType::Double)],
        vec![sum(100_000, 2_000_000), Expr::null(SqlType::Varchar), Expr::null(SqlType::Double)],
    ];
    let root = builder.0.add(Node::Values(Values { columns, rows }));
    check(&builder.finish(root));

    for rows in 0..3 {
        let mut builder = Builder::default();
        let root = builder.0.add(Node::Values(Values { columns: vec![], rows: vec![vec![]; rows] }));
        let total = builder.0.add_column("total", SqlType::BigInt, false);
        let count = builder.aggregate("count", vec![]);
        let root = builder.0.add(Node::Aggregate(Aggregate {
            input: root,
            keys: vec![],
            sets: None,
            grouping_id: None,
            aggregates: vec![(total, count)],
        }));
        check(&builder.finish(root));
    }
}

#[test]
fn samples_have_so_many_rows() {
    for (size, rows) in [(SampleSize::Rows(3), 3), (SampleSize::Percent(100.0), 7), (SampleSize::Percent(0.0), 0)] {
        let mut builder = Builder::default();
        let [left, _] = tables();
        let input = builder.scan(&left);
        let root = builder.0.add(Node::Sample(Sample { input, size, seed: None }));
        let plan = builder.finish(root);
        assert_eq!(engine_rows(&plan, &query()).unwrap().len(), rows, "{size:?}");
    }
}

#[test]
fn samples_of_a_seed_are_the_same() {
    let rows = (0..5_000).map(|number| vec![int(number)]).collect();
    let table = Arc::new(MemoryTable::new("t", &[("n", SqlType::Integer)], rows));
    for size in [SampleSize::Rows(100), SampleSize::Percent(2.0)] {
        let sampled = |seed, world: World| {
            let mut builder = Builder::default();
            let input = builder.scan(&table);
            let root = builder.0.add(Node::Sample(Sample { input, size, seed: Some(seed) }));
            let mut rows = engine_rows(&builder.finish(root), &world.query()).unwrap();
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        let [one, several, spilling] = worlds();
        let first = sampled(7, one);
        assert!((60..140).contains(&first.len()), "{} rows", first.len());
        assert_eq!(first, sampled(7, several));
        assert_eq!(first, sampled(7, spilling));
        assert_ne!(first, sampled(8, one));
    }
}

#[test]
fn explain_shows_columns_by_their_names() {
    let mut builder = Builder::default();
    let [left, right] = tables().map(|table| builder.scan(&table));
    let (l, r) = (builder.columns(left), builder.columns(right));
    let is_one = Expr::compare(Comparison::Equal, l[0].clone(), Expr::literal(int(1), SqlType::Integer));
    let filtered = builder.0.add(Node::Filter { input: left, conditions: vec![is_one] });
    let equal = Expr::compare(Comparison::Equal, l[1].clone(), r[1].clone());
    let joined = builder.join(JoinKind::Inner, filtered, right, vec![equal]);
    let text = explained(&builder.finish(joined), &query());
    assert!(text.contains("HashJoin Inner s = s") && text.contains("Filter n = 1"), "{text}");
}
