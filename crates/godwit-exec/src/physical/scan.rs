//! Table scans.

use std::sync::Arc;

use godwit_catalog::ScannedTable;
use godwit_common::{Error, Result};
use godwit_expression::Expression;
use godwit_pipeline::scan_filter::Conjunct;
use godwit_pipeline::{ScanFilter, ScanRequest, Table, TableHandle};
use godwit_plan::{ColumnId, Expr, ExprKind, Relation, Scan};

use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner, columns_of};
use crate::explain::ExplainNode;

impl PhysicalPlanner<'_> {
    pub(super) fn plan_scan(&mut self, scan: &Scan, needs: Needs) -> Result<Stream> {
        let table = table_of(&*scan.relation)?;
        // Filters with subqueries have no value yet when the scan is planned: they run above it.
        let is_above = |filter: &Expr| !scan.relation.evaluates_filters() || filter.has_subquery();
        let (above, inside): (Vec<Expr>, Vec<Expr>) = scan.filters.iter().cloned().partition(is_above);
        let mut wanted = needs.columns.clone();
        wanted.union_with(&columns_of(&above));
        wanted.extend(needs.filters.iter().map(|filter| filter.column));
        let read = scan.columns.iter().filter(|(column, _)| wanted.contains(*column));
        let (columns, positions): (Vec<ColumnId>, Vec<usize>) = read.copied().unzip();
        let join_filters = needs.filters.iter().map(|filter| {
            let column = columns.iter().position(|&column| column == filter.column);
            let (key, filter) = (filter.key.clone(), filter.slot.clone());
            ScanFilter { column: column.expect("filtered columns are wanted"), key, filter }
        });
        let enough = [needs.rows_enough, scan.rows_enough].into_iter().flatten().min().filter(|_| above.is_empty());
        let request = ScanRequest {
            name: self.scan_name(scan, &inside),
            filters: Conjunct::of_plan(&inside, &scan.columns, table.row_type(), &self.context)?,
            join_filters: join_filters.collect(),
            limit: enough.and_then(|rows| usize::try_from(rows).ok()),
            columns: positions,
        };
        let row_type = request.columns.iter().map(|&column| table.row_type()[column].clone()).collect();
        let source = table.scan(request, self.query)?;
        let explain = ExplainNode::leaf(source.metrics().clone());
        let branch = Branch::new(source, needs.filters.iter().filter_map(|filter| filter.filled_by));
        let mut stream = Stream::new(columns, row_type, branch, explain);
        self.conform(&mut stream)?;
        if above.is_empty() { Ok(stream) } else { self.filter_stream(&above, stream) }
    }

    /// Converts the columns of a stream to the usual representation of their types, however the table keeps them.
    fn conform(&self, stream: &mut Stream) -> Result<()> {
        let column = |&id: &ColumnId| {
            let info = self.plan.column(id);
            let column = Expr::new(ExprKind::Column(id), info.ty.clone(), info.nullable);
            Expression::compile(&column, stream.layout(), &self.context)
        };
        let expressions = stream.columns.iter().map(column).collect::<Result<_>>()?;
        stream.project(stream.columns.clone(), expressions);
        Ok(())
    }

    fn scan_name(&self, scan: &Scan, filters: &[Expr]) -> String {
        match filters {
            [] => format!("Scan {}", scan.relation.name()),
            filters => format!("Scan {} where {}", scan.relation.name(), self.show(filters, " AND ")),
        }
    }
}

/// The table that scans of a relation read.
pub(super) fn table_of(relation: &dyn Relation) -> Result<Arc<dyn Table>> {
    let scanned = relation.as_any().downcast_ref::<ScannedTable>();
    let handle = scanned.and_then(|scanned| scanned.definition().handle::<TableHandle>());
    let handle = handle.ok_or_else(|| Error::internal(format!("table {} can't be scanned", relation.name())))?;
    Ok(handle.0.clone())
}
