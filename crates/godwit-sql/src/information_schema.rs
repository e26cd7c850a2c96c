//! `information_schema`: the objects that a statement sees, including changes by its own transaction, as tables.
//!
//! | table | a row for each |
//! |---|---|
//! | `schemata` | schema |
//! | `tables` | table or view |
//! | `columns` | column of these |
//! | `views` | view |
//! | `table_constraints` | key, reference, check and NOT NULL of a table |
//! | `key_column_usage` | column of a key or a reference |
//! | `sequences` | sequence |
//! | `comments` | comment on an object or a column; not in any standard |
//!
//! Tables that follow from these and from `pg_catalog` are [views](crate::built_in_views).

use std::sync::Arc;

use arrow_schema::Field;
use godwit_bind::Rows;
use godwit_catalog::{
    CatalogEntry, Comments, KeyRule, Namespace, ObjectName, ReferenceRule, SequenceDefinition, TEMPORARY, TableRules,
    ViewDefinition, full_name_of_key, split_name,
};
use godwit_common::Result;
use godwit_types::{SqlType, Value};
use godwit_vector::sql::{collation_of_field, type_of_field};

use crate::pg_catalog;

/// Schema of these tables.
pub const INFORMATION_SCHEMA: &str = "information_schema";

/// A column: its name, and whether it is numeric.
type Column = (&'static str, bool);

const SCHEMATA: [Column; 3] = [("catalog_name", false), ("schema_name", false), ("schema_owner", false)];
const TABLES: [Column; 5] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("table_type", false),
    ("table_comment", false),
];
const COLUMNS: [Column; 16] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("column_name", false),
    ("ordinal_position", true),
    ("column_default", false),
    ("is_nullable", false),
    ("data_type", false),
    ("column_comment", false),
    ("udt_name", false),
    ("numeric_precision", true),
    ("numeric_scale", true),
    ("datetime_precision", true),
    ("is_generated", false),
    ("generation_expression", false),
    ("collation_name", false),
];

const COMMENTS: [Column; 6] = [
    ("object_catalog", false),
    ("object_schema", false),
    ("object_name", false),
    ("object_type", false),
    ("column_name", false),
    ("comment", false),
];

const SEQUENCES: [Column; 9] = [
    ("sequence_catalog", false),
    ("sequence_schema", false),
    ("sequence_name", false),
    ("data_type", false),
    ("start_value", true),
    ("minimum_value", true),
    ("maximum_value", true),
    ("increment", true),
    ("cycle_option", false),
];

const VIEWS: [Column; 6] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("view_definition", false),
    ("check_option", false),
    ("is_updatable", false),
];

const TABLE_CONSTRAINTS: [Column; 10] = [
    ("constraint_catalog", false),
    ("constraint_schema", false),
    ("constraint_name", false),
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("constraint_type", false),
    ("is_deferrable", false),
    ("initially_deferred", false),
    ("enforced", false),
];

const KEY_COLUMN_USAGE: [Column; 9] = [
    ("constraint_catalog", false),
    ("constraint_schema", false),
    ("constraint_name", false),
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("column_name", false),
    ("ordinal_position", true),
    ("position_in_unique_constraint", true),
];

/// Function that returns name, type and nullability of each column of a view.
pub(crate) type ViewColumns<'v> = &'v dyn Fn(&Arc<str>, &ViewDefinition) -> Result<Vec<(String, SqlType, bool)>>;

/// Returns the rows of a table of the schema; `None` if there is no such table.
pub(crate) fn rows(namespace: &Namespace, table: &str, view_columns: ViewColumns<'_>) -> Option<Rows> {
    let (columns, rows): (&[Column], _) = match table {
        "schemata" => (&SCHEMATA, schemata(namespace)),
        "tables" => (&TABLES, tables(namespace)),
        "columns" => (&COLUMNS, all_columns(namespace, view_columns)),
        "sequences" => (&SEQUENCES, sequences(namespace)),
        "views" => (&VIEWS, views(namespace)),
        "table_constraints" => (&TABLE_CONSTRAINTS, table_constraints(namespace)),
        "key_column_usage" => (&KEY_COLUMN_USAGE, key_column_usage(namespace)),
        "comments" => (&COMMENTS, comments(namespace)),
        _ => return None,
    };
    let type_of = |is_number| if is_number { SqlType::BigInt } else { SqlType::Varchar };
    let columns = columns.iter().map(|&(name, is_number)| (name.to_owned(), type_of(is_number))).collect();
    Some(Rows { columns, rows })
}

fn schemata(namespace: &Namespace) -> Vec<Vec<Value>> {
    let schemas = namespace.databases().iter().flat_map(|(database, catalog)| {
        let row = |schema: String| vec![text(database), text(&schema), text(database)];
        catalog.schemas().into_iter().map(row)
    });
    schemas.collect()
}

/// Lists objects: database, schema, name, and entry.
fn objects(namespace: &Namespace) -> impl Iterator<Item = (Arc<str>, String, String, CatalogEntry)> {
    namespace.databases().iter().flat_map(|(database, catalog)| {
        catalog.entries().into_iter().map(|(full, entry)| {
            let (schema, name) = split_name(&full);
            (database.clone(), schema, name, entry)
        })
    })
}

fn tables(namespace: &Namespace) -> Vec<Vec<Value>> {
    let tables = objects(namespace).filter_map(|(database, schema, name, entry)| {
        let comment = entry.comments().own;
        let kind = match entry {
            CatalogEntry::Table(_) if &*database == TEMPORARY => "LOCAL TEMPORARY",
            CatalogEntry::Table(_) => "BASE TABLE",
            CatalogEntry::View(_) => "VIEW",
            CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) | CatalogEntry::Macro(_) | CatalogEntry::Type(_) => {
                return None;
            }
        };
        Some(vec![text(&database), text(&schema), text(&name), text(kind), text_or_null(comment.as_deref())])
    });
    tables.collect()
}

fn views(namespace: &Namespace) -> Vec<Vec<Value>> {
    let views = objects(namespace).filter_map(|(database, schema, name, entry)| {
        let CatalogEntry::View(view) = entry else { return None };
        Some([&*database, &schema, &name, &view.statement, "NONE", "NO"].map(text).to_vec())
    });
    views.collect()
}

/// Returns all constraints, with their tables: database, schema, name.
fn constraints(namespace: &Namespace) -> Vec<([String; 3], Constraint)> {
    let mut found = Vec::new();
    for (database, schema, name, entry) in objects(namespace) {
        let CatalogEntry::Table(table) = entry else { continue };
        let rules = table.rules().cloned().unwrap_or_default();
        let is_primary =
            |column: &str| rules.keys.iter().any(|key| key.is_primary && key.columns.iter().any(|name| name == column));
        let required = table.schema.fields().iter().filter(|field| !field.is_nullable() && !is_primary(field.name()));
        let required = required.map(|field| Constraint {
            name: format!("{name}_{}_not_null", field.name()),
            kind: "CHECK",
            columns: Vec::new(),
            parent_columns: None,
        });
        let keys = rules.keys.iter().map(|key| Constraint {
            name: key.name.clone(),
            kind: if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" },
            columns: key.columns.clone(),
            parent_columns: None,
        });
        let references = rules.references.iter().map(|reference| Constraint {
            name: reference.name.clone(),
            kind: "FOREIGN KEY",
            columns: reference.columns.clone(),
            parent_columns: Some(parent_places(namespace, &database, reference)),
        });
        let checks = rules.checks.iter().map(|check| Constraint {
            name: check.name.clone(),
            kind: "CHECK",
            columns: Vec::new(),
            parent_columns: None,
        });
        let all = keys.chain(references).chain(checks).chain(required);
        found.extend(all.map(|constraint| ([database.to_string(), schema.clone(), name.clone()], constraint)));
    }
    found
}

struct Constraint {
    name: String,
    kind: &'static str,
    /// Columns of a key or a reference.
    columns: Vec<String>,
    /// For a reference: positions of the other table's columns in its key.
    parent_columns: Option<Vec<Option<usize>>>,
}

fn parent_places(namespace: &Namespace, database: &Arc<str>, reference: &ReferenceRule) -> Vec<Option<usize>> {
    let parent = namespace.get(&ObjectName { database: database.clone(), name: reference.parent.clone() });
    let rules = match parent {
        Some(CatalogEntry::Table(table)) => table.rules().cloned().unwrap_or_default(),
        _ => TableRules::default(),
    };
    let is_theirs = |key: &&KeyRule| reference.parent_columns.iter().all(|column| key.columns.contains(column));
    let key = rules.keys.iter().find(is_theirs);
    let place = |column: &String| key.and_then(|key| key.columns.iter().position(|name| name == column));
    reference.parent_columns.iter().map(place).collect()
}

/// Returns the columns with which a row about a constraint begins.
fn constraint_row(table: &[String; 3], name: &str) -> Vec<Value> {
    let [database, schema, table] = table;
    [database, schema, name, database, schema, table].map(text).to_vec()
}

fn table_constraints(namespace: &Namespace) -> Vec<Vec<Value>> {
    let row = |(table, constraint): ([String; 3], Constraint)| {
        let mut row = constraint_row(&table, &constraint.name);
        row.extend([constraint.kind, "NO", "NO", "YES"].map(text));
        row
    };
    constraints(namespace).into_iter().map(row).collect()
}

fn key_column_usage(namespace: &Namespace) -> Vec<Vec<Value>> {
    let position = |at: usize| Value::Integer(at as i128 + 1);
    let mut rows = Vec::new();
    for (table, constraint) in constraints(namespace) {
        for (at, column) in constraint.columns.iter().enumerate() {
            let mut row = constraint_row(&table, &constraint.name);
            let parent = constraint.parent_columns.as_ref().and_then(|places| places[at]);
            row.extend([text(column), position(at), parent.map_or(Value::Null, position)]);
            rows.push(row);
        }
    }
    rows
}

fn comments(namespace: &Namespace) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (database, catalog) in namespace.databases() {
        for (key, entry) in catalog.entries() {
            let (kind, (schema, name)) = match &entry {
                CatalogEntry::Table(_) => ("TABLE", split_name(&key)),
                CatalogEntry::View(_) => ("VIEW", split_name(&key)),
                CatalogEntry::Sequence(_) => ("SEQUENCE", split_name(&key)),
                CatalogEntry::Macro(_) => ("MACRO", split_name(full_name_of_key(&key))),
                CatalogEntry::Type(_) => ("TYPE", split_name(full_name_of_key(&key))),
                CatalogEntry::Schema(schema) => ("SCHEMA", (schema.name.clone(), schema.name.clone())),
            };
            let row = |kind: &str, column: Option<&str>, comment: &str| {
                let of_object = [&**database, &*schema, &*name, kind].map(text);
                of_object.into_iter().chain([text_or_null(column), text(comment)]).collect()
            };
            let Comments { own, columns } = entry.comments();
            rows.extend(own.map(|comment| row(kind, None, &comment)));
            rows.extend(columns.iter().map(|(column, comment)| row("COLUMN", Some(column), comment)));
        }
    }
    rows
}

fn sequences(namespace: &Namespace) -> Vec<Vec<Value>> {
    let sequences = objects(namespace).filter_map(|(database, schema, name, entry)| {
        let CatalogEntry::Sequence(sequence) = entry else { return None };
        let SequenceDefinition { start, increment, min, max, cycle, .. } = sequence.definition();
        let cycle = if *cycle { "YES" } else { "NO" };
        let mut row = vec![text(&database), text(&schema), text(&name), text("BIGINT")];
        row.extend([start, min, max, increment].map(|&number| Value::Integer(number.into())));
        row.push(text(cycle));
        Some(row)
    });
    sequences.collect()
}

/// Name, type, nullability, default or expression, and collation of a column of an object.
type ListedColumn = (String, Option<SqlType>, bool, Option<String>, Option<String>);

fn all_columns(namespace: &Namespace, view_columns: ViewColumns<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (database, schema, table, entry) in objects(namespace) {
        let comments = entry.comments();
        let generated = match &entry {
            CatalogEntry::Table(table) => table.rules().map(|rules| rules.generated.clone()).unwrap_or_default(),
            _ => Vec::new(),
        };
        let columns: Vec<ListedColumn> = match entry {
            CatalogEntry::Table(table) => {
                let rules = table.rules().cloned().unwrap_or_default();
                let column = |field: &Field| {
                    let expression = rules.generated_column(field.name()).map(|column| column.expression.as_str());
                    let default = rules.default_of(field.name()).or(expression).map(str::to_owned);
                    let collation = collation_of_field(field).map(str::to_owned);
                    (field.name().clone(), type_of_field(field).ok(), field.is_nullable(), default, collation)
                };
                rules.visible(&table.schema).iter().map(column).collect()
            }
            // Objects that a view refers to may no longer exist; then its columns aren't known.
            CatalogEntry::View(view) => match view_columns(&database, &view) {
                Ok(columns) => {
                    columns.into_iter().map(|(name, ty, nullable)| (name, Some(ty), nullable, None, None)).collect()
                }
                Err(_) => continue,
            },
            CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) | CatalogEntry::Macro(_) | CatalogEntry::Type(_) => {
                continue;
            }
        };
        for ((name, ty, nullable, default, collation), position) in columns.into_iter().zip(1_i128..) {
            let precision = ty.as_ref().and_then(SqlType::decimal_digits);
            let of_column = generated.iter().find(|column| column.field.name().eq_ignore_ascii_case(&name));
            let expression = of_column.map(|column| column.expression.as_str());
            rows.push(vec![
                text(&database),
                text(&schema),
                text(&table),
                text(&name),
                Value::Integer(position),
                text_or_null(default.as_deref()),
                text(if nullable { "YES" } else { "NO" }),
                ty.as_ref().map_or(Value::Null, |ty| text(&ty.to_string())),
                text_or_null(comments.of_column(&name)),
                ty.as_ref().map_or(Value::Null, |ty| text(pg_catalog::type_name(ty))),
                precision.map_or(Value::Null, |(digits, _)| Value::Integer(digits.into())),
                precision.map_or(Value::Null, |(_, scale)| Value::Integer(scale.into())),
                ty.as_ref().and_then(fraction_digits).map_or(Value::Null, Value::Integer),
                text(if expression.is_some() { "ALWAYS" } else { "NEVER" }),
                text_or_null(expression),
                text_or_null(collation.as_deref()),
            ]);
        }
    }
    rows
}

fn text_or_null(known: Option<&str>) -> Value {
    known.map_or(Value::Null, text)
}

/// Returns the number of digits in fractions of seconds.
fn fraction_digits(ty: &SqlType) -> Option<i128> {
    match ty {
        SqlType::Time | SqlType::TimeTz | SqlType::Timestamp | SqlType::TimestampTz | SqlType::Interval => Some(6),
        SqlType::TimestampNs => Some(9),
        SqlType::TimestampMs => Some(3),
        SqlType::TimestampS | SqlType::Date => Some(0),
        _ => None,
    }
}

fn text(text: &str) -> Value {
    Value::text(text)
}
