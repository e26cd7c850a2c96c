//! The clock of a trace.

/// Nanoseconds since a trace's start, by the system's monotonic clock: a common clock for samples, objects that move,
/// and queries.
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

/// The monotonic clock, which is never negative. Uses libc: rustix parses the kernel's vDSO itself, which doesn't work
/// under Valgrind.
pub(crate) fn monotonic_nanos() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours, and of the type that the function fills in.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    assert_eq!(result, 0, "every system has a monotonic clock");
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
