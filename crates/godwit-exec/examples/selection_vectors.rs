//! Nanoseconds that a filter takes for a chunk under one selection, and under one for each column, as CSV:
//! `cargo run --release -p godwit-exec --example selection_vectors`.
//!
//! Columns k, form, time of the predicate, time of composing selections. Beyond the most selections that a chunk has, its
//! columns are gathered; composing pays for that then.

use std::time::Instant;

use arrow_schema::DataType;
use godwit_expression::{Layout, PlanContext, Predicate};
use godwit_plan::{Arithmetic, ColumnId, Comparison, Expr, ExprKind, Plan};
use godwit_types::{SqlType, Value};
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, Vector};

const ROUNDS: usize = 400;

/// Values from 0 to 99, in no order.
fn column(number: usize) -> Vector {
    let value = |row: usize| (row.wrapping_mul(7919) ^ (number * 31)) as i64 % 100;
    Vector::from_values((0..CHUNK_ROWS).map(value).collect::<Vec<_>>(), None)
}

/// A chunk whose columns share a selection, or have one each.
fn chunk(columns: usize, shared: bool) -> Chunk {
    let rows: Vec<u32> = (0..CHUNK_ROWS as u32).rev().collect();
    let mut chunk = Chunk::new(Vec::new(), CHUNK_ROWS);
    for number in 0..columns {
        chunk.push(column(number));
        if !shared {
            chunk.select(&rows);
        }
    }
    if shared {
        chunk.select(&rows);
    }
    chunk
}

/// Fastest times of the predicate and of the selections.
fn measure(predicate: &Predicate, chunk: &Chunk) -> (u128, u128) {
    let mut worker = predicate.worker();
    let mut fastest = (u128::MAX, u128::MAX);
    for _ in 0..ROUNDS {
        let mut filtered = chunk.clone();
        let begun = Instant::now();
        let rows = worker.rows(&filtered).expect("nothing can fail").expect("some rows go");
        let evaluated = begun.elapsed().as_nanos();
        let begun = Instant::now();
        filtered.select(&rows);
        let selected = begun.elapsed().as_nanos();
        assert!((1..CHUNK_ROWS).contains(&std::hint::black_box(&filtered).len()));
        fastest = (fastest.0.min(evaluated), fastest.1.min(selected));
    }
    fastest
}

fn main() {
    println!("columns,form,predicate_ns,selections_ns");
    for columns in [1, 2, 3, 4, 6, 8, 10, 12, 16] {
        let mut plan = Plan::new();
        let ids: Vec<ColumnId> = (0..columns).map(|_| plan.add_column("id", SqlType::BigInt, false)).collect();
        let types = vec![ColumnType::new(DataType::Int64, false).expect("a plain type"); columns];
        let first = Expr::new(ExprKind::Column(ids[0]), SqlType::BigInt, false).cast_to(&SqlType::Double);
        let [hundred, limit] = [100.0, 0.3].map(|number| Expr::literal(Value::Float(number), SqlType::Double));
        let share = ExprKind::Arithmetic(Arithmetic::Divide, Box::new(first), Box::new(hundred));
        let filter = Expr::compare(Comparison::Less, Expr::new(share, SqlType::Double, false), limit);
        let layout = Layout { columns: &ids, types: &types };
        let predicate = Predicate::compile(&[filter], layout, &PlanContext::default()).expect("a plain filter");
        for (form, shared) in [("shared", true), ("own", false)] {
            let (predicate_ns, selections_ns) = measure(&predicate, &chunk(columns, shared));
            println!("{columns},{form},{predicate_ns},{selections_ns}");
        }
    }
}
