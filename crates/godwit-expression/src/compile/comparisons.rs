//! Comparisons, in the order that `godwit-types` gives values.
//!
//! Most values compare as they lie in vectors, intervals and labels of ENUMs by their keys ([`godwit_types::order_key`]).
//! Nested values compare as bytes that keep their order; those with intervals or labels inside, as the bytes of their keys.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::Comparison;
use godwit_types::{EnumType, Interval, SqlType, Value, equality_key_type, order_key as key_of, order_key_type};
use godwit_vector::kernels::compare::Comparison as Order;
use godwit_vector::{ColumnType, Vector};

use super::rows::RowFunction;
use super::types::column_type;
use super::values::intervals;
use crate::compare::{compile as compile_order, compile_distinct};
use crate::expression::Kernel;
use crate::{Expression, range};

/// Compiles `a comparison b`, values of one type.
pub(super) fn compile(
    comparison: Comparison,
    a: Expression,
    b: Expression,
    ty: &SqlType,
    text: &str,
) -> Result<Expression> {
    let order = order_of(comparison);
    let is_equality = matches!(order, None | Some(Order::Equal | Order::NotEqual));
    let comparable = if is_equality { equality_key } else { order_key };
    let (a, b) = (comparable(a, ty)?, comparable(b, ty)?);
    match order {
        Some(order) => compile_order(order, a, b, text),
        None => compile_distinct(a, b, comparison == Comparison::NotDistinct, text),
    }
}

/// The order that it asks for; `None` for those to which NULL is a value.
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

/// What is equal where the values are.
pub(super) fn equality_key(value: Expression, ty: &SqlType) -> Result<Expression> {
    if equality_key_type(ty).is_some() { order_key(value, ty) } else { Ok(value) }
}

/// What is ordered as the values are: their keys, or themselves where kernels compare them right.
pub(super) fn order_key(value: Expression, ty: &SqlType) -> Result<Expression> {
    let Some(key) = order_key_type(ty) else { return Ok(value) };
    let output = column_type(&key, value.output().nullable)?;
    Ok(match ty {
        SqlType::Interval => Expression::strict(Length, vec![value], output),
        SqlType::Enum(definition) => {
            let last = definition.labels.len().max(1) as i128 - 1;
            let output = ColumnType { range: Some(range::new(0, last)), ..output };
            Expression::strict(Place::new(definition), vec![value], output)
        }
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

/// Intervals as microseconds, a month as 30 days.
struct Length;

impl Kernel for Length {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let lengths = intervals(&arguments[0]).into_iter().map(Interval::estimate).collect();
        Ok(Vector::from_values::<i128>(lengths, None).with_validity(arguments[0].validity().cloned()))
    }
}

/// Labels as their places.
struct Place(HashMap<Arc<str>, i64>);

impl Place {
    fn new(definition: &EnumType) -> Self {
        Self(definition.labels.iter().cloned().zip(0..).collect())
    }
}

impl Kernel for Place {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let labels = arguments[0].to_flat();
        let place = |row: usize| match arguments[0].is_valid(row) {
            true => {
                let place = std::str::from_utf8(labels.strings().get(row)).ok().and_then(|label| self.0.get(label));
                place.copied().ok_or_else(|| Error::corrupt("a value of an ENUM is none of its labels"))
            }
            false => Ok(0),
        };
        let places = (0..rows).map(place).collect::<Result<Vec<i64>>>()?;
        Ok(Vector::from_values(places, None).with_validity(arguments[0].validity().cloned()))
    }
}
