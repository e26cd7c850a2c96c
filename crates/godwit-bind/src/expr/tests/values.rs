//! Values of some expressions, by the reference evaluator: cases that were once wrong, or easily are.

use super::rows_of;

fn check(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (query, expected) in cases {
        let rows = rows_of(query).unwrap_or_else(|error| error.to_string());
        if rows != *expected {
            wrong += &format!("\n{query}\n  is       {rows}\n  expected {expected}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Finding W3: IS DISTINCT FROM binds tighter than AND.
#[test]
fn distinct_and_and() {
    check(&[
        ("SELECT false IS NOT DISTINCT FROM false AND false", "false"),
        ("SELECT a IS NOT DISTINCT FROM b OR c FROM (VALUES (false, true, true)) t(a, b, c)", "true"),
        ("SELECT 1 FROM (VALUES (1, 2)) t(a, b) WHERE a IS DISTINCT FROM b AND b > 1", "1"),
    ]);
}

/// Finding W4: a refined window keeps what it refines.
#[test]
fn refined_windows() {
    check(&[
        (
            "SELECT x, count(*) OVER (w ORDER BY x) FROM (VALUES (1, 1), (2, 1), (3, 2), (4, 2)) t(x, y) \
             WINDOW w AS (PARTITION BY y) ORDER BY x",
            "1 1 / 2 2 / 3 1 / 4 2",
        ),
        (
            "SELECT a, row_number() OVER (w) FROM (VALUES (3), (1), (2)) t(a) WINDOW w AS (ORDER BY a) ORDER BY a",
            "1 1 / 2 2 / 3 3",
        ),
        (
            "SELECT a, sum(a) OVER w FROM (VALUES (1), (2), (3)) t(a) \
             WINDOW base AS (ORDER BY a ROWS 1 PRECEDING), w AS (base) ORDER BY a",
            "1 1 / 2 3 / 3 5",
        ),
    ]);
}

/// Finding W12: a NULL among the values makes a miss unknown; a NULL list makes everything unknown.
#[test]
fn any_and_all_of_lists() {
    check(&[
        ("SELECT 4 = ANY([1, 2, NULL]), 1 = ANY([1, NULL]), 4 = ANY([1, 2])", "NULL true false"),
        (
            "SELECT 4 = ANY(l), 1 = ANY(l), 3 > ANY(l), 3 > ALL(l), 0 > ALL(l) FROM (VALUES ([1, NULL])) t(l)",
            "NULL true true NULL false",
        ),
        ("SELECT 1 = ANY(l), 1 <> ALL(l) FROM (VALUES (NULL::INTEGER[])) t(l)", "NULL NULL"),
        ("SELECT 1 = ANY(l), 1 <> ALL(l) FROM (VALUES ([]::INTEGER[])) t(l)", "false true"),
        ("SELECT 'ab' LIKE ANY(l), 'ab' LIKE ALL(l) FROM (VALUES (['a%', 'b%'])) t(l)", "true false"),
        ("SELECT 3 IN l, 3 NOT IN l FROM (VALUES ([3, 4])) t(l)", "true false"),
        ("SELECT 2 > ALL (SELECT 1), (1, 2) IN (SELECT 1, 2), 1 = ANY (SELECT 2)", "true true false"),
        ("SELECT 1.5 IN (SELECT 1 UNION ALL SELECT 2)", "false"),
    ]);
}

/// Finding W15: the operand of BETWEEN is one value.
#[test]
fn volatile_operands_are_computed_once() {
    check(&[
        ("SELECT count(*) FROM unnest(range(100)) r(i) WHERE random() BETWEEN 0.6 AND 0.5", "0"),
        (
            "SELECT count(*) FROM unnest(range(100)) r(i) WHERE CASE random() < 0.5 WHEN true THEN false \
             WHEN false THEN false ELSE true END",
            "0",
        ),
        ("SELECT 2 BETWEEN SYMMETRIC 3 AND 1, 2 NOT BETWEEN SYMMETRIC 3 AND 1, 2 BETWEEN 3 AND 1", "true false false"),
    ]);
}

/// Finding N2: a name that can't be a field is searched further out.
#[test]
fn columns_of_outer_tables() {
    check(&[
        ("SELECT o.d FROM (VALUES (1)) o(d) WHERE EXISTS (SELECT 1 FROM (VALUES (1, 2)) p(a, o) WHERE p.a = o.d)", "1"),
        ("SELECT (SELECT i.i FROM (VALUES (7)) i(i))", "7"),
        ("SELECT o.d FROM (VALUES ({'d': 5})) t(o)", "5"),
        ("SELECT t FROM (VALUES (1, 'x')) t(a, b)", "{'a': 1, 'b': x}"),
    ]);
}

/// Finding E3: a comparison is an argument like others.
#[test]
fn comparisons_as_arguments() {
    check(&[
        ("SELECT coalesce(k = 1, FALSE), count_if(k = 1) OVER () FROM (VALUES (1)) t(k)", "true 1"),
        ("SELECT bool_and(k = 1), count(k = 1), max(s = 'a') FROM (VALUES (1, 'a'), (1, 'b')) t(k, s)", "true 2 true"),
    ]);
}

#[test]
fn rows_are_compared_from_the_left() {
    check(&[
        ("SELECT (1, NULL) = (2, 3), (1, NULL) = (1, 3), (1, 2) <> (1, 3)", "false NULL true"),
        ("SELECT (1, 2) < (1, 3), (2, 0) < (1, 3), (1, NULL) < (2, 0), (1, 2) <= (1, 2)", "true false true true"),
        ("SELECT (1, NULL) IS NULL, (1, NULL) IS NOT NULL, (1, 2) IN ((3, 4), (1, 2))", "false false true"),
        ("SELECT (1, NULL) IS NOT DISTINCT FROM (1, NULL), (1, 2) IS DISTINCT FROM (1, NULL)", "true true"),
    ]);
}

#[test]
fn constants_have_the_smallest_type() {
    check(&[
        (
            "SELECT typeof(-2147483648), typeof(-9223372036854775808), typeof(9223372036854775808)",
            "INTEGER BIGINT HUGEINT",
        ),
        ("SELECT -128::TINYINT, typeof(-128::TINYINT), typeof(-(5::BIGINT)), - -3", "-128 TINYINT BIGINT 3"),
        (
            "SELECT typeof(1.50), typeof([1, 2.5]), typeof([]), typeof(NULL)",
            "DECIMAL(3,2) DECIMAL(11,1)[] INTEGER[] NULL",
        ),
    ]);
}

#[test]
fn lists_of_subqueries_and_comprehensions() {
    check(&[
        ("SELECT ARRAY(SELECT x FROM (VALUES (2), (1), (3)) t(x) ORDER BY x DESC)", "[3, 2, 1]"),
        ("SELECT ARRAY(SELECT 1 WHERE false)", "[]"),
        ("SELECT [x * 2 FOR x IN [1, 2, 3] IF x <> 2]", "[2, 6]"),
        ("SELECT list_transform(l, x -> x + y) FROM (VALUES ([1, 2], 10)) t(l, y)", "[11, 12]"),
    ]);
}

#[test]
fn intervals_by_unit() {
    check(&[
        (
            "SELECT INTERVAL 3 DAY = INTERVAL '3 days', INTERVAL '1:30' MINUTE TO SECOND = INTERVAL '90 seconds'",
            "true true",
        ),
        ("SELECT INTERVAL (n) HOUR = INTERVAL '36 hours' FROM (VALUES (36)) t(n)", "true"),
        ("SELECT DATE '1992-03-01' + INTERVAL '1' HOUR", "1992-03-01 01:00:00"),
    ]);
}

#[test]
fn deep_expressions_need_no_more_stack_than_promised() {
    let deep =
        |depth, open: &str, close: &str| (depth, format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth)));
    let queries = [deep(450, "abs(", ")"), deep(450, "CASE WHEN true THEN ", " END"), deep(300, "1 + (", ")")];
    for (depth, query) in queries {
        let rows = godwit_syntax::with_stack(depth, || rows_of(&query));
        assert!(rows.is_ok(), "{rows:?}");
    }
}
