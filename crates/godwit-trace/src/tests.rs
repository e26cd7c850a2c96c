use std::sync::Arc;

use godwit_common::{Error, Result};
use parking_lot::{Mutex, MutexGuard};

use crate::ranges::{Ranges, Resolved};
use crate::*;

/// There is only one trace in a process, and tests run concurrently.
static ONE_TRACE: Mutex<()> = Mutex::new(());

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<Sample>, bool)>>);

impl TraceSink for Kept {
    fn write(&mut self, samples: &[Sample]) -> Result<()> {
        self.0.lock().0.extend_from_slice(samples);
        Ok(())
    }

    fn finish(self: Box<Self>, _description: &TraceDescription) -> Result<()> {
        self.0.lock().1 = true;
        Ok(())
    }
}

fn start(one_in: u32, samples_max: u64) -> (MutexGuard<'static, ()>, Kept, Trace) {
    let guard = ONE_TRACE.lock();
    let kept = Kept::default();
    let trace =
        Trace::start(TraceOptions { source: TraceSource::Software, one_in, samples_max }, Box::new(kept.clone()))
            .unwrap();
    (guard, kept, trace)
}

fn key(object: u64) -> ObjectKey {
    ObjectKey { pool: 1, object }
}

fn named(path: &str) -> TracedObject {
    TracedObject { path: path.to_owned(), ..TracedObject::default() }
}

fn place(address: u64, bytes: u64, offset: u64) -> ObjectPart {
    ObjectPart { address, bytes, offset, first_entry: 0, entries: 0 }
}

#[test]
fn the_latest_range_of_an_address_counts() {
    let mut ranges = Ranges::default();
    ranges.declare(1, place(1000, 100, 0).with_entries(10, 50), key(1), || named("a"));
    ranges.declare(2, place(1040, 20, 7), key(2), || named("b"));
    let at = |ranges: &Ranges, address| {
        ranges.resolve(address).map(|Resolved { object, offset, entry }| (object, offset, entry))
    };
    assert_eq!(at(&ranges, 999), None);
    assert_eq!(at(&ranges, 1039), Some((0, 39, Some(29))));
    assert_eq!(at(&ranges, 1040), Some((1, 7, None)));
    assert_eq!(at(&ranges, 1060), Some((0, 60, Some(40))));
    assert_eq!(at(&ranges, 1100), None);
    // Memory that is reused.
    ranges.declare(3, place(900, 400, 0), key(3), || named("c"));
    assert_eq!(at(&ranges, 1050), Some((2, 150, None)));
    let (objects, past) = ranges.into_parts();
    assert_eq!(
        objects.iter().map(|(object, bytes)| (&object.path[..], *bytes)).collect::<Vec<_>>(),
        [("a", 100), ("b", 27), ("c", 400)]
    );
    let ended: Vec<_> = past.iter().map(|range| (range.object, range.from_nanos, range.until_nanos)).collect();
    let expected = [(0, 1, Some(2)), (0, 2, Some(3)), (0, 2, Some(3)), (1, 2, Some(3)), (2, 3, None)];
    assert_eq!(ended, expected);
}

#[test]
fn every_load_is_sampled_at_one_in_one() {
    let memory = vec![0u8; 4096];
    let (_guard, kept, trace) = start(1, u64::MAX);
    declare(ObjectPart::of_bytes(memory.as_ptr(), 2048, 100).with_entries(0, 256), key(1), || named("m"));
    loads(|loads| {
        loads.run(memory.as_ptr(), 100, 32);
        loads.each(2, |i| memory.as_ptr().wrapping_add(2047 + i));
    });
    let description = trace.stop().unwrap();
    let (samples, is_finished) = &*kept.0.lock();
    let seen: Vec<_> = samples.iter().map(|sample| (sample.object, sample.offset, sample.entry)).collect();
    assert_eq!(
        seen,
        [(0, 100, Some(0)), (0, 132, Some(4)), (0, 164, Some(8)), (0, 196, Some(12)), (0, 2147, Some(255))]
    );
    assert!(is_finished);
    assert_eq!((description.samples, description.elsewhere, description.lost), (5, 1, 0));
    assert_eq!((&description.objects[0].object.path[..], description.objects[0].bytes), ("m", 2148));
    assert_eq!(description.objects[0].samples, 5);
    assert!(!is_on());
}

#[test]
fn one_in_n_loads_is_sampled_wherever_they_come_from() {
    let memory = vec![0u8; 1 << 20];
    let (_guard, kept, trace) = start(100, u64::MAX);
    let halves = memory.split_at(1 << 19);
    declare(ObjectPart::of_bytes(halves.0.as_ptr(), 1 << 19, 0), key(1), || named("first"));
    declare(ObjectPart::of_bytes(halves.1.as_ptr(), 1 << 19, 0), key(2), || named("second"));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let starts = [halves.0.as_ptr() as usize, halves.1.as_ptr() as usize];
            std::thread::spawn(move || {
                for _ in 0..1_000 {
                    // Three times as many loads of one object, in pieces as long as the distance between samples.
                    loads(|loads| loads.run(starts[0] as *const u8, 75 * 32, 32));
                    loads(|loads| loads.run(starts[1] as *const u8, 25 * 32, 32));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let description = trace.stop().unwrap();
    let samples = &kept.0.lock().0;
    assert!((1_950..2_050).contains(&samples.len()), "{} of 200,000 loads", samples.len());
    assert_eq!(description.samples, samples.len() as u64);
    let first = samples.iter().filter(|sample| sample.object == 0).count() as f64 / samples.len() as f64;
    assert!((0.70..0.80).contains(&first), "a share of {first}");
    for thread in 0..2 {
        let times = samples.iter().filter(|sample| sample.thread == thread).map(|sample| sample.time_nanos);
        assert!(times.is_sorted());
    }
}

#[test]
fn samples_beyond_the_bound_are_counted() {
    let memory = [0u8; 64];
    let (_guard, kept, trace) = start(1, 10);
    declare(ObjectPart::of_bytes(memory.as_ptr(), 64, 0), key(1), || named("m"));
    loads(|loads| loads.each(25, |_| memory.as_ptr()));
    let description = trace.stop().unwrap();
    assert_eq!((description.samples, description.lost, kept.0.lock().0.len()), (10, 15, 10));
}

#[test]
fn the_most_read_entries_have_their_values() {
    struct Letters;
    impl EntryValues for Letters {
        fn value(&self, entry: u64) -> Option<String> {
            ["a", "b", "c", "d"].get(entry as usize).map(|letter| (*letter).to_owned())
        }
    }
    let memory = [0u64; 4];
    let letters: Arc<dyn EntryValues> = Arc::new(Letters);
    let (_guard, _kept, trace) = start(1, u64::MAX);
    let values = Arc::downgrade(&letters);
    let whole = ObjectPart::of_bytes(memory.as_ptr().cast(), 32, 0).with_entries(0, 4);
    declare(whole, key(1), || TracedObject { values: Some(values), ..named("letters") });
    loads(|loads| loads.each(6, |i| memory.as_ptr().wrapping_add([2, 1, 2, 2, 1, 3][i]).cast()));
    let description = trace.stop().unwrap();
    let hot: Vec<_> = description.hot_entries.iter().map(|hot| (hot.entry, hot.samples, &hot.value[..])).collect();
    assert_eq!(hot, [(2, 3, "c"), (1, 2, "b"), (3, 1, "d")]);
}

#[test]
fn there_is_one_trace_at_a_time_and_its_errors_come_at_its_end() {
    struct Full;
    impl TraceSink for Full {
        fn write(&mut self, _samples: &[Sample]) -> Result<()> {
            Err(Error::user("the disk is full"))
        }

        fn finish(self: Box<Self>, _description: &TraceDescription) -> Result<()> {
            panic!("finished after an error")
        }
    }
    let _guard = ONE_TRACE.lock();
    let options = TraceOptions { source: TraceSource::Software, one_in: 1, samples_max: u64::MAX };
    let trace = Trace::start(options, Box::new(Full)).unwrap();
    assert!(Trace::start(options, Box::new(Full)).is_err());
    let memory = [0u8; 8];
    declare(ObjectPart::of_bytes(memory.as_ptr(), 8, 0), key(1), || named("m"));
    loads(|loads| loads.each(100_000, |_| memory.as_ptr()));
    assert!(trace.stop().is_err_and(|error| error.message().contains("full")));
    // Dropping a trace ends it, too.
    drop(Trace::start(options, Box::new(Full)).unwrap());
    assert!(!is_on());
}
