//! A signal, with threads that wait for it while others fire it.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::signal::Signal;

/// What a wake-up sees, and how many there were.
struct Seen {
    signal: Signal,
    /// Written before the signal is fired.
    news: UnsafeCell<u32>,
    woken: AtomicUsize,
}

// SAFETY: loom checks all accesses to the cell.
unsafe impl Sync for Seen {}

impl Seen {
    fn new() -> Arc<Self> {
        Arc::new(Self { signal: Signal::new(), news: UnsafeCell::new(0), woken: AtomicUsize::new(0) })
    }

    fn fire_with_news(&self) {
        // SAFETY: loom would report a concurrent read.
        self.news.with_mut(|news| unsafe { *news = 1 });
        self.signal.fire();
    }

    /// Waits for the news.
    fn subscribe(waiter: &Arc<Self>) {
        let seen = waiter.clone();
        waiter.signal.subscribe(move || {
            // SAFETY: loom would report a concurrent write.
            seen.news.with(|news| unsafe { assert_eq!(*news, 1, "a wake-up comes after the news") });
            seen.woken.fetch_add(1, Ordering::Relaxed);
        });
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::Relaxed)
    }
}

/// Whether a task subscribes before, while or after the signal is fired: it is woken once, and sees the news.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let seen = Seen::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let seen = seen.clone();
                thread::spawn(move || Seen::subscribe(&seen))
            })
            .collect();
        seen.fire_with_news();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(seen.woken(), 2);
    });
}

/// A signal that is fired by two threads wakes once.
#[test]
fn a_signal_fires_once() {
    loom::model(|| {
        let seen = Seen::new();
        // SAFETY: there is no other thread yet.
        seen.news.with_mut(|news| unsafe { *news = 1 });
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let seen = seen.clone();
                thread::spawn(move || seen.signal.fire())
            })
            .collect();
        Seen::subscribe(&seen);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(seen.woken(), 1);
    });
}

/// As operators use it: a task that finds nothing to do takes the signal under their lock, and subscribes later. Who
/// brings work replaces the signal under the lock, and fires it later.
#[test]
fn a_task_that_saw_no_work_is_woken() {
    loom::model(|| {
        let shared = Arc::new(Mutex::new((false, Signal::new())));
        let woken = Arc::new(AtomicUsize::new(0));
        let waiter = {
            let (shared, woken) = (shared.clone(), woken.clone());
            thread::spawn(move || {
                let (has_work, changed) = {
                    let shared = shared.lock().unwrap();
                    (shared.0, shared.1.clone())
                };
                if !has_work {
                    changed.subscribe(move || _ = woken.fetch_add(1, Ordering::Relaxed));
                }
                has_work
            })
        };
        let changed = {
            let mut shared = shared.lock().unwrap();
            shared.0 = true;
            std::mem::take(&mut shared.1)
        };
        changed.fire();
        let has_seen_work = waiter.join().unwrap();
        assert_eq!(woken.load(Ordering::Relaxed), !has_seen_work as usize);
    });
}

/// A wake-up may use the signal itself.
#[test]
fn a_wake_up_may_subscribe_again() {
    loom::model(|| {
        let seen = Seen::new();
        let waiter = {
            let seen = seen.clone();
            thread::spawn(move || {
                let again = seen.clone();
                seen.signal.subscribe(move || Seen::subscribe(&again));
            })
        };
        seen.fire_with_news();
        waiter.join().unwrap();
        assert_eq!(seen.woken(), 1);
    });
}

/// A signal that is dropped without being fired drops its wake-ups, whoever drops it last, and runs none. (loom reports
/// what isn't dropped.)
#[test]
fn a_dropped_signal_drops_its_wake_ups() {
    loom::model(|| {
        let (signal, woken) = (Signal::new(), Arc::new(AtomicUsize::new(0)));
        let waiter = {
            let (signal, woken) = (signal.clone(), woken.clone());
            thread::spawn(move || signal.subscribe(move || _ = woken.fetch_add(1, Ordering::Relaxed)))
        };
        drop(signal);
        waiter.join().unwrap();
        assert_eq!(woken.load(Ordering::Relaxed), 0);
    });
}
