//! Calls of functions.
//!
//! The registry has put what computes a function into the plan. Some functions have kernels here that know the ranges
//! of numbers ([`native`]).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_functions::{Operator, ScalarImplementation};
use godwit_plan::{Expr, ScalarFunction, Volatility};
use godwit_scalar::{Kernel as VectorKernel, Work};
use godwit_types::calendar::MICROS_PER_DAY;
use godwit_types::{SqlType, TimeTz, Value};
use godwit_vector::sql::{arrow_type, column_type, sql_type};
use godwit_vector::{Flat, Vector, from_arrow, in_layout};

use super::rows::RowFunction;
use super::{Compiler, comparisons, conform, text_of, wide};
use crate::cast::to_physical;
use crate::expression::Kernel;
use crate::{Expression, bits, native};

impl Compiler<'_> {
    pub(super) fn call(&mut self, function: &ScalarFunction, args: &[Expr], expr: &Expr) -> Result<Expression> {
        let unknown = || Error::internal(format!("nothing computes the function {}", function.name));
        let implementation = function.implementation.downcast_ref::<ScalarImplementation>().ok_or_else(unknown)?;
        if let ScalarImplementation::Lambda(form) = implementation {
            return self.lambda_call(*form, args, expr);
        }
        let arguments = self.compile_all(args)?;
        let result = match (implementation, args) {
            (ScalarImplementation::Kernel(name, kernel), _) => {
                match native::compile(name, &arguments, &arrow_type(&expr.ty)?, &text_of(expr, self.context))? {
                    Some(native) => native,
                    None => self.kernel_call(function, kernel, args, arguments, expr)?,
                }
            }
            (ScalarImplementation::Field(position), [structure, ..]) => field(&arguments[0], &structure.ty, *position)?,
            (ScalarImplementation::Operator(op), [_] | [_, _]) => operation(*op, &arguments, &expr.ty)?,
            (ScalarImplementation::Clock, []) => Expression::literal(&moment(self.context.now(), &expr.ty), &expr.ty)?,
            (ScalarImplementation::Values(compute), _) => {
                let compute = Arc::clone(compute);
                let row_function = RowFunction {
                    ty: expr.ty.clone(),
                    is_strict: function.strict,
                    can_fail: function.may_fail,
                    is_volatile: function.volatility == Volatility::Volatile,
                    compute: move |values: &[Value]| compute(values),
                };
                let types = args.iter().map(|arg| arg.ty.clone());
                row_function.call(arguments.into_iter().zip(types).collect(), true)?
            }
            (ScalarImplementation::OrderKey, [input]) => comparisons::order_key(arguments[0].clone(), &input.ty)?,
            _ => return Err(unknown()),
        };
        conform(result, &expr.ty)
    }

    /// Compiles a call of a vector function, which takes each argument in the natural physical type of its SQL type.
    fn kernel_call(
        &self,
        function: &ScalarFunction,
        kernel: &Arc<dyn VectorKernel>,
        args: &[Expr],
        arguments: Vec<Expression>,
        expr: &Expr,
    ) -> Result<Expression> {
        let natural = |(argument, arg): (Expression, &Expr)| {
            let physical = column_type(&arg.ty, true)?.physical;
            Ok(if physical.is_integer() { to_physical(&argument, physical) } else { argument })
        };
        let arguments = arguments.into_iter().zip(args).map(natural).collect::<Result<Vec<_>>>()?;
        let call = FunctionCall {
            kernel: Arc::clone(kernel),
            work: Arc::clone(self.context.work()),
            can_fail: function.may_fail,
            is_volatile: function.volatility == Volatility::Volatile,
        };
        Ok(Expression::strict(call, arguments, column_type(&expr.ty, expr.nullable)?))
    }
}

/// A call of a function of `godwit-scalar` on behalf of a statement.
pub(super) struct FunctionCall {
    pub(super) kernel: Arc<dyn VectorKernel>,
    pub(super) work: Arc<dyn Work>,
    pub(super) can_fail: bool,
    pub(super) is_volatile: bool,
}

impl Kernel for FunctionCall {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        self.kernel.evaluate(arguments, rows, &*self.work)
    }

    fn can_fail(&self) -> bool {
        self.can_fail
    }

    fn is_volatile(&self) -> bool {
        self.is_volatile
    }
}

/// Compiles a unary or binary operator.
fn operation(op: Operator, operands: &[Expression], ty: &SqlType) -> Result<Expression> {
    if operands.iter().any(|operand| matches!(operand.as_literal(), Some((_, true)))) {
        return Expression::literal(&Value::Null, ty);
    }
    if ty.integer_bits() == Some(128) {
        return wide::bits(op, operands, ty);
    }
    let logical = arrow_type(ty)?;
    let (left, right) = (operands[0].clone(), operands[operands.len() - 1].clone());
    bits::compile(op, left, right, &logical)
}

/// Returns a moment, in microseconds since 1970, as a value of a type: the part of it that the type holds.
fn moment(micros: i64, ty: &SqlType) -> Value {
    match ty {
        SqlType::Date => {
            Value::Date(i32::try_from(micros.div_euclid(MICROS_PER_DAY)).expect("64 bits of microseconds are few days"))
        }
        SqlType::Time => Value::Time(micros.rem_euclid(MICROS_PER_DAY)),
        SqlType::TimeTz => {
            Value::TimeTz(TimeTz::new(micros.rem_euclid(MICROS_PER_DAY), 0).expect("it is a time of day in UTC"))
        }
        _ => Value::Timestamp(micros),
    }
}

/// Compiles access to a field of a struct.
fn field(structure: &Expression, ty: &SqlType, position: usize) -> Result<Expression> {
    let field = ty.fields().and_then(|fields| fields.get(position));
    let field = field.ok_or_else(|| Error::internal(format!("{ty} has no field {position}")))?;
    let output = column_type(&field.ty, true)?;
    Ok(Expression::strict(FieldOf { position }, vec![structure.clone()], output))
}

struct FieldOf {
    position: usize,
}

impl Kernel for FieldOf {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let Flat::Nested(array) = arguments[0].to_flat() else { unreachable!("structs are nested") };
        let column = array.as_struct().column(self.position);
        // A NULL struct has NULL fields, whatever its parts hold.
        let rows: UInt32Array = (0..array.len()).map(|row| arguments[0].is_valid(row).then_some(row as u32)).collect();
        taken(column, &rows)
    }
}

/// Takes the values at `rows` of an array; NULL where a row is NULL.
fn taken(array: &ArrayRef, rows: &UInt32Array) -> Result<Vector> {
    let taken = arrow_select::take::take(array, rows, None).map_err(|error| Error::internal(error.to_string()))?;
    let logical = arrow_type(&sql_type(array.data_type())?)?;
    match logical {
        DataType::Null => from_arrow(&taken),
        logical => from_arrow(&in_layout(&taken, &logical)?),
    }
}
