//! Comparison, arithmetic and conversion kernels, checked against loops over single values, for flat, constant and
//! dictionary vectors with and without NULLs.

use std::sync::Arc;

use proptest::prelude::*;

use super::arithmetic::{
    Arithmetic, ArithmeticError, integer_checked, integer_unchecked, multiply_narrow, multiply_wide,
};
use super::cast::{convert, divide_rounded, min_max};
use super::compare::{Comparison, between, compare, is_distinct};
use crate::{Bitmap, Dictionary, Flat, Native, PhysicalType, StrColumn, Vector};

const OPERATORS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// The values as a flat vector, as codes into a smaller and into a larger dictionary, and the first one as a constant.
fn representations(flat: &Flat, valid: &[bool]) -> Vec<(Vector, Vec<usize>)> {
    let rows = flat.len();
    let bitmap = || Bitmap::from_fn(rows, |row| valid[row]);
    let identity: Vec<usize> = (0..rows).collect();
    let few: Vec<u32> = (0..rows as u32).map(|row| row / 2).collect();
    let small = Arc::new(Dictionary::new(flat.slice(0, rows.div_ceil(2)), false));
    let many = Arc::new(Dictionary::new(flat.take(&(0..3 * rows as u32).map(|i| i / 3).collect::<Vec<_>>()), false));
    let codes: Vec<u32> = (0..rows as u32).map(|row| row * 3).collect();
    let halves: Vec<usize> = few.iter().map(|&row| row as usize).collect();
    let mut all = vec![
        (Vector::flat(flat.clone(), Some(bitmap())), identity.clone()),
        (Vector::dictionary(few.into(), small, Some(bitmap())), halves),
        (Vector::dictionary(codes.into(), many, Some(bitmap())), identity),
    ];
    if valid[0] {
        all.push((Vector::constant(flat.slice(0, 1), rows), vec![0; rows]));
    }
    all
}

fn booleans(vector: &Vector) -> Vec<Option<bool>> {
    let flat = vector.to_flat();
    (0..vector.len()).map(|row| vector.is_valid(row).then(|| flat.bools()[row] != 0)).collect()
}

fn values<T: Native>(vector: &Vector) -> Vec<Option<T>> {
    let flat = vector.to_flat();
    (0..vector.len()).map(|row| vector.is_valid(row).then(|| flat.values::<T>()[row])).collect()
}

/// Checks all comparisons of all representations; `order` compares values by their indices in both.
fn check_comparisons(a: &Flat, b: &Flat, valid: &[bool], order: impl Fn(usize, usize) -> std::cmp::Ordering) {
    let rows = a.len();
    for (left, x) in representations(a, valid) {
        for (right, y) in representations(b, valid) {
            let known = |row: usize| left.is_valid(row) && right.is_valid(row);
            for op in OPERATORS {
                let expected: Vec<_> =
                    (0..rows).map(|row| known(row).then(|| op.holds(order(x[row], y[row])))).collect();
                assert_eq!(booleans(&compare(op, &left, &right)), expected, "{op:?}");
                assert_eq!(booleans(&compare(op.swapped(), &right, &left)), expected, "{op:?} swapped");
            }
            let same = |row: usize| match (left.is_valid(row), right.is_valid(row)) {
                (true, true) => order(x[row], y[row]).is_eq(),
                (l, r) => l == r,
            };
            for negated in [false, true] {
                let expected: Vec<_> = (0..rows).map(|row| Some(same(row) == negated)).collect();
                assert_eq!(booleans(&is_distinct(&left, &right, negated)), expected);
            }
        }
    }
}

fn rows() -> impl Strategy<Value = Vec<(i64, i64, bool)>> {
    let number = prop_oneof![-3i64..4, any::<i64>(), Just(i64::MIN), Just(i64::MAX), -(1i64 << 31)..(1 << 31)];
    prop::collection::vec((number.clone(), number, prop::bool::weighted(0.8)), 1..70)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 100 }))]

    #[test]
    fn numbers_compare(rows in rows()) {
        let (a, b): (Vec<i64>, Vec<i64>) = rows.iter().map(|r| (r.0, r.1)).unzip();
        let valid: Vec<bool> = rows.iter().map(|r| r.2).collect();
        let order = |i: usize, j: usize| a[i].cmp(&b[j]);
        check_comparisons(&Flat::I64(a.clone().into()), &Flat::I64(b.clone().into()), &valid, order);
        let (c, d): (Vec<i8>, Vec<i8>) = rows.iter().map(|r| (r.0 as i8, r.1 as i8)).unzip();
        check_comparisons(&Flat::I8(c.clone().into()), &Flat::I8(d.clone().into()), &valid, |i, j| c[i].cmp(&d[j]));
        let special = |v: i64| match v { i64::MIN => f64::NAN, -1 => -0.0, 2 => 0.0, i64::MAX => f64::INFINITY, v => v as f64 };
        let (c, d): (Vec<f64>, Vec<f64>) = rows.iter().map(|r| (special(r.0), special(r.1))).unzip();
        let order = |i: usize, j: usize| {
            c[i].partial_cmp(&d[j]).unwrap_or_else(|| c[i].is_nan().cmp(&d[j].is_nan()))
        };
        check_comparisons(&Flat::F64(c.clone().into()), &Flat::F64(d.clone().into()), &valid, order);
        for (vector, index) in representations(&Flat::I64(a.clone().into()), &valid) {
            let (min, max) = (b[0].min(a[0]), b[0].max(a[0]));
            let expected: Vec<_> = index.iter().enumerate().map(|(row, &i)| {
                vector.is_valid(row).then(|| min <= a[i] && a[i] <= max)
            }).collect();
            prop_assert_eq!(booleans(&between(&vector, min as i128, max as i128)), expected);
        }
    }

    #[test]
    fn strings_compare(rows in prop::collection::vec(("[ab]{0,3}|abcdabcdabcd[ab]{0,3}", "[ab]{0,3}|abcdabcdabcd[ab]{0,3}", any::<bool>()), 1..40)) {
        let a: Vec<&str> = rows.iter().map(|r| &r.0[..]).collect();
        let b: Vec<&str> = rows.iter().map(|r| &r.1[..]).collect();
        let valid: Vec<bool> = rows.iter().map(|r| r.2).collect();
        let flat = |strings: &[&str]| Flat::Str(StrColumn::from_strings(strings));
        check_comparisons(&flat(&a), &flat(&b), &valid, |i, j| a[i].cmp(b[j]));
    }

    #[test]
    fn integers_compute(rows in rows()) {
        let (a, b): (Vec<i64>, Vec<i64>) = rows.iter().map(|r| (r.0, r.1)).unzip();
        let valid: Vec<bool> = rows.iter().map(|r| r.2).collect();
        for (left, x) in representations(&Flat::I64(a.clone().into()), &valid) {
            for (right, y) in representations(&Flat::I64(b.clone().into()), &valid) {
                let operands: Vec<Option<(i64, i64)>> = (0..a.len())
                    .map(|row| (left.is_valid(row) && right.is_valid(row)).then(|| (a[x[row]], b[y[row]])))
                    .collect();
                let map = |f: &dyn Fn(i64, i64) -> Option<i64>| -> Option<Vec<Option<i64>>> {
                    operands.iter().map(|o| match o { None => Some(None), Some((a, b)) => f(*a, *b).map(Some) }).collect()
                };
                type Model = dyn Fn(i64, i64) -> Option<i64>;
                let models: [(Arithmetic, &Model, &Model); 3] = [
                    (Arithmetic::Add, &i64::checked_add, &|a, b| Some(a.wrapping_add(b))),
                    (Arithmetic::Subtract, &i64::checked_sub, &|a, b| Some(a.wrapping_sub(b))),
                    (Arithmetic::Multiply, &i64::checked_mul, &|a, b| Some(a.wrapping_mul(b))),
                ];
                for (op, checked, wrapping) in models {
                    let found = integer_checked::<i64>(op, &left, &right).map(|v| values::<i64>(&v));
                    prop_assert_eq!(found, map(checked).ok_or(ArithmeticError::Overflow));
                    let found = values::<i64>(&integer_unchecked::<i64>(op, &left, &right));
                    prop_assert_eq!(Some(found), map(wrapping));
                }
                for (op, model) in [
                    (Arithmetic::Divide, &i64::checked_div as &dyn Fn(i64, i64) -> Option<i64>),
                    (Arithmetic::Remainder, &|a, b| (b != 0).then(|| a.wrapping_rem(b))),
                ] {
                    let found = integer_checked::<i64>(op, &left, &right).ok().map(|v| values::<i64>(&v));
                    prop_assert_eq!(found, map(model));
                }
                let wide: Vec<Option<i128>> = operands.iter().map(|o| o.map(|(a, b)| a as i128 * b as i128)).collect();
                prop_assert_eq!(values::<i128>(&multiply_wide(&left, &right)), wide);
                let narrow = Some(values::<i64>(&multiply_narrow(&left, &right)));
                prop_assert_eq!(narrow, map(&|a, b| Some(a as i32 as i64 * b as i32 as i64)));
            }
        }
    }

    #[test]
    fn conversions_agree_with_casts(rows in rows(), divisor in 1i64..1000) {
        let a: Vec<i64> = rows.iter().map(|r| r.0).collect();
        let valid: Vec<bool> = rows.iter().map(|r| r.2).collect();
        for (vector, index) in representations(&Flat::I64(a.clone().into()), &valid) {
            let map = |f: &dyn Fn(i64) -> i64| -> Vec<Option<i64>> {
                index.iter().enumerate().map(|(row, &i)| vector.is_valid(row).then(|| f(a[i]))).collect()
            };
            prop_assert_eq!(values::<i64>(&convert(&convert(&vector, PhysicalType::I128), PhysicalType::I64)), map(&|v| v));
            let bytes: Vec<_> = map(&|v| v).into_iter().map(|v| v.map(|v| v as i8)).collect();
            prop_assert_eq!(values::<i8>(&convert(&vector, PhysicalType::I8)), bytes);
            let model = |v: i64| (v as i128 / divisor as i128
                + if (v as i128 % divisor as i128).abs() * 2 >= divisor as i128 { v.signum() as i128 } else { 0 }) as i64;
            prop_assert_eq!(values::<i64>(&divide_rounded(&vector, divisor as i128)), map(&model));
            let wide = convert(&divide_rounded(&convert(&vector, PhysicalType::I128), divisor as i128), PhysicalType::I64);
            prop_assert_eq!(values::<i64>(&wide), map(&model));
            let present: Vec<i128> = map(&|v| v).into_iter().flatten().map(i128::from).collect();
            let found = min_max(&vector).map(|range| (range.min, range.max));
            prop_assert_eq!(found, present.iter().min().copied().zip(present.iter().max().copied()));
        }
    }
}
