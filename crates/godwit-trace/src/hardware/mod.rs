//! The hardware source: samples that the processor takes of its loads, through Linux's `perf_event_open`.
//!
//! From the bottom up: which event samples loads here (`processor`), the structure that describes it to the kernel
//! (`attributes`), opening it for a thread (`event`), its ring (`mapping`), the records in it (`records`), their times
//! (`anchor`), the thread that drains all rings (`drainer`), and what callers see (`tracer`, `options`, `unavailable`).

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a mapped page of its own, which it empties and touches")]
mod anchor;
#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod drainer;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "system calls")]
mod event;
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "memory shared with the kernel")]
mod mapping;
mod options;
#[cfg(target_os = "linux")]
mod processor;
#[cfg(target_os = "linux")]
mod records;
#[cfg(target_os = "linux")]
mod tracer;
mod unavailable;

/// A load that the processor sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Time of the load, in nanoseconds since the start of the trace's [`Clock`](crate::Clock).
    pub time_nanos: u64,
    /// The system's number of the thread.
    pub thread: u32,
    /// The virtual address that was loaded from.
    pub address: u64,
}

#[cfg(not(target_os = "linux"))]
pub use elsewhere::HardwareTracer;
pub use options::{HardwareCounts, HardwareOptions};
#[cfg(target_os = "linux")]
pub use tracer::HardwareTracer;
pub use unavailable::Unavailable;

#[cfg(all(test, target_os = "linux"))]
mod records_tests;
#[cfg(all(test, target_os = "linux"))]
#[allow(unsafe_code, reason = "mapped pages to touch")]
mod tests;
