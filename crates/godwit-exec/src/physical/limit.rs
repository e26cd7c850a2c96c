//! LIMIT and OFFSET. Percentages and ties have already been lowered.

use godwit_common::{Error, Result};
use godwit_expression::{Expression, Layout};
use godwit_plan::{Expr, Limit};

use super::stream::Stream;
use super::{Needs, PhysicalPlanner};
use crate::operators::{LimitTransform, RowNumber};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_limit(&mut self, limit: &Limit, needs: Needs) -> Result<Stream> {
        if limit.percent || limit.with_ties {
            return Err(Error::internal("a limit that was not lowered"));
        }
        let offset = self.row_number(limit.offset.as_ref(), "OFFSET")?;
        let count = self.row_number(limit.count.as_ref(), "LIMIT")?;
        let subqueries = self.context.take_subqueries();
        let rows_enough = match (&offset, &count) {
            (RowNumber::Known(offset), RowNumber::Known(count)) => {
                count.map(|count| offset.unwrap_or(0).saturating_add(count))
            }
            _ => None,
        };
        let mut stream = self.plan_node(limit.input, Needs { rows_enough, ..Needs::columns(needs.columns) })?;
        self.run_before(subqueries, &mut stream)?;
        let name = match (&offset, &count) {
            (RowNumber::Known(None | Some(0)), RowNumber::Known(None)) => return Ok(stream),
            (RowNumber::Known(offset), RowNumber::Known(Some(rows))) => {
                format!("Limit {rows} offset {}", offset.unwrap_or(0))
            }
            (RowNumber::Known(offset), RowNumber::Known(None)) => format!("Offset {}", offset.unwrap_or(0)),
            _ => "Limit".to_owned(),
        };
        stream.transform(LimitTransform::of_numbers(offset, count, name));
        Ok(stream)
    }

    /// A number of rows; known now if the expression is constant.
    fn row_number(&self, expr: Option<&Expr>, clause: &'static str) -> Result<RowNumber> {
        let Some(expr) = expr else { return Ok(RowNumber::Known(None)) };
        let nothing = Layout { columns: &[], types: &[] };
        let number = Expression::compile(expr, nothing, &self.context)?;
        let is_known = number.as_literal().is_some();
        let computed = RowNumber::Computed(number, clause);
        let value = if is_known { RowNumber::Known(computed.value()?) } else { computed };
        Ok(value)
    }
}
