//! Accounting for the work that compactors defer.
//!
//! ```text
//! compactor 1 ─▶ probe ─▶ compactor 2 ─▶ probe ─▶ …
//!                          │ holds rows back: compactor 1 is charged their price at once
//!                          └ hands them on:   that time counts for none before it, and settles the price of a row
//! ```
//!
//! Without this, the chunk that fills a buffer further downstream would pay for all rows in it, and the others would
//! seem free: noise of about a chunk's worth of work in each round, several times the difference between thresholds.
//!
//! While a chunk is being processed downstream of one compactor, the compactors there run on the same thread; so the
//! charges are kept in a thread-local. If the task's quantum ends meanwhile, other tasks may change it, too: those
//! times are mostly above `LATENCY_MAX`, and are discarded.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::config::{LATENCY_MAX, PRICE_WEIGHT};

thread_local! {
    /// Sum that compactors on this thread have charged, less what they paid, in nanoseconds.
    static CHARGED_NS: Cell<i64> = const { Cell::new(0) };
}

/// A number that identifies the thread, as cheap to get as an address.
fn this_thread() -> usize {
    CHARGED_NS.with(|charged| std::ptr::from_ref(charged).addr())
}

/// A compactor's account with those before it.
#[derive(Default)]
pub(super) struct Deferral {
    /// Mean time that the operators downstream take for a row that was held back.
    price_ns: f64,
    /// Sum that this compactor charged, less what it paid; its own latencies exclude it.
    charged_ns: i64,
    handed_on: Option<(Stopwatch, usize)>,
}

impl Deferral {
    /// Records that `rows` rows are held back.
    pub(super) fn hold_back(&mut self, rows: usize) {
        self.charge((rows as f64 * self.price_ns) as i64);
    }

    /// Records that `rows` rows that were held back are emitted now.
    pub(super) fn hand_on(&mut self, rows: usize) {
        self.handed_on = Some((Stopwatch::start(self), rows));
    }

    /// Called when everything downstream is done with the rows emitted, if there were any.
    pub(super) fn settle(&mut self) {
        let Some((stopwatch, rows)) = self.handed_on.take() else { return };
        // An interrupted run has no valid time. Earlier compactors were interrupted, too, and aren't owed anything.
        let Some(took) = stopwatch.elapsed(self) else { return };
        let took_ns = took.as_nanos() as i64;
        self.charge(-took_ns);
        let price_ns = took_ns as f64 / rows as f64;
        let weight = if self.price_ns == 0.0 { 1.0 } else { PRICE_WEIGHT };
        self.price_ns += weight * (price_ns - self.price_ns);
    }

    fn charge(&mut self, ns: i64) {
        self.charged_ns += ns;
        CHARGED_NS.set(CHARGED_NS.get() + ns);
    }
}

/// Measures how long something takes, including the price of the work that compactors downstream defer meanwhile.
pub(super) struct Stopwatch {
    thread: usize,
    begun: Instant,
    charged_ns: i64,
}

impl Stopwatch {
    pub(super) fn start(own: &Deferral) -> Self {
        let charged_ns = CHARGED_NS.get() - own.charged_ns;
        Self { thread: this_thread(), begun: Instant::now(), charged_ns }
    }

    /// `None` if the task was interrupted: it moved to another thread, or took longer than the operators downstream
    /// could have.
    pub(super) fn elapsed(&self, own: &Deferral) -> Option<Duration> {
        let elapsed = self.begun.elapsed();
        let charged_ns = CHARGED_NS.get() - own.charged_ns - self.charged_ns;
        let ns = (elapsed.as_nanos() as i64).saturating_add(charged_ns);
        (self.thread == this_thread() && elapsed <= LATENCY_MAX).then(|| Duration::from_nanos(ns.max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::work_for;

    /// Time that the operators downstream take for a chunk.
    const WORK: Duration = Duration::from_millis(2);

    /// An account that knows the price of a row: a hundredth of `WORK`, or slightly more.
    fn priced() -> Deferral {
        let mut account = Deferral::default();
        // A time in which the thread was interrupted doesn't count.
        while account.price_ns == 0.0 {
            account.hand_on(100);
            work_for(WORK);
            account.settle();
        }
        account
    }

    #[test]
    fn who_fills_the_buffer_does_not_pay_for_all() {
        let (before, mut further_on) = (Deferral::default(), priced());
        let mut close = 0;
        for turn in 0..8 {
            let price_ms = further_on.price_ns * 50.0 / 1e6;
            let stopwatch = Stopwatch::start(&before);
            further_on.hold_back(50);
            if turn % 2 == 1 {
                further_on.hand_on(100);
                work_for(WORK);
                further_on.settle();
            }
            let Some(took) = stopwatch.elapsed(&before) else { continue };
            let ms = took.as_secs_f64() * 1e3;
            assert!(ms > 0.99 * price_ms && price_ms > 0.99, "{ms} for {price_ms}");
            close += u32::from(ms < price_ms + 1.0);
        }
        // The machine may be busy with other work now and then.
        assert!(close >= 6, "{close} turns of 8 cost what they held back");
    }

    #[test]
    fn what_a_compactor_holds_back_itself_counts_when_it_goes_on() {
        let mut own = priced();
        let held_back = (0..8).filter_map(|_| {
            let stopwatch = Stopwatch::start(&own);
            own.hold_back(100);
            stopwatch.elapsed(&own)
        });
        let fastest = held_back.min().unwrap();
        assert!(fastest < Duration::from_millis(1), "{fastest:?}");
        let handed_on = loop {
            let stopwatch = Stopwatch::start(&own);
            own.hand_on(100);
            work_for(WORK);
            own.settle();
            if let Some(took) = stopwatch.elapsed(&own) {
                break took;
            }
        };
        assert!(handed_on >= WORK, "{handed_on:?}");
    }

    #[test]
    fn a_task_that_was_interrupted_is_not_measured() {
        let own = Deferral::default();
        let stopwatch = Stopwatch::start(&own);
        work_for(LATENCY_MAX + Duration::from_millis(1));
        assert!(stopwatch.elapsed(&own).is_none());
        let stopwatch = Stopwatch::start(&own);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(stopwatch.elapsed(&own).is_none()));
        });
    }
}
