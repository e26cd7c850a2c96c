//! What compilation needs besides the expression: values that are known only when the query runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::LogicalPlan;
use datafusion_expr::logical_plan::Subquery;
use godwit_common::{Error, Result};
use parking_lot::Mutex;

use crate::literal::Literal;

/// A value that is set once before the expressions that refer to it are evaluated.
#[derive(Clone)]
pub struct Parameter(Arc<Slot>);

struct Slot {
    logical: DataType,
    value: OnceLock<Literal>,
}

impl Parameter {
    /// A parameter without a value yet.
    pub fn new(logical: DataType) -> Self {
        Self(Arc::new(Slot { logical, value: OnceLock::new() }))
    }

    /// The SQL type of the value.
    pub fn logical(&self) -> &DataType {
        &self.0.logical
    }

    /// Gives the value, which is cast to the parameter's type. A parameter keeps the first value it is given.
    pub fn set(&self, value: &ScalarValue) -> Result<()> {
        let cast = value.cast_to(&self.0.logical).map_err(|error| Error::user(error.strip_backtrace()))?;
        let literal = Literal::of_scalar(&cast)?.0;
        // A second worker may have been faster; both computed the same value.
        let _ = self.0.value.set(literal);
        Ok(())
    }

    /// True once a value was given.
    pub fn is_set(&self) -> bool {
        self.0.value.get().is_some()
    }

    pub(crate) fn literal(&self) -> Result<&Literal> {
        self.0.value.get().ok_or_else(|| Error::internal("a parameter was used before its subquery ran"))
    }
}

/// An uncorrelated scalar subquery that must run before the expressions that refer to it.
#[derive(Clone)]
pub struct ScalarSubquery {
    /// Which of the statement's subqueries it is; equal ones are one.
    pub number: usize,
    /// The plan: one column, at most one row. No row means NULL.
    pub plan: Arc<LogicalPlan>,
    /// Where its result goes.
    pub result: Parameter,
}

/// Shared by all compilations of a statement: collects its scalar subqueries and holds its placeholders.
///
/// Compile expressions, then take their subqueries with [`CompileContext::take_subqueries`], run each one that didn't run
/// before, set its result, and start what uses the expressions. Equal subqueries share one parameter.
#[derive(Default)]
pub struct CompileContext {
    subqueries: Mutex<Vec<(Subquery, ScalarSubquery)>>,
    /// Those met since some were taken last.
    met: Mutex<BTreeSet<usize>>,
    placeholders: HashMap<String, Parameter>,
    config: Arc<ConfigOptions>,
}

impl CompileContext {
    /// A context in which functions see `config` (time zone, ...).
    pub fn new(config: Arc<ConfigOptions>) -> Self {
        Self { config, ..Self::default() }
    }

    /// Adds the value of placeholder `id` (`$1`, `$name`).
    #[must_use]
    pub fn with_placeholder(mut self, id: impl Into<String>, parameter: Parameter) -> Self {
        self.placeholders.insert(id.into(), parameter);
        self
    }

    /// The subqueries met since the last call, also those that were met before: who uses them waits for them.
    pub fn take_subqueries(&self) -> Vec<ScalarSubquery> {
        let subqueries = self.subqueries.lock();
        std::mem::take(&mut *self.met.lock()).into_iter().map(|number| subqueries[number].1.clone()).collect()
    }

    /// The parameter of a subquery, a new one if it wasn't met before.
    pub(crate) fn subquery(&self, subquery: &Subquery) -> Result<Parameter> {
        if !subquery.outer_ref_columns.is_empty() {
            return Err(Error::unsupported("this correlated subquery")
                .with_hint("rewrite it as a join, or correlate it by equality of columns"));
        }
        let mut subqueries = self.subqueries.lock();
        if let Some((_, known)) = subqueries.iter().find(|(known, _)| known == subquery) {
            self.met.lock().insert(known.number);
            return Ok(known.result.clone());
        }
        let number = subqueries.len();
        self.met.lock().insert(number);
        let result = Parameter::new(subquery.subquery.schema().field(0).data_type().clone());
        let entry = ScalarSubquery { number, plan: subquery.subquery.clone(), result: result.clone() };
        subqueries.push((subquery.clone(), entry));
        Ok(result)
    }

    pub(crate) fn placeholder(&self, id: &str) -> Result<Parameter> {
        self.placeholders
            .get(id)
            .cloned()
            .ok_or_else(|| Error::user(format!("placeholder {id} has no value")).with_hint("bind a value to it"))
    }

    pub(crate) fn config(&self) -> &Arc<ConfigOptions> {
        &self.config
    }
}
