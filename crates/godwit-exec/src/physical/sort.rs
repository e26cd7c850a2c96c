//! ORDER BY, and the first rows of an order.

use std::sync::{Arc, OnceLock};

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_pipeline::{KeyFilter, TopBound};
use godwit_plan::{ColumnId, NodeId, SortKey as PlanKey};
use godwit_vector::sql::arrow_type;
use godwit_vector::{PhysicalType, RowType};

use super::stored::{CompressedColumns, as_stored, codes_note};
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner, WantedFilter, columns_of};
use crate::explain::ExplainNode;
use crate::sort::{Sort, SortKey, SortSpec};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_sort(&mut self, input: NodeId, keys: &[PlanKey], needs: Needs) -> Result<Stream> {
        if keys.is_empty() {
            return self.plan_node(input, needs);
        }
        let limit = needs.rows_enough.and_then(|rows| usize::try_from(rows).ok());
        let columns = needs.columns.union(&columns_of(keys.iter().map(|key| &key.expr)));
        // With a LIMIT, dropping rows early would be wrong; a full sort isn't affected.
        let mut filters = if limit.is_none() { needs.filters } else { Vec::new() };
        // A sort that keeps many rows compresses them and its keys, which are then useless to the scan.
        let rows_max = limit.map_or(f64::INFINITY, |rows| rows as f64);
        let keeps_many = self.is_worth_compressing(self.bytes_of(input, &columns, rows_max));
        let bounded = if limit.is_some() && !keeps_many { self.top_bound(keys) } else { None };
        let bound = bounded.map(|(column, bound)| {
            let filter = Arc::new(KeyFilter::of_bound(bound.clone()));
            filters.push(WantedFilter { column, key: None, slot: Arc::new(OnceLock::from(filter)), filled_by: None });
            bound
        });
        let mut stream = self.plan_node(input, Needs::new(columns, filters))?;
        let mut sort_keys = self.sort_keys(keys, &mut stream)?;
        let stored = self.compressions_of(input, &stream, keeps_many)?;
        let key_columns = stored.clone();
        let output = stream.positions(&needs.columns);
        let columns: Vec<ColumnId> = output.iter().map(|&at| stream.columns[at]).collect();
        let compressed = self.compress_sort_input(stored, &mut stream, &mut sort_keys);
        let compressed = output.iter().filter_map(|&column| compressed.get(column).cloned()).collect();
        let row_type: RowType = output.iter().map(|&column| stream.row_type[column].clone()).collect();
        let codes = codes_note(sort_keys.iter().filter_map(|key| key_columns.get(key.expression.column_index()?)));
        let by = self.show_keys(keys);
        let name = match limit {
            Some(rows) => format!("TopN {rows} by {by}{codes}"),
            None => format!("Sort by {by}{codes}"),
        };
        let spec = SortSpec { keys: sort_keys, input: stream.row_type.clone(), output, limit, bound };
        let (branch, explain) = self.close_sort(stream, spec, name)?;
        let mut stream = Stream::new(columns, row_type, branch, explain);
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }

    /// Sorts the rows of a stream.
    pub(super) fn close_sort(&mut self, stream: Stream, spec: SortSpec, name: String) -> Result<(Branch, ExplainNode)> {
        let operator = Sort::new(spec, self.query, name)?;
        let (mut done, below) = self.close(stream, operator.sink());
        if let Some(merge) = operator.merge_source() {
            let merged = self.pipelines.reserve(1);
            self.pipelines.close_alone(merged[0], merge, done);
            done = merged;
        }
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        Ok((Branch::new(source, done), explain))
    }

    fn sort_keys(&mut self, keys: &[PlanKey], stream: &mut Stream) -> Result<Vec<SortKey>> {
        let key = |key: &PlanKey| {
            let expression = self.compile(&key.expr, stream)?;
            Ok(SortKey { expression, descending: key.descending, nulls_first: key.nulls_first })
        };
        keys.iter().map(key).collect()
    }

    /// Compresses the rows that a sort keeps; keys that aren't plain columns are computed first. Compression preserves
    /// the order.
    fn compress_sort_input(
        &self,
        columns: CompressedColumns,
        stream: &mut Stream,
        keys: &mut [SortKey],
    ) -> CompressedColumns {
        for key in keys.iter_mut().filter(|key| key.expression.column_index().is_none()) {
            key.expression = as_stored(&key.expression);
        }
        if columns.iter().all(Option::is_none) {
            return Vec::new();
        }
        let computed: Vec<Expression> =
            keys.iter().map(|key| &key.expression).filter(|key| key.column_index().is_none()).cloned().collect();
        let mut next_computed = columns.len();
        self.compress_stream(stream, &columns, computed);
        for key in keys {
            let position = key.expression.column_index().unwrap_or_else(|| {
                next_computed += 1;
                next_computed - 1
            });
            key.expression = stream.column(position);
        }
        columns
    }

    /// The first sort column of a top-N and the bound that it will publish, if the column has integers, decimals, dates
    /// or times.
    fn top_bound(&self, keys: &[PlanKey]) -> Option<(ColumnId, Arc<TopBound>)> {
        let key = keys.first()?;
        let column = key.expr.as_column()?;
        let physical = PhysicalType::natural(&arrow_type(&self.plan.column(column).ty).ok()?).ok()?;
        physical.is_integer().then(|| (column, Arc::new(TopBound::new(key.descending, key.nulls_first))))
    }
}
