//! Errors in expressions: message, position, and hint.

use godwit_common::{Error, SqlState};

use super::{bound_in, rows_of};
use crate::binder::Clause;

/// (expression, text that the error points at, message, hint).
type Case = (&'static str, &'static str, &'static str, &'static str);

fn error_in(text: &str, clause: Clause) -> Error {
    match bound_in(text, clause) {
        Ok(bound) => panic!("{text} is {bound}"),
        Err(error) => error,
    }
}

fn check(code: SqlState, cases: &[Case]) {
    let mut wrong = String::new();
    for &(text, place, message, hint) in cases {
        let error = error_in(text, Clause::Select);
        let span = error.span().map_or("nowhere", |span| &text[span.start as usize..span.end as usize]);
        let is = (span, error.message(), error.hint().unwrap_or(""), error.code());
        if is != (place, message, hint, code) {
            wrong += &format!("\n{text}\n  is       {is:?}\n  expected {:?}", (place, message, hint, code));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn names_that_are_not_there() {
    check(
        SqlState::UNDEFINED_COLUMN,
        &[
            ("a + flga", "flga", "no column named flga", "did you mean flag?"),
            ("t.flga", "flga", "no column named flga in t", "did you mean flag?"),
            (
                "\"some text\"",
                "\"some text\"",
                "no column named some text",
                "text stands in single quotes: 'some text'",
            ),
            ("a.x", "x", "a is INTEGER: it has no field x", ""),
            ("st.yy", "yy", "st has no field yy", ""),
            ("(st).yy", "yy", "the value has no field yy", ""),
            ("st[3]", "3", "the struct has 2 fields, none at 3", ""),
        ],
    );
    check(SqlState::UNDEFINED_TABLE, &[("nope.a", "nope", "no table named nope in FROM", "")]);
    check(
        SqlState::AMBIGUOUS_COLUMN,
        &[
            ("a + b", "b", "column b is in main.t and in s1.t", "qualify it: main.t.b"),
            ("t.b", "t.b", "column b is in main.t and in s1.t", "qualify it: main.t.b"),
            ("t", "t", "table t is main.t or s1.t", "qualify it"),
        ],
    );
    check(
        SqlState::UNDEFINED_OBJECT,
        &[
            ("a::integr", "integr", "no type named integr", "did you mean integer?"),
            ("sum(a) OVER ww", "ww", "no window named ww", ""),
        ],
    );
    check(SqlState::INVALID_COLUMN_REFERENCE, &[("#99", "#99", "there is no column #99: FROM has 17", "")]);
}

#[test]
fn functions_that_are_not_there() {
    check(
        SqlState::UNDEFINED_FUNCTION,
        &[
            ("uper(s)", "uper", "no function named uper", "did you mean upper?"),
            ("1 + upper(1)", "upper(1)", "no function upper takes (INTEGER)", "there is upper(VARCHAR)"),
            ("q.upper(s)", "q.upper", "no function named q.upper", ""),
            (
                "read_csv('x')",
                "read_csv",
                "no function named read_csv",
                "read_csv is a function of rows: SELECT ... FROM read_csv(...)",
            ),
            ("ifnull(a)", "ifnull", "ifnull takes 2 arguments, not 1", ""),
            (
                "list_transform(l, (x, y) -> x)",
                "list_transform(l, (x, y) -> x)",
                "no function list_transform takes (INTEGER[], a lambda)",
                "there is list_transform(T[], T -> U)",
            ),
            ("plus()", "plus", "no form of the macro plus takes these arguments", "there are plus(x), plus(x, y)"),
            ("s = 1", "=", "there is no VARCHAR = INTEGER", "cast one side: CAST(... AS VARCHAR)"),
            ("s + 1", "+", "there is no VARCHAR + INTEGER", "|| puts texts together"),
            ("-s", "s", "there is no - of VARCHAR", ""),
            ("s = ANY (SELECT x FROM u)", "=", "there is no VARCHAR = INTEGER", "cast one side: CAST(... AS VARCHAR)"),
        ],
    );
    check(
        SqlState::SYNTAX_ERROR,
        &[
            ("upper(x := s)", "x", "upper takes no argument by name", "a comparison is written x = ..."),
            ("sum(*)", "*", "sum takes values, only count takes *", ""),
            (
                "upper(DISTINCT s)",
                "upper",
                "upper is neither an aggregate nor a window function, so it takes no DISTINCT",
                "",
            ),
            ("lag(DISTINCT a) OVER (ORDER BY a)", "lag", "lag is no aggregate, so it takes no DISTINCT", ""),
            ("(SELECT x, y FROM u)", "SELECT x, y FROM u", "a subquery that is a value has one column, this has 2", ""),
            (
                "(a, s) IN (SELECT x FROM u)",
                "SELECT x FROM u",
                "the left side has 2 values, the subquery one column",
                "",
            ),
            ("(a, c) = (1, 2, 3)", "=", "a row of 2 values is compared with one of 3", ""),
            (
                "DEFAULT",
                "DEFAULT",
                "DEFAULT can't stand here",
                "it may be a value of INSERT, and what UPDATE sets a column to",
            ),
        ],
    );
}

/// The tests have no functions of JSON: what an operator looks for is told by the error.
#[test]
fn operators_of_json_are_functions() {
    for (text, name) in [
        ("s ? 'a'", "jsonb_exists"),
        ("s ?| ['a']", "jsonb_exists_any"),
        ("s ?& ['a']", "jsonb_exists_all"),
        ("s #> ['a']", "#>"),
        ("s #>> ['a']", "#>>"),
        ("s #- ['a']", "jsonb_delete_path"),
        ("s::JSON @> '1'", "jsonb_contains"),
        ("'1' <@ s::JSON", "jsonb_contained"),
        ("s::JSON - 'a'", "jsonb_delete"),
        ("s::JSON - 1", "jsonb_delete"),
        ("s::JSON || s::JSON", "jsonb_concat"),
        ("'[1]' || s::JSONB", "jsonb_concat"),
        ("s::JSON || $1", "jsonb_concat"),
        ("s IS NOT JSON ARRAY", "json_valid"),
    ] {
        assert_eq!(error_in(text, Clause::Select).message(), format!("no function named {name}"), "{text}");
    }
    assert!(bound_in("s::JSON || ', '", Clause::Select).unwrap().starts_with("||("));
    assert!(bound_in("s::JSON || s", Clause::Select).unwrap().starts_with("||("));
    assert!(error_in("s::JSON - s::JSON", Clause::Select).message().contains("there is no JSON - JSON"));
}

#[test]
fn records_have_columns_with_types() {
    for (from, message) in [
        ("json_to_record('{}')", "json_to_record needs the names and types of its columns"),
        ("jsonb_to_record('{}') AS t", "jsonb_to_record needs the names and types of its columns"),
        ("json_to_recordset('[]') AS t(a INT, b)", "the column b needs a type"),
        ("json_to_recordset('[]', 1) AS t(a INT)", "json_to_recordset takes one argument, not 2"),
        ("json_to_recordset('x') AS t(a INT)", "'x' is not a JSON"),
        (
            "json_to_recordset('[]') WITH ORDINALITY AS (a INT)",
            "json_to_recordset has only the columns that are named, no ORDINALITY",
        ),
    ] {
        assert_eq!(rows_of(&format!("SELECT * FROM {from}")).unwrap_err().message(), message, "{from}");
    }
}

#[test]
fn values_of_the_wrong_type() {
    let hint = "compare it with a number: ... <> 0";
    check(
        SqlState::DATATYPE_MISMATCH,
        &[
            ("flag AND a", "a", "an operand of AND must be BOOLEAN, this is INTEGER", hint),
            ("NOT s", "s", "the operand of NOT must be BOOLEAN, this is VARCHAR", ""),
            ("CASE WHEN a THEN 1 END", "a", "the condition of WHEN must be BOOLEAN, this is INTEGER", hint),
            ("sum(a) FILTER (WHERE a)", "a", "the condition of FILTER must be BOOLEAN, this is INTEGER", hint),
            (
                "CASE WHEN flag THEN 1 ELSE s END",
                "s",
                "CASE: INTEGER and VARCHAR have no common type",
                "cast one of them: CAST(... AS INTEGER)",
            ),
            ("a LIKE '1%'", "a", "LIKE takes texts, this is INTEGER", "write CAST(... AS VARCHAR)"),
            ("a[1]", "a", "INTEGER has no elements: [...] takes parts of lists, texts, structs and maps", ""),
            ("unnest(a)", "a", "unnest takes a list or a struct, this is INTEGER", ""),
            ("a = ANY(a)", "a", "the values to compare with are a list or a query, this is INTEGER", ""),
            ("INTERVAL (s) DAY", "s", "an interval is a number of units, this is VARCHAR", ""),
        ],
    );
    check(SqlState::CANNOT_COERCE, &[("CAST(flag AS DATE)", "flag", "there is no cast from BOOLEAN to DATE", "")]);
    check(
        SqlState::INVALID_TEXT_REPRESENTATION,
        &[
            ("a + 'x'", "'x'", "'x' is not an INTEGER", ""),
            ("e = 'middle'", "'middle'", "'middle' is not a label of the ENUM", "its labels are 'lo', 'hi'"),
            ("a IN (1, 'x')", "'x'", "'x' is not an INTEGER", ""),
        ],
    );
    check(
        SqlState::INDETERMINATE_DATATYPE,
        &[("'1' + $1", "+", "the types of both sides of + are unknown", "cast one of them: CAST(... AS INTEGER)")],
    );
    check(
        SqlState::INVALID_PARAMETER_VALUE,
        &[("s LIKE 'a' ESCAPE 'xx'", "'xx'", "ESCAPE is followed by a text of one character", "")],
    );
    check(SqlState::DUPLICATE_COLUMN, &[("{'a': 1, 'A': 2}", "'A'", "the struct has two fields named A", "")]);
}

#[test]
fn aggregates_and_windows_where_none_may_be() {
    check(
        SqlState::GROUPING_ERROR,
        &[(
            "sum(a + max(a))",
            "max",
            "the aggregate max can't stand in the arguments of an aggregate",
            "compute the inner aggregate in a subquery in FROM",
        )],
    );
    let nested = "compute the inner one in a subquery in FROM";
    check(
        SqlState::WINDOWING_ERROR,
        &[
            (
                "row_number()",
                "row_number",
                "row_number is a window function, so it needs OVER",
                "row_number(...) OVER (ORDER BY ...)",
            ),
            (
                "sum(rank() OVER ())",
                "rank",
                "the window function rank can't stand in the arguments of an aggregate",
                nested,
            ),
            (
                "sum(rank() OVER ()) OVER ()",
                "rank",
                "the window function rank can't stand in the arguments of a window function",
                nested,
            ),
            ("sum(a) OVER (GROUPS 1 PRECEDING)", "GROUPS 1 PRECEDING", "GROUPS needs an ORDER BY in the window", ""),
            (
                "sum(a) OVER (RANGE 1 PRECEDING)",
                "RANGE 1 PRECEDING",
                "RANGE with a distance needs an ORDER BY of one key in the window",
                "",
            ),
            (
                "sum(a) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)",
                "ROWS BETWEEN CURRENT ROW AND 1 PRECEDING",
                "a frame that starts at the current row can't end before it",
                "",
            ),
        ],
    );
    check(
        SqlState::FEATURE_NOT_SUPPORTED,
        &[
            (
                "dice + 1",
                "dice",
                "dice by its name: each use of a volatile value would be another",
                "compute it in a subquery in FROM",
            ),
            ("list_transform(l, x -> sum(x))", "sum", "sum of x, a parameter of a lambda", ""),
            (
                "total(random())",
                "total(random())",
                "a volatile argument of total, which uses it in an aggregate or a subquery",
                "compute it in a subquery in FROM",
            ),
            (
                "s COLLATE german",
                "german",
                "the collation german",
                "collations are NOCASE, NOACCENT, languages such as de or \"en-US\", these joined by dots, and \"C\", the order of \
                 bytes",
            ),
            (
                "upper(s COLLATE nocase)",
                "s COLLATE nocase",
                "COLLATE of a value that isn't compared, ordered or grouped",
                "use the value by which the collation compares: lower(…), strip_accents(…), icu_sort_key(…)",
            ),
        ],
    );
    check(
        SqlState::COLLATION_MISMATCH,
        &[(
            "s COLLATE nocase = s COLLATE noaccent",
            "s COLLATE noaccent",
            "values of different collations are compared",
            "say which one holds with COLLATE",
        )],
    );
    check(
        SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        &[
            ("sum(a) OVER (ORDER BY a ROWS -1 PRECEDING)", "-1", "a distance in a frame must not be negative", ""),
            ("sum(a) OVER (ORDER BY a GROUPS NULL PRECEDING)", "NULL", "a distance in a frame must not be NULL", ""),
        ],
    );
}

#[test]
fn each_clause_says_what_may_not_stand_in_it() {
    let cases = [
        ("sum(a) > 1", Clause::Where, "the aggregate sum can't stand in WHERE"),
        ("sum(a)", Clause::GroupBy, "the aggregate sum can't stand in GROUP BY"),
        ("sum(a) > 1", Clause::On, "the aggregate sum can't stand in a join's condition"),
        ("rank() OVER () = 1", Clause::Where, "the window function rank can't stand in WHERE"),
        ("rank() OVER () = 1", Clause::Having, "the window function rank can't stand in HAVING"),
        ("unnest(l)", Clause::Where, "unnest can't stand in WHERE"),
        ("grouping(a)", Clause::Where, "GROUPING can't stand in WHERE"),
    ];
    for (text, clause, message) in cases {
        assert_eq!(error_in(text, clause).message(), message, "{text}");
    }
    let hint = |text, clause| error_in(text, clause).hint().map(str::to_owned);
    assert_eq!(hint("sum(a) > 1", Clause::Where).as_deref(), Some("conditions on groups stand in HAVING"));
    let qualify = "conditions on window functions stand in QUALIFY";
    assert_eq!(hint("rank() OVER () = 1", Clause::Having).as_deref(), Some(qualify));
}

/// Finding W4 of public SQL tests.
#[test]
fn windows_are_refined_by_the_rules() {
    check(
        SqlState::WINDOWING_ERROR,
        &[
            (
                "sum(a) OVER (w ORDER BY s)",
                "(w ORDER BY s)",
                "the window w can't be refined so: it has an ORDER BY already",
                "",
            ),
            (
                "sum(a) OVER (w PARTITION BY s)",
                "(w PARTITION BY s)",
                "the window w can't be refined so: only it can have PARTITION BY",
                "",
            ),
            (
                "sum(a) OVER (f ROWS 2 PRECEDING)",
                "(f ROWS 2 PRECEDING)",
                "the window f can't be refined so: it has a frame",
                "",
            ),
        ],
    );
}

#[test]
fn errors_in_macros_are_told_at_the_call() {
    check(
        SqlState::UNDEFINED_COLUMN,
        &[("1 + broken(a)", "broken(a)", "in macro broken: no column named missing", "")],
    );
    check(SqlState::INVALID_DEFINITION, &[("loops(1)", "loops(1)", "in macro loops: macro loops uses itself", "")]);
}
