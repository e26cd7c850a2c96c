//! Comparisons, in the order that `godwit-types` gives values.
//!
//! Most values compare as they lie in vectors. An interval compares as its length with months of 30 days, a label of an
//! ENUM by its place. Nested values compare as bytes that keep their order; those with intervals or labels inside, row by
//! row.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_plan::Comparison;
use godwit_types::{EnumType, Interval, SqlType, Value, compare_values};
use godwit_vector::kernels::compare::Comparison as Order;
use godwit_vector::{ColumnType, PhysicalType, Vector};

use super::rows::RowFunction;
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
    if is_by_rows(ty) {
        return by_rows(comparison, a, b, ty);
    }
    let (a, b) = (comparable(a, ty, comparison)?, comparable(b, ty, comparison)?);
    match order_of(comparison) {
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

/// Something that compares as the value does, where kernels don't compare it right.
pub(super) fn comparable(value: Expression, ty: &SqlType, comparison: Comparison) -> Result<Expression> {
    let is_equality = !matches!(
        comparison,
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual
    );
    let nullable = value.output().nullable;
    Ok(match ty {
        SqlType::Interval => {
            let logical = DataType::Decimal128(SqlType::DECIMAL_PRECISION_MAX, 0);
            let output = ColumnType { logical, physical: PhysicalType::I128, nullable, range: None };
            Expression::strict(Length, vec![value], output)
        }
        SqlType::Enum(definition) if !is_equality => {
            let last = definition.labels.len().max(1) as i128 - 1;
            let proven = Some(range::new(0, last));
            let output = ColumnType { logical: DataType::Int64, physical: PhysicalType::I64, nullable, range: proven };
            Expression::strict(Place::new(definition), vec![value], output)
        }
        _ => value,
    })
}

/// True for nested types whose bytes don't compare as the values do.
pub(super) fn is_by_rows(ty: &SqlType) -> bool {
    fn has_own_order(ty: &SqlType) -> bool {
        match ty {
            SqlType::Interval | SqlType::Enum(_) => true,
            SqlType::List(element) | SqlType::Array(element, _) => has_own_order(element),
            SqlType::Struct(fields) => fields.iter().any(|field| has_own_order(&field.ty)),
            SqlType::Map(entry) => has_own_order(&entry.0) || has_own_order(&entry.1),
            _ => false,
        }
    }
    ty.is_nested() && has_own_order(ty)
}

fn by_rows(comparison: Comparison, a: Expression, b: Expression, ty: &SqlType) -> Result<Expression> {
    let nullable = !comparison.is_null_safe() && (a.output().nullable || b.output().nullable);
    let compared = ty.clone();
    let function = RowFunction {
        ty: SqlType::Boolean,
        is_strict: !comparison.is_null_safe(),
        can_fail: false,
        is_volatile: false,
        compute: move |values: &[Value]| {
            Ok(Value::Boolean(holds(comparison, compare_values(&values[0], &values[1], &compared))))
        },
    };
    function.call(vec![(a, ty.clone()), (b, ty.clone())], nullable)
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Distinct => order.is_ne(),
        Comparison::NotDistinct => order.is_eq(),
        _ => order_of(comparison).expect("the others have an order").holds(order),
    }
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
