//! Table scans.

use std::collections::BTreeSet;

use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::TableScan;
use datafusion_expr::utils::conjunction;
use godwit_common::{Error, Result};
use godwit_sql::table_of;

use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, columns_of_all};
use crate::explain::ExplainNode;
use crate::scan::{ScanFilter, ScanRequest, TableHandle};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_scan(&mut self, scan: &TableScan, needs: Needs) -> Result<Stream> {
        let definition = table_of(&scan.source)?;
        let handle = definition
            .handle
            .downcast_ref::<TableHandle>()
            .ok_or_else(|| Error::internal(format!("table {} can't be scanned", definition.name)))?;

        // Filters with subqueries have no value yet when the scan is planned: they run above it.
        let (above, inside): (Vec<_>, Vec<_>) =
            scan.filters.iter().cloned().partition(|filter| filter.exists(has_subquery).unwrap_or(true));
        let mut wanted = needs.columns.clone();
        wanted.extend(columns_of_all(&above, &scan.projected_schema)?);
        let filtered: BTreeSet<usize> = needs.filters.iter().map(|filter| filter.column).collect();
        wanted.extend(&filtered);
        let origin: Vec<usize> = wanted.into_iter().collect();

        let table_column = |index: usize| scan.projection.as_ref().map_or(index, |projection| projection[index]);
        let position = |index: usize| origin.binary_search(&index).expect("filtered columns are wanted");
        let request = ScanRequest {
            name: scan_name(&definition.name, &inside),
            columns: origin.iter().map(|&index| table_column(index)).collect(),
            filters: inside,
            join_filters: needs
                .filters
                .iter()
                .map(|filter| {
                    let (key, slot) = (filter.key.clone(), filter.slot.clone());
                    ScanFilter { column: position(filter.column), key, filter: slot }
                })
                .collect(),
            limit: scan.fetch,
        };
        let row_type = request.columns.iter().map(|&column| handle.0.row_type()[column].clone()).collect();
        let source = handle.0.scan(request, self.query)?;
        let explain = ExplainNode::leaf(source.metrics().clone());
        let branch = Branch::new(source, needs.filters.iter().filter_map(|filter| filter.filled_by));
        let stream = Stream::new(&scan.projected_schema, origin, row_type, branch, explain)?;
        match conjunction(above) {
            Some(predicate) => self.filter_stream(&predicate, stream),
            None => Ok(stream),
        }
    }
}

/// What `EXPLAIN` shows: the table and its filters, without the table's name in front of every column.
fn scan_name(table: &str, filters: &[Expr]) -> String {
    let unqualified = |filter: &Expr| {
        let bare = filter.clone().transform(|expr| {
            Ok(match expr {
                Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
                other => Transformed::no(other),
            })
        });
        bare.map_or_else(|_| filter.human_display().to_string(), |bare| bare.data.human_display().to_string())
    };
    match filters {
        [] => format!("Scan {table}"),
        filters => format!("Scan {table} where {}", filters.iter().map(unqualified).collect::<Vec<_>>().join(" AND ")),
    }
}

fn has_subquery(expr: &Expr) -> datafusion_common::Result<bool> {
    Ok(matches!(expr, Expr::ScalarSubquery(_)))
}
