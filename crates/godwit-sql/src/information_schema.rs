//! `information_schema`: the objects that a statement sees, including changes by its own transaction, as tables.
//!
//! | table | a row for each |
//! |---|---|
//! | `schemata` | schema |
//! | `tables` | table or view |
//! | `columns` | column of these |
//! | `views` | view |
//! | `table_constraints` | key, reference, check and NOT NULL of a table |
//! | `check_constraints` | check and NOT NULL |
//! | `key_column_usage` | column of a key or a reference |
//! | `sequences` | sequence |
//! | `element_types` | type of a list's elements, by column |
//! | `view_table_usage`, `view_column_usage` | table or view that a view names; column of one |
//! | `column_column_usage` | column that a generated column is computed from |
//! | `comments` | comment on an object or a column; not in any standard |
//!
//! Tables that follow from these and from `pg_catalog` are [views](crate::built_in_views). Tables of things that Godwit
//! doesn't have, such as triggers and domains, are empty.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_bind::{Rows, UsedTable};
use godwit_catalog::{
    CatalogEntry, Comments, GeneratedKind, KeyRule, Namespace, ObjectName, ReferenceRule, SequenceDefinition,
    TEMPORARY, TableRules, ViewDefinition, full_name_of_key, split_name, stored,
};
use godwit_common::Result;
use godwit_types::{SqlType, Value};
use godwit_vector::sql::{collation_of_field, type_of_field};

use crate::pg_catalog;
use crate::system_table::{empty_table, number, table, text, text_or_null, yes};

/// Schema of these tables.
pub const INFORMATION_SCHEMA: &str = "information_schema";

// The columns, as PostgreSQL has them; comments, which it lacks, come last. What is said of all objects alike stands
// behind the name.

const SCHEMATA: &str = "catalog_name schema_name schema_owner=godwit default_character_set_catalog=NULL \
    default_character_set_schema=NULL default_character_set_name=NULL sql_path=NULL";

const TABLES: &str = "table_catalog table_schema table_name table_type self_referencing_column_name=NULL \
    reference_generation=NULL user_defined_type_catalog=NULL user_defined_type_schema=NULL user_defined_type_name=NULL \
    is_insertable_into is_typed=NO commit_action table_comment";

const COLUMNS: &str = "table_catalog table_schema table_name column_name ordinal_position# column_default is_nullable \
    data_type character_maximum_length#=NULL character_octet_length#=NULL numeric_precision# numeric_precision_radix# \
    numeric_scale# datetime_precision# interval_type=NULL interval_precision#=NULL character_set_catalog=NULL \
    character_set_schema=NULL character_set_name=NULL collation_catalog=NULL collation_schema=NULL collation_name \
    domain_catalog=NULL domain_schema=NULL domain_name=NULL udt_catalog udt_schema udt_name scope_catalog=NULL \
    scope_schema=NULL scope_name=NULL maximum_cardinality#=NULL dtd_identifier is_self_referencing=NO is_identity \
    identity_generation identity_start=NULL identity_increment=NULL identity_maximum=NULL identity_minimum=NULL \
    identity_cycle=NO is_generated generation_expression is_updatable column_comment";

const ELEMENT_TYPES: &str = "object_catalog object_schema object_name object_type=TABLE collection_type_identifier \
    data_type character_maximum_length#=NULL character_octet_length#=NULL character_set_catalog=NULL \
    character_set_schema=NULL character_set_name=NULL collation_catalog=NULL collation_schema=NULL collation_name=NULL \
    numeric_precision#=NULL numeric_precision_radix#=NULL numeric_scale#=NULL datetime_precision#=NULL \
    interval_type=NULL interval_precision#=NULL domain_default=NULL udt_catalog udt_schema udt_name scope_catalog=NULL \
    scope_schema=NULL scope_name=NULL maximum_cardinality#=NULL dtd_identifier";

const COMMENTS: &str = "object_catalog object_schema object_name object_type column_name comment";

const SEQUENCES: &str = "sequence_catalog sequence_schema sequence_name data_type=BIGINT numeric_precision#=64 \
    numeric_precision_radix#=2 numeric_scale#=0 start_value# minimum_value# maximum_value# increment# cycle_option";

const VIEWS: &str = "table_catalog table_schema table_name view_definition check_option=NONE is_updatable=NO \
    is_insertable_into=NO is_trigger_updatable=NO is_trigger_deletable=NO is_trigger_insertable_into=NO";

const TABLE_CONSTRAINTS: &str = "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
    table_name constraint_type is_deferrable=NO initially_deferred=NO enforced=YES nulls_distinct";

const CHECK_CONSTRAINTS: &str = "constraint_catalog constraint_schema constraint_name check_clause";

const KEY_COLUMN_USAGE: &str = "constraint_catalog constraint_schema constraint_name table_catalog table_schema \
    table_name column_name ordinal_position# position_in_unique_constraint#";

const VIEW_TABLE_USAGE: &str = "view_catalog view_schema view_name table_catalog table_schema table_name";

const VIEW_COLUMN_USAGE: &str = "view_catalog view_schema view_name table_catalog table_schema table_name column_name";

const COLUMN_COLUMN_USAGE: &str = "table_catalog table_schema table_name column_name dependent_column";

/// Tables of things that don't exist: each with its columns.
const EMPTY: &str = include_str!("information_schema_empty.txt");

/// Function that returns name, type and nullability of each column of a view.
pub(crate) type ViewColumns<'v> = &'v dyn Fn(&Arc<str>, &ViewDefinition) -> Result<Vec<(String, SqlType, bool)>>;

/// Function that returns the tables that a view names, with the columns that it uses.
pub(crate) type ViewUsage<'v> = &'v dyn Fn(&Arc<str>, &ViewDefinition) -> Result<Vec<UsedTable>>;

/// Sources of the rows.
pub(crate) struct Source<'s> {
    pub namespace: &'s Namespace,
    pub view_columns: ViewColumns<'s>,
    pub view_usage: ViewUsage<'s>,
}

/// Returns the rows of a table of the schema; `None` if there is no such table.
pub(crate) fn rows(source: &Source<'_>, name: &str) -> Option<Rows> {
    let namespace = source.namespace;
    let (columns, rows) = match name {
        "schemata" => (SCHEMATA, schemata(namespace)),
        "tables" => (TABLES, tables(namespace)),
        "columns" => (COLUMNS, columns(source)),
        "element_types" => (ELEMENT_TYPES, element_types(source)),
        "sequences" => (SEQUENCES, sequences(namespace)),
        "views" => (VIEWS, views(namespace)),
        "view_table_usage" => (VIEW_TABLE_USAGE, view_usage(source, &|_| vec![None])),
        "view_column_usage" => (VIEW_COLUMN_USAGE, view_usage(source, &|used| used.columns.iter().map(Some).collect())),
        "column_column_usage" => (COLUMN_COLUMN_USAGE, column_column_usage(namespace)),
        "table_constraints" => (TABLE_CONSTRAINTS, table_constraints(namespace)),
        "check_constraints" => (CHECK_CONSTRAINTS, check_constraints(namespace)),
        "key_column_usage" => (KEY_COLUMN_USAGE, key_column_usage(namespace)),
        "comments" => (COMMENTS, comments(namespace)),
        _ => return empty_table(EMPTY, name),
    };
    Some(table(columns, rows))
}

fn schemata(namespace: &Namespace) -> Vec<Vec<Value>> {
    let schemas = namespace.databases().iter().flat_map(|(database, catalog)| {
        let row = |schema: String| vec![text(database), text(&schema)];
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
        let [database, schema, name] = [&*database, &schema, &name].map(text);
        let commit = text_or_null((kind == "LOCAL TEMPORARY").then_some("PRESERVE"));
        let is_table = yes(kind != "VIEW");
        Some(vec![database, schema, name, text(kind), is_table, commit, text_or_null(comment.as_deref())])
    });
    tables.collect()
}

fn views(namespace: &Namespace) -> Vec<Vec<Value>> {
    let views = objects(namespace).filter_map(|(database, schema, name, entry)| {
        let CatalogEntry::View(view) = entry else { return None };
        Some([&*database, &schema, &name, &view.statement].map(text).to_vec())
    });
    views.collect()
}

/// Returns a row for each of the `parts` of a table that a view uses, each once: a column, or `None` for the table.
/// Objects that a view refers to may no longer exist; then what it uses isn't known.
fn view_usage(source: &Source<'_>, parts: &dyn Fn(&UsedTable) -> Vec<Option<&Arc<str>>>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (database, schema, name, entry) in objects(source.namespace) {
        let CatalogEntry::View(view) = entry else { continue };
        let mut tables = (source.view_usage)(&database, &view).unwrap_or_default();
        // Built-in tables have shorter names.
        tables.retain(|table| table.name.len() == 3);
        // A view may write a name in capitals; catalogs list objects in lower case.
        tables.iter_mut().for_each(|table| table.name[2] = table.name[2].to_lowercase().into());
        let own = rows.len();
        for table in &tables {
            for part in parts(table) {
                let mut row = vec![text(&database), text(&schema), text(&name)];
                table.name.iter().chain(part).for_each(|name| row.push(text(name)));
                if !rows[own..].contains(&row) {
                    rows.push(row);
                }
            }
        }
    }
    rows
}

fn column_column_usage(namespace: &Namespace) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (database, schema, name, entry) in objects(namespace) {
        let CatalogEntry::Table(table) = entry else { continue };
        let rules = table.rules().cloned().unwrap_or_default();
        for generated in rules.generated.iter().filter(|column| column.kind != GeneratedKind::Identity) {
            let is_used = |field: &&Field| stored::mentions(&generated.expression, field.name()).unwrap_or(false);
            rows.extend(
                rules
                    .visible(&table.schema)
                    .iter()
                    .filter(is_used)
                    .map(|field| [&*database, &schema, &name, field.name(), generated.field.name()].map(text).to_vec()),
            );
        }
    }
    rows
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
            clause: Some(format!("{} IS NOT NULL", field.name())),
        });
        let keys = rules.keys.iter().map(|key| Constraint {
            name: key.name.clone(),
            kind: if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" },
            columns: key.columns.clone(),
            parent_columns: None,
            clause: None,
        });
        let references = rules.references.iter().map(|reference| Constraint {
            name: reference.name.clone(),
            kind: "FOREIGN KEY",
            columns: reference.columns.clone(),
            parent_columns: Some(parent_places(namespace, &database, reference)),
            clause: None,
        });
        let checks = rules.checks.iter().map(|check| Constraint {
            name: check.name.clone(),
            kind: "CHECK",
            columns: Vec::new(),
            parent_columns: None,
            clause: Some(format!("({})", check.condition)),
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
    /// What rows satisfy, for a check.
    clause: Option<String>,
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
        row.extend(vec![text(constraint.kind), text_or_null((constraint.kind == "UNIQUE").then_some("YES"))]);
        row
    };
    constraints(namespace).into_iter().map(row).collect()
}

fn check_constraints(namespace: &Namespace) -> Vec<Vec<Value>> {
    let row = |([database, schema, _], constraint): ([String; 3], Constraint)| {
        let clause = constraint.clause?;
        Some([&database, &schema, &constraint.name, &clause].map(|part| text(part)).to_vec())
    };
    constraints(namespace).into_iter().filter_map(row).collect()
}

fn key_column_usage(namespace: &Namespace) -> Vec<Vec<Value>> {
    let position = |at: usize| Value::Integer(at as i128 + 1);
    let mut rows = Vec::new();
    for (table, constraint) in constraints(namespace) {
        for (at, column) in constraint.columns.iter().enumerate() {
            let mut row = constraint_row(&table, &constraint.name);
            let parent = constraint.parent_columns.as_ref().and_then(|places| places[at]);
            row.extend(vec![text(column), position(at), parent.map_or(Value::Null, position)]);
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
        let mut row = vec![text(&database), text(&schema), text(&name)];
        row.extend(vec![number(*start), number(*min), number(*max), number(*increment), yes(*cycle)]);
        Some(row)
    });
    sequences.collect()
}

/// A column of a table or view.
struct ListedColumn {
    /// Database, schema and table.
    table: [Value; 3],
    name: String,
    position: i64,
    ty: Option<SqlType>,
    nullable: bool,
    /// Its default, or the expression of a generated column.
    default: Option<String>,
    generated: Option<GeneratedKind>,
    collation: Option<String>,
    comment: Option<String>,
    is_of_view: bool,
}

/// Lists the columns of all tables and views.
fn listed_columns(source: &Source<'_>) -> Vec<ListedColumn> {
    let mut all = Vec::new();
    for (database, schema, table, entry) in objects(source.namespace) {
        let comments = entry.comments();
        let listed = |name: &str, ty: Option<SqlType>, nullable: bool| ListedColumn {
            table: [&*database, &schema, &table].map(text),
            name: name.to_owned(),
            position: 0,
            ty,
            nullable,
            default: None,
            generated: None,
            collation: None,
            comment: comments.of_column(name).map(str::to_owned),
            is_of_view: false,
        };
        let columns: Vec<ListedColumn> = match &entry {
            CatalogEntry::Table(table) => {
                let rules = table.rules().cloned().unwrap_or_default();
                let column = |field: &Field| {
                    let generated = rules.generated_column(field.name());
                    let expression = generated.map(|column| column.expression.as_str());
                    ListedColumn {
                        default: rules.default_of(field.name()).or(expression).map(str::to_owned),
                        generated: generated.map(|column| column.kind),
                        collation: collation_of_field(field).map(str::to_owned),
                        ..listed(field.name(), type_of_field(field).ok(), field.is_nullable())
                    }
                };
                rules.visible(&table.schema).iter().map(column).collect()
            }
            // Objects that a view refers to may no longer exist; then its columns aren't known.
            CatalogEntry::View(view) => {
                let columns = (source.view_columns)(&database, view).unwrap_or_default().into_iter();
                let of_view = |column| ListedColumn { is_of_view: true, ..column };
                columns.map(|(name, ty, nullable)| of_view(listed(&name, Some(ty), nullable))).collect()
            }
            CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) | CatalogEntry::Macro(_) | CatalogEntry::Type(_) => {
                Vec::new()
            }
        };
        all.extend((1..).zip(columns).map(|(position, column)| ListedColumn { position, ..column }));
    }
    all
}

fn columns(source: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |column: ListedColumn| {
        let ty = column.ty.as_ref();
        let digits = ty.and_then(SqlType::decimal_digits);
        let known = |number: Option<i128>| number.map_or(Value::Null, Value::Integer);
        let is_identity = column.generated == Some(GeneratedKind::Identity);
        let is_generated = column.generated.is_some() && !is_identity;
        let default = text_or_null(column.default.as_deref().filter(|_| !is_identity));
        let mut row = column.table.to_vec();
        row.extend(vec![
            text(&column.name),
            number(column.position),
            default.clone(),
            yes(column.nullable),
            ty.map_or(Value::Null, |ty| text(&ty.to_string())),
            known(digits.map(|(digits, _)| digits.into())),
            known(digits.map(|_| 10)),
            known(digits.map(|(_, scale)| scale.into())),
            known(ty.and_then(fraction_digits)),
            text_or_null(column.collation.as_deref()),
        ]);
        row.extend(udt(&column.table[0], ty));
        row.extend(vec![
            text(&column.position.to_string()),
            yes(is_identity),
            text_or_null(is_identity.then_some("ALWAYS")),
            text(if is_generated { "ALWAYS" } else { "NEVER" }),
            if is_generated { default } else { Value::Null },
            yes(!column.is_of_view && column.generated.is_none()),
            text_or_null(column.comment.as_deref()),
        ]);
        row
    };
    listed_columns(source).into_iter().map(row).collect()
}

/// Returns PostgreSQL's name of a type: its database, its schema, and its own.
fn udt(database: &Value, ty: Option<&SqlType>) -> Vec<Value> {
    match ty {
        None => vec![Value::Null; 3],
        Some(SqlType::Enum(labels)) if !labels.name.is_empty() => {
            let (schema, name) = split_name(&labels.name);
            vec![database.clone(), text(&schema), text(&name)]
        }
        Some(ty) => vec![database.clone(), text(pg_catalog::PG_CATALOG), text(&pg_catalog::type_name(ty))],
    }
}

fn element_types(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for column in listed_columns(source) {
        let (mut list, mut identifier) = (column.ty.as_ref(), column.position.to_string());
        while let Some(element) = list.and_then(SqlType::element) {
            let own = format!("a{identifier}");
            let mut row = column.table.to_vec();
            row.extend(vec![text(&identifier), text(&element.to_string())]);
            row.extend(udt(&column.table[0], Some(element)));
            row.push(text(&own));
            rows.push(row);
            (list, identifier) = (Some(element), own);
        }
    }
    rows
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
