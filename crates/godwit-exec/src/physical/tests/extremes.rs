//! Semi and anti joins that emit build rows, with one comparison besides the keys.

use std::sync::Arc;

use godwit_plan::{Comparison, Expr, JoinKind};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::{Builder, check, explained, int, query};

/// (k, x), where key 0 has many rows, key 5 only NULLs, and key 6 one value.
fn table(name: &str, ty: &SqlType, rows: i64, factor: i64) -> Arc<MemoryTable> {
    let value = |number: i64| match ty {
        SqlType::Varchar => Value::text(format!("v{number}")),
        SqlType::Double if number == 3 => Value::Float(f64::NAN),
        SqlType::Double => Value::Float(number as f64),
        SqlType::Date => Value::Date(number as i32),
        _ => int(number),
    };
    let row = |number: i64| {
        let k = if number % 2 == 0 { 0 } else { number % 9 };
        let x = match k {
            5 => Value::Null,
            6 => value(4),
            _ if number % 11 == 4 => Value::Null,
            _ => value(number * factor % 13 - 6),
        };
        vec![if k == 8 { Value::Null } else { int(k) }, x]
    };
    let columns = [("k", SqlType::Integer), ("x", ty.clone())];
    Arc::new(MemoryTable::new(name, &columns, (0..rows).map(row).collect()))
}

#[test]
fn a_comparison_is_decided_by_extremes() {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let cases = [
        (NotEqual, SqlType::Integer, SqlType::Integer),
        (Less, SqlType::SmallInt, SqlType::BigInt),
        (LessOrEqual, SqlType::Date, SqlType::Date),
        (Greater, SqlType::BigInt, SqlType::Integer),
        (GreaterOrEqual, SqlType::SmallInt, SqlType::SmallInt),
    ];
    for (number, (comparison, of_left, of_right)) in cases.into_iter().enumerate() {
        for kind in [JoinKind::RightSemi, JoinKind::RightAnti] {
            for equal in [Comparison::Equal, Comparison::NotDistinct] {
                let mut builder = Builder::default();
                let left = builder.scan(&table("l", &of_left, 60, 5));
                let right = builder.scan(&table("r", &of_right, 30, 7));
                let (l, r) = (builder.columns(left), builder.columns(right));
                let (x, y) = match of_left == of_right {
                    true => (l[1].clone(), r[1].clone()),
                    false => (l[1].clone().cast_to(&SqlType::BigInt), r[1].clone().cast_to(&SqlType::BigInt)),
                };
                let compared = match number % 2 == 0 {
                    true => Expr::compare(comparison, x, y),
                    false => Expr::compare(comparison.swapped(), y, x),
                };
                let conditions = vec![Expr::compare(equal, l[0].clone(), r[0].clone()), compared];
                let joined = builder.join(kind.clone(), left, right, conditions);
                let plan = builder.finish(joined);
                check(&plan);
                let text = explained(&plan, &query());
                assert!(text.contains("(least and greatest)"), "{text}");
            }
        }
    }
}

/// For floats, strings, several comparisons, and joins that emit pairs, all pairs are compared.
#[test]
fn others_are_decided_by_pairs() {
    for ty in [SqlType::Double, SqlType::Varchar, SqlType::Integer] {
        for kind in [JoinKind::RightSemi, JoinKind::RightAnti, JoinKind::Inner] {
            let mut builder = Builder::default();
            let left = builder.scan(&table("l", &ty, 60, 5));
            let right = builder.scan(&table("r", &ty, 30, 7));
            let (l, r) = (builder.columns(left), builder.columns(right));
            let mut conditions = vec![
                Expr::compare(Comparison::Equal, l[0].clone(), r[0].clone()),
                Expr::compare(Comparison::Less, l[1].clone(), r[1].clone()),
            ];
            if ty == SqlType::Integer && kind != JoinKind::Inner {
                conditions.push(Expr::compare(Comparison::NotEqual, l[0].clone(), r[1].clone()));
            }
            let joined = builder.join(kind, left, right, conditions);
            let plan = builder.finish(joined);
            check(&plan);
            let text = explained(&plan, &query());
            assert!(!text.contains("(least and greatest)"), "{text}");
        }
    }
}
