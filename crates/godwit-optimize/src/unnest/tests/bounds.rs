//! Limits on the depth and size of plans.

use godwit_common::SqlState;
use godwit_plan::{Comparison, Expr, NodeId};
use godwit_reference::TestFunctions;

use super::query::{Query, compare, equal, exists};
use crate::unnest::check::assert_unnested;
use crate::unnest::{NESTING_MAX, unnest};

/// Nests subqueries; each uses a column of the query around it, and of the outermost one.
fn nested(query: &mut Query, depth: usize) -> NodeId {
    let tables: Vec<_> = (0..=depth).map(|index| query.table(&format!("t{index}"), 2, &[])).collect();
    let mut inner: Option<NodeId> = None;
    for (index, table) in tables.iter().enumerate().rev() {
        let mut conditions: Vec<Expr> = inner.map(exists).into_iter().collect();
        if index > 0 {
            conditions.push(equal(&table.columns[0], &tables[index - 1].columns[0]));
            conditions.push(compare(Comparison::Less, &table.columns[1], &tables[0].columns[1]));
        }
        inner = Some(query.filter(table.node, conditions));
    }
    inner.expect("there is a table")
}

/// Runs on a stack of the size that callers of the optimizer provide.
fn with_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(scope, run);
        thread.expect("a thread starts").join().expect("it ends well")
    })
}

#[test]
fn subqueries_nest_deep_but_not_without_end() {
    for (depth, fits) in [(NESTING_MAX, true), (NESTING_MAX + 1, false), (1_000, false)] {
        with_stack(|| {
            let mut query = Query::default();
            query.plan.root = Some(nested(&mut query, depth));
            match unnest(&mut query.plan, &TestFunctions) {
                Ok(()) => {
                    assert!(fits, "{depth}");
                    assert_unnested(&query.plan);
                }
                Err(error) => {
                    assert!(!fits, "{depth}: {error}");
                    assert_eq!(error.code(), SqlState::STATEMENT_TOO_COMPLEX);
                }
            }
        });
    }
}

/// Plans a thousand subqueries side by side: the plan grows linearly with them.
#[test]
fn many_subqueries_of_a_node_share_its_rows() {
    let nodes = |count: usize| {
        with_stack(|| {
            let mut query = Query::default();
            let t = query.table("t", 2, &[]);
            let mut values = Vec::new();
            for _ in 0..count {
                let u = query.table("u", 2, &[]);
                let below = query.filter(u.node, vec![compare(Comparison::Less, &u.columns[0], &t.columns[0])]);
                let (counted, value) = query.aggregate(below, &[], "count", Vec::new());
                values.push(super::query::scalar(counted, &value));
            }
            query.plan.root = Some(query.project(t.node, values).0);
            unnest(&mut query.plan, &TestFunctions).expect("it can be unnested");
            assert_unnested(&query.plan);
            query.plan.node_count()
        })
    };
    let (few, many) = (nodes(100), nodes(400));
    assert!(many < few * 5, "{few} nodes for 100, {many} for 400");
}
