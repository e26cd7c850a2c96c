//! Bytes of an object in flight.
//!
//! ```text
//!   announced ─▶ Queued ──a slot and room──▶ UnderWay ──▶ Arrived ─▶ taken: dropped
//!                  │                            │ └────▶ Failed ─▶ reported to waiting readers, fetched again by the next
//!                  └─a reader waits for it──────┘
//! ```

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use godwit_io::check_interrupt;
use godwit_memory::Reservation;
use parking_lot::{Condvar, Mutex};
use tokio::sync::OwnedSemaphorePermit;

use crate::config::INTERRUPT_INTERVAL;
use crate::failure::Failure;

/// A requested range of an object.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) range: Range<u64>,
    state: Mutex<State>,
    changed: Condvar,
    is_begun: AtomicBool,
}

#[derive(Debug)]
enum State {
    Queued,
    UnderWay(Arrived),
    Arrived(Arrived),
    Failed(Failure),
    /// It won't be fetched, because there was no room.
    Dropped,
}

/// Bytes that arrived, from the beginning of the range, with room for all of it.
#[derive(Debug)]
pub(crate) struct Arrived {
    bytes: Vec<u8>,
    touched: Instant,
    _memory: Reservation,
    _share: Option<OwnedSemaphorePermit>,
}

impl Arrived {
    /// The first bytes of a range; `memory` is for all of it.
    pub(crate) fn new(bytes: Vec<u8>, memory: Reservation, share: Option<OwnedSemaphorePermit>) -> Self {
        Self { bytes, touched: Instant::now(), _memory: memory, _share: share }
    }
}

/// Outcome of a read.
pub(crate) enum Taken {
    /// This many bytes.
    Bytes(usize),
    /// They are no longer being fetched.
    Nothing,
}

impl Fetch {
    /// Creates a range that isn't being fetched yet.
    pub(crate) fn queued(range: Range<u64>) -> Arc<Self> {
        let (state, is_begun) = (Mutex::new(State::Queued), AtomicBool::new(false));
        Arc::new(Self { range, state, changed: Condvar::new(), is_begun })
    }

    /// Creates a range that has arrived.
    pub(crate) fn arrived(range: Range<u64>, arrived: Arrived) -> Arc<Self> {
        let fetch = Self::queued(range);
        assert!(fetch.begin(), "nobody else knows it");
        fetch.become_now(State::Arrived(arrived));
        fetch
    }

    /// Takes it from the queue; returns false if another thread already did.
    pub(crate) fn begin(&self) -> bool {
        !self.is_begun.swap(true, Ordering::AcqRel)
    }

    /// Marks it as in flight, with room for it.
    pub(crate) fn go(&self, room: Arrived) {
        self.become_now(State::UnderWay(room));
    }

    /// Adds bytes that have arrived.
    pub(crate) fn arrive(&self, piece: &[u8]) {
        if let State::UnderWay(arrived) = &mut *self.state.lock() {
            arrived.bytes.extend_from_slice(piece);
        }
        self.changed.notify_all();
    }

    /// Marks it as completely arrived.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        if let State::UnderWay(mut arrived) = std::mem::replace(&mut *state, State::Dropped) {
            arrived.touched = Instant::now();
            *state = State::Arrived(arrived);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn fail(&self, failure: Failure) {
        self.become_now(State::Failed(failure));
    }

    pub(crate) fn give_up(&self) {
        self.become_now(State::Dropped);
    }

    fn become_now(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Reads from `offset`, once all bytes of the range that fit into the buffer have arrived.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<Taken> {
        let at = (offset - self.range.start) as usize;
        let wanted = buffer.len().min((self.range.end - offset) as usize);
        let mut state = self.state.lock();
        loop {
            match &mut *state {
                State::Arrived(arrived) | State::UnderWay(arrived) if arrived.bytes.len() >= at + wanted => {
                    buffer[..wanted].copy_from_slice(&arrived.bytes[at..at + wanted]);
                    arrived.touched = Instant::now();
                    return Ok(Taken::Bytes(wanted));
                }
                State::Failed(failure) => return Err(failure.clone().into_io()),
                State::Dropped => return Ok(Taken::Nothing),
                State::Arrived(_) => unreachable!("all of the range is there"),
                State::Queued | State::UnderWay(_) => {
                    check_interrupt()?;
                    self.changed.wait_for(&mut state, INTERRUPT_INTERVAL);
                }
            }
        }
    }

    /// Returns true if all of it has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        matches!(&*self.state.lock(), State::Arrived(_))
    }

    /// Returns true if it has arrived and wasn't read from for `time`.
    pub(crate) fn is_idle(&self, time: Duration) -> bool {
        matches!(&*self.state.lock(), State::Arrived(arrived) if arrived.touched.elapsed() >= time)
    }
}
