//! Shared plans: their rows are computed once, kept in pages, and read by each use. The same is done for rows that are
//! the same in all rounds of a recursion.
//!
//! The decision what to share has been made earlier: the rows of every remaining [`godwit_plan::Use`] are kept.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_plan::{ColumnId, ColumnSet, NodeId, SharedId, Use};
use godwit_vector::RowType;

use super::stored::CompressedColumns;
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner};
use crate::explain::ExplainNode;
use crate::shared_rows::SharedRows;

/// A subplan that is computed once although it is read several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kept {
    /// A shared plan.
    Shared(SharedId),
    /// A part of a recursion's step.
    Node(NodeId),
}

/// Rows that are kept, with their pipelines.
#[derive(Clone)]
pub(super) struct SharedResult {
    rows: Arc<SharedRows>,
    /// The pipelines that compute them.
    pipelines: Vec<usize>,
    /// The columns that are kept.
    columns: Vec<ColumnId>,
    /// The types in which they are kept.
    stored: RowType,
    compressed: CompressedColumns,
}

impl SharedResult {
    /// The same rows, read by other pipelines after those that compute them have ended.
    pub(super) fn complete(self) -> Self {
        Self { pipelines: Vec::new(), ..self }
    }
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_use(&mut self, shared: &Use, needs: &Needs) -> Result<Stream> {
        let (result, below) = self.kept(Kept::Shared(shared.shared))?;
        let wanted = shared.columns.iter().filter(|(fresh, _)| needs.columns.contains(*fresh));
        let (fresh, inner): (Vec<ColumnId>, Vec<ColumnId>) = wanted.copied().unzip();
        self.read_shared(&result, &fresh, &inner, below)
    }

    /// The rows of a node that is the same in all rounds of a recursion.
    pub(super) fn plan_kept(&mut self, id: NodeId, needs: &Needs) -> Result<Stream> {
        let (result, below) = self.kept(Kept::Node(id))?;
        let columns: Vec<ColumnId> =
            result.columns.iter().copied().filter(|&column| needs.columns.contains(column)).collect();
        self.read_shared(&result, &columns, &columns, below)
    }

    /// The rows of a subplan that is computed once and, if it hadn't been planned yet, the operators that compute them.
    fn kept(&mut self, kept: Kept) -> Result<(SharedResult, Option<ExplainNode>)> {
        let below = match self.shared.contains_key(&kept) {
            true => None,
            false => Some(self.compute_kept(kept)?),
        };
        Ok((self.shared[&kept].clone(), below))
    }

    /// Reads the columns `inner` of rows that are kept, under the ids `fresh`.
    fn read_shared(
        &self,
        result: &SharedResult,
        fresh: &[ColumnId],
        inner: &[ColumnId],
        below: Option<ExplainNode>,
    ) -> Result<Stream> {
        let position = |column: &ColumnId| result.columns.iter().position(|known| known == column);
        let positions: Vec<usize> =
            inner.iter().map(|column| position(column).expect("all columns are kept")).collect();
        let source = result.rows.reader(positions.clone());
        let mut explain = ExplainNode::leaf(source.metrics().clone());
        explain.children.extend(below);
        let row_type = positions.iter().map(|&at| result.stored[at].clone()).collect();
        let branch = Branch::new(source, result.pipelines.iter().copied());
        let mut stream = Stream::new(fresh.to_vec(), row_type, branch, explain);
        let compressed = positions.iter().map(|&at| result.compressed[at].clone()).collect();
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }

    fn compute_kept(&mut self, kept: Kept) -> Result<ExplainNode> {
        let root = match kept {
            Kept::Shared(shared) => self.plan.shared(shared).root,
            Kept::Node(id) => id,
        };
        let columns: ColumnSet = self.plan.output_set(root);
        let mut stream = self.plan_anew(root, Needs::columns(columns.clone()))?;
        let compressed = self.compress_kept_rows(root, &mut stream, &columns)?;
        if stream.columns.is_empty() {
            // Rows have at least one column.
            let constant = Expression::boolean(true);
            self.compress_stream(&mut stream, &Vec::new(), vec![constant]);
        }
        let physical: Vec<_> = stream.row_type.iter().map(|column| column.physical).collect();
        let name = format!("SharedRows {}", self.shared.len() + 1);
        let rows = match self.rounds.is_empty() {
            true => SharedRows::new(&physical, self.query, name)?,
            // Later rounds may read them.
            false => SharedRows::kept(&physical, self.query, name)?,
        };
        let (columns, stored) = (stream.columns.clone(), stream.row_type.clone());
        let (pipelines, below) = self.close(stream, rows.clone());
        self.shared.insert(kept, SharedResult { rows, pipelines, columns, stored, compressed });
        Ok(below)
    }

    /// Converts the columns `columns` of a node's rows to the form in which they are kept.
    fn compress_kept_rows(
        &mut self,
        node: NodeId,
        stream: &mut Stream,
        columns: &ColumnSet,
    ) -> Result<CompressedColumns> {
        let kept = stream.positions(columns);
        let expressions = kept.iter().map(|&at| stream.column(at)).collect();
        stream.project(kept.iter().map(|&at| stream.columns[at]).collect(), expressions);
        let bytes = self.bytes_of(node, columns, f64::INFINITY);
        let compressed = self.compressions_of(node, stream, self.is_worth_compressing(bytes))?;
        if compressed.iter().any(Option::is_some) {
            self.compress_stream(stream, &compressed, Vec::new());
        }
        Ok(compressed)
    }
}
