//! Values that are known only when the query runs.

use std::sync::{Arc, OnceLock};

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use godwit_common::{Error, Result};

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
