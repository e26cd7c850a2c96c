//! Subqueries as values, with SQL's NULL semantics.

use godwit_plan::{Aggregate, Comparison, Expr, ExprKind, Node, NodeId, Plan, Project, Subquery, SubqueryKind};
use godwit_types::SqlType;

use super::{NULL, column, equal, error, id, int, list, result, table};
use crate::TestFunctions;

/// Returns the value of a subquery expression for each of the rows.
fn for_each(plan: &mut Plan, input: NodeId, expr: Expr) -> String {
    let value = plan.add_column("value", expr.ty.clone(), expr.nullable);
    let project = plan.add(Node::Project(Project { input, columns: vec![(value, expr)] }));
    result(plan, project)
}

fn quantified(comparison: Comparison, all: bool, left: Vec<Expr>, plan: NodeId, columns: &[&Expr]) -> Expr {
    let columns = columns.iter().map(|column| id(column)).collect();
    let subquery = Subquery { kind: SubqueryKind::Quantified { comparison, all, left }, plan, columns };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, true)
}

#[test]
fn any_and_all_with_nulls() {
    let sought = [Some(1), Some(3), NULL];
    let cases: [(&[Option<i64>], Comparison, bool, &str); 10] = [
        (&[Some(1), Some(2)], Comparison::Equal, false, "true | false | NULL"),
        (&[Some(1), NULL], Comparison::Equal, false, "true | NULL | NULL"),
        (&[], Comparison::Equal, false, "false | false | false"),
        (&[], Comparison::Equal, true, "true | true | true"),
        (&[Some(1), NULL], Comparison::NotEqual, true, "false | NULL | NULL"),
        (&[Some(1)], Comparison::NotEqual, true, "false | true | NULL"),
        (&[Some(1), Some(2)], Comparison::Greater, true, "false | true | NULL"),
        (&[Some(1), NULL], Comparison::Greater, true, "false | NULL | NULL"),
        (&[NULL], Comparison::Less, false, "NULL | NULL | NULL"),
        (&[Some(1), NULL], Comparison::NotDistinct, false, "true | false | true"),
    ];
    for (values, comparison, all, expected) in cases {
        let mut plan = Plan::new();
        let (outer, left) = list(&mut plan, &sought);
        let (inner, right) = list(&mut plan, values);
        let expr = quantified(comparison, all, vec![left], inner, &[&right]);
        assert_eq!(for_each(&mut plan, outer, expr), expected, "{comparison:?} all {all} {values:?}");
    }
}

#[test]
fn row_values() {
    let mut plan = Plan::new();
    let (outer, [a, b]) = table(&mut plan, &[[Some(1), Some(1)], [Some(1), NULL], [Some(2), NULL], [NULL, Some(9)]]);
    let (inner, [c, d]) = table(&mut plan, &[[Some(1), Some(2)]]);
    let mut of = |comparison| {
        let expr = quantified(comparison, false, vec![a.clone(), b.clone()], inner, &[&c, &d]);
        for_each(&mut plan, outer, expr)
    };
    assert_eq!(of(Comparison::Equal), "false | NULL | false | false");
    assert_eq!(of(Comparison::NotEqual), "true | NULL | true | true");
    assert_eq!(of(Comparison::Less), "true | NULL | false | NULL");
    assert_eq!(of(Comparison::NotDistinct), "false | false | false | false");
}

#[test]
fn correlated_ones_run_for_each_row() {
    let mut plan = Plan::new();
    let (outer, a) = list(&mut plan, &[Some(1), Some(2), NULL]);
    let (inner, [b, c]) = table(&mut plan, &[[Some(1), Some(10)], [Some(1), Some(20)], [NULL, Some(30)]]);
    let filtered = plan.add(Node::Filter { input: inner, conditions: vec![equal(&a, &b)] });
    let count = plan.add_column("count", SqlType::BigInt, false);
    let aggregates = vec![(count, TestFunctions.aggregate_call("count", vec![c.clone()]))];
    let aggregate = Aggregate { input: filtered, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
    let counted = plan.add(Node::Aggregate(aggregate));
    let scalar = |plan: NodeId, column, ty| {
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![column] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), ty, true)
    };
    let counted = scalar(counted, count, SqlType::BigInt);
    assert_eq!(for_each(&mut plan, outer, counted), "2 | 0 | 0");
    let exists = Subquery { kind: SubqueryKind::Exists, plan: filtered, columns: Vec::new() };
    let exists = Expr::new(ExprKind::Subquery(Box::new(exists)), SqlType::Boolean, false);
    assert_eq!(for_each(&mut plan, outer, exists), "true | false | false");
    let several = scalar(filtered, id(&c), SqlType::Integer);
    let value = plan.add_column("value", SqlType::Integer, true);
    let project = plan.add(Node::Project(Project { input: outer, columns: vec![(value, several.clone())] }));
    assert_eq!(error(&plan, project), "more than one row returned by a subquery used as a value");
    let lazily = ExprKind::Case { branches: vec![(equal(&a, &int(1)), int(0))], otherwise: Some(Box::new(several)) };
    let lazily = Expr::new(lazily, SqlType::Integer, true);
    assert_eq!(for_each(&mut plan, outer, lazily), "0 | NULL | NULL");
    assert_eq!(column(&plan, value).ty, SqlType::Integer);
}
