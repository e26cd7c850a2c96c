//! Important expressions, made by hand.

use godwit_common::{ErrorKind, Span, SqlState};
use godwit_expression::{Expression, Layout, PlanContext, Predicate};
use godwit_functions::Registry;
use godwit_plan::{ArgumentType, Comparison, Expr, ExprKind, FunctionRegistry, Node, Subquery, SubqueryKind, Values};
use godwit_types::{Arithmetic, Interval, SqlType, Value, parse_value};
use godwit_vector::sql::array_of_values;
use godwit_vector::sql::{arrow_type, column_type};
use godwit_vector::{Chunk, ValueRange, from_arrow};

use crate::rows::Rows;

fn rows(columns: &[(SqlType, &[&str])]) -> Rows {
    let value = |ty: &SqlType, text: &str| match text {
        "NULL" => Value::Null,
        text => parse_value(text, ty).unwrap(),
    };
    let row = |at: usize| columns.iter().map(|(ty, texts)| value(ty, texts[at])).collect();
    let types = columns.iter().map(|(ty, _)| ty.clone()).collect();
    Rows::new(types, (0..columns[0].1.len()).map(row).collect())
}

fn literal(text: &str, ty: &SqlType) -> Expr {
    Expr::literal(parse_value(text, ty).unwrap(), ty.clone())
}

fn new(kind: ExprKind, ty: SqlType) -> Expr {
    Expr::new(kind, ty, true)
}

fn arithmetic(op: Arithmetic, a: Expr, b: Expr, ty: SqlType) -> Expr {
    new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), ty)
}

/// Calls the function that the registry has under this name, which may give another type.
fn call(name: &str, args: Vec<Expr>, ty: SqlType) -> Expr {
    let argument = |arg: &Expr| {
        let lambda_parameters = match &arg.kind {
            ExprKind::Lambda(parameters, _) => Some(parameters.len()),
            _ => None,
        };
        (arg.ty.clone(), lambda_parameters)
    };
    let types: Vec<_> = args.iter().map(argument).collect();
    let types: Vec<ArgumentType<'_>> = types
        .iter()
        .map(|(ty, lambda_parameters)| ArgumentType {
            ty,
            value: None,
            nullable: true,
            lambda_parameters: *lambda_parameters,
        })
        .collect();
    let found = Registry::default().scalar(name, &types).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    new(ExprKind::Call(found.function, args), ty)
}

fn compile(rows: &Rows, expr: &Expr) -> Expression {
    let types: Vec<_> = rows.types.iter().map(|ty| column_type(ty, true).unwrap()).collect();
    let layout = Layout { columns: &rows.columns, types: &types };
    Expression::compile(expr, layout, &PlanContext::default()).unwrap()
}

fn chunk(rows: &Rows) -> Chunk {
    let column = |at: usize| {
        let values: Vec<Value> = rows.values.iter().map(|row| row[at].clone()).collect();
        from_arrow(&array_of_values(&values, &rows.types[at]).unwrap()).unwrap()
    };
    Chunk::new((0..rows.types.len()).map(column).collect(), rows.values.len())
}

#[test]
fn errors_tell_what_and_where() {
    use SqlType as T;
    let rows = rows(&[
        (T::Integer, &["2147483647", "0"]),
        (T::Double, &["0", "0"]),
        (T::Varchar, &["x", "x"]),
        (T::Date, &["5881580-07-10", "5881580-07-10"]),
        (T::Interval, &["1 day", "1 day"]),
    ]);
    let column = |index: usize| rows.column(index);
    let cast = |input: Expr, ty: T| new(ExprKind::Cast { input: Box::new(input), lenient: false }, ty);
    let one = literal("1", &T::Integer);
    let days = literal("100", &T::Integer);
    let cases = [
        (
            arithmetic(Arithmetic::Add, column(0), one.clone(), T::Integer),
            "integer overflow in #0 + 1",
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        ),
        (
            arithmetic(Arithmetic::Divide, one.clone(), column(0), T::Integer),
            "division by zero in 1 / #0",
            SqlState::DIVISION_BY_ZERO,
        ),
        (
            arithmetic(Arithmetic::Divide, column(1), column(1), T::Double),
            "division by zero in #1 / #1",
            SqlState::DIVISION_BY_ZERO,
        ),
        (
            cast(column(0), T::TinyInt),
            "CAST(#0 AS TINYINT): a value doesn't fit into TINYINT",
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        ),
        (cast(column(2), T::Integer), "'x' is not an INTEGER", SqlState::INVALID_TEXT_REPRESENTATION),
        (cast(column(2), T::Uuid), "'x' is not a UUID", SqlState::INVALID_TEXT_REPRESENTATION),
        (
            arithmetic(Arithmetic::Add, column(3), days, T::Date),
            "date overflow in #3 + 100",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
        (
            arithmetic(Arithmetic::Add, column(3), column(4), T::Timestamp),
            "timestamp overflow in #3 + #4",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
        (
            arithmetic(Arithmetic::Divide, column(4), literal("0", &T::Double), T::Interval),
            "division by zero in #4 / 0.0",
            SqlState::DIVISION_BY_ZERO,
        ),
        (call("error", vec![column(2)], T::Integer), "x", SqlState::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION),
    ];
    for (expr, message, code) in cases {
        let span = Span::new(7, 12);
        // The place is that of the failing part.
        let whole = new(ExprKind::Coalesce(vec![expr.at(span)]), T::Integer).at(Span::new(0, 20));
        let error = compile(&rows, &whole).evaluate(&chunk(&rows)).err().unwrap_or_else(|| panic!("no {message}"));
        assert_eq!((error.message(), error.code(), error.span()), (message, code, Some(span)));
        assert_eq!(error.kind(), ErrorKind::User);
    }
}

#[test]
fn functions_by_name_and_by_implementation() {
    use SqlType as T;
    let rows = rows(&[
        (T::Varchar, &["abc", "", "Äb", "NULL"]),
        (T::Integer, &["1", "-5", "NULL", "2147483647"]),
        (T::list_of(T::Integer), &["[1, 2, NULL]", "[]", "[7]", "NULL"]),
    ]);
    let column = |index: usize| rows.column(index);
    for expr in [
        call("upper", vec![column(0)], T::Varchar),
        call("length", vec![column(0)], T::BigInt),
        call("||", vec![column(0), column(0)], T::Varchar),
        call("abs", vec![column(1)], T::Integer),
    ] {
        rows.check(&expr, true);
    }
    let reversed = call("reverse", vec![column(0)], T::Varchar);
    let compiled = compile(&rows, &reversed);
    assert_eq!(compiled.output().logical, arrow_type(&T::Varchar).unwrap());
    let array = compiled.evaluate(&chunk(&rows)).unwrap();
    assert_eq!(array.to_flat().strings().get(0), b"cba");
    assert!(!array.is_valid(3));
}

#[test]
fn lambdas_see_elements_and_what_is_around() {
    use SqlType as T;
    let mut rows = rows(&[
        (T::list_of(T::Integer), &["[1, 2, NULL]", "[]", "[7]", "NULL", "[3, 3]"]),
        (T::Integer, &["10", "20", "NULL", "40", "2"]),
    ]);
    let x = rows.plan.add_column("x", T::Integer, true);
    let element = new(ExprKind::Column(x), T::Integer);
    let sum = arithmetic(Arithmetic::Add, element.clone(), rows.column(1), T::Integer);
    let transform = |body: Expr, ty: T| {
        let lambda = new(ExprKind::Lambda(vec![x], Box::new(body)), ty.clone());
        call("list_transform", vec![rows.column(0), lambda], T::list_of(ty))
    };
    let greater = Expr::compare(Comparison::Greater, element.clone(), rows.column(1));
    let kept = new(ExprKind::Lambda(vec![x], Box::new(greater.clone())), T::Boolean);
    let text = new(ExprKind::Cast { input: Box::new(element.clone()), lenient: false }, T::Varchar);
    for expr in [
        transform(sum, T::Integer),
        transform(greater, T::Boolean),
        transform(text, T::Varchar),
        transform(literal("5", &T::Integer), T::Integer),
        call("list_filter", vec![rows.column(0), kept], T::list_of(T::Integer)),
    ] {
        rows.check(&expr, true);
    }
    let quotient = arithmetic(Arithmetic::Divide, literal("1", &T::Integer), element, T::Integer);
    rows.values[0][0] = parse_value("[0]", &rows.types[0]).unwrap();
    let lambda = new(ExprKind::Lambda(vec![x], Box::new(quotient)), T::Integer);
    rows.check(&call("list_transform", vec![rows.column(0), lambda], T::list_of(T::Integer)), true);
}

#[test]
fn a_let_is_evaluated_once() {
    use SqlType as T;
    let mut rows = rows(&[(T::Integer, &["1", "2", "3", "4"])]);
    let x = rows.plan.add_column("x", T::Double, false);
    let random = call("random", Vec::new(), T::Double);
    let local = || new(ExprKind::Column(x), T::Double);
    // Branches see only some of the rows, yet the value must be that of the row.
    let odd = Expr::compare(Comparison::Less, rows.column(0), literal("3", &T::Integer));
    let body = new(
        ExprKind::Case {
            branches: vec![(odd, Expr::compare(Comparison::Equal, local(), local()))],
            otherwise: Some(Box::new(Expr::compare(Comparison::GreaterOrEqual, local(), local()))),
        },
        T::Boolean,
    );
    let expr = new(ExprKind::Let { column: x, value: Box::new(random), body: Box::new(body) }, T::Boolean);
    let result = compile(&rows, &expr).evaluate(&chunk(&rows)).unwrap();
    assert_eq!(result.to_flat().bools(), [1, 1, 1, 1]);
}

#[test]
fn moments_keep_their_ranges() {
    use SqlType as T;
    let rows = rows(&[(T::Date, &["2000-01-31", "2000-03-01"])]);
    let mut ty = column_type(&T::Date, false).unwrap();
    ty.range = Some(ValueRange { min: 10_957, max: 11_017 });
    let layout = Layout { columns: &rows.columns, types: &[ty] };
    for (text, min, max) in [("1 day", 10_958i128, 11_018i128), ("1 month", 10_988, 11_048)] {
        let expr = arithmetic(Arithmetic::Add, rows.column(0), literal(text, &T::Interval), T::Timestamp);
        let compiled = Expression::compile(&expr, layout, &PlanContext::default()).unwrap();
        let micros = 86_400_000_000;
        assert_eq!(compiled.output().range, Some(ValueRange { min: min * micros, max: max * micros }), "{text}");
        assert!(!compiled.can_fail());
        rows.check(&expr, true);
    }
    let by = Expr::literal(Value::Interval(Interval { months: 1, days: -1, micros: 1 }), T::Interval);
    rows.check(&arithmetic(Arithmetic::Subtract, rows.column(0), by, T::Timestamp), true);
}

#[test]
fn parameters_and_subqueries_come_later() {
    use SqlType as T;
    let mut rows = rows(&[(T::Integer, &["1", "2"])]);
    let parameter = rows.plan.parameter("1");
    let column = rows.plan.add_column("m", T::Integer, true);
    let values = Values { columns: vec![column], rows: vec![vec![literal("2", &T::Integer)]] };
    let plan = rows.plan.add(Node::Values(values));
    let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![column] };
    let scalar = new(ExprKind::Subquery(Box::new(subquery.clone())), T::Integer);
    let bound = new(ExprKind::Parameter(parameter), T::Integer);
    let sum = arithmetic(Arithmetic::Add, scalar.clone(), bound, T::Integer);
    let context = PlanContext::default().with_value(parameter, &Value::Integer(-1), &T::Integer).unwrap();
    let types = [column_type(&T::Integer, false).unwrap()];
    let layout = Layout { columns: &rows.columns, types: &types };
    let conditions = [
        Expr::compare(Comparison::Equal, rows.column(0), sum),
        Expr::compare(Comparison::Less, rows.column(0), scalar),
    ];
    let predicate = Predicate::compile(&conditions, layout, &context).unwrap();
    let met = context.take_subqueries();
    assert_eq!(met.iter().map(|met| (met.plan, met.column)).collect::<Vec<_>>(), [(plan, column)]);
    assert!(context.take_subqueries().is_empty());
    met[0].result.set(&Value::Integer(2)).unwrap();
    let mut chunk = chunk(&rows);
    predicate.worker().select(&mut chunk).unwrap();
    assert_eq!(chunk.dense(0).to_flat().values::<i32>(), [1]);

    let exists = Subquery { kind: SubqueryKind::Exists, ..subquery };
    let exists = new(ExprKind::Subquery(Box::new(exists)), T::Boolean);
    let error = Expression::compile(&exists, layout, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn deep_expressions_are_refused() {
    let deep = |depth: usize| {
        (0..depth).fold(Expr::boolean(true), |expr, _| Expr::compare(Comparison::Distinct, expr, Expr::boolean(false)))
    };
    let compile =
        move |depth| Expression::compile(&deep(depth), Layout { columns: &[], types: &[] }, &PlanContext::default());
    // As large as that of a main thread.
    let thread = std::thread::Builder::new().stack_size(8 << 20);
    let test = move || {
        assert!(compile(2_000).is_ok());
        assert_eq!(compile(5_000).unwrap_err().code(), SqlState::STATEMENT_TOO_COMPLEX);
    };
    thread.spawn(test).unwrap().join().unwrap();
}
