//! Joins without an equality, and cross products: every probe row is compared with every build row.
//!
//! ```text
//! build child ─▶ build_sink: rows in spillable pages ─▶ finalize: few rows are turned back into columns once
//! probe chunk ─▶ probe: for each block of build rows, for each row of the smaller of (chunk, block):
//!                       that row as constants beside the larger one's columns ─▶ predicate ─▶ pairs of matches
//! rest: build rows by whether they were matched (right, full, semi and anti of the build side)
//! ```
//!
//! Memory is bounded by a block whatever the size of the build side. Neither side's columns are copied: pairs select
//! from both. The usual case is a build side of a single row (a scalar subquery): its values are constants beside the
//! probe columns.

mod build;
mod probe;
mod rest;

use std::sync::{Arc, OnceLock};

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_expression::Predicate;
use godwit_memory::BufferManager;
use godwit_pipeline::{OperatorMetrics, QueryContext, Sink, Source, Transform};
use godwit_rows::{RowCollection, RowLayout, RowLayoutOptions};
use godwit_vector::{ColumnType, PhysicalType, RowType};
use parking_lot::Mutex;

use self::build::{Build, BuildSink};
use self::probe::ProbeTransform;
use self::rest::RestSource;
use crate::hash_join::JoinKind;

/// What to join and what to emit.
pub struct NestedLoopJoinSpec {
    /// Which rows are emitted.
    pub kind: JoinKind,
    /// Types of the probe side's columns.
    pub probe_type: RowType,
    /// Types of the build side's columns.
    pub build_type: RowType,
    /// The condition for a match, over the probe columns followed by the build columns; `None`: every pair matches.
    pub predicate: Option<Predicate>,
    /// Probe columns to emit, in this order.
    pub probe_output: Vec<usize>,
    /// Build columns to emit after them, in this order.
    pub build_output: Vec<usize>,
}

/// A nested-loop join in one query. Pipelines, in this order: into [`NestedLoopJoin::build_sink`]; through
/// [`NestedLoopJoin::probe`]; from [`NestedLoopJoin::rest`], if there is one, to where the probe's output goes.
///
/// A mark is TRUE or FALSE, never NULL.
pub struct NestedLoopJoin {
    shared: Arc<Shared>,
    output: RowType,
}

/// The state shared by the sink, transform and source of a join.
struct Shared {
    kind: JoinKind,
    /// Over the columns `compared`, followed by those of a build block.
    predicate: Predicate,
    /// Probe columns that the predicate reads.
    compared: Vec<usize>,
    /// Build columns that are kept: those that the predicate reads or that are emitted.
    kept: Vec<usize>,
    probe_output: Vec<usize>,
    probe_output_types: Vec<PhysicalType>,
    /// Positions among `kept`.
    build_output: Vec<usize>,
    build_output_types: Vec<PhysicalType>,
    layout: Arc<RowLayout>,
    chunk_rows: usize,
    memory: BufferManager,
    /// Rows of the workers that have combined.
    collected: Mutex<RowCollection>,
    /// Set when the build sink is finalized.
    build: OnceLock<Build>,
    /// Counters of the build side, the probe, and the rest.
    metrics: [Arc<OperatorMetrics>; 3],
}

impl NestedLoopJoin {
    /// A join that `EXPLAIN` shows as `name`.
    pub fn new(spec: NestedLoopJoinSpec, query: &Arc<QueryContext>, name: impl Into<String>) -> Result<Arc<Self>> {
        let name = name.into();
        let output = output_type(&spec);
        let probe_width = spec.probe_type.len();
        let predicate = spec.predicate.unwrap_or_else(|| Predicate::new(Vec::new()));
        let used = predicate.columns_used();
        let compared: Vec<usize> = used.iter().copied().filter(|&column| column < probe_width).collect();
        let mut kept: Vec<usize> = used.iter().filter_map(|&column| column.checked_sub(probe_width)).collect();
        kept.extend(&spec.build_output);
        kept.sort_unstable();
        kept.dedup();
        let position = |list: &[usize], column: usize| list.binary_search(&column).expect("the column is listed");
        let predicate = predicate.remap_columns(&|column| match column.checked_sub(probe_width) {
            None => position(&compared, column),
            Some(column) => compared.len() + position(&kept, column),
        });
        let types = |row: &RowType, columns: &[usize]| -> Vec<PhysicalType> {
            columns.iter().map(|&column| row[column].physical).collect()
        };
        let layout = RowLayout::new(&types(&spec.build_type, &kept), RowLayoutOptions::default())?;
        let metrics = ["build", "", "rest"].map(|role| OperatorMetrics::new(format!("{name} {role}").trim_end()));
        let memory = query.memory.scoped(metrics[0].memory().clone());
        let shared = Shared {
            kind: spec.kind,
            build_output: spec.build_output.iter().map(|&column| position(&kept, column)).collect(),
            probe_output_types: types(&spec.probe_type, &spec.probe_output),
            build_output_types: types(&spec.build_type, &spec.build_output),
            probe_output: spec.probe_output,
            predicate,
            compared,
            kept,
            chunk_rows: query.settings.chunk_rows,
            collected: Mutex::new(RowCollection::new(&memory, &layout, None)),
            build: OnceLock::new(),
            layout,
            memory,
            metrics,
        };
        Ok(Arc::new(Self { shared: Arc::new(shared), output }))
    }

    /// Types of the output columns: the probe side's, the build side's, and the mark of a mark join.
    pub fn output_type(&self) -> RowType {
        self.output.clone()
    }

    /// Takes the build side's rows.
    pub fn build_sink(&self) -> Arc<dyn Sink> {
        Arc::new(BuildSink(self.shared.clone()))
    }

    /// Joins the probe side's rows.
    pub fn probe(&self) -> Arc<dyn Transform> {
        Arc::new(ProbeTransform(self.shared.clone()))
    }

    /// Emits build rows after all probe rows have been joined, if this kind of join does so.
    pub fn rest(&self) -> Option<Arc<dyn Source>> {
        if !self.shared.marks_build() {
            return None;
        }
        Some(Arc::new(RestSource(self.shared.clone())))
    }
}

/// Types of the columns that a nested-loop join emits.
fn output_type(spec: &NestedLoopJoinSpec) -> RowType {
    let side = |row: &RowType, columns: &[usize], nullable: bool| -> RowType {
        let column = |&index: &usize| ColumnType { nullable: row[index].nullable || nullable, ..row[index].clone() };
        columns.iter().map(column).collect()
    };
    let null_probe = matches!(spec.kind, JoinKind::Right | JoinKind::Full);
    let null_build = matches!(spec.kind, JoinKind::Left | JoinKind::Full | JoinKind::Single);
    let mut output = side(&spec.probe_type, &spec.probe_output, null_probe);
    output.extend(side(&spec.build_type, &spec.build_output, null_build));
    if spec.kind == JoinKind::Mark {
        output.push(ColumnType {
            logical: DataType::Boolean,
            physical: PhysicalType::Bool,
            nullable: false,
            range: None,
        });
    }
    output
}

impl Shared {
    /// Whether every match is emitted as a row of both sides.
    fn emits_pairs(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Inner | Left | Right | Full | Single)
    }

    /// Whether it matters which probe rows have a match.
    fn marks_probe(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Left | Full | Single | ProbeSemi | ProbeAnti | Mark)
    }

    /// Whether it matters which build rows have a match.
    fn marks_build(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Right | Full | BuildSemi | BuildAnti)
    }

    fn build(&self) -> &Build {
        self.build.get().expect("the build side is complete before the probe begins")
    }
}

#[cfg(test)]
mod tests;
