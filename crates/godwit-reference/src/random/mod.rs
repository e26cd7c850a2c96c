//! Random plans over tiny tables: valid by construction, with every kind of node, and subqueries everywhere.
//!
//! ```text
//! tables.rs     two to four tables of a few rows, full of NULLs, zeros of both signs, NaN, extremes
//! relations.rs  trees of nodes over them
//! rows.rs       nodes whose result depends on an order: limits, windows, recursion
//! exprs.rs      expressions of a type over the columns that are visible
//! shrink.rs     smaller plans that are still plans
//! ```
//!
//! A plan has a single result, whatever the order of rows, so that the results of all correct rewrites can be compared:
//! limits and row numbers have sorts by all columns below or inside, lists are built in the order of their elements,
//! floats are sums of few binary digits. Only errors may or may not occur.

mod exprs;
mod numbers;
mod relations;
mod rows;
mod shrink;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use godwit_plan::{ColumnId, Expr, ExprKind, NodeId, OutputColumn, Plan, SharedId};

use crate::table::MemoryTable;
pub use numbers::Generator;
pub use shrink::shrink;

/// Maximum number of nodes of a plan.
const NODES_MAX: usize = 40;
/// Maximum number of columns; more are cut.
const COLUMNS_MAX: usize = 7;

/// Returns the seeds of a test that usually tries `count` of them; the environment variable `GODWIT_SEEDS` multiplies
/// their number.
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    let setting = std::env::var("GODWIT_SEEDS").unwrap_or_default();
    let range = setting.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    range.unwrap_or_else(|| 0..count * setting.parse().unwrap_or(1))
}

/// Makes the plan of a seed, which is always the same.
pub fn random_plan(seed: u64) -> Plan {
    plan_over(seed, |table| table)
}

/// Makes the plan of a seed over modified tables; their columns must stay.
fn plan_over(seed: u64, change: impl Fn(MemoryTable) -> MemoryTable) -> Plan {
    let mut numbers = Generator::new(seed);
    let tables = tables::random_tables(&mut numbers).into_iter().map(change).map(Arc::new).collect();
    let mut planner = Planner { numbers, plan: Plan::new(), tables, shared: Vec::new(), working: None };
    let depth = 1 + planner.numbers.below(4);
    let root = planner.relation(depth, &[]);
    let mut plan = planner.plan;
    let output = |(index, column): (usize, ColumnId)| OutputColumn { name: format!("c{index}"), column };
    plan.output = plan.outputs(root).into_iter().enumerate().map(output).collect();
    plan.root = Some(root);
    plan
}

/// A plan under construction.
struct Planner {
    numbers: Generator,
    plan: Plan,
    tables: Vec<Arc<MemoryTable>>,
    shared: Vec<SharedId>,
    /// The recursion whose step is being made, and its columns.
    working: Option<(ColumnId, Vec<ColumnId>)>,
}

/// The columns that an expression may use.
#[derive(Clone, Copy)]
struct Visible<'a> {
    /// The columns of the input.
    local: &'a [Expr],
    /// The columns of enclosing queries.
    outer: &'a [Expr],
}

impl Planner {
    /// Returns the columns of a node, as expressions.
    fn columns(&self, node: NodeId) -> Vec<Expr> {
        let nullable = self.plan.nullable_columns(node);
        self.plan.outputs(node).into_iter().map(|column| self.column(column, nullable.contains(column))).collect()
    }

    fn column(&self, column: ColumnId, nullable: bool) -> Expr {
        Expr::new(ExprKind::Column(column), self.plan.column(column).ty.clone(), nullable)
    }

    /// Whether the plan may get more nodes.
    fn may_grow(&self) -> bool {
        self.plan.node_count() < NODES_MAX
    }
}
