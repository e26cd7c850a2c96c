//! Who may start: queries get the memory that they can't do without before they begin, or wait in line for it.
//!
//! ```text
//!              fits, or nothing runs
//! admit ──────────────────────────────▶ Admission (RAII: what was promised) ──drop──▶ the first in line, if it fits now
//!    └────────▶ Waiting ── give_up ──▶ (the query ends without having run)
//!                  └── its turn ─────▶ Admission
//! ```
//!
//! A promise isn't charged to the ledger: it is the part of the limit that [grants](crate::MemoryClaim) leave alone, for the
//! pages that a query pins while it works. Promises take at most one part in [`WORKING_SHARE`] of the limit. The line
//! is strictly first come, first served, so that a large query isn't overtaken forever.
//!
//! Latch order: the line is a leaf; whoever is let in is started after the latch is free.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::WORKING_SHARE;
use crate::pool::Pool;

/// The line of one pool.
#[derive(Default)]
pub(crate) struct AdmissionLine(Mutex<Line>);

#[derive(Default)]
struct Line {
    promised_bytes: u64,
    admitted: usize,
    waiting: VecDeque<Waiter>,
    next_id: u64,
}

/// Called once: with an admission when it is its turn, with `None` if it gave up.
type Start = Box<dyn FnOnce(Option<Admission>) + Send>;

struct Waiter {
    id: u64,
    bytes: u64,
    start: Start,
}

impl AdmissionLine {
    /// Bytes promised to all who were let in.
    pub(crate) fn promised_bytes(&self) -> u64 {
        self.0.lock().promised_bytes
    }
}

impl Line {
    fn has_room(&self, bytes: u64, limit_bytes: u64) -> bool {
        self.admitted == 0 || self.promised_bytes + bytes <= limit_bytes / WORKING_SHARE
    }

    fn let_in(&mut self, bytes: u64, pool: &Arc<Pool>) -> Admission {
        self.promised_bytes += bytes;
        self.admitted += 1;
        Admission { pool: pool.clone(), bytes }
    }
}

/// See [`BufferManager::admit`](crate::BufferManager::admit).
pub(crate) fn admit(pool: &Arc<Pool>, bytes: u64, at_once: bool, start: Start) -> Option<Waiting> {
    let mut line = pool.admission.0.lock();
    if at_once || (line.waiting.is_empty() && line.has_room(bytes, pool.ledger.limit_bytes())) {
        let admission = line.let_in(bytes, pool);
        drop(line);
        start(Some(admission));
        return None;
    }
    let id = line.next_id;
    line.next_id += 1;
    line.waiting.push_back(Waiter { id, bytes, start });
    Some(Waiting { pool: pool.clone(), id })
}

/// Lets in whoever is first in line, as long as there is room.
pub(crate) fn advance(pool: &Arc<Pool>) {
    loop {
        let mut line = pool.admission.0.lock();
        let limit = pool.ledger.limit_bytes();
        let Some(bytes) = line.waiting.front().map(|first| first.bytes).filter(|&bytes| line.has_room(bytes, limit))
        else {
            return;
        };
        let first = line.waiting.pop_front().expect("just seen");
        let admission = line.let_in(bytes, pool);
        drop(line);
        (first.start)(Some(admission));
    }
}

/// The right to run; what was promised is free again when it is dropped.
pub struct Admission {
    pool: Arc<Pool>,
    bytes: u64,
}

impl Admission {
    /// What the query was promised.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        {
            let mut line = self.pool.admission.0.lock();
            line.promised_bytes -= self.bytes;
            line.admitted -= 1;
        }
        advance(&self.pool);
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admission({} bytes)", self.bytes)
    }
}

/// A place in line. Dropping it changes nothing.
#[derive(Clone)]
pub struct Waiting {
    pool: Arc<Pool>,
    id: u64,
}

impl Waiting {
    /// Leaves the line; `start` is called without an admission, unless it was called already.
    pub fn give_up(&self) {
        let left = {
            let mut line = self.pool.admission.0.lock();
            let place = line.waiting.iter().position(|waiter| waiter.id == self.id);
            place.and_then(|place| line.waiting.remove(place))
        };
        if let Some(waiter) = left {
            (waiter.start)(None);
            // Those behind may fit where this one didn't.
            advance(&self.pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferConfig, BufferManager};

    const MIB: u64 = 1 << 20;

    /// Who has started (and holds an admission), who has given up.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<Event>>>);

    type Event = (u32, Option<Admission>);

    impl Log {
        fn ask(&self, memory: &BufferManager, name: u32, bytes: u64) -> Option<Waiting> {
            let log = self.clone();
            memory.admit(bytes, false, move |admission| log.0.lock().push((name, admission)))
        }

        fn started(&self) -> Vec<u32> {
            self.0.lock().iter().filter(|(_, admission)| admission.is_some()).map(|(name, _)| *name).collect()
        }

        fn end(&self, name: u32) {
            let ended = {
                let mut log = self.0.lock();
                let place = log.iter().position(|(other, _)| *other == name).expect("it has started");
                log.remove(place)
            };
            drop(ended);
        }
    }

    #[test]
    fn queries_start_in_order_when_their_minimum_is_free() {
        let memory = BufferManager::new(BufferConfig::new(300 * MIB)).unwrap();
        let log = Log::default();
        assert!(log.ask(&memory, 1, 60 * MIB).is_none());
        assert!(log.ask(&memory, 2, 30 * MIB).is_none());
        let third = log.ask(&memory, 3, 60 * MIB).expect("no room");
        assert!(log.ask(&memory, 4, 10 * MIB).is_some(), "nobody overtakes");
        log.end(2);
        assert_eq!(log.started(), [1]);
        third.give_up();
        assert_eq!(log.started(), [1, 4]);
        assert!(log.0.lock().iter().any(|(name, admission)| *name == 3 && admission.is_none()));
        third.give_up();
        assert_eq!(log.0.lock().len(), 3, "giving up twice does nothing");
    }

    #[test]
    fn one_query_always_runs_and_a_raised_limit_lets_in_more() {
        let memory = BufferManager::new(BufferConfig::new(30 * MIB)).unwrap();
        let log = Log::default();
        assert!(log.ask(&memory, 1, 100 * MIB).is_none());
        assert!(log.ask(&memory, 2, MIB).is_some());
        memory.set_memory_limit(400 * MIB).unwrap();
        assert_eq!(log.started(), [1, 2]);
        log.end(1);
        log.end(2);
        assert_eq!(memory.promised_bytes(), 0);
    }
}
