//! Arithmetic on integers and floats.
//!
//! Integer kernels come unchecked, for operands whose proven ranges exclude an overflow, and checked. The checked loops
//! don't stop at an overflow: they note it and check afterwards whether it was in a row that counts.

use crate::kernels::boolean::both_valid;
use crate::kernels::operand::{Operand, map_pairs};
use crate::{Bitmap, Native, Vector};

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// +
    Add,
    /// -
    Subtract,
    /// *
    Multiply,
    /// /, truncated toward zero for integers
    Divide,
    /// %, with the sign of the dividend
    Remainder,
}

/// Why a row has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticError {
    /// The result doesn't fit into the type.
    Overflow,
    /// The divisor is 0.
    DivisionByZero,
}

/// Integer types that arithmetic is done in.
pub trait Integer: Native + Ord {
    /// Result modulo 2^bits, and whether it overflowed. Not for divisions.
    fn overflowing(op: Arithmetic, a: Self, b: Self) -> (Self, bool);
    /// Quotient; the divisor isn't 0.
    fn quotient(a: Self, b: Self) -> (Self, bool);
    /// Remainder; the divisor isn't 0.
    fn remainder(a: Self, b: Self) -> Self;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
}

macro_rules! integer {
    ($t:ty, $quotient:expr) => {
        impl Integer for $t {
            #[inline(always)]
            fn overflowing(op: Arithmetic, a: Self, b: Self) -> (Self, bool) {
                match op {
                    Arithmetic::Add => a.overflowing_add(b),
                    Arithmetic::Subtract => a.overflowing_sub(b),
                    Arithmetic::Multiply => a.overflowing_mul(b),
                    Arithmetic::Divide | Arithmetic::Remainder => unreachable!("divisions have their own loop"),
                }
            }
            #[inline(always)]
            fn quotient(a: Self, b: Self) -> (Self, bool) {
                $quotient(a, b)
            }
            #[inline(always)]
            fn remainder(a: Self, b: Self) -> Self {
                a.wrapping_rem(b)
            }
            const ZERO: Self = 0;
            const ONE: Self = 1;
        }
    };
}
integer!(i64, |a: i64, b: i64| a.overflowing_div(b));
integer!(i128, |a: i128, b: i128| {
    // Division of 128-bit integers is many times slower, and seldom needed.
    if a == a as i64 as i128 && b == b as i64 as i128 {
        (a as i64 as i128 / b as i64 as i128, false)
    } else {
        a.overflowing_div(b)
    }
});

/// `a op b` for integers that can't overflow or whose result is checked in another way; not for divisions.
pub fn integer_unchecked<T: Integer>(op: Arithmetic, a: &Vector, b: &Vector) -> Vector {
    match op {
        Arithmetic::Add => binary(a, b, |x: T, y: T| T::overflowing(Arithmetic::Add, x, y).0),
        Arithmetic::Subtract => binary(a, b, |x: T, y: T| T::overflowing(Arithmetic::Subtract, x, y).0),
        Arithmetic::Multiply => binary(a, b, |x: T, y: T| T::overflowing(Arithmetic::Multiply, x, y).0),
        Arithmetic::Divide | Arithmetic::Remainder => unreachable!("divisions are always checked"),
    }
}

/// `a * b` for values that fit into 32 bits: one vector instruction instead of three multiplications per product.
pub fn multiply_narrow(a: &Vector, b: &Vector) -> Vector {
    binary(a, b, |x: i64, y: i64| (x as i32 as i64) * (y as i32 as i64))
}

/// `a * b` of 64-bit factors as 128-bit integers: never overflows.
pub fn multiply_wide(a: &Vector, b: &Vector) -> Vector {
    let (x, y) = (Operand::of(a), Operand::of(b));
    let product = |x: i64, y: i64| x as i128 * y as i128;
    let values =
        map_pairs((x.flat.values::<i64>(), x.constant), (y.flat.values::<i64>(), y.constant), a.len(), product);
    Vector::from_values(values, None).with_validity(both_valid(a, b))
}

/// `a op b` for integers; an error if a row overflows or is divided by zero.
pub fn integer_checked<T: Integer>(op: Arithmetic, a: &Vector, b: &Vector) -> Result<Vector, ArithmeticError> {
    match op {
        Arithmetic::Add => checked(a, b, |x: T, y: T| T::overflowing(Arithmetic::Add, x, y)),
        Arithmetic::Subtract => checked(a, b, |x: T, y: T| T::overflowing(Arithmetic::Subtract, x, y)),
        Arithmetic::Multiply => checked(a, b, |x: T, y: T| T::overflowing(Arithmetic::Multiply, x, y)),
        Arithmetic::Divide => divide(a, b, T::quotient),
        Arithmetic::Remainder => divide(a, b, |x: T, y: T| (T::remainder(x, y), false)),
    }
}

/// Float types that arithmetic is done in.
pub trait Float: Native {
    /// The result according to IEEE 754; divisions by zero give infinities and NaN.
    fn apply(op: Arithmetic, a: Self, b: Self) -> Self;
}

macro_rules! float {
    ($t:ty) => {
        impl Float for $t {
            #[inline(always)]
            fn apply(op: Arithmetic, a: Self, b: Self) -> Self {
                match op {
                    Arithmetic::Add => a + b,
                    Arithmetic::Subtract => a - b,
                    Arithmetic::Multiply => a * b,
                    Arithmetic::Divide => a / b,
                    Arithmetic::Remainder => a % b,
                }
            }
        }
    };
}
float!(f32);
float!(f64);

/// `a op b` for floats.
pub fn float<T: Float>(op: Arithmetic, a: &Vector, b: &Vector) -> Vector {
    match op {
        Arithmetic::Add => binary(a, b, |x, y| T::apply(Arithmetic::Add, x, y)),
        Arithmetic::Subtract => binary(a, b, |x, y| T::apply(Arithmetic::Subtract, x, y)),
        Arithmetic::Multiply => binary(a, b, |x, y| T::apply(Arithmetic::Multiply, x, y)),
        Arithmetic::Divide => binary(a, b, |x, y| T::apply(Arithmetic::Divide, x, y)),
        Arithmetic::Remainder => binary(a, b, |x, y| T::apply(Arithmetic::Remainder, x, y)),
    }
}

/// Applies `f` to each value; NULL stays NULL.
pub fn unary<A: Native, R: Native>(a: &Vector, f: impl Fn(A) -> R) -> Vector {
    let flat = Operand::of(a).flat;
    let values: Vec<R> = flat.values::<A>().iter().map(|&value| f(value)).collect();
    expand(values, a)
}

/// Wraps values: one per row of `like`, or a single one if it is constant; with the validity of `like`.
pub(crate) fn expand<R: Native>(values: Vec<R>, like: &Vector) -> Vector {
    let vector = match like.data() {
        crate::Data::Constant(_) => Vector::constant(R::into_flat(values.into()), like.len()),
        _ => Vector::from_values(values, None),
    };
    vector.with_validity(like.validity().cloned())
}

/// Applies `f` to each pair of values; NULL if either is.
pub fn binary<A: Native, B: Native, R: Native>(a: &Vector, b: &Vector, f: impl Fn(A, B) -> R) -> Vector {
    let (x, y) = (Operand::of(a), Operand::of(b));
    let values = map_pairs((x.flat.values::<A>(), x.constant), (y.flat.values::<B>(), y.constant), a.len(), f);
    Vector::from_values(values, None).with_validity(both_valid(a, b))
}

fn checked<T: Integer>(
    a: &Vector,
    b: &Vector,
    f: impl Fn(T, T) -> (T, bool) + Copy,
) -> Result<Vector, ArithmeticError> {
    let (x, y) = (Operand::of(a), Operand::of(b));
    let left = (x.flat.values::<T>(), x.constant);
    let right = (y.flat.values::<T>(), y.constant);
    let mut overflow = false;
    let values = map_pairs(left, right, a.len(), |x, y| {
        let (value, wrong) = f(x, y);
        overflow |= wrong;
        value
    });
    let validity = both_valid(a, b);
    if overflow {
        let flags = map_pairs(left, right, a.len(), |x, y| f(x, y).1);
        if flags.iter().enumerate().any(|(row, &wrong)| wrong && is_valid(validity.as_deref(), row)) {
            return Err(ArithmeticError::Overflow);
        }
    }
    Ok(Vector::from_values(values, None).with_validity(validity))
}

fn divide<T: Integer>(a: &Vector, b: &Vector, f: impl Fn(T, T) -> (T, bool)) -> Result<Vector, ArithmeticError> {
    let (x, y) = (Operand::of(a), Operand::of(b));
    let left = (x.flat.values::<T>(), x.constant);
    let right = (y.flat.values::<T>(), y.constant);
    let validity = both_valid(a, b);
    // Divisors of 0 are replaced: they are an error, or in NULL rows. Overflow occurs only with the divisor -1.
    let (mut zero, mut overflow) = (false, false);
    let values = map_pairs(left, right, a.len(), |x, y| {
        zero |= y == T::ZERO;
        let (value, wrong) = f(x, if y == T::ZERO { T::ONE } else { y });
        overflow |= wrong;
        value
    });
    if zero || overflow {
        let failed = map_pairs(left, right, a.len(), |x, y| match y == T::ZERO {
            true => Some(ArithmeticError::DivisionByZero),
            false => f(x, y).1.then_some(ArithmeticError::Overflow),
        });
        let first =
            failed.iter().enumerate().find(|(row, error)| error.is_some() && is_valid(validity.as_deref(), *row));
        if let Some((_, Some(error))) = first {
            return Err(*error);
        }
    }
    Ok(Vector::from_values(values, None).with_validity(validity))
}

fn is_valid(validity: Option<&Bitmap>, row: usize) -> bool {
    validity.is_none_or(|validity| validity.get(row))
}
