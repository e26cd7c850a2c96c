//! Comparisons, in the order that `godwit-types` defines for values.
//!
//! Most values compare as they are in vectors, intervals by their keys ([`godwit_types::order_key`]). Nested values
//! compare as bytes that keep their order; those that contain intervals, as the bytes of their keys.

use godwit_common::Result;
use godwit_plan::Comparison;
use godwit_types::{Interval, SqlType, Value, order_key as key_of, order_key_type};
use godwit_vector::Vector;
use godwit_vector::kernels::compare::Comparison as Order;
use godwit_vector::sql::column_type;

use super::rows::RowFunction;
use super::values::intervals;
use crate::Expression;
use crate::compare::{compile as compile_order, compile_distinct};
use crate::expression::Kernel;

/// Compiles `a comparison b` for values of one type.
pub(super) fn compile(
    comparison: Comparison,
    a: Expression,
    b: Expression,
    ty: &SqlType,
    text: &str,
) -> Result<Expression> {
    let (a, b) = (order_key(a, ty)?, order_key(b, ty)?);
    match order_of(comparison) {
        Some(order) => compile_order(order, a, b, text),
        None => compile_distinct(a, b, comparison == Comparison::NotDistinct, text),
    }
}

/// The order that a comparison tests; `None` for those that treat NULL as a value.
fn order_of(comparison: Comparison) -> Option<Order> {
    Some(match comparison {
        Comparison::Equal => Order::Equal,
        Comparison::NotEqual => Order::NotEqual,
        Comparison::Less => Order::Less,
        Comparison::LessOrEqual => Order::LessOrEqual,
        Comparison::Greater => Order::Greater,
        Comparison::GreaterOrEqual => Order::GreaterOrEqual,
        Comparison::Distinct | Comparison::NotDistinct => return None,
    })
}

/// Returns what kernels can compare in place of the values: their keys, or the values themselves.
pub(super) fn order_key(value: Expression, ty: &SqlType) -> Result<Expression> {
    let Some(key) = order_key_type(ty) else { return Ok(value) };
    let output = column_type(&key, value.output().nullable)?;
    Ok(match ty {
        SqlType::Interval => Expression::strict(Length, vec![value], output),
        _ => {
            let function = RowFunction {
                ty: key,
                is_strict: true,
                can_fail: false,
                is_volatile: false,
                compute: |values: &[Value]| Ok(key_of(&values[0])),
            };
            let nullable = value.output().nullable;
            function.call(vec![(value, ty.clone())], nullable)?
        }
    })
}

/// Lengths of intervals in microseconds, a month being 30 days.
struct Length;

impl Kernel for Length {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let lengths = intervals(&arguments[0]).into_iter().map(Interval::estimate).collect();
        Ok(Vector::from_values::<i128>(lengths, None).with_validity(arguments[0].validity().cloned()))
    }
}
