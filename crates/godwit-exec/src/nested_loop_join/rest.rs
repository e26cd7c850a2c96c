//! Emits build rows depending on whether they have had a match.

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, Source, SourceVerdict, SourceWorker};

use super::Shared;
use super::build::{BlockScan, BuildBlock};
use super::probe::null_chunk;
use crate::hash_join::JoinKind;

/// Scans the build side once more.
pub(super) struct RestSource(pub(super) Arc<Shared>);

impl Operator for RestSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics[2]
    }
}

impl Source for RestSource {
    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let blocks = self.0.build().scan();
        Ok(Box::new(RestWorker { shared: self.0.clone(), blocks, current: None }))
    }
}

struct RestWorker {
    shared: Arc<Shared>,
    blocks: BlockScan,
    /// A block and those of its rows that have yet to be emitted.
    current: Option<(BuildBlock, Vec<u32>)>,
}

impl SourceWorker for RestWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let shared = &*self.shared;
        if let Some((block, rows)) = &mut self.current {
            let piece: Vec<u32> = rows.drain(..rows.len().min(shared.chunk_rows)).collect();
            let mut build = block.chunk.project(&shared.build_output);
            build.select(&piece);
            if rows.is_empty() {
                self.current = None;
            }
            return Ok(SourceVerdict::Chunk(null_chunk(&shared.probe_output_types, piece.len()).zip(build)));
        }
        let build = shared.build();
        let Some(block) = self.blocks.next(build)? else { return Ok(SourceVerdict::Done) };
        let wanted = shared.kind == JoinKind::BuildSemi;
        let rows: Vec<u32> = (0..block.chunk.len() as u32)
            .filter(|&row| build.is_marked(block.first_row + row as u64) == wanted)
            .collect();
        if !rows.is_empty() {
            self.current = Some((block, rows));
        }
        Ok(SourceVerdict::Worked)
    }
}
