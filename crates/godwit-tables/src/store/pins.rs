//! Row ids change when a checkpoint folds deltas. Whoever found rows and will delete them later holds a pin meanwhile;
//! checkpoints wait for pins, new pins wait for checkpoints.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub(crate) struct Pins {
    state: Mutex<PinState>,
    /// Notified when a pin or a checkpoint ends.
    changed: Condvar,
}

#[derive(Default)]
struct PinState {
    pins: usize,
    is_folding: bool,
}

/// As long as it lives, row ids stay what they are.
pub(crate) struct Pin(Arc<Pins>);

/// As long as it lives, there are no pins.
pub(crate) struct Folding<'a>(&'a Pins);

impl Pins {
    /// Waits until no checkpoint folds.
    pub(crate) fn pin(self: &Arc<Self>) -> Pin {
        let mut state = self.state.lock();
        while state.is_folding {
            self.changed.wait(&mut state);
        }
        state.pins += 1;
        Pin(self.clone())
    }

    /// Waits no longer than `patience` until there are no pins.
    pub(crate) fn fold(&self, patience: Duration) -> Option<Folding<'_>> {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        while state.is_folding || state.pins > 0 {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return None;
            }
        }
        state.is_folding = true;
        Some(Folding(self))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.state.lock().pins -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for Folding<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_folding = false;
        self.0.changed.notify_all();
    }
}
