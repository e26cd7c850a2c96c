//! Adaptive compression: segments that are read often become flat vectors, those that aren't read are compressed.
//!
//! ```text
//!   readers ─ samples ─▶ Object (heat)                                                        godwit-memory/src/object.rs
//!                          │ every period, by a thread of low priority
//!                          ▼
//!   history.rs   what was read since, decayed ─▶ Candidate ─▶ policy.rs ─▶ Form
//!                          ▼
//!   change.rs    flat vectors made or dropped, blocks frozen or thawed, a bounded number of bytes each period
//!                          ▼
//!   Adaptation::changes    what was changed, when, why, what it brought: `godwit_adaptation()`
//! ```
//!
//! Forms are copies beside the stored data (`godwit-storage/src/table/forms.rs`), so that neither readers nor commits
//! wait for this thread, and nothing is lost when it is stopped. One manager serves all databases of a pool: they share
//! its memory.
//!
//! The period and the share adapt automatically, unless they are set: the period is halved while the hot set changes
//! and doubled while it doesn't, and a segment is hot if that saves more time than it costs, see `policy.rs`.
//!
//! Source: Windheuser et al., "Adaptive Compression For Databases", 2024.

mod change;
mod history;
mod policy;

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use godwit_common::Named;
use godwit_memory::{BufferManager, ObjectId};
pub use godwit_storage::table::{Form, FormBytes};
use parking_lot::{Condvar, Mutex};

use crate::store::Store;
use history::History;
use policy::Goal;

/// Initial time between two adaptations, and that of mode `on` unless it is set. From the paper.
const PERIOD: Duration = Duration::from_secs(10);

/// Bounds of the period when it adapts to changes of the hot set.
const PERIOD_MIN: Duration = Duration::from_secs(1);
const PERIOD_MAX: Duration = Duration::from_secs(60);

/// α in mode `on` unless it is set. From the paper.
const THRESHOLD: f64 = 0.9;

/// The period is halved when more than one n-th of the hot segments changed, and doubled when none did.
const CHANGED_SHARE: usize = 8;

/// Memory is short when less than one n-th of the room for copies is left.
const SHORT_SHARE: u64 = 16;

/// Flat vectors leave at least one n-th of the room for copies to others.
const OTHERS_SHARE: u64 = 4;

/// Number of changes that are remembered.
const CHANGES_MAX: usize = 4_096;

/// How forms are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdaptiveCompression {
    /// By measuring what pays off.
    #[default]
    Auto,
    /// A share of the segments is hot: those read most.
    On,
    /// Not at all: segments are as they are stored.
    Off,
    /// All segments are as they are stored, whatever is read.
    Compact,
    /// All segments are flat.
    Hot,
}

impl Named for AdaptiveCompression {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off), ("compact", Self::Compact), ("hot", Self::Hot)];
}

/// A change of the form of a segment, or of some of its blocks.
#[derive(Debug, Clone)]
pub struct FormChange {
    /// When.
    pub at: SystemTime,
    /// The segment's path.
    pub object: String,
    /// The form before.
    pub from: Form,
    /// The form since.
    pub to: Form,
    /// The reason, in words.
    pub reason: String,
    /// Memory that the segment took before.
    pub bytes_before: u64,
    /// Memory that it takes since.
    pub bytes_after: u64,
    /// The time that the change took.
    pub took: Duration,
    /// Decoding time saved until the next period, if the segment is read as before.
    pub saved: Duration,
}

/// The user's settings; `None`: chosen automatically.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Settings {
    mode: AdaptiveCompression,
    threshold: Option<f64>,
    period: Option<Duration>,
}

/// The manager of the forms of all segments in a pool.
pub struct Adaptation {
    memory: BufferManager,
    stores: Mutex<Vec<Weak<Store>>>,
    is_started: AtomicBool,
    control: Mutex<Control>,
    changed: Condvar,
    /// Held while forms are changed.
    history: Mutex<History>,
    changes: Mutex<VecDeque<FormChange>>,
}

#[derive(Default)]
struct Control {
    settings: Settings,
    thread: Option<JoinHandle<()>>,
    is_stopping: bool,
    /// Number of threads that wait for the adaptation thread to let go of the tables.
    interrupts: usize,
    /// A setting has changed and should take effect now.
    is_due: bool,
    /// The period as adapted to changes of the hot set.
    own_period: Option<Duration>,
    /// Share of segments that aren't hot, as of the last adaptation.
    share: Option<f64>,
}

impl Control {
    fn period(&self) -> Duration {
        let own = match self.settings.mode {
            AdaptiveCompression::Auto => self.own_period,
            _ => None,
        };
        self.settings.period.or(own).unwrap_or(PERIOD)
    }
}

impl Adaptation {
    /// A manager for the tables in `memory`. Nothing happens before it is [started](Self::start).
    pub fn new(memory: &BufferManager) -> Arc<Self> {
        Arc::new(Self {
            memory: memory.clone(),
            stores: Mutex::default(),
            is_started: AtomicBool::new(false),
            control: Mutex::default(),
            changed: Condvar::new(),
            history: Mutex::default(),
            changes: Mutex::default(),
        })
    }

    /// Adapts the tables of `store`, too, as long as it is open.
    pub fn watch(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock();
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    /// Starts the thread, unless it is running or has nothing to do. Costs next to nothing if it is running.
    pub fn start(self: &Arc<Self>) {
        if self.is_started.load(Ordering::Relaxed) {
            return;
        }
        let mut control = self.control.lock();
        if control.thread.is_some() || control.is_stopping || control.settings.mode == AdaptiveCompression::Off {
            return;
        }
        let manager = self.clone();
        let thread = std::thread::Builder::new().name("godwit-adapt".into()).spawn(move || manager.run());
        control.thread = thread.ok();
        self.is_started.store(control.thread.is_some(), Ordering::Relaxed);
    }

    /// Waits until the thread has let go of all tables. Called before a database is closed.
    pub fn let_go(&self) {
        self.control.lock().interrupts += 1;
        drop(self.history.lock());
        self.control.lock().interrupts -= 1;
    }

    /// Ends the thread once its current segment is done. Must be called: the thread keeps the manager alive.
    pub fn stop(&self) {
        let thread = {
            let mut control = self.control.lock();
            control.is_stopping = true;
            self.changed.notify_all();
            control.thread.take()
        };
        if let Some(thread) = thread {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }

    /// How forms are chosen.
    pub fn mode(&self) -> AdaptiveCompression {
        self.control.lock().settings.mode
    }

    /// Changes how forms are chosen, with immediate effect.
    pub fn set_mode(self: &Arc<Self>, mode: AdaptiveCompression) {
        self.change_settings(|settings| settings.mode = mode);
        if mode == AdaptiveCompression::Off {
            // There may be no thread that does it.
            self.adapt();
        }
    }

    /// α as it was set, and its current value: the share of segments that aren't hot.
    pub fn threshold(&self) -> (Option<f64>, Option<f64>) {
        let control = self.control.lock();
        (control.settings.threshold, control.share)
    }

    /// Changes the share of the segments that aren't hot in mode `on`; `None`: the usual one.
    pub fn set_threshold(self: &Arc<Self>, threshold: Option<f64>) {
        self.change_settings(|settings| settings.threshold = threshold);
    }

    /// The time between two adaptations as it was set, and as it is now.
    pub fn period(&self) -> (Option<Duration>, Duration) {
        let control = self.control.lock();
        (control.settings.period, control.period())
    }

    /// Changes the time between two adaptations; `None`: it adapts to changes of the hot set.
    pub fn set_period(self: &Arc<Self>, period: Option<Duration>) {
        self.change_settings(|settings| settings.period = period);
    }

    fn change_settings(self: &Arc<Self>, change: impl FnOnce(&mut Settings)) {
        let is_running = {
            let mut control = self.control.lock();
            change(&mut control.settings);
            control.is_due = true;
            self.changed.notify_all();
            control.thread.is_some()
        };
        if !is_running {
            self.start();
        }
    }

    /// Adapts once, without a thread.
    #[cfg(test)]
    pub(crate) fn adapt_as(&self, mode: AdaptiveCompression) {
        self.control.lock().settings.mode = mode;
        self.adapt();
    }

    /// The last changes, the oldest first.
    pub fn changes(&self) -> Vec<FormChange> {
        self.changes.lock().iter().cloned().collect()
    }

    /// The form of each segment of all tables, and the memory that it takes.
    pub fn forms(&self) -> HashMap<ObjectId, (Form, FormBytes)> {
        let stores: Vec<Arc<Store>> = self.stores.lock().iter().filter_map(Weak::upgrade).collect();
        let mut forms = HashMap::new();
        for table in stores.iter().flat_map(|store| store.tables()) {
            for segment in table.main().groups.iter().flat_map(|group| &group.segments) {
                if let Some(object) = segment.object() {
                    forms.insert(object.id(), (segment.form(), segment.memory_bytes()));
                }
            }
        }
        forms
    }

    /// True if forms should be left alone now.
    fn is_interrupted(&self) -> bool {
        let control = self.control.lock();
        control.is_stopping || control.interrupts > 0
    }

    /// Gives segments the form that they should have now, within the work limits of one period.
    pub fn adapt(&self) {
        let mut history = self.history.lock();
        let stores: Vec<Arc<Store>> = self.stores.lock().iter().filter_map(Weak::upgrade).collect();
        let settings = self.control.lock().settings;
        let segments = history.next_period(&stores);
        let candidates: Vec<_> = segments.iter().map(|segment| segment.candidate).collect();
        let (goal, is_short) = self.goal(settings, &candidates);
        let forms = policy::forms(&candidates, goal);
        let hot = forms.iter().filter(|&&form| form == Form::Hot).count();
        let changes = change::apply(self, &mut history, &segments, &forms, is_short);
        let hot_changes = changes.iter().filter(|change| change.from == Form::Hot || change.to == Form::Hot).count();
        let mut control = self.control.lock();
        let period = control.own_period.unwrap_or(PERIOD);
        control.own_period = Some(match hot_changes {
            0 => (period * 2).min(PERIOD_MAX),
            _ if hot_changes * CHANGED_SHARE > hot => (period / 2).max(PERIOD_MIN),
            _ => period,
        });
        control.share = (!forms.is_empty()).then(|| 1.0 - hot as f64 / forms.len() as f64);
        drop(control);
        let mut kept = self.changes.lock();
        kept.extend(changes);
        let excess = kept.len().saturating_sub(CHANGES_MAX);
        kept.drain(..excess);
    }

    /// The goal by which forms are chosen, and whether memory is short.
    fn goal(&self, settings: Settings, candidates: &[policy::Candidate]) -> (Goal, bool) {
        let room = self.memory.cache_limit();
        let spare = room.saturating_sub(self.memory.used_bytes());
        let is_short = spare < room / SHORT_SHARE;
        let is_hot = |candidate: &&policy::Candidate| candidate.form == Form::Hot;
        let hot_bytes: u64 = candidates.iter().filter(is_hot).map(|candidate| candidate.flat_bytes).sum();
        // Segments that are read get room for their stored form before any of them gets more: a missing block costs
        // more than decoding it.
        let is_warm = |candidate: &&policy::Candidate| candidate.idle_periods <= policy::COLD_PERIODS;
        let warm_bytes: u64 = candidates.iter().filter(is_warm).map(|candidate| candidate.stored_bytes).sum();
        let hot_bytes_max =
            (hot_bytes + spare).min(room.saturating_sub(warm_bytes)).saturating_sub(room / OTHERS_SHARE);
        let goal = match settings.mode {
            AdaptiveCompression::Off | AdaptiveCompression::Compact => Goal::AllCompact,
            AdaptiveCompression::Hot => Goal::AllHot,
            AdaptiveCompression::On => Goal::Share(settings.threshold.unwrap_or(THRESHOLD)),
            AdaptiveCompression::Auto => match settings.threshold {
                Some(share) => Goal::Share(share),
                None => Goal::Auto { hot_bytes_max, is_short },
            },
        };
        (goal, is_short)
    }

    /// The thread's main loop: adapts once each period, or when told to, until it is stopped.
    fn run(&self) {
        godwit_io::lower_thread_priority();
        while self.wait() {
            // A panic leaves nothing behind but copies.
            let _ = catch_unwind(AssertUnwindSafe(|| self.adapt()));
        }
    }

    /// Waits until there is something to do; returns false if the thread should end.
    fn wait(&self) -> bool {
        let mut control = self.control.lock();
        loop {
            let is_idle = control.settings.mode == AdaptiveCompression::Off;
            let is_over = match control.is_due || control.is_stopping {
                true => false,
                false if is_idle => {
                    self.changed.wait(&mut control);
                    false
                }
                false => {
                    let period = control.period();
                    self.changed.wait_for(&mut control, period).timed_out()
                }
            };
            if control.is_stopping {
                return false;
            }
            if std::mem::take(&mut control.is_due) || is_over {
                return true;
            }
        }
    }
}
