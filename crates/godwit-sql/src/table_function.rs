//! Functions that stand in FROM for a table: `range(10)`, `godwit_settings()`.
//!
//! Whoever opens a database registers them by name. A call is bound like a table: its arguments are folded to constants,
//! and the function answers with the definition of a table, which is scanned as any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_common::{DFSchema, DataFusionError, ScalarValue};
use datafusion_expr::Expr;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use godwit_common::{Error, Result};

use crate::TableDefinition;

/// Makes a table of constant arguments.
pub trait TableFunction: Send + Sync {
    /// The table that a call stands for. `name` is the name that it was called by, in lower case.
    fn table(&self, name: &str, arguments: &[ScalarValue]) -> Result<Arc<TableDefinition>>;
}

/// Table functions by name.
#[derive(Default, Clone)]
pub struct TableFunctions(BTreeMap<&'static str, Arc<dyn TableFunction>>);

impl TableFunctions {
    /// Adds a function under a name in lower case.
    #[must_use]
    pub fn with(mut self, name: &'static str, function: Arc<dyn TableFunction>) -> Self {
        self.0.insert(name, function);
        self
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn TableFunction>> {
        self.0.get(name)
    }
}

/// The values of a call's arguments.
pub(crate) fn constants(
    function: &str,
    arguments: Vec<Expr>,
    config: &Arc<ConfigOptions>,
) -> datafusion_common::Result<Vec<ScalarValue>> {
    let schema = Arc::new(DFSchema::empty());
    let context =
        SimplifyContext::builder().with_schema(Arc::clone(&schema)).with_config_options(Arc::clone(config)).build();
    let simplifier = ExprSimplifier::new(context);
    let constant = |argument: Expr| {
        let text = argument.human_display().to_string();
        match simplifier.simplify(simplifier.coerce(argument, &schema)?)? {
            Expr::Literal(value, _) => Ok(value),
            _ => {
                let error = Error::unsupported(format!("{function}({text}): arguments that aren't constants"));
                let error = error.with_hint(format!("in a SELECT list, use unnest({function}(...))"));
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    };
    arguments.into_iter().map(constant).collect()
}
