//! Streams of results: order, errors, back-pressure, and what happens when nobody reads.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{Field, Schema};
use godwit_common::ErrorKind;
use godwit_vector::Vector;

use super::*;
use crate::WorkerPool;
use crate::operators::ValuesSource;
use crate::testing::{World, pipeline};

fn query() -> Arc<QueryContext> {
    World { memory_limit: 96 << 20, force_spill: false, chunk_rows: 2048, workers: 2 }.query()
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]))
}

/// Starts a query that gives the numbers below `rows`.
fn start(query: &Arc<QueryContext>, pool: &WorkerPool, rows: usize) -> ResultStream {
    let (sink, stream) = ResultCollector::new(schema(), query, "Result");
    let values: Vec<i64> = (0..rows as i64).collect();
    let source = ValuesSource::new(vec![Chunk::new(vec![Vector::from_values(values, None)], rows)], query, "Values");
    let collector = sink.clone();
    pool.run(query.clone(), vec![pipeline(source, vec![], sink, &[])], move |result| {
        if let Err(error) = result {
            collector.fail(error);
        }
    });
    stream
}

#[test]
fn a_slow_reader_gets_all_rows_in_order_from_a_bounded_queue() {
    let (query, pool) = (query(), WorkerPool::new(2).unwrap());
    let rows = 4_000_000;
    let stream = start(&query, &pool, rows);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(query.memory.used_bytes() >= QUEUE_BYTES_MAX as u64, "the queue filled while nobody read");
    let mut next = 0;
    for batch in stream {
        let batch = batch.unwrap();
        for &value in batch.column(0).as_primitive::<Int64Type>().values() {
            assert_eq!(value, next);
            next += 1;
        }
    }
    assert_eq!(next as usize, rows);
    assert_eq!(query.memory.used_bytes(), 0);
    assert!(query.memory.statistics().peak_bytes < QUEUE_BYTES_MAX as u64 + 100_000);
}

#[test]
fn dropping_the_stream_cancels_the_query() {
    let (query, pool) = (query(), WorkerPool::new(2).unwrap());
    let mut stream = start(&query, &pool, 4_000_000);
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    assert!(query.cancel.is_cancelled());
    while Arc::strong_count(&query) > 1 {
        std::thread::yield_now();
    }
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
