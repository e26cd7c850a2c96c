//! Errors: the message, the span and the hint of each kind.

use godwit_syntax::parse_script;

/// A statement, text that the message contains, the text at the span, and text that the hint contains.
const ERRORS: &[(&str, &str, &str, &str)] = &[
    ("SELECT a FROM t WHERE", "expected an expression, found the end of the statement", "", ""),
    ("SELECT a b c FROM t", "expected the end of the statement, found c", "c", ""),
    ("SELECT a FROM order", "expected a table, found order", "order", "\"order\""),
    ("SELECT 'abc", "the text that begins here isn't closed", "'", "close it with '"),
    ("SELECT \"abc", "the quoted name that begins here isn't closed", "\"", "\""),
    ("SELECT /* a /* b */", "the comment that begins here isn't closed", "/*", "*/"),
    ("SELECT $a$ x", "the text that begins here isn't closed", "$a$", "$a$"),
    ("SELECT (1 + 2", "expected ), found the end of the statement", "", "the ( in line 1 isn't closed"),
    ("SELECT [1, 2", "expected ], found the end of the statement", "", "the [ in line 1 isn't closed"),
    ("SELECT “a”", "unexpected character “", "“", "straight quotes"),
    ("SELECT `a`", "unexpected character `", "`", "double quotes"),
    ("SELECT 12abc", "12abc is no number", "12abc", "underscores"),
    ("SELEC 1", "expected a statement, found SELEC", "SELEC", ""),
    ("SELECT * FROM a JOIN b", "expected ON or USING", "", "CROSS JOIN"),
    ("SELECT 1 FROM t GROUP BY a WHERE b", "WHERE is not in its place", "WHERE", "the order is"),
    ("SELECT 1 LIMIT 1 LIMIT 2", "a second LIMIT", "LIMIT", ""),
    ("SELECT a IS 1", "expected NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM, found 1", "1", ""),
    ("SELECT sum(a) OVER", "OVER takes the name of a window", "OVER", "OVER ()"),
    ("CREATE TABLE t", "expected ( or AS, found the end", "", ""),
    ("CREATE TABLE t (a INTEGER ENCODING, b INTEGER)", "expected the name of an encoding", ",", ""),
    ("CREATE TABLE t (a INT ENCODING x ENCODING y)", "a has an encoding already", "ENCODING y", ""),
    ("CREATE TABLE t (a INT,, b INT)", "expected the name of a column, found ,", ",", ""),
    ("MERGE DELTA OF", "expected a name", "", ""),
    ("MERGE DELTA OF a, b", "expected the end of the statement, found ,", ",", ""),
    ("INSERT INTO t (a) SET a = 1", "expected VALUES, SELECT or DEFAULT VALUES, found SET", "SET", ""),
    ("SELECT NULL::UNION(a INT)", "the type UNION", "UNION", "STRUCT"),
    ("SELECT E'\\u12'", "the escape isn't a Unicode character", "\\u12", "4 hexadecimal digits"),
    ("COPY t FROM x", "expected a path in quotes, found x", "x", ""),
    ("SELECT f(a b)", "expected ), found b", "b", ""),
    ("SELECT CASE a END", "expected WHEN, found END", "END", ""),
    ("SELECT 1 AS", "expected a name, found the end of the statement", "", ""),
    ("SELECT a,, b FROM t", "expected an expression, found ,", ",", ""),
];

#[test]
fn errors_say_what_where_and_what_to_do() {
    for &(sql, message, place, hint) in ERRORS {
        let error = parse_script(sql).expect_err(sql);
        assert!(error.message().contains(message), "{sql}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{sql}: {error}");
        let span = error.span().unwrap_or_else(|| panic!("{sql}: {error} has no place"));
        let found = &sql[span.start as usize..span.end as usize];
        assert_eq!(found, place, "{sql}: {error}");
    }
}

#[test]
fn places_count_in_the_whole_script() {
    let sql = "SELECT 1;\nSELECT ä,\n  b +;";
    let error = parse_script(sql).expect_err("it is wrong").locate(sql);
    assert_eq!(error.position().map(|place| (place.line, place.column)), Some((3, 6)));
    assert_eq!(error.code().as_str(), "42601");
}

#[test]
fn reserved_words_name_nothing_but_labels() {
    for word in ["select", "from", "where", "table", "order", "group", "limit", "user_", "left"] {
        let is_reserved = word != "user_";
        assert_eq!(parse_script(&format!("SELECT {word} FROM t")).is_err(), is_reserved, "{word}");
        assert_eq!(parse_script(&format!("SELECT 1 {word}")).is_err(), is_reserved, "{word}");
        for sql in [format!("SELECT 1 AS {word}"), format!("SELECT t.{word}"), format!("SELECT \"{word}\"")] {
            assert!(parse_script(&sql).is_ok(), "{sql}");
        }
    }
    for word in ["values", "date", "name", "year", "key", "first", "filter", "index", "range", "columns", "describe"] {
        assert!(
            parse_script(&format!("SELECT {word}, {word} + 1 FROM t AS {word} WHERE {word} > 1")).is_ok(),
            "{word}"
        );
    }
}
