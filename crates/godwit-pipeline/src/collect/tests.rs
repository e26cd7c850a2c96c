//! Tests of result streams: order, errors, back-pressure, and results that nobody reads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::Wake;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{Field, Schema};
use godwit_common::ErrorKind;
use godwit_memory::BufferConfig;
use godwit_vector::{CHUNK_ROWS, Flat, StrColumn, Vector};

use super::*;
use crate::{Compaction, JOIN_LOAD_FACTOR, QuerySettings};

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn query() -> Arc<QueryContext> {
    let settings = QuerySettings {
        chunk_rows: CHUNK_ROWS,
        workers: 1,
        profile: false,
        compress_from_bytes: None,
        compaction: Compaction::None,
        join_filters: true,
        cache: None,
        join_load_factor: JOIN_LOAD_FACTOR,
    };
    QueryContext::new(BufferManager::new(BufferConfig::new(96 << 20)).unwrap(), settings, CancelToken::default())
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]))
}

/// The stream of the numbers below `rows`, and the worker that passes them to the sink until they end or no more are
/// wanted.
fn start(query: &Arc<QueryContext>, rows: usize) -> (ResultStream, JoinHandle<()>) {
    let (sink, stream) = ResultCollector::new(schema(), query, "Result");
    let query = query.clone();
    let feed = move || {
        let mut worker = sink.clone().worker(&query).unwrap();
        for start in (0..rows).step_by(CHUNK_ROWS) {
            let end = rows.min(start + CHUNK_ROWS);
            let values: Vec<i64> = (start as i64..end as i64).collect();
            match worker.sink(Chunk::new(vec![Vector::from_values(values, None)], end - start)).unwrap() {
                SinkVerdict::NeedInput => {}
                SinkVerdict::Blocked(signal) => {
                    let (wake, woken) = channel();
                    signal.subscribe(move || wake.send(()).unwrap());
                    woken.recv().unwrap();
                }
                SinkVerdict::Done => break,
            }
        }
        worker.combine().unwrap();
        sink.finalize(&query).unwrap();
    };
    (stream, spawn(feed))
}

#[test]
fn a_slow_reader_gets_all_rows_in_order_from_a_bounded_queue() {
    let query = query();
    let rows = 4_000_000;
    let (stream, worker) = start(&query, rows);
    let deadline = Instant::now() + Duration::from_secs(30);
    while query.memory.used_bytes() < QUEUE_BYTES_MAX as u64 {
        assert!(Instant::now() < deadline, "the queue fills while nobody reads");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut next = 0;
    for batch in stream {
        let batch = batch.unwrap();
        for &value in batch.column(0).as_primitive::<Int64Type>().values() {
            assert_eq!(value, next);
            next += 1;
        }
    }
    worker.join().unwrap();
    assert_eq!(next as usize, rows);
    assert_eq!(query.memory.used_bytes(), 0);
    assert!(query.memory.statistics().peak_bytes < QUEUE_BYTES_MAX as u64 + 100_000);
}

#[test]
fn heavy_texts_are_copied_one_batch_at_a_time() {
    const ROWS: usize = 40;
    let query = query();
    let schema = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8View, true)]));
    let (sink, stream) = ResultCollector::new(schema, &query, "Result");
    let text = |row: usize| row.to_string().repeat(700_000);
    let texts = StrColumn::from_strings((0..ROWS).map(text));
    let mut worker = sink.clone().worker(&query).unwrap();
    let verdict = worker.sink(Chunk::new(vec![Vector::flat(Flat::Str(texts), None)], ROWS)).unwrap();
    assert!(matches!(verdict, SinkVerdict::Blocked(_)), "more than the queue holds");
    worker.combine().unwrap();
    sink.finalize(&query).unwrap();
    let mut rows = 0;
    for batch in stream {
        for value in batch.unwrap().column(0).as_string_view() {
            assert_eq!(value.unwrap(), text(rows));
            rows += 1;
        }
    }
    assert_eq!(rows, ROWS);
    assert!(query.memory.statistics().peak_bytes < 2 << 20, "{}", query.memory.statistics().peak_bytes);
    assert_eq!(query.memory.used_bytes(), 0);
}

#[test]
fn dropping_the_stream_cancels_the_query() {
    let query = query();
    let (mut stream, worker) = start(&query, 4_000_000);
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    worker.join().unwrap();
    assert!(query.cancel.is_cancelled());
    assert_eq!(query.memory.used_bytes(), 0);
}

#[test]
fn a_failed_query_ends_the_stream_with_its_error() {
    let query = query();
    let (sink, mut stream) = ResultCollector::new(schema(), &query, "Result");
    sink.fail(Error::user("division by zero"));
    sink.fail(Error::cancelled());
    assert_eq!(stream.next().unwrap().unwrap_err().kind(), ErrorKind::User);
    assert!(stream.next().is_none());
    drop(stream);
    assert!(!query.cancel.is_cancelled(), "a finished query isn't cancelled");
}

#[test]
fn who_polls_is_woken_by_a_batch_by_the_end_and_by_an_error() {
    let (query, wakes) = (query(), Arc::new(Wakes::default()));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let (sink, mut stream) = ResultCollector::new(schema(), &query, "Result");
    assert!(stream.poll_next(&mut context).is_pending());
    assert!(stream.poll_next(&mut context).is_pending());
    let mut worker = sink.clone().worker(&query).unwrap();
    for number in 0..2_i64 {
        let chunk = Chunk::new(vec![Vector::from_values(vec![number], None)], 1);
        assert!(matches!(worker.sink(chunk).unwrap(), SinkVerdict::NeedInput));
    }
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "nobody waited for the second batch");
    for number in 0..2_i64 {
        let Poll::Ready(Some(Ok(batch))) = stream.poll_next(&mut context) else { panic!("a batch is there") };
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[number]);
    }
    assert!(stream.poll_next(&mut context).is_pending());
    worker.combine().unwrap();
    sink.finalize(&query).unwrap();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 2);
    assert!(matches!(stream.poll_next(&mut context), Poll::Ready(None)));

    let (sink, mut stream) = ResultCollector::new(schema(), &query, "Result");
    assert!(stream.poll_next(&mut context).is_pending());
    sink.fail(Error::user("division by zero"));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 3);
    assert!(matches!(stream.poll_next(&mut context), Poll::Ready(Some(Err(_)))));
    assert!(matches!(stream.poll_next(&mut context), Poll::Ready(None)));
}

#[test]
fn polling_takes_all_rows_through_the_bounded_queue() {
    let (query, wakes) = (query(), Arc::new(Wakes::default()));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let (mut stream, worker) = start(&query, 4_000_000);
    let mut rows = 0;
    loop {
        let woken = wakes.0.load(Ordering::SeqCst);
        match stream.poll_next(&mut context) {
            Poll::Ready(Some(batch)) => rows += batch.unwrap().num_rows(),
            Poll::Ready(None) => break,
            Poll::Pending => {
                while wakes.0.load(Ordering::SeqCst) == woken {
                    std::thread::yield_now();
                }
            }
        }
    }
    worker.join().unwrap();
    assert_eq!(rows, 4_000_000);
}
