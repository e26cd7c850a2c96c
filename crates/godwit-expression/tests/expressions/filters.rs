//! Filters, projections and parameters.

use godwit_common::ErrorKind;
use godwit_expression::{Expression, Parameter, PlanContext, Predicate, Projection};
use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::{SqlType as T, Value};
use proptest::prelude::*;

use crate::sql::bound;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A filter keeps exactly the rows for which all conjuncts are TRUE, chunk after chunk, in every representation.
    #[test]
    fn filters_keep_what_is_true(
        rows in prop::collection::vec((prop::option::weighted(0.9, 0i64..20), 0usize..4), 1..200),
        low in 0i64..20, high in 0i64..20,
    ) {
        const WORDS: [&str; 4] = ["AIR", "MAIL", "a truck with a long name", "SHIP"];
        let numbers: Vec<String> =
            rows.iter().map(|row| row.0.map_or("NULL".to_owned(), |number| number.to_string())).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let words: Vec<&str> = rows.iter().map(|row| WORDS[row.1]).collect();
        let filters = [
            &format!("c0 >= {low} AND c0 < {high}"),
            "c1 IN ('MAIL', 'a truck with a long name')",
            "100 // c0 <> 50 OR c0 = 0",
        ];
        let (table, filters) = bound(&[(T::BigInt, &numbers), (T::Varchar, &words)], &filters);
        let keeps = |row: &(Option<i64>, usize)| {
            row.0.is_some_and(|v| v >= low && v < high && (v == 0 || 100 / v != 50)) && matches!(row.1, 1 | 2)
        };
        let expected: Vec<u32> = (0..rows.len()).filter(|&row| keeps(&rows[row])).map(|row| row as u32).collect();
        for with_ranges in [false, true] {
            let types = table.column_types(with_ranges);
            let predicate = Predicate::compile(&filters, table.layout(&types), &PlanContext::default()).unwrap();
            let mut worker = predicate.worker();
            // Enough rounds to reorder the conjuncts.
            for chunk in std::iter::repeat_n(table.chunks(), 20).flatten() {
                let found = worker.rows(&chunk).unwrap();
                prop_assert_eq!(found.unwrap_or_else(|| (0..rows.len() as u32).collect()), expected.clone());
                let mut kept = chunk.clone();
                worker.select(&mut kept).unwrap();
                prop_assert_eq!(kept.len(), expected.len());
            }
        }
    }
}

#[test]
fn bounds_of_a_column_become_one_conjunct() {
    let few: &[&str] = &["3", "NULL", "-7", "0", "3", "100"];
    let texts = ["c0 >= 0", "c0 < 50", "true", "(c0 > 1000) IS TRUE"];
    let (table, filters) = bound(&[(T::BigInt, few)], &texts);
    let rows = |filters: &[Expr], with_ranges: bool| {
        let types = table.column_types(with_ranges);
        let predicate = Predicate::compile(filters, table.layout(&types), &PlanContext::default()).unwrap();
        (predicate.conjuncts().len(), predicate.worker().rows(&table.chunks()[0]).unwrap())
    };
    assert_eq!(rows(&filters[..3], false), (1, Some(vec![0, 3, 4])));
    assert_eq!(rows(&filters[3..], true).1, Some(vec![]));
}

#[test]
fn projections_pass_columns_and_compute_the_rest() {
    let few: &[&str] = &["3", "NULL", "-7", "0", "3", "100"];
    let (table, exprs) = bound(&[(T::BigInt, few), (T::Varchar, &["a"; 6])], &["c0 + 1", "c1", "c0"]);
    let types = table.column_types(true);
    let projection = Projection::compile(&exprs, table.layout(&types), &PlanContext::default()).unwrap();
    assert_eq!(projection.columns_used(), [0, 1]);
    for mut chunk in table.chunks() {
        chunk.select(&[5, 0, 1]);
        let result = projection.evaluate(&chunk).unwrap();
        let numbers = |column: usize| {
            let vector = result.dense(column).to_flat();
            (vector.values::<i64>()[..2].to_vec(), result.dense(column).is_valid(2))
        };
        assert_eq!(numbers(0), (vec![101, 4], false));
        assert_eq!(numbers(2), (vec![100, 3], false));
        assert_eq!(result.dense(1).to_flat().strings().get(0), b"a");
        assert!(result.column(2).selection.is_some());
    }
    assert_eq!(projection.expressions()[0].remap_columns(&|_| 1).columns_used(), [1]);
}

#[test]
fn parameters_are_filled_in_before_evaluation() {
    let few: &[&str] = &["3", "NULL", "-7", "0", "3", "100"];
    let (mut table, exprs) = bound(&[(T::BigInt, few)], &["c0"]);
    let id = table.plan.parameter("1");
    let parameter = Parameter::new(T::BigInt);
    let expr = Expr::new(ExprKind::Parameter(id), T::BigInt, true);
    let expr = Expr::compare(Comparison::Greater, exprs[0].clone(), expr);
    let types = table.column_types(true);
    let context = PlanContext::default().with_parameter(id, parameter.clone());
    let expression = Expression::compile(&expr, table.layout(&types), &context).unwrap();
    let chunk = &table.chunks()[0];
    assert_eq!(expression.evaluate(chunk).err().unwrap().kind(), ErrorKind::Internal);
    parameter.set(&Value::Integer(2)).unwrap();
    let result = expression.evaluate(chunk).unwrap();
    assert_eq!((result.is_valid(1), result.to_flat().bools()[0], result.to_flat().bools()[3]), (false, 1, 0));
    let missing = Expression::compile(&expr, table.layout(&types), &PlanContext::default());
    assert!(missing.is_err_and(|error| error.message().contains("has no value")));
}
