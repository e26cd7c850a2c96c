//! Plans show where text is processed as codes: wherever it is a key or is kept.

use std::sync::Arc;

use godwit_plan::{
    Aggregate, Comparison, Expr, JoinKind, Node, NodeId, SortKey, Window, WindowCall, WindowFunction, WindowTarget,
};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::{Builder, compressing, explained, int, query, worlds};

/// A table (n INTEGER, s VARCHAR) in which texts recur often enough for codes to be translated.
fn table(name: &str) -> Arc<MemoryTable> {
    let row = |number: i64| vec![int(number), Value::text(["a", "b", "c"][number as usize % 3])];
    let columns = [("n", SqlType::Integer), ("s", SqlType::Varchar)];
    Arc::new(MemoryTable::new(name, &columns, (0..60).map(row).collect()))
}

/// The plan of the node that `make` builds on the rows of both tables.
fn plan_of(make: impl Fn(&mut Builder, [NodeId; 2]) -> NodeId) -> String {
    let mut builder = Builder::default();
    let scans = ["l", "r"].map(|name| builder.scan(&table(name)));
    let root = make(&mut builder, scans);
    let plan = builder.finish(root);
    let plain = explained(&plan, &query());
    assert!(!plain.contains("(codes)"), "compression is switched off: {plain}");
    explained(&plan, &compressing(worlds()[0]))
}

fn grouped(builder: &mut Builder, input: NodeId, with_count: bool) -> NodeId {
    let name = builder.columns(input).remove(1);
    let total = builder.0.add_column("total", SqlType::BigInt, false);
    let count = builder.aggregate("count", vec![]);
    builder.0.add(Node::Aggregate(Aggregate {
        input,
        keys: vec![(name.as_column().unwrap(), name)],
        sets: None,
        grouping_id: None,
        aggregates: if with_count { vec![(total, count)] } else { vec![] },
    }))
}

fn key(expr: Expr) -> SortKey {
    SortKey { expr, descending: false, nulls_first: false }
}

#[test]
fn plans_say_what_works_on_codes() {
    let joined = |builder: &mut Builder, [left, right]: [NodeId; 2], at: usize| {
        let (l, r) = (builder.columns(left), builder.columns(right));
        let equal = Expr::compare(Comparison::Equal, l[at].clone(), r[at].clone());
        builder.join(JoinKind::Inner, left, right, vec![equal])
    };
    let plans = [
        ("HashAggregate by s (codes)", plan_of(|builder, [left, _]| grouped(builder, left, true))),
        ("Distinct (codes)", plan_of(|builder, [left, _]| grouped(builder, left, false))),
        (
            "Sort by s ASC NULLS LAST, n ASC NULLS LAST (codes)",
            plan_of(|builder, [input, _]| {
                let columns = builder.columns(input);
                let keys = vec![key(columns[1].clone()), key(columns[0].clone())];
                builder.0.add(Node::Sort { input, keys })
            }),
        ),
        ("HashJoin Inner s = s (codes)", plan_of(|builder, scans| joined(builder, scans, 1))),
        ("s 16→1 (codes) bytes", plan_of(|builder, scans| joined(builder, scans, 0))),
        (
            "Window by s order n ASC NULLS LAST: rank (codes)",
            plan_of(|builder, [input, _]| {
                let columns = builder.columns(input);
                let rank = builder.0.add_column("rank", SqlType::BigInt, false);
                let implementation = Arc::new(());
                let function = WindowFunction { name: "rank".into(), uses_frame: false, implementation };
                let call = WindowCall::over(
                    WindowTarget::Window(function),
                    SqlType::BigInt,
                    vec![columns[1].clone()],
                    vec![key(columns[0].clone())],
                );
                builder.0.add(Node::Window(Window { input, calls: vec![(rank, call)] }))
            }),
        ),
    ];
    for (wanted, plan) in plans {
        assert!(plan.contains(wanted), "{wanted} is missing:\n{plan}");
    }
}
