//! Wall-clock and processor time of a statement, for `.timer on`.

use std::fmt;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Runs from its creation; its text is the line that `.timer on` prints.
pub struct Stopwatch {
    started: Instant,
    processor: ProcessorTime,
}

/// Processor time of all threads of the process.
struct ProcessorTime {
    user: Duration,
    system: Duration,
}

impl ProcessorTime {
    fn now() -> Self {
        let duration = |time: TimeVal| Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()) as u64);
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own times");
        Self { user: duration(usage.user_time()), system: duration(usage.system_time()) }
    }
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { started: Instant::now(), processor: ProcessorTime::now() }
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = ProcessorTime::now();
        write!(
            f,
            "Run Time: real {:.3} user {:.3} sys {:.3}",
            self.started.elapsed().as_secs_f64(),
            (now.user - self.processor.user).as_secs_f64(),
            (now.system - self.processor.system).as_secs_f64(),
        )
    }
}
