//! Planning of statements.

use std::sync::Arc;

use godwit_bind::{Binder, Environment, SPECIAL_FORMS, TextRows, Written};
use godwit_catalog::names::{WrittenName, plain};
use godwit_catalog::{CopyOption, Namespace, ObjectName, TableFunctions, TableResolver};
use godwit_common::{Error, Result, Span, with_stack};
use godwit_functions::{Listed, ListedKind};
use godwit_plan::Plan;
use godwit_syntax::ast::{self, SetExprKind};
use godwit_types::{SqlType, Value};

use crate::environment::{StatementNames, mentions_row_ids, table_functions};
use crate::parse::parse_script;
use crate::queries::query_of_call;
use crate::session::{attach_plan, begin_transaction, load_extension, pragma_query, pragma_setting, reset_setting};
use crate::statement_files::StatementFiles;
use crate::{
    Definition, JoinOrder, ParsedStatement, QueryStatement, SessionStatement, SessionValues, Statement,
    TransactionStep, built_in_macros, sequence,
};

/// Plans statements against the names that they see. Cheap to create and safe to share; plans are made against a
/// snapshot of the names.
#[derive(Clone)]
pub struct Planner {
    namespace: Namespace,
    pub(crate) resolver: Arc<dyn TableResolver>,
    pub(crate) functions: TableFunctions,
    pub(crate) join_order: JoinOrder,
    /// Threads that may read samples of tables.
    pub(crate) threads: usize,
    session: SessionValues,
    /// Types of the first parameters, by number.
    parameter_types: Vec<SqlType>,
    /// Values of all parameters, with their names, if the plan may depend on them.
    parameter_values: Arc<[(String, Value, SqlType)]>,
    /// Plans may run over later versions of the tables for which they are made.
    pub(crate) outlives_rows: bool,
    /// Fails once the statement has been cancelled.
    pub(crate) interrupt: Interrupt,
    /// Reads rows that planning depends on.
    pub(crate) read_rows: Option<ReadRows>,
    /// Results of writes in the statement's WITH, by their positions.
    pub(crate) written: Vec<(Span, Written)>,
    /// The statement that is planned may refer to the ids of rows.
    pub(crate) row_ids: bool,
}

/// Called while a statement is planned; fails once it has been cancelled.
pub type Interrupt = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// Runs a plan while a statement is planned; returns its distinct rows, or an error if there are more than this many.
pub type ReadRows = Arc<dyn Fn(&Plan, usize) -> Result<TextRows> + Send + Sync>;

/// Returns an interrupt that never fails.
fn uninterrupted() -> Interrupt {
    Arc::new(|| Ok(()))
}

impl Planner {
    /// Creates a planner that finds tables by name first, then by path.
    pub fn new(namespace: Namespace, resolver: Arc<dyn TableResolver>) -> Self {
        Self {
            namespace,
            resolver,
            functions: TableFunctions::default(),
            join_order: JoinOrder::default(),
            threads: 1,
            session: SessionValues::default(),
            parameter_types: Vec::new(),
            parameter_values: Arc::default(),
            outlives_rows: false,
            interrupt: uninterrupted(),
            read_rows: None,
            written: Vec::new(),
            row_ids: false,
        }
    }

    /// Returns the same planner for tables in files that this resolver finds.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn TableResolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Returns the same planner with these table functions, besides those that read files.
    #[must_use]
    pub fn with_table_functions(mut self, functions: TableFunctions) -> Self {
        self.functions = functions;
        self
    }

    /// Lists the table functions, the built-in macros, the forms of the binder, and the functions of sequences.
    pub fn listed_functions(&self) -> Vec<Listed> {
        let unnest = Listed::table(&["unnest"], "list, …", "A row for each element of the lists, side by side");
        let macros = built_in_macros::listed().filter(|listed| listed.kind == ListedKind::Macro);
        let forms = SPECIAL_FORMS.iter().map(|form| {
            let table = Listed::table(form.names, form.arguments, form.description);
            let kind = if form.is_aggregate { ListedKind::Aggregate } else { ListedKind::Scalar };
            Listed { kind, category: "Special forms", examples: vec![form.example], ..table }
        });
        let others = macros.chain(forms).chain(sequence::listed());
        table_functions(&self.functions).chain([unnest]).chain(others).collect()
    }

    /// Returns the same planner over other names.
    #[must_use]
    pub fn on(&self, namespace: Namespace) -> Self {
        let (resolver, functions) = (self.resolver.clone(), self.functions.clone());
        let (join_order, interrupt) = (self.join_order, self.interrupt.clone());
        Self {
            namespace,
            resolver,
            functions,
            join_order,
            threads: self.threads,
            session: self.session.clone(),
            parameter_types: Vec::new(),
            parameter_values: Arc::default(),
            outlives_rows: false,
            interrupt,
            read_rows: None,
            written: Vec::new(),
            row_ids: false,
        }
    }

    /// Returns the same planner with another join order.
    #[must_use]
    pub fn with_join_order(mut self, order: JoinOrder) -> Self {
        self.join_order = order;
        self
    }

    /// Returns the same planner with this many threads to read samples of tables.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Returns the same planner for statements of a session with these values.
    #[must_use]
    pub fn with_session(mut self, session: SessionValues) -> Self {
        self.session = session;
        self
    }

    /// Returns the values of the session.
    pub fn session(&self) -> &SessionValues {
        &self.session
    }

    /// Returns the same planner, which gives up when `interrupt` fails.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Returns the same planner, which may read rows while planning.
    #[must_use]
    pub fn with_rows(mut self, read_rows: ReadRows) -> Self {
        self.read_rows = Some(read_rows);
        self
    }

    /// Returns how it orders joins.
    pub fn join_order(&self) -> JoinOrder {
        self.join_order
    }

    /// Returns the same planner for a statement whose first parameters have these types.
    #[must_use]
    pub fn with_parameter_types(mut self, types: &[SqlType]) -> Self {
        self.parameter_types = types.to_vec();
        self
    }

    /// Returns the same planner for a plan with these values in place of parameters, given with their names.
    #[must_use]
    pub fn with_parameter_values(mut self, values: Vec<(String, Value, SqlType)>) -> Self {
        self.parameter_values = values.into();
        self
    }

    /// Returns the same planner for plans that stay valid when rows change, as long as no definition does.
    #[must_use]
    pub fn outliving_rows(mut self) -> Self {
        (self.outlives_rows, self.read_rows) = (true, None);
        self
    }

    pub(crate) fn binder(&self, names: &Arc<StatementNames>) -> Binder {
        let mut binder = Binder::new(names.clone()).with_parameter_values(self.parameter_values.clone());
        for (number, ty) in (1..).zip(&self.parameter_types) {
            let parameter = binder.plan.parameter(&number.to_string());
            binder.plan.parameter_info_mut(parameter).ty = ty.clone();
        }
        binder
    }

    /// Returns the names that statements see.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Splits a script into statements and parses each. Comments and empty statements are dropped.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        parse_script(sql)
    }

    /// Binds and optimizes a statement.
    pub fn plan(&self, parsed: &ParsedStatement) -> Result<Statement> {
        let row_ids = mentions_row_ids(parsed.text());
        let planned = with_stack(parsed.depth, || match StatementFiles::of(&parsed.statement, &self.resolver) {
            Some(files) => Self { resolver: Arc::new(files), row_ids, ..self.clone() }.plan_on_stack(parsed),
            None if row_ids => Self { row_ids, ..self.clone() }.plan_on_stack(parsed),
            None => self.plan_on_stack(parsed),
        });
        planned.map_err(|error| error.locate(&parsed.script))
    }

    fn plan_on_stack(&self, parsed: &ParsedStatement) -> Result<Statement> {
        use ast::Statement as Tree;
        if let Some(parts) = self.with_writes(&parsed.statement)? {
            return Ok(parts);
        }
        match &parsed.statement {
            Tree::Query(_) | Tree::Insert(_) | Tree::Update(_) | Tree::Delete(_) | Tree::Merge(_) => {
                self.rows_statement(&parsed.statement)
            }
            Tree::Describe(describe) => {
                self.query(&ast::Query::of(SetExprKind::Describe(describe.clone()), describe.span))
            }
            Tree::Summarize(describe) => {
                self.query(&ast::Query::of(SetExprKind::Summarize(describe.clone()), describe.span))
            }
            Tree::Show(show) => self.show(show),
            Tree::Explain(explain) => self.explain(explain),
            Tree::Trace(trace) => self.trace(trace),
            Tree::Copy(copy) => self.copy(copy),
            Tree::ExportDatabase(export) => self.export_plan(export),
            Tree::ImportDatabase(import) => Ok(Statement::Import { folder: import.folder.to_string() }),
            Tree::Truncate(truncate) => self.truncate(truncate),
            Tree::CreateTable(table) => self.create_table(table),
            Tree::CreateView(view) => self.create_view(view, parsed),
            Tree::CreateSchema(create) => self.create_schema(create),
            Tree::CreateSequence(create) => self.create_sequence(create),
            Tree::CreateIndex(index) => self.create_index(index),
            Tree::Drop(drop) => self.drop_objects(drop),
            Tree::AlterTable(alter) => self.alter_table(alter),
            Tree::Set(set) => self.set(set, parsed),
            Tree::Pragma(pragma) => match pragma_query(pragma) {
                Some(sql) => {
                    let plan = self.plan_query(&sql).map_err(|error| error.only_at_span(pragma.span))?;
                    Ok(Statement::Query(QueryStatement::Rows { plan }))
                }
                None => pragma_setting(pragma, parsed),
            },
            Tree::Reset(reset) => reset_setting(reset),
            Tree::Use(place) => self.use_places(&[WrittenName::of(&place.name)?]),
            Tree::LoadExtension(load) => load_extension(load),
            Tree::Attach(attach) => attach_plan(attach),
            Tree::Detach(detach) => Ok(Statement::Session(SessionStatement::Detach {
                name: plain(&detach.name),
                if_exists: detach.if_exists,
            })),
            // Checkpoints remove deleted rows; statistics are always kept up to date.
            Tree::Checkpoint(_) | Tree::Vacuum(_) => Ok(Statement::Session(SessionStatement::Checkpoint)),
            Tree::Analyze(_) => Ok(Statement::Definition(Definition::Nothing)),
            Tree::MergeDelta(merge) => {
                Ok(Statement::Session(SessionStatement::MergeDelta { table: self.target(&merge.table)?.name }))
            }
            Tree::Begin(begin) => begin_transaction(begin),
            Tree::Commit => Ok(Statement::Transaction(TransactionStep::Commit)),
            Tree::Rollback => Ok(Statement::Transaction(TransactionStep::Rollback)),
            Tree::Savepoint(name) => Ok(Statement::Transaction(TransactionStep::Savepoint(plain(name)))),
            Tree::ReleaseSavepoint(name) => Ok(Statement::Transaction(TransactionStep::Release(plain(name)))),
            Tree::RollbackToSavepoint(name) => Ok(Statement::Transaction(TransactionStep::RollbackTo(plain(name)))),
            Tree::CreateType(create) => self.create_type(create),
            Tree::CreateMacro(create) => self.create_macro(create, parsed),
            Tree::AlterObject(alter) => self.alter_object(alter),
            Tree::CommentOn(comment) => self.comment_on(comment),
            Tree::SetVariable(set) => self.set_variable(set),
            Tree::Prepare(prepare) => self.prepare(prepare, parsed),
            Tree::Execute(execute) => self.execute(execute),
            Tree::Deallocate(deallocate) => {
                Ok(Statement::Session(SessionStatement::Deallocate { name: deallocate.name.as_ref().map(plain) }))
            }
            Tree::Call(call) => self.query(&query_of_call(call)),
        }
    }

    /// Plans a statement that may begin with WITH.
    pub(crate) fn rows_statement(&self, statement: &ast::Statement) -> Result<Statement> {
        use ast::Statement as Tree;
        match statement {
            Tree::Query(query) => self.query(query),
            Tree::Insert(insert) => self.insert(insert),
            Tree::Update(update) => self.update(update),
            Tree::Delete(delete) => self.delete(delete),
            Tree::Merge(merge) => self.merge(merge),
            _ => Err(Error::internal("a statement that has no WITH")),
        }
    }

    fn query(&self, query: &ast::Query) -> Result<Statement> {
        Ok(Statement::Query(QueryStatement::Rows { plan: self.shown(query)? }))
    }

    pub(crate) fn unknown_table(&self, name: &str) -> Error {
        self.statement_names().unknown_table(name)
    }

    /// Returns the objects of these names, or where they would be.
    pub(crate) fn named(&self, written: &[WrittenName], if_exists: bool) -> Result<Vec<ObjectName>> {
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

    /// Plans a query, given as text, whose rows go to a file.
    pub fn plan_copy(&self, sql: &str, path: &str, options: &[CopyOption]) -> Result<Arc<Plan>> {
        let parsed = self.parse(sql)?;
        match parsed.first().map(|parsed| (&parsed.statement, parsed.depth)) {
            Some((ast::Statement::Query(query), depth)) => with_stack(depth, || self.copied(query, path, options)),
            _ => Err(Error::user("expected a query")),
        }
    }

    /// Plans a query given as text: parses, binds, and optimizes it. Fails unless it is exactly one query.
    pub fn plan_query(&self, sql: &str) -> Result<Arc<Plan>> {
        let parsed = self.parse(sql)?;
        let [statement] = parsed.as_slice() else {
            return Err(Error::user(format!("expected one statement, found {}", parsed.len())));
        };
        match self.plan(statement)? {
            Statement::Query(QueryStatement::Rows { plan }) => Ok(plan),
            _ => Err(Error::user("expected a query")),
        }
    }
}
