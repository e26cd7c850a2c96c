//! The keys that tables declare.

use std::sync::Arc;

use godwit_plan::{Aggregate, Expr, ExprKind, Node, OutputColumn, Plan, Relation, Scan};
use godwit_reference::{MemoryTable, TestFunctions};
use godwit_types::{SqlType, Value};

use crate::{OptimizerSettings, optimize};

/// `SELECT DISTINCT k` of a table whose key is `k`.
fn distinct_keys() -> Plan {
    let rows = [1, 2].map(|value| vec![Value::Integer(value)]).into();
    let relation: Arc<dyn Relation> = Arc::new(MemoryTable::new("t", &[("k", SqlType::Integer)], rows).with_key(&[0]));
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

/// The query that checks a key counts the rows of each value, whatever the table says of itself.
#[test]
fn a_key_that_is_being_checked_is_not_trusted() {
    for trust_keys in [true, false] {
        let mut plan = distinct_keys();
        let settings = OptimizerSettings { trust_keys, ..OptimizerSettings::default() };
        optimize(&mut plan, &TestFunctions, &settings).unwrap();
        assert_eq!(plan.display().contains("Aggregate"), !trust_keys, "{}", plan.display());
    }
}
