//! Nanoseconds per row of typical expressions and filters on chunks in the cache.
//!
//! `cargo run --release -p godwit-expression --example expression_speed`

use std::sync::Arc;
use std::time::Instant;

use godwit_expression::{Expression, Layout, PlanContext, Predicate, range};
use godwit_functions::Registry;
use godwit_plan::{ArgumentType, ColumnId, Comparison, Expr, ExprKind, FunctionRegistry, Match, Plan};
use godwit_types::{Arithmetic, SqlType, Value, parse_value};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::sql::column_type;
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, Dictionary, Flat, PhysicalType, RowType, StrColumn, Vector};

const ROUNDS: usize = 2_000;
const MONEY: SqlType = SqlType::Decimal { precision: 15, scale: 2 };

fn constant(text: &str, ty: SqlType) -> Expr {
    Expr::literal(parse_value(text, &ty).expect("a constant"), ty)
}

fn arithmetic(op: Arithmetic, a: Expr, b: Expr, ty: SqlType) -> Expr {
    Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), ty, false)
}

fn like(input: Expr, pattern: &str) -> Expr {
    let pattern = Box::new(constant(pattern, SqlType::Varchar));
    let kind = ExprKind::Match { kind: Match::Like, input: Box::new(input), pattern, escape: Some('\\') };
    Expr::new(kind, SqlType::Boolean, false)
}

/// Calls the function that the registry has under this name.
fn call(name: &str, args: Vec<Expr>) -> Expr {
    let argument = |arg: &'_ Expr| (arg.ty.clone(), arg.as_literal().cloned());
    let types: Vec<(SqlType, Option<Value>)> = args.iter().map(argument).collect();
    let types: Vec<ArgumentType<'_>> = types
        .iter()
        .map(|(ty, value)| ArgumentType { ty, value: value.as_ref(), nullable: false, lambda_parameters: None })
        .collect();
    let found = Registry::default().scalar(name, &types).expect("the function takes the arguments");
    Expr::new(ExprKind::Call(found.function, args), found.ty, false)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = CHUNK_ROWS;
    let random: Vec<i64> =
        (0..rows as i64).map(|i| (i.wrapping_mul(6_364_136_223_846_793_005) >> 33) & 0xFFFF).collect();
    let mut plan = Plan::new();
    let types = [MONEY, MONEY, MONEY, SqlType::Date, SqlType::Varchar, SqlType::Varchar];
    let columns: Vec<ColumnId> = types.iter().map(|ty| plan.add_column("c", ty.clone(), false)).collect();
    let column = |at: usize| Expr::new(ExprKind::Column(columns[at]), types[at].clone(), false);
    let [price, discount, tax, ship, comment, mode] = [0, 1, 2, 3, 4, 5].map(column);
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
    let types = types.iter().zip(&ranges).zip(&vectors).map(|((ty, bounds), vector)| {
        let range = bounds.map(|(min, max)| range::new(min, max));
        Ok(ColumnType { physical: vector.physical(), range, ..column_type(ty, false)? })
    });
    let types: RowType = types.collect::<godwit_common::Result<_>>()?;
    let unproven: RowType = types.iter().map(|ty| ColumnType { range: None, ..ty.clone() }).collect();
    let chunk = Chunk::new(vectors.clone(), rows);
    let context = PlanContext::default();
    let layout = |types| Layout { columns: &columns, types };
    let report = |name: &str, run: &mut dyn FnMut()| {
        run();
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| run());
        println!("{name:<44} {:7.3} ns/row", start.elapsed().as_nanos() as f64 / (ROUNDS * rows) as f64);
    };

    let one = || constant("1.00", MONEY);
    let less = arithmetic(Arithmetic::Subtract, one(), discount.clone(), SqlType::decimal(16, 2));
    let more = arithmetic(Arithmetic::Add, one(), tax, SqlType::decimal(16, 2));
    let net = arithmetic(Arithmetic::Multiply, price.clone(), less, SqlType::decimal(31, 4));
    let charge = arithmetic(Arithmetic::Multiply, net, more, SqlType::decimal(38, 6));
    let year = call("year", vec![ship.clone()]);
    let text = |text| constant(text, SqlType::Varchar);
    let number = |text| constant(text, SqlType::BigInt);
    let branches = vec![(Expr::compare(Comparison::Equal, mode.clone(), text("MAIL")), number("1"))];
    let case = ExprKind::Case { branches, otherwise: Some(Box::new(number("0"))) };
    let case = Expr::new(case, SqlType::BigInt, false);
    let part = call("substr", vec![comment.clone(), number("1"), number("2")]);
    for (name, expr, types) in [
        ("price * (1 - discount) * (1 + tax), proven", &charge, &types),
        ("the same without ranges", &charge, &unproven),
        ("extract(year from date)", &year, &types),
        ("case on a dictionary", &case, &types),
        ("substring of text", &part, &types),
        ("like '%sleep%'", &like(comment.clone(), "%sleep%"), &types),
        ("like '%special%requests%'", &like(comment.clone(), "%special%requests%"), &types),
    ] {
        let expression = Expression::compile(expr, layout(types), &context)?;
        assert!(matches!(expression.output().physical, p if p != PhysicalType::Nested));
        report(name, &mut || drop(expression.evaluate(&chunk).expect("no errors")));
    }

    let compare = |a: &Expr, comparison, b| Expr::compare(comparison, a.clone(), b);
    let date = |text| constant(text, SqlType::Date);
    let q6 = [
        compare(&ship, Comparison::GreaterOrEqual, date("1994-01-01")),
        compare(&ship, Comparison::Less, date("1995-01-01")),
        compare(&discount, Comparison::GreaterOrEqual, constant("0.05", MONEY)),
        compare(&discount, Comparison::LessOrEqual, constant("0.07", MONEY)),
        compare(&price, Comparison::Less, constant("24000.00", MONEY)),
    ];
    let listed = ExprKind::InList(Box::new(mode), vec![text("MAIL"), text("SHIP")]);
    let modes = [Expr::new(listed, SqlType::Boolean, false)];
    for (name, filters) in [
        ("filter of TPC-H 6", &q6[..]),
        ("filter: in list on a dictionary", &modes[..]),
        ("filter: one date bound", &q6[..1]),
    ] {
        let mut worker = Predicate::compile(filters, layout(&types), &context)?.worker();
        report(name, &mut || drop(worker.rows(&chunk).expect("no errors")));
    }
    let mut hashes = Vec::new();
    for (name, index) in [("hash of integers", 0), ("hash of long strings", 4), ("hash of a dictionary", 5)] {
        report(name, &mut || hash_vectors(&vectors[index..=index], rows, &mut hashes));
    }
    Ok(())
}
