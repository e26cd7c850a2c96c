//! Statements to plans.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{EmptyRelation, Expr, ExprSchemable, LogicalPlan, TableSource, lit};
use datafusion_sql::sqlparser::ast;
use godwit_common::{Error, Result};

use crate::binder::{Binder, PlanSource};
use crate::names::{ObjectName, WrittenName, split_name};
use crate::optimize::{JoinOrder, optimize};
use crate::parse::{Syntax, parse_script};
use crate::result_names::ResultNames;
use crate::sequence::{sequences_in, stored_expression};
use crate::{
    CatalogEntry, FrontEnd, Namespace, ParsedStatement, Place, SCHEMA, Statement, TEMPORARY, TableFunctions,
    TableResolver, TableRules, ViewDefinition, plan_error, queries, stack, summarize, write,
};

/// Plans statements against the names that they see. Cheap to make and safe to share; a plan is a snapshot of them.
pub struct Planner {
    namespace: Namespace,
    pub(crate) resolver: Arc<dyn TableResolver>,
    pub(crate) functions: TableFunctions,
    config: Arc<ConfigOptions>,
    pub(crate) join_order: JoinOrder,
}

impl Planner {
    /// A planner that finds tables by name first, then by path.
    pub fn new(namespace: Namespace, resolver: Arc<dyn TableResolver>) -> Self {
        let mut config = ConfigOptions::default();
        config.sql_parser.parse_float_as_decimal = true;
        config.sql_parser.collect_spans = true;
        Self {
            namespace,
            resolver,
            functions: TableFunctions::default(),
            config: Arc::new(config),
            join_order: JoinOrder::default(),
        }
    }

    /// The same planner with these functions for FROM, besides those that read files.
    #[must_use]
    pub fn with_table_functions(mut self, functions: TableFunctions) -> Self {
        self.functions = functions;
        self
    }

    /// The same planner over other names.
    #[must_use]
    pub fn on(&self, namespace: Namespace) -> Self {
        let (resolver, functions, config) = (self.resolver.clone(), self.functions.clone(), self.config.clone());
        Self { namespace, resolver, functions, config, join_order: self.join_order }
    }

    /// The same planner with joins in another order.
    #[must_use]
    pub fn with_join_order(mut self, order: JoinOrder) -> Self {
        self.join_order = order;
        self
    }

    /// What names mean to statements.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Splits a script into statements and parses each. Comments and empty statements are dropped.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        self.parse_by(sql, FrontEnd::default())
    }

    /// The same by a front end.
    pub fn parse_by(&self, sql: &str, front_end: FrontEnd) -> Result<Vec<ParsedStatement>> {
        match front_end {
            FrontEnd::PlannerCrates => parse_script(sql),
            FrontEnd::Own => queries::parse_script(sql),
        }
    }

    /// Binds and optimizes a statement.
    pub fn plan(&self, parsed: &ParsedStatement) -> Result<Statement> {
        stack::with_stack(parsed.depth, || self.plan_on_stack(parsed))
    }

    fn plan_on_stack(&self, parsed: &ParsedStatement) -> Result<Statement> {
        match &parsed.syntax {
            Syntax::Query(query) => {
                let (bound, column_names) = self.bound(query, parsed)?;
                Ok(Statement::Query { plan: self.optimize(bound, parsed)?, column_names })
            }
            Syntax::Copy { query, path, options } => {
                let (bound, column_names) = self.bound(query, parsed)?;
                let plan = self.optimize(bound, parsed)?;
                Ok(Statement::Copy { plan, column_names, path: path.clone(), options: options.clone() })
            }
            Syntax::Explain { options, query } => {
                let (bound, _) = self.bound(query, parsed)?;
                Ok(Statement::Explain { options: *options, plan: self.optimize(bound, parsed)? })
            }
            Syntax::Own(own) => self.plan_own(own, parsed),
            Syntax::CreateView(view) => self.create_view(view, parsed),
            Syntax::DropView { names, if_exists } => Ok(Statement::DropView { names: self.named(names, *if_exists)? }),
            Syntax::CreateTable { table, encodings } => self.create_table(table, encodings, parsed),
            Syntax::DropTable { names, if_exists } => {
                Ok(Statement::DropTable { names: self.named(names, *if_exists)? })
            }
            Syntax::CreateSchema { name, if_not_exists } => self.create_schema(name, *if_not_exists),
            Syntax::DropSchema { names, if_exists, cascade } => self.drop_schemas(names, *if_exists, *cascade),
            Syntax::CreateSequence(create) => self.create_sequence(create),
            Syntax::DropSequence { names, if_exists } => {
                Ok(Statement::DropSequence { names: self.named(names, *if_exists)? })
            }
            Syntax::Use(places) => {
                let path = places.iter().map(|place| self.namespace.place(place.parts())).collect::<Result<_>>()?;
                Ok(Statement::Use { path })
            }
            Syntax::Insert { table, columns, source, clauses } => {
                self.insert(table, columns, source.as_deref(), clauses, parsed)
            }
            Syntax::CopyFrom(copy) => self.copy_from(copy, parsed),
            Syntax::Update(update) => self.update(update, parsed),
            Syntax::Delete(delete) => self.delete(delete, parsed),
            Syntax::Merge(merge) => self.merge(merge, parsed),
            Syntax::Truncate { table } => self.truncate(table, parsed),
            Syntax::Alter(alter) => self.alter_table(alter, parsed),
            Syntax::SetEncoding { alter, encoding } => self.set_encoding(alter, encoding),
            Syntax::CreateIndex(index) => self.create_index(index, parsed),
            Syntax::DropIndex { name, if_exists } => self.drop_index(name, *if_exists),
            Syntax::Nothing => Ok(Statement::Nothing),
            Syntax::Transaction(step) => Ok(Statement::Transaction(step.clone())),
            Syntax::Checkpoint => Ok(Statement::Checkpoint),
            Syntax::MergeDelta { table } => Ok(Statement::MergeDelta { table: self.target(table, None)?.name }),
            Syntax::Describe(query) => {
                let (bound, column_names) = self.bound(query, parsed)?;
                self.query_of(summarize::describe(&bound, &column_names), parsed)
            }
            Syntax::Summarize(query) => {
                let (bound, column_names) = self.bound(query, parsed)?;
                self.query_of(summarize::summarize(bound, &column_names), parsed)
            }
            Syntax::Attach(plan) => Ok(Statement::Attach(plan.clone())),
            Syntax::Detach { name, if_exists } => Ok(Statement::Detach { name: name.clone(), if_exists: *if_exists }),
            Syntax::Export { folder, options } => {
                Ok(Statement::Export { folder: folder.clone(), options: options.clone() })
            }
            Syntax::Import { folder } => Ok(Statement::Import { folder: folder.clone() }),
            Syntax::ShowDatabases => self.query_of(self.show_databases(), parsed),
            Syntax::ShowTables => self.query_of(self.show_tables(), parsed),
            Syntax::Show { name } => Ok(Statement::Show { name: name.clone() }),
            Syntax::Set { name, value } => Ok(Statement::Set { name: name.clone(), value: value.clone() }),
            Syntax::Reset { name } => Ok(Statement::Reset { name: name.clone() }),
            Syntax::Unsupported { what } => {
                let error = Error::unsupported(format!("{what} statements"));
                Err(error.with_hint("the README tells which statements there are"))
            }
        }
    }

    pub(crate) fn unknown_table(&self, name: &str) -> Error {
        self.binder().unknown_table(name)
    }

    pub(crate) fn binder(&self) -> Binder<'_> {
        Binder::new(&self.namespace, self.resolver.as_ref(), &self.functions, &self.config)
    }

    /// The bound plan, and the names of the result's columns.
    pub(crate) fn bound(&self, query: &ast::Query, parsed: &ParsedStatement) -> Result<(LogicalPlan, Vec<String>)> {
        self.bound_by(|| self.binder(), query, parsed)
    }

    /// As [`bound`](Self::bound), by binders that `binder` makes.
    pub(crate) fn bound_by<'a>(
        &'a self,
        binder: impl Fn() -> Binder<'a>,
        query: &ast::Query,
        parsed: &ParsedStatement,
    ) -> Result<(LogicalPlan, Vec<String>)> {
        let bind = |alias_all| {
            let mut query = Box::new(query.clone());
            let names = ResultNames::of_query(&mut query, alias_all);
            binder().bind(query).map(|plan| (names.of_plan(&plan), plan))
        };
        let bound =
            bind(false).or_else(|error| if plan_error::is_repetition(&error) { bind(true) } else { Err(error) });
        let (names, plan) = bound.map_err(|error| plan_error::of_planning(&error, parsed))?;
        Ok((plan, names))
    }

    pub(crate) fn optimize(&self, plan: LogicalPlan, parsed: &ParsedStatement) -> Result<LogicalPlan> {
        optimize(plan, &self.config, self.join_order).map_err(|error| plan_error::of_planning(&error, parsed))
    }

    fn query_of(&self, plan: datafusion_common::Result<LogicalPlan>, parsed: &ParsedStatement) -> Result<Statement> {
        let plan = plan.map_err(|error| plan_error::of_planning(&error, parsed))?;
        let column_names = ResultNames::default().of_plan(&plan);
        Ok(Statement::Query { plan: self.optimize(plan, parsed)?, column_names })
    }

    fn create_view(&self, view: &ast::CreateView, parsed: &ParsedStatement) -> Result<Statement> {
        let written = WrittenName::of(&view.name)?;
        let name = self.namespace.new_name(&written, view.temporary)?;
        let current = self.namespace.current();
        let is_temporary = &*name.database == TEMPORARY;
        let schema = match is_temporary || current.database == name.database {
            true => current.schema.clone(),
            false => split_name(&name.name).0,
        };
        let mut definition = view_definition(name.name.clone(), schema, view, parsed);
        definition.database = is_temporary.then(|| current.database.clone());
        let plan = self
            .binder()
            .bind_view(&name.database, &definition)
            .map_err(|error| plan_error::of_planning(&error, parsed))?;
        self.optimize(plan, parsed)?;
        Ok(Statement::CreateView {
            name,
            view: Arc::new(definition),
            or_replace: view.or_replace,
            if_not_exists: view.if_not_exists,
        })
    }

    /// Binds the expressions of rules once, to tell errors when they are stated.
    pub(crate) fn bind_rules(
        &self,
        database: &str,
        schema: &SchemaRef,
        rules: &TableRules,
        parsed: &ParsedStatement,
    ) -> Result<()> {
        let of_planning = |error| plan_error::of_planning(&error, parsed);
        let rows = EmptyRelation { produce_one_row: false, schema: DFSchemaRef::new(dfschema(schema)?) };
        let rows = LogicalPlan::EmptyRelation(rows);
        let source: Arc<dyn TableSource> = Arc::new(PlanSource::new(rows));
        for check in &rules.checks {
            let query = write::over_rows(&check.condition)?;
            let (bound, _) = self.bound_with(query, vec![(write::ROWS.to_owned(), source.clone())], parsed)?;
            if !matches!(bound.schema().field(0).data_type(), DataType::Boolean | DataType::Null) {
                return Err(Error::user(format!("the condition of {} isn't true or false", check.name)));
            }
        }
        for (column, default) in &rules.defaults {
            let is_missing = |full: &String| {
                let catalog = self.namespace.catalog(database);
                catalog.is_none_or(|catalog| catalog.get(full).is_none())
            };
            // The sequence of an identity is made with its table.
            if sequences_in(default).iter().any(is_missing) {
                continue;
            }
            let query = write::alone(stored_expression(database, default)?)?;
            let (bound, _) = self.bound_with(query, Vec::new(), parsed)?;
            let value = Expr::Column(bound.schema().columns().remove(0));
            let field = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case(column));
            let field = field.expect("defaults are of columns");
            value.cast_to(field.data_type(), bound.schema()).map_err(of_planning)?;
        }
        Ok(())
    }

    /// The view that a `CREATE VIEW` statement makes, without a look at what it refers to. The full name and the schema, in
    /// which the query's names are looked for first, are as they were when it was run.
    pub fn parse_view(name: &str, schema: &str, statement: &str) -> Result<ViewDefinition> {
        match &parse_script(statement)?[..] {
            [parsed] => match &parsed.syntax {
                Syntax::CreateView(view) => Ok(view_definition(name.to_owned(), schema.to_owned(), view, parsed)),
                _ => Err(Error::user("expected CREATE VIEW")),
            },
            _ => Err(Error::user("expected one statement")),
        }
    }

    /// The objects that names stand for, or would, if there were some.
    fn named(&self, written: &[WrittenName], if_exists: bool) -> Result<Vec<ObjectName>> {
        let mut names = Vec::new();
        for written in written {
            match self.namespace.find(written.parts()) {
                Some((name, _)) => names.push(name),
                None if if_exists => {}
                None => names.push(self.namespace.new_name(written, false)?),
            }
        }
        Ok(names)
    }

    fn create_schema(&self, name: &WrittenName, if_not_exists: bool) -> Result<Statement> {
        let database = match name.parts() {
            [database, _] => self.namespace.place(&[database.as_str(), SCHEMA])?.database,
            [_] => self.namespace.current().database.clone(),
            _ => return Err(Error::user(format!("{name} is no name of a schema"))),
        };
        let place = Place { database, schema: name.last().to_owned() };
        Ok(Statement::CreateSchema { place, if_not_exists })
    }

    fn drop_schemas(&self, names: &[WrittenName], if_exists: bool, cascade: bool) -> Result<Statement> {
        let mut places = Vec::new();
        for name in names {
            match self.namespace.place(name.parts()) {
                Ok(place) => places.push(place),
                Err(_) if if_exists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Statement::DropSchema { places, cascade })
    }

    fn show_databases(&self) -> datafusion_common::Result<LogicalPlan> {
        let databases = self.namespace.databases().iter().filter(|(name, _)| &**name != TEMPORARY);
        summarize::values(databases.map(|(name, _)| vec![lit(&**name)]).collect(), &["database_name"])
    }

    fn show_tables(&self) -> datafusion_common::Result<LogicalPlan> {
        let mut rows = Vec::new();
        for (database, catalog) in self.namespace.databases() {
            for (full, entry) in catalog.entries() {
                let (schema, name) = split_name(&full);
                let is_seen = |place: &Place| place.database == *database && place.schema == schema;
                let kind = match entry {
                    CatalogEntry::Table(_) => "table",
                    CatalogEntry::View(_) => "view",
                    CatalogEntry::Sequence(_) | CatalogEntry::Schema(_) => continue,
                };
                if &**database == TEMPORARY || self.namespace.path().iter().any(is_seen) {
                    rows.push(vec![lit(name), lit(kind)]);
                }
            }
        }
        summarize::values(rows, &["name", "kind"])
    }

    /// Plans a query given as text: parse, bind, optimize. An error if it isn't exactly one query.
    pub fn plan_query(&self, sql: &str) -> Result<LogicalPlan> {
        let parsed = self.parse(sql)?;
        let [statement] = parsed.as_slice() else {
            return Err(Error::user(format!("expected one statement, found {}", parsed.len())));
        };
        match self.plan(statement)? {
            Statement::Query { plan, .. } => Ok(plan),
            _ => Err(Error::user("expected a query")),
        }
    }
}

fn dfschema(schema: &SchemaRef) -> Result<DFSchema> {
    DFSchema::try_from(schema.clone()).map_err(|error| Error::internal(error.to_string()))
}

fn view_definition(name: String, schema: String, view: &ast::CreateView, parsed: &ParsedStatement) -> ViewDefinition {
    ViewDefinition {
        name,
        schema,
        database: None,
        sql: view.query.to_string(),
        column_names: view.columns.iter().map(|column| column.name.value.clone()).collect(),
        statement: parsed.text().to_owned(),
        query: view.query.clone(),
    }
}
