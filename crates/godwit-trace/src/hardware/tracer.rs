//! Starting, attaching threads, stopping.

use super::drainer::{Drainer, Shared};
use super::event::Event;
use super::mapping::Mapping;
use super::processor::{Places, SampledEvent, load_event};
use super::unavailable::{Facts, Unavailable};
use super::{HardwareCounts, HardwareOptions};
use crate::{Clock, Load};
use rustix::thread::{Pid, gettid};
use std::fs;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Samples loads of the threads that are attached, until it is stopped or dropped.
///
/// Dropping it abandons samples that the queue has no room for.
#[derive(Debug)]
pub struct HardwareTracer {
    pub(super) shared: Arc<Shared>,
    event: SampledEvent,
    options: HardwareOptions,
    facts: Facts,
    places: Places,
    /// The draining thread, which isn't attached.
    drainer: Pid,
    end: Mutex<End>,
}

#[derive(Debug)]
enum End {
    Pending(JoinHandle<HardwareCounts>),
    Reached(HardwareCounts),
}

impl HardwareTracer {
    /// Starts the draining thread. The queue delivers batches of samples; within a thread they are ordered by time.
    ///
    /// # Errors
    ///
    /// If this machine or user can't sample loads, and why.
    pub fn start(options: HardwareOptions, clock: Clock) -> Result<(HardwareTracer, Receiver<Vec<Load>>), Unavailable> {
        let places = Places::of_this_machine();
        let event = load_event(&places)?;
        HardwareTracer::start_with(event, options, clock, places)
    }

    pub(super) fn start_with(
        event: SampledEvent,
        options: HardwareOptions,
        clock: Clock,
        places: Places,
    ) -> Result<(HardwareTracer, Receiver<Vec<Load>>), Unavailable> {
        let facts = Facts::read(&places);
        let wake_bytes = options.ring_bytes() / 2;
        // A first event that is never enabled: if it fails for this thread, it would fail for all.
        Event::open(&event, options.period, wake_bytes as u32, gettid())
            .map_err(|error| facts.why_not_opened(&event, error))?;
        let shared = Arc::new(Shared::new()?);
        let (queue, samples) = sync_channel(options.queue_batches.max(1));
        let (started, has_started) = sync_channel(1);
        let layout = event.layout;
        let drain = {
            let shared = Arc::clone(&shared);
            move || match Drainer::new(shared, &facts, clock, layout, queue) {
                Ok(drainer) => {
                    let _ = started.send(Ok(gettid()));
                    drainer.run()
                }
                Err(unavailable) => {
                    let _ = started.send(Err(unavailable));
                    HardwareCounts::default()
                }
            }
        };
        let thread = thread::Builder::new().name("trace-drainer".into()).spawn(drain).map_err(|error| {
            Unavailable::System { action: "start a thread", error: error.raw_os_error().unwrap_or_default() }
        })?;
        let drainer = has_started.recv().expect("the draining thread says whether it started")?;
        let end = Mutex::new(End::Pending(thread));
        Ok((HardwareTracer { shared, event, options, facts, places, drainer, end }, samples))
    }

    /// Attaches the calling thread; does nothing if it is already attached. It is detached when it ends.
    ///
    /// # Errors
    ///
    /// If descriptors or locked memory run short.
    pub fn attach_thread(&self) -> Result<(), Unavailable> {
        self.attach(gettid())
    }

    /// Attaches all current threads of the process, except the draining one. Threads that start later aren't attached:
    /// Linux doesn't give the event of a thread a ring for its children.
    ///
    /// # Errors
    ///
    /// As for a single thread; threads attached before the failing one stay attached.
    pub fn attach_all_threads(&self) -> Result<(), Unavailable> {
        let folder = self.places.processes.join("self/task");
        let threads = fs::read_dir(&folder).map_err(|error| Unavailable::System {
            action: "list the threads of the process",
            error: error.raw_os_error().unwrap_or_default(),
        })?;
        for thread in threads.flatten() {
            let number = thread.file_name().to_str().and_then(|name| name.parse().ok());
            match number.and_then(Pid::from_raw) {
                Some(thread) if thread != self.drainer => self.attach(thread)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn attach(&self, thread: Pid) -> Result<(), Unavailable> {
        let ring_bytes = self.options.ring_bytes();
        let unopened = |error| self.facts.why_not_opened(&self.event, error);
        self.shared.attach(thread, || {
            let event = match Event::open(&self.event, self.options.period, ring_bytes as u32 / 2, thread) {
                Err(rustix::io::Errno::SRCH) => return Ok(None),
                opened => opened.map_err(unopened)?,
            };
            let mapping =
                Mapping::new(&event, ring_bytes).map_err(|error| self.facts.why_not_mapped(ring_bytes, error))?;
            event.enable().map_err(unopened)?;
            Ok(Some((event, mapping)))
        })
    }

    /// Ends sampling, drains the rings one last time, and returns the counts. By then all samples are in the queue,
    /// which ends after them: someone else has to take them out, because this call waits while the queue is full. Once
    /// stopped, attaching threads yields no samples.
    pub fn stop(&self) -> HardwareCounts {
        self.shared.stop();
        self.join()
    }

    fn join(&self) -> HardwareCounts {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = match std::mem::replace(&mut *end, End::Reached(HardwareCounts::default())) {
            End::Pending(thread) => thread.join().expect("the draining thread doesn't panic"),
            End::Reached(counts) => counts,
        };
        *end = End::Reached(counts);
        counts
    }
}

impl Drop for HardwareTracer {
    fn drop(&mut self) {
        self.shared.abandon();
        self.join();
    }
}
