//! Which joins of a plan the walk reaches, and which it leaves alone.

use std::cell::Cell;
use std::sync::Arc;

use godwit_common::Error;
use godwit_plan::{
    Expr, ExprKind, JoinKind, Node, NodeId, Plan, ScalarFunction, SharedPlan, Subquery, SubqueryKind, Use, Volatility,
};
use godwit_types::SqlType;

use super::{go_on, joins, nodes_below, ordered, tables};
use crate::test_tables::Query;
use crate::{JoinOrder, order_joins};

/// Orders, lineitems and one customer, in the worst order.
fn badly_written(query: &mut Query) -> NodeId {
    let from = [query.scan("lineitem"), query.scan("orders"), query.scan_where("customer", &["c_custkey = 7"])];
    query.filtered_product(&from, "l_orderkey = o_orderkey AND o_custkey = c_custkey")
}

/// Returns true if the customer is joined first.
fn is_well_ordered(plan: &Plan, root: NodeId) -> bool {
    let is_first = |id: &NodeId| match plan.node(*id) {
        Node::Join(join) => [join.left, join.right].iter().all(|&side| tables(plan, side) != ["lineitem", "orders"]),
        _ => true,
    };
    nodes_below(plan, root).iter().all(is_first)
}

#[test]
fn shared_plans_and_subqueries_are_ordered() {
    let mut query = Query::default();
    let root = badly_written(&mut query);
    let shared = query.plan.add_shared(SharedPlan { name: "s".to_owned(), root, materialized: None });
    let column = query.plan.copy_column(query.id("c_name"));
    let columns = vec![(column, query.id("c_name"))];
    let used = query.plan.add(Node::Use(Use { shared, columns }));
    query.plan.root = Some(used);
    let plan = ordered(query.plan);
    assert!(is_well_ordered(&plan, plan.shared(shared).root), "{}", plan.display());

    let mut query = Query::default();
    let root = badly_written(&mut query);
    let subquery = Subquery { kind: SubqueryKind::Exists, plan: root, columns: Vec::new() };
    let exists = Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, false);
    for is_in_region in [false, true] {
        let mut query = query.clone();
        let region = query.scan("region");
        let input = match is_in_region {
            true => {
                let nation = query.scan("nation");
                query.join(JoinKind::Inner, nation, region, "n_regionkey = r_regionkey")
            }
            false => region,
        };
        query.plan.root = Some(query.plan.add(Node::Filter { input, conditions: vec![exists.clone()] }));
        let plan = ordered(query.plan);
        let mut found = Vec::new();
        for id in nodes_below(&plan, plan.root.expect("the plan is whole")) {
            plan.node(id).for_each_expr(&mut |expr| {
                if let ExprKind::Subquery(subquery) = &expr.kind {
                    found.push(subquery.plan);
                }
            });
        }
        assert_eq!(found.len(), 1, "{}", plan.display());
        assert!(is_well_ordered(&plan, found[0]), "{}", plan.display());
    }
}

#[test]
fn the_written_order_stays_if_it_is_wanted() {
    let mut query = Query::default();
    let root = badly_written(&mut query);
    let mut plan = query.select(root, &["c_name"]);
    let before = plan.display();
    order_joins(&mut plan, JoinOrder::Written, None, &go_on).expect("nothing can fail");
    assert_eq!(plan.display(), before);
}

#[test]
fn volatile_conditions_stay_where_they_are() {
    let mut query = Query::default();
    let inner = badly_written(&mut query);
    let function = ScalarFunction {
        name: "random".into(),
        volatility: Volatility::Volatile,
        strict: true,
        may_fail: false,
        implementation: Arc::new(()),
    };
    let condition = Expr::new(ExprKind::Call(function, Vec::new()), SqlType::Boolean, false);
    let filter = query.plan.add(Node::Filter { input: inner, conditions: vec![condition] });
    let nation = query.scan_where("nation", &["n_nationkey = 3"]);
    let root = query.join(JoinKind::Inner, filter, nation, "c_nationkey = n_nationkey");
    let plan = ordered(query.select(root, &["c_name"]));
    let top = joins(&plan).remove(0);
    let filter = [top.left, top.right].into_iter().find(|&side| matches!(plan.node(side), Node::Filter { .. }));
    let filter = filter.expect("it is right below the join");
    assert_eq!(tables(&plan, filter), ["customer", "lineitem", "orders"]);
    assert!(is_well_ordered(&plan, filter), "{}", plan.display());
}

#[test]
fn cancellation_ends_the_search() {
    let mut query = Query::default();
    let root = badly_written(&mut query);
    let mut plan = query.select(root, &["c_name"]);
    let asked = Cell::new(0);
    let check = || {
        asked.set(asked.get() + 1);
        if asked.get() > 3 { Err(Error::user("cancelled")) } else { Ok(()) }
    };
    assert!(order_joins(&mut plan, JoinOrder::Cost, None, &check).is_err());
}
