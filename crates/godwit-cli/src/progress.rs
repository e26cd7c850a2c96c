//! A progress bar for queries that take long, on a terminal's standard error.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use godwit::QueryProgress;
use indicatif::{ProgressBar, ProgressStyle};

/// Queries that are done by then show no bar.
const SHOW_AFTER: Duration = Duration::from_secs(2);

/// Pause between two looks at the query.
const REDRAW_AFTER: Duration = Duration::from_millis(100);

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Watches a query from a thread of its own until it is dropped, which clears the bar.
pub struct ProgressWatch {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressWatch {
    /// Starts watching if standard error is a terminal.
    pub fn start(query: QueryProgress) -> Option<Self> {
        if !stderr().is_terminal() {
            return None;
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || {
            if stopped.recv_timeout(SHOW_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new(STEPS)
                .with_style(style("{bar:40} {percent:>3} %  {elapsed}"))
                .with_elapsed(SHOW_AFTER);
            while stopped.recv_timeout(REDRAW_AFTER) == Err(RecvTimeoutError::Timeout) {
                bar.set_position((query.fraction() * STEPS as f64) as u64);
            }
            bar.finish_and_clear();
        });
        thread.ok().map(|thread| Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The bar may have panicked, which is no reason to lose the query's result.
            let _ = thread.join();
        }
    }
}

/// A style from a template that is part of the program.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid").progress_chars("━━╌")
}
