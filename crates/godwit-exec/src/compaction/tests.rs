//! Compactors in pipelines of several workers.

use std::sync::Arc;
use std::time::Duration;

use godwit_common::Named;
use godwit_expression::{Expression, Predicate};
use godwit_pipeline::{FlowCounts, Operator, OperatorMetrics, Source, Transform};
use godwit_vector::{Chunk, PhysicalType, Vector};

use super::compactor::Compactor;
use super::model::Traffic;
use super::{Compaction, insert_compactors};
use crate::operators::{FilterTransform, LimitTransform, ProjectTransform};
use crate::testing::{
    Chunks, Collected, ForEachChunk, Random, World, column_type, pipeline, random_vector, rows_of, run, work_for,
};

const CHUNK_ROWS: usize = 256;

fn world(workers: usize) -> World {
    World { memory_limit: 96 << 20, force_spill: false, chunk_rows: CHUNK_ROWS, workers }
}

/// Chunks of all sizes; most are small.
fn chunks(random: &mut Random, count: usize) -> Vec<Chunk> {
    let types = [PhysicalType::I64, PhysicalType::Str, PhysicalType::F32].map(|physical| column_type(physical, true));
    (0..count)
        .map(|_| {
            let rows_max = if random.below(8) == 0 { CHUNK_ROWS as u64 } else { 24 };
            let rows = 1 + random.below(rows_max) as usize;
            let vectors = types.iter().map(|ty| random_vector(random, ty, CHUNK_ROWS, 50)).collect();
            let mut chunk = Chunk::new(vectors, CHUNK_ROWS);
            let selected: Vec<u32> = (0..rows).map(|_| random.below(CHUNK_ROWS as u64) as u32).collect();
            chunk.select(&selected);
            chunk
        })
        .collect()
}

fn copying() -> impl Iterator<Item = Compaction> {
    Compaction::NAMES.iter().map(|&(_, compaction)| compaction).filter(|compaction| compaction.copies())
}

/// Time that an operator takes for a chunk, however small: several times the cost of copying its rows.
const WORK: Duration = Duration::from_micros(20);

#[test]
fn compacted_chunks_hold_the_same_rows_in_fewer_chunks() {
    // Enough that some worker's learner begins to try thresholds.
    let chunks = chunks(&mut Random(7), 8000);
    let rows: Vec<_> = chunks.iter().flat_map(rows_of).collect();
    for compaction in copying() {
        for (workers, keeps_order) in [(1, true), (1, false), (3, false)] {
            let mut expected = rows.clone();
            let count = chunks.len() as u64;
            let query = world(workers).profiled_query();
            let collected = Collected::new(&query);
            let shown_at = OperatorMetrics::new("before");
            // Enough operators follow that compaction pays off on any machine.
            let traffic = Arc::new(Traffic::new(vec![16]));
            let compactor = Compactor::new(compaction, traffic, 0, keeps_order, shown_at.clone());
            // What follows costs something: otherwise a learner rightly finds that not compacting is fastest.
            let transforms: Vec<Arc<dyn Transform>> = vec![compactor.clone(), ForEachChunk::new(|| work_for(WORK))];
            run(&query, vec![pipeline(Chunks::new(chunks.clone()), transforms, collected.clone(), &[])]).unwrap();
            let mut found = collected.rows();
            if !keeps_order {
                expected.sort();
                found.sort();
            }
            assert!(found == expected, "{compaction:?}");
            let (input, output) = (compactor.metrics().input(), compactor.metrics().output());
            assert!(output.chunks < count / 2, "{compaction:?}");
            let shown = shown_at.compaction().unwrap();
            assert_eq!(shown.arrived, FlowCounts { rows: rows.len() as u64, chunks: count });
            assert_eq!((shown.arrived, shown.left), (input, output));
            assert!((1..=input.rows).contains(&shown.rows_copied), "{shown:?}");
            let learns = matches!(compaction, Compaction::Learning | Compaction::Smart);
            assert_eq!(!shown.tried.is_empty(), learns, "{shown:?}");
        }
    }
}

#[test]
fn compactors_follow_what_reduces_but_not_before_sinks_and_limits() {
    let filter = || -> Arc<dyn Transform> {
        let column = Expression::column(0, column_type(PhysicalType::Bool, false));
        FilterTransform::new(Predicate::new(vec![column]), "Filter")
    };
    let limit = || -> Arc<dyn Transform> { LimitTransform::new(0, Some(3), "Limit") };
    let project = || -> Arc<dyn Transform> { ProjectTransform::new(Vec::new(), "Project") };
    let chunk = Chunk::new(vec![Vector::from_bools(vec![1], None)], 1);
    let source: Arc<dyn Source> = Chunks::new(vec![chunk]);
    let names = |transforms: Vec<Arc<dyn Transform>>, compaction| -> Vec<String> {
        let compacted = insert_compactors(&source, transforms, compaction);
        compacted.iter().map(|transform| transform.metrics().name().to_owned()).collect()
    };
    assert_eq!(names(vec![filter(), project()], Compaction::Smart), ["Filter", "Compactor", "Project"]);
    assert_eq!(names(vec![project(), filter()], Compaction::Smart), ["Project", "Filter"]);
    assert_eq!(
        names(vec![filter(), limit(), filter(), project()], Compaction::Binary),
        ["Filter", "Limit", "Filter", "Compactor", "Project"]
    );
    for compaction in [Compaction::None, Compaction::Logical] {
        assert_eq!(names(vec![filter(), project()], compaction), ["Filter", "Project"]);
    }
}
