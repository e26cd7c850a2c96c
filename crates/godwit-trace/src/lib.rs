//! Memory traces: which loads touch which structure of which query, when, and in which pattern.
//!
//! ```text
//!   owners of memory ── declare ──▶ Ranges  address ─▶ object, offset, entry          (ranges.rs)
//!                                     │
//!   kernels ──── loads ──▶ Loads ─────┼──▶ Sample ──▶ a buffer per thread ──▶ writer thread ──▶ TraceSink
//!                one in n             │                                            (session.rs)
//!   processor ── rings ──▶ hardware ──┘
//! ```
//!
//! There is one trace at a time in a process. While there is none, a call of [`declare`] or [`loads`] is a test of one
//! byte, once per chunk or page, and nothing is compiled into the loops of kernels: [`loads`] computes the addresses of
//! those loads that are sampled, of what the kernel was given (software.rs). The hardware source takes them from the
//! processor instead; what an address belongs to, both learn from the ranges.
//!
//! Source: Noll, "Resource-Efficient Data Processing", thesis, 3.
#![forbid(unsafe_code)]

mod ranges;
mod session;
mod software;

#[cfg(test)]
mod tests;

pub use ranges::{EntryValues, ObjectKey, Place, TracedObject, TracedRange};
pub use session::{
    HotEntry, ObjectTotals, Sample, Trace, TraceDescription, TraceOptions, TraceSink, declare, forget, is_on,
    running_trace,
};
pub use software::{Loads, VECTOR_BYTES, loads};
