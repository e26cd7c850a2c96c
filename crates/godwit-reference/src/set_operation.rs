//! UNION, INTERSECT and EXCEPT. Rows are equal if all their values are; NULLs are equal here.

use godwit_common::Result;
use godwit_plan::{ColumnId, NodeId, SetOperation, SetOperator};
use godwit_types::SqlType;

use crate::aggregate::same_key;
use crate::environment::{Environment, Row, Rows};
use crate::evaluator::{Evaluator, position};

impl Evaluator<'_> {
    pub(crate) fn set_operation(&self, operation: &SetOperation, environment: &Environment<'_>) -> Result<Rows> {
        let inputs = operation.inputs.iter().map(|input| self.rows_in_order(input, environment));
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?.into_iter();
        let first = inputs.next().unwrap_or_default();
        let types = self.types_of(&operation.columns);
        let mut rows = match operation.operator {
            SetOperator::Union => inputs.fold(first, |mut all, rows| {
                all.extend(rows);
                all
            }),
            SetOperator::Intersect | SetOperator::Except => {
                let wanted = operation.operator == SetOperator::Intersect;
                let mut second = inputs.next().unwrap_or_default();
                let mut rows = Vec::new();
                for row in first {
                    self.spend(1)?;
                    let partner = second.iter().position(|other| same_key(other, &row, &types));
                    if let Some(partner) = partner.filter(|_| operation.all) {
                        second.swap_remove(partner);
                    }
                    if partner.is_some() == wanted {
                        rows.push(row);
                    }
                }
                rows
            }
        };
        if !operation.all {
            rows = distinct(rows, &types);
        }
        Ok(Rows { columns: operation.columns.clone(), rows })
    }

    /// Returns the rows of an input, with their columns in the requested order.
    pub(crate) fn rows_in_order(
        &self,
        (node, columns): &(NodeId, Vec<ColumnId>),
        environment: &Environment<'_>,
    ) -> Result<Vec<Row>> {
        let input = self.rows(*node, environment)?;
        let positions = columns.iter().map(|&column| position(&input.columns, column)).collect::<Result<Vec<_>>>()?;
        Ok(input.rows.iter().map(|row| positions.iter().map(|&at| row[at].clone()).collect()).collect())
    }

    /// Returns the types of columns.
    pub(crate) fn types_of(&self, columns: &[ColumnId]) -> Vec<&SqlType> {
        columns.iter().map(|&column| &self.plan.column(column).ty).collect()
    }
}

/// Removes duplicate rows.
pub(crate) fn distinct(rows: Vec<Row>, types: &[&SqlType]) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        if !kept.iter().any(|other| same_key(other, &row, types)) {
            kept.push(row);
        }
    }
    kept
}
