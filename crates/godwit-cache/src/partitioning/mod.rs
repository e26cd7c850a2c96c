//! Partitioning: whether it is on, and the place of each thread.
//!
//! ```text
//! resctrl/            home: the group that the process was in already (usually this one)    CacheClass::Sensitive
//!   info/L3/          what masks may look like
//!   schemata, tasks
//!   godwit-…-polluting/   schemata  L3:0=3;1=3             tasks ◀─ a thread's number ─┐     CacheClass::Polluting
//!   godwit-…-comparable/  schemata  L3:0=fff00;1=fff00     tasks ◀─ when it enters ────┘     CacheClass::Comparable
//! ```
//! *Sensitive* needs no group of its own: it means whatever the process had before. That saves one of the processor's
//! few classes, leaves other threads where they are, and never gives back ways that an administrator has taken away:
//! all masks are cut out of home's.

#[cfg(feature = "partitioning")]
mod files;
#[cfg(feature = "partitioning")]
mod groups;
#[cfg(all(unix, feature = "partitioning"))]
mod imitation;
#[cfg(feature = "partitioning")]
mod masks;
mod off;
#[cfg(feature = "partitioning")]
mod process;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use godwit_common::Named;

#[cfg(feature = "partitioning")]
pub use files::{CommandFile, OsFiles, Paths, SystemFiles};
#[cfg(all(unix, feature = "partitioning"))]
pub use imitation::{Call, Imitation};
pub use off::OffReason;

use crate::CacheClass;
#[cfg(feature = "partitioning")]
use groups::Groups;

/// After a move, a thread stays for this multiple of the move's duration: moves take at most 1/400 of its time. A short
/// pipeline may run in the wrong class meanwhile, which costs speed, never a result. With an imitated resctrl, a move
/// takes 25 µs; without the pause, moves took about 0.7 % of TPC-H at scale factor 1 (`bench/insight.py --parts
/// switching`).
const PAUSE_FACTOR: u32 = 400;
/// The longest pause: two of the scheduler's quanta, however long a move had to wait.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// The setting `cache_partitioning`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// On if possible; otherwise off, with the reason.
    #[default]
    Auto,
    /// On; an error if that isn't possible.
    On,
    /// Off.
    Off,
}

impl Named for Mode {
    const NAMES: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

/// The partitions of the last-level cache for one process; databases of a process should share it, because processors
/// have few classes. Created once, then only read: threads keep their own state in a [`ThreadPlace`].
pub struct CachePartitioning(State);

enum State {
    Off(OffReason),
    #[cfg(feature = "partitioning")]
    On(Box<Groups>),
}

impl CachePartitioning {
    /// Removes groups of dead processes and creates groups for this one.
    ///
    /// Errors: with [`Mode::On`], the reason why partitioning isn't possible. With [`Mode::Auto`], it is then off.
    pub fn start(mode: Mode) -> Result<Self, OffReason> {
        #[cfg(not(feature = "partitioning"))]
        let impossible = OffReason::NotBuilt;
        #[cfg(all(feature = "partitioning", not(target_os = "linux")))]
        let impossible = OffReason::NotLinux;
        #[cfg(all(feature = "partitioning", target_os = "linux"))]
        return Self::start_with(mode, Paths::default(), Box::new(OsFiles));
        #[cfg(not(all(feature = "partitioning", target_os = "linux")))]
        match mode {
            Mode::Off => Ok(Self::off(OffReason::Setting)),
            Mode::Auto => Ok(Self::off(impossible)),
            Mode::On => Err(impossible),
        }
    }

    /// [`start`](Self::start) with files elsewhere, or imitated ones.
    #[cfg(feature = "partitioning")]
    pub fn start_with(mode: Mode, paths: Paths, files: Box<dyn SystemFiles>) -> Result<Self, OffReason> {
        if mode == Mode::Off {
            return Ok(Self::off(OffReason::Setting));
        }
        match Groups::create(paths, files) {
            Ok(groups) => Ok(Self(State::On(Box::new(groups)))),
            Err(reason) if mode == Mode::Auto => Ok(Self::off(reason)),
            Err(reason) => Err(reason),
        }
    }

    /// The partitions that the databases of this process share; created if there are none. Off, with the reason, if
    /// partitioning isn't possible.
    pub fn of_process() -> Arc<Self> {
        static OF_PROCESS: Mutex<Weak<CachePartitioning>> = Mutex::new(Weak::new());
        let mut of_process = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(partitioning) = of_process.upgrade().filter(|partitioning| partitioning.is_on()) {
            return partitioning;
        }
        let partitioning = Arc::new(Self::start(Mode::Auto).unwrap_or_else(Self::off));
        *of_process = Arc::downgrade(&partitioning);
        partitioning
    }

    /// Partitioning that does nothing.
    pub fn off(reason: OffReason) -> Self {
        Self(State::Off(reason))
    }

    /// The current status; partitioning may turn itself off while it runs.
    pub fn status(&self) -> Status {
        match &self.0 {
            State::Off(reason) => Status::Off(reason.clone()),
            #[cfg(feature = "partitioning")]
            State::On(groups) => groups.status(),
        }
    }

    /// True if threads are moved.
    pub fn is_on(&self) -> bool {
        match &self.0 {
            State::Off(_) => false,
            #[cfg(feature = "partitioning")]
            State::On(groups) => !groups.has_failed(),
        }
    }

    /// The place of the calling thread, which must not have another one. Its class is unknown until it enters one:
    /// threads inherit that of the thread that started them.
    pub fn thread(self: &Arc<Self>) -> ThreadPlace {
        let thread = match &self.0 {
            State::Off(_) => 0,
            #[cfg(feature = "partitioning")]
            State::On(groups) => groups.thread_id(),
        };
        ThreadPlace { partitioning: self.clone(), thread, class: None, stays_until: None, not_send: PhantomData }
    }

    /// Moves a thread. Returns whether it was moved.
    #[cfg_attr(not(feature = "partitioning"), expect(unused_variables))]
    fn move_thread(&self, thread: u32, class: CacheClass) -> bool {
        match &self.0 {
            State::Off(_) => false,
            #[cfg(feature = "partitioning")]
            State::On(groups) => groups.move_thread(thread, class),
        }
    }

    /// True if threads stay for a while after a move.
    fn paces_moves(&self) -> bool {
        match &self.0 {
            State::Off(_) => false,
            #[cfg(feature = "partitioning")]
            State::On(groups) => groups.paces_moves(),
        }
    }

    /// The class that threads should be in if they want `class`.
    #[cfg_attr(not(feature = "partitioning"), expect(unused_variables))]
    fn effective(&self, class: CacheClass) -> CacheClass {
        match &self.0 {
            #[cfg(feature = "partitioning")]
            State::On(_) if self.is_on() => class,
            _ => CacheClass::Sensitive,
        }
    }
}

/// Whether the cache is partitioned, for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It isn't, for this reason.
    Off(OffReason),
    /// It is.
    On {
        /// Ways of the polluting class in the first cache of the machine.
        polluting_ways: u32,
        /// Ways of the comparable class there.
        comparable_ways: u32,
        /// Ways of the sensitive class there: all that the process may fill.
        sensitive_ways: u32,
        /// Number of moves of threads.
        moves: u64,
    },
}

impl fmt::Debug for CachePartitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachePartitioning({})", self.status())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off(reason) => write!(f, "off: {reason}"),
            Self::On { polluting_ways, comparable_ways, sensitive_ways, moves } => write!(
                f,
                "on: of {sensitive_ways} ways scans fill {polluting_ways}, lookups near the size of the cache \
                 {comparable_ways}; {moves} moves of threads"
            ),
        }
    }
}

/// A thread's class, and the means to move it. Belongs to the thread that created it; when dropped, the thread goes
/// home.
pub struct ThreadPlace {
    partitioning: Arc<CachePartitioning>,
    thread: u32,
    /// `None` if unknown.
    class: Option<CacheClass>,
    /// The end of the pause after a move.
    stays_until: Option<Instant>,
    /// The number is that of the thread that created it.
    not_send: PhantomData<*const ()>,
}

impl ThreadPlace {
    /// Confines this thread to the ways of `class` from now on. Costs a comparison if it is already there, otherwise a
    /// write to a kernel file (the thesis measured less than 100 µs); soon after a move, the thread stays where it is.
    /// Never fails: if the kernel doesn't move the thread, it stays, and is moved at the next call or, if that won't
    /// help, partitioning turns itself off.
    pub fn enter(&mut self, class: CacheClass) {
        let class = self.partitioning.effective(class);
        if self.class == Some(class) {
            return;
        }
        let started = Instant::now();
        if self.stays_until.is_some_and(|until| started < until) {
            return;
        }
        self.move_to(class);
        if self.partitioning.paces_moves() {
            self.stays_until = Some(started + pause(started.elapsed()));
        }
    }

    fn move_to(&mut self, class: CacheClass) {
        if self.partitioning.move_thread(self.thread, class) {
            self.class = Some(class);
        }
    }

    /// The class that the thread is in; `None` if it hasn't been moved yet.
    pub fn class(&self) -> Option<CacheClass> {
        self.class
    }

    /// True if it is a place in these partitions.
    pub fn belongs_to(&self, partitioning: &Arc<CachePartitioning>) -> bool {
        Arc::ptr_eq(&self.partitioning, partitioning)
    }
}

impl Drop for ThreadPlace {
    fn drop(&mut self) {
        if self.class.is_some_and(|class| class != CacheClass::Sensitive) {
            self.move_to(CacheClass::Sensitive);
        }
    }
}

/// How long a thread stays after a move that took `took`.
fn pause(took: Duration) -> Duration {
    (took * PAUSE_FACTOR).min(PAUSE_MAX)
}

#[cfg(all(test, feature = "partitioning"))]
mod tests;
