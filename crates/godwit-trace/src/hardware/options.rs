//! The options of a tracer, and the counts that it reports at the end.

use crate::Load;

/// Maximum number of samples in a batch of the queue.
pub(super) const BATCH_SAMPLES: usize = 4_096;

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardwareOptions {
    /// One in this many loads is sampled. IBS supports multiples of 16, at least 144; the nearest is taken.
    pub period: u64,
    /// Bytes of a thread's ring, rounded up to a power of two of pages; a sample takes 32 (Intel) or 40 (AMD). Users
    /// without the capability may have `/proc/sys/kernel/perf_event_mlock_kb` for each core.
    pub ring_bytes_per_thread: usize,
    /// Maximum number of batches, of up to 4,096 samples each, that wait for the sink.
    pub queue_batches: usize,
}

impl Default for HardwareOptions {
    /// One in 4,000, the least overhead in the thesis. A ring then holds 33 ms of samples, at one load per nanosecond.
    fn default() -> HardwareOptions {
        HardwareOptions { period: 4_000, ring_bytes_per_thread: 256 << 10, queue_batches: 64 }
    }
}

impl HardwareOptions {
    /// The size of the ring as mapping requires it: a power of two of pages.
    pub(super) fn ring_bytes(&self) -> usize {
        self.ring_bytes_per_thread.clamp(rustix::param::page_size(), 1 << 30).next_power_of_two()
    }

    /// The maximum memory that a tracer of this many threads takes: constant, however long it runs.
    #[must_use]
    pub fn memory_bytes(&self, threads: usize) -> usize {
        let rings = threads * (self.ring_bytes() + rustix::param::page_size());
        // One batch is being filled, another is with the sink.
        let batches = self.queue_batches.max(1) + 2;
        rings + batches * BATCH_SAMPLES * size_of::<Load>()
    }
}

/// Counts of what happened to the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HardwareCounts {
    /// Number of threads attached.
    pub threads: u64,
    /// Samples that went into the queue.
    pub samples: u64,
    /// Samples of anything but loads by the program: IBS also samples stores, arithmetic and the kernel's operations.
    pub others: u64,
    /// Samples that didn't reach the sink: it was gone, or the tracer was dropped while the queue was full.
    pub dropped: u64,
    /// Samples that found their ring full. Use a larger period, a faster sink or larger rings.
    pub lost_in_rings: u64,
    /// Samples that the processor lost before they reached a ring.
    pub lost_by_processor: u64,
    /// How often the kernel silenced a thread's event for the rest of a tick, because samples came faster than
    /// `/proc/sys/kernel/perf_event_max_sample_rate`, which it lowers when sampling takes more than
    /// `perf_cpu_time_max_percent` of the time. Each is a gap in the trace. Use a larger period.
    pub throttled: u64,
    /// Number of places in rings where the bytes weren't a record.
    pub damaged: u64,
    /// Events that happened, sampled or not: loads with PEBS, operations with IBS.
    pub events: u64,
    /// Total time that threads were attached.
    pub enabled_nanos: u64,
    /// The part of it during which the event was counted: less if others use the processor's counters, too, or if a
    /// thread ran on the small cores of a hybrid processor.
    pub running_nanos: u64,
}

impl HardwareCounts {
    /// Number of samples missing from the trace, as far as they could be counted.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.dropped + self.lost_in_rings + self.lost_by_processor
    }
}
