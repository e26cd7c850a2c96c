//! The sinks: for rows by hash of their partition keys, and for rows that are already sorted.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::PAGE_BYTES;
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_rows::{PartitionedRows, RowCollection};
use godwit_vector::Chunk;
use godwit_vector::kernels::hash::hash_vectors;

use super::Window;
use super::sort_rows::PagedBuilder;

/// Takes rows in any order, and divides them by partition keys.
pub(super) struct HashSink(pub(super) Arc<Window>);

impl Operator for HashSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        // At least two partitions.
        4 * (PAGE_BYTES * workers) as u64
    }
}

impl Sink for HashSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let window = self.0.clone();
        let rows = PartitionedRows::new(&window.memory, &window.plan.layout, window.radix_bits);
        Ok(Box::new(HashWorker { window, rows, hashes: Vec::new() }))
    }
}

struct HashWorker {
    window: Arc<Window>,
    rows: PartitionedRows,
    hashes: Vec<u64>,
}

impl SinkWorker for HashWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let plan = &self.window.plan;
        plan.columns.evaluate_each(&chunk, &mut |computed| {
            let columns = computed.dense_columns();
            hash_vectors(&columns[..plan.partition_keys], computed.len(), &mut self.hashes);
            self.rows.append(&columns, None, &self.hashes, None)
        })?;
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(mut self: Box<Self>) -> Result<()> {
        self.rows.close();
        match &mut *self.window.hashed.lock() {
            Some(others) => others.combine(self.rows),
            none => *none = Some(self.rows),
        }
        Ok(())
    }
}

/// Takes the rows of one partition: from one worker in order, or from many if there is no order.
pub(super) struct OnePartitionSink(pub(super) Arc<Window>);

impl Operator for OnePartitionSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn pinned_bytes(&self, _workers: usize) -> u64 {
        4 * PAGE_BYTES as u64
    }
}

impl Sink for OnePartitionSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let window = self.0.clone();
        if window.plan.keys.is_empty() {
            let rows = RowCollection::new(&window.memory, &window.plan.layout, None);
            return Ok(Box::new(UnorderedWorker { window, rows }));
        }
        let rows = PagedBuilder::new(&window.plan, &window.memory)?;
        Ok(Box::new(OrderedWorker { window, rows, is_empty: true }))
    }
}

struct OrderedWorker {
    window: Arc<Window>,
    rows: PagedBuilder,
    is_empty: bool,
}

impl SinkWorker for OrderedWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        self.is_empty = false;
        self.rows.append(&self.window.plan, &chunk.dense_columns(), None)?;
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        let Self { window, rows, is_empty } = *self;
        if !is_empty {
            let before = window.ordered.lock().replace(rows.finish());
            assert!(before.is_none(), "sorted rows come from one worker");
        }
        Ok(())
    }
}

/// Without any key, all rows are peers.
struct UnorderedWorker {
    window: Arc<Window>,
    rows: RowCollection,
}

impl SinkWorker for UnorderedWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        self.window.plan.columns.evaluate_each(&chunk, &mut |computed| {
            let columns = computed.dense_columns();
            match columns.is_empty() {
                // Rows without columns are given by position.
                true => self.rows.append(&columns, Some(&(0..computed.len() as u32).collect::<Vec<_>>()), None, None),
                false => self.rows.append(&columns, None, None, None),
            }
        })?;
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(mut self: Box<Self>) -> Result<()> {
        self.rows.close();
        match &mut *self.window.unordered.lock() {
            Some(others) => others.absorb(self.rows),
            none => *none = Some(self.rows),
        }
        Ok(())
    }
}
