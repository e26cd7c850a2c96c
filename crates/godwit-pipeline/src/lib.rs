//! The contract between the parts that produce, transform and consume rows: the building blocks of pipelines.
//!
//! ```text
//! Table::scan ─▶ Source ─▶ Transform ─▶ … ─▶ Sink ─▶ ResultStream          the three roles: pipeline.rs
//!      ▲            └─────── QueryContext ──────┘                            memory, settings, cancellation: context.rs
//!      └ ScanRequest: columns, filters (scan_filter), filters from joins and top-N (key_filter.rs, top_bound.rs)
//! ```
//!
//! The readers of tables (`godwit-files`, `godwit-tables`) and the operators (`godwit-exec`) both build on this crate,
//! and know nothing about each other.
//!
//! Plans are immutable and shared; what changes while a query runs lives in the operators' shared state (behind
//! `&self`) and in one *worker* object per role and task (`&mut self`), so that signatures show what is shared.
#![forbid(unsafe_code)]

mod cache;
mod collect;
mod context;
pub mod key_filter;
mod metrics;
mod pipeline;
mod scan;
pub mod scan_filter;
mod signal;
mod table_sample;
mod top_bound;

pub use cache::{CacheDecision, CacheUse};
pub use collect::{ResultCollector, ResultStream, to_batch};
pub use context::{COMPRESS_FROM_BYTES, CancelToken, Compaction, JOIN_LOAD_FACTOR, QueryContext, QuerySettings};
pub use key_filter::KeyFilter;
pub use metrics::{CompactionAccount, CompactionCounts, Flow, FlowCounts, OperatorMetrics};
pub use pipeline::{
    ChunkEffect, Operator, Pipeline, Sink, SinkVerdict, SinkWorker, Source, SourceVerdict, SourceWorker, Transform,
    TransformVerdict, TransformWorker,
};
pub use scan::{
    ColumnCounts, ColumnReads, MorselReader, MorselRows, Planned, Readable, Scan, ScanFilter, ScanRequest, ScanTask,
    ScannedColumn, Table, TableHandle, WindowRows,
};
pub use signal::Signal;
pub use table_sample::{SampledRows, SampledTable, pick_sample, sampled_values};
pub use top_bound::TopBound;
