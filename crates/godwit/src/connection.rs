//! A connection runs statements.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::LogicalPlan;
use godwit_common::{Error, Result, format_bytes};
use godwit_exec::pipeline::Sink;
use godwit_exec::{CancelToken, Json, PhysicalPlan, QueryContext, ResultCollector, plan_query};
use godwit_files::{CopySink, FileFormat};
use godwit_memory::{
    Admission, AdmissionRequest, BufferManager, OwnerCounters, minimum_memory_limit, minimum_query_bytes,
};
use godwit_sql::{CopyOption, Estimates, Statement};
use godwit_tables::{InsertSink, NewTable, TableTarget};
use parking_lot::Mutex;

pub use godwit_sql::ParsedStatement;

use crate::database::Database;
use crate::result::{AwaitedCompletion, Completion, QueryResult, RunningQuery};
use crate::session::{OwnSettings, Session};
use crate::settings;

/// A session. Statements of one connection may overlap; each has its own result.
pub struct Connection {
    database: Database,
    /// Number of the connection among those of the database.
    id: u64,
    /// Counts the memory of the connection's queries.
    owner: Arc<OwnerCounters>,
    /// The pool, with the connection as owner.
    memory: BufferManager,
    /// Stops the statement that was started last.
    current: Mutex<CancelToken>,
    settings: Mutex<OwnSettings>,
}

impl Connection {
    pub(crate) fn new(database: Database, id: u64) -> Self {
        let owner = OwnerCounters::new();
        let memory = database.0.memory.scoped(owner.clone());
        let settings = Mutex::new(OwnSettings::of(&database.0));
        Self { database, id, owner, memory, current: Mutex::default(), settings }
    }

    /// Number of the connection, as in [`QueryInfo::connection`](crate::QueryInfo::connection).
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The database that this connection is to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one statement. Rows are computed while the result is read; dropping it cancels the query.
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        match &self.parse(sql)?[..] {
            [statement] => self.run(statement),
            [] => Err(Error::user("there is no statement in the text")),
            more => Err(Error::user(format!("expected one statement, found {}", more.len()))
                .with_hint("run them one by one, or all with Connection::execute")),
        }
    }

    /// Runs all statements of a script and drops their rows.
    pub fn execute(&self, sql: &str) -> Result<()> {
        for statement in self.parse(sql)? {
            self.run(&statement)?.try_for_each(|batch| batch.map(drop))?;
        }
        Ok(())
    }

    /// Splits a script into statements.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        self.database.0.planner.parse(sql)
    }

    /// Runs a parsed statement.
    pub fn run(&self, statement: &ParsedStatement) -> Result<QueryResult> {
        // A panic while planning is a bug, ours or a dependency's; it must not take the host program along.
        catch_unwind(AssertUnwindSafe(|| self.run_unguarded(statement)))
            .unwrap_or_else(|_| Err(Error::internal("planning the statement panicked")))
    }

    fn run_unguarded(&self, statement: &ParsedStatement) -> Result<QueryResult> {
        let shared = &self.database.0;
        let catalog = shared.planner.catalog();
        match shared.planner.plan(statement)? {
            Statement::Query { plan, column_names } => {
                let schema = result_schema(&plan, Some(&column_names));
                self.start(statement, &plan, schema, false, |_, rows| Ok(rows)).map(|(result, _)| result)
            }
            Statement::Copy { plan, column_names, path, options } => {
                self.copy(statement, &plan, &column_names, &path, &options)
            }
            Statement::Explain { options, plan } if options.analyze => self.analyze(statement, &plan, options.json),
            Statement::Explain { options, plan } => self.explain(&plan, options.json),
            Statement::CreateView { view, or_replace, if_not_exists } => {
                if if_not_exists && catalog.get(&view.name).is_some() {
                    return Ok(QueryResult::empty());
                }
                shared.store.create_view(view, or_replace)?;
                Ok(QueryResult::empty())
            }
            Statement::DropView { names, if_exists } => {
                for name in names.iter().filter(|name| !if_exists || catalog.get(name).is_some()) {
                    shared.store.drop_view(name)?;
                }
                Ok(QueryResult::empty())
            }
            Statement::CreateTable { name, schema, or_replace, if_not_exists, rows } => {
                if if_not_exists && shared.store.table(&name).is_some() {
                    return Ok(QueryResult::empty());
                }
                let fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                let table = NewTable { name, fields, or_replace };
                let Some(rows) = rows else {
                    return shared.store.create_table(&table).map(|()| QueryResult::empty());
                };
                shared.store.check_new(&table)?;
                self.insert(statement, &rows, TableTarget::New(table))
            }
            Statement::DropTable { names, if_exists } => {
                for name in names.iter().filter(|name| !if_exists || catalog.get(name).is_some()) {
                    shared.store.drop_table(name)?;
                }
                Ok(QueryResult::empty())
            }
            Statement::Insert { table, rows } => {
                let target = shared.store.table(&table).ok_or_else(|| {
                    Error::user(format!("{table} is a file: rows can't be inserted"))
                        .with_hint("CREATE TABLE makes a table of the database")
                })?;
                self.insert(statement, &rows, TableTarget::Existing(target))
            }
            Statement::Checkpoint => shared.store.checkpoint().map(|()| QueryResult::empty()),
            Statement::Set { name, value } => {
                settings::set(&self.session(), &name, &value).map(|()| QueryResult::empty())
            }
            Statement::Reset { name } => {
                settings::reset(&self.session(), name.as_deref()).map(|()| QueryResult::empty())
            }
            Statement::Show { name } => {
                let rows = settings::show(&self.session(), name.as_deref())?;
                let column = |index: usize| rows.iter().map(|row| row[index].clone()).collect();
                text_result(&settings::COLUMNS, (0..settings::COLUMNS.len()).map(column).collect())
            }
        }
    }

    fn session(&self) -> Session<'_> {
        Session { shared: &self.database.0, own: &self.settings }
    }

    /// Stops the statement that was started last, from any thread. Reading its result ends with an error.
    pub fn cancel(&self) {
        let current = self.current.lock().clone();
        current.cancel();
    }

    /// Writes the rows of a query to a file. The result is their number.
    fn copy(
        &self,
        statement: &ParsedStatement,
        plan: &LogicalPlan,
        column_names: &[String],
        path: &str,
        options: &[CopyOption],
    ) -> Result<QueryResult> {
        let format = FileFormat::of(path, options)?;
        let rows = result_schema(plan, Some(column_names));
        let sink = |query: &QueryContext, count| {
            let sink: Arc<dyn Sink> = CopySink::create(path, &format, &rows, query, count)?;
            Ok(sink)
        };
        self.start(statement, plan, count_schema(), false, sink).map(|(result, _)| result)
    }

    /// Puts the rows of a query into a table. The result is their number.
    fn insert(&self, statement: &ParsedStatement, plan: &LogicalPlan, target: TableTarget) -> Result<QueryResult> {
        let store = self.database.0.store.clone();
        let sink = |query: &QueryContext, count| Ok(InsertSink::new(store, target, query, count)?.into_sink());
        self.start(statement, plan, count_schema(), false, sink).map(|(result, _)| result)
    }

    /// Plans a query and starts it as soon as the memory that it can't do without is free. Its rows end in the sink that
    /// `sink_of` makes; what that gives to the collector, with the columns of `schema`, comes through the result.
    fn start(
        &self,
        statement: &ParsedStatement,
        plan: &LogicalPlan,
        schema: SchemaRef,
        profile: bool,
        sink_of: impl FnOnce(&QueryContext, Arc<ResultCollector>) -> Result<Arc<dyn Sink>>,
    ) -> Result<(QueryResult, godwit_exec::ExplainNode)> {
        let shared = &self.database.0;
        let pool = shared.pool();
        let cancel = CancelToken::default();
        *self.current.lock() = cancel.clone();
        let owner = OwnerCounters::new();
        owner.set_memory_limit_bytes(shared.query_limits.of_query());
        self.owner.set_memory_limit_bytes(shared.query_limits.of_connection());
        let settings = self.session().query_settings(pool.workers(), profile);
        let query = QueryContext::new(self.memory.scoped(owner.clone()), settings, cancel.clone());
        // Whoever reads a result of this connection may have to read this one to get on: it can't wait for the other.
        let is_awaited = shared.queries.is_busy(self.id);
        let registered = shared.queries.enter(self.id, statement.text(), query.clone(), owner.clone());
        let (collector, stream) = ResultCollector::new(schema.clone(), &query, "Result");
        let sink = sink_of(&query, collector.clone())?;
        let PhysicalPlan { pipelines, explain } = plan_query(plan, &query, &Estimates::new(), sink)?;
        registered.set_operators(explain.operators());
        let completion = Completion::default();
        let keeps_no_rows = pipelines.len() == 1;
        let name = registered.name();
        let start = {
            let (completion, query, pool) = (completion.clone(), query.clone(), pool.clone());
            move |admission: Option<Admission>| match admission {
                Some(admission) => {
                    registered.run();
                    pool.run(query, pipelines, move |result| {
                        if let Err(error) = result {
                            collector.fail(error);
                        }
                        drop((registered, admission));
                        completion.complete();
                    });
                }
                None => {
                    collector.fail(Error::cancelled());
                    drop((registered, pipelines));
                    completion.complete();
                }
            }
        };
        let request = AdmissionRequest {
            name,
            minimum_bytes: minimum_query_bytes(pool.workers()),
            at_once: is_awaited || keeps_no_rows,
            owner: owner.clone(),
        };
        if let Some(waiting) = shared.memory.admit(request, start) {
            cancel.on_cancel(move || waiting.give_up());
        }
        let running = RunningQuery { stream, completion: AwaitedCompletion(completion), query, owner, _pool: pool };
        Ok((QueryResult::running(schema, running), explain))
    }

    fn explain(&self, plan: &LogicalPlan, json: bool) -> Result<QueryResult> {
        let shared = &self.database.0;
        let workers = shared.pool().workers();
        let settings = self.session().query_settings(workers, false);
        let query = QueryContext::new(shared.memory.clone(), settings, CancelToken::default());
        let (collector, _stream) = ResultCollector::new(result_schema(plan, None), &query, "Result");
        let physical = plan_query(plan, &query, &Estimates::new(), collector)?;
        let pinned = physical.pinned_bytes(workers);
        let least = minimum_memory_limit(workers).max(minimum_memory_limit(0) + pinned);
        let PhysicalPlan { pipelines, explain } = physical;
        let waits_for = if pipelines.len() == 1 { 0 } else { minimum_query_bytes(workers) };
        if json {
            return json_result(Json::object([
                ("pinned_bytes", pinned.into()),
                ("memory_limit_min_bytes", least.into()),
                ("waits_for_bytes", waits_for.into()),
                ("plan", explain.to_json(false)),
            ]));
        }
        plan_text(&format!(
            "{}Needs {} at least; finishes with a memory limit of {}; waits until {} of it are free\n",
            explain.render(false),
            format_bytes(pinned),
            format_bytes(least),
            format_bytes(waits_for),
        ))
    }

    /// Runs a query, drops its rows, and shows what happened.
    fn analyze(&self, statement: &ParsedStatement, plan: &LogicalPlan, json: bool) -> Result<QueryResult> {
        let started = std::time::Instant::now();
        let schema = result_schema(plan, None);
        let (mut result, explain) = self.start(statement, plan, schema, true, |_, rows| Ok(rows))?;
        let mut rows = 0;
        for batch in &mut result {
            rows += batch?.num_rows();
        }
        let total = started.elapsed().as_secs_f64() * 1e3;
        if json {
            let memory = result.memory();
            return json_result(Json::object([
                ("total_ms", Json::Number(total)),
                ("rows", (rows as u64).into()),
                ("memory_peak_bytes", memory.peak_bytes.into()),
                ("spilled_bytes", memory.spilled_bytes.into()),
                ("reread_bytes", memory.reread_bytes.into()),
                ("plan", explain.to_json(true)),
            ]));
        }
        plan_text(&format!("Total {total:.2} ms, {rows} rows; times add up over all workers\n{}", explain.render(true)))
    }
}

/// The columns of a plan's result, renamed if names are given. All may hold NULL: what the planner crates derive isn't
/// always so (an empty scalar subquery).
fn result_schema(plan: &LogicalPlan, column_names: Option<&[String]>) -> SchemaRef {
    let schema = plan.schema().as_arrow();
    let names: Vec<&str> = match column_names {
        Some(names) => names.iter().map(String::as_str).collect(),
        None => schema.fields().iter().map(|field| field.name().as_str()).collect(),
    };
    assert_eq!(names.len(), schema.fields().len(), "a name for each column");
    let renamed = |(field, name): (&Arc<Field>, &str)| field.as_ref().clone().with_name(name).with_nullable(true);
    let fields: Vec<Field> = schema.fields().iter().zip(names).map(renamed).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The result of statements that write rows: how many.
fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::Int64, true)]))
}

/// A result with the lines of a plan.
fn plan_text(text: &str) -> Result<QueryResult> {
    text_result(&["plan"], vec![text.lines().map(str::to_owned).collect()])
}

/// A result of one value.
fn json_result(json: Json) -> Result<QueryResult> {
    text_result(&["plan"], vec![vec![json.to_string()]])
}

/// A result of text columns.
fn text_result(names: &[&str], columns: Vec<Vec<String>>) -> Result<QueryResult> {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|column| Arc::new(StringArray::from(column)) as ArrayRef).collect();
    let batch = RecordBatch::try_new(schema, arrays).map_err(|error| Error::internal(error.to_string()))?;
    Ok(QueryResult::of_batch(batch))
}
