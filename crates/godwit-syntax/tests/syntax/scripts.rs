//! Scripts: where statements begin and end.

use std::time::{Duration, Instant};

use godwit_syntax::{Script, TEXT_BYTES_MAX, is_complete, parse_script, split_script};

#[test]
fn statements_before_a_mistake_can_be_run() {
    let sql = "SELECT 1; SELEC 2; SELECT ';' -- ;\n; ; SELECT 'open";
    let mut script = Script::new(sql);
    let text = |span: godwit_common::Span| &sql[span.start as usize..span.end as usize];
    let first = script.next_statement().expect("a first").expect("it is right");
    assert_eq!(text(first.span), "SELECT 1");
    let error = script.next_statement().expect("a second").expect_err("it is wrong");
    assert_eq!(text(error.span().expect("a place")), "SELEC");
    assert_eq!(text(script.next_statement().expect("a third").expect("it is right").span), "SELECT ';'");
    let error = script.next_statement().expect("a last").expect_err("it has no end").locate(sql);
    assert_eq!(error.position().map(|place| (place.line, place.column)), Some((2, 12)));
    assert!(script.next_statement().is_none());
    let (spans, error) = split_script(sql);
    assert_eq!(spans.iter().map(|span| text(*span)).collect::<Vec<_>>(), ["SELECT 1", "SELEC 2", "SELECT ';'"]);
    assert!(error.is_some());
}

#[test]
fn a_shell_knows_when_to_ask_for_more() {
    for sql in ["SELECT 1;", "SELECT 1; -- done", "SELECT (1);", ";", "SELECT '“';", "SELECT “;"] {
        assert!(is_complete(sql), "{sql}");
    }
    for sql in ["", "SELECT 1", "SELECT 1; SELECT", "SELECT ';", "SELECT (1;", "/* ;", "SELECT $$;", "-- ;", "\"a;"] {
        assert!(!is_complete(sql), "{sql}");
    }
}

#[test]
fn time_is_linear_however_lines_are_broken() {
    let one_line = "SELECT 1;".repeat(20_000);
    let rows = format!("INSERT INTO t VALUES {}", vec!["(1, 'a', NULL)"; 50_000].join(","));
    let start = Instant::now();
    assert_eq!(parse_script(&one_line).expect("it is right").len(), 20_000);
    assert_eq!(parse_script(&rows).expect("it is right").len(), 1);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn long_statements_are_refused_long_scripts_are_not() {
    let half = format!("SELECT '{}';", "x".repeat(TEXT_BYTES_MAX / 2));
    assert_eq!(parse_script(&half.repeat(3)).expect("each fits").len(), 3);
    let error = parse_script(&format!("SELECT '{}'", "x".repeat(TEXT_BYTES_MAX))).expect_err("it is too long");
    assert_eq!(error.code().as_str(), "54001");
}
