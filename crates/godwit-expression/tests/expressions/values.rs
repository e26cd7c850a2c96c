//! SQL expressions with their expected values, one for each row.

use godwit_common::ErrorKind;
use godwit_expression::{Expression, PlanContext};
use godwit_types::{SqlType as T, TimeTz, Value, format_value};
use godwit_vector::sql::value_at;
use godwit_vector::{Chunk, from_arrow, to_arrow};

use crate::sql::{Columns, bound};

const FEW: [&str; 6] = ["3", "NULL", "-7", "0", "3", "100"];

/// Checks the values of each expression in all representations.
fn check(columns: &Columns<'_>, cases: &[(&str, &str)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    let (rows, exprs) = bound(columns, &texts);
    for ((text, expected), expr) in cases.iter().zip(&exprs) {
        let values = rows.evaluated(expr).unwrap_or_else(|error| panic!("{text}: {error}"));
        let shown: Vec<String> = values
            .iter()
            .map(|value| if value.is_null() { "NULL".to_owned() } else { format_value(value, &expr.ty) })
            .collect();
        assert_eq!(shown.join(" | "), *expected, "{text}");
        rows.check_forms(expr, &values.into_iter().map(Ok).collect::<Vec<_>>(), true);
    }
}

/// Checks that each expression's message contains a text.
fn check_errors(columns: &Columns<'_>, cases: &[(&str, &str)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    let (rows, exprs) = bound(columns, &texts);
    for ((text, message), expr) in cases.iter().zip(&exprs) {
        for error in rows.errors(expr) {
            let error = error.unwrap_or_else(|| panic!("{text} succeeds"));
            assert_eq!(error.kind(), ErrorKind::User, "{text}: {error}");
            assert!(error.message().contains(message), "{text}: {error}");
        }
    }
}

#[test]
fn integers_are_computed() {
    check(
        &[(T::BigInt, &FEW)],
        &[
            ("c0 + 5", "8 | NULL | -2 | 5 | 8 | 105"),
            ("5 - c0", "2 | NULL | 12 | 5 | 2 | -95"),
            ("c0 * c0", "9 | NULL | 49 | 0 | 9 | 10000"),
            ("c0 // 2", "1 | NULL | -3 | 0 | 1 | 50"),
            ("c0 % -4", "3 | NULL | -3 | 0 | 3 | 0"),
            ("-c0", "-3 | NULL | 7 | 0 | -3 | -100"),
            ("abs(c0)", "3 | NULL | 7 | 0 | 3 | 100"),
            ("c0 & 6", "2 | NULL | 0 | 0 | 2 | 4"),
            ("c0 | 1", "3 | NULL | -7 | 1 | 3 | 101"),
            ("c0 # 1", "2 | NULL | -8 | 1 | 2 | 101"),
            ("c0 << 1", "6 | NULL | -14 | 0 | 6 | 200"),
            ("c0 >> 1", "1 | NULL | -4 | 0 | 1 | 50"),
            ("c0 << 63 >> 63", "-1 | NULL | -1 | 0 | -1 | 0"),
            ("~c0", "-4 | NULL | 6 | -1 | -4 | -101"),
            ("c0 & NULL", "NULL | NULL | NULL | NULL | NULL | NULL"),
        ],
    );
}

#[test]
fn overflow_and_division_by_zero_are_errors() {
    check_errors(
        &[(T::BigInt, &["9223372036854775807", "-9223372036854775808", "1"])],
        &[
            ("c0 + 1", "integer overflow in"),
            ("c0 - 1", "integer overflow"),
            ("c0 * 2", "integer overflow"),
            ("c0 // -1", "integer overflow"),
            ("-c0", "integer overflow"),
            ("abs(c0)", "integer overflow"),
            ("CAST(c0 AS TINYINT)", "doesn't fit into TINYINT"),
        ],
    );
    check_errors(
        &[(T::BigInt, &["1", "0", "NULL"])],
        &[("1 // c0", "division by zero"), ("1 % c0", "division by zero"), ("1.5 / c0", "division by zero")],
    );
    check_errors(
        &[(T::BigInt, &["64", "-1"])],
        &[("1 << c0", "the shift 64 is out of range from 0 to 63"), ("1 >> -c0", "the shift -64 is out of range")],
    );
    check_errors(
        &[(T::Integer, &["1"])],
        &[("c0 >> 32", "the shift 32 is out of range from 0 to 31"), ("1::BIGINT << 64", "the shift 64 is")],
    );
    check_errors(&[(T::TinyInt, &["100", "1"])], &[("c0 + 100::TINYINT", "integer overflow")]);
    check_errors(&[(T::UBigInt, &["1", "2"])], &[("c0 - 2::UBIGINT", "integer overflow")]);
    let large = "10000000000000000000000000000000000000";
    check_errors(&[(T::decimal(38, 0), &[large])], &[("c0 * c0", "decimal overflow")]);
    check_errors(
        &[(T::Double, &["1e30", "nan", "9223372036854775807"])],
        &[("CAST(c0 AS BIGINT)", "doesn't fit"), ("CAST(c0 AS DECIMAL(5, 2))", "doesn't fit")],
    );
    check_errors(&[(T::Varchar, &["x"])], &[("CAST(c0 AS BIGINT)", "'x' is not a BIGINT"), ("error(c0)", "x")]);
}

#[test]
fn errors_of_null_rows_do_not_count() {
    use arrow_array::{ArrayRef, Int64Array};
    // The values of NULL rows would overflow and divide by zero.
    let values = Int64Array::new(vec![5, i64::MAX, 0].into(), Some(vec![true, false, false].into()));
    let array: ArrayRef = std::sync::Arc::new(values);
    let chunk = Chunk::new(vec![from_arrow(&array).unwrap()], 3);
    let columns = [(T::BigInt, &["5", "NULL", "NULL"][..])];
    let texts = ["c0 * 4", "10 // c0", "10 % c0", "CAST(c0 AS TINYINT)"];
    let (rows, exprs) = bound(&columns, &texts);
    for (expr, first) in exprs.iter().zip([20, 2, 0, 5]) {
        let types = rows.column_types(false);
        let compiled = Expression::compile(expr, rows.layout(&types), &PlanContext::default()).unwrap();
        let array = to_arrow(&compiled.evaluate(&chunk).unwrap(), &compiled.output().logical).unwrap();
        let found: Vec<Value> = (0..3).map(|row| value_at(&array, row, &expr.ty).unwrap()).collect();
        assert_eq!(found, [Value::Integer(first), Value::Null, Value::Null], "{expr}");
    }
}

#[test]
fn numbers_are_cast_and_compared() {
    check(
        &[(T::Double, &["1.5", "NULL", "-0.0", "nan", "2.5"])],
        &[
            ("c0 = 0::DOUBLE", "false | NULL | true | false | false"),
            ("c0 = 'nan'::DOUBLE", "false | NULL | false | true | false"),
            ("c0 > 1", "true | NULL | false | true | true"),
            ("c0 <= 0", "false | NULL | true | false | false"),
            ("TRY_CAST(c0 AS BIGINT)", "2 | NULL | 0 | NULL | 2"),
            ("greatest(-c0, 1)", "1.0 | 1.0 | 1.0 | NaN | 1.0"),
            ("greatest(-c0, 1) = 'nan'::DOUBLE", "false | false | false | true | false"),
            ("-c0 <= 100", "true | NULL | true | false | true"),
            ("round(c0, 400)", "1.5 | NULL | -0.0 | NaN | 2.5"),
        ],
    );
    check(
        &[(T::decimal(10, 1), &["2.5", "-2.5", "2.4", "NULL"])],
        &[
            ("CAST(c0 AS DECIMAL(10, 0))", "3 | -3 | 2 | NULL"),
            ("CAST(c0 AS BIGINT)", "3 | -3 | 2 | NULL"),
            ("CAST(c0 AS DECIMAL(38, 3))", "2.500 | -2.500 | 2.400 | NULL"),
            ("CAST(c0 AS DOUBLE)", "2.5 | -2.5 | 2.4 | NULL"),
            ("c0 + 1.234", "3.734 | -1.266 | 3.634 | NULL"),
            ("ceil(c0)", "3 | -2 | 3 | NULL"),
            ("floor(c0)", "2 | -3 | 2 | NULL"),
            ("c0 > 2.45", "true | false | false | NULL"),
        ],
    );
    check(
        &[(T::BigInt, &FEW)],
        &[
            ("CAST(c0 AS BOOLEAN)", "true | NULL | true | false | true | true"),
            ("CAST(c0 AS VARCHAR)", "3 | NULL | -7 | 0 | 3 | 100"),
            ("CAST(c0 AS DECIMAL(20, 2))", "3.00 | NULL | -7.00 | 0.00 | 3.00 | 100.00"),
            ("c0 >= 3", "true | NULL | false | false | true | true"),
            ("3 <> c0", "false | NULL | true | true | false | true"),
            ("c0 BETWEEN 0 AND 3", "true | NULL | false | true | true | false"),
            ("c0 NOT BETWEEN 0 AND 3", "false | NULL | true | false | false | true"),
            ("c0 > 0 AND c0 < 100", "true | NULL | false | false | true | false"),
            // Beyond any possible value.
            ("c0 < 1000000000000000000000000000000", "true | NULL | true | true | true | true"),
        ],
    );
    check(
        &[(T::Integer, &["1", "NULL", "NULL", "2"]), (T::Integer, &["1", "NULL", "3", "4"])],
        &[
            ("c0 IS DISTINCT FROM c1", "false | false | true | true"),
            ("c0 IS NOT DISTINCT FROM c1", "true | true | false | false"),
            ("c0 = c1", "true | NULL | NULL | false"),
        ],
    );
}

#[test]
fn logic_decides_which_rows_are_evaluated() {
    check(
        &[(T::BigInt, &["0", "2", "NULL", "5"])],
        &[
            ("c0 <> 0 AND 10 // c0 > 3", "false | true | NULL | false"),
            ("10 // c0 > 3 AND c0 <> 0", "false | true | NULL | false"),
            ("c0 = 0 OR 10 // c0 > 3", "true | true | NULL | false"),
            ("CASE WHEN c0 = 0 THEN -1 ELSE 10 // c0 END", "-1 | 5 | NULL | 2"),
            ("CASE WHEN c0 > 0 THEN 10 // c0 END", "NULL | 5 | NULL | 2"),
            ("CASE c0 WHEN 5 THEN 1 WHEN 2 THEN 2 END", "NULL | 2 | NULL | 1"),
            ("coalesce(c0, 9)", "0 | 2 | 9 | 5"),
            ("coalesce(c0 + 1, 1 // (c0 - c0))", "1 | 3 | NULL | 6"),
            ("nullif(c0, 2)", "0 | NULL | NULL | 5"),
            ("10 // nullif(c0, 0)", "NULL | 5 | NULL | 2"),
            ("if(c0 > 2, 'a string that is not inline', 'b')", "b | b | b | a string that is not inline"),
        ],
    );
    check(
        &[(T::Boolean, &["true", "NULL", "false"])],
        &[
            ("NOT c0", "false | NULL | true"),
            ("c0 IS NULL", "false | true | false"),
            ("c0 IS NOT NULL", "true | false | true"),
            ("c0 IS TRUE", "true | false | false"),
            ("c0 IS NOT TRUE", "false | true | true"),
            ("c0 IS FALSE", "false | false | true"),
            ("c0 IS NOT FALSE", "true | true | false"),
            ("c0 IS UNKNOWN", "false | true | false"),
            ("c0 AND NULL", "NULL | NULL | false"),
            ("c0 OR NULL", "true | NULL | NULL"),
            ("CAST(c0 AS BIGINT)", "1 | NULL | 0"),
        ],
    );
}

#[test]
fn in_lists_are_sets() {
    let dense: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let sparse: Vec<String> = (0..50).map(|number| (number * 1_000_000 + 3).to_string()).collect();
    let texts: Vec<String> = (0..20).map(|number| format!("'{number} and something longer'")).collect();
    let (dense, sparse) = (dense.join(", "), sparse.join(", "));
    check(
        &[(T::BigInt, &FEW)],
        &[
            ("c0 IN (3, 100)", "true | NULL | false | false | true | true"),
            (&format!("c0 IN ({dense})"), "true | NULL | false | true | true | false"),
            (&format!("c0 NOT IN ({sparse})"), "false | NULL | true | true | false | true"),
            (&format!("c0 NOT IN ({dense}, NULL)"), "false | NULL | NULL | false | false | NULL"),
        ],
    );
    check(
        &[(T::Varchar, &["MAIL", "NULL", "a ship of considerable length", "x"])],
        &[
            ("c0 IN ('MAIL', 'a ship of considerable length')", "true | NULL | true | false"),
            (&format!("c0 IN ({}, 'x')", texts.join(", ")), "false | NULL | false | true"),
        ],
    );
    check(
        &[(T::Integer, &["1", "2", "3"]), (T::Integer, &["NULL", "NULL", "3"])],
        &[("c0 IN (1, c1)", "true | NULL | true")],
    );
}

#[test]
fn texts_have_functions() {
    check(
        &[(T::Varchar, &["Grüße, Welt, und mehr", "NULL", "ascii", ""])],
        &[
            ("substr(c0, 3)", "üße, Welt, und mehr | NULL | cii | "),
            ("substring(c0, 2, 3)", "rüß | NULL | sci | "),
            ("upper(c0)", "GRÜSSE, WELT, UND MEHR | NULL | ASCII | "),
            ("lcase(c0)", "grüße, welt, und mehr | NULL | ascii | "),
            ("left(c0, 3)", "Grü | NULL | asc | "),
            ("c0 || '!'", "Grüße, Welt, und mehr! | NULL | ascii! | !"),
            ("concat(c0, '!')", "Grüße, Welt, und mehr! | ! | ascii! | !"),
            ("length(c0)", "21 | NULL | 5 | 0"),
            ("starts_with(c0, 'Gr')", "true | NULL | false | false"),
            ("c0 LIKE '%, W%'", "true | NULL | false | false"),
            ("c0 NOT LIKE 'a_cii'", "true | NULL | false | true"),
            ("c0 ILIKE 'GRÜ%'", "true | NULL | false | false"),
            ("c0 ~ '^a.*i$'", "false | NULL | true | false"),
            ("c0 < 'b'", "true | NULL | true | true"),
            // Without their own kernels.
            ("reverse(c0)", "rhem dnu ,tleW ,eßürG | NULL | iicsa | "),
            ("replace(c0, 'e', 'E')", "GrüßE, WElt, und mEhr | NULL | ascii | "),
            ("c0[2]", "r | NULL | s | "),
        ],
    );
    check_errors(&[(T::Varchar, &["text"])], &[("substr(c0, 1, -1)", "negative")]);
}

#[test]
fn dates_have_parts_and_shift() {
    check(
        &[(T::Date, &["1995-03-15", "NULL", "1996-02-29", "1969-12-31"])],
        &[
            ("year(c0)", "1995 | NULL | 1996 | 1969"),
            ("date_part('MONTH', c0)", "3 | NULL | 2 | 12"),
            ("extract(day FROM c0)", "15 | NULL | 29 | 31"),
            ("quarter(c0)", "1 | NULL | 1 | 4"),
            ("dayofweek(c0)", "3 | NULL | 4 | 3"),
            ("dayofyear(c0)", "74 | NULL | 60 | 365"),
            ("week(c0)", "11 | NULL | 9 | 1"),
            ("CAST(c0 + INTERVAL 12 MONTH AS DATE)", "1996-03-15 | NULL | 1997-02-28 | 1970-12-31"),
            ("CAST(c0 - INTERVAL 1 MONTH AS DATE)", "1995-02-15 | NULL | 1996-01-29 | 1969-11-30"),
            ("c0 + 90", "1995-06-13 | NULL | 1996-05-29 | 1970-03-31"),
            ("c0 - DATE '1994-08-23'", "204 | NULL | 555 | -9001"),
            ("extract(century FROM c0)", "20 | NULL | 20 | 20"),
            ("decade(c0)", "199 | NULL | 199 | 196"),
            ("to_char(c0, 'DD.MM.YYYY')", "15.03.1995 | NULL | 29.02.1996 | 31.12.1969"),
            ("date_diff('month', c0, DATE '1996-03-01')", "12 | NULL | 1 | 315"),
        ],
    );
    check(
        &[(T::TimestampS, &["1995-03-15 01:02:03", "NULL", "1969-12-31 23:59:59"])],
        &[
            ("date_trunc('month', c0)", "1995-03-01 00:00:00 | NULL | 1969-12-01 00:00:00"),
            ("date_trunc('hour', c0)", "1995-03-15 01:00:00 | NULL | 1969-12-31 23:00:00"),
            ("c0 AT TIME ZONE 'UTC'", "1995-03-15 01:02:03+00 | NULL | 1969-12-31 23:59:59+00"),
        ],
    );
}

#[test]
fn nested_values_have_parts() {
    let list = T::list_of(T::Integer);
    let record = T::struct_of([("a", T::Integer), ("B", T::Varchar)]);
    check(
        &[(list, &["[1, 2, NULL]", "NULL", "[]"]), (record, &["{'a': 1, 'B': x}", "NULL", "{'a': NULL, 'B': y}"])],
        &[
            ("c0[2]", "2 | NULL | NULL"),
            ("length(c0)", "3 | NULL | 0"),
            ("list_sum(c0)", "3 | NULL | NULL"),
            ("c0[1:5:2]", "[1, NULL] | NULL | []"),
            ("list_sort([NULL, c0[1], 0])", "[0, 1, NULL] | [0, NULL, NULL] | [0, NULL, NULL]"),
            ("greatest(c0, [1, 2])", "[1, 2, NULL] | [1, 2] | [1, 2]"),
            ("c0 > [1, 2, 3]", "true | NULL | false"),
            ("[NULL, 3] > [1]", "true | true | true"),
            ("c0 || 7", "[1, 2, NULL, 7] | [7] | [7]"),
            ("list_transform(c0, x -> x + 1)", "[2, 3, NULL] | NULL | []"),
            ("list_filter(c0, (x, i) -> i < 2)", "[1] | NULL | []"),
            ("c1.a", "1 | NULL | NULL"),
            ("c1['b']", "x | NULL | y"),
            ("[c0[1], 5]", "[1, 5] | [NULL, 5] | [NULL, 5]"),
            ("MAP {'k': c0[1]}['k']", "1 | NULL | NULL"),
            ("(c0[1], 'z')", "{'v1': 1, 'v2': z} | {'v1': NULL, 'v2': z} | {'v1': NULL, 'v2': z}"),
        ],
    );
}

#[test]
fn clocks_tell_the_moment_of_the_statement() {
    let texts = ["now()", "current_date", "localtimestamp", "localtime", "current_time"];
    let (_, exprs) = bound(&[(T::Integer, &["1"])], &texts);
    let context = PlanContext::default().with_now(86_400_000_000 + 5);
    let nothing = godwit_expression::Layout { columns: &[], types: &[] };
    let zoned = Value::TimeTz(TimeTz::new(5, 0).unwrap());
    let expected =
        [Value::Timestamp(86_400_000_005), Value::Date(1), Value::Timestamp(86_400_000_005), Value::Time(5), zoned];
    for (expr, expected) in exprs.iter().zip(expected) {
        let compiled = Expression::compile(expr, nothing, &context).unwrap();
        let vector = compiled.evaluate(&Chunk::new(Vec::new(), 1)).unwrap();
        let array = to_arrow(&vector, &compiled.output().logical).unwrap();
        assert_eq!(value_at(&array, 0, &expr.ty).unwrap(), expected, "{expr}");
    }
}
