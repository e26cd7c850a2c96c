//! Nanoseconds per row of typical expressions and filters on chunks that lie in the cache.
//!
//! `cargo run --release -p godwit-expression --example expression_speed`

use std::sync::Arc;
use std::time::Instant;

use arrow_schema::{DataType, Field};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Expr, col, lit, when};
use godwit_expression::{CompileContext, Expression, Predicate, range};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, Dictionary, Flat, PhysicalType, RowType, StrColumn, Vector};

const ROUNDS: usize = 2_000;

fn decimal(value: i128) -> Expr {
    lit(ScalarValue::Decimal128(Some(value), 15, 2))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = CHUNK_ROWS;
    let random: Vec<i64> =
        (0..rows as i64).map(|i| (i.wrapping_mul(6_364_136_223_846_793_005) >> 33) & 0xFFFF).collect();
    let money = DataType::Decimal128(15, 2);
    let column = |name: &str, logical: &DataType| Field::new(name, logical.clone(), false);
    let fields = vec![
        column("price", &money),
        column("discount", &money),
        column("tax", &money),
        column("ship", &DataType::Date32),
        column("comment", &DataType::Utf8View),
        column("mode", &DataType::Utf8View),
    ];
    let schema = DFSchema::from_unqualified_fields(fields.into(), Default::default())?;
    let comments = (0..rows).map(|i| format!("carefully {} regular deposits sleep among the pending ideas", random[i]));
    let modes = Flat::Str(StrColumn::from_strings(["AIR", "MAIL", "SHIP", "TRUCK", "RAIL", "FOB", "REG AIR"]));
    let codes: Vec<u32> = random.iter().map(|v| (v % 7) as u32).collect();
    let vectors = vec![
        Vector::from_values(random.iter().map(|v| 90_000 + v * 100).collect::<Vec<i64>>(), None),
        Vector::from_values(random.iter().map(|v| v % 11).collect::<Vec<i64>>(), None),
        Vector::from_values(random.iter().map(|v| v % 9).collect::<Vec<i64>>(), None),
        Vector::from_values(random.iter().map(|v| 8_000 + (v % 2_500) as i32).collect::<Vec<i32>>(), None),
        Vector::flat(Flat::Str(StrColumn::from_strings(comments)), None),
        Vector::dictionary(codes.into(), Arc::new(Dictionary::new(modes, false)), None),
    ];
    let ranges = [Some((90_000, 7_000_000)), Some((0, 10)), Some((0, 8)), Some((8_000, 10_500)), None, None];
    let types: RowType = (schema.fields().iter().zip(&ranges).zip(&vectors))
        .map(|((field, bounds), vector)| ColumnType {
            logical: field.data_type().clone(),
            physical: vector.physical(),
            nullable: false,
            range: bounds.map(|(min, max)| range::new(min, max)),
        })
        .collect();
    let unproven: RowType = types.iter().map(|ty| ColumnType { range: None, ..ty.clone() }).collect();
    let chunk = Chunk::new(vectors.clone(), rows);
    let context = CompileContext::default();
    let report = |name: &str, run: &mut dyn FnMut()| {
        run();
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| run());
        println!("{name:<44} {:7.3} ns/row", start.elapsed().as_nanos() as f64 / (ROUNDS * rows) as f64);
    };

    let charge = col("price") * (decimal(100) - col("discount")) * (decimal(100) + col("tax"));
    let year = datafusion_functions::datetime::date_part().call(vec![lit("year"), col("ship")]);
    let case = when(col("mode").eq(lit("MAIL")), lit(1i64)).otherwise(lit(0i64))?;
    let part = datafusion_functions::unicode::substr().call(vec![col("comment"), lit(1i64), lit(2i64)]);
    for (name, expr, types) in [
        ("price * (1 - discount) * (1 + tax), proven", &charge, &types),
        ("the same without ranges", &charge, &unproven),
        ("extract(year from date)", &year, &types),
        ("case on a dictionary", &case, &types),
        ("substring of text", &part, &types),
        ("like '%sleep%'", &col("comment").like(lit("%sleep%")), &types),
        ("like '%special%requests%'", &col("comment").like(lit("%special%requests%")), &types),
    ] {
        let expression = Expression::compile(expr, &schema, types, &context)?;
        assert!(matches!(expression.output().physical, p if p != PhysicalType::Nested));
        report(name, &mut || drop(expression.evaluate(&chunk).expect("no errors")));
    }

    let date = |days| lit(ScalarValue::Date32(Some(days)));
    let q6 = [
        col("ship").gt_eq(date(8_766)),
        col("ship").lt(date(9_131)),
        col("discount").between(decimal(5), decimal(7)),
        col("price").lt(decimal(2_400_000)),
    ];
    let modes = [col("mode").in_list(vec![lit("MAIL"), lit("SHIP")], false)];
    for (name, filters) in [
        ("filter of TPC-H 6", &q6[..]),
        ("filter: in list on a dictionary", &modes[..]),
        ("filter: one date bound", &q6[..1]),
    ] {
        let mut worker = Predicate::compile(filters, &schema, &types, &context)?.worker();
        report(name, &mut || drop(worker.rows(&chunk).expect("no errors")));
    }
    let mut hashes = Vec::new();
    for (name, index) in [("hash of integers", 0), ("hash of long strings", 4), ("hash of a dictionary", 5)] {
        report(name, &mut || hash_vectors(&vectors[index..=index], rows, &mut hashes));
    }
    Ok(())
}
