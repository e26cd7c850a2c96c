//! The clock of a trace.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since a trace's start, by the system's monotonic clock: one clock for samples, objects that move, queries.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start_nanos: u64,
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Clock {
        Clock { start_nanos: monotonic_nanos() }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn nanos(&self) -> u64 {
        self.at(monotonic_nanos())
    }

    /// Nanoseconds between the start and an instant of the monotonic clock; 0 if that was before.
    pub(crate) fn at(&self, monotonic_nanos: u64) -> u64 {
        monotonic_nanos.saturating_sub(self.start_nanos)
    }
}

/// The monotonic clock, which is never negative.
pub(crate) fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
