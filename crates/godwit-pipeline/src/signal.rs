//! What a task waits for without holding a thread.
//!
//! Whoever fires a signal runs the wake-ups itself, after it has released the lock: a wake-up may take other locks, or
//! subscribe again. The models in `xtask/models` try all orders in which threads may meet (`cargo xtask soundness`).

#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
use parking_lot::{Mutex, MutexGuard};

#[cfg(loom)]
use loom::sync::{Arc, Mutex, MutexGuard};

/// Something to wait for. Cheap to clone; fires once.
#[derive(Clone, Default)]
pub struct Signal(Arc<Mutex<State>>);

type Wake = Box<dyn FnOnce() + Send>;

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Waiting(Vec<Wake>),
    Fired,
}

impl Signal {
    /// A signal that hasn't fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs all waiting callbacks; later ones run at once.
    pub fn fire(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Fired);
        if let State::Waiting(wakes) = before {
            wakes.into_iter().for_each(|wake| wake());
        }
    }

    /// Runs `wake` when the signal fires, or right away if it already has.
    pub fn subscribe(&self, wake: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        match &mut *state {
            State::Fired => {
                drop(state);
                wake();
            }
            State::Waiting(wakes) => wakes.push(Box::new(wake)),
            State::Idle => *state = State::Waiting(vec![Box::new(wake)]),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.lock();
        #[cfg(loom)]
        let state = state.expect("no thread panics with the lock");
        state
    }
}
