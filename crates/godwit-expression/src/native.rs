//! Functions with kernels here, which know the ranges of their numbers, used instead of those of `godwit-scalar`.

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_vector::kernels::arithmetic::unary;
use godwit_vector::kernels::compare::Comparison;
use godwit_vector::{ColumnType, PhysicalType, Vector};

use crate::branches::unified;
use crate::cast::{limit_of, to_physical};
use crate::expression::{Kernel, Operation};
use crate::{Expression, arithmetic, compare, range, temporal, text};

/// Compiles a function by name to kernels, if there are any for these arguments. The result may have another integer
/// type than `logical`.
pub(crate) fn compile(
    name: &str,
    arguments: &[Expression],
    logical: &DataType,
    shown: &str,
) -> Result<Option<Expression>> {
    Ok(match (name, arguments) {
        ("date_part", [field, argument]) => {
            constant_text(field).and_then(|field| temporal::date_part(&field, argument))
        }
        ("year" | "quarter" | "month" | "day" | "dayofweek" | "dayofyear", [argument]) => {
            temporal::date_part(name, argument)
        }
        ("date_trunc", [unit, argument]) => constant_text(unit).and_then(|unit| temporal::date_trunc(&unit, argument)),
        ("abs", [argument]) if argument.output().logical.is_integer() || argument.output().logical.is_decimal() => {
            absolute(argument, shown)?
        }
        _ => text::compile(name, arguments, logical),
    })
}

struct Absolute;

impl Kernel for Absolute {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        // NULL rows may have any value.
        Ok(match arguments[0].physical() {
            PhysicalType::I128 => unary(&arguments[0], i128::wrapping_abs),
            _ => unary(&arguments[0], i64::wrapping_abs),
        })
    }
}

fn constant_text(argument: &Expression) -> Option<String> {
    match argument.as_literal() {
        Some((flat, false)) if flat.physical() == PhysicalType::Str => {
            Some(String::from_utf8_lossy(flat.strings().get(0)).into_owned())
        }
        _ => None,
    }
}

/// |argument|: a kernel where it is proven to fit, else a CASE over the sign, whose negation may fail.
fn absolute(argument: &Expression, text: &str) -> Result<Option<Expression>> {
    let own = argument.output();
    let bound = own.bound();
    let proven = bound.and_then(range::absolute);
    if let (Some(bound), Some(proven), Some(limit)) = (bound, proven, limit_of(&own.logical))
        && range::contains(limit, proven)
    {
        let is_narrow = bound.fits(PhysicalType::I64) && proven.fits(PhysicalType::I64);
        let physical = if is_narrow { PhysicalType::I64 } else { PhysicalType::I128 };
        let output = ColumnType { physical, range: Some(proven), ..own.clone() };
        return Ok(Some(Expression::strict(Absolute, vec![to_physical(argument, physical)], output)));
    }
    let zero = arithmetic::integer_literal(0, &argument.output().logical);
    let negative = compare::compile(Comparison::Less, argument.clone(), zero, text)?;
    let negated = arithmetic::compile_negation(argument.clone(), text);
    let (values, mut output) = unified(vec![negated, argument.clone()], &argument.output().logical)?;
    output.range = argument.output().bound().and_then(range::absolute);
    let [negated, argument]: [Expression; 2] = values.try_into().expect("two values");
    Ok(Some(Expression::new(Operation::Case, vec![negative, negated, argument], output).folded()))
}
