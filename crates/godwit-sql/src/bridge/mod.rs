//! From plans of the new front end to the ones that the executor takes: a bridge that goes when the physical planner
//! reads plans itself.
//!
//! ```text
//! godwit_plan::Plan ── plan.rs ──► LogicalPlan    nodes; join.rs, aggregate.rs, window.rs
//!                  └── expr.rs ──► Expr           expressions, with a cast where the planner crates' type would differ
//! SqlType, Value   ── types.rs ──► DataType, ScalarValue, and back
//! TableDefinition  ── relation.rs ──► godwit_plan::Relation
//! FUNCTIONS        ── functions/ ──► godwit_plan::FunctionRegistry
//! ```
//!
//! A column has the name `name#id`, unqualified and unique in the statement, so that EXPLAIN reads well and nothing is
//! ambiguous. The names of the result's columns travel beside the plan, as they always have.

mod aggregate;
mod expr;
mod functions;
mod join;
mod plan;
mod relation;
mod types;
mod window;

pub use functions::Registry;
pub use plan::to_logical_plan;
pub use relation::ScannedTable;
pub(crate) use types::scalar as scalar_of_value;

use datafusion_common::DataFusionError;
use godwit_common::Error;

/// An error of the planner crates as ours.
fn planning_error(error: DataFusionError) -> Error {
    crate::plan_error::of_bridge(&error)
}
