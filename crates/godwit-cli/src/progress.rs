//! Progress bars on a terminal's standard error, for long queries and for counted steps.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use godwit::QueryProgress;

use crate::terminal;

/// Queries that end within this time show no bar.
const SHOW_AFTER: Duration = Duration::from_secs(2);

/// Interval between redraws.
const REDRAW_AFTER: Duration = Duration::from_millis(100);

/// Minimum fraction from which the remaining time can be estimated.
const FRACTION_MIN: f64 = 0.02;

/// Time without progress after which the remaining time is unknown.
const STANDING_AFTER: Duration = Duration::from_secs(5);

/// Maximum columns of the bar, and columns of the window that stay free.
const BAR_COLUMNS_MAX: usize = 40;
const SPARE_COLUMNS: usize = 6;

/// Monitors a query from a separate thread until it is dropped, which clears the line.
pub struct ProgressWatch {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressWatch {
    /// Starts monitoring if standard error is a terminal.
    pub fn start(query: QueryProgress) -> Option<Self> {
        if !stderr().is_terminal() {
            return None;
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            let started = Instant::now();
            if stopped.recv_timeout(SHOW_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut left = TimeLeft::default();
            while stopped.recv_timeout(REDRAW_AFTER) == Err(RecvTimeoutError::Timeout) {
                let (elapsed, fraction) = (started.elapsed(), query.fraction());
                show(&line(window_columns(), fraction, elapsed, left.observe(elapsed, fraction)));
            }
            show("");
        });
        thread.ok().map(|thread| Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Estimate of a query's remaining time, assuming that it continues at the same rate.
#[derive(Debug, Default)]
struct TimeLeft {
    fraction: f64,
    /// Time at which the fraction last grew.
    grown: Duration,
}

impl TimeLeft {
    /// Returns the remaining time, given the elapsed time and the completed fraction; `None` if it can't be estimated:
    /// too little has been completed, or there was no progress for long.
    fn observe(&mut self, elapsed: Duration, fraction: f64) -> Option<Duration> {
        if fraction > self.fraction {
            (self.fraction, self.grown) = (fraction, elapsed);
        }
        let is_standing = elapsed - self.grown > STANDING_AFTER;
        if is_standing || self.fraction < FRACTION_MIN || self.fraction >= 1.0 {
            return None;
        }
        Some(elapsed.mul_f64((1.0 - self.fraction) / self.fraction))
    }
}

/// Returns the text of a line for a query.
fn line(columns: usize, fraction: f64, elapsed: Duration, left: Option<Duration>) -> String {
    let left = left.map(|left| format!(", {} left", rounded(left))).unwrap_or_default();
    bar(columns, fraction, &format!("{}{left}", exact(elapsed)))
}

/// Returns a line for a window of this many columns. It doesn't fill the window, so that the text that the terminal
/// adds after it can be cleared.
fn bar(columns: usize, fraction: f64, text: &str) -> String {
    let text = format!(" {:>3} %  {text}", (fraction * 100.0) as u64);
    let bar_columns = BAR_COLUMNS_MAX.min(columns.saturating_sub(text.len() + SPARE_COLUMNS));
    let done = ((fraction * bar_columns as f64) as usize).min(bar_columns);
    format!("{}{}{text}", "━".repeat(done), "╌".repeat(bar_columns - done))
}

fn window_columns() -> usize {
    terminal::size(stderr()).map_or(0, |size| size.columns)
}

/// Replaces the last line, and the ^C that the terminal may have added to it.
fn show(line: &str) {
    // A terminal that is gone is no reason to stop the work in progress.
    let _ = write!(stderr(), "\r{line}\x1b[K");
}

/// Formats a time to the second.
fn exact(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}

/// Formats a time in words, rounded.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds.max(1)),
        seconds @ 60..3600 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It may have panicked, which is no reason to lose the query's result.
            let _ = thread.join();
        }
    }
}

/// Counts steps by any number of threads; shows them if standard error is a terminal, until it is dropped.
pub struct ProgressBar {
    is_shown: bool,
    steps: Mutex<Steps>,
}

struct Steps {
    done: u64,
    all: u64,
    text: String,
    drawn: Instant,
}

impl ProgressBar {
    pub fn new(all: u64) -> Self {
        let steps = Steps { done: 0, all, text: String::new(), drawn: Instant::now() };
        Self { is_shown: stderr().is_terminal(), steps: Mutex::new(steps) }
    }

    /// Sets the total number of steps.
    pub fn set_all(&self, all: u64) {
        self.steps().all = all;
    }

    /// Sets the description of the current work.
    pub fn set_text(&self, text: impl Into<String>) {
        let mut steps = self.steps();
        steps.text = text.into();
        self.draw(&mut steps);
    }

    /// Counts steps as completed.
    pub fn advance(&self, by: u64) {
        let mut steps = self.steps();
        steps.done += by;
        if steps.drawn.elapsed() >= REDRAW_AFTER {
            self.draw(&mut steps);
        }
    }

    /// Lets a function write lines above the bar.
    pub fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut steps = self.steps();
        self.clear();
        let outcome = write();
        self.draw(&mut steps);
        outcome
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().expect("nobody panics with this lock held")
    }

    fn draw(&self, steps: &mut Steps) {
        if self.is_shown {
            // The number of steps may have been a guess, or not set yet.
            let fraction = (steps.done as f64 / steps.all.max(1) as f64).min(1.0);
            show(&bar(window_columns(), fraction, &steps.text));
            steps.drawn = Instant::now();
        }
    }

    fn clear(&self) {
        if self.is_shown {
            show("");
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let seconds = Duration::from_secs;
        let mut left = TimeLeft::default();
        assert_eq!(left.observe(seconds(2), 0.0), None);
        assert_eq!(left.observe(seconds(3), 0.25), Some(seconds(9)));
        assert_eq!(left.observe(seconds(4), 0.5), Some(seconds(4)));
        assert_eq!(left.observe(seconds(10), 0.5), None, "it stands still");
        assert_eq!(left.observe(seconds(12), 0.75), Some(seconds(4)));
        assert_eq!(left.observe(seconds(13), 1.0), None);
        let shown = line(80, 0.25, seconds(3), Some(seconds(9)));
        assert_eq!(shown, format!("{}{}  25 %  3 s, 9 s left", "━".repeat(10), "╌".repeat(30)));
        assert_eq!(line(20, 0.5, seconds(3), None), "━╌╌  50 %  3 s");
        assert_eq!(line(0, 0.0, seconds(3), None), "   0 %  3 s");
        assert_eq!(exact(seconds(61)), "1:01 min");
        assert_eq!([rounded(seconds(0)), rounded(seconds(61)), rounded(seconds(5400))], ["1 s", "2 min", "1.5 h"]);
    }
}
