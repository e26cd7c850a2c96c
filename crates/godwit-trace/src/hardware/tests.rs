//! Tests the whole chain with page faults: any machine samples these with their addresses, if it permits sampling at
//! all.

use super::anchor::Anchor;
use super::event::Event;
use super::mapping::Mapping;
use super::options::BATCH_SAMPLES;
use super::processor::{Places, SampledEvent};
use super::records::{Layout, Tallies, parse};
use super::unavailable::Facts;
use super::{HardwareCounts, HardwareOptions, HardwareTracer};
use crate::clock::monotonic_nanos;
use crate::{Clock, Load};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Pages that aren't present before they are touched.
struct Pages {
    base: *mut u8,
    count: usize,
    page_bytes: usize,
}

impl Pages {
    fn new(count: usize) -> Pages {
        let page_bytes = rustix::param::page_size();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new range that nobody else uses.
        let base = unsafe {
            let base = mmap_anonymous(std::ptr::null_mut(), count * page_bytes, protection, MapFlags::PRIVATE).unwrap();
            // One fault per page. A kernel without huge pages refuses, and doesn't need the advice.
            let _ = madvise(base, count * page_bytes, Advice::LinuxNoHugepage);
            base.cast()
        };
        Pages { base, count, page_bytes }
    }

    fn touch(&self, pages: std::ops::Range<usize>) {
        assert!(pages.end <= self.count);
        for page in pages {
            // SAFETY: within the mapping.
            unsafe { self.base.add(page * self.page_bytes).write_volatile(1) };
        }
    }

    fn touch_all(&self) {
        self.touch(0..self.count);
    }

    fn addresses(&self) -> Vec<u64> {
        (0..self.count).map(|page| (self.base.addr() + page * self.page_bytes) as u64).collect()
    }

    /// The addresses of the samples that lie in these pages.
    fn of(&self, samples: &[Load]) -> Vec<u64> {
        let start = self.base.addr() as u64;
        let range = start..start + (self.count * self.page_bytes) as u64;
        samples.iter().map(|sample| sample.address).filter(|address| range.contains(address)).collect()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nobody has a reference into it.
        unsafe { munmap(self.base.cast(), self.count * self.page_bytes) }.unwrap();
    }
}

const SMALL: HardwareOptions = HardwareOptions { period: 1, ring_bytes_per_thread: 1, queue_batches: 1 };
const ROOMY: HardwareOptions = HardwareOptions { period: 1, ring_bytes_per_thread: 64 << 10, queue_batches: 64 };

/// A tracer of page faults; `None`, with a message, where sampling isn't permitted.
fn tracer(options: HardwareOptions, clock: Clock) -> Option<(HardwareTracer, Receiver<Vec<Load>>)> {
    let places = Places::of_this_machine();
    HardwareTracer::start_with(SampledEvent::page_faults(), options, clock, places)
        .inspect_err(|unavailable| eprintln!("skipped: {unavailable}"))
        .ok()
}

/// Stops the tracer while the queue is being emptied.
fn stop(tracer: &HardwareTracer, samples: Receiver<Vec<Load>>) -> (Vec<Load>, HardwareCounts) {
    let sink = thread::spawn(move || samples.into_iter().flatten().collect::<Vec<_>>());
    let counts = tracer.stop();
    (sink.join().unwrap(), counts)
}

/// Runs in a thread, attached; returns the thread's number.
fn in_attached_thread(tracer: &HardwareTracer, run: impl FnOnce() + Send) -> u32 {
    thread::scope(|scope| {
        let traced = scope.spawn(|| {
            tracer.attach_thread().unwrap();
            run();
            gettid().as_raw_nonzero().get() as u32
        });
        traced.join().unwrap()
    })
}

// SAFETY: pages are only touched, which any thread may.
unsafe impl Sync for Pages {}

#[test]
fn samples_have_addresses_threads_and_times() {
    let clock = Clock::start();
    let Some((tracer, samples)) = tracer(ROOMY, clock) else { return };
    let pages = Pages::new(500);
    let before = clock.nanos();
    let thread = in_attached_thread(&tracer, || pages.touch_all());
    let after = clock.nanos();
    let (samples, counts) = stop(&tracer, samples);

    assert_eq!(pages.of(&samples), pages.addresses());
    assert!(samples.iter().all(|sample| sample.thread == thread));
    assert!(samples.is_sorted_by_key(|sample| sample.time_nanos));
    // The two clocks are compared within microseconds, unless the machine is very busy.
    const SLACK: u64 = 5_000_000;
    let times = before.saturating_sub(SLACK)..after + SLACK;
    assert!(samples.iter().all(|sample| times.contains(&sample.time_nanos)), "{times:?}");
    assert_eq!((counts.threads, counts.lost(), counts.damaged, counts.others), (1, 0, 0, 0));
    assert_eq!((counts.samples, counts.events), (samples.len() as u64, samples.len() as u64));
    assert!(counts.running_nanos > 0 && counts.running_nanos <= counts.enabled_nanos);
}

#[test]
fn one_in_n_is_sampled() {
    let Some((tracer, samples)) = tracer(HardwareOptions { period: 10, ..ROOMY }, Clock::start()) else { return };
    let pages = Pages::new(1_000);
    in_attached_thread(&tracer, || pages.touch_all());
    let (samples, counts) = stop(&tracer, samples);
    assert_eq!(counts.samples, counts.events / 10);
    assert!((99..=100).contains(&pages.of(&samples).len()));
}

#[test]
fn a_full_ring_loses_samples_and_counts_them() {
    let event = Event::open(&SampledEvent::page_faults(), 1, 1, gettid());
    let Ok(event) = event.inspect_err(|error| eprintln!("skipped: perf_event_open: {error}")) else { return };
    let mut mapping = Mapping::new(&event, rustix::param::page_size()).unwrap();
    let in_ring = rustix::param::page_size() / 32;
    let pages = Pages::new(3 * in_ring);
    let mut tallies = Tallies::default();
    let mut drain = |tallies: &mut Tallies| {
        mapping.consume(|bytes| parse(bytes.unwrap(), Layout::Address, tallies, &mut |_| {}));
    };
    event.enable().unwrap();
    pages.touch(0..2 * in_ring);
    drain(&mut tallies);
    // The kernel reports the loss with the next record.
    assert_eq!(tallies.lost, 0);
    assert!((in_ring as u64 - 4..=in_ring as u64).contains(&tallies.samples), "{tallies:?}");
    pages.touch(2 * in_ring..2 * in_ring + 10);
    event.disable().unwrap();
    drain(&mut tallies);
    let counts = event.counts().unwrap();
    assert_eq!(tallies.samples + tallies.lost, counts.happened);
    assert!(tallies.lost >= in_ring as u64);
    assert_eq!(counts.lost, if event.counts_lost { tallies.lost } else { 0 });
    pages.touch(2 * in_ring + 10..3 * in_ring);
    assert_eq!(event.counts().unwrap().happened, counts.happened, "disabled");
}

#[test]
fn what_no_sink_takes_is_lost_in_the_rings_and_counted() {
    let Some((tracer, samples)) = tracer(SMALL, Clock::start()) else { return };
    // One batch waits in the queue, and another one to get there.
    let pages = Pages::new(2 * BATCH_SAMPLES + rustix::param::page_size() / 32 + 3_000);
    in_attached_thread(&tracer, || {
        for start in (0..pages.count).step_by(50) {
            pages.touch(start..pages.count.min(start + 50));
            thread::sleep(Duration::from_micros(200));
        }
    });
    let (samples, counts) = stop(&tracer, samples);
    assert_eq!(counts.samples, samples.len() as u64);
    assert!((1..2 * BATCH_SAMPLES + 256).contains(&samples.len()), "{counts:?}");
    assert!(counts.lost_in_rings >= 3_000, "{counts:?}");
    let event = Event::open(&SampledEvent::page_faults(), 1, 1, gettid()).unwrap();
    if event.counts_lost {
        assert_eq!(counts.samples + counts.lost_in_rings, counts.events);
    } else {
        eprintln!("skipped in part: this kernel doesn't count losses exactly");
    }
}

#[test]
fn threads_that_end_are_drained_and_let_go() {
    let Some((tracer, samples)) = tracer(ROOMY, Clock::start()) else { return };
    let pages = Pages::new(400);
    for start in (0..400).step_by(10) {
        in_attached_thread(&tracer, || pages.touch(start..start + 10));
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while tracer.shared.attached() > 0 {
        assert!(Instant::now() < deadline, "{} are still attached", tracer.shared.attached());
        thread::sleep(Duration::from_millis(1));
    }
    let (samples, counts) = stop(&tracer, samples);
    // Rings are drained one after another, so only the order within a thread is certain.
    let mut addresses = pages.of(&samples);
    addresses.sort_unstable();
    assert_eq!(addresses, pages.addresses());
    assert_eq!((counts.threads, counts.lost()), (40, 0));
    assert_eq!(counts.events, counts.samples);
}

#[test]
fn all_threads_are_attached_once() {
    let Some((tracer, samples)) = tracer(ROOMY, Clock::start()) else { return };
    let pages: Vec<Pages> = (0..3).map(|_| Pages::new(100)).collect();
    let (started, attached) = (Barrier::new(4), Barrier::new(4));
    thread::scope(|scope| {
        for pages in &pages {
            scope.spawn(|| {
                started.wait();
                attached.wait();
                tracer.attach_thread().unwrap();
                pages.touch_all();
            });
        }
        started.wait();
        tracer.attach_all_threads().unwrap();
        tracer.attach_all_threads().unwrap();
        attached.wait();
    });
    let (samples, counts) = stop(&tracer, samples);
    for pages in &pages {
        assert_eq!(pages.of(&samples), pages.addresses());
    }
    assert!(counts.threads >= 4);
}

#[test]
fn a_tracer_is_dropped_while_threads_run_and_nobody_takes_samples() {
    for receiver_stays in [true, false] {
        let Some((tracer, samples)) = tracer(SMALL, Clock::start()) else { return };
        let samples = receiver_stays.then_some(samples);
        let tracer = Arc::new(tracer);
        let has_ended = Arc::new(AtomicBool::new(false));
        let (busy, is_busy) = channel();
        let traced = {
            let (tracer, has_ended) = (Arc::clone(&tracer), Arc::clone(&has_ended));
            thread::spawn(move || {
                tracer.attach_thread().unwrap();
                drop(tracer);
                let mut rounds = 0;
                while !has_ended.load(Ordering::Relaxed) {
                    Pages::new(2_000).touch_all();
                    rounds += 1;
                    if rounds == 10 {
                        busy.send(()).unwrap();
                    }
                }
            })
        };
        is_busy.recv().unwrap();
        Arc::into_inner(tracer).expect("the thread let go of it");
        has_ended.store(true, Ordering::Relaxed);
        traced.join().unwrap();
        if let Some(samples) = samples {
            assert!(samples.into_iter().flatten().count() <= BATCH_SAMPLES);
        }
    }
}

#[test]
fn stopping_twice_tells_the_same_and_attaching_then_does_nothing() {
    let Some((tracer, samples)) = tracer(ROOMY, Clock::start()) else { return };
    in_attached_thread(&tracer, || Pages::new(10).touch_all());
    let (samples, counts) = stop(&tracer, samples);
    assert!(samples.len() >= 10);
    tracer.attach_thread().unwrap();
    tracer.attach_all_threads().unwrap();
    assert_eq!(tracer.shared.attached(), 0);
    assert_eq!(tracer.stop(), counts);
}

#[test]
fn the_clocks_are_compared_closely() {
    let facts = Facts::read(&Places::of_this_machine());
    let anchor = Anchor::new(&facts).inspect_err(|unavailable| eprintln!("skipped: {unavailable}"));
    let Ok(mut anchor) = anchor else { return };
    let pages = Pages::new(1);
    let event = Event::open(&SampledEvent::page_faults(), 1, 1, gettid()).unwrap();
    let mut mapping = Mapping::new(&event, pages.page_bytes).unwrap();
    event.enable().unwrap();
    for _ in 0..20 {
        anchor.measure();
        // SAFETY: nobody has a reference into the page.
        unsafe { madvise(pages.base.cast(), pages.page_bytes, Advice::LinuxDontNeed).unwrap() };
        let before = monotonic_nanos();
        pages.touch_all();
        let after = monotonic_nanos();
        let mut times = Vec::new();
        mapping.consume(|bytes| {
            parse(bytes.unwrap(), Layout::Address, &mut Tallies::default(), &mut |sample| {
                if sample.address == pages.addresses()[0] {
                    times.push(anchor.monotonic(sample.time));
                }
            });
        });
        // How far apart the readings around the measured page fault may be on a busy machine.
        const SLACK: u64 = 5_000_000;
        assert!(times.len() == 1 && (before - SLACK..after + SLACK).contains(&times[0]), "{before} {times:?} {after}");
    }
}

#[test]
fn memory_is_bounded_by_the_options() {
    let page = rustix::param::page_size();
    let batches = (1 + 2) * BATCH_SAMPLES * 24;
    assert_eq!(SMALL.memory_bytes(0), batches);
    assert_eq!(SMALL.memory_bytes(3), 3 * 2 * page + batches);
    let options = HardwareOptions { ring_bytes_per_thread: (1 << 20) + 1, ..SMALL };
    assert_eq!(options.memory_bytes(1), (2 << 20) + page + batches);
}

/// Where the processor's own samples are available, they are of the program's loads.
#[test]
fn loads_are_sampled_where_the_hardware_is() {
    let options = HardwareOptions { period: 1_000, ..HardwareOptions::default() };
    let started = HardwareTracer::start(options, Clock::start());
    let Ok((tracer, samples)) = started.inspect_err(|unavailable| eprintln!("skipped: {unavailable}")) else { return };
    let numbers: Vec<u64> = (0..8 << 20).collect();
    let thread = in_attached_thread(&tracer, || {
        for _ in 0..10 {
            std::hint::black_box(std::hint::black_box(&numbers).iter().fold(0, |sum, number| sum ^ number));
        }
    });
    let (samples, counts) = stop(&tracer, samples);
    let range = numbers.as_ptr_range();
    let range = range.start.addr() as u64..range.end.addr() as u64;
    let of_numbers = samples.iter().filter(|sample| range.contains(&sample.address)).count();
    assert!(of_numbers > 1_000, "{of_numbers} samples of the numbers, {counts:?}");
    assert!(samples.iter().all(|sample| sample.thread == thread));
}
