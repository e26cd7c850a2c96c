//! Export of a database as the statements that create it, for `EXPORT DATABASE`.
//!
//! ```text
//! schemas · types · macros · sequences · tables · indexes · views · comments: each after those that it needs
//! ```
//!
//! Sequences continue where they are; those of identity columns come with their tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema};
use godwit_common::{Error, Result};

use godwit_catalog::names::WrittenName;
use godwit_catalog::{
    Catalog, CatalogEntry, Comments, GeneratedKind, IndexRule, MacroDefinition, SCHEMA, SchemaName, Sequence,
    SequenceDefinition, TableDefinition, TableRules, ViewDefinition, full_name_of_key, literal_text, quoted_text,
    sequences_in, sql_of_name, stored,
};
use godwit_syntax::ast::{CreateView, MacroOverload, Statement};
use godwit_types::SqlType;
use godwit_vector::sql::{collation_of_field, type_of_field};

use crate::Planner;
use crate::encodings::ENCODING;
use crate::types::{spelled_out, type_text};
use crate::views::view_tree;

/// A database as statements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportScript {
    /// Statements that create everything, without rows.
    pub definitions: Vec<String>,
    /// The tables.
    pub tables: Vec<ExportedTable>,
}

/// A table whose rows are to be exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedTable {
    /// The full name.
    pub name: String,
    /// The columns that aren't generated.
    pub columns: Vec<String>,
    /// Those of them with intervals, for which Parquet has no lossless type.
    pub with_intervals: Vec<String>,
}

/// A view, and the statement that created it.
type ViewAndTree = (Arc<ViewDefinition>, CreateView);

impl Planner {
    /// Exports the current database as statements.
    pub fn export_script(&self) -> Result<ExportScript> {
        let database = self.namespace().current().database.clone();
        let catalog =
            self.namespace().catalog(&database).ok_or_else(|| Error::internal("no current database"))?.clone();
        let mut script = ExportScript::default();
        let made = catalog.schemas().into_iter().filter(|schema| schema != SCHEMA);
        script.definitions.extend(made.map(|schema| format!("CREATE SCHEMA {}", quoted_text(&schema))));
        let types = self.types_of(&database, &catalog);
        for (at, (full, ty)) in types.iter().enumerate() {
            script.definitions.push(type_statement(full, ty, &types[..at]));
        }
        for (_, entry) in catalog.entries() {
            if let CatalogEntry::Macro(definition) = entry {
                script.definitions.push(macro_text(&definition)?);
            }
        }
        for (full, entry) in catalog.entries() {
            if let CatalogEntry::Sequence(sequence) = entry
                && !sequence.definition().is_owned
            {
                let options = options_of(&sequence);
                script.definitions.push(format!("CREATE SEQUENCE {} {options}", sql_of_name(&full)));
            }
        }
        let mut indexes = Vec::new();
        for table in tables_in_order(&catalog)? {
            let rules = rules_of(&table);
            let made_of = Known { catalog: &catalog, types: &types };
            script.definitions.push(table_text(&table.name, &table.schema, &rules, made_of)?);
            indexes.extend(rules.indexes.iter().map(|index| index_text(&table.name, index)));
            let is_stored =
                |name: &str| rules.generated_column(name).is_none_or(|column| column.kind == GeneratedKind::Identity);
            let stored = || table.schema.fields().iter().filter(|field| is_stored(field.name()));
            script.tables.push(ExportedTable {
                name: table.name.clone(),
                columns: stored().map(|field| field.name().clone()).collect(),
                with_intervals: stored()
                    .filter(|field| type_of_field(field).is_ok_and(|ty| has_intervals(&ty)))
                    .map(|field| field.name().clone())
                    .collect(),
            });
        }
        script.definitions.extend(indexes);
        for view in self.views_in_order(&database, &catalog)? {
            let (view, tree) = &*view;
            script.definitions.push(format!("USE {}", quoted_text(&view.schema)));
            script.definitions.push(view_text(&view.name, tree));
        }
        script.definitions.push(format!("USE {SCHEMA}"));
        script.definitions.extend(catalog.entries().into_iter().flat_map(|(key, entry)| comment_texts(&key, &entry)));
        Ok(script)
    }

    /// Returns the views of a database, each after those that it uses.
    fn views_in_order(&self, database: &str, catalog: &Catalog) -> Result<Vec<Arc<ViewAndTree>>> {
        let mut views = Vec::new();
        for (_, entry) in catalog.entries() {
            if let CatalogEntry::View(view) = entry {
                let tree = view_tree(&view)?;
                views.push((view.name.to_lowercase(), Arc::new((view, tree))));
            }
        }
        let needs = |(view, tree): &ViewAndTree| {
            let place = SchemaName { database: database.into(), schema: view.schema.clone() };
            let namespace = self.namespace().within(place, false);
            let mut names = Vec::new();
            tree.query.for_each_table(&mut |table| {
                let found = WrittenName::of(table).ok().and_then(|written| namespace.find(written.parts()));
                let own = found.filter(|(found, _)| &*found.database == database);
                names.extend(own.map(|(found, _)| found.name.to_lowercase()));
            });
            names
        };
        in_order(views, needs).map_err(|view| Error::user(format!("the view {} uses itself", view.0.name)))
    }
}

/// Returns `CREATE TYPE` for a type, which may refer to `others`.
pub(crate) fn type_statement(full: &str, ty: &SqlType, others: &[(String, SqlType)]) -> String {
    let text = match ty {
        SqlType::Enum(definition) if *definition.name == *full => spelled_out(ty),
        ty => type_text(ty, others),
    };
    format!("CREATE TYPE {} AS {text}", sql_of_name(full))
}

/// Returns `CREATE INDEX` for an index of a table.
pub(crate) fn index_text(table: &str, index: &IndexRule) -> String {
    format!("CREATE INDEX {} ON {} ({})", quoted_text(&index.name), sql_of_name(table), list(&index.columns))
}

/// Returns `CREATE VIEW` with the full name.
pub(crate) fn view_text(full: &str, tree: &CreateView) -> String {
    let names: Vec<String> = tree.columns.iter().map(|column| column.text.to_string()).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", list(&names)) };
    format!("CREATE VIEW {}{names} AS {}", sql_of_name(full), tree.query)
}

/// Returns `CREATE MACRO` with the full name.
pub(crate) fn macro_text(definition: &MacroDefinition) -> Result<String> {
    match stored::statement(&definition.statement)? {
        Statement::CreateMacro(tree) => {
            let overloads: Vec<String> = tree.overloads.iter().map(MacroOverload::to_string).collect();
            Ok(format!("CREATE MACRO {} {}", sql_of_name(&definition.name), overloads.join(", ")))
        }
        _ => Err(Error::corrupt(format!("the macro {} is of another statement than CREATE MACRO", definition.name))),
    }
}

/// Returns `COMMENT ON` for an object and its columns.
fn comment_texts(key: &str, entry: &CatalogEntry) -> Vec<String> {
    let name = sql_of_name(full_name_of_key(key));
    let object = match entry {
        CatalogEntry::Table(_) => format!("TABLE {name}"),
        CatalogEntry::View(_) => format!("VIEW {name}"),
        CatalogEntry::Macro(_) => format!("MACRO {name}"),
        CatalogEntry::Type(_) => format!("TYPE {name}"),
        // An IDENTITY column creates its own.
        CatalogEntry::Sequence(sequence) if sequence.definition().is_owned => return Vec::new(),
        CatalogEntry::Sequence(_) => format!("SEQUENCE {name}"),
        CatalogEntry::Schema(schema) => format!("SCHEMA {}", quoted_text(&schema.name)),
    };
    let Comments { own, columns } = entry.comments();
    let own = own.map(|comment| format!("COMMENT ON {object} IS {}", literal_text(&comment)));
    let of_column = |(column, comment): (String, String)| {
        format!("COMMENT ON COLUMN {name}.{} IS {}", quoted_text(&column), literal_text(&comment))
    };
    own.into_iter().chain(columns.into_iter().map(of_column)).collect()
}

pub(crate) fn rules_of(table: &TableDefinition) -> TableRules {
    table.rules().cloned().unwrap_or_default()
}

fn has_intervals(ty: &SqlType) -> bool {
    ty.has_part(&|part| *part == SqlType::Interval)
}

/// Returns the tables of a database, each after those that it refers to.
fn tables_in_order(catalog: &Catalog) -> Result<Vec<Arc<TableDefinition>>> {
    let entries = catalog.entries().into_iter();
    let tables = entries.filter_map(|(_, entry)| match entry {
        CatalogEntry::Table(table) => Some((table.name.to_lowercase(), table)),
        _ => None,
    });
    let needs = |table: &TableDefinition| {
        let own = table.name.to_lowercase();
        let parents = rules_of(table).references.into_iter().map(|reference| reference.parent.to_lowercase());
        parents.filter(|parent| *parent != own).collect()
    };
    in_order(tables.collect(), needs).map_err(|table| {
        Error::unsupported("EXPORT of tables that refer to each other in a circle")
            .with_hint(format!("drop a reference of {}, and add it behind the IMPORT", table.name))
    })
}

/// Sorts objects by dependency, each after those that it needs; fails with one of them if they need each other.
fn in_order<T>(
    mut left: Vec<(String, Arc<T>)>,
    needs: impl Fn(&T) -> Vec<String>,
) -> std::result::Result<Vec<Arc<T>>, Arc<T>> {
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let names: BTreeSet<String> = left.iter().map(|(name, _)| name.clone()).collect();
        let is_ready = |thing: &T| needs(thing).iter().all(|name| !names.contains(name));
        let (ready, mut waiting): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, thing)| is_ready(thing));
        if ready.is_empty() {
            return Err(waiting.swap_remove(0).1);
        }
        ordered.extend(ready.into_iter().map(|(_, thing)| thing));
        left = waiting;
    }
    Ok(ordered)
}

/// Objects that definitions of tables refer to.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    pub catalog: &'k Catalog,
    pub types: &'k [(String, SqlType)],
}

/// Returns `CREATE TABLE` with all rules but indexes.
pub(crate) fn table_text(full: &str, schema: &Schema, rules: &TableRules, known: Known<'_>) -> Result<String> {
    let column = |field: &Field| {
        let encoding = rules.encoding_of(field.name()).map(|name| format!(" {ENCODING} {}", quoted_text(name)));
        Ok(column_text(field, rules, known)? + &encoding.unwrap_or_default())
    };
    let mut parts = rules.visible(schema).iter().map(column).collect::<Result<Vec<String>>>()?;
    let constraint = |name: &str, text: String| format!("CONSTRAINT {} {text}", quoted_text(name));
    for key in &rules.keys {
        let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
        parts.push(constraint(&key.name, format!("{kind} ({})", list(&key.columns))));
    }
    for check in &rules.checks {
        parts.push(constraint(&check.name, format!("CHECK ({})", check.condition)));
    }
    for reference in &rules.references {
        let (own, parent, others) =
            (list(&reference.columns), sql_of_name(&reference.parent), list(&reference.parent_columns));
        parts.push(constraint(&reference.name, format!("FOREIGN KEY ({own}) REFERENCES {parent} ({others})")));
    }
    Ok(format!("CREATE TABLE {} ({})", sql_of_name(full), parts.join(", ")))
}

fn column_text(field: &Field, rules: &TableRules, known: Known<'_>) -> Result<String> {
    let mut text = format!("{} {}", quoted_text(field.name()), type_text(&type_of_field(field)?, known.types));
    if let Some(collation) = collation_of_field(field) {
        let parts: Vec<String> = collation.split('.').map(quoted_text).collect();
        text += &format!(" COLLATE {}", parts.join("."));
    }
    let owned = |expression: &str| {
        let used = sequences_in(expression).into_iter().find_map(|name| match known.catalog.get(&name) {
            Some(CatalogEntry::Sequence(sequence)) => Some(sequence),
            _ => None,
        });
        used.filter(|sequence| sequence.definition().is_owned)
    };
    if let Some(column) = rules.generated_column(field.name()) {
        text += &match (column.kind, owned(&column.expression)) {
            (GeneratedKind::Identity, Some(sequence)) => {
                return Ok(format!("{text} GENERATED ALWAYS AS IDENTITY ({})", options_of(&sequence)));
            }
            (GeneratedKind::Stored, _) => format!(" GENERATED ALWAYS AS ({}) STORED", column.expression),
            _ => return Ok(format!("{text} GENERATED ALWAYS AS ({}) VIRTUAL", column.expression)),
        };
    }
    if let Some(default) = rules.default_of(field.name()) {
        match owned(default) {
            Some(sequence) => {
                return Ok(format!("{text} GENERATED BY DEFAULT AS IDENTITY ({})", options_of(&sequence)));
            }
            None => text += &format!(" DEFAULT ({default})"),
        }
    }
    Ok(if field.is_nullable() { text } else { text + " NOT NULL" })
}

/// Returns the options of a sequence that continues where this one is.
pub(crate) fn options_of(sequence: &Sequence) -> String {
    let SequenceDefinition { increment, min, max, cycle, .. } = sequence.definition();
    // One that has reached its end stays there.
    let next = sequence.peek().unwrap_or(if *increment > 0 { *max } else { *min });
    let cycle = if *cycle { " CYCLE" } else { "" };
    format!("INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max} START WITH {next}{cycle}")
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| quoted_text(name)).collect::<Vec<_>>().join(", ")
}
