//! Bound trees of expressions.

use std::sync::Arc;

use godwit_types::format_value;

use super::{World, bound_in, with_scope};
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};

/// (expression, its bound tree). BOOLEAN isn't shown.
type Case = (&'static str, &'static str);

fn check(cases: &[Case]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let bound = match bound_in(text, Clause::Select) {
            Ok(bound) => without_ids(&bound),
            Err(error) => format!("{error}"),
        };
        if bound != *expected {
            wrong += &format!("\n{text}\n  is       {bound}\n  expected {expected}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Column ids are noise here: tables have other columns.
fn without_ids(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character == '#' && rest.peek().is_some_and(char::is_ascii_digit) {
            while rest.next_if(char::is_ascii_digit).is_some() {}
        } else {
            shown.push(character);
        }
    }
    shown
}

#[test]
fn names_by_path() {
    check(&[
        ("a", "a :: INTEGER not null"),
        ("t.a", "a :: INTEGER not null"),
        ("main.t.b", "b :: BIGINT"),
        ("s1.t.b", "b :: BIGINT"),
        ("t.c", "c :: INTEGER"),
        ("o.d", "d :: INTEGER"),
        ("d", "d :: DATE"),
        ("z", "z :: INTEGER"),
        ("st.x", "struct_extract(st, 'x') :: INTEGER"),
        ("t.st.y", "struct_extract(st, 'y') :: VARCHAR"),
        ("main.t.st.x", "struct_extract(st, 'x') :: INTEGER"),
        ("T.ST.X", "struct_extract(st, 'x') :: INTEGER"),
        ("more", "7 :: BIGINT not null"),
        ("rowid", "rowid :: BIGINT not null"),
        ("#2", "b :: BIGINT"),
    ]);
}

#[test]
fn constants() {
    check(&[
        ("1", "1 :: INTEGER not null"),
        ("2147483648", "2147483648 :: BIGINT not null"),
        ("-9223372036854775808", "-9223372036854775808 :: BIGINT not null"),
        ("-128::tinyint", "-128 :: TINYINT not null"),
        ("1.50", "1.50 :: DECIMAL(3,2) not null"),
        ("1e3", "1000.0 :: DOUBLE not null"),
        ("'x'", "'x' :: UNKNOWN not null"),
        ("NULL", "NULL :: UNKNOWN"),
        ("true", "TRUE not null"),
        ("DATE '2020-01-01'", "DATE '2020-01-01' :: DATE not null"),
        ("x'00ff'", "BLOB '\\x00ff' :: BLOB not null"),
        ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1 year 2 months' :: INTERVAL not null"),
        ("INTERVAL -3 DAY", "INTERVAL '-3 days' :: INTERVAL not null"),
        ("INTERVAL (a) DAY", "(INTERVAL '1 day' * CAST(a AS DOUBLE)) :: INTERVAL not null"),
        ("$1", "$1 :: UNKNOWN"),
        ("$1 + a", "($1 + a) :: INTEGER"),
        ("getvariable('answer')", "42 :: INTEGER not null"),
        ("current_schema", "'main' :: VARCHAR not null"),
        ("typeof(a + 1.5)", "'DECIMAL(12,1)' :: VARCHAR not null"),
    ]);
}

#[test]
fn arithmetic_has_the_type_of_both() {
    check(&[
        ("a + c", "(a + c) :: INTEGER"),
        ("a + 1.5", "(CAST(a AS DECIMAL(11,1)) + 1.5) :: DECIMAL(12,1) not null"),
        ("a / 2", "(a / 2) :: INTEGER not null"),
        ("f / 2", "(f / 2.0) :: DOUBLE"),
        ("a // 2", "(a / 2) :: INTEGER not null"),
        ("n * n", "(n * n) :: DECIMAL(18,4)"),
        ("d + 1", "(d + 1) :: DATE"),
        ("d - d", "(d - d) :: BIGINT"),
        ("d + INTERVAL '1 day'", "(CAST(d AS TIMESTAMP) + INTERVAL '1 day') :: TIMESTAMP"),
        ("iv * 2", "(iv * 2.0) :: INTERVAL"),
        ("a + '2'", "(a + 2) :: INTEGER not null"),
        ("NULL + 1", "(NULL + 1) :: INTEGER"),
        ("a ^ 2", "power(CAST(a AS DOUBLE), 2.0) :: DOUBLE not null"),
        ("a & 3", "&(CAST(a AS BIGINT), 3) :: BIGINT not null"),
        ("~a", "~(CAST(a AS BIGINT)) :: BIGINT not null"),
        ("@a", "abs(a) :: INTEGER not null"),
        ("-ub", "(- CAST(ub AS HUGEINT)) :: HUGEINT"),
        ("-'5'", "-5.0 :: DOUBLE not null"),
        ("'a' || 1", "||('a', 1) :: VARCHAR not null"),
        ("mod(a, 2)", "(a % 2) :: INTEGER not null"),
    ]);
}

#[test]
fn comparisons_have_one_type() {
    check(&[
        ("a = 1", "(a = 1) not null"),
        ("main.t.b = 5", "(b = 5)"),
        ("a = '5'", "(a = 5) not null"),
        ("a = 1.5", "(CAST(a AS DECIMAL(11,1)) = 1.5) not null"),
        ("e = 'lo'", "(e = ENUM('lo', 'hi') 'lo')"),
        ("d = '2020-01-01'", "(d = DATE '2020-01-01')"),
        ("d < ts", "(CAST(d AS TIMESTAMP) < ts)"),
        ("l = []", "(l = [])"),
        ("a IS DISTINCT FROM c", "(a IS DISTINCT FROM c) not null"),
        ("(a, main.t.b) = (1, 2)", "((a = 1) AND (b = 2))"),
        ("(a, c) < (1, 2)", "((a < 1) OR ((a = 1) AND (c < 2)))"),
        ("(a, c) >= (abs(c), 2)", "(LET value := abs(c) IN ((a > value) OR ((a = value) AND (c >= 2))))"),
    ]);
}

#[test]
fn predicates() {
    check(&[
        ("flag AND a = 1 AND NOT flag", "(flag AND (a = 1) AND (NOT flag))"),
        ("flag OR 'true'", "(flag OR TRUE)"),
        ("a IS NULL", "(a IS NULL) not null"),
        ("s IS NOT NULL", "(NOT (s IS NULL)) not null"),
        ("flag IS NOT FALSE", "(flag IS DISTINCT FROM FALSE) not null"),
        ("flag IS UNKNOWN", "(flag IS NULL) not null"),
        ("a BETWEEN 1 AND 10", "((a >= 1) AND (a <= 10)) not null"),
        ("a NOT BETWEEN 1 AND 10", "((a < 1) OR (a > 10)) not null"),
        ("abs(a) BETWEEN 1 AND 10", "(LET value := abs(a) IN ((value >= 1) AND (value <= 10))) not null"),
        ("a IN (1, 2, NULL)", "(a IN (1, 2, NULL))"),
        ("(a, c) IN ((1, 2), (3, 4))", "(((a = 1) AND (c = 2)) OR ((a = 3) AND (c = 4)))"),
        ("s LIKE 'a%'", "(s LIKE 'a%')"),
        ("s NOT ILIKE 'a\\_%'", "(NOT (s ILIKE 'a\\_%' ESCAPE '\\'))"),
        ("s LIKE s", "(s LIKE s ESCAPE '\\')"),
        ("s LIKE 'a!%' ESCAPE '!'", "(s LIKE 'a!%' ESCAPE '!')"),
        ("s GLOB 'a*'", "(s GLOB 'a*')"),
        ("s !~* 'a'", "(NOT (s ~* 'a'))"),
        ("s ^@ 'a'", "starts_with(s, 'a')"),
    ]);
}

#[test]
fn conditional_values() {
    check(&[
        ("CASE WHEN flag THEN 1 ELSE 2.5 END", "CASE WHEN flag THEN 1.0 ELSE 2.5 END :: DECIMAL(11,1) not null"),
        (
            "CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END",
            "CASE WHEN (a = 1) THEN 'x' WHEN (a = 2) THEN 'y' END :: VARCHAR",
        ),
        (
            "CASE abs(a) WHEN 1 THEN 'x' WHEN 2 THEN 'y' END",
            "(LET value := abs(a) IN CASE WHEN (value = 1) THEN 'x' WHEN (value = 2) THEN 'y' END) :: VARCHAR",
        ),
        ("CASE WHEN flag THEN NULL END", "CASE WHEN flag THEN NULL END :: INTEGER"),
        ("coalesce(a, 1.5)", "coalesce(CAST(a AS DECIMAL(11,1)), 1.5) :: DECIMAL(11,1) not null"),
        ("coalesce(l, [])", "coalesce(l, []) :: INTEGER[] not null"),
        ("coalesce(NULL, 'x')", "coalesce(NULL, 'x') :: VARCHAR not null"),
        ("nullif(abs(a), 1)", "(LET value := abs(a) IN CASE WHEN (value = 1) THEN NULL ELSE value END) :: INTEGER"),
        ("if(flag, 1, 2)", "CASE WHEN flag THEN 1 ELSE 2 END :: INTEGER not null"),
    ]);
}

#[test]
fn casts() {
    check(&[
        ("CAST(a AS VARCHAR)", "CAST(a AS VARCHAR) :: VARCHAR not null"),
        ("CAST('5' AS INTEGER)", "5 :: INTEGER not null"),
        ("CAST('sad' AS mood)", "ENUM('sad', 'ok') 'sad' :: ENUM('sad', 'ok') not null"),
        ("TRY_CAST('x' AS INTEGER)", "NULL :: INTEGER"),
        ("TRY_CAST(s AS INTEGER)", "TRY_CAST(s AS INTEGER) :: INTEGER"),
        ("CAST(300 AS TINYINT)", "CAST(300 AS TINYINT) :: TINYINT not null"),
        ("s COLLATE \"C\"", "s :: VARCHAR"),
    ]);
}

#[test]
fn collations() {
    check(&[
        ("s = 'X' COLLATE nocase", "(lower(s) = lower('X'))"),
        ("s COLLATE nocase IN ('a', 'B')", "(lower(s) IN (lower('a'), lower('B')))"),
        ("s COLLATE nocase IS DISTINCT FROM 'x'", "(lower(s) IS DISTINCT FROM lower('x')) not null"),
        ("s = 'X' COLLATE \"C\"", "(s = 'X')"),
    ]);
}

#[test]
fn subqueries() {
    check(&[
        ("a IN (SELECT x FROM u)", "(a) = ANY (subquery n1)"),
        ("a NOT IN (SELECT x FROM u)", "(NOT (a) = ANY (subquery n1))"),
        ("main.t.b > ALL (SELECT x FROM u)", "(b) > ALL (subquery n2)"),
        ("(a, s) IN (SELECT x, y FROM u)", "(a, s) = ANY (subquery n1)"),
        ("s LIKE ANY (SELECT y FROM u)", "(TRUE) = ANY (subquery n2)"),
        ("EXISTS (SELECT 1 FROM u WHERE u.x = a)", "EXISTS (subquery n2) not null"),
        ("(SELECT x FROM u)", "(subquery n1) :: INTEGER"),
        ("ARRAY(SELECT x FROM u ORDER BY x)", "coalesce((subquery n3), []) :: INTEGER[] not null"),
        ("4 = ANY(l)", "CASE WHEN (NOT (l IS NULL)) THEN (4) = ANY (subquery n1) END"),
        ("4 = ANY([1, 2, NULL])", "(4 IN (1, 2, NULL))"),
        ("a > ALL([1, 2])", "((a > 1) AND (a > 2)) not null"),
        ("s LIKE ANY(['a%', 'b%'])", "((s LIKE 'a%') OR (s LIKE 'b%'))"),
    ]);
}

#[test]
fn nested_values() {
    check(&[
        ("(a, s)", "struct_pack('v1', a, 'v2', s) :: STRUCT(\"v1\" INTEGER, \"v2\" VARCHAR) not null"),
        ("{'a': a, 'b': 'x'}", "struct_pack('a', a, 'b', 'x') :: STRUCT(\"a\" INTEGER, \"b\" VARCHAR) not null"),
        ("struct_pack(x := 1, y := s)", "struct_pack('x', 1, 'y', s) :: STRUCT(\"x\" INTEGER, \"y\" VARCHAR) not null"),
        ("[1, 2, 3]", "[1, 2, 3] :: INTEGER[] not null"),
        ("[a, 2.5]", "list_value(CAST(a AS DECIMAL(11,1)), 2.5) :: DECIMAL(11,1)[] not null"),
        ("[]", "[] :: INTEGER[] not null"),
        ("[] || ['x']", "||([], ['x']) :: VARCHAR[] not null"),
        ("l[1]", "list_extract(l, 1) :: INTEGER"),
        ("st['x']", "struct_extract(st, 'x') :: INTEGER"),
        ("st[2]", "struct_extract(st, 'y') :: VARCHAR"),
        ("(st).x", "struct_extract(st, 'x') :: INTEGER"),
        ("[x + 1 FOR x IN l IF x > 1]", "list_transform(list_filter(l, (x) -> (x > 1)), (x) -> (x + 1)) :: INTEGER[]"),
        (
            "list_transform(l, x -> list_filter(l, y -> y > x))",
            "list_transform(l, (x) -> list_filter(l, (y) -> (y > x))) :: INTEGER[][]",
        ),
    ]);
}

#[test]
fn calls() {
    check(&[
        ("upper(s)", "upper(s) :: VARCHAR"),
        ("s.upper()", "upper(s) :: VARCHAR"),
        ("t.s.upper()", "upper(s) :: VARCHAR"),
        ("main.upper(s)", "upper(s) :: VARCHAR"),
        ("round(n, 1)", "round(CAST(n AS DOUBLE), 1) :: DOUBLE"),
        ("twice(a)", "(a + a) :: INTEGER not null"),
        ("twice(random())", "(LET x := random() IN (x + x)) :: DOUBLE not null"),
        ("plus(a)", "(a + 1) :: INTEGER not null"),
        ("plus(a, y := 3)", "(a + 3) :: INTEGER not null"),
        ("total(a)", "(sum + count) :: BIGINT | Aggregate by [] sum := sum(a), count := count(*)"),
        ("greatest_x(s)", "(subquery n3) :: INTEGER"),
        ("sum(twice(a))", "sum :: BIGINT | Aggregate by [] sum := sum((a + a))"),
    ]);
}

#[test]
fn aggregates_are_set_aside() {
    check(&[
        ("sum(a) + sum(t.a)", "(sum + sum) :: BIGINT | Aggregate by [] sum := sum(a)"),
        ("count(*)", "count :: BIGINT not null | Aggregate by [] count := count(*)"),
        ("count(DISTINCT a)", "count :: BIGINT not null | Aggregate by [] count := count(DISTINCT a)"),
        ("max(DISTINCT a)", "max :: INTEGER | Aggregate by [] max := max(a)"),
        ("sum(a) FILTER (WHERE flag)", "sum :: BIGINT | Aggregate by [] sum := sum(a) FILTER (WHERE flag)"),
        (
            "string_agg(s, ',' ORDER BY a)",
            "string_agg :: VARCHAR | Aggregate by [] string_agg := string_agg(s, ',' ORDER BY a)",
        ),
        (
            "string_agg(s, ',') WITHIN GROUP (ORDER BY a)",
            "string_agg :: VARCHAR | Aggregate by [] string_agg := string_agg(s, ',' ORDER BY a)",
        ),
        ("sum(a ORDER BY s)", "sum :: BIGINT | Aggregate by [] sum := sum(a)"),
        (
            "count_if(flag) FILTER (WHERE a > 1)",
            "count :: BIGINT not null | Aggregate by [] count := count(*) FILTER (WHERE ((a > 1) AND flag))",
        ),
        ("sum(o.d + a)", "sum :: BIGINT | Aggregate by [] sum := sum((d + a))"),
        (
            "list_transform(l, x -> x + sum(a))",
            "list_transform(l, (x) -> (CAST(x AS BIGINT) + sum)) :: BIGINT[] \
             | Aggregate by [] sum := sum(a)",
        ),
        ("grouping(a)", "grouping :: BIGINT not null"),
        ("unnest(l)", "unnest :: INTEGER | Unnest l"),
    ]);
}

#[test]
fn windows_are_set_aside() {
    check(&[
        (
            "row_number() OVER ()",
            "row_number :: BIGINT not null | Window row_number := row_number() OVER (RANGE START TO END)",
        ),
        (
            "row_number() OVER w",
            "row_number :: BIGINT not null \
             | Window row_number := row_number() OVER (PARTITION BY a ORDER BY c RANGE START TO CURRENT)",
        ),
        (
            "row_number() OVER (w)",
            "row_number :: BIGINT not null \
             | Window row_number := row_number() OVER (PARTITION BY a ORDER BY c RANGE START TO CURRENT)",
        ),
        (
            "row_number() OVER (p ORDER BY s)",
            "row_number :: BIGINT not null \
             | Window row_number := row_number() OVER (PARTITION BY a ORDER BY s RANGE START TO CURRENT)",
        ),
        ("sum(a) OVER f", "sum :: BIGINT | Window sum := sum(a) OVER (ORDER BY c ROWS -1 TO CURRENT)"),
        (
            "sum(a) OVER (w ROWS 1 PRECEDING)",
            "sum :: BIGINT \
             | Window sum := sum(a) OVER (PARTITION BY a ORDER BY c ROWS -1 TO CURRENT)",
        ),
        (
            "sum(sum(a)) OVER (ORDER BY a)",
            "sum :: HUGEINT \
             | Aggregate by [] sum := sum(a) \
             | Window sum := sum(sum) OVER (ORDER BY a RANGE START TO CURRENT)",
        ),
        (
            "rank() OVER (ORDER BY a) + rank() OVER (ORDER BY a)",
            "(rank + rank) :: BIGINT not null | Window rank := rank() OVER (ORDER BY a RANGE START TO CURRENT)",
        ),
        (
            "rank() OVER (ORDER BY a ROWS 1 PRECEDING)",
            "rank :: BIGINT not null | Window rank := rank() OVER (ORDER BY a RANGE START TO CURRENT)",
        ),
        (
            "count(*) FILTER (WHERE flag) OVER (PARTITION BY a ORDER BY s DESC)",
            "count :: BIGINT not null \
             | Window count := count(*) FILTER (WHERE flag) \
             OVER (PARTITION BY a ORDER BY s DESC NULLS FIRST RANGE START TO CURRENT)",
        ),
        (
            "lag(a, 1, 0) IGNORE NULLS OVER (ORDER BY a)",
            "lag :: INTEGER | Window lag := lag(a, 1, 0) IGNORE NULLS OVER (ORDER BY a RANGE START TO CURRENT)",
        ),
        (
            "sum(a) OVER (ORDER BY n RANGE BETWEEN 10.5 PRECEDING AND CURRENT ROW)",
            "sum :: BIGINT | Window sum := sum(a) OVER (ORDER BY n RANGE -10.50 TO CURRENT)",
        ),
        (
            "sum(a) OVER (ORDER BY a RANGE BETWEEN 10.5 PRECEDING AND CURRENT ROW)",
            "sum :: BIGINT \
             | Window sum := sum(a) OVER (ORDER BY CAST(a AS DECIMAL(11,1)) RANGE -10.5 TO CURRENT)",
        ),
        (
            "sum(a) OVER (ORDER BY d RANGE '1 day' PRECEDING)",
            "sum :: BIGINT \
             | Window sum := sum(a) OVER (ORDER BY d RANGE -INTERVAL '1 day' TO CURRENT)",
        ),
    ]);
}

#[test]
fn parameters_get_the_type_of_their_first_use() {
    let expr = godwit_syntax::parse_expression("($1 + a, d = $2, $3 || 'x', $2, $1 < 2.5, NOT $4, $5)").unwrap();
    with_scope(|binder, scope| {
        let (clause, mut collected) = (Clause::Select, Collected::default());
        binder.expr(&expr, &mut ExprContext { scope, clause, collected: &mut collected, windows: &[] }).unwrap();
        let types: Vec<String> = binder.plan.parameters().iter().map(|parameter| parameter.ty.to_string()).collect();
        assert_eq!(types, ["INTEGER", "DATE", "VARCHAR", "BOOLEAN", "VARCHAR"]);
    });
}

#[test]
fn constants_are_computed_while_binding() {
    let constant = |text: &str| {
        let expr = godwit_syntax::parse_expression(text).unwrap();
        let found = Binder::new(Arc::new(World)).constant(&expr, Clause::From);
        found.map(|(value, ty)| format!("{} {ty}", format_value(&value, &ty)))
    };
    let cases = [
        ("1 + 2 * 3", "7 INTEGER"),
        ("-(1 + 2)", "-3 INTEGER"),
        ("'a'", "a VARCHAR"),
        ("NULL", "NULL INTEGER"),
        ("upper('x')", "X VARCHAR"),
        ("['a', 'b']", "[a, b] VARCHAR[]"),
        ("{'a': 1 + 1, 'b': CAST('5' AS BIGINT)}", "{'a': 2, 'b': 5} STRUCT(\"a\" INTEGER, \"b\" BIGINT)"),
        ("coalesce(NULL, 2)", "2 INTEGER"),
        ("TRY_CAST(300 AS TINYINT)", "NULL TINYINT"),
        ("plus(1)", "2 INTEGER"),
    ];
    for (text, expected) in cases {
        assert_eq!(constant(text).unwrap(), expected, "{text}");
    }
    for text in ["(SELECT 1)", "random()", "now()"] {
        assert_eq!(constant(text).unwrap_err().message(), "FROM needs a constant here", "{text}");
    }
    assert_eq!(constant("$1").unwrap_err().message(), "FROM needs the value of a parameter here");
    assert_eq!(constant("a").unwrap_err().message(), "no column named a");
    assert_eq!(constant("CAST(300 AS TINYINT)").unwrap_err().span().map(|span| span.start), Some(0));
}
