//! How operators associate: each expression next to its fully parenthesized form.

use godwit_syntax::ast::{Expr, ExprKind};
use godwit_syntax::parse_expression;

use crate::shape;

fn parsed(sql: &str) -> Expr {
    parse_expression(sql).unwrap_or_else(|error| panic!("{sql}: {}", error.locate(sql)))
}

#[track_caller]
fn assert_same(written: &str, meant: &str) {
    let (written_tree, meant_tree) = (parsed(written), parsed(meant));
    assert_eq!(shape(&written_tree), shape(&meant_tree), "{written} isn't {meant} but {written_tree}");
    let printed = written_tree.to_string();
    assert_eq!(shape(&parsed(&printed)), shape(&written_tree), "{written} was printed as {printed}");
}

#[test]
fn operators_bind_as_in_postgresql() {
    for (written, meant) in [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT NOT a IS NULL", "NOT (NOT (a IS NULL))"),
        ("a = NOT b AND c", "(a = (NOT b)) AND c"),
        ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
        ("a IS NOT DISTINCT FROM b OR c", "(a IS NOT DISTINCT FROM b) OR c"),
        ("a IS DISTINCT FROM b = c", "a IS DISTINCT FROM (b = c)"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a ISNULL = b NOTNULL", "((a ISNULL) = b) NOTNULL"),
        ("-2 ^ 2", "(-2) ^ 2"),
        ("2 ^ 3 ^ 4", "(2 ^ 3) ^ 4"),
        ("2 ^ -1", "2 ^ (-1)"),
        ("2 ** 3", "2 ^ 3"),
        ("- - a", "-(-a)"),
        ("-a::INT", "-(a::INT)"),
        ("-a[1]", "-(a[1])"),
        ("a::INT::TEXT", "CAST(CAST(a AS INT) AS TEXT)"),
        ("a + b * c - d", "(a + (b * c)) - d"),
        ("a - b - c", "(a - b) - c"),
        ("a / b // c % d", "((a / b) // c) % d"),
        ("'a' || i % 2", "'a' || (i % 2)"),
        ("a || b + c", "a || (b + c)"),
        ("a || b || c", "(a || b) || c"),
        ("a || b = c || d", "(a || b) = (c || d)"),
        ("a <> g ~ '^a'", "a <> (g ~ '^a')"),
        ("a LIKE b ~ c", "a LIKE (b ~ c)"),
        ("a = b NOT IN (1)", "a = (b NOT IN (1))"),
        ("x ILIKE 'p' <> TRUE", "(x ILIKE 'p') <> TRUE"),
        ("a < b = c", "(a < b) = c"),
        ("a < b < c", "(a < b) < c"),
        ("a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"),
        ("a NOT BETWEEN b + 1 AND c || d OR e", "(a NOT BETWEEN (b + 1) AND (c || d)) OR e"),
        ("a BETWEEN SYMMETRIC b AND c", "(a BETWEEN SYMMETRIC (b) AND (c))"),
        ("a IN (1, 2) = b", "(a IN (1, 2)) = b"),
        ("a IN b AND c", "(a IN b) AND c"),
        ("a IN ((SELECT 1))", "a IN (SELECT 1)"),
        ("a LIKE b ESCAPE '!' AND c", "(a LIKE b ESCAPE '!') AND c"),
        ("a NOT SIMILAR TO b || c", "a NOT SIMILAR TO (b || c)"),
        ("s GLOB 'a*' = b", "(s GLOB 'a*') = b"),
        ("a -> 'b' ->> 'c' = d", "((a -> 'b') ->> 'c') = d"),
        ("a & b | c << 2 # 3", "(((a & b) | c) << 2) # 3"),
        ("a # b + 1", "a # (b + 1)"),
        ("~ a & b", "(~ a) & b"),
        ("~ a + b", "~ (a + b)"),
        ("@ -a", "@ (-a)"),
        ("a COLLATE x || b", "(a COLLATE x) || b"),
        ("-a COLLATE x", "(-a) COLLATE x"),
        ("a AT TIME ZONE 'UTC' + b", "(a AT TIME ZONE 'UTC') + b"),
        ("a || b AT TIME ZONE c", "a || timezone(c, b)"),
        ("a > ANY (SELECT 1) AND b", "(a > ANY (SELECT 1)) AND b"),
        ("a = ALL ([1, 2]) IS TRUE", "(a = ALL ([1, 2])) IS TRUE"),
        ("NOT EXISTS (SELECT 1) OR a", "(NOT (EXISTS (SELECT 1))) OR a"),
        ("(a).b.c", "((a).b).c"),
        ("a[1].b[2:3]", "((a[1]).b)[2:3]"),
        ("a @> b AND c <@ d OR e && f", "((a @> b) AND (c <@ d)) OR (e && f)"),
        ("a ^@ b", "(a) ^@ (b)"),
        ("a #> b #>> c = d", "((a #> b) #>> c) = d"),
        ("a #- b || c + d", "((a #- b) || (c + d))"),
        ("a#-1", "a #- 1"),
        ("a # -1", "a # (-1)"),
        ("a ? b AND c ?| d OR e?&f", "((a ? b) AND (c ?| d)) OR (e ?& f)"),
        ("a ? b IS JSON OBJECT AND c", "((a ? b) IS JSON OBJECT) AND c"),
        ("a || b IS NOT JSON", "(a || b) IS NOT JSON"),
        ("a IS JSON VALUE = b IS JSON SCALAR", "((a IS JSON) = b) IS JSON SCALAR"),
        ("a OPERATOR(pg_catalog.?|) b", "a ?| b"),
        ("a != b", "a <> b"),
        ("a == b", "a = b"),
        ("INTERVAL 1 second * 5", "(INTERVAL 1 second) * 5"),
        ("DATE '2020-01-01' + INTERVAL '1' DAY * 2", "DATE '2020-01-01' + (INTERVAL '1' DAY * 2)"),
        ("CASE WHEN a THEN b ELSE c END + 1", "(CASE WHEN a THEN b ELSE c END) + 1"),
        ("((SELECT 1) + 1) * 2", "(((SELECT (1)) + 1)) * 2"),
        ("((a, b)) = (1, 2)", "(a, b) = ((1, 2))"),
        ("(ROW(1, 2)).f", "ROW(1, 2).f"),
        ("a.b(c).d", "(a.b(c)).d"),
        ("a<-1", "a < (-1)"),
        ("a->-1", "a -> (-1)"),
        ("a--comment\n-b", "a - b"),
    ] {
        assert_same(written, meant);
    }
}

#[test]
fn a_question_mark_is_a_parameter_where_an_operand_stands() {
    for (written, meant) in [
        ("?", "$1"),
        ("? + ?", "$1 + $2"),
        ("? ? ?", "$1 ? $2"),
        ("j ?| ?", "j ?| $1"),
        ("?||'a'", "$1 || 'a'"),
        ("?|1", "$1 | 1"),
        ("?&?", "$1 & $2"),
        ("f(?, j?'a')", "f($1, j ? 'a')"),
        ("CASE WHEN a THEN ? ELSE ? END", "CASE WHEN a THEN $1 ELSE $2 END"),
        ("a BETWEEN ? AND ?", "a BETWEEN $1 AND $2"),
        ("INTERVAL ? DAY", "INTERVAL ($1) DAY"),
    ] {
        assert_same(written, meant);
    }
    assert!(parse_expression("j ? | a").is_err());
}

#[test]
fn other_spellings_are_the_same_tree() {
    for (written, meant) in [
        ("EXTRACT(YEAR FROM d)", "date_part('year', d)"),
        ("extract('month' FROM d)", "date_part('month', d)"),
        ("SUBSTRING(s FROM 2 FOR 3)", "substring(s, 2, 3)"),
        ("SUBSTRING(s FOR 3)", "substring(s, 1, 3)"),
        ("POSITION('a' IN s || t)", "strpos(s || t, 'a')"),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", "overlay(a, b, 1, 2)"),
        ("TRIM(BOTH 'x' FROM s)", "trim(s, 'x')"),
        ("TRIM(LEADING FROM s)", "ltrim(s)"),
        ("TRIM(TRAILING 'x' FROM s)", "rtrim(s, 'x')"),
        ("TRIM('x' FROM s)", "trim(s, 'x')"),
        ("CURRENT_DATE", "current_date()"),
        ("TRY_CAST(a AS INT)", "try_cast(a AS INT)"),
        ("ARRAY[1, 2]", "[1, 2]"),
        ("'a'.upper()", "upper('a')"),
        ("(a).f(b)", "f(a, b)"),
        ("a = SOME (SELECT 1)", "a = ANY (SELECT 1)"),
        ("f(a => 1)", "f(a := 1)"),
        ("count(* )", "count(*)"),
        ("JSON_OBJECT('a': 1, KEY 'b' VALUE 2, c VALUE d)", "json_object('a', 1, 'b', 2, c, d)"),
        ("json_object(key, value, key VALUE :x)", "json_object(key, value, key, :x)"),
    ] {
        let lower = |tree: &Expr| shape(tree).to_lowercase();
        assert_eq!(lower(&parsed(written)), lower(&parsed(meant)), "{written}");
    }
}

#[test]
fn lambdas_are_arguments_only() {
    let argument = |sql: &str| match parsed(sql).kind {
        ExprKind::Call(call) => call.args[0].value.kind.clone(),
        _ => panic!("{sql} is no call"),
    };
    assert!(matches!(argument("f(x -> x + 1)"), ExprKind::Lambda { keyword: false, .. }));
    assert!(matches!(argument("f((x, y) -> x + y)"), ExprKind::Lambda { .. }));
    assert!(matches!(argument("f(lambda x, y: x + y)"), ExprKind::Lambda { keyword: true, .. }));
    assert!(matches!(argument("f((j -> 'a'))"), ExprKind::Binary { .. }));
    assert!(matches!(argument("f(t.j -> 'a')"), ExprKind::Binary { .. }));
    assert!(matches!(parsed("j -> 'a'").kind, ExprKind::Binary { .. }));
    for sql in ["f(x -> x + 1)", "f((j -> 'a'))", "f((j -> 'a') = 'b')", "f((a, b) -> a)", "list_sort(lambda x: x)"] {
        assert_same(sql, sql);
    }
}

#[test]
fn comparisons_of_arguments_stay_comparisons() {
    let ExprKind::Call(call) = parsed("f(a = 1, b := 2, c => 3)").kind else { panic!("it is a call") };
    let names: Vec<_> = call.args.iter().map(|arg| arg.name.as_ref().map(|name| name.text.to_string())).collect();
    assert_eq!(names, [None, Some("b".to_owned()), Some("c".to_owned())]);
    assert!(matches!(call.args[0].value.kind, ExprKind::Binary { .. }));
}

#[test]
fn spans_are_those_of_the_text() {
    let sql = "a + f(b, 'x') AND (c IS NULL)";
    let tree = parsed(sql);
    let ExprKind::And(items) = &tree.kind else { panic!("it is a conjunction") };
    let text = |expr: &Expr| &sql[expr.span.start as usize..expr.span.end as usize];
    assert_eq!(text(&tree), sql);
    assert_eq!(text(&items[0]), "a + f(b, 'x')");
    assert_eq!(text(&items[1]), "c IS NULL");
}
