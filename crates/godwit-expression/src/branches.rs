//! Compiles AND and OR, and brings the values of branches to a common layout.

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_vector::ColumnType;

use crate::cast::{null_literal, to_physical};
use crate::compare::{boolean, common_integer, fuse_ranges};
use crate::expression::Operation;
use crate::{Expression, range};

/// Returns NULL in the physical type of `output`.
fn retyped_null(output: &ColumnType) -> Result<Expression> {
    let null = null_literal(&output.logical)?;
    Ok(to_physical(&null, output.physical).retyped(ColumnType { nullable: true, ..output.clone() }))
}

/// Brings values of one SQL type to one physical type, and unites their ranges. NULLs adapt to the other values.
pub(crate) fn unified(values: Vec<Expression>, logical: &DataType) -> Result<(Vec<Expression>, ColumnType)> {
    let is_null = |value: &Expression| matches!(value.as_literal(), Some((_, true)));
    let mut output = ColumnType::new(logical.clone(), values.iter().any(|value| value.output().nullable))?;
    let known: Vec<&Expression> = values.iter().filter(|value| !is_null(value)).collect();
    if let Some(first) = known.first() {
        output.physical = first.output().physical;
        if output.physical.is_integer() {
            let bounds = known.iter().filter_map(|value| value.output().bound());
            let joined = bounds.reduce(range::union).expect("an integer type");
            if known.iter().any(|value| value.output().physical != output.physical) {
                output.physical = common_integer(joined, joined);
            }
            output.range = Some(joined);
        }
    }
    let values = values
        .into_iter()
        .map(|value| if is_null(&value) { retyped_null(&output) } else { Ok(to_physical(&value, output.physical)) })
        .collect::<Result<Vec<_>>>()?;
    Ok((values, output))
}

/// AND of boolean expressions; bounds of one column are fused, and conjuncts that can't fail come first.
pub(crate) fn conjunction(operands: Vec<Expression>) -> Expression {
    let mut operands = fuse_ranges(operands);
    operands.sort_by_key(Expression::can_fail);
    connected(Operation::And, operands)
}

/// OR of boolean expressions.
pub(crate) fn disjunction(mut operands: Vec<Expression>) -> Expression {
    operands.sort_by_key(Expression::can_fail);
    connected(Operation::Or, operands)
}

fn connected(operation: Operation, mut operands: Vec<Expression>) -> Expression {
    if operands.len() == 1 {
        return operands.remove(0);
    }
    let nullable = operands.iter().any(|operand| operand.output().nullable);
    Expression::new(operation, operands, boolean(nullable)).folded()
}
