//! Execution: the scheduler, the operators, and the physical planner, which turns a plan into pipelines.
//!
//! ```text
//! Plan ──physical/──▶ PhysicalPlan: pipelines in dependency order
//!                            source ─▶ transform ─▶ … ─▶ sink          (godwit-pipeline: the three roles)
//!                              └── morsels, by every worker in parallel (scheduler.rs)
//! ```
#![forbid(unsafe_code)]

mod alone;
mod compaction;
pub mod explain;
pub mod hash_aggregate;
pub mod hash_join;
pub mod nested_loop_join;
pub mod operators;
mod physical;
mod recursion;
mod scheduler;
mod shared_rows;
pub mod sort;
pub mod tables;
#[cfg(test)]
mod testing;
pub mod window;

pub use explain::ExplainNode;
pub use operators::NothingSink;
pub use physical::{PhysicalPlan, plan_query};
pub use scheduler::WorkerPool;
pub use tables::{ComputedTable, Repeat, ReturnedRows, Series};
