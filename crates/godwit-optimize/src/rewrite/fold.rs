//! Constant folding.
//!
//! Expressions that fail (an overflow, a text that isn't a number) are left as they are: the executor raises the error
//! when it reaches a row for which the expression is evaluated, and only then. Large values are left as well:
//! `repeat('x', 300000000)` doesn't belong in a plan. Casts that depend on the session's time zone can't be evaluated
//! here.

use std::cmp::Ordering;

use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind, FunctionRegistry};
use godwit_types::calendar::days_later;
use godwit_types::interval::{date_add, time_add, timestamp_add, timestamp_diff};
use godwit_types::{Interval, SqlType, Value, cast_value, compare_values, sql_compare};

/// Bytes of the longest string that becomes part of a plan.
const TEXT_MAX: usize = 64 << 10;

/// Elements of the longest list that becomes part of a plan.
const ELEMENTS_MAX: usize = 1_024;

/// Evaluates an expression of constants.
pub(crate) fn fold(expr: &Expr, functions: &dyn FunctionRegistry) -> Option<Expr> {
    let value = match &expr.kind {
        ExprKind::Call(..) => functions.evaluate(is_call_of_constants(expr).then_some(expr)?)?.ok()?,
        _ => fold_operation(expr)?,
    };
    is_small(&value).then(|| Expr::literal(value, expr.ty.clone()).at(expr.span))
}

fn is_call_of_constants(expr: &Expr) -> bool {
    let is_known = |arg: &&Expr| matches!(arg.kind, ExprKind::Literal(_) | ExprKind::Lambda(..));
    expr.children().iter().all(is_known) && expr.is_constant()
}

fn fold_operation(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Cast { input, lenient } => {
            let value = input.as_literal()?;
            if depends_on_time_zone(&input.ty, &expr.ty) {
                return None;
            }
            match cast_value(value, &input.ty, &expr.ty) {
                Ok(value) => Some(value),
                Err(_) => lenient.then_some(Value::Null),
            }
        }
        ExprKind::Compare(comparison, a, b) => compare(*comparison, a.as_literal()?, b.as_literal()?, &a.ty),
        ExprKind::Not(input) => Some(match input.as_literal()? {
            Value::Boolean(value) => Value::Boolean(!value),
            _ => Value::Null,
        }),
        ExprKind::IsNull(input) => Some(Value::Boolean(input.as_literal()?.is_null())),
        ExprKind::Try(input) => input.as_literal().cloned(),
        ExprKind::Negate(input) => negate(input.as_literal()?, &expr.ty),
        ExprKind::Arithmetic(op, a, b) => {
            let (left, right) = (a.as_literal()?, b.as_literal()?);
            if left.is_null() || right.is_null() {
                return Some(Value::Null);
            }
            let is_zoned = [&a.ty, &b.ty].contains(&&SqlType::TimestampTz);
            if is_zoned { None } else { arithmetic(*op, left, right, &expr.ty) }
        }
        ExprKind::InList(value, list) => {
            let (value, ty) = (value.as_literal()?, &value.ty);
            let list = list.iter().map(Expr::as_literal).collect::<Option<Vec<_>>>()?;
            let equal: Vec<_> = list.iter().map(|item| sql_compare(value, item, ty).map(Ordering::is_eq)).collect();
            Some(match () {
                () if equal.contains(&Some(true)) => Value::Boolean(true),
                () if equal.contains(&None) => Value::Null,
                () => Value::Boolean(false),
            })
        }
        _ => None,
    }
}

/// Evaluates `a comparison b` for values of one type.
pub(crate) fn compare(comparison: Comparison, a: &Value, b: &Value, ty: &SqlType) -> Option<Value> {
    let order = match comparison.is_null_safe() {
        true => compare_values(a, b, ty),
        false => match sql_compare(a, b, ty) {
            Some(order) => order,
            None => return Some(Value::Null),
        },
    };
    Some(Value::Boolean(comparison.holds(order)))
}

/// Returns true if a cast depends on the session's time zone.
pub(crate) fn depends_on_time_zone(from: &SqlType, to: &SqlType) -> bool {
    from != to && (has_time_zone(from) || has_time_zone(to))
}

fn has_time_zone(ty: &SqlType) -> bool {
    ty.has_part(&|part| *part == SqlType::TimestampTz)
}

fn negate(value: &Value, ty: &SqlType) -> Option<Value> {
    Some(match value {
        Value::Null => Value::Null,
        Value::Integer(value) => in_range(value.checked_neg()?, ty)?,
        Value::Float(value) => Value::Float(-value),
        Value::Interval(value) => Value::Interval(value.checked_neg()?),
        _ => return None,
    })
}

/// Evaluates an arithmetic operation; `None` if it fails.
fn arithmetic(op: Arithmetic, a: &Value, b: &Value, ty: &SqlType) -> Option<Value> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => in_range(on_integers(op, *a, *b)?, ty),
        (Value::UHuge(a), Value::UHuge(b)) => op.on_unsigned(*a, *b).map(Value::UHuge),
        (Value::Float(a), Value::Float(b)) if ty.is_float() => on_floats(op, *a, *b, ty).map(Value::Float),
        _ => on_times(op, a, b),
    }
}

fn on_integers(op: Arithmetic, a: i128, b: i128) -> Option<i128> {
    match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => a.checked_rem(b),
    }
}

/// Evaluates an operation on floats; division by zero and overflow are left to the executor.
fn on_floats(op: Arithmetic, a: f64, b: f64, ty: &SqlType) -> Option<f64> {
    let value = match op {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0.0 => return None,
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
    };
    let value = if *ty == SqlType::Real { f64::from(value as f32) } else { value };
    (value.is_finite() || !a.is_finite() || !b.is_finite()).then_some(value)
}

fn on_times(op: Arithmetic, a: &Value, b: &Value) -> Option<Value> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Value::{Date, Float, Integer, Time, Timestamp};
    Some(match (op, a, b) {
        (Add, Date(date), Integer(days)) | (Add, Integer(days), Date(date)) => Date(days_later(*date, *days)?),
        (Subtract, Date(date), Integer(days)) => Date(days_later(*date, days.checked_neg()?)?),
        (Subtract, Date(a), Date(b)) => Integer(i128::from(*a) - i128::from(*b)),
        (Add, Date(date), Time(time)) | (Add, Time(time), Date(date)) => {
            Timestamp(date_add(*date, Interval { micros: *time, ..Interval::default() })?)
        }
        (Add, Date(date), Value::Interval(by)) | (Add, Value::Interval(by), Date(date)) => {
            Timestamp(date_add(*date, *by)?)
        }
        (Subtract, Date(date), Value::Interval(by)) => Timestamp(date_add(*date, by.checked_neg()?)?),
        (Add, Timestamp(at), Value::Interval(by)) | (Add, Value::Interval(by), Timestamp(at)) => {
            Timestamp(timestamp_add(*at, *by)?)
        }
        (Subtract, Timestamp(at), Value::Interval(by)) => Timestamp(timestamp_add(*at, by.checked_neg()?)?),
        (Subtract, Timestamp(a), Timestamp(b)) => Value::Interval(timestamp_diff(*a, *b)?),
        (Add, Time(time), Value::Interval(by)) | (Add, Value::Interval(by), Time(time)) => Time(time_add(*time, *by)),
        (Subtract, Time(time), Value::Interval(by)) => Time(time_add(*time, by.checked_neg()?)),
        (Subtract, Time(a), Time(b)) => Value::Interval(Interval { micros: a - b, ..Interval::default() }),
        (Add, Value::Interval(a), Value::Interval(b)) => Value::Interval(a.checked_add(*b)?),
        (Subtract, Value::Interval(a), Value::Interval(b)) => Value::Interval(a.checked_sub(*b)?),
        (Multiply, Value::Interval(by), Float(factor)) | (Multiply, Float(factor), Value::Interval(by)) => {
            Value::Interval(by.checked_mul(*factor)?)
        }
        (Divide, Value::Interval(by), Float(divisor)) => Value::Interval(by.checked_div(*divisor)?),
        _ => return None,
    })
}

fn in_range(value: i128, ty: &SqlType) -> Option<Value> {
    let fits = match ty {
        SqlType::Decimal { precision, .. } => value.unsigned_abs() < 10u128.pow(u32::from(*precision)),
        _ => ty.integer_range().is_some_and(|(least, greatest)| (least..=greatest).contains(&value)),
    };
    fits.then_some(Value::Integer(value))
}

fn is_small(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.len() <= TEXT_MAX,
        Value::Blob(bytes) => bytes.len() <= TEXT_MAX,
        Value::List(values) | Value::Struct(values) => values.len() <= ELEMENTS_MAX && values.iter().all(is_small),
        Value::Map(entries) => {
            entries.len() <= ELEMENTS_MAX && entries.iter().all(|(key, value)| is_small(key) && is_small(value))
        }
        _ => true,
    }
}
