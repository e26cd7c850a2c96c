//! Prepared statements: parsed once, planned once as long as their definitions don't change, and run with values.
//!
//! ```text
//! PREPARE ──► Prepared ── EXECUTE, PreparedStatement::run ──► plan ──► with values in place of parameters ──► rows
//!               │
//!               ├─ no entry of any catalog has changed: the plan as it is
//!               ├─ rows came or went: the plan, over the versions of its tables that there are now
//!               ├─ a value determines which files it reads or writes: it is planned with the values as constants
//!               └─ else it is planned again: definitions or settings changed, or a table has twice the rows, or half of them
//! ```
//!
//! So cached plans don't rely on anything that depends on rows: they are made by [`Planner::outliving_rows`].

use std::borrow::Cow;
use std::sync::Arc;

use godwit_catalog::{CatalogEntry, Namespace, ObjectName, ScannedTable, TableDefinition};
use godwit_common::{Error, Result, SqlState};
use godwit_expression::PlanContext;
use godwit_plan::{ParameterInfo, Plan, Relation};
use godwit_sql::{
    Argument, JoinOrder, ParsedStatement, Planner, QueryStatement, SessionValues, Statement, WritePlan, WriteStatement,
};
use godwit_types::{SqlType, TimeZone, Value};
use parking_lot::Mutex;

use crate::connection::{Connection, Inner};
use crate::result::QueryResult;

/// Maximum number of named prepared statements per connection.
pub(crate) const PREPARED_MAX: usize = 10_000;

/// A statement that runs with different values each time.
///
/// ```
/// # fn main() -> godwit::Result<()> {
/// # let connection = godwit::Database::open(":memory:")?.connect();
/// let squares = connection.prepare("SELECT $1::BIGINT * $1 AS square")?;
/// for number in 1..=3_i64 {
///     let rows: usize = squares.run(&[number.into()])?.map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum();
///     assert_eq!(rows, 1);
/// }
/// # Ok(())
/// # }
/// ```
pub struct PreparedStatement {
    connection: Arc<Inner>,
    prepared: Arc<Prepared>,
}

/// A prepared statement with its cached plan.
pub(crate) struct Prepared {
    statement: ParsedStatement,
    types: Vec<SqlType>,
    parameters: Vec<ParameterInfo>,
    /// True if it can be planned only with the values of its parameters.
    needs_values: bool,
    kept: Mutex<Option<Kept>>,
}

/// A plan, with its dependencies.
struct Kept {
    namespace: Namespace,
    join_order: JoinOrder,
    session: SessionValues,
    planned: Statement,
    tables: Vec<KeptTable>,
}

/// A table that a cached plan reads.
struct KeptTable {
    name: ObjectName,
    /// Its number of rows when joins were ordered.
    rows: u64,
    /// The version to read.
    version: Arc<TableDefinition>,
    /// The table as scans see it: the version itself, or the same with row ids, if the statement changes its
    /// rows or mentions them.
    scanned: Arc<TableDefinition>,
}

/// Tables with fewer rows may grow and shrink freely: any plan will do.
const SMALL_TABLE_ROWS: u64 = 2_048;

impl KeptTable {
    /// Returns true if another plan would be better for a version of `rows` rows.
    fn differs_much(&self, rows: u64) -> bool {
        let (less, more) = (self.rows.min(rows), self.rows.max(rows));
        more > SMALL_TABLE_ROWS && more > 2 * less
    }

    /// Returns another version as scans see it.
    fn scanned_of(&self, version: &Arc<TableDefinition>) -> Result<ScannedTable> {
        match &version.writable {
            Some(writable) if !Arc::ptr_eq(&self.version, &self.scanned) => ScannedTable::new(writable.with_row_ids()),
            _ => ScannedTable::new(version.clone()),
        }
    }
}

/// Values of a plan's parameters, and of `now()`.
#[derive(Default, Clone)]
pub(crate) struct ParameterValues {
    values: Arc<Vec<(Value, SqlType)>>,
    /// In microseconds since 1970; `None`: the start time of the query.
    now: Option<i64>,
}

impl ParameterValues {
    /// Returns the same values at another time.
    pub(crate) fn at(&self, now: i64) -> Self {
        Self { values: self.values.clone(), now: Some(now) }
    }

    /// Returns a plan with these values in place of its parameters, so that the executor sees constants and prunes by
    /// them.
    pub(crate) fn bound<'p>(&self, plan: &'p Plan) -> Cow<'p, Plan> {
        if self.values.is_empty() {
            return Cow::Borrowed(plan);
        }
        let values: Vec<Value> = self.values.iter().map(|(value, _)| value.clone()).collect();
        Cow::Owned(plan.with_values(&values))
    }

    /// Returns the part of them that compilation needs.
    pub(crate) fn context(&self, plan: &Plan) -> Result<PlanContext> {
        let mut context = PlanContext::default();
        if let Some(now) = self.now {
            context = context.with_now(now);
        }
        for (at, (value, ty)) in self.values.iter().enumerate() {
            context = context.with_value(plan.parameter_at(at), value, ty)?;
        }
        Ok(context)
    }
}

impl Connection {
    /// Prepares a statement with the parameters `?`, `$1` and `$name`.
    pub fn prepare(&self, sql: &str) -> Result<PreparedStatement> {
        let mut parsed = self.parse(sql)?;
        match (parsed.pop(), parsed.is_empty()) {
            (Some(statement), true) => {
                let prepared = Arc::new(self.inner().prepared(statement, Vec::new())?);
                Ok(PreparedStatement { connection: self.inner().clone(), prepared })
            }
            (None, _) => Err(Error::user("there is no statement in the text")),
            (Some(_), false) => Err(Error::user("one statement is prepared at a time")),
        }
    }
}

impl PreparedStatement {
    /// Returns the parameters, in the order in which [`run`](Self::run) takes their values.
    pub fn parameters(&self) -> &[ParameterInfo] {
        &self.prepared.parameters
    }

    /// Runs it. Values are cast to the types of their parameters; text is parsed.
    pub fn run(&self, values: &[Value]) -> Result<QueryResult> {
        let arguments = values
            .iter()
            .map(|value| Argument { name: None, value: value.clone(), ty: value.natural_type() })
            .collect();
        self.connection.begin_statement();
        self.connection.run_prepared(&self.prepared, arguments)
    }
}

impl Inner {
    /// Plans a statement once, to report its errors and parameters.
    pub(crate) fn prepared(&self, statement: ParsedStatement, types: Vec<SqlType>) -> Result<Prepared> {
        statement.check_preparable()?;
        let scope = self.transaction.scope(&self.stores(), statement.access())?;
        let planner = self.planner(&scope).with_parameter_types(&types).outliving_rows();
        let planned = match planner.plan(&statement) {
            Ok(planned) => planned,
            Err(error) if error.code() == SqlState::UNDEFINED_PARAMETER => {
                let given = types.iter().cloned().chain(std::iter::repeat(SqlType::Unknown));
                let parameters = statement.parameter_names().zip(given).map(|(name, ty)| ParameterInfo { name, ty });
                let (parameters, kept) = (parameters.collect(), Mutex::default());
                return Ok(Prepared { statement, types, parameters, needs_values: true, kept });
            }
            Err(error) => return Err(error),
        };
        let (parameters, kept) = (planned.parameters().to_vec(), Mutex::new(kept(planned, &planner)));
        Ok(Prepared { statement, types, parameters, needs_values: false, kept })
    }

    /// Runs `EXECUTE`.
    pub(crate) fn execute(self: &Arc<Self>, name: &str, arguments: Vec<Argument>) -> Result<QueryResult> {
        let prepared = self.prepared.lock().get(name).cloned();
        let prepared = prepared.ok_or_else(|| {
            Error::user(format!("no prepared statement named {name}"))
                .with_code(SqlState::INVALID_SQL_STATEMENT_NAME)
                .with_hint(format!("PREPARE {name} AS … makes one"))
        })?;
        self.run_prepared(&prepared, arguments)
    }

    fn run_prepared(self: &Arc<Self>, prepared: &Prepared, arguments: Vec<Argument>) -> Result<QueryResult> {
        let values = prepared.values(arguments, &self.session().own().values.time_zone)?;
        let statement = &prepared.statement;
        if prepared.needs_values {
            let plan = |planner: Planner, _: &ParameterValues| {
                let planner = planner.with_parameter_values(prepared.named(&values));
                planner.plan(statement).map(|planned| (planned, planner))
            };
            return self.run_in_scope(statement, &ParameterValues::default(), plan);
        }
        self.run_in_scope(statement, &values, |planner, _| prepared.plan(planner))
    }
}

impl Prepared {
    /// Plans the statement to run, among the names of a planner.
    fn plan(&self, planner: Planner) -> Result<(Statement, Planner)> {
        let known = self.kept.lock().as_mut().map_or(Ok(None), |kept| kept.for_planner(&planner))?;
        if let Some(planned) = known {
            return Ok((planned, planner));
        }
        let planner = planner.with_parameter_types(&self.types).outliving_rows();
        let planned = planner.plan(&self.statement)?;
        if planned.parameters() != self.parameters {
            return Err(Error::user("the types of the statement's parameters have changed since it was prepared")
                .with_hint("prepare it anew"));
        }
        *self.kept.lock() = kept(planned.clone(), &planner);
        Ok((planned, planner))
    }

    /// Returns values with the names of the parameters. Text without a type is as text in quotes.
    fn named(&self, values: &ParameterValues) -> Vec<(String, Value, SqlType)> {
        let named = |(parameter, (value, ty)): (&ParameterInfo, &(Value, SqlType))| {
            let is_quoted = parameter.ty == SqlType::Unknown && *ty == SqlType::Varchar;
            let ty = if is_quoted { SqlType::Unknown } else { ty.clone() };
            (parameter.name.clone(), value.clone(), ty)
        };
        self.parameters.iter().zip(&*values.values).map(named).collect()
    }

    /// Returns the values in the order of the parameters, as their types.
    fn values(&self, arguments: Vec<Argument>, zone: &TimeZone) -> Result<ParameterValues> {
        if arguments.len() != self.parameters.len() {
            let (given, wanted) = (arguments.len(), self.parameters.len());
            let message = format!("the prepared statement takes {wanted} values, {given} were given");
            return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR));
        }
        let mut values: Vec<Option<(Value, SqlType)>> = vec![None; arguments.len()];
        for (number, argument) in (1..).zip(arguments) {
            let name = argument.name.unwrap_or_else(|| number.to_string());
            let at = self.parameters.iter().position(|parameter| parameter.name.eq_ignore_ascii_case(&name));
            let at = at.ok_or_else(|| {
                let known: Vec<String> = self.parameters.iter().map(|known| format!("${}", known.name)).collect();
                Error::user(format!("the prepared statement has no parameter ${name}"))
                    .with_hint(format!("it has {}", known.join(", ")))
            })?;
            values[at] = Some(match &self.parameters[at].ty {
                SqlType::Unknown => (argument.value, argument.ty),
                ty => (zone.cast(&argument.value, &argument.ty, ty)?, ty.clone()),
            });
        }
        let values: Option<Vec<_>> = values.into_iter().collect();
        values
            .map(|values| ParameterValues { values: Arc::new(values), now: None })
            .ok_or_else(|| Error::user("a parameter has two values"))
    }
}

impl Kept {
    /// Returns the statement for a planner; `None` if it has to be planned again.
    fn for_planner(&mut self, planner: &Planner) -> Result<Option<Statement>> {
        let namespace = planner.namespace();
        if self.join_order != planner.join_order() || !self.session.is_same(planner.session()) {
            return Ok(None);
        }
        if self.namespace.is_same(namespace) {
            return Ok(Some(self.planned.clone()));
        }
        let plan = match &self.planned {
            Statement::Query(QueryStatement::Rows { plan }) => plan,
            Statement::Write(WriteStatement::Planned(write)) => &write.rows,
            _ => return Ok(None),
        };
        if !self.namespace.has_same_definitions(namespace) {
            return Ok(None);
        }
        let mut versions = Vec::with_capacity(self.tables.len());
        let mut newer: Vec<(&Arc<TableDefinition>, Arc<dyn Relation>)> = Vec::new();
        for table in &self.tables {
            let Some(CatalogEntry::Table(version)) = namespace.get(&table.name) else { return Ok(None) };
            if table.differs_much(version.statistics.rows) {
                return Ok(None);
            }
            let scanned = match Arc::ptr_eq(&table.version, &version) {
                true => table.scanned.clone(),
                false => {
                    let newer_table = table.scanned_of(&version)?;
                    let scanned = newer_table.definition().clone();
                    newer.push((&table.scanned, Arc::new(newer_table)));
                    scanned
                }
            };
            versions.push((version, scanned));
        }
        if !newer.is_empty() {
            let version = |relation: &Arc<dyn Relation>| {
                let known = definition_of(&**relation);
                let is_it = |before: &Arc<TableDefinition>| known.is_some_and(|known| Arc::ptr_eq(known, before));
                newer.iter().find(|(before, _)| is_it(before)).map_or(relation, |(_, after)| after).clone()
            };
            let plan = Arc::new(plan.with_relations(version));
            self.planned = match &self.planned {
                Statement::Write(WriteStatement::Planned(write)) => {
                    Statement::Write(WriteStatement::Planned(WritePlan { rows: plan, ..write.clone() }))
                }
                _ => Statement::Query(QueryStatement::Rows { plan }),
            };
        }
        for (table, (version, scanned)) in self.tables.iter_mut().zip(versions) {
            (table.version, table.scanned) = (version, scanned);
        }
        self.namespace = namespace.clone();
        Ok(Some(self.planned.clone()))
    }
}

/// Returns the plan of a statement to be cached, if it reads nothing but tables of its catalogs: changes of files go
/// unnoticed.
fn kept(planned: Statement, planner: &Planner) -> Option<Kept> {
    let plan = planned.plan()?;
    let (namespace, join_order) = (planner.namespace().clone(), planner.join_order());
    let mut tables: Vec<KeptTable> = Vec::new();
    for relation in plan.relations() {
        let scanned = definition_of(&**relation)?;
        if tables.iter().any(|known| Arc::ptr_eq(&known.scanned, scanned)) {
            continue;
        }
        let name = namespace.name_of(scanned)?;
        let Some(CatalogEntry::Table(version)) = namespace.get(&name) else { return None };
        version.writable.as_ref()?;
        tables.push(KeptTable { name, rows: version.statistics.rows, version, scanned: scanned.clone() });
    }
    let session = planner.session().clone();
    Some(Kept { namespace, join_order, session, planned, tables })
}

fn definition_of(relation: &dyn Relation) -> Option<&Arc<TableDefinition>> {
    relation.as_any().downcast_ref::<ScannedTable>().map(ScannedTable::definition)
}
