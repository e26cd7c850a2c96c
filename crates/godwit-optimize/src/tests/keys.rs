//! Keys declared by tables.

use std::sync::Arc;

use godwit_plan::{Aggregate, Expr, ExprKind, Node, OutputColumn, Plan, Relation, Scan};
use godwit_reference::{MemoryTable, TestFunctions};
use godwit_types::{SqlType, Value};

use crate::{OptimizerSettings, optimize};

/// Plans `SELECT DISTINCT k` over a table `t (k)`.
fn distinct_keys(table: MemoryTable) -> Plan {
    let relation: Arc<dyn Relation> = Arc::new(table);
    let mut plan = Plan::new();
    let k = plan.add_column("k", SqlType::Integer, false);
    let columns = vec![(k, 0)];
    let input = plan.add(Node::Scan(Scan { relation, columns, filters: Vec::new(), rows_enough: None }));
    let keys = vec![(k, Expr::new(ExprKind::Column(k), SqlType::Integer, false))];
    let distinct = Aggregate { input, keys, sets: None, grouping_id: None, aggregates: Vec::new() };
    plan.root = Some(plan.add(Node::Aggregate(distinct)));
    plan.output = vec![OutputColumn { name: "k".to_owned(), column: k }];
    plan
}

#[test]
fn the_values_of_a_key_are_distinct() {
    let table = || MemoryTable::new("t", &[("k", SqlType::Integer)], [1, 2].map(|k| vec![Value::Integer(k)]).into());
    for (table, is_key) in [(table(), false), (table().with_key(&[0]), true)] {
        let mut plan = distinct_keys(table);
        optimize(&mut plan, &TestFunctions, &OptimizerSettings::default()).unwrap();
        assert_eq!(plan.display().contains("Aggregate"), !is_key, "{}", plan.display());
    }
}
