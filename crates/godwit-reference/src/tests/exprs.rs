//! Three-valued logic, lazy evaluation, arithmetic at its limits, and the guarantees of expressions.

use godwit_common::ErrorKind;
use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind, Plan};
use godwit_types::{SqlType, Value};

use super::{int, number};
use crate::{TestFunctions, evaluate_expr};

fn truth(value: Option<bool>) -> Expr {
    Expr::literal(value.map_or(Value::Null, Value::Boolean), SqlType::Boolean)
}

fn value(expr: &Expr) -> Value {
    evaluate_expr(&Plan::new(), expr, &[]).unwrap_or_else(|error| panic!("{expr}: {error}"))
}

fn arithmetic(op: Arithmetic, a: Expr, b: Expr) -> Expr {
    let (ty, nullable) = (a.ty.clone(), a.nullable || b.nullable);
    Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), ty, nullable)
}

fn failure() -> Expr {
    Expr::compare(Comparison::Equal, arithmetic(Arithmetic::Divide, int(1), int(0)), int(1))
}

#[test]
fn and_or_not_with_nulls() {
    let all = [Some(true), Some(false), None];
    for a in all {
        for b in all {
            let and = match (a, b) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = match (a, b) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            let as_value = |truth: Option<bool>| truth.map_or(Value::Null, Value::Boolean);
            assert_eq!(value(&Expr::and([truth(a), truth(b)])), as_value(and), "{a:?} AND {b:?}");
            assert_eq!(value(&Expr::or([truth(a), truth(b)])), as_value(or), "{a:?} OR {b:?}");
        }
    }
    assert_eq!(value(&truth(None).negated()), Value::Null);
    assert_eq!(value(&truth(None).is_null()), Value::Boolean(true));
}

#[test]
fn what_decides_comes_first() {
    assert_eq!(value(&Expr::and([truth(Some(false)), failure()])), Value::Boolean(false));
    assert_eq!(value(&Expr::or([truth(Some(true)), failure()])), Value::Boolean(true));
    assert!(evaluate_expr(&Plan::new(), &Expr::and([failure(), truth(Some(false))]), &[]).is_err());
    let coalesce = Expr::new(ExprKind::Coalesce(vec![truth(Some(true)), failure()]), SqlType::Boolean, false);
    assert_eq!(value(&coalesce), Value::Boolean(true));
    let branches = vec![(truth(None), failure()), (truth(Some(true)), truth(Some(false)))];
    let case = ExprKind::Case { branches, otherwise: Some(Box::new(failure())) };
    assert_eq!(value(&Expr::new(case, SqlType::Boolean, true)), Value::Boolean(false));
}

#[test]
fn comparisons_with_nulls() {
    let cases = [
        (Comparison::Equal, Some(1), None, None),
        (Comparison::Distinct, Some(1), None, Some(true)),
        (Comparison::Distinct, None, None, Some(false)),
        (Comparison::NotDistinct, None, None, Some(true)),
        (Comparison::LessOrEqual, Some(1), Some(1), Some(true)),
        (Comparison::NotEqual, Some(1), Some(1), Some(false)),
    ];
    for (comparison, a, b, expected) in cases {
        let found = value(&Expr::compare(comparison, int(a), int(b)));
        assert_eq!(found, expected.map_or(Value::Null, Value::Boolean), "{a:?} {} {b:?}", comparison.symbol());
    }
}

#[test]
fn in_lists_with_nulls() {
    let cases = [
        (Some(1), vec![Some(2), None, Some(1)], Some(true)),
        (Some(1), vec![Some(2), None], None),
        (Some(1), vec![Some(2)], Some(false)),
        (None, vec![Some(2)], None),
        (None, vec![None], None),
    ];
    for (sought, list, expected) in cases {
        let list = list.into_iter().map(int).collect();
        let expr = Expr::new(ExprKind::InList(Box::new(int(sought)), list), SqlType::Boolean, true);
        assert_eq!(value(&expr), expected.map_or(Value::Null, Value::Boolean), "{expr}");
    }
}

#[test]
fn arithmetic_ends_where_its_type_does() {
    let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let fails = [
        arithmetic(Arithmetic::Add, int(max), int(1)),
        arithmetic(Arithmetic::Divide, int(min), int(-1)),
        arithmetic(Arithmetic::Modulo, int(1), int(0)),
        Expr::new(ExprKind::Negate(Box::new(int(min))), SqlType::Integer, false),
    ];
    for expr in fails {
        let error = evaluate_expr(&Plan::new(), &expr, &[]).expect_err("it is out of range");
        assert_eq!(error.kind(), ErrorKind::User, "{error}");
    }
    assert_eq!(value(&arithmetic(Arithmetic::Modulo, int(min), int(-1))), number(Some(0)));
    assert_eq!(value(&arithmetic(Arithmetic::Modulo, int(-7), int(3))), number(Some(-1)));
    assert_eq!(value(&arithmetic(Arithmetic::Divide, int(-7), int(2))), number(Some(-3)));
    assert_eq!(value(&arithmetic(Arithmetic::Divide, int(None), int(0))), Value::Null);
}

#[test]
fn casts() {
    let text = |text: &str| Expr::literal(Value::text(text), SqlType::Varchar);
    assert_eq!(value(&text("12").cast_to(&SqlType::Integer)), number(Some(12)));
    let lenient = ExprKind::Cast { input: Box::new(text("x")), lenient: true };
    assert_eq!(value(&Expr::new(lenient, SqlType::Integer, true)), Value::Null);
    assert!(evaluate_expr(&Plan::new(), &text("x").cast_to(&SqlType::Integer), &[]).is_err());
}

#[test]
fn a_let_is_evaluated_once_and_lambdas_for_each_element() {
    let mut plan = Plan::new();
    let x = plan.add_column("x", SqlType::Double, false);
    let use_of = Expr::new(ExprKind::Column(x), SqlType::Double, false);
    let body = Box::new(Expr::compare(Comparison::Equal, use_of.clone(), use_of));
    let random = Box::new(TestFunctions.call("random", Vec::new()));
    let expr = Expr::new(ExprKind::Let { column: x, value: random.clone(), body }, SqlType::Boolean, false);
    assert_eq!(evaluate_expr(&plan, &expr, &[]).unwrap(), Value::Boolean(true));
    let twice = Expr::compare(Comparison::Equal, (*random).clone(), *random);
    assert_eq!(evaluate_expr(&plan, &twice, &[]).unwrap(), Value::Boolean(false));
    let y = plan.add_column("y", SqlType::Integer, true);
    let element = Expr::new(ExprKind::Column(y), SqlType::Integer, true);
    let body = arithmetic(Arithmetic::Add, element, int(1));
    let lambda = Expr::new(ExprKind::Lambda(vec![y], Box::new(body)), SqlType::Integer, true);
    let list = TestFunctions.call("list_value", vec![int(1), int(None)]);
    let call = TestFunctions.call("list_transform", vec![list, lambda]);
    let expected = Value::List([number(Some(2)), Value::Null].into());
    assert_eq!(evaluate_expr(&plan, &call, &[]).unwrap(), expected);
}

#[test]
fn broken_promises_are_internal_errors() {
    let mut plan = Plan::new();
    let column = plan.add_column("c", SqlType::Integer, false);
    let expr = Expr::new(ExprKind::Column(column), SqlType::Integer, false);
    for (values, expected) in [
        (vec![(column, Value::Null)], "can't be"),
        (vec![(column, Value::Boolean(true))], "is no INTEGER"),
        (vec![(column, Value::Integer(1 << 40))], "is no INTEGER"),
        (vec![], "isn't bound"),
    ] {
        let error = evaluate_expr(&plan, &expr, &values).expect_err("the promise is broken");
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.message().contains(expected), "{error}");
    }
}
