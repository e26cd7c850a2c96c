//! Admission: queries are promised the memory that they can't do without before they start, or wait in line for it.
//!
//! ```text
//!              fits, or nothing runs
//! admit ──────────────────────────────▶ Admission (RAII: what was promised) ──drop──▶ the first in line, if it fits now
//!    └────────▶ Waiting ── give_up ──▶ (the query ends without having run)
//!                  └── its turn ─────▶ Admission
//! ```
//!
//! A promise isn't charged to the ledger: it is a part of the limit that [grants](crate::MemoryClaim) don't touch, for
//! the pages that a query pins while it runs. Promises take at most [`promised_bytes_max`] of the limit. The line is
//! strictly first come, first served, so that a large query isn't overtaken forever.
//!
//! A query whose result isn't consumed makes no progress. If all admitted queries wait for their readers, the thread
//! that should read may itself be waiting for the result of a query in line: then the first in line is admitted
//! ([`advance_past_stalled`]).
//!
//! Latch order: the line is a leaf; an admitted query is started after the latch is released.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::{STALL_MIN, promised_bytes_max};
use crate::owner::OwnerCounters;
use crate::pool::Pool;

/// The line of one pool.
#[derive(Default)]
pub(crate) struct AdmissionLine(Mutex<Line>);

#[derive(Default)]
struct Line {
    promised_bytes: u64,
    admitted: BTreeMap<u64, AdmissionRequest>,
    waiting: VecDeque<Waiter>,
    next_id: u64,
}

/// A query that asks to run.
#[derive(Debug, Clone)]
pub struct AdmissionRequest {
    /// Name of the query in error messages.
    pub name: String,
    /// The memory that it can't do without.
    pub minimum_bytes: u64,
    /// Others wait for it: it is admitted regardless of the line.
    pub at_once: bool,
    /// Counts the memory that it holds.
    pub owner: Arc<OwnerCounters>,
}

/// Called once: with an admission when its turn comes, with `None` if it gave up.
type Start = Box<dyn FnOnce(Option<Admission>) + Send>;

struct Waiter {
    id: u64,
    request: AdmissionRequest,
    start: Start,
}

impl AdmissionLine {
    /// Bytes promised to all admitted queries.
    pub(crate) fn promised_bytes(&self) -> u64 {
        self.0.lock().promised_bytes
    }

    /// Whether several queries are running.
    pub(crate) fn has_several(&self) -> bool {
        self.0.lock().admitted.len() > 1
    }

    /// Names of the admitted queries and the bytes that they hold, largest first.
    pub(crate) fn holders(&self) -> Vec<(String, u64)> {
        let hold = |request: &AdmissionRequest| (request.name.clone(), request.owner.reserved_bytes());
        let mut holders: Vec<_> = self.0.lock().admitted.values().map(hold).collect();
        holders.sort_by_key(|&(_, bytes)| Reverse(bytes));
        holders
    }
}

impl Line {
    fn has_room(&self, bytes: u64, limit_bytes: u64) -> bool {
        self.admitted.is_empty() || self.promised_bytes + bytes <= promised_bytes_max(limit_bytes)
    }

    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn let_in(&mut self, request: AdmissionRequest, pool: &Arc<Pool>) -> Admission {
        let id = self.next_id();
        self.promised_bytes += request.minimum_bytes;
        self.admitted.insert(id, request);
        Admission { pool: pool.clone(), id }
    }
}

/// See [`BufferManager::admit`](crate::BufferManager::admit).
pub(crate) fn admit(pool: &Arc<Pool>, request: AdmissionRequest, start: Start) -> Option<Waiting> {
    let mut line = pool.admission.0.lock();
    let has_room = line.waiting.is_empty() && line.has_room(request.minimum_bytes, pool.ledger.limit_bytes());
    if request.at_once || has_room {
        let admission = line.let_in(request, pool);
        drop(line);
        start(Some(admission));
        return None;
    }
    let id = line.next_id();
    line.waiting.push_back(Waiter { id, request, start });
    Some(Waiting { pool: pool.clone(), id })
}

/// Admits queries from the head of the line as long as there is room.
pub(crate) fn advance(pool: &Arc<Pool>) {
    let limit = pool.ledger.limit_bytes();
    while let_in_first(pool, |line, request| line.has_room(request.minimum_bytes, limit)) {}
}

/// Admits one query if all admitted ones wait for their readers.
pub(crate) fn advance_past_stalled(pool: &Arc<Pool>) {
    let_in_first(pool, |line, _| line.admitted.values().all(|running| running.owner.is_stalled_for(STALL_MIN)));
}

/// Whether any query is waiting.
pub(crate) fn has_line(pool: &Pool) -> bool {
    !pool.admission.0.lock().waiting.is_empty()
}

/// Admits the first query in line if `may_start`; returns false if none was admitted.
fn let_in_first(pool: &Arc<Pool>, may_start: impl Fn(&Line, &AdmissionRequest) -> bool) -> bool {
    let mut line = pool.admission.0.lock();
    if !line.waiting.front().is_some_and(|first| may_start(&line, &first.request)) {
        return false;
    }
    let Waiter { request, start, .. } = line.waiting.pop_front().expect("just seen");
    let admission = line.let_in(request, pool);
    drop(line);
    start(Some(admission));
    true
}

/// The right to run; dropping it frees the promised memory.
pub struct Admission {
    pool: Arc<Pool>,
    id: u64,
}

impl Drop for Admission {
    fn drop(&mut self) {
        {
            let mut line = self.pool.admission.0.lock();
            let request = line.admitted.remove(&self.id).expect("it was let in");
            line.promised_bytes -= request.minimum_bytes;
        }
        advance(&self.pool);
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admission({})", self.id)
    }
}

/// A place in line. Dropping it changes nothing.
#[derive(Clone)]
pub struct Waiting {
    pool: Arc<Pool>,
    id: u64,
}

impl Waiting {
    /// Leaves the line; `start` is called without an admission, unless it has already been called.
    pub fn give_up(&self) {
        let left = {
            let mut line = self.pool.admission.0.lock();
            let place = line.waiting.iter().position(|waiter| waiter.id == self.id);
            place.and_then(|place| line.waiting.remove(place))
        };
        if let Some(waiter) = left {
            (waiter.start)(None);
            // The queries behind it may fit where this one didn't.
            advance(&self.pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferConfig, BufferManager};

    const MIB: u64 = 1 << 20;

    /// Which queries have started (and hold an admission), and which have given up.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<Event>>>);

    type Event = (u32, Option<Admission>);

    impl Log {
        fn ask(&self, memory: &BufferManager, name: u32, bytes: u64) -> Option<Waiting> {
            let log = self.clone();
            let owner = OwnerCounters::new();
            let request =
                AdmissionRequest { name: format!("query {name}"), minimum_bytes: bytes, at_once: false, owner };
            memory.admit(request, move |admission| log.0.lock().push((name, admission)))
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
    fn nobody_waits_for_queries_that_nobody_reads() {
        let memory = BufferManager::new(BufferConfig::new(30 * MIB)).unwrap();
        let log = Log::default();
        let reader = OwnerCounters::new();
        let request = AdmissionRequest {
            name: "query 1".to_owned(),
            minimum_bytes: 20 * MIB,
            at_once: false,
            owner: reader.clone(),
        };
        let first = Log::default();
        let admitted = first.clone();
        memory.admit(request, move |admission| admitted.0.lock().push((1, admission)));
        assert!(log.ask(&memory, 2, 20 * MIB).is_some() && log.ask(&memory, 3, 20 * MIB).is_some());
        memory.admit_past_stalled();
        assert!(log.started().is_empty(), "the first one runs");
        reader.set_stalled(true);
        std::thread::sleep(2 * STALL_MIN);
        memory.admit_past_stalled();
        memory.admit_past_stalled();
        assert_eq!(log.started(), [2], "which runs now");
        reader.set_stalled(false);
        log.end(2);
        assert!(log.started().is_empty());
        first.end(1);
        assert_eq!(log.started(), [3]);
        log.end(3);
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
