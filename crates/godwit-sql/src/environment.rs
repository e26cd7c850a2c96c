//! Names for the binder: tables, views and functions of the [`Namespace`], files, and `information_schema`.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_bind::{
    Binder, ColumnRules, Dialect, Environment, Macro, Named, Rows, TableArgument, TextRows, UsedTable, View, Written,
};
use godwit_catalog::Argument;
use godwit_catalog::names::nearest;
use godwit_catalog::{
    Catalog, CatalogEntry, CopyOption, Namespace, ObjectName, OptionValue, ROW_ID_NAME, ScannedTable, SchemaName,
    TEMPORARY, TableDefinition, TableFunctions, TableResolver, ViewDefinition, paths_of, split_name,
};
use godwit_common::{Error, Result, Span, with_stack};
use godwit_functions::{Listed, ListedKind, Registry};
use godwit_plan::{FunctionKind, FunctionRegistry, Plan, Relation};
use godwit_syntax::DEPTH_MAX;
use godwit_syntax::ast::{self, MacroBody, MacroOverload};
use godwit_types::{SqlType, TimeZone, Value};

use crate::built_in_macros::{self, built_in_macro};
use crate::built_in_views::{COLUMNS_OF, SYSTEM, built_in_view, columns_of};
use crate::information_schema::{self, INFORMATION_SCHEMA};
use crate::macros::bound_macro;
use crate::objects;
use crate::pg_catalog::{self, PG_CATALOG};
use crate::queries::Optimizer;
use crate::types::{bound_type, types_of};
use crate::views::view_tree;
use crate::{ReadRows, SessionValues, sequence};

/// Names of table functions that read files, what they imply, and what the rows are.
type FileFunction<T> = (&'static [&'static str], T, &'static str);

/// Options of a reader, with their values.
type Implied = &'static [(&'static str, &'static str)];

/// Those without options, by format.
const FILE_FUNCTIONS: [FileFunction<&str>; 2] = [
    (&["read_parquet", "parquet_scan"], "parquet", "The rows of Parquet files"),
    (&["read_arrow"], "arrow", "The rows of Arrow IPC files"),
];

/// Those that read text.
const TEXT_FUNCTIONS: [FileFunction<Implied>; 4] = [
    (&["read_csv", "read_csv_auto"], CSV, "The rows of CSV files, whose form is found out unless options say it"),
    (&["read_json", "read_json_auto"], JSON, "The objects of JSON files, or of arrays in them, as rows"),
    (&["read_ndjson", "read_ndjson_auto"], JSON, "The objects of JSON files with one on each line, as rows"),
    (
        &["read_json_objects", "read_json_objects_auto", "read_ndjson_objects", "read_ndjson_objects_auto"],
        JSON_VALUES,
        "The values of JSON files, or of arrays in them, as rows of one column",
    ),
];

const CSV: Implied = &[("format", "csv")];
const JSON: Implied = &[("format", "json")];
const JSON_VALUES: Implied = &[("format", "json"), ("records", "false")];

/// Returns what a table function implies.
fn implied_by<T: Copy>(functions: &[FileFunction<T>], name: &str) -> Option<T> {
    functions.iter().find(|(names, ..)| names.contains(&name)).map(|&(_, implied, _)| implied)
}

/// Options of text files that take types.
const TYPE_OPTIONS: [&str; 5] = ["columns", "types", "dtypes", "column_types", "auto_type_candidates"];

/// Lists the table functions.
pub(crate) fn table_functions(registered: &TableFunctions) -> impl Iterator<Item = Listed> {
    let file = |names, description| Listed::table(names, "paths, option = value, …", description);
    let files = FILE_FUNCTIONS.into_iter().map(move |(names, _, description)| file(names, description));
    let texts = TEXT_FUNCTIONS.into_iter().map(move |(names, _, description)| file(names, description));
    let macros = built_in_macros::listed().filter(|listed| listed.kind == ListedKind::Table);
    let others = registered.described();
    let others = others.map(|(name, description, function)| Listed::table(&[name], function.arguments(), description));
    files.chain(texts).chain(macros).chain(others)
}

/// The names visible to a statement or to the query of a view.
pub(crate) struct StatementNames {
    namespace: Namespace,
    resolver: Arc<dyn TableResolver>,
    table_functions: TableFunctions,
    functions: Registry,
    /// Results of writes in the statement's WITH, by their positions.
    written: Vec<(Span, Written)>,
    session: SessionValues,
    /// Reads rows while the statement is planned.
    reader: Option<Reader>,
    /// Tables have a hidden column with the ids of their rows.
    row_ids: bool,
    /// Built-in tables list what there is. Those of views whose columns are being listed don't, else listing them would
    /// never end: a view may be over the very table that is asked for.
    lists_objects: bool,
    /// True for the names that built-in views see, among them [`COLUMNS_OF`].
    is_built_in: bool,
}

/// Plans and reads rows that another plan depends on.
pub(crate) struct Reader {
    pub(crate) optimizer: Optimizer,
    pub(crate) read_rows: ReadRows,
}

impl StatementNames {
    pub(crate) fn new(
        namespace: Namespace,
        resolver: Arc<dyn TableResolver>,
        table_functions: TableFunctions,
        session: SessionValues,
    ) -> Self {
        let functions = sequence::functions(&namespace).into_iter().fold(Registry::default(), Registry::with_function);
        Self {
            namespace,
            resolver,
            table_functions,
            functions,
            session,
            written: Vec::new(),
            reader: None,
            row_ids: false,
            lists_objects: true,
            is_built_in: false,
        }
    }

    /// Returns the same names, with the results of writes in WITH.
    pub(crate) fn with_written(self, written: &[(Span, Written)]) -> Self {
        Self { written: written.to_vec(), ..self }
    }

    /// Returns the same names for a statement that may read rows while it is planned, if there is a reader.
    pub(crate) fn with_reader(self, reader: Option<Reader>) -> Self {
        Self { reader, ..self }
    }

    /// Returns the same names, with or without the ids of rows.
    pub(crate) fn with_row_ids(self, row_ids: bool) -> Self {
        Self { row_ids, ..self }
    }

    /// Returns one of the database's own tables.
    fn own_table(&self, table: Arc<TableDefinition>) -> Result<Arc<dyn Relation>> {
        match &table.writable {
            Some(writable) if self.row_ids => Self::scanned(writable.with_row_ids()),
            _ => Self::scanned(table),
        }
    }

    fn scanned(table: Arc<TableDefinition>) -> Result<Arc<dyn Relation>> {
        Ok(Arc::new(ScannedTable::new(table)?))
    }

    /// Returns the names that the query of a view sees: those of the place where the view was created.
    pub(crate) fn of_view(&self, database: &Arc<str>, view: &ViewDefinition) -> Self {
        let (own, schema) = (view.database.is_none(), view.schema.clone());
        let place = SchemaName { database: view.database.as_ref().unwrap_or(database).clone(), schema };
        self.over(self.namespace.within(place, !own)).with_row_ids(mentions_row_ids(&view.statement))
    }

    /// Returns the names that the definition of an object sees: those around it.
    pub(crate) fn at(&self, object: &ObjectName) -> Self {
        let place = SchemaName { database: object.database.clone(), schema: split_name(&object.name).0 };
        self.over(self.namespace.within(place, true))
    }

    /// All databases, and where names without a schema are looked up.
    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns the same for a definition that sees another namespace.
    pub(crate) fn over(&self, namespace: Namespace) -> Self {
        let session = SessionValues { dialect: Dialect::default(), ..self.session.clone() };
        let names = Self::new(namespace, self.resolver.clone(), self.table_functions.clone(), session);
        Self { lists_objects: self.lists_objects, ..names }
    }

    fn view(&self, database: &Arc<str>, view: &ViewDefinition, name: String) -> Result<View> {
        let tree = view_tree(view)?;
        let columns = tree.columns.iter().map(|column| column.text.to_string()).collect();
        Ok(View { name, query: Arc::new(*tree.query), columns, environment: Arc::new(self.of_view(database, view)) })
    }

    /// Returns the rows of a text file, read according to options.
    fn text_table(
        &self,
        name: &str,
        implied: &[(&str, &str)],
        arguments: &[TableArgument],
    ) -> Result<Arc<dyn Relation>> {
        let (paths, options) = self.paths_and_options(name, arguments)?;
        let implied = implied.iter().map(|&(option, value)| CopyOption::new(option, value));
        let options: Vec<_> = implied.chain(options).collect();
        self.check_reject_tables(&options)?;
        Self::scanned(self.resolver.text_table(&paths, &options, None)?)
    }

    /// Fails if options ask for rejected rows in a table whose name another one has.
    pub(crate) fn check_reject_tables(&self, options: &[CopyOption]) -> Result<()> {
        let option = |name: &str| options.iter().find(|option| option.name == name);
        let named = [("rejects_table", "reject_errors"), ("rejects_scan", "reject_scans")];
        let are_stored = option("store_rejects").is_some_and(|option| option.flag().is_ok_and(|flag| flag));
        if !are_stored && named.iter().all(|(name, _)| option(name).is_none()) {
            return Ok(());
        }
        for (name, usual) in named {
            let table = option(name).and_then(CopyOption::word).unwrap_or(usual);
            let is_taken = self.namespace.find(&[table]).is_some()
                || self.resolver.reject_function(table).is_none() && self.named(&[table])?.is_some();
            if is_taken {
                return Err(Error::user(format!(
                    "rejected rows can't go to {table}: there is a table or view of that name"
                ))
                .with_hint(format!("name another one: {name} = '…'")));
            }
        }
        Ok(())
    }

    /// Returns the rows that scans of the connection rejected into a table of this name.
    fn rejected(&self, name: &str) -> Option<Result<Named>> {
        let function = self.resolver.reject_function(name)?;
        let (value, ty) = (Value::text(name), SqlType::Varchar);
        let rows = self.table_function(function, &[TableArgument { name: None, value, ty, span: Span::NONE }])?;
        Some(rows.map(|rows| Named::Relation(rows, vec![SYSTEM.to_owned(), name.to_owned()])))
    }

    /// Splits the arguments of a function that reads files: paths, then options by name.
    fn paths_and_options<'a>(
        &self,
        name: &str,
        arguments: &'a [TableArgument],
    ) -> Result<(Vec<&'a str>, Vec<CopyOption>)> {
        let usage = || {
            let error = Error::user(format!("{name} takes a path in quotes or a list of paths, then options"));
            error.with_hint(format!("for example: {name}('x', union_by_name = true)"))
        };
        let mut paths = None;
        let mut options = Vec::new();
        for argument in arguments {
            match (&argument.name, &argument.value) {
                (None, value) if paths.is_none() => {
                    paths = Some(paths_of(value).ok_or_else(|| usage().at_span(argument.span))?);
                }
                (Some(option), value) => {
                    let value = OptionValue::of(option, value, &argument.ty).and_then(|value| match value {
                        _ if TYPE_OPTIONS.contains(&option.as_str()) => self.type_definitions(value),
                        value => Ok(value),
                    });
                    let value = value.map_err(|error| error.at_span(argument.span))?;
                    options.push(CopyOption { name: option.clone(), value });
                }
                (None, _) => return Err(usage().at_span(argument.span)),
            }
        }
        Ok((paths.ok_or_else(usage)?, options))
    }

    /// Turns types into definitions, which don't depend on names.
    fn type_definitions(&self, value: OptionValue) -> Result<OptionValue> {
        let definition = |text: &String| {
            let ty = Binder::new(Arc::new(self.over(self.namespace.clone())))
                .data_type(&godwit_syntax::parse_data_type(text).map_err(|_| {
                    Error::user(format!("'{text}' is not a type")).with_hint("for example: types = {'id': 'BIGINT'}")
                })?)
                .map_err(|error| Error::user(error.message()))?;
            Ok(ty.definition())
        };
        Ok(match value {
            OptionValue::Text(text) => OptionValue::Text(definition(&text)?),
            OptionValue::List(texts) => OptionValue::List(texts.iter().map(definition).collect::<Result<_>>()?),
            OptionValue::Fields(fields) => {
                let fields = fields.into_iter().map(|(name, text)| Ok((name, definition(&text)?)));
                OptionValue::Fields(fields.collect::<Result<_>>()?)
            }
            OptionValue::Absent => OptionValue::Absent,
        })
    }

    /// Returns the rows of self-describing files.
    fn file_table(&self, name: &str, format: &str, arguments: &[TableArgument]) -> Result<Arc<dyn Relation>> {
        let (paths, options) = self.paths_and_options(name, arguments)?;
        Self::scanned(self.resolver.table_of_format(&paths, format, &options)?)
    }
}

/// Returns true if a statement may refer to the ids of rows: scans of others are planned without them.
pub(crate) fn mentions_row_ids(statement: &str) -> bool {
    statement.as_bytes().windows(ROW_ID_NAME.len()).any(|word| word.eq_ignore_ascii_case(ROW_ID_NAME.as_bytes()))
}

impl Environment for StatementNames {
    fn named(&self, parts: &[&str]) -> Result<Option<Named>> {
        if let [.., schema, table] = parts
            && let Some(found) = self.of_system(&schema.to_lowercase(), &table.to_lowercase())?
        {
            return Ok(Some(found));
        }
        let Some((name, entry)) = self.namespace.find(parts) else {
            if let [table] = parts
                && let Some(rows) = self.rejected(table)
            {
                return rows.map(Some);
            }
            // As in PostgreSQL, its tables are found without their schema; so are our own views.
            return Ok(match parts {
                [table] if table.to_lowercase().starts_with("pg_") => {
                    self.of_system(PG_CATALOG, &table.to_lowercase())?
                }
                [table] => {
                    let table = table.to_lowercase();
                    self.of_system(SYSTEM, &table)?.or_else(|| self.of_macro(&table))
                }
                _ => None,
            });
        };
        let (schema, own) = split_name(&name.name);
        let full = || vec![name.database.to_string(), schema.clone(), own.clone()];
        Ok(match entry {
            CatalogEntry::Table(table) => Some(Named::Relation(self.own_table(table)?, full())),
            CatalogEntry::View(view) => {
                Some(Named::View(Arc::new(self.view(&name.database, &view, full().join("."))?)))
            }
            CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) | CatalogEntry::Macro(_) | CatalogEntry::Type(_) => {
                None
            }
        })
    }

    fn file(&self, path: &str) -> Option<Result<Arc<dyn Relation>>> {
        let table = self.resolver.resolve_path(path)?;
        Some(table.and_then(Self::scanned))
    }

    fn table_function(&self, name: &str, arguments: &[TableArgument]) -> Option<Result<Arc<dyn Relation>>> {
        if let Some(format) = implied_by(&FILE_FUNCTIONS, name) {
            return Some(self.file_table(name, format, arguments));
        }
        if let Some(implied) = implied_by(&TEXT_FUNCTIONS, name) {
            return Some(self.text_table(name, implied, arguments));
        }
        let function = self.table_functions.get(name)?;
        let arguments = arguments.iter().map(|given| {
            let TableArgument { name, value, ty, .. } = given.clone();
            Argument { name, value, ty }
        });
        let table = function.table(name, &arguments.collect::<Vec<_>>());
        Some(table.and_then(Self::scanned))
    }

    fn for_text(&self) -> Result<Arc<dyn Environment>> {
        let names = self.over(self.namespace.clone()).with_row_ids(self.row_ids);
        Ok(Arc::new(Self { session: self.session.clone(), ..names }))
    }

    fn written(&self, cte: Span) -> Option<Written> {
        let (_, written) = self.written.iter().find(|(place, _)| *place == cte)?;
        Some(written.clone())
    }

    fn functions(&self) -> &dyn FunctionRegistry {
        &self.functions
    }

    fn distinct_rows(&self, plan: &Plan, rows_max: usize) -> Option<Result<TextRows>> {
        let Reader { optimizer, read_rows } = self.reader.as_ref()?;
        Some(optimizer.optimized(plan.clone(), self).and_then(|plan| read_rows(&plan, rows_max)))
    }

    fn find_macro(&self, parts: &[&str]) -> Option<Arc<Macro>> {
        if let Some((name, definition)) = self.namespace.find_macro(parts) {
            let names = self.at(&name).with_row_ids(mentions_row_ids(&definition.statement));
            return bound_macro(&definition, names).map(Arc::new);
        }
        let name = match parts {
            [name] => name,
            [schema, name] if schema.eq_ignore_ascii_case(PG_CATALOG) => name,
            _ => return None,
        };
        let overloads = built_in_macro(name)?;
        let environment = Arc::new(self.over(self.namespace.clone()));
        Some(Arc::new(Macro { name: (*name).to_owned(), overloads, environment }))
    }

    fn named_type(&self, parts: &[&str]) -> Option<SqlType> {
        let (name, definition) = self.namespace.find_type(parts)?;
        bound_type(&definition, self.at(&name))
    }

    fn variable(&self, name: &str) -> Option<(Value, SqlType)> {
        self.session.variables.get(name).cloned()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.session.settings.reader.as_ref().and_then(|read| read(name))
    }

    fn dialect(&self) -> Dialect {
        self.session.dialect
    }

    fn time_zone(&self) -> TimeZone {
        self.session.time_zone.clone()
    }

    fn session_value(&self, name: &str) -> Option<(Value, SqlType)> {
        let current = self.namespace.current();
        let text = match name {
            "current_schema" => current.schema.as_str(),
            "current_database" | "current_catalog" => &current.database,
            _ => return None,
        };
        Some((Value::text(text), SqlType::Varchar))
    }

    fn unknown_table(&self, name: &str) -> Error {
        let known = self.namespace.near_names();
        let error = Error::user(format!("no table or view named {name}"));
        match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None if known.is_empty() => {
                error.with_hint("there are no tables yet: read a file with FROM 'path/to/file.parquet'")
            }
            None => error.with_hint("SHOW TABLES lists what there is"),
        }
    }

    fn column_rules(&self, parts: &[&str]) -> Vec<ColumnRules> {
        let Some((_, CatalogEntry::Table(table))) = self.namespace.find(parts) else { return Vec::new() };
        let Some(rules) = table.rules() else { return Vec::new() };
        let of_column = |field: &Arc<Field>| {
            let mut keys = rules.keys.iter().filter(|key| key.columns.iter().any(|name| name == field.name()));
            let is_primary = keys.clone().any(|key| key.is_primary);
            let key = if is_primary { Some("PRI") } else { keys.next().map(|_| "UNI") };
            let default = rules.default_of(field.name()).map(str::to_owned);
            ColumnRules { name: field.name().clone(), not_null: !field.is_nullable(), key, default }
        };
        table.schema.fields().iter().map(of_column).collect()
    }

    fn listed(&self, show: &ast::Show) -> Result<Rows> {
        let text = |name: &str| (name.to_owned(), SqlType::Varchar);
        match show {
            ast::Show::Tables { schema, .. } => self.tables_listed(schema.as_ref()),
            ast::Show::Databases => {
                let databases = self.namespace.databases().iter().filter(|(name, _)| &**name != TEMPORARY);
                let rows = databases.map(|(name, _)| vec![Value::text(name.clone())]).collect();
                Ok(Rows { columns: vec![text("database_name")], rows })
            }
            ast::Show::Schemas => {
                let current = self.namespace.current();
                let mut rows = Vec::new();
                for (database, catalog) in self.namespace.databases().iter().filter(|(name, _)| &**name != TEMPORARY) {
                    rows.extend(catalog.schemas().into_iter().map(|schema| {
                        let is_current = current.database == *database && current.schema == schema;
                        vec![Value::text(database.clone()), Value::text(schema), Value::Boolean(is_current)]
                    }));
                }
                let columns =
                    vec![text("database_name"), text("schema_name"), ("current".to_owned(), SqlType::Boolean)];
                Ok(Rows { columns, rows })
            }
            ast::Show::Settings | ast::Show::Name(_) => Err(Error::unsupported("this SHOW inside a query")),
        }
    }

    fn table_function_names(&self) -> Vec<String> {
        table_functions(&self.table_functions).flat_map(|listed| listed.names).map(str::to_owned).collect()
    }
}

impl StatementNames {
    /// Returns the rows of a built-in table macro without parameters, named without parentheses.
    fn of_macro(&self, name: &str) -> Option<Named> {
        let overloads = built_in_macro(name)?;
        let [MacroOverload { parameters, body: MacroBody::Table(query), .. }] = &overloads[..] else { return None };
        let environment = Arc::new(self.over(self.namespace.clone()));
        let (name, query) = (name.to_owned(), Arc::new((**query).clone()));
        parameters.is_empty().then(|| Named::View(Arc::new(View { name, query, columns: Vec::new(), environment })))
    }

    /// Returns a table or view of the built-in schemas.
    fn of_system(&self, schema: &str, table: &str) -> Result<Option<Named>> {
        let full = || vec![schema.to_owned(), table.to_owned()];
        if let Some(query) = built_in_view(schema, table) {
            let environment = Arc::new(Self { is_built_in: true, ..self.over(self.namespace.clone()) });
            let view = View { name: full().join("."), query, columns: Vec::new(), environment };
            return Ok(Some(Named::View(Arc::new(view))));
        }
        let rows = match schema {
            // Views may be as deep as the query that names the table, which has used its part of the stack.
            INFORMATION_SCHEMA | PG_CATALOG if self.lists_objects => {
                with_stack(DEPTH_MAX, || Ok(self.system_rows(schema, table)))?
            }
            _ if self.lists_objects => self.system_rows(schema, table),
            _ => {
                let nothing = Namespace::of(&self.namespace.current().database, Arc::new(Catalog::default()));
                Self { is_built_in: self.is_built_in, ..self.over(nothing) }.system_rows(schema, table)
            }
        };
        Ok(rows.map(|rows| Named::Rows(rows, full())))
    }

    /// Returns the rows of a table of the built-in schemas.
    fn system_rows(&self, schema: &str, table: &str) -> Option<Rows> {
        let view_columns = |database: &Arc<str>, view: &ViewDefinition| self.view_columns(database, view);
        match schema {
            INFORMATION_SCHEMA => {
                let view_usage = |database: &Arc<str>, view: &ViewDefinition| self.view_usage(database, view);
                let (namespace, view_columns, view_usage) = (&self.namespace, &view_columns, &view_usage);
                information_schema::rows(&information_schema::Source { namespace, view_columns, view_usage }, table)
            }
            PG_CATALOG => pg_catalog::rows(
                &pg_catalog::Source {
                    namespace: &self.namespace,
                    view_columns: &view_columns,
                    functions: &|| {
                        let is_aggregate = |name: &str| self.functions.kind(name) == Some(FunctionKind::Aggregate);
                        let names = self.functions.names().into_iter();
                        names.map(|name| (name.clone(), is_aggregate(&name))).collect()
                    },
                    user_types: &|| {
                        let database = &self.namespace.current().database;
                        let catalog = self.namespace.catalog(database);
                        catalog.map(|catalog| types_of(self, database, catalog)).unwrap_or_default()
                    },
                },
                table,
            ),
            SYSTEM if table == "objects" => Some(objects::rows(self)),
            SYSTEM => self.session.rows(table),
            COLUMNS_OF if self.is_built_in => columns_of(table),
            _ => None,
        }
    }

    /// Returns name, type and nullability of each column of a view.
    pub(crate) fn view_columns(
        &self,
        database: &Arc<str>,
        view: &ViewDefinition,
    ) -> Result<Vec<(String, SqlType, bool)>> {
        let tree = view_tree(view)?;
        let mut binder = Binder::new(self.of_listed_view(database, view));
        binder.query(&tree.query)?;
        let plan = &binder.plan;
        let nullable = plan.root.map(|root| plan.nullable_columns(root)).unwrap_or_default();
        let listed = |(at, output): (usize, &godwit_plan::OutputColumn)| {
            let name = tree.columns.get(at).map_or_else(|| output.name.clone(), |column| column.text.to_string());
            (name, plan.column(output.column).ty.clone(), nullable.contains(output.column))
        };
        Ok(plan.output.iter().enumerate().map(listed).collect())
    }

    /// Returns the tables and views that a view names, with the columns that it uses.
    fn view_usage(&self, database: &Arc<str>, view: &ViewDefinition) -> Result<Vec<UsedTable>> {
        let mut binder = Binder::new(self.of_listed_view(database, view)).with_usage();
        binder.query(&view_tree(view)?.query)?;
        Ok(binder.used_tables())
    }

    /// Returns the names that the query of a view sees while its columns are listed.
    fn of_listed_view(&self, database: &Arc<str>, view: &ViewDefinition) -> Arc<Self> {
        Arc::new(Self { lists_objects: false, ..self.of_view(database, view) })
    }

    /// Lists the tables and views of a schema, or those that a name without a schema can refer to.
    fn tables_listed(&self, schema: Option<&ast::ObjectName>) -> Result<Rows> {
        let parts = schema.map(|schema| schema.parts.iter().map(|part| &*part.text).collect::<Vec<&str>>());
        let place = parts.map(|parts| self.namespace.place(&parts)).transpose();
        let place = place.map_err(|error| error.at_span(schema.map_or(Span::NONE, |schema| schema.span)))?;
        let mut names = Vec::new();
        for (database, catalog) in self.namespace.databases() {
            for (full, entry) in catalog.entries() {
                let (schema, name) = split_name(&full);
                let is_it = |place: &SchemaName| place.database == *database && place.schema == schema;
                let is_seen = match &place {
                    Some(place) => is_it(place),
                    None => &**database == TEMPORARY || self.namespace.path().iter().any(is_it),
                };
                match entry {
                    CatalogEntry::Table(_) | CatalogEntry::View(_) if is_seen => names.push(name),
                    CatalogEntry::Table(_)
                    | CatalogEntry::View(_)
                    | CatalogEntry::Sequence(_)
                    | CatalogEntry::Schema(_)
                    | CatalogEntry::Macro(_)
                    | CatalogEntry::Type(_) => {}
                }
            }
        }
        names.sort_unstable();
        let rows = names.into_iter().map(|name| vec![Value::text(name)]).collect();
        Ok(Rows { columns: vec![("name".to_owned(), SqlType::Varchar)], rows })
    }
}
