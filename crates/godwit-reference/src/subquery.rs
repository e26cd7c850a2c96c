//! Subqueries as values: each evaluation runs the subquery, with the current row bound.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Comparison, Subquery, SubqueryKind};
use godwit_types::{SqlType, Value};

use crate::environment::Environment;
use crate::evaluator::{Evaluator, position};
use crate::expr::{Truth, compare, of_truth};

impl Evaluator<'_> {
    pub(crate) fn subquery(&self, subquery: &Subquery, environment: &Environment<'_>) -> Result<Value> {
        let found = self.rows(subquery.plan, environment)?;
        match &subquery.kind {
            SubqueryKind::Exists => Ok(Value::Boolean(!found.rows.is_empty())),
            SubqueryKind::Scalar => {
                let column =
                    *subquery.columns.first().ok_or_else(|| Error::internal("a scalar subquery has no column"))?;
                let column = position(&found.columns, column)?;
                match found.rows.as_slice() {
                    [] => Ok(Value::Null),
                    [row] => Ok(row[column].clone()),
                    _ => Err(more_than_one_row()),
                }
            }
            SubqueryKind::Quantified { comparison, all, left } => {
                let sought = self.values(left, environment)?;
                let types: Vec<&SqlType> = left.iter().map(|expr| &expr.ty).collect();
                let columns = subquery.columns.iter().map(|&column| position(&found.columns, column));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let truths = found.rows.iter().map(|row| {
                    let row: Vec<&Value> = columns.iter().map(|&column| &row[column]).collect();
                    compare_rows(*comparison, &sought, &row, &types)
                });
                Ok(of_truth(if *all { all_of(truths) } else { any_of(truths) }))
            }
        }
    }
}

/// Returns the error for a subquery with several rows where one value is needed.
pub(crate) fn more_than_one_row() -> Error {
    let error = Error::user("more than one row returned by a subquery used as a value");
    error.with_code(SqlState::CARDINALITY_VIOLATION)
}

fn any_of(mut truths: impl Iterator<Item = Truth>) -> Truth {
    truths
        .try_fold(Some(false), |any, truth| match truth {
            Some(true) => Err(()),
            Some(false) => Ok(any),
            None => Ok(None),
        })
        .unwrap_or(Some(true))
}

fn all_of(truths: impl Iterator<Item = Truth>) -> Truth {
    any_of(truths.map(|truth| truth.map(|value| !value))).map(|value| !value)
}

/// Compares row values. They are equal if all pairs are; their order is that of the first pair that isn't equal, and
/// NULL if the comparison of that pair is NULL.
fn compare_rows(comparison: Comparison, a: &[Value], b: &[&Value], types: &[&SqlType]) -> Truth {
    let pairs = || a.iter().zip(b).zip(types);
    let each = |comparison| pairs().map(move |((a, b), ty)| compare(comparison, a, b, ty));
    match comparison {
        Comparison::Equal | Comparison::NotDistinct => all_of(each(comparison)),
        Comparison::NotEqual | Comparison::Distinct => any_of(each(comparison)),
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
            let (last, before) = types.len().checked_sub(1).map(|last| (last, 0..last))?;
            for index in before {
                match compare(Comparison::Equal, &a[index], b[index], types[index]) {
                    Some(true) => {}
                    Some(false) => return compare(comparison, &a[index], b[index], types[index]),
                    None => return None,
                }
            }
            compare(comparison, &a[last], b[last], types[last])
        }
    }
}
