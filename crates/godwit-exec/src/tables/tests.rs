//! Tests series against a counting loop.

use godwit_catalog::{Argument, TableFunction};
use godwit_common::Result;
use godwit_pipeline::{ScanRequest, TableHandle};
use proptest::prelude::*;

use super::*;
use crate::testing::{Collected, Row, Value, World, pipeline, run};

fn rows(series: &Series, arguments: &[Argument], workers: usize, limit: Option<usize>) -> Result<Vec<Row>> {
    let query = World { memory_limit: 96 << 20, force_spill: false, chunk_rows: 100, workers }.query();
    let table = series.table("range", arguments)?;
    let handle = table.handle.downcast_ref::<TableHandle>().unwrap();
    let request =
        ScanRequest { name: "series".into(), columns: vec![0], filters: Vec::new(), join_filters: Vec::new(), limit };
    let collected = Collected::new(&query);
    run(&query, vec![pipeline(handle.0.clone().scan(request, &query)?, vec![], collected.clone(), &[])])?;
    Ok(collected.rows())
}

proptest! {
    #[test]
    fn numbers_are_those_that_a_loop_counts(
        start in -1000i64..1000,
        end in -1000i64..1000,
        step in (-50i64..50).prop_filter("goes somewhere", |step| *step != 0),
        inclusive: bool,
    ) {
        let mut expected = Vec::new();
        let mut next = start;
        while if step > 0 { next < end } else { next > end } || (inclusive && next == end) {
            expected.push(vec![Value::Integer(next.into())]);
            next += step;
        }
        let series = if inclusive { Series::GENERATE_SERIES } else { Series::RANGE };
        let arguments = [start, end, step].map(Argument::integer);
        prop_assert_eq!(rows(&series, &arguments, 1, None).unwrap(), expected);
    }
}

#[test]
fn workers_share_a_long_series() {
    let mut found = rows(&Series::RANGE, &[Argument::integer(1_000_000)], 4, None).unwrap();
    found.sort_unstable();
    assert!(found.into_iter().eq((0..1_000_000).map(|number| vec![Value::Integer(number)])));
    let first = rows(&Series::RANGE, &[Argument::integer(i64::MAX)], 4, Some(250)).unwrap();
    assert!(first.into_iter().eq((0..250).map(|number| vec![Value::Integer(number)])));
}

#[test]
fn extreme_numbers_do_not_overflow() {
    let numbers = |start: i64, end: i64, step: i64| {
        let arguments = [start, end, step].map(Argument::integer);
        rows(&Series::GENERATE_SERIES, &arguments, 1, None)
    };
    let expected =
        |numbers: &[i64]| numbers.iter().map(|&number| vec![Value::Integer(number.into())]).collect::<Vec<_>>();
    assert_eq!(numbers(i64::MIN, i64::MAX, i64::MAX).unwrap(), expected(&[i64::MIN, -1, i64::MAX - 1]));
    assert_eq!(numbers(i64::MAX, i64::MIN, i64::MIN).unwrap(), expected(&[i64::MAX, -1]));
    assert!(numbers(i64::MIN, i64::MAX, 1).is_err());
    assert!(numbers(0, 1, 0).is_err());
}

#[test]
fn a_series_is_a_table_with_statistics() {
    let table = Series::RANGE.table("range", &[3, 10, 3].map(Argument::integer)).unwrap();
    assert_eq!((table.statistics.rows, table.statistics.rows_exact), (3, true));
    let range = table.statistics.columns[0].range.unwrap();
    assert_eq!((range.min, range.max), (3, 9));
}
