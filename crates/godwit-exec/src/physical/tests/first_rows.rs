//! Window functions that number rows, where only small numbers are needed.

use std::sync::Arc;

use godwit_plan::{Aggregate, Comparison, Expr, Node, NodeId, SortKey, Window, WindowCall};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::super::lower::numbering;
use super::{Builder, check, explained, int, query};

/// (p, o): three partitions, one of NULLs, with equal values of `o` in each.
fn table() -> Arc<MemoryTable> {
    let row = |number: i64| {
        let o = if number % 7 == 3 { Value::Null } else { int(number * 5 % 4) };
        let p = if number % 3 == 2 { Value::Null } else { int(number % 3) };
        vec![p, o]
    };
    let columns = [("p", SqlType::Integer), ("o", SqlType::Integer)];
    Arc::new(MemoryTable::new("t", &columns, (0..40).map(row).collect()))
}

/// `names` as columns, of which the first is compared with a constant.
fn filtered(names: &[&str], comparison: Comparison, limit: i64, swapped: bool) -> (Builder, NodeId) {
    let mut builder = Builder::default();
    let input = builder.scan(&table());
    let columns = builder.columns(input);
    let key = SortKey { expr: columns[1].clone(), descending: true, nulls_first: false };
    let calls = names.iter().map(|name| {
        let ty = if *name == "cume_dist" { SqlType::Double } else { SqlType::BigInt };
        let call = numbering(name, vec![columns[0].clone()], vec![key.clone()]);
        (builder.0.add_column(*name, ty.clone(), false), WindowCall { ty, ..call })
    });
    let calls = calls.collect();
    let window = builder.0.add(Node::Window(Window { input, calls }));
    let number = builder.columns(window).swap_remove(2);
    let limit = Expr::literal(Value::Integer(i128::from(limit)), SqlType::BigInt);
    let condition = match swapped {
        true => Expr::compare(comparison.swapped(), limit, number),
        false => Expr::compare(comparison, number, limit),
    };
    let root = builder.0.add(Node::Filter { input: window, conditions: vec![condition] });
    (builder, root)
}

#[test]
fn rows_behind_the_first_are_dropped_before_the_sort() {
    let cases: [(&[&str], Comparison, i64, Option<&str>); 9] = [
        (&["rank"], Comparison::LessOrEqual, 3, Some("First 3 of each partition")),
        (&["rank"], Comparison::Less, 3, Some("First 2 of each partition")),
        (&["rank"], Comparison::Equal, 1, Some("First 1 of each partition")),
        (&["rank", "dense_rank"], Comparison::Equal, 4, Some("First 4 of each partition")),
        (&["dense_rank"], Comparison::LessOrEqual, 2, None),
        (&["rank", "cume_dist"], Comparison::LessOrEqual, 2, None),
        (&["rank"], Comparison::Greater, 2, None),
        (&["rank"], Comparison::LessOrEqual, 0, None),
        (&["rank"], Comparison::LessOrEqual, -1, None),
    ];
    for (names, comparison, limit, expected) in cases {
        for swapped in [false, true] {
            let (builder, root) = filtered(names, comparison, limit, swapped);
            let plan = builder.finish(root);
            let is_number = !names.contains(&"cume_dist");
            if is_number {
                check(&plan);
            }
            let text = explained(&plan, &query());
            assert_eq!(text.contains("of each partition"), expected.is_some(), "{text}");
            assert!(text.contains(expected.unwrap_or_default()), "{text}");
        }
    }
}

/// Which of equal rows come first is arbitrary, but how many there are isn't.
#[test]
fn as_many_rows_as_are_numbered() {
    let (mut builder, root) = filtered(&["row_number"], Comparison::LessOrEqual, 3, false);
    let partition = builder.columns(root).swap_remove(0);
    let count = builder.aggregate("count", vec![Expr::bigint(1)]);
    let id = builder.0.add_column("n", SqlType::BigInt, false);
    let key = partition.as_column().map(|column| (column, partition.clone()));
    let root = builder.0.add(Node::Aggregate(Aggregate {
        input: root,
        keys: key.into_iter().collect(),
        sets: None,
        grouping_id: None,
        aggregates: vec![(id, count)],
    }));
    let plan = builder.finish(root);
    check(&plan);
    assert!(explained(&plan, &query()).contains("First 3 of each partition"));
}
