//! A slow, simple evaluator of plans, which defines what a plan means.
//!
//! Rows are vectors of values, joins are nested loops, and a subquery runs again wherever its expression is evaluated.
//! Plans aren't rewritten, so the only code shared with the optimizer and the executor is the plan and the functions of
//! `godwit-types`. Tests compare their results with those of this evaluator.
//!
//! ```text
//! evaluate(plan) ─► node.rs ─► join.rs, aggregate.rs, window.rs, order.rs, set_operation.rs, recursion.rs
//!                     │  ▲
//!                     ▼  │ subquery.rs
//!                   expr.rs ─► arithmetic.rs, pattern.rs, functions/
//! ```
//!
//! An [`Environment`] gives the values of columns: a chain of rows, the innermost first. The row of a left side is
//! bound while the right side of its join is evaluated, that of an outer query while its subquery is; so dependent
//! joins and correlated subqueries need no special rules.
//!
//! Where SQL leaves a choice, the evaluator makes this one:
//! - AND and OR go from left to right and stop once the result is decided. Later errors aren't raised.
//! - Rows come in the order in which nested loops make them; sorts are stable; LIMIT takes the first.
//! - A sample takes the first rows.
//! - A scalar subquery or single join with two rows is an error even if the value isn't used.
//!
//! It also checks a plan's guarantees: values have their types, and aren't NULL where they can't be. A violation is an
//! internal error, which [`agree`](agree()) doesn't forgive.
//!
//! The crate also has tools for such tests: [`MemoryTable`] holds rows, [`TestFunctions`] provides functions without
//! the engine, [`random_plan`] makes plans of every kind, [`shrink`] reduces a failing plan, [`agree`](agree())
//! compares results.
#![forbid(unsafe_code)]

mod aggregate;
mod agree;
mod arithmetic;
mod check;
mod environment;
mod evaluator;
mod expr;
mod functions;
mod join;
mod node;
mod order;
mod pattern;
mod random;
mod recursion;
mod set_operation;
mod subquery;
mod table;
#[cfg(test)]
mod tests;
mod validate;
mod window;

pub use agree::{agree, difference, same_rows};
pub use environment::{Environment, Row, Rows};
pub use evaluator::{evaluate, evaluate_expr, evaluate_node};
pub use functions::TestFunctions;
pub use random::{Generator, random_plan, seeds, shrink};
pub use table::MemoryTable;
pub use validate::validate;
