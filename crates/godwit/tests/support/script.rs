//! The corpus' format: that of SQLite's sqllogictest as far as the corpus uses it (`tests/duckdb/slt.py` reads it,
//! too).
//!
//! A record is a sequence of non-empty lines: comments, `skipif LABEL` and `onlyif LABEL`, then one of
//!
//! ```text
//!   statement ok           statement error PATTERN       query TYPES [rowsort]
//!   SQL                    SQL                           SQL
//!                                                        ----
//!                                                        rows, values separated by blanks
//! ```
//!
//! Anything else is an error, even in records for other worlds and engines.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use regex::Regex;

/// Labels that records may be marked with: worlds, properties that several worlds share, and engines.
const LABELS: [&str; 12] = [
    "default",
    "forced_spill",
    "memory_floor",
    "tiny_chunks",
    "odd_chunks",
    "one_worker",
    "colliding_hashes",
    "stored",
    "restarted",
    "forced_encodings",
    "godwit",
    "duckdb",
];

/// Something that runs statements.
pub trait Session {
    fn run(&mut self, sql: &str) -> godwit::Result<Answer>;
}

/// A result: a letter for the class of each column's type (`I`, `R`, `T`, or `?` for any), and the rows as text.
#[derive(Default)]
pub struct Answer {
    pub types: String,
    pub rows: Vec<Vec<String>>,
}

/// Runs the records of a script in order, those for `labels` and for Godwit; stops at the first that fails or can't be
/// parsed.
pub fn run_script(session: &mut impl Session, labels: &[&str], name: &str, script: &str) -> Result<(), String> {
    assert!(labels.iter().all(|label| LABELS.contains(label)), "records couldn't name all of {labels:?}");
    let labels = &[labels, &["godwit"]].concat();
    for (first, lines) in runs_of_lines(script) {
        let record = Record::parse(&lines).map_err(|(at, what)| format!("{name}:{}: {what}", first + at))?;
        let Some(record) = record.filter(|record| record.is_for(labels)) else { continue };
        let outcome = record.run(session);
        outcome.map_err(|what| format!("{name}:{}: {what}\n[SQL] {}", first + record.at, record.sql))?;
    }
    Ok(())
}

/// Splits into sequences of non-empty lines, with the number of the first line.
fn runs_of_lines(script: &str) -> Vec<(usize, Vec<&str>)> {
    let mut runs = Vec::new();
    let mut lines = Vec::new();
    for (index, line) in script.lines().chain([""]).enumerate() {
        if !line.trim().is_empty() {
            lines.push(line.trim_end());
        } else if !lines.is_empty() {
            runs.push((index + 1 - lines.len(), std::mem::take(&mut lines)));
        }
    }
    runs
}

struct Record<'a> {
    /// Number of the line that says what is expected, counted from 0 within the record.
    at: usize,
    skipped_by: Vec<&'a str>,
    only_by: Vec<&'a str>,
    sql: String,
    expected: Expected<'a>,
}

enum Expected<'a> {
    Success,
    Error(Regex),
    Rows { types: &'a str, is_sorted: bool, rows: Vec<&'a str> },
}

impl<'a> Record<'a> {
    /// Parses lines as a record, or `None` if they are comments. An error has the line that wasn't understood, and the
    /// reason.
    fn parse(lines: &[&'a str]) -> Result<Option<Self>, (usize, String)> {
        let (mut skipped_by, mut only_by) = (Vec::new(), Vec::new());
        for (at, &line) in lines.iter().enumerate() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "skipif" => skipped_by.push(label(rest).map_err(|what| (at, what))?),
                "onlyif" => only_by.push(label(rest).map_err(|what| (at, what))?),
                "statement" | "query" => {
                    let (sql, rows) = split_body(&lines[at + 1..]).map_err(|what| (at, what))?;
                    let expected = Expected::parse(word, rest, rows).map_err(|what| (at, what))?;
                    return Ok(Some(Self { at, skipped_by, only_by, sql, expected }));
                }
                _ if line.starts_with('#') => {}
                _ => return Err((at, format!("'{line}' begins no record"))),
            }
        }
        match skipped_by.is_empty() && only_by.is_empty() {
            true => Ok(None),
            false => Err((0, "there is no statement or query that this could be for".into())),
        }
    }

    fn is_for(&self, labels: &[&str]) -> bool {
        let names = |list: &[&str]| list.iter().any(|label| labels.contains(label));
        !names(&self.skipped_by) && (self.only_by.is_empty() || names(&self.only_by))
    }

    fn run(&self, session: &mut impl Session) -> Result<(), String> {
        match (&self.expected, session.run(&self.sql)) {
            (Expected::Error(pattern), Err(error)) => match pattern.is_match(&error.to_string()) {
                true => Ok(()),
                false => Err(format!("the error isn't like '{pattern}': {error}")),
            },
            (Expected::Error(_), Ok(_)) => Err("an error was expected".into()),
            (_, Err(error)) => Err(format!("failed: {error}")),
            (Expected::Rows { types, is_sorted, rows }, Ok(answer)) => check(types, *is_sorted, rows, &answer),
            (Expected::Success, Ok(_)) => Ok(()),
        }
    }
}

fn label(text: &str) -> Result<&str, String> {
    LABELS.contains(&text).then_some(text).ok_or_else(|| format!("no world or engine is called '{text}'"))
}

/// Splits the lines after `statement` or `query` into the SQL text and the rows below `----`.
fn split_body<'a>(lines: &[&'a str]) -> Result<(String, Option<Vec<&'a str>>), String> {
    let end = lines.iter().position(|&line| line == "----");
    let sql = &lines[..end.unwrap_or(lines.len())];
    if sql.is_empty() {
        return Err("there is no SQL".into());
    }
    let begins =
        |line: &&&str| ["statement ", "query ", "skipif ", "onlyif "].iter().any(|word| line.starts_with(word));
    if let Some(line) = sql.iter().find(begins) {
        return Err(format!("an empty line is missing before '{line}'"));
    }
    Ok((sql.join("\n"), end.map(|end| lines[end + 1..].to_vec())))
}

impl<'a> Expected<'a> {
    fn parse(word: &str, rest: &'a str, rows: Option<Vec<&'a str>>) -> Result<Self, String> {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match (word, first, more, rows) {
            ("statement", "ok", "", None) => Ok(Self::Success),
            ("statement", "error", pattern, None) => {
                Regex::new(pattern).map(Self::Error).map_err(|error| error.to_string())
            }
            ("query", types, sort @ ("" | "rowsort"), Some(rows)) if are_types(types) => {
                Ok(Self::Rows { types, is_sorted: !sort.is_empty(), rows })
            }
            ("query", _, _, None) => Err("there is no '----' above expected rows".into()),
            ("statement", _, _, Some(_)) => Err("a statement has no rows".into()),
            _ => Err(format!("'{word} {rest}' isn't understood")),
        }
    }
}

fn are_types(types: &str) -> bool {
    !types.is_empty() && types.chars().all(|letter| "IRT?".contains(letter))
}

/// Compares a result with a record's expectation, ignoring the number of blanks.
fn check(types: &str, is_sorted: bool, rows: &[&str], answer: &Answer) -> Result<(), String> {
    let is_same = |(actual, expected)| expected == '?' || actual == expected;
    if types.len() != answer.types.len() || !answer.types.chars().zip(types.chars()).all(is_same) {
        return Err(format!("the columns are {}, expected {types}", answer.types));
    }
    let mut expected: Vec<String> = rows.iter().map(|row| words(row)).collect();
    let mut actual: Vec<String> = answer.rows.iter().map(|row| words(&row.join(" "))).collect();
    if is_sorted {
        expected.sort_unstable();
        actual.sort_unstable();
    }
    if expected == actual {
        return Ok(());
    }
    let mut what = format!("{} rows, expected {}", actual.len(), expected.len());
    for (mark, rows, others) in [('-', &expected, &actual), ('+', &actual, &expected)] {
        for (at, row) in rows.iter().enumerate().filter(|(at, row)| others.get(*at) != Some(row)).take(20) {
            write!(what, "\n{mark} {}: {row}", at + 1).expect("a text can be written to");
        }
    }
    Err(what)
}

fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
