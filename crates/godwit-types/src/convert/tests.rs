use super::*;
use crate::SqlType as T;
use crate::tests::{extremes, sample_types};

/// Reads a text as one type, casts it to another, and writes the result.
fn cast_text(text: &str, from: &T, to: &T) -> std::result::Result<String, String> {
    let value = parse_value(text, from).expect("the test's own values are of their types");
    cast_value(&value, from, to).map(|value| format_value(&value, to)).map_err(|error| error.message().to_owned())
}

#[test]
fn values_become_what_they_should() {
    let d = T::decimal;
    let cases = [
        ("2.5", T::Double, T::Integer, "2"),
        ("3.5", T::Double, T::Integer, "4"),
        ("-2.5", T::Double, T::Integer, "-2"),
        ("2.5", d(3, 1), T::Integer, "3"),
        ("-12.5", d(3, 1), T::Integer, "-13"),
        ("12.345", d(5, 3), d(10, 2), "12.35"),
        ("-12.345", d(5, 3), d(10, 2), "-12.35"),
        ("0.07", d(2, 2), d(4, 3), "0.070"),
        ("1", T::Integer, d(10, 2), "1.00"),
        ("99999999999999999999.99999", d(38, 5), T::Double, "1e20"),
        ("0.1", d(38, 37), T::Double, "0.1"),
        ("123456789012345.678", d(38, 3), T::Double, "123456789012345.67"),
        ("16777217", T::Integer, T::Real, "16777216.0"),
        ("0.1", T::Real, T::Double, "0.10000000149011612"),
        ("0.1", T::Real, d(5, 3), "0.100"),
        ("1.005", T::Double, d(10, 2), "1.01"),
        ("inf", T::Double, T::Real, "inf"),
        ("NaN", T::Real, T::Double, "NaN"),
        ("18446744073709551615", T::UBigInt, T::HugeInt, "18446744073709551615"),
        ("340282366920938463463374607431768211455", T::UHugeInt, T::Double, "3.402823669209385e38"),
        ("true", T::Boolean, T::BigInt, "1"),
        ("true", T::Boolean, d(3, 1), "1.0"),
        ("false", T::Boolean, T::Double, "0.0"),
        ("-3", T::Integer, T::Boolean, "true"),
        ("0.00", d(3, 2), T::Boolean, "false"),
        ("1995-03-15", T::Date, T::Timestamp, "1995-03-15 00:00:00"),
        ("1995-03-15", T::Date, T::TimestampTz, "1995-03-15 00:00:00+00"),
        ("1969-12-31 23:59:59.5", T::Timestamp, T::Date, "1969-12-31"),
        ("1969-12-31 23:59:59.5", T::Timestamp, T::Time, "23:59:59.5"),
        ("2000-01-01 00:00:00.123456789", T::TimestampNs, T::Timestamp, "2000-01-01 00:00:00.123457"),
        ("2000-01-01 00:00:01", T::TimestampS, T::TimestampNs, "2000-01-01 00:00:01"),
        ("1969-12-31 23:59:59.5", T::TimestampTz, T::TimeTz, "23:59:59.5+00"),
        ("04:05:06", T::Time, T::TimeTz, "04:05:06+00"),
        ("04:05:06+02", T::TimeTz, T::Time, "04:05:06"),
        ("04:05:06", T::Time, T::Interval, "04:05:06"),
        ("1 day -1 hour", T::Interval, T::Time, "23:00:00"),
        ("[1, NULL]", T::list_of(T::Integer), T::list_of(T::Varchar), "[1, NULL]"),
        ("[1.5, 2.5]", T::list_of(d(2, 1)), T::Array(T::Integer.into(), 2), "[2, 3]"),
        ("{1=2}", T::Map((T::Integer, T::Integer).into()), T::Map((T::Varchar, T::Double).into()), "{1=2.0}"),
        ("42", T::Integer, T::Varchar, "42"),
        ("[1, 2]", T::Varchar, T::list_of(T::TinyInt), "[1, 2]"),
    ];
    for (text, from, to, expected) in cases {
        assert_eq!(cast_text(text, &from, &to).as_deref(), Ok(expected), "{text}: {from} to {to}");
    }
}

#[test]
fn fields_move_by_name() {
    let from = T::struct_of([("a", T::Integer), ("b", T::Varchar)]);
    let swapped = T::struct_of([("b", T::Varchar), ("A", T::BigInt)]);
    assert_eq!(cast_text("{'a': 1, 'b': x}", &from, &swapped).unwrap(), "{'b': x, 'A': 1}");
}

#[test]
fn errors_name_value_and_type() {
    let d = T::decimal;
    let cases = [
        ("300", T::Integer, T::TinyInt, "300 is out of range for TINYINT"),
        ("-1", T::Integer, T::UHugeInt, "-1 is out of range for UHUGEINT"),
        ("12345678901", T::BigInt, d(5, 2), "12345678901 is out of range for DECIMAL(5,2)"),
        ("999.995", d(6, 3), d(5, 2), "999.995 is out of range for DECIMAL(5,2)"),
        ("NaN", T::Double, T::Integer, "NaN is out of range for INTEGER"),
        ("1e30", T::Double, T::Integer, "1e30 is out of range for INTEGER"),
        ("1e300", T::Double, T::Real, "1e300 is out of range for REAL"),
        ("x", T::Varchar, T::Integer, "'x' is not an INTEGER"),
        ("1700-01-01", T::Date, T::Date, ""),
        ("300000-01-01", T::Date, T::Timestamp, "300000-01-01 is out of range for TIMESTAMP"),
        ("1600-01-01 00:00:00", T::Timestamp, T::TimestampNs, "1600-01-01 00:00:00 is out of range for TIMESTAMP_NS"),
        ("1", T::Integer, T::Date, "there is no cast from INTEGER to DATE"),
        ("[1]", T::list_of(T::Integer), T::Array(T::Integer.into(), 2), "a list of 1 values is not of type INTEGER[2]"),
    ];
    for (text, from, to, expected) in cases {
        match cast_text(text, &from, &to) {
            Ok(_) => assert_eq!(expected, "", "{text}: {from} to {to}"),
            Err(message) => assert_eq!(message, expected),
        }
    }
}

/// Every extreme value casts to every type or is an error; values that become text are read back unchanged.
#[test]
fn no_cast_panics_and_text_reads_back() {
    let types = sample_types();
    for from in &types {
        for value in extremes(from) {
            for to in &types {
                let Ok(converted) = cast_value(&value, from, to) else { continue };
                let text = format_value(&converted, to);
                if converted.is_null() {
                    continue;
                }
                match parse_value(&text, to) {
                    Ok(read) => assert_eq!(format_value(&read, to), text, "{value:?}: {from} to {to}"),
                    Err(error) => panic!("{value:?}: {from} to {to} is written as {text}: {error}"),
                }
            }
        }
    }
}

/// The promises of the table of casts hold for the extreme values.
#[test]
fn casts_do_what_the_table_promises() {
    use crate::compare_values;
    let types = sample_types();
    for (from, to) in types.iter().flat_map(|from| types.iter().map(move |to| (from, to))) {
        let Some(cast) = cast_kind(from, to) else { continue };
        let values = extremes(from);
        for a in &values {
            for b in &values {
                if a.is_null() || b.is_null() {
                    continue;
                }
                let (Ok(x), Ok(y)) = (cast_value(a, from, to), cast_value(b, from, to)) else {
                    let dates = *from == T::Date;
                    assert!(!cast.lossless || dates, "{a:?} or {b:?}: {from} to {to} fails");
                    continue;
                };
                let (before, after) = (compare_values(a, b, from), compare_values(&x, &y, to));
                if cast.keeps_order {
                    assert!(before == after || after.is_eq(), "{a:?} {b:?}: {from} to {to}");
                }
                if cast.lossless {
                    assert_eq!(before.is_eq(), after.is_eq(), "{a:?} {b:?}: {from} to {to}");
                    let back = cast_value(&x, to, from).expect("what isn't lost can be cast back");
                    assert!(compare_values(&back, a, from).is_eq(), "{a:?}: {from} to {to} and back is {back:?}");
                }
            }
        }
    }
}
