//! The runner detects errors and reports where they are.

use godwit::Error;

use super::{Answer, Session, run_script};

/// Answers each statement in the same way, and records it.
struct Fixed {
    answer: Result<(&'static str, &'static [&'static [&'static str]]), &'static str>,
    statements: Vec<String>,
}

impl Session for Fixed {
    fn run(&mut self, sql: &str) -> godwit::Result<Answer> {
        self.statements.push(sql.into());
        let (types, rows) = self.answer.map_err(Error::user)?;
        let rows = rows.iter().map(|row| row.iter().map(|&value| value.into()).collect()).collect();
        Ok(Answer { types: types.into(), rows })
    }
}

const TWO_ROWS: Fixed = Fixed { answer: Ok(("IT", &[&["2", "b  c"], &["1", "a"]])), statements: Vec::new() };
const FAILING: Fixed = Fixed { answer: Err("no such table"), statements: Vec::new() };

/// Runs a script whose first line is the second of its file; returns what the runner reports.
fn run(mut session: Fixed, script: &str) -> Result<Vec<String>, String> {
    run_script(&mut session, &["stored", "restarted"], "file.slt", &format!("\n{script}"))?;
    Ok(session.statements)
}

#[track_caller]
fn check_fails(session: Fixed, script: &str, expected: &str) {
    let failure = run(session, script).expect_err("the script is wrong");
    assert!(failure.starts_with(expected), "{failure}");
}

#[test]
fn right_results_pass() {
    run(TWO_ROWS, "query IT\nq\n----\n2 b c\n1    a").unwrap();
    run(TWO_ROWS, "# why\nquery I? rowsort\nq\n----\n1 a\n2 b c\n").unwrap();
    run(TWO_ROWS, "statement ok\nq").unwrap();
    run(FAILING, "statement error no such t.*e").unwrap_err();
    run(FAILING, "statement error no such t.*e\nq\n\nstatement error\nq").unwrap();
    let empty = Fixed { answer: Ok(("I", &[])), statements: Vec::new() };
    run(empty, "query I\nq\n----\n").unwrap();
}

#[test]
fn statements_run_in_their_order() {
    let statements = run(TWO_ROWS, "statement ok\none\n  two\n\n\nstatement ok\nthree\n").unwrap();
    assert_eq!(statements, ["one\n  two", "three"]);
}

#[test]
fn wrong_rows() {
    check_fails(
        TWO_ROWS,
        "query IT\nq\n----\n2 b c\n1 z",
        "file.slt:2: 2 rows, expected 2\n- 2: 1 z\n+ 2: 1 a\n[SQL] q",
    );
    check_fails(TWO_ROWS, "query IT\nq\n----\n1 a\n2 b c", "file.slt:2: 2 rows, expected 2");
    check_fails(TWO_ROWS, "query IT\nq\n----\n2 b c", "file.slt:2: 2 rows, expected 1");
    check_fails(TWO_ROWS, "query IT\nq\n----\n2 b c\n1 a\n1 a", "file.slt:2: 2 rows, expected 3");
    check_fails(TWO_ROWS, "query IT rowsort\nq\n----\n2 b c\n1 b", "file.slt:2: 2 rows, expected 2");
    check_fails(TWO_ROWS, "query IT rowsort\nq\n----\n", "file.slt:2: 2 rows, expected 0");
}

/// The line reported is that of the record's `query`, even below other records.
#[test]
fn wrong_types() {
    check_fails(
        TWO_ROWS,
        "statement ok\nq\n\n# why\nquery IR\nq\n----\n",
        "file.slt:6: the columns are IT, expected IR",
    );
    check_fails(TWO_ROWS, "query I\nq\n----\n2\n1", "file.slt:2: the columns are IT, expected I");
    check_fails(TWO_ROWS, "query ITT\nq\n----\n", "file.slt:2: the columns are IT, expected ITT");
    let none = Fixed { answer: Ok(("", &[])), statements: Vec::new() };
    check_fails(none, "query I\nq\n----\n", "file.slt:2: the columns are , expected I");
}

#[test]
fn errors() {
    check_fails(FAILING, "statement ok\nq", "file.slt:2: failed: ");
    check_fails(FAILING, "query I\nq\n----\n1", "file.slt:2: failed: ");
    check_fails(FAILING, "statement error no column\nq", "file.slt:2: the error isn't like 'no column': ");
    check_fails(TWO_ROWS, "statement error\nq", "file.slt:2: an error was expected");
    check_fails(TWO_ROWS, "statement error no column\nq", "file.slt:2: an error was expected");
}

#[test]
fn labels() {
    let script =
        "skipif duckdb\nstatement ok\none\n\nonlyif duckdb\nstatement ok\ntwo\n\nskipif stored\nstatement ok\nthree
\nonlyif duckdb\nonlyif restarted\nstatement ok\nfour\n\nskipif default\nskipif restarted\nstatement ok\nfive
\nonlyif stored\nskipif restarted\nstatement ok\nsix\n\nonlyif godwit\nstatement ok\nseven";
    assert_eq!(run(TWO_ROWS, script).unwrap(), ["one", "four", "seven"]);
    check_fails(TWO_ROWS, "skipif stoned\nstatement ok\nq", "file.slt:2: no world or engine is called 'stoned'");
    check_fails(
        TWO_ROWS,
        "onlyif duckdb # why\nstatement ok\nq",
        "file.slt:2: no world or engine is called 'duckdb # why'",
    );
    check_fails(TWO_ROWS, "skipif\nstatement ok\nq", "file.slt:2: no world or engine is called ''");
    check_fails(TWO_ROWS, "skipif duckdb", "file.slt:2: there is no statement or query");
}

/// Nothing is skipped because the runner doesn't know it, even where the record itself would be skipped.
#[test]
fn unknown_records() {
    for line in
        ["halt", "include other.slt", "control sortmode rowsort", "hash-threshold 8", "connection two", "Statement ok"]
    {
        check_fails(TWO_ROWS, &format!("# why\n{line}"), &format!("file.slt:3: '{line}' begins no record"));
    }
    for line in ["statement okay", "statement ok 3", "statement count 3", "statement", "statement  ok"] {
        check_fails(TWO_ROWS, &format!("{line}\nq"), "file.slt:2: '");
    }
    for line in
        ["query", "query IX", "query IT valuesort", "query IT nosort", "query IT rowsort label", "query error no"]
    {
        check_fails(TWO_ROWS, &format!("onlyif duckdb\n{line}\nq\n----\n"), "file.slt:3: '");
    }
    check_fails(TWO_ROWS, "query IT\nq\n---\n2 b c", "file.slt:2: there is no '----'");
    check_fails(TWO_ROWS, "statement ok\nq\n----\n2 b c", "file.slt:2: a statement has no rows");
    check_fails(FAILING, "statement error (\nq", "file.slt:2: regex parse error");
    check_fails(FAILING, "statement ok\n\nq", "file.slt:2: there is no SQL");
    check_fails(
        FAILING,
        "statement error\nq\nstatement ok\nq",
        "file.slt:2: an empty line is missing before 'statement ok'",
    );
    check_fails(TWO_ROWS, "statement ok\nq\n\nq\n", "file.slt:5: 'q' begins no record");
}
