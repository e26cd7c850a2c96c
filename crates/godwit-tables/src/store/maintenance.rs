//! The thread that makes checkpoints when they are due, so that commits and queries can continue meanwhile.
//!
//! ```text
//!            a commit: the log is long           checkpoint made, or failed
//!   idle ──────────────────────────▶ due ──▶ running ─────────────────────▶ idle
//! ```
//!
//! It starts when the first checkpoint is due, runs at low priority, and ends with the database. A commit waits for it
//! only when the log has become several times as long as it should be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use super::Store;

/// A database without a thread makes checkpoints within commits.
#[derive(Default)]
pub(super) struct Maintenance {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_enabled: bool,
    thread: Option<JoinHandle<()>>,
    /// A checkpoint is due or running.
    is_due: bool,
    is_stopping: bool,
}

impl Maintenance {
    /// Waits until no checkpoint is due.
    pub(super) fn wait(&self) {
        let mut state = self.state.lock();
        while state.is_due && !state.is_stopping {
            self.changed.wait(&mut state);
        }
    }
}

impl Store {
    /// Lets a thread make the checkpoints that are due, until [`stop_maintenance`](Self::stop_maintenance).
    pub fn allow_maintenance(&self) {
        self.maintenance.state.lock().is_enabled = true;
    }

    /// Ends the thread, after its current checkpoint.
    pub fn stop_maintenance(&self) {
        let thread = {
            let mut state = self.maintenance.state.lock();
            state.is_enabled = false;
            state.is_stopping = true;
            self.maintenance.changed.notify_all();
            state.thread.take()
        };
        if let Some(thread) = thread {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }

    /// Requests a checkpoint; returns false if there is no thread for it.
    pub(super) fn request_checkpoint(self: &Arc<Self>) -> bool {
        let mut state = self.maintenance.state.lock();
        if state.is_enabled && state.thread.is_none() {
            let store = self.clone();
            let thread = std::thread::Builder::new().name("godwit-merge".into()).spawn(move || store.maintain());
            state.thread = thread.ok();
        }
        if state.thread.is_none() {
            return false;
        }
        state.is_due = true;
        self.maintenance.changed.notify_all();
        true
    }

    fn maintain(&self) {
        godwit_io::lower_thread_priority();
        let Maintenance { state, changed } = &self.maintenance;
        loop {
            {
                let mut state = state.lock();
                while !state.is_due && !state.is_stopping {
                    changed.wait(&mut state);
                }
                if state.is_stopping {
                    return;
                }
            }
            // A failed checkpoint is tried again when the log has grown, and the error is reported to the next explicit
            // request.
            let made = catch_unwind(AssertUnwindSafe(|| self.checkpoint()));
            if !matches!(made, Ok(Ok(()))) {
                self.postpone_checkpoint();
            }
            state.lock().is_due = false;
            changed.notify_all();
        }
    }
}
