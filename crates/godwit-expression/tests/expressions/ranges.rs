//! The effects of proven ranges.

use godwit_expression::{Expression, PlanContext, range};
use godwit_types::SqlType as T;
use godwit_vector::{Flat, PhysicalType, ValueRange};
use proptest::prelude::*;

use crate::rows::Rows;
use crate::sql::bound;

fn compiled(rows: &Rows, expr: &godwit_plan::Expr, with_ranges: bool) -> Expression {
    let types = rows.column_types(with_ranges);
    Expression::compile(expr, rows.layout(&types), &PlanContext::default()).unwrap()
}

#[test]
fn decimal_products_stay_in_64_bits() {
    let money = T::decimal(15, 2);
    let columns =
        [(money.clone(), &["104949.50", "900.00"][..]), (money.clone(), &["0.10", "0.00"]), (money, &["0.08", "0.00"])];
    let (rows, exprs) = bound(&columns, &["c0 * (1 - c1) * (1 + c2)"]);
    let proven = compiled(&rows, &exprs[0], true);
    assert_eq!(proven.output().physical, PhysicalType::I64);
    assert!(!proven.can_fail());
    assert_eq!(proven.output().range, Some(range::new(90_000 * 90 * 100, 10_494_950 * 100 * 108)));
    assert_eq!(compiled(&rows, &exprs[0], false).output().physical, PhysicalType::I128);
    rows.check(&exprs[0], true);
}

#[test]
fn statistics_decide_comparisons() {
    let texts = ["c0 < 10", "c0 >= 10", "c0 = 0", "c0 = 5", "c0 IS NULL"];
    let (rows, exprs) = bound(&[(T::BigInt, &["1", "9"])], &texts);
    for (expr, expected) in exprs.iter().zip([Some(true), Some(false), Some(false), None, Some(false)]) {
        let compiled = compiled(&rows, expr, true);
        let decided = compiled.as_literal().map(|(flat, _)| match flat {
            Flat::Bool(value) => value[0] != 0,
            _ => panic!("a comparison is true or false"),
        });
        assert_eq!(decided, expected, "{expr}");
    }
}

#[test]
fn fields_of_dates_have_ranges() {
    let (rows, exprs) = bound(&[(T::Date, &["1969-12-31", "1996-02-29"])], &["year(c0)", "month(c0)"]);
    assert_eq!(compiled(&rows, &exprs[0], true).output().range, Some(ValueRange { min: 1969, max: 1996 }));
    assert_eq!(compiled(&rows, &exprs[1], false).output().range, Some(ValueRange { min: 1, max: 12 }));
}

#[test]
fn keys_agree_on_a_physical_type() {
    let (rows, exprs) = bound(&[(T::Integer, &["1", "NULL", "3"])], &["c0"]);
    let wide = compiled(&rows, &exprs[0], false).with_physical(PhysicalType::I64);
    assert!(!wide.can_fail());
    for chunk in rows.chunks() {
        let vector = wide.evaluate(&chunk).unwrap();
        assert_eq!(vector.physical(), PhysicalType::I64);
        assert_eq!((vector.is_valid(1), vector.to_flat().values::<i64>()[2]), (false, 3));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sums and products of decimals of every size, against the reference's 128-bit arithmetic.
    #[test]
    fn decimal_arithmetic_has_128_bits(
        pairs in prop::collection::vec((-1000i64..1000, -1000i64..1000), 1..20),
        magnitude in 0u32..10,
    ) {
        let scaled = |value: i64| format!("{}.00", i128::from(value) * 10i128.pow(magnitude));
        let (a, b): (Vec<String>, Vec<String>) = pairs.iter().map(|(a, b)| (scaled(*a), scaled(*b))).unzip();
        let (a, b): (Vec<&str>, Vec<&str>) = (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
        let columns = [(T::decimal(15, 2), &a[..]), (T::decimal(15, 2), &b[..])];
        let (rows, exprs) = bound(&columns, &["c0 + c1", "c0 - c1", "c0 * c1", "c0 * (1 - c1)"]);
        exprs.iter().for_each(|expr| rows.check(expr, true));
    }
}
