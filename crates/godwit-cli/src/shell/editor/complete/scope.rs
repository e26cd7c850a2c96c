//! The tables that a statement names, and their columns.

use super::unquoted;
use crate::shell::editor::keywords::is_keyword;
use crate::shell::editor::names::{Names, Table};
use crate::shell::editor::tokens::{Kind, tokens};

/// A table in a statement.
struct Instance {
    table: String,
    alias: Option<String>,
}

/// Returns columns of the tables named in the statement around a position, or of all tables if it names none that is
/// known.
pub(super) fn columns_in_scope<'n>(names: &'n Names, line: &str, position: usize) -> Vec<&'n str> {
    let instances = instances(statement_around(line, position));
    let is_named = |table: &&Table| instances.iter().any(|instance| is_table(table, &instance.table));
    let mut named = names.tables.iter().filter(is_named).peekable();
    let columns = |table: &'n Table| table.columns.iter().map(String::as_str);
    match named.peek().is_some() {
        true => named.flat_map(columns).collect(),
        false if instances.is_empty() => {
            names.tables.iter().filter(|table| table.schema != "information_schema").flat_map(columns).collect()
        }
        false => Vec::new(),
    }
}

/// Returns the columns of a table by its name or alias.
pub(super) fn columns_of<'n>(names: &'n Names, line: &str, qualifier: &str) -> Vec<&'n str> {
    let instances = instances(line);
    let is_meant = |name: &str| name.eq_ignore_ascii_case(qualifier);
    let aliased = instances.iter().find(|instance| instance.alias.as_deref().is_some_and(is_meant));
    let table = aliased.map_or(qualifier, |instance| &instance.table);
    let tables = names.tables.iter().filter(|known| is_table(known, table));
    tables.flat_map(|table| table.columns.iter().map(String::as_str)).collect()
}

fn is_table(table: &Table, name: &str) -> bool {
    table.name.to_lowercase() == name.to_lowercase()
}

/// Returns the statement around a position.
fn statement_around(line: &str, position: usize) -> &str {
    let ends = tokens(line).into_iter().filter(|token| token.kind == Kind::Symbol && &line[token.range.clone()] == ";");
    let (mut start, mut end) = (0, line.len());
    for semicolon in ends {
        match semicolon.range.end <= position {
            true => start = semicolon.range.end,
            false => {
                end = semicolon.range.start;
                break;
            }
        }
    }
    &line[start..end]
}

/// Returns the tables after FROM, JOIN, INTO, UPDATE and commas of FROM, with their aliases.
fn instances(statement: &str) -> Vec<Instance> {
    let words: Vec<(Kind, &str)> = tokens(statement)
        .into_iter()
        .filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment))
        .map(|token| (token.kind, &statement[token.range]))
        .collect();
    let is_name = |at: usize| match words.get(at) {
        Some((Kind::QuotedName, _)) => true,
        Some((Kind::Word, word)) => !is_keyword(word),
        _ => false,
    };
    let is = |at: usize, symbol: &str| words.get(at).is_some_and(|(_, text)| *text == symbol);
    let is_word = |at: usize, word: &str| words.get(at).is_some_and(|(_, text)| text.eq_ignore_ascii_case(word));
    let mut instances = Vec::new();
    let mut at = 0;
    let mut is_in_from = false;
    while at < words.len() {
        let begins = ["from", "join", "into", "update"].iter().any(|word| is_word(at, word));
        let (_, text) = words[at];
        is_in_from = match begins {
            true => true,
            false => {
                is_in_from
                    && !["where", "group", "order", "set", "values", "on", "limit", "(", ")"]
                        .iter()
                        .any(|word| text.eq_ignore_ascii_case(word))
            }
        };
        at += 1;
        if !(begins || (is_in_from && text == ",")) || !is_name(at) {
            continue;
        }
        while is_name(at) && is(at + 1, ".") && is_name(at + 2) {
            at += 2;
        }
        let table = unquoted(words[at].1);
        at += 1;
        if is_word(at, "as") {
            at += 1;
        }
        let alias = is_name(at).then(|| unquoted(words[at].1));
        instances.push(Instance { table, alias });
    }
    instances
}
