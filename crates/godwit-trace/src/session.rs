//! The trace of a process: passes samples from the threads that take them to the file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use godwit_common::{Error, Named, Result};
use parking_lot::{Mutex, RwLock};

use crate::clock::Clock;
use crate::hardware::{HardwareOptions, HardwareTracer, Unavailable};
use crate::ranges::{EntryValues, ObjectKey, ObjectPart, Ranges, TracedObject, TracedRange};

/// Number of samples that a thread collects before it passes them on: 160 KiB.
const BATCH_SAMPLES: usize = 4_096;

/// Maximum number of batches that wait for the writer: 10 MiB. A thread that samples faster than the writer writes
/// waits for it.
const BATCHES_WAITING_MAX: usize = 64;

/// Maximum number of dictionary entries that are counted to find those read most: 24 MiB. Once there are that many, new
/// ones aren't counted; entries that are read often have shown up by then.
const ENTRIES_COUNTED_MAX: usize = 1 << 20;

/// Maximum number of entries per object whose values go into the description.
const ENTRIES_NAMED_MAX: usize = 100;

/// A sampled load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds since the trace began.
    pub time_nanos: u64,
    /// Number of the thread, counted from 0 in the order in which threads appear in the trace.
    pub thread: u32,
    /// The address that was loaded from.
    pub address: u64,
    /// Index of the object in the trace's description.
    pub object: u32,
    /// Distance from the object's beginning, in bytes.
    pub offset: u64,
    /// Number of the entry within the object, if entries can be told apart.
    pub entry: Option<u64>,
}

/// The source of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceSource {
    /// The processor if it can and may, otherwise the kernels.
    #[default]
    Auto,
    /// The kernels.
    Software,
    /// The processor.
    Hardware,
}

impl Named for TraceSource {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("software", Self::Software), ("hardware", Self::Hardware)];
}

/// How a trace is taken.
#[derive(Debug, Clone, Copy)]
pub struct TraceOptions {
    /// The source of samples.
    pub source: TraceSource,
    /// One in this many loads is sampled.
    pub one_in: u32,
    /// Maximum number of samples that are kept; later ones are counted as lost.
    pub samples_max: u64,
}

/// Where samples are written. Called by one thread.
pub trait TraceSink: Send {
    /// Takes samples: those of one thread, in the order of time.
    fn write(&mut self, samples: &[Sample]) -> Result<()>;

    /// Called when the trace is complete.
    fn finish(self: Box<Self>, description: &TraceDescription) -> Result<()>;
}

/// The description of a complete trace.
#[derive(Clone, Default)]
pub struct TraceDescription {
    /// The source of samples; never `Auto`.
    pub source: TraceSource,
    /// Why the processor didn't sample, if it was asked to.
    pub hardware_unavailable: Option<String>,
    /// One in this many loads was sampled.
    pub one_in: u32,
    /// Duration of the trace.
    pub duration: Duration,
    /// Number of samples in the file.
    pub samples: u64,
    /// Number of samples that were dropped because there were more than allowed.
    pub lost: u64,
    /// Number of samples of memory that belongs to no object, such as vectors in flight; they aren't in the file.
    pub elsewhere: u64,
    /// The objects, by index.
    pub objects: Vec<ObjectTotals>,
    /// Their ranges of memory, by object and time.
    pub ranges: Vec<TracedRange>,
    /// The entries read most whose values are known, by object, those read most first.
    pub hot_entries: Vec<HotEntry>,
}

/// An object at the end of a trace.
#[derive(Clone)]
pub struct ObjectTotals {
    /// The object.
    pub object: TracedObject,
    /// The largest offset up to which its memory was seen.
    pub bytes: u64,
    /// Number of its samples.
    pub samples: u64,
}

/// An entry of an object with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotEntry {
    /// Index of the object.
    pub object: u32,
    /// Number of the entry.
    pub entry: u64,
    /// Number of its samples.
    pub samples: u64,
    /// The value as text.
    pub value: String,
}

/// A running trace. If dropped, it ends without a file.
#[must_use]
pub struct Trace {
    session: Arc<Session>,
    writer: Option<JoinHandle<Writer>>,
    hardware: Option<Hardware>,
    hardware_unavailable: Option<String>,
}

/// The source of the processor's samples, and the thread that receives them.
struct Hardware {
    tracer: HardwareTracer,
    taker: Option<JoinHandle<()>>,
}

/// The sources that are on: a single byte, because it is tested all the time.
static STATE: AtomicU8 = AtomicU8::new(OFF);
/// Number of the running trace; 0 if there is none.
static RUNNING: AtomicU64 = AtomicU64::new(0);
const OFF: u8 = 0;
/// The processor samples; owners declare their memory.
const HARDWARE: u8 = 1;
/// Kernels sample, too.
const SOFTWARE: u8 = 2;

static SESSION: RwLock<Option<Arc<Session>>> = RwLock::new(None);

pub(crate) struct Session {
    /// Never used twice in a process, and never 0.
    pub(crate) id: u64,
    pub(crate) options: TraceOptions,
    clock: Clock,
    pub(crate) ranges: RwLock<Ranges>,
    threads: Mutex<Vec<Arc<ThreadSamples>>>,
    /// Closed when the trace ends, so that the writer ends, too.
    batches: Mutex<Option<SyncSender<Vec<Sample>>>>,
    taken: AtomicU64,
    lost: AtomicU64,
    elsewhere: AtomicU64,
}

/// The samples that a thread has taken but not yet passed on.
pub(crate) struct ThreadSamples {
    pub(crate) number: u32,
    samples: Mutex<Vec<Sample>>,
}

/// True while there is a trace.
#[inline(always)]
pub fn is_on() -> bool {
    cfg!(feature = "tracing") && STATE.load(Relaxed) != OFF
}

/// The number of the running trace, never used twice in a process; 0 if there is none.
pub fn running_trace() -> u64 {
    RUNNING.load(Relaxed)
}

#[inline(always)]
pub(crate) fn notes_loads() -> bool {
    cfg!(feature = "tracing") && STATE.load(Relaxed) == SOFTWARE
}

/// The running trace.
pub(crate) fn current() -> Option<Arc<Session>> {
    SESSION.read().clone()
}

/// If there is a trace, declares which object memory belongs to, from now on until something else is declared for the
/// same memory. `describe` is called if the object is new to the trace, and once more when its entries are first known.
pub fn declare(place: ObjectPart, key: ObjectKey, describe: impl FnOnce() -> TracedObject) {
    if !is_on() {
        return;
    }
    let Some(session) = current() else { return };
    if session.ranges.read().knows(place, key) {
        return;
    }
    let now = session.now_nanos();
    session.ranges.write().declare(now, place, key, describe);
}

/// If there is a trace, tells it that memory was freed.
pub fn forget(address: *const u8, bytes: usize) {
    if !is_on() {
        return;
    }
    if let Some(session) = current() {
        session.ranges.write().forget(session.now_nanos(), ObjectPart::of_bytes(address, bytes, 0));
    }
}

impl Trace {
    /// Begins a trace of everything that the process does. Fails if one is running.
    pub fn start(options: TraceOptions, sink: Box<dyn TraceSink>) -> Result<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        if !cfg!(feature = "tracing") {
            return Err(Error::user("this build can't trace memory").with_hint("build it with the feature 'tracing'"));
        }
        assert!(options.one_in > 0);
        let mut current = SESSION.write();
        if current.is_some() {
            return Err(Error::user("a memory trace is running in this process").with_hint("end it with RESET trace"));
        }
        let (batches, received) = sync_channel(BATCHES_WAITING_MAX);
        let session = Arc::new(Session {
            id: NEXT_ID.fetch_add(1, Relaxed),
            options,
            clock: Clock::start(),
            ranges: RwLock::default(),
            threads: Mutex::default(),
            batches: Mutex::new(Some(batches)),
            taken: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
        });
        let writer = Writer { sink, samples: Vec::new(), entries: HashMap::new(), error: None };
        let of_values = session.clone();
        let writer = std::thread::Builder::new()
            .name("godwit-trace".to_owned())
            .spawn(move || writer.run(&of_values, received))
            .map_err(|error| Error::io("starting a thread for the trace", &error))?;
        *current = Some(session.clone());
        drop(current);
        let mut trace = Self { session, writer: Some(writer), hardware: None, hardware_unavailable: None };
        match (options.source, trace.start_hardware()) {
            (TraceSource::Software, _) | (_, Ok(())) => {}
            (TraceSource::Auto, Err(unavailable)) => trace.hardware_unavailable = Some(unavailable.to_string()),
            (TraceSource::Hardware, Err(unavailable)) => {
                return Err(Error::user(format!("the processor can't sample loads: {unavailable}"))
                    .with_hint("SET trace_source = 'software' samples them in software"));
            }
        }
        RUNNING.store(trace.session.id, Relaxed);
        STATE.store(if trace.hardware.is_some() { HARDWARE } else { SOFTWARE }, Relaxed);
        Ok(trace)
    }

    /// Makes the processor sample all current threads, unless it shouldn't.
    fn start_hardware(&mut self) -> std::result::Result<(), Unavailable> {
        let TraceOptions { source, one_in, .. } = self.session.options;
        if source == TraceSource::Software {
            return Ok(());
        }
        let options = HardwareOptions { period: one_in.into(), ..HardwareOptions::default() };
        let (tracer, batches) = HardwareTracer::start(options, self.session.clock)?;
        tracer.attach_all_threads()?;
        let session = self.session.clone();
        let take = move || {
            let mut threads: HashMap<u32, Arc<ThreadSamples>> = HashMap::new();
            for load in batches.iter().flatten() {
                let thread = threads.entry(load.thread).or_insert_with(|| session.attach());
                session.take(thread, load.time_nanos, load.address);
            }
        };
        let taker = std::thread::Builder::new().name("godwit-samples".to_owned()).spawn(take);
        let system = |error: std::io::Error| Unavailable::System {
            action: "start a thread",
            error: error.raw_os_error().unwrap_or_default(),
        };
        self.hardware = Some(Hardware { tracer, taker: Some(taker.map_err(system)?) });
        Ok(())
    }

    /// Ends the trace. Its file is complete when this returns.
    pub fn stop(mut self) -> Result<TraceDescription> {
        let writer = self.end().expect("a trace ends once");
        let Writer { sink, samples, entries, error } = writer;
        if let Some(error) = error {
            return Err(error);
        }
        let session = &self.session;
        let ranges = std::mem::take(&mut *session.ranges.write());
        let (objects, ranges) = ranges.into_parts();
        let description = TraceDescription {
            source: if self.hardware.is_some() { TraceSource::Hardware } else { TraceSource::Software },
            hardware_unavailable: self.hardware_unavailable.clone(),
            one_in: session.options.one_in,
            duration: Duration::from_nanos(session.now_nanos()),
            samples: session.taken.load(Relaxed) - session.lost.load(Relaxed),
            lost: session.lost.load(Relaxed),
            elsewhere: session.elsewhere.load(Relaxed),
            hot_entries: named_entries(&objects, entries),
            objects: with_samples(objects, &samples),
            ranges,
        };
        sink.finish(&description)?;
        Ok(description)
    }

    /// Stops taking samples, and passes those taken to the writer.
    fn end(&mut self) -> Option<Writer> {
        let writer = self.writer.take()?;
        STATE.store(OFF, Relaxed);
        if let Some(Hardware { tracer, taker }) = &mut self.hardware {
            let lost = tracer.stop().lost();
            // Lost samples count in addition to those taken.
            self.session.taken.fetch_add(lost, Relaxed);
            self.session.lost.fetch_add(lost, Relaxed);
            taker.take().expect("a trace ends once").join().expect("it panics for nothing");
        }
        RUNNING.store(0, Relaxed);
        *SESSION.write() = None;
        let batches = self.session.batches.lock().take();
        for thread in self.session.threads.lock().drain(..) {
            let samples = std::mem::take(&mut *thread.samples.lock());
            if let Some(batches) = &batches {
                // The writer ends after the last sender.
                _ = batches.send(samples);
            }
        }
        drop(batches);
        Some(writer.join().expect("the writer of a trace doesn't panic"))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.end();
    }
}

impl Session {
    pub(crate) fn now_nanos(&self) -> u64 {
        self.clock.nanos()
    }

    /// Registers a new thread.
    pub(crate) fn attach(&self) -> Arc<ThreadSamples> {
        let mut threads = self.threads.lock();
        let thread = Arc::new(ThreadSamples { number: threads.len() as u32, samples: Mutex::default() });
        threads.push(thread.clone());
        thread
    }

    /// Takes a sample of a thread, if the address belongs to something.
    pub(crate) fn take(&self, thread: &ThreadSamples, time_nanos: u64, address: u64) {
        let Some(resolved) = self.ranges.read().resolve(address) else {
            self.elsewhere.fetch_add(1, Relaxed);
            return;
        };
        if self.taken.fetch_add(1, Relaxed) >= self.options.samples_max {
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        let (object, offset, entry) = (resolved.object, resolved.offset, resolved.entry);
        let mut samples = thread.samples.lock();
        samples.push(Sample { time_nanos, thread: thread.number, address, object, offset, entry });
        if samples.len() >= BATCH_SAMPLES {
            let batch = std::mem::take(&mut *samples);
            drop(samples);
            let batches = self.batches.lock().clone();
            match batches {
                // An error means that the writer has ended; it keeps its own error.
                Some(batches) => _ = batches.send(batch),
                None => _ = self.lost.fetch_add(batch.len() as u64, Relaxed),
            }
        }
    }
}

/// The thread that writes.
struct Writer {
    sink: Box<dyn TraceSink>,
    /// By object.
    samples: Vec<u64>,
    /// Samples by object and entry, for objects whose entries have values.
    entries: HashMap<(u32, u64), u64>,
    /// The first error. Everything after it is dropped.
    error: Option<Error>,
}

impl Writer {
    fn run(mut self, session: &Session, batches: Receiver<Vec<Sample>>) -> Self {
        while let Ok(batch) = batches.recv() {
            if self.error.is_none() {
                self.count(session, &batch);
                self.error = self.sink.write(&batch).err();
            }
        }
        self
    }

    fn count(&mut self, session: &Session, batch: &[Sample]) {
        let ranges = session.ranges.read();
        for sample in batch {
            let object = sample.object as usize;
            if object >= self.samples.len() {
                self.samples.resize(object + 1, 0);
            }
            self.samples[object] += 1;
            let Some(entry) = sample.entry.filter(|_| ranges.has_values(sample.object)) else { continue };
            let key = (sample.object, entry);
            if self.entries.len() < ENTRIES_COUNTED_MAX || self.entries.contains_key(&key) {
                *self.entries.entry(key).or_insert(0) += 1;
            }
        }
    }
}

fn with_samples(objects: Vec<(TracedObject, u64)>, samples: &[u64]) -> Vec<ObjectTotals> {
    let samples = samples.iter().copied().chain(std::iter::repeat(0));
    objects.into_iter().zip(samples).map(|((object, bytes), samples)| ObjectTotals { object, bytes, samples }).collect()
}

/// The entries of each object that are read most, with their values, if the object still lives.
fn named_entries(objects: &[(TracedObject, u64)], entries: HashMap<(u32, u64), u64>) -> Vec<HotEntry> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_unstable_by_key(|&((object, entry), samples)| (object, std::cmp::Reverse(samples), entry));
    let mut named = Vec::new();
    for of_object in entries.chunk_by(|a, b| a.0.0 == b.0.0) {
        let values = |object: u32| -> Option<Arc<dyn EntryValues>> {
            objects[object as usize].0.values.as_ref().and_then(Weak::upgrade)
        };
        let Some(values) = values(of_object[0].0.0) else { continue };
        let most = of_object.iter().take(ENTRIES_NAMED_MAX);
        named.extend(most.filter_map(|&((object, entry), samples)| {
            Some(HotEntry { object, entry, samples, value: values.value(entry)? })
        }));
    }
    named
}
