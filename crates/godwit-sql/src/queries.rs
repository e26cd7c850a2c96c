//! Queries: bound and optimized as [`godwit_plan::Plan`]s.

use std::sync::Arc;

use godwit_bind::Environment;
use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::{Error, Result, Span, SqlState, with_stack};
use godwit_io::at_once;
use godwit_optimize::{OptimizerSettings, Passes, optimize};
use godwit_plan::{Plan, ReadSamples, TableSample};
use godwit_syntax::ast::{
    self, CopyDirection, CopyPath, CopySource, Expr, ExprKind, Query, SetExprKind, TableFactor, TableFactorKind,
    TableWithJoins,
};
use godwit_types::{SqlType, Value};

use crate::environment::{Reader, StatementNames};
use crate::session::option_value;
use crate::{Definition, ExplainOptions, Interrupt, JoinOrder, Planner, QueryStatement, Statement, WriteStatement};

/// The standard streams as files.
const STANDARD_INPUT: &str = "/dev/stdin";
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// Maximum number of levels of a plan. Each is an operator and may hold memory.
const PLAN_LEVELS_MAX: usize = 2_500;

impl Planner {
    /// Returns the names seen by the statements of our binder.
    pub(crate) fn statement_names(&self) -> Arc<StatementNames> {
        let (namespace, resolver) = (self.namespace().clone(), self.resolver.clone());
        let names = StatementNames::new(namespace, resolver, self.functions.clone(), self.session().clone());
        // Results of writes aren't available while the statement is planned.
        let read_rows = self.read_rows.clone().filter(|_| self.written.is_empty());
        let reader = read_rows.map(|read_rows| Reader { optimizer: self.optimizer(), read_rows });
        Arc::new(names.with_written(&self.written).with_reader(reader).with_row_ids(self.row_ids))
    }

    /// Returns the optimized plan of a query.
    pub(crate) fn planned(&self, query: &Query) -> Result<Arc<Plan>> {
        let names = self.statement_names();
        let mut binder = self.binder(&names);
        binder.query(query)?;
        self.optimized(binder.plan, &names)
    }

    /// Does the same for a result set, in which ENUM labels are strings.
    pub(crate) fn shown(&self, query: &Query) -> Result<Arc<Plan>> {
        self.shown_as(query, SqlType::for_exchange)
    }

    /// Plans a query whose rows go to a file. CSV has only text, which casts read back.
    pub(crate) fn copied(&self, query: &Query, path: &str, options: &[CopyOption]) -> Result<Arc<Plan>> {
        let is_csv = is_of_format(path, options, &["csv", "tsv"]);
        let text = |ty: &SqlType| if is_csv && ty.is_nested() { Some(SqlType::Varchar) } else { ty.for_exchange() };
        self.shown_as(query, text)
    }

    fn shown_as(&self, query: &Query, shown: impl Fn(&SqlType) -> Option<SqlType>) -> Result<Arc<Plan>> {
        let names = self.statement_names();
        let mut binder = self.binder(&names);
        binder.query(query)?;
        binder.show_as(shown)?;
        self.optimized(binder.plan, &names)
    }

    /// Optimizes a bound plan.
    pub(crate) fn optimized(&self, plan: Plan, names: &StatementNames) -> Result<Arc<Plan>> {
        self.optimizer().optimized(plan, names)
    }

    fn optimizer(&self) -> Optimizer {
        let threads = self.threads.min(SAMPLING_THREADS_MAX);
        let (interrupt, check) = (self.interrupt.clone(), self.interrupt.clone());
        let read = move |columns: &[(&dyn TableSample, usize)]| {
            at_once(columns, threads, |(sample, column)| check().is_ok().then(|| sample.read(*column)));
        };
        let (join_order, trust_ranges) = (self.join_order, !self.outlives_rows);
        Optimizer { join_order, read_samples: Arc::new(read), trust_ranges, interrupt }
    }

    pub(crate) fn explain(&self, explain: &ast::Explain) -> Result<Statement> {
        let ast::Explain { analyze, options, statement } = explain;
        let options = explain_options(*analyze, options)?;
        if let ast::Statement::Query(query) = statement {
            return Ok(Statement::Query(QueryStatement::Explain { options, plan: self.shown(query)? }));
        }
        let planned = self.planned_write(statement)?;
        if options.analyze {
            return planned.and_then(|planned| analyzed(planned, options)).ok_or_else(|| {
                let error = Error::unsupported("EXPLAIN ANALYZE of a statement of this kind");
                error.with_hint("it runs SELECT, INSERT, UPDATE, DELETE, MERGE, COPY and CREATE TABLE AS")
            });
        }
        let plan = planned.as_ref().and_then(Statement::plan).cloned();
        let plan = plan.ok_or_else(|| Error::unsupported("EXPLAIN of a statement without a plan"))?;
        Ok(Statement::Query(QueryStatement::Explain { options, plan }))
    }

    /// Plans a statement that writes the rows of a plan.
    fn planned_write(&self, statement: &ast::Statement) -> Result<Option<Statement>> {
        Ok(match statement {
            ast::Statement::Insert(insert) => Some(self.planned_insert(insert)?),
            ast::Statement::Update(update) => Some(self.update(update)?),
            ast::Statement::Delete(delete) => Some(self.delete(delete)?),
            ast::Statement::Merge(merge) => Some(self.merge(merge)?),
            ast::Statement::CreateTable(table) => Some(self.create_table(table)?),
            ast::Statement::Copy(copy) => Some(self.copy(copy)?),
            _ => None,
        })
    }

    fn computed_path(&self, path: &Expr) -> Result<String> {
        match self.binder(&self.statement_names()).constant_value(path)? {
            (Value::Text(path), _) => Ok(path.to_string()),
            (Value::Null, _) => Err(Error::user("the path of COPY is NULL").at_span(path.span)),
            (_, ty) => Err(Error::user(format!("the path of COPY is text, this is {ty}")).at_span(path.span)),
        }
    }

    /// Returns the options of COPY and EXPORT: words, or constant expressions.
    fn copy_options(&self, options: &[ast::StatementOption]) -> Result<Vec<CopyOption>> {
        let option = |option: &ast::StatementOption| {
            let name = option.name.text.to_lowercase();
            let computed = |value: &Expr| {
                let (constant, ty) = self.binder(&self.statement_names()).constant_value(value)?;
                OptionValue::of(&name, &constant, &ty).map_err(|error| error.at_span(value.span))
            };
            let value = match &option.value {
                None => OptionValue::Absent,
                Some(value) => option_value(value).map_or_else(|| computed(value), Ok)?,
            };
            Ok(CopyOption { name, value })
        };
        options.iter().map(option).collect()
    }

    pub(crate) fn export_plan(&self, export: &ast::ExportDatabase) -> Result<Statement> {
        let options = self.copy_options(&export.options)?;
        Ok(Statement::Query(QueryStatement::Export { folder: export.folder.to_string(), options }))
    }

    /// Plans COPY, in either direction.
    pub(crate) fn copy(&self, copy: &ast::Copy) -> Result<Statement> {
        let mut options = self.copy_options(&copy.options)?;
        let path = match (&copy.path, copy.direction) {
            (CopyPath::File(path, _), _) => path.to_string(),
            (CopyPath::Computed(path), _) => self.computed_path(path)?,
            (CopyPath::Standard(_), direction) => {
                if !options.iter().any(|option| option.name == "format") {
                    options.push(CopyOption::new("format", "csv"));
                }
                if direction == CopyDirection::To { STANDARD_OUTPUT } else { STANDARD_INPUT }.to_owned()
            }
        };
        let mut query = match (copy.direction, &copy.source) {
            (CopyDirection::From, CopySource::Table { name, columns }) => {
                return self.copy_from(name, columns, &path, &options);
            }
            (CopyDirection::From, CopySource::Query(query)) => {
                return Err(Error::user("COPY … FROM takes the name of a table").at_span(query.span));
            }
            (CopyDirection::To, CopySource::Query(query)) => (**query).clone(),
            (CopyDirection::To, CopySource::Table { name, columns }) => table_query(name.clone(), columns.clone()),
        };
        order_by_partition(&mut query, &options);
        let plan = self.copied(&query, &path, &options)?;
        Ok(Statement::Query(QueryStatement::Copy { plan, path, options, analyzed: None }))
    }
}

/// Returns a statement that does the same as one that writes the rows of a plan, and whose result is what happened;
/// `None` if it has no plan.
fn analyzed(statement: Statement, options: ExplainOptions) -> Option<Statement> {
    statement.plan()?;
    Some(match statement {
        Statement::Write(WriteStatement::Planned(write)) => {
            Statement::Write(WriteStatement::Analyzed { write, options })
        }
        Statement::Query(mut query) => {
            if let QueryStatement::Copy { analyzed, .. } = &mut query {
                *analyzed = Some(options);
            }
            Statement::Query(query)
        }
        Statement::Definition(mut definition) => {
            if let Definition::CreateTable { analyzed, .. } = &mut definition {
                *analyzed = Some(options);
            }
            Statement::Definition(definition)
        }
        Statement::Write(_)
        | Statement::Session(_)
        | Statement::Transaction(_)
        | Statement::Execute { .. }
        | Statement::Import { .. } => return None,
    })
}

/// Returns true if the option FORMAT, or otherwise the path, names one of these formats.
pub(crate) fn is_of_format(path: &str, options: &[CopyOption], formats: &[&str]) -> bool {
    let named = options.iter().find(|option| option.name == "format").and_then(CopyOption::word);
    let path = path.to_lowercase();
    formats.iter().any(|format| match named {
        Some(named) => named.eq_ignore_ascii_case(format),
        None => path.contains(&format!(".{format}")),
    })
}

fn explain_options(analyze: bool, options: &[ast::StatementOption]) -> Result<ExplainOptions> {
    let mut explain = ExplainOptions { analyze, json: false };
    for option in options {
        let value = option.text().map(|text| text.to_lowercase());
        match (&*option.name.text.to_lowercase(), value.as_deref()) {
            ("analyze", _) => explain.analyze = true,
            ("format", Some(format @ ("text" | "json"))) => explain.json = format == "json",
            ("format", _) => {
                return Err(Error::user("expected FORMAT text or FORMAT json").at_span(option.name.span));
            }
            _ => return Err(Error::user("expected ANALYZE or FORMAT").at_span(option.name.span)),
        }
    }
    Ok(explain)
}

/// Maximum number of threads that read samples: each holds some pages, and there is seldom more to read.
const SAMPLING_THREADS_MAX: usize = 8;

/// Settings for optimizing plans.
pub(crate) struct Optimizer {
    join_order: JoinOrder,
    read_samples: ReadSamples,
    trust_ranges: bool,
    interrupt: Interrupt,
}

impl Optimizer {
    pub(crate) fn optimized(&self, mut plan: Plan, names: &StatementNames) -> Result<Arc<Plan>> {
        let levels = plan.levels();
        if levels.iter().any(|&levels| levels > PLAN_LEVELS_MAX) {
            let message = format!("the query nests operators deeper than {PLAN_LEVELS_MAX} levels");
            let error = Error::user(message).with_code(SqlState::STATEMENT_TOO_COMPLEX);
            return Err(error.with_hint("store an inner part as a table"));
        }
        with_stack(levels.iter().sum(), || {
            let Self { join_order, trust_ranges, ref interrupt, ref read_samples } = *self;
            let (check, disabled) = (&|| interrupt(), Passes::NONE);
            let read_samples = Some(read_samples.clone());
            let settings = OptimizerSettings { disabled, join_order, read_samples, trust_ranges, check };
            optimize(&mut plan, names.functions(), &settings)
        })?;
        Ok(Arc::new(plan))
    }
}

/// Builds `SELECT * FROM function(arguments)`.
pub(crate) fn query_of_call(statement: &ast::CallStatement) -> Query {
    let span = statement.span;
    let call = Box::new(statement.call.clone());
    let kind = TableFactorKind::Function { call, lateral: false, with_ordinality: false };
    let relation = TableFactor { kind, alias: None, sample: None, span };
    let star = Expr { kind: ExprKind::Wildcard(Box::default()), span };
    select_query(vec![ast::SelectItem { expr: star, alias: None }], relation, span)
}

/// Builds `SELECT columns FROM table`.
fn table_query(name: ast::ObjectName, columns: Vec<ast::Ident>) -> Query {
    let span = name.span;
    if columns.is_empty() {
        return Query::of(SetExprKind::Table(name), span);
    }
    let item = |column: ast::Ident| {
        let span = column.span;
        ast::SelectItem { expr: Expr { kind: ExprKind::Column(vec![column]), span }, alias: None }
    };
    let relation = TableFactor { kind: TableFactorKind::Table(name), alias: None, sample: None, span };
    select_query(columns.into_iter().map(item).collect(), relation, span)
}

/// Orders rows by partition, so that few files are open at once, unless the query has its own order.
fn order_by_partition(query: &mut Query, options: &[CopyOption]) {
    let partition_by = options.iter().find(|option| option.name == "partition_by");
    let Some(columns) = partition_by.filter(|option| option.word() != Some("*")).and_then(|option| option.texts().ok())
    else {
        return;
    };
    if query.order_by.is_some() || query.limit.is_some() || query.offset.is_some() {
        return;
    }
    let span = query.span;
    let key = |name: &String| {
        let column = ast::Ident { text: name.as_str().into(), quoted: false, span };
        let expr = Expr { kind: ExprKind::Column(vec![column]), span };
        ast::OrderByExpr { expr, direction: None, nulls: None }
    };
    query.order_by = Some(ast::OrderBy::Exprs(columns.iter().map(key).collect()));
}

/// Builds `SELECT projection FROM relation`.
fn select_query(projection: Vec<ast::SelectItem>, relation: TableFactor, span: Span) -> Query {
    let from = vec![TableWithJoins { relation, joins: Vec::new() }];
    let select = ast::Select { from, ..ast::Select::of(projection, span) };
    Query::of(SetExprKind::Select(Box::new(select)), span)
}
