//! `.dump`: the database as SQL.
//!
//! ```text
//!   BEGIN;
//!   CREATE SCHEMA, TYPE, MACRO, SEQUENCE, TABLE, INDEX, VIEW, COMMENT
//!   INSERT INTO …, table by table
//!   COMMIT;
//! ```
//!
//! Identity columns that don't accept values (GENERATED ALWAYS) are written as those that do (BY DEFAULT), since the
//! rows come with their numbers.

use godwit::{Connection, Error, ExportedTable};

use super::super::pager::Pager;
use super::super::{Outcome, Shell};
use super::Call;
use crate::output::{Columns, insert_renderer};

/// A statement that creates an object.
pub(super) struct Definition {
    pub sql: String,
    /// Names of the objects that it concerns, split into parts: `s.t`.
    names: Vec<Vec<String>>,
}

impl Definition {
    fn new(sql: String) -> Self {
        Self { names: names_in(&sql), sql }
    }

    pub(super) fn is_use(&self) -> bool {
        self.sql.starts_with("USE ")
    }

    /// Returns true if it creates an object of that name, optionally with a schema, or belongs to one.
    pub(super) fn is_about(&self, name: &str) -> bool {
        let is_column = self.sql.starts_with("COMMENT ON COLUMN");
        let wanted = name.to_lowercase();
        !self.is_use()
            && self.names.iter().any(|parts| {
                let parts = if is_column { &parts[..parts.len().saturating_sub(1)] } else { parts };
                let own = parts.last().is_some_and(|last| *last == wanted);
                own || parts.join(".") == wanted
            })
    }
}

/// Returns the quoted names that a definition concerns, in lower case: those before its first bracket, AS or IS.
fn names_in(sql: &str) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut rest = sql;
    let mut goes_on = false;
    while let Some(first) = rest.chars().next() {
        match first {
            '"' => {
                let (name, behind) = quoted(&rest[1..]);
                match names.last_mut() {
                    Some(parts) if goes_on => parts.push(name),
                    _ => names.push(vec![name]),
                }
                (rest, goes_on) = (behind, false);
                continue;
            }
            '(' => break,
            '.' => goes_on = true,
            _ if rest.starts_with(" AS ") || rest.starts_with(" IS ") => break,
            _ => {}
        }
        rest = &rest[first.len_utf8()..];
    }
    names
}

/// Returns a name up to its closing quote, in lower case, and the text after it.
fn quoted(text: &str) -> (String, &str) {
    let mut from = 0;
    while let Some(at) = text[from..].find('"') {
        let end = from + at;
        if !text[end + 1..].starts_with('"') {
            return (text[..end].replace("\"\"", "\"").to_lowercase(), &text[end + 1..]);
        }
        from = end + 2;
    }
    (text.to_lowercase(), "")
}

/// A table and its name in SQL.
type NamedTable = (String, ExportedTable);

/// Returns the definitions of the current database, and its tables.
pub(super) fn definitions(shell: &Shell) -> Outcome<(Vec<Definition>, Vec<NamedTable>)> {
    let running = shell.interrupt.running(&shell.connection);
    let script = shell.connection.definitions()?;
    drop(running);
    let definitions: Vec<Definition> = script.definitions.into_iter().map(Definition::new).collect();
    let names = definitions.iter().filter_map(|definition| {
        let rest = definition.sql.strip_prefix("CREATE TABLE ")?;
        Some(rest.split_once(" (").map_or(rest, |(name, _)| name).to_owned())
    });
    let tables = names.zip(script.tables).collect();
    Ok((definitions, tables))
}

pub(super) fn dump(shell: &mut Shell, call: &Call) -> Outcome {
    // All of it must be from the same snapshot.
    let transaction = ReadTransaction::begin(&shell.connection)?;
    // The dump is written in pieces; a pager would open once per piece.
    let pager = std::mem::replace(&mut shell.settings.pager, Pager::Off);
    let dumped = write(shell, call.word(0));
    shell.settings.pager = pager;
    drop(transaction);
    dumped
}

/// A transaction that is always rolled back; none if one is open already.
struct ReadTransaction(Option<std::sync::Arc<Connection>>);

impl ReadTransaction {
    fn begin(connection: &std::sync::Arc<Connection>) -> Outcome<Self> {
        if connection.is_in_transaction() {
            return Ok(Self(None));
        }
        connection.execute("BEGIN TRANSACTION READ ONLY")?;
        Ok(Self(Some(connection.clone())))
    }
}

impl Drop for ReadTransaction {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            // It has changed nothing, so nothing is lost if ending it fails.
            let _ = connection.execute("ROLLBACK");
        }
    }
}

fn write(shell: &mut Shell, name: &str) -> Outcome {
    let (definitions, tables) = definitions(shell)?;
    let is_meant = |definition: &&Definition| name.is_empty() || definition.is_about(name);
    let meant: Vec<&Definition> = definitions.iter().filter(is_meant).collect();
    if meant.is_empty() && !name.is_empty() {
        return Err(Error::user(format!("there is no table named {name}")).with_hint(".tables lists them").into());
    }
    let texts: String =
        meant.iter().map(|definition| format!("{};\n", with_numbers_of_rows(&definition.sql))).collect();
    shell.sink.print(&shell.settings, &format!("BEGIN;\n{}", texts.trim_end()))?;
    let tables = tables.into_iter().filter(|(sql, _)| {
        meant
            .iter()
            .any(|definition| definition.sql.strip_prefix("CREATE TABLE ").is_some_and(|rest| rest.starts_with(sql)))
    });
    let (connection, interrupt) = (shell.connection.clone(), shell.interrupt.clone());
    for (sql, table) in tables {
        let running = interrupt.running(&connection);
        let quote = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let columns: Vec<String> = table.columns.iter().map(quote).collect();
        let result = connection.query(&format!("SELECT {} FROM {sql}", columns.join(", ")))?;
        let renderer = insert_renderer(Columns::of(&result)?, &sql);
        shell.write_rows(result, renderer, &running)?;
    }
    shell.sink.print(&shell.settings, "COMMIT;")
}

/// Returns the definition of a table, changed so that rows can be inserted with their numbers.
fn with_numbers_of_rows(definition: &str) -> String {
    match definition.starts_with("CREATE TABLE ") {
        true => definition.replace(" GENERATED ALWAYS AS IDENTITY (", " GENERATED BY DEFAULT AS IDENTITY ("),
        false => definition.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_by_name() {
        let is_about = |sql: &str, name: &str| Definition::new(sql.into()).is_about(name);
        let table = "CREATE TABLE \"main\".\"T\"\"x\" (\"a\" INTEGER)";
        assert!(is_about(table, "t\"x") && is_about(table, "main.T\"x"));
        assert!(!is_about(table, "a") && !is_about(table, "main"));
        let index = "CREATE INDEX \"i\" ON \"s\".\"t\" (\"a\")";
        assert!(is_about(index, "I") && is_about(index, "t") && is_about(index, "s.t") && !is_about(index, "a"));
        assert!(is_about("COMMENT ON COLUMN \"main\".\"t\".\"a\" IS 'x'", "t"));
        assert!(is_about("CREATE VIEW \"main\".\"v\" (\"x\") AS SELECT 1", "v"));
        assert!(!is_about("USE \"s\"", "s"));
    }
}
