//! CREATE TYPE and DROP TYPE: names for types, which the catalog stores as text.
//!
//! A column keeps its type's definition from when it was created, an ENUM with its name and labels. So nothing breaks
//! if a name is dropped; but an ENUM can't be dropped while columns of its database use it, so that its name means the
//! same to columns and statements.

use std::sync::Arc;

use godwit_bind::Binder;
use godwit_catalog::names::WrittenName;
use godwit_catalog::{Catalog, CatalogEntry, Comments, ObjectName, TypeDefinition, quoted_text, sql_of_name};
use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast::{self, DropBehavior};
use godwit_types::{EnumType, SqlType, StructField};
use godwit_vector::sql::type_of_field;

use crate::environment::StatementNames;
use crate::macros::all_found;
use crate::{Definition, Planner, Statement};

impl Planner {
    pub(crate) fn create_type(&self, create: &ast::CreateType) -> Result<Statement> {
        let name = self.namespace().new_name(&WrittenName::of(&create.name)?, create.temporary)?;
        if create.or_replace {
            self.check_unused(&name, None).map_err(|error| error.at_span(create.name.span))?;
        }
        let data_type = match &create.definition {
            ast::TypeDefinition::Type(data_type) => data_type,
            ast::TypeDefinition::EnumOf(query) => {
                let labels = self.planned(query)?;
                if labels.output.len() != 1 {
                    let message =
                        format!("the labels of an ENUM are one column, the query has {}", labels.output.len());
                    return Err(Error::user(message).at_span(query.span));
                }
                let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
                return Ok(Statement::Definition(Definition::CreateEnum { name, labels, or_replace, if_not_exists }));
            }
        };
        Binder::new(self.statement_names()).data_type(data_type)?;
        let definition = Arc::new(TypeDefinition {
            name: name.name.clone(),
            sql: data_type.to_string(),
            comments: Comments::default(),
        });
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::Definition(Definition::CreateType { name, definition, or_replace, if_not_exists }))
    }

    pub(crate) fn drop_types(&self, drop: &ast::Drop, names: &[WrittenName]) -> Result<Statement> {
        let find = |name: &WrittenName| self.namespace().find_type(name.parts()).map(|(found, _)| found);
        let found = all_found("type", names, drop.if_exists, find).and_then(|names| {
            names.iter().try_for_each(|name| self.check_unused(name, drop.behavior))?;
            Ok(names)
        });
        Ok(Statement::Definition(Definition::DropType { names: found.map_err(|error| error.at_span(drop.span))? }))
    }

    /// Fails if a column uses the ENUM.
    fn check_unused(&self, name: &ObjectName, behavior: Option<DropBehavior>) -> Result<()> {
        let user = self.namespace().catalog(&name.database).and_then(|catalog| user_of(catalog, &name.name));
        let Some((table, column)) = user else { return Ok(()) };
        let error = match behavior {
            Some(DropBehavior::Cascade) => Error::unsupported("DROP TYPE ... CASCADE of a type that columns have"),
            _ => Error::user(format!("column {column} of {table} is of the type {}", name.name)),
        };
        let error = error.with_code(SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
        Err(error.with_hint(format!("ALTER TABLE {table} DROP COLUMN {column}, or give it another TYPE")))
    }

    /// Returns the user-defined types of a database: full names and definitions. ENUMs come first, since other types
    /// may be built from them.
    pub(crate) fn types_of(&self, database: &Arc<str>, catalog: &Catalog) -> Vec<(String, SqlType)> {
        types_of(&self.statement_names(), database, catalog)
    }
}

/// See [`Planner::types_of`].
pub(crate) fn types_of(names: &StatementNames, database: &Arc<str>, catalog: &Catalog) -> Vec<(String, SqlType)> {
    let types = catalog.entries().into_iter().filter_map(|(_, entry)| {
        let CatalogEntry::Type(definition) = entry else { return None };
        let place = ObjectName { database: database.clone(), name: definition.name.clone() };
        Some((definition.name.clone(), bound_type(&definition, names.at(&place))?))
    });
    let mut types: Vec<_> = types.collect();
    types.sort_by_key(|(_, ty)| !matches!(ty, SqlType::Enum(_)));
    types
}

/// Returns a table, and a column of it with values of an ENUM.
fn user_of(catalog: &Catalog, enumeration: &str) -> Option<(String, String)> {
    catalog.entries().into_iter().find_map(|(_, entry)| {
        let CatalogEntry::Table(table) = entry else { return None };
        let columns = table.rules().cloned().unwrap_or_default().visible(&table.schema);
        let user = columns.iter().find(|column| type_of_field(column).is_ok_and(|ty| has(&ty, enumeration)))?;
        Some((table.name.clone(), user.name().clone()))
    })
}

fn has(ty: &SqlType, enumeration: &str) -> bool {
    let is_it = |part: &SqlType| matches!(part, SqlType::Enum(known) if known.name.eq_ignore_ascii_case(enumeration));
    ty.has_part(&is_it)
}

/// Returns a type of the catalog. An ENUM has its full name.
pub(crate) fn bound_type(definition: &TypeDefinition, environment: StatementNames) -> Option<SqlType> {
    let tree = godwit_syntax::parse_data_type(&definition.sql).ok()?;
    match Binder::new(Arc::new(environment)).data_type(&tree).ok()? {
        SqlType::Enum(labels) if labels.name.is_empty() => {
            let name = definition.name.as_str().into();
            Some(SqlType::Enum(Arc::new(EnumType { name, labels: labels.labels.clone() })))
        }
        other => Some(other),
    }
}

/// Returns a type as SQL that means the same wherever these types are known. Other names are spelled out.
pub(crate) fn type_text(ty: &SqlType, known: &[(String, SqlType)]) -> String {
    let text = |part: &SqlType| type_text(part, known);
    match ty {
        SqlType::Enum(definition) if known.iter().any(|(name, of)| **name == *definition.name && of == ty) => {
            sql_of_name(&definition.name)
        }
        SqlType::Enum(_) => spelled_out(ty),
        SqlType::List(element) => format!("{}[]", text(element)),
        SqlType::Array(element, length) => format!("{}[{length}]", text(element)),
        SqlType::Struct(fields) => {
            let field = |field: &StructField| format!("{} {}", quoted_text(&field.name), text(&field.ty));
            format!("STRUCT({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        SqlType::Map(entry) => format!("MAP({}, {})", text(&entry.0), text(&entry.1)),
        plain => plain.to_string(),
    }
}

/// Returns an ENUM by its labels.
pub(crate) fn spelled_out(ty: &SqlType) -> String {
    match ty {
        SqlType::Enum(definition) => {
            let labels = definition.labels.clone();
            SqlType::Enum(Arc::new(EnumType { name: "".into(), labels })).to_string()
        }
        other => other.to_string(),
    }
}
