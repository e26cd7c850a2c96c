use super::*;
use crate::{SqlType as T, iso_moment, write_offset_minutes};

/// Reads and writes a value, and reads back what was written.
fn round_trip(text: &str, ty: &T) -> String {
    let value = parse_value(text, ty).unwrap_or_else(|error| panic!("{text}: {error}"));
    let written = format_value(&value, ty);
    assert_eq!(parse_value(&written, ty).unwrap(), value, "{text} is written as {written}");
    written
}

fn check(ty: &T, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(round_trip(text, ty), *expected, "{text} as {ty}");
    }
}

fn refuse(ty: &T, texts: &[&str]) {
    for text in texts {
        let error = parse_value(text, ty).expect_err(text);
        assert_ne!(error.code(), SqlState::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION, "{text}: {error}");
    }
}

#[test]
fn booleans() {
    for text in ["t", "TRUE", "tru", "y", "yes", "on", "1", " true "] {
        assert_eq!(parse_value(text, &T::Boolean).unwrap(), Value::Boolean(true), "{text}");
    }
    for text in ["f", "False", "n", "no", "of", "off", "0"] {
        assert_eq!(parse_value(text, &T::Boolean).unwrap(), Value::Boolean(false), "{text}");
    }
    refuse(&T::Boolean, &["", "o", "2", "truee", "wahr"]);
}

#[test]
fn exact_numbers() {
    check(
        &T::Integer,
        &[
            ("42", "42"),
            (" -7 ", "-7"),
            ("+7", "7"),
            ("1_000", "1000"),
            ("1.7", "2"),
            ("-1.5", "-2"),
            ("0.4999", "0"),
            ("1e3", "1000"),
            ("15e-1", "2"),
            ("0x2A", "42"),
            ("-0b11", "-3"),
            ("0e99999999999999999999", "0"),
            ("1e-99999999999999999999", "0"),
            ("2147483647.4", "2147483647"),
        ],
    );
    check(&T::decimal(10, 2), &[("12.345", "12.35"), ("-12.345", "-12.35"), (".5", "0.50"), ("1e2", "100.00")]);
    check(
        &T::decimal(38, 38),
        &[("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001")],
    );
    check(&T::HugeInt, &[("-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728")]);
    refuse(
        &T::Integer,
        &["", " ", "x", "1 2", "1__0", "_1", "--1", "1e", "0x", "2147483648", "-2147483649", "1e99999999999"],
    );
    refuse(&T::decimal(10, 2), &["12.3.4", "100000000", "99999999.995", "nan"]);
    refuse(&T::UInteger, &["-1", "-0.5"]);
    refuse(&T::UHugeInt, &["340282366920938463463374607431768211456", "-1"]);
}

#[test]
fn floats() {
    check(
        &T::Double,
        &[
            ("1000", "1000.0"),
            ("-1.5", "-1.5"),
            ("-0", "-0.0"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e16"),
            ("1e20", "1e20"),
            ("0.00001", "0.00001"),
            ("0.0000015", "1.5e-6"),
            ("1.7976931348623157e308", "1.7976931348623157e308"),
            ("NaN", "NaN"),
            ("Infinity", "inf"),
            ("-inf", "-inf"),
            ("1e-400", "0.0"),
            ("1_0.5", "10.5"),
        ],
    );
    check(
        &T::Real,
        &[
            ("0.1", "0.1"),
            ("16777217", "16777216.0"),
            ("3.4028235e38", "3.4028235e38"),
            // As for DOUBLE, where other formatters of REAL have no exponent, or one already.
            ("0.0000015", "1.5e-6"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e16"),
            ("1e-45", "1e-45"),
            // 128.01562 and 128.01563 are equally near.
            ("128.015625", "128.01562"),
            ("-128.015625", "-128.01562"),
        ],
    );
    refuse(&T::Double, &["", "e5", "1e400", "in", "infin", "0x10", "1.5f"]);
    refuse(&T::Real, &["1e39"]);
}

/// Of all magnitudes, against the digits of the standard library.
#[test]
fn floats_have_the_shortest_digits() {
    let significant = |text: &str| {
        let mantissa = text.split('e').next().expect("texts have a first part");
        mantissa.replace(['-', '.'], "").trim_matches('0').len()
    };
    let mut bits = 1u64;
    for _ in 0..20_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let near_one = f64::from_bits(0x3fe0 << 48 | bits >> 12);
        for value in [f64::from_bits(bits), near_one, (bits >> 40) as f64 / 100.0].into_iter().filter(|v| v.is_finite())
        {
            let text = format_value(&Value::Float(value), &T::Double);
            let standard = format!("{value:e}");
            let (_, exponent) = standard.split_once('e').expect("it is written with an exponent");
            let is_plain = value == 0.0 || (-5..16).contains(&exponent.parse::<i32>().expect("exponents are numbers"));
            assert_eq!((text.parse(), !text.contains('e')), (Ok(value), is_plain), "{text}");
            assert_eq!(significant(&text), significant(&standard), "{text}, {standard}");

            let real = value as f32;
            if real.is_finite() {
                let text = format_value(&Value::Float(real.into()), &T::Real);
                assert_eq!(text.parse(), Ok(real), "{text}");
                assert_eq!(significant(&text), significant(&format!("{real:e}")), "{text}");
            }
        }
    }
}

#[test]
fn moments_according_to_iso() {
    for (text, iso) in [
        ("2024-01-15 12:00:00+00", "2024-01-15T12:00:00+00:00"),
        ("2024-01-15 12:00:00.5-05", "2024-01-15T12:00:00.5-05:00"),
        ("2024-01-15 12:00:00+05:30", "2024-01-15T12:00:00+05:30"),
        ("0044-03-15 12:00:00+01 BC", "0044-03-15T12:00:00+01:00 BC"),
        ("2024-01-15 12:00:00", "2024-01-15T12:00:00"),
    ] {
        assert_eq!(iso_moment(text.to_owned()), iso);
    }
    let mut line = "2000-01-01 00:00:00+01,2024-01-15 12:00:00+00".to_owned();
    write_offset_minutes(&mut line, "2000-01-01 00:00:00+01,".len());
    assert_eq!(line, "2000-01-01 00:00:00+01,2024-01-15 12:00:00+00:00");
}

#[test]
fn dates() {
    check(
        &T::Date,
        &[
            ("1995-03-15", "1995-03-15"),
            (" 1995/3/5 ", "1995-03-05"),
            ("20000229", "2000-02-29"),
            ("0044-03-15 BC", "0044-03-15 BC"),
            ("0001-01-01 (BC)", "0001-01-01 BC"),
            ("epoch", "1970-01-01"),
            ("12345-06-07", "12345-06-07"),
            ("2001-02-03 04:05:06", "2001-02-03"),
            ("5881580-07-10", "5881580-07-10"),
            ("infinity", "infinity"),
            (" -Inf ", "-infinity"),
            ("5877642-06-25 BC", "5877642-06-25 BC"),
        ],
    );
    refuse(
        &T::Date,
        &["", "yesterday", "2001-02-30", "2001-13-01", "2001-00-01", "0000-01-01", "5881580-07-11", "95-01-01"],
    );
    refuse(
        &T::Date,
        &["2001-02", "2001-02/03", "2001-02-03 x", "99999999999999999999-01-01", "10:00", "5877642-06-22 BC"],
    );
    let error = parse_value("2001-02-30", &T::Date).unwrap_err();
    assert_eq!(error.message(), "'2001-02-30' is not a DATE: there is no such day");
    assert_eq!(error.code(), SqlState::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn times() {
    check(
        &T::Time,
        &[
            ("04:05", "04:05:00"),
            ("4:05:06.5", "04:05:06.5"),
            ("04:05:06.123456789", "04:05:06.123457"),
            ("04:05 PM", "16:05:00"),
            ("12:00 am", "00:00:00"),
            ("10:00:60", "10:01:00"),
            ("2000-01-01 04:05:06+02", "04:05:06"),
        ],
    );
    refuse(
        &T::Time,
        &["", "11", "24:00:00", "25:00", "23:59:60", "10:60", "13:00 PM", "10:00x", "10:00 ESTY", "2000-01-01"],
    );
}

#[test]
fn times_with_time_zone() {
    check(
        &T::TimeTz,
        &[
            ("04:05", "04:05:00+00"),
            ("4:05:06.5+02", "04:05:06.5+02"),
            ("04:05 PM -03:30", "16:05:00-03:30"),
            ("10:00Z", "10:00:00+00"),
            ("10:00 utc", "10:00:00+00"),
            ("10:00+15:59:59", "10:00:00+15:59:59"),
            ("2000-01-01 04:05:06+02", "04:05:06+02"),
            ("2024-07-01 10:00 America/New_York", "10:00:00-04"),
            ("2024-01-01 10:00 America/New_York", "10:00:00-05"),
        ],
    );
    refuse(
        &T::TimeTz,
        &["", "10", "24:00:00", "10:00+16", "10:00 Europe/Berlin", "10:00 Europe/Nowhere", "2000-01-01"],
    );
}

#[test]
fn timestamps() {
    check(
        &T::Timestamp,
        &[
            ("2001-01-01 10:20:30", "2001-01-01 10:20:30"),
            ("2001-01-01T10:20:30.123456Z", "2001-01-01 10:20:30.123456"),
            ("2001-01-01 10:20", "2001-01-01 10:20:00"),
            ("2001-01-01", "2001-01-01 00:00:00"),
            ("2001-01-01 10:20:30.50", "2001-01-01 10:20:30.5"),
            ("2001-12-31 24:00:00", "2002-01-01 00:00:00"),
            ("2001-01-01 10:20:30+05:30", "2001-01-01 10:20:30"),
            ("0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC"),
            ("290000-01-01 00:00:00", "290000-01-01 00:00:00"),
        ],
    );
    check(
        &T::TimestampTz,
        &[
            ("2001-01-01 10:20:30", "2001-01-01 10:20:30+00"),
            ("2001-01-01 10:20:30+05:30", "2001-01-01 04:50:30+00"),
            ("2001-01-01 10:20:30 -0800", "2001-01-01 18:20:30+00"),
            ("2001-01-01 00:00:00+01 BC", "2002-12-31 23:00:00+00 BC"),
            ("2001-01-01 10:20:30 UTC", "2001-01-01 10:20:30+00"),
            ("2001-01-01+05", "2000-12-31 19:00:00+00"),
        ],
    );
    check(&T::TimestampNs, &[("2001-01-01 10:20:30.123456789", "2001-01-01 10:20:30.123456789")]);
    check(&T::TimestampMs, &[("2001-01-01 10:20:30.9996", "2001-01-01 10:20:31")]);
    check(&T::TimestampS, &[("2001-01-01 10:20:30.5", "2001-01-01 10:20:31")]);
    refuse(&T::Timestamp, &["", "10:20:30", "2001-01-01 10", "2001-01-01 25:00:00", "300000-01-01", "2001-01-01T"]);
    refuse(&T::TimestampTz, &["2001-01-01 10:00+99", "2001-01-01 10:00+5:99", "2001-01-01 10:00 Europe/Nowhere"]);
    refuse(&T::TimestampNs, &["1600-01-01", "2300-01-01"]);
}

#[test]
fn interval_forms() {
    check(
        &T::Interval,
        &[
            ("1 year 2 months 3 days 04:05:06.789", "1 year 2 months 3 days 04:05:06.789"),
            ("@ 1 minute ago", "-00:01:00"),
            ("1 day -2 hours", "1 day -02:00:00"),
            ("1 day 2 hours ago", "-1 days -02:00:00"),
            ("2 weeks", "14 days"),
            ("1 decade 1 century 1 millennium", "1110 years"),
            ("P1Y2M3DT4H5M6S", "1 year 2 months 3 days 04:05:06"),
            ("P2W", "14 days"),
            ("PT0.5S", "00:00:00.5"),
            ("P-1Y", "-1 years"),
            ("42", "00:00:42"),
            ("42.5", "00:00:42.5"),
            ("1-2", "1 year 2 months"),
            ("-1-2", "-1 years -2 months"),
            ("1 12:30:00", "1 day 12:30:00"),
            ("1-2 3 04:05:06", "1 year 2 months 3 days 04:05:06"),
            ("1.5 months", "1 month 15 days"),
            ("1.5 years", "1 year 6 months"),
            ("0.5 days", "12:00:00"),
            ("1.5 weeks", "10 days 12:00:00"),
            ("-1.5 days", "-1 days -12:00:00"),
            ("1day2hours", "1 day 02:00:00"),
            ("3 mons 4 d 5 h 6 m 7 s 8 ms 9 us", "3 months 4 days 05:06:07.008009"),
            ("100:00:00", "100:00:00"),
            ("0 days", "00:00:00"),
            ("1 quarter", "3 months"),
            ("-00:00:01", "-00:00:01"),
            ("26.3434 seconds", "00:00:26.3434"),
            ("- 1 day", "-1 days"),
        ],
    );
    refuse(
        &T::Interval,
        &["", "@", "ago", "x", "1 x", "1 day ago 2", "P", "PT", "P1", "P1S", "1 2", "1 2 days", "--1 day"],
    );
    refuse(
        &T::Interval,
        &["99999999999999999999 days", "2147483648 days", "9223372036854775807 hours", "1-13", "1:60"],
    );
    refuse(&T::Interval, &["300000000 years", "178956971 years", "9223372036854775807.9 years"]);
    let minutes = intervals::parse("1.5", IntervalUnit::Minute).unwrap();
    assert_eq!(minutes.micros, 90_000_000);
}

#[test]
fn bytes_and_bits() {
    check(
        &T::Blob,
        &[
            ("", "\\x"),
            ("\\xAAff", "\\xaaff"),
            ("\\xAA\\xFF", "\\xaaff"),
            ("a\\x00b", "\\x610062"),
            ("\\\\", "\\x5c"),
            ("\\377", "\\xff"),
            ("ä", "\\xc3a4"),
        ],
    );
    refuse(&T::Blob, &["\\", "\\x1", "\\xG0", "\\400", "a\\"]);
    check(&T::Bit, &[("0101", "0101")]);
    refuse(&T::Bit, &["", "012"]);
    check(
        &T::Uuid,
        &[
            ("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ("{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ("a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ],
    );
    refuse(&T::Uuid, &["", "a0eebc99", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", "{a0eebc999c0b4ef8bb6d6bb9bd380a11"]);
    refuse(
        &T::Uuid,
        &[
            "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
            "-a0eebc999c0b4ef8bb6d6bb9bd380a11",
        ],
    );
}

#[test]
fn json() {
    for text in [
        "null",
        " [1, -2.5e+3, \"\\u00e4\\n\"] ",
        "{\"a\": {}, \"b\": [[]]}",
        "\"\"",
        "0",
        "{}",
        "-0",
        "0.5",
        "[0,1E5]",
    ] {
        assert_eq!(round_trip(text, &T::Json), text);
    }
    refuse(
        &T::Json,
        &[
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{a: 1}",
            "01",
            "-01",
            "1.",
            "[1.]",
            "[-]",
            "1.e5",
            "1e+",
            "1.5.5",
            "1e5.5",
            "1\u{b}",
            "\u{a0}1",
            "nul",
            "\"\n\"",
            "[1] 2",
            "]",
            "[}",
            "{\"a\": 1,}",
            "'a'",
            "-",
            "1e",
            "[1\u{c}]",
        ],
    );
    // Strings are searched by words: every length, and what is special at every place.
    for length in 0..40 {
        let letters = "é".repeat(length / 2) + &"x".repeat(length % 2);
        assert!(parse_value(&format!("[\"{letters}\", 1]"), &T::Json).is_ok(), "{letters}");
        for at in (0..=length).filter(|&at| letters.is_char_boundary(at)) {
            let (before, after) = letters.split_at(at);
            for (inserted, is_valid) in [
                ("\\\"", true),
                ("\\u00e9", true),
                ("\u{7f}", true),
                ("\\", false),
                ("\\u00g9", false),
                ("\u{1f}", false),
            ] {
                let text = format!("{{\"{before}{inserted}{after}\":2}}");
                // A backslash before the closing quote or a letter that needs none.
                assert_eq!(parse_value(&text, &T::Json).is_ok(), is_valid, "{text}");
            }
        }
    }
    // Each level costs a bit, no stack.
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    assert!(parse_value(&deep, &T::Json).is_ok());
    // Objects and arrays in turn, closed in order, at depths around a word's bits.
    for levels in [1, 63, 64, 65, 128, 129, 300] {
        let (open, close): (String, Vec<&str>) =
            (0..levels).map(|level| if level % 3 == 0 { ("{\"a\":", "}") } else { ("[", "]") }).unzip();
        let closed: String = close.iter().rev().copied().collect();
        assert!(parse_value(&format!("{open}1{closed}"), &T::Json).is_ok(), "{levels}");
        for wrong in (0..levels).step_by(31) {
            let mut close: Vec<&str> = close.iter().rev().copied().collect();
            close[wrong] = if close[wrong] == "]" { "}" } else { "]" };
            assert!(parse_value(&format!("{open}1{}", close.concat()), &T::Json).is_err(), "{levels}, {wrong}");
        }
    }
}

#[test]
fn nested_values() {
    let texts = T::list_of(T::Varchar);
    check(
        &texts,
        &[
            ("[]", "[]"),
            ("[ a , b c ,NULL]", "[a, b c, NULL]"),
            ("['a, b', \"it's\", 'NULL', '']", "['a, b', 'it\\'s', 'NULL', '']"),
            ("[it is 5 o'clock]", "['it is 5 o\\'clock']"),
            ("['\\\\']", "['\\\\']"),
        ],
    );
    check(&T::list_of(T::Integer), &[("[1, 2, NULL]", "[1, 2, NULL]"), (" [ '1' ] ", "[1]")]);
    check(&T::list_of(texts.clone()), &[("[[a], [], NULL, ['x, y']]", "[[a], [], NULL, ['x, y']]")]);
    check(&T::Array(T::Integer.into(), 2), &[("[1, 2]", "[1, 2]"), ("{1,2}", "[1, 2]")]);
    let pair = T::struct_of([("a", T::Integer), ("b", T::Varchar)]);
    check(
        &pair,
        &[
            ("{'a': 1, 'b': x}", "{'a': 1, 'b': x}"),
            ("{b: 'x, y', A: 2}", "{'a': 2, 'b': 'x, y'}"),
            ("{'a': 1}", "{'a': 1, 'b': NULL}"),
            ("(1, x)", "{'a': 1, 'b': x}"),
        ],
    );
    check(&T::Map((T::Varchar, T::Integer).into()), &[("{k=1, 'a=b'=NULL}", "{k=1, 'a=b'=NULL}"), ("{}", "{}")]);
    check(&T::list_of(T::Timestamp), &[("[2000-01-01 01:02:03]", "[2000-01-01 01:02:03]")]);
    check(&T::list_of(pair.clone()), &[("[{'a': 1, 'b': NULL}]", "[{'a': 1, 'b': NULL}]")]);
    refuse(&texts, &["", "a", "[", "[a", "[a,]", "[,a]", "['a]", "[[a]", "[a]]", "[(a]"]);
    refuse(&pair, &["{'c': 1}", "{1}", "(1)", "(1, 2, 3)", "{'a': x}", "[1]"]);
    refuse(&T::Map((T::Varchar, T::Integer).into()), &["{k}", "{k=1, k=2}", "{NULL=1}", "{k:1}"]);
    refuse(&T::Array(T::Integer.into(), 2), &["[1]", "[1, 2, 3]"]);
}

#[test]
fn arrays_as_postgresql_writes_them() {
    let texts = T::list_of(T::Varchar);
    check(
        &texts,
        &[
            ("{}", "[]"),
            (" { } ", "[]"),
            ("{a, b c ,NULL}", "[a, b c, NULL]"),
            (r#"{"a,b","say \"it\"","NULL",""," c "}"#, r#"['a,b', 'say "it"', 'NULL', '', ' c ']"#),
            (r"{a\,b,c\ ,\\,n\ull}", r"['a,b', 'c ', '\\', 'null']"),
            ("{it's,'a',[x,(y}", r"['it\'s', '\'a\'', '[x', '(y']"),
            ("{ä\u{a0}, \\ö}", "['ä\u{a0}', ö]"),
        ],
    );
    check(&T::list_of(T::Integer), &[("{1,2,null}", "[1, 2, NULL]"), (r#"{ "1" , 2 }"#, "[1, 2]")]);
    check(
        &T::list_of(texts.clone()),
        &[
            (r#"{{a,"}"},{},NULL}"#, "[[a, '}'], [], NULL]"),
            ("[{a,b},[c]]", "[[a, b], [c]]"),
            (r#"{[a],"{b}"}"#, "[[a], [b]]"),
        ],
    );
    let pair = T::struct_of([("a", T::Integer), ("b", T::Varchar)]);
    check(
        &T::list_of(pair.clone()),
        &[
            (r#"{"(1,x)",NULL}"#, "[{'a': 1, 'b': x}, NULL]"),
            ("{{'a': 1}, {'b': y}}", "[{'a': 1, 'b': NULL}, {'a': NULL, 'b': y}]"),
        ],
    );
    refuse(
        &texts,
        &["{", "{a", "{a}b", "{a,}", "{,a}", "{,}", r#"{"a}"#, r#"{"a"b}"#, r#"{a"b"}"#, r"{a\", "{{a}", "{a}}"],
    );
    refuse(&T::list_of(T::Integer), &["{1,x}", "{{1}}", "{1 2}", "{'1'}"]);
    refuse(&T::Array(T::Integer.into(), 2), &["{1}", "{1,2,3}"]);
}

#[test]
fn labels() {
    let labels = ["sad", "happy"].map(Arc::from).to_vec();
    let mood = T::Enum(Arc::new(EnumType { name: "mood".into(), labels }));
    check(&mood, &[("happy", "happy")]);
    let error = parse_value("hapy", &mood).unwrap_err();
    assert_eq!((error.message(), error.hint()), ("'hapy' is not a label of mood", Some("did you mean 'happy'?")));
}

#[test]
fn messages() {
    let cases = [
        ("abc", T::Integer, "'abc' is not an INTEGER", SqlState::INVALID_TEXT_REPRESENTATION),
        ("300", T::TinyInt, "300 is out of range for TINYINT", SqlState::NUMERIC_VALUE_OUT_OF_RANGE),
        ("x", T::Uuid, "'x' is not a UUID", SqlState::INVALID_TEXT_REPRESENTATION),
        ("x", T::Interval, "'x' is not an INTERVAL", SqlState::INVALID_TEXT_REPRESENTATION),
        (
            "2000-01-01 10:00 ESTY",
            T::TimestampTz,
            "the time zone 'ESTY' is not known",
            SqlState::INVALID_PARAMETER_VALUE,
        ),
        (
            "9999999 days 9999999999 days",
            T::Interval,
            "9999999 days 9999999999 days is out of range for INTERVAL",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
    ];
    for (text, ty, message, code) in cases {
        let error = parse_value(text, &ty).unwrap_err();
        assert_eq!((error.message(), error.code()), (message, code));
    }
    let long = "x".repeat(1000);
    assert!(parse_value(&long, &T::Integer).unwrap_err().message().len() < 100);
}

/// Prefixes of valid texts, and texts with one changed character, give a value or an error.
#[test]
fn no_text_panics() {
    let texts = [
        "1-2 3 04:05:06.7 ago",
        "2000-01-31T04:05:06.789+05:30 BC",
        "{'a': [1, \"ä\"], k=(v)}",
        "0xFFe-1_0.5",
        "\\xAA\\377\\\\",
        "PT1.5S",
    ];
    let types = crate::tests::sample_types();
    for text in texts {
        for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
            for change in ["", "'", "\\", "[", "9", "é", ":", "-", "."] {
                let rest = text[at..].chars().next().map_or(0, char::len_utf8);
                let changed =
                    [format!("{}{change}", &text[..at]), format!("{}{change}{}", &text[..at], &text[at + rest..])];
                for ty in &types {
                    for changed in &changed {
                        if let Ok(value) = parse_value(changed, ty) {
                            format_value(&value, ty);
                        }
                    }
                }
            }
        }
    }
}
