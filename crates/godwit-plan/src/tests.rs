//! Free columns, copies, sets.

use std::collections::BTreeSet;

use godwit_types::{SqlType, Value};

use crate::{
    ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, Project, Subquery,
    SubqueryKind, Values,
};

fn column(plan: &Plan, column: ColumnId) -> Expr {
    let info = plan.column(column);
    Expr::new(ExprKind::Column(column), info.ty.clone(), info.nullable)
}

fn rows(plan: &mut Plan, name: &str) -> (NodeId, ColumnId) {
    let id = plan.add_column(name, SqlType::Integer, true);
    let row = vec![Expr::literal(Value::Integer(1), SqlType::Integer)];
    (plan.add(Node::Values(Values { columns: vec![id], rows: vec![row] })), id)
}

#[test]
fn sets_of_columns_are_sets() {
    let mut plan = Plan::new();
    let ids: Vec<ColumnId> = (0..200).map(|_| plan.add_column("c", SqlType::Integer, true)).collect();
    let even: ColumnSet = ids.iter().copied().step_by(2).collect();
    let few: ColumnSet = [ids[2], ids[130]].into_iter().collect();
    assert!(few.is_subset(&even) && !even.is_subset(&few));
    assert_eq!(even.difference(&few).len(), 98);
    assert_eq!(even.intersection(&few), few);
    assert_eq!(few.iter().collect::<Vec<_>>(), [ids[2], ids[130]]);
    let mut rest = few.clone();
    rest.remove(ids[130]);
    assert_eq!(rest, [ids[2]].into_iter().collect());
    assert!(rest.is_disjoint(&[ids[1]].into_iter().collect()));
}

/// All operations on sparse and far-apart column sets, checked against a sorted set.
#[test]
fn operations_on_sets_of_columns() {
    let mut plan = Plan::new();
    let ids: Vec<ColumnId> = (0..400).map(|_| plan.add_column("c", SqlType::Integer, true)).collect();
    let places: [&[usize]; 8] = [&[], &[0], &[63, 64], &[200], &[0, 399], &[130, 131, 200], &[64, 130, 399], &[5, 63]];
    let sets: Vec<BTreeSet<ColumnId>> = places.iter().map(|set| set.iter().map(|&at| ids[at]).collect()).collect();
    let of = |set: &BTreeSet<ColumnId>| set.iter().copied().collect::<ColumnSet>();
    for a in &sets {
        for b in &sets {
            let (left, right) = (of(a), of(b));
            assert_eq!(left.union(&right), of(&(a | b)), "{a:?} {b:?}");
            assert_eq!(left.intersection(&right), of(&(a & b)), "{a:?} {b:?}");
            assert_eq!(left.difference(&right), of(&(a - b)), "{a:?} {b:?}");
            assert_eq!(left.is_subset(&right), a.is_subset(b), "{a:?} {b:?}");
            assert_eq!(left.is_disjoint(&right), a.is_disjoint(b), "{a:?} {b:?}");
            let mut rest = left.union(&right);
            b.iter().for_each(|&column| rest.remove(column));
            assert_eq!(rest, of(&(a - b)), "{a:?} {b:?}");
        }
        assert_eq!(of(a).iter().collect::<BTreeSet<_>>(), *a);
        assert!(ids.iter().all(|&column| of(a).contains(column) == a.contains(&column)));
    }
}

#[test]
fn a_subquery_is_correlated_by_its_free_columns() {
    let mut plan = Plan::new();
    let (outer, a) = rows(&mut plan, "a");
    let (inner, b) = rows(&mut plan, "b");
    let equal = Expr::compare(Comparison::Equal, column(&plan, a), column(&plan, b));
    let filtered = plan.add(Node::Filter { input: inner, conditions: vec![equal] });
    assert_eq!(plan.free_columns(filtered), [a].into_iter().collect());
    let exists = Subquery { kind: SubqueryKind::Exists, plan: filtered, columns: vec![b] };
    let exists = Expr::new(ExprKind::Subquery(Box::new(exists)), SqlType::Boolean, false);
    let whole = plan.add(Node::Filter { input: outer, conditions: vec![exists] });
    assert!(plan.free_columns(whole).is_empty());
}

#[test]
fn a_copy_has_columns_of_its_own_and_keeps_those_from_outside() {
    let mut plan = Plan::new();
    let (outer, a) = rows(&mut plan, "a");
    let (inner, b) = rows(&mut plan, "b");
    let equal = Expr::compare(Comparison::Equal, column(&plan, a), column(&plan, b));
    let filtered = plan.add(Node::Filter { input: inner, conditions: vec![equal] });
    let sum = plan.add_column("c", SqlType::Integer, true);
    let value = column(&plan, b);
    let project = plan.add(Node::Project(Project { input: filtered, columns: vec![(sum, value)] }));
    let (copy, renamed) = plan.copy_subtree(project);
    assert_eq!(plan.outputs(copy), [renamed[&sum]]);
    assert_ne!(renamed[&b], b);
    assert!(!renamed.contains_key(&a));
    assert_eq!(plan.free_columns(copy), [a].into_iter().collect());
    let join = Join { kind: JoinKind::Left, left: outer, right: copy, conditions: Vec::new() };
    let join = plan.add(Node::Join(join));
    assert_eq!(plan.outputs(join), [a, renamed[&sum]]);
    assert!(plan.nullable_columns(join).contains(renamed[&sum]));
}

#[test]
fn right_semi_joins_have_the_columns_of_their_right_side() {
    let mut plan = Plan::new();
    let (left, _) = rows(&mut plan, "a");
    let (right, b) = rows(&mut plan, "b");
    for kind in [JoinKind::RightSemi, JoinKind::RightAnti] {
        let join = plan.add(Node::Join(Join { kind, left, right, conditions: Vec::new() }));
        assert_eq!(plan.outputs(join), [b]);
        assert_eq!(plan.nullable_columns(join), [b].into_iter().collect());
    }
}

#[test]
fn values_take_the_places_of_parameters() {
    let mut plan = Plan::new();
    let (input, a) = rows(&mut plan, "a");
    let parameter = plan.parameter("1");
    plan.parameter_info_mut(parameter).ty = SqlType::Integer;
    let is = |ty| Expr::new(ExprKind::Parameter(parameter), ty, true);
    let conditions = vec![
        Expr::compare(Comparison::Equal, column(&plan, a), is(SqlType::Integer)),
        Expr::compare(Comparison::Equal, column(&plan, a), is(SqlType::BigInt)),
    ];
    let filter = plan.add(Node::Filter { input, conditions });
    plan.root = Some(filter);
    let bound = plan.with_values(&[godwit_types::Value::Integer(7)]);
    let Node::Filter { conditions, .. } = bound.node(filter) else { panic!("ids stay") };
    let is_parameter = |condition: &Expr| condition.any(|part| matches!(part.kind, ExprKind::Parameter(_)));
    assert_eq!(conditions.iter().map(is_parameter).collect::<Vec<_>>(), [false, true], "a use as another type stays");
}
