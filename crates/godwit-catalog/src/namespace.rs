//! Name resolution for a statement: the databases that it sees, and where names without a schema are looked up.
//!
//! ```text
//! t        temp.main, then the search path, then main of the current database
//! a.t      schema a of the current database, else schema main of the database a
//! a.b.t    schema b of the database a
//! ```
//!
//! Objects without a schema are created in the first place of the search path.

use std::sync::Arc;

use godwit_common::{Error, Result};

use crate::names::{ObjectName, SCHEMA, WrittenName, full_name, macro_key, nearest, split_name, type_key};
use crate::{Catalog, CatalogEntry, MacroDefinition, TableDefinition, TakenNumbers, TypeDefinition};

/// The database of a connection's temporary tables.
pub const TEMPORARY: &str = "temp";

/// A schema of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaName {
    /// Name of the database.
    pub database: Arc<str>,
    /// Name of the schema.
    pub schema: String,
}

/// The databases as a statement sees them, and the search path.
#[derive(Debug, Clone)]
pub struct Namespace {
    databases: Vec<(Arc<str>, Arc<Catalog>)>,
    path: Vec<SchemaName>,
    /// True if temporary tables hide others.
    sees_temporary: bool,
    taken: TakenNumbers,
}

impl Namespace {
    /// Creates a namespace. The first database is where a connection starts; an empty path is its schema main.
    pub fn new(databases: Vec<(Arc<str>, Arc<Catalog>)>, path: &[SchemaName]) -> Self {
        let (first, _) = databases.first().expect("there is a database");
        let path = match path {
            [] => vec![SchemaName { database: first.clone(), schema: SCHEMA.to_owned() }],
            path => path.to_vec(),
        };
        Self { databases, path, sees_temporary: true, taken: TakenNumbers::default() }
    }

    /// Creates a namespace of one database.
    pub fn of(database: &str, catalog: Arc<Catalog>) -> Self {
        Self::new(vec![(database.into(), catalog)], &[])
    }

    /// Returns the same databases as a view sees them.
    pub fn within(&self, place: SchemaName, sees_temporary: bool) -> Self {
        let (databases, taken) = (self.databases.clone(), self.taken.clone());
        Self { databases, path: vec![place], sees_temporary, taken }
    }

    /// Returns the same names with this entry changed.
    pub fn with_entry(&self, name: &ObjectName, entry: CatalogEntry) -> Self {
        let mut changed = self.clone();
        if let Some((_, catalog)) = changed.databases.iter_mut().find(|(database, _)| *database == name.database) {
            *catalog = Arc::new(catalog.snapshot());
            catalog.put_all([(name.name.clone(), Some(entry))]);
        }
        changed
    }

    /// Returns the same names for a connection that took these numbers of sequences.
    #[must_use]
    pub fn with_taken(self, taken: TakenNumbers) -> Self {
        Self { taken, ..self }
    }

    /// The numbers of sequences that the connection took.
    pub fn taken(&self) -> &TakenNumbers {
        &self.taken
    }

    /// Where objects without a schema are created.
    pub fn current(&self) -> &SchemaName {
        &self.path[0]
    }

    /// The search path.
    pub fn path(&self) -> &[SchemaName] {
        &self.path
    }

    /// The databases.
    pub fn databases(&self) -> &[(Arc<str>, Arc<Catalog>)] {
        &self.databases
    }

    /// The catalog of a database.
    pub fn catalog(&self, database: &str) -> Option<&Arc<Catalog>> {
        let found = self.databases.iter().find(|(known, _)| known.eq_ignore_ascii_case(database));
        found.map(|(_, catalog)| catalog)
    }

    /// Returns true if all names mean the same as in another namespace, including versions of tables.
    pub fn is_same(&self, other: &Self) -> bool {
        self.agrees(other, Catalog::is_same)
    }

    /// Returns true if all names mean the same as in another namespace, except for the rows of tables.
    pub fn has_same_definitions(&self, other: &Self) -> bool {
        self.agrees(other, Catalog::has_same_definitions)
    }

    /// Returns true if both look up names in the same places, with catalogs there that are `alike`.
    fn agrees(&self, other: &Self, alike: impl Fn(&Catalog, &Catalog) -> bool) -> bool {
        let mut both = self.databases.iter().zip(&other.databases);
        self.databases.len() == other.databases.len()
            && both.all(|(own, others)| own.0 == others.0 && alike(&own.1, &others.1))
            && self.path == other.path
            && self.sees_temporary == other.sees_temporary
    }

    /// Returns the name of a table, given a version of it, with or without the ids of its rows; `None` if no database has
    /// the table with that definition.
    pub fn name_of(&self, table: &Arc<TableDefinition>) -> Option<ObjectName> {
        let is_there = |catalog: &Catalog| match catalog.get(&table.name) {
            Some(CatalogEntry::Table(known)) => known.has_same_definition(table),
            _ => false,
        };
        let (database, _) = self.databases.iter().find(|(_, catalog)| is_there(catalog))?;
        Some(ObjectName { database: database.clone(), name: table.name.clone() })
    }

    /// Returns the entry of a name.
    pub fn get(&self, name: &ObjectName) -> Option<CatalogEntry> {
        self.catalog(&name.database)?.get(&name.name)
    }

    /// Resolves a name to an object and its entry.
    pub fn find<S: AsRef<str>>(&self, parts: &[S]) -> Option<(ObjectName, CatalogEntry)> {
        self.meanings(parts).into_iter().find_map(|name| {
            let entry = self.get(&name)?;
            Some((name, entry))
        })
    }

    /// Resolves the name of a macro.
    pub fn find_macro<S: AsRef<str>>(&self, parts: &[S]) -> Option<(ObjectName, Arc<MacroDefinition>)> {
        self.find_keyed(parts, macro_key, |entry| match entry {
            CatalogEntry::Macro(definition) => Some(definition),
            _ => None,
        })
    }

    /// Resolves the name of a type.
    pub fn find_type<S: AsRef<str>>(&self, parts: &[S]) -> Option<(ObjectName, Arc<TypeDefinition>)> {
        self.find_keyed(parts, type_key, |entry| match entry {
            CatalogEntry::Type(definition) => Some(definition),
            _ => None,
        })
    }

    /// Resolves a name among objects that have their own keys.
    fn find_keyed<S: AsRef<str>, T>(
        &self,
        parts: &[S],
        key: fn(&str) -> String,
        definition: fn(CatalogEntry) -> Option<T>,
    ) -> Option<(ObjectName, T)> {
        self.meanings(parts).into_iter().find_map(|name| {
            let entry = self.catalog(&name.database)?.get(&key(&name.name))?;
            Some((name, definition(entry)?))
        })
    }

    /// The objects that a name may mean, in lookup order.
    fn meanings<S: AsRef<str>>(&self, parts: &[S]) -> Vec<ObjectName> {
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        let current = &self.current().database;
        let object = |database: &str, schema: &str, name: &str| {
            let (database, _) = self.databases.iter().find(|(known, _)| known.eq_ignore_ascii_case(database))?;
            Some(ObjectName { database: database.clone(), name: full_name(&schema.to_lowercase(), name) })
        };
        let meanings = match parts[..] {
            [name] => {
                let path = self.path.iter().map(|place| object(&place.database, &place.schema, name));
                let temporary = if self.sees_temporary { object(TEMPORARY, SCHEMA, name) } else { None };
                let path = std::iter::once(temporary).chain(path);
                path.chain([object(current, SCHEMA, name)]).collect()
            }
            [schema, name] => vec![object(current, schema, name), object(schema, SCHEMA, name)],
            [database, schema, name] => vec![object(database, schema, name)],
            _ => Vec::new(),
        };
        meanings.into_iter().flatten().collect()
    }

    /// Returns the name of an object that is about to be created.
    pub fn new_name(&self, written: &WrittenName, is_temporary: bool) -> Result<ObjectName> {
        let place = match written.parts() {
            [_] if is_temporary => self.place(&[TEMPORARY])?,
            [_] => self.current().clone(),
            [place @ .., _] => self.place(place)?,
            [] => unreachable!("names have a part"),
        };
        if is_temporary && &*place.database != TEMPORARY {
            return Err(Error::user(format!("{written} would be temporary, and in another schema than temp")));
        }
        Ok(ObjectName { database: place.database, name: full_name(&place.schema, written.last()) })
    }

    /// Resolves `schema`, `database` or `database.schema`. Fails if there is no such schema.
    pub fn place<S: AsRef<str>>(&self, parts: &[S]) -> Result<SchemaName> {
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        let current = &self.current().database;
        let place = |database: &str, schema: &str| {
            let (database, catalog) = self.databases.iter().find(|(known, _)| known.eq_ignore_ascii_case(database))?;
            let place = SchemaName { database: database.clone(), schema: schema.to_lowercase() };
            catalog.has_schema(schema).then_some(place)
        };
        let found = match parts[..] {
            [one] => place(current, one).or_else(|| place(one, SCHEMA)),
            [database, schema] => place(database, schema),
            _ => None,
        };
        found.ok_or_else(|| {
            let name = parts.join(".");
            let error = Error::user(format!("no schema or database named {name}"));
            let schemas = self.catalog(current).map(|catalog| catalog.schemas()).unwrap_or_default();
            let known = schemas.iter().map(String::as_str).chain(self.databases.iter().map(|(name, _)| &**name));
            match nearest(&name, known) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error.with_hint(format!("CREATE SCHEMA {name} makes one")),
            }
        })
    }

    /// Everything that a name without a schema may stand for, for hints.
    pub fn near_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (database, catalog) in &self.databases {
            for (full, entry) in catalog.entries() {
                let (schema, name) = split_name(&full);
                let is_near = |place: &SchemaName| place.database == *database && place.schema == schema;
                match entry {
                    CatalogEntry::Sequence(_)
                    | CatalogEntry::Schema(_)
                    | CatalogEntry::Macro(_)
                    | CatalogEntry::Type(_) => {}
                    _ if schema == SCHEMA && *database == self.current().database => names.push(name),
                    _ if &**database == TEMPORARY || self.path.iter().any(is_near) => names.push(name),
                    _ => names.push(full),
                }
            }
        }
        names
    }
}
