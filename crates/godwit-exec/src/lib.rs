//! Execution: pipelines, the scheduler, the operators, and the physical planner, which makes them of a plan.
//!
//! ```text
//! Plan ──physical/──▶ PhysicalPlan: pipelines in dependency order
//!                            source ─▶ transform ─▶ … ─▶ sink          (pipeline.rs: the three roles)
//!                              └── morsels, by every worker in parallel (scheduler.rs)
//! ```
//!
//! Plans are immutable and shared; what changes while a query runs lives in the operators' shared state (behind `&self`)
//! and in one *worker* object per role and task (`&mut self`), so that signatures show what is shared.
#![forbid(unsafe_code)]

pub mod collect;
mod compaction;
mod context;
pub mod explain;
pub mod hash_aggregate;
pub mod hash_join;
pub mod json;
mod key_filter;
pub mod metrics;
pub mod nested_loop_join;
pub mod operators;
mod physical;
pub mod pipeline;
mod recursion;
mod scan;
pub mod scan_filter;
mod scheduler;
mod shared_rows;
pub mod sort;
mod table_sample;
pub mod tables;
#[cfg(test)]
mod testing;
mod top_bound;
pub mod window;

pub use collect::{ResultCollector, ResultStream, to_batch};
pub use compaction::Compaction;
pub use context::{COMPRESS_FROM_BYTES, CancelToken, JOIN_LOAD_FACTOR, QueryContext, QuerySettings};
pub use explain::ExplainNode;
pub use json::Json;
pub use key_filter::KeyFilter;
pub use operators::NothingSink;
pub use physical::{PhysicalPlan, plan_query};
pub use scan::{ScanFilter, ScanRequest, Table, TableHandle};
pub use scheduler::WorkerPool;
pub use table_sample::{SampledRows, SampledTable, pick_sample, sampled_values};
pub use tables::{ComputedTable, ReturnedRows, Series};
pub use top_bound::TopBound;
