//! Functions in FROM that stand for a table: `range(10)`, `godwit_settings()`.
//!
//! They are registered by name when a database is opened. A call is bound like a table: its arguments are folded to
//! constants, and the function returns the definition of a table, which is scanned like any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_common::Result;
use godwit_types::{SqlType, Value};

use crate::TableDefinition;

/// An argument of a table function.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Its name in lower case, if it was given one.
    pub name: Option<String>,
    /// Its value.
    pub value: Value,
    /// The value's type.
    pub ty: SqlType,
}

impl Argument {
    /// A BIGINT.
    pub fn integer(value: i64) -> Self {
        Self { name: None, value: value.into(), ty: SqlType::BigInt }
    }
}

/// Creates a table from constant arguments.
pub trait TableFunction: Send + Sync {
    /// Returns the table for a call. `name` is the name in the call, in lower case.
    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>>;

    /// The arguments that it takes, for display.
    fn arguments(&self) -> &'static str {
        ""
    }
}

/// Table functions by name, each with a description of its rows.
#[derive(Default, Clone)]
pub struct TableFunctions(BTreeMap<&'static str, (&'static str, Arc<dyn TableFunction>)>);

impl TableFunctions {
    /// Adds a function under a name in lower case, and what its rows are, in a sentence without a subject.
    #[must_use]
    pub fn with(mut self, name: &'static str, description: &'static str, function: Arc<dyn TableFunction>) -> Self {
        self.0.insert(name, (description, function));
        self
    }

    /// The names and descriptions, in order.
    pub fn described(&self) -> impl Iterator<Item = (&'static str, &'static str, &dyn TableFunction)> {
        self.0.iter().map(|(&name, (description, function))| (name, *description, &**function))
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn TableFunction>> {
        self.0.get(name).map(|(_, function)| function)
    }
}
