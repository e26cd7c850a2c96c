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
//! There is one trace at a time in a process. While there is none, a call of [`declare`] or [`loads`] costs a test of
//! one byte, once per chunk or page, and nothing is compiled into the loops of kernels: [`loads`] computes the
//! addresses of sampled loads from the kernel's arguments (software.rs). The hardware source gets them from the
//! processor instead; both use the ranges to find out what an address belongs to.
//!
//! The idea and its uses are those of chapter 3 of Stefan Noll, "Resource-Efficient Data Processing" (thesis), which
//! has the processor take the samples and modifies the operating system's kernel to collect them; here that kernel is
//! unmodified.
//!
//! # The hardware source
//!
//! ```text
//!  traced threads        kernel                   this crate                         caller
//!
//!  thread 1 ─ loads ─▶ event ─▶ ring 1 ─┐
//!  thread 2 ─ loads ─▶ event ─▶ ring 2 ─┼─▶ draining thread ─▶ bounded queue ─▶ sink (a file, a table)
//!  thread 3 ─ loads ─▶ event ─▶ ring 3 ─┘   parses, converts     of batches
//!             one in n       mapped memory  times, counts losses
//! ```
//!
//! ```
//! use godwit_trace::{Clock, HardwareOptions, HardwareTracer};
//!
//! let clock = Clock::start();
//! match HardwareTracer::start(HardwareOptions { period: 1_000, ..HardwareOptions::default() }, clock) {
//!     Ok((tracer, samples)) => {
//!         let sink = std::thread::spawn(move || samples.iter().map(|batch| batch.len()).sum::<usize>());
//!         tracer.attach_thread()?; // by each thread; or attach_all_threads() once
//!         let sum: u64 = std::hint::black_box(vec![1; 1 << 20]).iter().sum();
//!         let counts = tracer.stop(); // all samples up to here are in the queue, which ends
//!         assert_eq!(sink.join().unwrap() as u64, counts.samples);
//!         println!("{sum}: {} samples, {} lost", counts.samples, counts.lost());
//!     }
//!     // "/sys/bus/event_source/devices/ibs_op doesn't exist: the hypervisor …": trace in software instead.
//!     Err(unavailable) => println!("{unavailable}"),
//! }
//! # Ok::<(), godwit_trace::Unavailable>(())
//! ```
//!
//! *Bounded*: memory is limited to the rings and the queue ([`HardwareOptions::memory_bytes`]), however long a trace
//! gets. A slow sink fills the queue; then the draining thread waits, and the rings fill up; then the kernel drops
//! samples and counts them. The traced threads never wait, and a trace reports what it lacks ([`HardwareCounts`]).
//!
//! ## What it needs
//!
//! | | Intel, PEBS | AMD, IBS |
//! |---|---|---|
//! | processor | Haswell or later: all loads that retire; before: loads by latency | any since family 10h |
//! | kernel | any that knows the processor | Linux 6.2, for events of threads with addresses |
//! | `/proc/sys/kernel/perf_event_paranoid` | ≤ 2 | ≤ 2 if `ibs_op/format/swfilt` exists, else ≤ 1 |
//! | virtual machine | the hypervisor has to pass PEBS on | the hypervisor has to pass IBS on |
//!
//! `CAP_PERFMON` replaces the setting. Containers mostly deny `perf_event_open` with a system call filter. Users
//! without `CAP_IPC_LOCK` may have rings of `/proc/sys/kernel/perf_event_mlock_kb` per core (usually 516 KiB) beyond
//! their locked-memory limit. Whatever is missing, [`Unavailable`] names it and says what to do.
//!
//! ## What is sampled
//!
//! * PEBS counts loads and samples every n-th. IBS tags every n-th operation of any kind; those that aren't loads are
//!   left out, so that each load has the same probability of 1/n there, too. [`HardwareCounts::others`] tells how many
//!   were left out.
//! * A period that is a multiple of a loop's loads samples the same load again and again: choose one that isn't, such
//!   as a prime. IBS takes multiples of 16, and randomizes the low bits of its counter by itself.
//! * On hybrid processors only the fast cores are sampled. [`HardwareCounts::running_nanos`] tells the share.
//! * Threads that start later have to attach themselves, because an event with a ring isn't inherited.
//! * Samples have the kernel's own time, which is converted: with an event that uses the monotonic clock, Linux takes
//!   an interrupt for every single PEBS sample, instead of once per buffer, which is what keeps PEBS cheap. The
//!   difference of the clocks is measured before the rings are drained, by page faults of the draining thread.
//!
//! ## What is known of it
//!
//! The chain of event, ring, draining thread and queue was tested with page faults, whose addresses are known exactly,
//! on Linux 6.18, as root, as a user without capabilities and under a filter of system calls. PEBS and IBS themselves
//! haven't been tested yet: neither their samples nor their cost. The thesis measured slowdowns of 2.3 at one in 200
//! loads, 1.27 at 1,000 and 1.05 at 4,000, with a kernel that kept only addresses.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "a system call")]
mod clock;
mod hardware;
mod ranges;
mod session;
mod software;

#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use hardware::{HardwareCounts, HardwareOptions, HardwareTracer, Load, Unavailable};
pub use ranges::{EntryValues, ObjectKey, ObjectPart, TracedObject, TracedRange};
pub use session::{
    HotEntry, ObjectTotals, Sample, Trace, TraceDescription, TraceOptions, TraceSink, TraceSource, declare, forget,
    is_on, running_trace,
};
pub use software::{Loads, VECTOR_BYTES, loads};
