//! Commands that list objects.

use std::ops::ControlFlow;

use godwit::Error;

use super::super::{Outcome, Shell, Stop};
use super::dump::{Definition, definitions};
use super::{Call, literal, query};

pub(super) fn databases(shell: &mut Shell, _: &Call) -> Outcome<ControlFlow<Stop>> {
    query(shell, "SHOW DATABASES")
}

pub(super) fn tables(shell: &mut Shell, call: &Call) -> Outcome<ControlFlow<Stop>> {
    let tables = "table_name AS name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS kind \
                  FROM information_schema.tables";
    let sql = match call.word(0) {
        "" => format!(
            "SELECT {tables} WHERE table_catalog = 'temp' OR in_search_path(table_catalog, table_schema) ORDER BY ALL"
        ),
        pattern => {
            format!("SELECT table_schema AS schema, {tables} WHERE table_name ILIKE {} ORDER BY ALL", like(pattern))
        }
    };
    query(shell, &sql)
}

pub(super) fn functions(shell: &mut Shell, call: &Call) -> Outcome<ControlFlow<Stop>> {
    let pattern = like(call.word(0));
    query(
        shell,
        &format!(
            "SELECT signature, description FROM godwit_functions() WHERE name ILIKE {pattern} ORDER BY name, signature"
        ),
    )
}

/// Returns a pattern for LIKE; text without `%` matches anywhere.
fn like(text: &str) -> String {
    literal(&if text.contains('%') { text.to_owned() } else { format!("%{text}%") })
}

pub(super) fn schema(shell: &mut Shell, call: &Call) -> Outcome {
    let name = call.word(0);
    let (all, _) = definitions(shell)?;
    let is_meant = |definition: &&Definition| match name {
        "" => !definition.is_use(),
        name => definition.is_about(name),
    };
    let texts: Vec<String> = all.iter().filter(is_meant).map(|definition| format!("{};", definition.sql)).collect();
    if texts.is_empty() && !name.is_empty() {
        let hint = format!("DESCRIBE {} shows the columns of a file", literal("FILE"));
        return Err(Error::user(format!("there is no table, view or other object named {name}"))
            .with_hint(hint)
            .into());
    }
    match texts.is_empty() {
        true => Ok(()),
        false => shell.sink.print(&shell.settings, &texts.join("\n")),
    }
}

pub(super) fn indexes(shell: &mut Shell, call: &Call) -> Outcome {
    let (all, _) = definitions(shell)?;
    let name = call.word(0);
    let is_meant = |definition: &&Definition| {
        definition.sql.starts_with("CREATE INDEX") && (name.is_empty() || definition.is_about(name))
    };
    let texts: Vec<String> = all.iter().filter(is_meant).map(|definition| format!("{};", definition.sql)).collect();
    match texts.is_empty() {
        true => Ok(()),
        false => shell.sink.print(&shell.settings, &texts.join("\n")),
    }
}
