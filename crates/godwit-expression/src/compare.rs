//! Comparisons, ranges of integers, and tests for NULL and truth.

use godwit_common::{Error, Result};
use godwit_vector::kernels::boolean::{is_null, is_value, not};
use godwit_vector::kernels::compare::{self as kernels, Comparison};
use godwit_vector::sql::sql_type;
use godwit_vector::{ColumnType, Flat, PhysicalType, ValueRange, Vector};

use crate::arithmetic::scaled_up;
use crate::cast::{self, null_literal, to_physical};
use crate::compress::Compression;
use crate::expression::{Kernel, Operation};
use crate::{Expression, range};

/// The type of a boolean result.
pub(crate) fn boolean(nullable: bool) -> ColumnType {
    ColumnType { logical: arrow_schema::DataType::Boolean, physical: PhysicalType::Bool, nullable, range: None }
}

fn either_nullable(left: &Expression, right: &Expression) -> bool {
    left.output().nullable || right.output().nullable
}

fn is_null_literal(expression: &Expression) -> bool {
    matches!(expression.as_literal(), Some((_, true)))
}

/// Compiles `left op right`.
pub(crate) fn compile(op: Comparison, left: Expression, right: Expression, text: &str) -> Result<Expression> {
    if is_null_literal(&left) || is_null_literal(&right) {
        return null_literal(&arrow_schema::DataType::Boolean);
    }
    let nullable = either_nullable(&left, &right);
    let (left, right) = nested_as_bytes(left, right, text)?;
    let (left, right) = same_scale(left, right, text)?;
    if let Some(decided) = decided(op, &left, &right) {
        return Ok(Expression::boolean(decided));
    }
    let (left, right) = same_physical(left, right, text)?;
    Ok(Expression::new(Operation::Compare(op), vec![left, right], boolean(nullable)).folded())
}

/// Compiles IS DISTINCT FROM, or IS NOT DISTINCT FROM if `negated`.
pub(crate) fn compile_distinct(left: Expression, right: Expression, negated: bool, text: &str) -> Result<Expression> {
    if is_null_literal(&left) || is_null_literal(&right) {
        let other = if is_null_literal(&left) { right } else { left };
        return Ok(compile_test(Test::Null { negated: !negated }, other));
    }
    if let Some((Flat::Bool(value), false)) = right.as_literal() {
        let is_true = value[0] != 0;
        return Ok(compile_test(Test::Value { value: is_true, negated: !negated }, left));
    }
    let (left, right) = nested_as_bytes(left, right, text)?;
    let (left, right) = same_scale(left, right, text)?;
    let (left, right) = same_physical(left, right, text)?;
    Ok(Expression::strict(Distinct { negated }, vec![left, right], boolean(false)))
}

/// Converts lists, structs, maps and intervals of one type to bytes that compare as they do: a NULL inside is equal to
/// NULL, and sorts after all values.
fn nested_as_bytes(left: Expression, right: Expression, text: &str) -> Result<(Expression, Expression)> {
    let is_nested = |side: &Expression| side.output().physical == PhysicalType::Nested;
    if !is_nested(&left) && !is_nested(&right) {
        return Ok((left, right));
    }
    let (a, b) = (&left.output().logical, &right.output().logical);
    let right = if a.equals_datatype(b) {
        right
    } else if is_nested(&left) && is_nested(&right) && sql_type(a)? == sql_type(b)? {
        cast::compile(right.clone(), a, text)?
    } else {
        return Err(Error::user(format!("{text} compares {a} and {b}"))
            .with_hint("cast one side to the other's type, or compare their parts"));
    };
    Ok((Compression::Bytes.compress(&left), Compression::Bytes.compress(&right)))
}

/// Brings decimals (and integers compared with them) to one scale.
fn same_scale(left: Expression, right: Expression, text: &str) -> Result<(Expression, Expression)> {
    let (left_scale, right_scale) = (left.output().scale() as i32, right.output().scale() as i32);
    if left_scale == right_scale || !left.output().physical.is_integer() || !right.output().physical.is_integer() {
        return Ok((left, right));
    }
    let scale = left_scale.max(right_scale);
    Ok((scaled_up(left, scale - left_scale, text)?, scaled_up(right, scale - right_scale, text)?))
}

/// Brings both sides to one physical type; a literal adapts to the other side if it fits there.
pub(crate) fn same_physical(left: Expression, right: Expression, text: &str) -> Result<(Expression, Expression)> {
    let (a, b) = (left.output().physical, right.output().physical);
    if a == b {
        return Ok((left, right));
    }
    let is_float = |physical| matches!(physical, PhysicalType::F32 | PhysicalType::F64);
    let is_number = |physical: PhysicalType| physical.is_integer() || physical == PhysicalType::Bool;
    let common = if (is_float(a) || is_float(b)) && (is_float(a) || is_number(a)) && (is_float(b) || is_number(b)) {
        PhysicalType::F64
    } else if is_number(a) && is_number(b) {
        let bound = |expression: &Expression| expression.output().bound().expect("an integer type");
        if right.as_literal().is_some() && bound(&right).fits(a) {
            a
        } else if left.as_literal().is_some() && bound(&left).fits(b) {
            b
        } else {
            common_integer(bound(&left), bound(&right))
        }
    } else {
        return Err(Error::internal(format!(
            "{text} compares {} and {}",
            left.output().logical,
            right.output().logical
        )));
    };
    Ok((to_physical(&left, common), to_physical(&right, common)))
}

/// The type in which integers of both ranges are compared.
pub(crate) fn common_integer(a: ValueRange, b: ValueRange) -> PhysicalType {
    let both = range::union(a, b);
    if both.fits(PhysicalType::I64) { PhysicalType::I64 } else { PhysicalType::I128 }
}

/// Returns the result if the proven ranges decide it, and neither a NULL nor a failure is possible.
fn decided(op: Comparison, left: &Expression, right: &Expression) -> Option<bool> {
    if either_nullable(left, right) || left.can_fail() || right.can_fail() {
        return None;
    }
    let (a, b) = (left.output().range?, right.output().range?);
    let (less, greater) = (a.max < b.min, a.min > b.max);
    let (less_or_equal, greater_or_equal) = (a.max <= b.min, a.min >= b.max);
    let (always, never) = match op {
        Comparison::Less => (less, greater_or_equal),
        Comparison::LessOrEqual => (less_or_equal, greater),
        Comparison::Greater => (greater, less_or_equal),
        Comparison::GreaterOrEqual => (greater_or_equal, less),
        Comparison::Equal => (less_or_equal && greater_or_equal, less || greater),
        Comparison::NotEqual => (less || greater, less_or_equal && greater_or_equal),
    };
    if always {
        Some(true)
    } else if never {
        Some(false)
    } else {
        None
    }
}

/// Fuses lower and upper bounds of one integer column among conjuncts into a single range test.
pub(crate) fn fuse_ranges(conjuncts: Vec<Expression>) -> Vec<Expression> {
    let mut fused: Vec<Expression> = Vec::with_capacity(conjuncts.len());
    for conjunct in conjuncts {
        let joined = bounds_of(&conjunct).and_then(|(index, bounds)| {
            fused.iter_mut().find_map(|earlier| {
                let (other, earlier_bounds) = bounds_of(earlier)?;
                let both = range::intersect(bounds, earlier_bounds)?;
                (other == index).then_some((earlier, both))
            })
        });
        match joined {
            Some((earlier, both)) => {
                let column = conjunct.arguments()[0].clone();
                *earlier = Expression::new(Operation::Between(both), vec![column], earlier.output().clone());
            }
            None => fused.push(conjunct),
        }
    }
    fused
}

/// Returns the column and the values that a conjunct allows, if it is a one- or two-sided bound of an integer column.
fn bounds_of(conjunct: &Expression) -> Option<(usize, ValueRange)> {
    let index = conjunct.arguments().first()?.column_index()?;
    let limits = ValueRange::of_type(conjunct.arguments()[0].output().physical)?;
    let op = match conjunct.operation() {
        Operation::Between(bounds) => return Some((index, *bounds)),
        Operation::Compare(op) => *op,
        _ => return None,
    };
    let (value, false) = conjunct.arguments()[1].as_literal()? else { return None };
    let value = range::of_flat(value)?.min;
    let (min, max) = match op {
        Comparison::Less => (limits.min, value.checked_sub(1)?),
        Comparison::LessOrEqual => (limits.min, value),
        Comparison::Greater => (value.checked_add(1)?, limits.max),
        Comparison::GreaterOrEqual => (value, limits.max),
        Comparison::Equal | Comparison::NotEqual => return None,
    };
    let inside = limits.min <= min && min <= max && max <= limits.max;
    inside.then(|| (index, range::new(min, max)))
}

impl Kernel for Comparison {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(kernels::compare(*self, &arguments[0], &arguments[1]))
    }
}

impl Kernel for ValueRange {
    /// True where the argument lies in the range.
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(kernels::between(&arguments[0], self.min, self.max))
    }
}

struct Distinct {
    negated: bool,
}

impl Kernel for Distinct {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(kernels::is_distinct(&arguments[0], &arguments[1], self.negated))
    }
}

/// Tests of one argument.
#[derive(Clone, Copy)]
pub(crate) enum Test {
    /// NOT.
    Not,
    /// IS \[NOT\] NULL.
    Null { negated: bool },
    /// IS \[NOT\] TRUE, IS \[NOT\] FALSE.
    Value { value: bool, negated: bool },
}

/// Compiles a test.
pub(crate) fn compile_test(test: Test, argument: Expression) -> Expression {
    let nullable = argument.output().nullable;
    if let (Test::Null { negated }, false, false) = (test, nullable, argument.can_fail()) {
        return Expression::boolean(negated);
    }
    let output = boolean(matches!(test, Test::Not) && nullable);
    Expression::strict(test, vec![argument], output)
}

impl Kernel for Test {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let argument = &arguments[0];
        Ok(match *self {
            Test::Not => not(argument),
            Test::Null { negated } => is_null(argument, negated),
            Test::Value { value, negated } => is_value(argument, value, negated),
        })
    }
}
