//! Statements to plans.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{EmptyRelation, Expr, ExprSchemable, LogicalPlan, TableSource, lit};
use datafusion_sql::sqlparser::ast;
use godwit_common::{Error, Result};

use crate::binder::{Binder, PlanSource};
use crate::optimize::optimize;
use crate::parse::{Syntax, object_name, parse_script};
use crate::result_names::ResultNames;
use crate::{
    Catalog, CatalogEntry, ParsedStatement, Statement, TableFunctions, TableResolver, TableRules, ViewDefinition,
    plan_error, stack, summarize, write,
};

/// Plans statements against a catalog. Cheap to make and safe to share; a plan is a snapshot of the catalog.
pub struct Planner {
    catalog: Arc<Catalog>,
    pub(crate) resolver: Arc<dyn TableResolver>,
    functions: TableFunctions,
    config: Arc<ConfigOptions>,
}

impl Planner {
    /// A planner that finds tables in `catalog` first, then by path.
    pub fn new(catalog: Arc<Catalog>, resolver: Arc<dyn TableResolver>) -> Self {
        let mut config = ConfigOptions::default();
        config.sql_parser.parse_float_as_decimal = true;
        config.sql_parser.collect_spans = true;
        Self { catalog, resolver, functions: TableFunctions::default(), config: Arc::new(config) }
    }

    /// The same planner with these functions for FROM, besides those that read files.
    #[must_use]
    pub fn with_table_functions(mut self, functions: TableFunctions) -> Self {
        self.functions = functions;
        self
    }

    /// The same planner over another catalog.
    #[must_use]
    pub fn on(&self, catalog: Arc<Catalog>) -> Self {
        let (resolver, functions, config) = (self.resolver.clone(), self.functions.clone(), self.config.clone());
        Self { catalog, resolver, functions, config }
    }

    /// The names that statements refer to.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Splits a script into statements and parses each. Comments and empty statements are dropped.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        parse_script(sql)
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
            Syntax::CreateView(view) => self.create_view(view, parsed),
            Syntax::DropView { names, if_exists } => {
                Ok(Statement::DropView { names: names.clone(), if_exists: *if_exists })
            }
            Syntax::CreateTable(table) => self.create_table(table, parsed),
            Syntax::DropTable { names, if_exists } => {
                Ok(Statement::DropTable { names: names.clone(), if_exists: *if_exists })
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
            Syntax::Describe(query) => {
                let (bound, column_names) = self.bound(query, parsed)?;
                self.query_of(summarize::describe(&bound, &column_names), parsed)
            }
            Syntax::Summarize(query) => {
                let (bound, column_names) = self.bound(query, parsed)?;
                self.query_of(summarize::summarize(bound, &column_names), parsed)
            }
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
        Binder::new(&self.catalog, self.resolver.as_ref(), &self.functions, &self.config)
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
        optimize(plan, &self.config).map_err(|error| plan_error::of_planning(&error, parsed))
    }

    fn query_of(&self, plan: datafusion_common::Result<LogicalPlan>, parsed: &ParsedStatement) -> Result<Statement> {
        let plan = plan.map_err(|error| plan_error::of_planning(&error, parsed))?;
        let column_names = ResultNames::default().of_plan(&plan);
        Ok(Statement::Query { plan: self.optimize(plan, parsed)?, column_names })
    }

    fn create_view(&self, view: &ast::CreateView, parsed: &ParsedStatement) -> Result<Statement> {
        let definition = view_definition(view, parsed)?;
        let plan = self.binder().bind_view(&definition).map_err(|error| plan_error::of_planning(&error, parsed))?;
        self.optimize(plan, parsed)?;
        Ok(Statement::CreateView {
            view: Arc::new(definition),
            or_replace: view.or_replace,
            if_not_exists: view.if_not_exists,
        })
    }

    /// Binds the expressions of rules once, to tell errors when they are stated.
    pub(crate) fn bind_rules(&self, schema: &SchemaRef, rules: &TableRules, parsed: &ParsedStatement) -> Result<()> {
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
            let query = write::alone(default)?;
            let (bound, _) = self.bound_with(query, Vec::new(), parsed)?;
            let value = Expr::Column(bound.schema().columns().remove(0));
            let field = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case(column));
            let field = field.expect("defaults are of columns");
            value.cast_to(field.data_type(), bound.schema()).map_err(of_planning)?;
        }
        Ok(())
    }

    /// The view that a `CREATE VIEW` statement makes, without a look at what it refers to.
    pub fn parse_view(statement: &str) -> Result<ViewDefinition> {
        match &parse_script(statement)?[..] {
            [parsed] => match &parsed.syntax {
                Syntax::CreateView(view) => view_definition(view, parsed),
                _ => Err(Error::user("expected CREATE VIEW")),
            },
            _ => Err(Error::user("expected one statement")),
        }
    }

    fn show_tables(&self) -> datafusion_common::Result<LogicalPlan> {
        let rows: Vec<_> = self
            .catalog
            .entries()
            .into_iter()
            .map(|(name, entry)| {
                let kind = match entry {
                    CatalogEntry::Table(_) => "table",
                    CatalogEntry::View(_) => "view",
                };
                vec![lit(name), lit(kind)]
            })
            .collect();
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

fn view_definition(view: &ast::CreateView, parsed: &ParsedStatement) -> Result<ViewDefinition> {
    Ok(ViewDefinition {
        name: object_name(&view.name)?,
        sql: view.query.to_string(),
        column_names: view.columns.iter().map(|column| column.name.value.clone()).collect(),
        statement: (!view.temporary).then(|| parsed.text().to_owned()),
        query: view.query.clone(),
    })
}
