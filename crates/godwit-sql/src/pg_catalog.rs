//! `pg_catalog`: the current database as PostgreSQL's clients query it. Views over these tables are in
//! [`crate::built_in_views`], functions in [`crate::built_in_macros`].
//!
//! | table | a row for each |
//! |---|---|
//! | `pg_namespace` | schema |
//! | `pg_class` | table, view, sequence, and index of a key |
//! | `pg_attribute` | column of a table or view |
//! | `pg_attrdef` | default of a column |
//! | `pg_constraint` | key, reference and check |
//! | `pg_index` | key and requested index |
//! | `pg_type`, `pg_enum` | PostgreSQL type that a column may have, ENUM; label of one |
//! | `pg_description` | comment |
//! | `pg_database` | database of the session |
//! | `pg_proc` | function |
//!
//! The owner of everything has the OID 10. Tables of things that Godwit doesn't have are empty.
//!
//! OIDs of objects are hashes of their names, so they are the same in each statement and after each start. Types have
//! PostgreSQL's OIDs.

use std::sync::Arc;

use godwit_bind::Rows;
use godwit_catalog::{
    CatalogEntry, GeneratedKind, Namespace, TEMPORARY, TableDefinition, TableRules, split_name, stored,
};
use godwit_types::{EnumType, SqlType, Value};
use godwit_vector::sql::type_of_field;

use crate::information_schema::ViewColumns;
use crate::system_table::{self, number, text};

/// Schema of these tables.
pub(crate) const PG_CATALOG: &str = "pg_catalog";

/// First OID of user-defined objects.
const FIRST_OID: u32 = 16_384;

/// Built-in schemas, with PostgreSQL's OIDs.
const SYSTEM_SCHEMAS: [(i64, &str); 2] = [(11, PG_CATALOG), (13_000, crate::INFORMATION_SCHEMA)];

/// Sources of the rows.
pub(crate) struct Source<'s> {
    pub namespace: &'s Namespace,
    pub view_columns: ViewColumns<'s>,
    /// Returns the names of functions, with whether they are aggregates.
    pub functions: &'s dyn Fn() -> Vec<(String, bool)>,
    /// Returns the types of the current database: full names and definitions.
    pub user_types: &'s dyn Fn() -> Vec<(String, SqlType)>,
}

/// Returns the rows of a table of the schema; `None` if there is no such table.
pub(crate) fn rows(source: &Source<'_>, table: &str) -> Option<Rows> {
    let (columns, rows) = match table {
        "pg_namespace" => ("oid# nspname nspowner#=10 nspacl[]=NULL", source.namespaces()),
        "pg_class" => (CLASS, source.classes()),
        "pg_attribute" => (ATTRIBUTE, source.attributes()),
        "pg_attrdef" => ("oid# adrelid# adnum# adbin", source.defaults()),
        "pg_constraint" => (CONSTRAINT, source.constraints()),
        "pg_index" => (INDEX, source.indexes()),
        "pg_type" => (TYPE, source.types()),
        "pg_enum" => ("oid# enumtypid# enumsortorder# enumlabel", source.labels()),
        "pg_description" => ("objoid# classoid# objsubid# description", source.descriptions()),
        "pg_database" => (DATABASE, source.databases()),
        "pg_proc" => (PROC, source.functions()),
        _ => return system_table::empty_table(EMPTY, table),
    };
    Some(system_table::table(columns, rows))
}

// The columns of tables with rows, as PostgreSQL has them. What is said of all objects alike stands behind the name.

const CLASS: &str = "oid# relname relnamespace# reltype#=0 reloftype#=0 relowner#=10 relam# relfilenode# \
    reltablespace#=0 relpages#=0 reltuples# relallvisible#=0 reltoastrelid#=0 relhasindex? relisshared?=f relpersistence \
    relkind relnatts# relchecks# relhasrules? relhastriggers?=f relhassubclass?=f relrowsecurity?=f \
    relforcerowsecurity?=f relispopulated?=t relreplident=d relispartition?=f relrewrite#=0 relfrozenxid#=0 \
    relminmxid#=0 relacl[]=NULL reloptions[]=NULL relpartbound=NULL";

const ATTRIBUTE: &str = "attrelid# attname atttypid# attlen#=-1 attnum# attcacheoff#=-1 atttypmod# attndims# \
    attbyval?=f attalign=i attstorage=x attcompression= attnotnull? atthasdef? atthasmissing?=f attidentity attgenerated \
    attisdropped?=f attislocal?=t attinhcount#=0 attcollation#=0 attstattarget#=NULL attacl[]=NULL attoptions[]=NULL \
    attfdwoptions[]=NULL attmissingval=NULL";

const CONSTRAINT: &str = "oid# conname connamespace# contype condeferrable?=f condeferred?=f convalidated?=t conrelid# \
    contypid#=0 conindid# conparentid#=0 confrelid# confupdtype confdeltype confmatchtype conislocal?=t coninhcount#=0 \
    connoinherit?=t conkey#[] confkey#[] conpfeqop#[]=NULL conppeqop#[]=NULL conffeqop#[]=NULL confdelsetcols#[]=NULL \
    conexclop#[]=NULL conbin=NULL definition";

const INDEX: &str = "indexrelid# indrelid# indnatts# indnkeyatts# indisunique? indnullsnotdistinct?=f indisprimary? \
    indisexclusion?=f indimmediate?=t indisclustered?=f indisvalid?=t indcheckxmin?=f indisready?=t indislive?=t \
    indisreplident?=f indkey#[] indcollation#[]=NULL indclass#[]=NULL indoption#[] indexprs=NULL indpred=NULL definition";

const TYPE: &str = "oid# typname typnamespace# typowner#=10 typlen# typbyval?=f typtype typcategory typispreferred?=f \
    typisdefined?=t typdelim=, typrelid#=0 typsubscript=- typelem# typarray# typinput typoutput=- typreceive=- typsend=- \
    typmodin=- typmodout=- typanalyze=- typalign=i typstorage=x typnotnull?=f typbasetype#=0 typtypmod#=-1 typndims#=0 \
    typcollation#=0 typdefaultbin=NULL typdefault=NULL typacl[]=NULL";

const DATABASE: &str = "oid# datname datdba#=10 encoding#=6 datlocprovider=c datistemplate?=f datallowconn?=t \
    datconnlimit#=-1 datfrozenxid#=0 datminmxid#=1 dattablespace#=1663 datcollate=C datctype=C daticulocale=NULL \
    daticurules=NULL datcollversion=NULL datacl[]=NULL";

const PROC: &str = "oid# proname pronamespace#=11 proowner#=10 prolang#=12 procost#=NULL prorows#=NULL provariadic#=0 \
    prosupport=- prokind prosecdef?=f proleakproof?=f proisstrict?=NULL proretset?=f provolatile=NULL proparallel=s \
    pronargs#=NULL pronargdefaults#=NULL prorettype#=NULL proargtypes#[]=NULL proallargtypes#[]=NULL proargmodes[]=NULL \
    proargnames[]=NULL proargdefaults=NULL protrftypes#[]=NULL prosrc=NULL probin=NULL prosqlbody=NULL proconfig[]=NULL \
    proacl[]=NULL";

/// Tables of things that don't exist: each with its columns.
const EMPTY: &str = include_str!("pg_catalog_empty.txt");

/// PostgreSQL's catalogs, with their OIDs there.
pub(crate) const CATALOGS: [(i64, &str); 16] = [
    (1247, "pg_type"),
    (1249, "pg_attribute"),
    (1255, "pg_proc"),
    (CLASS_OID, "pg_class"),
    (1260, "pg_authid"),
    (1262, "pg_database"),
    (2604, "pg_attrdef"),
    (2606, "pg_constraint"),
    (2608, "pg_depend"),
    (2609, "pg_description"),
    (2610, "pg_index"),
    (2615, "pg_namespace"),
    (2618, "pg_rewrite"),
    (2620, "pg_trigger"),
    (3079, "pg_extension"),
    (3456, "pg_collation"),
];

/// Number of the catalog of tables.
const CLASS_OID: i64 = 1259;

/// PostgreSQL types: OID, name, bytes, category, OID of the array type, and result of `format_type`.
pub(crate) const TYPES: [(i64, &str, i64, &str, i64, &str); 24] = [
    (16, "bool", 1, "B", 1000, "boolean"),
    (17, "bytea", -1, "U", 1001, "bytea"),
    (19, "name", 64, "S", 1003, "name"),
    (20, "int8", 8, "N", 1016, "bigint"),
    (21, "int2", 2, "N", 1005, "smallint"),
    (23, "int4", 4, "N", 1007, "integer"),
    (25, "text", -1, "S", 1009, "text"),
    (26, "oid", 4, "N", 1028, "oid"),
    (114, "json", -1, "U", 199, "json"),
    (700, "float4", 4, "N", 1021, "real"),
    (701, "float8", 8, "N", 1022, "double precision"),
    (1042, "bpchar", -1, "S", 1014, "character"),
    (1043, "varchar", -1, "S", 1015, "character varying"),
    (1082, "date", 4, "D", 1182, "date"),
    (1083, "time", 8, "D", 1183, "time without time zone"),
    (1114, "timestamp", 8, "D", 1115, "timestamp without time zone"),
    (1184, "timestamptz", 8, "D", 1185, "timestamp with time zone"),
    (1266, "timetz", 12, "D", 1270, "time with time zone"),
    (1186, "interval", 16, "T", 1187, "interval"),
    (1562, "varbit", -1, "V", 1563, "bit varying"),
    (1700, "numeric", -1, "N", 1231, "numeric"),
    (2249, "record", -1, "P", 2287, "record"),
    (2278, "void", 4, "P", 0, "void"),
    (2950, "uuid", 16, "U", 2951, "uuid"),
];

/// A table, view or sequence of the current database, or a temporary one.
struct Relation {
    database: Arc<str>,
    schema: String,
    name: String,
    entry: CatalogEntry,
}

impl Relation {
    fn oid(&self) -> i64 {
        oid(&[&self.database, &self.schema, &self.name])
    }

    fn schema_oid(&self) -> i64 {
        oid_of_schema(&self.database, &self.schema)
    }

    fn rules(&self) -> TableRules {
        match &self.entry {
            CatalogEntry::Table(table) => table.rules().cloned().unwrap_or_default(),
            _ => TableRules::default(),
        }
    }

    /// Returns the number of a column of a table, from 1.
    fn position(&self, column: &str) -> Value {
        let CatalogEntry::Table(table) = &self.entry else { return Value::Null };
        let columns = self.rules().visible(&table.schema);
        let at = columns.iter().position(|field| field.name().eq_ignore_ascii_case(column));
        at.map_or(Value::Null, |at| number(at as i64 + 1))
    }

    fn positions(&self, columns: &[String]) -> Value {
        Value::List(columns.iter().map(|column| self.position(column)).collect())
    }

    /// Returns keys and requested indexes: name, columns, whether it is a key, and whether it is the primary key.
    fn indexes(&self) -> Vec<(String, Vec<String>, bool, bool)> {
        let rules = self.rules();
        let keys = rules.keys.into_iter().map(|key| (key.name, key.columns, true, key.is_primary));
        keys.chain(rules.indexes.into_iter().map(|index| (index.name, index.columns, false, false))).collect()
    }

    /// Returns the names of the columns that a condition of the table uses.
    fn columns_in(&self, condition: &str) -> Vec<String> {
        let CatalogEntry::Table(table) = &self.entry else { return Vec::new() };
        let names = self.rules().visible(&table.schema).into_iter().map(|field| field.name().clone());
        names.filter(|name| stored::mentions(condition, name).unwrap_or(false)).collect()
    }

    fn index_oid(&self, index: &str) -> i64 {
        oid(&[&self.database, &self.schema, &self.name, index])
    }
}

/// A column: name, type, nullability, and default.
type Column = (String, SqlType, bool, Option<String>);

impl Source<'_> {
    fn relations(&self) -> Vec<Relation> {
        let current = &self.namespace.current().database;
        let mut relations = Vec::new();
        for (database, catalog) in self.namespace.databases() {
            if database != current && &**database != TEMPORARY {
                continue;
            }
            for (full, entry) in catalog.entries() {
                let (schema, name) = split_name(&full);
                if matches!(entry, CatalogEntry::Table(_) | CatalogEntry::View(_) | CatalogEntry::Sequence(_)) {
                    relations.push(Relation { database: database.clone(), schema, name, entry });
                }
            }
        }
        relations
    }

    fn namespaces(&self) -> Vec<Vec<Value>> {
        let row = |oid: i64, name: &str| vec![number(oid), text(name)];
        let current = &self.namespace.current().database;
        let own = self.namespace.databases().iter().filter(|(database, _)| database == current);
        let own = own.flat_map(|(database, catalog)| {
            catalog.schemas().into_iter().map(|schema| row(oid_of_schema(database, &schema), &schema))
        });
        let temporary = row(oid_of_schema(TEMPORARY, "main"), "pg_temp");
        let system = SYSTEM_SCHEMAS.iter().map(|&(oid, name)| row(oid, name));
        own.chain([temporary]).chain(system).collect()
    }

    fn classes(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for relation in self.relations() {
            let (kind, tuples) = match &relation.entry {
                CatalogEntry::Table(table) => ("r", table.statistics.rows as i64),
                CatalogEntry::View(_) => ("v", 0),
                _ => ("S", 1),
            };
            let rules = relation.rules();
            let counts = Counts {
                columns: self.columns(&relation).len(),
                checks: rules.checks.len(),
                indexes: rules.keys.len() + rules.indexes.len(),
                tuples,
            };
            rows.push(class_row(&relation, relation.oid(), &relation.name, kind, &counts));
            for (name, columns, ..) in relation.indexes() {
                let counts = Counts { columns: columns.len(), checks: 0, indexes: 0, tuples: 0 };
                rows.push(class_row(&relation, relation.index_oid(&name), &name, "i", &counts));
            }
        }
        rows
    }

    fn columns(&self, relation: &Relation) -> Vec<Column> {
        match &relation.entry {
            CatalogEntry::Table(table) => columns_of_table(table, &relation.rules()),
            CatalogEntry::View(view) => {
                // Objects that a view refers to may no longer exist; then its columns aren't known.
                let columns = (self.view_columns)(&relation.database, view).unwrap_or_default();
                columns.into_iter().map(|(name, ty, nullable)| (name, ty, nullable, None)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn attributes(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for relation in self.relations() {
            let rules = relation.rules();
            for (at, (name, ty, nullable, default)) in self.columns(&relation).into_iter().enumerate() {
                let (identity, generated) = match rules.generated_column(&name).map(|column| column.kind) {
                    Some(GeneratedKind::Identity) => ("a", ""),
                    Some(GeneratedKind::Virtual) => ("", "v"),
                    Some(GeneratedKind::Stored) => ("", "s"),
                    None => ("", ""),
                };
                rows.push(vec![
                    number(relation.oid()),
                    text(&name),
                    number(type_oid(&ty, &relation.database)),
                    number(at as i64 + 1),
                    number(modifier(&ty)),
                    number(dimensions(&ty)),
                    Value::Boolean(!nullable),
                    Value::Boolean(default.is_some() && identity.is_empty()),
                    text(identity),
                    text(generated),
                ]);
            }
        }
        rows
    }

    fn defaults(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for relation in self.relations() {
            let rules = relation.rules();
            let is_identity =
                |name: &str| rules.generated_column(name).is_some_and(|column| column.kind == GeneratedKind::Identity);
            for (at, (name, .., default)) in self.columns(&relation).into_iter().enumerate() {
                let Some(default) = default.filter(|_| !is_identity(&name)) else { continue };
                let own = oid(&[&relation.database, &relation.schema, &relation.name, &name, "default"]);
                rows.push(vec![number(own), number(relation.oid()), number(at as i64 + 1), text(&default)]);
            }
        }
        rows
    }

    fn constraints(&self) -> Vec<Vec<Value>> {
        let relations = self.relations();
        let mut rows = Vec::new();
        for relation in &relations {
            let rules = relation.rules();
            for key in &rules.keys {
                let what = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                rows.push(constraint_row(
                    relation,
                    &Constraint {
                        name: &key.name,
                        kind: if key.is_primary { "p" } else { "u" },
                        index: relation.index_oid(&key.name),
                        parent: None,
                        columns: relation.positions(&key.columns),
                        definition: format!("{what} ({})", key.columns.join(", ")),
                    },
                ));
            }
            for reference in &rules.references {
                let is_parent = |other: &&Relation| {
                    other.database == relation.database
                        && split_name(&reference.parent) == (other.schema.clone(), other.name.clone())
                };
                let parent = relations.iter().find(is_parent);
                let (columns, parent_columns) = (reference.columns.join(", "), reference.parent_columns.join(", "));
                rows.push(constraint_row(
                    relation,
                    &Constraint {
                        name: &reference.name,
                        kind: "f",
                        index: 0,
                        parent: parent.map(|parent| (parent.oid(), parent.positions(&reference.parent_columns))),
                        columns: relation.positions(&reference.columns),
                        definition: format!(
                            "FOREIGN KEY ({columns}) REFERENCES {}({parent_columns})",
                            reference.parent
                        ),
                    },
                ));
            }
            for check in &rules.checks {
                rows.push(constraint_row(
                    relation,
                    &Constraint {
                        name: &check.name,
                        kind: "c",
                        index: 0,
                        parent: None,
                        columns: relation.positions(&relation.columns_in(&check.condition)),
                        definition: format!("CHECK ({})", check.condition),
                    },
                ));
            }
        }
        rows
    }

    fn indexes(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for relation in self.relations() {
            for (name, columns, is_unique, is_primary) in relation.indexes() {
                let unique = if is_unique { "UNIQUE " } else { "" };
                let (schema, table) = (&relation.schema, &relation.name);
                let definition = format!("CREATE {unique}INDEX {name} ON {schema}.{table} ({})", columns.join(", "));
                rows.push(vec![
                    number(relation.index_oid(&name)),
                    number(relation.oid()),
                    number(columns.len() as i64),
                    number(columns.len() as i64),
                    Value::Boolean(is_unique),
                    Value::Boolean(is_primary),
                    relation.positions(&columns),
                    Value::List(columns.iter().map(|_| number(0)).collect()),
                    text(&definition),
                ]);
            }
        }
        rows
    }

    /// Returns the ENUM types, with their schemas.
    fn enums(&self) -> Vec<(String, Arc<EnumType>)> {
        let types = (self.user_types)().into_iter().filter_map(|(full, ty)| match ty {
            SqlType::Enum(labels) => Some((split_name(&full).0, labels)),
            _ => None,
        });
        types.collect()
    }

    fn types(&self) -> Vec<Vec<Value>> {
        let row = |oid: i64, name: &str, schema: i64, bytes: i64, (kind, category): (&str, &str), element, array| {
            vec![
                number(oid),
                text(name),
                number(schema),
                number(bytes),
                text(kind),
                text(category),
                number(element),
                number(array),
                text(if element == 0 { "-" } else { "array_in" }),
            ]
        };
        let mut rows = Vec::new();
        for (oid, name, bytes, category, array, _) in TYPES {
            let kind = if category == "P" { "p" } else { "b" };
            rows.push(row(oid, name, SYSTEM_SCHEMAS[0].0, bytes, (kind, category), 0, array));
            if array != 0 {
                rows.push(row(array, &format!("_{name}"), SYSTEM_SCHEMAS[0].0, -1, ("b", "A"), oid, 0));
            }
        }
        let database = &self.namespace.current().database;
        for (schema, labels) in self.enums() {
            let (own, schema) = (oid_of_enum(database, &labels.name), oid_of_schema(database, &schema));
            rows.push(row(own, &split_name(&labels.name).1, schema, 4, ("e", "E"), 0, 0));
        }
        rows
    }

    fn labels(&self) -> Vec<Vec<Value>> {
        let database = &self.namespace.current().database;
        let mut rows = Vec::new();
        for (_, labels) in self.enums() {
            for (at, label) in labels.labels.iter().enumerate() {
                let own = oid(&[database, &labels.name, label, "label"]);
                let order = number(at as i64 + 1);
                rows.push(vec![number(own), number(oid_of_enum(database, &labels.name)), order, text(label)]);
            }
        }
        rows
    }

    fn descriptions(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for relation in self.relations() {
            let comments = relation.entry.comments();
            let row =
                |column: Value, comment: &str| vec![number(relation.oid()), number(CLASS_OID), column, text(comment)];
            rows.extend(comments.own.iter().map(|comment| row(number(0), comment)));
            for (at, (name, ..)) in self.columns(&relation).into_iter().enumerate() {
                rows.extend(comments.of_column(&name).map(|comment| row(number(at as i64 + 1), comment)));
            }
        }
        rows
    }

    fn databases(&self) -> Vec<Vec<Value>> {
        let databases = self.namespace.databases().iter().filter(|(name, _)| &**name != TEMPORARY);
        databases.map(|(name, _)| vec![number(oid(&[name])), text(name)]).collect()
    }

    fn functions(&self) -> Vec<Vec<Value>> {
        let row = |(name, is_aggregate): (String, bool)| {
            let kind = if is_aggregate { "a" } else { "f" };
            vec![number(oid(&[PG_CATALOG, &name, "function"])), text(&name), text(kind)]
        };
        (self.functions)().into_iter().map(row).collect()
    }
}

/// Counts shown by `pg_class`.
struct Counts {
    columns: usize,
    checks: usize,
    indexes: usize,
    tuples: i64,
}

fn class_row(relation: &Relation, oid: i64, name: &str, kind: &str, counts: &Counts) -> Vec<Value> {
    let persistence = if &*relation.database == TEMPORARY { "t" } else { "p" };
    // Rows of `pg_am`.
    let access_method = match kind {
        "r" => 2,
        "i" => 403,
        _ => 0,
    };
    vec![
        number(oid),
        text(name),
        number(relation.schema_oid()),
        number(access_method),
        number(oid),
        number(counts.tuples),
        Value::Boolean(counts.indexes > 0),
        text(persistence),
        text(kind),
        number(counts.columns as i64),
        number(counts.checks as i64),
        Value::Boolean(kind == "v"),
    ]
}

/// A constraint as shown by `pg_constraint`.
struct Constraint<'c> {
    name: &'c str,
    kind: &'c str,
    index: i64,
    /// For a reference: the other table, and its columns.
    parent: Option<(i64, Value)>,
    columns: Value,
    definition: String,
}

fn constraint_row(relation: &Relation, constraint: &Constraint<'_>) -> Vec<Value> {
    let action = if constraint.kind == "f" { "a" } else { " " };
    let (parent, parent_columns) = constraint.parent.clone().unwrap_or((0, Value::Null));
    vec![
        number(oid(&[&relation.database, &relation.schema, &relation.name, constraint.name, "constraint"])),
        text(constraint.name),
        number(relation.schema_oid()),
        text(constraint.kind),
        number(relation.oid()),
        number(constraint.index),
        number(parent),
        text(action),
        text(action),
        text(if constraint.kind == "f" { "s" } else { " " }),
        constraint.columns.clone(),
        parent_columns,
        text(&constraint.definition),
    ]
}

fn columns_of_table(table: &TableDefinition, rules: &TableRules) -> Vec<Column> {
    let column = |field: &arrow_schema::Field| {
        let expression = rules.generated_column(field.name()).map(|column| column.expression.as_str());
        let default = rules.default_of(field.name()).or(expression).map(str::to_owned);
        let ty = type_of_field(field).unwrap_or(SqlType::Varchar);
        (field.name().clone(), ty, field.is_nullable(), default)
    };
    rules.visible(&table.schema).iter().map(column).collect()
}

/// Returns PostgreSQL's OID of a type.
fn type_oid(ty: &SqlType, database: &str) -> i64 {
    match ty {
        SqlType::Boolean => 16,
        SqlType::Blob => 17,
        SqlType::BigInt | SqlType::UInteger => 20,
        SqlType::TinyInt | SqlType::UTinyInt | SqlType::SmallInt => 21,
        SqlType::Integer | SqlType::USmallInt => 23,
        SqlType::Json => 114,
        SqlType::Real => 700,
        SqlType::Double => 701,
        SqlType::Date => 1082,
        SqlType::Time => 1083,
        SqlType::TimeTz => 1266,
        SqlType::TimestampTz => 1184,
        SqlType::Interval => 1186,
        SqlType::Bit => 1562,
        SqlType::Decimal { .. } | SqlType::HugeInt | SqlType::UHugeInt | SqlType::UBigInt => 1700,
        SqlType::Uuid => 2950,
        SqlType::Struct(_) | SqlType::Map(_) => 2249,
        SqlType::Enum(labels) if !labels.name.is_empty() => oid_of_enum(database, &labels.name),
        SqlType::List(element) | SqlType::Array(element, _) => {
            let element = type_oid(element, database);
            TYPES.iter().find(|known| known.0 == element).map_or(element, |known| known.4)
        }
        ty if ty.is_timestamp() => 1114,
        _ => 1043,
    }
}

/// Returns PostgreSQL's name of a type; types of lists have one for each depth there.
pub(crate) fn type_name(ty: &SqlType) -> String {
    if let Some(element) = ty.element() {
        return format!("_{}", type_name(element).trim_start_matches('_'));
    }
    let oid = type_oid(ty, "");
    TYPES.iter().find(|known| known.0 == oid).map_or("varchar", |known| known.1).to_owned()
}

/// Returns the nesting depth of a list type.
fn dimensions(ty: &SqlType) -> i64 {
    ty.element().map_or(0, |element| 1 + dimensions(element))
}

/// Returns PostgreSQL's type modifier.
fn modifier(ty: &SqlType) -> i64 {
    match ty {
        SqlType::Decimal { precision, scale } => (i64::from(*precision) << 16 | i64::from(*scale)) + 4,
        _ => -1,
    }
}

pub(crate) fn oid_of_schema(database: &str, schema: &str) -> i64 {
    oid(&[database, schema])
}

fn oid_of_enum(database: &str, name: &str) -> i64 {
    oid(&[database, name, "type"])
}

/// Returns the OID of the object with this name: a hash (Fowler, Noll, Vo, 1991) outside the range of system OIDs.
pub(crate) fn oid(name: &[&str]) -> i64 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    // 0xff never occurs in UTF-8.
    let bytes = name.iter().flat_map(|part| part.bytes().chain([0xff]));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
    i64::from(FIRST_OID + hash % (i32::MAX as u32 - FIRST_OID))
}
