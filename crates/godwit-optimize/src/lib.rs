//! The optimizer: turns a bound plan into one that returns the same rows at lower cost.
//!
//! ```text
//! passes.rs     the list of passes, in order, with the bound of each
//!   ├─ rewrite/     the passes that rewrite, a file each
//!   ├─ unnest/      subqueries and dependent joins become joins
//!   └─ join_order/  the order of joins
//!        └─ estimate/   how many rows a node has
//! properties/   what is known about nodes: keys, NULLs, equal columns
//! ```
//!
//! A pass may rely on what `godwit-plan` documents, but not on any other pass having run: each can be switched off. All
//! passes preserve the rows of the result, and the ids and the order of its columns.
#![forbid(unsafe_code)]

mod estimate;
mod join_order;
mod passes;
mod properties;
mod rewrite;
#[cfg(test)]
mod test_queries;
#[cfg(test)]
mod test_tables;
#[cfg(test)]
mod tests;
mod unnest;

pub use estimate::{ColumnEstimate, Estimates, NodeEstimate};
pub use join_order::{JoinOrder, order_joins};
pub use passes::{OptimizerSettings, Pass, Passes, optimize};
pub use unnest::unnest;
