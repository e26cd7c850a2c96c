//! Each kind of subquery in each place, and cases that went wrong elsewhere.

use godwit_plan::{
    Aggregate, Comparison, Expr, ExprKind, JoinKind, Node, NodeId, Recursive, SetOperation, SetOperator, SortKey,
    Unnest, UnnestedList, Window,
};
use godwit_reference::TestFunctions;
use godwit_types::{SqlType, Value};

use super::query::{Numbers, Query, Table, compare, equal, exists, integer, quantified, scalar};

const T: &[Numbers<'static>] = &[&[Some(1), Some(10)], &[Some(2), Some(20)], &[Some(3), Some(30)], &[None, Some(20)]];
const U: &[Numbers<'static>] =
    &[&[Some(1), Some(10)], &[Some(1), Some(11)], &[Some(2), None], &[None, Some(30)], &[Some(2), Some(20)]];

fn tables(query: &mut Query) -> (Table, Table) {
    (query.table("t", 2, T), query.table("u", 2, U))
}

/// Builds a subquery over `u`, correlated with a column of `t` in different ways.
fn subqueries(query: &mut Query, outer: &Expr, left: &Expr, kind: usize) -> Option<Expr> {
    let u = query.table("u", 2, U);
    let (a, b) = (&u.columns[0], &u.columns[1]);
    let by_key = query.filter(u.node, vec![equal(a, outer)]);
    let any =
        |comparison, all, plan: NodeId| quantified(vec![left.clone()], comparison, all, plan, std::slice::from_ref(b));
    let is_positive = |value: Expr| Expr::compare(Comparison::Less, integer(1), value.cast_to(&SqlType::Integer));
    Some(match kind {
        0 => exists(by_key),
        1 => exists(by_key).negated(),
        2 => any(Comparison::Equal, false, by_key),
        3 => any(Comparison::Equal, false, by_key).negated(),
        4 => any(Comparison::Less, false, by_key),
        5 => any(Comparison::GreaterOrEqual, true, by_key),
        6 => any(Comparison::NotEqual, true, u.node),
        7 => any(Comparison::Equal, false, u.node).negated(),
        8 => exists(u.node),
        9 => {
            let (counted, count) = query.aggregate(by_key, &[], "count", vec![b.clone()]);
            is_positive(scalar(counted, &count))
        }
        10 => {
            let below = query.filter(u.node, vec![compare(Comparison::Less, a, outer)]);
            let (counted, count) = query.aggregate(below, &[], "count", vec![b.clone()]);
            is_positive(scalar(counted, &count))
        }
        11 => {
            let (summed, sum) = query.aggregate(by_key, &[], "sum", vec![b.clone()]);
            is_positive(scalar(summed, &sum))
        }
        12 => {
            let first = query.first(by_key, b, 1, None);
            is_positive(scalar(first, b))
        }
        13 => {
            let below = query.filter(u.node, vec![compare(Comparison::LessOrEqual, a, outer)]);
            let second = query.first(below, b, 1, Some(1));
            is_positive(scalar(second, b))
        }
        14 => {
            let (grouped, count) = query.aggregate(by_key, std::slice::from_ref(b), "count", Vec::new());
            let many = query.filter(grouped, vec![Expr::compare(Comparison::Less, Expr::bigint(0), count)]);
            exists(many)
        }
        15 => quantified(
            vec![left.clone(), outer.clone()],
            Comparison::GreaterOrEqual,
            false,
            u.node,
            &[b.clone(), a.clone()],
        ),
        16 => {
            quantified(vec![outer.clone(), left.clone()], Comparison::NotEqual, true, by_key, &[a.clone(), b.clone()])
        }
        17 => {
            let row = query.one_row();
            let (row, columns) = query.project(row, vec![outer.clone()]);
            is_positive(scalar(row, &columns[0]))
        }
        _ => return None,
    })
}

/// A plan around a subquery, and its outputs.
type Placement = fn(&mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)>;

fn in_filter(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (t, _) = tables(query);
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    Some((query.filter(t.node, vec![subquery]), t.columns))
}

fn in_or(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (t, _) = tables(query);
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let either = Expr::or([subquery, equal(&t.columns[0], &integer(3))]);
    Some((query.filter(t.node, vec![either]), t.columns))
}

fn in_select_list(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (t, _) = tables(query);
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    Some(query.project(t.node, vec![t.columns[1].clone(), subquery]))
}

fn in_aggregate(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (t, _) = tables(query);
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let mut call = TestFunctions.aggregate_call("count", Vec::new());
    call.filter = Some(subquery.clone());
    let count = query.plan.add_column("n", SqlType::BigInt, false);
    let key = query.plan.add_column("k", SqlType::Boolean, true);
    let columns = vec![query.column(key), query.column(count)];
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let aggregate = Aggregate {
        input: t.node,
        keys: vec![(key, subquery)],
        sets: None,
        grouping_id: None,
        aggregates: vec![(count, call)],
    };
    Some((query.plan.add(Node::Aggregate(aggregate)), columns))
}

fn in_sort_and_window(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (t, _) = tables(query);
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let call = TestFunctions.window_call("count", vec![t.columns[0].clone()], vec![subquery], Vec::new());
    let count = query.plan.add_column("w", call.ty.clone(), call.nullable);
    let window = query.plan.add(Node::Window(Window { input: t.node, calls: vec![(count, call)] }));
    let by_subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let key = |expr: Expr| SortKey { expr, descending: false, nulls_first: true };
    let keys = [by_subquery, t.columns[1].clone(), t.columns[0].clone()].map(key).into();
    let sort = query.plan.add(Node::Sort { input: window, keys });
    let count = query.column(count);
    let limit =
        godwit_plan::Limit { input: sort, offset: None, count: Some(Expr::bigint(3)), with_ties: true, percent: false };
    Some((query.plan.add(Node::Limit(limit)), vec![t.columns[0].clone(), t.columns[1].clone(), count]))
}

/// Puts the subquery into the condition of each kind of join, with columns of the left side, of the right side, of
/// both.
fn in_join(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let (sides, kind) = (kind % 3, kind / 3);
    let join_kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];
    let (join_kind, kind) = (join_kinds[kind % 6].clone(), kind / 6);
    let (t, v) = (query.table("t", 2, T), query.table("v", 2, T));
    let (outer, left) = match sides {
        0 => (&t.columns[0], &t.columns[1]),
        1 => (&v.columns[0], &v.columns[1]),
        _ => (&t.columns[0], &v.columns[1]),
    };
    let subquery = subqueries(query, outer, left, kind)?;
    let near = compare(Comparison::LessOrEqual, &t.columns[0], &v.columns[0]);
    let columns = if matches!(join_kind, JoinKind::Semi | JoinKind::Anti) {
        t.columns.clone()
    } else {
        [t.columns.as_slice(), &v.columns].concat()
    };
    Some((query.join(join_kind, t.node, v.node, vec![near, subquery]), columns))
}

/// Puts it inside the NULL side of an outer join inside a subquery, with both sides correlated or one.
fn below_outer_join(query: &mut Query, kind: usize) -> Option<(NodeId, Vec<Expr>)> {
    let join_kinds = [JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Anti];
    let (join_kind, kind) = (join_kinds[kind % 4].clone(), kind / 4);
    let (t, v) = (query.table("t", 2, T), query.table("v", 2, T));
    let subquery = subqueries(query, &t.columns[0], &t.columns[1], kind)?;
    let one_row = query.one_row();
    let right = query.filter(one_row, vec![subquery]);
    let joined = query.join(join_kind, v.node, right, Vec::new());
    let (counted, count) = query.aggregate(joined, &[], "count", Vec::new());
    let value = scalar(counted, &count);
    Some(query.project(t.node, vec![t.columns[0].clone(), value]))
}

#[test]
fn every_kind_in_every_place() {
    let places: [(&str, Placement); 7] = [
        ("filter", in_filter),
        ("or", in_or),
        ("select list", in_select_list),
        ("aggregate", in_aggregate),
        ("sort and window", in_sort_and_window),
        ("join", in_join),
        ("below an outer join", below_outer_join),
    ];
    for (name, place) in places {
        let mut kinds = 0;
        for kind in 0.. {
            let mut query = Query::default();
            let Some((root, output)) = place(&mut query, kind) else { break };
            println!("{name} {kind}");
            query.unnested(root, &output);
            kinds += 1;
        }
        assert!(kinds >= 18, "{name}: only {kinds}");
    }
}

fn numbers(rows: Vec<Vec<Value>>) -> Vec<Vec<Option<i128>>> {
    let number = |value: Value| match value {
        Value::Integer(value) => Some(value),
        Value::Boolean(value) => Some(value.into()),
        Value::Null => None,
        other => panic!("{other:?} is no number"),
    };
    rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect()
}

/// `EXISTS (VALUES (1), (2) LEFT JOIN (SELECT * FROM n j WHERE j.i = n.i) s ON x = s.i)` is true for all.
#[test]
fn correlation_below_the_null_side_stays_there() {
    let rows: &[Numbers<'_>] = &[&[Some(1)], &[Some(2)], &[Some(3)], &[None]];
    let mut query = Query::default();
    let (n, j, x) = (query.table("n", 1, rows), query.table("n", 1, rows), query.table("x", 1, &rows[..2]));
    let s = query.filter(j.node, vec![equal(&j.columns[0], &n.columns[0])]);
    let joined = query.join(JoinKind::Left, x.node, s, vec![equal(&x.columns[0], &j.columns[0])]);
    let (root, output) = query.project(n.node, vec![exists(joined)]);
    let (_, found) = query.unnested(root, &output);
    assert_eq!(numbers(found), vec![vec![Some(1)]; 4]);
}

/// `(SELECT count(*) FROM (SELECT 1) LEFT JOIN (… j.i = n.i) s ON true)` is 1 for NULL.
#[test]
fn an_aggregate_of_an_outer_join_counts_its_row() {
    let rows: &[Numbers<'_>] = &[&[Some(1)], &[Some(1)], &[None]];
    let mut query = Query::default();
    let (n, j) = (query.table("n", 1, rows), query.table("n", 1, rows));
    let s = query.filter(j.node, vec![equal(&j.columns[0], &n.columns[0])]);
    let one = query.one_row();
    let joined = query.join(JoinKind::Left, one, s, Vec::new());
    let (counted, count) = query.aggregate(joined, &[], "count", Vec::new());
    let value = scalar(counted, &count);
    let (root, output) = query.project(n.node, vec![value]);
    let (_, found) = query.unnested(root, &output);
    assert_eq!(numbers(found), [[Some(2)], [Some(2)], [Some(1)]]);
}

/// `b > ALL (SELECT b FROM t WHERE a = 1)` compares with the other instance of the table.
#[test]
fn all_over_the_same_table_compares_two_instances() {
    let mut query = Query::default();
    let (t, other) = (query.table("t", 2, &T[..3]), query.table("t", 2, &T[..3]));
    let first = query.filter(other.node, vec![equal(&other.columns[0], &integer(1))]);
    let left = vec![t.columns[1].clone()];
    let all = quantified(left, Comparison::Greater, true, first, std::slice::from_ref(&other.columns[1]));
    let root = query.filter(t.node, vec![all]);
    let (_, found) = query.unnested(root, &t.columns[..1]);
    assert_eq!(numbers(found), [[Some(2)], [Some(3)]]);
}

/// Nested twice, the inner one using columns of both: students who took all courses.
#[test]
fn a_division_by_two_anti_joins() {
    let mut query = Query::default();
    let (t, course, taken) = (query.table("t", 2, T), query.table("u", 2, U), query.table("t", 2, T));
    let (a, b) = (&taken.columns[0], &taken.columns[1]);
    let took = query.filter(taken.node, vec![equal(a, &t.columns[0]), equal(b, &course.columns[1])]);
    let missing = query.filter(course.node, vec![exists(took).negated(), equal(&course.columns[0], &t.columns[0])]);
    let root = query.filter(t.node, vec![exists(missing).negated()]);
    query.unnested(root, &t.columns);
}

#[test]
fn grouping_sets_with_an_empty_one_keep_its_row() {
    for sets in [vec![vec![0], vec![]], vec![vec![], vec![]], vec![vec![]]] {
        let mut query = Query::default();
        let (t, u) = tables(&mut query);
        let below = query.filter(u.node, vec![compare(Comparison::Less, &u.columns[0], &t.columns[0])]);
        let key = query.plan.add_column("k", SqlType::Integer, true);
        let grouping = query.plan.add_column("grouping", SqlType::BigInt, false);
        let count = query.plan.add_column("n", SqlType::BigInt, false);
        let aggregate = Aggregate {
            input: below,
            keys: vec![(key, u.columns[0].clone())],
            sets: Some(sets),
            grouping_id: Some(grouping),
            aggregates: vec![(count, TestFunctions.aggregate_call("count", Vec::new()))],
        };
        let right = query.plan.add(Node::Aggregate(aggregate));
        let root = query.join(JoinKind::Left, t.node, right, Vec::new());
        let output = [t.columns[0].as_column().expect("a column"), key, grouping, count].map(|id| query.column(id));
        query.unnested(root, &output);
    }
}

/// A recursion that starts from the outer row.
#[test]
fn a_domain_travels_along_in_a_recursion() {
    let mut query = Query::default();
    let (t, u) = tables(&mut query);
    let one = query.one_row();
    let (base, of_base) = query.project(one, vec![t.columns[0].clone()]);
    let working = query.plan.add_column("r", SqlType::Integer, false);
    let column = query.plan.add_column("r", SqlType::Integer, true);
    let read = query.plan.copy_column(column);
    let rows = query.plan.add(Node::WorkingRows { of: working, columns: vec![read] });
    let read = query.column(read);
    let linked = vec![equal(&u.columns[0], &read), compare(Comparison::Less, &t.columns[1], &u.columns[1])];
    let step = query.join(JoinKind::Inner, rows, u.node, linked);
    let (step, of_step) = query.project(step, vec![u.columns[1].clone()]);
    let id = |exprs: &[Expr]| exprs.iter().map(|expr| expr.as_column().expect("a column")).collect::<Vec<_>>();
    let recursive = Recursive {
        working,
        columns: vec![column],
        base: (base, id(&of_base)),
        step: (step, id(&of_step)),
        all: false,
    };
    let recursive = query.plan.add(Node::Recursive(recursive));
    let root = query.join(JoinKind::Inner, t.node, recursive, Vec::new());
    let output = [t.columns[0].clone(), query.column(column)];
    query.unnested(root, &output);
}

#[test]
fn set_operations_work_for_each_outer_row() {
    for operator in [SetOperator::Union, SetOperator::Intersect, SetOperator::Except] {
        for all in [false, true] {
            let mut query = Query::default();
            let (t, u, v) = (query.table("t", 2, T), query.table("u", 2, U), query.table("v", 2, U));
            let left = query.filter(u.node, vec![equal(&u.columns[0], &t.columns[0])]);
            let column = query.plan.add_column("c", SqlType::Integer, true);
            let id = |expr: &Expr| expr.as_column().expect("a column");
            let inputs = vec![(left, vec![id(&u.columns[1])]), (v.node, vec![id(&v.columns[1])])];
            let union = SetOperation { operator, all, columns: vec![column], inputs };
            let right = query.plan.add(Node::SetOperation(union));
            let root = query.join(JoinKind::Left, t.node, right, Vec::new());
            let output = [t.columns[0].clone(), query.column(column)];
            query.unnested(root, &output);
        }
    }
}

fn random() -> Expr {
    TestFunctions.call("random", Vec::new())
}

/// Counts of 0, ties of the last row, offsets, percentages: by numbers within a key and within a domain.
#[test]
fn limits_work_for_each_outer_row() {
    let rows: Vec<[Option<i64>; 2]> = [5, 5, 5, 4, 4, 3].into_iter().map(|b| [Some(1), Some(b)]).collect();
    let rows: Vec<Numbers<'_>> = rows.iter().map(|row| row.as_slice()).collect();
    for case in 0..96 {
        let (count, offset, with_ties, percent) = (case % 4, case / 4 % 3, case / 12 % 2 == 1, case / 24 % 2 == 1);
        let comparison = if case / 48 == 1 { Comparison::LessOrEqual } else { Comparison::Equal };
        let mut query = Query::default();
        let (t, u) = (query.table("t", 2, T), query.table("u", 2, &rows));
        let own = query.filter(u.node, vec![compare(comparison, &u.columns[0], &t.columns[0])]);
        let key = SortKey { expr: u.columns[1].clone(), descending: true, nulls_first: false };
        let sorted = query.plan.add(Node::Sort { input: own, keys: vec![key] });
        let share = Expr::literal(Value::Float(count as f64 * 30.0), SqlType::Double);
        let limit = godwit_plan::Limit {
            input: sorted,
            offset: Some(Expr::bigint(offset)),
            count: Some(if percent { share } else { Expr::bigint(count) }),
            with_ties,
            percent,
        };
        let right = query.plan.add(Node::Limit(limit));
        let root = query.join(JoinKind::Left, t.node, right, Vec::new());
        query.unnested(root, &[t.columns[0].clone(), u.columns[1].clone()]);
    }
}

/// Volatile functions run for each outer row, not for each distinct value.
#[test]
fn volatile_subqueries_run_for_each_row() {
    let row: Numbers<'_> = &[Some(1)];
    let mut query = Query::default();
    let t = query.table("t", 1, &[row; 5]);
    let one = query.one_row();
    let one = query.filter(one, vec![equal(&t.columns[0], &integer(1))]);
    let (inner, columns) = query.project(one, vec![random()]);
    let (summed, sum) = query.aggregate(inner, &[], "max", columns);
    let (root, output) = query.project(t.node, vec![scalar(summed, &sum)]);
    query.plan.root = Some(root);
    let column = output[0].as_column().expect("a column");
    query.plan.output = vec![godwit_plan::OutputColumn { name: "c".into(), column }];
    crate::unnest::unnest(&mut query.plan, &TestFunctions).expect("it can be unnested");
    crate::unnest::check::assert_unnested(&query.plan);
    let rows = godwit_reference::evaluate(&query.plan, &[]).expect("it can be evaluated");
    for (index, row) in rows.iter().enumerate() {
        assert!(rows[..index].iter().all(|other| other != row), "{row:?} is there twice");
    }
    assert_eq!(rows.len(), 5);
}

#[test]
fn more_than_one_row_is_an_error_only_where_the_value_is_used() {
    for (guard, fails) in [(3, false), (1, true)] {
        let mut query = Query::default();
        let (t, u) = tables(&mut query);
        let by_key = query.filter(u.node, vec![equal(&u.columns[0], &t.columns[0])]);
        let branches = vec![(equal(&t.columns[0], &integer(guard)), scalar(by_key, &u.columns[1]))];
        let case = Expr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Integer, true);
        let (root, output) = query.project(t.node, vec![case]);
        query.plan.root = Some(root);
        let column = output[0].as_column().expect("a column");
        query.plan.output = vec![godwit_plan::OutputColumn { name: "c".into(), column }];
        crate::unnest::unnest(&mut query.plan, &TestFunctions).expect("it can be unnested");
        let found = godwit_reference::evaluate(&query.plan, &[]);
        assert_eq!(found.is_err(), fails, "{found:?}");
    }
}

/// `LEFT JOIN LATERAL unnest(list)`, and a subquery over the elements.
#[test]
fn lists_of_the_outer_row() {
    for kind in [JoinKind::Inner, JoinKind::Left] {
        let mut query = Query::default();
        let t = query.table("t", 2, T);
        let list = TestFunctions.call("list_value", t.columns.clone());
        let element = query.plan.add_column("e", SqlType::Integer, true);
        let one = query.one_row();
        let lists = vec![UnnestedList { column: element, list }];
        let unnest = query.plan.add(Node::Unnest(Unnest { input: one, lists, ordinality: None, outer: false }));
        let root = query.join(kind, t.node, unnest, Vec::new());
        let output = [t.columns[0].clone(), query.column(element)];
        let (text, _) = query.unnested(root, &output);
        assert!(!text.contains("domain"), "{text}");
    }
}

/// An expression that a rewrite copied to two places, with its plan.
#[test]
fn one_subquery_in_two_expressions_becomes_two_joins() {
    let mut query = Query::default();
    let (t, u) = tables(&mut query);
    let by_key = query.filter(u.node, vec![equal(&u.columns[0], &t.columns[0])]);
    let (counted, count) = query.aggregate(by_key, &[], "count", Vec::new());
    let value = scalar(counted, &count);
    let filtered = query.filter(t.node, vec![Expr::compare(Comparison::Less, Expr::bigint(0), value.clone())]);
    let (root, output) = query.project(filtered, vec![value.clone(), value]);
    query.unnested(root, &output);
}
