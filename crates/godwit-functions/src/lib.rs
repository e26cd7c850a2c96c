//! The functions of SQL, for the binder, and their implementations, for the executor.
//!
//! ```text
//! Registry ── names, types of arguments ──► matches: argument types, result type, properties      (for the binder)
//!    │                                         └─ implementation, carried along unseen            (for the executor)
//!    ├─ kernel.rs                      scalar functions: those of `godwit-scalar`
//!    ├─ operators.rs, clock.rs         & | # xor << >> ~; now(), current_date, …
//!    ├─ rows.rs, lambda.rs             functions of a session, row by row; functions that take lambdas
//!    ├─ aggregate.rs                   AggregateImplementation: the executor computes aggregates by their names
//!    ├─ window.rs                      nothing: likewise
//!    ├─ documented.rs                  entries of these tables: names, description, example
//!    ├─ listed.rs                      all functions with what documents them, for lists of functions
//!    └─ evaluate.rs                    calls with constants                                       (for the optimizer)
//! ```
#![forbid(unsafe_code)]

mod aggregate;
mod arguments;
mod clock;
mod documented;
mod evaluate;
mod implementation;
mod kernel;
mod lambda;
mod listed;
mod operators;
mod registry;
mod rows;
#[cfg(test)]
mod tests;
mod window;

pub use implementation::{AggregateImplementation, LambdaForm, Operator, ScalarImplementation, ValueFunction};
pub use listed::{Listed, ListedKind, listed_functions};
pub use registry::Registry;
pub use rows::{Check, RowFunction};
