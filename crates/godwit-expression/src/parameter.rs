//! Values that are known only when the query runs.

use std::sync::{Arc, OnceLock};

use godwit_common::{Error, Result};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::vector_of_values;

use crate::literal::Literal;

/// A value that is set once before the expressions that refer to it are evaluated.
#[derive(Clone)]
pub struct Parameter(Arc<Slot>);

struct Slot {
    ty: SqlType,
    value: OnceLock<Literal>,
}

impl Parameter {
    /// Creates a parameter without a value.
    pub fn new(ty: SqlType) -> Self {
        Self(Arc::new(Slot { ty, value: OnceLock::new() }))
    }

    /// The type of the value.
    pub fn ty(&self) -> &SqlType {
        &self.0.ty
    }

    /// Sets the value, which has the parameter's type. A parameter keeps the first value it is given.
    pub fn set(&self, value: &Value) -> Result<()> {
        let literal = Literal::of_vector(&vector_of_values(std::slice::from_ref(value), &self.0.ty)?);
        // Another worker may have been faster; both computed the same value.
        let _ = self.0.value.set(literal);
        Ok(())
    }

    /// True once the value is set.
    pub fn is_set(&self) -> bool {
        self.0.value.get().is_some()
    }

    pub(crate) fn literal(&self) -> Result<&Literal> {
        self.0.value.get().ok_or_else(|| Error::internal("a parameter was used before its subquery ran"))
    }
}
