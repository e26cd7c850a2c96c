//! Completion at the cursor.
//!
//! | after | proposed |
//! |---|---|
//! | the start of a statement | words that begin one |
//! | FROM, JOIN, INTO, UPDATE, TABLE … | tables, schemas, table functions |
//! | `t.` | columns of the table or alias, tables of the schema |
//! | SET, RESET, SHOW | settings |
//! | a quote | files |
//! | anything else | columns of the tables that the statement names, functions, keywords |
//!
//! Keywords and functions are proposed in the case in which the user began them.

mod scope;

use super::files::paths;
use super::keywords::{STATEMENTS, keywords};
use super::names::Names;
use super::tokens::{Kind, Token, tokens};
use crate::output::Format;
use crate::shell::dot::{COMMANDS, Command, Values};
use scope::{columns_in_scope, columns_of};

/// Maximum number of candidates shown.
const CANDIDATES_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub shown: String,
    /// Replacement for the text typed so far.
    pub text: String,
}

impl Candidate {
    fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), text }
    }
}

/// Returns the position at which the text to complete starts, and the candidates to replace it.
pub(super) fn complete(names: &Names, line: &str, position: usize) -> (usize, Vec<Candidate>) {
    let (start, mut candidates) = match line.trim_start().starts_with('.') {
        true => of_command(names, &line[..position]),
        false => of_statement(names, line, position),
    };
    let mut known = std::collections::HashSet::new();
    candidates.retain(|candidate| known.insert(candidate.text.clone()));
    candidates.truncate(CANDIDATES_MAX);
    (start, candidates)
}

/// Returns true if a text ends inside a quoted string: perhaps a file.
pub(super) fn is_in_file_name(text: &str) -> bool {
    text.trim_start().starts_with('.')
        || tokens(text).last().is_some_and(|last| last.kind == Kind::Text && !last.is_closed)
}

fn of_statement(names: &Names, line: &str, position: usize) -> (usize, Vec<Candidate>) {
    // At the start of a line, a tab means itself; so do those in pasted text.
    if line[..position].rsplit('\n').next().is_some_and(|begun| begun.trim().is_empty()) {
        return (position, Vec::new());
    }
    let before = tokens(&line[..position]);
    let Some(last) = before.last() else { return (position, Vec::new()) };
    let text = &line[last.range.clone()];
    match last.kind {
        Kind::Comment if !last.is_closed => (position, Vec::new()),
        Kind::Text if !last.is_closed => {
            let start = last.range.start + 1;
            let is_path = text.starts_with('\'') && !text.starts_with("'~");
            let files = if is_path { paths(&line[start..position]) } else { Vec::new() };
            (start, files.into_iter().map(|path| Candidate::new(path.replace('\'', "''"))).collect())
        }
        Kind::QuotedName if !last.is_closed => {
            let begun = &line[last.range.start + 1..position];
            let place = TextBefore { line, tokens: &before[..before.len() - 1] };
            (last.range.start, place.names_in_quotes(names, begun))
        }
        Kind::Word => {
            let place = TextBefore { line, tokens: &before[..before.len() - 1] };
            (last.range.start, place.candidates(names, text, position))
        }
        _ => (position, TextBefore { line, tokens: &before }.candidates(names, "", position)),
    }
}

/// The text before the word to complete.
struct TextBefore<'a> {
    line: &'a str,
    tokens: &'a [Token],
}

impl<'a> TextBefore<'a> {
    /// Iterates backwards over words and symbols of the statement before the place, in lower case.
    fn backwards(&self) -> impl Iterator<Item = String> + 'a {
        let line = self.line;
        let seen = self.tokens.iter().rev().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment));
        let texts = seen.map(move |token| line[token.range.clone()].to_lowercase());
        texts.take_while(|text| text != ";")
    }

    fn candidates(&self, names: &Names, begun: &str, position: usize) -> Vec<Candidate> {
        let previous = self.backwards().next();
        if previous.as_deref() == Some(".") {
            return self.parts_of_name(names, begun);
        }
        let Some(previous) = previous else {
            return if begun.is_empty() { Vec::new() } else { in_case(STATEMENTS.iter().copied(), begun) };
        };
        if matches!(previous.as_str(), "set" | "reset" | "show") && self.backwards().count() == 1 {
            let more: &[&str] = if previous == "show" { &["ALL", "TABLES", "DATABASES"] } else { &[] };
            let settings = names.settings.iter().map(String::as_str);
            let mut candidates = starting_with(settings, begun);
            candidates.extend(in_case(more.iter().copied(), begun));
            return candidates;
        }
        if self.expects_table() {
            return tables_and_schemas(names, begun);
        }
        let mut candidates = starting_with(columns_in_scope(names, self.line, position).iter().copied(), begun);
        if begun.is_empty() {
            return candidates;
        }
        let functions = names.functions.iter().map(String::as_str);
        candidates.extend(in_case(functions, begun).into_iter().map(called));
        candidates.extend(in_case(keywords(), begun));
        candidates
    }

    /// Returns columns of a table or alias, or tables of a schema, after its dot.
    fn parts_of_name(&self, names: &Names, begun: &str) -> Vec<Candidate> {
        let Some(qualifier) = self.backwards().nth(1) else { return Vec::new() };
        let qualifier = unquoted(&qualifier);
        let columns = columns_of(names, self.line, &qualifier);
        let of_schema = names.tables.iter().filter(|table| table.schema.eq_ignore_ascii_case(&qualifier));
        let parts = columns.into_iter().chain(of_schema.map(|table| table.name.as_str()));
        starting_with(parts, begun)
    }

    /// Returns tables and columns with this prefix, in quotes.
    fn names_in_quotes(&self, names: &Names, begun: &str) -> Vec<Candidate> {
        let tables = names.tables.iter().map(|table| &table.name);
        let columns = names.tables.iter().flat_map(|table| &table.columns);
        let begun = begun.to_lowercase();
        let is_meant = |name: &&String| name.to_lowercase().starts_with(&begun);
        tables.chain(columns).filter(is_meant).map(|name| Candidate::new(in_quotes(name))).collect()
    }

    /// Returns true if a table name is expected: after such words, or after a comma in FROM.
    fn expects_table(&self) -> bool {
        const WORDS: [&str; 9] =
            ["from", "join", "into", "update", "table", "describe", "summarize", "truncate", "view"];
        let mut words = self.backwards();
        match words.next().as_deref() {
            Some(",") => {
                let mut depth = 0;
                for word in words {
                    match word.as_str() {
                        ")" => depth += 1,
                        "(" if depth == 0 => return false,
                        "(" => depth -= 1,
                        "from" if depth == 0 => return true,
                        "select" | "where" | "by" | "having" | "on" | "set" | "values" | "using" if depth == 0 => {
                            return false;
                        }
                        _ => {}
                    }
                }
                false
            }
            Some(word) => WORDS.contains(&word),
            None => false,
        }
    }
}

fn tables_and_schemas(names: &Names, begun: &str) -> Vec<Candidate> {
    let tables = names.tables.iter().filter(|table| table.schema != "information_schema");
    let mut candidates = starting_with(tables.map(|table| table.name.as_str()), begun);
    let schemas = starting_with(names.schemas.iter().map(String::as_str), begun);
    let with_dot = |schema: Candidate| Candidate { shown: format!("{}.", schema.shown), text: schema.text + "." };
    if !begun.is_empty() {
        candidates.extend(schemas.into_iter().map(with_dot));
        candidates.extend(in_case(names.table_functions.iter().map(String::as_str), begun).into_iter().map(called));
        candidates.extend(in_case(["IF", "LATERAL", "SELECT", "TABLE", "ONLY"].into_iter(), begun));
    }
    candidates
}

/// Returns names with this prefix, case-insensitively, written as SQL needs them.
fn starting_with<'n>(names: impl Iterator<Item = &'n str>, begun: &str) -> Vec<Candidate> {
    let begun = begun.to_lowercase();
    let is_meant = |name: &&str| {
        name.get(..begun.len()).is_some_and(|start| start.eq_ignore_ascii_case(&begun))
            || (!name.is_ascii() && name.to_lowercase().starts_with(&begun))
    };
    names
        .filter(is_meant)
        .take(CANDIDATES_MAX)
        .map(|name| Candidate { shown: name.to_owned(), text: written(name) })
        .collect()
}

/// Returns keywords or functions with this prefix, in the prefix's case.
fn in_case<'n>(words: impl Iterator<Item = &'n str>, begun: &str) -> Vec<Candidate> {
    let is_meant = |word: &&str| word.get(..begun.len()).is_some_and(|start| start.eq_ignore_ascii_case(begun));
    let is_lower = begun.contains(char::is_lowercase);
    let is_upper = begun.contains(char::is_uppercase) && !is_lower;
    let cased = |word: &str| match (is_lower, is_upper) {
        (true, _) => word.to_lowercase(),
        (_, true) => word.to_uppercase(),
        _ => word.to_owned(),
    };
    words.filter(is_meant).map(|word| Candidate::new(cased(word))).collect()
}

/// Returns a function, ready for its arguments.
fn called(function: Candidate) -> Candidate {
    Candidate { shown: function.shown + "(", text: function.text + "(" }
}

/// Returns a name as SQL needs it.
fn written(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && godwit::is_name(name);
    if is_plain { name.to_owned() } else { in_quotes(name) }
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a name without its quotes.
fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}

fn of_command(names: &Names, line: &str) -> (usize, Vec<Candidate>) {
    let indent = line.len() - line.trim_start().len();
    let Some(end) = line[indent..].find(char::is_whitespace) else {
        let is_meant = |command: &&Command| command.name.starts_with(&line[indent..].to_lowercase());
        return (indent, COMMANDS.iter().filter(is_meant).map(|command| Candidate::new(command.name)).collect());
    };
    let name = &line[indent..indent + end];
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else { return (line.len(), Vec::new()) };
    let arguments = &line[indent + end..];
    let start = line.len() - arguments.len() + arguments.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let is_first = arguments[..start + arguments.len() - line.len()].trim().is_empty();
    let begun = &line[start..];
    let of_words = |words: Vec<String>| {
        let is_meant = |word: &String| word.starts_with(begun);
        words.into_iter().filter(is_meant).map(Candidate::new).collect()
    };
    let tables = || starting_with(names.tables.iter().map(|table| table.name.as_str()), begun);
    let files = || {
        // A quote before a path with spaces.
        let quote = begun.starts_with(['\'', '"']) as usize;
        (start + quote, paths(&begun[quote..]).into_iter().map(Candidate::new).collect())
    };
    let candidates = match command.values {
        Values::Any => Vec::new(),
        Values::Words(words) => of_words(words.iter().map(|&word| word.to_owned()).collect()),
        Values::Formats if is_first => of_words(Format::names()),
        Values::Files => return files(),
        Values::FileAndTable if is_first => return files(),
        Values::Tables | Values::Formats | Values::FileAndTable => tables(),
        Values::Functions => of_words(names.functions.clone()),
        Values::Commands => {
            of_words(COMMANDS.iter().map(|command| command.name.trim_start_matches('.').into()).collect())
        }
    };
    (start, candidates)
}

#[cfg(test)]
mod tests;
