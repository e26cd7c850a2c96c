//! The probe: rows of resident partitions are joined at once, the others are spilled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_common::Result;
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_rows::{PartitionedColumns, radix};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Bitmap, Chunk, Vector};

use super::HashJoin;
use super::build::common_validity;
use super::config::RADIX_BITS;
use super::prober::{Pass, Prober};
use super::residency::Residency;

pub(super) struct Probe(pub Arc<HashJoin>);

impl Operator for Probe {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        self.0.ready().residencies.current().table.cache_use_of_probe(&self.0)
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.0.pinned_bytes(workers)
    }
}

impl Transform for Probe {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let join = self.0.clone();
        let residency = join.ready().residencies.current();
        Ok(Box::new(ProbeWorker {
            prober: Prober::new(&join)?,
            is_done: join.has_nothing_to_find(),
            spill: None,
            hashes: Vec::new(),
            residency,
            join,
        }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct ProbeWorker {
    join: Arc<HashJoin>,
    residency: Arc<Residency>,
    prober: Prober,
    /// No row can have a match, and nothing else would be emitted.
    is_done: bool,
    spill: Option<PartitionedColumns>,
    hashes: Vec<u64>,
}

impl TransformWorker for ProbeWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        if self.is_done {
            return Ok(TransformVerdict::Done);
        }
        let keys = self.prober.keys(&chunk)?;
        if self.join.plan.null_aware {
            self.join.probe_has_rows.store(true, Ordering::Relaxed);
            self.join.probe_has_null.fetch_or(keys[0].has_nulls(), Ordering::Relaxed);
        }
        self.join.ready().residencies.refresh(&self.join, &mut self.residency)?;
        if self.residency.partitions.is_none() {
            self.prober.begin(&self.residency.table, chunk, &keys, None, Pass::Whole);
        } else {
            self.route(chunk, keys)?;
        }
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        Ok(match self.prober.next()? {
            Some(chunk) if self.prober.is_idle() => TransformVerdict::LastChunk(chunk),
            Some(chunk) => TransformVerdict::Chunk(chunk),
            None => TransformVerdict::NeedInput,
        })
    }

    fn finish(&mut self) -> Result<TransformVerdict> {
        let Some(mut spill) = self.spill.take() else { return Ok(TransformVerdict::NeedInput) };
        spill.close();
        let mut shared = self.join.spilled_probe.lock();
        match &mut *shared {
            Some(shared) => shared.combine(spill),
            None => *shared = Some(spill),
        }
        Ok(TransformVerdict::NeedInput)
    }
}

impl ProbeWorker {
    /// Joins the rows of resident partitions, and those that can't have a match, and spills the others.
    fn route(&mut self, mut chunk: Chunk, keys: Vec<Vector>) -> Result<()> {
        let join = self.join.clone();
        let plan = &join.plan;
        let resident = self.residency.partitions.as_ref().expect("rows are routed if not all partitions are resident");
        hash_vectors(&keys, chunk.len(), &mut self.hashes);
        let validity: Option<Bitmap> = if plan.nulls_equal { None } else { common_validity(&keys) };
        let is_near = |&row: &u32| {
            let row = row as usize;
            resident[radix::partition_of(self.hashes[row], RADIX_BITS)]
                || validity.as_ref().is_some_and(|validity| !validity.get(row))
        };
        let (near, far): (Vec<u32>, Vec<u32>) = (0..chunk.len() as u32).partition(is_near);
        if !far.is_empty() {
            let layout = plan.spill_layout.clone()?;
            let columns: Vec<Vector> = plan.spill_columns.iter().map(|&column| chunk.dense(column)).collect();
            let memory = &join.memory;
            let spill = self.spill.get_or_insert_with(|| PartitionedColumns::new(memory, &layout, RADIX_BITS));
            spill.append(&columns, &far, &self.hashes)?;
        }
        if !near.is_empty() {
            let hashes: Vec<u64> = near.iter().map(|&row| self.hashes[row as usize]).collect();
            let keys: Vec<Vector> = keys.iter().map(|key| key.take(&near)).collect();
            chunk.select(&near);
            self.prober.begin(&self.residency.table, chunk, &keys, Some(&hashes), Pass::Whole);
        }
        Ok(())
    }
}

impl HashJoin {
    /// No build row can have a match, nothing is emitted without one, and probe rows aren't counted.
    fn has_nothing_to_find(&self) -> bool {
        if !self.plan.is_empty_without_build_rows() || self.plan.null_aware {
            return false;
        }
        let ready = self.ready();
        if self.existence.is_some() {
            return ready.ranges[0].is_none();
        }
        let current = ready.residencies.current();
        current.partitions.is_none() && current.table.morsels() == 0
    }
}
