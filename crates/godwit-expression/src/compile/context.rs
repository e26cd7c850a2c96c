//! What compilation needs besides the expression: values that are known only when the query runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, NodeId, ParameterId};
use godwit_scalar::{Bounded, Work};
use godwit_types::{SqlType, Value};
use parking_lot::Mutex;

use crate::Parameter;

/// An uncorrelated scalar subquery that must run before the expressions that refer to it.
#[derive(Clone)]
pub struct PlanSubquery {
    /// Which of the statement's subqueries it is.
    pub number: usize,
    /// Its plan: at most one row; none means NULL.
    pub plan: NodeId,
    /// The column of it that is the value.
    pub column: ColumnId,
    /// Where its result goes.
    pub result: Parameter,
}

/// Shared by all compilations of a statement: collects its scalar subqueries and holds the values of its parameters.
///
/// Compile expressions, then take their subqueries with [`PlanContext::take_subqueries`], run each one that didn't run
/// before, set its result, and start what uses the expressions.
pub struct PlanContext {
    parameters: HashMap<ParameterId, Parameter>,
    subqueries: Mutex<Subqueries>,
    /// What `now()` is: microseconds since 1970.
    now: i64,
    /// Whom functions ask for memory, and whether to go on.
    work: Arc<dyn Work>,
}

#[derive(Default)]
struct Subqueries {
    all: Vec<PlanSubquery>,
    /// Those met since some were taken last.
    met: BTreeSet<usize>,
}

/// Most bytes of a value that an expression without a statement makes: a filter that is tried on a sample, or a constant.
const CONSTANT_BYTES_MAX: usize = 16 << 20;

impl Default for PlanContext {
    /// A context of the current moment.
    fn default() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        let work = Arc::new(Bounded::new(CONSTANT_BYTES_MAX));
        Self { parameters: HashMap::new(), subqueries: Mutex::default(), now, work }
    }
}

impl PlanContext {
    /// The same for a statement that functions ask for memory.
    #[must_use]
    pub fn with_work(self, work: Arc<dyn Work>) -> Self {
        Self { work, ..self }
    }

    /// The same at another moment, in microseconds since 1970: that of the transaction, for example.
    #[must_use]
    pub fn with_now(self, now: i64) -> Self {
        Self { now, ..self }
    }

    /// A context of the same parameters that has met no subquery: for a part of a plan that runs several times.
    #[must_use]
    pub fn again(&self) -> Self {
        let (parameters, work) = (self.parameters.clone(), Arc::clone(&self.work));
        Self { parameters, subqueries: Mutex::default(), now: self.now, work }
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

    /// The parameter that a subquery's result goes to, a new one if it wasn't met before.
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

    /// The subqueries met since the last call, also those that were met before: who uses them waits for them.
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
