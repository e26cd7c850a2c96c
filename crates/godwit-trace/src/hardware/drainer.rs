//! The thread that drains all rings into the queue.

use super::HardwareCounts;
use super::anchor::Anchor;
use super::event::Event;
use super::mapping::Mapping;
use super::options::BATCH_SAMPLES;
use super::records::{Layout, Tallies, parse};
use super::unavailable::{Facts, Unavailable};
use crate::{Clock, Load};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::thread::Pid;
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum delay of samples that don't fill half a ring.
const PASS_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Pause before a full queue is checked again.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

const RUNNING: u8 = 0;
/// The rings are drained once more, and everything goes to the queue.
const STOPPING: u8 = 1;
/// Samples that the queue has no room for are dropped.
const ABANDONED: u8 = 2;

/// State that the draining thread shares with those that attach threads.
#[derive(Debug)]
pub(super) struct Shared {
    phase: AtomicU8,
    waker: OwnedFd,
    threads: Mutex<Threads>,
}

#[derive(Debug, Default)]
struct Threads {
    attached: Vec<Arc<Event>>,
    arriving: Vec<Ring>,
}

/// An event and its samples.
#[derive(Debug)]
pub(super) struct Ring {
    event: Arc<Event>,
    mapping: Mapping,
    has_ended: bool,
    /// The time of the last sample: remeasuring the clocks must not turn it back.
    last_nanos: u64,
}

impl Shared {
    pub(super) fn new() -> Result<Shared, Unavailable> {
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Unavailable::System { action: "make an eventfd", error: error.raw_os_error() })?;
        Ok(Shared { phase: AtomicU8::new(RUNNING), waker, threads: Mutex::default() })
    }

    /// Attaches the ring that `open` creates, unless the thread has one. `open` creates none for a thread that has
    /// ended.
    pub(super) fn attach(
        &self,
        thread: Pid,
        open: impl FnOnce() -> Result<Option<(Event, Mapping)>, Unavailable>,
    ) -> Result<(), Unavailable> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // The system reuses the numbers of threads that have ended.
        let is_attached = threads.attached.iter().any(|event| event.thread() == thread && !has_ended(event));
        if is_attached || self.phase() != RUNNING {
            // Polling an event may have taken a wake-up from the draining thread.
            self.wake();
            return Ok(());
        }
        let Some((event, mapping)) = open()? else { return Ok(()) };
        let event = Arc::new(event);
        threads.attached.push(Arc::clone(&event));
        threads.arriving.push(Ring { event, mapping, has_ended: false, last_nanos: 0 });
        drop(threads);
        self.wake();
        Ok(())
    }

    /// Number of attached threads that haven't been seen to end.
    #[cfg(test)]
    pub(super) fn attached(&self) -> usize {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).attached.len()
    }

    pub(super) fn stop(&self) {
        self.set_phase(STOPPING);
    }

    pub(super) fn abandon(&self) {
        self.set_phase(ABANDONED);
    }

    fn set_phase(&self, phase: u8) {
        self.phase.fetch_max(phase, Ordering::Release);
        self.wake();
    }

    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Acquire)
    }

    /// A full eventfd also wakes the thread, so an error doesn't matter.
    fn wake(&self) {
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }
}

/// Whether an event's thread has ended, so that there will be no more samples.
fn has_ended(event: &Event) -> bool {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(event, PollFlags::IN)];
    poll(&mut polled, Some(&NOW)).is_ok() && is_hang_up(&polled[0])
}

fn is_hang_up(polled: &PollFd<'_>) -> bool {
    polled.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Batches on their way into the queue.
struct Outbox {
    shared: Arc<Shared>,
    queue: SyncSender<Vec<Load>>,
    batch: Vec<Load>,
    dropped: u64,
}

impl Outbox {
    fn push(&mut self, sample: Load) {
        if self.batch.capacity() == 0 {
            self.batch.reserve_exact(BATCH_SAMPLES);
        }
        self.batch.push(sample);
        if self.batch.len() == BATCH_SAMPLES {
            self.flush();
        }
    }

    /// Waits as long as the queue is full. Meanwhile rings fill up, and the kernel counts the samples that don't fit.
    fn flush(&mut self) {
        while !self.batch.is_empty() {
            self.offer();
            if !self.batch.is_empty() {
                thread::sleep(QUEUE_PAUSE);
            }
        }
    }

    /// Passes the batch on, unless the queue is full: then filling it continues.
    fn offer(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        match self.queue.try_send(mem::take(&mut self.batch)) {
            Ok(()) => {}
            Err(TrySendError::Full(batch)) if self.shared.phase() != ABANDONED => self.batch = batch,
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => self.dropped += batch.len() as u64,
        }
    }
}

/// The draining thread's state.
pub(super) struct Drainer {
    shared: Arc<Shared>,
    anchor: Anchor,
    clock: Clock,
    layout: Layout,
    rings: Vec<Ring>,
    outbox: Outbox,
    tallies: Tallies,
    counts: HardwareCounts,
}

impl Drainer {
    /// Must be called by the thread that will drain.
    pub(super) fn new(
        shared: Arc<Shared>,
        facts: &Facts,
        clock: Clock,
        layout: Layout,
        queue: SyncSender<Vec<Load>>,
    ) -> Result<Drainer, Unavailable> {
        let anchor = Anchor::new(facts)?;
        let outbox = Outbox { shared: Arc::clone(&shared), queue, batch: Vec::new(), dropped: 0 };
        let (rings, tallies, counts) = (Vec::new(), Tallies::default(), HardwareCounts::default());
        Ok(Drainer { shared, anchor, clock, layout, rings, outbox, tallies, counts })
    }

    /// Drains until the tracer stops.
    pub(super) fn run(mut self) -> HardwareCounts {
        while self.shared.phase() == RUNNING {
            self.pass();
            self.wait();
        }
        // Whoever attaches from now on sees the phase and opens nothing.
        self.accept();
        for ring in &self.rings {
            // An event that can't be disabled continues until it is closed: its last samples are missing, not wrong.
            let _ = ring.event.disable();
        }
        self.pass();
        self.outbox.flush();
        for ring in mem::take(&mut self.rings) {
            self.retire(ring);
        }
        self.finish()
    }

    fn accept(&mut self) {
        let mut threads = self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
        self.counts.threads += threads.arriving.len() as u64;
        self.rings.append(&mut threads.arriving);
    }

    /// Drains each ring once, and drops those whose thread had ended before.
    fn pass(&mut self) {
        self.accept();
        self.anchor.measure();
        let Drainer { rings, outbox, anchor, clock, tallies, layout, .. } = self;
        for Ring { mapping, last_nanos, .. } in rings.iter_mut() {
            mapping.consume(|bytes| match bytes {
                Some(bytes) => parse(bytes, *layout, tallies, &mut |sample| {
                    *last_nanos = clock.at(anchor.monotonic(sample.time)).max(*last_nanos);
                    outbox.push(Load { time_nanos: *last_nanos, thread: sample.thread, address: sample.address });
                }),
                None => tallies.damaged += 1,
            });
        }
        outbox.offer();
        for ring in self.rings.extract_if(.., |ring| ring.has_ended).collect::<Vec<_>>() {
            self.retire(ring);
        }
    }

    /// Waits until a ring is half full, a thread ends or attaches, the tracer stops, or some time has passed.
    fn wait(&mut self) {
        let mut polled = vec![PollFd::from_borrowed_fd(self.shared.waker.as_fd(), PollFlags::IN)];
        polled.extend(self.rings.iter().map(|ring| PollFd::new(&*ring.event, PollFlags::IN)));
        // An interrupted wait just ends early.
        let _ = poll(&mut polled, Some(&PASS_PAUSE));
        let ended: Vec<bool> = polled[1..].iter().map(is_hang_up).collect();
        drop(polled);
        for (ring, has_ended) in self.rings.iter_mut().zip(ended) {
            ring.has_ended |= has_ended;
        }
        let _ = rustix::io::read(&self.shared.waker, &mut [0_u8; 8]);
    }

    /// Closes a ring's event, and adds the kernel's counts for it.
    fn retire(&mut self, ring: Ring) {
        let mut threads = self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.attached.retain(|event| !Arc::ptr_eq(event, &ring.event));
        drop(threads);
        let Ok(counts) = ring.event.counts() else { return };
        self.counts.events += counts.happened;
        self.counts.enabled_nanos += counts.enabled_nanos;
        self.counts.running_nanos += counts.running_nanos;
        self.counts.lost_in_rings += counts.lost;
    }

    fn finish(self) -> HardwareCounts {
        HardwareCounts {
            samples: self.tallies.samples - self.outbox.dropped,
            others: self.tallies.others,
            dropped: self.outbox.dropped,
            // Older kernels report losses only in records, which are missing at the end; newer ones report them
            // exactly.
            lost_in_rings: self.counts.lost_in_rings.max(self.tallies.lost),
            lost_by_processor: self.tallies.lost_by_processor,
            throttled: self.tallies.throttled,
            damaged: self.tallies.damaged,
            ..self.counts
        }
    }
}
