//! Projections and filters.

use godwit_common::Result;
use godwit_expression::Predicate;
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, NodeId, Project};
use godwit_types::Value;

use super::stream::Stream;
use super::{Needs, PhysicalPlanner, columns_of};
use crate::operators::FilterTransform;

impl PhysicalPlanner<'_> {
    pub(super) fn plan_project(&mut self, project: &Project, needs: Needs) -> Result<Stream> {
        let wanted = || project.columns.iter().filter(|(column, _)| needs.columns.contains(*column));
        let columns = columns_of(wanted().map(|(_, expr)| expr));
        let filters = needs.filters_below(|column| {
            let (_, expr) = project.columns.iter().find(|(id, _)| *id == column)?;
            expr.as_column()
        });
        let below = Needs { rows_enough: needs.rows_enough, ..Needs::new(columns, filters) };
        let mut stream = self.plan_node(project.input, below)?;
        let expressions = self.compile_all(wanted().map(|(_, expr)| expr), &mut stream)?;
        let columns: Vec<ColumnId> = wanted().map(|&(column, _)| column).collect();
        stream.project(columns, expressions);
        Ok(stream)
    }

    pub(super) fn plan_filter(&mut self, input: NodeId, conditions: &[Expr], needs: Needs) -> Result<Stream> {
        let columns = needs.columns.union(&columns_of(conditions));
        let largest_wanted = conditions.iter().filter_map(largest_wanted).collect();
        let stream = self.plan_node(input, Needs { largest_wanted, ..Needs::new(columns, needs.filters) })?;
        self.filter_stream(conditions, stream)
    }

    pub(super) fn filter_stream(&mut self, conditions: &[Expr], mut stream: Stream) -> Result<Stream> {
        let predicate = Predicate::compile(conditions, stream.layout(), &self.context)?;
        self.run_subqueries_before(&mut stream)?;
        if !predicate.is_always_true() {
            let name = format!("Filter {}", self.show(conditions, " AND "));
            stream.transform(FilterTransform::new(predicate, name));
        }
        Ok(stream)
    }
}

/// The column that a condition bounds from above, and the bound, if that is a number of rows.
fn largest_wanted(condition: &Expr) -> Option<(ColumnId, u64)> {
    let ExprKind::Compare(comparison, a, b) = &condition.kind else { return None };
    let (column, comparison, limit) = match (a.as_column(), b.as_column()) {
        (Some(column), None) => (column, *comparison, b),
        (None, Some(column)) => (column, comparison.swapped(), a),
        _ => return None,
    };
    let Some(&Value::Integer(limit)) = limit.as_literal() else { return None };
    let largest = match comparison {
        Comparison::Equal | Comparison::LessOrEqual => limit,
        Comparison::Less => limit.checked_sub(1)?,
        _ => return None,
    };
    Some((column, u64::try_from(largest).ok()?))
}
