//! `information_schema`: what a statement sees, its own transaction's changes included, as tables.
//!
//! | table | a row for each |
//! |---|---|
//! | `schemata` | schema |
//! | `tables` | table or view |
//! | `columns` | column of these |
//! | `sequences` | sequence |

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::{EmptyRelation, Expr, LogicalPlan, Values, lit};

use crate::binder::Binder;
use crate::names::split_name;
use crate::{CatalogEntry, SequenceDefinition, TEMPORARY, sql_name};

/// The schema of these tables.
pub const INFORMATION_SCHEMA: &str = "information_schema";

/// A column: its name, and whether it counts.
type Column = (&'static str, bool);

const SCHEMATA: [Column; 3] = [("catalog_name", false), ("schema_name", false), ("schema_owner", false)];
const TABLES: [Column; 4] =
    [("table_catalog", false), ("table_schema", false), ("table_name", false), ("table_type", false)];
const COLUMNS: [Column; 8] = [
    ("table_catalog", false),
    ("table_schema", false),
    ("table_name", false),
    ("column_name", false),
    ("ordinal_position", true),
    ("column_default", false),
    ("is_nullable", false),
    ("data_type", false),
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

impl Binder<'_> {
    /// The rows of a table of the schema; `None`: there is no such table.
    pub(crate) fn information(&self, table: &str) -> Option<Result<LogicalPlan>> {
        match table {
            "schemata" => Some(rows(&SCHEMATA, self.schemata())),
            "tables" => Some(rows(&TABLES, self.tables())),
            "columns" => Some(rows(&COLUMNS, self.all_columns())),
            "sequences" => Some(rows(&SEQUENCES, self.sequences())),
            _ => None,
        }
    }

    fn schemata(&self) -> Vec<Vec<Expr>> {
        let databases = self.namespace.databases().iter();
        let schemas = databases.flat_map(|(database, catalog)| {
            catalog.schemas().into_iter().map(|schema| vec![lit(&**database), lit(schema), lit(&**database)])
        });
        schemas.collect()
    }

    /// Database, schema, name, and what it is.
    fn objects(&self) -> impl Iterator<Item = (Arc<str>, String, String, CatalogEntry)> {
        self.namespace.databases().iter().flat_map(|(database, catalog)| {
            catalog.entries().into_iter().map(|(full, entry)| {
                let (schema, name) = split_name(&full);
                (database.clone(), schema, name, entry)
            })
        })
    }

    fn tables(&self) -> Vec<Vec<Expr>> {
        let tables = self.objects().filter_map(|(database, schema, name, entry)| {
            let kind = match entry {
                CatalogEntry::Table(_) if &*database == TEMPORARY => "LOCAL TEMPORARY",
                CatalogEntry::Table(_) => "BASE TABLE",
                CatalogEntry::View(_) => "VIEW",
                CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) => return None,
            };
            Some(vec![lit(&*database), lit(schema), lit(name), lit(kind)])
        });
        tables.collect()
    }

    fn sequences(&self) -> Vec<Vec<Expr>> {
        let sequences = self.objects().filter_map(|(database, schema, name, entry)| {
            let CatalogEntry::Sequence(sequence) = entry else { return None };
            let SequenceDefinition { start, increment, min, max, cycle, .. } = sequence.definition();
            let cycle = if *cycle { "YES" } else { "NO" };
            let mut row = vec![lit(&*database), lit(schema), lit(name), lit("BIGINT")];
            row.extend([lit(*start), lit(*min), lit(*max), lit(*increment), lit(cycle)]);
            Some(row)
        });
        sequences.collect()
    }

    fn all_columns(&self) -> Vec<Vec<Expr>> {
        let mut rows = Vec::new();
        for (database, schema, table, entry) in self.objects() {
            let columns: Vec<(Field, Option<String>)> = match entry {
                CatalogEntry::Table(table) => {
                    let rules = table.rules().cloned().unwrap_or_default();
                    let default = |field: &Field| {
                        let expression = rules.generated_column(field.name()).map(|column| column.expression.as_str());
                        rules.default_of(field.name()).or(expression).map(str::to_owned)
                    };
                    rules.visible(&table.schema).into_iter().map(|field| (field.clone(), default(&field))).collect()
                }
                // What a view refers to may be gone; then its columns aren't known.
                CatalogEntry::View(view) => match self.bind_view(&database, &view) {
                    Ok(plan) => plan.schema().fields().iter().map(|field| (field.as_ref().clone(), None)).collect(),
                    Err(_) => continue,
                },
                CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) => continue,
            };
            for ((field, default), position) in columns.into_iter().zip(1_i64..) {
                rows.push(vec![
                    lit(&*database),
                    lit(schema.as_str()),
                    lit(table.as_str()),
                    lit(field.name().as_str()),
                    lit(position),
                    default.map_or(Expr::Literal(ScalarValue::Utf8(None), None), lit),
                    lit(if field.is_nullable() { "YES" } else { "NO" }),
                    lit(sql_name(field.data_type())),
                ]);
            }
        }
        rows
    }
}

/// Literal rows with these columns.
fn rows(columns: &[Column], rows: Vec<Vec<Expr>>) -> Result<LogicalPlan> {
    let type_of = |is_number| if is_number { DataType::Int64 } else { DataType::Utf8View };
    let fields = columns.iter().map(|&(name, is_number)| Field::new(name, type_of(is_number), true));
    let schema = Arc::new(DFSchema::try_from(Schema::new(fields.collect::<Vec<_>>()))?);
    if rows.is_empty() {
        return Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema }));
    }
    let typed = |(value, &(_, is_number)): (Expr, &Column)| datafusion_expr::cast(value, type_of(is_number));
    let values = rows.into_iter().map(|row| row.into_iter().zip(columns).map(typed).collect()).collect();
    Ok(LogicalPlan::Values(Values { schema, values }))
}
