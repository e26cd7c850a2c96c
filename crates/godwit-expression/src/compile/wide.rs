//! Operations on integers of 128 bits for which there are no kernels: arithmetic of UHUGEINT, and operators on the bits
//! of HUGEINT and UHUGEINT.

use godwit_common::{Error, Result, SqlState};
use godwit_functions::Operator;
use godwit_types::{Arithmetic, SqlType, Value};

use super::arithmetic::Operand;
use super::rows::RowFunction;
use crate::Expression;
use crate::arithmetic::{division_by_zero, shortened};
use crate::bits::shift_out_of_range;

/// Compiles an operation on two UHUGEINT.
pub(super) fn unsigned(op: Arithmetic, operands: [Operand<'_>; 2], text: &str) -> Result<Expression> {
    let shown = shortened(text);
    let compute = move |values: &[Value]| match (op, &values[0], &values[1]) {
        (Arithmetic::Divide | Arithmetic::Modulo, _, Value::UHuge(0)) => Err(division_by_zero(&shown)),
        (_, Value::UHuge(a), Value::UHuge(b)) => op.on_unsigned(*a, *b).map(Value::UHuge).ok_or_else(|| {
            Error::user(format!("integer overflow in {shown}")).with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
        }),
        other => Err(Error::internal(format!("{other:?} isn't an operation on UHUGEINT"))),
    };
    call(compute, operands.map(|(operand, ty)| (operand, ty.clone())).into(), SqlType::UHugeInt, true)
}

/// Compiles an operator on the bits of one or two HUGEINT or UHUGEINT.
pub(super) fn bits(op: Operator, operands: &[Expression], ty: &SqlType) -> Result<Expression> {
    let is_unsigned = *ty == SqlType::UHugeInt;
    let of_bits = move |bits: u128| if is_unsigned { Value::UHuge(bits) } else { Value::Integer(bits as i128) };
    let compute = move |values: &[Value]| {
        let (a, b) = (bits_of(&values[0])?, bits_of(values.last().expect("operators have operands"))?);
        let shift = || match u32::try_from(b).ok().filter(|&by| by < u128::BITS) {
            Some(by) => Ok(by),
            None => Err(shift_out_of_range(of_bits(b).as_integer().unwrap_or(i128::MAX), u128::BITS)),
        };
        Ok(of_bits(match op {
            Operator::BitAnd => a & b,
            Operator::BitOr => a | b,
            Operator::BitXor => a ^ b,
            Operator::BitNot => !a,
            Operator::ShiftLeft => a << shift()?,
            Operator::ShiftRight if is_unsigned => a >> shift()?,
            Operator::ShiftRight => (a as i128 >> shift()?) as u128,
        }))
    };
    let can_fail = matches!(op, Operator::ShiftLeft | Operator::ShiftRight);
    call(compute, operands.iter().map(|operand| (operand.clone(), ty.clone())).collect(), ty.clone(), can_fail)
}

fn bits_of(value: &Value) -> Result<u128> {
    match value {
        Value::Integer(value) => Ok(*value as u128),
        Value::UHuge(value) => Ok(*value),
        other => Err(Error::internal(format!("{other:?} isn't an integer"))),
    }
}

fn call(
    compute: impl Fn(&[Value]) -> Result<Value> + Send + Sync + 'static,
    operands: Vec<(Expression, SqlType)>,
    ty: SqlType,
    can_fail: bool,
) -> Result<Expression> {
    let nullable = operands.iter().any(|(operand, _)| operand.output().nullable);
    RowFunction { ty, is_strict: true, can_fail, is_volatile: false, compute }.call(operands, nullable)
}
