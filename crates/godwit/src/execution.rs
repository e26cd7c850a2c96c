//! Runs planned queries: for their rows, into a file, or to show the plan.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_catalog::CopyOption;
use godwit_common::{Error, Json, Result, format_bytes, with_stack};
use godwit_exec::{PhysicalPlan, plan_query};
use godwit_files::{CopySink, CopyTarget, FileFormat, SplitOptions, check_reachable};
use godwit_io::url_scheme;
use godwit_memory::{Admission, AdmissionRequest, OwnerCounters, minimum_memory_limit, minimum_query_bytes};
use godwit_pipeline::{CancelToken, QueryContext, ResultCollector, Sink};
use godwit_plan::{OutputColumn, Plan};
use godwit_sql::ExplainOptions;
use godwit_types::{SqlType, TimeZone};
use godwit_vector::sql::{arrow_type, field_of};

use crate::cache;
use crate::connection::Inner;
use crate::database::Shared;
use crate::prepared::ParameterValues;
use crate::result::{AwaitedCompletion, Change, Completion, QueryResult, RunningQuery};
use crate::transactions::NamedStore;

impl Inner {
    /// Writes the rows of a query to a file. Returns their number as the result, or what happened, if that is asked for.
    pub(crate) fn copy(
        &self,
        sql: &str,
        plan: &Plan,
        values: &ParameterValues,
        path: &str,
        options: &[CopyOption],
        analyzed: Option<ExplainOptions>,
    ) -> Result<QueryResult> {
        let started = Instant::now();
        let shared = &self.database.0;
        check_reachable(&*shared.files, path)?;
        let format = FileFormat::of(path, options)?;
        let returns_files = CopyTarget::returns_files(options)?;
        shared.check_target(Path::new(path))?;
        // Text shows SQL's values, of which the columns of other files have the representation only.
        let rows = match format {
            FileFormat::Text(_) => output_schema(plan, |name, ty, nullable| field_of(name, ty, nullable))?,
            FileFormat::Parquet(_) | FileFormat::Arrow(_) => result_schema(plan)?,
        };
        let sink = |query: &QueryContext, count| {
            let split = SplitOptions::of(options, &rows)?;
            let target = CopyTarget { path, format: &format, split, returns_files };
            Ok(CopySink::create(&shared.files, target, &rows, query, count)? as Arc<dyn Sink>)
        };
        let schema = if returns_files { files_schema()? } else { count_schema() };
        let (result, explain) = self.start(sql, plan, values, schema, analyzed.is_some(), sink)?;
        match analyzed {
            Some(options) => self.shown_run(started, result, &explain, options.json, written_rows),
            None if returns_files => Ok(result),
            None => Ok(result.counting(Change::Copy)),
        }
    }

    /// Plans a query and starts it as soon as its required memory is free. Its rows end in the sink that `sink_of`
    /// creates; batches that the sink passes to the collector, with the columns of `schema`, come out of the result.
    pub(crate) fn start(
        &self,
        sql: &str,
        plan: &Plan,
        values: &ParameterValues,
        schema: SchemaRef,
        profile: bool,
        sink_of: impl FnOnce(&QueryContext, Arc<ResultCollector>) -> Result<Arc<dyn Sink>>,
    ) -> Result<(QueryResult, godwit_exec::ExplainNode)> {
        let plan = &*values.bound(plan);
        let shared = &self.database.0;
        shared.adaptation.start();
        shared.tracing.note_statement(sql);
        let pool = shared.pool();
        let cancel = self.current.lock().clone();
        let owner = OwnerCounters::new();
        owner.set_memory_limit_bytes(shared.query_limits.of_query());
        self.owner.set_memory_limit_bytes(shared.query_limits.of_connection());
        let settings = self.session().query_settings(pool.workers(), profile);
        let query = QueryContext::new(self.memory.scoped(owner.clone()), settings, cancel.clone());
        // Someone reading another result of this connection may have to read this one to proceed, so it can't wait for
        // the other.
        let is_awaited = shared.queries.is_busy(self.id);
        let registered = shared.queries.enter(self.id, sql, query.clone(), owner.clone());
        let (collector, stream) = ResultCollector::new(schema.clone(), &query, "Result");
        let sink = sink_of(&query, collector.clone())?;
        let context = values.context(plan)?;
        let physical = with_stack(plan.levels().iter().sum(), || plan_query(plan, &query, context, sink))?;
        let PhysicalPlan { pipelines, explain } = physical;
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

    pub(crate) fn explain(&self, plan: &Plan, values: &ParameterValues, json: bool) -> Result<QueryResult> {
        let plan = &*values.bound(plan);
        let shared = &self.database.0;
        let workers = shared.pool().workers();
        let settings = self.session().query_settings(workers, false);
        let query = QueryContext::new(shared.memory.clone(), settings, CancelToken::default());
        let (collector, _stream) = ResultCollector::new(result_schema(plan)?, &query, "Result");
        let context = values.context(plan)?;
        let physical = with_stack(plan.levels().iter().sum(), || plan_query(plan, &query, context, collector))?;
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

    /// Runs a query, drops its rows, and returns what happened.
    pub(crate) fn analyze(&self, sql: &str, plan: &Plan, values: &ParameterValues, json: bool) -> Result<QueryResult> {
        let started = Instant::now();
        let schema = result_schema(plan)?;
        let (result, explain) = self.start(sql, plan, values, schema, true, |_, rows| Ok(rows))?;
        self.shown_run(started, result, &explain, json, RecordBatch::num_rows)
    }

    /// Reads the rows of a profiled query, which `count` counts, and returns what happened since it started.
    pub(crate) fn shown_run(
        &self,
        started: Instant,
        mut result: QueryResult,
        explain: &godwit_exec::ExplainNode,
        json: bool,
        count: impl Fn(&RecordBatch) -> usize,
    ) -> Result<QueryResult> {
        let mut rows = 0;
        for batch in &mut result {
            rows += count(&batch?);
        }
        let total = started.elapsed().as_secs_f64() * 1e3;
        let decisions = result.cache_decisions();
        if json {
            let memory = result.memory();
            return json_result(Json::object([
                ("total_ms", Json::Number(total)),
                ("rows", (rows as u64).into()),
                ("memory_peak_bytes", memory.peak_bytes.into()),
                ("spilled_bytes", memory.spilled_bytes.into()),
                ("reread_bytes", memory.reread_bytes.into()),
                ("plan", explain.to_json(true)),
                ("cache_classes", cache::to_json(&decisions)),
            ]));
        }
        let classes = cache::explain(&decisions, self.database.0.cache.status());
        plan_text(&format!(
            "Total {total:.2} ms, {rows} rows; times add up over all workers\n{}{classes}",
            explain.render(true),
        ))
    }
}

impl Shared {
    /// Fails if a file belongs to an open database.
    pub(crate) fn check_target(&self, path: &Path) -> Result<()> {
        let identity = |path: &Path| self.files.metadata(path).ok().map(|found| found.identity);
        // Databases are local.
        let is_url = path.to_str().is_some_and(|path| url_scheme(path).is_some());
        let target = if is_url { None } else { identity(path) };
        let Some(target) = target else { return Ok(()) };
        for NamedStore { name, store } in self.stores() {
            if store.paths().iter().any(|own| identity(own) == Some(target)) {
                let message = format!("{} belongs to the database {name}, which is open", path.display());
                return Err(Error::user(message).with_hint("write to another file"));
            }
        }
        Ok(())
    }
}

/// Returns the columns of a plan's result. All are nullable, regardless of what the plan knows, so that readers rely on
/// nothing.
pub(crate) fn result_schema(plan: &Plan) -> Result<SchemaRef> {
    output_schema(plan, |name, ty, nullable| Ok(Field::new(name, arrow_type(ty)?, nullable)))
}

/// Returns the nullable columns of a plan's result; `field_of` makes one of a name and a type.
fn output_schema(plan: &Plan, field_of: impl Fn(&str, &SqlType, bool) -> Result<Field>) -> Result<SchemaRef> {
    let field = |output: &OutputColumn| field_of(&output.name, &plan.column(output.column).ty, true);
    let fields = plan.output.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// Returns the columns of a result as returned to the user: instants are shown in a time zone.
pub(crate) fn in_zone(schema: SchemaRef, zone: &TimeZone) -> SchemaRef {
    if zone.is_utc() {
        return schema;
    }
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            let shown = DataType::Timestamp(*unit, Some(zone.name().into()));
            field.as_ref().clone().with_data_type(shown)
        }
        _ => field.as_ref().clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Returns the number of rows that a statement wrote, of a batch of its result.
pub(crate) fn written_rows(count: &RecordBatch) -> usize {
    count.column(0).as_primitive::<Int64Type>().value(0) as usize
}

/// Returns the schema for statements that write rows: their number.
pub(crate) fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::Int64, true)]))
}

/// Returns the schema for `COPY` with `RETURN_FILES`: the number of rows, and the names of the files.
fn files_schema() -> Result<SchemaRef> {
    let files = field_of("files", &SqlType::list_of(SqlType::Varchar), false)?;
    let fields = count_schema().fields().iter().cloned().chain([Arc::new(files)]).collect::<Vec<_>>();
    Ok(Arc::new(Schema::new(fields)))
}

/// Creates a result with the lines of a plan.
fn plan_text(text: &str) -> Result<QueryResult> {
    text_result(&["plan"], vec![text.lines().map(str::to_owned).collect()])
}

/// Tells that a table exists already, where its creation would have been analyzed.
pub(crate) fn nothing_run(table: &str, json: bool) -> Result<QueryResult> {
    match json {
        true => json_result(Json::object([("rows", 0_u64.into())])),
        false => plan_text(&format!("Nothing was run: {table} exists\n")),
    }
}

/// Creates a result of one value.
fn json_result(json: Json) -> Result<QueryResult> {
    text_result(&["plan"], vec![vec![format!("{json:#}")]])
}

/// Creates a result of text columns.
pub(crate) fn text_result(names: &[&str], columns: Vec<Vec<String>>) -> Result<QueryResult> {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|column| Arc::new(StringArray::from(column)) as ArrayRef).collect();
    let batch = RecordBatch::try_new(schema, arrays).map_err(|error| Error::internal(error.to_string()))?;
    Ok(QueryResult::of_batch(batch))
}
