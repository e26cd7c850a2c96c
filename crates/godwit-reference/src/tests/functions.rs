//! The registry: choice of functions, and their results.

use godwit_plan::{ArgumentType, Expr, FunctionKind, FunctionRegistry, NoFunction, Plan};
use godwit_types::{SqlType, Value, format_value, parse_value};

use super::int;
use crate::{TestFunctions, evaluate_expr};

fn text(text: &str) -> Expr {
    Expr::literal(Value::text(text), SqlType::Varchar)
}

fn double(value: f64) -> Expr {
    Expr::literal(Value::Float(value), SqlType::Double)
}

fn date(text: &str) -> Expr {
    Expr::literal(parse_value(text, &SqlType::Date).unwrap(), SqlType::Date)
}

#[test]
fn values() {
    let list = |values: &[i64]| TestFunctions.call("list_value", values.iter().map(|&value| int(value)).collect());
    let cases = [
        ("abs", vec![int(-3)], "3"),
        ("round", vec![double(2.5)], "3.0"),
        ("power", vec![int(2), int(10)], "1024.0"),
        ("sign", vec![double(-2.0)], "-1.0"),
        ("greatest", vec![int(1), int(None), int(3)], "3"),
        ("least", vec![int(None), int(None)], "NULL"),
        ("nullif", vec![int(1), int(1)], "NULL"),
        ("concat", vec![text("a"), int(None), int(1)], "a1"),
        ("||", vec![text("a"), Expr::null(SqlType::Varchar)], "NULL"),
        ("||", vec![list(&[1]), list(&[2])], "[1, 2]"),
        ("substring", vec![text("hello"), int(2), int(3)], "ell"),
        ("substring", vec![text("hello"), int(-1), int(4)], "he"),
        ("trim", vec![text("  a ")], "a"),
        ("rtrim", vec![text("abcc"), text("c")], "ab"),
        ("left", vec![text("hello"), int(-2)], "hel"),
        ("right", vec![text("hello"), int(2)], "lo"),
        ("strpos", vec![text("häy"), text("y")], "3"),
        ("replace", vec![text("aba"), text("a"), text("x")], "xbx"),
        ("starts_with", vec![text("abc"), text("ab")], "true"),
        ("date_part", vec![text("year"), date("2024-02-29")], "2024"),
        ("date_trunc", vec![text("month"), date("2024-02-29")], "2024-02-01 00:00:00"),
        ("make_date", vec![int(2024), int(2), int(29)], "2024-02-29"),
        ("list_contains", vec![list(&[1, 2]), int(2)], "true"),
        ("list_extract", vec![list(&[1, 2]), int(-1)], "2"),
        ("list_extract", vec![list(&[1, 2]), int(3)], "NULL"),
        ("len", vec![text("äb")], "2"),
        ("range", vec![int(5), int(0), int(-2)], "[5, 3, 1]"),
        ("generate_series", vec![int(1), int(3)], "[1, 2, 3]"),
        ("typeof", vec![double(1.0)], "DOUBLE"),
        ("<<", vec![int(1), int(4)], "16"),
        ("~", vec![int(0)], "-1"),
    ];
    for (name, args, expected) in cases {
        let call = TestFunctions.call(name, args);
        let value = evaluate_expr(&Plan::new(), &call, &[]).unwrap_or_else(|error| panic!("{call}: {error}"));
        assert_eq!(format_value(&value, &call.ty), expected, "{call}");
    }
}

#[test]
fn structs_have_the_types_of_their_fields() {
    let pack = TestFunctions.call("struct_pack", vec![text("a"), int(1), text("b"), text("x")]);
    assert_eq!(pack.ty, SqlType::struct_of([("a", SqlType::Integer), ("b", SqlType::Varchar)]));
    let field = TestFunctions.call("struct_extract", vec![pack, text("B")]);
    assert_eq!(field.ty, SqlType::Varchar);
    assert_eq!(evaluate_expr(&Plan::new(), &field, &[]).unwrap(), Value::text("x"));
}

#[test]
fn types_of_aggregates() {
    let cases = [
        ("sum", SqlType::Integer, SqlType::BigInt),
        ("sum", SqlType::BigInt, SqlType::HugeInt),
        ("sum", SqlType::UInteger, SqlType::UBigInt),
        ("sum", SqlType::HugeInt, SqlType::HugeInt),
        ("sum", SqlType::decimal(15, 2), SqlType::decimal(25, 2)),
        ("sum", SqlType::Real, SqlType::Double),
        ("avg", SqlType::decimal(15, 2), SqlType::Double),
        ("min", SqlType::Varchar, SqlType::Varchar),
        ("count", SqlType::Date, SqlType::BigInt),
        ("list", SqlType::Date, SqlType::list_of(SqlType::Date)),
    ];
    for (name, ty, expected) in cases {
        assert_eq!(TestFunctions.aggregate_call(name, vec![Expr::null(ty.clone())]).ty, expected, "{name}({ty})");
    }
}

#[test]
fn names_and_misfits() {
    assert_eq!(TestFunctions.kind("sum"), Some(FunctionKind::Aggregate));
    assert_eq!(TestFunctions.kind("lag"), Some(FunctionKind::Window));
    assert_eq!(TestFunctions.kind("||"), Some(FunctionKind::Scalar));
    assert_eq!(TestFunctions.kind("nothing"), None);
    assert!(TestFunctions.names().len() > 70);
    let argument = |ty| [ArgumentType { ty, value: None, nullable: true, lambda_parameters: None }];
    assert_eq!(TestFunctions.scalar("uper", &argument(&SqlType::Varchar)).unwrap_err(), NoFunction::UnknownName);
    let misfit = TestFunctions.scalar("upper", &argument(&SqlType::Integer)).unwrap_err();
    assert_eq!(misfit, NoFunction::NoMatch { signatures: vec!["upper(VARCHAR)".to_owned()] });
    let list = SqlType::list_of(SqlType::Date);
    let lambda = ArgumentType { ty: &SqlType::Unknown, value: None, nullable: true, lambda_parameters: Some(1) };
    let parameters = TestFunctions.lambda_parameters("list_transform", &[argument(&list)[0], lambda]);
    assert_eq!(parameters.unwrap(), [vec![], vec![SqlType::Date]]);
}

#[test]
fn constant_calls() {
    let constant = TestFunctions.call("upper", vec![text("a")]);
    assert_eq!(TestFunctions.evaluate(&constant).unwrap().unwrap(), Value::text("A"));
    assert!(TestFunctions.evaluate(&TestFunctions.call("error", vec![text("no")])).unwrap().is_err());
    assert!(TestFunctions.evaluate(&TestFunctions.call("random", vec![])).is_none());
    assert!(TestFunctions.evaluate(&TestFunctions.call("now", vec![])).is_none());
}
