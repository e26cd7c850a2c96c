//! Answers the binder of the planner crates: which tables, views and functions there are.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Column, DataFusionError, Result, ScalarValue, TableReference, UnnestOptions};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableSource, TableType, WindowUDF,
};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use datafusion_sql::sqlparser::ast;
use godwit_common::Error;

use crate::functions::FUNCTIONS;
use crate::information_schema::INFORMATION_SCHEMA;
use crate::names::nearest;
use crate::table::ScanSource;
use crate::{
    CatalogEntry, CopyOption, Namespace, ParsedStatement, Place, TableFunctions, TableResolver, ViewDefinition,
};
use crate::{bound, dialect, plan_error, sequence, stack, table_function};

/// Views within views up to this depth; a view that uses itself ends here too.
const VIEW_DEPTH_MAX: usize = 32;

/// Views within views from this depth on are bound on a larger stack.
const VIEW_DEPTH_INLINE_MAX: usize = 4;

/// Table functions that read files, by all their names.
const FILE_FUNCTIONS: [&str; 2] = ["read_parquet", "parquet_scan"];

/// Table functions that read text files, and the format that they read.
const TEXT_FUNCTIONS: [(&str, &str); 6] = [
    ("read_csv", "csv"),
    ("read_csv_auto", "csv"),
    ("read_json", "json"),
    ("read_json_auto", "json"),
    ("read_ndjson", "json"),
    ("read_ndjson_auto", "json"),
];

/// The table function that makes rows of lists.
const UNNEST: &str = "unnest";

/// Binds one statement.
pub(crate) struct Binder<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) resolver: &'a dyn TableResolver,
    pub(crate) functions: &'a TableFunctions,
    pub(crate) config: &'a Arc<ConfigOptions>,
    view_depth: usize,
    /// What names stand for that a statement makes up; they hide those of the catalog.
    sources: Vec<(String, Arc<dyn TableSource>)>,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(
        namespace: &'a Namespace,
        resolver: &'a dyn TableResolver,
        functions: &'a TableFunctions,
        config: &'a Arc<ConfigOptions>,
    ) -> Self {
        Self { namespace, resolver, functions, config, view_depth: 0, sources: Vec::new() }
    }

    /// The same binder, with sources that hide those of the catalog.
    pub(crate) fn with_sources(mut self, sources: Vec<(String, Arc<dyn TableSource>)>) -> Self {
        self.sources = sources;
        self
    }

    /// The unoptimized plan of a query.
    pub(crate) fn bind(&self, mut query: Box<ast::Query>) -> Result<LogicalPlan> {
        dialect::rewrite(&mut query, self.namespace.current());
        let has_joined_wildcard = bound::mark_own_sides(&mut query);
        let options = ParserOptions::new().with_parse_float_as_decimal(true).with_collect_spans(true);
        let plan = SqlToRel::new_with_options(self, options).sql_statement_to_plan(ast::Statement::Query(query))?;
        bound::complete(plan, has_joined_wildcard)
    }

    /// The columns of a new table.
    pub(crate) fn columns(
        &self,
        columns: Vec<ast::ColumnDef>,
        parsed: &ParsedStatement,
    ) -> godwit_common::Result<Vec<Field>> {
        let schema = SqlToRel::new(self).build_schema(columns);
        let schema = schema.map_err(|error| plan_error::of_planning(&error, parsed))?;
        Ok(schema.fields().iter().map(|field| field.as_ref().clone()).collect())
    }

    /// The unoptimized plan of a view's query, with the view's column names.
    pub(crate) fn bind_view(&self, database: &Arc<str>, view: &ViewDefinition) -> Result<LogicalPlan> {
        if self.view_depth >= VIEW_DEPTH_MAX {
            return Err(external(Error::user(format!("view {} uses itself, or views nest too deep", view.name))));
        }
        let (own, schema) = (view.database.is_none(), view.schema.clone());
        let place = Place { database: view.database.as_ref().unwrap_or(database).clone(), schema };
        let namespace = self.namespace.within(place, !own);
        let mut inner = Binder::new(&namespace, self.resolver, self.functions, self.config);
        inner.view_depth = self.view_depth + 1;
        let plan = match inner.view_depth == VIEW_DEPTH_INLINE_MAX {
            true => stack::with_large_stack(|| Ok(inner.bind(view.query.clone()))).map_err(external)??,
            false => inner.bind(view.query.clone())?,
        };
        let names = &view.column_names;
        if names.is_empty() {
            return Ok(plan);
        }
        let columns = plan.schema().columns();
        if names.len() > columns.len() {
            let message = format!("view {} names {} columns, its query has {}", view.name, names.len(), columns.len());
            return Err(external(Error::user(message)));
        }
        let renamed = columns.into_iter().enumerate().map(|(at, column)| match names.get(at) {
            Some(name) => Expr::Column(column).alias(name),
            None => Expr::Column(column),
        });
        LogicalPlanBuilder::from(plan).project(renamed)?.build()
    }

    fn resolve(&self, path: &str) -> Option<Result<Arc<dyn TableSource>>> {
        let table = self.resolver.resolve_path(path)?;
        Some(table.map(|table| Arc::new(ScanSource::new(table)) as Arc<dyn TableSource>).map_err(external))
    }

    pub(crate) fn unknown_table(&self, name: &str) -> Error {
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
}

/// Carries our error through the planner crates.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ContextProvider for Binder<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        if name.schema().is_some_and(|schema| schema.eq_ignore_ascii_case(INFORMATION_SCHEMA))
            && let Some(plan) = self.information(&name.table().to_lowercase())
        {
            return Ok(Arc::new(PlanSource::new(plan?)));
        }
        if let TableReference::Bare { table } = &name
            && let Some((_, source)) = self.sources.iter().find(|(known, _)| known == table.as_ref())
        {
            return Ok(source.clone());
        }
        let parts = [name.catalog(), name.schema(), Some(name.table())].into_iter().flatten().collect::<Vec<_>>();
        match self.namespace.find(&parts) {
            Some((_, CatalogEntry::Table(table))) => return self.source_of(&table),
            Some((name, CatalogEntry::View(view))) => {
                let plan = self.bind_view(&name.database, &view);
                let plan = plan.map_err(|error| external(plan_error::in_view(&error, &view)))?;
                return Ok(Arc::new(PlanSource::new(plan)));
            }
            Some((_, CatalogEntry::Sequence(_) | CatalogEntry::Schema(_))) | None => {}
        }
        // An unquoted path such as data.parquet arrives as a name with dots.
        let path = parts.join(".");
        match self.resolve(&path) {
            Some(source) => source,
            None => Err(external(self.unknown_table(&path))),
        }
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let name = name.to_lowercase();
        if FILE_FUNCTIONS.contains(&name.as_str()) {
            let [Expr::Literal(ScalarValue::Utf8(Some(path)) | ScalarValue::Utf8View(Some(path)), _)] = args.as_slice()
            else {
                return Err(external(Error::user(format!("{name} takes one path in quotes"))));
            };
            return self.resolve(path).unwrap_or_else(|| {
                Err(external(
                    Error::user(format!("'{path}' is not a file that can be read")).with_hint("paths end in .parquet"),
                ))
            });
        }
        if let Some((_, format)) = TEXT_FUNCTIONS.iter().find(|(function, _)| *function == name) {
            let (path, options) = text_arguments(&name, format, &args).map_err(external)?;
            let table = self.resolver.text_table(path, &options, None).map_err(external)?;
            return Ok(Arc::new(ScanSource::new(table)));
        }
        if name == UNNEST {
            return unnest(args).map(|plan| Arc::new(PlanSource::new(plan)) as Arc<dyn TableSource>);
        }
        if let Some(function) = self.functions.get(&name) {
            let arguments = table_function::constants(&name, args, self.config)?;
            let table = function.table(&name, &arguments).map_err(external)?;
            return Ok(Arc::new(ScanSource::new(table)));
        }
        let error = Error::user(format!("no table function named {name}"));
        let known_functions = FILE_FUNCTIONS.into_iter().chain(TEXT_FUNCTIONS.map(|(function, _)| function));
        Err(external(match nearest(&name, known_functions.chain(self.functions.names())) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None => error,
        }))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &FUNCTIONS.expr_planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        FUNCTIONS.scalar.get(name).cloned().or_else(|| Some(Arc::new(sequence::function(name, self.namespace)?)))
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        FUNCTIONS.higher_order.get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        FUNCTIONS.aggregate.get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        FUNCTIONS.window.get(name).cloned()
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.config
    }

    fn udf_names(&self) -> Vec<String> {
        FUNCTIONS.scalar.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        FUNCTIONS.higher_order.keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        FUNCTIONS.aggregate.keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        FUNCTIONS.window.keys().cloned().collect()
    }
}

/// True for functions whose named arguments are options.
pub(crate) fn takes_options(function: &str) -> bool {
    TEXT_FUNCTIONS.iter().any(|(name, _)| name.eq_ignore_ascii_case(function))
}

/// The path and the options of `read_csv('x.csv', 'delim=;')`, as [`dialect`] writes `delim = ';'`.
fn text_arguments<'e>(name: &str, format: &str, arguments: &'e [Expr]) -> Result<(&'e str, Vec<CopyOption>), Error> {
    let mut texts = arguments.iter().map(|argument| match argument {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Ok(text.as_str()),
        _ => Err(Error::user(format!("{name} takes a path in quotes, then options"))
            .with_hint(format!("for example: {name}('x.csv', header = true)"))),
    });
    let path = texts.next().unwrap_or_else(|| Err(Error::user(format!("{name} takes the path of a file"))))?;
    let mut options = vec![CopyOption { name: "format".to_owned(), value: Some(format.to_owned()) }];
    for text in texts {
        let (option, value) = text?.split_once('=').ok_or_else(|| {
            Error::user(format!("{name} takes one path")).with_hint("options have names: header = true")
        })?;
        options.push(CopyOption { name: option.to_lowercase(), value: Some(value.to_owned()) });
    }
    Ok((path, options))
}

/// The rows of lists, side by side, in columns unnest, unnest_1, …
fn unnest(lists: Vec<Expr>) -> Result<LogicalPlan> {
    if lists.is_empty() {
        return Err(external(Error::user("unnest takes a list").with_hint("for example: FROM unnest([1, 2, 3])")));
    }
    let name = |at: usize| if at == 0 { UNNEST.to_owned() } else { format!("{UNNEST}_{at}") };
    let columns: Vec<Column> = (0..lists.len()).map(|at| Column::new_unqualified(name(at))).collect();
    let named = lists.into_iter().enumerate().map(|(at, list)| list.alias(name(at)));
    let options = UnnestOptions::new().with_preserve_nulls(false);
    LogicalPlanBuilder::empty(true).project(named)?.unnest_columns_with_options(columns, options)?.build()
}

/// A plan that stands for a table: views, table functions, rows to write. The binder puts it in place of the scan.
pub(crate) struct PlanSource {
    plan: LogicalPlan,
    schema: SchemaRef,
}

impl PlanSource {
    pub(crate) fn new(plan: LogicalPlan) -> Self {
        Self { schema: Arc::new(plan.schema().as_arrow().clone()), plan }
    }
}

impl TableSource for PlanSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}
