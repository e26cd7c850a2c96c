//! `system.objects`: the schemas, tables, views, indexes, sequences, types and macros of all databases of the session,
//! each with the statement that creates it. DuckDB's catalog functions are macros over it ([`crate::built_in_macros`]).

use std::sync::Arc;

use godwit_bind::Rows;
use godwit_catalog::{Catalog, CatalogEntry, quoted_text, split_name, sql_of_name, stored};
use godwit_common::Result;
use godwit_syntax::ast::{MacroBody, MacroOverload, Statement};
use godwit_types::{SqlType, Value};

use crate::environment::StatementNames;
use crate::export::{Known, index_text, macro_text, options_of, rules_of, table_text, type_statement, view_text};
use crate::pg_catalog::{oid, oid_of_schema};
use crate::types::types_of;
use crate::views::view_tree;

/// An object as a row.
struct Object {
    schema: String,
    name: String,
    kind: &'static str,
    /// Its table, for an index.
    table: Option<String>,
    sql: String,
    details: Details,
}

/// What only some kinds have.
#[derive(Default)]
struct Details {
    /// Rows of a table, about.
    rows: Option<i64>,
    /// Columns of an index, parameters of a macro, labels of an ENUM.
    parts: Option<Vec<String>>,
    /// Expression or query of a macro.
    body: Option<String>,
    /// Last number taken from a sequence.
    last: Option<i64>,
    comment: Option<String>,
}

/// Returns the rows of `system.objects`. Objects whose definitions can't be read any more have no statement.
pub(crate) fn rows(names: &StatementNames) -> Rows {
    let columns = [
        ("database_name", SqlType::Varchar),
        ("database_oid", SqlType::BigInt),
        ("schema_name", SqlType::Varchar),
        ("schema_oid", SqlType::BigInt),
        ("name", SqlType::Varchar),
        ("oid", SqlType::BigInt),
        ("kind", SqlType::Varchar),
        ("table_name", SqlType::Varchar),
        ("sql", SqlType::Varchar),
        ("rows", SqlType::BigInt),
        ("parts", SqlType::list_of(SqlType::Varchar)),
        ("body", SqlType::Varchar),
        ("last_value", SqlType::BigInt),
        ("comment", SqlType::Varchar),
    ];
    let mut rows = Vec::new();
    for (database, catalog) in names.namespace().databases() {
        rows.extend(objects(names, database, catalog).into_iter().map(|object| row(database, object)));
    }
    Rows { columns: columns.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect(), rows }
}

fn row(database: &str, object: Object) -> Vec<Value> {
    let text = |text: &str| Value::text(text);
    let Object { schema, name, kind, table, sql, details } = object;
    let own = match &table {
        Some(table) => oid(&[database, &schema, table, &name]),
        None => oid(&[database, &schema, &name]),
    };
    let parts = details.parts.map(|parts| Value::List(parts.iter().map(|part| text(part)).collect()));
    vec![
        text(database),
        Value::from(oid(&[database])),
        text(&schema),
        Value::from(oid_of_schema(database, &schema)),
        text(&name),
        Value::from(own),
        text(kind),
        Value::from(table.as_deref().map(text)),
        Value::text(sql),
        Value::from(details.rows),
        Value::from(parts),
        Value::from(details.body.as_deref().map(text)),
        Value::from(details.last),
        Value::from(details.comment.as_deref().map(text)),
    ]
}

fn objects(names: &StatementNames, database: &Arc<str>, catalog: &Catalog) -> Vec<Object> {
    let types = types_of(names, database, catalog);
    let known = Known { catalog, types: &types };
    let mut objects = Vec::new();
    let mut put = |(schema, name): (String, String), entry: &CatalogEntry, kind, sql: Result<String>, details| {
        let details = Details { comment: entry.comments().own, ..details };
        objects.push(Object { schema, name, kind, table: None, sql: sql.unwrap_or_default(), details });
    };
    let mut indexes = Vec::new();
    for (full, entry) in catalog.entries() {
        match &entry {
            CatalogEntry::Table(table) => {
                let rules = rules_of(table);
                let rows = i64::try_from(table.statistics.rows).ok();
                let sql = table_text(&table.name, &table.schema, &rules, known);
                put(split_name(&full), &entry, "table", sql, Details { rows, ..Details::default() });
                indexes.extend(rules.indexes.into_iter().map(|index| (table.name.clone(), index)));
            }
            CatalogEntry::View(view) => {
                let sql = view_tree(view).map(|tree| view_text(&view.name, &tree));
                put(split_name(&full), &entry, "view", sql, Details::default());
            }
            CatalogEntry::Sequence(sequence) if sequence.definition().is_owned => {}
            CatalogEntry::Sequence(sequence) => {
                let sql = format!("CREATE SEQUENCE {} {}", sql_of_name(&full), options_of(sequence));
                put(
                    split_name(&full),
                    &entry,
                    "sequence",
                    Ok(sql),
                    Details { last: sequence.last(), ..Details::default() },
                );
            }
            CatalogEntry::Macro(definition) => {
                for (kind, details) in overloads_of(&definition.statement) {
                    put(split_name(&definition.name), &entry, kind, macro_text(definition), details);
                }
            }
            CatalogEntry::Type(definition) => {
                let Some(at) = types.iter().position(|(name, _)| *name == definition.name) else { continue };
                let (name, ty) = &types[at];
                let parts = match ty {
                    SqlType::Enum(of) => Some(of.labels.iter().map(ToString::to_string).collect()),
                    _ => None,
                };
                let sql = type_statement(name, ty, &types[..at]);
                put(split_name(name), &entry, "type", Ok(sql), Details { parts, ..Details::default() });
            }
            CatalogEntry::Schema(schema) => {
                let name = schema.name.clone();
                let sql = format!("CREATE SCHEMA {}", quoted_text(&name));
                put((name.clone(), name), &entry, "schema", Ok(sql), Details::default());
            }
        }
    }
    for (full, index) in indexes {
        let (schema, table) = split_name(&full);
        let (sql, parts) = (index_text(&full, &index), Some(index.columns));
        let details = Details { parts, ..Details::default() };
        objects.push(Object { schema, name: index.name, kind: "index", table: Some(table), sql, details });
    }
    objects
}

/// Returns the ways to call a macro: with its parameters and its body.
fn overloads_of(statement: &str) -> Vec<(&'static str, Details)> {
    let Ok(Statement::CreateMacro(tree)) = stored::statement(statement) else { return Vec::new() };
    let overload = |overload: &MacroOverload| {
        let parts = overload.parameters.iter().map(|parameter| parameter.name.text.to_string()).collect();
        let (kind, body) = match &overload.body {
            MacroBody::Table(query) => ("table_macro", query.to_string()),
            MacroBody::Expr(value) => ("macro", value.to_string()),
        };
        (kind, Details { parts: Some(parts), body: Some(body), ..Details::default() })
    };
    tree.overloads.iter().map(overload).collect()
}
