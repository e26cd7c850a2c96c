//! What the scheduler promises to sinks.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use godwit_vector::{Chunk, Vector};

use super::*;
use crate::metrics::OperatorMetrics;
use crate::operators::ValuesSource;
use crate::pipeline::{Sink, SinkVerdict, SinkWorker};
use crate::testing::{World, pipeline, run};

/// So long the tasks wait for each other, so that they end at the same time.
const MEETING: Duration = Duration::from_millis(100);

/// Counts how often it is finalized; its tasks end together, if they can.
struct Meeting {
    arrived: Arc<AtomicUsize>,
    expected: usize,
    finalized: AtomicUsize,
    metrics: Arc<OperatorMetrics>,
}

impl Sink for Meeting {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(MeetingWorker { arrived: self.arrived.clone(), expected: self.expected }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        self.finalized.fetch_add(1, SeqCst);
        Ok(())
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct MeetingWorker {
    arrived: Arc<AtomicUsize>,
    expected: usize,
}

impl SinkWorker for MeetingWorker {
    fn sink(&mut self, _chunk: Chunk) -> Result<SinkVerdict> {
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.arrived.fetch_add(1, SeqCst);
        let begun = Instant::now();
        while self.arrived.load(SeqCst) < self.expected && begun.elapsed() < MEETING {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

#[test]
fn a_sink_of_several_pipelines_is_finalized_once_even_if_they_end_together() {
    let chunk = Chunk::new(vec![Vector::from_values(vec![1i64], None)], 1);
    for round in 0..200 {
        // With less memory the pipelines would run one after the other.
        let query = World { memory_limit: 1 << 30, force_spill: false, chunk_rows: 100, workers: 2 }.query();
        let sink = Arc::new(Meeting {
            arrived: Arc::default(),
            // A source of values has one task.
            expected: 2,
            finalized: AtomicUsize::new(0),
            metrics: OperatorMetrics::new("Meeting"),
        });
        let source = || ValuesSource::new(vec![chunk.clone()], &query, "Values");
        run(&query, vec![pipeline(source(), vec![], sink.clone(), &[]), pipeline(source(), vec![], sink.clone(), &[])])
            .unwrap();
        assert_eq!(sink.finalized.load(SeqCst), 1, "round {round}");
    }
}
