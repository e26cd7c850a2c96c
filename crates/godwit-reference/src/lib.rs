//! A slow and plain evaluator of plans: the definition of what a plan means.
//!
//! Rows are vectors of values, joins are nested loops, and a subquery runs again wherever its expression is evaluated.
//! No rewrite happens, so nothing is shared with the optimizer or the executor but the plan and the functions of
//! `godwit-types`. Tests compare what those two make of a plan with what comes out here.
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
//! joins and correlated subqueries need no rule of their own.
//!
//! Where SQL leaves a choice, this is what is chosen here:
//! - AND and OR go from left to right and stop once the result is decided. Later errors aren't raised.
//! - Rows come in the order in which nested loops make them; sorts are stable; LIMIT takes the first.
//! - A sample takes the first rows.
//! - A scalar subquery or single join with two rows is an error even if the value isn't used.
//!
//! The promises of a plan are checked on the way: values are of their types, and not NULL where they can't be. A broken
//! promise is an internal error, which [`agree`](agree()) doesn't forgive.
//!
//! Around it are the tools of such tests: [`MemoryTable`] holds rows, [`TestFunctions`] are functions that need no
//! engine, [`random_plan`] makes plans of every kind, [`shrink`] makes a failing one smaller, [`agree`](agree())
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
