//! What a tracer is told, and what it tells in the end.

use crate::Load;

/// Samples that go through the queue at once, at most.
pub(super) const BATCH_SAMPLES: usize = 4_096;

/// How to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardwareOptions {
    /// One sample in so many loads. IBS does multiples of 16 from 144 on; the nearest is taken.
    pub period: u64,
    /// Bytes of the ring of a thread, each sample taking 32 (Intel) or 40 (AMD); rounded up to a power of two of pages.
    /// Users without capability may have `/proc/sys/kernel/perf_event_mlock_kb` for each core.
    pub ring_bytes_per_thread: usize,
    /// Batches, of up to 4,096 samples, that wait for the sink.
    pub queue_batches: usize,
}

impl Default for HardwareOptions {
    /// One in 4,000, the least overhead in the thesis. A ring holds 33 ms of samples then, at a load per nanosecond.
    fn default() -> HardwareOptions {
        HardwareOptions { period: 4_000, ring_bytes_per_thread: 256 << 10, queue_batches: 64 }
    }
}

impl HardwareOptions {
    /// The ring that mapping takes: a power of two of pages.
    pub(super) fn ring_bytes(&self) -> usize {
        self.ring_bytes_per_thread.clamp(rustix::param::page_size(), 1 << 30).next_power_of_two()
    }

    /// The memory that a tracer of some threads takes, at most: constant, however long it runs.
    #[must_use]
    pub fn memory_bytes(&self, threads: usize) -> usize {
        let rings = threads * (self.ring_bytes() + rustix::param::page_size());
        // One batch is being filled, another is with the sink.
        let batches = self.queue_batches.max(1) + 2;
        rings + batches * BATCH_SAMPLES * size_of::<Load>()
    }
}

/// What became of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HardwareCounts {
    /// Threads that were attached.
    pub threads: u64,
    /// Samples that went into the queue.
    pub samples: u64,
    /// Samples of other things than loads by the program: IBS takes stores, arithmetic and the kernel's operations too.
    pub others: u64,
    /// Samples that found no sink: it was gone, or the tracer was dropped while the queue was full.
    pub dropped: u64,
    /// Samples that found their ring full. Use a larger period, a faster sink or larger rings.
    pub lost_in_rings: u64,
    /// Samples that the processor lost before they reached a ring.
    pub lost_by_processor: u64,
    /// How often the kernel silenced a thread's event for the rest of a tick, as samples came faster than
    /// `/proc/sys/kernel/perf_event_max_sample_rate`, which it lowers when sampling takes more than
    /// `perf_cpu_time_max_percent` of the time. Each is a gap in the trace. Use a larger period.
    pub throttled: u64,
    /// Places in rings where bytes were no record.
    pub damaged: u64,
    /// Events that happened, sampled or not: loads with PEBS, operations with IBS.
    pub events: u64,
    /// The sum of the times that threads were attached.
    pub enabled_nanos: u64,
    /// The part of it in which the event was counted. It is less if others use the processor's counters too, or if a
    /// thread ran on the small cores of a hybrid processor.
    pub running_nanos: u64,
}

impl HardwareCounts {
    /// Samples that are missing in the trace, as far as they could be counted.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.dropped + self.lost_in_rings + self.lost_by_processor
    }
}
