//! Literals, names and comments.

use godwit_syntax::ast::{ExprKind, Literal, Parameter};
use godwit_syntax::parse_expression;

use crate::statement;

fn literal(sql: &str) -> Literal {
    match parse_expression(sql).unwrap_or_else(|error| panic!("{sql}: {}", error.locate(sql))).kind {
        ExprKind::Literal(literal) => literal,
        other => panic!("{sql} is {other:?}"),
    }
}

fn text(sql: &str) -> String {
    match literal(sql) {
        Literal::String(text) => text.to_string(),
        other => panic!("{sql} is {other:?}"),
    }
}

#[test]
fn numbers_follow_postgresql_16() {
    for (written, meant) in [
        ("12", "12"),
        ("1_000", "1000"),
        ("1_2.1_2E1_0", "12.12e10"),
        (".5", ".5"),
        ("5.", "5."),
        ("1e5", "1e5"),
        ("1E-5", "1e-5"),
        ("0b11", "0b11"),
        ("0x1F_ff", "0x1fff"),
        ("0o17", "0o17"),
        ("0x_1f", "0x1f"),
    ] {
        assert_eq!(literal(written), Literal::Number(meant.into()), "{written}");
    }
    for wrong in ["1__0", "1_", "1x", "0b12", "0xg", "0o8", "1e", "1._5", "100_", "0x", "12abc"] {
        let error = parse_expression(wrong).expect_err(wrong);
        assert!(error.message().ends_with("is no number"), "{wrong}: {error}");
        assert_eq!(error.code().as_str(), "42601");
    }
}

#[test]
fn texts_in_all_quotes() {
    for (written, meant) in [
        ("'it''s'", "it's"),
        ("'a'\n  'b'\n -- and\n 'c'", "abc"),
        (r"'a\nb'", r"a\nb"),
        (r"E'a\nb\t\\\'\x41\101\u00e4\U0001F600'", "a\nb\t\\'AA\u{e4}\u{1f600}"),
        (r"e'\xc3\xa4'", "\u{e4}"),
        (r"E'\ud83d\ude00'", "\u{1f600}"),
        ("$$it's $1$$", "it's $1"),
        ("$tag$a $$ b$tag$", "a $$ b"),
        (r"U&'d\0061t\+000061'", "data"),
        (r"U&'d!0061t!!' UESCAPE '!'", "dat!"),
        ("N'x'", "x"),
        ("''", ""),
    ] {
        assert_eq!(text(written), meant, "{written}");
    }
    assert_eq!(literal("X'00fF'"), Literal::Blob([0, 255].as_slice().into()));
    assert_eq!(literal("B'0101'"), Literal::Bits("0101".into()));
    for wrong in [r"E'\u00'", r"E'\xff'", r"U&'\d800'", "X'0'", "X'0g'", "B'2'", "'a' 'b'"] {
        assert!(parse_expression(wrong).expect_err(wrong).span().is_some());
    }
}

#[test]
fn names_keep_their_spelling() {
    let path = |sql: &str| match parse_expression(sql).expect(sql).kind {
        ExprKind::Column(path) => path.iter().map(|name| name.text.to_string()).collect::<Vec<_>>(),
        other => panic!("{sql} is {other:?}"),
    };
    assert_eq!(path(r#"Db."my ""schema""".T.a$1"#), ["Db", "my \"schema\"", "T", "a$1"]);
    assert_eq!(path("größe.日本語"), ["größe", "日本語"]);
    assert_eq!(path(r#"U&"d\0061ta""#), ["data"]);
    assert_eq!(path(r#"t."select".order"#), ["t", "select", "order"]);
    assert!(parse_expression("\"\"").is_err());
}

#[test]
fn comments_nest_and_blanks_are_anything_white() {
    for sql in [
        "SELECT 1 /* a /* b */ c */ + 2",
        "\u{feff}SELECT 1 + 2",
        "SELECT\r\n1 -- one\r\n+ 2",
        "SELECT\u{a0}1\u{3000}+\t2",
        "SELECT 1 +/**/2 -- end",
    ] {
        assert_eq!(statement(sql).statement.to_string(), "SELECT 1 + 2", "{sql:?}");
    }
}

#[test]
fn parameters_are_counted() {
    let parsed = statement("SELECT ?, $3, ?, $Name, :name, a[1:2], {'k': :other}");
    assert_eq!(parsed.parameters.count, 4);
    let names: Vec<&str> = parsed.parameters.names.iter().map(|name| &**name).collect();
    assert_eq!(names, ["name", "other"]);
    assert_eq!(parse_expression("?").expect("it is one").kind, ExprKind::Parameter(Parameter::Number(1)));
    assert!(parse_expression("$0").is_err());
    assert!(parse_expression("$99999999999").is_err());
}

#[test]
fn intervals_have_units() {
    for (written, printed) in [
        ("INTERVAL '1 day'", "INTERVAL '1 day'"),
        ("INTERVAL '1' DAYS", "INTERVAL '1' DAY"),
        ("INTERVAL 3 decades", "INTERVAL 3 DECADE"),
        ("INTERVAL (a + 1) month", "INTERVAL (a + 1) MONTH"),
        ("INTERVAL a HOURS", "INTERVAL (a) HOUR"),
        ("INTERVAL '1 2' DAY TO HOUR", "INTERVAL '1 2' DAY TO HOUR"),
        ("interval + 1", "interval + 1"),
    ] {
        assert_eq!(parse_expression(written).expect(written).to_string(), printed);
    }
    assert!(parse_expression("INTERVAL 3").expect_err("no unit").message().contains("a unit"));
}
