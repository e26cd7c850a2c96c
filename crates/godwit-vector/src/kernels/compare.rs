//! Comparisons.
//!
//! Floats follow the order of PostgreSQL: all NaN are equal and greater than every number, -0.0 equals 0.0. Strings
//! compare by bytes. Both sides have one physical type.

use crate::kernels::boolean::both_valid;
use crate::kernels::operand::{Operand, map_pairs};
use crate::{Data, Flat, StrView, Vector};

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// =
    Equal,
    /// <>
    NotEqual,
    /// <
    Less,
    /// <=
    LessOrEqual,
    /// >
    Greater,
    /// >=
    GreaterOrEqual,
}

impl Comparison {
    /// The operator that gives the same result when the sides are swapped.
    pub fn swapped(self) -> Self {
        use Comparison::*;
        match self {
            Less => Greater,
            LessOrEqual => GreaterOrEqual,
            Greater => Less,
            GreaterOrEqual => LessOrEqual,
            same => same,
        }
    }

    /// True if the operator holds for two values of this order.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        use Comparison::*;
        match self {
            Equal => order.is_eq(),
            NotEqual => order.is_ne(),
            Less => order.is_lt(),
            LessOrEqual => order.is_le(),
            Greater => order.is_gt(),
            GreaterOrEqual => order.is_ge(),
        }
    }

    fn is_equality(self) -> bool {
        matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

/// `a op b` in every row, NULL where either side is.
pub fn compare(op: Comparison, a: &Vector, b: &Vector) -> Vector {
    let rows = a.len();
    assert_eq!(rows, b.len());
    let values = match (a.data(), b.data()) {
        (Data::Dictionary(x, left), Data::Dictionary(y, right))
            if left.id() == right.id() && (op.is_equality() || left.is_ordered()) =>
        {
            compare_values::<u32>(op, (x, false), (y, false), rows)
        }
        (Data::Dictionary(codes, dictionary), Data::Constant(value)) if dictionary.len() <= rows => {
            compare_entries(op, codes, dictionary.values(), value)
        }
        (Data::Constant(value), Data::Dictionary(codes, dictionary)) if dictionary.len() <= rows => {
            compare_entries(op.swapped(), codes, dictionary.values(), value)
        }
        _ => compare_operands(op, &Operand::of(a), &Operand::of(b), rows),
    };
    Vector::from_bools(values, None).with_validity(both_valid(a, b))
}

/// IS DISTINCT FROM, or IS NOT DISTINCT FROM if `negated`: NULL-safe comparison, never NULL.
pub fn is_distinct(a: &Vector, b: &Vector, negated: bool) -> Vector {
    let equal = compare(Comparison::Equal, a, b);
    let flat = equal.to_flat();
    let mut values = flat.bools().to_vec();
    if a.has_nulls() || b.has_nulls() {
        for (row, value) in values.iter_mut().enumerate() {
            let (left, right) = (a.is_valid(row), b.is_valid(row));
            *value = *value & (left & right) as u8 | (!left & !right) as u8;
        }
    }
    if !negated {
        values.iter_mut().for_each(|value| *value ^= 1);
    }
    Vector::from_bools(values, None)
}

/// `min <= a <= max` in every row for an integer vector; the bounds must fit its type.
pub fn between(a: &Vector, min: i128, max: i128) -> Vector {
    let operand = Operand::of(a);
    macro_rules! test {
        ($values:expr, $t:ty) => {{
            let (min, max) = (min as $t, max as $t);
            $values.iter().map(|&value| (value >= min) as u8 & (value <= max) as u8).collect::<Vec<u8>>()
        }};
    }
    let mut values = match &operand.flat {
        Flat::I8(v) => test!(v, i8),
        Flat::I16(v) => test!(v, i16),
        Flat::I32(v) => test!(v, i32),
        Flat::I64(v) => test!(v, i64),
        Flat::I128(v) => test!(v, i128),
        Flat::U8(v) => test!(v, u8),
        Flat::U16(v) => test!(v, u16),
        Flat::U32(v) => test!(v, u32),
        Flat::U64(v) => test!(v, u64),
        other => panic!("{:?} has no integer bounds", other.physical()),
    };
    if operand.constant {
        values = vec![values[0]; a.len()];
    }
    Vector::from_bools(values, None).with_validity(a.validity().cloned())
}

/// Compares once per dictionary entry, then looks up the result of each row.
fn compare_entries(op: Comparison, codes: &[u32], entries: &Flat, value: &Flat) -> Vec<u8> {
    let left = Operand { flat: entries.clone(), constant: false };
    let right = Operand { flat: value.clone(), constant: true };
    let mut results = compare_operands(op, &left, &right, entries.len());
    // Codes of NULL rows are 0 even if the dictionary is empty.
    if results.is_empty() {
        results.push(0);
    }
    codes.iter().map(|&code| results[code as usize]).collect()
}

/// Values with equality and a strict order.
trait Ordered: Copy {
    fn equals(self, other: Self) -> bool;
    fn less(self, other: Self) -> bool;
}

macro_rules! ordered {
    ($($t:ty),*) => { $( impl Ordered for $t {
        #[inline(always)]
        fn equals(self, other: Self) -> bool { self == other }
        #[inline(always)]
        fn less(self, other: Self) -> bool { self < other }
    } )* };
}
ordered!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! ordered_floats {
    ($($t:ty),*) => { $( impl Ordered for $t {
        #[inline(always)]
        fn equals(self, other: Self) -> bool { (self == other) | (self.is_nan() & other.is_nan()) }
        #[inline(always)]
        fn less(self, other: Self) -> bool { (self < other) | (!self.is_nan() & other.is_nan()) }
    } )* };
}
ordered_floats!(f32, f64);

fn compare_operands(op: Comparison, a: &Operand, b: &Operand, rows: usize) -> Vec<u8> {
    macro_rules! values {
        ($x:expr, $y:expr) => {
            compare_values(op, (&$x[..], a.constant), (&$y[..], b.constant), rows)
        };
    }
    match (&a.flat, &b.flat) {
        (Flat::Bool(x), Flat::Bool(y)) | (Flat::U8(x), Flat::U8(y)) => values!(x, y),
        (Flat::I8(x), Flat::I8(y)) => values!(x, y),
        (Flat::I16(x), Flat::I16(y)) => values!(x, y),
        (Flat::I32(x), Flat::I32(y)) => values!(x, y),
        (Flat::I64(x), Flat::I64(y)) => values!(x, y),
        (Flat::I128(x), Flat::I128(y)) => values!(x, y),
        (Flat::U16(x), Flat::U16(y)) => values!(x, y),
        (Flat::U32(x), Flat::U32(y)) => values!(x, y),
        (Flat::U64(x), Flat::U64(y)) => values!(x, y),
        (Flat::F32(x), Flat::F32(y)) => values!(x, y),
        (Flat::F64(x), Flat::F64(y)) => values!(x, y),
        (Flat::Str(x), Flat::Str(y)) => compare_strings(op, (x.views(), a.constant), (y.views(), b.constant), rows),
        (x, y) => panic!("{:?} and {:?} don't compare", x.physical(), y.physical()),
    }
}

fn compare_values<T: Ordered>(op: Comparison, a: (&[T], bool), b: (&[T], bool), rows: usize) -> Vec<u8> {
    match op {
        Comparison::Equal => map_pairs(a, b, rows, |x, y| x.equals(y) as u8),
        Comparison::NotEqual => map_pairs(a, b, rows, |x, y| !x.equals(y) as u8),
        Comparison::Less => map_pairs(a, b, rows, |x, y| x.less(y) as u8),
        Comparison::LessOrEqual => map_pairs(a, b, rows, |x, y| !y.less(x) as u8),
        Comparison::Greater => map_pairs(a, b, rows, |x, y| y.less(x) as u8),
        Comparison::GreaterOrEqual => map_pairs(a, b, rows, |x, y| !x.less(y) as u8),
    }
}

/// The views belong to string columns that are alive.
fn compare_strings(op: Comparison, a: (&[StrView], bool), b: (&[StrView], bool), rows: usize) -> Vec<u8> {
    let short = |(views, constant): (&[StrView], bool)| constant && views[0].is_inline();
    match op {
        // A short constant equals only strings with the same 16 bytes.
        Comparison::Equal if short(a) || short(b) => map_pairs(a, b, rows, |x, y| (x.bits() == y.bits()) as u8),
        Comparison::NotEqual if short(a) || short(b) => map_pairs(a, b, rows, |x, y| (x.bits() != y.bits()) as u8),
        // SAFETY: the callers hold the columns of all views.
        Comparison::Equal => map_pairs(a, b, rows, |x, y| unsafe { x.equals(&y) } as u8),
        // SAFETY: as above.
        Comparison::NotEqual => map_pairs(a, b, rows, |x, y| !unsafe { x.equals(&y) } as u8),
        // SAFETY: as above.
        _ => map_pairs(a, b, rows, |x, y| op.holds(unsafe { x.compare(&y) }) as u8),
    }
}
