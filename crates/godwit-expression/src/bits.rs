//! Bitwise operators on integers.

use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_functions::Operator;
use godwit_vector::kernels::arithmetic::binary;
use godwit_vector::kernels::cast::convert;
use godwit_vector::{ColumnType, PhysicalType, Vector};

use crate::Expression;
use crate::expression::Kernel;

/// Compiles `left op right` for integers of up to 64 bits; unary operators ignore `right`.
pub(crate) fn compile(op: Operator, left: Expression, right: Expression, logical: &DataType) -> Result<Expression> {
    let output = ColumnType::new(logical.clone(), left.output().nullable || right.output().nullable)?;
    let kernel = Bits { op, width: output.physical.width_bytes() as i64 * 8, physical: output.physical };
    Ok(Expression::strict(kernel, vec![left, right], output))
}

/// The error for shifts of an integer by its number of bits or more, or by less than none.
pub(crate) fn shift_out_of_range(by: i128, bits: u32) -> Error {
    Error::user(format!("the shift {by} is out of range from 0 to {}", bits - 1))
        .with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
}

struct Bits {
    op: Operator,
    /// Width of the type in bits: shift counts must be less.
    width: i64,
    physical: PhysicalType,
}

impl Bits {
    fn is_shift(&self) -> bool {
        matches!(self.op, Operator::ShiftLeft | Operator::ShiftRight)
    }

    /// Fails if a row is shifted by the type's width or more. NULL rows don't count.
    fn check_shifts(&self, shifted: &Vector, by: &Vector, rows: usize) -> Result<()> {
        let flat = by.to_flat();
        let by_rows = flat.values::<i64>();
        let is_out = |row: usize| !(0..self.width).contains(&by_rows[row]) && shifted.is_valid(row) && by.is_valid(row);
        let Some(row) = (0..rows).find(|&row| is_out(row)) else { return Ok(()) };
        let by = match self.physical {
            PhysicalType::U64 => i128::from(by_rows[row] as u64),
            _ => i128::from(by_rows[row]),
        };
        Err(shift_out_of_range(by, self.width as u32))
    }
}

impl Kernel for Bits {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (a, b) = (convert(&arguments[0], PhysicalType::I64), convert(&arguments[1], PhysicalType::I64));
        if self.is_shift() {
            self.check_shifts(&a, &b, rows)?;
        }
        let unsigned = self.physical == PhysicalType::U64;
        let result = match self.op {
            Operator::BitAnd => binary(&a, &b, |x: i64, y: i64| x & y),
            Operator::BitOr => binary(&a, &b, |x: i64, y: i64| x | y),
            Operator::BitXor => binary(&a, &b, |x: i64, y: i64| x ^ y),
            Operator::BitNot => binary(&a, &b, |x: i64, _: i64| !x),
            // NULL rows may have any shift count: wrapping shifts don't panic.
            Operator::ShiftLeft => binary(&a, &b, |x: i64, y: i64| x.wrapping_shl(y as u32)),
            Operator::ShiftRight if unsigned => {
                binary(&a, &b, |x: i64, y: i64| (x as u64).wrapping_shr(y as u32) as i64)
            }
            Operator::ShiftRight => binary(&a, &b, |x: i64, y: i64| x.wrapping_shr(y as u32)),
        };
        Ok(convert(&result, self.physical))
    }

    fn can_fail(&self) -> bool {
        self.is_shift()
    }
}
