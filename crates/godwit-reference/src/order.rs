//! Sorting and limits.

use std::cmp::Ordering;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Expr, Limit, Node, SortKey};
use godwit_types::{Value, compare_values};

use crate::environment::{Environment, Row, Rows};
use crate::evaluator::Evaluator;

impl Evaluator<'_> {
    /// Sorts rows; the sort is stable.
    pub(crate) fn sorted(
        &self,
        columns: &[ColumnId],
        rows: Vec<Row>,
        keys: &[SortKey],
        environment: &Environment<'_>,
    ) -> Result<Vec<Row>> {
        let with_keys = rows.into_iter().map(|row| Ok((self.sort_keys(keys, columns, &row, environment)?, row)));
        let mut with_keys = with_keys.collect::<Result<Vec<(Row, Row)>>>()?;
        with_keys.sort_by(|(a, _), (b, _)| compare_keys(a, b, keys));
        Ok(with_keys.into_iter().map(|(_, row)| row).collect())
    }

    /// Evaluates the sort keys.
    pub(crate) fn sort_keys(
        &self,
        keys: &[SortKey],
        columns: &[ColumnId],
        row: &Row,
        environment: &Environment<'_>,
    ) -> Result<Row> {
        let environment = environment.with_row(columns, row);
        keys.iter().map(|key| self.value(&key.expr, &environment)).collect()
    }

    pub(crate) fn limit(&self, limit: &Limit, environment: &Environment<'_>) -> Result<Rows> {
        let Rows { columns, rows } = self.rows(limit.input, environment)?;
        let offset = limit.offset.as_ref().map(|offset| self.row_count(offset, "OFFSET", environment)).transpose()?;
        let start = offset.flatten().unwrap_or(0).min(rows.len());
        let count = match &limit.count {
            None => None,
            Some(percent) if limit.percent => self.percentage(percent, rows.len(), environment)?,
            Some(count) => self.row_count(count, "LIMIT", environment)?,
        };
        let mut end = start.saturating_add(count.unwrap_or(rows.len())).min(rows.len());
        if limit.with_ties && end > start {
            let Node::Sort { keys, .. } = self.plan.node(limit.input) else {
                return Err(Error::internal("WITH TIES needs a sort below its limit"));
            };
            let last = self.sort_keys(keys, &columns, &rows[end - 1], environment)?;
            while end < rows.len() {
                let next = self.sort_keys(keys, &columns, &rows[end], environment)?;
                if compare_keys(&last, &next, keys).is_ne() {
                    break;
                }
                end += 1;
            }
        }
        let rows = rows.into_iter().take(end).skip(start).collect();
        Ok(Rows { columns, rows })
    }

    /// Evaluates a number of rows; `None` for NULL.
    fn row_count(&self, expr: &Expr, clause: &str, environment: &Environment<'_>) -> Result<Option<usize>> {
        match self.value(expr, environment)? {
            Value::Null => Ok(None),
            Value::Integer(count) if count < 0 => Err(negative(clause)),
            Value::Integer(count) => Ok(Some(usize::try_from(count).unwrap_or(usize::MAX))),
            other => Err(Error::internal(format!("{clause} is {other:?}"))),
        }
    }

    /// Evaluates a percentage of the rows, rounded down.
    fn percentage(&self, expr: &Expr, rows: usize, environment: &Environment<'_>) -> Result<Option<usize>> {
        match self.value(expr, environment)? {
            Value::Null => Ok(None),
            Value::Float(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(Some((rows as f64 * percent / 100.0) as usize))
            }
            Value::Float(_) => {
                let error = Error::user("a percentage of rows must be between 0 and 100");
                Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE))
            }
            other => Err(Error::internal(format!("a percentage of rows is {other:?}"))),
        }
    }
}

fn negative(clause: &str) -> Error {
    Error::user(format!("{clause} must not be negative")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Compares two rows of sort keys.
pub(crate) fn compare_keys(a: &[Value], b: &[Value], keys: &[SortKey]) -> Ordering {
    let orders = keys.iter().zip(a.iter().zip(b)).map(|(key, (a, b))| match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if key.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if key.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (false, false) => {
            let order = compare_values(a, b, &key.expr.ty);
            if key.descending { order.reverse() } else { order }
        }
    });
    orders.fold(Ordering::Equal, Ordering::then)
}
