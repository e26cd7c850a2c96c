//! Checks of a plan's guarantees about its values.

use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, Expr, Plan};
use godwit_types::{SqlType, Value};

use crate::environment::Rows;

/// Checks that an expression's value has its type, and isn't NULL if it can't be.
pub(crate) fn check_value(plan: &Plan, expr: &Expr, value: &Value) -> Result<()> {
    if value.is_null() && !expr.nullable {
        let text = plan.display_expr(expr);
        return Err(Error::internal(format!("{text} is NULL, though its expression says that it can't be")));
    }
    if !is_of(value, &expr.ty) {
        return Err(Error::internal(format!("{} is {value:?}, which is no {}", plan.display_expr(expr), expr.ty)));
    }
    Ok(())
}

/// Checks that the columns that a node produces have their types, and no NULLs if they aren't nullable.
pub(crate) fn check_rows(plan: &Plan, made: &[ColumnId], rows: &Rows) -> Result<()> {
    for (position, column) in rows.columns.iter().enumerate().filter(|(_, column)| made.contains(column)) {
        let info = plan.column(*column);
        for value in rows.rows.iter().map(|row| &row[position]) {
            if value.is_null() && !info.nullable {
                return Err(Error::internal(format!(
                    "{}{column} is NULL, though its node says that it can't be",
                    info.name
                )));
            }
            if !is_of(value, &info.ty) {
                return Err(Error::internal(format!("{}{column} is {value:?}, which is no {}", info.name, info.ty)));
            }
        }
    }
    Ok(())
}

fn is_of(value: &Value, ty: &SqlType) -> bool {
    use SqlType as T;
    match (value, ty) {
        (Value::Null, _)
        | (Value::Boolean(_), T::Boolean)
        | (Value::UHuge(_), T::UHugeInt)
        | (Value::Float(_), T::Double)
        | (Value::Text(_), T::Varchar | T::Bit | T::Json | T::Unknown)
        | (Value::Blob(_), T::Blob)
        | (Value::Date(_), T::Date)
        | (Value::Time(_), T::Time)
        | (Value::TimeTz(_), T::TimeTz)
        | (Value::Interval(_), T::Interval)
        | (Value::Uuid(_), T::Uuid) => true,
        (Value::Timestamp(_), _) => ty.is_timestamp(),
        (Value::Integer(value), T::Decimal { precision, .. }) => {
            10u128.checked_pow(u32::from(*precision)).is_some_and(|limit| value.unsigned_abs() < limit)
        }
        (Value::Integer(value), T::Enum(definition)) => {
            usize::try_from(*value).is_ok_and(|position| position < definition.labels.len())
        }
        (Value::Integer(value), _) => {
            *ty != T::UHugeInt && ty.integer_range().is_some_and(|(min, max)| (min..=max).contains(value))
        }
        (Value::Float(value), T::Real) => value.is_nan() || f64::from(*value as f32) == *value,
        (Value::List(values), T::List(element)) => values.iter().all(|value| is_of(value, element)),
        (Value::List(values), T::Array(element, length)) => {
            values.len() == *length as usize && values.iter().all(|value| is_of(value, element))
        }
        (Value::Struct(values), T::Struct(fields)) => {
            values.len() == fields.len()
                && values.iter().zip(fields.iter()).all(|(value, field)| is_of(value, &field.ty))
        }
        (Value::Map(entries), T::Map(entry)) => {
            entries.iter().all(|(key, value)| is_of(key, &entry.0) && is_of(value, &entry.1))
        }
        _ => false,
    }
}
