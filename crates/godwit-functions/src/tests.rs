//! Resolution of calls, their results, and constant folding.

use std::sync::Arc;

use godwit_common::{Error, Span, SqlState};
use godwit_plan::{ArgumentType, Expr, ExprKind, FunctionKind, FunctionRegistry, NoFunction, Volatility};
use godwit_types::{SqlType, Value, cast_value, format_value, parse_value};

use crate::{AggregateImplementation, Registry, RowFunction};

/// An argument by its type's name; text in quotes is a literal.
fn argument(text: &str) -> (SqlType, Option<Value>) {
    use SqlType as T;
    let ty = match text {
        "NULL" => return (T::Unknown, Some(Value::Null)),
        "BOOLEAN" => T::Boolean,
        "INTEGER" => T::Integer,
        "SMALLINT" => T::SmallInt,
        "BIGINT" => T::BigInt,
        "HUGEINT" => T::HugeInt,
        "UINTEGER" => T::UInteger,
        "REAL" => T::Real,
        "DOUBLE" => T::Double,
        "DECIMAL" => T::decimal(15, 2),
        "VARCHAR" => T::Varchar,
        "DATE" => T::Date,
        "TIMESTAMP" => T::Timestamp,
        "INTEGER[]" => T::list_of(T::Integer),
        "DOUBLE[]" => T::list_of(T::Double),
        "STRUCT" => T::struct_of([("a", T::Integer), ("B", T::Varchar)]),
        "MAP" => T::Map(Arc::new((T::Varchar, T::Date))),
        quoted => return (T::Unknown, Some(Value::text(quoted.trim_matches('\'')))),
    };
    (ty, None)
}

fn with_arguments<T>(texts: &[&str], call: impl FnOnce(&[ArgumentType<'_>]) -> T) -> T {
    let arguments: Vec<_> = texts.iter().map(|text| argument(text)).collect();
    let arguments: Vec<ArgumentType<'_>> = arguments
        .iter()
        .map(|(ty, value)| ArgumentType { ty, value: value.as_ref(), nullable: true, lambda_parameters: None })
        .collect();
    call(&arguments)
}

fn shown(types: &[SqlType], ty: &SqlType) -> String {
    let types: Vec<String> = types.iter().map(SqlType::to_string).collect();
    format!("({}) {ty}", types.join(", "))
}

fn scalar(name: &str, arguments: &[&str]) -> String {
    with_arguments(arguments, |arguments| match Registry::default().scalar(name, arguments) {
        Ok(found) => shown(&found.argument_types, &found.ty),
        Err(error) => format!("{error:?}"),
    })
}

fn aggregate(name: &str, arguments: &[&str], key: &[&str]) -> String {
    with_arguments(key, |keys| {
        with_arguments(arguments, |arguments| match Registry::default().aggregate(name, arguments, keys) {
            Ok(found) => {
                let implementation = found.function.implementation.downcast_ref::<AggregateImplementation>().unwrap();
                let key = implementation.key.as_ref().map(|ty| format!(" of {ty}")).unwrap_or_default();
                format!("{}{}{key}", found.function.name, shown(&found.argument_types, &found.ty))
            }
            Err(error) => format!("{error:?}"),
        })
    })
}

#[test]
fn scalar_functions_take_types() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("upper", &["VARCHAR"], "(VARCHAR) VARCHAR"),
        ("lcase", &["'a'"], "(VARCHAR) VARCHAR"),
        ("length", &["INTEGER[]"], "(INTEGER[]) BIGINT"),
        ("||", &["VARCHAR", "INTEGER"], "(VARCHAR, VARCHAR) VARCHAR"),
        ("||", &["INTEGER[]", "BIGINT"], "(BIGINT[], BIGINT) BIGINT[]"),
        ("&", &["INTEGER", "BIGINT"], "(BIGINT, BIGINT) BIGINT"),
        ("~", &["UINTEGER"], "(UINTEGER) UINTEGER"),
        ("greatest", &["INTEGER", "DECIMAL"], "(DECIMAL(15,2), DECIMAL(15,2)) DECIMAL(15,2)"),
        ("list_value", &["INTEGER", "BIGINT"], "(BIGINT, BIGINT) BIGINT[]"),
        ("year", &["DATE"], "(DATE) BIGINT"),
        ("struct_extract", &["STRUCT", "'b'"], "(STRUCT(a INTEGER, B VARCHAR), VARCHAR) VARCHAR"),
        ("map_extract_value", &["MAP", "VARCHAR"], "(MAP(VARCHAR, DATE), VARCHAR) DATE"),
        ("timezone", &["'utc'", "TIMESTAMP"], "(VARCHAR, TIMESTAMP) TIMESTAMP WITH TIME ZONE"),
        ("now", &[], "() TIMESTAMP WITH TIME ZONE"),
        ("date_diff", &["'day'", "DATE", "TIMESTAMP"], "(VARCHAR, TIMESTAMP, TIMESTAMP) BIGINT"),
    ];
    for (name, arguments, expected) in cases {
        // Structs are spelled as the types spell themselves.
        let expected = expected.replace("STRUCT(a INTEGER, B VARCHAR)", &argument("STRUCT").0.to_string());
        assert_eq!(scalar(name, arguments), expected, "{name}");
    }
}

#[test]
fn aggregates_take_types() {
    let cases: &[(&str, &[&str], &[&str], &str)] = &[
        ("count", &[], &[], "count() BIGINT"),
        ("sum", &["INTEGER"], &[], "sum(BIGINT) BIGINT"),
        ("sum", &["BIGINT"], &[], "sum(BIGINT) HUGEINT"),
        ("sum", &["HUGEINT"], &[], "sum(HUGEINT) HUGEINT"),
        ("sum", &["UINTEGER"], &[], "sum(UBIGINT) UBIGINT"),
        ("sum", &["DECIMAL"], &[], "sum(DECIMAL(15,2)) DECIMAL(25,2)"),
        ("sum", &["REAL"], &[], "sum(DOUBLE) DOUBLE"),
        ("mean", &["INTEGER"], &[], "avg(INTEGER) DOUBLE"),
        ("avg", &["DATE"], &[], "avg(TIMESTAMP) TIMESTAMP"),
        ("max", &["DATE"], &[], "max(DATE) DATE"),
        ("max", &["DATE", "INTEGER"], &[], "max_n(DATE, BIGINT) DATE[]"),
        ("min_by", &["VARCHAR", "DATE", "INTEGER"], &[], "arg_min_n(VARCHAR, DATE, BIGINT) VARCHAR[]"),
        ("first", &["VARCHAR"], &["DATE"], "first_value(VARCHAR) VARCHAR"),
        ("every", &["BOOLEAN"], &[], "bool_and(BOOLEAN) BOOLEAN"),
        ("bit_or", &["SMALLINT"], &[], "bit_or(SMALLINT) SMALLINT"),
        ("corr", &["INTEGER", "DECIMAL"], &[], "corr(DOUBLE, DOUBLE) DOUBLE"),
        ("median", &["DATE"], &[], "median(TIMESTAMP) TIMESTAMP"),
        ("quantile", &["VARCHAR", "DOUBLE"], &[], "quantile_disc(VARCHAR, DOUBLE) VARCHAR"),
        ("quantile_cont", &["INTEGER", "DOUBLE[]"], &[], "quantile_cont(DOUBLE, DOUBLE[]) DOUBLE[]"),
        ("percentile_cont", &["DECIMAL"], &["INTEGER"], "quantile_cont(DOUBLE) DOUBLE of DOUBLE"),
        ("percentile_disc", &["DOUBLE"], &["VARCHAR"], "quantile_disc(DOUBLE) VARCHAR of VARCHAR"),
        ("mode", &[], &["DATE"], "mode() DATE of DATE"),
        ("list", &["'x'"], &[], "array_agg(VARCHAR) VARCHAR[]"),
        ("string_agg", &["INTEGER", "'-'"], &[], "string_agg(VARCHAR, VARCHAR) VARCHAR"),
        ("histogram", &["DATE"], &[], "histogram(DATE) MAP(DATE, UBIGINT)"),
    ];
    for (name, arguments, key, expected) in cases {
        assert_eq!(aggregate(name, arguments, key), *expected, "{name}");
    }
    for (name, arguments) in [
        ("count", &["INTEGER", "INTEGER"][..]),
        ("sum", &["VARCHAR"]),
        ("corr", &["DOUBLE"]),
        ("bool_and", &["INTEGER"]),
        ("avg", &[]),
    ] {
        assert!(aggregate(name, arguments, &[]).starts_with("NoMatch"), "{name}");
    }
}

#[test]
fn windows_and_lambdas_take_types() {
    let window = |name: &str, arguments: &[&str]| {
        with_arguments(arguments, |arguments| {
            Registry::default().window(name, arguments).map(|found| shown(&found.argument_types, &found.ty))
        })
    };
    assert_eq!(window("rank", &[]).unwrap(), "() BIGINT");
    assert_eq!(window("lag", &["SMALLINT", "SMALLINT", "INTEGER"]).unwrap(), "(INTEGER, BIGINT, INTEGER) INTEGER");
    assert!(matches!(window("ntile", &[]), Err(NoFunction::NoMatch { .. })));

    let list = SqlType::list_of(SqlType::Date);
    let of = |ty, lambda_parameters| ArgumentType { ty, value: None, nullable: true, lambda_parameters };
    let arguments = [of(&list, None), of(&SqlType::Unknown, Some(2))];
    let parameters = Registry::default().lambda_parameters("list_filter", &arguments).unwrap();
    assert_eq!(parameters, [vec![], vec![SqlType::Date, SqlType::BigInt]]);
    let arguments = [of(&list, None), of(&SqlType::Double, Some(1))];
    let found = Registry::default().scalar("list_transform", &arguments).unwrap();
    assert_eq!(found.ty, SqlType::list_of(SqlType::Double));
}

#[test]
fn names_have_a_kind() {
    let registry = Registry::default();
    let cases = [
        ("upper", Some(FunctionKind::Scalar)),
        ("list_transform", Some(FunctionKind::Scalar)),
        ("error", Some(FunctionKind::Scalar)),
        ("variance", Some(FunctionKind::Aggregate)),
        ("first_value", Some(FunctionKind::Aggregate)),
        ("nth_value", Some(FunctionKind::Window)),
        ("arrow_cast", None),
        ("nextval", None),
    ];
    for (name, kind) in cases {
        assert_eq!(registry.kind(name), kind, "{name}");
        assert_eq!(registry.names().iter().any(|known| known == name), kind.is_some(), "{name}");
    }
    assert!(matches!(registry.scalar("nothing", &[]), Err(NoFunction::UnknownName)));
}

#[test]
fn sessions_have_functions_of_their_own() {
    let check = |constants: &[Option<&Value>]| match constants {
        [Some(Value::Text(name))] if **name == *"s" => Ok(()),
        _ => Err(Error::user("no such sequence")),
    };
    let registry = Registry::default().with_function(RowFunction {
        name: "nextval",
        arguments: vec![SqlType::Varchar],
        result: SqlType::BigInt,
        volatility: Volatility::Volatile,
        check: Some(Arc::new(check)),
        compute: Arc::new(|_| Ok(Value::Integer(1))),
    });
    assert_eq!(registry.kind("nextval"), Some(FunctionKind::Scalar));
    let found = |text| with_arguments(&[text], |arguments| registry.scalar("nextval", arguments));
    assert_eq!(found("'s'").unwrap().function.volatility, Volatility::Volatile);
    assert!(matches!(found("'t'"), Err(NoFunction::BadArgument { argument: Some(0), .. })));
}

/// A call with constants as the binder makes it, and the result of planning it; `NULL` is NULL.
fn evaluated(name: &str, values: &[(&str, SqlType)]) -> Option<Result<String, Error>> {
    let registry = Registry::default();
    let literal = |(text, ty): &(&str, SqlType)| match *text {
        "NULL" => Expr::literal(Value::Null, ty.clone()),
        text => Expr::literal(parse_value(text, ty).unwrap(), ty.clone()),
    };
    let args: Vec<Expr> = values.iter().map(literal).collect();
    let arguments: Vec<ArgumentType<'_>> = args
        .iter()
        .map(|arg| ArgumentType { ty: &arg.ty, value: arg.as_literal(), nullable: false, lambda_parameters: None })
        .collect();
    let found = registry.scalar(name, &arguments).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let cast = |(arg, ty): (Expr, &SqlType)| {
        let value = cast_value(arg.as_literal().unwrap(), &arg.ty, ty).unwrap();
        Expr::literal(value, ty.clone())
    };
    let args = args.into_iter().zip(&found.argument_types).map(cast).collect();
    let call = Expr::new(ExprKind::Call(found.function, args), found.ty.clone(), true).at(Span::new(1, 2));
    let show = |value: Value| if value.is_null() { "NULL".to_owned() } else { format_value(&value, &found.ty) };
    registry.evaluate(&call).map(|value| value.map(show))
}

#[test]
fn constants_are_computed() {
    let call = evaluated;
    use SqlType::{Integer, Timestamp, Varchar};
    assert_eq!(call("upper", &[("abc", Varchar)]).unwrap().unwrap(), "ABC");
    let moments = [("day", Varchar), ("2000-01-01", Timestamp), ("2000-03-01", Timestamp)];
    assert_eq!(call("date_diff", &moments).unwrap().unwrap(), "60");
    let error = call("split_part", &[("a", Varchar), (",", Varchar), ("0", Integer)]).unwrap().unwrap_err();
    assert_eq!((error.code(), error.span()), (SqlState::INVALID_PARAMETER_VALUE, Some(Span::new(1, 2))));
    // Calls that differ each time, that fail, or whose result may be large aren't folded.
    assert!(call("random", &[]).is_none());
    assert!(call("error", &[("x", Varchar)]).is_none());
    assert_eq!(call("repeat", &[("x", Varchar), ("3", Integer)]).unwrap().unwrap(), "xxx");
    assert!(call("repeat", &[("x", Varchar), ("1000000", Integer)]).is_none());
}

/// A function, its arguments, and what is expected.
type Case<'a> = (&'a str, &'a [(&'a str, SqlType)], &'a str);

/// Each call with its value, or a part of its error's message.
fn check_calls(cases: &[Case<'_>]) {
    for (name, arguments, expected) in cases {
        match evaluated(name, arguments).unwrap_or_else(|| panic!("{name} {arguments:?} stays a call")) {
            Ok(value) => assert_eq!(value, *expected, "{name} {arguments:?}"),
            Err(error) => assert!(error.message().contains(expected), "{name} {arguments:?}: {error}"),
        }
    }
}

#[test]
fn numbers_keep_within_their_types() {
    use SqlType::{BigInt, Double, Real};
    let narrow = || SqlType::decimal(4, 1);
    check_calls(&[
        ("round", &[("42.12345", Double), ("2", BigInt)], "42.12"),
        ("round", &[("42.12345", Double), ("1000", BigInt)], "42.12345"),
        ("round", &[("1e300", Double), ("10", BigInt)], "1e300"),
        ("round", &[("1250", Double), ("-2", BigInt)], "1300.0"),
        ("round", &[("42", Double), ("-1000", BigInt)], "0.0"),
        ("round", &[("1e308", Double), ("-400", BigInt)], "0.0"),
        ("round", &[("nan", Double), ("-400", BigInt)], "NaN"),
        ("round", &[("1.25", Real), ("1", BigInt)], "1.3"),
        ("ceil", &[("999.9", narrow())], "1000"),
        ("ceil", &[("-999.9", narrow())], "-999"),
        ("ceil", &[("2.0", narrow())], "2"),
        ("floor", &[("-999.9", narrow())], "-1000"),
        ("round", &[("999.9", narrow())], "1000"),
        ("greatest", &[("-nan", Double), ("100", Double)], "NaN"),
        ("least", &[("nan", Double), ("NULL", Double), ("100", Double)], "100.0"),
    ]);
}

#[test]
fn lists_are_cut_and_sorted() {
    use SqlType::{BigInt, Blob, Integer, Varchar};
    let list = |text: &'static str| (text, SqlType::list_of(Integer));
    let at = |text: &'static str| (text, BigInt);
    let max = "9223372036854775807";
    check_calls(&[
        ("list_slice", &[list("[1, 2, 3]"), at("1"), at(max)], "[1, 2, 3]"),
        ("list_slice", &[list("[1, 2, 3]"), at("-2"), at("-1")], "[2, 3]"),
        ("list_slice", &[list("[1, 2, 3]"), at("3"), at("1")], "[]"),
        ("list_slice", &[list("[1, 2, 3, 4, 5]"), at("1"), at("5"), at("2")], "[1, 3, 5]"),
        ("list_slice", &[list("[1, 2, 3, 4, 5]"), at("5"), at("1"), at("-2")], "[5, 3, 1]"),
        ("list_slice", &[list("[1, 2, 3]"), at("1"), at("5"), at(max)], "[1]"),
        ("list_slice", &[list("[1, 2, 3]"), at("1"), at("5"), at("0")], "the step of a slice is 0"),
        ("list_slice", &[list("[]"), at("1"), at("-1")], "[]"),
        ("array_slice", &[("äbc", Varchar), at("1"), at("2")], "äb"),
        ("list_sort", &[list("[3, NULL, 1]")], "[1, 3, NULL]"),
        ("list_sort", &[list("[1, NULL, 3]"), ("desc", Varchar)], "[NULL, 3, 1]"),
        ("list_sort", &[list("[1, NULL, 3]"), ("DESC", Varchar), ("NULLS LAST", Varchar)], "[3, 1, NULL]"),
        ("list_sort", &[list("[1]"), ("up", Varchar)], "'up' is neither ASC nor DESC"),
        ("greatest", &[list("[NULL, 3]"), list("[1]")], "[NULL, 3]"),
        ("octet_length", &[("abc", Blob)], "3"),
        ("octet_length", &[("ä", Varchar)], "2"),
    ]);
}

#[test]
fn times_have_parts_and_templates() {
    use SqlType::{BigInt, Date, Double, Interval, Timestamp, Varchar};
    let part = |name: &'static str| (name, Varchar);
    check_calls(&[
        ("date_part", &[part("microsecond"), ("26.3434 seconds", Interval)], "26343400"),
        ("date_part", &[part("millisecond"), ("1 minute 26.343 seconds", Interval)], "26343"),
        ("date_part", &[part("epoch"), ("2 years", Interval)], "63115200.0"),
        ("date_part", &[part("hour"), ("1 day 30:00:00", Interval)], "30"),
        ("month", &[("14 months", Interval)], "2"),
        ("date_part", &[part("century"), ("2001-01-01", Date)], "21"),
        ("date_part", &[part("century"), ("2000-12-31", Timestamp)], "20"),
        ("date_part", &[part("decade"), ("1999-12-31", Date)], "199"),
        ("millennium", &[("2001-01-01", Date)], "3"),
        ("date_part", &[part("year"), ("1999-12-31", Date)], "1999"),
        ("to_timestamp", &[("1000000000000", BigInt)], "33658-09-27 01:46:40+00"),
        ("to_timestamp", &[("1.5", Double)], "1970-01-01 00:00:01.5+00"),
        ("to_timestamp", &[("9223372036854775807", BigInt)], "out of range for TIMESTAMP"),
        ("to_timestamp", &[("nan", Double)], "out of range for TIMESTAMP"),
    ]);
    let moment = ("2020-01-05 13:04:05.006007", Timestamp);
    for (template, expected) in [
        ("YYYY-MM-DD", "2020-01-05"),
        ("YY/FMMM/FMDD", "20/1/5"),
        ("HH24:MI:SS.MS US", "13:04:05.006 006007"),
        ("HH12 AM, hh pm", "01 PM, 01 pm"),
        ("Day|FMDay, FMMonth MON dy", "Sunday   |Sunday, January JAN sun"),
        ("\"Quarter\" Q, DDD D", "Quarter 1, 005 1"),
        ("%Y", "2020"),
    ] {
        check_calls(&[("to_char", &[moment.clone(), (template, Varchar)], expected)]);
    }
    check_calls(&[("to_char", &[("2020-01-05", Date), ("YYYY-MM-DD", Varchar)], "2020-01-05")]);
}
