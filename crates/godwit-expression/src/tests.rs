//! Expressions against hand-written tables and naive models, over flat, dictionary, constant and selected columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field, TimeUnit};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::InList;
use datafusion_expr::{Expr, Operator, binary_expr, cast, col, lit, try_cast, when};
use godwit_common::{ErrorKind, Result};
use godwit_vector::kernels::cast::min_max;
use godwit_vector::{Chunk, ColumnType, Dictionary, Flat, PhysicalType, RowType, Vector, from_arrow, to_arrow};
use proptest::prelude::*;

use crate::{CompileContext, Expression, Predicate, Projection, range};

/// Named columns of one length, `c0`, `c1`, ….
struct Table {
    arrays: Vec<ArrayRef>,
    schema: DFSchema,
}

impl Table {
    fn new(arrays: Vec<ArrayRef>) -> Table {
        let fields: Vec<Field> = (arrays.iter().enumerate())
            .map(|(i, array)| Field::new(format!("c{i}"), array.data_type().clone(), array.null_count() > 0))
            .collect();
        let schema = DFSchema::from_unqualified_fields(fields.into(), Default::default()).unwrap();
        Table { arrays, schema }
    }

    fn rows(&self) -> usize {
        self.arrays[0].len()
    }

    /// Column types as of statistics, if `ranges`.
    fn types(&self, ranges: bool) -> RowType {
        (self.arrays.iter().zip(self.schema.fields()))
            .map(|(array, field)| {
                let mut ty = ColumnType::new(field.data_type().clone(), field.is_nullable()).unwrap();
                if ranges && ty.physical.is_integer() {
                    ty.range = min_max(&from_arrow(array).unwrap());
                }
                ty
            })
            .collect()
    }

    fn compile(&self, expr: &Expr, ranges: bool) -> Result<Expression> {
        Expression::compile(expr, &self.schema, &self.types(ranges), &CompileContext::default())
    }

    /// The same rows in several representations.
    fn chunks(&self) -> Vec<Chunk> {
        let flat: Vec<Vector> = self.arrays.iter().map(|array| from_arrow(array).unwrap()).collect();
        let rows = self.rows();
        let dictionaries = flat.iter().map(|vector| as_dictionary(vector, 0)).collect();
        let sparse = flat.iter().map(|vector| as_dictionary(vector, 3 * rows)).collect();
        let twice: Vec<u32> = (0..rows as u32).rev().chain(0..rows as u32).collect();
        let mut selected = Chunk::new(flat.iter().map(|vector| vector.take(&twice)).collect(), 2 * rows);
        selected.select(&(rows as u32..2 * rows as u32).collect::<Vec<_>>());
        vec![Chunk::new(flat, rows), Chunk::new(dictionaries, rows), Chunk::new(sparse, rows), selected]
    }
}

/// The same values as codes, with unused entries (repetitions of the values) in front.
fn as_dictionary(vector: &Vector, unused: usize) -> Vector {
    let flat = vector.to_flat();
    if flat.is_empty() || flat.physical() == PhysicalType::Nested {
        return vector.clone();
    }
    let rows = flat.len();
    let entries: Vec<u32> = (0..unused).map(|i| (i % rows) as u32).chain(0..rows as u32).collect();
    let codes: Vec<u32> = (0..rows).map(|row| (unused + row) as u32).collect();
    Vector::dictionary(codes.into(), Arc::new(Dictionary::new(flat.take(&entries), false)), None)
        .with_validity(vector.validity().cloned())
}

fn assert_same(found: &ArrayRef, expected: &ArrayRef, what: &str) {
    let plain = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 => arrow_cast::cast(array, &DataType::Utf8).unwrap(),
        _ => array.clone(),
    };
    assert_eq!(&plain(found), &plain(expected), "{what}");
}

/// Evaluates in all representations, with and without statistics, on all rows at once and row by row.
fn check(arrays: Vec<ArrayRef>, expr: &Expr, expected: ArrayRef) {
    let table = Table::new(arrays);
    for ranges in [false, true] {
        let expression = table.compile(expr, ranges).unwrap();
        let logical = expression.output().logical.clone();
        for (i, chunk) in table.chunks().iter().enumerate() {
            let vector = expression.evaluate(chunk).unwrap();
            let what = format!("{expr}, representation {i}, ranges {ranges}, {expression:?}");
            assert_eq!(vector.physical(), expression.output().physical, "{what}");
            assert!(expression.output().nullable || !vector.has_nulls(), "{what}");
            if let (Some(proven), true) = (expression.output().range, vector.physical().is_integer()) {
                assert!(min_max(&vector).is_none_or(|found| range::contains(proven, found)), "{what}");
            }
            assert_same(&to_arrow(&vector, &logical).unwrap(), &expected, &what);
            for row in 0..table.rows() {
                let vector = expression.evaluate(&chunk.slice(row, 1)).unwrap();
                assert_same(&to_arrow(&vector, &logical).unwrap(), &expected.slice(row, 1), &what);
            }
            assert_eq!(expression.evaluate(&chunk.slice(0, 0)).unwrap().len(), 0);
        }
    }
}

/// All representations fail with a message that contains `message`.
fn check_error(arrays: Vec<ArrayRef>, expr: &Expr, message: &str) {
    let table = Table::new(arrays);
    for ranges in [false, true] {
        let expression = table.compile(expr, ranges).unwrap();
        assert!(expression.can_fail(), "{expr}");
        for chunk in table.chunks() {
            let error = expression.evaluate(&chunk).err().unwrap_or_else(|| panic!("{expr} succeeds"));
            assert_eq!(error.kind(), ErrorKind::User);
            assert!(error.message().contains(message), "{error}");
        }
    }
}

fn ints(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn bools(values: &[Option<bool>]) -> ArrayRef {
    Arc::new(BooleanArray::from(values.to_vec()))
}

fn strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringViewArray::from(values.to_vec()))
}

fn decimals(values: &[Option<i128>], precision: u8, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap())
}

fn decimal(value: i128, precision: u8, scale: i8) -> Expr {
    lit(ScalarValue::Decimal128(Some(value), precision, scale))
}

const FEW: [Option<i64>; 6] = [Some(3), None, Some(-7), Some(0), Some(3), Some(100)];

#[test]
fn integers_are_added_multiplied_and_divided() {
    let map = |f: &dyn Fn(i64) -> i64| ints(&FEW.map(|v| v.map(f)));
    check(vec![ints(&FEW)], &(col("c0") + lit(5i64)), map(&|v| v + 5));
    check(vec![ints(&FEW)], &(lit(5i64) - col("c0")), map(&|v| 5 - v));
    check(vec![ints(&FEW)], &(col("c0") * col("c0")), map(&|v| v * v));
    check(vec![ints(&FEW)], &(col("c0") / lit(2i64)), map(&|v| v / 2));
    check(vec![ints(&FEW)], &(col("c0") % lit(-4i64)), map(&|v| v % -4));
    check(vec![ints(&FEW)], &Expr::Negative(Box::new(col("c0"))), map(&|v| -v));
    let abs = datafusion_functions::math::abs().call(vec![col("c0")]);
    check(vec![ints(&FEW)], &abs, map(&|v| v.abs()));
    let bits = binary_expr(col("c0"), Operator::BitwiseAnd, lit(6i64));
    check(vec![ints(&FEW)], &bits, map(&|v| v & 6));
    let shift = binary_expr(col("c0"), Operator::BitwiseShiftRight, lit(1i64));
    check(vec![ints(&FEW)], &shift, map(&|v| v >> 1));
}

#[test]
fn overflow_and_division_by_zero_are_errors() {
    let extreme = || ints(&[Some(i64::MAX), Some(i64::MIN), Some(1)]);
    check_error(vec![extreme()], &(col("c0") + lit(1i64)), "integer overflow in c0 + 1");
    check_error(vec![extreme()], &(col("c0") - lit(1i64)), "integer overflow");
    check_error(vec![extreme()], &(col("c0") * lit(2i64)), "integer overflow");
    check_error(vec![extreme()], &(col("c0") / lit(-1i64)), "integer overflow");
    check_error(vec![extreme()], &Expr::Negative(Box::new(col("c0"))), "integer overflow");
    let zeros = || ints(&[Some(1), Some(0), None]);
    check_error(vec![zeros()], &(lit(1i64) / col("c0")), "division by zero in 1 / c0");
    check_error(vec![zeros()], &(lit(1i64) % col("c0")), "division by zero");
    let small: ArrayRef = Arc::new(Int8Array::from(vec![100, 1]));
    check_error(vec![small.clone()], &(col("c0") + lit(100i8)), "integer overflow");
    check_error(vec![small], &cast(col("c0") * lit(2i8), DataType::Int64), "integer overflow");
    let large = decimals(&[Some(10i128.pow(37))], 38, 0);
    check_error(vec![large.clone()], &(col("c0") * decimal(1000, 38, 0)), "decimal overflow");
    check_error(vec![large.clone()], &(col("c0") * col("c0")), "decimal overflow");
    check_error(vec![large], &(decimal(5, 3, 0) / (col("c0") - col("c0"))), "division by zero");
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    check_error(vec![unsigned], &(col("c0") - lit(2u64)), "integer overflow");
}

#[test]
fn errors_of_null_rows_do_not_count() {
    // The values under NULL would overflow and divide by zero.
    let values = Int64Array::new(vec![5, i64::MAX, 0].into(), Some(vec![true, false, false].into()));
    let array: ArrayRef = Arc::new(values);
    check(vec![array.clone()], &(col("c0") * lit(4i64)), ints(&[Some(20), None, None]));
    check(vec![array.clone()], &(lit(10i64) / col("c0")), ints(&[Some(2), None, None]));
    check(vec![array.clone()], &(lit(10i64) % col("c0")), ints(&[Some(0), None, None]));
    let narrow: ArrayRef = Arc::new(Int8Array::from(vec![Some(5), None, None]));
    check(vec![array], &cast(col("c0"), DataType::Int8), narrow);
}

#[test]
fn floats_follow_ieee() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-0.0), Some(f64::NAN)]));
    let expected: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0 / 1.5), None, Some(f64::NEG_INFINITY), Some(f64::NAN)]));
    check(vec![floats.clone()], &(lit(1.0) / col("c0")), expected);
    check(vec![floats.clone()], &col("c0").eq(lit(0.0)), bools(&[Some(false), None, Some(true), Some(false)]));
    check(vec![floats.clone()], &col("c0").eq(lit(f64::NAN)), bools(&[Some(false), None, Some(false), Some(true)]));
    check(vec![floats.clone()], &col("c0").gt(lit(1.0)), bools(&[Some(true), None, Some(false), Some(true)]));
    check(vec![floats], &col("c0").lt_eq(lit(0.0)), bools(&[Some(false), None, Some(true), Some(false)]));
}

#[test]
fn proven_ranges_keep_decimal_products_in_64_bits() {
    let table = Table::new(vec![
        decimals(&[Some(10_494_950), Some(90_000)], 15, 2),
        decimals(&[Some(10), Some(0)], 15, 2),
        decimals(&[Some(8), Some(0)], 15, 2),
    ]);
    let one = || decimal(100, 20, 2);
    let charge = col("c0") * (one() - col("c1")) * (one() + col("c2"));
    let proven = table.compile(&charge, true).unwrap();
    assert_eq!(proven.output().physical, PhysicalType::I64);
    assert!(!proven.can_fail());
    assert_eq!(proven.output().logical, DataType::Decimal128(38, 6));
    assert_eq!(proven.output().range, Some(range::new(90_000 * 90 * 100, 10_494_950 * 100 * 108)));
    let unknown = table.compile(&charge, false).unwrap();
    assert_eq!(unknown.output().physical, PhysicalType::I128);
    for expression in [proven, unknown] {
        let array = to_arrow(&expression.evaluate(&table.chunks()[0]).unwrap(), &expression.output().logical).unwrap();
        let expected = decimals(&[Some(10_494_950 * 90 * 108), Some(90_000 * 100 * 100)], 38, 6);
        assert_eq!(&array, &expected);
    }
}

#[test]
fn decimals_divide_and_cast_as_the_planner_says() {
    let money = || decimals(&[Some(1000), None, Some(-200), Some(333)], 10, 2);
    // Scale s1 + 4, truncated. Decimals are rounded half away from zero to integers, floats half to even.
    check(
        vec![money()],
        &(col("c0") / decimal(300, 5, 2)),
        decimals(&[Some(3_333_333), None, Some(-666_666), Some(1_110_000)], 16, 6),
    );
    check(
        vec![money()],
        &(col("c0") + decimal(1234, 6, 3)),
        decimals(&[Some(11_234), None, Some(-766), Some(4_564)], 12, 3),
    );
    check(
        vec![money()],
        &cast(col("c0"), DataType::Decimal128(10, 1)),
        decimals(&[Some(100), None, Some(-20), Some(33)], 10, 1),
    );
    let halves = || decimals(&[Some(25), Some(-25), Some(24), None], 10, 1);
    check(
        vec![halves()],
        &cast(col("c0"), DataType::Decimal128(10, 0)),
        decimals(&[Some(3), Some(-3), Some(2), None], 10, 0),
    );
    check(vec![halves()], &cast(col("c0"), DataType::Int64), ints(&[Some(3), Some(-3), Some(2), None]));
    check(
        vec![halves()],
        &cast(col("c0"), DataType::Decimal128(38, 20)),
        decimals(&[Some(25 * 10i128.pow(19)), Some(-25 * 10i128.pow(19)), Some(24 * 10i128.pow(19)), None], 38, 20),
    );
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.5), Some(-2.5), Some(2.4), None]));
    check(vec![halves()], &cast(col("c0"), DataType::Float64), floats.clone());
    check(
        vec![floats.clone()],
        &cast(col("c0"), DataType::Decimal128(5, 0)),
        decimals(&[Some(3), Some(-3), Some(2), None], 5, 0),
    );
    check(vec![floats.clone()], &cast(col("c0"), DataType::Int64), ints(&[Some(2), Some(-2), Some(2), None]));
    check(
        vec![ints(&FEW)],
        &cast(col("c0"), DataType::Decimal128(20, 2)),
        decimals(&FEW.map(|v| v.map(|v| v as i128 * 100)), 20, 2),
    );
    check(vec![ints(&FEW)], &cast(col("c0"), DataType::Boolean), bools(&FEW.map(|v| v.map(|v| v != 0))));
    let flags = bools(&[Some(true), None, Some(false)]);
    check(vec![flags], &cast(col("c0"), DataType::Int64), ints(&[Some(1), None, Some(0)]));
    check_error(vec![decimals(&[Some(1000)], 10, 2)], &cast(col("c0"), DataType::Decimal128(3, 2)), "doesn't fit");
    check_error(vec![ints(&[Some(300)])], &cast(col("c0"), DataType::Int8), "doesn't fit into Int8");
    check_error(vec![Arc::new(Float64Array::from(vec![1e30]))], &cast(col("c0"), DataType::Int64), "doesn't fit");
    check_error(vec![Arc::new(Float64Array::from(vec![f64::NAN]))], &cast(col("c0"), DataType::Int64), "doesn't fit");
    let largest: ArrayRef = Arc::new(Float64Array::from(vec![9_223_372_036_854_775_807.0]));
    check_error(vec![largest], &cast(col("c0"), DataType::Int64), "doesn't fit");
}

#[test]
fn other_casts_go_through_arrow() {
    let texts = || strings(&[Some("12"), None, Some("-3")]);
    check(vec![texts()], &cast(col("c0"), DataType::Int64), ints(&[Some(12), None, Some(-3)]));
    check(vec![texts()], &cast(col("c0"), DataType::Utf8), texts());
    check(
        vec![ints(&FEW)],
        &cast(col("c0"), DataType::Utf8),
        strings(&[Some("3"), None, Some("-7"), Some("0"), Some("3"), Some("100")]),
    );
    check_error(vec![strings(&[Some("x")])], &cast(col("c0"), DataType::Int64), "x");
    check(vec![strings(&[Some("x"), Some("7")])], &try_cast(col("c0"), DataType::Int64), ints(&[None, Some(7)]));
    let narrow: ArrayRef = Arc::new(Int8Array::from(vec![None, Some(7)]));
    check(vec![ints(&[Some(1000), Some(7)])], &try_cast(col("c0"), DataType::Int8), narrow);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None]));
    let stamps: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(86_400_000_000), None]));
    check(vec![days.clone()], &cast(col("c0"), DataType::Timestamp(TimeUnit::Microsecond, None)), stamps.clone());
    check(vec![stamps], &cast(col("c0"), DataType::Date32), days);
    let date = strings(&[Some("1970-01-02"), None]);
    check(vec![date], &cast(col("c0"), DataType::Date32), Arc::new(Date32Array::from(vec![Some(1), None])));
}

#[test]
fn comparisons_meet_in_one_type() {
    check(vec![ints(&FEW)], &col("c0").gt_eq(lit(3i64)), bools(&FEW.map(|v| v.map(|v| v >= 3))));
    check(vec![ints(&FEW)], &lit(3i64).not_eq(col("c0")), bools(&FEW.map(|v| v.map(|v| v != 3))));
    // Beyond what any value can be.
    check(
        vec![ints(&FEW)],
        &cast(col("c0"), DataType::Decimal128(38, 0)).lt(decimal(10i128.pow(30), 38, 0)),
        bools(&FEW.map(|v| v.map(|_| true))),
    );
    check(
        vec![ints(&FEW)],
        &col("c0").between(lit(0i64), lit(3i64)),
        bools(&FEW.map(|v| v.map(|v| (0..=3).contains(&v)))),
    );
    check(
        vec![ints(&FEW)],
        &col("c0").not_between(lit(0i64), lit(3i64)),
        bools(&FEW.map(|v| v.map(|v| !(0..=3).contains(&v)))),
    );
    check(
        vec![ints(&FEW)],
        &col("c0").gt(lit(0i64)).and(col("c0").lt(lit(100i64))),
        bools(&FEW.map(|v| v.map(|v| v > 0 && v < 100))),
    );
    let texts = [Some("apple"), None, Some("a much longer apple"), Some(""), Some("b")];
    check(vec![strings(&texts)], &col("c0").lt(lit("apple")), bools(&texts.map(|v| v.map(|v| v < "apple"))));
    check(
        vec![strings(&texts)],
        &col("c0").eq(lit("a much longer apple")),
        bools(&texts.map(|v| v.map(|v| v.len() > 9))),
    );
    check(vec![strings(&texts)], &col("c0").eq(lit(ScalarValue::Utf8(None))), bools(&[None; 5]));
    let pair = || vec![ints(&[Some(1), None, None, Some(2)]), ints(&[Some(1), None, Some(3), Some(4)])];
    let distinct = |op| binary_expr(col("c0"), op, col("c1"));
    check(pair(), &distinct(Operator::IsDistinctFrom), bools(&[Some(false), Some(false), Some(true), Some(true)]));
    check(pair(), &distinct(Operator::IsNotDistinctFrom), bools(&[Some(true), Some(true), Some(false), Some(false)]));
}

#[test]
fn logic_short_circuits_failures() {
    let arrays = || vec![ints(&[Some(0), Some(2), None, Some(5)])];
    let guarded = col("c0").not_eq(lit(0i64)).and((lit(10i64) / col("c0")).gt(lit(3i64)));
    check(arrays(), &guarded, bools(&[Some(false), Some(true), None, Some(false)]));
    let reversed = (lit(10i64) / col("c0")).gt(lit(3i64)).and(col("c0").not_eq(lit(0i64)));
    check(arrays(), &reversed, bools(&[Some(false), Some(true), None, Some(false)]));
    let either = col("c0").eq(lit(0i64)).or((lit(10i64) / col("c0")).gt(lit(3i64)));
    check(arrays(), &either, bools(&[Some(true), Some(true), None, Some(false)]));
    let case = when(col("c0").eq(lit(0i64)), lit(-1i64)).otherwise(lit(10i64) / col("c0")).unwrap();
    check(arrays(), &case, ints(&[Some(-1), Some(5), None, Some(2)]));
    let without_else = when(col("c0").gt(lit(0i64)), lit(10i64) / col("c0")).end().unwrap();
    check(arrays(), &without_else, ints(&[None, Some(5), None, Some(2)]));
    let coalesce = datafusion_functions::core::coalesce().call(vec![col("c0"), lit(1i64) / (col("c0") - col("c0"))]);
    check(vec![ints(&[Some(1), Some(2)])], &coalesce, ints(&[Some(1), Some(2)]));
    let coalesce = datafusion_functions::core::coalesce().call(vec![col("c0"), lit(9i64)]);
    check(arrays(), &coalesce, ints(&[Some(0), Some(2), Some(9), Some(5)]));
    let nullif = datafusion_functions::core::nullif().call(vec![col("c0"), lit(2i64)]);
    check(arrays(), &nullif, ints(&[Some(0), None, None, Some(5)]));
    check(
        arrays(),
        &(lit(10i64) / datafusion_functions::core::nullif().call(vec![col("c0"), lit(0i64)])),
        ints(&[None, Some(5), None, Some(2)]),
    );
}

#[test]
fn case_chooses_the_first_true_branch() {
    let values = [Some(1), Some(5), None, Some(50), Some(7), Some(2)];
    let expr = when(col("c0").lt(lit(3i64)), lit("small"))
        .when(col("c0").lt(lit(10i64)), lit("a string that is not inline"))
        .otherwise(lit("large"))
        .unwrap();
    let expected = values.map(|v| match v {
        Some(..3) => Some("small"),
        Some(..10) => Some("a string that is not inline"),
        _ => Some("large"),
    });
    check(vec![ints(&values)], &expr, strings(&expected));
    let simple = datafusion_expr::case(col("c0")).when(lit(5i64), lit(1i64)).when(lit(7i64), lit(2i64)).end().unwrap();
    check(vec![ints(&values)], &simple, ints(&[None, Some(1), None, None, Some(2), None]));
    // Values of different widths.
    let money = decimals(&values.map(|v| v.map(i128::from)), 38, 2);
    let mixed = when(col("c0").gt(decimal(200, 38, 2)), col("c0")).otherwise(decimal(0, 38, 2)).unwrap();
    check(vec![money], &mixed, decimals(&[Some(0); 6], 38, 2));
}

#[test]
fn nulls_and_truth_are_tested() {
    let flags = || bools(&[Some(true), None, Some(false)]);
    let expect = |expr: Expr, values: [Option<bool>; 3]| check(vec![flags()], &expr, bools(&values));
    expect(Expr::Not(Box::new(col("c0"))), [Some(false), None, Some(true)]);
    expect(col("c0").is_null(), [Some(false), Some(true), Some(false)]);
    expect(col("c0").is_not_null(), [Some(true), Some(false), Some(true)]);
    expect(col("c0").is_true(), [Some(true), Some(false), Some(false)]);
    expect(col("c0").is_not_true(), [Some(false), Some(true), Some(true)]);
    expect(col("c0").is_false(), [Some(false), Some(false), Some(true)]);
    expect(col("c0").is_not_false(), [Some(true), Some(true), Some(false)]);
    expect(col("c0").is_unknown(), [Some(false), Some(true), Some(false)]);
    expect(col("c0").and(lit(ScalarValue::Boolean(None))), [None, None, Some(false)]);
    expect(col("c0").or(lit(ScalarValue::Boolean(None))), [Some(true), None, None]);
}

fn in_list(values: Vec<ScalarValue>, negated: bool) -> Expr {
    Expr::InList(InList::new(Box::new(col("c0")), values.into_iter().map(lit).collect(), negated))
}

#[test]
fn in_lists_are_sets() {
    let numbers = |values: &[i64]| values.iter().map(|&v| ScalarValue::Int64(Some(v))).collect::<Vec<_>>();
    for list in [vec![3, 100], (0..50).collect(), (0..50).map(|i| i * 1_000_000 + 3).collect()] {
        let list: Vec<i64> = list;
        check(vec![ints(&FEW)], &in_list(numbers(&list), false), bools(&FEW.map(|v| v.map(|v| list.contains(&v)))));
        check(vec![ints(&FEW)], &in_list(numbers(&list), true), bools(&FEW.map(|v| v.map(|v| !list.contains(&v)))));
        let mut with_null = numbers(&list);
        with_null.push(ScalarValue::Int64(None));
        let expected = FEW.map(|v| v.and_then(|v| list.contains(&v).then_some(false)));
        check(vec![ints(&FEW)], &in_list(with_null, true), bools(&expected));
    }
    let texts = [Some("MAIL"), None, Some("a ship of considerable length"), Some("x")];
    let few = ["MAIL", "a ship of considerable length"];
    let many: Vec<String> = (0..20).map(|i| format!("{i} and something longer")).chain(["x".into()]).collect();
    for list in [few.map(String::from).to_vec(), many] {
        let scalars = list.iter().map(|v| ScalarValue::Utf8View(Some(v.clone()))).collect();
        check(
            vec![strings(&texts)],
            &in_list(scalars, false),
            bools(&texts.map(|v| v.map(|v| list.iter().any(|l| l == v)))),
        );
    }
    let columns = Expr::InList(InList::new(Box::new(col("c0")), vec![lit(1i64), col("c1")], false));
    check(
        vec![ints(&[Some(1), Some(2), Some(3)]), ints(&[None, None, Some(3)])],
        &columns,
        bools(&[Some(true), None, Some(true)]),
    );
}

#[test]
fn texts_have_functions() {
    use datafusion_functions::{string, unicode};
    let texts = || strings(&[Some("Grüße, Welt, und mehr"), None, Some("ascii"), Some("")]);
    let expect = |expr: Expr, values: [Option<&str>; 4]| check(vec![texts()], &expr, strings(&values));
    expect(
        unicode::substr().call(vec![col("c0"), lit(3i64)]),
        [Some("üße, Welt, und mehr"), None, Some("cii"), Some("")],
    );
    expect(
        unicode::substring().call(vec![col("c0"), lit(2i64), lit(3i64)]),
        [Some("rüß"), None, Some("sci"), Some("")],
    );
    expect(string::upper().call(vec![col("c0")]), [Some("GRÜSSE, WELT, UND MEHR"), None, Some("ASCII"), Some("")]);
    expect(string::lower().call(vec![col("c0")]), [Some("grüße, welt, und mehr"), None, Some("ascii"), Some("")]);
    expect(unicode::left().call(vec![col("c0"), lit(3i64)]), [Some("Grü"), None, Some("asc"), Some("")]);
    expect(
        binary_expr(col("c0"), Operator::StringConcat, lit("!")),
        [Some("Grüße, Welt, und mehr!"), None, Some("ascii!"), Some("!")],
    );
    expect(
        string::concat().call(vec![col("c0"), lit("!")]),
        [Some("Grüße, Welt, und mehr!"), Some("!"), Some("ascii!"), Some("!")],
    );
    let counts: ArrayRef = Arc::new(Int32Array::from(vec![Some(21), None, Some(5), Some(0)]));
    check(vec![texts()], &unicode::character_length().call(vec![col("c0")]), counts);
    let starts = string::starts_with().call(vec![col("c0"), lit("Gr")]);
    check(vec![texts()], &starts, bools(&[Some(true), None, Some(false), Some(false)]));
    check(vec![texts()], &col("c0").like(lit("%, W%")), bools(&[Some(true), None, Some(false), Some(false)]));
    check(vec![texts()], &col("c0").not_like(lit("a_cii")), bools(&[Some(true), None, Some(false), Some(true)]));
    check(vec![texts()], &col("c0").ilike(lit("GRÜ%")), bools(&[Some(true), None, Some(false), Some(false)]));
    let regex = binary_expr(col("c0"), Operator::RegexMatch, lit("^a.*i$"));
    check(vec![texts()], &regex, bools(&[Some(false), None, Some(true), Some(false)]));
    // Without kernels of their own.
    expect(unicode::reverse().call(vec![col("c0")]), [Some("rhem dnu ,tleW ,eßürG"), None, Some("iicsa"), Some("")]);
    expect(
        string::replace().call(vec![col("c0"), lit("e"), lit("E")]),
        [Some("GrüßE, WElt, und mEhr"), None, Some("ascii"), Some("")],
    );
    check_error(vec![texts()], &unicode::substring().call(vec![col("c0"), lit(1i64), lit(-1i64)]), "negative");
}

#[test]
fn dates_have_parts_and_shift() {
    use datafusion_functions::datetime;
    // 1995-03-15, 1996-02-29, 1969-12-31
    let days = || Arc::new(Date32Array::from(vec![Some(9204), None, Some(9555), Some(-1)])) as ArrayRef;
    let part = |name: &str| datetime::date_part().call(vec![lit(name), col("c0")]);
    let expect = |name: &str, values: [Option<i32>; 4]| {
        check(vec![days()], &part(name), Arc::new(Int32Array::from(values.to_vec())))
    };
    expect("YEAR", [Some(1995), None, Some(1996), Some(1969)]);
    expect("month", [Some(3), None, Some(2), Some(12)]);
    expect("day", [Some(15), None, Some(29), Some(31)]);
    expect("quarter", [Some(1), None, Some(1), Some(4)]);
    expect("dow", [Some(3), None, Some(4), Some(3)]);
    expect("doy", [Some(74), None, Some(60), Some(365)]);
    expect("week", [Some(11), None, Some(9), Some(1)]);
    let year = Table::new(vec![days()]).compile(&part("year"), true).unwrap();
    assert_eq!(year.output().range, Some(range::new(1969, 1996)));
    let months = |months| lit(ScalarValue::new_interval_mdn(months, 0, 0));
    let dates = |values: [Option<i32>; 4]| Arc::new(Date32Array::from(values.to_vec())) as ArrayRef;
    check(vec![days()], &(col("c0") + months(12)), dates([Some(9570), None, Some(9920), Some(364)]));
    check(vec![days()], &(col("c0") - months(1)), dates([Some(9176), None, Some(9524), Some(-32)]));
    check(
        vec![days()],
        &(col("c0") + lit(ScalarValue::new_interval_mdn(0, 90, 0))),
        dates([Some(9294), None, Some(9645), Some(89)]),
    );
    check(
        vec![days()],
        &(col("c0") - lit(ScalarValue::Date32(Some(9000)))),
        ints(&[Some(204), None, Some(555), Some(-9001)]),
    );
    check_error(vec![Arc::new(Date32Array::from(vec![i32::MAX]))], &(col("c0") + months(1)), "date overflow");
    let stamps: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(9204 * 86_400 + 3_723), None, Some(-1)]));
    let trunc = |unit: &str| datetime::date_trunc().call(vec![lit(unit), col("c0")]);
    let expect = |unit, values: [Option<i64>; 3]| {
        check(vec![stamps.clone()], &trunc(unit), Arc::new(TimestampSecondArray::from(values.to_vec())))
    };
    expect("month", [Some(9190 * 86_400), None, Some(-31 * 86_400)]);
    expect("hour", [Some(9204 * 86_400 + 3_600), None, Some(-3_600)]);
    expect("day", [Some(9204 * 86_400), None, Some(-86_400)]);
    let shifted: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(9204 * 86_400 + 3_724), None, Some(0)]));
    check(vec![stamps.clone()], &(col("c0") + lit(ScalarValue::new_interval_mdn(0, 0, 1_000_000_000))), shifted);
}

#[test]
fn parameters_are_filled_in_before_evaluation() {
    let table = Table::new(vec![ints(&FEW)]);
    let parameter = crate::Parameter::new(DataType::Int64);
    let context = CompileContext::default().with_placeholder("$1", parameter.clone());
    let placeholder = datafusion_expr::expr::Placeholder::new_with_field("$1".into(), None);
    let expr = col("c0").gt(Expr::Placeholder(placeholder));
    let expression = Expression::compile(&expr, &table.schema, &table.types(true), &context).unwrap();
    let chunk = &table.chunks()[0];
    assert_eq!(expression.evaluate(chunk).err().unwrap().kind(), ErrorKind::Internal);
    parameter.set(&ScalarValue::Int32(Some(2))).unwrap();
    let array = to_arrow(&expression.evaluate(chunk).unwrap(), &DataType::Boolean).unwrap();
    assert_eq!(&array, &bools(&FEW.map(|v| v.map(|v| v > 2))));
    let missing = Expression::compile(&expr, &table.schema, &table.types(true), &CompileContext::default());
    assert!(missing.is_err_and(|error| error.message().contains("$1")));
}

#[test]
fn projections_pass_columns_and_compute_the_rest() {
    let table = Table::new(vec![ints(&FEW), strings(&[Some("a"); 6])]);
    let types = table.types(true);
    let compute = table.compile(&(col("c0") + lit(1i64)), true).unwrap();
    let projection = Projection::new(vec![
        compute.clone(),
        Expression::column(1, types[1].clone()),
        Expression::column(0, types[0].clone()),
    ]);
    assert_eq!(projection.columns_used(), [0, 1]);
    for mut chunk in table.chunks() {
        chunk.select(&[5, 0, 1]);
        let result = projection.evaluate(&chunk).unwrap();
        let column = |index: usize, logical| to_arrow(&result.dense(index), logical).unwrap();
        assert_eq!(&column(0, &DataType::Int64), &ints(&[Some(101), Some(4), None]));
        assert_same(&column(1, &DataType::Utf8View), &strings(&[Some("a"); 3]), "passed");
        assert_eq!(&column(2, &DataType::Int64), &ints(&[Some(100), Some(3), None]));
        assert!(result.column(2).selection.is_some());
    }
    let moved = compute.remap_columns(&|_| 1);
    assert_eq!(moved.columns_used(), [1]);
}

#[test]
fn keys_agree_on_a_physical_type() {
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let table = Table::new(vec![narrow.clone()]);
    let wide = table.compile(&col("c0"), false).unwrap().with_physical(PhysicalType::I64);
    assert!(!wide.can_fail());
    assert_eq!(wide.evaluate(&table.chunks()[0]).unwrap().physical(), PhysicalType::I64);
    let back = to_arrow(&wide.evaluate(&table.chunks()[1]).unwrap(), &DataType::Int32).unwrap();
    assert_eq!(back.as_primitive::<Int32Type>(), narrow.as_primitive::<Int32Type>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Sums and products of decimals of every size, against 128-bit arithmetic.
    #[test]
    fn decimal_arithmetic_agrees_with_128_bits(
        rows in prop::collection::vec((prop::option::weighted(0.9, -1000i128..1000), prop::option::weighted(0.9, -1000i128..1000)), 1..40),
        magnitude in 0u32..12,
    ) {
        let scaled = |v: i128| v * 10i128.pow(magnitude);
        let a: Vec<Option<i128>> = rows.iter().map(|r| r.0.map(scaled)).collect();
        let b: Vec<Option<i128>> = rows.iter().map(|r| r.1.map(scaled)).collect();
        let zip = |f: &dyn Fn(i128, i128) -> i128| -> Vec<Option<i128>> {
            a.iter().zip(&b).map(|(a, b)| Some(f((*a)?, (*b)?))).collect()
        };
        let columns = || vec![decimals(&a, 15, 2), decimals(&b, 15, 2)];
        check(columns(), &(col("c0") + col("c1")), decimals(&zip(&|a, b| a + b), 16, 2));
        check(columns(), &(col("c0") - col("c1")), decimals(&zip(&|a, b| a - b), 16, 2));
        check(columns(), &(col("c0") * col("c1")), decimals(&zip(&|a, b| a * b), 31, 4));
        let expr = col("c0") * (decimal(100, 3, 2) - col("c1"));
        check(columns(), &expr, decimals(&zip(&|a, b| a * (100 - b)), 32, 4));
    }

    /// A filter keeps exactly the rows for which all conjuncts are TRUE, chunk after chunk, in every representation.
    #[test]
    fn filters_keep_what_is_true(
        rows in prop::collection::vec((prop::option::weighted(0.9, 0i64..20), 0usize..4), 1..200),
        low in 0i64..20, high in 0i64..20,
    ) {
        const WORDS: [&str; 4] = ["AIR", "MAIL", "a truck with a long name", "SHIP"];
        let numbers: Vec<Option<i64>> = rows.iter().map(|r| r.0).collect();
        let words: Vec<Option<&str>> = rows.iter().map(|r| Some(WORDS[r.1])).collect();
        let table = Table::new(vec![ints(&numbers), strings(&words)]);
        let filters = [
            col("c0").gt_eq(lit(low)).and(col("c0").lt(lit(high))),
            col("c1").in_list(vec![lit("MAIL"), lit("a truck with a long name")], false),
            (lit(100i64) / col("c0")).not_eq(lit(50i64)).or(col("c0").eq(lit(0i64))),
        ];
        let keeps = |row: usize| {
            numbers[row].is_some_and(|v| v >= low && v < high && (v == 0 || 100 / v != 50)) && matches!(rows[row].1, 1 | 2)
        };
        let expected: Vec<u32> = (0..rows.len()).filter(|&row| keeps(row)).map(|row| row as u32).collect();
        for ranges in [false, true] {
            let predicate = Predicate::compile(&filters, &table.schema, &table.types(ranges), &CompileContext::default()).unwrap();
            let mut worker = predicate.worker();
            // Enough rounds for the conjuncts to be reordered.
            for _ in 0..20 {
                for chunk in table.chunks() {
                    let found = worker.rows(&chunk).unwrap();
                    prop_assert_eq!(found.unwrap_or_else(|| (0..rows.len() as u32).collect()), expected.clone());
                    let mut kept = chunk.clone();
                    worker.select(&mut kept).unwrap();
                    prop_assert_eq!(kept.len(), expected.len());
                }
            }
        }
    }
}

#[test]
fn bounds_of_a_column_become_one_conjunct() {
    let table = Table::new(vec![ints(&FEW)]);
    let filters = [col("c0").gt_eq(lit(0i64)), col("c0").lt(lit(50i64)), lit(true)];
    let predicate =
        Predicate::compile(&filters, &table.schema, &table.types(false), &CompileContext::default()).unwrap();
    assert_eq!(predicate.conjuncts().len(), 1);
    assert_eq!(predicate.worker().rows(&table.chunks()[0]).unwrap(), Some(vec![0, 3, 4]));
    let never = [col("c0").gt(lit(1000i64)).is_true()];
    let predicate = Predicate::compile(&never, &table.schema, &table.types(true), &CompileContext::default()).unwrap();
    assert_eq!(predicate.worker().rows(&table.chunks()[0]).unwrap(), Some(vec![]));
}

#[test]
fn statistics_decide_comparisons() {
    let table = Table::new(vec![ints(&[Some(1), Some(9)])]);
    let decided = |expr: Expr| {
        let expression = table.compile(&expr, true).unwrap();
        expression.as_literal().map(|(flat, _)| match flat {
            Flat::Bool(v) => v[0] != 0,
            _ => panic!("boolean"),
        })
    };
    assert_eq!(decided(col("c0").lt(lit(10i64))), Some(true));
    assert_eq!(decided(col("c0").gt_eq(lit(10i64))), Some(false));
    assert_eq!(decided(col("c0").eq(lit(0i64))), Some(false));
    assert_eq!(decided(col("c0").eq(lit(5i64))), None);
    assert_eq!(decided(col("c0").is_null()), Some(false));
}
