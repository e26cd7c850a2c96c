//! The software source: kernels report their own loads.
//!
//! A kernel reports its reads after the fact, in terms of its arguments: a run of bytes, or an address for each of its
//! rows. Every load counts down to the next sample, but only the addresses of sampled loads are computed: a run or a
//! list costs the same however long it is, and the loops of kernels stay as they are. So one in n loads is sampled, as
//! a processor does it, rather than all loads of one in n chunks, which would skew shares by chance.
//!
//! The distances between samples are random between half and one and a half times n: fixed ones could meet the same
//! column of each chunk again and again.

use std::cell::RefCell;
use std::sync::Arc;

use crate::session::{Session, ThreadSamples, current, notes_loads, running_trace};

/// Bytes that a vectorized kernel loads at once: AVX2's.
pub const VECTOR_BYTES: usize = 32;

/// Records loads of the calling thread, if a trace with the software source is running.
#[inline(always)]
pub fn loads(note: impl FnOnce(&mut Loads)) {
    if notes_loads() {
        with_thread(note);
    }
}

/// A thread's countdown to the next sampled load.
pub struct Loads {
    session: Arc<Session>,
    samples: Arc<ThreadSamples>,
    /// Loads until the next one to be sampled, including that one.
    until_next: u64,
    random: u64,
}

#[cold]
fn with_thread(note: impl FnOnce(&mut Loads)) {
    thread_local!(static LOADS: RefCell<Option<Loads>> = const { RefCell::new(None) });
    LOADS.with_borrow_mut(|loads| {
        // Kernels call this for each chunk: only the first call in a trace takes a lock.
        let is_attached = loads.as_ref().is_some_and(|loads| loads.session.id == running_trace());
        if !is_attached {
            *loads = current().map(Loads::new);
        }
        if let Some(loads) = loads {
            note(loads);
        }
    });
}

impl Loads {
    fn new(session: Arc<Session>) -> Self {
        let samples = session.attach();
        // The state of xorshift is never 0.
        let random = session.id << 32 | u64::from(samples.number) << 1 | 1;
        let mut loads = Self { session, samples, until_next: 0, random };
        loads.until_next = loads.distance();
        loads
    }

    /// Records that `bytes` bytes were read starting at `start`, `width` at a time.
    pub fn run(&mut self, start: *const u8, bytes: usize, width: usize) {
        self.each(bytes.div_ceil(width), |load| start.wrapping_add(load * width));
    }

    /// Records `count` loads, at these addresses.
    pub fn each(&mut self, count: usize, address: impl Fn(usize) -> *const u8) {
        let count = count as u64;
        let mut next = self.until_next;
        while next <= count {
            let address = address(next as usize - 1) as u64;
            self.session.take(&self.samples, self.session.now_nanos(), address);
            next += self.distance();
        }
        self.until_next = next - count;
    }

    /// The distance from one sampled load to the next.
    fn distance(&mut self) -> u64 {
        let mean = u64::from(self.session.options.one_in);
        if mean == 1 {
            return 1;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        mean.div_ceil(2) + (self.random >> 20) % (mean | 1)
    }
}
