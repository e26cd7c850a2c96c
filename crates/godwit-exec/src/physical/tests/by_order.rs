//! Joins that depend on an order: ASOF and POSITIONAL.

use std::sync::Arc;

use godwit_plan::{Comparison, Expr, JoinKind, Node, NodeId, SortKey};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::{Builder, check, engine_rows, int, query};

/// Quotes (symbol, t, price), some of which have NULLs.
fn quotes(name: &str, rows: &[(Option<&str>, Option<i64>)]) -> Arc<MemoryTable> {
    let row = |(number, (symbol, t)): (usize, &(Option<&str>, Option<i64>))| {
        vec![symbol.map_or(Value::Null, Value::text), t.map_or(Value::Null, int), int(number as i64)]
    };
    let columns = [("symbol", SqlType::Varchar), ("t", SqlType::Integer), ("price", SqlType::Integer)];
    Arc::new(MemoryTable::new(name, &columns, rows.iter().enumerate().map(row).collect()))
}

fn trades() -> [Arc<MemoryTable>; 2] {
    let left = [
        (Some("a"), Some(1)),
        (Some("a"), Some(5)),
        (Some("a"), Some(5)),
        (Some("b"), Some(3)),
        (Some("b"), None),
        (None, Some(4)),
        (Some("c"), Some(9)),
    ];
    let right = [
        (Some("a"), Some(0)),
        (Some("a"), Some(5)),
        (Some("a"), Some(5)),
        (Some("a"), Some(8)),
        (Some("b"), Some(4)),
        (Some("b"), None),
        (None, Some(2)),
        (None, None),
    ];
    [quotes("l", &left), quotes("r", &right)]
}

#[test]
fn as_of_joins_find_the_nearest_row() {
    let comparisons = [Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual];
    for (comparison, outer) in comparisons.into_iter().flat_map(|comparison| [(comparison, false), (comparison, true)])
    {
        for form in 0..5 {
            let mut builder = Builder::default();
            let [left, right] = trades().map(|table| builder.scan(&table));
            let (l, r) = (builder.columns(left), builder.columns(right));
            let equal = |comparison| Expr::compare(comparison, l[0].clone(), r[0].clone());
            let conditions = match form {
                0 => vec![],
                1 => vec![equal(Comparison::Equal)],
                2 => vec![equal(Comparison::NotDistinct)],
                // These aren't equalities of both sides.
                3 => vec![equal(Comparison::Equal), Expr::compare(Comparison::Less, l[2].clone(), r[2].clone())],
                _ => vec![equal(Comparison::NotEqual)],
            };
            let (value, other) = (Box::new(l[1].clone()), Box::new(r[1].clone()));
            let kind = JoinKind::AsOf { outer, comparison, left: value, right: other };
            let joined = builder.join(kind, left, right, conditions);
            check(&builder.finish(joined));
        }
    }
}

/// A table of the numbers from 0 upwards, sorted.
fn numbers(builder: &mut Builder, name: &str, rows: i64, descending: bool) -> NodeId {
    let rows = (0..rows).map(|number| vec![int(number)]).collect();
    let input = builder.scan(&Arc::new(MemoryTable::new(name, &[("n", SqlType::Integer)], rows)));
    let expr = builder.columns(input).remove(0);
    builder.0.add(Node::Sort { input, keys: vec![SortKey { expr, descending, nulls_first: false }] })
}

#[test]
fn positional_joins_pair_rows_by_their_places() {
    for (left, right) in [(4, 4), (3, 5), (5, 3), (0, 2), (0, 0)] {
        let mut builder = Builder::default();
        let (left, right) = (numbers(&mut builder, "l", left, false), numbers(&mut builder, "r", right, true));
        let joined = builder.join(JoinKind::Positional, left, right, vec![]);
        check(&builder.finish(joined));
    }
    let mut builder = Builder::default();
    let (left, right) = (numbers(&mut builder, "l", 2, false), numbers(&mut builder, "r", 3, true));
    let joined = builder.join(JoinKind::Positional, left, right, vec![]);
    let rows = engine_rows(&builder.finish(joined), &query()).unwrap();
    assert_eq!(rows, [[int(0), int(2)], [int(1), int(1)], [Value::Null, int(0)]], "and they come in this order");
}
