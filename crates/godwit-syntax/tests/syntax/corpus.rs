//! All SQL of the repository's tests and benchmarks is parsed, printed and parsed again.

use std::fs;
use std::path::{Path, PathBuf};

use godwit_syntax::parse_script;

use crate::assert_round_trip;

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

fn all_files(extension: &str) -> Vec<PathBuf> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../..");
    let mut found = Vec::new();
    for folder in ["tests", "bench"] {
        files(&root.join(folder), extension, &mut found);
    }
    found.sort();
    found
}

/// A record of a test file: its statement, and whether it may fail.
struct Record {
    sql: String,
    may_fail: bool,
}

fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let may_fail = matches!(words[..], ["statement" | "query", "error", ..]);
        if !matches!(words[..], ["statement" | "query", ..]) {
            continue;
        }
        let sql = lines.by_ref().take_while(|line| !line.trim().is_empty() && *line != "----").collect::<Vec<_>>();
        records.push(Record { sql: sql.join("\n"), may_fail });
    }
    records
}

/// Returns all statements of the corpus that must parse.
pub fn statements() -> Vec<String> {
    let mut statements = Vec::new();
    for path in all_files("slt") {
        let text = fs::read_to_string(&path).expect("the corpus can be read");
        statements.extend(records(&text).into_iter().filter(|record| !record.may_fail).map(|record| record.sql));
    }
    for path in all_files("sql") {
        let text = fs::read_to_string(&path).expect("the corpus can be read");
        let (spans, error) = godwit_syntax::split_script(&text);
        assert!(error.is_none(), "{}", path.display());
        statements.extend(spans.into_iter().map(|span| text[span.start as usize..span.end as usize].to_owned()));
    }
    statements
}

#[test]
fn the_corpus_is_parsed_and_printed() {
    let statements = statements();
    assert!(statements.len() > 1_400, "{} statements were found", statements.len());
    let mut failures = Vec::new();
    for sql in &statements {
        match parse_script(sql) {
            Ok(parsed) => {
                for one in parsed {
                    assert_round_trip(&sql[one.span.start as usize..one.span.end as usize]);
                }
            }
            Err(error) => failures.push(format!("{sql}\n  {}", error.locate(sql))),
        }
    }
    assert!(failures.is_empty(), "{} statements:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn statements_that_fail_do_so_without_a_panic() {
    for path in all_files("slt") {
        let text = fs::read_to_string(&path).expect("the corpus can be read");
        for record in records(&text).into_iter().filter(|record| record.may_fail) {
            if let Err(error) = parse_script(&record.sql) {
                assert!(error.span().is_some(), "{}", record.sql);
            }
        }
    }
}
