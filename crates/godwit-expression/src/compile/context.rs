//! Inputs of compilation besides the expression: values that are known only when the query runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, ColumnNames, NodeId, ParameterId};
use godwit_scalar::{Bounded, Work};
use godwit_types::{SqlType, Value};
use parking_lot::Mutex;

use crate::Parameter;

/// An uncorrelated scalar subquery that must run before the expressions that refer to it.
#[derive(Clone)]
pub struct PlanSubquery {
    /// Its number among the statement's subqueries.
    pub number: usize,
    /// Its plan: returns at most one row; no row means NULL.
    pub plan: NodeId,
    /// The plan's column that has the value.
    pub column: ColumnId,
    /// Receives the result.
    pub result: Parameter,
}

/// Shared by all compilations of a statement: collects its scalar subqueries and holds the values of its parameters.
///
/// Compile expressions, then take their subqueries with [`PlanContext::take_subqueries`], run those that haven't run
/// yet, set their results, and start what uses the expressions.
pub struct PlanContext {
    parameters: HashMap<ParameterId, Parameter>,
    subqueries: Mutex<Subqueries>,
    /// The value of `now()`: microseconds since 1970.
    now: i64,
    /// Grants memory to functions, and tells them whether to go on.
    work: Arc<dyn Work>,
    /// For messages.
    names: ColumnNames,
}

#[derive(Default)]
struct Subqueries {
    all: Vec<PlanSubquery>,
    /// Subqueries met since the last call of [`PlanContext::take_subqueries`].
    met: BTreeSet<usize>,
}

/// Maximum size of a value computed without a statement: for a filter that is tried on a sample, or a constant.
const CONSTANT_BYTES_MAX: usize = 16 << 20;

impl Default for PlanContext {
    /// Creates a context of the current moment.
    fn default() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        let work = Arc::new(Bounded::new(CONSTANT_BYTES_MAX));
        Self { parameters: HashMap::new(), subqueries: Mutex::default(), now, work, names: ColumnNames::default() }
    }
}

impl PlanContext {
    /// Sets the statement's source of memory for functions.
    #[must_use]
    pub fn with_work(self, work: Arc<dyn Work>) -> Self {
        Self { work, ..self }
    }

    /// Sets the names that errors use for columns.
    #[must_use]
    pub fn with_names(self, names: ColumnNames) -> Self {
        Self { names, ..self }
    }

    pub(super) fn names(&self) -> &ColumnNames {
        &self.names
    }

    /// Sets the moment, in microseconds since 1970: that of the transaction, for example.
    #[must_use]
    pub fn with_now(self, now: i64) -> Self {
        Self { now, ..self }
    }

    /// Returns a context with the same parameters and no subqueries: for a part of a plan that runs several times.
    #[must_use]
    pub fn again(&self) -> Self {
        let (parameters, work) = (self.parameters.clone(), Arc::clone(&self.work));
        Self { parameters, subqueries: Mutex::default(), now: self.now, work, names: self.names.clone() }
    }

    /// Adds a parameter of a prepared statement, which may get its value later.
    #[must_use]
    pub fn with_parameter(mut self, id: ParameterId, parameter: Parameter) -> Self {
        self.parameters.insert(id, parameter);
        self
    }

    /// Adds the value of a parameter.
    pub fn with_value(self, id: ParameterId, value: &Value, ty: &SqlType) -> Result<Self> {
        let parameter = Parameter::new(ty.clone());
        parameter.set(value)?;
        Ok(self.with_parameter(id, parameter))
    }

    /// Returns the parameter for a subquery's result; creates one if the subquery wasn't met before.
    pub fn subquery(&self, plan: NodeId, column: ColumnId, ty: &SqlType) -> Parameter {
        let mut subqueries = self.subqueries.lock();
        let known = subqueries.all.iter().find(|known| (known.plan, known.column) == (plan, column)).cloned();
        let subquery = known.unwrap_or_else(|| {
            let number = subqueries.all.len();
            let subquery = PlanSubquery { number, plan, column, result: Parameter::new(ty.clone()) };
            subqueries.all.push(subquery.clone());
            subquery
        });
        subqueries.met.insert(subquery.number);
        subquery.result
    }

    /// Returns the subqueries met since the last call, including those met before it too: their users wait for them.
    pub fn take_subqueries(&self) -> Vec<PlanSubquery> {
        let mut subqueries = self.subqueries.lock();
        let met = std::mem::take(&mut subqueries.met);
        met.into_iter().map(|number| subqueries.all[number].clone()).collect()
    }

    pub(super) fn parameter(&self, id: ParameterId) -> Result<Parameter> {
        self.parameters.get(&id).cloned().ok_or_else(|| {
            Error::user(format!("parameter {id} has no value"))
                .with_code(SqlState::UNDEFINED_PARAMETER)
                .with_hint("bind a value to it")
        })
    }

    pub(super) fn now(&self) -> i64 {
        self.now
    }

    pub(super) fn work(&self) -> &Arc<dyn Work> {
        &self.work
    }
}
