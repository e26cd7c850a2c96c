//! Bitwise operators of integers.

use arrow_schema::DataType;
use datafusion_expr::Operator;
use godwit_common::{Error, Result};
use godwit_vector::kernels::arithmetic::binary;
use godwit_vector::kernels::cast::convert;
use godwit_vector::{ColumnType, PhysicalType, Vector};

use crate::Expression;
use crate::expression::Kernel;

/// Compiles `left op right` for integers of up to 64 bits.
pub(crate) fn compile(op: Operator, left: Expression, right: Expression, logical: &DataType) -> Result<Expression> {
    if !logical.is_integer() {
        return Err(Error::unsupported(format!("the operator {op} on {logical}")));
    }
    let output = ColumnType::new(logical.clone(), left.output().nullable || right.output().nullable)?;
    let kernel = Bits { op, width: output.physical.width_bytes() as u32 * 8, physical: output.physical };
    Ok(Expression::strict(kernel, vec![left, right], output))
}

struct Bits {
    op: Operator,
    /// Of the type, in bits: shifts count modulo it.
    width: u32,
    physical: PhysicalType,
}

impl Kernel for Bits {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let (a, b) = (convert(&arguments[0], PhysicalType::I64), convert(&arguments[1], PhysicalType::I64));
        let width = self.width;
        let unsigned = self.physical == PhysicalType::U64;
        let result = match self.op {
            Operator::BitwiseAnd => binary(&a, &b, |x: i64, y: i64| x & y),
            Operator::BitwiseOr => binary(&a, &b, |x: i64, y: i64| x | y),
            Operator::BitwiseXor => binary(&a, &b, |x: i64, y: i64| x ^ y),
            Operator::BitwiseShiftLeft => binary(&a, &b, |x: i64, y: i64| x << (y as u32 % width)),
            _ if unsigned => binary(&a, &b, |x: i64, y: i64| ((x as u64) >> (y as u32 % width)) as i64),
            _ => binary(&a, &b, |x: i64, y: i64| x >> (y as u32 % width)),
        };
        Ok(convert(&result, self.physical))
    }
}
