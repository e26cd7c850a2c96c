//! Execution: pipelines, the scheduler, the operators, and the planner that turns a logical plan into them.
//!
//! ```text
//! LogicalPlan ──planner──▶ QueryPlan: pipelines in dependency order
//!                            source ─▶ transform ─▶ … ─▶ sink          (pipeline.rs: the three roles)
//!                              └── morsels, by every worker in parallel (scheduler.rs)
//! ```
//!
//! Plans are immutable and shared; what changes while a query runs lives in the operators' shared state (behind `&self`)
//! and in one *worker* object per role and task (`&mut self`), so that signatures show what is shared.
#![forbid(unsafe_code)]

pub mod collect;
mod context;
pub mod hash_join;
pub mod hash_aggregate;
mod key_filter;
pub mod metrics;
pub mod operators;
pub mod pipeline;
mod scan;
mod scheduler;
pub mod sort;
#[cfg(test)]
mod testing;

pub use context::{CancelToken, QueryContext, QuerySettings};
pub use key_filter::KeyFilter;
pub use scheduler::WorkerPool;
pub use scan::{ScanFilter, ScanRequest, Table, TableHandle};
