//! A plan node of our own: each row of the input as often as an expression says.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion_common::{DFSchemaRef, Result};
use datafusion_expr::logical_plan::Extension;
use datafusion_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

/// The rows of `input`, each `copies` times; not at all if that is NULL, zero or less.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// The rows, with all their columns.
    pub input: Arc<LogicalPlan>,
    /// A BIGINT over a row.
    pub copies: Expr,
}

impl Repeat {
    pub(crate) fn new(input: Arc<LogicalPlan>, copies: Expr) -> Self {
        Self { input, copies }
    }

    /// The node behind a `LogicalPlan::Extension`, if it is this one.
    pub fn of(extension: &Extension) -> Option<&Self> {
        extension.node.as_any().downcast_ref()
    }
}

impl From<Repeat> for LogicalPlan {
    fn from(repeat: Repeat) -> Self {
        Self::Extension(Extension { node: Arc::new(repeat) })
    }
}

impl PartialOrd for Repeat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.copies.partial_cmp(&other.copies)
    }
}

impl UserDefinedLogicalNodeCore for Repeat {
    fn name(&self) -> &str {
        "Repeat"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.copies.clone()]
    }

    /// Any row may be dropped before it is copied.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Repeat: {}", self.copies)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (exprs.pop(), inputs.pop()) {
            (Some(copies), Some(input)) => Ok(Self::new(Arc::new(input), copies)),
            _ => datafusion_common::internal_err!("a repetition has one input and one expression"),
        }
    }
}
