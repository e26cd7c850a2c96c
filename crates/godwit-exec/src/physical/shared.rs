//! Shared plans: their rows are computed once, kept in pages, and read by each use.
//!
//! What is worth sharing was decided before: a [`godwit_plan::Use`] that is there is one that is kept.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_common::Result;
use godwit_expression::Expression;
use godwit_plan::{ColumnId, ColumnSet, NodeId, SharedId, Use};
use godwit_vector::RowType;

use super::stored::CompressedColumns;
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner};
use crate::explain::ExplainNode;
use crate::shared_rows::SharedRows;

/// The rows of a shared plan.
#[derive(Clone)]
pub(super) struct SharedResult {
    rows: Arc<SharedRows>,
    /// The pipelines that compute them.
    pipelines: Vec<usize>,
    /// The columns that are kept.
    columns: Vec<ColumnId>,
    /// Their types, as they are kept.
    stored: RowType,
    compressed: CompressedColumns,
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_use(&mut self, shared: &Use, needs: &Needs) -> Result<Stream> {
        let below = match self.shared.contains_key(&shared.shared) {
            true => None,
            false => Some(self.compute_shared(shared.shared)?),
        };
        let result = self.shared[&shared.shared].clone();
        let wanted = shared.columns.iter().filter(|(fresh, _)| needs.columns.contains(*fresh));
        let (fresh, inner): (Vec<ColumnId>, Vec<ColumnId>) = wanted.copied().unzip();
        self.read_shared(&result, &fresh, &inner, below)
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

    fn compute_shared(&mut self, shared: SharedId) -> Result<ExplainNode> {
        let root = self.plan.shared(shared).root;
        let columns: ColumnSet = self.plan.output_set(root);
        let mut stream = self.plan_node(root, Needs::columns(columns.clone()))?;
        let compressed = self.compress_kept_rows(root, &mut stream, &columns)?;
        if stream.columns.is_empty() {
            // Rows have a column at least.
            let constant = Expression::literal(&ScalarValue::Boolean(Some(true)))?;
            self.compress_stream(&mut stream, &Vec::new(), vec![constant]);
        }
        let physical: Vec<_> = stream.row_type.iter().map(|column| column.physical).collect();
        let name = format!("SharedRows {}", self.shared.len() + 1);
        let rows = SharedRows::new(&physical, self.query, name)?;
        let (columns, stored) = (stream.columns.clone(), stream.row_type.clone());
        let (pipelines, below) = self.close(stream, rows.sink());
        self.shared.insert(shared, SharedResult { rows, pipelines, columns, stored, compressed });
        Ok(below)
    }

    /// Makes the columns `columns` of a node's rows what is kept of them.
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
