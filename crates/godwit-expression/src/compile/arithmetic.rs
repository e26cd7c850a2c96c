//! `+ - * / %` and the sign, on numbers; dates, times and intervals go to [`times`](super::times).
//!
//! Integers and decimals are computed in a width that follows from proven ranges ([`crate::arithmetic`]). Division by zero
//! is an error for floats as well.

use godwit_common::{Error, Result};
use godwit_types::{Arithmetic, SqlType, Value};
use godwit_vector::kernels::arithmetic::{self as kernels, Arithmetic as Operator};
use godwit_vector::sql::arrow_type;
use godwit_vector::{ColumnType, Native, PhysicalType, Vector};

use super::rows::RowFunction;
use super::times;
use super::types::exact_limit;
use super::values::literal_value;
use super::wide;
use crate::Expression;
use crate::arithmetic::{
    Target, compile_exact, compile_exact_negation, compile_negation as negated_float, division_by_zero, shortened,
};
use crate::cast::to_physical;
use crate::expression::Kernel;

/// An operand and its type.
pub(super) type Operand<'t> = (Expression, &'t SqlType);

/// Compiles `a op b` to a value of type `ty`.
pub(super) fn compile(op: Arithmetic, operands: [Operand<'_>; 2], ty: &SqlType, text: &str) -> Result<Expression> {
    if operands.iter().any(|(operand, _)| matches!(operand.as_literal(), Some((_, true)))) {
        return Expression::literal(&Value::Null, ty);
    }
    if !operands.iter().all(|(_, operand)| operand.is_numeric()) {
        return times::compile(op, operands, ty, text);
    }
    if *ty == SqlType::UHugeInt {
        return wide::unsigned(op, operands, text);
    }
    let [(a, _), (b, b_type)] = operands;
    let divides = matches!(op, Arithmetic::Divide | Arithmetic::Modulo);
    if ty.is_float() && divides {
        return divided(op, a, b, b_type, ty, text);
    }
    let logical = arrow_type(ty)?;
    match exact_target(ty, &logical) {
        Some(target) => compile_exact(operator(op), a, b, &target, text),
        None => crate::arithmetic::compile(operator(op), a, b, &logical, text),
    }
}

/// Compiles `-argument`.
pub(super) fn compile_negation(argument: Expression, ty: &SqlType, text: &str) -> Result<Expression> {
    if matches!(argument.as_literal(), Some((_, true))) {
        return Ok(argument);
    }
    let logical = arrow_type(ty)?;
    if let Some(target) = exact_target(ty, &logical) {
        return Ok(compile_exact_negation(argument, &target, text));
    }
    if ty.is_float() {
        return Ok(negated_float(argument, text));
    }
    let shown = shortened(text);
    let nullable = argument.output().nullable;
    let function = RowFunction {
        ty: ty.clone(),
        is_strict: true,
        can_fail: true,
        is_volatile: false,
        compute: move |values: &[Value]| match &values[0] {
            Value::Interval(interval) => {
                interval.checked_neg().map(Value::Interval).ok_or_else(|| times::out_of_range("interval", &shown))
            }
            other => Err(Error::internal(format!("{other:?} has no sign"))),
        },
    };
    function.call(vec![(argument, ty.clone())], nullable)
}

/// The target of arithmetic on an integer or decimal type.
fn exact_target<'t>(ty: &SqlType, logical: &'t arrow_schema::DataType) -> Option<Target<'t>> {
    let what = if ty.is_decimal() { "decimal" } else { "integer" };
    exact_limit(ty).map(|limit| Target { logical, limit, what })
}

pub(super) fn operator(op: Arithmetic) -> Operator {
    match op {
        Arithmetic::Add => Operator::Add,
        Arithmetic::Subtract => Operator::Subtract,
        Arithmetic::Multiply => Operator::Multiply,
        Arithmetic::Divide => Operator::Divide,
        Arithmetic::Modulo => Operator::Remainder,
    }
}

fn divided(
    op: Arithmetic,
    a: Expression,
    b: Expression,
    b_type: &SqlType,
    ty: &SqlType,
    text: &str,
) -> Result<Expression> {
    let physical = if *ty == SqlType::Real { PhysicalType::F32 } else { PhysicalType::F64 };
    let nullable = a.output().nullable || b.output().nullable;
    let output = ColumnType { logical: arrow_type(ty)?, physical, nullable, range: None };
    let may_be_zero = !matches!(literal_value(&b, b_type), Some(Value::Float(divisor)) if divisor != 0.0);
    let kernel = FloatDivision { op: operator(op), may_be_zero, text: shortened(text) };
    Ok(Expression::strict(kernel, vec![to_physical(&a, physical), to_physical(&b, physical)], output))
}

/// `/` and `%` of floats.
struct FloatDivision {
    op: Operator,
    may_be_zero: bool,
    text: String,
}

impl Kernel for FloatDivision {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (a, b) = (&arguments[0], &arguments[1]);
        let is_single = a.physical() == PhysicalType::F32;
        if self.may_be_zero {
            let fails = match is_single {
                true => divides_by_zero::<f32>(a, b, rows),
                false => divides_by_zero::<f64>(a, b, rows),
            };
            if fails {
                return Err(division_by_zero(&self.text));
            }
        }
        Ok(if is_single { kernels::float::<f32>(self.op, a, b) } else { kernels::float::<f64>(self.op, a, b) })
    }

    fn can_fail(&self) -> bool {
        self.may_be_zero
    }
}

/// True if a row has a divisor of zero. NaN divided by anything is NaN.
fn divides_by_zero<T: Native>(a: &Vector, b: &Vector, rows: usize) -> bool {
    let divisors = b.to_flat();
    let divisors = divisors.values::<T>();
    if !divisors.contains(&T::default()) {
        return false;
    }
    let dividends = a.to_flat();
    let dividends = dividends.values::<T>();
    let is_number = |value: T| value.partial_cmp(&value).is_some();
    let fails = |row: usize| divisors[row] == T::default() && is_number(dividends[row]);
    (0..rows).any(|row| fails(row) && a.is_valid(row) && b.is_valid(row))
}
