//! Calls of functions.
//!
//! What computes a function is what the registry has put into the plan. Some of DataFusion's functions have kernels here
//! ([`native`]); the others run on Arrow arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{ReturnFieldArgs, ScalarUDF};
use godwit_common::{Error, Result};
use godwit_functions::{Operator, ScalarImplementation, arrow_type, error_of, sql_type};
use godwit_plan::{Expr, ScalarFunction, Volatility};
use godwit_types::calendar::MICROS_PER_DAY;
use godwit_types::{SqlType, Value};
use godwit_vector::{ColumnType, Flat, Vector, from_arrow, to_arrow};

use super::rows::RowFunction;
use super::types::column_type;
use super::{Compiler, casts, comparisons, conform, text_of, values};
use crate::arrow_call::ArrowFunction;
use crate::expression::Kernel;
use crate::{Expression, bits, cast, native, text};

impl Compiler<'_> {
    pub(super) fn call(&mut self, function: &ScalarFunction, args: &[Expr], expr: &Expr) -> Result<Expression> {
        let unknown = || Error::internal(format!("nothing computes the function {}", function.name));
        let implementation = function.implementation.downcast_ref::<ScalarImplementation>().ok_or_else(unknown)?;
        if let ScalarImplementation::Lambda(form) = implementation {
            return self.lambda_call(*form, args, expr);
        }
        let arguments = self.compile_all(args)?;
        let result = match (implementation, args) {
            (ScalarImplementation::Arrow { function, before, after }, _) => {
                let constants = |all: &[ScalarValue]| all.iter().map(Expression::literal).collect::<Result<Vec<_>>>();
                let arguments = [constants(before)?, arguments, constants(after)?].concat();
                match native::compile(function.name(), &arguments, &arrow_type(&expr.ty)?, &text_of(expr))? {
                    Some(native) => native,
                    None => self.arrow_function(function, arguments)?,
                }
            }
            (ScalarImplementation::Element(function, position), _) => {
                let list = self.arrow_function(function, arguments)?;
                let output = column_type(&expr.ty, true)?;
                Expression::strict(Element { position: *position }, vec![list], output)
            }
            (ScalarImplementation::Field(position), [structure, ..]) => field(&arguments[0], &structure.ty, *position)?,
            (ScalarImplementation::Cast, [.., input]) => {
                let argument = arguments[args.len() - 1].clone();
                casts::compile(argument, &input.ty, &expr.ty, false, &text_of(expr))?
            }
            (ScalarImplementation::Operator(op), [_] | [_, _]) => operation(*op, &arguments, &expr.ty)?,
            (ScalarImplementation::Clock, []) => values::literal(&moment(self.context.now(), &expr.ty), &expr.ty)?,
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

    /// A function of DataFusion, with its arguments in a layout that it takes.
    fn arrow_function(&self, function: &Arc<ScalarUDF>, arguments: Vec<Expression>) -> Result<Expression> {
        let field = |(at, argument): (usize, &Expression)| {
            let ColumnType { logical, nullable, .. } = argument.output();
            Arc::new(Field::new(format!("a{at}"), logical.clone(), *nullable))
        };
        let fields: Vec<FieldRef> = arguments.iter().enumerate().map(field).collect();
        let fields = fields_with_udf(&fields, function.as_ref()).map_err(|error| error_of(&error))?;
        let taken = arguments.into_iter().zip(&fields);
        let taken = taken.map(|(argument, field)| cast::compile(argument, field.data_type(), function.name()));
        let arguments = taken.collect::<Result<Vec<_>>>()?;
        let constants = arguments.iter().map(constant).collect::<Result<Vec<_>>>()?;
        let constants: Vec<Option<&ScalarValue>> = constants.iter().map(Option::as_ref).collect();
        let call = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants };
        let output = function.return_field_from_args(call).map_err(|error| error_of(&error))?;
        let ty = ColumnType::new(output.data_type().clone(), true)?;
        let config = Arc::clone(self.context.config());
        let kernel = ArrowFunction { function: Arc::clone(function), arguments: fields, output, config };
        Ok(Expression::strict(kernel, arguments, ty))
    }
}

/// The value, if it is a constant.
fn constant(argument: &Expression) -> Result<Option<ScalarValue>> {
    let Some((flat, is_null)) = argument.as_literal() else { return Ok(None) };
    let logical = &argument.output().logical;
    let scalar = match is_null {
        true => ScalarValue::try_new_null(logical),
        false => ScalarValue::try_from_array(&to_arrow(&Vector::flat(flat.clone(), None), logical)?, 0),
    };
    scalar.map(Some).map_err(|error| error_of(&error))
}

/// An operator of one operand or two.
fn operation(op: Operator, operands: &[Expression], ty: &SqlType) -> Result<Expression> {
    if operands.iter().any(|operand| matches!(operand.as_literal(), Some((_, true)))) {
        return values::literal(&Value::Null, ty);
    }
    let logical = arrow_type(ty)?;
    let (left, right) = (operands[0].clone(), operands[operands.len() - 1].clone());
    match op {
        Operator::Concat => Ok(text::compile_concatenation(left, right, &logical)),
        _ => bits::compile(op, left, right, &logical),
    }
}

/// A moment in microseconds since 1970, or the part of it that a type holds.
fn moment(micros: i64, ty: &SqlType) -> Value {
    match ty {
        SqlType::Date => {
            Value::Date(i32::try_from(micros.div_euclid(MICROS_PER_DAY)).expect("64 bits of microseconds are few days"))
        }
        SqlType::Time => Value::Time(micros.rem_euclid(MICROS_PER_DAY)),
        _ => Value::Timestamp(micros),
    }
}

/// A field of a struct.
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
        // A NULL has no fields, whatever its parts hold.
        let rows: UInt32Array = (0..array.len()).map(|row| arguments[0].is_valid(row).then_some(row as u32)).collect();
        taken(column, &rows)
    }
}

struct Element {
    position: i64,
}

impl Kernel for Element {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let Flat::Nested(array) = arguments[0].to_flat() else { unreachable!("lists are nested") };
        let lists = array.as_list_opt::<i32>().ok_or_else(|| Error::internal("the function gives no list"))?;
        let rows: UInt32Array = lists
            .value_offsets()
            .windows(2)
            .enumerate()
            .map(|(row, ends)| {
                let at = i64::from(ends[0]) + self.position - 1;
                let is_inside = i64::from(ends[0]) <= at && at < i64::from(ends[1]) && arguments[0].is_valid(row);
                is_inside.then_some(at as u32)
            })
            .collect();
        taken(lists.values(), &rows)
    }
}

/// The values at some rows of an array; NULL where there is no row.
fn taken(array: &ArrayRef, rows: &UInt32Array) -> Result<Vector> {
    let taken = arrow_select::take::take(array, rows, None).map_err(|error| Error::internal(error.to_string()))?;
    let logical = arrow_type(&sql_type(array.data_type())?)?;
    let taken = match *taken.data_type() == logical || matches!(logical, DataType::Null) {
        true => taken,
        false => arrow_cast::cast(&taken, &logical).map_err(|error| Error::internal(error.to_string()))?,
    };
    from_arrow(&taken)
}
